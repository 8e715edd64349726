#include "specs/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct spec_value *spec_value_add(struct arena *a, struct spec_value *parent,
                                  enum spec_value_type type, const char *name,
                                  const char *text)
{
    struct spec_value *v = arena_room(a, sizeof *v);

    *v = (struct spec_value){
        .type = type, .name = name, .text = text, .parent = parent};
    if (parent == NULL)
        return v;
    v->index = parent->n++;
    if (parent->last != NULL)
        parent->last->next = v;
    else
        parent->child = v;
    parent->last = v;
    return v;
}

static int by_name(const void *a, const void *b)
{
    const struct spec_value *x = *(const struct spec_value *const *)a;
    const struct spec_value *y = *(const struct spec_value *const *)b;
    int c = strcmp(x->name, y->name);

    if (c != 0)
        return c;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool is_after(const char *a, const char *b)
{
    if (a[0] != b[0])
        return (unsigned char)a[0] > (unsigned char)b[0];
    return strcmp(a, b) > 0;
}

/* Most objects have few members. */
static void sort_members(const struct spec_value **s, size_t n)
{
    if (n > 16) {
        qsort(s, n, sizeof *s, by_name);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const struct spec_value *v = s[i];
        size_t k = i;

        for (; k > 0 && is_after(s[k - 1]->name, v->name); k--)
            s[k] = s[k - 1];
        s[k] = v;
    }
}

const struct spec_value *spec_value_close(struct arena *a,
                                          struct spec_value *object)
{
    const struct spec_value **s = arena_room(a, (object->n + 1) * sizeof *s);
    size_t n = 0;

    for (const struct spec_value *v = object->child; v != NULL; v = v->next)
        s[n++] = v;
    sort_members(s, n);
    object->sorted = s;
    for (size_t i = 1; i < n; i++)
        if (strcmp(s[i]->name, s[i - 1]->name) == 0)
            return s[i];
    return NULL;
}

const struct spec_value *spec_value_find(const struct spec_value *object,
                                         const char *name)
{
    size_t lo = 0, hi = object->sorted != NULL ? object->n : 0;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = strcmp(object->sorted[mid]->name, name);

        if (c == 0)
            return object->sorted[mid];
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static void copy_children(struct arena *a, const struct spec_value *from,
                          struct spec_value *to)
{
    for (const struct spec_value *k = from->child; k != NULL; k = k->next) {
        struct spec_value *c = spec_value_add(
            a, to, k->type, k->name != NULL ? arena_strdup(a, k->name) : NULL,
            k->text != NULL ? arena_strdup(a, k->text) : NULL);

        copy_children(a, k, c);
    }
    if (to->type == SPEC_VALUE_OBJECT)
        (void)spec_value_close(a, to);
}

struct spec_value *spec_value_copy(struct arena *a, const struct spec_value *v)
{
    struct spec_value *copy = spec_value_add(
        a, NULL, v->type, v->name != NULL ? arena_strdup(a, v->name) : NULL,
        v->text != NULL ? arena_strdup(a, v->text) : NULL);

    copy->parent = v->parent;
    copy->index = v->index;
    copy_children(a, v, copy);
    return copy;
}

bool spec_value_is_scalar(const struct spec_value *v)
{
    return v->type == SPEC_VALUE_STRING || v->type == SPEC_VALUE_NUMBER ||
           v->type == SPEC_VALUE_TOKEN;
}

/* Strings, numbers and tokens share a rank: 443, "443" and bare 443 mean
 * the same to every member that takes them. */
static int rank(const struct spec_value *v)
{
    return spec_value_is_scalar(v) ? (int)SPEC_VALUE_STRING : (int)v->type;
}

static int compare_members(const struct spec_value *a,
                           const struct spec_value *b)
{
    for (size_t i = 0; i < a->n; i++) {
        int c = strcmp(a->sorted[i]->name, b->sorted[i]->name);

        if (c == 0)
            c = spec_value_compare(a->sorted[i], b->sorted[i]);
        if (c != 0)
            return c;
    }
    return 0;
}

int spec_value_compare(const struct spec_value *a, const struct spec_value *b)
{
    const struct spec_value *x, *y;

    if (rank(a) != rank(b))
        return rank(a) < rank(b) ? -1 : 1;
    if (spec_value_is_scalar(a))
        return strcmp(a->text, b->text);
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    if (a->type == SPEC_VALUE_OBJECT)
        return compare_members(a, b);
    for (x = a->child, y = b->child; x != NULL; x = x->next, y = y->next) {
        int c = spec_value_compare(x, y);

        if (c != 0)
            return c;
    }
    return 0;
}

size_t spec_value_utf8(const char *p, size_t n)
{
    const unsigned char *s = (const unsigned char *)p;
    unsigned char lo = 0x80, hi = 0xbf;
    size_t len;

    if (n == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n < len)
        return 0;
    if (s[0] == 0xe0)
        lo = 0xa0; /* shorter form exists */
    if (s[0] == 0xed)
        hi = 0x9f; /* surrogates */
    if (s[0] == 0xf0)
        lo = 0x90;
    if (s[0] == 0xf4)
        hi = 0x8f; /* beyond U+10FFFF */
    if (s[1] < lo || s[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return len;
}

/* Copies p into out (room bytes with NUL) as far as whole characters fit;
 * what a terminal could take amiss becomes '?'. Returns the bytes written,
 * *cut says whether something was left out. */
static size_t copy_clean(char *out, size_t room, const char *p, size_t n,
                         bool *cut)
{
    size_t used = 0, i = 0;

    while (i < n) {
        unsigned char c = (unsigned char)p[i];
        size_t len, put;
        bool bad;

        if (c >= 0x20 && c < 0x7f && used + 2 <= room) {
            out[used++] = p[i++];
            continue;
        }
        len = spec_value_utf8(p + i, n - i);
        bad = len == 0 || c < 0x20 || c == 0x7f ||
              (c == 0xc2 && (unsigned char)p[i + 1] < 0xa0);
        put = bad ? 1 : len;

        if (used + put + 1 > room)
            break;
        if (bad)
            out[used] = '?';
        else
            memcpy(out + used, p + i, put);
        used += put;
        i += len > 0 ? len : 1;
    }
    out[used] = '\0';
    *cut = i < n;
    return used;
}

const char *spec_value_quote_bytes(const char *p, size_t n,
                                   char out[SPEC_QUOTE_SIZE])
{
    bool cut;
    size_t used;

    out[0] = '"';
    used = 1 + copy_clean(out + 1, SPEC_QUOTE_MAX + 1, p, n, &cut);
    (void)snprintf(out + used, SPEC_QUOTE_SIZE - used, "%s\"", cut ? "…" : "");
    return out;
}

const char *spec_value_quote(const struct spec_value *v,
                             char out[SPEC_QUOTE_SIZE])
{
    static const char *const words[] = {
        [SPEC_VALUE_NULL] = "null",       [SPEC_VALUE_FALSE] = "false",
        [SPEC_VALUE_TRUE] = "true",       [SPEC_VALUE_NUMBER] = "a number",
        [SPEC_VALUE_STRING] = "a string", [SPEC_VALUE_TOKEN] = "a value",
        [SPEC_VALUE_ARRAY] = "a list",    [SPEC_VALUE_OBJECT] = "an object",
    };

    if (v->type == SPEC_VALUE_NUMBER)
        (void)snprintf(out, SPEC_QUOTE_SIZE, "%s", v->text);
    else if (spec_value_is_scalar(v))
        (void)spec_value_quote_bytes(v->text, strlen(v->text), out);
    else
        (void)snprintf(out, SPEC_QUOTE_SIZE, "%s", words[v->type]);
    return out;
}

void spec_value_quote_json(struct buf *b, const char *text)
{
    const char *from = text;

    buf_char(b, '"');
    for (const char *p = text;; p++) {
        unsigned char c = (unsigned char)*p;

        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        buf_add(b, from, (size_t)(p - from));
        if (c == '\0')
            break;
        if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else
            buf_printf(b, "\\u%04x", (unsigned)c);
        from = p + 1;
    }
    buf_char(b, '"');
}

/* The index of an element as digits; returns their start within out. */
static const char *index_text(size_t index, char out[24])
{
    char *digit = out + 23;

    *digit = '\0';
    do {
        *--digit = (char)('0' + index % 10);
        index /= 10;
    } while (index > 0);
    return digit;
}

/* Values on the way to one, the last one on top. */
struct path {
    const struct spec_value *at[64];
    size_t n;
};

/* Most pointers: short, of letters and digits.
 * returns false for others */
static bool plain_pointer(const struct path *path, char out[SPEC_POINTER_SIZE])
{
    char number[24];
    size_t used = 0;

    for (size_t n = path->n; n > 0; n--) {
        const struct spec_value *v = path->at[n - 1];
        const char *s = v->name;

        if (s == NULL)
            s = index_text(v->index, number);
        out[used++] = '/';
        for (; *s != '\0'; s++) {
            if (used + 8 > SPEC_POINTER_SIZE || *s < '-' || *s > 'z' ||
                *s == '/')
                return false;
            out[used++] = *s;
        }
        if (used + 8 > SPEC_POINTER_SIZE)
            return false;
    }
    out[used] = '\0';
    return true;
}

/* One reference token, "/" before it and ~ and / escaped. */
static size_t pointer_token(const struct spec_value *v, char *out, size_t room)
{
    char number[24];
    const char *s = v->name;
    size_t used = 0;

    if (s == NULL)
        s = index_text(v->index, number);
    out[used++] = '/';
    for (; *s != '\0' && used + 3 < room; s++) {
        if (*s == '~' || *s == '/') {
            out[used++] = '~';
            out[used++] = *s == '~' ? '0' : '1';
        } else {
            out[used++] = *s;
        }
    }
    out[used] = '\0';
    return used;
}

const char *spec_value_pointer(const struct spec_value *v,
                               char out[SPEC_POINTER_SIZE])
{
    char raw[SPEC_POINTER_SIZE * 2];
    struct path path;
    size_t used = 0;
    bool cut;

    for (path.n = 0; v->parent != NULL && path.n < 64; v = v->parent)
        path.at[path.n++] = v;
    if (plain_pointer(&path, out))
        return out;
    raw[0] = '\0';
    while (path.n > 0 && used + 8 < sizeof raw)
        used += pointer_token(path.at[--path.n], raw + used, sizeof raw - used);
    used = copy_clean(out, SPEC_POINTER_SIZE - 4, raw, used, &cut);
    if (cut || path.n > 0)
        memcpy(out + used, "…", sizeof "…");
    return out;
}
