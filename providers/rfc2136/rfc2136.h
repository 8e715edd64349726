#ifndef PROVIDERS_RFC2136_RFC2136_H
#define PROVIDERS_RFC2136_RFC2136_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/mem.h"
#include "providers/provider.h"
#include "resolver/message.h"
#include "resolver/tsig.h"

/* Dynamic updates with TSIG, shared by the provider's own files only:
 *   rfc2136.c          options, open, close, the lists
 *   rfc2136_talk.c     messages and their answers over TCP
 *   rfc2136_rdata.c    record data, on the wire and as text
 *   rfc2136_read.c     sets as the server holds them
 *   rfc2136_memory.c   what was read last
 *   rfc2136_update.c   an UPDATE message, and what its answer means
 *   rfc2136_edit.c     sets, from what they are to what they shall be
 *   rfc2136_outcome.c  what an edited set's read-back and answer come to
 *   rfc2136_apply.c    a change set
 *   rfc2136_spec.c     a spec's TXT record
 *   rfc2136_check.c    what doctor asks
 * source: RFC 2136, RFC 8945 */

struct rfc2136_memory;

struct rfc2136 {
    struct provider base; /* first */
    struct provider_env env;
    char *name; /* its title in the configuration file */
    struct addr server;
    char who[ADDR_TEXT_SIZE]; /* the server, for messages */
    struct tsig_key *key;
    bool sign_queries;
    int64_t timeout_ms;
    struct rfc2136_memory *memory;
    size_t running; /* calls under way */
    provider_close_cb *close_cb;
    void *close_arg;
};

/* To be called first and last by each call that answers later. */
void rfc2136_enter(struct rfc2136 *p);
void rfc2136_leave(struct rfc2136 *p);

/* ---- messages and answers (rfc2136_talk.c) ------------------------------- */

#define RFC2136_IN_FLIGHT 1024u

/* The answer to one message, or why there is none. */
struct rfc2136_answer {
    size_t slot;
    struct message *m; /* borrowed; NULL: see err */
    bool is_signed;    /* the request was; tsig: what that means for m */
    struct tsig_check tsig;
    struct err err;  /* ERR_RETRY, ERR_LOCAL: the server has not read it;
                        ERR_UNKNOWN: it may have */
    bool is_garbled; /* an answer came that is none */
};
typedef void rfc2136_answer_cb(void *arg, const struct rfc2136_answer *a);

/* A conversation: a connection that is made when there is something to say,
 * and again after it was lost. */
struct rfc2136_talk;
/* Each message gets one answer, later; cb may send, and free the talk. */
struct rfc2136_talk *rfc2136_talk_new(struct rfc2136 *p, rfc2136_answer_cb *cb,
                                      void *arg)
    __attribute__((returns_nonnull));
void rfc2136_talk_free(struct rfc2136_talk *t); /* no more answers; NULL fine */
/* How many more messages may be sent before the next answer. */
size_t rfc2136_talk_room(const struct rfc2136_talk *t);
/* in: wire — of an id to be set, len bytes, copied
 * returns 0, or -1 with e set (ERR_LIMIT too long with its signature) */
MUST_CHECK int rfc2136_talk_send(struct rfc2136_talk *t, size_t slot,
                                 uint8_t *wire, size_t len, bool sign,
                                 struct err *e);

/* ---- record data (rfc2136_rdata.c) --------------------------------------- */

/* One set, as raw data: what is compared and written back is what the server
 * sent. */
struct rfc2136_set {
    const char *name; /* canonical */
    enum rr_type type;
    const struct message_rdata *v;
    size_t n;
    uint32_t ttl_s;                    /* of n > 0 */
    const struct message_rdata *cname; /* stands there instead; NULL: none */
    struct err err;                    /* ERR_NONE, or why it is not known */
};

/* A, AAAA and CNAME from canonical text. out: in a. returns 0, or -1 with e
 * set (ERR_INPUT) */
MUST_CHECK int rfc2136_rdata_make(struct arena *a, enum rr_type type,
                                  const char *data, struct message_rdata *out,
                                  struct err *e);
/* TXT data of a text, cut into character-strings. */
void rfc2136_rdata_txt(struct arena *a, const char *text, size_t len,
                       struct message_rdata *out);
/* The character-strings of TXT data put together; *len — bytes. */
const char *rfc2136_rdata_txt_text(struct arena *a,
                                   const struct message_rdata *r, size_t *len);
/* Canonical text; a name that is none to us with escapes. */
const char *rfc2136_rdata_text(struct arena *a, enum rr_type type,
                               const struct message_rdata *r);
bool rfc2136_rdata_equal(enum rr_type type, const struct message_rdata *a,
                         const struct message_rdata *b);
bool rfc2136_set_has(const struct rfc2136_set *s,
                     const struct message_rdata *r);
/* The same values, in any order; TTLs do not count. */
bool rfc2136_set_equal(const struct rfc2136_set *a,
                       const struct rfc2136_set *b);
/* Into a; name is not copied. */
void rfc2136_set_copy(struct arena *a, const struct rfc2136_set *from,
                      struct rfc2136_set *to);

/* ---- reading (rfc2136_read.c) -------------------------------------------- */

struct rfc2136_soa {
    uint32_t serial, ttl_s;
};
struct rfc2136_read_result {
    struct err err; /* ERR_NONE, or why nothing is known */
    struct rfc2136_soa soa;
};
typedef void rfc2136_read_cb(void *arg, const struct rfc2136_read_result *r);

/* Fills sets (name and type given), what a wildcard makes of a name left
 * out: queries, and where those cannot tell, an UPDATE that only asks.
 * A set's own err: ERR_NOTFOUND when its name lies in another zone.
 * zone, sets and a: borrowed until cb, which runs once, later. */
void rfc2136_read(struct rfc2136 *p, const char *zone, struct arena *a,
                  struct rfc2136_set *sets, size_t n, rfc2136_read_cb *cb,
                  void *arg);

/* ---- what was read last (rfc2136_memory.c) ------------------------------- */

/* So that a change need not be preceded by a question: the prerequisites of
 * the update tell when it no longer holds. */
struct rfc2136_memory *rfc2136_memory_new(void)
    __attribute__((returns_nonnull));
void rfc2136_memory_free(struct rfc2136_memory *m);
/* All that is known of a zone: three sets (A, AAAA, CNAME) for each of n
 * names. */
void rfc2136_memory_replace(struct rfc2136_memory *m, const char *zone,
                            const struct rfc2136_soa *soa,
                            const struct rfc2136_set *sets, size_t n);
/* Fills s (name and type given) from it, into a. returns false: not known */
bool rfc2136_memory_get(const struct rfc2136_memory *m, const char *zone,
                        struct arena *a, struct rfc2136_set *s,
                        struct rfc2136_soa *soa);
/* What a known set is now; s NULL: no longer known. */
void rfc2136_memory_set(struct rfc2136_memory *m, const char *zone,
                        const char *name, enum rr_type type,
                        const struct rfc2136_set *s);

/* ---- UPDATE messages (rfc2136_update.c) ---------------------------------- */

#define RFC2136_MESSAGE_MAX 60000u /* room for the signature is left */

/* One set: from exactly `now` to `want`. */
struct rfc2136_step {
    const struct rfc2136_set *now, *want;
};
/* An upper limit of the bytes that a step takes in a message. */
size_t rfc2136_step_size(const struct rfc2136_step *s);
/* "The sets are as they were read; delete them, add all values."
 * out: *wire — heap, id 0. returns 0, or -1 with e set (ERR_BUG) */
MUST_CHECK int rfc2136_update_build(const char *zone,
                                    const struct rfc2136_step *steps, size_t n,
                                    uint8_t **wire, size_t *len, struct err *e);
/* Changes nothing: does the name itself have a set of the type? */
MUST_CHECK int rfc2136_update_ask(const char *zone, const char *name,
                                  enum rr_type type, uint8_t **wire,
                                  size_t *len, struct err *e);

enum rfc2136_verdict {
    RFC2136_DONE,        /* says the server, and its signature is right */
    RFC2136_STALE,       /* a prerequisite does not hold */
    RFC2136_REFUSED,     /* for what is in it: another message may do */
    RFC2136_FAILED,      /* by the server, for now; nothing was changed */
    RFC2136_STOP,        /* no message would do */
    RFC2136_LOST,        /* it may have been carried out */
    RFC2136_DISBELIEVED, /* as LOST, and somebody changed the answer */
};
/* out: *e — set but for DONE */
enum rfc2136_verdict rfc2136_update_judge(const struct rfc2136 *p,
                                          const char *zone,
                                          const struct rfc2136_answer *a,
                                          struct err *e);

/* ---- editing sets (rfc2136_edit.c) --------------------------------------- */

enum rfc2136_edit_state {
    RFC2136_SET_READ,  /* to be read (again) */
    RFC2136_SET_SEND,  /* to be sent */
    RFC2136_SET_SENT,  /* no answer yet */
    RFC2136_SET_CHECK, /* answered: to be read back */
    RFC2136_SET_OVER,  /* result holds */
};
struct rfc2136_edit_set {
    struct rfc2136_set now, want;
    bool is_fresh; /* now was read in this call, not remembered */
    bool changed;  /* an update of it was accepted, or may have been */
    enum rfc2136_edit_state state;
    enum rfc2136_verdict verdict; /* of the last answer */
    struct err why;               /* what it said */
    size_t group_max;             /* names in one message */
    int tries;
    int looks; /* in vain, after it was accepted */
    struct change_result result;
};

/* What set i shall be, from what it is: want's v, n and ttl_s, in a.
 * returns 0, or -1 with e set: it is left as it is */
typedef int rfc2136_want_fn(void *arg, size_t i, const struct rfc2136_set *now,
                            const struct rfc2136_soa *soa, struct arena *a,
                            struct rfc2136_set *want, struct err *e);
struct rfc2136_edited {
    struct err err; /* ERR_NONE, or why the whole was given up */
    const struct rfc2136_edit_set *sets;
    bool has_serial;
    uint32_t serial;
};
typedef void rfc2136_edited_cb(void *arg, const struct rfc2136_edited *r);

struct rfc2136_edit_order {
    const char *zone; /* canonical */
    struct arena *arena;
    struct rfc2136_edit_set *sets; /* now.name and now.type given, sorted by
                                      name */
    size_t n;
    bool from_memory; /* what is remembered will do for a start */
    rfc2136_want_fn *want;
    rfc2136_edited_cb *done;
    void *arg; /* of want and done */
};
/* All in o is borrowed until done, which runs once, later. */
void rfc2136_edit(struct rfc2136 *p, const struct rfc2136_edit_order *o);

#define RFC2136_LOOKS_MAX 20 /* for what was accepted, one after another */

/* (rfc2136_outcome.c) After now was read: works out want, and whether that
 * ends it, is to be sent, or (looks counted) to be looked at again: a server
 * that signs shows a change when it is signed. */
void rfc2136_settle(const struct rfc2136_edit_order *o, size_t i,
                    const struct rfc2136_soa *soa);

/* ---- calls --------------------------------------------------------------- */

void rfc2136_apply(struct provider *p, const struct change_set *set,
                   provider_apply_cb *cb, void *arg);
void rfc2136_write_spec(struct provider *p, const struct spec_write *w,
                        provider_written_cb *cb, void *arg);
void rfc2136_check(struct provider *p, const char *zone, provider_check_cb *cb,
                   void *arg);

#endif
