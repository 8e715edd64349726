#include <stdlib.h>

#include "agent/engine/round/round_internal.h"

/* Fourth stage: the specs of each zone become its world. */

static void on_refused(void *arg, const char *where, const struct err *e)
{
    const struct round_zone *z = arg;

    round_problem(z->round, z->name, where, "%s", e->msg);
}

static void on_conflict(void *arg, const char *text)
{
    const struct round_zone *z = arg;

    round_problem(z->round, z->name, text, "%s", text);
}

static void on_opted_out(void *arg, const char *name, const char *data)
{
    const struct round_zone *z = arg;

    round_note(z->round, z->name,
               "%s (%s) is no longer managed; it was switched off by "
               "dnsfailover and stays so",
               name, data);
}

static void take_specs(struct round_zone *z)
{
    struct arena *a = z->round->arena;

    z->specs = arena_array(a, z->nowners, sizeof(struct spec *));
    for (size_t i = 0; i < z->nowners; i++) {
        if (z->owners[i]->spec != NULL)
            z->specs[z->nspecs++] = z->owners[i]->spec;
        z->owners[i]->spec = NULL;
    }
}

static void build_zone(struct round_zone *z)
{
    const struct world_events ev = {on_refused, on_conflict, on_opted_out, z};
    struct round *r = z->round;
    const struct spec *apex = z->apex->spec;

    take_specs(z);
    z->world = world_new(
        r->arena, z->name, (const struct spec *const *)z->specs, z->nspecs,
        r->state, r->checks, &r->limits, world_views_new(z->cfg, r->arena),
        r->cfg->dc, state_now_ms(), &ev);
    if (apex != NULL && apex->top->max_change_pct >= 0)
        z->world->plan.max_change_pct = apex->top->max_change_pct;
    if (r->o->ngiven > 0)
        z->world->plan.max_change_pct = 100;
}

/* A spec names only commands of its own zone; what they run is the agent's. */
void round_take_commands(struct round *r)
{
    struct check_command *list =
        arena_array(r->arena, r->cfg->ncommands, sizeof *list);

    for (size_t i = 0; i < r->cfg->ncommands; i++) {
        list[i].name = r->cfg->commands[i].name;
        list[i].exec = r->cfg->commands[i].exec;
    }
    r->commands = list;
    r->ncommands = r->cfg->ncommands;
}

void round_build(struct round *r)
{
    round_take_commands(r);
    r->limits.allow = r->cfg->allow_targets;
    r->limits.nallow = r->cfg->nallow_targets;
    for (size_t i = 0; i < r->nzones; i++) {
        struct round_zone *z = r->zones[i];

        if (z->failed) {
            state_keep_zone(r->state, z->name);
            z->world = arena_alloc(r->arena, sizeof *z->world);
        } else {
            build_zone(z);
        }
    }
    checks_settle(r->checks);
    if (r->waiting > 0) /* answers that come too late still write there */
        return;
    for (size_t i = 0; i < r->nzones; i++)
        round_forget_owners(r->zones[i]);
    arena_free(r->reading);
    r->reading = NULL;
}
