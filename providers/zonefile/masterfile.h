#ifndef PROVIDERS_ZONEFILE_MASTERFILE_H
#define PROVIDERS_ZONEFILE_MASTERFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/buf.h"
#include "agent/base/err.h"
#include "agent/base/mem.h"
#include "providers/provider.h"
#include "providers/rrset.h"

/* Master files as BIND reads them, without loss: what is not changed keeps
 * every byte. source: RFC 1035 5.1, RFC 2308 4 ($TTL), BIND's $GENERATE
 *
 * A record that is switched off stays as a comment in its place:
 *
 *   ;dnsfailover; www 60 IN A 192.0.2.10 ; what stood there, byte for byte
 *   ;dnsfailover+; each further line of a record in parentheses
 *
 * Between the mark and "; " may stand what the line loses as a comment:
 *   owner=NAME  it began with a blank: the owner it had from above
 *   ttl=N       it had its TTL from the record above
 *   lent-owner  the next record had its owner from here; it was written there
 *   lent-ttl    the same for its TTL
 * so that switching it on again gives back the old bytes. */

#define MASTERFILE_MAX ((size_t)256 << 20) /* bytes, $INCLUDEs with it */

struct masterfile;

/* Where $INCLUDE reads from. read fills *data (heap) and *len; returns 0, or
 * -1 with e set. */
struct masterfile_source {
    int (*read)(void *arg, const char *path, char **data, size_t *len,
                struct err *e);
    void *arg;
};

/* in:  zone — canonical; path — for messages; text — borrowed as long as *out
 *      lives; src — NULL: $INCLUDE is an error
 * out: *out — freed by masterfile_free
 * returns 0, or -1 with e set as "PATH:LINE: …": ERR_INPUT (syntax, no SOA or
 * a foreign one, not a text file), ERR_LIMIT (size, depth of $INCLUDE), what
 * src says */
MUST_CHECK int masterfile_parse(const char *zone, const char *path,
                                const char *text, size_t len,
                                const struct masterfile_source *src,
                                struct masterfile **out, struct err *e);
void masterfile_free(struct masterfile *m); /* NULL is fine */

uint32_t masterfile_serial(const struct masterfile *m);

/* Adds the A, AAAA and CNAME sets of names (canonical) to out; what a
 * $GENERATE line makes for them too. Data that is not of its type (an escaped
 * CNAME target) is listed as it stands.
 * returns 0, or -1 with e set (ERR_LIMIT: $GENERATE makes too many values for
 * one of the names) */
MUST_CHECK int masterfile_list(const struct masterfile *m,
                               const char *const *names, size_t n,
                               struct rrset_list *out, struct err *e);

/* The owners of _failover TXT records in the zone, canonical, sorted, each
 * once, without the label _failover. out: *owners — n of them, in a. */
void masterfile_specs(const struct masterfile *m, struct arena *a,
                      const char ***owners, size_t *n);

/* The text with one TXT record of ours at the name (canonical, _failover
 * included) that says text, and the serial replaced. A record that is ours
 * (not provider_txt_is_foreign) gets the new data in its place and keeps its
 * owner, TTL and the comment behind it; a second one goes. Without one, a line
 * is added after the name's last TXT record, with its TTL, else with ttl_s at
 * the end of the file.
 * returns 0, or -1 with e set and nothing usable in out: as masterfile_edit;
 * ERR_INPUT (not in the zone, a CNAME stands at the name), ERR_UNSUPPORTED (a
 * record of ours stands in an included file, or cannot be read) */
MUST_CHECK int masterfile_edit_txt(const struct masterfile *m, const char *name,
                                   const char *text, size_t len, uint32_t ttl_s,
                                   uint32_t serial, struct buf *out,
                                   bool *changed, struct err *e);

/* The text with changes v applied and the serial replaced.
 *   withdraw  each record of the value becomes a comment (above)
 *   publish   what was switched off comes back, else a new line after the
 *             set's last record, or at the end
 *   ttl_s     of a publish that changes something: every enabled record of
 *             the set in the file gets it
 * A set that the file cannot take (its records stand in an included file or
 * come from $GENERATE, a CNAME beside other records) fails alone.
 * in:  v — n changes, names and data canonical
 * out: results — n of them; out — the new text, untouched when !*changed
 * returns 0, or -1 with e set and nothing usable in out: ERR_BUG (read again,
 * the new text is not what was meant), ERR_UNSUPPORTED (a record that would
 * have to be mended stands in an included file), ERR_LIMIT */
MUST_CHECK int masterfile_edit(const struct masterfile *m,
                               const struct change *v, size_t n,
                               uint32_t serial, struct change_result *results,
                               struct buf *out, bool *changed, struct err *e);

#endif
