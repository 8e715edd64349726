#ifndef AGENT_PROBES_TLS_H
#define AGENT_PROBES_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/probes/kind.h"

/* TLS of the probes: one context for all, verification, and the sessions of
 * earlier probes. A resumed handshake costs a third of a full one but shows
 * no certificate, so every n-th (probe_hooks) probe of a target is a full
 * one.
 */

#define TLS_FULL_EVERY 10
#define TLS_KEY_SIZE 300
#define TLS_SESSIONS_MAX 4096 /* some 8 kB each */

/* One connection. */
struct tls_peer {
    struct tls *tls;
    SSL *ssl;
    SSL_SESSION *fresh; /* the newest the server gave us */
    bool verify, offered;
    size_t key_len;
    char key[TLS_KEY_SIZE]; /* of the sessions that fit */
};

/* The context; verify: with the authorities, read at the first call.
 * returns it (owned by env), or NULL with r filled in (LOCAL). */
struct tls *tls_get(struct probe_env *env, bool verify, struct probe_result *r);
void tls_free(struct tls *t); /* NULL is fine */

/* A connection on fd, which stays the caller's.
 * in: name — SNI and the certificate's name, an address too; NULL: none, and
 * with verify that is refused; alpn — in wire form, or NULL; to — whom we
 * connect to; full — no session is offered
 * returns 0, or -1 with r filled in (LOCAL). out: *peer, ended by tls_end
 * source: SSL_set1_host(3), RFC 6066 3 */
int tls_begin(struct probe_env *env, struct tls_peer *peer, int fd,
              const char *name, bool verify, const char *alpn,
              const struct addr *to, bool full, struct probe_result *r);
/* ok: the session is kept for the next probe; else those of that target are
 * forgotten. Does not talk to the other side. */
void tls_end(struct tls_peer *peer, bool ok);
void tls_forget(struct tls_peer *peer);

/* Why an SSL_… call failed with that value of SSL_get_error; fills r: TLS, or
 * LOCAL where our clock may be what is wrong. sys_errno: errno right after */
void tls_failed(struct probe_env *env, const struct tls_peer *peer,
                int ssl_error, int sys_errno, struct probe_result *r);
/* Whether the certificate is good for that many days more (0: any).
 * returns 0, or -1 with r filled in. */
int tls_check_days(struct probe_env *env, const struct tls_peer *peer,
                   uint32_t days, struct probe_result *r);

#endif
