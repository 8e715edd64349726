#include "specs/check.h"
#include "specs/dc.h"
#include "specs/object.h"

/* The members of the object form, of defaults, of sets, of vantage. */

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *const orders[] = {
    [SPEC_ALL] = "all", [SPEC_PRIORITY] = "priority", NULL};
static const char *const all_downs[] = {
    [SPEC_KEEP] = "keep", [SPEC_DOWN_ALL] = "all", [SPEC_NONE] = "none", NULL};

#define ORDER                                                                  \
    {                                                                          \
        .name = "order", .kind = SPEC_MEMBER_CHOICE, .choices = orders,        \
        .dflt = "all",                                                         \
        .help = "publish every healthy record, or the first of the chain"      \
    }
#define TAKE                                                                   \
    {                                                                          \
        .name = "take", .kind = SPEC_MEMBER_COUNT, .min = 1, .max = 1000,      \
        .dflt = "all; of priority 1", .help = "publish at most this many"      \
    }
#define ALL_DOWN                                                               \
    {                                                                          \
        .name = "allDown", .kind = SPEC_MEMBER_CHOICE, .choices = all_downs,   \
        .dflt = "keep",                                                        \
        .help = "when nothing is healthy: leave the set as it is, publish "    \
                "every record, or none"                                        \
    }
#define DAMPING                                                                \
    {                                                                          \
        .name = "damping", .kind = SPEC_MEMBER_BOOL, .dflt = "true",           \
        .help = "a record that fails again and again returns later each time"  \
    }
#define FALLBACK                                                               \
    {                                                                          \
        .name = "fallbackRecords", .kind = SPEC_MEMBER_LIST,                   \
        .table = &spec_item_records,                                           \
        .help = "published when no record of the set is healthy"               \
    }

/* clang-format off */
static const struct spec_member vantage_members[] = {
    {.name = "need", .kind = SPEC_MEMBER_COUNT, .required = true, .min = 1,
        .max = 100, .help = "so many agents must agree"},
};
const struct spec_table spec_object_vantage = {
    .what = "vantage", .members = vantage_members, .n = 1};

static const struct spec_member default_members[SPEC_NDEFAULTS] = {
    [SPEC_DEFAULT_TTL] = {.name = "ttl", SPEC_TTL_LIMITS,
        .help = "of records that give none"},
    [SPEC_DEFAULT_TIMEOUT] = {.name = "timeout", SPEC_TIMEOUT_LIMITS,
        .dflt = "2s (tcp, icmp) or 5s; rows: 1s", .help = "of one probe"},
    [SPEC_DEFAULT_ACCESS] = {.name = "accessPeriod", SPEC_ACCESS_LIMITS,
        .dflt = "10s", .help = "from probe to probe"},
    [SPEC_DEFAULT_RETRY] = {.name = "retryPeriod", SPEC_RETRY_LIMITS,
        .dflt = "1s",
        .help = "from probe to probe while results differ from the confirmed "
                "state"},
    [SPEC_DEFAULT_SUCCESS] = {.name = "requiredSuccess", SPEC_COUNT_LIMITS,
        .dflt = "3 (rows: 1)",
        .help = "good results in a row that make a check up"},
    [SPEC_DEFAULT_FAILURE] = {.name = "requiredFailure", SPEC_COUNT_LIMITS,
        .dflt = "3 (rows: 1)",
        .help = "bad results in a row that make it down"},
};
const struct spec_table spec_object_defaults = {
    .what = "defaults", .members = default_members, .n = SPEC_NDEFAULTS};

static const struct spec_member set_members[SPEC_NOWN] = {
    [SPEC_OWN_ORDER] = ORDER,
    [SPEC_OWN_TAKE] = TAKE,
    [SPEC_OWN_ALL_DOWN] = ALL_DOWN,
    [SPEC_OWN_DAMPING] = DAMPING,
    [SPEC_OWN_FALLBACK] = FALLBACK,
};
const struct spec_table spec_object_sets = {
    .what = "a set", .members = set_members, .n = SPEC_NOWN};

static const struct spec_member top_members[SPEC_NTOP] = {
    [SPEC_TOP_DEFAULTS] = {.name = "defaults", .kind = SPEC_MEMBER_OBJECT,
        .table = &spec_object_defaults,
        .help = "what checks and records take that do not say it themselves"},
    [SPEC_TOP_CHECKS] = {.name = "checks", .kind = SPEC_MEMBER_MAP,
        .of = SPEC_MEMBER_CHECK, .help = "checks by name"},
    [SPEC_TOP_DCS] = {.name = "dcs", .kind = SPEC_MEMBER_MAP,
        .table = &spec_dc_members, .help = "data centres by name"},
    [SPEC_TOP_SCENARIOS] = {.name = "scenarios", .kind = SPEC_MEMBER_MAP,
        .of = SPEC_MEMBER_COND, .help = "scenarios by name"},
    [SPEC_TOP_ORDER] = ORDER,
    [SPEC_TOP_TAKE] = TAKE,
    [SPEC_TOP_ALL_DOWN] = ALL_DOWN,
    [SPEC_TOP_DAMPING] = DAMPING,
    [SPEC_TOP_RECORDS] = {.name = "records", .kind = SPEC_MEMBER_LIST,
        .table = &spec_item_records,
        .help = "the records to publish while healthy"},
    [SPEC_TOP_ROWS] = {.name = "rows", .kind = SPEC_MEMBER_LIST,
        .table = &spec_item_rows,
        .help = "records in the rows form, with its defaults"},
    [SPEC_TOP_FALLBACK] = FALLBACK,
    [SPEC_TOP_SETS] = {.name = "sets", .kind = SPEC_MEMBER_MAP,
        .table = &spec_object_sets,
        .help = "members for single sets: \"www A\", or \"www A view\""},
    [SPEC_TOP_NAMES] = {.name = "names", .kind = SPEC_MEMBER_NAMES,
        .apex_only = true,
        .help = "the owners to look at (discover = names)"},
    [SPEC_TOP_DEBOUNCE] = {.name = "debounce", .kind = SPEC_MEMBER_MS,
        .apex_only = true, .unit = "ms", .min = 0,
        .max = 10 * SPEC_MINUTE_MS, .dflt = "3s",
        .help = "changes of the zone are gathered for this long"},
    [SPEC_TOP_MAX_CHANGE] = {.name = "maxChange", .kind = SPEC_MEMBER_PERCENT,
        .apex_only = true, .unit = "%", .min = 0, .max = 100, .dflt = "50%",
        .help = "the brake: the share of the zone's values withdrawn within "
                "60 s"},
    [SPEC_TOP_VANTAGE] = {.name = "vantage", .kind = SPEC_MEMBER_OBJECT,
        .apex_only = true, .table = &spec_object_vantage,
        .dflt = "a majority", .help = "how many agents must agree"},
};
/* clang-format on */

const struct spec_table spec_object_members = {
    .what = "the object form", .members = top_members, .n = COUNT(top_members)};
