#include "agent/engine/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "specs/check.h"

#define KEY_MAX 70000 /* a spec's whole text fits */

struct entry { /* finds a check by its key */
    struct check check;
    UT_hash_handle hh;
};

struct checks {
    struct state *state;
    struct arena *arena;
    struct entry *by_key;
    struct check **list;
    size_t n, cap;
};

struct checks *checks_new(struct state *s)
{
    struct checks *c = mem_alloc(sizeof *c);

    c->state = s;
    c->arena = arena_new();
    return c;
}

void checks_free(struct checks *c)
{
    struct entry *e, *next;

    if (c == NULL)
        return;
    HASH_ITER(hh, c->by_key, e, next)
    {
        HASH_DEL(c->by_key, e);
        free(e);
    }
    free(c->list);
    arena_free(c->arena);
    free(c);
}

/* --- keys ---------------------------------------------------------------- */

static void add_text(struct buf *b, const char *name, const char *value)
{
    if (value != NULL)
        buf_printf(b, " %s=%s", name, value);
}

static void add_number(struct buf *b, const char *name, int64_t value)
{
    if (value != 0)
        buf_printf(b, " %s=%" PRId64, name, value);
}

static void add_parameters(struct buf *b, const struct spec_check *c)
{
    add_text(b, "path", c->path);
    add_text(b, "host", c->host);
    add_text(b, "serverName", c->server_name);
    add_text(b, "method", c->method);
    add_number(b, "unverified", !c->verify);
    for (size_t i = 0; i < c->nheaders; i++)
        add_text(b, c->headers[i].name, c->headers[i].value);
    for (size_t i = 0; i < c->nstatus; i++)
        buf_printf(b, " status=%" PRId64 "-%" PRId64, c->status[i].from,
                   c->status[i].to);
    add_text(b, "body", c->body);
    add_text(b, "bodyMatch", c->body_match);
    for (size_t i = 0; i < c->njson; i++)
        add_text(b, c->json[i].name, c->json[i].value);
    add_text(b, "send", c->send);
    add_text(b, "expect", c->expect);
    add_text(b, "name", c->dns_name);
    add_text(b, "type", c->dns_type);
    add_text(b, "service", c->service);
    add_text(b, "command", c->command);
    add_number(b, "minCertDays", c->min_cert_days);
    add_number(b, "followRedirects", c->follow_redirects);
}

static void add_targets(struct buf *b, const struct check *k)
{
    char text[ADDR_TEXT_SIZE];

    if (k->host != NULL)
        buf_printf(b, " %s:%u", k->host, k->spec->port);
    for (size_t i = 0; i < k->ntargets; i++)
        buf_printf(b, " %s", addr_format_port(&k->targets[i], text));
    if (k->ntargets > 1)
        buf_printf(b, " need=%u", k->need);
}

static void make_keys(struct checks *c, struct check *k)
{
    const struct spec_check *s = k->spec;
    struct buf b;

    buf_init(&b, KEY_MAX);
    buf_str(&b, spec_check_kind_name(s->kind));
    add_targets(&b, k);
    add_parameters(&b, s);
    add_text(&b, "for", k->name);
    buf_printf(&b, " timeout=%" PRId64 "%s", s->timeout_ms,
               s->repeat_timeout ? " repeat" : "");
    k->probe_key = arena_strdup(c->arena, buf_get(&b));
    buf_printf(&b, " success=%" PRIu32 " failure=%" PRIu32, s->required_success,
               s->required_failure);
    k->key = arena_strdup(c->arena, buf_get(&b));
    buf_fini(&b);
}

/* --- adding --------------------------------------------------------------- */

static void find_targets(struct checks *c, struct check *k,
                         const struct spec_record *record)
{
    const struct spec_check *s = k->spec;

    k->need = 1;
    if (s->ntargets > 0) {
        k->targets = arena_array(c->arena, s->ntargets, sizeof *k->targets);
        memcpy(k->targets, s->targets, s->ntargets * sizeof *k->targets);
        k->ntargets = s->ntargets;
        k->need = s->need;
        return;
    }
    if (s->target.family == 0 && record != NULL && record->type == SPEC_CNAME) {
        k->host = record->data;
        return;
    }
    k->targets = arena_alloc(c->arena, sizeof *k->targets);
    if (s->target.family != 0)
        k->targets[0] = s->target;
    else if (record != NULL)
        k->targets[0] = record->addr;
    k->targets[0].port = s->port;
    k->ntargets = 1;
}

struct check *checks_add(struct checks *c, const struct spec_check *spec,
                         const struct spec_record *record, int64_t now_ms)
{
    struct check k = {.spec = spec};
    struct entry *e = NULL;

    find_targets(c, &k, record);
    if (record != NULL && spec_check_wants_host(spec))
        k.name =
            arena_strndup(c->arena, record->name, strlen(record->name) - 1);
    make_keys(c, &k);
    HASH_FIND_STR(c->by_key, k.key, e);
    if (e != NULL)
        return &e->check;
    e = mem_alloc(sizeof *e);
    k.id = c->n;
    k.row = state_check_get(c->state, k.key);
    k.rule.required_success = spec->required_success;
    k.rule.required_failure = spec->required_failure;
    k.rule.access_period_ms = spec->access_period_ms;
    k.retry_period_ms = spec->retry_period_ms;
    health_age(&k.row->health, &k.rule, now_ms);
    e->check = k;
    HASH_ADD_KEYPTR(hh, c->by_key, e->check.key, strlen(e->check.key), e);
    c->list = mem_grow(c->list, &c->cap, c->n, sizeof(struct check *));
    c->list[c->n++] = &e->check;
    return &e->check;
}

size_t checks_count(const struct checks *c)
{
    return c->n;
}

struct check *checks_at(const struct checks *c, size_t id)
{
    return c->list[id];
}

bool checks_any_up(const struct checks *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->list[i]->row->health.state == HEALTH_UP)
            return true;
    return false;
}

/* --- for people ----------------------------------------------------------- */

const char *checks_text(const struct check *c, char *out, size_t size)
{
    struct spec_check plain = *c->spec;

    plain.target.family = 0; /* said by checks_where */
    return spec_check_text(&plain, out, size);
}

const char *checks_where(const struct check *c, char *out, size_t size)
{
    char text[ADDR_TEXT_SIZE];

    if (c->host != NULL)
        (void)snprintf(out, size, "%s", c->host);
    else if (c->ntargets == 1)
        (void)snprintf(out, size, "%s", addr_format(&c->targets[0], text));
    else
        (void)snprintf(out, size, "%u of %zu targets", c->need, c->ntargets);
    return out;
}
