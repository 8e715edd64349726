#include <stdio.h>
#include <string.h>

#include "providers/rest/rest.h"
#include "providers/rest/rest_answer.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_zone.h"
#include "providers/shared/findings.h"

/* Technitium DNS Server, HTTP API. Requests are forms, a record is named by
 * its data, and every answer has status 200: its member "status" decides. An
 * update without a TTL would set 3600, and one without comments remove them.
 * source: github.com/TechnitiumSoftware/DnsServer, APIDOCS.md */

enum { IS_COPY = 1, IS_OFF = 2 }; /* struct rest_zone.flags */

static const struct config_field fields[] = {
    {"url", CONFIG_STR, true, false, NULL,
     "The server's web service, http://127.0.0.1:5380; http only to a "
     "loopback address.",
     "TECHNITIUM_URL TECHNITIUM_BASE_URL"},
    {"token", CONFIG_STR, false, false, NULL,
     "An API token of a user who may modify the zones; better token-file, or "
     "the environment. The server has to be of version 15 at least: older ones "
     "want the token in the URL.",
     "TECHNITIUM_TOKEN TECHNITIUM_API_TOKEN"},
    {"token-file", CONFIG_STR, false, false, NULL,
     "A file with the token in its first line.",
     "TECHNITIUM_TOKEN_FILE TECHNITIUM_API_TOKEN_FILE"},
    ENDPOINT_FIELDS("TECHNITIUM"),
    {0},
};

static bool is_text(const cJSON *v, const char *text)
{
    return cJSON_IsString(v) && strcmp(v->valuestring, text) == 0;
}

static int verdict(const cJSON *root, struct err *e)
{
    const cJSON *status = rest_json_at(root, "status");
    char text[300];

    if (is_text(status, "ok"))
        return 0;
    rest_answer_text(root, "", text, sizeof text);
    if (is_text(status, "invalid-token"))
        return err_set(e, ERR_AUTH,
                       "the token is not taken: %s; is it right, and the "
                       "server of version 15 at least?",
                       text);
    if (strstr(text, "ccess was denied") != NULL)
        return err_set(e, ERR_AUTH, "%s", text);
    return err_set(
        e, strstr(text, "o such zone") != NULL ? ERR_NOTFOUND : ERR_INPUT,
        "the answer's status is not \"ok\": %s", text);
}

static void on_page(struct rest_zone *z, const cJSON *root)
{
    const cJSON *type = rest_json_at(root, "response.zone.type");

    z->flags = 0;
    if (cJSON_IsString(type) && (strstr(type->valuestring, "Secondary") ||
                                 strstr(type->valuestring, "Stub")))
        z->flags |= IS_COPY;
    if (cJSON_IsTrue(rest_json_at(root, "response.zone.disabled")))
        z->flags |= IS_OFF;
}

static void examine(const struct rest_zone *z, struct findings *f)
{
    if ((z->flags & IS_COPY) != 0)
        findings_add(f, PROVIDER_ERROR, "url",
                     "the url of the server where the zone is a primary",
                     "%s: a secondary here, which takes no changes", z->name);
    if ((z->flags & IS_OFF) != 0)
        findings_add(f, PROVIDER_ERROR, NULL, "enable the zone",
                     "%s: disabled as a whole, so nothing of it is served",
                     z->name);
}

static const struct rest_form form = {
    .zone = "zone",
    .name = "domain",
    .type = "type",
    .ttl = "ttl",
    .disabled = "disable",
    .types = {{RR_A, "rData.ipAddress", "ipAddress", "newIpAddress"},
              {RR_AAAA, "rData.ipAddress", "ipAddress", "newIpAddress"},
              {RR_CNAME, "rData.cname", "cname", NULL},
              {RR_TXT, "rData.text", "text", "newText"}},
};

static const struct rest_style style = {
    .ops = &provider_technitium,
    .fields = fields,
    .label = "Technitium",
    .root = "/api",
    .secret = "token",
    .header = "Authorization: Bearer ",
    .names = REST_FQDN,
    .targets = REST_TARGET_NO_DOT,
    .txt_raw = true,
    .m = {.name = "name",
          .type = "type",
          .ttl = "ttl",
          .disabled = "disabled",
          .kept = {"comments", "expiryTtl"},
          .usual = "\"\""},
    .form = &form,
    .paths = {.zones = "/zones/list",
              .zones_items = "response.zones",
              .zones_name = "name",
              .records = "/zones/records/get?domain={zone}&zone={zone}"
                         "&listZone=true",
              .items = "response.records",
              .by_name = "/zones/records/get?domain={fqdn}&zone={zone}",
              .add = "/zones/records/add",
              .change = "/zones/records/update",
              .remove = "/zones/records/delete"},
    .change_method = "POST",
    .few = 4,
    .new_ttl_s = 3600,
    .paging = REST_ONE_PAGE,
    .full_ms = 10000,
    .verdict = verdict,
    .verdict_is_sure = true,
    .on_page = on_page,
    .examine = examine,
};

const struct provider_ops provider_technitium = {
    .type = "technitium",
    .fields = fields,
    .caps = {.in_place_disable = true,
             .lists_zones = true,
             .lists_specs = true},
    .rest = &style,
    REST_OPERATIONS,
};
