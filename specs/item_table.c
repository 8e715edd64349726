#include "specs/item.h"

#include "specs/object.h"

/* The members of records and rows. */

#define RETURN_MAX_MS (7 * 24 * 60 * SPEC_MINUTE_MS)
_Static_assert(RETURN_MAX_MS <= UINT32_MAX, "return_after_ms has 32 bits");

static const char *const type_names[] = {"A", "AAAA", "CNAME", NULL};
static const char *const returns[] = {"auto", "manual", NULL};

/* clang-format off */
static const struct spec_member record_members[SPEC_NITEM] = {
    [SPEC_ITEM_NAME] = {.name = "name", .kind = SPEC_MEMBER_NAME,
        .dflt = "the owner",
        .help = "the record's name: with a final dot, relative to the zone, "
                "or \"@\" for the zone"},
    [SPEC_ITEM_TYPE] = {.name = "type", .kind = SPEC_MEMBER_CHOICE,
        .choices = type_names, .dflt = "from data",
        .help = "the record's type"},
    [SPEC_ITEM_DATA] = {.name = "data", .kind = SPEC_MEMBER_STRING,
        .required = true, .help = SPEC_ITEM_DATA_ACCEPTED},
    [SPEC_ITEM_CHECK] = {.name = "check", .kind = SPEC_MEMBER_CHECK,
        .help = "what must pass: a port, a shorthand, a URL, a check object, "
                "a check's name, or a list (all must pass)"},
    [SPEC_ITEM_IF] = {.name = "if", .kind = SPEC_MEMBER_COND,
        .help = "what must be true: a scenario's name, one condition, or a "
                "scenario written in place"},
    [SPEC_ITEM_DC] = {.name = "dc", .kind = SPEC_MEMBER_STRING,
        .help = "the data centre that must be in service"},
    [SPEC_ITEM_TTL] = {.name = "ttl", SPEC_TTL_LIMITS,
        .dflt = "the TTL that is there",
        .help = "set whenever the value is written"},
    [SPEC_ITEM_PRIO] = {.name = "prio", .kind = SPEC_MEMBER_COUNT, .min = 0,
        .max = 1000000, .dflt = "the place in its list, from 1",
        .help = "place in the chain; smaller comes first"},
    [SPEC_ITEM_DR_IF_NO_RECORDS] = {.name = "drIfNoRecords",
        .kind = SPEC_MEMBER_BOOL, .dflt = "false",
        .help = "disaster recovery: published when nothing better is left"},
    [SPEC_ITEM_DR_COND] = {.name = "drCond", .kind = SPEC_MEMBER_COND,
        .help = "disaster recovery: published when this scenario is true"},
    [SPEC_ITEM_DR] = {.name = "dr", .kind = SPEC_MEMBER_BOOL,
        .dflt = "as drIfNoRecords and drCond say",
        .help = "disaster recovery; alone it means drIfNoRecords"},
    [SPEC_ITEM_RETURN_AFTER] = {.name = "returnAfter", .kind = SPEC_MEMBER_MS,
        .unit = "ms", .min = 0, .max = RETURN_MAX_MS, .dflt = "0s",
        .help = "healthy for this long before it is published again"},
    [SPEC_ITEM_RETURN] = {.name = "return", .kind = SPEC_MEMBER_CHOICE,
        .choices = returns, .dflt = "auto",
        .help = "manual: back only by the operator's readmit"},
    [SPEC_ITEM_VIEW] = {.name = "view", .kind = SPEC_MEMBER_STRING,
        .dflt = "every view", .help = "publish in this view only"},
};

static const struct spec_member row_members[SPEC_NROW] = {
    [SPEC_ROW_NAME] = {.name = "name", .kind = SPEC_MEMBER_NAME, .required = true,
        .help = SPEC_ITEM_NAME_ACCEPTED},
    [SPEC_ROW_DATA] = {.name = "data", .kind = SPEC_MEMBER_STRING,
        .required = true, .help = SPEC_ITEM_DATA_ACCEPTED},
    [SPEC_ROW_CHECK] = {.name = "check", .kind = SPEC_MEMBER_CHECK,
        .required = true, .help = "a TCP port from 1 to 65535 (\"443\")"},
    [SPEC_ROW_TTL] = {.name = "ttl", SPEC_TTL_LIMITS,
        .help = "set whenever the value is written"},
};
/* clang-format on */

const struct spec_table spec_item_records = {
    .what = "a record",
    .members = record_members,
    .n = SPEC_NITEM,
};
const struct spec_table spec_item_rows = {
    .what = "a row",
    .members = row_members,
    .n = SPEC_NROW,
    .unknown_warns = true,
};
