#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "resolver/tsig_impl.h"

/* One signed request and its answer. source: RFC 8945 4, 5 */

enum { TYPE_TSIG = 250, CLASS_ANY = 255, BADTIME = 18, MESSAGE_MAX = 65535 };

static const struct {
    const char *name, *digest; /* on the wire; OpenSSL's */
    size_t len;
} algorithms[] = {
    [TSIG_HMAC_SHA1] = {"hmac-sha1", "SHA1", 20},
    [TSIG_HMAC_SHA224] = {"hmac-sha224", "SHA224", 28},
    [TSIG_HMAC_SHA256] = {"hmac-sha256", "SHA256", 32},
    [TSIG_HMAC_SHA384] = {"hmac-sha384", "SHA384", 48},
    [TSIG_HMAC_SHA512] = {"hmac-sha512", "SHA512", 64},
};

const char *tsig_algorithm_name(enum tsig_algorithm a)
{
    return algorithms[a].name;
}

const char *tsig_error_name(uint16_t error)
{
    switch (error) {
    case 16:
        return "BADSIG";
    case 17:
        return "BADKEY";
    case BADTIME:
        return "BADTIME";
    case 22:
        return "BADTRUNC";
    default:
        return NULL;
    }
}

const char *tsig_verdict_text(enum tsig_verdict v)
{
    switch (v) {
    case TSIG_GOOD:
        return "it is signed";
    case TSIG_UNSIGNED:
        return "it is not signed";
    case TSIG_MALFORMED:
        return "its TSIG record cannot be read";
    case TSIG_OTHER_KEY:
        return "it is signed with another key";
    case TSIG_BAD_MAC:
        return "its signature is wrong: it was changed on its way";
    case TSIG_BAD_TIME:
        return "it was signed too long ago, or a clock is wrong";
    }
    return "";
}

/* ---- digests ------------------------------------------------------------- */

void tsig_digest_start(struct tsig_digest *d, const struct tsig_key *key)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    char digest[8];
    OSSL_PARAM params[2];

    memcpy(digest, algorithms[key->algorithm].digest,
           strlen(algorithms[key->algorithm].digest) + 1);
    params[0] =
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0);
    params[1] = OSSL_PARAM_construct_end();
    d->ctx = mac != NULL ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac); /* the context holds it */
    if (d->ctx != NULL &&
        EVP_MAC_init(d->ctx, key->secret, key->secret_len, params) != 1) {
        EVP_MAC_CTX_free(d->ctx);
        d->ctx = NULL;
    }
}

void tsig_digest_add(struct tsig_digest *d, const void *p, size_t n)
{
    if (d->ctx == NULL || n == 0 || EVP_MAC_update(d->ctx, p, n) == 1)
        return;
    EVP_MAC_CTX_free(d->ctx);
    d->ctx = NULL;
}

int tsig_digest_end(struct tsig_digest *d, struct tsig_mac *out)
{
    int ok = 0;

    if (d->ctx != NULL)
        ok = EVP_MAC_final(d->ctx, out->bytes, &out->len, sizeof out->bytes);
    EVP_MAC_CTX_free(d->ctx);
    d->ctx = NULL;
    return ok == 1 ? 0 : -1;
}

static void add16(struct tsig_digest *d, unsigned v)
{
    uint8_t b[2] = {(uint8_t)(v >> 8), (uint8_t)v};

    tsig_digest_add(d, b, sizeof b);
}

void tsig_digest_add_mac(struct tsig_digest *d, const struct tsig_mac *mac)
{
    add16(d, (unsigned)mac->len);
    tsig_digest_add(d, mac->bytes, mac->len);
}

void tsig_digest_add_message(struct tsig_digest *d, const uint8_t *wire,
                             size_t len, const struct tsig_record *r)
{
    uint8_t head[12];
    unsigned additional;

    if (r == NULL) {
        tsig_digest_add(d, wire, len);
        return;
    }
    memcpy(head, wire, sizeof head);
    additional = ((unsigned)head[10] << 8 | head[11]) - 1;
    head[0] = (uint8_t)(r->id >> 8);
    head[1] = (uint8_t)r->id;
    head[10] = (uint8_t)(additional >> 8);
    head[11] = (uint8_t)additional;
    tsig_digest_add(d, head, sizeof head);
    tsig_digest_add(d, wire + sizeof head, r->at - sizeof head);
}

void tsig_digest_add_timers(struct tsig_digest *d, uint64_t time_s,
                            uint16_t fudge_s)
{
    add16(d, (unsigned)(time_s >> 32) & 0xffff);
    add16(d, (unsigned)(time_s >> 16) & 0xffff);
    add16(d, (unsigned)time_s & 0xffff);
    add16(d, fudge_s);
}

/* A canonical name on the wire; its final dot may be missing. */
static void put_name(struct buf *b, const char *name)
{
    while (*name != '\0' && *name != '.') {
        size_t n = strcspn(name, ".");

        buf_char(b, (char)n);
        buf_add(b, name, n);
        name += n;
        name += *name == '.';
    }
    buf_char(b, '\0');
}

static void put16(struct buf *b, unsigned v)
{
    buf_char(b, (char)(v >> 8));
    buf_char(b, (char)v);
}

/* "TSIG variables": RFC 8945 4.3.3 */
static void add_variables(struct tsig_digest *d, const struct tsig_key *key,
                          const struct tsig_record *r)
{
    struct buf b;

    buf_init(&b, 4 * NAME_SIZE);
    put_name(&b, key->name);
    put16(&b, CLASS_ANY);
    put16(&b, 0); /* TTL */
    put16(&b, 0);
    put_name(&b, algorithms[key->algorithm].name);
    tsig_digest_add(d, buf_get(&b), b.len);
    buf_fini(&b);
    tsig_digest_add_timers(d, r->time_s, r->fudge_s);
    add16(d, r->error);
    add16(d, (unsigned)r->other_len);
    tsig_digest_add(d, r->other, r->other_len);
}

/* ---- signing ------------------------------------------------------------- */

/* The record behind the message, as in tsig_record. */
static void put_record(struct buf *b, const struct tsig_key *key,
                       const struct tsig_record *r, const struct tsig_mac *mac)
{
    const char *algorithm = algorithms[key->algorithm].name;

    put_name(b, key->name);
    put16(b, TYPE_TSIG);
    put16(b, CLASS_ANY);
    put16(b, 0); /* TTL */
    put16(b, 0);
    put16(b, (unsigned)(strlen(algorithm) + 2 + 16 + mac->len));
    put_name(b, algorithm);
    put16(b, (unsigned)(r->time_s >> 32) & 0xffff);
    put16(b, (unsigned)(r->time_s >> 16) & 0xffff);
    put16(b, (unsigned)r->time_s & 0xffff);
    put16(b, r->fudge_s);
    put16(b, (unsigned)mac->len);
    buf_add(b, mac->bytes, mac->len);
    put16(b, r->id);
    put16(b, 0); /* error */
    put16(b, 0); /* other */
}

int tsig_sign(const struct tsig_key *key, uint64_t now_s, const uint8_t *wire,
              size_t len, uint8_t **out, size_t *out_len, struct tsig_mac *mac,
              struct err *e)
{
    struct tsig_record r = {.time_s = now_s, .fudge_s = TSIG_FUDGE_S};
    struct tsig_digest d;
    struct buf b;
    unsigned additional;

    *out = NULL;
    if (len < 12 || len > MESSAGE_MAX)
        return err_set(e, ERR_BUG, "%zu bytes are no message to sign", len);
    r.id = (uint16_t)(wire[0] << 8 | wire[1]);
    tsig_digest_start(&d, key);
    tsig_digest_add_message(&d, wire, len, NULL);
    add_variables(&d, key, &r);
    if (tsig_digest_end(&d, mac) != 0)
        return err_set(e, ERR_BUG, "no %s from the library",
                       tsig_algorithm_name(key->algorithm));
    buf_init(&b, MESSAGE_MAX);
    buf_add(&b, wire, len);
    put_record(&b, key, &r, mac);
    if (b.over) {
        buf_fini(&b);
        return err_set(e, ERR_LIMIT, "a message of more than %d bytes",
                       MESSAGE_MAX);
    }
    additional = ((unsigned)wire[10] << 8 | wire[11]) + 1;
    b.data[10] = (char)(additional >> 8);
    b.data[11] = (char)additional;
    *out_len = b.len;
    *out = (uint8_t *)buf_take(&b);
    return 0;
}

/* ---- verifying ----------------------------------------------------------- */

bool tsig_is_of_key(const struct tsig_record *r, const struct tsig_key *key)
{
    size_t n = strlen(algorithms[key->algorithm].name);

    return strcmp(r->key, key->name) == 0 &&
           strncmp(r->algorithm, algorithms[key->algorithm].name, n) == 0 &&
           strcmp(r->algorithm + n, ".") == 0;
}

/* A truncated MAC (RFC 8945 5.2.2.1) is none of the key's algorithm. */
bool tsig_mac_equal(const struct tsig_record *r, const struct tsig_mac *mac)
{
    return r->mac_len == mac->len &&
           CRYPTO_memcmp(r->mac, mac->bytes, mac->len) == 0;
}

bool tsig_time_fits(const struct tsig_record *r, uint64_t now_s)
{
    uint64_t apart = now_s > r->time_s ? now_s - r->time_s : r->time_s - now_s;

    return apart <= r->fudge_s;
}

static enum tsig_verdict judge(const struct tsig_key *key,
                               const struct tsig_mac *request,
                               const uint8_t *wire, size_t len,
                               const struct tsig_record *r, uint64_t now_s)
{
    struct tsig_digest d;
    struct tsig_mac mac;

    if (r->mac_len == 0)
        return TSIG_UNSIGNED;
    if (!tsig_is_of_key(r, key))
        return TSIG_OTHER_KEY;
    tsig_digest_start(&d, key);
    tsig_digest_add_mac(&d, request);
    tsig_digest_add_message(&d, wire, len, r);
    add_variables(&d, key, r);
    if (tsig_digest_end(&d, &mac) != 0 || !tsig_mac_equal(r, &mac))
        return TSIG_BAD_MAC;
    return tsig_time_fits(r, now_s) ? TSIG_GOOD : TSIG_BAD_TIME;
}

void tsig_verify(const struct tsig_key *key, const struct tsig_mac *mac,
                 const uint8_t *wire, size_t len, uint64_t now_s,
                 struct tsig_check *out)
{
    struct tsig_record r;
    int found = tsig_record_find(wire, len, &r);

    memset(out, 0, sizeof *out);
    if (found <= 0) {
        out->verdict = found == 0 ? TSIG_UNSIGNED : TSIG_MALFORMED;
        return;
    }
    out->error = r.error;
    out->time_s = r.time_s;
    if (r.error == BADTIME && r.other_len == 6)
        for (size_t i = 0; i < r.other_len; i++)
            out->server_s = out->server_s << 8 | r.other[i];
    out->verdict = judge(key, mac, wire, len, &r, now_s);
}
