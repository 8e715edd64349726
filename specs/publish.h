#ifndef SPECS_PUBLISH_H
#define SPECS_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "specs/spec.h"

/* A spec on its way to DNS: which spelling a place takes, and how it is
 * written there. Pure: bytes in, bytes out. source: spec-language 2 */

#define PUBLISH_TTL_S 300u /* of a new _failover record */

/* Answers longer than this are cut over UDP and asked for again over TCP.
 * source: DNS Flag Day 2020, RFC 9715 3 */
#define PUBLISH_UDP_MAX 1232u

enum publish_format {
    PUBLISH_BIND,      /* a master file's record */
    PUBLISH_ISPCONFIG, /* what is pasted into the panel's TXT form */
    PUBLISH_ROUTE53,   /* the value of a TXT record in Route 53 */
    PUBLISH_RAW,       /* the text itself, JSON */
    PUBLISH_BARE,      /* the text itself, without quotes */
    PUBLISH_NFORMATS
};

const char *publish_format_name(enum publish_format f); /* "bind" … */
/* returns 0, or -1 with e set (ERR_INPUT: names the accepted ones) */
MUST_CHECK int publish_format_parse(const char *text, enum publish_format *out,
                                    struct err *e);

/* A spec as one text for one place. Heap, NUL-terminated. */
struct publish_text {
    char *stored; /* what the place is given */
    char *served; /* what DNS then has, its character-strings joined */
    enum spec_spelling spelling; /* of what is served */
};

/* The canonical text of s for a place: JSON, but bare for PUBLISH_BARE, and
 * for PUBLISH_ISPCONFIG JSON with escaped quotes where its zone writer's cut
 * every 255 bytes does not reach it, else bare.
 * returns 0, or -1 with e set: ERR_INPUT (bare cannot say it: names what),
 * ERR_LIMIT (longer than SPEC_TEXT_MAX, or than txt_max bytes; 0: no such
 * limit; or than a DNS message) */
MUST_CHECK int publish_text_make(const struct spec *s, enum publish_format f,
                                 size_t txt_max, struct publish_text *out,
                                 struct err *e);
void publish_text_fini(struct publish_text *t);

/* --- the formats, each on len bytes of text; heap, caller frees ----------- */

/* A record of a master file with its final newline; of several lines where
 * the text takes several character-strings.
 * in: owner — canonical, without _failover. source: RFC 1035 5.1 */
char *publish_bind(const char *owner, uint32_t ttl_s, const char *text,
                   size_t len);

/* The strings of a Route 53 value: `"…" "…"`, quotes and backslashes behind a
 * backslash, what is not printable ASCII as \ooo (octal).
 * returns NULL with e set (ERR_LIMIT: a value has at most 4,000 characters)
 * source: Route 53 Developer Guide, "TXT record type"; API Reference,
 * "ResourceRecord", "Quotas" */
#define PUBLISH_ROUTE53_VALUE_MAX 4000u
#define PUBLISH_ROUTE53_REQUEST_MAX 32000u
char *publish_route53(const char *text, size_t len, struct err *e);

/* JSON as an ISPConfig panel has to hold it: \" and \\, and what is not ASCII
 * as \\uXXXX (its database keeps three bytes of a character). The zone writer
 * puts the text between quotes and escapes nothing.
 * out: *json — the JSON that DNS then has; heap
 * returns NULL when json is no UTF-8 (*json is NULL then too) */
#define PUBLISH_ISPCONFIG_MAX 255u /* bytes after which its writer cuts */
char *publish_ispconfig(const char *text, size_t len, char **json);

/* Bytes of the answer that carries the text: header, question, record, OPT.
 * source: RFC 1035 4.1, RFC 6891 6.1.2 */
size_t publish_wire_len(const char *owner, size_t len);

#endif
