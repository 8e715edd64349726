#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "providers/rfc2136/rfc2136.h"
#include "providers/shared/findings.h"
#include "providers/shared/serial.h"
#include "resolver/transfer.h"

/* What doctor asks of a primary: does it hold the zone, and with which serial;
 * may the key transfer it; is the key taken, and may it change records, which
 * the deletion of sets that are not there tells without changing anything
 * (RFC 2136 3.4.2.3, 3.6); are the clocks near each other. */

#define CLOCK_S 120
#define TRIAL "_dnsfailover-trial"

static const enum rr_type kinds[] = {RR_A, RR_AAAA, RR_CNAME, RR_TXT};
#define NKINDS (sizeof kinds / sizeof kinds[0])

struct exam {
    struct rfc2136 *p;
    struct arena *a;
    const char *zone; /* canonical; NULL: the account */
    const char *trial;
    uint32_t serial;     /* at the primary */
    bool is_transferred; /* so the server knows the key */
    struct rfc2136_talk *talk;
    size_t answered;
    bool refused[NKINDS];
    size_t nrefused;
    struct err why; /* of the first that was refused */
    bool has_clock; /* the server's was told */
    struct findings found;
    provider_check_cb *cb;
    void *arg;
};

static void end(struct exam *x)
{
    struct rfc2136 *p = x->p;
    struct provider_checked r = findings_get(&x->found);

    x->cb(x->arg, &r);
    findings_fini(&x->found);
    rfc2136_talk_free(x->talk);
    arena_free(x->a);
    free(x);
    rfc2136_leave(p);
}

/* ---- the serials --------------------------------------------------------- */

static void on_served(void *arg, const struct provider_serial *s)
{
    struct exam *x = arg;

    if (!s->known)
        findings_add(&x->found, PROVIDER_WARNING, NULL,
                     "servers = {\"…\"} in the zone's section",
                     "%s: no authoritative server tells its serial", x->zone);
    else if (serial_newer(s->serial, x->serial))
        findings_add(&x->found, PROVIDER_ERROR, "server",
                     "server = the primary that the zone's servers follow",
                     "%s: %s has serial %u, and DNS serves the newer %u: its "
                     "servers will not take what is changed there",
                     x->zone, x->p->who, x->serial, s->serial);
    else if (s->serial != x->serial)
        findings_add(&x->found, PROVIDER_WARNING, NULL,
                     "NOTIFY and allow-transfer of its servers",
                     "%s: %s has serial %u, and DNS still serves %u", x->zone,
                     x->p->who, x->serial, s->serial);
    else
        findings_add(&x->found, PROVIDER_OK, NULL, NULL,
                     "%s: DNS serves serial %u of the primary", x->zone,
                     x->serial);
    end(x);
}

static void look_at_serials(struct exam *x)
{
    struct provider_env *env = &x->p->env;

    if (env->served_serial == NULL)
        end(x);
    else
        env->served_serial(env->arg, x->zone, on_served, x);
}

/* ---- what the key may change --------------------------------------------- */

/* "A, TXT" of the kinds that were refused, or of the others. */
static const char *kinds_text(struct exam *x, bool refused)
{
    const char *text = "";

    for (size_t i = 0; i < NKINDS; i++)
        if (x->refused[i] == refused)
            text = arena_printf(x->a, "%s%s%s", text, *text != '\0' ? ", " : "",
                                rr_type_name(kinds[i]));
    return text;
}

static void tell_trials(struct exam *x)
{
    const char *key = x->p->key->name;

    if (x->nrefused < NKINDS)
        findings_add(&x->found, PROVIDER_OK, "key-file", NULL,
                     "%s: the key %s may change %s", x->zone, key,
                     kinds_text(x, false));
    if (x->nrefused > 0)
        findings_add(&x->found, PROVIDER_WARNING, "key-file",
                     "the server's update-policy, allow-update or acl",
                     "%s: a trial with the name " TRIAL ", which is not "
                     "there, says that the key %s may not change %s (right "
                     "where the server names the records): %s",
                     x->zone, key, kinds_text(x, true), x->why.msg);
    look_at_serials(x);
}

/* Nothing is said when they seem to agree: PowerDNS repeats our own time. */
static void look_at_clock(struct exam *x, const struct rfc2136_answer *a)
{
    int64_t apart_s;

    if (x->has_clock || a->m == NULL || a->tsig.verdict != TSIG_GOOD ||
        a->tsig.error != 0 || a->tsig.time_s > INT64_MAX / 1000)
        return;
    x->has_clock = true;
    apart_s = llabs((int64_t)a->tsig.time_s - clock_wall_ms() / 1000);
    if (apart_s > CLOCK_S)
        findings_add(&x->found, PROVIDER_WARNING, NULL, "set the clock (NTP)",
                     "this machine's clock is %lld s apart from %s's; from "
                     "%d s on every update is refused",
                     (long long)apart_s, x->p->who, TSIG_FUDGE_S);
}

/* Which line of the section, and what to do about it. */
static void tell_failure(struct exam *x, const struct rfc2136_answer *a,
                         const struct err *e)
{
    bool is_time = strstr(e->msg, "BADTIME") != NULL ||
                   (a != NULL && a->tsig.verdict == TSIG_BAD_TIME);

    if (is_time)
        findings_add(&x->found, PROVIDER_ERROR, NULL, "set the clock (NTP)",
                     "%s", e->msg);
    else if (e->code == ERR_AUTH)
        findings_add(&x->found, PROVIDER_ERROR, "key-file",
                     "key-file = the key that the server has for updates of "
                     "the zone",
                     "%s", e->msg);
    else
        findings_add(&x->found, PROVIDER_ERROR, "server",
                     "server = the zone's primary, which takes updates over "
                     "TCP",
                     "%s", e->msg);
}

static void on_trial(void *arg, const struct rfc2136_answer *a)
{
    struct exam *x = arg;
    struct err e;
    enum rfc2136_verdict v = rfc2136_update_judge(x->p, x->zone, a, &e);

    look_at_clock(x, a);
    if (v == RFC2136_REFUSED && e.code == ERR_AUTH &&
        (a->tsig.error == 0 || x->is_transferred)) {
        x->refused[a->slot] = true;
        if (x->nrefused++ == 0)
            x->why = e;
    } else if (v != RFC2136_DONE && v != RFC2136_STALE) {
        tell_failure(x, a, &e); /* the others will say the same */
        end(x);
        return;
    }
    if (++x->answered == NKINDS)
        tell_trials(x);
}

/* "There is no such set; delete it." */
static int send_trial(struct exam *x, size_t slot, struct err *e)
{
    struct rfc2136_set set = {.name = x->trial, .type = kinds[slot]};
    struct rfc2136_step step = {&set, &set};
    uint8_t *wire;
    size_t len;
    int status;

    if (rfc2136_update_build(x->zone, &step, 1, &wire, &len, e) != 0)
        return -1;
    status = rfc2136_talk_send(x->talk, slot, wire, len, true, e);
    free(wire);
    return status;
}

static void try_changes(struct exam *x)
{
    struct err e;

    x->trial = arena_printf(x->a, TRIAL ".%s", x->zone);
    if (strlen(x->trial) >= NAME_SIZE - 1) { /* longer than any name */
        look_at_serials(x);
        return;
    }
    x->talk = rfc2136_talk_new(x->p, on_trial, x);
    for (size_t i = 0; i < NKINDS; i++) {
        if (send_trial(x, i, &e) == 0)
            continue;
        tell_failure(x, NULL, &e);
        end(x);
        return;
    }
}

/* ---- the zone ------------------------------------------------------------ */

static void on_transfer(void *arg, const struct resolver_owners *o)
{
    struct exam *x = arg;

    x->is_transferred = o->err.code == ERR_NONE;
    if (x->is_transferred)
        findings_add(&x->found, PROVIDER_OK, "key-file", NULL,
                     "%s: the key %s may transfer it", x->zone,
                     x->p->key->name);
    else
        findings_add(&x->found, PROVIDER_NO_SPECS, "key-file",
                     arena_printf(x->a,
                                  "allow a transfer with the key %s at the "
                                  "server, or discover = names",
                                  x->p->key->name),
                     "%s: its specs cannot be found by a transfer: %s", x->zone,
                     o->err.msg);
    try_changes(x);
}

static void on_read(void *arg, const struct rfc2136_read_result *r)
{
    struct exam *x = arg;

    if (r->err.code != ERR_NONE) {
        struct err e = r->err;

        (void)err_wrap(&e, "zone %s", x->zone);
        tell_failure(x, NULL, &e);
        end(x);
        return;
    }
    x->serial = r->soa.serial;
    findings_add(&x->found, PROVIDER_OK, "server", NULL,
                 "%s: %s holds it, with serial %u", x->zone, x->p->who,
                 x->serial);
    (void)transfer_start(x->p->env.loop, &x->p->server, x->zone, x->p->key,
                         x->p->timeout_ms, on_transfer, x);
}

static void tell_key(void *arg)
{
    struct exam *x = arg;
    const struct tsig_key *key = x->p->key;

    if (key->algorithm == TSIG_HMAC_SHA1)
        findings_add(&x->found, PROVIDER_WARNING, "key-file",
                     "tsig-keygen -a hmac-sha256, here and at the server",
                     "the key %s is of hmac-sha1, which RFC 8945 no longer "
                     "recommends",
                     key->name);
    else
        findings_add(&x->found, PROVIDER_OK, "key-file", NULL,
                     "the key %s can be read (%s)", key->name,
                     tsig_algorithm_name(key->algorithm));
    end(x);
}

void rfc2136_check(struct provider *base, const char *zone,
                   provider_check_cb *cb, void *arg)
{
    struct rfc2136 *p = (struct rfc2136 *)base;
    struct exam *x = mem_alloc(sizeof *x);

    rfc2136_enter(p);
    x->p = p;
    x->a = arena_new();
    x->cb = cb;
    x->arg = arg;
    findings_init(&x->found);
    if (zone == NULL) {
        (void)loop_timer_start(p->env.loop, 0, tell_key, x);
        return;
    }
    x->zone = arena_strdup(x->a, zone);
    rfc2136_read(p, x->zone, x->a, NULL, 0, on_read, x);
}
