#include "providers/ispconfig/ispconfig.h"

#include <stdlib.h>
#include <string.h>

static const struct config_field fields[] = {
    {"url", CONFIG_STR, true, false, NULL,
     "The remote API, https://PANEL:8080/remote/index.php; http only to a "
     "loopback address. Redirects are not followed.",
     "ISPCONFIG_URL"},
    {"user", CONFIG_STR, true, false, NULL,
     "The remote user (System > Remote Users).", "ISPCONFIG_USER"},
    {"password", CONFIG_STR, false, false, NULL,
     "Its password; better password-file, or the environment.",
     "ISPCONFIG_PASSWORD"},
    {"password-file", CONFIG_STR, false, false, NULL,
     "A file with the password in its first line.", "ISPCONFIG_PASSWORD_FILE"},
    ENDPOINT_FIELDS("ISPCONFIG"),
    {0},
};

/* ---- open ---------------------------------------------------------------- */

static int read_options(struct ispconfig *p, const struct config_provider *cfg,
                        struct err *e)
{
    const char *user = config_option_get(cfg, fields, "user");

    if (user == NULL || user[0] == '\0')
        return err_set(e, ERR_INPUT, "the options url and user are required");
    if (endpoint_read(cfg, fields, "password", &p->endpoint, e) != 0)
        return -1;
    p->title = mem_strdup(cfg->name);
    p->user = mem_strdup(user);
    return config_secret_get(cfg, fields, "password", &p->password, e);
}

static void instance_free(struct ispconfig *p)
{
    free(p->title);
    free(p->user);
    endpoint_fini(&p->endpoint);
    if (p->password != NULL)
        config_secret_free(p->password);
    explicit_bzero(p->sid, sizeof p->sid);
    free(p);
}

static int isp_open(const struct provider_ops *ops,
                    const struct provider_env *env,
                    const struct config_provider *cfg, struct provider **out,
                    struct err *e)
{
    struct ispconfig *p = mem_alloc(sizeof *p);

    p->base.ops = ops;
    p->env = *env;
    p->loop = env->loop;
    p->http = env->http;
    if (read_options(p, cfg, e) != 0) {
        instance_free(p);
        return -1;
    }
    *out = &p->base;
    return 0;
}

/* ---- close --------------------------------------------------------------- */

static void on_logged_out(void *arg)
{
    struct ispconfig *p = arg;
    provider_close_cb *cb = p->close_cb;
    void *cb_arg = p->close_arg;

    instance_free(p);
    cb(cb_arg);
}

void isp_end(struct ispconfig *p)
{
    p->busy--;
    if (p->closing && p->busy == 0)
        isp_logout(p, on_logged_out, p);
}

/* What is under way ends first: its calls fail from now on. */
static void isp_close(struct provider *base, provider_close_cb *cb, void *arg)
{
    struct ispconfig *p = (struct ispconfig *)base;

    p->closing = true;
    p->close_cb = cb;
    p->close_arg = arg;
    isp_begin(p);
    isp_end(p);
}

const struct provider_ops provider_ispconfig = {
    .type = "ispconfig",
    .fields = fields,
    .caps = {.in_place_disable = true,
             .lists_zones = true,
             .lists_specs = true,
             .min_ttl_s = 60,
             .txt_unescaped = true,
             /* The panel's cron writes the zone files once a minute. */
             .publish_ms = 60000},
    .open = isp_open,
    .close = isp_close,
    .list_zones = isp_list_zones,
    .list_specs = isp_list_specs,
    .list_records = isp_list_records,
    .apply = isp_apply,
    .write_spec = isp_write_spec,
    .check = isp_check,
};
