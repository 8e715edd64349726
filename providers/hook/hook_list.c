#include <stdlib.h>
#include <string.h>

#include "providers/hook/hook.h"

/* The lists. */

struct listing {
    struct hook *h;
    struct arena *a;
    const char *zone;
    const char **names;
    size_t n;
    provider_records_cb *records_cb;
    provider_names_cb *names_cb;
    provider_specs_cb *specs_cb;
    void *arg;
    struct err err; /* of a request that was not made */
};

static struct listing *listing_new(struct provider *p, const char *zone,
                                   void *arg)
{
    struct listing *l = mem_alloc(sizeof *l);

    l->h = (struct hook *)p;
    l->a = arena_new();
    l->zone = zone != NULL ? arena_strdup(l->a, zone) : NULL;
    l->arg = arg;
    hook_enter(l->h);
    return l;
}

static void listing_free(struct listing *l)
{
    struct hook *h = l->h;

    arena_free(l->a);
    free(l);
    hook_leave(h);
}

static void say_where(const struct listing *l, struct err *e)
{
    if (e->code != ERR_NONE && l->zone != NULL)
        (void)err_wrap(e, "zone %s", l->zone);
}

static void end_records(struct listing *l, const struct hook_reply *reply)
{
    struct provider_records r = {.err = reply->err};
    struct hook_serial serial = {false, 0};
    struct rrset_list sets;

    rrset_list_init(&sets);
    r.sets = &sets;
    if (reply->root != NULL &&
        (hook_answer_records(reply->root, l->zone, l->names, l->n, &sets,
                             &r.err) != 0 ||
         hook_answer_serial(reply->root, &serial, &r.err) != 0))
        serial.has = false;
    say_where(l, &r.err);
    r.has_serial = serial.has;
    r.serial = serial.serial;
    l->records_cb(l->arg, &r);
    rrset_list_fini(&sets);
}

static void end_names(struct listing *l, const struct hook_reply *reply)
{
    struct provider_names r = {.err = reply->err};

    if (reply->root != NULL &&
        hook_answer_zones(reply->root, l->a, &r.names, &r.n, &r.err) != 0)
        r.n = 0;
    l->names_cb(l->arg, &r);
}

static void end_specs(struct listing *l, const struct hook_reply *reply)
{
    struct provider_specs r = {.err = reply->err};
    struct provider_spec *specs = NULL;

    if (reply->root != NULL && hook_answer_specs(reply->root, l->zone, l->a,
                                                 &specs, &r.n, &r.err) != 0)
        r.n = 0;
    say_where(l, &r.err);
    r.specs = specs;
    l->specs_cb(l->arg, &r);
}

static void on_reply(void *arg, const struct hook_reply *reply)
{
    struct listing *l = arg;

    if (l->records_cb != NULL)
        end_records(l, reply);
    else if (l->names_cb != NULL)
        end_names(l, reply);
    else
        end_specs(l, reply);
    listing_free(l);
}

static void on_not_asked(void *arg)
{
    struct listing *l = arg;
    const struct hook_reply r = {.err = l->err};

    on_reply(l, &r);
}

/* text NULL: l->err says why */
static void ask(struct listing *l, const char *text)
{
    if (text != NULL)
        hook_call(l->h, text, on_reply, l);
    else
        (void)loop_timer_start(l->h->env.loop, 0, on_not_asked, l);
}

void hook_list_zones(struct provider *p, provider_names_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, NULL, arg);

    l->names_cb = cb;
    ask(l, hook_ask(HOOK_LIST_ZONES, NULL, l->a, &l->err));
}

void hook_list_specs(struct provider *p, const char *zone,
                     provider_specs_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, zone, arg);

    l->specs_cb = cb;
    ask(l, hook_ask(HOOK_LIST_SPECS, l->zone, l->a, &l->err));
}

void hook_list_records(struct provider *p, const char *zone,
                       const char *const *names, size_t n,
                       provider_records_cb *cb, void *arg)
{
    struct listing *l = listing_new(p, zone, arg);

    l->records_cb = cb;
    l->names = arena_array(l->a, n + 1, sizeof *l->names);
    for (size_t i = 0; i < n; i++)
        l->names[i] = arena_strdup(l->a, names[i]);
    l->n = n;
    ask(l, hook_ask_records(l->zone, l->names, n, l->a, &l->err));
}
