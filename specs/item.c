#include "specs/item.h"

#include <string.h>

#include "specs/check.h"

#define NAME_ACCEPTED                                                          \
    "a name: \"www.example.org.\" with the final dot, \"www\" within the "     \
    "zone, or \"@\" for the zone itself"
#define DATA_ACCEPTED                                                          \
    "an IPv4 address (192.0.2.1), an IPv6 address (2001:db8::1), or the "      \
    "target's name for CNAME"
#define TTL_MAX_S 31536000 /* a year */

static const char *const type_names[] = {"A", "AAAA", "CNAME", NULL};

enum { R_NAME, R_TYPE, R_DATA, R_CHECK, R_TTL, R_PRIO };
enum { ROW_NAME, ROW_DATA, ROW_CHECK, ROW_TTL };

#define LATER(n, h)                                                            \
    {                                                                          \
        .name = n, .kind = SPEC_MEMBER_LATER, .help = h                        \
    }

static const struct spec_member record_members[] = {
    [R_NAME] = {.name = "name",
                .kind = SPEC_MEMBER_STRING,
                .dflt = "the owner",
                .help = "the record's name: with a final dot, relative to the "
                        "zone, or \"@\" for the zone"},
    [R_TYPE] = {.name = "type",
                .kind = SPEC_MEMBER_CHOICE,
                .choices = type_names,
                .dflt = "from data",
                .help = "the record's type"},
    [R_DATA] = {.name = "data",
                .kind = SPEC_MEMBER_STRING,
                .required = true,
                .help = DATA_ACCEPTED},
    [R_CHECK] = {.name = "check",
                 .kind = SPEC_MEMBER_CHECK,
                 .help = "what must pass: a TCP port, \"tcp:443\", "
                         "\"tcp:443@address\", or a list"},
    [R_TTL] = {.name = "ttl",
               .kind = SPEC_MEMBER_S,
               .unit = "s",
               .min = 0,
               .max = TTL_MAX_S,
               .help = "set whenever the value is written"},
    [R_PRIO] = {.name = "prio",
                .kind = SPEC_MEMBER_COUNT,
                .min = 0,
                .max = 1000000,
                .dflt = "the place in its list, from 1",
                .help = "place in the chain; smaller comes first"},
    LATER("if", "a scenario or condition"),
    LATER("dc", "the data centre that must be in service"),
    LATER("drIfNoRecords", "disaster recovery: when nothing better is left"),
    LATER("drCond", "disaster recovery: when this scenario is true"),
    LATER("dr", "disaster recovery"),
    LATER("returnAfter", "healthy for this long before it returns"),
    LATER("return", "auto or manual"),
    LATER("view", "publish in this view only"),
};

static const struct spec_member row_members[] = {
    [ROW_NAME] = {.name = "name",
                  .kind = SPEC_MEMBER_STRING,
                  .required = true,
                  .help = NAME_ACCEPTED},
    [ROW_DATA] = {.name = "data",
                  .kind = SPEC_MEMBER_STRING,
                  .required = true,
                  .help = DATA_ACCEPTED},
    [ROW_CHECK] = {.name = "check",
                   .kind = SPEC_MEMBER_CHECK,
                   .required = true,
                   .help = "a TCP port from 1 to 65535 (\"443\")"},
    [ROW_TTL] = {.name = "ttl",
                 .kind = SPEC_MEMBER_S,
                 .unit = "s",
                 .min = 0,
                 .max = TTL_MAX_S,
                 .help = "set whenever the value is written"},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
const struct spec_table spec_item_records = {
    .what = "a record",
    .members = record_members,
    .n = COUNT(record_members),
};
const struct spec_table spec_item_rows = {
    .what = "a row",
    .members = row_members,
    .n = COUNT(row_members),
    .unknown_warns = true,
};

/* The spec speaks for its owner and what is below it, the apex spec and
 * cross-names for the zone. source: spec-language 1 "Authority" */
static int check_authority(struct spec_reader *r, const struct spec_value *v,
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
                     const struct spec_value *v, struct spec_item *item)
{
    char name[NAME_SIZE];

    if (v == NULL) {
        item->rec.name = r->ctx->owner;
        return check_authority(r, record, r->ctx->owner);
    }
    if (spec_member_name(r, v, NAME_ACCEPTED, name) != 0)
        return -1;
    item->rec.name = arena_strdup(r->arena, name);
    return check_authority(r, v, name);
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
        return spec_member_error(r, v, DATA_ACCEPTED);
    if (spec_member_name(r, v, DATA_ACCEPTED, target) != 0)
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

    if (spec_member_string(r, v, DATA_ACCEPTED, &text) != 0)
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
                                 type_names[type]);
    item->rec.data =
        arena_strdup(r->arena, addr_format(&item->rec.addr, canon));
    return 0;
}

static int read_ttl(struct spec_reader *r, const struct spec_value *v,
                    struct spec_item *item)
{
    item->rec.ttl_s = -1;
    if (v == NULL)
        return 0;
    return spec_member_number(r, v, &record_members[R_TTL], &item->rec.ttl_s);
}

static int read_rest(struct spec_reader *r, const struct spec_value *check,
                     const struct spec_value *ttl, struct spec_item *item)
{
    if (check != NULL &&
        spec_check_read(r, check, &item->checks, &item->rec.nchecks) != 0)
        return -1;
    item->rec.checks = item->checks;
    return read_ttl(r, ttl, item);
}

static int read_row(struct spec_reader *r, const struct spec_value *v,
                    struct spec_item *item)
{
    const struct spec_value *given[COUNT(row_members)];

    if (spec_member_collect(r, v, &spec_item_rows, given) != 0 ||
        read_name(r, v, given[ROW_NAME], item) != 0 ||
        read_data(r, given[ROW_DATA], -1, item) != 0)
        return -1;
    return read_rest(r, given[ROW_CHECK], given[ROW_TTL], item);
}

static int read_record(struct spec_reader *r, const struct spec_value *v,
                       struct spec_item *item)
{
    const struct spec_value *given[COUNT(record_members)];
    int64_t type = -1;

    if (spec_member_collect(r, v, &spec_item_records, given) != 0)
        return -1;
    if (given[R_TYPE] != NULL &&
        spec_member_number(r, given[R_TYPE], &record_members[R_TYPE], &type) !=
            0)
        return -1;
    if (read_name(r, v, given[R_NAME], item) != 0 ||
        read_data(r, given[R_DATA], type, item) != 0 ||
        read_rest(r, given[R_CHECK], given[R_TTL], item) != 0)
        return -1;
    item->prio_given = given[R_PRIO] != NULL;
    if (!item->prio_given)
        return 0;
    return spec_member_number(r, given[R_PRIO], &record_members[R_PRIO],
                              &item->rec.prio);
}

int spec_item_read(struct spec_reader *r, const struct spec_value *v,
                   enum spec_array array, size_t document,
                   struct spec_item *out)
{
    char ptr[SPEC_POINTER_SIZE];

    memset(out, 0, sizeof *out);
    out->array = array;
    out->at = v;
    out->rec.document = document;
    out->rec.fallback = array == SPEC_IN_FALLBACK;
    out->rec.pointer = arena_strdup(r->arena, spec_value_pointer(v, ptr));
    return array == SPEC_IN_ROWS ? read_row(r, v, out) : read_record(r, v, out);
}

int spec_item_read_list(struct spec_reader *r, const struct spec_value *list,
                        enum spec_array array, size_t document,
                        struct spec_item **items, size_t *n, size_t *cap)
{
    if (list->type != SPEC_VALUE_ARRAY)
        return spec_member_error(r, list, "a list [ … ] of %s",
                                 array == SPEC_IN_ROWS ? "rows" : "records");
    for (const struct spec_value *k = list->child; k != NULL; k = k->next) {
        struct spec_item item;

        if (spec_item_read(r, k, array, document, &item) != 0)
            return -1;
        *items = mem_grow(*items, cap, *n, sizeof **items);
        (*items)[(*n)++] = item;
    }
    return 0;
}
