#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/cli/lint.h"
#include "agent/engine/world/world_views.h"
#include "agent/probes/probe.h"
#include "providers/provider.h"
#include "specs/advise.h"

#define CRON_INTERVAL_MS 60000

void lint_init(struct lint_subject *s)
{
    memset(s, 0, sizeof *s);
    s->arena = arena_new();
}

void lint_fini(struct lint_subject *s)
{
    spec_free(s->spec);
    free(s->notes);
    arena_free(s->arena);
}

static struct lint_note *add(struct lint_subject *s, const char *id,
                             const char *text)
{
    struct lint_note *n;

    s->notes = mem_grow(s->notes, &s->cap, s->nnotes, sizeof *s->notes);
    n = &s->notes[s->nnotes++];
    n->id = id;
    n->text = arena_strdup(s->arena, text);
    n->info = n->error = false;
    return n;
}

void lint_note_add(struct lint_subject *s, const char *id, bool info,
                   const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    add(s, id, text)->info = info;
}

void lint_error_add(struct lint_subject *s, const char *id, const char *fmt,
                    ...)
{
    char text[ERR_MSG_SIZE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    add(s, id, text)->error = true;
}

const struct config_zone *lint_section(const struct config *cfg,
                                       const char *name)
{
    const struct config_zone *best = NULL, *every = NULL;
    size_t nevery = 0;

    for (size_t i = 0; cfg != NULL && i < cfg->nzones; i++) {
        const struct config_zone *z = &cfg->zones[i];

        if (strcmp(z->name, "*") == 0) {
            every = z;
            nevery++;
        } else if (name_within(name, z->name) &&
                   (best == NULL ||
                    name_labels(z->name) > name_labels(best->name))) {
            best = z;
        }
    }
    return best == NULL && nevery == 1 ? every : best;
}

/* --- the agent's limits --------------------------------------------------- */

static void check_target(struct lint_subject *s, const struct config *cfg,
                         const struct addr *a, const char *pointer)
{
    struct probe_limits limits = {cfg->allow_targets, cfg->nallow_targets};
    int n = (int)strlen(s->spec->owner) - 1;
    char *where = mem_printf("_failover.%.*s %s", n, s->spec->owner, pointer);
    struct err e;

    if (a->family != 0 && probe_allowed(&limits, a, where, &e) != 0)
        lint_note_add(s, "target-refused", false, "%s", e.msg);
    free(where);
}

static bool asks_itself(const struct spec *spec, const struct spec_record *rec)
{
    for (size_t i = 0; i < rec->nchecks; i++) {
        const struct spec_check *c = &spec->checks[rec->checks[i]];

        if (c->target.family == 0 && c->ntargets == 0 &&
            c->kind != SPEC_CHECK_COMMAND)
            return true;
    }
    return spec_rare_of(rec)->when != NULL && spec_rare_of(rec)->when->local;
}

static void check_records(struct lint_subject *s, const struct config *cfg,
                          const struct spec_record *recs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (asks_itself(s->spec, &recs[i]))
            check_target(s, cfg, &recs[i].addr, recs[i].pointer);
}

static void check_targets(struct lint_subject *s, const struct config *cfg)
{
    const struct spec *spec = s->spec;

    for (size_t i = 0; i < spec->nchecks; i++) {
        const struct spec_check *c = &spec->checks[i];

        check_target(s, cfg, &c->target, c->pointer);
        for (size_t k = 0; k < c->ntargets; k++)
            check_target(s, cfg, &c->targets[k], c->pointer);
    }
    for (size_t i = 0; i < spec->nsets; i++) {
        check_records(s, cfg, spec->sets[i].records, spec->sets[i].nrecords);
        check_records(s, cfg, spec->sets[i].fallback, spec->sets[i].nfallback);
    }
}

static void check_anchors(struct lint_subject *s, const struct config *cfg)
{
    for (size_t i = 0; i < s->spec->nsets; i++)
        if (cfg->nanchors == 0 && s->spec->sets[i].nfallback > 0) {
            lint_note_add(s, "no-anchors", false,
                          "fallbackRecords without anchors in %s: an outage "
                          "of the agent's own line looks like one of all "
                          "targets; name two addresses outside",
                          cfg->file);
            return;
        }
}

/* The longest of the documents: the limit is that of one TXT record. */
static size_t text_size(const struct lint_subject *s)
{
    size_t longest = 0;

    for (size_t i = 0; i < s->ntxts; i++) {
        size_t n = 0;

        for (size_t k = 0; k < s->txts[i].nstrings; k++)
            n += s->txts[i].strings[k].len;
        if (n > longest)
            longest = n;
    }
    return longest;
}

static int64_t check_provider(struct lint_subject *s,
                              const struct config_zone *zone)
{
    const struct provider_ops *ops =
        zone != NULL ? provider_find(zone->provider->type) : NULL;

    if (ops == NULL)
        return 0;
    if (ops->caps.txt_max > 0 && text_size(s) > ops->caps.txt_max)
        lint_note_add(s, "provider-size", false,
                      "%zu bytes of text; provider %s takes %zu in a TXT "
                      "record",
                      text_size(s), zone->provider->name, ops->caps.txt_max);
    for (size_t i = 0; i < s->spec->nsets; i++)
        if (s->spec->sets[i].ttl_s >= 0 &&
            s->spec->sets[i].ttl_s < (int64_t)ops->caps.min_ttl_s)
            lint_note_add(s, "provider-ttl", false,
                          "%s %s: ttl %lld; provider %s takes %u at least",
                          s->spec->sets[i].name,
                          spec_type_name(s->spec->sets[i].type),
                          (long long)s->spec->sets[i].ttl_s,
                          zone->provider->name, ops->caps.min_ttl_s);
    return ops->caps.publish_ms;
}

static void check_views(struct lint_subject *s, const struct config_zone *zone)
{
    const struct world_views *views = world_views_new(zone, s->arena);

    for (size_t i = 0; zone != NULL && i < s->spec->nsets; i++) {
        const struct spec_set *set = &s->spec->sets[i];
        int n = (int)strlen(s->spec->owner) - 1;

        if (world_views_find(views, set->view) >= 0)
            continue;
        for (size_t k = 0; k < set->nrecords + set->nfallback; k++)
            if (spec_rare_of(&set->records[k])->view != NULL) {
                lint_error_add(s, "view-unknown",
                               "_failover.%.*s %s/view: the section of zone "
                               "%s in the agent's file has no view \"%s\"; "
                               "accepted: %s",
                               n, s->spec->owner, set->records[k].pointer,
                               zone->name, set->view,
                               world_views_list(views, s->arena));
                break;
            }
    }
}

/* --- the whole --------------------------------------------------------------
 */

void lint_advise(struct lint_subject *s, const struct config *cfg,
                 const struct config_zone *zone, int64_t cron_ms)
{
    struct spec_advise_context ctx = {
        .cron_interval_ms = cron_ms > 0 ? cron_ms : CRON_INTERVAL_MS};
    struct spec_advice *advice = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->spec->nwarnings; i++)
        lint_note_add(s, "warning", false, "%s", s->spec->warnings[i].text);
    if (cfg != NULL) {
        ctx.dc = cfg->dc;
        check_targets(s, cfg);
        check_anchors(s, cfg);
    }
    check_views(s, zone);
    ctx.provider_ms = check_provider(s, zone);
    spec_advise(s->spec, s->txts, s->ntxts, &ctx, s->arena, &advice, &n);
    for (size_t i = 0; i < n; i++)
        lint_note_add(s, spec_advice_kinds[advice[i].kind].id,
                      spec_advice_kinds[advice[i].kind].info, "%s",
                      advice[i].text);
}
