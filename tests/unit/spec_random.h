#ifndef TESTS_SPEC_RANDOM_H
#define TESTS_SPEC_RANDOM_H

/* Random valid specs: the same seed gives the same text. Names are defined
 * in any order, members stand in any order, all of the language is used. */

#include <stdint.h>

#include "tests/unit/spec_help.h"

struct rnd {
    uint64_t state;
    unsigned nchecks, ndcs, nscenarios;
    bool views;
};

HELP uint32_t rnd_next(struct rnd *r)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->state >> 33);
}

HELP unsigned rnd_below(struct rnd *r, unsigned n)
{
    return rnd_next(r) % n;
}

HELP bool rnd_chance(struct rnd *r, unsigned percent)
{
    return rnd_below(r, 100) < percent;
}

/* Members of an object, joined in random order. */
struct rnd_members {
    char *text[24];
    unsigned n;
};

HELP void rnd_add(struct rnd_members *m, char *text)
{
    assert_true(m->n < 24);
    m->text[m->n++] = text;
}

HELP char *rnd_join(struct rnd *r, struct rnd_members *m, char open)
{
    struct buf b;

    buf_init(&b, 1u << 20);
    buf_char(&b, open);
    while (m->n > 0) {
        unsigned i = open == '{' ? rnd_below(r, m->n) : 0;

        buf_printf(&b, "%s%s", m->text[i], m->n > 1 ? "," : "");
        free(m->text[i]);
        m->n--;
        for (; i < m->n; i++)
            m->text[i] = m->text[i + 1];
    }
    buf_char(&b, open == '{' ? '}' : ']');
    return buf_take(&b);
}

/* "name":value, where value is heap. */
HELP char *rnd_member(const char *name, char *value)
{
    char *text = mem_printf("\"%s\":%s", name, value);

    free(value);
    return text;
}

HELP char *rnd_target(struct rnd *r)
{
    unsigned n = rnd_below(r, 4) + 1;

    return rnd_chance(r, 70) ? mem_printf("10.0.0.%u", n)
                             : mem_printf("2001:db8::%u", n);
}

/* A shorthand that asks a target of its own when fixed. */
HELP char *rnd_shorthand(struct rnd *r, bool fixed)
{
    static const char *const any[] = {
        "tcp:443",   "tls:443",     "http:8080/a?b=1", "https:443/",
        "icmp",      "udp:53",      "dns:53/a.b/MX",   "smtp:25",
        "imap:143",  "pop3:110",    "ftp:21",          "ldap:389",
        "smtps:465", "imaps:993",   "ldaps:636",       "grpc:50051/a.B",
        "grpc:1",    "command:disk"};
    static const char *const plain[] = {"tcp:443", "icmp", "udp:53", "smtp:25",
                                        "command:disk"};
    char *target, *text;

    if (!fixed && rnd_chance(r, 20))
        return mem_printf("%u", rnd_below(r, 65535) + 1);
    if (!fixed && rnd_chance(r, 15))
        return mem_printf("\"https://h%u.example.org:%u/p\"", rnd_below(r, 3),
                          rnd_below(r, 2) + 443);
    if (!fixed && rnd_chance(r, 60))
        return mem_printf("\"%s\"", any[rnd_below(r, 18)]);
    target = rnd_target(r);
    text = mem_printf("\"%s@%s\"",
                      fixed ? plain[rnd_below(r, 5)] : any[rnd_below(r, 18)],
                      target);
    free(target);
    return text;
}

HELP void rnd_pace(struct rnd *r, struct rnd_members *m)
{
    if (rnd_chance(r, 30))
        rnd_add(m,
                mem_printf("\"accessPeriod\":\"%us\"", rnd_below(r, 90) + 1));
    if (rnd_chance(r, 30))
        rnd_add(m, mem_printf("\"requiredSuccess\":%u", rnd_below(r, 5) + 1));
    if (rnd_chance(r, 30))
        rnd_add(m,
                mem_printf("\"requiredFailure\":\"%u\"", rnd_below(r, 5) + 1));
}

HELP char *rnd_check_object(struct rnd *r, bool fixed)
{
    struct rnd_members m = {.n = 0};
    bool web = !fixed && rnd_chance(r, 50);

    if (web) {
        rnd_add(&m, mem_strdup("\"type\":\"https\""));
        if (rnd_chance(r, 50))
            rnd_add(&m, mem_strdup("\"host\":\"www.example.org\""));
        if (rnd_chance(r, 30))
            rnd_add(&m, mem_strdup("\"status\":[200,\"301-302\"]"));
        if (rnd_chance(r, 10))
            rnd_add(&m, mem_strdup("\"body\":\"\\\"ok\\\"\\n\""));
        if (rnd_chance(r, 10))
            rnd_add(&m, mem_strdup("\"json\":{\"/b\":true,\"/a\":\"x\"}"));
        if (rnd_chance(r, 20))
            rnd_add(&m, mem_strdup("\"verify\":false"));
        if (rnd_chance(r, 20))
            rnd_add(&m, mem_printf("\"minCertDays\":%u", rnd_below(r, 30)));
    } else {
        rnd_add(&m, mem_strdup("\"port\":5432"));
    }
    if (fixed || rnd_chance(r, 30)) {
        char *a = rnd_target(r), *b = rnd_target(r);

        if (rnd_chance(r, 50))
            rnd_add(&m, mem_printf("\"target\":\"%s\"", a));
        else
            rnd_add(&m, mem_printf("\"need\":%u,\"targets\":[\"%s\",\"%s\"]",
                                   rnd_below(r, 2) + 1, a, b));
        free(a);
        free(b);
    }
    if (rnd_chance(r, 30))
        rnd_add(&m, mem_printf("\"timeout\":\"%ums\"", rnd_below(r, 5000) + 1));
    rnd_pace(r, &m);
    return rnd_join(r, &m, '{');
}

/* A check in place or by name. */
HELP char *rnd_check(struct rnd *r)
{
    if (r->nchecks > 0 && rnd_chance(r, 40))
        return mem_printf("\"c%u\"", rnd_below(r, r->nchecks));
    return rnd_chance(r, 70) ? rnd_shorthand(r, false)
                             : rnd_check_object(r, false);
}

/* A condition; scenarios below `below` may be named. */
HELP char *rnd_condition(struct rnd *r, unsigned below, unsigned depth)
{
    static const char *const states[] = {"ok", "noLan", "noWan", "noAccess",
                                         "noInternet"};
    const char *no = rnd_chance(r, 30) ? "!" : "";
    unsigned what = rnd_below(r, 6);

    if (what == 0 && below > 0)
        return mem_printf("\"%ss%u\"", no, rnd_below(r, below));
    if (what == 1 && r->ndcs > 0)
        return mem_printf("\"%sd%u\"", no, rnd_below(r, r->ndcs));
    if (what == 2 && r->ndcs > 0)
        return mem_printf("\"%sd%u.%s\"", no, rnd_below(r, r->ndcs),
                          states[rnd_below(r, 5)]);
    if (what == 3 && r->ndcs > 0)
        return mem_printf("\"%sauto|d%u|%s\"", no, rnd_below(r, r->ndcs),
                          rnd_chance(r, 70) ? "wanAccess" : "maintenanceMode");
    if (what == 4 && depth < 3) {
        struct rnd_members m = {.n = 0};
        unsigned n = rnd_below(r, 3) + 1;
        char *of;

        for (unsigned i = 0; i < n; i++)
            rnd_add(&m, rnd_condition(r, below, depth + 1));
        of = rnd_join(r, &m, '[');
        rnd_add(&m, rnd_member("of", of));
        rnd_add(&m, mem_printf("\"need\":%u", rnd_below(r, n) + 1));
        return rnd_join(r, &m, '{');
    }
    if (r->nchecks > 0)
        return mem_printf("\"%sc%u\"", no, rnd_below(r, r->nchecks));
    return mem_printf("\"%stcp:80\"", no);
}

HELP char *rnd_scenario(struct rnd *r, unsigned below)
{
    struct rnd_members any = {.n = 0};
    unsigned n = rnd_below(r, 3) + 1;

    if (rnd_chance(r, 30))
        return rnd_condition(r, below, 0);
    for (unsigned i = 0; i < n; i++) {
        struct rnd_members all = {.n = 0};
        unsigned k = rnd_below(r, 3) + 1;

        for (unsigned j = 0; j < k; j++)
            rnd_add(&all, rnd_condition(r, below, 1));
        rnd_add(&any, rnd_join(r, &all, '['));
    }
    return rnd_join(r, &any, '[');
}

HELP char *rnd_access(struct rnd *r)
{
    struct rnd_members m = {.n = 0};
    unsigned n = rnd_below(r, 3) + 1;
    char *list;

    for (unsigned i = 0; i < n; i++)
        rnd_add(&m, rnd_chance(r, 40)
                        ? mem_printf("\"10.0.1.%u:443\"", rnd_below(r, 9))
                    : rnd_chance(r, 20)
                        ? mem_printf("\"[2001:db8::%u]:22\"", rnd_below(r, 9))
                    : rnd_chance(r, 80) ? rnd_shorthand(r, true)
                                        : rnd_check_object(r, true));
    list = rnd_join(r, &m, '[');
    if (rnd_chance(r, 70))
        return list;
    rnd_add(&m, rnd_member("of", list));
    rnd_add(&m, mem_printf("\"need\":%u", rnd_below(r, n) + 1));
    return rnd_join(r, &m, '{');
}

HELP char *rnd_dc(struct rnd *r)
{
    struct rnd_members m = {.n = 0};

    rnd_add(&m, rnd_member("wanAccess", rnd_access(r)));
    if (rnd_chance(r, 50)) {
        rnd_add(&m, rnd_member("lanAccess", rnd_access(r)));
        if (rnd_chance(r, 30))
            rnd_add(&m, mem_strdup("\"needs\":[\"lanAccess\",\"wanAccess\"]"));
    }
    if (rnd_chance(r, 20))
        rnd_add(&m, rnd_member("internet", rnd_access(r)));
    if (rnd_chance(r, 20))
        rnd_add(&m, rnd_member("access", rnd_access(r)));
    if (rnd_chance(r, 20))
        rnd_add(&m, mem_printf("\"maintenanceMode\":%s",
                               rnd_chance(r, 50) ? "true" : "false"));
    if (rnd_chance(r, 30))
        rnd_add(&m, mem_strdup("\"noResponse\":true"));
    if (rnd_chance(r, 40))
        rnd_add(&m, mem_printf("\"onlyNew\":%s",
                               rnd_chance(r, 50) ? "true" : "\"2h\""));
    if (rnd_chance(r, 30))
        rnd_add(&m, rnd_member("fresh", rnd_chance(r, 50)
                                            ? rnd_shorthand(r, true)
                                            : rnd_check_object(r, true)));
    rnd_pace(r, &m);
    return rnd_join(r, &m, '{');
}

/* Record number i of a family: each value once. */
HELP char *rnd_record(struct rnd *r, unsigned i, bool fallback)
{
    struct rnd_members m = {.n = 0};
    bool v6 = rnd_chance(r, 30);

    rnd_add(&m, mem_printf(v6 ? "\"data\":\"2001:DB8::%x\""
                              : "\"data\":\"192.0.2.%u\"",
                           i + 1));
    if (rnd_chance(r, 20))
        rnd_add(&m, mem_strdup("\"name\":\"www\""));
    if (rnd_chance(r, 60)) {
        struct rnd_members list = {.n = 0};
        unsigned n = rnd_below(r, 3) + 1;

        for (unsigned k = 0; k < n; k++)
            rnd_add(&list, rnd_check(r));
        rnd_add(&m, rnd_member("check", n == 1 ? (list.n = 0, list.text[0])
                                               : rnd_join(r, &list, '[')));
    }
    if (rnd_chance(r, 30))
        rnd_add(&m, rnd_member("if", rnd_scenario(r, r->nscenarios)));
    if (r->ndcs > 0 && rnd_chance(r, 40))
        rnd_add(&m, mem_printf("\"dc\":\"d%u\"", rnd_below(r, r->ndcs)));
    if (rnd_chance(r, 30))
        rnd_add(&m, mem_printf("\"ttl\":%u", rnd_below(r, 600)));
    if (rnd_chance(r, 20))
        rnd_add(&m, mem_printf("\"prio\":%u", rnd_below(r, 9)));
    if (rnd_chance(r, 20))
        rnd_add(&m, mem_printf("\"returnAfter\":%u", rnd_below(r, 600)));
    if (rnd_chance(r, 10))
        rnd_add(&m, mem_strdup("\"return\":\"manual\""));
    if (!fallback && rnd_chance(r, 15))
        rnd_add(&m, mem_strdup("\"drIfNoRecords\":true"));
    if (!fallback && rnd_chance(r, 10))
        rnd_add(&m, rnd_member("drCond", rnd_scenario(r, r->nscenarios)));
    if (r->views && rnd_chance(r, 50))
        rnd_add(&m, mem_printf("\"view\":\"v%u\"", rnd_below(r, 2)));
    if (rnd_chance(r, 5))
        rnd_add(&m, mem_strdup("\"comment\":{\"any\":[1,null]}"));
    return rnd_join(r, &m, '{');
}

HELP char *rnd_map(struct rnd *r, char prefix, unsigned n)
{
    struct rnd_members m = {.n = 0};
    char name[16];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf(name, sizeof name, "%c%u", prefix, i);
        rnd_add(&m, rnd_member(name, prefix == 'd'   ? rnd_dc(r)
                                     : prefix == 's' ? rnd_scenario(r, i)
                                     : rnd_chance(r, 60)
                                         ? rnd_shorthand(r, false)
                                         : rnd_check_object(r, false)));
    }
    return rnd_join(r, &m, '{');
}

/* The members of a spec, one by one: each may stand in a TXT record of its
 * own. Records come first. */
HELP void rnd_spec(struct rnd *r, struct rnd_members *top)
{
    struct rnd_members list = {.n = 0};
    unsigned n = rnd_below(r, 6) + 1;

    r->nchecks = rnd_below(r, 4);
    r->ndcs = rnd_below(r, 4);
    r->nscenarios = rnd_below(r, 4);
    r->views = rnd_chance(r, 20);
    for (unsigned i = 0; i < n; i++)
        rnd_add(&list, rnd_record(r, i, false));
    rnd_add(top, rnd_member("records", rnd_join(r, &list, '[')));
    if (r->nchecks > 0)
        rnd_add(top, rnd_member("checks", rnd_map(r, 'c', r->nchecks)));
    if (r->ndcs > 0)
        rnd_add(top, rnd_member("dcs", rnd_map(r, 'd', r->ndcs)));
    if (r->nscenarios > 0)
        rnd_add(top, rnd_member("scenarios", rnd_map(r, 's', r->nscenarios)));
    if (rnd_chance(r, 40))
        rnd_add(top, mem_strdup("\"order\":\"priority\""));
    if (rnd_chance(r, 20))
        rnd_add(top, mem_printf("\"take\":%u", rnd_below(r, 3) + 1));
    if (rnd_chance(r, 20))
        rnd_add(top, mem_strdup("\"allDown\":\"none\""));
    if (rnd_chance(r, 20))
        rnd_add(top, mem_strdup("\"damping\":false"));
    if (rnd_chance(r, 40)) {
        struct rnd_members d = {.n = 0};

        rnd_pace(r, &d);
        if (rnd_chance(r, 50))
            rnd_add(&d, mem_printf("\"ttl\":%u", rnd_below(r, 300)));
        if (rnd_chance(r, 50))
            rnd_add(&d, mem_strdup("\"retryPeriod\":\"1500ms\""));
        rnd_add(top, rnd_member("defaults", rnd_join(r, &d, '{')));
    }
}

#endif
