#include "agent/engine/sched.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

#include "agent/base/mem.h"

#define JITTER_PART 10 /* of the period */

struct sched_entry {
    struct sched_group *group;
    struct sched_pace pace;
    void *arg;
    int64_t due_ms;   /* the latest moment */
    int64_t ready_ms; /* from here on a shared result is taken */
    int64_t last_ms;  /* start of the last probe whose result it took */
    bool taken;       /* has taken one */
    bool takes;       /* waits for the probe that is out */
    bool first_pause; /* the next pause is any part of the period */
    struct sched_entry *prev, *next;
};

struct sched_group {
    char *key;
    uint64_t hash;  /* of the key, with the seed */
    uint64_t draws; /* of chance so far */
    struct sched_entry *entries;
    int64_t due_ms;
    int64_t started_ms;
    bool out;     /* its probe is */
    bool gone;    /* without entries; kept as long as slots point here */
    size_t slots; /* of the heap that point here */
    UT_hash_handle hh;
};

/* A place in the heap. The key is repeated here, and a place is not moved
 * when its group's time changes: it is then stale, and dropped when it comes
 * to the top. So what is done at the heap touches no group but the first:
 * where there are many they are cold in the cache. */
struct slot {
    int64_t due_ms;
    uint64_t hash;
    struct sched_group *group;
};

struct sched {
    uint64_t seed;
    struct sched_group *groups;
    struct slot *heap; /* by due_ms, then hash */
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

static uint64_t hash_of(const char *key, uint64_t seed)
{
    uint64_t h = mix(seed);

    for (const char *p = key; *p != '\0'; p++)
        h = mix(h ^ (unsigned char)*p);
    return h;
}

/* 0 ≤ result < n, or 0. */
static int64_t part_of(struct sched_group *g, int64_t n)
{
    uint64_t r = mix(g->hash ^ mix(++g->draws));

    return n > 1 ? (int64_t)(r % (uint64_t)n) : 0;
}

/* --- heap ----------------------------------------------------------------- */

static bool before(const struct slot *a, const struct slot *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->hash < b->hash;
}

static void sift_down(struct sched *s, struct slot x)
{
    size_t at = 0;

    for (size_t kid; (kid = 2 * at + 1) < s->n; at = kid) {
        if (kid + 1 < s->n && before(&s->heap[kid + 1], &s->heap[kid]))
            kid++;
        if (!before(&s->heap[kid], &x))
            break;
        s->heap[at] = s->heap[kid];
    }
    s->heap[at] = x;
}

static void push(struct sched *s, struct sched_group *g)
{
    const struct slot x = {g->due_ms, g->hash, g};
    size_t at = s->n;

    s->heap = mem_grow(s->heap, &s->cap, s->n, sizeof *s->heap);
    s->n++;
    g->slots++;
    for (; at > 0 && before(&x, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = x;
}

static bool is_stale(const struct slot *x)
{
    return x->group->gone || x->group->out || x->due_ms != x->group->due_ms;
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

/* --- entries -------------------------------------------------------------- */

struct sched *sched_new(uint64_t seed)
{
    struct sched *s = mem_alloc(sizeof *s);

    s->seed = seed;
    return s;
}

static void group_drop(struct sched *s, struct sched_group *g)
{
    HASH_DEL(s->groups, g);
    free(g->key);
    g->key = NULL;
    g->gone = true;
    if (g->slots == 0)
        free(g);
    prune(s);
}

void sched_free(struct sched *s)
{
    struct sched_group *g, *next;

    if (s == NULL)
        return;
    HASH_ITER(hh, s->groups, g, next)
    {
        struct sched_entry *e, *after;

        DL_FOREACH_SAFE(g->entries, e, after)
        {
            free(e);
        }
        group_drop(s, g); /* and with the last one, all places */
    }
    free(s->heap);
    free(s);
}

static struct sched_group *group_get(struct sched *s, const char *key)
{
    struct sched_group *g = NULL;

    HASH_FIND_STR(s->groups, key, g);
    if (g != NULL)
        return g;
    g = mem_alloc(sizeof *g);
    g->key = mem_strdup(key);
    g->hash = hash_of(key, s->seed);
    g->due_ms = INT64_MAX;
    HASH_ADD_KEYPTR(hh, s->groups, g->key, strlen(g->key), g);
    return g;
}

struct sched_entry *sched_add(struct sched *s, const char *probe_key,
                              const struct sched_pace *pace, void *arg,
                              int64_t now_ms)
{
    struct sched_group *g = group_get(s, probe_key);
    struct sched_entry *e = mem_alloc(sizeof *e);
    int64_t span_ms =
        pace->period_ms < SCHED_FIRST_MS ? pace->period_ms : SCHED_FIRST_MS;

    e->group = g;
    e->pace = *pace;
    e->arg = arg;
    /* The first start depends on the key alone: entries of a group begin
     * together. */
    e->due_ms = now_ms + (int64_t)(g->hash % (uint64_t)span_ms);
    e->ready_ms = now_ms;
    e->first_pause = pace->period_ms > span_ms;
    DL_APPEND(g->entries, e);
    settle(s, g, false);
    return e;
}

void sched_remove(struct sched *s, struct sched_entry *e)
{
    struct sched_group *g = e->group;

    DL_DELETE(g->entries, e);
    free(e);
    if (g->entries != NULL)
        settle(s, g, false);
    else if (!g->out)
        group_drop(s, g);
}

size_t sched_groups(const struct sched *s)
{
    return HASH_COUNT(s->groups);
}

/* --- running -------------------------------------------------------------- */

struct sched_group *sched_next_due(const struct sched *s, int64_t *at_ms)
{
    if (s->n == 0)
        return NULL;
    *at_ms = s->heap[0].due_ms;
    return s->heap[0].group;
}

void *sched_arg(const struct sched_group *g)
{
    return g->entries != NULL ? g->entries->arg : NULL;
}

void sched_started(struct sched *s, struct sched_group *g, int64_t now_ms)
{
    for (struct sched_entry *e = g->entries; e != NULL; e = e->next)
        e->takes = e->ready_ms <= now_ms || e->due_ms <= now_ms;
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
    int64_t jitter_ms = e->pace.period_ms / JITTER_PART;

    e->last_ms = g->started_ms;
    e->taken = true;
    if (!calm) {
        e->due_ms = e->ready_ms = g->started_ms + e->pace.retry_ms;
        return;
    }
    e->due_ms = g->started_ms + e->pace.period_ms;
    e->ready_ms = e->due_ms - jitter_ms;
    if (e->pace.period_ms == least_ms)
        e->due_ms -= jitter_ms * fraction / 1024;
    if (e->first_pause)
        e->due_ms = e->ready_ms =
            g->started_ms + 1 + part_of(g, e->pace.period_ms);
    e->first_pause = false;
}

void sched_result(struct sched *s, struct sched_group *g, sched_take *take,
                  void *taker)
{
    int64_t fraction = part_of(g, 1024), least_ms = INT64_MAX;

    for (struct sched_entry *e = g->entries; e != NULL; e = e->next)
        if (e->pace.period_ms < least_ms)
            least_ms = e->pace.period_ms;
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
    int64_t due_ms = e->last_ms + e->pace.retry_ms;

    if (!e->taken || e->takes || due_ms >= e->due_ms)
        return;
    e->due_ms = due_ms;
    e->ready_ms = due_ms < e->ready_ms ? due_ms : e->ready_ms;
    settle(s, e->group, false);
}

bool sched_is_calm(const struct health *h, enum health_result last)
{
    return health_is_settled(h) || (last == HEALTH_LOCAL && h->streak == 0);
}
