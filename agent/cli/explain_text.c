#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/cli/explain.h"

/* An explanation for people: short lines, what matters first. */

#define GREEN "\033[32m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define BOLD "\033[1m"

static bool has_color(void)
{
    return isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == NULL;
}

static const char *on(const char *color)
{
    return has_color() ? color : "";
}

static const char *off(void)
{
    return has_color() ? "\033[0m" : "";
}

static void line(int depth, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void line(int depth, const char *fmt, ...)
{
    va_list ap;

    (void)printf("%*s", 2 * depth, "");
    va_start(ap, fmt);
    (void)vprintf(fmt, ap);
    va_end(ap);
    (void)putchar('\n');
}

/* Checks whose details were printed: said once. */
struct printer {
    const cJSON **seen;
    size_t n, cap;
};

/* --- reading the document ------------------------------------------------ */

static const cJSON *get(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static const char *str(const cJSON *o, const char *key)
{
    const char *t = cJSON_GetStringValue(get(o, key));

    return t != NULL ? t : "";
}

static double num(const cJSON *o, const char *key)
{
    const cJSON *n = get(o, key);

    return cJSON_IsNumber(n) ? n->valuedouble : 0.0;
}

static unsigned count(const cJSON *o, const char *key)
{
    return (unsigned)num(o, key);
}

static bool is(const cJSON *o, const char *key)
{
    return cJSON_IsTrue(get(o, key));
}

/* "0.4s", "12s", "1m 17s", "2h 5m", "3d 4h" */
static const char *span(double s, char out[32])
{
    long t = lround(s);

    if (s < 9.95 && fabs(s - (double)t) > 0.05)
        (void)snprintf(out, 32, "%.1fs", s);
    else if (t < 60)
        (void)snprintf(out, 32, "%lds", t);
    else if (t < 3600)
        (void)snprintf(out, 32, t % 60 != 0 ? "%ldm %lds" : "%ldm", t / 60,
                       t % 60);
    else if (t < 86400)
        (void)snprintf(out, 32, t % 3600 >= 60 ? "%ldh %ldm" : "%ldh", t / 3600,
                       t % 3600 / 60);
    else
        (void)snprintf(out, 32, t % 86400 >= 3600 ? "%ldd %ldh" : "%ldd",
                       t / 86400, t % 86400 / 3600);
    return out;
}

static const char *truth_color(const char *truth)
{
    if (strcmp(truth, "true") == 0 || strcmp(truth, "up") == 0)
        return on(GREEN);
    if (strcmp(truth, "false") == 0 || strcmp(truth, "down") == 0)
        return on(RED);
    return on(YELLOW);
}

/* --- checks -------------------------------------------------------------- */

static unsigned at_most(const cJSON *c, const char *key, const char *limit)
{
    return count(c, key) < count(c, limit) ? count(c, key) : count(c, limit);
}

static void print_counters(int depth, const cJSON *c)
{
    bool up = strcmp(str(c, "state"), "up") == 0;
    bool down = strcmp(str(c, "state"), "down") == 0;
    char period[32], retry[32];

    if (!down)
        line(depth, "%u of %u failures in a row that make it down",
             at_most(c, "failed", "requiredFailure"),
             count(c, "requiredFailure"));
    if (!up)
        line(depth, "%u of %u good results in a row that make it up",
             at_most(c, "good", "requiredSuccess"),
             count(c, "requiredSuccess"));
    line(depth, "asked every %s; every %s while results differ",
         span(num(c, "accessPeriod"), period),
         span(num(c, "retryPeriod"), retry));
}

/* Another place where the same check counts. */
static bool is_same(const cJSON *a, const cJSON *b)
{
    return strcmp(str(a, "check"), str(b, "check")) == 0 &&
           strcmp(str(a, "where"), str(b, "where")) == 0 &&
           count(a, "requiredSuccess") == count(b, "requiredSuccess") &&
           count(a, "requiredFailure") == count(b, "requiredFailure");
}

static bool was_seen(struct printer *p, const cJSON *c)
{
    for (size_t i = 0; i < p->n; i++)
        if (is_same(p->seen[i], c))
            return true;
    p->seen = mem_grow(p->seen, &p->cap, p->n, sizeof *p->seen);
    p->seen[p->n++] = c;
    return false;
}

static void print_last(int depth, const cJSON *c)
{
    const char *last = str(c, "last");
    char ago[32];

    if (get(c, "lastAgo") != NULL)
        line(depth, "%s, %s ago", last, span(num(c, "lastAgo"), ago));
    else
        line(depth, "no result yet%s%s", last[0] != '\0' ? ": " : "", last);
    if (strcmp(str(c, "state"), "down") == 0 && !is(c, "everUp"))
        line(depth, "never been up (a typo? a firewall?)");
}

static void print_check(struct printer *p, int depth, const cJSON *c)
{
    const char *name = str(c, "name"), *state = str(c, "state");
    bool seen = was_seen(p, c);
    char since[32] = "";

    if (is(c, "refused")) {
        line(depth, "check %s: not asked: refused by the agent's limits",
             str(c, "check"));
        return;
    }
    if (!seen && get(c, "since") != NULL)
        (void)span(num(c, "since"), since);
    line(depth, "check %s%s%s %s: %s%s%s%s%s%s%s", name,
         name[0] != '\0' ? ": " : "", str(c, "check"), str(c, "where"),
         truth_color(state), state, off(), since[0] != '\0' ? " for " : "",
         since, is(c, "inTransition") ? ", in transition" : "",
         seen ? ", see above" : "");
    if (seen)
        return;
    print_last(depth + 1, c);
    print_counters(depth + 1, c);
}

/* The checks that a condition names. */
static void print_cond_checks(struct printer *p, int depth, const cJSON *c)
{
    const cJSON *part;

    if (get(c, "check") != NULL)
        print_check(p, depth, get(c, "check"));
    cJSON_ArrayForEach(part, get(c, "of"))
    {
        print_cond_checks(p, depth, part);
    }
}

/* --- conditions ---------------------------------------------------------- */

static void print_cond(int depth, const cJSON *c)
{
    const char *truth = str(c, "truth");
    const cJSON *part;

    line(depth, "%s%-7s%s %s", truth_color(truth), truth, off(),
         str(c, "text"));
    cJSON_ArrayForEach(part, get(c, "of"))
    {
        print_cond(depth + 1, part);
    }
}

static void print_table(struct printer *p, int depth, const char *what,
                        const cJSON *c)
{
    const char *truth = str(c, "truth");
    const cJSON *part;

    if (c == NULL)
        return;
    line(depth, "%s %s: %s%s%s", what, str(c, "text"), truth_color(truth),
         truth, off());
    cJSON_ArrayForEach(part, get(c, "of"))
    {
        print_cond(depth + 1, part);
    }
    print_cond_checks(p, depth + 1, c);
}

/* --- what comes next ----------------------------------------------------- */

static void print_next(int depth, const cJSON *next, const char *label)
{
    double in = num(next, "earliest");
    char text[32], wait[32];

    if (next == NULL)
        return;
    if (in < 0.05)
        line(depth, "next: %s at the next look", label);
    else
        line(depth, "next: %s in %s at the earliest", label, span(in, text));
    if (get(next, "missing") != NULL)
        line(depth + 1, "missing: %u result%s of %s %s", count(next, "missing"),
             count(next, "missing") == 1 ? "" : "s", str(next, "check"),
             str(next, "where"));
    if (get(next, "thenWaits") != NULL)
        line(depth + 1, "then it waits %s before it returns",
             span(num(next, "thenWaits"), wait));
}

static void print_reasons(int depth, const cJSON *record)
{
    const cJSON *r;
    char text[32];

    cJSON_ArrayForEach(r, get(record, "keptOut"))
    {
        line(depth, "%s%s%s", on(YELLOW), str(r, "why"), off());
        if (cJSON_IsNumber(get(r, "endsIn")))
            line(depth + 1, "ends in %s", span(num(r, "endsIn"), text));
    }
}

static const char *label_of(const char *change)
{
    return strcmp(change, "verdict") == 0 ? "a verdict" : change;
}

/* --- records ------------------------------------------------------------- */

static void print_record(struct printer *p, const cJSON *r)
{
    const char *health = str(r, "health"), *class = str(r, "class");
    bool published = is(r, "published"), wanted = is(r, "wanted");
    const cJSON *c;

    line(1, "%s%s%s: %s, %s%s%s%s%s", on(BOLD), str(r, "data"), off(),
         published ? "published" : "not published", truth_color(health), health,
         off(), strcmp(class, "normal") != 0 ? ", " : "",
         strcmp(class, "normal") != 0 ? class : "");
    if (wanted != published)
        line(2, "the next look %s it", wanted ? "publishes" : "withdraws");
    if (is(r, "pending"))
        line(2, "written, not yet seen in DNS");
    if (is(r, "neverUp"))
        line(2, "its checks have never been up: it is taken out only while "
                "another is up");
    print_reasons(2, r);
    cJSON_ArrayForEach(c, get(r, "checks"))
    {
        print_check(p, 2, c);
    }
    print_table(p, 2, "if", get(r, "if"));
    print_table(p, 2, "drCond", get(r, "drCond"));
    if (get(r, "dc") != NULL)
        line(2, "dc %s, see below", str(r, "dc"));
    print_next(2, get(r, "next"), label_of(str(get(r, "next"), "change")));
}

/* --- data centres -------------------------------------------------------- */

static void print_dc(struct printer *p, const cJSON *d)
{
    bool in = strcmp(str(d, "inService"), "true") == 0;
    const cJSON *dim, *c;
    char text[32];

    line(0, "%sdata centre %s%s: %s, %s%s%s", on(BOLD), str(d, "name"), off(),
         str(d, "state"),
         in                                          ? "in service"
         : strcmp(str(d, "inService"), "false") == 0 ? "out of service"
                                                     : "service unknown",
         is(d, "maintenance") ? ", in maintenance" : "",
         is(d, "noResponse") ? ", noResponse" : "");
    if (get(d, "outFor") != NULL)
        line(1, "out for %s", span(num(d, "outFor"), text));
    if (get(d, "onlyNew") != NULL)
        line(1, "onlyNew %s%s", span(num(d, "onlyNew"), text),
             is(d, "keptOut") ? ": kept out until readmit" : "");
    print_table(p, 1, "fresh", get(d, "fresh"));
    cJSON_ArrayForEach(dim, get(d, "dimensions"))
    {
        const char *truth = str(dim, "truth");

        line(1, "%s: %s%s%s (%u of %d needed)%s", str(dim, "name"),
             truth_color(truth), truth, off(), count(dim, "need"),
             cJSON_GetArraySize(get(dim, "checks")),
             is(dim, "forService") ? "" : ", not for service");
        cJSON_ArrayForEach(c, get(dim, "checks"))
        {
            print_check(p, 2, c);
        }
    }
    print_next(1, get(d, "next"), in ? "out of service" : "back in service");
}

/* --- sets ---------------------------------------------------------------- */

static void print_list(const char *what, const cJSON *set, const char *key)
{
    const cJSON *r;
    bool any = false;

    cJSON_ArrayForEach(r, get(set, "records"))
    {
        if (!is(r, key))
            continue;
        (void)printf("%s%s", any ? " " : what, str(r, "data"));
        any = true;
    }
    if (!any)
        (void)printf("%snothing", what);
    (void)putchar('\n');
}

static bool has_changes(const cJSON *set)
{
    const cJSON *r;

    cJSON_ArrayForEach(r, get(set, "records"))
    {
        if (is(r, "published") != is(r, "wanted"))
            return true;
    }
    return false;
}

static void print_rules(const cJSON *set)
{
    char text[32];

    (void)printf("  order %s", str(set, "order"));
    if (get(set, "take") != NULL)
        (void)printf(", take %u", count(set, "take"));
    (void)printf(", allDown %s", str(set, "allDown"));
    if (get(set, "ttl") != NULL)
        (void)printf(", TTL %us", count(set, "ttl"));
    (void)putchar('\n');
    if (get(set, "worstCase") == NULL)
        return;
    line(1, "worst-case failover: %s%s", span(num(set, "worstCase"), text),
         get(set, "ttl") == NULL ? ", and the TTL that stands there" : "");
    if (get(set, "cron") != NULL)
        line(2, "with a round every %s", span(num(set, "cron"), text));
}

static void print_set(struct printer *p, const cJSON *set)
{
    const cJSON *hold = get(set, "hold"), *r;
    const char *view = str(set, "view");
    unsigned tier = count(set, "tier");
    char text[32];

    line(0, "%s%s %s%s%s%s%s", on(BOLD), str(set, "name"), str(set, "type"),
         view[0] != '\0' ? " view " : "", view, off(), "");
    if (tier > 0)
        line(1, "tier %u: %s", tier, str(set, "reason"));
    else
        line(1, "%s", str(set, "reason"));
    if (cJSON_IsNumber(get(hold, "endsIn")))
        line(2, "ends in %s%s", span(num(hold, "endsIn"), text),
             strstr(str(hold, "why"), "maxChange") != NULL
                 ? " at the earliest, if its checks fail on"
                 : "");
    print_list("  published: ", set, "published");
    if (has_changes(set))
        print_list("  next look: ", set, "wanted");
    line(1, "spec at _failover.%s", str(set, "owner"));
    print_rules(set);
    cJSON_ArrayForEach(r, get(set, "records"))
    {
        print_record(p, r);
    }
}

void explain_print(const cJSON *doc)
{
    struct printer p = {NULL, 0, 0};
    const cJSON *item;

    cJSON_ArrayForEach(item, get(doc, "sets"))
    {
        print_set(&p, item);
    }
    cJSON_ArrayForEach(item, get(doc, "dcs"))
    {
        print_dc(&p, item);
    }
    cJSON_ArrayForEach(item, get(doc, "stale"))
    {
        line(0, "the last good spec is in force: %s",
             cJSON_GetStringValue(item));
    }
    cJSON_ArrayForEach(item, get(doc, "overrides"))
    {
        line(0, "operator: %s", cJSON_GetStringValue(item));
    }
    if (get(doc, "freezeFile") != NULL)
        line(0, "frozen by the file %s", str(doc, "freezeFile"));
    free(p.seen);
}
