#include "specs/item.h"

#include <string.h>

#include "specs/check.h"
#include "specs/cond.h"
#include "specs/object.h"
#include "specs/scope.h"

#define MEMBER(m) (&spec_item_records.members[SPEC_ITEM_##m])
#define VIEW_BYTES 63u

/* The spec speaks for its owner and what is below it, the apex spec and
 * cross-names for the zone. source: spec-language 1 "Authority" */
int spec_item_authority(struct spec_reader *r, const struct spec_value *v,
                        const char *name)
{
    const struct spec_context *ctx = r->ctx;

    if (!name_within(name, ctx->zone))
        return spec_member_fail(r, v,
                                "%s is not in the zone %s; accepted: names of "
                                "this zone (another zone takes its own "
                                "_failover record)",
                                name, ctx->zone);
    if (!r->apex && !ctx->cross_names && !name_within(name, ctx->owner))
        return spec_member_fail(
            r, v,
            "%s is outside what this spec speaks for; accepted: %s and names "
            "below it (the apex spec speaks for the whole zone; cross-names = "
            "yes in the zone's section of the agent's file widens this one)",
            name, ctx->owner);
    for (size_t i = 0; i < ctx->nns_names; i++)
        if (name_equal(ctx->ns_names[i], name))
            return spec_member_fail(r, v,
                                    "%s is a name server of the zone %s; its "
                                    "addresses are never managed",
                                    name, ctx->zone);
    return 0;
}

static int read_name(struct spec_reader *r, const struct spec_value *record,
                     const struct spec_value *v, const struct spec_key *home,
                     struct spec_item *item)
{
    char name[NAME_SIZE];

    if (v == NULL && home != NULL) {
        item->rec.name = home->name;
        return 0;
    }
    if (v == NULL) {
        item->rec.name = r->ctx->owner;
        return spec_item_authority(r, record, r->ctx->owner);
    }
    if (spec_member_name(r, v, SPEC_ITEM_NAME_ACCEPTED, name) != 0)
        return -1;
    item->rec.name = arena_strdup(r->arena, name);
    return spec_item_authority(r, v, name);
}

/* Text that can only be meant as an address: a colon, or a last label of
 * digits, which no host name of the Internet has. source: RFC 1123 2.1 */
static bool meant_as_address(const char *text)
{
    size_t n = strlen(text);
    const char *label;

    if (strchr(text, ':') != NULL)
        return true;
    if (n > 0 && text[n - 1] == '.')
        n--;
    label = text + n;
    while (label > text && label[-1] != '.')
        label--;
    return n == 0 || strspn(label, "0123456789") >= (size_t)(text + n - label);
}

static int read_target(struct spec_reader *r, const struct spec_value *v,
                       struct spec_item *item)
{
    char target[NAME_SIZE];

    if (meant_as_address(v->text))
        return spec_member_error(r, v, SPEC_ITEM_DATA_ACCEPTED);
    if (spec_member_name(r, v, SPEC_ITEM_DATA_ACCEPTED, target) != 0)
        return -1;
    if (name_equal(item->rec.name, r->ctx->zone))
        return spec_member_fail(r, v,
                                "a CNAME at %s, the apex of the zone, cannot "
                                "stand beside SOA and NS (RFC 1034 3.6.2); "
                                "accepted there: A and AAAA",
                                item->rec.name);
    if (name_equal(target, item->rec.name))
        return spec_member_fail(r, v, "a CNAME at %s to itself", target);
    item->rec.type = SPEC_CNAME;
    item->rec.data = arena_strdup(r->arena, target);
    return 0;
}

/* type: of the member, or -1. */
static int read_data(struct spec_reader *r, const struct spec_value *v,
                     int64_t type, struct spec_item *item)
{
    char canon[ADDR_TEXT_SIZE];
    const char *text;

    if (spec_member_string(r, v, SPEC_ITEM_DATA_ACCEPTED, &text) != 0)
        return -1;
    if (addr_parse(text, &item->rec.addr) != 0) {
        if (type == SPEC_A)
            return spec_member_error(r, v, "an IPv4 address: 192.0.2.1");
        if (type == SPEC_AAAA)
            return spec_member_error(r, v, "an IPv6 address: 2001:db8::1");
        return read_target(r, v, item);
    }
    item->rec.type = item->rec.addr.family == 4 ? SPEC_A : SPEC_AAAA;
    if (type >= 0 && type != (int64_t)item->rec.type)
        return spec_member_error(r, v, "data that fits type %s",
                                 spec_type_name((enum spec_type)type));
    /* What addr_parse takes as IPv4 is canonical. */
    item->rec.data =
        item->rec.addr.family == 4
            ? text
            : arena_strdup(r->arena, addr_format(&item->rec.addr, canon));
    return 0;
}

/* The own TTL; without one that of the defaults. */
static int read_ttl(struct spec_reader *r, const struct spec_value *v,
                    struct spec_item *item)
{
    int64_t ttl_s = r->own.v[SPEC_DEFAULT_TTL];

    if (v != NULL && spec_member_number(r, v, MEMBER(TTL), &ttl_s) != 0)
        return -1;
    item->rec.ttl_s = (int32_t)ttl_s;
    return 0;
}

static int read_row(struct spec_reader *r, const struct spec_value *v,
                    struct spec_item *item)
{
    const struct spec_value *given[SPEC_NROW];
    size_t nchecks = 0;

    if (spec_member_collect(r, v, &spec_item_rows, given) != 0 ||
        read_name(r, v, given[SPEC_ROW_NAME], NULL, item) != 0 ||
        read_data(r, given[SPEC_ROW_DATA], -1, item) != 0 ||
        spec_check_read(r, given[SPEC_ROW_CHECK], &r->rows, &item->rec.checks,
                        &nchecks) != 0)
        return -1;
    item->rec.nchecks = (uint16_t)nchecks;
    return read_ttl(r, given[SPEC_ROW_TTL], item);
}

static int read_cond(struct spec_reader *r, const struct spec_value *v,
                     const struct spec_cond **out)
{
    struct spec_cond *c;

    if (v == NULL)
        return 0;
    c = arena_alloc(r->arena, sizeof *c);
    *out = c;
    return spec_cond_read(r, v, c);
}

static int read_dc(struct spec_reader *r, const struct spec_value *v,
                   struct spec_item *item)
{
    enum spec_named_kind kind;
    const char *name;
    size_t id;

    if (v == NULL)
        return 0;
    if (spec_member_string(r, v, "the name of a dc", &name) != 0)
        return -1;
    if (!spec_scope_is_name(name))
        return spec_member_error(r, v, "the name of a dc");
    if (spec_scope_find(r, v, name, 1u << SPEC_NAMED_DC, &kind, &id) != 0)
        return -1;
    item->rec.dc = (int32_t)id;
    return 0;
}

/* drCond and drIfNoRecords imply dr; dr alone means drIfNoRecords. */
static int read_dr(struct spec_reader *r,
                   const struct spec_value *const given[SPEC_NITEM],
                   struct spec_item *item)
{
    const struct spec_value *dr = given[SPEC_ITEM_DR];
    const struct spec_value *none = given[SPEC_ITEM_DR_IF_NO_RECORDS];
    bool said = false, only_then = false;

    if (item->rec.fallback) {
        const struct spec_value *v = dr != NULL     ? dr
                                     : none != NULL ? none
                                                    : given[SPEC_ITEM_DR_COND];

        if (v != NULL)
            return spec_member_fail(r, v,
                                    "a fallback record comes behind all "
                                    "others, it cannot be one for disaster "
                                    "recovery too; accepted: \"%s\" in records",
                                    v->name);
    }
    if (none != NULL && spec_member_bool(r, none, &only_then) != 0)
        return -1;
    item->rec.dr_if_no_records = only_then;
    if (read_cond(r, given[SPEC_ITEM_DR_COND], &item->rec.rare->dr_cond) != 0)
        return -1;
    item->rec.dr =
        item->rec.dr_if_no_records || item->rec.rare->dr_cond != NULL;
    if (dr == NULL)
        return 0;
    if (spec_member_bool(r, dr, &said) != 0)
        return -1;
    if (!said && item->rec.dr)
        return spec_member_fail(r, dr,
                                "\"dr\" is false beside drIfNoRecords or "
                                "drCond, which imply it; accepted: true, or "
                                "none of it");
    if (said && !item->rec.dr && none != NULL)
        return spec_member_fail(r, dr,
                                "\"dr\" is true, drIfNoRecords is false and "
                                "there is no drCond: it would never be "
                                "published; accepted: dr alone, or with "
                                "drCond");
    if (said && !item->rec.dr)
        item->rec.dr = item->rec.dr_if_no_records = true;
    return 0;
}

bool spec_item_is_view(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && n <= VIEW_BYTES &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                        "0123456789._:/-") == n;
}

static int read_view(struct spec_reader *r, const struct spec_value *v,
                     const struct spec_key *home, struct spec_item *item)
{
    const char **view = &item->rec.rare->view;

    *view = home != NULL ? home->view : NULL;
    if (v == NULL)
        return 0;
    if (spec_member_string(r, v, "the name of a view", view) != 0)
        return -1;
    if (!spec_item_is_view(*view))
        return spec_member_error(r, v,
                                 "the name of a view: up to 63 letters, digits "
                                 "and ._:/-");
    return 0;
}

static int read_numbers(struct spec_reader *r,
                        const struct spec_value *const given[SPEC_NITEM],
                        struct spec_item *item)
{
    const struct spec_value *prio = given[SPEC_ITEM_PRIO];
    const struct spec_value *after = given[SPEC_ITEM_RETURN_AFTER];
    const struct spec_value *back = given[SPEC_ITEM_RETURN];
    int64_t n = 0;

    item->prio_given = prio != NULL;
    if (prio != NULL && spec_member_number(r, prio, MEMBER(PRIO), &n) != 0)
        return -1;
    item->rec.prio = (int32_t)n;
    n = 0;
    if (after != NULL &&
        spec_member_number(r, after, MEMBER(RETURN_AFTER), &n) != 0)
        return -1;
    item->rec.return_after_ms = (uint32_t)n;
    n = 0;
    if (back != NULL && spec_member_number(r, back, MEMBER(RETURN), &n) != 0)
        return -1;
    item->rec.return_manual = n == 1;
    return read_ttl(r, given[SPEC_ITEM_TTL], item);
}

static int check_home(struct spec_reader *r, const struct spec_key *home,
                      const struct spec_item *item)
{
    const struct spec_key key = {item->rec.name, item->rec.type,
                                 spec_rare_of(&item->rec)->view};

    if (home == NULL || spec_item_compare_key(home, &key) == 0)
        return 0;
    return spec_member_fail(r, item->at,
                            "a fallback of another set than the one it is "
                            "written for (%s %s)",
                            home->name, spec_type_name(home->type));
}

static int read_record(struct spec_reader *r, const struct spec_value *v,
                       const struct spec_key *home, struct spec_item *item)
{
    const struct spec_value *given[SPEC_NITEM];
    const struct spec_value *check;
    int64_t type = -1;
    size_t nchecks = 0;

    if (spec_member_collect(r, v, &spec_item_records, given) != 0)
        return -1;
    if (given[SPEC_ITEM_TYPE] != NULL &&
        spec_member_number(r, given[SPEC_ITEM_TYPE], MEMBER(TYPE), &type) != 0)
        return -1;
    if (read_name(r, v, given[SPEC_ITEM_NAME], home, item) != 0 ||
        read_data(r, given[SPEC_ITEM_DATA], type, item) != 0)
        return -1;
    check = given[SPEC_ITEM_CHECK];
    if (check != NULL &&
        spec_check_read(r, check, &r->own, &item->rec.checks, &nchecks) != 0)
        return -1;
    item->rec.nchecks = (uint16_t)nchecks;
    item->rec.rare = arena_alloc(r->arena, sizeof *item->rec.rare);
    if (read_cond(r, given[SPEC_ITEM_IF], &item->rec.rare->when) != 0 ||
        read_dc(r, given[SPEC_ITEM_DC], item) != 0 ||
        read_dr(r, given, item) != 0 ||
        read_view(r, given[SPEC_ITEM_VIEW], home, item) != 0 ||
        read_numbers(r, given, item) != 0)
        return -1;
    return check_home(r, home, item);
}

int spec_item_read_list(struct spec_reader *r, const struct spec_value *list,
                        enum spec_array array, size_t document,
                        const struct spec_key *home, struct spec_item *items,
                        size_t *n)
{
    char ptr[SPEC_POINTER_SIZE];

    if (list->type != SPEC_VALUE_ARRAY)
        return spec_member_error(r, list, "a list [ … ] of %s",
                                 array == SPEC_IN_ROWS ? "rows" : "records");
    for (const struct spec_value *k = list->child; k != NULL; k = k->next) {
        struct spec_item *item = &items[(*n)++];

        item->array = array;
        item->at = k;
        item->rec.document = (uint32_t)document;
        item->rec.dc = -1;
        item->rec.fallback = array == SPEC_IN_FALLBACK;
        item->rec.pointer = arena_strdup(r->arena, spec_value_pointer(k, ptr));
        if ((array == SPEC_IN_ROWS ? read_row(r, k, item)
                                   : read_record(r, k, home, item)) != 0)
            return -1;
    }
    return 0;
}

int spec_item_compare_key(const struct spec_key *a, const struct spec_key *b)
{
    int c = name_equal(a->name, b->name) ? 0 : name_compare(a->name, b->name);

    if (c == 0)
        c = (int)a->type - (int)b->type;
    if (c == 0)
        c = (a->view != NULL) - (b->view != NULL);
    if (c == 0 && a->view != NULL)
        c = strcmp(a->view, b->view);
    return c;
}

/* Members whose values stand in the typed record are compared there. */
bool spec_item_same(const struct spec_item *a, const struct spec_item *b)
{
    static const enum spec_item_member written[] = {
        SPEC_ITEM_CHECK, SPEC_ITEM_IF, SPEC_ITEM_DR_COND};

    if (a->array != b->array || a->rec.ttl_s != b->rec.ttl_s ||
        a->prio_given != b->prio_given ||
        (a->prio_given && a->rec.prio != b->rec.prio) ||
        a->rec.dc != b->rec.dc || a->rec.dr != b->rec.dr ||
        a->rec.dr_if_no_records != b->rec.dr_if_no_records ||
        a->rec.return_after_ms != b->rec.return_after_ms ||
        a->rec.return_manual != b->rec.return_manual)
        return false;
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        const char *name = spec_item_records.members[written[i]].name;
        const struct spec_value *x = spec_value_find(a->at, name);
        const struct spec_value *y = spec_value_find(b->at, name);

        if ((x == NULL) != (y == NULL) ||
            (x != NULL && spec_value_compare(x, y) != 0))
            return false;
    }
    return true;
}

static void forget_cond(struct spec_reader *r, const struct spec_cond *c)
{
    if (c->kind == SPEC_COND_CHECK)
        spec_scope_forget(r, c->ref);
    for (size_t i = 0; i < c->n; i++)
        forget_cond(r, &c->of[i]);
}

void spec_item_forget(struct spec_reader *r, const struct spec_item *item)
{
    const struct spec_rare *rare = spec_rare_of(&item->rec);

    for (size_t i = 0; i < item->rec.nchecks; i++)
        spec_scope_forget(r, item->rec.checks[i]);
    if (rare->when != NULL)
        forget_cond(r, rare->when);
    if (rare->dr_cond != NULL)
        forget_cond(r, rare->dr_cond);
}
