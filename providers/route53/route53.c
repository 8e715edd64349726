#include "providers/route53/route53.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE_ID_MAX 32
#define SET_ID_MAX 128 /* characters. source: API, "ResourceRecordSet" */

static const struct config_field fields[] = {
    {"access-key-id", CONFIG_STR, false, false, NULL, "The access key's id.",
     "AWS_ACCESS_KEY_ID AWS_ACCESS_KEY"},
    {"secret-access-key", CONFIG_STR, false, false, NULL,
     "Its secret; better secret-access-key-file, or the environment.",
     "AWS_SECRET_ACCESS_KEY AWS_SECRET_KEY"},
    {"secret-access-key-file", CONFIG_STR, false, false, NULL,
     "A file with the secret in its first line.", "AWS_SECRET_ACCESS_KEY_FILE"},
    {"session-token", CONFIG_STR, false, false, NULL,
     "Of temporary credentials; better session-token-file, or the environment.",
     "AWS_SESSION_TOKEN"},
    {"session-token-file", CONFIG_STR, false, false, NULL,
     "A file with the session token in its first line.",
     "AWS_SESSION_TOKEN_FILE"},
    {"zone-id", CONFIG_STR, false, false, NULL,
     "The hosted zone's id, where this section serves one zone: needed for a "
     "private zone, and where several have the same name. The key then needs "
     "no right to list zones.",
     "ROUTE53_ZONE_ID AWS_HOSTED_ZONE_ID"},
    {"set-identifier", CONFIG_STR, false, false, NULL,
     "Only the sets with this SetIdentifier (of geolocation routing, for one) "
     "are served: where a view is kept. Their routing stays as it is.",
     NULL},
    {"wait-insync", CONFIG_BOOL, false, false, "no",
     "After a change wait, up to a minute, until all servers of Route 53 have "
     "it. The authoritative servers are looked at in any case.",
     "ROUTE53_WAIT_INSYNC"},
    {"url", CONFIG_STR, false, false, "https://route53.amazonaws.com",
     "The endpoint; http only to a loopback address. Redirects are not "
     "followed.",
     "ROUTE53_URL AWS_ENDPOINT_URL_ROUTE_53"},
    {"region", CONFIG_STR, false, false, "us-east-1",
     "The region that requests are signed for: us-east-1 everywhere but in "
     "partitions of their own. In China it is cn-northwest-1, with the url "
     "https://route53.amazonaws.com.cn.",
     "ROUTE53_REGION"},
    ENDPOINT_FIELDS("ROUTE53"),
    {0},
};

/* ---- open ---------------------------------------------------------------- */

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

static int read_set_id(struct route53 *p, const char *id, struct err *e)
{
    size_t n = 0;

    if (id == NULL)
        return 0;
    for (const char *c = id; *c != '\0'; c++) {
        n += ((unsigned char)*c & 0xc0) != 0x80; /* UTF-8: first bytes */
        if ((unsigned char)*c < ' ')
            n = SET_ID_MAX + 1;
    }
    if (n == 0 || n > SET_ID_MAX)
        return err_set(e, ERR_INPUT,
                       "set-identifier = \"%.200s\"; accepted: 1 to %d "
                       "printable characters, as the sets have it in Route 53",
                       id, SET_ID_MAX);
    p->set_id = mem_strdup(id);
    return 0;
}

/* It goes into headers: nothing but printable characters. */
static int check_credential(const char *name, const char *value, struct err *e)
{
    while (*value > ' ' && *value < 0x7f)
        value++;
    if (*value == '\0')
        return 0;
    return err_set(e, ERR_AUTH,
                   "%s holds a blank or another character that no such key has",
                   name);
}

static int read_key_id(struct route53 *p, const struct config_provider *cfg,
                       struct err *e)
{
    const char *id = config_option_get(cfg, fields, "access-key-id"), *env;
    size_t len;

    if (id == NULL)
        id = config_env_get(&fields[0], &env, &len);
    if (id == NULL || id[0] == '\0')
        return err_set(e, ERR_NOTFOUND,
                       "no access-key-id is given; accepted: the option, or "
                       "one of %s in the environment",
                       fields[0].env);
    p->key_id = mem_strdup(id);
    return check_credential("access-key-id", p->key_id, e);
}

static int read_secrets(struct route53 *p, const struct config_provider *cfg,
                        struct err *e)
{
    struct err why;

    if (config_secret_get(cfg, fields, "secret-access-key", &p->secret, e) != 0)
        return -1;
    /* No token is fine, one that is named and not there is not. */
    if (config_secret_get(cfg, fields, "session-token", &p->token, &why) != 0 &&
        (why.code != ERR_NOTFOUND ||
         config_option_get(cfg, fields, "session-token-file") != NULL)) {
        *e = why;
        return -1;
    }
    if (check_credential("secret-access-key", p->secret, e) != 0)
        return -1;
    return p->token != NULL ? check_credential("session-token", p->token, e)
                            : 0;
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
        read_set_id(p, config_option_get(cfg, fields, "set-identifier"), e) !=
            0 ||
        read_key_id(p, cfg, e) != 0 || read_secrets(p, cfg, e) != 0)
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
    free(p->set_id);
    config_secret_free(p->key_id);
    config_secret_free(p->secret);
    config_secret_free(p->token);
    free(p);
}

static int route53_open(const struct provider_ops *ops,
                        const struct provider_env *env,
                        const struct config_provider *cfg,
                        struct provider **out, struct err *e)
{
    struct route53 *p = mem_alloc(sizeof *p);

    p->base.ops = ops;
    p->env = *env;
    p->loop = env->loop;
    if (read_options(p, cfg, e) != 0) {
        instance_free(p);
        return -1;
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
    .check = route53_check,
};
