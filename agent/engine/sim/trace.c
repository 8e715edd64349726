#include "agent/engine/sim/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "specs/json.h"

/* One fact being read. */
struct line {
    struct arena *a;
    const struct spec_value *v; /* the object */
    struct trace_fact *f;
    struct err *e;
};

typedef int read_fn(struct line *l, const struct spec_value *v);

struct member {
    const char *name;
    read_fn *read;
};

struct form {
    const char *name; /* the member that tells */
    enum trace_kind kind;
    struct member members[6]; /* ends with NULL */
};

static int wrong(struct line *l, const struct spec_value *v,
                 const char *accepted)
{
    char quote[SPEC_QUOTE_SIZE];

    return err_set(l->e, ERR_INPUT, "line %zu: %s: found %s; accepted: %s",
                   l->f->line, v->name, spec_value_quote(v, quote), accepted);
}

/* --- members ---------------------------------------------------------------
 */

static int read_time(struct line *l, const struct spec_value *v, int64_t *out)
{
    if ((v->type != SPEC_VALUE_STRING && v->type != SPEC_VALUE_NUMBER) ||
        duration_parse(v->text, out, NULL) != 0)
        return wrong(l, v,
                     "a number of seconds, or \"500ms\", \"10s\", \"2m\", "
                     "\"1h\", up to 366 days");
    return 0;
}

static int read_t(struct line *l, const struct spec_value *v)
{
    return read_time(l, v, &l->f->t_ms);
}

static int read_for(struct line *l, const struct spec_value *v)
{
    if (read_time(l, v, &l->f->for_ms) != 0)
        return -1;
    return l->f->for_ms > 0 ? 0 : wrong(l, v, "a time longer than 0");
}

static int read_string(struct line *l, const struct spec_value *v,
                       const char **out)
{
    if (v->type != SPEC_VALUE_STRING || v->text[0] == '\0')
        return wrong(l, v, "a string");
    *out = v->text;
    return 0;
}

static int read_what(struct line *l, const struct spec_value *v)
{
    return read_string(l, v, &l->f->what);
}

static int read_target(struct line *l, const struct spec_value *v)
{
    return read_string(l, v, &l->f->target);
}

static int read_check(struct line *l, const struct spec_value *v)
{
    if (v->type != SPEC_VALUE_NUMBER)
        return read_string(l, v, &l->f->check);
    l->f->check = v->text; /* a port */
    return 0;
}

static int read_view(struct line *l, const struct spec_value *v)
{
    return read_string(l, v, &l->f->view);
}

static int read_on(struct line *l, const struct spec_value *v)
{
    if (v->type != SPEC_VALUE_TRUE && v->type != SPEC_VALUE_FALSE)
        return wrong(l, v, "true, false");
    l->f->on = v->type == SPEC_VALUE_TRUE;
    return 0;
}

static int read_ok(struct line *l, const struct spec_value *v)
{
    if (v->type != SPEC_VALUE_TRUE && v->type != SPEC_VALUE_FALSE)
        return wrong(l, v, "true, false");
    l->f->result = v->type == SPEC_VALUE_TRUE ? TRACE_OK : TRACE_FAIL;
    return 0;
}

static int read_error(struct line *l, const struct spec_value *v)
{
    if (v->type != SPEC_VALUE_STRING || strcmp(v->text, "local") != 0)
        return wrong(l, v, "\"local\"");
    l->f->result = TRACE_LOCAL;
    return 0;
}

static int read_true(struct line *l, const struct spec_value *v)
{
    return v->type == SPEC_VALUE_TRUE ? 0 : wrong(l, v, "true");
}

static int read_data(struct line *l, const struct spec_value *v)
{
    const char **data = arena_array(l->a, v->n, sizeof *data);

    if (v->type != SPEC_VALUE_ARRAY)
        return wrong(l, v, "a list of values: [\"192.0.2.1\"]");
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        if (k->type != SPEC_VALUE_STRING)
            return wrong(l, v, "a list of strings");
        data[l->f->ndata++] = k->text;
    }
    l->f->data = data;
    return 0;
}

static int read_datum(struct line *l, const struct spec_value *v)
{
    const char **data = arena_array(l->a, 1, sizeof *data);

    if (read_string(l, v, &data[0]) != 0)
        return -1;
    l->f->data = data;
    l->f->ndata = 1;
    return 0;
}

static int read_thaw(struct line *l, const struct spec_value *v)
{
    l->f->on = false;
    return read_what(l, v);
}

static int read_freeze(struct line *l, const struct spec_value *v)
{
    l->f->on = true;
    return read_what(l, v);
}

/* --- forms ------------------------------------------------------------------
 */

static const struct form forms[] = {
    {"maintenance",
     TRACE_MAINTENANCE,
     {{"maintenance", read_what}, {"on", read_on}, {"for", read_for}}},
    {"freeze", TRACE_FREEZE, {{"freeze", read_freeze}, {"for", read_for}}},
    {"thaw", TRACE_FREEZE, {{"thaw", read_thaw}}},
    {"readmit", TRACE_READMIT, {{"readmit", read_what}, {"data", read_datum}}},
    {"published",
     TRACE_PUBLISHED,
     {{"published", read_what}, {"data", read_data}, {"view", read_view}}},
    {"restart", TRACE_RESTART, {{"restart", read_true}}},
    {"end", TRACE_END, {{"end", read_true}}},
    {"ok",
     TRACE_RESULT,
     {{"ok", read_ok}, {"target", read_target}, {"check", read_check}}},
    {"error",
     TRACE_RESULT,
     {{"error", read_error}, {"target", read_target}, {"check", read_check}}},
};
enum { NFORMS = sizeof forms / sizeof forms[0] };

static bool is_remark(const char *name)
{
    return strcmp(name, "comment") == 0 || strncmp(name, "x-", 2) == 0;
}

static const struct form *find_form(const struct spec_value *v)
{
    for (size_t i = 0; i < NFORMS; i++)
        if (spec_value_find(v, forms[i].name) != NULL)
            return &forms[i];
    return NULL;
}

static const struct member *find_member(const struct form *form,
                                        const char *name)
{
    for (size_t i = 0; form->members[i].name != NULL; i++)
        if (strcmp(form->members[i].name, name) == 0)
            return &form->members[i];
    return NULL;
}

static int unknown_member(struct line *l, const struct form *form,
                          const char *name)
{
    char list[128] = "t";

    for (size_t i = 0; form->members[i].name != NULL; i++) {
        size_t n = strlen(list);

        (void)snprintf(list + n, sizeof list - n, ", %s",
                       form->members[i].name);
    }
    return err_set(l->e, ERR_INPUT,
                   "line %zu: unknown member \"%.60s\"; accepted beside %s: "
                   "%s, comment",
                   l->f->line, name, form->name, list);
}

static int read_members(struct line *l, const struct form *form)
{
    for (const struct spec_value *m = l->v->child; m != NULL; m = m->next) {
        const struct member *how = find_member(form, m->name);

        if (is_remark(m->name))
            continue;
        if (strcmp(m->name, "t") == 0 ? read_t(l, m) != 0
            : how != NULL             ? how->read(l, m) != 0
                                      : unknown_member(l, form, m->name) != 0)
            return -1;
    }
    return 0;
}

static int need_member(struct line *l, const char *name, const char *why)
{
    if (spec_value_find(l->v, name) != NULL)
        return 0;
    return err_set(l->e, ERR_INPUT, "line %zu: \"%s\" is missing%s", l->f->line,
                   name, why);
}

static int check_fact(struct line *l)
{
    const struct trace_fact *f = l->f;

    if (need_member(l, "t", ": the time of the fact") != 0)
        return -1;
    if (f->kind == TRACE_RESULT && f->target == NULL && f->check == NULL)
        return need_member(l, "target", ": the address or name of a target");
    if (f->kind == TRACE_PUBLISHED)
        return need_member(l, "data", ": the values that are published");
    if (f->kind == TRACE_MAINTENANCE)
        return need_member(l, "on", ": true or false");
    return 0;
}

/* returns 1: a remark, nothing to keep */
static int read_fact(struct line *l)
{
    const struct form *form = find_form(l->v);
    bool remarks = form == NULL;

    for (const struct spec_value *m = l->v->child; m != NULL; m = m->next)
        remarks = remarks && (is_remark(m->name) || strcmp(m->name, "t") == 0);
    if (remarks)
        return 1;
    if (form == NULL)
        return err_set(l->e, ERR_INPUT,
                       "line %zu: no fact; one of ok, error, maintenance, "
                       "freeze, thaw, readmit, published, restart, end says "
                       "what it is",
                       l->f->line);
    l->f->kind = form->kind;
    return read_members(l, form) != 0 ? -1 : check_fact(l);
}

/* --- lines
 * -------------------------------------------------------------------- */

static bool is_blank(const char *p, size_t n)
{
    while (n > 0 && (*p == ' ' || *p == '\t' || *p == '\r')) {
        p++;
        n--;
    }
    return n == 0;
}

static int read_line(struct arena *a, const char *p, size_t n,
                     struct trace_fact *f, struct err *e)
{
    struct line l = {a, NULL, f, e};
    struct spec_value *v = NULL;
    char where[32];

    (void)snprintf(where, sizeof where, "line %zu", f->line);
    if (spec_json_parse(a, where, p, n, &v, e) != 0)
        return -1;
    if (v->type != SPEC_VALUE_OBJECT)
        return err_set(e, ERR_INPUT, "%s: a fact is an object: {\"t\": …}",
                       where);
    l.v = v;
    return read_fact(&l);
}

static int by_time(const void *a, const void *b)
{
    const struct trace_fact *x = a, *y = b;

    if (x->t_ms != y->t_ms)
        return x->t_ms < y->t_ms ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

int trace_read(struct arena *a, const char *text, size_t len,
               struct trace_fact **facts, size_t *n, struct err *e)
{
    struct trace_fact *list = NULL;
    size_t cap = 0, line = 0;
    int rc = 0;

    *n = 0;
    for (size_t at = 0; at < len && rc >= 0;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t size = end != NULL ? (size_t)(end - text) - at : len - at;

        line++;
        if (!is_blank(text + at, size)) {
            list = mem_grow(list, &cap, *n, sizeof *list);
            memset(&list[*n], 0, sizeof *list);
            list[*n].line = line;
            rc = read_line(a, text + at, size, &list[*n], e);
            *n += rc == 0;
        }
        at += size + 1;
    }
    *facts = arena_array(a, *n, sizeof **facts);
    if (*n > 0) {
        memcpy(*facts, list, *n * sizeof **facts);
        qsort(*facts, *n, sizeof **facts, by_time);
    }
    free(list);
    return rc < 0 ? -1 : 0;
}
