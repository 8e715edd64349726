#include "providers/rest/rest.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_zone.h"
#include "providers/shared/endpoint.h"

/* ---- open ---------------------------------------------------------------- */

/* The base URL with the API's root, whether the option has it or not. */
static char *base_url(const struct rest_style *style, const char *url)
{
    size_t n = strlen(url), root = strlen(style->root);

    while (n > 0 && url[n - 1] == '/')
        n--;
    if (n >= root && memcmp(url + n - root, style->root, root) == 0)
        n -= root;
    return mem_printf("%.*s%s", (int)n, url, style->root);
}

static char *option_dup(const struct rest *p, const struct config_provider *cfg,
                        const char *name)
{
    const char *value =
        name != NULL ? config_option_get(cfg, p->style->fields, name) : NULL;

    return value != NULL && value[0] != '\0' ? mem_strdup(value) : NULL;
}

/* Of a header nothing but itself may be made. */
static int check_secret(const struct rest *p, struct err *e)
{
    for (const char *c = p->secret; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return err_set(e, ERR_AUTH,
                           "the %s holds a blank or a character that is not "
                           "ASCII (character %zu)",
                           p->style->secret, (size_t)(c - p->secret) + 1);
    return 0;
}

static int read_options(struct rest *p, const struct config_provider *cfg,
                        struct err *e)
{
    const struct rest_style *style = p->style;

    if (endpoint_read(cfg, style->fields, style->secret, &p->endpoint, e) != 0)
        return -1;
    p->title = mem_strdup(cfg->name);
    p->base_url = base_url(style, p->endpoint.url);
    p->account = option_dup(p, cfg, style->account);
    p->fixed_zone_id = option_dup(p, cfg, style->zone_id);
    if (config_secret_get(cfg, style->fields, style->secret, &p->secret, e) !=
            0 ||
        check_secret(p, e) != 0)
        return -1;
    return style->check != NULL ? style->check(p, e) : 0;
}

static void instance_free(struct rest *p)
{
    free(p->title);
    free(p->base_url);
    free(p->account);
    free(p->fixed_zone_id);
    config_secret_free(p->secret);
    endpoint_fini(&p->endpoint);
    rest_zones_free(p);
    loop_timer_cancel(p->resume);
    free(p);
}

int rest_open(const struct provider_ops *ops, const struct provider_env *env,
              const struct config_provider *cfg, struct provider **out,
              struct err *e)
{
    struct rest *p = mem_alloc(sizeof *p);

    p->base.ops = ops;
    p->env = *env;
    p->style = ops->rest;
    if (read_options(p, cfg, e) != 0) {
        instance_free(p);
        return -1;
    }
    *out = &p->base;
    return 0;
}

/* ---- close --------------------------------------------------------------- */

void rest_begin(struct rest *p)
{
    p->busy++;
}

static void on_closed(void *arg)
{
    struct rest *p = arg;
    provider_close_cb *cb = p->close_cb;
    void *cb_arg = p->close_arg;

    instance_free(p);
    cb(cb_arg);
}

void rest_end(struct rest *p)
{
    p->busy--;
    if (p->closing && p->busy == 0)
        (void)loop_timer_start(p->env.loop, 0, on_closed, p);
}

/* What is under way ends first: its calls fail from now on. */
void rest_close(struct provider *base, provider_close_cb *cb, void *arg)
{
    struct rest *p = (struct rest *)base;

    p->closing = true;
    p->close_cb = cb;
    p->close_arg = arg;
    rest_begin(p);
    rest_end(p);
}

/* ---- what is remembered of removed records ------------------------------- */

static char *keep_key(const char *name, enum rr_type t, const char *data)
{
    return mem_printf("%s|%s|%s", name, rr_type_name(t), data);
}

void rest_keep(struct rest *p, const struct rest_record *r)
{
    char *key, *text;

    if (p->env.keep == NULL || r->type == RR_TXT)
        return;
    key = keep_key(r->name, r->type, r->data);
    text = mem_printf("%u %s", r->ttl_s, r->kept != NULL ? r->kept : "{}");
    p->env.keep(p->env.arg, p->title, key, text);
    free(text);
    free(key);
}

const char *rest_kept(void *arg, const char *name, enum rr_type t,
                      const char *data)
{
    struct rest *p = arg;
    char *key = keep_key(name, t, data);
    const char *text =
        p->env.kept != NULL ? p->env.kept(p->env.arg, p->title, key) : NULL;

    free(key);
    return text;
}
