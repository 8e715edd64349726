#include "agent/probes/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "agent/base/mem.h"
#include "agent/probes/net.h"

struct session {
    UT_hash_handle hh;
    SSL_SESSION *session;
    uint32_t uses;
    char key[];
};

struct tls {
    SSL_CTX *ctx;
    struct session *sessions; /* by key */
    bool trusts;
};

/* --- sessions ------------------------------------------------------------ */

static void session_drop(struct tls *t, struct session *s)
{
    HASH_DEL(t->sessions, s);
    SSL_SESSION_free(s->session);
    free(s);
}

static struct session *session_find(struct tls *t, const struct tls_peer *p)
{
    struct session *s;

    HASH_FIND(hh, t->sessions, p->key, p->key_len, s);
    return s;
}

void tls_forget(struct tls_peer *p)
{
    struct session *s =
        p->tls != NULL && p->key_len > 0 ? session_find(p->tls, p) : NULL;

    if (s != NULL)
        session_drop(p->tls, s);
}

/* Takes p->fresh where there is room. */
static void session_keep(struct tls_peer *p)
{
    struct tls *t = p->tls;
    struct session *s = session_find(t, p);

    if (s != NULL) {
        SSL_SESSION_free(s->session);
    } else {
        /* Those that are there serve; each makes room at its full
         * handshake. */
        if (HASH_COUNT(t->sessions) >= TLS_SESSIONS_MAX)
            return;
        s = mem_alloc(sizeof *s + p->key_len);
        memcpy(s->key, p->key, p->key_len);
        HASH_ADD(hh, t->sessions, key, p->key_len, s);
    }
    s->session = p->fresh;
    p->fresh = NULL;
}

static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_peer *p = SSL_get_app_data(ssl);

    if (p->key_len == 0)
        return 0;
    SSL_SESSION_free(p->fresh);
    p->fresh = session;
    return 1; /* the reference is ours now */
}

/* Which sessions a connection may resume: same target, name and trust. */
static void make_key(struct tls_peer *p, const char *name, bool verify,
                     const char *alpn, const struct addr *to)
{
    size_t name_len = name != NULL ? strlen(name) : 0;
    size_t alpn_len = alpn != NULL ? strlen(alpn) : 0;
    char *k = p->key;

    p->key_len = 0;
    if (name_len + alpn_len + 24 > sizeof p->key)
        return;
    *k++ = (char)to->family;
    memcpy(k, to->bytes, sizeof to->bytes);
    k += sizeof to->bytes;
    *k++ = (char)(to->port >> 8);
    *k++ = (char)(to->port & 0xff);
    *k++ = verify ? 1 : 0;
    if (alpn_len > 0)
        memcpy(k, alpn, alpn_len);
    k += alpn_len;
    *k++ = '\0';
    if (name_len > 0)
        memcpy(k, name, name_len);
    k += name_len;
    p->key_len = (size_t)(k - p->key);
}

/* --- context ------------------------------------------------------------- */

static int trust(struct tls *t, const char *ca_file, struct probe_result *r)
{
    if (t->trusts)
        return 0;
    if (ca_file != NULL
            ? SSL_CTX_load_verify_locations(t->ctx, ca_file, NULL) != 1
            : SSL_CTX_set_default_verify_paths(t->ctx) != 1) {
        (void)probe_local(r, PROBE_UNABLE, "no certificate authorities: %s",
                          ca_file != NULL ? ca_file : "the system's");
        return -1;
    }
    t->trusts = true;
    return 0;
}

struct tls *tls_get(struct probe_env *env, bool verify, struct probe_result *r)
{
    struct tls *t = env->tls;

    if (t == NULL) {
        SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

        if (ctx == NULL) {
            (void)probe_local(r, PROBE_UNABLE, "no TLS library context");
            return NULL;
        }
        (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS |
                                        SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        /* Many servers end without close_notify; what must be whole has a
         * length of its own. */
        (void)SSL_CTX_set_options(ctx, SSL_OP_IGNORE_UNEXPECTED_EOF);
        (void)SSL_CTX_set_session_cache_mode(
            ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(ctx, on_session);
        t = mem_alloc(sizeof *t);
        t->ctx = ctx;
        env->tls = t;
    }
    return verify && trust(t, env->hooks.ca_file, r) != 0 ? NULL : t;
}

void tls_free(struct tls *t)
{
    if (t == NULL)
        return;
    while (t->sessions != NULL)
        session_drop(t, t->sessions);
    SSL_CTX_free(t->ctx);
    free(t);
}

/* --- connections --------------------------------------------------------- */

/* returns 0, or -1 when the name cannot be used */
static int set_name(SSL *ssl, const char *name, bool verify)
{
    struct addr ip;

    if (name == NULL || *name == '\0')
        return verify ? -1 : 0;
    if (addr_parse(name, &ip) == 0)
        return !verify || X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl),
                                                        name) == 1
                   ? 0
                   : -1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (verify && SSL_set1_host(ssl, name) != 1)
        return -1;
    return SSL_set_tlsext_host_name(ssl, name) == 1 ? 0 : -1;
}

static uint32_t full_every(const struct probe_env *env)
{
    return env->hooks.tls_full_every != 0 ? env->hooks.tls_full_every
                                          : TLS_FULL_EVERY;
}

int tls_begin(struct probe_env *env, struct tls_peer *p, int fd,
              const char *name, bool verify, const char *alpn,
              const struct addr *to, bool full, struct probe_result *r)
{
    struct tls *t = tls_get(env, verify, r);
    struct session *s;

    memset(p, 0, sizeof *p);
    p->verify = verify;
    if (t == NULL)
        return -1;
    ERR_clear_error();
    p->tls = t;
    p->ssl = SSL_new(t->ctx);
    if (p->ssl == NULL || SSL_set_fd(p->ssl, fd) != 1 ||
        (alpn != NULL &&
         SSL_set_alpn_protos(p->ssl, (const unsigned char *)alpn,
                             (unsigned)strlen(alpn)) != 0)) {
        (void)probe_local(r, PROBE_UNABLE, "no TLS connection object");
        return -1;
    }
    (void)SSL_set_app_data(p->ssl, p);
    SSL_set_connect_state(p->ssl);
    SSL_set_verify(p->ssl, verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
    if (set_name(p->ssl, name, verify) != 0) {
        (void)probe_local(r, PROBE_UNABLE,
                          "no usable server name to verify: %.24s",
                          name != NULL ? name : "none");
        return -1;
    }
    if (full_every(env) > 1)
        make_key(p, name, verify, alpn, to);
    s = p->key_len > 0 ? session_find(t, p) : NULL;
    if (s == NULL)
        return 0;
    if (full || ++s->uses >= full_every(env)) {
        session_drop(t, s);
        return 0;
    }
    p->offered = SSL_set_session(p->ssl, s->session) == 1;
    return 0;
}

void tls_end(struct tls_peer *p, bool ok)
{
    if (p->ssl == NULL)
        return;
    if (!ok)
        tls_forget(p);
    else if (p->fresh != NULL && p->key_len > 0)
        session_keep(p);
    SSL_SESSION_free(p->fresh);
    /* Else OpenSSL takes the session for spoilt. */
    SSL_set_shutdown(p->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(p->ssl);
    p->ssl = NULL;
    p->fresh = NULL;
}

/* --- verdicts ------------------------------------------------------------ */

static bool clock_ok(const struct probe_env *env)
{
    return env->hooks.clock_ok != NULL ? env->hooks.clock_ok(env->hooks.arg)
                                       : net_clock_ok();
}

void tls_failed(struct probe_env *env, const struct tls_peer *p, int ssl_error,
                int sys_errno, struct probe_result *r)
{
    long verdict = SSL_get_verify_result(p->ssl);
    unsigned long error = ERR_peek_error();
    const char *why = ERR_reason_error_string(error);
    const char *when = SSL_is_init_finished(p->ssl) ? "TLS" : "TLS handshake";

    if (p->verify && verdict != X509_V_OK && ssl_error == SSL_ERROR_SSL) {
        if ((verdict == X509_V_ERR_CERT_HAS_EXPIRED ||
             verdict == X509_V_ERR_CERT_NOT_YET_VALID) &&
            !clock_ok(env))
            (void)probe_local(r, PROBE_CLOCK, "%s",
                              X509_verify_cert_error_string(verdict));
        else
            (void)probe_fail(r, PROBE_BAD_TLS, "%s",
                             X509_verify_cert_error_string(verdict));
    } else if (ssl_error == SSL_ERROR_SYSCALL && sys_errno != 0) {
        (void)probe_fail(r, PROBE_BAD_TLS, "%s: %s", when,
                         sys_errno == ECONNRESET ? "reset"
                                                 : strerror(sys_errno));
    } else if (ssl_error == SSL_ERROR_SSL && why != NULL) {
        (void)probe_fail(r, PROBE_BAD_TLS, "%s: %s", when, why);
    } else {
        (void)probe_fail(r, PROBE_BAD_TLS, "%s: closed early", when);
    }
    ERR_clear_error();
}

int tls_check_days(struct probe_env *env, const struct tls_peer *p,
                   uint32_t days, struct probe_result *r)
{
    X509 *cert = SSL_get0_peer_certificate(p->ssl);
    int left = 0, seconds = 0;

    if (days == 0)
        return 0;
    if (cert == NULL ||
        ASN1_TIME_diff(&left, &seconds, NULL, X509_get0_notAfter(cert)) != 1) {
        (void)probe_fail(r, PROBE_BAD_TLS, "no certificate to look at");
        return -1;
    }
    if (left >= 0 && seconds >= 0 && (uint32_t)left >= days)
        return 0;
    if (!clock_ok(env))
        (void)probe_local(r, PROBE_CLOCK, "certificate ends in %d days", left);
    else if (left < 0 || seconds < 0)
        (void)probe_fail(r, PROBE_BAD_TLS, "certificate has expired");
    else
        (void)probe_fail(r, PROBE_BAD_TLS,
                         "certificate ends in %d days (less than %u)", left,
                         (unsigned)days);
    return -1;
}
