#include <stdlib.h>
#include <string.h>

#include "providers/rfc2136/rfc2136.h"

/* Sets as they were read last, packed: for each value its length (two bytes)
 * and its data. */

static const enum rr_type types[] = {RR_A, RR_AAAA, RR_CNAME};
#define NTYPES (sizeof types / sizeof types[0])

struct packed {
    uint8_t *data; /* NULL: no value */
    uint32_t ttl_s;
    uint16_t n;
    bool known;
};
struct entry {
    char *name;
    struct packed sets[NTYPES];
};
struct zone {
    struct zone *next;
    char *name;
    struct rfc2136_soa soa;
    struct entry *v; /* sorted by name as text */
    size_t n;
};
struct rfc2136_memory {
    struct zone *zones;
};

struct rfc2136_memory *rfc2136_memory_new(void)
{
    return mem_alloc(sizeof(struct rfc2136_memory));
}

static void free_entries(struct zone *z)
{
    for (size_t i = 0; i < z->n; i++) {
        for (size_t k = 0; k < NTYPES; k++)
            free(z->v[i].sets[k].data);
        free(z->v[i].name);
    }
    free(z->v);
    z->v = NULL;
    z->n = 0;
}

void rfc2136_memory_free(struct rfc2136_memory *m)
{
    while (m->zones != NULL) {
        struct zone *z = m->zones;

        m->zones = z->next;
        free_entries(z);
        free(z->name);
        free(z);
    }
    free(m);
}

static struct zone *find_zone(const struct rfc2136_memory *m, const char *name)
{
    struct zone *z = m->zones;

    while (z != NULL && strcmp(z->name, name) != 0)
        z = z->next;
    return z;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name,
                  ((const struct entry *)b)->name);
}

static struct entry *find_entry(const struct zone *z, const char *name)
{
    struct entry key = {.name = mem_strdup(name)};
    struct entry *e =
        z->n > 0 ? bsearch(&key, z->v, z->n, sizeof key, by_name) : NULL;

    free(key.name);
    return e;
}

static size_t place_of(enum rr_type type)
{
    size_t k = 0;

    while (k < NTYPES && types[k] != type)
        k++;
    return k;
}

static void pack(struct packed *to, const struct rfc2136_set *s)
{
    size_t size = 0;
    uint8_t *p;

    free(to->data);
    memset(to, 0, sizeof *to);
    if (s == NULL || s->n > UINT16_MAX || s->err.code != ERR_NONE)
        return;
    to->known = true;
    for (size_t i = 0; i < s->n; i++)
        size += 2 + s->v[i].len;
    if (size == 0)
        return;
    to->data = p = mem_alloc(size);
    to->n = (uint16_t)s->n;
    to->ttl_s = s->ttl_s;
    for (size_t i = 0; i < s->n; i++) {
        *p++ = (uint8_t)(s->v[i].len >> 8);
        *p++ = (uint8_t)s->v[i].len;
        memcpy(p, s->v[i].data, s->v[i].len);
        p += s->v[i].len;
    }
}

static void unpack(const struct packed *from, struct arena *a,
                   struct rfc2136_set *s)
{
    struct message_rdata *v = arena_array(a, from->n, sizeof *v);
    const uint8_t *p = from->data;

    for (size_t i = 0; i < from->n; i++) {
        v[i].len = (size_t)p[0] << 8 | p[1];
        v[i].data = memcpy(arena_alloc(a, v[i].len + 1), p + 2, v[i].len);
        v[i].ttl_s = from->ttl_s;
        p += 2 + v[i].len;
    }
    s->v = v;
    s->n = from->n;
    s->ttl_s = from->ttl_s;
}

void rfc2136_memory_replace(struct rfc2136_memory *m, const char *zone,
                            const struct rfc2136_soa *soa,
                            const struct rfc2136_set *sets, size_t n)
{
    struct zone *z = find_zone(m, zone);

    if (z == NULL) {
        z = mem_alloc(sizeof *z);
        z->name = mem_strdup(zone);
        z->next = m->zones;
        m->zones = z;
    }
    free_entries(z);
    z->soa = *soa;
    z->v = mem_array(n, sizeof *z->v);
    z->n = n;
    for (size_t i = 0; i < n; i++) {
        z->v[i].name = mem_strdup(sets[i * NTYPES].name);
        for (size_t k = 0; k < NTYPES; k++)
            pack(&z->v[i].sets[place_of(sets[i * NTYPES + k].type)],
                 &sets[i * NTYPES + k]);
    }
    if (n > 1)
        qsort(z->v, n, sizeof *z->v, by_name);
}

bool rfc2136_memory_get(const struct rfc2136_memory *m, const char *zone,
                        struct arena *a, struct rfc2136_set *s,
                        struct rfc2136_soa *soa)
{
    const struct zone *z = find_zone(m, zone);
    const struct entry *e = z != NULL ? find_entry(z, s->name) : NULL;
    size_t k = place_of(s->type);
    struct rfc2136_set cname = {.n = 0};
    struct message_rdata *one;

    if (e == NULL || k == NTYPES || !e->sets[k].known)
        return false;
    unpack(&e->sets[k], a, s);
    if (s->type != RR_CNAME && e->sets[place_of(RR_CNAME)].n > 0) {
        unpack(&e->sets[place_of(RR_CNAME)], a, &cname);
        one = arena_alloc(a, sizeof *one);
        *one = cname.v[0];
        s->cname = one;
    }
    *soa = z->soa;
    return true;
}

void rfc2136_memory_set(struct rfc2136_memory *m, const char *zone,
                        const char *name, enum rr_type type,
                        const struct rfc2136_set *s)
{
    struct zone *z = find_zone(m, zone);
    struct entry *e = z != NULL ? find_entry(z, name) : NULL;
    size_t k = place_of(type);

    if (e != NULL && k < NTYPES)
        pack(&e->sets[k], s);
}
