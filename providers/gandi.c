#include "providers/rest/rest.h"

/* Gandi LiveDNS, v5. A set is written whole, by a path of its own; PUT makes
 * it where it is not there. A PUT without a TTL would give it 10800.
 * source: api.gandi.net/docs/livedns */

#define RECORDS "/domains/{zone}/records"

static const struct config_field fields[] = {
    {"url", CONFIG_STR, false, false, "https://api.gandi.net/v5/livedns",
     "The API, where it is not at Gandi's own address.",
     "GANDI_URL GANDIV5_URL"},
    {"token", CONFIG_STR, false, false, NULL,
     "A personal access token, with the right to manage the domains' technical "
     "configuration; better token-file, or the environment. It ends at a date. "
     "The older API key is not taken.",
     "GANDI_PERSONAL_ACCESS_TOKEN GANDIV5_PERSONAL_ACCESS_TOKEN GANDI_PAT"},
    {"token-file", CONFIG_STR, false, false, NULL,
     "A file with the token in its first line.",
     "GANDI_PERSONAL_ACCESS_TOKEN_FILE GANDIV5_PERSONAL_ACCESS_TOKEN_FILE"},
    ENDPOINT_FIELDS("GANDI"),
    {0},
};

static const struct rest_style style = {
    .ops = &provider_gandi,
    .fields = fields,
    .label = "Gandi",
    .root = "/v5/livedns",
    .secret = "token",
    .header = "Authorization: Bearer ",
    .names = REST_RELATIVE,
    .apex = "@",
    .targets = REST_TARGET_RELATIVE,
    .by_set = true,
    .m = {.name = "rrset_name",
          .type = "rrset_type",
          .ttl = "rrset_ttl",
          .values = "rrset_values"},
    .paths = {.zones = "/domains",
              .zones_items = "",
              .zones_name = "fqdn",
              .records = RECORDS,
              .items = ""},
    .set_calls = {{REST_DUE_GONE, "DELETE", RECORDS "/{name}/{type}", 0},
                  {REST_DUE_NEW | REST_DUE_TTL | REST_DUE_VALUES, "PUT",
                   RECORDS "/{name}/{type}", REST_PART_TTL | REST_PART_VALUES}},
    .new_ttl_s = 10800,
    .paging = REST_TOTAL_HEADER,
    .page_size = "per_page=100",
    .page_total = "Total-Count",
    .full_ms = 60000,
};

const struct provider_ops provider_gandi = {
    .type = "gandi",
    .fields = fields,
    .caps = {.lists_zones = true,
             .lists_specs = true,
             .creates_missing = true,
             .per_set = true,
             .min_ttl_s = 300,
             .publish_ms = 60000},
    .rest = &style,
    REST_OPERATIONS,
};
