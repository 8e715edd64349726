#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/clock.h"
#include "agent/base/http.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_path.h"
#include "providers/rest/rest_read.h"
#include "providers/rest/rest_record.h"
#include "providers/rest/rest_zone.h"
#include "providers/shared/findings.h"

/* What doctor asks: are the credentials taken, is the clock right, how many
 * requests are left; can a zone be read, and what does it say of itself.
 * Nothing is written, so a right to write that is missing is not seen. */

#define CLOCK_MS 120000

struct exam {
    struct rest *p;
    struct arena *a;
    char name[NAME_SIZE]; /* of the zone */
    const char *names[1];
    struct findings found;
    provider_check_cb *cb;
    void *arg;
};

static void exam_end(struct exam *x)
{
    struct rest *p = x->p;
    struct provider_checked r = findings_get(&x->found);

    x->cb(x->arg, &r);
    findings_fini(&x->found);
    arena_free(x->a);
    free(x);
    rest_end(p);
}

/* Which line of the section a failed call is about. */
static const char *option_of(const struct exam *x, const struct err *e)
{
    if (e->code == ERR_AUTH)
        return x->p->style->secret;
    if (strstr(e->msg, "pin-sha256") != NULL)
        return "pin-sha256";
    return strstr(e->msg, "certificate") != NULL ? "ca-file" : "url";
}

static void failed(struct exam *x, const struct err *e)
{
    const char *option = option_of(x, e), *remedy = NULL;

    if (strcmp(option, x->p->style->secret) == 0)
        remedy =
            arena_printf(x->a, "a %s that is valid and has the rights", option);
    else if (strcmp(option, "url") == 0 && e->code == ERR_NOTFOUND)
        remedy = "a zone that the account has";
    else if (strcmp(option, "url") == 0)
        remedy = "url, or what should answer there";
    findings_add(&x->found, PROVIDER_ERROR, option, remedy, "%s", e->msg);
    exam_end(x);
}

/* ---- the account --------------------------------------------------------- */

/* source: RFC 9110 5.6.7 */
static void examine_clock(struct exam *x, const struct http_response *h)
{
    const char *date = http_header(h, "Date");
    int64_t off_ms;
    struct tm tm = {0};

    if (date == NULL ||
        strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm) == NULL)
        return;
    off_ms = (int64_t)timegm(&tm) * 1000 - clock_wall_ms();
    if (off_ms > CLOCK_MS || off_ms < -CLOCK_MS)
        findings_add(&x->found, PROVIDER_WARNING, NULL, "set the clock (NTP)",
                     "this machine's clock is %lld s apart from %s's",
                     (long long)(off_ms < 0 ? -off_ms : off_ms) / 1000,
                     x->p->style->label);
}

static void on_call(void *arg, const struct rest_reply *r)
{
    struct exam *x = arg;
    int64_t left;

    if (r->err.code != ERR_NONE) {
        failed(x, &r->err);
        return;
    }
    findings_add(&x->found, PROVIDER_OK, x->p->style->secret, NULL,
                 "%s takes the %s", x->p->style->label, x->p->style->secret);
    examine_clock(x, r->http);
    left = rest_budget_left(x->p->style, r->http);
    if (left >= 0)
        findings_add(&x->found, left > 100 ? PROVIDER_OK : PROVIDER_WARNING,
                     NULL, NULL, "%lld requests are left", (long long)left);
    exam_end(x);
}

static void on_account(void *arg, struct rest_zone *z, const struct err *e)
{
    const struct rest_path_args args = {0};
    struct exam *x = arg;

    (void)z;
    if (e->code != ERR_NONE)
        failed(x, e);
    else if (x->p->fixed_zone_id != NULL) /* no right to list is needed */
        exam_end(x);
    else
        rest_call(x->p, "GET",
                  rest_path(x->p, x->a, x->p->style->paths.zones, &args), NULL,
                  on_call, x);
}

/* ---- one zone ------------------------------------------------------------ */

static void on_records(void *arg, const struct err *e,
                       const struct rest_records *r)
{
    struct exam *x = arg;
    const struct rest_style *style = x->p->style;

    (void)r;
    if (e->code != ERR_NONE) {
        failed(x, e);
        return;
    }
    findings_add(&x->found, PROVIDER_OK, NULL, NULL,
                 "%s: its records can be read", x->name);
    if (style->examine != NULL)
        style->examine(rest_zone_row(x->p, x->name), &x->found);
    exam_end(x);
}

static void on_zone(void *arg, struct rest_zone *z, const struct err *e)
{
    struct exam *x = arg;
    const struct rest_wanted wanted = {.names = x->names, .n = 1};

    if (z == NULL)
        failed(x, e);
    else
        rest_read(x->p, x->a, z, &wanted, on_records, x);
}

void rest_check(struct provider *base, const char *zone, provider_check_cb *cb,
                void *arg)
{
    struct exam *x = mem_alloc(sizeof *x);

    x->p = (struct rest *)base;
    x->a = arena_new();
    x->cb = cb;
    x->arg = arg;
    findings_init(&x->found);
    rest_begin(x->p);
    if (zone == NULL) {
        rest_account_get(x->p, on_account, x);
        return;
    }
    memcpy(x->name, zone, strlen(zone) + 1);
    x->names[0] = x->name;
    rest_zone_get(x->p, zone, on_zone, x);
}
