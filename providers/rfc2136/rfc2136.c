#include "providers/rfc2136/rfc2136.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "resolver/transfer.h"

/* A primary that takes dynamic updates: BIND, Knot, PowerDNS and others.
 * source: RFC 2136, providers' contract in provider.h */

#define DNS_PORT 53
#define WAIT_MAX_MS 300000
#define TXT_BYTES_MAX 30000 /* the old text and the new one in one message */

static const struct config_field fields[] = {
    {"server", CONFIG_STR, true, false, NULL,
     "The zone's primary, which takes the updates: an address, with :PORT "
     "where it is not 53 ([v6]:PORT). Records are read from it too.",
     "RFC2136_NAMESERVER"},
    {"key-file", CONFIG_STR, true, false, NULL,
     "File with the TSIG key in BIND's syntax, as tsig-keygen writes it: key "
     "\"NAME\" { algorithm hmac-sha256; secret \"BASE64\"; }; A file that "
     "others can read is refused. hmac-sha1, -sha224, -sha256, -sha384 and "
     "-sha512 are taken.",
     "RFC2136_TSIG_FILE"},
    {"key-name", CONFIG_STR, false, false, NULL,
     "Which key of the file; needed where it holds several.",
     "RFC2136_TSIG_KEY"},
    {"sign-queries", CONFIG_BOOL, false, false, "no",
     "Sign the queries too: where views go by key, or the way to the server "
     "is not trusted. Knot wants an acl with action query for the key then.",
     "RFC2136_SIGN_QUERIES"},
    {"timeout", CONFIG_STR, false, false, "5s",
     "How long to wait for each answer.", "RFC2136_TIMEOUT"},
    {0},
};

/* ---- options ------------------------------------------------------------- */

static int take_server(struct rfc2136 *p, const struct config_provider *cfg,
                       struct err *e)
{
    const char *v = config_option_get(cfg, fields, "server");

    if (v == NULL)
        return err_set(e, ERR_INPUT, "server is missing");
    if (addr_parse_port(v, DNS_PORT, &p->server, e) != 0)
        return err_wrap(e, "server");
    (void)addr_format_port(&p->server, p->who);
    return 0;
}

static int take_key(struct rfc2136 *p, const struct config_provider *cfg,
                    struct err *e)
{
    const char *file = config_option_get(cfg, fields, "key-file");
    const char *wanted = config_option_get(cfg, fields, "key-name");
    char name[NAME_SIZE];
    char *text;
    int rc;

    if (file == NULL)
        return err_set(e, ERR_INPUT, "key-file is missing");
    if (wanted != NULL && name_canon(wanted, name, e) != 0)
        return err_wrap(e, "key-name");
    if (config_secret_file_get(cfg, "key-file", &text, e) != 0)
        return -1;
    rc = tsig_key_parse(text, strlen(text), file, wanted != NULL ? name : NULL,
                        &p->key, e);
    config_secret_free(text);
    return rc == 0 ? 0 : err_wrap(e, "key-file");
}

static int take_timeout(struct rfc2136 *p, const struct config_provider *cfg,
                        struct err *e)
{
    const char *v = config_option_get(cfg, fields, "timeout");

    if (duration_parse(v, &p->timeout_ms, e) != 0)
        return err_wrap(e, "timeout");
    if (p->timeout_ms < 100 || p->timeout_ms > WAIT_MAX_MS)
        return err_set(e, ERR_INPUT,
                       "timeout: \"%.40s\"; accepted: 100ms to "
                       "5m",
                       v);
    return 0;
}

static void free_instance(struct rfc2136 *p)
{
    tsig_key_free(p->key);
    rfc2136_memory_free(p->memory);
    free(p->name);
    free(p);
}

static int rfc2136_open(const struct provider_ops *ops,
                        const struct provider_env *env,
                        const struct config_provider *cfg,
                        struct provider **out, struct err *e)
{
    struct rfc2136 *p = mem_alloc(sizeof *p);
    const char *sign = config_option_get(cfg, fields, "sign-queries");

    p->base.ops = ops;
    p->env = *env;
    p->name = mem_strdup(cfg->name);
    p->memory = rfc2136_memory_new();
    p->sign_queries = strcmp(sign, "yes") == 0;
    *out = NULL;
    if (take_server(p, cfg, e) != 0 || take_key(p, cfg, e) != 0 ||
        take_timeout(p, cfg, e) != 0) {
        free_instance(p);
        return -1;
    }
    *out = &p->base;
    return 0;
}

/* ---- an instance's life -------------------------------------------------- */

void rfc2136_enter(struct rfc2136 *p)
{
    p->running++;
}

static void close_now(void *arg)
{
    struct rfc2136 *p = arg;
    provider_close_cb *cb = p->close_cb;
    void *cb_arg = p->close_arg;

    free_instance(p);
    cb(cb_arg);
}

void rfc2136_leave(struct rfc2136 *p)
{
    p->running--;
    if (p->running == 0 && p->close_cb != NULL)
        (void)loop_timer_start(p->env.loop, 0, close_now, p);
}

static void rfc2136_close(struct provider *base, provider_close_cb *cb,
                          void *arg)
{
    struct rfc2136 *p = (struct rfc2136 *)base;

    /* A call that is under way ends first: its outcome is to be known. */
    rfc2136_enter(p);
    p->close_cb = cb;
    p->close_arg = arg;
    rfc2136_leave(p);
}

static const struct tsig_key *rfc2136_transfer_key(const struct provider *base)
{
    return ((const struct rfc2136 *)base)->key;
}

/* ---- records ------------------------------------------------------------- */

struct listing {
    struct rfc2136 *p;
    struct arena *arena;
    const char *zone;
    const char **names;
    size_t n;
    struct rfc2136_set *sets; /* A and AAAA of each name */
    provider_records_cb *cb;
    void *arg;
};

/* The name's three sets, from the answers to two questions. */
static void take_three(const struct rfc2136_set two[2],
                       struct rfc2136_set three[3])
{
    const struct rfc2136_set *with = two[0].cname != NULL ? &two[0] : &two[1];

    three[0] = two[0];
    three[1] = two[1];
    three[2] = (struct rfc2136_set){
        .name = two[0].name, .type = RR_CNAME, .err = two[0].err};
    if (with->cname != NULL) {
        three[2].v = with->cname;
        three[2].n = 1;
        three[2].ttl_s = with->cname->ttl_s;
    }
}

static void add_sets(struct listing *l, const struct rfc2136_set three[3],
                     struct rrset_list *out)
{
    for (size_t k = 0; k < 3; k++) {
        const struct rfc2136_set *s = &three[k];

        for (size_t i = 0; i < s->n && s->err.code == ERR_NONE; i++)
            rrset_list_add(out, s->name, s->type,
                           rfc2136_rdata_text(l->arena, s->type, &s->v[i]),
                           s->ttl_s, true);
    }
}

static void on_records(void *arg, const struct rfc2136_read_result *r)
{
    struct listing *l = arg;
    struct rfc2136 *p = l->p;
    struct rfc2136_set *all = arena_array(l->arena, 3 * l->n, sizeof *all);
    struct rrset_list list;
    struct provider_records out = {.err = r->err, .sets = &list};

    rrset_list_init(&list);
    if (r->err.code == ERR_NONE) {
        for (size_t i = 0; i < l->n; i++) {
            take_three(&l->sets[2 * i], &all[3 * i]);
            add_sets(l, &all[3 * i], &list);
        }
        rfc2136_memory_replace(p->memory, l->zone, &r->soa, all, l->n);
        out.has_serial = true;
        out.serial = r->soa.serial;
    } else {
        (void)err_wrap(&out.err, "zone %s", l->zone);
    }
    l->cb(l->arg, &out);
    rrset_list_fini(&list);
    arena_free(l->arena);
    free(l);
    rfc2136_leave(p);
}

static void rfc2136_list_records(struct provider *base, const char *zone,
                                 const char *const *names, size_t n,
                                 provider_records_cb *cb, void *arg)
{
    struct listing *l = mem_alloc(sizeof *l);

    l->p = (struct rfc2136 *)base;
    rfc2136_enter(l->p);
    l->arena = arena_new();
    l->zone = arena_strdup(l->arena, zone);
    l->sets = arena_array(l->arena, 2 * n, sizeof *l->sets);
    l->n = n;
    l->cb = cb;
    l->arg = arg;
    for (size_t i = 0; i < n; i++) {
        const char *name = arena_strdup(l->arena, names[i]);

        l->sets[2 * i].name = l->sets[2 * i + 1].name = name;
        l->sets[2 * i].type = RR_A;
        l->sets[2 * i + 1].type = RR_AAAA;
    }
    rfc2136_read(l->p, l->zone, l->arena, l->sets, 2 * n, on_records, l);
}

/* ---- specs --------------------------------------------------------------- */

struct specs_call {
    struct rfc2136 *p;
    provider_specs_cb *cb;
    void *arg;
};

static void on_owners(void *arg, const struct resolver_owners *o)
{
    struct specs_call *c = arg;
    struct rfc2136 *p = c->p;
    struct provider_spec *specs = mem_array(o->n + 1, sizeof *specs);
    struct provider_specs out = {.err = o->err, .specs = specs, .n = o->n};

    for (size_t i = 0; i < o->n; i++)
        specs[i].owner = o->owners[i].name; /* the text comes from DNS */
    if (out.err.code == ERR_AUTH)
        (void)err_wrap(&out.err,
                       "the key %s may not transfer the zone (allow "
                       "it, or set discover = names)",
                       p->key->name);
    c->cb(c->arg, &out);
    free(specs);
    free(c);
    rfc2136_leave(p);
}

static void rfc2136_list_specs(struct provider *base, const char *zone,
                               provider_specs_cb *cb, void *arg)
{
    struct specs_call *c = mem_alloc(sizeof *c);

    c->p = (struct rfc2136 *)base;
    rfc2136_enter(c->p);
    c->cb = cb;
    c->arg = arg;
    (void)transfer_start(c->p->env.loop, &c->p->server, zone, c->p->key,
                         c->p->timeout_ms, on_owners, c);
}

const struct provider_ops provider_rfc2136 = {
    .type = "rfc2136",
    .fields = fields,
    .caps = {.per_set = true,
             .conditional = true,
             .lists_specs = true,
             .creates_missing = true,
             .txt_max = TXT_BYTES_MAX},
    .open = rfc2136_open,
    .close = rfc2136_close,
    .list_specs = rfc2136_list_specs,
    .list_records = rfc2136_list_records,
    .apply = rfc2136_apply,
    .write_spec = rfc2136_write_spec,
    .transfer_key = rfc2136_transfer_key,
    .check = rfc2136_check,
};
