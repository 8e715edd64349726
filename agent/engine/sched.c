#include "agent/engine/sched.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

#define JITTER_PART 10 /* of the period */

struct sched_entry {
    struct sched_group *group;
    struct sched_entry *next; /* of the group, in the order of adding */
    void *arg;
    int64_t due_ms;  /* the latest moment */
    int64_t last_ms; /* start of the last probe whose result it took */
    uint32_t period_ms, retry_ms;
    uint32_t early_ms; /* so long before due_ms a shared result is taken */
    bool taken;        /* has taken one */
    bool takes;        /* waits for the probe that is out */
    bool first_pause;  /* the next pause is any part of the period */
};

struct sched_group {
    struct sched_entry *entries;
    struct sched_group *next; /* with the same bucket */
    uint64_t hash;            /* of the key, with the seed */
    int64_t due_ms;
    int64_t started_ms;
    uint32_t second;   /* another hash of the key: the two stand for it */
    uint32_t draws;    /* of chance so far */
    unsigned out : 1;  /* its probe is */
    unsigned gone : 1; /* without entries; kept as long as slots point here */
  unsigned slots : 30; /* of the heap that point here */
};

/* A place in the heap. What it is ordered by is repeated here, and a place is
 * not moved when its group's time changes: it is then stale, and dropped when
 * it comes to the top. So what is done at the heap touches no group but the
 * first: where there are many they are cold in the cache. */
struct slot {
    uint64_t order; /* due_ms, then as many bits of the hash as are left */
    struct sched_group *group;
};

#define HASH_BITS 22 /* the rest is 139 years of ms */

struct sched {
    uint64_t seed;
    struct sched_group **buckets;
    size_t ngroups, nbuckets; /* a power of two, or 0 */
    struct slot *heap;        /* by order */
    size_t n, cap;
};

/* --- chance --------------------------------------------------------------- */

/* A good mixer of 64 bits. source: Steele, Lea, Flood: Fast Splittable
 * Pseudorandom Number Generators (SplitMix64) */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t hash_of(const char *key, size_t len, uint64_t seed)
{
    uint64_t h = mix(seed);

    for (size_t i = 0; i < len; i++)
        h = mix(h ^ (unsigned char)key[i]);
    return h;
}

/* 0 ≤ result < n, or 0. */
static int64_t part_of(struct sched_group *g, int64_t n)
{
    uint64_t r = mix(g->hash ^ mix(++g->draws));

    return n > 1 ? (int64_t)(r % (uint64_t)n) : 0;
}

/* --- heap ----------------------------------------------------------------- */

static int64_t due_of(const struct slot *x)
{
    return (int64_t)(x->order >> HASH_BITS);
}

static struct slot slot_of(struct sched_group *g)
{
    uint64_t due_ms = g->due_ms > 0 ? (uint64_t)g->due_ms : 0;
    const struct slot x = {due_ms << HASH_BITS | g->hash >> (64 - HASH_BITS),
                           g};

    return x;
}

static void sift_down(struct sched *s, struct slot x)
{
    size_t at = 0;

    for (size_t kid; (kid = 2 * at + 1) < s->n; at = kid) {
        if (kid + 1 < s->n && s->heap[kid + 1].order < s->heap[kid].order)
            kid++;
        if (s->heap[kid].order >= x.order)
            break;
        s->heap[at] = s->heap[kid];
    }
    s->heap[at] = x;
}

static void push(struct sched *s, struct sched_group *g)
{
    const struct slot x = slot_of(g);
    size_t at = s->n;

    s->heap = mem_grow(s->heap, &s->cap, s->n, sizeof *s->heap);
    s->n++;
    g->slots++;
    for (; at > 0 && x.order < s->heap[(at - 1) / 2].order; at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = x;
}

static bool is_stale(const struct slot *x)
{
    return x->group->gone || x->group->out ||
           x->order != slot_of(x->group).order;
}

/* The first place is one that holds, whenever somebody looks. */
static void prune(struct sched *s)
{
    while (s->n > 0 && is_stale(&s->heap[0])) {
        struct sched_group *g = s->heap[0].group;

        if (--s->n > 0)
            sift_down(s, s->heap[s->n]);
        if (--g->slots == 0 && g->gone)
            free(g);
    }
}

/* The group's time follows its entries'. */
static void settle(struct sched *s, struct sched_group *g, bool is_new)
{
    int64_t due_ms = INT64_MAX;

    for (const struct sched_entry *e = g->entries; e != NULL; e = e->next)
        if (e->due_ms < due_ms)
            due_ms = e->due_ms;
    is_new = is_new || due_ms != g->due_ms;
    g->due_ms = due_ms;
    if (is_new && !g->out)
        push(s, g);
    prune(s);
}

/* --- groups --------------------------------------------------------------- */

static struct sched_group **bucket_of(const struct sched *s, uint64_t hash)
{
    return &s->buckets[hash & (s->nbuckets - 1)];
}

static void more_buckets(struct sched *s)
{
    struct sched_group **old = s->buckets;
    size_t n = s->nbuckets;

    s->nbuckets = n > 0 ? 2 * n : 16;
    s->buckets = mem_array(s->nbuckets, sizeof(struct sched_group *));
    for (size_t i = 0; i < n; i++)
        while (old[i] != NULL) {
            struct sched_group *g = old[i], **to = bucket_of(s, g->hash);

            old[i] = g->next;
            g->next = *to;
            *to = g;
        }
    free(old);
}

/* The key is not kept: two keys of one group would have to agree in 96 bits
 * of hashes whose seed nobody knows. */
static struct sched_group *group_get(struct sched *s, const char *key,
                                     size_t len)
{
    uint64_t hash = hash_of(key, len, s->seed);
    uint32_t second = (uint32_t)hash_of(key, len, ~s->seed);
    struct sched_group *g, **at;

    if (s->ngroups >= s->nbuckets)
        more_buckets(s);
    at = bucket_of(s, hash);
    for (g = *at; g != NULL; g = g->next)
        if (g->hash == hash && g->second == second)
            return g;
    g = mem_alloc(sizeof *g);
    g->hash = hash;
    g->second = second;
    g->due_ms = INT64_MAX;
    g->next = *at;
    *at = g;
    s->ngroups++;
    return g;
}

static void group_drop(struct sched *s, struct sched_group *g)
{
    struct sched_group **at = bucket_of(s, g->hash);

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    s->ngroups--;
    g->gone = true;
    if (g->slots == 0)
        free(g);
    prune(s);
}

/* --- entries -------------------------------------------------------------- */

struct sched *sched_new(uint64_t seed)
{
    struct sched *s = mem_alloc(sizeof *s);

    s->seed = seed;
    return s;
}

void sched_free(struct sched *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->nbuckets; i++)
        while (s->buckets[i] != NULL) {
            struct sched_group *g = s->buckets[i];

            while (g->entries != NULL) {
                struct sched_entry *e = g->entries;

                g->entries = e->next;
                free(e);
            }
            group_drop(s, g); /* and with the last one, all places */
        }
    free(s->buckets);
    free(s->heap);
    free(s);
}

static uint32_t ms32(int64_t ms)
{
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

struct sched_entry *sched_add(struct sched *s, const char *probe_key,
                              size_t len, const struct sched_pace *pace,
                              void *arg, int64_t now_ms)
{
    struct sched_group *g = group_get(s, probe_key, len);
    struct sched_entry *e = mem_alloc(sizeof *e), **last = &g->entries;
    int64_t span_ms =
        pace->period_ms < SCHED_FIRST_MS ? pace->period_ms : SCHED_FIRST_MS;
    uint32_t part_ms = (uint32_t)(g->hash % (uint64_t)span_ms);

    e->group = g;
    e->period_ms = ms32(pace->period_ms);
    e->retry_ms = ms32(pace->retry_ms);
    e->arg = arg;
    /* The first start depends on the key alone: entries of a group begin
     * together. */
    e->due_ms = now_ms + part_ms;
    e->early_ms = part_ms;
    e->first_pause = pace->period_ms > span_ms;
    while (*last != NULL)
        last = &(*last)->next;
    *last = e;
    settle(s, g, false);
    return e;
}

void sched_remove(struct sched *s, struct sched_entry *e)
{
    struct sched_group *g = e->group;
    struct sched_entry **at = &g->entries;

    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    free(e);
    if (g->entries != NULL)
        settle(s, g, false);
    else if (!g->out)
        group_drop(s, g);
}

struct sched_pace sched_pace_of(const struct sched_entry *e)
{
    const struct sched_pace p = {e->period_ms, e->retry_ms};

    return p;
}

size_t sched_groups(const struct sched *s)
{
    return s->ngroups;
}

/* --- running -------------------------------------------------------------- */

struct sched_group *sched_next_due(const struct sched *s, int64_t *at_ms)
{
    if (s->n == 0)
        return NULL;
    *at_ms = due_of(&s->heap[0]);
    return s->heap[0].group;
}

void *sched_arg(const struct sched_group *g)
{
    return g->entries != NULL ? g->entries->arg : NULL;
}

void sched_started(struct sched *s, struct sched_group *g, int64_t now_ms)
{
    for (struct sched_entry *e = g->entries; e != NULL; e = e->next)
        e->takes = e->due_ms - (int64_t)e->early_ms <= now_ms;
    g->started_ms = now_ms;
    g->out = true;
    prune(s);
}

/* The fastest entry makes the group's jitter, the slower ones wait for one of
 * its probes: what is shared stays shared.
 * least_ms: the shortest period of the group */
static void pause_entry(struct sched_group *g, struct sched_entry *e, bool calm,
                        int64_t fraction, int64_t least_ms)
{
    int64_t jitter_ms = e->period_ms / JITTER_PART, cut_ms = 0;

    e->last_ms = g->started_ms;
    e->taken = true;
    e->early_ms = 0;
    if (!calm) {
        e->due_ms = g->started_ms + e->retry_ms;
        return;
    }
    if (e->first_pause) {
        e->due_ms = g->started_ms + 1 + part_of(g, e->period_ms);
    } else {
        if (e->period_ms == least_ms)
            cut_ms = jitter_ms * fraction / 1024;
        e->due_ms = g->started_ms + e->period_ms - cut_ms;
        e->early_ms = (uint32_t)(jitter_ms - cut_ms);
    }
    e->first_pause = false;
}

void sched_result(struct sched *s, struct sched_group *g, sched_take *take,
                  void *taker)
{
    int64_t fraction = part_of(g, 1024), least_ms = INT64_MAX;

    for (struct sched_entry *e = g->entries; e != NULL; e = e->next)
        if (e->period_ms < least_ms)
            least_ms = e->period_ms;
    for (struct sched_entry *e = g->entries; e != NULL; e = e->next) {
        if (!e->takes)
            continue;
        e->takes = false;
        pause_entry(g, e, take(taker, e->arg), fraction, least_ms);
    }
    g->out = false;
    if (g->entries == NULL)
        group_drop(s, g);
    else
        settle(s, g, true);
}

void sched_hurry(struct sched *s, struct sched_entry *e)
{
    int64_t due_ms = e->last_ms + e->retry_ms;
    int64_t ready_ms = e->due_ms - (int64_t)e->early_ms;

    if (!e->taken || e->takes || due_ms >= e->due_ms)
        return;
    e->due_ms = due_ms;
    e->early_ms = ready_ms < due_ms ? (uint32_t)(due_ms - ready_ms) : 0;
    settle(s, e->group, false);
}

bool sched_is_calm(const struct health *h, enum health_result last)
{
    return health_is_settled(h) || (last == HEALTH_LOCAL && h->streak == 0);
}
