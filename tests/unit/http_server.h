#ifndef TESTS_UNIT_HTTP_SERVER_H
#define TESTS_UNIT_HTTP_SERVER_H

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/mem.h"

/* A small HTTP server on a port of 127.0.0.1 that the kernel chooses, for
 * unit tests: one thread for each connection, answers by a callback. */

#define HTTP_SERVER_CONNECTIONS 64
#define HTTP_SERVER_REQUEST 65536

struct http_server;
/* request: head and body as text. returns the whole answer (heap), or NULL:
 * close the connection without one. */
typedef char *http_server_cb(struct http_server *s, const char *request);

struct http_server {
    int fd;
    int port;
    SSL_CTX *tls; /* NULL: plain */
    http_server_cb *answer;
    void *arg;
    atomic_int connections, requests;
    atomic_bool stop;
    pthread_t acceptor, threads[HTTP_SERVER_CONNECTIONS];
    int n_threads;
};

struct http_server_conn {
    struct http_server *s;
    int fd;
    SSL *ssl;
};

static inline long http_server_read(struct http_server_conn *c, char *p, int n)
{
    return c->ssl != NULL ? SSL_read(c->ssl, p, n)
                          : (long)read(c->fd, p, (size_t)n);
}

static inline void http_server_write(struct http_server_conn *c, const char *p)
{
    int n = (int)strlen(p);

    if (c->ssl != NULL)
        (void)SSL_write(c->ssl, p, n);
    else
        (void)!write(c->fd, p, (size_t)n);
}

/* One whole request into text; false: the client is gone. */
static inline bool http_server_request(struct http_server_conn *c, char *text)
{
    size_t n = 0, want = 0;

    for (;;) {
        const char *body, *length;
        long got;

        text[n] = '\0';
        body = strstr(text, "\r\n\r\n");
        if (body != NULL) {
            length = strcasestr(text, "\r\nContent-Length:");
            want = (size_t)(body + 4 - text) +
                   (length != NULL && length < body
                        ? strtoul(length + 17, NULL, 10)
                        : 0);
            if (n >= want)
                return true;
        }
        got = http_server_read(c, text + n, (int)(HTTP_SERVER_REQUEST - n - 1));
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
}

static inline void *http_server_serve(void *arg)
{
    struct http_server_conn *c = arg;
    char *text = mem_alloc(HTTP_SERVER_REQUEST);
    bool last = false;
    char *answer;

    if (c->s->tls != NULL) {
        c->ssl = SSL_new(c->s->tls);
        (void)SSL_set_fd(c->ssl, c->fd);
        if (SSL_accept(c->ssl) != 1)
            goto out;
    }
    while (!last && http_server_request(c, text)) {
        atomic_fetch_add(&c->s->requests, 1);
        answer = c->s->answer(c->s, text);
        if (answer == NULL)
            break;
        http_server_write(c, answer);
        last = strstr(answer, "Connection: close\r\n") != NULL;
        free(answer);
    }
out:
    if (c->ssl != NULL) {
        (void)SSL_shutdown(c->ssl);
        SSL_free(c->ssl);
    }
    (void)close(c->fd);
    free(text);
    free(c);
    return NULL;
}

static inline void *http_server_accept(void *arg)
{
    struct http_server *s = arg;
    struct pollfd p = {.fd = s->fd, .events = POLLIN};

    while (!atomic_load(&s->stop)) {
        struct http_server_conn *c;

        if (poll(&p, 1, 50) <= 0 || s->n_threads == HTTP_SERVER_CONNECTIONS)
            continue;
        c = mem_alloc(sizeof *c);
        c->s = s;
        c->fd = accept(s->fd, NULL, NULL);
        if (c->fd < 0) {
            free(c);
            continue;
        }
        atomic_fetch_add(&s->connections, 1);
        (void)pthread_create(&s->threads[s->n_threads++], NULL,
                             http_server_serve, c);
    }
    return NULL;
}

/* A self-signed certificate for name (or an address), made on the spot.
 * pem: where to write it for ca-file; NULL: nowhere */
static inline SSL_CTX *http_server_tls(const char *alt_name, const char *pem)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_EXTENSION *ext;
    FILE *f;

    (void)X509_set_version(cert, X509_VERSION_3);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    (void)X509_set_pubkey(cert, key);
    (void)X509_NAME_add_entry_by_txt(
        X509_get_subject_name(cert), "CN", MBSTRING_ASC,
        (const unsigned char *)"a server of a test", -1, -1, 0);
    (void)X509_set_issuer_name(cert, X509_get_subject_name(cert));
    ext = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alt_name);
    (void)X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
    (void)X509_sign(cert, key, EVP_sha256());
    (void)SSL_CTX_use_certificate(ctx, cert);
    (void)SSL_CTX_use_PrivateKey(ctx, key);
    f = pem != NULL ? fopen(pem, "w") : NULL;
    if (f != NULL) {
        (void)PEM_write_X509(f, cert);
        (void)fclose(f);
    }
    X509_free(cert);
    EVP_PKEY_free(key);
    return ctx;
}

/* tls: taken; NULL: plain http */
static inline struct http_server *http_server_start(http_server_cb *answer,
                                                    void *arg, SSL_CTX *tls)
{
    struct http_server *s = mem_alloc(sizeof *s);
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(s->fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(s->fd, 64) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&a, &len) != 0)
        abort();
    s->port = ntohs(a.sin_port);
    s->answer = answer;
    s->arg = arg;
    s->tls = tls;
    (void)pthread_create(&s->acceptor, NULL, http_server_accept, s);
    return s;
}

/* After the client has closed its connections. */
static inline void http_server_stop(struct http_server *s)
{
    atomic_store(&s->stop, true);
    (void)pthread_join(s->acceptor, NULL);
    for (int i = 0; i < s->n_threads; i++)
        (void)pthread_join(s->threads[i], NULL);
    (void)close(s->fd);
    SSL_CTX_free(s->tls);
    free(s);
}

static inline char *http_server_reply(const char *status, const char *headers,
                                      const char *body)
{
    return mem_printf("HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s", status,
                      headers, strlen(body), body);
}

#endif
