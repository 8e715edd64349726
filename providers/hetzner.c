#include <string.h>

#include "providers/rest/rest.h"
#include "providers/rest/rest_json.h"

/* Hetzner DNS, in the Cloud API. A set is made by one call; its values and its
 * TTL are changed by two. Each starts an action, which takes some seconds. The
 * older API at dns.hetzner.com is another one, with other tokens.
 * source: docs.hetzner.cloud (zones, RRSets, RRSet actions, zone actions) */

#define RRSETS "/zones/{zone}/rrsets"
#define RRSET RRSETS "/{name}/{type}"

static const struct config_field fields[] = {
    {"url", CONFIG_STR, false, false, "https://api.hetzner.cloud/v1",
     "The API, where it is not at Hetzner's own address.",
     "HETZNER_URL HCLOUD_ENDPOINT"},
    {"token", CONFIG_STR, false, false, NULL,
     "An API token of the project, with read and write; better token-file, or "
     "the environment. It opens the whole project: a project of its own for "
     "the zones keeps the rest out of reach.",
     "HCLOUD_TOKEN HETZNER_API_TOKEN"},
    {"token-file", CONFIG_STR, false, false, NULL,
     "A file with the token in its first line.",
     "HCLOUD_TOKEN_FILE HETZNER_API_TOKEN_FILE"},
    ENDPOINT_FIELDS("HETZNER"),
    {0},
};

/* Another action on the zone is under way; "uniqueness_error" comes with 409
 * too, and stays. */
static bool is_busy(const cJSON *root)
{
    const cJSON *code = rest_json_at(root, "error.code");

    return cJSON_IsString(code) && strcmp(code->valuestring, "conflict") == 0;
}

static const struct rest_action action = {
    .object = "action",
    .id = "id",
    .status = "status",
    .error = "error",
    .running = "running",
    .done = "success",
    .path = "/zones/actions/{record}",
};

static const struct rest_style style = {
    .ops = &provider_hetzner,
    .fields = fields,
    .label = "Hetzner",
    .root = "/v1",
    .secret = "token",
    .header = "Authorization: Bearer ",
    .names = REST_RELATIVE,
    .apex = "@",
    .targets = REST_TARGET_DOT,
    .by_set = true,
    .m = {.name = "name",
          .type = "type",
          .ttl = "ttl",
          .values = "records",
          .data = "value",
          .kept = {"comment"},
          .usual = "\"\""},
    .paths = {.zones = "/zones",
              .zones_items = "zones",
              .zones_name = "name",
              .records = RRSETS,
              .items = "rrsets",
              .by_name = RRSETS "?name={name}",
              .specs = RRSETS "?type=TXT",
              .specs_items = "rrsets"},
    /* The TTL first: what is new is then never served with the old one. */
    .set_calls = {{REST_DUE_GONE, "DELETE", RRSET, 0},
                  {REST_DUE_NEW, "POST", RRSETS,
                   REST_PART_NAME | REST_PART_TTL | REST_PART_VALUES},
                  {REST_DUE_TTL, "POST", RRSET "/actions/change_ttl",
                   REST_PART_TTL},
                  {REST_DUE_VALUES, "POST", RRSET "/actions/set_records",
                   REST_PART_VALUES}},
    .action = &action,
    .few = 4,
    .new_ttl_s = 3600,
    .null_ttl_s = 86400, /* what a zone is made with */
    .paging = REST_PAGE_NUMBERS,
    .page_size = "per_page=50",
    .page_total = "meta.pagination.last_page",
    .page_now = "meta.pagination.page",
    .left = "RateLimit-Remaining",
    .reset = "RateLimit-Reset",
    .reset_form = REST_RESET_EPOCH,
    .full_ms = 10000,
    .is_busy = is_busy,
};

const struct provider_ops provider_hetzner = {
    .type = "hetzner",
    .fields = fields,
    .caps = {.lists_zones = true,
             .lists_specs = true,
             .creates_missing = true,
             .per_set = true,
             .min_ttl_s = 60,
             .publish_ms = 30000},
    .rest = &style,
    REST_OPERATIONS,
};
