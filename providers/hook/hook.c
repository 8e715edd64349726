#include "providers/hook/hook.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"

#define PUBLISH_MAX_MS 3600000

/* ---- options ------------------------------------------------------------- */

static const char *option(const struct config_provider *cfg, const char *name)
{
    return config_option_get(cfg, hook_fields, name);
}

static int take_requests(struct hook *h, const struct config_provider *cfg,
                         struct err *e)
{
    const char *p = option(cfg, "requests");

    while (*(p += strspn(p, " \t")) != '\0') {
        size_t len = strcspn(p, " \t"), i = HOOK_LIST_ZONES;

        while (i <= HOOK_WRITE_SPEC &&
               (strlen(hook_request_name((enum hook_request)i)) != len ||
                memcmp(hook_request_name((enum hook_request)i), p, len) != 0))
            i++;
        if (i > HOOK_WRITE_SPEC)
            return err_set(e, ERR_INPUT,
                           "requests: \"%.60s\"; accepted: list-records, "
                           "apply, list-zones, list-specs, write-spec",
                           p);
        h->answers[i] = true;
        p += len;
    }
    if (h->answers[HOOK_LIST_RECORDS] && h->answers[HOOK_APPLY])
        return 0;
    return err_set(e, ERR_INPUT,
                   "requests: list-records and apply must be among them");
}

static bool is_yes(const struct config_provider *cfg, const char *name)
{
    return strcmp(option(cfg, name), "yes") == 0;
}

/* What this command can do, as the section says. */
static int take_caps(struct hook *h, const struct config_provider *cfg,
                     struct err *e)
{
    struct provider_caps *c = &h->ops.caps;
    const char *time = option(cfg, "publish-time");

    c->in_place_disable = is_yes(cfg, "disables");
    c->creates_missing = !c->in_place_disable;
    c->atomic = is_yes(cfg, "atomic");
    c->min_ttl_s = (uint32_t)strtoul(option(cfg, "min-ttl"), NULL, 10);
    if (duration_parse(time, &c->publish_ms, e) != 0)
        return err_wrap(e, "publish-time");
    if (c->publish_ms > PUBLISH_MAX_MS)
        return err_set(e, ERR_INPUT,
                       "publish-time: \"%.40s\"; accepted: 0 to 1h", time);
    c->lists_zones = h->answers[HOOK_LIST_ZONES];
    c->lists_specs = h->answers[HOOK_LIST_SPECS];
    if (!c->lists_zones)
        h->ops.list_zones = NULL;
    if (!c->lists_specs)
        h->ops.list_specs = NULL;
    if (!h->answers[HOOK_WRITE_SPEC])
        h->ops.write_spec = NULL;
    return 0;
}

static void hook_free(struct hook *h)
{
    hook_command_fini(&h->command);
    free(h->name);
    free(h);
}

static int hook_open(const struct provider_ops *ops,
                     const struct provider_env *env,
                     const struct config_provider *cfg, struct provider **out,
                     struct err *e)
{
    struct hook *h = mem_alloc(sizeof *h);

    h->ops = *ops;
    h->base.ops = &h->ops;
    h->env = *env;
    h->name = mem_strdup(cfg->name);
    h->doer = cfg->doer;
    *out = NULL;
    if (hook_command_read(cfg, &h->command, e) != 0 ||
        take_requests(h, cfg, e) != 0 || take_caps(h, cfg, e) != 0) {
        hook_free(h);
        return -1;
    }
    *out = &h->base;
    return 0;
}

/* ---- an instance's life -------------------------------------------------- */

void hook_enter(struct hook *h)
{
    h->running++;
}

static void close_now(void *arg)
{
    struct hook *h = arg;
    provider_close_cb *cb = h->close_cb;
    void *cb_arg = h->close_arg;

    hook_free(h);
    cb(cb_arg);
}

void hook_leave(struct hook *h)
{
    h->running--;
    if (h->running == 0 && h->close_cb != NULL)
        (void)loop_timer_start(h->env.loop, 0, close_now, h);
}

static void hook_close(struct provider *p, provider_close_cb *cb, void *arg)
{
    struct hook *h = (struct hook *)p;

    /* A call that is under way ends first, by its time limit at the latest. */
    hook_enter(h);
    h->close_cb = cb;
    h->close_arg = arg;
    hook_leave(h);
}

const struct provider_ops provider_hook = {
    .type = "hook",
    .fields = hook_fields,
    /* The table's: an instance has its own, by its options. */
    .caps = {.creates_missing = true, .lists_zones = true, .lists_specs = true},
    .open = hook_open,
    .close = hook_close,
    .list_zones = hook_list_zones,
    .list_specs = hook_list_specs,
    .list_records = hook_list_records,
    .apply = hook_apply,
    .write_spec = hook_write_spec,
    .check = hook_check,
};
