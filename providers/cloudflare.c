#include <string.h>

#include "providers/rest/rest.h"
#include "providers/rest/rest_answer.h"
#include "providers/rest/rest_json.h"

/* Cloudflare, API v4. source: developers.cloudflare.com/api (zones, DNS
 * records for a zone, rate limits) */

static const struct config_field fields[] = {
    {"url", CONFIG_STR, false, false, "https://api.cloudflare.com/client/v4",
     "The API, where it is not at Cloudflare's own address.", "CLOUDFLARE_URL"},
    {"token", CONFIG_STR, false, false, NULL,
     "An API token with the right DNS: Edit, and without zone-id Zone: Read, "
     "on "
     "the zones; better token-file, or the environment. The Global API Key is "
     "refused.",
     "CLOUDFLARE_API_TOKEN CLOUDFLARE_DNS_API_TOKEN CF_DNS_API_TOKEN"},
    {"token-file", CONFIG_STR, false, false, NULL,
     "A file with the token in its first line.",
     "CLOUDFLARE_API_TOKEN_FILE CLOUDFLARE_DNS_API_TOKEN_FILE"},
    {"zone-id", CONFIG_STR, false, false, NULL,
     "The zone's id, where this section serves one zone: the token then needs "
     "no right to list zones.",
     "CLOUDFLARE_ZONE_ID"},
    ENDPOINT_FIELDS("CLOUDFLARE"),
    {0},
};

/* The key of the whole account is 37 digits of hex. */
static int check(const struct rest *p, struct err *e)
{
    if (strlen(p->secret) == 37 && strspn(p->secret, "0123456789abcdef") == 37)
        return err_set(e, ERR_AUTH,
                       "this is the Global API Key, with which everything in "
                       "the account can be changed; make an API token with "
                       "the right DNS: Edit on the zones, at My Profile > API "
                       "Tokens");
    return 0;
}

/* "success" decides, whatever the status is. */
static int verdict(const cJSON *root, struct err *e)
{
    char text[300];

    if (cJSON_IsTrue(rest_json_at(root, "success")))
        return 0;
    rest_answer_text(root, "", text, sizeof text);
    return err_set(e, ERR_INPUT, "the answer says no success: %s", text);
}

static bool is_proxied(const cJSON *record)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(record, "proxied"));
}

const struct rest_style cloudflare_style = {
    .ops = &provider_cloudflare,
    .fields = fields,
    .label = "Cloudflare",
    .root = "/client/v4",
    .secret = "token",
    .header = "Authorization: Bearer ",
    .zone_id = "zone-id",
    .names = REST_FQDN,
    .targets = REST_TARGET_NO_DOT,
    .m = {.id = "id",
          .name = "name",
          .type = "type",
          .ttl = "ttl",
          .data = "content",
          .kept = {"proxied", "comment", "tags", "settings", "ttl"},
          .shared = "proxied"},
    .paths = {.zones = "/zones",
              .zones_items = "result",
              .zones_name = "name",
              .zone_find = "/zones?name={zone}",
              .zone_id = "id",
              .records = "/zones/{id}/dns_records",
              .items = "result",
              .by_name = "/zones/{id}/dns_records?name.exact={name}",
              .specs = "/zones/{id}/dns_records?type=TXT"
                       "&name.startswith=_failover.",
              .specs_items = "result",
              .add = "/zones/{id}/dns_records",
              .change = "/zones/{id}/dns_records/{record}",
              .remove = "/zones/{id}/dns_records/{record}",
              .batch = "/zones/{id}/dns_records/batch"},
    .change_method = "PATCH",
    .batch_method = "POST",
    .deletes = "deletes",
    .updates = "patches",
    .creates = "posts",
    .batch_max = 200, /* of the Free plan */
    /* One transaction, but its records reach the edge one by one. */
    .batch_splits = true,
    .few = 4,
    .new_ttl_s = 1,
    .auto_ttl_s = 300,
    .paging = REST_PAGE_NUMBERS,
    .page_size = "per_page=50",
    .page_total = "result_info.total_pages",
    .page_now = "result_info.page",
    .left = "Ratelimit",
    .reset = "Ratelimit",
    .reset_form = REST_RESET_PARAMS,
    .full_ms = 300000,
    .check = check,
    .verdict = verdict,
    .is_proxied = is_proxied,
};

const struct provider_ops provider_cloudflare = {
    .type = "cloudflare",
    .fields = fields,
    .caps = {.lists_zones = true,
             .lists_specs = true,
             .creates_missing = true,
             .min_ttl_s = 60,
             .publish_ms = 30000},
    .rest = &cloudflare_style,
    REST_OPERATIONS,
};
