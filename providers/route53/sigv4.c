#include "providers/route53/sigv4.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/mem.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define DAY_LEN 8 /* of the time: YYYYMMDD */

void sigv4_time(int64_t wall_ms, char out[SIGV4_TIME_SIZE])
{
    time_t t = (time_t)(wall_ms / 1000);
    struct tm tm;

    memset(&tm, 0, sizeof tm);
    (void)gmtime_r(&t, &tm);
    (void)strftime(out, SIGV4_TIME_SIZE, "%Y%m%dT%H%M%SZ", &tm);
}

/* ---- bytes --------------------------------------------------------------- */

static bool is_unreserved(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
           c == '~';
}

void sigv4_encode(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (is_unreserved(c))
            buf_char(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

static void add_hex(struct buf *out, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%02x", bytes[i]);
}

static void add_digest(struct buf *out, const char *data, size_t len)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];

    (void)SHA256((const unsigned char *)data, len, digest);
    add_hex(out, digest, sizeof digest);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX as the byte it stands for, then encoded: one spelling for each byte. */
static void recode(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (c == '%' && len - i > 2 && hex_value(text[i + 1]) >= 0 &&
            hex_value(text[i + 2]) >= 0) {
            c = (char)(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
            i += 2;
        }
        sigv4_encode(out, &c, 1);
    }
}

/* ---- path ---------------------------------------------------------------- */

/* Takes the last segment off again. */
static void drop_segment(struct buf *out, size_t start)
{
    while (out->len > start && out->data[out->len - 1] != '/')
        out->len--;
    if (out->len > start)
        out->len--;
}

/* Without empty and dot segments (RFC 3986 5.2.4), and encoded as it is sent,
 * a % too: the rule for every service but S3. */
static void add_path(struct buf *out, const char *path)
{
    size_t start = out->len;

    while (*path != '\0') {
        size_t n = strcspn(path, "/");

        if (n == 2 && strncmp(path, "..", n) == 0) {
            drop_segment(out, start);
        } else if (n > 0 && !(n == 1 && path[0] == '.')) {
            buf_char(out, '/');
            sigv4_encode(out, path, n);
        }
        path += n;
        if (*path == '/' && *++path == '\0')
            buf_char(out, '/');
    }
    if (out->len == start)
        buf_char(out, '/');
}

/* ---- query --------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "name=value", encoded. "=" sorts before every byte of an encoded name but
 * "-" and ".", so a byte below them stands in its place while sorting. */
static char *query_pair(const char *pair, size_t len)
{
    const char *equals = memchr(pair, '=', len);
    size_t n = equals != NULL ? (size_t)(equals - pair) : len;
    struct buf b;

    buf_init(&b, SIGV4_MAX);
    recode(&b, pair, n);
    buf_char(&b, '\x01');
    if (equals != NULL)
        recode(&b, equals + 1, len - n - 1);
    return buf_take(&b);
}

static void add_query(struct buf *out, const char *query)
{
    size_t n = 0, cap = 0;
    char **pairs = NULL;

    while (*query != '\0') {
        size_t len = strcspn(query, "&");

        if (len > 0) {
            pairs = mem_grow(pairs, &cap, n, sizeof *pairs);
            pairs[n++] = query_pair(query, len);
        }
        query += len + (query[len] == '&');
    }
    if (n > 0)
        qsort(pairs, n, sizeof *pairs, by_text);
    for (size_t i = 0; i < n; i++) {
        char *mark = strchr(pairs[i], '\x01');

        if (mark != NULL)
            *mark = '=';
        buf_printf(out, "%s%s", i > 0 ? "&" : "", pairs[i]);
        free(pairs[i]);
    }
    free(pairs);
}

/* ---- headers ------------------------------------------------------------- */

struct line {
    char *name, *value;
    size_t place; /* as listed: equal names keep their order */
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Without blanks around it, and one where several stand. */
static char *squeeze(const char *value)
{
    struct buf b;

    buf_init(&b, SIGV4_MAX);
    for (bool gap = false; *value != '\0'; value++) {
        if (is_blank(*value)) {
            gap = b.len > 0;
            continue;
        }
        if (gap)
            buf_char(&b, ' ');
        gap = false;
        buf_char(&b, *value);
    }
    return buf_take(&b);
}

static int by_name(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order != 0)
        return order;
    return x->place < y->place ? -1 : x->place > y->place;
}

static struct line *lines_of(const struct sigv4_request *r)
{
    struct line *v = mem_array(r->n_headers + 1, sizeof *v);

    for (size_t i = 0; i < r->n_headers; i++) {
        v[i].name = mem_strdup(r->headers[i].name);
        for (char *c = v[i].name; *c != '\0'; c++)
            *c = lower(*c);
        v[i].value = squeeze(r->headers[i].value);
        v[i].place = i;
    }
    qsort(v, r->n_headers, sizeof *v, by_name);
    return v;
}

static void lines_free(struct line *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(v[i].name);
        OPENSSL_cleanse(v[i].value, strlen(v[i].value)); /* a session token */
        free(v[i].value);
    }
    free(v);
}

static bool is_same_name(const struct line *v, size_t i)
{
    return i > 0 && strcmp(v[i].name, v[i - 1].name) == 0;
}

static void add_header_lines(struct buf *out, const struct line *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_same_name(v, i))
            buf_printf(out, ",%s", v[i].value);
        else
            buf_printf(out, "%s%s:%s", i > 0 ? "\n" : "", v[i].name,
                       v[i].value);
    }
    buf_str(out, n > 0 ? "\n" : "");
}

static void add_header_names(struct buf *out, const struct line *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_same_name(v, i))
            buf_printf(out, "%s%s", i > 0 ? ";" : "", v[i].name);
}

/* ---- the three texts ----------------------------------------------------- */

void sigv4_canonical(const struct sigv4_request *r, struct buf *out)
{
    struct line *lines = lines_of(r);

    buf_printf(out, "%s\n", r->method);
    add_path(out, r->path);
    buf_char(out, '\n');
    add_query(out, r->query);
    buf_char(out, '\n');
    add_header_lines(out, lines, r->n_headers);
    buf_char(out, '\n');
    add_header_names(out, lines, r->n_headers);
    buf_char(out, '\n');
    add_digest(out, r->body != NULL ? r->body : "", r->body_len);
    lines_free(lines, r->n_headers);
}

static void add_scope(struct buf *out, const struct sigv4_scope *s)
{
    buf_printf(out, "%.*s/%s/%s/aws4_request", DAY_LEN, s->time, s->region,
               s->service);
}

void sigv4_string_to_sign(const struct sigv4_scope *s, const char *canonical,
                          size_t len, struct buf *out)
{
    buf_printf(out, ALGORITHM "\n%s\n", s->time);
    add_scope(out, s);
    buf_char(out, '\n');
    add_digest(out, canonical, len);
}

/* out = HMAC-SHA256(key, text); out may be key. */
static void mac(const unsigned char *key, size_t key_len, const char *text,
                size_t len, unsigned char out[SHA256_DIGEST_LENGTH])
{
    unsigned n = SHA256_DIGEST_LENGTH;

    if (HMAC(EVP_sha256(), key, (int)key_len, (const unsigned char *)text, len,
             out, &n) == NULL)
        abort(); /* out of memory */
}

static void add_signature(struct buf *out, const struct sigv4_key *k,
                          const struct sigv4_scope *s, const struct buf *text)
{
    unsigned char key[SHA256_DIGEST_LENGTH];
    char *start = mem_printf("AWS4%s", k->secret);

    mac((const unsigned char *)start, strlen(start), s->time, DAY_LEN, key);
    mac(key, sizeof key, s->region, strlen(s->region), key);
    mac(key, sizeof key, s->service, strlen(s->service), key);
    mac(key, sizeof key, "aws4_request", strlen("aws4_request"), key);
    mac(key, sizeof key, buf_get(text), text->len, key);
    add_hex(out, key, sizeof key);
    OPENSSL_cleanse(start, strlen(start));
    OPENSSL_cleanse(key, sizeof key);
    free(start);
}

void sigv4_authorization(const struct sigv4_key *k, const struct sigv4_scope *s,
                         const struct sigv4_request *r, struct buf *out)
{
    struct line *lines = lines_of(r);
    struct buf canonical, text;

    buf_init(&canonical, SIGV4_MAX);
    buf_init(&text, SIGV4_MAX);
    sigv4_canonical(r, &canonical);
    sigv4_string_to_sign(s, buf_get(&canonical), canonical.len, &text);
    buf_printf(out, ALGORITHM " Credential=%s/", k->id);
    add_scope(out, s);
    buf_str(out, ", SignedHeaders=");
    add_header_names(out, lines, r->n_headers);
    buf_str(out, ", Signature=");
    add_signature(out, k, s, &text);
    lines_free(lines, r->n_headers);
    if (canonical.data != NULL)
        OPENSSL_cleanse(canonical.data, canonical.len);
    buf_fini(&canonical);
    buf_fini(&text);
}
