/* The resolver on the command line, for the integration tests. Each result
 * is one line of JSON; bytes of TXT strings are written in hexadecimal.
 *
 *   lookup [-t timeout_ms] [-n tries] [-a] COMMAND
 *     ask SERVER NAME TYPE
 *     lookup RECURSIVE… NAME TYPE       (resolv.conf: the word "system")
 *     txt SERVER… OWNER
 *     axfr SERVER… ZONE
 *     servers RECURSIVE ZONE
 *     many SERVER COUNT PATTERN TYPE    (%u in PATTERN is the number)
 *     drop SERVER NAME                  (frees the resolver while it asks)
 * SERVER: address:port. -a: want_ad. */

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "resolver/resolver.h"

#define WAIT_MS 60000

struct tool {
    struct loop *loop;
    struct resolver_options options;
    struct resolver *resolver;
    bool want_ad;
    uint16_t type;
    size_t open, found, gone, failed;
    bool started, done; /* started: every lookup of many is under way */
    bool early;         /* a callback came inside the call */
    bool quiet;
};

static void die(const char *what)
{
    (void)fprintf(stderr, "lookup: %s\n", what);
    exit(2);
}

static void print(cJSON *o)
{
    char *text = cJSON_PrintUnformatted(o);

    (void)puts(text);
    cJSON_free(text);
    cJSON_Delete(o);
}

static const char *outcome_text(enum resolver_outcome o)
{
    static const char *const names[] = {[RESOLVER_FOUND] = "found",
                                        [RESOLVER_GONE] = "gone",
                                        [RESOLVER_FAILED] = "failed"};
    return names[o];
}

static uint16_t type_of(const char *text)
{
    for (uint16_t t = 1; t < 256; t++)
        if (message_type_name(t) != NULL &&
            strcmp(message_type_name(t), text) == 0)
            return t;
    die("unknown type");
    return 0;
}

static cJSON *hex(const struct message_string *s)
{
    static const char digits[] = "0123456789abcdef";
    char *text = mem_alloc(2 * s->len + 1);
    cJSON *o;

    for (size_t i = 0; i < s->len; i++) {
        text[2 * i] = digits[(unsigned char)s->data[i] >> 4];
        text[2 * i + 1] = digits[(unsigned char)s->data[i] & 15];
    }
    o = cJSON_CreateString(text);
    free(text);
    return o;
}

static cJSON *txts_json(const struct message_txt *txts, size_t n)
{
    cJSON *all = cJSON_CreateArray();

    for (size_t i = 0; i < n; i++) {
        cJSON *one = cJSON_CreateArray();

        for (size_t k = 0; k < txts[i].nstrings; k++)
            cJSON_AddItemToArray(one, hex(&txts[i].strings[k]));
        cJSON_AddItemToArray(all, one);
    }
    return all;
}

static void add_error(cJSON *o, const struct err *e)
{
    cJSON_AddStringToObject(o, "code", err_code_name(e->code));
    cJSON_AddStringToObject(o, "error", e->msg);
}

static void add_server(cJSON *o, const struct addr *a)
{
    char text[ADDR_TEXT_SIZE];

    cJSON_AddStringToObject(o, "server", addr_format_port(a, text));
}

static cJSON *addrs_json(const struct addr *addrs, size_t n)
{
    cJSON *all = cJSON_CreateArray();
    char text[ADDR_TEXT_SIZE];

    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(
            all, cJSON_CreateString(addr_format_port(&addrs[i], text)));
    return all;
}

static cJSON *strings_json(const char *const *strings, size_t n)
{
    cJSON *all = cJSON_CreateArray();

    for (size_t i = 0; i < n; i++)
        cJSON_AddItemToArray(all, cJSON_CreateString(strings[i]));
    return all;
}

static void finish_one(struct tool *t)
{
    if (!t->started)
        t->early = true;
    if (--t->open == 0)
        t->done = true;
}

static void on_answer(void *arg, const struct resolver_answer *a)
{
    struct tool *t = arg;
    cJSON *o = cJSON_CreateObject();
    const struct message_txt *txts;
    size_t n = 0;
    uint32_t ttl_s = 0, serial;
    struct addr addrs[64];

    cJSON_AddStringToObject(o, "outcome", outcome_text(a->outcome));
    add_server(o, &a->server);
    add_error(o, &a->err);
    if (a->message != NULL && a->outcome == RESOLVER_FOUND) {
        txts = message_txts(a->message, NULL, &n);
        cJSON_AddItemToObject(o, "txts", txts_json(txts, n));
        n = message_addrs(a->message, NULL, t->type, addrs, 64, &ttl_s);
        cJSON_AddItemToObject(o, "addrs", addrs_json(addrs, n));
        cJSON_AddNumberToObject(o, "addrs_ttl_s", ttl_s);
        cJSON_AddItemToObject(
            o, "targets",
            strings_json(message_targets(a->message, NULL, t->type, &n), n));
        if (message_serial(a->message, &serial) == 0)
            cJSON_AddNumberToObject(o, "serial", serial);
    }
    print(o);
    finish_one(t);
}

static void on_count(void *arg, const struct resolver_answer *a)
{
    struct tool *t = arg;

    t->found += a->outcome == RESOLVER_FOUND;
    t->gone += a->outcome == RESOLVER_GONE;
    t->failed += a->outcome == RESOLVER_FAILED;
    if (a->outcome == RESOLVER_FAILED && t->failed == 1)
        (void)fprintf(stderr, "lookup: %s\n", a->err.msg);
    finish_one(t);
}

static void on_txt(void *arg, const struct resolver_txt *x)
{
    struct tool *t = arg;
    cJSON *o = cJSON_CreateObject();

    cJSON_AddStringToObject(o, "owner", x->owner);
    cJSON_AddStringToObject(o, "outcome", outcome_text(x->outcome));
    cJSON_AddItemToObject(o, "txts", txts_json(x->txts, x->ntxts));
    cJSON_AddNumberToObject(o, "ttl_s", x->ttl_s);
    add_server(o, &x->server);
    add_error(o, &x->err);
    print(o);
    finish_one(t);
}

static void on_owners(void *arg, const struct resolver_owners *x)
{
    struct tool *t = arg;
    cJSON *o = cJSON_CreateObject(), *names = cJSON_CreateArray();
    cJSON *texts = cJSON_CreateArray();

    for (size_t i = 0; i < x->n; i++) {
        const struct resolver_owner *one = &x->owners[i];

        cJSON_AddItemToArray(names, cJSON_CreateString(one->name));
        cJSON_AddItemToArray(texts, txts_json(one->txts, one->ntxts));
    }
    cJSON_AddItemToObject(o, "owners", names);
    cJSON_AddItemToObject(o, "texts", texts);
    cJSON_AddNumberToObject(o, "serial", x->serial);
    add_error(o, &x->err);
    print(o);
    finish_one(t);
}

static void on_zone(void *arg, const struct resolver_zone *z)
{
    struct tool *t = arg;
    cJSON *o = cJSON_CreateObject();

    cJSON_AddStringToObject(o, "apex", z->apex);
    cJSON_AddItemToObject(o, "servers", addrs_json(z->servers, z->nservers));
    cJSON_AddItemToObject(o, "ns", strings_json(z->ns_names, z->nns_names));
    add_error(o, &z->err);
    print(o);
    finish_one(t);
}

static size_t addrs_of(char **args, int n, struct addr *out, size_t max)
{
    struct err e;

    if (n < 0 || (size_t)n > max)
        die("too many servers");
    for (int i = 0; i < n; i++)
        if (addr_parse_port(args[i], 53, &out[i], &e) != 0)
            die(e.msg);
    return (size_t)n;
}

static void open_resolver(struct tool *t, const struct addr *servers, size_t n)
{
    struct err e;

    t->options.servers = servers;
    t->options.nservers = n;
    if (resolver_new(t->loop, &t->options, &t->resolver, &e) != 0)
        die(e.msg);
}

static void many(struct tool *t, const struct addr *server, char **args)
{
    size_t n = strtoul(args[0], NULL, 10);
    const char *mark = strstr(args[1], "%u");
    char name[512];

    if (mark == NULL)
        die("no %u in the pattern");
    t->open = n;
    t->quiet = true;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%.*s%zu%s", (int)(mark - args[1]),
                       args[1], i, mark + 2);
        resolver_ask(t->resolver, server, name, type_of(args[2]), on_count, t);
    }
}

static void run(struct tool *t, const char *command, char **args, int n)
{
    struct addr servers[16];
    size_t ns;
    bool last_two =
        strcmp(command, "ask") == 0 || strcmp(command, "lookup") == 0;

    if (n < 2 || (last_two && n < 3))
        die("too few arguments");
    t->open = 1;
    if (strcmp(command, "lookup") == 0 && strcmp(args[0], "system") == 0) {
        ns = 0;
        open_resolver(t, NULL, 0);
    } else if (strcmp(command, "many") == 0 || strcmp(command, "drop") == 0) {
        ns = addrs_of(args, 1, servers, 16);
        open_resolver(t, servers, ns);
    } else {
        ns = addrs_of(args, last_two ? n - 2 : n - 1, servers, 16);
        open_resolver(t, servers, ns);
    }
    if (last_two)
        t->type = type_of(args[n - 1]);
    if (strcmp(command, "ask") == 0)
        resolver_ask(t->resolver, &servers[0], args[1], t->type, on_answer, t);
    else if (strcmp(command, "lookup") == 0)
        resolver_lookup(t->resolver, args[n - 2], t->type, t->want_ad,
                        on_answer, t);
    else if (strcmp(command, "txt") == 0)
        resolver_find_txt(t->resolver, servers, ns, args[n - 1], on_txt, t);
    else if (strcmp(command, "axfr") == 0)
        resolver_axfr_owners(t->resolver, servers, ns, args[n - 1], NULL,
                             on_owners, t);
    else if (strcmp(command, "servers") == 0)
        resolver_find_servers(t->resolver, args[n - 1], t->want_ad, on_zone, t);
    else if (strcmp(command, "many") == 0 && n == 4)
        many(t, &servers[0], args + 1);
    else if (strcmp(command, "drop") == 0)
        resolver_ask(t->resolver, &servers[0], args[1], MESSAGE_TXT, on_answer,
                     t);
    else
        die("unknown command");
    t->started = true;
}

static void report(struct tool *t, int64_t began_ms)
{
    cJSON *o;

    if (t->early)
        die("a callback came inside the call");
    if (!t->quiet)
        return;
    o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "found", (double)t->found);
    cJSON_AddNumberToObject(o, "gone", (double)t->gone);
    cJSON_AddNumberToObject(o, "failed", (double)t->failed);
    cJSON_AddNumberToObject(o, "ms", (double)(clock_mono_ms() - began_ms));
    print(o);
}

int main(int argc, char **argv)
{
    struct tool t = {0};
    int64_t began_ms = clock_mono_ms();
    int c;

    while ((c = getopt(argc, argv, "t:n:a")) != -1) {
        if (c == 't')
            t.options.timeout_ms = strtol(optarg, NULL, 10);
        else if (c == 'n')
            t.options.tries = (int)strtol(optarg, NULL, 10);
        else if (c == 'a')
            t.want_ad = true;
        else
            die("unknown option");
    }
    if (optind >= argc)
        die("no command");
    t.loop = loop_new();
    run(&t, argv[optind], argv + optind + 1, argc - optind - 1);
    if (strcmp(argv[optind], "drop") == 0)
        (void)loop_wait(t.loop, &t.done, clock_mono_ms() + 100);
    else if (!loop_wait(t.loop, &t.done, clock_mono_ms() + WAIT_MS))
        die("no end");
    report(&t, began_ms);
    resolver_free(t.resolver);
    loop_free(t.loop);
    return 0;
}
