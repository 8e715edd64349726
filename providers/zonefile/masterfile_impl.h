#ifndef PROVIDERS_ZONEFILE_MASTERFILE_IMPL_H
#define PROVIDERS_ZONEFILE_MASTERFILE_IMPL_H

#include "providers/zonefile/masterfile.h"

/* What the masterfile_*.c files share; nobody else includes it. */

#define MASTERFILE_MARK ";dnsfailover"
#define MASTERFILE_NAME_MAX 1100 /* 255 bytes, each written as \DDD */

/* What NSD and Knot take when nothing says it. */
#define MASTERFILE_TTL_UNSET 3600u

enum { MF_OTHER = 0, MF_SOA = 6, MF_RRSIG = 46, MF_NSEC = 47 }; /* + rr_type */

struct masterfile_span {
    uint32_t off, len; /* in the item's text */
};

enum masterfile_kind {
    MF_RECORD,
    MF_OFF,      /* a record that we switched off; main file only */
    MF_GENERATE, /* a $GENERATE line */
};
enum masterfile_ttl {
    MF_TTL_TOKEN,   /* written in the record */
    MF_TTL_DEFAULT, /* from $TTL or the SOA */
    MF_TTL_LAST,    /* from the record before (RFC 1035 5.1) */
    MF_TTL_NOTE,    /* of MF_OFF: kept in its comment */
};

struct masterfile_item {
    const char *text; /* whole lines as they stand when switched on */
    uint32_t len;
    uint32_t raw_off, raw_len; /* whole lines in their file */
    uint32_t line, file;       /* file: index of files */
    uint8_t kind, ttl_from;
    bool noted_owner, lent_owner, lent_ttl; /* MF_OFF */
    uint16_t type;                          /* of the IN class, or MF_OTHER */
    uint32_t ttl;
    bool has_default;           /* a $TTL (or the SOA's minimum) holds here, */
    uint32_t default_ttl;       /* and says this */
    const char *owner, *origin; /* absolute, lower case */
    /* How the owner was written, here or above, and under which origin; NULL:
     * not known. */
    const char *spelled, *spelled_origin;
    uint32_t spelled_len;
    uint32_t head; /* where a TTL is put: the first token after the owner */
    struct masterfile_span owner_tok; /* len 0: from above */
    struct masterfile_span ttl_tok, type_tok, rdata, serial;
    uint32_t ntokens; /* of rdata */
};

/* A $GENERATE line taken apart; text of its item. */
struct masterfile_generate {
    size_t item;
    uint64_t start, stop, step;
    const char *lhs, *rhs; /* in the arena */
};

/* One read of a file: an $INCLUDE that is met twice is two. */
struct masterfile_file {
    const char *path, *text;
    char *owned; /* NULL for the main text */
    size_t len;
    uint32_t parent, depth;
};

struct masterfile {
    const char *zone;
    struct arena *arena;
    struct masterfile_file *files; /* 0: the main one */
    size_t nfiles, files_cap, bytes;
    struct masterfile_item *items; /* in the order of reading */
    size_t n, cap;
    struct masterfile_generate *gens;
    size_t ngens, gens_cap;
    size_t soa; /* index of items */
    uint32_t serial;
};

/* --- masterfile_token.c -------------------------------------------------- */
struct masterfile_lexer {
    const char *s;
    size_t len, pos;
    uint32_t line, depth;
};
struct masterfile_token {
    size_t off, len; /* without the quotes */
    bool quoted;
};
/* The next token of a record.
 * returns 1, 0 at the record's end (its newline taken), -1 with e set
 * (ERR_INPUT, without place). source: RFC 1035 5.1 */
MUST_CHECK int masterfile_next(struct masterfile_lexer *l,
                               struct masterfile_token *t, struct err *e);
/* "3600", "1h30m". source: BIND 9 ARM, "Setting TTLs" */
bool masterfile_ttl_parse(const char *s, size_t n, uint32_t *out);
/* A name token as absolute lower-case text; escapes of plain bytes undone,
 * others as \DDD. returns it (in a), or NULL: too long. */
const char *masterfile_name(struct arena *a, const char *s, size_t n,
                            const char *origin);

bool masterfile_is_word(const char *s, size_t n, const char *word);
uint16_t masterfile_type_of(const char *s, size_t n);
bool masterfile_type_is_ours(uint16_t type); /* A, AAAA, CNAME */
/* 1: the Internet class, 2: another one, 0: no class */
int masterfile_class_of(const char *s, size_t n);

/* --- masterfile_scan.c ---------------------------------------------------- */
/* What holds at a line. Owner and origin belong to one file, the TTLs go on
 * through $INCLUDE, as BIND has it. */
struct masterfile_place {
    const char *origin, *owner;
    const char *spelled, *spelled_origin; /* of owner */
    uint32_t spelled_len, file;
};
struct masterfile_scan {
    struct masterfile *m;
    const struct masterfile_source *src;
    struct err *e;
    bool default_known, last_known;
    uint32_t default_ttl, last_ttl;
    const char *tok; /* the owner token read last, and what came of it */
    size_t tok_len;
    const char *tok_origin, *tok_owner;
};

/* --- masterfile_record.c -------------------------------------------------- */
/* A name token as an absolute name; NULL with s->e set: too long. */
const char *masterfile_owner(struct masterfile_scan *s, const char *tok,
                             size_t n, const char *origin);
/* The TTL of an item that may have a token of its own; and for those below. */
void masterfile_ttl_set(const struct masterfile_scan *s,
                        struct masterfile_item *it);
void masterfile_ttl_keep(struct masterfile_scan *s,
                         const struct masterfile_item *it);
/* TTL, class, type and data; l stands after the owner. min: a SOA's.
 * returns 0, or -1 with s->e set */
MUST_CHECK int masterfile_record_take(struct masterfile_scan *s,
                                      struct masterfile_lexer *l,
                                      struct masterfile_item *it,
                                      uint32_t *min);
/* A record whose owner is read (NULL: a blank), added to the items.
 * returns 0, or -1 with s->e set */
MUST_CHECK int masterfile_record_scan(struct masterfile_scan *s,
                                      struct masterfile_place *p,
                                      struct masterfile_lexer *l,
                                      struct masterfile_item *it,
                                      const struct masterfile_token *owner);
void masterfile_push(struct masterfile *m, const struct masterfile_item *it);

/* --- masterfile_off.c ----------------------------------------------------- */
/* A line that begins with MASTERFILE_MARK: if it holds exactly one record,
 * that is added to the items. outer is moved behind it, or stays: not ours. */
void masterfile_off_scan(struct masterfile_scan *s,
                         const struct masterfile_place *p,
                         struct masterfile_lexer *outer);

/* --- masterfile.c -------------------------------------------------------- */
/* The canonical text of an item's data (heap). */
char *masterfile_data(const struct masterfile_item *it);

/* --- masterfile_generate.c ----------------------------------------------- */
/* Takes the tokens after $GENERATE apart and adds the line to m.
 * returns 0, or -1 with e set (ERR_INPUT) */
MUST_CHECK int masterfile_generate_add(struct masterfile *m,
                                       struct masterfile_lexer *l,
                                       struct masterfile_item *it,
                                       struct err *e);
/* Calls cb for each record that $GENERATE lines make at name: it — the line,
 * data — canonical, heap, cb's to free. Costs nothing per step of the range.
 * returns 0, or -1 with e set (ERR_LIMIT) */
typedef void masterfile_generate_cb(void *arg, const struct masterfile_item *it,
                                    char *data);
MUST_CHECK int masterfile_generate_each(const struct masterfile *m,
                                        const char *name,
                                        masterfile_generate_cb *cb, void *arg,
                                        struct err *e);

/* --- masterfile_plan.c --------------------------------------------------- */
struct masterfile_fresh {
    const char *name, *data;
    enum rr_type type;
    int64_t ttl_s; /* -1: none */
    size_t after;  /* index of items; SIZE_MAX: the end of the file */
    const struct masterfile_txt
        *txt; /* of a TXT record; data then is not used */
};
/* The bytes of a TXT record, its character-strings joined. */
struct masterfile_txt {
    const char *text;
    size_t len;
};
#define MASTERFILE_TTL_KEEP INT64_MIN
struct masterfile_step { /* one per item */
    bool active;
    int64_t ttl_s;                    /* MASTERFILE_TTL_KEEP: as it is */
    bool removed;                     /* a TXT record that goes */
    const struct masterfile_txt *txt; /* a TXT record's new data; NULL: as is */
};
struct masterfile_plan {
    struct arena *arena;
    struct masterfile_step *steps;
    struct masterfile_fresh *fresh; /* by after, then order of changes */
    size_t nfresh;
    bool changed;
};
/* results: DONE, or FAILED and SKIPPED where the plan leaves it out */
void masterfile_plan_make(const struct masterfile *m, const struct change *v,
                          size_t n, struct change_result *results,
                          struct masterfile_plan *out);
void masterfile_plan_fini(struct masterfile_plan *p);

/* --- masterfile_edit.c --------------------------------------------------- */
/* Writes the text that a plan with changes asks for; as masterfile_edit. */
MUST_CHECK int masterfile_edit_plan(const struct masterfile *m,
                                    const struct masterfile_plan *plan,
                                    uint32_t serial, struct buf *out,
                                    struct err *e);

/* --- masterfile_txt.c ---------------------------------------------------- */
/* The bytes of a TXT item's data, added to out.
 * returns 0, or -1 with e set (ERR_UNSUPPORTED, with its place) */
MUST_CHECK int masterfile_txt_read(const struct masterfile *m,
                                   const struct masterfile_item *it,
                                   struct buf *out, struct err *e);
/* The rest of a TXT item's lines after its type, with new data. */
void masterfile_txt_render(const struct masterfile_item *it,
                           const struct masterfile_txt *txt, const char *eol,
                           struct buf *b);
/* The data of a new record: `"…"`, or several strings in parentheses. */
void masterfile_txt_data(const struct masterfile_txt *txt, const char *eol,
                         struct buf *b);

/* --- masterfile_verify.c ------------------------------------------------- */
/* What must stand in the new text, in order. */
struct masterfile_want {
    const struct masterfile_item *item;   /* NULL: fresh */
    const struct masterfile_fresh *fresh; /* NULL: item */
    bool active;
    uint32_t ttl;
    const struct masterfile_txt *txt; /* item's new data; NULL: as it is */
};
/* Reads text again and compares. returns 0, or -1 with e set (ERR_BUG) */
MUST_CHECK int masterfile_verify(const struct masterfile *m,
                                 const struct masterfile_want *want, size_t n,
                                 uint32_t serial, const struct buf *text,
                                 struct err *e);

#endif
