#include <stdlib.h>
#include <string.h>

#include "providers/route53/route53.h"

/* What becomes of a record set. Pure: sets as read and changes in, an edit
 * out. Values that stay are written back letter for letter. */

static bool is_of_set(const struct change *c, const struct change *first)
{
    return c->type == first->type && name_equal(c->name, first->name);
}

/* The value as answered means that data (canonical). */
static bool is_value(enum rr_type t, const char *answered, const char *data)
{
    char *canon;
    bool same;

    if (rr_data_canon(t, answered, ".", &canon, NULL) != 0)
        return false;
    same = strcmp(canon, data) == 0;
    free(canon);
    return same;
}

static size_t find_value(const struct route53_edit *e, const char *data)
{
    size_t i = 0;

    while (i < e->n && !is_value(e->type, e->values[i], data))
        i++;
    return i;
}

/* ---- managed routing ----------------------------------------------------- */

/* Only looked at: nothing is to be done where all is as wanted. */
static bool is_as_wanted(const struct change_set *set, const bool *open,
                         size_t first, const struct route53_edit *all)
{
    for (size_t i = first; i < set->n; i++) {
        const struct change *c = &set->v[i];
        bool there;

        if (!open[i] || !is_of_set(c, &set->v[first]))
            continue;
        there = find_value(all, c->data) < all->n;
        if (there != (c->op == CHANGE_PUBLISH))
            return false;
    }
    return true;
}

/* ---- plain sets ---------------------------------------------------------- */

static void add_value(struct route53_edit *edit, const char *data)
{
    if (find_value(edit, data) == edit->n)
        edit->values[edit->n++] = data;
}

static void remove_value(struct route53_edit *edit, const char *data)
{
    size_t i = find_value(edit, data);

    if (i == edit->n)
        return;
    memmove(edit->values + i, edit->values + i + 1,
            (edit->n - i - 1) * sizeof *edit->values);
    edit->n--;
}

static void carry_out(struct arena *a, const struct change_set *set,
                      const bool *open, size_t first, struct route53_edit *edit)
{
    bool has_ttl = false; /* of a change */

    for (size_t i = first; i < set->n; i++) {
        const struct change *c = &set->v[i];
        bool publish = c->op == CHANGE_PUBLISH;

        if (!open[i] || !is_of_set(c, &set->v[first]))
            continue;
        if (publish)
            add_value(edit, c->data);
        else
            remove_value(edit, c->data);
        if (publish && c->ttl_s >= 0 &&
            (!has_ttl || c->ttl_s < (int64_t)edit->ttl_s)) {
            edit->ttl_s = c->ttl_s > INT32_MAX ? INT32_MAX : (uint32_t)c->ttl_s;
            has_ttl = edit->ttl_given = true;
        }
        edit->what = arena_printf(a, "%.400s %c%.100s", edit->what,
                                  publish ? '+' : '-', c->data);
    }
}

static bool has_value(const char *const *values, size_t n, const char *value)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(values[i], value) == 0)
            return true;
    return false;
}

static bool is_same_text(const char *a, const char *b)
{
    return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

bool route53_set_equal(const struct route53_set *a, const struct route53_set *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->n != b->n || a->ttl_s != b->ttl_s ||
        (a->managed == NULL) != (b->managed == NULL) ||
        !is_same_text(a->before, b->before) ||
        !is_same_text(a->after, b->after))
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!has_value(b->values, b->n, a->values[i]))
            return false;
    return true;
}

static bool is_unchanged(const struct route53_edit *edit)
{
    struct route53_set now;

    if (edit->old == NULL)
        return edit->n == 0;
    now = *edit->old;
    now.values = edit->values;
    now.n = edit->n;
    now.ttl_s = edit->ttl_s;
    return route53_set_equal(edit->old, &now);
}

void route53_edit_size(const struct route53_edit *edit, size_t *records,
                       size_t *chars)
{
    *records = edit->n;
    *chars = 0;
    for (size_t i = 0; i < edit->n; i++)
        *chars += strlen(edit->values[i]);
    if (edit->old == NULL)
        return;
    *records += edit->old->n;
    for (size_t i = 0; i < edit->old->n; i++)
        *chars += strlen(edit->old->values[i]);
}

/* ---- both ---------------------------------------------------------------- */

static int check(const struct route53_edit *edit, struct err *e)
{
    size_t records, chars;

    if (edit->n == 0 && edit->old->set_id != NULL)
        return err_set(e, ERR_UNSUPPORTED,
                       "the last value of the set with the identifier "
                       "\"%.100s\" is not removed: the set's routing would "
                       "go with it; \"allDown\": \"none\" is not possible "
                       "under a set-identifier",
                       edit->old->set_id);
    route53_edit_size(edit, &records, &chars);
    if (edit->type == RR_CNAME && edit->n > 1)
        return err_set(e, ERR_CONFLICT,
                       "%s is a CNAME to %.255s already, and a name has only "
                       "one",
                       edit->name, edit->values[0]);
    if (records > ROUTE53_REQUEST_RECORDS || chars > ROUTE53_REQUEST_CHARS)
        return err_set(e, ERR_LIMIT,
                       "to replace this set takes %zu records and %zu "
                       "characters in one request; Route 53 takes %u and %u",
                       records, chars, ROUTE53_REQUEST_RECORDS,
                       ROUTE53_REQUEST_CHARS);
    return 0;
}

bool route53_is_served(const struct route53_set *s, const char *set_id)
{
    return set_id == NULL ||
           (s->set_id != NULL && strcmp(s->set_id, set_id) == 0);
}

static bool is_meant(const struct route53_set *s, const struct change *c,
                     const char *set_id)
{
    return name_equal(s->name, c->name) &&
           strcmp(s->type, rr_type_name(c->type)) == 0 &&
           route53_is_served(s, set_id);
}

/* What there is of the set: the one that may be written, or what forbids it
 * (NULL: nothing does). */
static const char *gather(struct arena *a, const struct route53_set *sets,
                          size_t n, const struct change *c, const char *set_id,
                          struct route53_edit *all)
{
    const char *managed = NULL;

    for (size_t i = 0; i < n; i++)
        if (is_meant(&sets[i], c, set_id))
            all->n += sets[i].n;
    all->values = arena_array(a, all->n + 1, sizeof *all->values);
    all->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct route53_set *s = &sets[i];
        const char *why = set_id != NULL ? s->fixed : s->managed;

        if (!is_meant(s, c, set_id))
            continue;
        for (size_t k = 0; k < s->n; k++)
            all->values[all->n++] = s->values[k];
        all->old = s;
        if (why != NULL)
            managed = why;
    }
    return managed;
}

static void refuse(const struct change *c, const char *managed,
                   const char *set_id, struct err *e)
{
    if (managed != NULL)
        (void)err_set(e, ERR_UNSUPPORTED,
                      "%s %s has %s in Route 53: managed routing, not touched",
                      c->name, rr_type_name(c->type), managed);
    else
        (void)err_set(e, ERR_UNSUPPORTED,
                      "Route 53 has no set with the identifier \"%.100s\" "
                      "here, and its routing is not known: make it there by "
                      "hand, with its routing and one value, in place of a "
                      "simple set if there is one",
                      set_id);
}

enum route53_verdict route53_plan_set(struct arena *a,
                                      const struct change_set *set,
                                      const bool *open, size_t first,
                                      const struct route53_set *sets, size_t n,
                                      const char *set_id,
                                      struct route53_edit *edit, struct err *e)
{
    const struct change *c = &set->v[first];
    struct route53_edit all = {.type = c->type};
    const char *managed = gather(a, sets, n, c, set_id, &all);

    if (managed != NULL || (set_id != NULL && all.old == NULL)) {
        if (is_as_wanted(set, open, first, &all))
            return ROUTE53_AS_WANTED;
        refuse(c, managed, set_id, e);
        return ROUTE53_REFUSED;
    }
    memset(edit, 0, sizeof *edit);
    edit->type = c->type;
    edit->old = all.old;
    edit->name = all.old != NULL ? all.old->as_named : c->name;
    edit->ttl_s = all.old != NULL ? all.old->ttl_s : ROUTE53_TTL_S;
    edit->ttl_given = all.old != NULL;
    edit->values = arena_array(a, all.n + set->n + 1, sizeof *edit->values);
    memcpy(edit->values, all.values, all.n * sizeof *edit->values);
    edit->n = all.n;
    edit->what = arena_printf(a, "%s %s", c->name, rr_type_name(c->type));
    carry_out(a, set, open, first, edit);
    if (is_unchanged(edit))
        return ROUTE53_AS_WANTED;
    return check(edit, e) != 0 ? ROUTE53_REFUSED : ROUTE53_TO_WRITE;
}
