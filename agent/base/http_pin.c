#include "agent/base/http_pin.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

#define PIN_LENGTH 44 /* base64 of 32 bytes */

/* out: "" when the certificate has no key that can be read */
static void pin_of(X509 *cert, char out[HTTP_PIN_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE], *der = NULL;
    unsigned int len = 0;
    int n = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);

    out[0] = '\0';
    if (n <= 0)
        return;
    if (EVP_Digest(der, (size_t)n, digest, &len, EVP_sha256(), NULL) == 1 &&
        len == 32)
        (void)EVP_EncodeBlock((unsigned char *)out, digest, (int)len);
    OPENSSL_free(der);
}

static int verify(X509_STORE_CTX *ctx, void *arg)
{
    struct http_pin *pin = arg;
    X509 *leaf = X509_STORE_CTX_get0_cert(ctx);

    if (leaf != NULL)
        pin_of(leaf, pin->seen);
    if (pin->want == NULL)
        return X509_verify_cert(ctx);
    if (pin->seen[0] != '\0' && strcmp(pin->seen, pin->want) == 0) {
        X509_STORE_CTX_set_error(ctx, X509_V_OK);
        return 1;
    }
    pin->refused = true;
    X509_STORE_CTX_set_error(ctx, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

void http_pin_install(void *ssl_ctx, struct http_pin *pin)
{
    SSL_CTX_set_cert_verify_callback(ssl_ctx, verify, pin);
    /* A kept connection outlives the call and its pin: no second handshake
     * may come back here. */
    (void)SSL_CTX_set_options(ssl_ctx, SSL_OP_NO_RENEGOTIATION);
}

bool http_pin_is_valid(const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";

    return strlen(text) == PIN_LENGTH &&
           strspn(text, digits) == PIN_LENGTH - 1 &&
           text[PIN_LENGTH - 1] == '=';
}
