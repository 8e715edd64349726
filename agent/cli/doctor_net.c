#include <stdio.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/cli/doctor.h"
#include "agent/engine/checks/check_run.h"

/* Resolvers and anchors: what the agent sees the world by. */

#define ANCHOR_MS 10000

/* --- resolvers ----------------------------------------------------------- */

struct question {
    bool done;
    enum resolver_outcome outcome;
    struct err err;
};

static void on_answer(void *arg, const struct resolver_answer *answer)
{
    struct question *q = arg;

    q->outcome = answer->outcome;
    q->err = answer->err;
    q->done = true;
}

/* A zone with a name of its own; NULL: there is none. */
static const char *first_zone(const struct config *cfg)
{
    for (size_t i = 0; i < cfg->nzones; i++)
        if (strcmp(cfg->zones[i].name, "*") != 0)
            return cfg->zones[i].name;
    return NULL;
}

/* Some zone's servers are not named in the file. */
static bool is_needed(const struct config *cfg)
{
    for (size_t i = 0; i < cfg->nzones; i++)
        if (cfg->zones[i].nservers == 0)
            return true;
    return false;
}

/* returns whether it can be used */
static bool look_at_server(struct doctor *d, const struct addr *server,
                           const char *zone, enum doctor_level bad)
{
    struct resolver_options ro = {server, 1, 0, 0};
    struct question *q = arena_alloc(d->arena, sizeof *q);
    char text[ADDR_TEXT_SIZE];
    const char *subject =
        arena_printf(d->arena, "resolver %s", addr_format_port(server, text));
    struct resolver *r;
    bool good;

    q->outcome = RESOLVER_FAILED;
    (void)err_set(&q->err, ERR_RETRY, "no answer in time");
    if (resolver_new(d->loop, &ro, &r, &q->err) != 0) {
        doctor_tell(d, bad, subject, NULL, "%s", q->err.msg);
        return false;
    }
    resolver_lookup(r, zone, MESSAGE_SOA, d->cfg->trust_ad, on_answer, q);
    (void)doctor_wait(d, &q->done, DOCTOR_ANSWER_MS);
    resolver_free(r);
    good = q->outcome != RESOLVER_FAILED;
    if (good)
        doctor_tell(d, DOCTOR_OK, subject, NULL, "answers for %s%s", zone,
                    d->cfg->trust_ad ? ", validated" : "");
    else
        doctor_tell(d, bad, subject,
                    d->cfg->trust_ad
                        ? "sign the zone and have the resolver validate, or "
                          "trust = any in resolver"
                        : "servers = {\"…\"} in resolver, or resolv.conf",
                    "%s: %s", zone, q->err.msg);
    return good;
}

void doctor_resolver(struct doctor *d)
{
    size_t n = 0, good = 0;
    const struct addr *servers = resolver_servers(d->resolver, &n);
    const char *zone = first_zone(d->cfg);
    bool needed = is_needed(d->cfg) || d->cfg->trust_ad;
    char text[ADDR_TEXT_SIZE];

    if (n == 0)
        doctor_tell(d, needed ? DOCTOR_ERROR : DOCTOR_WARNING, "resolver",
                    "servers = {\"…\"} in resolver, or nameserver in "
                    "resolv.conf",
                    "none is named");
    for (size_t i = 0; i < n; i++) {
        if (d->cfg->trust_ad && addr_classify(&servers[i]) != ADDR_LOOPBACK)
            doctor_tell(d, DOCTOR_ERROR, "resolver",
                        "servers = {\"127.0.0.1\"} in resolver",
                        "trust = ad, and %s is not on this machine: anybody on "
                        "the way could forge what it says",
                        addr_format_port(&servers[i], text));
        good += look_at_server(d, &servers[i], zone != NULL ? zone : ".",
                               DOCTOR_WARNING);
    }
    if (n > 0 && good == 0 && needed)
        doctor_tell(d, DOCTOR_ERROR, "resolver",
                    "servers = {\"…\"} in resolver, or in each zone's section",
                    "none answers: the zones' servers cannot be found");
}

/* --- anchors ------------------------------------------------------------- */

void doctor_anchors(struct doctor *d)
{
    const struct config *cfg = d->cfg;
    const char *subject =
        arena_printf(d->arena, "%s agent: anchors", cfg->file);
    size_t good = 0;

    if (cfg->nanchors == 0) {
        doctor_tell(d, DOCTOR_WARNING, subject,
                    "anchors = {\"ADDRESS\", \"ADDRESS:PORT\"}, two outside "
                    "that you may ask",
                    "none: an outage of this agent's own line looks like an "
                    "outage of all targets");
        return;
    }
    for (size_t i = 0; i < cfg->nanchors; i++) {
        char text[ADDR_TEXT_SIZE];
        char note[PROBE_NOTE_SIZE];
        bool up = check_run_anchors(d->loop, d->probes, NULL, &cfg->anchors[i],
                                    1, clock_mono_ms() + ANCHOR_MS, note);

        (void)(cfg->anchors[i].port != 0
                   ? addr_format_port(&cfg->anchors[i], text)
                   : addr_format(&cfg->anchors[i], text));
        good += up;
        if (up)
            doctor_tell(d, DOCTOR_OK, subject, NULL, "%s answers", text);
        else
            doctor_tell(d, DOCTOR_WARNING, subject, "another address",
                        "%s does not answer%s%s", text,
                        note[0] != '\0' ? ": " : "", note);
    }
    if (good == 0)
        doctor_tell(d, DOCTOR_ERROR, subject, "addresses that answer",
                    "none answers: nothing would be changed now");
    else if (cfg->nanchors == 1)
        doctor_tell(d, DOCTOR_WARNING, subject, "a second one, on another way",
                    "only one: when it alone fails nothing is changed");
}
