#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_read.h"
#include "providers/rest/rest_settle.h"
#include "providers/rest/rest_zone.h"
#include "providers/shared/findings.h"

/* PowerDNS Authoritative Server, HTTP API. A set is written as a whole, all
 * sets of a change in one PATCH; a value is switched off by `disabled`. Before
 * 5.0 a filtered read leaves disabled records out, so the zone is always read
 * whole. source: doc.powerdns.com/authoritative/http-api */

/* What a zone's own members say (struct rest_zone.flags). */
enum {
    IS_COPY = 8,   /* a secondary: it takes no changes */
    NO_SERIAL = 1, /* SOA-EDIT-API is empty: the API raises no serial */
    SENDS = 2,     /* a primary: secondaries wait for its NOTIFY */
    RECTIFY = 4,   /* signed, and not rectified by itself */
};

static const struct config_field fields[] = {
    {"url", CONFIG_STR, true, false, NULL,
     "The server's API, http://127.0.0.1:8081; http only to a loopback "
     "address.",
     "PDNS_API_URL PDNS_URL"},
    {"api-key", CONFIG_STR, false, false, NULL,
     "The server's own api-key; better api-key-file, or the environment.",
     "PDNS_API_KEY"},
    {"api-key-file", CONFIG_STR, false, false, NULL,
     "A file with the key in its first line.", "PDNS_API_KEY_FILE"},
    {"server-id", CONFIG_STR, false, false, "localhost",
     "The server's name in its API.", "PDNS_SERVER_NAME PDNS_SERVER_ID"},
    ENDPOINT_FIELDS("PDNS"),
    {0},
};

static bool is_text(const cJSON *root, const char *member, const char *text)
{
    const cJSON *v = rest_json_at(root, member);

    return cJSON_IsString(v) && strcmp(v->valuestring, text) == 0;
}

static void read_serial(const cJSON *root, bool *known, uint32_t *serial)
{
    const cJSON *v = rest_json_at(root, "edited_serial");
    int64_t n;

    *known = rest_json_uint(v != NULL ? v : rest_json_at(root, "serial"),
                            UINT32_MAX, &n);
    if (*known)
        *serial = (uint32_t)n;
}

static void on_page(struct rest_zone *z, const cJSON *root)
{
    read_serial(root, &z->has_serial, &z->serial);
    z->flags = 0;
    if (is_text(root, "soa_edit_api", ""))
        z->flags |= NO_SERIAL;
    if (is_text(root, "kind", "Master") || is_text(root, "kind", "Primary"))
        z->flags |= SENDS;
    if (is_text(root, "kind", "Slave") || is_text(root, "kind", "Secondary"))
        z->flags |= IS_COPY;
    if (cJSON_IsTrue(rest_json_at(root, "dnssec")) &&
        cJSON_IsFalse(rest_json_at(root, "api_rectify")))
        z->flags |= RECTIFY;
}

static void examine(const struct rest_zone *z, struct findings *f)
{
    char remedy[NAME_SIZE + 64];

    (void)snprintf(remedy, sizeof remedy,
                   "pdnsutil set-meta %s SOA-EDIT-API DEFAULT", z->name);
    if ((z->flags & IS_COPY) != 0)
        findings_add(f, PROVIDER_ERROR, "url",
                     "the url of the server where the zone is a primary",
                     "%s: a secondary here, which takes no changes", z->name);
    else if ((z->flags & NO_SERIAL) != 0)
        findings_add(f, PROVIDER_WARNING, NULL, remedy,
                     "%s: SOA-EDIT-API is empty, so a change does not raise "
                     "the serial, and secondaries never learn of it",
                     z->name);
    else
        findings_add(f, PROVIDER_OK, NULL, NULL,
                     "%s: a change raises the serial (now %u)", z->name,
                     z->serial);
}

/* ---- after the writes: rectify, notify, the serial ----------------------- */

static const char *const steps[] = {
    "/servers/{account}/zones/{zone.}/rectify",
    "/servers/{account}/zones/{zone.}/notify",
    "/servers/{account}/zones/{zone.}?rrsets=false",
};
enum { STEP_RECTIFY, STEP_NOTIFY, STEP_SERIAL };

struct settling {
    struct rest *p;
    struct arena *a;
    struct rest_zone *z;
    int step;
    struct rest_settled out;
    void *arg;
};

static void step(struct settling *g);

static void finish(struct settling *g)
{
    struct rest_settled out = g->out;
    void *arg = g->arg;

    arena_free(g->a);
    free(g);
    rest_settled(arg, &out);
}

static void check_serial(struct settling *g)
{
    uint32_t before = g->z->serial_before;
    bool was_known = g->z->has_serial;

    g->z->has_serial = g->out.has_serial;
    g->z->serial = g->out.serial;
    if (!was_known || !g->out.has_serial || g->out.serial != before ||
        !g->z->is_written)
        return;
    if ((g->z->flags & NO_SERIAL) != 0)
        log_line(LOG_WARN,
                 "%s: SOA-EDIT-API is empty, so the serial stays at %u and "
                 "secondaries never learn of a change: pdnsutil set-meta %s "
                 "SOA-EDIT-API DEFAULT",
                 g->z->name, before, g->z->name);
    else
        (void)err_set(&g->out.err, ERR_RETRY,
                      "%s: the serial stays at %u after a change", g->z->name,
                      before);
}

static void on_step(void *arg, const struct rest_reply *r)
{
    struct settling *g = arg;

    if (r->err.code != ERR_NONE && g->step == STEP_RECTIFY)
        g->out.err = rest_as_read(&r->err);
    else if (r->err.code != ERR_NONE)
        log_line(LOG_WARN, "%s: the change is made; %s", g->z->name,
                 r->err.msg);
    if (g->step == STEP_SERIAL && r->err.code == ERR_NONE) {
        read_serial(r->json, &g->out.has_serial, &g->out.serial);
        check_serial(g);
    }
    g->step++;
    step(g);
}

static void step(struct settling *g)
{
    const struct rest_path_args args = {.zone = g->z};

    if (g->step == STEP_RECTIFY && (g->z->flags & RECTIFY) == 0)
        g->step++;
    if (g->step == STEP_NOTIFY && (g->z->flags & SENDS) == 0)
        g->step++;
    if (g->step > STEP_SERIAL)
        finish(g);
    else
        rest_call(g->p, g->step == STEP_SERIAL ? "GET" : "PUT",
                  rest_path(g->p, g->a, steps[g->step], &args), NULL, on_step,
                  g);
}

static void settle(struct rest *p, struct rest_zone *z, void *arg)
{
    struct settling *g = mem_alloc(sizeof *g);

    g->p = p;
    g->a = arena_new();
    g->z = z;
    g->arg = arg;
    step(g);
}

/* ---- the table ----------------------------------------------------------- */

const struct rest_style powerdns_style = {
    .ops = &provider_powerdns,
    .fields = fields,
    .label = "PowerDNS",
    .root = "/api/v1",
    .secret = "api-key",
    .header = "X-API-Key: ",
    .account = "server-id",
    .names = REST_FQDN_DOT,
    .targets = REST_TARGET_DOT,
    .by_set = true,
    .m = {.name = "name",
          .type = "type",
          .ttl = "ttl",
          .values = "records",
          .data = "content",
          .disabled = "disabled"},
    .specs_m = {.name = "name",
                .type = "type",
                .ttl = "ttl",
                .data = "content",
                .disabled = "disabled",
                .zone = "zone"},
    .paths = {.zones = "/servers/{account}/zones",
              .zones_items = "",
              .zones_name = "name",
              .records = "/servers/{account}/zones/{zone.}",
              .items = "rrsets",
              .specs = "/servers/{account}/search-data?q=_failover*"
                       "&max=10000&object_type=record",
              .specs_items = "",
              .batch = "/servers/{account}/zones/{zone.}"},
    .specs_max = 10000,
    .batch_method = "PATCH",
    .sets = "rrsets",
    .set_mark = {"changetype", "REPLACE", "DELETE"},
    .batch_max = 500,
    .new_ttl_s = 3600,
    .paging = REST_ONE_PAGE,
    .full_ms = 10000,
    .on_page = on_page,
    .settle = settle,
    .examine = examine,
};

const struct provider_ops provider_powerdns = {
    .type = "powerdns",
    .fields = fields,
    .caps = {.in_place_disable = true,
             .lists_zones = true,
             .lists_specs = true},
    .rest = &powerdns_style,
    REST_OPERATIONS,
};
