#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/engine/round/round_internal.h"
#include "agent/engine/world/txt.h"

/* Third stage: texts become specs. What cannot be read or is not valid
 * changes nothing: the last good spec stays in force. */

struct arena *round_reading(struct round *r)
{
    if (r->reading == NULL)
        r->reading = arena_new();
    return r->reading;
}

void round_forget_owners(struct round_zone *z)
{
    for (size_t k = 0; k < z->nowners; k++)
        spec_free(z->owners[k]->spec);
    free(z->owners);
    z->owners = NULL;
    z->nowners = z->owners_cap = 0;
    z->apex = NULL;
    z->commands = NULL;
}

void round_zone_fini(struct round_zone *z)
{
    round_forget_owners(z);
    for (size_t i = 0; i < z->nspecs; i++)
        spec_free(z->specs[i]);
    z->nspecs = 0;
    world_free(z->world);
}

/* --- judging one owner
 * -------------------------------------------------------------- */

static int parse_kept(struct round_owner *o, const struct spec_txt *txts,
                      size_t n, bool keep_doc, struct spec **spec,
                      struct err *e)
{
    struct round_zone *z = o->zone;
    const struct config *cfg = z->round->cfg;
    struct spec_context ctx = {
        .owner = o->name,
        .zone = z->name,
        .apex = o != z->apex && z->apex != NULL ? z->apex->spec : NULL,
        .ns_names = z->ns_names,
        .nns_names = z->nns_names,
        .cross_names = z->cfg->cross_names,
        .min_period_ms = cfg->min_period_ms,
        .max_targets = (size_t)cfg->max_targets,
        .allow_active = z->cfg->allow_active,
        .to_run = !keep_doc,
        .keep_doc = keep_doc};
    const char *const *execs;

    if (z->commands == NULL)
        z->ncommands = config_commands_of(cfg, z->name, z->round->reading,
                                          &z->commands, &execs);
    ctx.commands = z->commands;
    ctx.ncommands = z->ncommands;
    return spec_parse(txts, n, &ctx, spec, e);
}

static int parse(struct round_owner *o, const struct spec_txt *txts, size_t n,
                 struct spec **spec, struct err *e)
{
    return parse_kept(o, txts, n, false, spec, e);
}

static void use_last_good(struct round_owner *o, const char *why)
{
    struct round *r = o->zone->round;
    struct err e;
    char *texts = state_spec_texts(r->state, o->row, &e);
    size_t n = 0;
    struct spec_txt *txts =
        texts != NULL ? txt_parse(r->reading, texts, &n) : NULL;

    state_text(&o->row->stale, why);
    free(texts);
    if (texts == NULL)
        round_problem(r, o->zone->name, o->name,
                      "%s; and the last good spec cannot be read: %s", why,
                      e.msg);
    else if (parse(o, txts, n, &o->spec, &e) != 0)
        round_problem(r, o->zone->name, o->name,
                      "%s; and the last good spec is no longer valid: %s", why,
                      e.msg);
}

/* The server says clearly that there is no spec (any more). */
static void on_gone(struct round_owner *o)
{
    struct round *r = o->zone->round;

    if (o->row == NULL || !o->row->good) {
        if (o->listed)
            round_warn(r, o->zone->name, o->name,
                       "_failover.%.*s: %s: nothing is published there yet",
                       round_plain_len(o->name), o->name, o->why);
        return;
    }
    if (o->row->gone_ms == 0) {
        o->row->gone_ms = state_now_ms();
        use_last_good(o, "the record is gone; a second look decides");
        round_warn(r, o->zone->name, o->name,
                   "_failover.%.*s is gone (%s): the last good spec stays in "
                   "force until the next look says so too",
                   round_plain_len(o->name), o->name, o->why);
        return;
    }
    if (state_now_ms() - o->row->gone_ms < r->gone_apart_ms) {
        use_last_good(o, "the record is gone; a second look decides");
        return;
    }
    round_note(r, o->zone->name,
               "_failover.%.*s is gone: no longer managed; its records stay as "
               "they stand",
               round_plain_len(o->name), o->name);
    state_drop_spec(r->state, o->row);
    o->row = NULL;
}

/* --- what was damaged on the way
 * ----------------------------------------------------- */

#define LOST                                                                   \
    "; the provider holds a good text, so what DNS serves lost something on "  \
    "the way (quotes, or a cut)"
#define STRING_MAX 255 /* RFC 1035 3.3; where panels cut */

/* One that can be printed. */
static int parse_one(struct round_owner *o, const char *text, size_t len,
                     struct spec **spec)
{
    struct spec_string s = {text, len};
    struct spec_txt t = {&s, 1};
    struct err e;

    return parse_kept(o, &t, 1, true, spec, &e);
}

/* The text means the same without its quotes. */
static bool is_bare_enough(struct round_owner *o, const struct spec *want)
{
    char *bare = mem_alloc(o->provider_len + 1), *a, *b;
    struct spec *spec = NULL;
    size_t n = 0;
    bool same = false;

    for (size_t i = 0; i < o->provider_len; i++) {
        const char *c = o->provider_text + i;

        if (*c != '"' && (*c != '\\' || c[1] != '"'))
            bare[n++] = *c;
    }
    if (parse_one(o, bare, n, &spec) == 0) {
        a = spec_print(spec);
        b = spec_print(want);
        same = strcmp(a, b) == 0;
        free(a);
        free(b);
    }
    spec_free(spec);
    free(bare);
    return same;
}

static bool is_short_when_escaped(const struct round_owner *o)
{
    size_t n = o->provider_len;

    for (size_t i = 0; i < o->provider_len; i++)
        n += o->provider_text[i] == '"' || o->provider_text[i] == '\\';
    return n <= STRING_MAX;
}

/* DNS serves a damaged text while the provider shows a good one. */
static const char *damage_hint(struct round_owner *o)
{
    const char *hint = "";
    struct spec *good = NULL;

    if (o->outcome != RESOLVER_FOUND || o->provider_text == NULL ||
        parse_one(o, o->provider_text, o->provider_len, &good) != 0)
        hint = "";
    else if (is_bare_enough(o, good))
        hint = LOST ": publish it in the bare spelling, without double quotes";
    else if (good->spelling == SPEC_JSON && is_short_when_escaped(o))
        hint = LOST ", and the bare spelling cannot say it: put a backslash "
                    "before each double quote";
    else
        hint = LOST ", and the bare spelling cannot say it: take everything "
                    "but letters, digits and . _ : / @ | ! ? = & % * + ~ - out "
                    "of its values and publish it without double quotes, or "
                    "spread it over several TXT records of at most 255 bytes, "
                    "with a backslash before each double quote";
    spec_free(good);
    return hint;
}

static void on_bad(struct round_owner *o, const struct err *e)
{
    struct round *r = o->zone->round;
    bool last = o->row != NULL && o->row->good;

    round_problem(r, o->zone->name, o->name, "%s%s%s", e->msg, damage_hint(o),
                  last ? "; the last good spec stays in force" : "");
    if (last)
        use_last_good(o, e->msg);
}

static void on_good(struct round_owner *o)
{
    struct round *r = o->zone->round;
    char *texts = txt_print(o->txts, o->ntxts);

    if (o->row == NULL)
        o->row = state_spec_get(r->state, o->zone->name, o->name);
    o->row->used = true;
    state_spec_put(r->state, o->row, texts);
    free(texts);
    o->row->good_wall_ms = clock_wall_ms();
    o->row->gone_ms = 0;
    state_text(&o->row->stale, NULL);
    for (size_t i = 0; i < o->spec->nwarnings; i++)
        round_detail(r, o->zone->name, "%s", o->spec->warnings[i].text);
    spec_forget_warnings(o->spec);
}

static void read_owner(struct round_owner *o)
{
    struct err e = {ERR_NONE, ""};

    if (!o->asked && o->outcome != RESOLVER_FAILED)
        return;
    if (o->row != NULL)
        o->row->used = true;
    if (o->outcome == RESOLVER_FAILED) {
        (void)err_set(&e, ERR_RETRY, "_failover.%.*s lookup failed: %s",
                      round_plain_len(o->name), o->name, o->why);
        /* An apex spec is optional, and no news while there was none. */
        if (o->row != NULL || o->listed || o != o->zone->apex)
            on_bad(o, &e);
        return;
    }
    if (o->outcome == RESOLVER_FOUND &&
        parse(o, o->txts, o->ntxts, &o->spec, &e) == 0) {
        on_good(o);
        return;
    }
    if (o->outcome == RESOLVER_GONE || e.code == ERR_NOTFOUND) {
        if (o->outcome == RESOLVER_FOUND)
            o->why = arena_strdup(o->zone->round->reading, e.msg);
        on_gone(o);
        return;
    }
    on_bad(o, &e);
}

void round_read_specs(struct round *r)
{
    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];

        if (z->failed)
            continue;
        read_owner(z->apex);
        for (size_t k = 0; k < z->nowners; k++)
            if (z->owners[k] != z->apex)
                read_owner(z->owners[k]);
    }
}
