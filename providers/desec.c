#include "providers/rest/rest.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_zone.h"
#include "providers/shared/findings.h"

/* deSEC. Sets are written whole, all of a change in one PATCH, which is done as
 * a whole or not at all. Its limits are tight: TTLs from the domain's own
 * minimum_ttl on, and 2 writes a second, 15 a minute, 100 an hour, 300 a day
 * for a domain; beyond them it answers 429 with a Retry-After that may say
 * hours. source: desec.readthedocs.io (domains, rrsets, rate limits) */

#define RRSETS "/domains/{zone}/rrsets/"

static const struct config_field fields[] = {
    {"url", CONFIG_STR, false, false, "https://desec.io/api/v1",
     "The API, where it is not at deSEC's own address.", "DESEC_URL"},
    {"token", CONFIG_STR, false, false, NULL,
     "A token; better token-file, or the environment. Policies of the token "
     "may limit it to domains, names and types.",
     "DESEC_TOKEN"},
    {"token-file", CONFIG_STR, false, false, NULL,
     "A file with the token in its first line.", "DESEC_TOKEN_FILE"},
    ENDPOINT_FIELDS("DESEC"),
    {0},
};

static void on_zone(struct rest_zone *z, const cJSON *item)
{
    int64_t ttl_s;

    z->has_min_ttl =
        rest_json_uint(rest_json_at(item, "minimum_ttl"), INT32_MAX, &ttl_s);
    if (z->has_min_ttl)
        z->min_ttl_s = (uint32_t)ttl_s;
}

static void examine(const struct rest_zone *z, struct findings *f)
{
    if (z->has_min_ttl && z->min_ttl_s > 300)
        findings_add(f, PROVIDER_WARNING, NULL,
                     "ask support@desec.io for a lower minimum_ttl",
                     "%s: the lowest TTL is %u s here, so resolvers keep an "
                     "old answer that long",
                     z->name, z->min_ttl_s);
    findings_add(f, PROVIDER_OK, NULL, NULL,
                 "%s: deSEC takes 300 writes a day, 100 an hour, 15 a minute "
                 "for a domain",
                 z->name);
}

static const struct rest_style style = {
    .ops = &provider_desec,
    .fields = fields,
    .label = "deSEC",
    .root = "/api/v1",
    .secret = "token",
    .header = "Authorization: Token ",
    .names = REST_RELATIVE,
    .apex = "",
    .targets = REST_TARGET_DOT,
    .by_set = true,
    .m = {.name = "subname", .type = "type", .ttl = "ttl", .values = "records"},
    .paths = {.zones = "/domains/",
              .zones_items = "",
              .zones_name = "name",
              .zone_find = "/domains/?owns_qname={zone}",
              .zone_id = "name",
              .records = RRSETS,
              .items = "",
              .by_name = RRSETS "?subname={name}",
              .specs = RRSETS "?type=TXT",
              .specs_items = "",
              .batch = RRSETS},
    .batch_method = "PATCH",
    .batch_max = 500,
    .few = 4,
    .new_ttl_s = 3600,
    .paging = REST_LINK_HEADER,
    .page_size = "cursor=",
    .full_ms = 60000,
    .on_zone = on_zone,
    .examine = examine,
};

/* min_ttl_s: of most domains; their own is used where it is known. */
const struct provider_ops provider_desec = {
    .type = "desec",
    .fields = fields,
    .caps = {.lists_zones = true,
             .lists_specs = true,
             .creates_missing = true,
             .per_set = true,
             .min_ttl_s = 3600,
             .publish_ms = 60000},
    .rest = &style,
    REST_OPERATIONS,
};
