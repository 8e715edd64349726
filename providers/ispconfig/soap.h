#ifndef PROVIDERS_ISPCONFIG_SOAP_H
#define PROVIDERS_ISPCONFIG_SOAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"
#include "agent/base/err.h"
#include "agent/base/mem.h"

/* SOAP 1.1 in the RPC/encoded style that PHP's SoapServer speaks: positional
 * parameters going out, a tree of small values coming in. */

/* ---- writing ------------------------------------------------------------- */

/* The parameters of one call, in order. */
struct soap_args {
    struct buf b;
    bool unwritable; /* a text was no UTF-8, or held a control character */
};

void soap_args_init(struct soap_args *a);
void soap_args_fini(struct soap_args *a); /* wiped: may hold a password */
/* s NULL: nil */
void soap_put_string(struct soap_args *a, const char *s);
void soap_put_bool(struct soap_args *a, bool v);
/* A map of strings, Apache's Map type: between open and close any number of
 * members. value NULL: nil */
void soap_open_map(struct soap_args *a);
void soap_put_member(struct soap_args *a, const char *key, const char *value);
void soap_close_map(struct soap_args *a);

/* The whole envelope of a call. session: put before the other parameters;
 * NULL: none.
 * out: body — added to it
 * returns 0, or -1 with e set (ERR_INPUT: a text cannot be sent in XML;
 * ERR_LIMIT: too large). source: SOAP 1.1 4, 5, 7 */
MUST_CHECK int soap_envelope(struct buf *body, const char *method,
                             const char *session, const struct soap_args *a,
                             struct err *e);

/* ---- reading ------------------------------------------------------------- */

enum soap_kind {
    SOAP_NIL,
    SOAP_STRING,
    SOAP_INT,
    SOAP_BOOL,
    SOAP_MAP,
    SOAP_LIST
};

struct soap_value {
    enum soap_kind kind;
    const char *text;         /* STRING, and INT and BOOL as sent; else "" */
    int64_t number;           /* INT; BOOL: 0 or 1 */
    const char **keys;        /* MAP: n of them, in the order sent */
    struct soap_value *items; /* MAP and LIST: n of them */
    size_t n;
};

#define SOAP_FAULT_CODE_SIZE 64
#define SOAP_FAULT_TEXT_SIZE 256

struct soap_answer {
    bool is_fault;
    char code[SOAP_FAULT_CODE_SIZE]; /* of a fault: "permission_denied" … */
    char text[SOAP_FAULT_TEXT_SIZE]; /* one line, without markup, cut */
    struct soap_value value;         /* of an answer */
};

/* Reads an answer. All of *out lives in arena a.
 * returns 0 (an answer or a fault), or -1 with e set: ERR_RETRY (not SOAP,
 * not well-formed, ends early), ERR_LIMIT, ERR_INPUT (see xml_parse)
 * source: SOAP 1.1 4.4, 5; XML Schema 1 2.6 (xsi:type, xsi:nil) */
MUST_CHECK int soap_parse(struct arena *a, const char *body, size_t len,
                          size_t max_size, struct soap_answer *out,
                          struct err *e);

/* Borrowed; NULL when v is no map or has no such key. */
const struct soap_value *soap_get(const struct soap_value *v, const char *key);
/* The text of that member; NULL when missing, nil, a map or a list. */
const char *soap_get_text(const struct soap_value *v, const char *key);

#endif
