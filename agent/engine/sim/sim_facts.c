#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/engine/sim/sim_internal.h"
#include "agent/engine/world/world_build.h"
#include "specs/value.h"

/* What the trace says, and whom it is about. A fact about nothing that the
 * specs have is a typo: an error, not a fact without effect. */

#define LIST_MAX 400 /* bytes of a list in a message */

/* --- targets ------------------------------------------------------------- */

/* A fact's target, read. */
struct aimed {
    bool any, is_addr;
    struct addr addr; /* port 0: any */
    char name[NAME_SIZE], relative[NAME_SIZE];
};

static int read_target(const struct sim *s, const struct trace_fact *f,
                       struct aimed *out, struct err *e)
{
    memset(out, 0, sizeof *out);
    out->any = f->target == NULL;
    if (out->any)
        return 0;
    out->is_addr = addr_parse_port(f->target, 0, &out->addr, NULL) == 0;
    if (out->is_addr)
        return 0;
    if (name_canon(f->target, out->name, NULL) != 0 ||
        name_resolve(f->target, s->o->zone, out->relative, NULL) != 0)
        return err_set(e, ERR_INPUT,
                       "line %zu: target: found \"%.80s\"; accepted: an "
                       "address, or the name of a CNAME record",
                       f->line, f->target);
    return 0;
}

static bool is_target(const struct aimed *a, const struct check *c, size_t i)
{
    const char *host = checks_host(c);
    const struct addr *targets = checks_targets(c);

    if (a->any)
        return true;
    if (host != NULL)
        return !a->is_addr &&
               (strcmp(host, a->name) == 0 || strcmp(host, a->relative) == 0);
    return a->is_addr && addr_equal(&a->addr, &targets[i]) &&
           (a->addr.port == 0 || a->addr.port == targets[i].port);
}

/* --- checks -------------------------------------------------------------- */

/* A fact's check, read: by name, or as a shorthand. */
struct asked {
    bool any;
    bool *named;         /* by check id; NULL: as a shorthand */
    struct spec *holder; /* of the shorthand */
    const struct spec_check *check;
};

static void name_leaves(const struct sim *s, const struct world_spec *ws,
                        size_t check, bool *named)
{
    (void)s;
    for (size_t i = 0; i < ws->nleaves; i++)
        if (ws->leaves[i].check == check)
            named[ws->leaves[i].at->id] = true;
}

static bool read_name(const struct sim *s, const char *text, bool *named)
{
    bool found = false;

    for (size_t i = 0; i < s->w->nspecs; i++) {
        const struct world_spec *ws = &s->w->specs[i];

        for (size_t k = 0; k < ws->spec->nchecks; k++) {
            const char *name = ws->spec->checks[k].name;

            if (name == NULL || strcmp(name, text) != 0)
                continue;
            found = true;
            name_leaves(s, ws, k, named);
        }
    }
    return found;
}

/* The language's own reader reads the shorthand, out of a spec around it. */
static int read_shorthand(const struct sim *s, const char *text,
                          struct asked *out)
{
    const struct spec_context ctx = {.owner = s->o->zone, .zone = s->o->zone};
    struct buf b;
    struct err e;
    int rc;

    buf_init(&b, SPEC_TEXT_MAX);
    buf_str(&b, "{\"records\":[{\"data\":\"192.0.2.1\",\"check\":");
    spec_value_quote_json(&b, text);
    buf_str(&b, "}]}");
    rc = spec_parse_text(buf_get(&b), b.len, &ctx, &out->holder, &e);
    buf_fini(&b);
    if (rc == 0)
        out->check = &out->holder->checks[0];
    return rc;
}

static int read_check(const struct sim *s, const struct trace_fact *f,
                      struct asked *out, struct err *e)
{
    memset(out, 0, sizeof *out);
    out->any = f->check == NULL;
    if (out->any)
        return 0;
    out->named = mem_array(s->nchecks, sizeof *out->named);
    if (read_name(s, f->check, out->named))
        return 0;
    free(out->named);
    out->named = NULL;
    if (read_shorthand(s, f->check, out) == 0)
        return 0;
    return err_set(e, ERR_INPUT,
                   "line %zu: check: found \"%.80s\"; accepted: the name of a "
                   "check of the specs, or a shorthand (tcp:443, "
                   "https://www.example.org/path, icmp …)",
                   f->line, f->check);
}

static void asked_fini(struct asked *a)
{
    free(a->named);
    spec_free(a->holder);
}

static bool same(const char *a, const char *b)
{
    return a == NULL || (b != NULL && strcmp(a, b) == 0);
}

static bool is_check(const struct asked *a, const struct check *c)
{
    const struct spec_check *x = a->check, *y = c->spec;
    const struct spec_dialog *xd, *yd;

    if (a->any)
        return true;
    if (a->named != NULL)
        return a->named[c->id];
    xd = spec_dialog_of(x);
    yd = spec_dialog_of(y);
    return x->kind == y->kind && x->port == y->port &&
           same(xd->path, yd->path) && same(xd->host, yd->host) &&
           same(xd->dns_name, yd->dns_name) &&
           same(xd->dns_type, yd->dns_type) && same(xd->service, yd->service) &&
           same(xd->command, yd->command);
}

/* --- binding ------------------------------------------------------------- */

static void bind_aims(const struct sim *s, const struct aimed *at,
                      const struct asked *what, struct sim_bound *out)
{
    for (size_t i = 0; i < s->nchecks; i++) {
        const struct check *c = checks_at(s->checks, i);
        const struct addr *targets = checks_targets(c);
        struct addr own = {0};

        if (!is_check(what, c))
            continue;
        if (what->check != NULL)
            own = what->check->target;
        for (size_t k = 0; k < sim_targets(c); k++) {
            if (!is_target(at, c, k) ||
                (own.family != 0 &&
                 (targets == NULL || !addr_equal(&own, &targets[k]))))
                continue;
            out->aims =
                mem_grow(out->aims, &out->cap, out->n, sizeof *out->aims);
            out->aims[out->n].check = i;
            out->aims[out->n++].target = k;
        }
    }
}

static int nobody(const struct sim *s, const struct trace_fact *f,
                  struct err *e)
{
    struct buf b;
    int rc;

    buf_init(&b, LIST_MAX);
    for (size_t i = 0; i < s->nchecks && !b.over; i++) {
        const struct check *c = checks_at(s->checks, i);
        char text[256], where[NAME_SIZE];

        buf_printf(&b, "%s%s at %s", i > 0 ? ", " : "",
                   checks_text(c, text, sizeof text),
                   checks_where(c, where, sizeof where));
    }
    rc = err_set(e, ERR_INPUT,
                 "line %zu: no check of the specs %s %s%s%s; there are: %s%s",
                 f->line, f->check != NULL ? "is" : "probes",
                 f->check != NULL ? f->check : f->target,
                 f->check != NULL && f->target != NULL ? " at " : "",
                 f->check != NULL && f->target != NULL ? f->target : "",
                 b.len > 0 ? buf_get(&b) : "none", b.over ? " …" : "");
    buf_fini(&b);
    return rc;
}

static int bind_result(const struct sim *s, const struct trace_fact *f,
                       struct sim_bound *out, struct err *e)
{
    struct aimed at;
    struct asked what;
    int rc;

    if (read_target(s, f, &at, e) != 0)
        return -1;
    rc = read_check(s, f, &what, e);
    if (rc == 0) {
        bind_aims(s, &at, &what, out);
        rc = out->n > 0 ? 0 : nobody(s, f, e);
    }
    asked_fini(&what);
    return rc;
}

/* --- the operator and the provider ---------------------------------------- */

static bool has_dc(const struct sim *s, const char *dc)
{
    for (size_t i = 0; i < s->o->nspecs; i++)
        for (size_t k = 0; k < s->o->specs[i]->ndcs; k++)
            if (strcmp(s->o->specs[i]->dcs[k].name, dc) == 0)
                return true;
    return false;
}

static int bind_maintenance(const struct sim *s, const struct trace_fact *f,
                            struct sim_bound *out, struct err *e)
{
    out->name = f->what;
    if (has_dc(s, f->what))
        return 0;
    return err_set(e, ERR_INPUT,
                   "line %zu: maintenance: no spec has a data centre called "
                   "\"%.80s\"",
                   f->line, f->what);
}

/* A name that some set has. */
static int bind_name(struct sim *s, const struct trace_fact *f,
                     const char *text, struct sim_bound *out, struct err *e)
{
    char name[NAME_SIZE];
    struct err why;

    if (name_resolve(text, s->o->zone, name, &why) != 0)
        return err_set(e, ERR_INPUT, "line %zu: %s", f->line, why.msg);
    out->name = arena_strdup(s->facts, name);
    for (size_t i = 0; i < s->nsets; i++)
        if (strcmp(s->w->plan.sets[i].name, name) == 0)
            return 0;
    return err_set(e, ERR_INPUT, "line %zu: no spec has a set at %s", f->line,
                   name);
}

static int bind_freeze(struct sim *s, const struct trace_fact *f,
                       struct sim_bound *out, struct err *e)
{
    char name[NAME_SIZE];

    out->zone = s->o->zone;
    out->name = "*";
    if (strcmp(f->what, "all") == 0) {
        out->zone = "*";
        return 0;
    }
    if (name_canon(f->what, name, NULL) == 0 && strcmp(name, s->o->zone) == 0)
        return 0;
    return bind_name(s, f, f->what, out, e);
}

/* data as the sets hold it, or NULL: no value of that type. */
static const char *canonical(struct sim *s, enum spec_type type,
                             const char *data)
{
    char text[NAME_SIZE];
    struct addr a;

    if (type == SPEC_CNAME)
        return name_resolve(data, s->o->zone, text, NULL) == 0
                   ? arena_strdup(s->facts, text)
                   : NULL;
    if (addr_parse(data, &a) != 0 || (a.family == 6) != (type == SPEC_AAAA))
        return NULL;
    return arena_strdup(s->facts, addr_format(&a, text));
}

static bool holds(const struct plan_set *ps, const char *data)
{
    for (size_t i = 0; i < ps->nvalues; i++)
        if (strcmp(ps->values[i].data, data) == 0)
            return true;
    return false;
}

static int bind_readmit(struct sim *s, const struct trace_fact *f,
                        struct sim_bound *out, struct err *e)
{
    out->is_dc = f->ndata == 0 && has_dc(s, f->what);
    out->name = f->what;
    if (out->is_dc)
        return 0;
    if (bind_name(s, f, f->what, out, e) != 0)
        return -1;
    out->data = arena_array(s->facts, 1, sizeof *out->data);
    for (size_t i = 0; f->ndata > 0 && i < s->nsets; i++) {
        const struct plan_set *ps = &s->w->plan.sets[i];
        const char *data = canonical(s, ps->type, f->data[0]);

        if (strcmp(ps->name, out->name) == 0 && data != NULL && holds(ps, data))
            out->data[0] = data;
    }
    out->ndata = f->ndata;
    if (f->ndata == 0 || out->data[0] != NULL)
        return 0;
    return err_set(e, ERR_INPUT, "line %zu: readmit: %s has no value %.80s",
                   f->line, out->name, f->data[0]);
}

/* "www A": a name and a type. */
static int bind_set(struct sim *s, const struct trace_fact *f,
                    struct sim_bound *out, struct err *e)
{
    const char *blank = strrchr(f->what, ' ');
    char text[NAME_SIZE];
    int t = SPEC_NTYPES;

    if (blank != NULL && blank - f->what < NAME_SIZE)
        for (t = 0; t < SPEC_NTYPES; t++)
            if (strcmp(blank + 1, spec_type_name((enum spec_type)t)) == 0)
                break;
    if (t == SPEC_NTYPES)
        return err_set(e, ERR_INPUT,
                       "line %zu: published: found \"%.80s\"; accepted: a name "
                       "and a type, \"www A\", \"@ AAAA\", \"www CNAME\"",
                       f->line, f->what);
    (void)snprintf(text, sizeof text, "%.*s", (int)(blank - f->what), f->what);
    out->type = (enum spec_type)t;
    return bind_name(s, f, text, out, e);
}

static int bind_published(struct sim *s, const struct trace_fact *f,
                          struct sim_bound *out, struct err *e)
{
    bool found = false;

    if (bind_set(s, f, out, e) != 0)
        return -1;
    for (size_t i = 0; i < s->nsets; i++)
        found = found || sim_is_shown(s, f, out, i);
    if (!found)
        return err_set(e, ERR_INPUT, "line %zu: no spec has the set %s %s%s%s",
                       f->line, out->name, spec_type_name(out->type),
                       f->view != NULL ? " of view " : "",
                       f->view != NULL ? f->view : "");
    out->data = arena_array(s->facts, f->ndata, sizeof *out->data);
    for (; out->ndata < f->ndata; out->ndata++) {
        const char *data = canonical(s, out->type, f->data[out->ndata]);

        if (data == NULL)
            return err_set(
                e, ERR_INPUT, "line %zu: data: \"%.80s\" is no value of %s",
                f->line, f->data[out->ndata], spec_type_name(out->type));
        out->data[out->ndata] = data;
    }
    return 0;
}

/* --- the whole ------------------------------------------------------------ */

static int bind_restart(const struct sim *s, const struct trace_fact *f,
                        struct err *e)
{
    if (s->o->state_path != NULL)
        return 0;
    return err_set(e, ERR_INPUT,
                   "line %zu: a restart needs a state that is "
                   "saved",
                   f->line);
}

static int bind_one(struct sim *s, const struct trace_fact *f,
                    struct sim_bound *out, struct err *e)
{
    switch (f->kind) {
    case TRACE_RESULT:
        return bind_result(s, f, out, e);
    case TRACE_MAINTENANCE:
        return bind_maintenance(s, f, out, e);
    case TRACE_FREEZE:
        return bind_freeze(s, f, out, e);
    case TRACE_READMIT:
        return bind_readmit(s, f, out, e);
    case TRACE_PUBLISHED:
        return bind_published(s, f, out, e);
    case TRACE_RESTART:
        return bind_restart(s, f, e);
    case TRACE_END:
        break;
    }
    return 0;
}

int sim_facts_bind(struct sim *s, struct err *e)
{
    s->facts = arena_new();
    s->bounds = mem_array(s->o->nfacts, sizeof *s->bounds);
    for (size_t i = 0; i < s->o->nfacts; i++)
        if (bind_one(s, &s->o->facts[i], &s->bounds[i], e) != 0)
            return -1;
    return 0;
}
