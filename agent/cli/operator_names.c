#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/cli/operator.h"

/* What an operator may name, and finding it. */

#define LISTED 20

/* --- lists --------------------------------------------------------------- */

struct list {
    struct buf b;
    size_t n;
};

static void list_init(struct list *l)
{
    buf_init(&l->b, 65536);
    l->n = 0;
}

static void list_add(struct list *l, const char *text, const char *more)
{
    if (l->n++ >= LISTED)
        return;
    buf_printf(&l->b, "%s%s", l->n > 1 ? ", " : "", text);
    if (more != NULL)
        buf_printf(&l->b, " (%s)", more);
}

static char *list_take(struct list *l)
{
    if (l->n == 0)
        buf_str(&l->b, "none yet; dnsfailover once reads the specs");
    else if (l->n > LISTED)
        buf_printf(&l->b, " and %zu more", l->n - LISTED);
    return buf_take(&l->b);
}

char *operator_dcs(const struct operator_env *env)
{
    const struct recall *r = env->recall;
    struct list l;

    list_init(&l);
    for (size_t i = 0; i < r->ndcs; i++) {
        bool before = false;

        for (size_t k = 0; k < i && !before; k++)
            before = r->dcs[k].zone == r->dcs[i].zone &&
                     strcmp(r->dcs[k].name, r->dcs[i].name) == 0;
        if (!before)
            list_add(&l, r->dcs[i].name, r->dcs[i].zone->name);
    }
    return list_take(&l);
}

char *operator_zones(const struct operator_env *env)
{
    struct list l;

    list_init(&l);
    for (size_t i = 0; i < env->recall->nzones; i++)
        list_add(&l, env->recall->zones[i].name, NULL);
    for (size_t i = 0; i < env->cfg->nzones; i++) {
        const char *name = env->cfg->zones[i].name;

        if (strcmp(name, "*") != 0 &&
            recall_zone_find(env->recall, name) == NULL)
            list_add(&l, name, NULL);
    }
    return list_take(&l);
}

static bool before_in_zone(const struct recall_zone *z, size_t owner,
                           const char *name)
{
    for (size_t i = 0; i < owner; i++) {
        const struct spec *s = z->owners[i].spec;

        for (size_t k = 0; s != NULL && k < s->nsets; k++)
            if (name_equal(s->sets[k].name, name))
                return true;
    }
    return false;
}

static void list_zone(struct list *l, const struct recall_zone *z)
{
    for (size_t i = 0; i < z->nowners; i++) {
        const struct spec *s = z->owners[i].spec;

        for (size_t k = 0; s != NULL && k < s->nsets; k++) {
            const char *name = s->sets[k].name;

            if ((k == 0 || !name_equal(s->sets[k - 1].name, name)) &&
                (l->n > LISTED || !before_in_zone(z, i, name)))
                list_add(l, name, NULL);
        }
    }
}

char *operator_names(const struct operator_env *env)
{
    struct list l;

    list_init(&l);
    for (size_t i = 0; i < env->recall->nzones; i++)
        list_zone(&l, &env->recall->zones[i]);
    return list_take(&l);
}

/* --- finding ------------------------------------------------------------- */

bool operator_has_zone(const struct operator_env *env, const char *zone)
{
    for (size_t i = 0; i < env->cfg->nzones; i++)
        if (name_equal(env->cfg->zones[i].name, zone))
            return true;
    return recall_zone_find(env->recall, zone) != NULL;
}

int operator_zone(const struct operator_env *env, char out[NAME_SIZE])
{
    const char *arg = env->o->zone;
    char *known;

    out[0] = '\0';
    if (arg == NULL)
        return 0;
    if (strcmp(arg, "*") == 0) {
        memcpy(out, "*", 2);
        return 0;
    }
    if (cli_name(arg, out) != 0)
        return -1;
    if (operator_has_zone(env, out))
        return 0;
    known = operator_zones(env);
    (void)cli_fail(0, "no zone \"%s\"; known: %s", out, known);
    free(known);
    return -1;
}

bool operator_has_dc(const struct operator_env *env, const char *dc)
{
    for (size_t i = 0; i < env->recall->ndcs; i++)
        if (strcmp(env->recall->dcs[i].name, dc) == 0)
            return true;
    return false;
}

static int no_dc(const struct operator_env *env, const char *dc,
                 const char *zone)
{
    char *known = operator_dcs(env);
    bool one = zone[0] != '\0' && strcmp(zone, "*") != 0;

    (void)cli_fail(0, "no data centre \"%s\"%s%s; known: %s", dc,
                   one ? " in " : "", one ? zone : "", known);
    free(known);
    return -1;
}

int operator_dc_zone(const struct operator_env *env, const char *dc,
                     char out[NAME_SIZE])
{
    const struct recall *r = env->recall;
    const struct recall_zone *first = NULL;
    char zone[NAME_SIZE];

    if (operator_zone(env, zone) != 0)
        return -1;
    for (size_t i = 0; i < r->ndcs; i++) {
        const struct recall_zone *z = r->dcs[i].zone;

        if (strcmp(r->dcs[i].name, dc) != 0 ||
            (zone[0] != '\0' && strcmp(zone, "*") != 0 &&
             !name_equal(z->name, zone)))
            continue;
        if (first != NULL && first != z && zone[0] == '\0')
            return cli_fail(-1,
                            "data centre \"%s\" is in %s and in %s; say which "
                            "by --zone, or --zone '*' for every zone",
                            dc, first->name, z->name);
        first = z;
    }
    if (first == NULL)
        return no_dc(env, dc, zone);
    memcpy(out, zone[0] != '\0' ? zone : first->name,
           strlen(zone[0] != '\0' ? zone : first->name) + 1);
    return 0;
}

struct recall_zone *operator_zone_of(const struct operator_env *env,
                                     const char *name)
{
    struct recall_zone *best = NULL;

    for (size_t i = 0; i < env->recall->nzones; i++) {
        struct recall_zone *z = &env->recall->zones[i];

        if (recall_manages(z, name) &&
            (best == NULL || name_labels(z->name) > name_labels(best->name)))
            best = z;
    }
    return best;
}
