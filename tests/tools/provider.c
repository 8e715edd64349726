/* One provider on the command line, for the integration tests.
 *
 *   provider -c FILE NAME COMMAND…        a provider of a configuration file
 *   provider TYPE key=value … -- COMMAND…
 *
 * COMMAND, several separated by "+": each in turn with the same instance.
 *   zones
 *   specs ZONE
 *   records ZONE NAME…
 *   apply ZONE (publish|withdraw NAME TYPE DATA TTL)…   TTL - : as it is
 *   create ZONE …      as apply, with create = yes
 *   write ZONE OWNER TEXT TTL   the spec of OWNER, as it is to be stored
 *   caps               what the provider says of itself
 *   wait MS            lets time pass
 * Prints one JSON line per answer, with the milliseconds it took
 * and when it began (seconds of the monotonic clock). Changes with
 * the same name and type make one set. exit 0; 1 when an answer has an error; 2
 * usage. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "providers/provider.h"

#define DEADLINE_MS 120000

/* What the provider asks to be kept, as long as the tool runs. */
struct kept {
    char *key, *text;
    struct kept *next;
};

struct tool {
    struct kept *kept;
    struct loop *loop;
    struct http *http;
    struct provider *p;
    bool done, failed;
    int64_t start_ns; /* of the call under way */
    cJSON *out;
};

static void usage(void)
{
    (void)fprintf(stderr,
                  "usage: provider (-c FILE NAME | TYPE key=value … --) "
                  "COMMAND [ARG…] [+ COMMAND…]\n");
    exit(2);
}

static void print_line(struct tool *t)
{
    char *s = cJSON_PrintUnformatted(t->out);

    (void)printf("%s\n", s);
    (void)fflush(stdout);
    cJSON_free(s);
    cJSON_Delete(t->out);
    t->out = NULL;
}

static void start(struct tool *t, const char *what)
{
    t->done = false;
    t->start_ns = clock_mono_ns();
    t->out = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(t->out, "answer", what);
}

static void add_err(struct tool *t, cJSON *to, const struct err *e)
{
    if (e->code == ERR_NONE)
        return;
    t->failed = true;
    (void)cJSON_AddStringToObject(to, "err", err_code_name(e->code));
    (void)cJSON_AddStringToObject(to, "text", e->msg);
}

static void finish(struct tool *t)
{
    if (t->out != NULL) {
        (void)cJSON_AddNumberToObject(t->out, "at", (double)t->start_ns / 1e9);
        (void)cJSON_AddNumberToObject(
            t->out, "ms", (double)(clock_mono_ns() - t->start_ns) / 1e6);
    }
    t->done = true;
}

static void wait_done(struct tool *t)
{
    if (!loop_wait(t->loop, &t->done, clock_mono_ms() + DEADLINE_MS)) {
        (void)fprintf(stderr, "provider: no answer in time\n");
        exit(1);
    }
    if (t->out != NULL)
        print_line(t);
}

/* ---- answers ------------------------------------------------------------- */

static void on_zones(void *arg, const struct provider_names *r)
{
    struct tool *t = arg;
    cJSON *a = cJSON_AddArrayToObject(t->out, "zones");

    add_err(t, t->out, &r->err);
    for (size_t i = 0; i < r->n; i++)
        (void)cJSON_AddItemToArray(a, cJSON_CreateString(r->names[i]));
    finish(t);
}

static void on_specs(void *arg, const struct provider_specs *r)
{
    struct tool *t = arg;
    cJSON *a = cJSON_AddArrayToObject(t->out, "specs");

    add_err(t, t->out, &r->err);
    for (size_t i = 0; i < r->n; i++) {
        cJSON *o = cJSON_CreateObject();

        (void)cJSON_AddStringToObject(o, "owner", r->specs[i].owner);
        if (r->specs[i].text != NULL)
            (void)cJSON_AddStringToObject(o, "text", r->specs[i].text);
        (void)cJSON_AddItemToArray(a, o);
    }
    finish(t);
}

static cJSON *set_json(const struct rrset *s)
{
    cJSON *o = cJSON_CreateObject(), *values;

    (void)cJSON_AddStringToObject(o, "name", s->name);
    (void)cJSON_AddStringToObject(o, "type", rr_type_name(s->type));
    (void)cJSON_AddNumberToObject(o, "ttl", s->ttl_s);
    values = cJSON_AddArrayToObject(o, "values");
    for (size_t i = 0; i < s->n; i++) {
        cJSON *v = cJSON_CreateObject();

        (void)cJSON_AddStringToObject(v, "data", s->values[i].data);
        (void)cJSON_AddBoolToObject(v, "enabled", s->values[i].enabled);
        (void)cJSON_AddNumberToObject(v, "rows", (double)s->values[i].rows);
        (void)cJSON_AddItemToArray(values, v);
    }
    return o;
}

static void on_records(void *arg, const struct provider_records *r)
{
    struct tool *t = arg;
    cJSON *a = cJSON_AddArrayToObject(t->out, "sets");

    add_err(t, t->out, &r->err);
    if (r->has_serial)
        (void)cJSON_AddNumberToObject(t->out, "serial", r->serial);
    for (size_t i = 0; r->sets != NULL && i < r->sets->n; i++)
        (void)cJSON_AddItemToArray(a, set_json(&r->sets->sets[i]));
    finish(t);
}

static void on_apply(void *arg, const struct provider_apply *r)
{
    static const char *const states[] = {"done", "failed", "skipped",
                                         "unknown"};
    struct tool *t = arg;
    cJSON *a = cJSON_AddArrayToObject(t->out, "results");

    add_err(t, t->out, &r->err);
    if (r->has_serial)
        (void)cJSON_AddNumberToObject(t->out, "serial", r->serial);
    for (size_t i = 0; i < r->n; i++) {
        cJSON *o = cJSON_CreateObject();

        (void)cJSON_AddStringToObject(o, "state", states[r->results[i].state]);
        add_err(t, o, &r->results[i].err);
        (void)cJSON_AddItemToArray(a, o);
    }
    finish(t);
}

static void on_spec_written(void *arg, const struct provider_written *r)
{
    struct tool *t = arg;

    add_err(t, t->out, &r->err);
    (void)cJSON_AddBoolToObject(t->out, "changed", r->changed);
    if (r->has_serial)
        (void)cJSON_AddNumberToObject(t->out, "serial", r->serial);
    finish(t);
}

/* ---- commands ------------------------------------------------------------ */

static const char *canon(const char *name)
{
    char *out = mem_alloc(NAME_SIZE);
    struct err e;

    if (name_canon(name, out, &e) != 0) {
        (void)fprintf(stderr, "provider: %s\n", e.msg);
        exit(2);
    }
    return out;
}

static void read_change(char **argv, struct change *c, const char *zone)
{
    struct err e;
    char *data;

    c->op = strcmp(argv[0], "publish") == 0 ? CHANGE_PUBLISH : CHANGE_WITHDRAW;
    c->name = canon(argv[1]);
    if (rr_type_parse(argv[2], &c->type, &e) != 0 ||
        rr_data_canon(c->type, argv[3], zone, &data, &e) != 0) {
        (void)fprintf(stderr, "provider: %s\n", e.msg);
        exit(2);
    }
    c->data = data;
    c->ttl_s = strcmp(argv[4], "-") == 0 ? -1 : strtol(argv[4], NULL, 10);
}

static void run_apply(struct tool *t, char **argv, int argc, bool create)
{
    struct change_set set = {.create = create, .comment = "test"};
    struct change *v = mem_array((size_t)argc + 1, sizeof *v);

    set.zone = canon(argv[0]);
    for (int i = 1; i + 5 <= argc; i += 5) {
        size_t k = set.n;

        read_change(argv + i, &v[k], set.zone);
        v[k].set = k;
        for (size_t m = 0; m < k; m++)
            if (v[m].type == v[k].type && strcmp(v[m].name, v[k].name) == 0)
                v[k].set = v[m].set;
        set.n++;
    }
    set.v = v;
    start(t, "apply");
    t->p->ops->apply(t->p, &set, on_apply, t);
    wait_done(t);
    for (size_t i = 0; i < set.n; i++) {
        free((void *)(uintptr_t)v[i].name);
        free((void *)(uintptr_t)v[i].data);
    }
    free((void *)(uintptr_t)set.zone);
    free(v);
}

static void run_records(struct tool *t, char **argv, int argc)
{
    const char *zone = canon(argv[0]);
    const char **names = mem_array((size_t)argc, sizeof *names);

    for (int i = 1; i < argc; i++)
        names[i - 1] = canon(argv[i]);
    start(t, "records");
    t->p->ops->list_records(t->p, zone, names, (size_t)argc - 1, on_records, t);
    wait_done(t);
    for (int i = 1; i < argc; i++)
        free((void *)(uintptr_t)names[i - 1]);
    free((void *)(uintptr_t)zone);
    free(names);
}

static void run_write(struct tool *t, char **argv)
{
    struct spec_write w = {.text = argv[2],
                           .len = strlen(argv[2]),
                           .ttl_s = (uint32_t)strtoul(argv[3], NULL, 10)};

    w.zone = canon(argv[0]);
    w.owner = canon(argv[1]);
    start(t, "write");
    t->p->ops->write_spec(t->p, &w, on_spec_written, t);
    wait_done(t);
    free((void *)(uintptr_t)w.owner);
    free((void *)(uintptr_t)w.zone);
}

static void print_caps(struct tool *t)
{
    const struct provider_caps *c = &t->p->ops->caps;

    start(t, "caps");
    (void)cJSON_AddBoolToObject(t->out, "in_place_disable",
                                c->in_place_disable);
    (void)cJSON_AddBoolToObject(t->out, "atomic", c->atomic);
    (void)cJSON_AddBoolToObject(t->out, "per_set", c->per_set);
    (void)cJSON_AddBoolToObject(t->out, "conditional", c->conditional);
    (void)cJSON_AddBoolToObject(t->out, "local", c->local);
    (void)cJSON_AddBoolToObject(t->out, "lists_zones", c->lists_zones);
    (void)cJSON_AddBoolToObject(t->out, "lists_specs", c->lists_specs);
    (void)cJSON_AddBoolToObject(t->out, "creates_missing", c->creates_missing);
    (void)cJSON_AddNumberToObject(t->out, "min_ttl_s", c->min_ttl_s);
    (void)cJSON_AddNumberToObject(t->out, "txt_max", (double)c->txt_max);
    (void)cJSON_AddNumberToObject(t->out, "publish_ms", (double)c->publish_ms);
    print_line(t);
}

static void on_wait(void *arg)
{
    finish(arg);
}

static void run_command(struct tool *t, char **argv, int argc)
{
    const char *zone;

    if (strcmp(argv[0], "caps") == 0) {
        print_caps(t);
    } else if (strcmp(argv[0], "zones") == 0) {
        start(t, "zones");
        t->p->ops->list_zones(t->p, on_zones, t);
        wait_done(t);
    } else if (argc < 2) {
        usage();
    } else if (strcmp(argv[0], "specs") == 0) {
        zone = canon(argv[1]);
        start(t, "specs");
        t->p->ops->list_specs(t->p, zone, on_specs, t);
        wait_done(t);
        free((void *)(uintptr_t)zone);
    } else if (strcmp(argv[0], "records") == 0) {
        run_records(t, argv + 1, argc - 1);
    } else if (strcmp(argv[0], "apply") == 0 ||
               strcmp(argv[0], "create") == 0) {
        run_apply(t, argv + 1, argc - 1, argv[0][0] == 'c');
    } else if (strcmp(argv[0], "write") == 0 && argc == 5) {
        run_write(t, argv + 1);
    } else if (strcmp(argv[0], "wait") == 0) {
        t->done = false;
        (void)loop_timer_start(t->loop, strtol(argv[1], NULL, 10), on_wait, t);
        wait_done(t);
    } else {
        usage();
    }
}

static void run_all(struct tool *t, char **argv, int argc)
{
    while (argc > 0) {
        int n = 0;

        while (n < argc && strcmp(argv[n], "+") != 0)
            n++;
        if (n == 0)
            usage();
        run_command(t, argv, n);
        argv += n < argc ? n + 1 : n;
        argc -= n < argc ? n + 1 : n;
    }
}

/* ---- the instance -------------------------------------------------------- */

/* There is no agent around: no server is asked, so none is known. */
static void no_serial(void *arg, const char *zone, provider_serial_cb *cb,
                      void *cb_arg)
{
    struct provider_serial s = {0};

    (void)arg;
    (void)zone;
    cb(cb_arg, &s);
}

static const char *find_kept(void *arg, const char *provider, const char *key)
{
    const struct tool *t = arg;
    const struct kept *k = t->kept;

    (void)provider;
    while (k != NULL && strcmp(k->key, key) != 0)
        k = k->next;
    return k != NULL ? k->text : NULL;
}

static void keep(void *arg, const char *provider, const char *key,
                 const char *text)
{
    struct tool *t = arg;
    struct kept *k = mem_alloc(sizeof *k);

    (void)provider;
    k->key = mem_strdup(key);
    k->text = mem_strdup(text);
    k->next = t->kept;
    t->kept = k;
}

static void forget_kept(struct tool *t)
{
    while (t->kept != NULL) {
        struct kept *k = t->kept;

        t->kept = k->next;
        free(k->key);
        free(k->text);
        free(k);
    }
}

static int open_provider(struct tool *t, const struct config_provider *cfg)
{
    const struct provider_ops *ops = provider_find(cfg->type);
    struct provider_env env = {.loop = t->loop,
                               .http = t->http,
                               .served_serial = no_serial,
                               .keep = keep,
                               .kept = find_kept,
                               .arg = t};
    struct err e;

    if (ops == NULL) {
        (void)fprintf(stderr, "provider: no type %s\n", cfg->type);
        return -1;
    }
    if (ops->open(ops, &env, cfg, &t->p, &e) == 0)
        return 0;
    start(t, "open");
    add_err(t, t->out, &e);
    print_line(t);
    return -1;
}

static void on_closed(void *arg)
{
    finish(arg);
}

static int run(struct tool *t, const struct config_provider *cfg, char **argv,
               int argc)
{
    t->loop = loop_new();
    t->http = http_new(t->loop);
    t->failed = true;
    if (open_provider(t, cfg) == 0) {
        t->failed = false;
        run_all(t, argv, argc);
        t->done = false;
        t->p->ops->close(t->p, on_closed, t);
        wait_done(t);
    }
    forget_kept(t);
    http_free(t->http);
    loop_free(t->loop);
    return t->failed ? 1 : 0;
}

static int run_options(struct tool *t, char **argv, int argc)
{
    struct config_provider cfg = {.name = "test", .type = argv[0], .line = 1};
    struct config_option *o = mem_array((size_t)argc, sizeof *o);
    int i = 1, rc;

    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char *eq = strchr(argv[i], '=');

        if (eq == NULL)
            usage();
        *eq = '\0';
        o[cfg.noptions].name = argv[i];
        o[cfg.noptions++].value = eq + 1;
    }
    cfg.options = o;
    if (i + 1 >= argc)
        usage();
    rc = run(t, &cfg, argv + i + 1, argc - i - 1);
    free(o);
    return rc;
}

static int run_config(struct tool *t, const char *file, const char *name,
                      char **argv, int argc)
{
    struct config_schema schemas[32] = {{0}};
    struct config *cfg;
    struct err e;
    int rc = 2;

    for (size_t i = 0; providers[i] != NULL && i < 31; i++) {
        schemas[i].type = providers[i]->type;
        schemas[i].fields = providers[i]->fields;
    }
    if (config_load(file, schemas, &cfg, &e) != 0) {
        (void)fprintf(stderr, "provider: %s\n", e.msg);
        return 2;
    }
    for (size_t i = 0; i < cfg->nproviders; i++)
        if (strcmp(cfg->providers[i].name, name) == 0)
            rc = run(t, &cfg->providers[i], argv, argc);
    config_free(cfg);
    return rc;
}

int main(int argc, char **argv)
{
    struct tool t = {0};

    if (argc > 4 && strcmp(argv[1], "-c") == 0)
        return run_config(&t, argv[2], argv[3], argv + 4, argc - 4);
    if (argc < 3)
        usage();
    return run_options(&t, argv + 1, argc - 1);
}
