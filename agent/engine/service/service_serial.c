#include <stdlib.h>
#include <utlist.h>

#include "agent/engine/service/service_internal.h"

/* Asking for the zone's serial is cheaper than for its specs: when it stays,
 * at every server, so do they. */

struct service_serials {
    struct service_zone *zone; /* NULL: it has gone */
    struct service_epoch *epoch;
    size_t n, waiting;
    bool changed;
    struct service_serials *prev, *next;
    struct ask {
        struct service_serials *all;
        size_t server;
    } asks[];
};

static void finish(struct service_serials *a)
{
    struct service_zone *z = a->zone;

    if (z != NULL) {
        z->asking = NULL;
        if (a->changed) {
            z->refresh_now = z->full = true;
            z->svc->woken = true;
        }
    }
    DL_DELETE(a->epoch->gen->svc->serials, a);
    service_epoch_unref(a->epoch);
    free(a);
}

static void on_serial(void *arg, const struct resolver_answer *answer)
{
    const struct ask *ask = arg;
    struct service_serials *a = ask->all;
    struct service_zone *z = a->zone;
    uint32_t serial = 0;

    if (z != NULL && z->now == a->epoch && answer->outcome == RESOLVER_FOUND &&
        message_serial(answer->message, &serial) == 0) {
        a->changed = a->changed || (z->serial_known[ask->server] &&
                                    z->serials[ask->server] != serial);
        z->serials[ask->server] = serial;
        z->serial_known[ask->server] = true;
    }
    if (--a->waiting == 0)
        finish(a);
}

void service_serial_ask(struct service_zone *z)
{
    const struct round_zone *rz = z->now->rz;
    size_t n =
        rz->nservers < SERVICE_SERVERS_MAX ? rz->nservers : SERVICE_SERVERS_MAX;
    struct service_serials *a;

    if (n == 0)
        return;
    a = mem_alloc(sizeof *a + n * sizeof a->asks[0]);
    a->zone = z;
    a->epoch = z->now;
    a->epoch->refs++;
    a->n = a->waiting = n;
    z->asking = a;
    DL_APPEND(z->svc->serials, a);
    for (size_t i = 0; i < n; i++) {
        a->asks[i].all = a;
        a->asks[i].server = i;
        resolver_ask(rz->round->resolver, &rz->servers[i], rz->name,
                     MESSAGE_SOA, on_serial, &a->asks[i]);
    }
}

void service_serial_drop(struct service_zone *z)
{
    if (z->asking != NULL)
        z->asking->zone = NULL;
    z->asking = NULL;
}

void service_serials_end(struct service *svc)
{
    struct service_serials *a, *next;

    DL_FOREACH_SAFE(svc->serials, a, next)
    {
        if (a->zone != NULL)
            a->zone->asking = NULL;
        DL_DELETE(svc->serials, a);
        service_epoch_unref(a->epoch);
        free(a);
    }
}
