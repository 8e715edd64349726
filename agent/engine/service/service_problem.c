#include <stdlib.h>
#include <string.h>

#include "agent/engine/service/service_internal.h"
#include "agent/engine/state/state_zone.h"

/* A round tells a problem anew each time it meets it. The service meets
 * different kinds at different times: here is which key is of which kind. */

static const struct {
    const char *prefix;
    enum service_problem kind;
} prefixes[] = {
    {"hold ", SERVICE_PROBLEM_SETS},
    {"hands ", SERVICE_PROBLEM_SETS},
    {"write ", SERVICE_PROBLEM_WRITE},
    {"apply", SERVICE_PROBLEM_WRITE},
    {"apply view ", SERVICE_PROBLEM_WRITE},
    {"records", SERVICE_PROBLEM_OBSERVE},
    {"records of view ", SERVICE_PROBLEM_OBSERVE},
    {"visible ", SERVICE_PROBLEM_LOOK},
    {"axfr", SERVICE_PROBLEM_READ},
    {"list", SERVICE_PROBLEM_READ},
    {"discover", SERVICE_PROBLEM_READ},
    {"authoritative servers", SERVICE_PROBLEM_READ},
    {"provider", SERVICE_PROBLEM_READ},
};

static bool is_prefixed(const char *key, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(key, prefix, n) == 0 &&
           (prefix[n - 1] == ' ' || key[n] == '\0');
}

/* What is left are owners' names, and texts about what specs say. */
static enum service_problem kind_of(const char *key)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (is_prefixed(key, prefixes[i].prefix))
            return prefixes[i].kind;
    return strchr(key, ' ') != NULL || strncmp(key, "_failover", 9) == 0
               ? SERVICE_PROBLEM_BUILD
               : SERVICE_PROBLEM_READ;
}

static const char *key_in(const struct state_problem *p, const char *zone)
{
    size_t n = strlen(zone);

    return strncmp(p->key, zone, n) == 0 && p->key[n] == '|' ? p->key + n + 1
                                                             : NULL;
}

static bool is_of(const struct state_problem *p, const struct service_zone *z,
                  enum service_problem kind)
{
    const char *key = key_in(p, z->name);

    return key != NULL && kind_of(key) == kind;
}

/* The set of a "hold NAME TYPE" or "hands NAME TYPE DATA" was looked at in
 * the last step. */
static bool was_looked_at(const struct state_problem *p,
                          const struct service_zone *z)
{
    const char *key = strchr(key_in(p, z->name), ' ') + 1;
    const struct round_zone *rz = z->now->rz;
    size_t n = 0;
    const size_t *sets = live_sets(rz->live, &n);

    for (size_t i = 0; i < n; i++) {
        const struct plan_set *ps = &rz->world->plan.sets[sets[i]];
        size_t len = strlen(ps->name);
        char type[ROUND_TYPE_SIZE];

        round_key_type(type, ps);
        if (strncmp(key, ps->name, len) == 0 && key[len] == ' ' &&
            strncmp(key + len + 1, type, strlen(type)) == 0 &&
            (key[len + 1 + strlen(type)] == '\0' ||
             key[len + 1 + strlen(type)] == ' '))
            return true;
    }
    return false;
}

void service_problem_begin(struct service_zone *z, enum service_problem kind)
{
    struct state_problem *p;

    for (p = state_problems(z->svc->state); p != NULL; p = p->hh.next)
        if (is_of(p, z, kind) &&
            (kind != SERVICE_PROBLEM_SETS || was_looked_at(p, z)))
            p->used = false;
}

static void tell_over(struct service *svc, const char *zone,
                      struct state_problem *p)
{
    round_tell(&svc->gen->round, ROUND_RESOLVED, zone, "", "", "", false,
               p->text != NULL ? p->text : "");
    state_zone_drop_problem(svc->state, p);
    service_changed(svc);
}

void service_problem_end(struct service_zone *z, enum service_problem kind)
{
    struct state_problem *p = state_problems(z->svc->state), *next;

    for (; p != NULL; p = next) {
        next = p->hh.next;
        if (!p->used && is_of(p, z, kind))
            tell_over(z->svc, z->name, p);
    }
}

bool service_problem_stands(const struct service_zone *z,
                            enum service_problem kind)
{
    struct state_problem *p;

    for (p = state_problems(z->svc->state); p != NULL; p = p->hh.next)
        if (p->used && is_of(p, z, kind))
            return true;
    return false;
}

void service_problem_over(struct service *svc, const char *zone,
                          const char *key)
{
    struct state_problem *p = NULL;
    char *full = mem_printf("%s|%s", zone, key);

    HASH_FIND_STR(state_problems(svc->state), full, p);
    free(full);
    if (p != NULL)
        tell_over(svc, zone, p);
}

void service_problem_sweep(struct service *svc)
{
    struct state_problem *p = state_problems(svc->state), *next;

    for (; p != NULL; p = next) {
        char *zone = mem_strndup(p->key, strcspn(p->key, "|"));

        next = p->hh.next;
        if (!p->used && (zone[0] == '\0' || !service_zone_find(svc, zone)))
            tell_over(svc, zone, p);
        free(zone);
    }
}

void service_problem_leave(struct service *svc, const char *zone)
{
    struct state_problem *p = state_problems(svc->state), *next;

    for (; p != NULL; p = next) {
        next = p->hh.next;
        if (key_in(p, zone) != NULL)
            state_zone_drop_problem(svc->state, p);
    }
}
