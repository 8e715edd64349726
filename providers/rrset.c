#include "providers/rrset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/addr.h"
#include "agent/base/mem.h"

static const struct {
    enum rr_type type;
    const char *name;
} types[] = {
    {RR_A, "A"},
    {RR_AAAA, "AAAA"},
    {RR_CNAME, "CNAME"},
    {RR_TXT, "TXT"},
};

const char *rr_type_name(enum rr_type t)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == t)
            return types[i].name;
    return "?";
}

int rr_type_parse(const char *text, enum rr_type *out, struct err *e)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcasecmp(types[i].name, text) == 0) {
            *out = types[i].type;
            return 0;
        }
    }
    return err_set(e, ERR_INPUT,
                   "\"%.40s\" is not a record type that is handled; accepted: "
                   "A, AAAA, CNAME, TXT",
                   text);
}

static int canon_addr(const char *data, uint8_t family, char **out,
                      struct err *e)
{
    char text[ADDR_TEXT_SIZE];
    struct addr a;

    if (addr_parse(data, &a) != 0 || a.family != family)
        return err_set(e, ERR_INPUT, "\"%.100s\" is not an IPv%u address", data,
                       (unsigned)family);
    *out = mem_strdup(addr_format(&a, text));
    return 0;
}

int rr_data_canon(enum rr_type t, const char *data, const char *origin,
                  char **out, struct err *e)
{
    char name[NAME_SIZE];

    switch (t) {
    case RR_A:
        return canon_addr(data, 4, out, e);
    case RR_AAAA:
        return canon_addr(data, 6, out, e);
    case RR_CNAME:
        if (data[0] == '\0')
            return err_set(e, ERR_INPUT, "an empty CNAME target");
        if (name_resolve(data, origin, name, e) != 0)
            return -1;
        *out = mem_strdup(name);
        return 0;
    case RR_TXT:
        *out = mem_strdup(data);
        return 0;
    }
    return err_set(e, ERR_BUG, "record type %d", (int)t);
}

void rrset_list_init(struct rrset_list *l)
{
    memset(l, 0, sizeof *l);
}

void rrset_list_fini(struct rrset_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        for (size_t k = 0; k < l->sets[i].n; k++)
            free(l->sets[i].values[k].data);
        free(l->sets[i].values);
        free(l->sets[i].name);
    }
    free(l->sets);
    free(l->index);
    rrset_list_init(l);
}

static uint64_t hash(const char *name, enum rr_type t)
{
    uint64_t h = 14695981039346656037u ^ (uint64_t)t; /* FNV-1a */

    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h ^ (h >> 32);
}

/* The slot of (name, type), or the free one where it belongs. */
static size_t slot(const struct rrset_list *l, const char *name, enum rr_type t)
{
    size_t i = (size_t)hash(name, t) & (l->nindex - 1);

    while (l->index[i] != 0) {
        const struct rrset *s = &l->sets[l->index[i] - 1];

        if (s->type == t && strcmp(s->name, name) == 0)
            break;
        i = (i + 1) & (l->nindex - 1);
    }
    return i;
}

struct rrset *rrset_find(const struct rrset_list *l, const char *name,
                         enum rr_type t)
{
    size_t at;

    if (l->nindex == 0)
        return NULL;
    at = l->index[slot(l, name, t)];
    return at != 0 ? &l->sets[at - 1] : NULL;
}

const struct rr_value *rrset_value_find(const struct rrset *s, const char *data)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->values[i].data, data) == 0)
            return &s->values[i];
    return NULL;
}

/* Keeps at least half of the index free. */
static void grow_index(struct rrset_list *l)
{
    if (l->n * 2 < l->nindex)
        return;
    free(l->index);
    l->nindex = l->nindex > 0 ? l->nindex * 2 : 16;
    l->index = mem_array(l->nindex, sizeof *l->index);
    for (size_t i = 0; i < l->n; i++)
        l->index[slot(l, l->sets[i].name, l->sets[i].type)] = i + 1;
}

static struct rrset *add_set(struct rrset_list *l, const char *name,
                             enum rr_type t)
{
    struct rrset *s;

    grow_index(l);
    l->sets = mem_grow(l->sets, &l->cap, l->n, sizeof *l->sets);
    s = &l->sets[l->n];
    s->name = mem_strdup(name);
    s->type = t;
    l->index[slot(l, name, t)] = l->n + 1;
    l->n++;
    return s;
}

/* Most sets have one or two. */
static struct rr_value *add_value(struct rrset *s)
{
    size_t cap = s->cap;

    if (s->values == NULL) {
        cap = 2;
        s->values = mem_array(cap, sizeof *s->values);
    }
    s->values = mem_grow(s->values, &cap, s->n, sizeof *s->values);
    s->cap = (uint32_t)cap;
    return &s->values[s->n++];
}

void rrset_list_add(struct rrset_list *l, const char *name, enum rr_type t,
                    const char *data, uint32_t ttl_s, bool enabled)
{
    struct rrset *s = rrset_find(l, name, t);
    struct rr_value *v = NULL;
    bool any_enabled = false;

    if (s == NULL)
        s = add_set(l, name, t);
    for (size_t i = 0; i < s->n; i++) {
        any_enabled |= s->values[i].enabled;
        if (strcmp(s->values[i].data, data) == 0)
            v = &s->values[i];
    }
    if (s->n == 0 || (enabled && !any_enabled) ||
        (enabled == any_enabled && ttl_s < s->ttl_s))
        s->ttl_s = ttl_s;
    if (v == NULL) {
        v = add_value(s);
        v->data = mem_strdup(data);
    }
    v->enabled |= enabled;
    v->rows++;
}
