#include "agent/probes/probe.h"

static bool listed(const struct probe_limits *l, const struct addr *a)
{
    for (size_t i = 0; i < l->nallow; i++)
        if (cidr_contains(&l->allow[i], a))
            return true;
    return false;
}

int probe_allowed(const struct probe_limits *l, const struct addr *target,
                  const char *where, struct err *e)
{
    enum addr_class c = addr_classify(target);
    struct addr inner;
    bool carrier = addr_inner_v4(target, &inner);
    char text[ADDR_TEXT_SIZE], block[ADDR_TEXT_SIZE];

    if (c == ADDR_PUBLIC || listed(l, target) || (carrier && listed(l, &inner)))
        return 0;
    /* The IPv4 block also covers the plain spelling of the address. */
    addr_format(carrier ? &inner : target, block);
    return err_set(e, ERR_LIMIT,
                   "%s%s%s is %s; to allow it add \"%s/%d\" to allow-targets "
                   "in agent",
                   where, *where != '\0' ? ": " : "", addr_format(target, text),
                   addr_class_name(c), block,
                   carrier || target->family == 4 ? 32 : 128);
}
