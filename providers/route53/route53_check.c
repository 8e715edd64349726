#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/route53/route53.h"
#include "providers/shared/findings.h"

/* What doctor asks: is the key taken, is the clock right, can the zone be
 * found and read; may it be changed, which the deletion of a record that is
 * not there tells without changing anything; may GetChange be asked, where it
 * will be. */

#define CLOCK_S 120
#define TRIAL "_dnsfailover-trial"
/* The policy's place in the manual. */
#define POLICY "the policy in dnsfailover.conf(5), route53"

struct exam {
    struct route53 *p;
    struct arena *a;
    const char *zone;     /* canonical; NULL: the account */
    const char *names[2]; /* the zone's, the trial's */
    const struct route53_zone *z;
    struct route53_set trial_set;
    struct route53_edit trial;
    struct findings found;
    provider_check_cb *cb;
    void *arg;
};

static void end(struct exam *x)
{
    struct route53 *p = x->p;
    struct provider_checked r;
    int64_t s = p->skew_s < 0 ? -p->skew_s : p->skew_s;

    if (s > CLOCK_S)
        findings_add(&x->found, PROVIDER_WARNING, NULL, "set the clock (NTP)",
                     "this machine's clock is %lld s apart from Amazon's; "
                     "from 300 s on every request is refused",
                     (long long)s);
    r = findings_get(&x->found);
    x->cb(x->arg, &r);
    findings_fini(&x->found);
    arena_free(x->a);
    free(x);
    route53_end(p);
}

/* Which line of the section a failed call is about. */
static const char *option_of(const struct err *e)
{
    if (e->code == ERR_AUTH)
        return "access-key-id";
    if (strstr(e->msg, "zone-id") != NULL)
        return "zone-id";
    if (strstr(e->msg, "pin-sha256") != NULL)
        return "pin-sha256";
    return strstr(e->msg, "certificate") != NULL ? "ca-file" : "url";
}

static void failed(struct exam *x, const struct err *e)
{
    bool denied = strstr(e->msg, "AccessDenied") != NULL;

    findings_add(&x->found, PROVIDER_ERROR, option_of(e),
                 denied ? POLICY : NULL, "%s", e->msg);
    end(x);
}

/* ---- the account --------------------------------------------------------- */

static void on_account(void *arg, const struct route53_reply *r)
{
    struct exam *x = arg;

    if (r->err.code != ERR_NONE) {
        failed(x, &r->err);
        return;
    }
    findings_add(&x->found, PROVIDER_OK, "access-key-id", NULL,
                 "Route 53 takes the access key");
    end(x);
}

/* ---- one zone ------------------------------------------------------------ */

static void on_change(void *arg, const struct route53_reply *r)
{
    struct exam *x = arg;

    if (r->err.code == ERR_NOTFOUND) /* as it should be */
        findings_add(&x->found, PROVIDER_OK, "wait-insync", NULL,
                     "a change can be asked after");
    else
        findings_add(&x->found, PROVIDER_WARNING, "wait-insync",
                     "wait-insync = no, or allow route53:GetChange",
                     "changes cannot be waited for: %s",
                     r->err.code != ERR_NONE ? r->err.msg
                                             : "a change of nobody is known");
    end(x);
}

static void ask_change(struct exam *x)
{
    struct route53_ask ask = {.action = "GetChange",
                              .path = "change/C00000000000000000000",
                              .query = ""};

    if (x->p->wait_insync)
        route53_call(x->p, &ask, on_change, x);
    else
        end(x);
}

static void on_trial(void *arg, const struct err *e)
{
    struct exam *x = arg;

    if (e->code == ERR_CONFLICT) /* there is nothing to delete */
        findings_add(&x->found, PROVIDER_OK, NULL, NULL,
                     "%s: its records may be changed", x->zone);
    else
        findings_add(&x->found,
                     e->code == ERR_AUTH ? PROVIDER_WARNING : PROVIDER_ERROR,
                     option_of(e), POLICY,
                     "%s: a trial with the name " TRIAL ", which is not "
                     "there, says that its records may not be changed (right "
                     "where the policy names the records): %s",
                     x->zone, e->code != ERR_NONE ? e->msg : "accepted");
    ask_change(x);
}

/* Names a set that nobody has: the request is looked at, and refused. */
static void try_change(struct exam *x)
{
    const struct route53_edit *edits[1] = {&x->trial};
    const char **values = arena_array(x->a, 1, sizeof *values);

    values[0] = "\"trial\"";
    x->trial_set.as_named = x->names[1];
    x->trial_set.ttl_s = ROUTE53_TTL_S;
    x->trial_set.values = values;
    x->trial_set.n = 1;
    x->trial.name = x->trial_set.as_named;
    x->trial.type = RR_TXT;
    x->trial.old = &x->trial_set;
    route53_send(x->p, x->z, edits, 1, "dnsfailover: doctor", on_trial, x);
}

static void on_sets(void *arg, const struct route53_sets_found *found)
{
    struct exam *x = arg;

    if (found->err.code != ERR_NONE) {
        failed(x, &found->err);
        return;
    }
    findings_add(&x->found, PROVIDER_OK, NULL, NULL,
                 "%s: its records can be read", x->zone);
    for (size_t i = 0; i < found->n; i++) {
        if (name_equal(found->v[i].name, x->names[1])) {
            ask_change(x); /* somebody has it: it is left alone */
            return;
        }
    }
    try_change(x);
}

static void on_zone(void *arg, const struct route53_zone *z,
                    const struct err *e)
{
    struct exam *x = arg;

    if (z == NULL) {
        failed(x, e);
        return;
    }
    x->z = z;
    x->names[0] = x->zone;
    x->names[1] = arena_printf(x->a, TRIAL ".%s", x->zone);
    route53_sets_of(x->p, x->a, z, x->names, 2, on_sets, x);
}

void route53_check(struct provider *base, const char *zone,
                   provider_check_cb *cb, void *arg)
{
    struct exam *x = mem_alloc(sizeof *x);
    struct route53_ask ask = {.action = "ListHostedZonesByName",
                              .path = "hostedzonesbyname",
                              .query = "maxitems=1"};

    x->p = (struct route53 *)base;
    x->a = arena_new();
    x->cb = cb;
    x->arg = arg;
    findings_init(&x->found);
    route53_begin(x->p);
    if (zone != NULL) {
        x->zone = arena_strdup(x->a, zone);
        route53_zone_find(x->p, zone, on_zone, x);
    } else if (x->p->zone_id != NULL) { /* no right to list is needed */
        ask.action = "ListResourceRecordSets";
        ask.path = arena_printf(x->a, "hostedzone/%s/rrset", x->p->zone_id);
        route53_call(x->p, &ask, on_account, x);
    } else {
        route53_call(x->p, &ask, on_account, x);
    }
}
