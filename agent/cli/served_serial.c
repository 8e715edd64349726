#include "agent/cli/served_serial.h"

struct ask {
    struct provider_serial best;
    size_t waiting;
    provider_serial_cb *cb;
    void *arg;
};

static void settle(void *arg)
{
    struct ask *a = arg;

    if (a->waiting == 0)
        a->cb(a->arg, &a->best);
}

static void on_serial(void *arg, const struct resolver_answer *answer)
{
    struct ask *a = arg;
    uint32_t serial = 0;

    if (answer->outcome == RESOLVER_FOUND &&
        message_serial(answer->message, &serial) == 0) {
        /* RFC 1982: newer when less than half the space ahead. */
        if (!a->best.known || (int32_t)(serial - a->best.serial) > 0)
            a->best.serial = serial;
        a->best.known = true;
    }
    a->waiting--;
    settle(a);
}

void served_serial_ask(struct arena *memory, struct loop *l, struct resolver *r,
                       const struct addr *servers, size_t n,
                       const struct tsig_key *key, const char *zone,
                       provider_serial_cb *cb, void *arg)
{
    struct ask *a = arena_alloc(memory, sizeof *a);

    a->cb = cb;
    a->arg = arg;
    a->waiting = n;
    for (size_t i = 0; i < n; i++)
        if (key != NULL)
            resolver_ask_signed(r, &servers[i], key, zone, MESSAGE_SOA,
                                on_serial, a);
        else
            resolver_ask(r, &servers[i], zone, MESSAGE_SOA, on_serial, a);
    if (n == 0)
        (void)loop_timer_start(l, 0, settle, a);
}
