#include "agent/engine/checks/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/engine/checks/check_key.h"
#include "specs/check.h"

#define KEY_MAX 70000 /* a spec's whole text fits */

struct checks {
    struct state *state;
    struct arena *arena;
    struct check **list;
    size_t n, cap;
    /* Finds a check by its row, open addressing; while they are added. */
    struct check **slots;
    size_t nslots;      /* a power of two; 0: none */
    const char *name;   /* the last that was copied, with its final dot */
    const char *copied; /* and its copy, without */
};

struct checks *checks_new(struct state *s)
{
    struct checks *c = mem_alloc(sizeof *c);

    c->state = s;
    c->arena = arena_new();
    return c;
}

void checks_settle(struct checks *c)
{
    struct check **list = mem_array(c->n, sizeof *list);

    if (c->n > 0)
        memcpy(list, c->list, c->n * sizeof *list);
    free(c->list);
    c->list = list;
    c->cap = c->n;
    free(c->slots);
    c->slots = NULL;
    c->nslots = 0;
    c->name = NULL;
}

void checks_free(struct checks *c)
{
    if (c == NULL)
        return;
    free(c->slots);
    free(c->list);
    arena_free(c->arena);
    free(c);
}

/* --- by row --------------------------------------------------------------
 */

/* Where the check of that row is, or would be. */
static struct check **slot_of(struct checks *c, const struct state_check *row)
{
    uint64_t h = (uint64_t)(uintptr_t)row * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(h >> 32) & (c->nslots - 1);

    while (c->slots[at] != NULL && c->slots[at]->row != row)
        at = (at + 1) & (c->nslots - 1);
    return &c->slots[at];
}

static void make_room(struct checks *c)
{
    if (2 * (c->n + 1) <= c->nslots)
        return;
    free(c->slots);
    c->nslots = 64;
    while (c->nslots < 4 * (c->n + 1))
        c->nslots *= 2;
    c->slots = mem_array(c->nslots, sizeof(struct check *));
    for (size_t i = 0; i < c->n; i++)
        *slot_of(c, c->list[i]->row) = c->list[i];
}

/* --- keys ---------------------------------------------------------------- */

/* The thresholds are the key's last word. */
const char *checks_probe_key(const struct check *c, size_t *len)
{
    *len = (size_t)(strrchr(c->row->key, ' ') - c->row->key);
    return c->row->key;
}

/* The row of its key. */
static struct state_check *find_row(struct checks *c, struct check *k)
{
    struct state_check *row;
    struct buf b;

    buf_init(&b, KEY_MAX);
    check_key_write(k, &b);
    row = state_check_get(c->state, buf_get(&b));
    buf_fini(&b);
    return row;
}

/* --- adding --------------------------------------------------------------- */

static void find_targets(struct check *k, const struct spec_record *record)
{
    const struct spec_check *s = k->spec;

    k->need = 1;
    if (s->ntargets > 0) {
        if (s->ntargets == 1)
            k->at.target = s->targets[0];
        else
            k->at.targets = s->targets;
        k->ntargets = (uint16_t)s->ntargets;
        k->need = (uint16_t)s->need;
        return;
    }
    if (s->target.family == 0 && record != NULL && record->type == SPEC_CNAME) {
        k->at.host = record->data;
        return;
    }
    if (s->target.family != 0)
        k->at.target = s->target;
    else if (record != NULL)
        k->at.target = record->addr;
    k->at.target.port = s->port;
    k->ntargets = 1;
}

/* Without its final dot; records of one set come one after the other. */
static const char *short_name(struct checks *c, const char *name)
{
    if (c->name == NULL || strcmp(c->name, name) != 0) {
        c->name = name;
        c->copied = arena_strndup(c->arena, name, strlen(name) - 1);
    }
    return c->copied;
}

_Static_assert(sizeof(struct check) <= 64, "more than a line of the caches");

/* A copy that stays where it is. */
static struct check *keep(struct checks *c, const struct check *k)
{
    struct check *to = arena_alloc(c->arena, sizeof *to);

    *to = *k;
    to->id = (uint32_t)c->n;
    c->list = mem_grow(c->list, &c->cap, c->n, sizeof(struct check *));
    c->list[c->n++] = to;
    return to;
}

struct check *checks_add(struct checks *c, const struct spec_check *spec,
                         const struct spec_record *record, int64_t now_ms)
{
    struct check k = {.spec = spec,
                      .kind = spec->kind,
                      .timeout_ms = (uint32_t)spec->timeout_ms,
                      .repeat_timeout = spec->repeat_timeout,
                      .required_success = spec->required_success & 0x7ff,
                      .required_failure = spec->required_failure & 0x7ff};
    struct check **slot;
    struct health_rule rule;

    find_targets(&k, record);
    if (record != NULL && spec_check_wants_host(spec))
        k.name = short_name(c, record->name);
    k.row = find_row(c, &k);
    make_room(c);
    slot = slot_of(c, k.row);
    if (*slot == NULL) {
        rule = checks_rule(&k);
        rule.access_period_ms = spec->access_period_ms;
        health_age(&k.row->health, &rule, now_ms);
        *slot = keep(c, &k);
    }
    return *slot;
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

void checks_note(struct checks *c, struct state_check *row, const char *text)
{
    state_note(c->state, &row->note, text);
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

    if (checks_host(c) != NULL)
        (void)snprintf(out, size, "%s", checks_host(c));
    else if (c->ntargets == 1)
        (void)snprintf(out, size, "%s", addr_format(&c->at.target, text));
    else
        (void)snprintf(out, size, "%u of %u targets", c->need, c->ntargets);
    return out;
}
