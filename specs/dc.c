#include "specs/dc.h"

#include <string.h>

#include "specs/check.h"
#include "specs/cond.h"
#include "specs/object.h"
#include "specs/scope.h"

#define MINUTE_MS 60000LL
#define ONLY_NEW_MS (10 * MINUTE_MS) /* of true */
#define ACCESS_ACCEPTED                                                        \
    "\"192.0.2.1:443\", \"[2001:db8::1]:443\", a shorthand with an address "   \
    "(\"tcp:443@192.0.2.1\"), or a check that has targets"

enum {
    D_WAN, /* the dimensions in their order */
    D_LAN,
    D_ACCESS,
    D_INTERNET,
    D_MAINTENANCE,
    D_NO_RESPONSE,
    D_NEEDS,
    D_ONLY_NEW,
    D_FRESH,
    D_PERIOD,
    D_SUCCESS,
    D_FAILURE,
    D_N
};

static const char *const dimensions[] = {"wanAccess", "lanAccess", "access",
                                         "internet", NULL};

/* clang-format off */
static const struct spec_member members[D_N] = {
    [D_WAN] = {.name = "wanAccess", .kind = SPEC_MEMBER_ACCESS,
        .help = "places that answer while the dc is reached from outside"},
    [D_LAN] = {.name = "lanAccess", .kind = SPEC_MEMBER_ACCESS,
        .help = "places that answer while its inside is reached"},
    [D_ACCESS] = {.name = "access", .kind = SPEC_MEMBER_ACCESS,
        .help = "places that answer while it is reached at all"},
    [D_INTERNET] = {.name = "internet", .kind = SPEC_MEMBER_ACCESS,
        .help = "places outside that an agent in the dc reaches; others "
                "ignore it"},
    [D_MAINTENANCE] = {.name = "maintenanceMode", .kind = SPEC_MEMBER_BOOL,
        .dflt = "false", .help = "out of service on purpose"},
    [D_NO_RESPONSE] = {.name = "noResponse", .kind = SPEC_MEMBER_BOOL,
        .dflt = "false",
        .help = "passive: silent while another dc's record is healthy"},
    [D_NEEDS] = {.name = "needs", .kind = SPEC_MEMBER_CHOICES,
        .choices = dimensions, .dflt = "wanAccess, as far as given",
        .help = "the dimensions that service requires"},
    [D_ONLY_NEW] = {.name = "onlyNew", .kind = SPEC_MEMBER_BOOL_MS,
        .unit = "ms", .min = 1, .max = 366 * 24 * 60 * MINUTE_MS,
        .dflt = "false; true is 10m",
        .help = "after being out for longer it stays out, until readmit or "
                "fresh"},
    [D_FRESH] = {.name = "fresh", .kind = SPEC_MEMBER_COND,
        .help = "a check or scenario that proves its data current"},
    [D_PERIOD] = {.name = "accessPeriod", SPEC_ACCESS_LIMITS, .dflt = "10s",
        .help = "from probe to probe of its dimensions"},
    [D_SUCCESS] = {.name = "requiredSuccess", SPEC_COUNT_LIMITS, .dflt = "3",
        .help = "good results in a row that make a target up"},
    [D_FAILURE] = {.name = "requiredFailure", SPEC_COUNT_LIMITS, .dflt = "3",
        .help = "bad results in a row that make a target down"},
};
static const struct spec_member access_members[] = {
    {.name = "need", .kind = SPEC_MEMBER_COUNT, .min = 1,
        .max = SPEC_LIST_MAX, .dflt = "1",
        .help = "how many of them must answer"},
    {.name = "of", .kind = SPEC_MEMBER_ACCESS, .required = true,
        .help = "the list of places"},
};
/* clang-format on */

const struct spec_table spec_dc_members = {
    .what = "a dc",
    .members = members,
    .n = D_N,
};
const struct spec_table spec_dc_access = {
    .what = "a dimension",
    .members = access_members,
    .n = 2,
};

/* A dc's checks stand for no record: all that they need is written. */
static int check_complete(struct spec_reader *r, const struct spec_value *v,
                          size_t id)
{
    const struct spec_check *c = spec_scope_check(r, id);

    if (c->target.family == 0 && c->ntargets == 0)
        return spec_member_fail(
            r, v,
            "a check of a dc without an address; accepted: " ACCESS_ACCEPTED);
    if (spec_check_wants_host(c))
        return spec_member_fail(r, v,
                                "a check of a dc without a host; accepted: a "
                                "check object with \"%s\" (no set's name "
                                "stands for it here)",
                                spec_check_forms[c->kind].rest == SPEC_REST_PATH
                                    ? "host"
                                    : "serverName");
    return 0;
}

/* address:port, or a check. */
static int read_place(struct spec_reader *r, const struct spec_value *v,
                      const struct spec_basis *b, size_t *id)
{
    struct spec_check c;
    struct addr a;

    if (!spec_value_is_scalar(v) && v->type != SPEC_VALUE_OBJECT)
        return spec_member_error(r, v, ACCESS_ACCEPTED);
    if (v->type == SPEC_VALUE_OBJECT ||
        addr_parse_port(v->text, 0, &a, NULL) != 0) {
        if (spec_check_read_one(r, v, NULL, b, id) != 0)
            return -1;
        return check_complete(r, v, *id);
    }
    if (a.port == 0)
        return spec_member_error(r, v, ACCESS_ACCEPTED);
    memset(&c, 0, sizeof c);
    c.kind = SPEC_CHECK_TCP;
    c.port = a.port;
    c.target = a;
    c.target.port = 0;
    spec_check_fill(r, v, b, &c);
    *id = spec_scope_add_check(r, &c);
    return 0;
}

static int read_list(struct spec_reader *r, const struct spec_value *v,
                     const struct spec_basis *b, const size_t **out, size_t *n)
{
    size_t *ids;

    if (v->type != SPEC_VALUE_ARRAY || v->n == 0 || v->n > SPEC_LIST_MAX)
        return spec_member_error(r, v, "a list of 1 to %u of " ACCESS_ACCEPTED,
                                 SPEC_LIST_MAX);
    ids = arena_array(r->arena, v->n, sizeof *ids);
    *n = 0;
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        if (read_place(r, k, b, &ids[*n]) != 0)
            return -1;
        spec_scope_note(r, SPEC_NAMED_CHECK, &ids[(*n)++]);
    }
    *out = ids;
    return 0;
}

static int read_dimension(struct spec_reader *r, const struct spec_value *v,
                          const struct spec_basis *b, struct spec_dc *dc,
                          enum spec_dimension d)
{
    const struct spec_value *given[2] = {NULL, v};
    int64_t need = 1;

    if (v == NULL)
        return 0;
    if (v->type == SPEC_VALUE_OBJECT &&
        spec_member_collect(r, v, &spec_dc_access, given) != 0)
        return -1;
    if (given[0] != NULL &&
        spec_member_number(r, given[0], &access_members[0], &need) != 0)
        return -1;
    if (read_list(r, given[1], b, &dc->dims[d].checks, &dc->dims[d].n) != 0)
        return -1;
    if (need > (int64_t)dc->dims[d].n)
        return spec_member_error(
            r, given[0], "at most the number of places, %zu", dc->dims[d].n);
    dc->dims[d].need = (uint32_t)need;
    dc->dims[d].given = true;
    return 0;
}

static int read_needs(struct spec_reader *r, const struct spec_value *v,
                      struct spec_dc *dc)
{
    static const struct spec_member one = {.kind = SPEC_MEMBER_CHOICE,
                                           .choices = dimensions};
    int64_t d;

    dc->needs[SPEC_WAN] = v == NULL && dc->dims[SPEC_WAN].given;
    if (v == NULL)
        return 0;
    if (v->type != SPEC_VALUE_ARRAY || v->n == 0)
        return spec_member_error(r, v,
                                 "a list of dimensions: [\"wanAccess\", "
                                 "\"lanAccess\"]");
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        if (spec_member_number(r, k, &one, &d) != 0)
            return -1;
        if (!dc->dims[d].given)
            return spec_member_error(r, k, "a dimension that this dc gives");
        dc->needs[d] = true;
    }
    return 0;
}

static int read_only_new(struct spec_reader *r, const struct spec_value *v,
                         struct spec_dc *dc)
{
    bool token, on = false;

    dc->only_new_ms = -1;
    if (v == NULL)
        return 0;
    token = v->type == SPEC_VALUE_TOKEN &&
            (strcmp(v->text, "true") == 0 || strcmp(v->text, "false") == 0);
    if (!token && v->type != SPEC_VALUE_TRUE && v->type != SPEC_VALUE_FALSE)
        return spec_member_number(r, v, &members[D_ONLY_NEW], &dc->only_new_ms);
    if (spec_member_bool(r, v, &on) != 0)
        return -1;
    if (on)
        dc->only_new_ms = ONLY_NEW_MS;
    return 0;
}

static int read_fresh(struct spec_reader *r, const struct spec_value *v,
                      struct spec_dc *dc)
{
    struct spec_cond *c;

    if (v == NULL)
        return 0;
    c = arena_alloc(r->arena, sizeof *c);
    if (spec_cond_read(r, v, c) != 0)
        return -1;
    if (c->local)
        return spec_member_fail(r, v,
                                "depends on a check without an address or "
                                "host of its own; accepted: checks with "
                                "\"target\" (no record's address stands for "
                                "it here)");
    dc->fresh = c;
    return 0;
}

static int read_basis(struct spec_reader *r,
                      const struct spec_value *const *given,
                      struct spec_basis *b)
{
    static const struct {
        size_t member;
        enum spec_default dflt;
    } numbers[] = {{D_PERIOD, SPEC_DEFAULT_ACCESS},
                   {D_SUCCESS, SPEC_DEFAULT_SUCCESS},
                   {D_FAILURE, SPEC_DEFAULT_FAILURE}};

    *b = r->own;
    for (size_t i = 0; i < 3; i++) {
        const struct spec_value *v = given[numbers[i].member];

        if (v != NULL && spec_member_number(r, v, &members[numbers[i].member],
                                            &b->v[numbers[i].dflt]) != 0)
            return -1;
    }
    if (given[D_PERIOD] == NULL)
        return 0;
    return spec_member_period(r, given[D_PERIOD], b->v[SPEC_DEFAULT_ACCESS]);
}

int spec_dc_read(struct spec_reader *r, const struct spec_value *v,
                 struct spec_dc *dc)
{
    const struct spec_value *given[D_N];
    struct spec_basis b;

    if (spec_member_collect(r, v, &spec_dc_members, given) != 0 ||
        read_basis(r, given, &b) != 0)
        return -1;
    for (int d = 0; d < SPEC_NDIMENSIONS; d++)
        if (read_dimension(r, given[D_WAN + d], &b, dc,
                           (enum spec_dimension)d) != 0)
            return -1;
    if (given[D_MAINTENANCE] != NULL &&
        spec_member_bool(r, given[D_MAINTENANCE], &dc->maintenance) != 0)
        return -1;
    if (given[D_NO_RESPONSE] != NULL &&
        spec_member_bool(r, given[D_NO_RESPONSE], &dc->no_response) != 0)
        return -1;
    if (read_needs(r, given[D_NEEDS], dc) != 0 ||
        read_only_new(r, given[D_ONLY_NEW], dc) != 0)
        return -1;
    return read_fresh(r, given[D_FRESH], dc);
}
