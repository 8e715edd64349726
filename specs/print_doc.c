#include "specs/spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "specs/object.h"
#include "specs/print.h"

/* The merged document of a spec as one text. */

#define PRINT_MAX                                                              \
    (1u << 24) /* each record of a text prints to less than                    \
                  250 times its shortest spelling */

static void number(struct spec_printer *p, const struct spec_member *m,
                   int64_t value)
{
    char text[48];

    spec_print_key(p, NULL, m->name);
    if (m->kind == SPEC_MEMBER_BOOL) {
        spec_print_raw(p, value != 0 ? "true" : "false");
        return;
    }
    (void)spec_member_format(m, value, text, sizeof text);
    if (m->kind == SPEC_MEMBER_COUNT || m->kind == SPEC_MEMBER_S)
        spec_print_raw(p, text);
    else
        spec_print_string(p, NULL, text);
}

static void top(struct spec_printer *p, const struct spec_doc *d,
                enum spec_top t)
{
    if (d->top[t].at != NULL)
        number(p, &spec_object_members.members[t], d->top[t].value);
}

static void print_defaults(struct spec_printer *p, const struct spec_doc *d)
{
    bool any = false;

    for (size_t i = 0; i < SPEC_NDEFAULTS; i++) {
        if (d->defaults[i].at == NULL)
            continue;
        if (!any) {
            spec_print_key(p, NULL, "defaults");
            spec_print_open(p, '{');
        }
        any = true;
        number(p, &spec_object_defaults.members[i], d->defaults[i].value);
    }
    if (any)
        spec_print_close(p, '}');
}

static void print_named(struct spec_printer *p, const struct spec_doc *d,
                        enum spec_named_kind kind, enum spec_top t)
{
    const struct spec_member *map = &spec_object_members.members[t];
    const struct spec_member one = {.kind = map->of};
    bool any = false;

    for (size_t i = 0; i < d->nnamed; i++) {
        const struct spec_named *n = &d->named[i];

        if (n->kind != kind)
            continue;
        if (!any) {
            spec_print_key(p, NULL, map->name);
            spec_print_open(p, '{');
        }
        any = true;
        spec_print_key(p, n->at, n->name);
        if (map->table != NULL)
            spec_print_object(p, map->table, n->at);
        else
            spec_print_value(p, &one, n->at);
    }
    if (any)
        spec_print_close(p, '}');
}

/* place: in the list that is printed, from 1. */
static void print_item(struct spec_printer *p, const struct spec_item *item,
                       const struct spec_table *t, int64_t place)
{
    const struct spec_record *rec = &item->rec;
    char prio[24];

    spec_print_open(p, '{');
    spec_print_key(p, NULL, "name");
    spec_print_string(p, spec_value_find(item->at, "name"), rec->name);
    spec_print_key(p, NULL, "data");
    spec_print_string(p, spec_value_find(item->at, "data"), rec->data);
    for (size_t i = 0; i < t->n; i++) {
        const struct spec_member *m = &t->members[i];
        const struct spec_value *v = spec_value_find(item->at, m->name);

        if (v == NULL || strcmp(m->name, "name") == 0 ||
            strcmp(m->name, "type") == 0 || strcmp(m->name, "data") == 0 ||
            strcmp(m->name, "prio") == 0 || strcmp(m->name, "view") == 0)
            continue;
        spec_print_key(p, v, m->name);
        spec_print_value(p, m, v);
    }
    if (item->prio_given || rec->prio != place) {
        spec_print_key(p, NULL, "prio");
        (void)snprintf(prio, sizeof prio, "%" PRId32, rec->prio);
        spec_print_raw(p, prio);
    }
    if (spec_rare_of(rec)->view != NULL) {
        spec_print_key(p, NULL, "view");
        spec_print_string(p, NULL, spec_rare_of(rec)->view);
    }
    spec_print_close(p, '}');
}

static void print_items(struct spec_printer *p, const struct spec_doc *d,
                        enum spec_array array, enum spec_top t)
{
    const struct spec_member *list = &spec_object_members.members[t];
    int64_t place = 0;

    for (size_t i = 0; i < d->nitems; i++) {
        if (d->items[i].dropped || d->items[i].array != array)
            continue;
        if (place == 0) {
            spec_print_key(p, NULL, list->name);
            spec_print_open(p, '[');
        }
        print_item(p, &d->items[i], list->table, ++place);
    }
    if (place > 0)
        spec_print_close(p, ']');
}

static void print_set(struct spec_printer *p, const struct spec_override *o)
{
    char key[2 * NAME_SIZE], sep = p->e != NULL ? '|' : ' ';

    (void)snprintf(key, sizeof key, "%s%c%s%c%s", o->key.name, sep,
                   spec_type_name(o->key.type),
                   o->key.view != NULL ? sep : '\0',
                   o->key.view != NULL ? o->key.view : "");
    spec_print_key(p, o->at, key);
    spec_print_open(p, '{');
    for (size_t i = 0; i < SPEC_NPOLICY; i++)
        if (o->policy[i].at != NULL)
            number(p, &spec_object_sets.members[i], o->policy[i].value);
    spec_print_close(p, '}');
}

static void print_sets(struct spec_printer *p, const struct spec_doc *d)
{
    bool any = false;

    for (size_t i = 0; i < d->nsets; i++) {
        const struct spec_override *o = &d->sets[i];
        bool says = false;

        for (size_t k = 0; k < SPEC_NPOLICY; k++)
            says |= o->policy[k].at != NULL;
        if (!says)
            continue; /* its fallbackRecords stand with the others */
        if (!any) {
            spec_print_key(p, NULL, "sets");
            spec_print_open(p, '{');
        }
        any = true;
        print_set(p, o);
    }
    if (any)
        spec_print_close(p, '}');
}

static void print_names(struct spec_printer *p, const struct spec_doc *d)
{
    if (d->nnames == 0)
        return;
    spec_print_key(p, NULL, "names");
    spec_print_open(p, '[');
    for (size_t i = 0; i < d->nnames; i++)
        spec_print_string(p, NULL, d->names[i]);
    spec_print_close(p, ']');
}

static void print_doc(struct spec_printer *p, const struct spec_doc *d)
{
    const struct spec_scalar *vantage = &d->top[SPEC_TOP_VANTAGE];

    buf_init(&p->b, PRINT_MAX);
    spec_print_open(p, '{');
    print_defaults(p, d);
    print_named(p, d, SPEC_NAMED_CHECK, SPEC_TOP_CHECKS);
    print_named(p, d, SPEC_NAMED_DC, SPEC_TOP_DCS);
    print_named(p, d, SPEC_NAMED_SCENARIO, SPEC_TOP_SCENARIOS);
    top(p, d, SPEC_TOP_ORDER);
    top(p, d, SPEC_TOP_TAKE);
    top(p, d, SPEC_TOP_ALL_DOWN);
    top(p, d, SPEC_TOP_DAMPING);
    print_items(p, d, SPEC_IN_RECORDS, SPEC_TOP_RECORDS);
    print_items(p, d, SPEC_IN_ROWS, SPEC_TOP_ROWS);
    print_items(p, d, SPEC_IN_FALLBACK, SPEC_TOP_FALLBACK);
    print_sets(p, d);
    print_names(p, d);
    top(p, d, SPEC_TOP_DEBOUNCE);
    top(p, d, SPEC_TOP_MAX_CHANGE);
    if (vantage->at != NULL) {
        spec_print_key(p, NULL, "vantage");
        spec_print_object(p, &spec_object_vantage, vantage->at);
    }
    spec_print_close(p, '}');
}

char *spec_print(const struct spec *s)
{
    struct spec_printer p = {.e = NULL};

    print_doc(&p, s->doc);
    return buf_take(&p.b);
}

char *spec_print_bare(const struct spec *s, struct err *e)
{
    struct err own = {0};
    struct spec_printer p = {.e = &own};

    print_doc(&p, s->doc);
    if (!p.failed)
        return buf_take(&p.b);
    buf_fini(&p.b);
    (void)err_set(e, own.code, "%s", own.msg);
    return NULL;
}
