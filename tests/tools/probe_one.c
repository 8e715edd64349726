/* One probe, or several of the same one after the other, for the tests:
 *   probe_one KIND TARGET[:PORT] [NAME=VALUE...] [-- COMMAND WORDS]
 * NAME is a member of struct probe_params (host, server_name, path, method,
 * body, body_match, send, expect, dns_name, dns_type, service,
 * min_cert_days, follow_redirects; verify=no, tls=yes), or
 *   status=200-299  header=Name:value  json=/pointer:value   (repeatable)
 *   timeout_ms=N  repeat=N  ca=FILE  full_every=N
 *   clock=ok|wrong  allow=ADDRESS|any (repeatable)
 *   resolve=NAME:ADDRESS,ADDRESS      (repeatable; others do not exist)
 * Prints for each one line of JSON: verdict, reason, text, elapsed_us, and
 * user_us, the CPU time it took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/probes/probe.h"

enum { LIST = 16 };

struct one {
    struct loop *loop;
    struct probe_spec spec;
    struct probe_params params;
    struct probe_hooks hooks;
    struct probe_pair headers[LIST], json[LIST], names[LIST];
    struct probe_range status[LIST];
    struct addr allow[LIST];
    size_t nnames, nallow;
    bool allow_any, clock_ok, done;
    unsigned long repeat;
    struct probe_result result;
};

static bool clock_ok(void *arg)
{
    return ((struct one *)arg)->clock_ok;
}

static bool allowed(void *arg, const struct addr *a)
{
    struct one *o = arg;

    for (size_t i = 0; i < o->nallow; i++)
        if (addr_equal(a, &o->allow[i]))
            return true;
    return o->allow_any;
}

/* --- names -----------------------------------------------------------------
 */

struct question {
    struct one *o;
    char *host;
    probe_addrs_cb *cb;
    void *cb_arg;
};

static void answer(void *arg)
{
    struct question *q = arg;
    struct addr found[64];
    size_t n = 0;

    for (size_t i = 0; i < q->o->nnames; i++) {
        char *list, *save, *word;

        if (strcmp(q->o->names[i].name, q->host) != 0)
            continue;
        list = mem_strdup(q->o->names[i].value);
        for (word = strtok_r(list, ",", &save); word != NULL && n < 64;
             word = strtok_r(NULL, ",", &save))
            if (addr_parse(word, &found[n]) == 0)
                n++;
        free(list);
    }
    q->cb(q->cb_arg, n > 0 ? PROBE_FOUND : PROBE_NO_NAME, found, n);
    free(q->host);
    free(q);
}

static void resolve(void *arg, const char *host, probe_addrs_cb *cb,
                    void *cb_arg)
{
    struct question *q = mem_alloc(sizeof *q);

    q->o = arg;
    q->host = mem_strdup(host);
    q->cb = cb;
    q->cb_arg = cb_arg;
    (void)loop_timer_start(q->o->loop, 1, answer, q);
}

/* --- words ------------------------------------------------------------------
 */

/* Cuts value at sep. */
static struct probe_pair cut(char *value, char sep)
{
    char *at = strchr(value, sep);

    if (at == NULL)
        return (struct probe_pair){value, ""};
    *at = '\0';
    return (struct probe_pair){value, at + 1};
}

static bool take_text(struct one *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **place;
    } texts[] = {
        {"host", &o->params.host},
        {"server_name", &o->params.server_name},
        {"path", &o->params.path},
        {"method", &o->params.method},
        {"body", &o->params.body},
        {"body_match", &o->params.body_match},
        {"send", &o->params.send},
        {"expect", &o->params.expect},
        {"dns_name", &o->params.dns_name},
        {"dns_type", &o->params.dns_type},
        {"service", &o->params.service},
        {"command", &o->params.command},
        {"ca", &o->hooks.ca_file},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (strcmp(texts[i].name, name) == 0) {
            *texts[i].place = value;
            return true;
        }
    return false;
}

static bool take_list(struct one *o, const char *name, char *value)
{
    struct probe_pair p;

    if (strcmp(name, "status") == 0 && o->params.nstatus < LIST) {
        p = cut(value, '-');
        o->status[o->params.nstatus].from = strtol(p.name, NULL, 10);
        o->status[o->params.nstatus++].to =
            strtol(*p.value != '\0' ? p.value : p.name, NULL, 10);
    } else if (strcmp(name, "header") == 0 && o->params.nheaders < LIST) {
        o->headers[o->params.nheaders++] = cut(value, ':');
    } else if (strcmp(name, "json") == 0 && o->params.njson < LIST) {
        o->json[o->params.njson++] = cut(value, ':');
    } else if (strcmp(name, "resolve") == 0 && o->nnames < LIST) {
        o->names[o->nnames++] = cut(value, ':');
    } else if (strcmp(name, "allow") == 0 && strcmp(value, "any") == 0) {
        o->allow_any = true;
    } else if (strcmp(name, "allow") == 0 && o->nallow < LIST) {
        return addr_parse(value, &o->allow[o->nallow++]) == 0;
    } else {
        return false;
    }
    return true;
}

static bool take_number(struct one *o, const char *name, const char *value)
{
    unsigned long v = strtoul(value, NULL, 10);

    if (strcmp(name, "timeout_ms") == 0)
        o->spec.timeout_ms = (int64_t)v;
    else if (strcmp(name, "repeat") == 0)
        o->repeat = v;
    else if (strcmp(name, "full_every") == 0)
        o->hooks.tls_full_every = (uint32_t)v;
    else if (strcmp(name, "min_cert_days") == 0)
        o->params.min_cert_days = (uint32_t)v;
    else if (strcmp(name, "follow_redirects") == 0)
        o->params.follow_redirects = (uint32_t)v;
    else if (strcmp(name, "verify") == 0)
        o->params.no_verify = strcmp(value, "no") == 0;
    else if (strcmp(name, "tls") == 0)
        o->params.tls = strcmp(value, "yes") == 0;
    else if (strcmp(name, "clock") == 0)
        o->clock_ok = strcmp(value, "ok") == 0;
    else
        return false;
    return true;
}

static int parse(struct one *o, int argc, char **argv)
{
    struct err e;

    if (argc < 3 || !probe_kind_find(argv[1], &o->spec.kind) ||
        addr_parse_port(argv[2], 0, &o->spec.target, &e) != 0)
        return -1;
    for (int i = 3; i < argc; i++) {
        struct probe_pair p;

        if (strcmp(argv[i], "--") == 0) {
            o->params.argv = argv + i + 1;
            break;
        }
        p = cut(argv[i], '=');
        if (!take_text(o, p.name, p.value) &&
            !take_number(o, p.name, p.value) &&
            !take_list(o, p.name, argv[i] + strlen(argv[i]) + 1)) {
            (void)fprintf(stderr, "probe_one: %s\n", p.name);
            return -1;
        }
    }
    return 0;
}

/* --- running ----------------------------------------------------------------
 */

static int64_t cpu_us(void)
{
    struct rusage r;

    (void)getrusage(RUSAGE_SELF, &r);
    return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * INT64_C(1000000) +
           r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

static void on_result(void *arg, const struct probe_result *r)
{
    struct one *o = arg;

    o->result = *r;
    o->done = true;
}

static void print(const struct one *o, int64_t cpu)
{
    static const char *const verdicts[] = {"ok", "fail", "local"};
    char text[128];

    (void)probe_describe(&o->spec, &o->result, text);
    (void)printf("{\"verdict\":\"%s\",\"reason\":\"%s\",\"elapsed_us\":%lld,"
                 "\"cpu_us\":%lld,\"text\":\"",
                 verdicts[o->result.verdict],
                 probe_reason_name(o->result.reason),
                 (long long)o->result.elapsed_us, (long long)cpu);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            (void)putchar('\\');
        (void)putchar(*c);
    }
    (void)puts("\"}");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct one o = {.clock_ok = true, .repeat = 1};
    struct probes *probes;
    struct err e;

    o.params.headers = o.headers;
    o.params.json = o.json;
    o.params.status = o.status;
    o.params.allowed = allowed;
    o.params.allowed_arg = &o;
    o.hooks.arg = &o;
    o.hooks.clock_ok = clock_ok;
    o.hooks.resolve = resolve;
    o.spec.params = &o.params;
    if (parse(&o, argc, argv) != 0) {
        (void)fprintf(stderr, "usage: probe_one KIND TARGET[:PORT] "
                              "[NAME=VALUE...] [-- COMMAND WORDS]\n");
        return 2;
    }
    o.loop = loop_new();
    if (probes_new(o.loop, 0, &probes, &e) != 0) {
        (void)fprintf(stderr, "probe_one: %s\n", e.msg);
        return 1;
    }
    probes_set_hooks(probes, &o.hooks);
    for (unsigned long i = 0; i < o.repeat; i++) {
        int64_t cpu = cpu_us();

        o.done = false;
        probes_start(probes, &o.spec, on_result, &o);
        if (!loop_wait(o.loop, &o.done, clock_mono_ms() + 60000))
            return 1;
        print(&o, cpu_us() - cpu);
    }
    probes_free(probes);
    loop_free(o.loop);
    return 0;
}
