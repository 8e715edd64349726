#include <string.h>

#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_zone.h"

/* DNSimple, API v2. source: developer.dnsimple.com/v2 (identity, accounts,
 * zones, zone records, zone records batch) */

static const struct config_field fields[] = {
    {"url", CONFIG_STR, false, false, "https://api.dnsimple.com/v2",
     "The API; that of the sandbox is https://api.sandbox.dnsimple.com/v2.",
     "DNSIMPLE_URL DNSIMPLE_BASE_URL"},
    {"token", CONFIG_STR, false, false, NULL,
     "An access token; better token-file, or the environment.",
     "DNSIMPLE_TOKEN DNSIMPLE_OAUTH_TOKEN"},
    {"token-file", CONFIG_STR, false, false, NULL,
     "A file with the token in its first line.",
     "DNSIMPLE_TOKEN_FILE DNSIMPLE_OAUTH_TOKEN_FILE"},
    {"account", CONFIG_STR, false, false, NULL,
     "The account's number; asked for where the token is of an account, or its "
     "user has only one.",
     "DNSIMPLE_ACCOUNT DNSIMPLE_ACCOUNT_ID"},
    ENDPOINT_FIELDS("DNSIMPLE"),
    {0},
};

/* ---- the account --------------------------------------------------------- */

static void on_accounts(void *arg, const struct rest_reply *r)
{
    struct rest *p = arg;
    const cJSON *list = rest_json_at(r->json, "data");
    char id[REST_ID_SIZE];
    struct err e = r->err;
    int n = cJSON_GetArraySize(list);

    if (e.code == ERR_NONE && n != 1)
        (void)err_set(&e, ERR_INPUT,
                      "the token's user has %d accounts; write the number of "
                      "the one meant as account",
                      n);
    else if (e.code == ERR_NONE &&
             !rest_json_text(rest_json_at(list->child, "id"), id, sizeof id))
        (void)err_set(&e, ERR_RETRY, "an account without id in the answer");
    rest_account_is(p, e.code == ERR_NONE ? id : NULL, &e);
}

/* A token of a user has no account of its own. */
static void on_whoami(void *arg, const struct rest_reply *r)
{
    struct rest *p = arg;
    char id[REST_ID_SIZE];

    if (r->err.code != ERR_NONE)
        rest_account_is(p, NULL, &r->err);
    else if (rest_json_text(rest_json_at(r->json, "data.account.id"), id,
                            sizeof id))
        rest_account_is(p, id, NULL);
    else
        rest_call(p, "GET", "/accounts", NULL, on_accounts, p);
}

static void find_account(struct rest *p)
{
    rest_call(p, "GET", "/whoami", NULL, on_whoami, p);
}

/* ---- the table ----------------------------------------------------------- */

static bool is_system(const cJSON *record)
{
    return cJSON_IsTrue(
        cJSON_GetObjectItemCaseSensitive(record, "system_record"));
}

const struct rest_style dnsimple_style = {
    .ops = &provider_dnsimple,
    .fields = fields,
    .label = "DNSimple",
    .root = "/v2",
    .secret = "token",
    .header = "Authorization: Bearer ",
    .account = "account",
    .names = REST_RELATIVE,
    .apex = "",
    .targets = REST_TARGET_NO_DOT,
    .m = {.id = "id",
          .id_is_number = true,
          .name = "name",
          .type = "type",
          .ttl = "ttl",
          .data = "content",
          .kept = {"regions"},
          .usual = "[\"global\"]"},
    .paths = {.zones = "/{account}/zones",
              .zones_items = "data",
              .zones_name = "name",
              .records = "/{account}/zones/{zone}/records",
              .items = "data",
              .by_name = "/{account}/zones/{zone}/records?name={name}",
              .specs = "/{account}/zones/{zone}/records?type=TXT"
                       "&name_like=_failover",
              .specs_items = "data",
              .add = "/{account}/zones/{zone}/records",
              .change = "/{account}/zones/{zone}/records/{record}",
              .remove = "/{account}/zones/{zone}/records/{record}",
              .batch = "/{account}/zones/{zone}/batch"},
    .change_method = "PATCH",
    .batch_method = "POST",
    .deletes = "deletes",
    .updates = "updates",
    .creates = "creates",
    .batch_max = 100,
    .few = 4,
    .new_ttl_s = 3600,
    .paging = REST_PAGE_NUMBERS,
    .page_size = "per_page=100",
    .page_total = "pagination.total_pages",
    .page_now = "pagination.current_page",
    .left = "X-RateLimit-Remaining",
    .reset = "X-RateLimit-Reset",
    .reset_form = REST_RESET_EPOCH,
    .full_ms = 300000,
    .find_account = find_account,
    .is_hidden = is_system,
};

const struct provider_ops provider_dnsimple = {
    .type = "dnsimple",
    .fields = fields,
    .caps = {.lists_zones = true,
             .lists_specs = true,
             .creates_missing = true,
             .publish_ms = 30000},
    .rest = &dnsimple_style,
    REST_OPERATIONS,
};
