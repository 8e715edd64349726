#include "providers/ispconfig.h"

#include <limits.h>
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
    {"ca-file", CONFIG_STR, false, false, NULL,
     "A PEM file with the issuer of the panel's certificate, instead of the "
     "system's.",
     "ISPCONFIG_CA_FILE"},
    {"pin-sha256", CONFIG_STR, false, false, NULL,
     "Trust exactly this key of the server: the base64 of its SHA-256. Leave "
     "it out once: the error about the unknown certificate prints the line to "
     "paste. A new certificate with the same key keeps its pin.",
     "ISPCONFIG_PIN_SHA256"},
    {"timeout", CONFIG_INT, false, false, "30",
     "Whole seconds for one call, from 1 to 600.", "ISPCONFIG_TIMEOUT"},
    {0},
};

/* ---- open ---------------------------------------------------------------- */

static int fail_at(const struct config_provider *cfg, struct err *e)
{
    return err_wrap(e, "provider \"%s\" (line %d)", cfg->name, cfg->line);
}

static int check_url(const char *url, struct err *e)
{
    struct http_url u;

    if (http_url_parse(url, &u, e) != 0)
        return err_wrap(e, "url");
    if (!u.https && !u.loopback)
        return err_set(e, ERR_INPUT,
                       "url = \"%.200s\" would send the password in the clear; "
                       "change that line to https://… (http is allowed only "
                       "to a loopback address such as 127.0.0.1)",
                       url);
    return 0;
}

static int check_timeout(const char *text, int64_t *ms, struct err *e)
{
    char *end;
    long s = strtol(text, &end, 10);

    if (end == text || *end != '\0' || s < 1 || s > 600)
        return err_set(e, ERR_INPUT,
                       "timeout = %.40s: seconds from 1 to 600 are accepted",
                       text);
    *ms = (int64_t)s * 1000;
    return 0;
}

static char *dup_or_null(const char *s)
{
    return s != NULL && s[0] != '\0' ? mem_strdup(s) : NULL;
}

static int read_options(struct ispconfig *p, const struct config_provider *cfg,
                        struct err *e)
{
    const char *url = config_option_get(cfg, fields, "url");
    const char *user = config_option_get(cfg, fields, "user");
    const char *pin = config_option_get(cfg, fields, "pin-sha256");
    const char *timeout = config_option_get(cfg, fields, "timeout");

    if (url == NULL || user == NULL || user[0] == '\0')
        return err_set(e, ERR_INPUT, "the options url and user are required");
    if (check_url(url, e) != 0 ||
        check_timeout(timeout, &p->timeout_ms, e) != 0)
        return -1;
    p->title = mem_strdup(cfg->name);
    p->url = mem_strdup(url);
    p->user = mem_strdup(user);
    p->ca_file = dup_or_null(config_option_get(cfg, fields, "ca-file"));
    p->pin = dup_or_null(pin);
    if (p->pin != NULL && !http_pin_is_valid(p->pin))
        return err_set(e, ERR_INPUT,
                       "pin-sha256 = \"%.80s\" is not the base64 of a SHA-256 "
                       "(44 characters, the last one '=')",
                       pin);
    return config_secret_get(cfg, fields, "password", &p->password, e);
}

static void instance_free(struct ispconfig *p)
{
    free(p->title);
    free(p->url);
    free(p->user);
    free(p->ca_file);
    free(p->pin);
    if (p->password != NULL)
        config_secret_free(p->password);
    explicit_bzero(p->sid, sizeof p->sid);
    free(p);
}

static int isp_open(const struct provider_env *env,
                    const struct config_provider *cfg, struct provider **out,
                    struct err *e)
{
    struct ispconfig *p = mem_alloc(sizeof *p);

    p->base.ops = &provider_ispconfig;
    p->env = *env;
    p->loop = env->loop;
    p->http = env->http;
    if (read_options(p, cfg, e) != 0) {
        instance_free(p);
        return fail_at(cfg, e);
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
