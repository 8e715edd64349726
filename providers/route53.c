#include "providers/route53.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE_ID_MAX 32

static const struct config_field fields[] = {
    {"access-key-id", CONFIG_STR, false, false, NULL,
     "the access key's id; else AWS_ACCESS_KEY_ID or AWS_ACCESS_KEY in the "
     "environment",
     "AWS_ACCESS_KEY_ID AWS_ACCESS_KEY"},
    {"secret-access-key", CONFIG_STR, false, false, NULL,
     "its secret; better secret-access-key-file, or AWS_SECRET_ACCESS_KEY or "
     "AWS_SECRET_KEY in the environment",
     "AWS_SECRET_ACCESS_KEY AWS_SECRET_KEY"},
    {"secret-access-key-file", CONFIG_STR, false, false, NULL,
     "a file with the secret in its first line", NULL},
    {"session-token", CONFIG_STR, false, false, NULL,
     "of temporary credentials; better session-token-file, or "
     "AWS_SESSION_TOKEN in the environment",
     "AWS_SESSION_TOKEN"},
    {"session-token-file", CONFIG_STR, false, false, NULL,
     "a file with the session token in its first line", NULL},
    {"zone-id", CONFIG_STR, false, false, NULL,
     "the hosted zone's id; needed for a private zone, and where several have "
     "the same name; one zone per provider section then",
     NULL},
    {"url", CONFIG_STR, false, false, "https://route53.amazonaws.com",
     "the endpoint; http only to a loopback address", NULL},
    {"region", CONFIG_STR, false, false, "us-east-1",
     "the region that requests are signed for; us-east-1 everywhere but in "
     "partitions of their own (China: cn-northwest-1)",
     NULL},
    {"wait-insync", CONFIG_BOOL, false, false, "no",
     "after a change wait, up to a minute, until all servers of Route 53 have "
     "it",
     NULL},
    ENDPOINT_FIELDS,
    {0},
};

/* ---- open ---------------------------------------------------------------- */

static int fail_at(const struct config_provider *cfg, struct err *e)
{
    return err_wrap(e, "provider \"%s\" (line %d)", cfg->name, cfg->line);
}

/* Without a path, as requests need it, and as the Host header has it. */
static int read_host(struct route53 *p, struct err *e)
{
    const char *url = p->endpoint.url, *start = strstr(url, "://"), *after;
    struct http_url u;
    bool v6;

    if (http_url_parse(url, &u, e) != 0)
        return err_wrap(e, "url");
    after = start != NULL ? start + 3 + strcspn(start + 3, "/?#") : "";
    if (after[0] != '\0' && strcmp(after, "/") != 0)
        return err_set(e, ERR_INPUT,
                       "url = \"%.200s\" goes on behind the host; accepted: "
                       "scheme, host and port only",
                       url);
    v6 = strchr(u.host, ':') != NULL;
    if (u.port == (u.https ? 443 : 80))
        p->host = mem_printf("%s%s%s", v6 ? "[" : "", u.host, v6 ? "]" : "");
    else
        p->host = mem_printf("%s%s%s:%d", v6 ? "[" : "", u.host, v6 ? "]" : "",
                             u.port);
    p->base_url = mem_printf("%s://%s", u.https ? "https" : "http", p->host);
    return 0;
}

static bool is_word(const char *s, const char *more)
{
    return s[0] != '\0' && strspn(s, more) == strlen(s);
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static int read_zone_id(struct route53 *p, const char *id, struct err *e)
{
    static const char before[] = "/hostedzone/";

    if (id == NULL)
        return 0;
    if (strncmp(id, before, strlen(before)) == 0)
        id += strlen(before);
    if (!is_word(id, LETTERS) || strlen(id) > ZONE_ID_MAX)
        return err_set(e, ERR_INPUT,
                       "zone-id = \"%.60s\"; accepted: the id of a hosted zone "
                       "such as Z0123456789ABCDEFGHIJ",
                       id);
    p->zone_id = mem_strdup(id);
    return 0;
}

/* The option, else the first of its environment variables (separated by
 * blanks). out: *value — heap; NULL when there is none and it may be so. A
 * value goes into headers: nothing but printable characters. */
static int read_credential(const struct config_provider *cfg, const char *name,
                           bool required, char **value, struct err *e)
{
    const struct config_field *f = fields;
    const char *at;

    while (strcmp(f->name, name) != 0)
        f++;
    for (at = f->env; *at != '\0' && *value == NULL;) {
        size_t n = strcspn(at, " ");
        char *variable = mem_strndup(at, n);
        int rc = config_secret_get(cfg, name, variable, value, e);

        free(variable);
        if (rc != 0 && e->code != ERR_NOTFOUND)
            return -1;
        at += n + (at[n] == ' ');
    }
    if (*value == NULL)
        return required
                   ? err_set(
                         e, ERR_NOTFOUND,
                         "no %s is given; accepted: %s%s%s in the "
                         "file, or one of %s in the environment",
                         name, name,
                         strcmp(name, "access-key-id") == 0 ? "" : "-file or ",
                         strcmp(name, "access-key-id") == 0 ? "" : name, f->env)
                   : 0;
    for (at = *value; *at > ' ' && *at < 0x7f; at++)
        ;
    if (*at != '\0')
        return err_set(e, ERR_AUTH,
                       "%s holds a blank or another character that no such "
                       "key has",
                       name);
    return 0;
}

static int read_options(struct route53 *p, const struct config_provider *cfg,
                        struct err *e)
{
    const char *region = config_option_get(cfg, fields, "region");

    p->title = mem_strdup(cfg->name);
    p->wait_insync =
        strcmp(config_option_get(cfg, fields, "wait-insync"), "yes") == 0;
    if (!is_word(region, LETTERS "-"))
        return err_set(e, ERR_INPUT,
                       "region = \"%.60s\"; accepted: a name such as us-east-1",
                       region);
    p->region = mem_strdup(region);
    if (endpoint_read(cfg, fields, "session token and all changes",
                      &p->endpoint, e) != 0 ||
        read_host(p, e) != 0 ||
        read_zone_id(p, config_option_get(cfg, fields, "zone-id"), e) != 0 ||
        read_credential(cfg, "access-key-id", true, &p->key_id, e) != 0 ||
        read_credential(cfg, "secret-access-key", true, &p->secret, e) != 0 ||
        read_credential(cfg, "session-token", false, &p->token, e) != 0)
        return -1;
    return 0;
}

static void instance_free(struct route53 *p)
{
    route53_zones_free(p);
    free(p->title);
    endpoint_fini(&p->endpoint);
    free(p->base_url);
    free(p->host);
    free(p->region);
    free(p->zone_id);
    config_secret_free(p->key_id);
    config_secret_free(p->secret);
    config_secret_free(p->token);
    free(p);
}

static int route53_open(const struct provider_env *env,
                        const struct config_provider *cfg,
                        struct provider **out, struct err *e)
{
    struct route53 *p = mem_alloc(sizeof *p);

    p->base.ops = &provider_route53;
    p->env = *env;
    p->loop = env->loop;
    if (read_options(p, cfg, e) != 0) {
        instance_free(p);
        return fail_at(cfg, e);
    }
    *out = &p->base;
    return 0;
}

/* ---- close --------------------------------------------------------------- */

void route53_begin(struct route53 *p)
{
    p->busy++;
}

static void on_closed(void *arg)
{
    struct route53 *p = arg;
    provider_close_cb *cb = p->close_cb;
    void *cb_arg = p->close_arg;

    instance_free(p);
    cb(cb_arg);
}

void route53_end(struct route53 *p)
{
    p->busy--;
    if (p->closing && p->busy == 0)
        (void)loop_timer_start(p->loop, 0, on_closed, p);
}

/* What is under way ends first: its calls fail from now on. */
static void route53_close(struct provider *base, provider_close_cb *cb,
                          void *arg)
{
    struct route53 *p = (struct route53 *)base;

    route53_begin(p);
    p->closing = true;
    p->close_cb = cb;
    p->close_arg = arg;
    route53_calls_stop(p);
    route53_end(p);
}

const struct provider_ops provider_route53 = {
    .type = "route53",
    .fields = fields,
    .caps = {.per_set = true,
             .conditional = true,
             .lists_zones = true,
             .lists_specs = true,
             .creates_missing = true,
             .txt_max = ROUTE53_VALUE_CHARS,
             /* INSYNC takes less than a minute as a rule. */
             .publish_ms = 60000},
    .open = route53_open,
    .close = route53_close,
    .list_zones = route53_list_zones,
    .list_specs = route53_list_specs,
    .list_records = route53_list_records,
    .apply = route53_apply,
    .write_spec = route53_write_spec,
};
