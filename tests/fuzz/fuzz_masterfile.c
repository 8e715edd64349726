#include "tests/fuzz/fuzz_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/zonefile/masterfile.h"

/* Any bytes as a master file; then some value of it out and back. What the
 * editor says about its own work (ERR_BUG) must never come, what it lists must
 * be what was asked for, and the way back must end at the first bytes. */

#define ZONE "example.test."
#define SERIAL 1000000007u

static const char *const names[] = {"example.test.",     "a.example.test.",
                                    "www.example.test.", "b.a.example.test.",
                                    "*.example.test.",   "h1.example.test."};
#define NNAMES (sizeof names / sizeof names[0])

static void need(int truth)
{
    if (!truth)
        abort();
}

static int read_include(void *arg, const char *path, char **data, size_t *len,
                        struct err *e)
{
    static const char text[] = "i A 192.0.2.1\n  A 192.0.2.2\n$INCLUDE more\n";

    (void)arg;
    if (strcmp(path, "inc") != 0)
        return err_set(e, ERR_NOTFOUND, "%s: no such file", path);
    *data = mem_strdup(text);
    *len = sizeof text - 1 - strlen("$INCLUDE more\n");
    return 0;
}

static struct masterfile *parse(const char *text, size_t len)
{
    struct masterfile_source src = {read_include, NULL};
    struct masterfile *m = NULL;
    struct err e = {.code = ERR_NONE};
    int r = masterfile_parse(ZONE, "db", text, len, &src, &m, &e);

    need((r == 0) == (m != NULL) && (r == 0) == (e.code == ERR_NONE));
    return m;
}

/* The text after one change; NULL: refused, or nothing to do. */
static char *edit(const char *text, size_t len, const struct change *c,
                  uint32_t serial, size_t *out_len)
{
    struct masterfile *m = parse(text, len);
    struct change_result res;
    struct err e = {.code = ERR_NONE};
    bool changed = false;
    struct buf b;
    char *out = NULL;
    int r;

    need(m != NULL);
    buf_init(&b, MASTERFILE_MAX);
    r = masterfile_edit(m, c, 1, serial, &res, &b, &changed, &e);
    if (r != 0 && e.code == ERR_BUG)
        (void)fprintf(stderr, "%s of %s: %s\n%.*s\n",
                      c->op == CHANGE_PUBLISH ? "publish" : "withdrawal",
                      c->data, e.msg, (int)b.len, buf_get(&b));
    need(r == 0 || e.code != ERR_BUG);
    *out_len = b.len;
    if (r == 0 && changed && res.state == CHANGE_DONE)
        out = buf_take(&b);
    buf_fini(&b);
    masterfile_free(m);
    return out;
}

static bool is_enabled(const char *text, size_t len, const struct change *c)
{
    struct masterfile *m = parse(text, len);
    const struct rr_value *v = NULL;
    const struct rrset *s = NULL;
    struct rrset_list l;
    bool on;

    need(m != NULL);
    rrset_list_init(&l);
    if (masterfile_list(m, &c->name, 1, &l, NULL) == 0)
        s = rrset_find(&l, c->name, c->type);
    if (s != NULL)
        v = rrset_value_find(s, c->data);
    on = v != NULL && v->enabled;
    rrset_list_fini(&l);
    masterfile_free(m);
    return on;
}

static void out_and_back(const char *text, size_t len, struct change c)
{
    size_t n1, n2;
    char *off, *on;

    c.op = CHANGE_WITHDRAW;
    off = edit(text, len, &c, SERIAL, &n1);
    if (off == NULL)
        return;
    need(!is_enabled(off, n1, &c));
    c.op = CHANGE_PUBLISH;
    on = edit(off, n1, &c, SERIAL + 1, &n2);
    if (on != NULL)
        need(is_enabled(on, n2, &c));
    free(on);
    free(off);
}

/* A spec's text into the file: it is there afterwards, as the only one. */
static void put_spec(const char *text, size_t len)
{
    static const char spec[] = "[{\"a\":\"\\ ; ( \001\"}]";
    static const char name[] = "_failover.www.example.test.";
    struct masterfile *m = parse(text, len);
    struct err e = {.code = ERR_NONE};
    bool changed = false;
    struct buf b, again;
    int r;

    buf_init(&b, MASTERFILE_MAX);
    buf_init(&again, MASTERFILE_MAX);
    r = masterfile_edit_txt(m, name, spec, sizeof spec - 1, 300, SERIAL, &b,
                            &changed, &e);
    need(r == 0 || e.code != ERR_BUG);
    masterfile_free(m);
    if (r == 0 && changed) {
        m = parse(buf_get(&b), b.len);
        need(m != NULL);
        need(masterfile_edit_txt(m, name, spec, sizeof spec - 1, 300,
                                 SERIAL + 1, &again, &changed, &e) == 0);
        need(!changed);
        masterfile_free(m);
    }
    buf_fini(&b);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct masterfile *m = parse((const char *)data, size);
    struct change fresh = {CHANGE_PUBLISH, 0, "www.example.test.", RR_AAAA,
                           "2001:db8::f",  77};
    struct arena *a = arena_new();
    const char **owners;
    struct rrset_list l;
    size_t n;
    char *out;

    rrset_list_init(&l);
    if (m == NULL)
        goto out;
    put_spec((const char *)data, size);
    masterfile_specs(m, a, &owners, &n);
    if (masterfile_list(m, names, NNAMES, &l, NULL) != 0)
        goto out;
    for (size_t i = 0; i < l.n && i < 8; i++) {
        for (size_t k = 0; k < l.sets[i].n && k < 4; k++)
            if (l.sets[i].values[k].enabled)
                out_and_back((const char *)data, size,
                             (struct change){CHANGE_WITHDRAW, 0, l.sets[i].name,
                                             l.sets[i].type,
                                             l.sets[i].values[k].data, -1});
    }
    out = edit((const char *)data, size, &fresh, SERIAL, &n);
    if (out != NULL) {
        need(is_enabled(out, n, &fresh));
        out_and_back(out, n, fresh);
    }
    free(out);
out:
    rrset_list_fini(&l);
    masterfile_free(m);
    arena_free(a);
    return 0;
}
