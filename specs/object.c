#include "specs/object.h"

#include <string.h>

#include "specs/check.h"

static int read_scalar(struct spec_reader *r, const struct spec_value *v,
                       const struct spec_member *m, struct spec_scalar *out)
{
    bool on;

    if (v == NULL)
        return 0;
    out->at = v;
    if (m->kind != SPEC_MEMBER_BOOL)
        return spec_member_number(r, v, m, &out->value);
    if (spec_member_bool(r, v, &on) != 0)
        return -1;
    out->value = on;
    return 0;
}

static int read_defaults(struct spec_reader *r, const struct spec_value *v,
                         struct spec_scalar out[SPEC_NDEFAULTS])
{
    static const enum spec_default periods[] = {SPEC_DEFAULT_ACCESS,
                                                SPEC_DEFAULT_RETRY};
    const struct spec_value *given[SPEC_NDEFAULTS];

    if (v == NULL)
        return 0;
    if (spec_member_collect(r, v, &spec_object_defaults, given) != 0)
        return -1;
    for (size_t i = 0; i < SPEC_NDEFAULTS; i++)
        if (read_scalar(r, given[i], &spec_object_defaults.members[i],
                        &out[i]) != 0)
            return -1;
    for (size_t i = 0; i < 2; i++) {
        const struct spec_scalar *s = &out[periods[i]];

        if (s->at != NULL && spec_member_period(r, s->at, s->value) != 0)
            return -1;
    }
    return 0;
}

#define NAMES_ACCEPTED                                                         \
    "owners in this zone: \"www\", \"www.example.org.\" or \"@\", without "    \
    "_failover"

static int read_names(struct spec_reader *r, const struct spec_value *v,
                      struct spec_doc *d)
{
    char name[NAME_SIZE];

    if (v == NULL)
        return 0;
    if (v->type != SPEC_VALUE_ARRAY)
        return spec_member_error(r, v, "a list [ … ] of " NAMES_ACCEPTED);
    d->names = arena_array(r->arena, v->n, sizeof *d->names);
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        if (spec_member_name(r, k, NAMES_ACCEPTED, name) != 0)
            return -1;
        if (!name_within(name, r->ctx->zone) ||
            strncmp(name, "_failover.", 10) == 0)
            return spec_member_error(r, k, NAMES_ACCEPTED);
        d->names[d->nnames++] = arena_strdup(r->arena, name);
    }
    return 0;
}

static int read_named(struct spec_reader *r, const struct spec_value *v,
                      enum spec_named_kind kind, struct spec_doc *d)
{
    static const char *const whats[] = {
        [SPEC_NAMED_CHECK] = "an object of checks by name",
        [SPEC_NAMED_DC] = "an object of dcs by name",
        [SPEC_NAMED_SCENARIO] = "an object of scenarios by name"};

    if (v == NULL)
        return 0;
    if (v->type != SPEC_VALUE_OBJECT)
        return spec_member_error(r, v, "%s", whats[kind]);
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        struct spec_named *n = &d->named[d->nnamed++];

        if (!spec_scope_is_name(k->name))
            return spec_member_fail(r, k,
                                    "not a name; accepted: up to 63 letters, "
                                    "digits, \"_\" and \"-\", the first a "
                                    "letter or \"_\"");
        if (spec_check_kind_of(k->name) >= 0)
            return spec_member_fail(r, k,
                                    "\"%s\" is a kind of check, it cannot be a "
                                    "name; accepted: any other name",
                                    k->name);
        n->name = k->name;
        n->kind = kind;
        n->at = k;
        n->document = d->document;
    }
    return 0;
}

#define SET_ACCEPTED                                                           \
    "a name and a type, and a view where only that is meant: \"www A\", "      \
    "\"@ AAAA\", \"www A eu\" (a \"|\" may stand for the blank)"

/* "www A" or "www A eu". */
static int read_key(struct spec_reader *r, const struct spec_value *v,
                    struct spec_key *key)
{
    char text[2 * NAME_SIZE], name[NAME_SIZE], *type, *view;
    struct spec_value as_name = *v;

    if (strlen(v->name) >= sizeof text)
        return spec_member_fail(r, v, "not a set; accepted: " SET_ACCEPTED);
    memcpy(text, v->name, strlen(v->name) + 1);
    type = strpbrk(text, " |");
    if (type == NULL || type == text)
        return spec_member_fail(r, v, "not a set; accepted: " SET_ACCEPTED);
    *type++ = '\0';
    view = strpbrk(type, " |");
    if (view != NULL)
        *view++ = '\0';
    for (key->type = SPEC_A; key->type < SPEC_NTYPES; key->type++)
        if (strcmp(type, spec_type_name(key->type)) == 0)
            break;
    if (key->type == SPEC_NTYPES || (view != NULL && !spec_item_is_view(view)))
        return spec_member_fail(r, v, "not a set; accepted: " SET_ACCEPTED);
    as_name.type = SPEC_VALUE_STRING;
    as_name.text = text;
    if (spec_member_name(r, &as_name, SET_ACCEPTED, name) != 0)
        return -1;
    key->name = arena_strdup(r->arena, name);
    key->view = view != NULL ? arena_strdup(r->arena, view) : NULL;
    return spec_item_authority(r, v, name);
}

static int read_sets(struct spec_reader *r, const struct spec_value *v,
                     struct spec_doc *d)
{
    const struct spec_value *given[SPEC_NOWN];

    if (v == NULL)
        return 0;
    if (v->type != SPEC_VALUE_OBJECT)
        return spec_member_error(r, v,
                                 "an object of sets: {\"www A\": {\"order\": "
                                 "\"priority\"}}");
    d->sets = arena_array(r->arena, v->n, sizeof *d->sets);
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        struct spec_override *o = &d->sets[d->nsets++];

        if (read_key(r, k, &o->key) != 0 ||
            spec_member_collect(r, k, &spec_object_sets, given) != 0)
            return -1;
        for (size_t i = 0; i < SPEC_NPOLICY; i++)
            if (read_scalar(r, given[i], &spec_object_sets.members[i],
                            &o->policy[i]) != 0)
                return -1;
        o->fallback = given[SPEC_OWN_FALLBACK];
        o->at = k;
        o->document = d->document;
    }
    return 0;
}

int spec_object_read_vantage(struct spec_reader *r, const struct spec_value *v,
                             uint32_t *need)
{
    const struct spec_value *given[1];
    int64_t n;

    if (v == NULL)
        return 0;
    if (spec_member_collect(r, v, &spec_object_vantage, given) != 0 ||
        spec_member_number(r, given[0], &spec_object_vantage.members[0], &n) !=
            0)
        return -1;
    *need = (uint32_t)n;
    return 0;
}

static int read_top(struct spec_reader *r, struct spec_doc *d)
{
    static const enum spec_top scalars[] = {
        SPEC_TOP_ORDER,   SPEC_TOP_TAKE,     SPEC_TOP_ALL_DOWN,
        SPEC_TOP_DAMPING, SPEC_TOP_DEBOUNCE, SPEC_TOP_MAX_CHANGE};
    const struct spec_value *vantage = d->given[SPEC_TOP_VANTAGE];
    uint32_t need = 0;

    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++) {
        enum spec_top t = scalars[i];

        if (read_scalar(r, d->given[t], &spec_object_members.members[t],
                        &d->top[t]) != 0)
            return -1;
    }
    if (spec_object_read_vantage(r, vantage, &need) != 0)
        return -1;
    d->top[SPEC_TOP_VANTAGE].at = vantage;
    d->top[SPEC_TOP_VANTAGE].value = need;
    return 0;
}

static int read_all_named(struct spec_reader *r, struct spec_doc *d)
{
    static const enum spec_top tops[SPEC_NNAMED] = {
        SPEC_TOP_CHECKS, SPEC_TOP_DCS, SPEC_TOP_SCENARIOS};
    size_t n = 0;

    for (int k = 0; k < SPEC_NNAMED; k++)
        if (d->given[tops[k]] != NULL)
            n += d->given[tops[k]]->n;
    if (n > 0)
        d->named = arena_array(r->arena, n, sizeof *d->named);
    for (int k = 0; k < SPEC_NNAMED; k++)
        if (read_named(r, d->given[tops[k]], (enum spec_named_kind)k, d) != 0)
            return -1;
    return 0;
}

int spec_object_read(struct spec_reader *r, struct spec_doc *d)
{
    if (d->root->type == SPEC_VALUE_ARRAY) {
        d->form = SPEC_ROWS;
        d->given[SPEC_TOP_ROWS] = d->root;
        /* A list that lost its rows must not read as an opt-out. */
        if (d->root->n == 0)
            return spec_member_fail(r, d->root,
                                    "found an empty list; accepted: at least "
                                    "one row (to opt out remove the TXT "
                                    "record)");
        return 0;
    }
    d->form = SPEC_OBJECT;
    if (spec_member_collect(r, d->root, &spec_object_members, d->given) != 0 ||
        read_defaults(r, d->given[SPEC_TOP_DEFAULTS], d->defaults) != 0 ||
        read_names(r, d->given[SPEC_TOP_NAMES], d) != 0 ||
        read_top(r, d) != 0 || read_all_named(r, d) != 0)
        return -1;
    return read_sets(r, d->given[SPEC_TOP_SETS], d);
}
