#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "resolver/tsig.h"

/* Keys in the syntax of BIND's configuration, as tsig-keygen and keymgr
 * write them. source: BIND 9 ARM, "key Block" */

#define ACCEPTED                                                               \
    "accepted: key \"NAME\" { algorithm hmac-sha256; secret \"BASE64\"; };"
#define WORD_MAX 2048

struct reader {
    const char *at, *end, *file;
    unsigned line;
    char word[WORD_MAX + 1]; /* of one place, to be wiped at the end */
    size_t nword;
    char mark; /* '{', '}', ';'; 'w': a word; '\0': the end */
    bool quoted;
    struct err *e;
};

static int fail(struct reader *r, enum err_code code, const char *what)
{
    return err_set(r->e, code, "%s:%u: %s; " ACCEPTED, r->file, r->line, what);
}

static int fail_mark(struct reader *r, const char *wanted)
{
    char text[160];

    if (r->mark == '\0')
        (void)snprintf(text, sizeof text, "ends where %s should be", wanted);
    else if (r->mark == 'w')
        (void)snprintf(text, sizeof text, "a word where %s should be", wanted);
    else
        (void)snprintf(text, sizeof text, "'%c' where %s should be", r->mark,
                       wanted);
    return fail(r, ERR_INPUT, text);
}

/* ---- tokens -------------------------------------------------------------- */

static bool starts(const struct reader *r, const char *s)
{
    size_t n = strlen(s);

    return (size_t)(r->end - r->at) >= n && memcmp(r->at, s, n) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void step(struct reader *r)
{
    if (*r->at == '\n')
        r->line++;
    r->at++;
}

/* Blanks and the three kinds of comment. returns 0, or -1 with e set */
static int skip(struct reader *r)
{
    while (r->at < r->end) {
        if (is_blank(*r->at)) {
            step(r);
        } else if (*r->at == '#' || starts(r, "//")) {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (starts(r, "/*")) {
            r->at += 2;
            while (r->at < r->end && !starts(r, "*/"))
                step(r);
            if (r->at == r->end)
                return fail(r, ERR_INPUT, "a comment without end");
            r->at += 2;
        } else {
            break;
        }
    }
    return 0;
}

static void add_byte(struct reader *r)
{
    if (r->nword < WORD_MAX)
        r->word[r->nword] = *r->at;
    if (++r->nword <= WORD_MAX)
        r->word[r->nword] = '\0';
    r->at++;
}

static int read_quoted(struct reader *r)
{
    r->at++;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\n' || *r->at == '\\' || *r->at == '\0')
            return fail(r, ERR_INPUT,
                        "a quoted word with a line's end, a backslash or a "
                        "NUL byte in it");
        add_byte(r);
    }
    if (r->at == r->end)
        return fail(r, ERR_INPUT, "a quoted word without end");
    r->at++;
    return 0;
}

/* returns 0, or -1 with e set */
static int next(struct reader *r)
{
    if (skip(r) != 0)
        return -1;
    r->nword = 0;
    r->word[0] = '\0';
    r->mark = r->at < r->end ? *r->at : '\0';
    if (r->at == r->end)
        return 0;
    if (strchr("{};", r->mark) != NULL && r->mark != '\0') {
        r->at++;
        return 0;
    }
    r->mark = 'w';
    r->quoted = *r->at == '"';
    if (r->quoted && read_quoted(r) != 0)
        return -1;
    while (!r->quoted && r->at < r->end && *r->at != '\0' &&
           !is_blank(*r->at) && strchr("{};\"#", *r->at) == NULL &&
           !starts(r, "/*") && !starts(r, "//"))
        add_byte(r);
    if (r->nword > WORD_MAX)
        return fail(r, ERR_INPUT, "a word of more than 2048 bytes");
    if (r->nword == 0)
        return fail(r, ERR_INPUT, "an empty word or an odd byte");
    return 0;
}

static int expect(struct reader *r, char mark, const char *what)
{
    if (next(r) != 0)
        return -1;
    return r->mark == mark ? 0 : fail_mark(r, what);
}

static bool word_is(const struct reader *r, const char *text)
{
    return r->mark == 'w' && strcasecmp(r->word, text) == 0;
}

#define ALGORITHM_MAX 20u

/* ---- what stands in a key ------------------------------------------------ */

static int set_algorithm(struct reader *r, struct tsig_key *key)
{
    static const char md5[] = "hmac-md5";
    const char *word = r->word;
    size_t n = strlen(word);

    for (int a = TSIG_HMAC_SHA1; a <= TSIG_HMAC_SHA512; a++) {
        const char *name = tsig_algorithm_name((enum tsig_algorithm)a);
        size_t len = strlen(name);

        if (strncasecmp(word, name, len) != 0)
            continue;
        if (n == len || (n == len + 1 && word[len] == '.')) {
            key->algorithm = (enum tsig_algorithm)a;
            return 0;
        }
        if (word[len] == '-')
            return err_set(r->e, ERR_UNSUPPORTED,
                           "%s:%u: algorithm %.40s cuts the signature; "
                           "accepted: %s",
                           r->file, r->line, word, name);
    }
    if (strncasecmp(word, md5, sizeof md5 - 1) == 0)
        return err_set(r->e, ERR_UNSUPPORTED,
                       "%s:%u: algorithm %.40s is broken and refused; "
                       "accepted: hmac-sha256 (tsig-keygen makes such a key)",
                       r->file, r->line, word);
    return err_set(r->e, ERR_INPUT,
                   "%s:%u: algorithm \"%s\"; accepted: hmac-sha256, "
                   "hmac-sha224, hmac-sha384, hmac-sha512, hmac-sha1",
                   r->file, r->line,
                   n <= ALGORITHM_MAX ? word : "…" /* the secret? */);
}

static int set_secret(struct reader *r, struct tsig_key *key)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                                 "tuvwxyz0123456789+/";
    const char *word = r->word;
    size_t n = strlen(word), plain = strspn(word, digits), pad = n - plain;
    uint8_t out[WORD_MAX];
    int len;

    if (n % 4 != 0 || pad > 2 || strspn(word + plain, "=") != pad)
        return fail(r, ERR_INPUT, "the secret is not base64");
    len = EVP_DecodeBlock(out, (const unsigned char *)word, (int)n);
    if (len < (int)pad || (size_t)len - pad == 0 ||
        (size_t)len - pad > sizeof key->secret) {
        OPENSSL_cleanse(out, sizeof out);
        return fail(r, ERR_INPUT, "a secret of no length that is accepted");
    }
    key->secret_len = (size_t)len - pad;
    memcpy(key->secret, out, key->secret_len);
    OPENSSL_cleanse(out, sizeof out);
    return 0;
}

/* algorithm or secret. returns 0, or -1 with e set */
static int read_item(struct reader *r, struct tsig_key *key,
                     bool *has_algorithm)
{
    bool algorithm = word_is(r, "algorithm");

    if (!algorithm && !word_is(r, "secret"))
        return fail_mark(r, "algorithm or secret");
    if (algorithm ? *has_algorithm : key->secret_len > 0)
        return fail(r, ERR_INPUT, "algorithm or secret twice");
    if (expect(r, 'w', "a value") != 0)
        return -1;
    if (algorithm) {
        if (set_algorithm(r, key) != 0)
            return -1;
        *has_algorithm = true;
    } else if (set_secret(r, key) != 0) {
        return -1;
    }
    return expect(r, ';', "';'");
}

/* Behind the word `key`. returns 0, or -1 with e set */
static int read_key(struct reader *r, struct tsig_key *key)
{
    bool has_algorithm = false;

    memset(key, 0, sizeof *key);
    if (expect(r, 'w', "the key's name") != 0)
        return -1;
    if (name_canon(r->word, key->name, r->e) != 0)
        return err_wrap(r->e, "%s:%u", r->file, r->line);
    if (expect(r, '{', "'{'") != 0 || next(r) != 0)
        return -1;
    while (r->mark != '}')
        if (read_item(r, key, &has_algorithm) != 0 || next(r) != 0)
            return -1;
    if (!has_algorithm || key->secret_len == 0)
        return fail(r, ERR_INPUT,
                    has_algorithm ? "a key without secret"
                                  : "a key without algorithm");
    return expect(r, ';', "';'");
}

/* ---- the file ------------------------------------------------------------ */

struct found {
    struct tsig_key *key;
    size_t n; /* keys in the file */
    struct buf names;
};

static int take_key(struct reader *r, const char *name, struct found *f)
{
    struct tsig_key *key = mem_alloc(sizeof *key);
    int rc = read_key(r, key);

    if (rc == 0) {
        buf_printf(&f->names, "%s%s", f->n > 0 ? ", " : "", key->name);
        f->n++;
        if (f->key != NULL && strcmp(f->key->name, key->name) == 0)
            rc = fail(r, ERR_INPUT, "the same key twice");
    }
    if (rc == 0 && f->key == NULL &&
        (name == NULL || strcmp(key->name, name) == 0))
        f->key = key;
    else
        tsig_key_free(key);
    return rc;
}

static int choose(const struct reader *r, const char *name, struct found *f)
{
    if (f->n == 0)
        return err_set(r->e, ERR_INPUT, "%s: holds no key; " ACCEPTED, r->file);
    if (name != NULL && f->key == NULL)
        return err_set(r->e, ERR_INPUT,
                       "%s: holds no key %.200s; it holds: %.400s", r->file,
                       name, buf_get(&f->names));
    if (name == NULL && f->n > 1)
        return err_set(r->e, ERR_INPUT,
                       "%s: holds %zu keys (%.400s); say by key-name which",
                       r->file, f->n, buf_get(&f->names));
    return 0;
}

int tsig_key_parse(const char *text, size_t len, const char *file,
                   const char *name, struct tsig_key **key, struct err *e)
{
    struct reader r = {
        .at = text, .end = text + len, .file = file, .line = 1, .e = e};
    struct found f = {.key = NULL};
    int rc;

    buf_init(&f.names, ERR_MSG_SIZE);
    rc = next(&r);
    while (rc == 0 && r.mark != '\0') {
        rc = word_is(&r, "key") && !r.quoted ? take_key(&r, name, &f)
                                             : fail_mark(&r, "the word key");
        if (rc == 0)
            rc = next(&r);
    }
    if (rc == 0)
        rc = choose(&r, name, &f);
    OPENSSL_cleanse(r.word, sizeof r.word);
    buf_fini(&f.names);
    if (rc != 0) {
        tsig_key_free(f.key);
        f.key = NULL;
    }
    *key = f.key;
    return rc;
}

void tsig_key_free(struct tsig_key *key)
{
    if (key == NULL)
        return;
    OPENSSL_cleanse(key, sizeof *key);
    free(key);
}
