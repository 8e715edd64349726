#include "agent/engine/decide/sched.h"

#include <stdlib.h>

#include "agent/base/mem.h"
#include "agent/base/slab.h"
#include "agent/engine/decide/calendar.h"

#define JITTER_PART 10 /* of the period */

/* A bucket of the table is a chain of groups, and a group a run of entries in
 * it, in the order of adding. What holds for a group is kept by its first
 * entry; most have no other. */
struct sched_entry {
    int64_t due_ms;    /* the latest moment; while it takes: the start */
    uint64_t hash;     /* of the probe key, with the seed */
    uint32_t second;   /* another hash of the key: the two stand for it */
    uint32_t pause_ms; /* from the start of the last probe whose result it
                          took to due_ms */
    uint32_t early_ms; /* so long before due_ms a shared result is taken */
    uint32_t period_ms, retry_ms;
    uint32_t id, next;        /* its own number; in the bucket */
    unsigned draws : 24;      /* the group's: of chance so far */
    unsigned first : 1;       /* of its group */
    unsigned more : 1;        /* next is of the same group */
    unsigned out : 1;         /* the group's: its probe is */
    unsigned gone : 1;        /* removed while its group's probe was out */
    unsigned listed : 1;      /* is in the calendar */
    unsigned taken : 1;       /* has taken a result */
    unsigned takes : 1;       /* waits for the probe that is out */
    unsigned first_pause : 1; /* the next pause is any part of the period */
};

struct sched {
    uint64_t seed;
    struct slab *entries;
    struct calendar *calendar; /* of entries, but for those that take */
    uint32_t *buckets;         /* their first entries */
    size_t ngroups, nbuckets;  /* a power of two, or 0 */
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
static int64_t part_of(struct sched_entry *group, int64_t n)
{
    uint64_t r = mix(group->hash ^ mix(++group->draws));

    return n > 1 ? (int64_t)(r % (uint64_t)n) : 0;
}

/* --- calendar ------------------------------------------------------------- */

static void list(struct sched *s, struct sched_entry *e)
{
    if (e->due_ms < 0)
        e->due_ms = 0;
    calendar_add(s->calendar, e->due_ms, (uint32_t)(e->hash >> 32), e->id);
    e->listed = true;
}

static void unlist(struct sched *s, struct sched_entry *e)
{
    if (e->listed)
        calendar_remove(s->calendar, e->due_ms, e->id);
    e->listed = false;
}

/* --- groups --------------------------------------------------------------- */

/* NULL: id is SLAB_NONE. */
static struct sched_entry *entry_at(const struct sched *s, uint32_t id)
{
    return id != SLAB_NONE ? slab_at(s->entries, id) : NULL;
}

/* The next of the same group. */
static struct sched_entry *more_of(const struct sched *s,
                                   const struct sched_entry *e)
{
    return e->more ? entry_at(s, e->next) : NULL;
}

static struct sched_entry *last_of(const struct sched *s, struct sched_entry *e)
{
    while (e->more)
        e = entry_at(s, e->next);
    return e;
}

static uint32_t *bucket_of(const struct sched *s, uint64_t hash)
{
    return &s->buckets[hash & (s->nbuckets - 1)];
}

static void more_buckets(struct sched *s)
{
    uint32_t *old = s->buckets;
    size_t n = s->nbuckets;

    s->nbuckets = n > 0 ? 2 * n : 16;
    s->buckets = mem_array(s->nbuckets, sizeof *s->buckets);
    for (size_t i = 0; i < s->nbuckets; i++)
        s->buckets[i] = SLAB_NONE;
    for (size_t i = 0; i < n; i++)
        while (old[i] != SLAB_NONE) {
            struct sched_entry *group = entry_at(s, old[i]);
            struct sched_entry *last = last_of(s, group);
            uint32_t *to = bucket_of(s, group->hash);

            old[i] = last->next;
            last->next = *to;
            *to = group->id;
        }
    free(old);
}

/* The key is not kept: two keys of one group would have to agree in 96 bits
 * of hashes whose seed nobody knows. returns the group's first entry or NULL */
static struct sched_entry *group_find(const struct sched *s, uint64_t hash,
                                      uint32_t second)
{
    struct sched_entry *e = entry_at(s, *bucket_of(s, hash));

    while (e != NULL && (e->hash != hash || e->second != second))
        e = entry_at(s, e->next);
    return e;
}

static struct sched_entry *group_of(const struct sched *s,
                                    struct sched_entry *e)
{
    return e->first ? e : group_find(s, e->hash, e->second);
}

/* At the end of its group, or as a new one. */
static void join(struct sched *s, struct sched_entry *e)
{
    struct sched_entry *group, *last;
    uint32_t *bucket;

    if (s->ngroups >= s->nbuckets)
        more_buckets(s);
    bucket = bucket_of(s, e->hash);
    group = group_find(s, e->hash, e->second);
    if (group != NULL) {
        last = last_of(s, group);
        e->next = last->next;
        last->next = e->id;
        last->more = true;
        return;
    }
    e->first = true;
    e->next = *bucket;
    *bucket = e->id;
    s->ngroups++;
}

static void leave(struct sched *s, struct sched_entry *e)
{
    uint32_t *at = bucket_of(s, e->hash);
    struct sched_entry *before = NULL, *after = more_of(s, e);

    while (*at != e->id) {
        before = entry_at(s, *at);
        at = &before->next;
    }
    *at = e->next;
    if (!e->first)
        before->more = e->more;
    else if (after == NULL)
        s->ngroups--;
    else {
        after->first = true;
        after->draws = e->draws;
    }
    slab_give(s->entries, e->id);
}

/* --- entries -------------------------------------------------------------- */

struct sched *sched_new(uint64_t seed, size_t room)
{
    struct sched *s = mem_alloc(sizeof *s);

    s->seed = seed;
    s->entries = slab_new(sizeof(struct sched_entry) + room);
    s->calendar = calendar_new();
    return s;
}

void sched_free(struct sched *s)
{
    if (s == NULL)
        return;
    slab_free(s->entries);
    calendar_free(s->calendar);
    free(s->buckets);
    free(s);
}

static uint32_t ms32(int64_t ms)
{
    return ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
}

struct sched_entry *sched_add(struct sched *s, const char *probe_key,
                              size_t len, const struct sched_pace *pace,
                              int64_t now_ms)
{
    int64_t span_ms =
        pace->period_ms < SCHED_FIRST_MS ? pace->period_ms : SCHED_FIRST_MS;
    uint32_t id;
    struct sched_entry *e = slab_take(s->entries, &id);

    e->id = id;
    e->hash = hash_of(probe_key, len, s->seed);
    e->second = (uint32_t)hash_of(probe_key, len, ~s->seed);
    e->period_ms = ms32(pace->period_ms);
    e->retry_ms = ms32(pace->retry_ms);
    /* The first start depends on the key alone: entries of a group begin
     * together. */
    e->early_ms = (uint32_t)(e->hash % (uint64_t)span_ms);
    e->due_ms = now_ms + e->early_ms;
    e->first_pause = pace->period_ms > span_ms;
    join(s, e);
    list(s, e);
    return e;
}

void *sched_room(struct sched_entry *e)
{
    return e + 1;
}

struct sched_entry *sched_of(void *room)
{
    return (struct sched_entry *)room - 1;
}

void sched_remove(struct sched *s, struct sched_entry *e)
{
    unlist(s, e);
    e->takes = false;
    if (e->out)
        e->gone = true; /* it stands for its group until the result */
    else
        leave(s, e);
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

struct sched_entry *sched_next_due(struct sched *s, int64_t *at_ms)
{
    uint32_t id;

    while (calendar_first(s->calendar, at_ms, &id)) {
        struct sched_entry *e = entry_at(s, id), *group = group_of(s, e);

        if (!group->out)
            return group;
        unlist(s, e); /* until that probe's result */
    }
    return NULL;
}

void *sched_any_room(struct sched *s, struct sched_entry *group)
{
    struct sched_entry *e = group->gone ? more_of(s, group) : group;

    return e != NULL ? sched_room(e) : NULL;
}

void sched_started(struct sched *s, struct sched_entry *group, int64_t now_ms)
{
    for (struct sched_entry *e = group; e != NULL; e = more_of(s, e)) {
        e->takes = e->due_ms - (int64_t)e->early_ms <= now_ms;
        if (!e->takes)
            continue;
        unlist(s, e);
        e->due_ms = now_ms;
    }
    group->out = true;
}

/* The fastest entry makes the group's jitter, the slower ones wait for one of
 * its probes: what is shared stays shared.
 * least_ms: the shortest period of the group */
static void pause_entry(struct sched_entry *group, struct sched_entry *e,
                        bool calm, int64_t fraction, int64_t least_ms)
{
    int64_t jitter_ms = e->period_ms / JITTER_PART, cut_ms = 0;

    e->taken = true;
    e->early_ms = 0;
    if (!calm) {
        e->pause_ms = e->retry_ms;
    } else if (e->first_pause) {
        e->pause_ms = ms32(1 + part_of(group, e->period_ms));
        e->first_pause = false;
    } else {
        if (e->period_ms == least_ms)
            cut_ms = jitter_ms * fraction / 1024;
        e->pause_ms = ms32(e->period_ms - cut_ms);
        e->early_ms = (uint32_t)(jitter_ms - cut_ms);
    }
    e->due_ms += e->pause_ms;
}

void sched_result(struct sched *s, struct sched_entry *group, sched_take *take,
                  void *taker)
{
    int64_t fraction = part_of(group, 1024), least_ms = INT64_MAX;

    group->out = false;
    for (struct sched_entry *e = group; e != NULL; e = more_of(s, e))
        if (!e->gone && e->period_ms < least_ms)
            least_ms = e->period_ms;
    for (struct sched_entry *e = group; e != NULL; e = more_of(s, e)) {
        if (e->takes)
            pause_entry(group, e, take(taker, sched_room(e)), fraction,
                        least_ms);
        e->takes = false;
        if (!e->gone && !e->listed)
            list(s, e);
    }
    if (group->gone)
        leave(s, group);
}

void sched_hurry(struct sched *s, struct sched_entry *e)
{
    int64_t due_ms = e->due_ms - (int64_t)e->pause_ms + e->retry_ms;
    int64_t ready_ms = e->due_ms - (int64_t)e->early_ms;
    bool listed = e->listed;

    if (!e->taken || e->takes || due_ms >= e->due_ms)
        return;
    unlist(s, e);
    e->due_ms = due_ms;
    e->pause_ms = e->retry_ms;
    e->early_ms = ready_ms < due_ms ? (uint32_t)(due_ms - ready_ms) : 0;
    if (listed)
        list(s, e);
}

bool sched_is_calm(const struct health *h, enum health_result last)
{
    return health_is_settled(h) || (last == HEALTH_LOCAL && h->streak == 0);
}
