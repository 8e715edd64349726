#include "specs/scope_names.h"

#include <stdio.h>
#include <string.h>

#include "agent/base/buf.h"
#include "specs/object.h"

#define NAME_BYTES 63u
#define LIST_BYTES 300u /* of names in one message */

bool spec_scope_is_name(const char *s)
{
    size_t n = 0;

    for (; s[n] != '\0'; n++) {
        char c = s[n];
        bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && (n == 0 || ((c < '0' || c > '9') && c != '-')))
            return false;
    }
    return n > 0 && n <= NAME_BYTES;
}

const char *spec_named_kind_name(enum spec_named_kind k)
{
    static const char *const names[] = {[SPEC_NAMED_CHECK] = "check",
                                        [SPEC_NAMED_DC] = "dc",
                                        [SPEC_NAMED_SCENARIO] = "scenario"};

    return (size_t)k < SPEC_NNAMED ? names[k] : "?";
}

const struct spec_named *spec_named_find(const struct spec_named *list,
                                         size_t n, const char *name)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(list[mid].name, name);

        if (c == 0)
            return &list[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;

    return m < c ? m : c;
}

/* Letters to add, drop or change between two names. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[NAME_BYTES + 2];
    size_t n = strlen(b);

    if (strlen(a) > NAME_BYTES || n > NAME_BYTES)
        return NAME_BYTES;
    for (size_t k = 0; k <= n; k++)
        row[k] = (unsigned)k;
    for (size_t i = 0; a[i] != '\0'; i++) {
        unsigned corner = row[0];

        row[0] = (unsigned)i + 1;
        for (size_t k = 1; k <= n; k++) {
            unsigned above = row[k];

            row[k] =
                min3(above + 1, row[k - 1] + 1, corner + (a[i] != b[k - 1]));
            corner = above;
        }
    }
    return row[n];
}

struct names {
    struct buf list;
    const char *nearest;
    unsigned best;
    bool any;
};

static void add_names(struct names *out, const char *name, unsigned kinds,
                      const struct spec_named *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned d;

        if ((kinds & (1u << list[i].kind)) == 0)
            continue;
        d = distance(name, list[i].name);
        if (d < out->best) {
            out->best = d;
            out->nearest = list[i].name;
        }
        if (out->list.len + strlen(list[i].name) + 8 > LIST_BYTES) {
            if (!out->list.over)
                buf_str(&out->list, ", …");
            out->list.over = true;
            continue;
        }
        buf_printf(&out->list, "%s%s", out->any ? ", " : "", list[i].name);
        out->any = true;
    }
}

/* "check", "check, dc or scenario" */
static void name_kinds(unsigned kinds, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int k = 0; k < SPEC_NNAMED && used < size; k++) {
        unsigned left = kinds >> k;
        int n;

        if ((left & 1) == 0)
            continue;
        n = snprintf(out + used, size - used, "%s%s",
                     used == 0  ? ""
                     : left > 1 ? ", "
                                : " or ",
                     spec_named_kind_name((enum spec_named_kind)k));
        used += n > 0 ? (size_t)n : 0;
    }
}

int spec_named_unknown(struct spec_reader *r, const struct spec_value *v,
                       const char *name, unsigned kinds,
                       const struct spec_named *own, size_t nown,
                       const struct spec_doc *apex)
{
    struct names n = {.best = 3};
    char what[64], hint[96] = "";

    buf_init(&n.list, LIST_BYTES);
    add_names(&n, name, kinds, own, nown);
    if (apex != NULL)
        add_names(&n, name, kinds, apex->named, apex->nnamed);
    name_kinds(kinds, what, sizeof what);
    if (n.nearest != NULL)
        (void)snprintf(hint, sizeof hint, " (did you mean \"%s\"?)", n.nearest);
    (void)spec_member_fail(r, v, "no %s \"%s\" is known here%s; known: %s",
                           what, name, hint, n.any ? buf_get(&n.list) : "none");
    buf_fini(&n.list);
    return -1;
}

int spec_named_other(struct spec_reader *r, const struct spec_value *v,
                     const struct spec_named *n, unsigned kinds)
{
    char what[64];

    name_kinds(kinds, what, sizeof what);
    return spec_member_fail(r, v, "\"%s\" is a %s; accepted: the name of a %s",
                            n->name, spec_named_kind_name(n->kind), what);
}
