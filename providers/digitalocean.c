#include "providers/rest/rest.h"

/* DigitalOcean, API v2. Records have ids, there are no batches: a new value is
 * added before the old one goes. TXT is bare, in and out.
 * source: docs.digitalocean.com/reference/api (domains, domain records) */

#define RECORDS "/domains/{zone}/records"

static const struct config_field fields[] = {
    {"url", CONFIG_STR, false, false, "https://api.digitalocean.com/v2",
     "The API, where it is not at DigitalOcean's own address.",
     "DIGITALOCEAN_URL DIGITALOCEAN_API_URL DO_API_URL"},
    {"token", CONFIG_STR, false, false, NULL,
     "A token with the scopes domain:read, create, update and delete; better "
     "token-file, or the environment.",
     "DIGITALOCEAN_TOKEN DIGITALOCEAN_ACCESS_TOKEN DO_API_TOKEN DO_AUTH_TOKEN"},
    {"token-file", CONFIG_STR, false, false, NULL,
     "A file with the token in its first line.",
     "DIGITALOCEAN_TOKEN_FILE DO_API_TOKEN_FILE DO_AUTH_TOKEN_FILE"},
    ENDPOINT_FIELDS("DIGITALOCEAN"),
    {0},
};

static const struct rest_style style = {
    .ops = &provider_digitalocean,
    .fields = fields,
    .label = "DigitalOcean",
    .root = "/v2",
    .secret = "token",
    .header = "Authorization: Bearer ",
    .names = REST_RELATIVE,
    .apex = "@",
    .targets = REST_TARGET_DOT,
    .txt_bare = true,
    .m = {.id = "id",
          .id_is_number = true,
          .name = "name",
          .type = "type",
          .ttl = "ttl",
          .data = "data"},
    .paths = {.zones = "/domains",
              .zones_items = "domains",
              .zones_name = "name",
              .records = RECORDS,
              .items = "domain_records",
              .by_name = RECORDS "?name={fqdn}",
              .specs = RECORDS "?type=TXT",
              .specs_items = "domain_records",
              .add = RECORDS,
              .change = RECORDS "/{record}",
              .remove = RECORDS "/{record}"},
    .change_method = "PATCH",
    .few = 4,
    .new_ttl_s = 1800,
    .paging = REST_NEXT_LINK,
    .page_size = "per_page=200",
    .page_next = "links.pages.next",
    .left = "RateLimit-Remaining",
    .reset = "RateLimit-Reset",
    .reset_form = REST_RESET_EPOCH,
    .full_ms = 60000,
};

const struct provider_ops provider_digitalocean = {
    .type = "digitalocean",
    .fields = fields,
    .caps = {.lists_zones = true,
             .lists_specs = true,
             .creates_missing = true,
             .min_ttl_s = 30,
             .publish_ms = 30000},
    .rest = &style,
    REST_OPERATIONS,
};
