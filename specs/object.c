#include "specs/object.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"

#define MINUTE_MS 60000LL
#define HOUR_MS (60 * MINUTE_MS)

static const char *const orders[] = {
    [SPEC_ALL] = "all", [SPEC_PRIORITY] = "priority", NULL};
static const char *const all_downs[] = {
    [SPEC_KEEP] = "keep", [SPEC_DOWN_ALL] = "all", [SPEC_NONE] = "none", NULL};

#define LATER(n, h)                                                            \
    {                                                                          \
        .name = n, .kind = SPEC_MEMBER_LATER, .help = h                        \
    }

static const struct spec_member top_members[] = {
    [SPEC_TOP_DEFAULTS] = {.name = "defaults",
                           .kind = SPEC_MEMBER_OBJECT,
                           .help = "what checks and records take that do not "
                                   "say it themselves"},
    [SPEC_TOP_RECORDS] = {.name = "records",
                          .kind = SPEC_MEMBER_LIST,
                          .help = "the records to publish while healthy"},
    [SPEC_TOP_ROWS] = {.name = "rows",
                       .kind = SPEC_MEMBER_LIST,
                       .help = "records in the rows form, with its defaults"},
    [SPEC_TOP_FALLBACK] = {.name = "fallbackRecords",
                           .kind = SPEC_MEMBER_LIST,
                           .help = "published when no record of the set is "
                                   "healthy"},
    [SPEC_TOP_ORDER] = {.name = "order",
                        .kind = SPEC_MEMBER_CHOICE,
                        .choices = orders,
                        .dflt = "all",
                        .help = "publish every healthy record, or the first "
                                "of the chain"},
    [SPEC_TOP_TAKE] = {.name = "take",
                       .kind = SPEC_MEMBER_COUNT,
                       .min = 1,
                       .max = 1000,
                       .help = "publish at most this many"},
    [SPEC_TOP_ALL_DOWN] = {.name = "allDown",
                           .kind = SPEC_MEMBER_CHOICE,
                           .choices = all_downs,
                           .dflt = "keep",
                           .help = "when nothing is healthy: leave the set as "
                                   "it is, publish every record, or none"},
    [SPEC_TOP_NAMES] = {.name = "names",
                        .kind = SPEC_MEMBER_LIST,
                        .apex_only = true,
                        .help = "the owners to look at (discover = names)"},
    [SPEC_TOP_DEBOUNCE] = {.name = "debounce",
                           .kind = SPEC_MEMBER_MS,
                           .apex_only = true,
                           .unit = "ms",
                           .min = 0,
                           .max = 10 * MINUTE_MS,
                           .dflt = "3s",
                           .help = "changes of the zone are gathered for this "
                                   "long"},
    [SPEC_TOP_MAX_CHANGE] = {.name = "maxChange",
                             .kind = SPEC_MEMBER_PERCENT,
                             .apex_only = true,
                             .unit = "%",
                             .min = 0,
                             .max = 100,
                             .dflt = "50%",
                             .help = "the brake: the share of the zone's "
                                     "values withdrawn within 60 s"},
    LATER("checks", "checks by name"),
    LATER("dcs", "data centres"),
    LATER("scenarios", "scenarios"),
    LATER("sets", "members for single sets"),
    LATER("damping", "slower return after repeated withdrawals"),
    LATER("vantage", "how many agents must agree"),
};

static const struct spec_member default_members[] = {
    [SPEC_DEFAULT_TTL] = {.name = "ttl",
                          .kind = SPEC_MEMBER_S,
                          .unit = "s",
                          .min = 0,
                          .max = 31536000,
                          .help = "of records that give none"},
    [SPEC_DEFAULT_TIMEOUT] = {.name = "timeout",
                              .kind = SPEC_MEMBER_MS,
                              .unit = "ms",
                              .min = 1,
                              .max = MINUTE_MS,
                              .dflt = "2s (TCP; rows: 1s)",
                              .help = "of one probe"},
    [SPEC_DEFAULT_ACCESS] = {.name = "accessPeriod",
                             .kind = SPEC_MEMBER_MS,
                             .unit = "ms",
                             .min = 1,
                             .max = 24 * HOUR_MS,
                             .dflt = "10s",
                             .help = "from probe to probe"},
    [SPEC_DEFAULT_RETRY] = {.name = "retryPeriod",
                            .kind = SPEC_MEMBER_MS,
                            .unit = "ms",
                            .min = 1,
                            .max = HOUR_MS,
                            .dflt = "1s",
                            .help = "from probe to probe while results differ "
                                    "from the confirmed state"},
    [SPEC_DEFAULT_SUCCESS] = {.name = "requiredSuccess",
                              .kind = SPEC_MEMBER_COUNT,
                              .min = 1,
                              .max = 1000,
                              .dflt = "3 (rows: 1)",
                              .help = "good results in a row that make a check "
                                      "up"},
    [SPEC_DEFAULT_FAILURE] = {.name = "requiredFailure",
                              .kind = SPEC_MEMBER_COUNT,
                              .min = 1,
                              .max = 1000,
                              .dflt = "3 (rows: 1)",
                              .help = "bad results in a row that make it down"},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
const struct spec_table spec_object_members = {
    .what = "the object form",
    .members = top_members,
    .n = COUNT(top_members),
};
const struct spec_table spec_object_defaults = {
    .what = "defaults",
    .members = default_members,
    .n = COUNT(default_members),
};

static int read_scalar(struct spec_reader *r, const struct spec_value *v,
                       const struct spec_member *m, struct spec_scalar *out)
{
    if (v == NULL)
        return 0;
    out->at = v;
    return spec_member_number(r, v, m, &out->value);
}

/* The agent's own limit comes on top of the language's. */
static int check_period(struct spec_reader *r, const struct spec_scalar *s)
{
    char min[32];

    if (s->at == NULL || s->value >= r->ctx->min_period_ms)
        return 0;
    return spec_member_error(r, s->at,
                             "%s or more (min-period in the agent's file)",
                             duration_format(r->ctx->min_period_ms, min));
}

static int read_defaults(struct spec_reader *r, const struct spec_value *v,
                         struct spec_scalar out[SPEC_NDEFAULTS])
{
    const struct spec_value *given[COUNT(default_members)];

    if (v == NULL)
        return 0;
    if (spec_member_collect(r, v, &spec_object_defaults, given) != 0)
        return -1;
    for (size_t i = 0; i < SPEC_NDEFAULTS; i++)
        if (read_scalar(r, given[i], &default_members[i], &out[i]) != 0)
            return -1;
    if (check_period(r, &out[SPEC_DEFAULT_ACCESS]) != 0)
        return -1;
    return check_period(r, &out[SPEC_DEFAULT_RETRY]);
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
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        if (spec_member_name(r, k, NAMES_ACCEPTED, name) != 0)
            return -1;
        if (!name_within(name, r->ctx->zone) ||
            strncmp(name, "_failover.", 10) == 0)
            return spec_member_error(r, k, NAMES_ACCEPTED);
        d->names =
            mem_grow(d->names, &d->cap_names, d->nnames, sizeof *d->names);
        d->names[d->nnames++] = arena_strdup(r->arena, name);
    }
    return 0;
}

int spec_object_read(struct spec_reader *r, struct spec_doc *d)
{
    static const struct {
        enum spec_top top;
        enum spec_array array;
    } lists[] = {{SPEC_TOP_RECORDS, SPEC_IN_RECORDS},
                 {SPEC_TOP_ROWS, SPEC_IN_ROWS},
                 {SPEC_TOP_FALLBACK, SPEC_IN_FALLBACK}};
    static const enum spec_top scalars[] = {
        SPEC_TOP_ORDER, SPEC_TOP_TAKE, SPEC_TOP_ALL_DOWN, SPEC_TOP_DEBOUNCE,
        SPEC_TOP_MAX_CHANGE};
    const struct spec_value *given[COUNT(top_members)];

    d->form = SPEC_OBJECT;
    if (spec_member_collect(r, d->root, &spec_object_members, given) != 0 ||
        read_defaults(r, given[SPEC_TOP_DEFAULTS], d->defaults) != 0 ||
        read_names(r, given[SPEC_TOP_NAMES], d) != 0)
        return -1;
    for (size_t i = 0; i < COUNT(scalars); i++) {
        enum spec_top t = scalars[i];

        if (read_scalar(r, given[t], &top_members[t], &d->top[t]) != 0)
            return -1;
    }
    for (size_t i = 0; i < COUNT(lists); i++) {
        const struct spec_value *v = given[lists[i].top];

        if (v != NULL &&
            spec_item_read_list(r, v, lists[i].array, d->document, &d->items,
                                &d->nitems, &d->cap_items) != 0)
            return -1;
    }
    return 0;
}

void spec_object_fini(struct spec_doc *d)
{
    free(d->items);
    free(d->names);
    memset(d, 0, sizeof *d);
}
