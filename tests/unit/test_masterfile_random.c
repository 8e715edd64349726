#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/compilezone.h"
#include "tests/unit/masterfile_edits.h"

/* Random zone files, random changes. After each change the file must list
 * exactly what a model says; named-compilezone, where it is installed, must
 * find every other record as it was; and when all is put back, the bytes are
 * the first ones again. */

#define ZONES 3000
#define COMPILED 60 /* of them with named-compilezone too */
#define STEPS 12
#define VALUES_MAX 64

struct rng {
    uint64_t s;
};

static uint32_t next(struct rng *r, uint32_t below)
{
    r->s ^= r->s << 13; /* xorshift64 */
    r->s ^= r->s >> 7;
    r->s ^= r->s << 17;
    return (uint32_t)((r->s >> 33) % below);
}

static const char *pick(struct rng *r, const char *const *v)
{
    uint32_t n = 0;

    while (v[n] != NULL)
        n++;
    return v[next(r, n)];
}

static const char *const owners[] = {
    "a", "b", "c", "A", "d.example.test.", "@",   "",
    "",  "",  "",  "",  "\\098",           "*.w", NULL};
static const char *const ttls[] = {"", "", "", "", "60 ", "5m ", "1H\t", NULL};
static const char *const classes[] = {"", "", "IN ", "in\t", NULL};
static const char *const ends[] = {"", "", "", " ; x", ";\"(", "\t", NULL};
static const char *const foreign[] = {"TXT \"a;b\" \"(\"",
                                      "TXT ( \"x\"\n  \"y\" ) ; z",
                                      "MX 10 m",
                                      "txt a\\\"b\\;c",
                                      "SRV ( 0 0\n 5 ; )\n x )",
                                      "TXT \"\\\\\"",
                                      "HINFO \"A 1\" \"B\"",
                                      NULL};

static void add_record(struct rng *r, struct buf *b, bool *has_owner)
{
    const char *owner = *has_owner ? pick(r, owners) : "a";
    const char *ttl = pick(r, ttls), *class = pick(r, classes);

    buf_str(b, owner);
    buf_str(b, next(r, 4) == 0 ? "\t" : owner[0] == '\0' ? "   " : " ");
    if (next(r, 2) == 0)
        buf_printf(b, "%s%s", ttl, class);
    else
        buf_printf(b, "%s%s", class, ttl);
    switch (next(r, 6)) {
    case 0:
        buf_str(b, pick(r, foreign));
        break;
    case 1:
        buf_printf(b, "AAAA 2001:DB8:0::%u", next(r, 4));
        break;
    case 2:
        buf_printf(b, "A ( ; 1 )\n 192.0.2.%u\n )", next(r, 4));
        break;
    default:
        buf_printf(b, "A 192.0.2.%u", next(r, 4));
    }
    buf_printf(b, "%s\n", pick(r, ends));
    *has_owner = true;
}

static char *to_crlf(char *text)
{
    struct buf b;

    buf_init(&b, MASTERFILE_MAX);
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\n')
            buf_char(&b, '\r');
        buf_char(&b, *p);
    }
    free(text);
    return buf_take(&b);
}

static char *random_zone(struct rng *r)
{
    uint32_t n = 1 + next(r, 14);
    bool has_owner = false;
    struct buf b;
    char *text;

    buf_init(&b, MASTERFILE_MAX);
    if (next(r, 2) == 0)
        buf_str(&b, "$TTL 1h\n");
    buf_printf(&b,
               "@ %sSOA ns1 host ( 1234567890 ; 1\n 1 2 3 400 )\n NS "
               "ns.example.net.\n",
               next(r, 2) == 0 ? "30 IN " : "");
    for (uint32_t i = 0; i < n; i++) {
        switch (next(r, 12)) {
        case 0:
            buf_str(&b, next(r, 2) == 0 ? "$ORIGIN b\n"
                                        : "$ORIGIN example.test.\n");
            break;
        case 1:
            buf_str(&b, next(r, 2) == 0 ? "; note; A 1\n" : "  \t\n\n");
            break;
        case 2:
            if (next(r, 3) == 0)
                buf_str(&b, "$TTL 7m ; \"\n");
            break;
        default:
            add_record(r, &b, &has_owner);
        }
    }
    text = buf_take(&b);
    if (next(r, 4) == 0)
        text[strlen(text) - 1] = '\0';
    return next(r, 4) == 0 ? to_crlf(text) : text;
}

struct item {
    char name[NAME_SIZE];
    enum rr_type type;
    char data[64];
    bool on, was_on, fresh;
};
struct model {
    struct item v[VALUES_MAX];
    size_t n;
    bool touched_ttl, inserted;
};

static const char *const names[] = {"a.example.test.",   "b.example.test.",
                                    "c.example.test.",   "d.example.test.",
                                    "example.test.",     "a.b.example.test.",
                                    "b.b.example.test.", "c.b.example.test.",
                                    "*.w.example.test.", "*.w.b.example.test."};
#define NNAMES (sizeof names / sizeof names[0])

static void list(const char *text, struct rrset_list *l)
{
    struct masterfile *m;
    struct err e = {0};

    rrset_list_init(l);
    if (masterfile_parse(ZONE, "db", text, strlen(text), NULL, &m, &e) != 0 ||
        masterfile_list(m, names, NNAMES, l, &e) != 0)
        fail_msg("%s in:\n%s", e.msg, text);
    masterfile_free(m);
}

static void add_item(struct model *m, const char *name, enum rr_type type,
                     const char *data, bool on, bool fresh)
{
    struct item *it = &m->v[m->n];

    if (m->n == VALUES_MAX)
        return;
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->v[i].name, name) == 0 && m->v[i].type == type &&
            strcmp(m->v[i].data, data) == 0)
            return;
    (void)snprintf(it->name, sizeof it->name, "%s", name);
    (void)snprintf(it->data, sizeof it->data, "%s", data);
    it->type = type;
    it->on = it->was_on = on;
    it->fresh = fresh;
    m->n++;
}

static void model_init(struct model *m, const char *text)
{
    struct rrset_list l;

    memset(m, 0, sizeof *m);
    list(text, &l);
    for (size_t i = 0; i < l.n; i++)
        for (size_t k = 0; k < l.sets[i].n; k++)
            add_item(m, l.sets[i].name, l.sets[i].type,
                     l.sets[i].values[k].data, true, false);
    rrset_list_fini(&l);
    add_item(m, "a.example.test.", RR_A, "192.0.2.77", false, true);
    add_item(m, "new.b.example.test.", RR_AAAA, "2001:db8::77", false, true);
}

static void check_model(const struct model *m, const char *text)
{
    struct rrset_list l;
    size_t found = 0, want = 0;

    list(text, &l);
    for (size_t i = 0; i < m->n; i++) {
        const struct rrset *s = rrset_find(&l, m->v[i].name, m->v[i].type);
        const struct rr_value *v =
            s != NULL ? rrset_value_find(s, m->v[i].data) : NULL;

        if (strcmp(m->v[i].name, "new.b.example.test.") == 0)
            continue; /* not one of names */
        want += !(m->v[i].fresh && v == NULL);
        if ((v != NULL && v->enabled) != m->v[i].on)
            fail_msg("%s %s in:\n%s", m->v[i].name, m->v[i].data, text);
    }
    for (size_t i = 0; i < l.n; i++)
        found += l.sets[i].n;
    if (m->n < VALUES_MAX)
        assert_int_equal(found, want);
    rrset_list_fini(&l);
}

static char *apply(struct model *m, char *text, const struct change *v,
                   size_t n)
{
    struct change_result r[8];
    struct err e = {0};
    char *out;

    if (edit_all(text, NULL, v, n, 1234567890, r, &out, &e) != 0)
        fail_msg("%s in:\n%s", e.msg, text);
    for (size_t i = 0; i < n; i++)
        if (r[i].state != CHANGE_DONE)
            fail_msg("%s in:\n%s", r[i].err.msg, text);
    (void)m;
    if (out == NULL)
        return text;
    free(text);
    return out;
}

static char *random_step(struct rng *r, struct model *m, char *text)
{
    struct change v[3];
    size_t n = 1 + next(r, 3), used = 0;

    for (size_t i = 0; i < n; i++) {
        struct item *it = &m->v[next(r, (uint32_t)m->n)];
        bool twice = false;

        for (size_t k = 0; k < used; k++)
            twice |= v[k].data == it->data;
        if (twice || (it->fresh && next(r, 4) != 0))
            continue;
        v[used] = (struct change){it->on ? CHANGE_WITHDRAW : CHANGE_PUBLISH,
                                  used,
                                  it->name,
                                  it->type,
                                  it->data,
                                  -1};
        if (!it->on && next(r, 10) == 0) {
            v[used].ttl_s = 60;
            m->touched_ttl = true;
        }
        it->on = !it->on;
        m->inserted |= it->fresh;
        used++;
    }
    return apply(m, text, v, used);
}

/* All back in random order, one by one. */
static char *put_back(struct rng *r, struct model *m, char *text)
{
    size_t start = next(r, (uint32_t)m->n), step = next(r, 2) ? 1 : m->n - 1;

    for (size_t k = 0, i = start; k < m->n; k++, i = (i + step) % m->n) {
        struct item *it = &m->v[i];
        struct change c = {it->was_on ? CHANGE_PUBLISH : CHANGE_WITHDRAW,
                           0,
                           it->name,
                           it->type,
                           it->data,
                           -1};

        if (it->on == it->was_on)
            continue;
        it->on = it->was_on;
        text = apply(m, text, &c, 1);
        check_model(m, text);
    }
    return text;
}

/* ---- BIND's own reading ------------------------------------------------- */

struct lines {
    char **v;
    size_t n, cap;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines "name TTL type data", without the sets of the model. Not when BIND
 * evens out the TTLs of a set: without $TTL, what it then takes for the "last
 * TTL" is its own.
 * returns whether it read the file, and so */
static bool bind_reads(const char *text, const struct model *m, struct lines *l)
{
    char path[] = "/tmp/masterfile.XXXXXX", *out, *rest, *line;
    int fd = mkstemp(path);
    bool odd = false;

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    (void)close(fd);
    out = compilezone(path, &odd);
    (void)unlink(path);
    rest = out;
    while (out != NULL && (line = strsep(&rest, "\n")) != NULL) {
        char name[256], type[32], data[1024], canon[NAME_SIZE];
        unsigned ttl;
        bool managed = false;

        if (sscanf(line, "%255s %u IN %31s %1023[^\n]", name, &ttl, type,
                   data) != 4 ||
            name_canon(name, canon, NULL) != 0)
            continue;
        for (size_t i = 0; i < m->n; i++)
            managed |= strcmp(m->v[i].name, canon) == 0 &&
                       strcmp(rr_type_name(m->v[i].type), type) == 0;
        l->v = mem_grow(l->v, &l->cap, l->n, sizeof *l->v);
        if (!managed)
            l->v[l->n++] = mem_printf("%s %u %s %s", canon, ttl, type, data);
    }
    free(out);
    if (l->n > 0)
        qsort(l->v, l->n, sizeof *l->v, compare_lines);
    return l->n > 0 && !odd;
}

static void lines_fini(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i]);
    free(l->v);
}

/* returns whether BIND could be asked */
static bool same_for_bind(const struct model *m, const char *before,
                          const char *after)
{
    struct lines x = {0}, y = {0};
    bool asked = false;

    if (bind_reads(before, m, &x) && (bind_reads(after, m, &y) || y.n == 0)) {
        if (x.n != y.n)
            fail_msg("BIND reads %zu and %zu records:\n%s\n---\n%s", x.n, y.n,
                     before, after);
        asked = y.n > 0;
        for (size_t i = 0; i < x.n; i++)
            if (strcmp(x.v[i], y.v[i]) != 0)
                fail_msg("%s / %s:\n%s\n---\n%s", x.v[i], y.v[i], before,
                         after);
    }
    lines_fini(&x);
    lines_fini(&y);
    return asked;
}

/* ---- */

static void random_zones(void **state)
{
    const char *given = getenv("SEED");
    uint64_t first = given != NULL ? strtoull(given, NULL, 10) : 1;
    bool bind = compilezone_is_here();
    int asked = 0;

    (void)state;
    for (uint64_t seed = first; seed < first + ZONES; seed++) {
        struct rng r = {seed * 0x9e3779b97f4a7c15u + 1};
        char *zone = random_zone(&r), *text = mem_strdup(zone);
        struct model m;

        model_init(&m, zone);
        for (int i = 0; i < STEPS; i++) {
            text = random_step(&r, &m, text);
            check_model(&m, text);
        }
        if (bind && seed < first + COMPILED)
            asked += same_for_bind(&m, zone, text);
        text = put_back(&r, &m, text);
        if (!m.touched_ttl && !m.inserted && strcmp(text, zone) != 0)
            fail_msg("seed %llu:\n%s\n---\n%s", (unsigned long long)seed, zone,
                     text);
        free(text);
        free(zone);
    }
    print_message("%d of %d compared by named-compilezone\n", asked,
                  bind ? COMPILED : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_zones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
