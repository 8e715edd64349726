#include "resolver/message.h"

#include <ldns/ldns.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"

/* For a few texts: that is what most are asked for. */
#define ARENA_SIZE 256

struct message {
    ldns_pkt *pkt;
    struct arena *arena; /* what the borrowed answers live in */
};

/* --- queries ------------------------------------------------------------- */

#define HEADER_SIZE 12 /* RFC 1035 4.1.1 */
#define OPT_SIZE 11    /* RFC 6891 6.1.2, without options */

static uint8_t *put16(uint8_t *at, unsigned v)
{
    *at++ = (uint8_t)(v >> 8);
    *at++ = (uint8_t)v;
    return at;
}

/* Laid out by hand: with ldns it costs as much as the rest of a lookup. */
static int build(const char *name, uint16_t type, bool rd, bool ad, bool edns,
                 uint8_t **wire, size_t *len, struct err *e)
{
    ldns_rdf *dname = ldns_dname_new_frm_str(name);
    size_t size;
    uint8_t *at;

    if (dname == NULL)
        return err_set(e, ERR_INPUT, "\"%.200s\" is not a domain name", name);
    size = ldns_rdf_size(dname);
    *len = HEADER_SIZE + size + 4 + (edns ? OPT_SIZE : 0);
    *wire = mem_alloc(*len);
    at = put16(*wire + 2, (rd ? 1u << 8 : 0) | (ad ? 1u << 5 : 0));
    at = put16(at, 1); /* question */
    put16(*wire + 10, edns ? 1 : 0);
    at = *wire + HEADER_SIZE;
    memcpy(at, ldns_rdf_data(dname), size);
    at = put16(at + size, type);
    at = put16(at, LDNS_RR_CLASS_IN);
    if (edns) {
        *at++ = 0; /* the root */
        at = put16(at, LDNS_RR_TYPE_OPT);
        put16(at, MESSAGE_UDP_SIZE); /* and no flags, no data */
    }
    ldns_rdf_deep_free(dname);
    return 0;
}

int message_query(const char *name, uint16_t type, bool rd, bool ad,
                  uint8_t **wire, size_t *len, struct err *e)
{
    return build(name, type, rd, ad, true, wire, len, e);
}

int message_query_plain(const char *name, uint16_t type, bool rd, bool ad,
                        uint8_t **wire, size_t *len, struct err *e)
{
    return build(name, type, rd, ad, false, wire, len, e);
}

void message_set_id(uint8_t *wire, uint16_t id)
{
    ldns_write_uint16(wire, id);
}

/* --- decoding ------------------------------------------------------------ */

int message_decode(const uint8_t *wire, size_t len, struct message **m,
                   struct err *e)
{
    ldns_pkt *pkt = NULL;
    ldns_status status;

    *m = NULL;
    if (len > LDNS_MAX_PACKETLEN)
        return err_set(e, ERR_RETRY, "a message of %zu bytes", len);
    status = ldns_wire2pkt(&pkt, wire, len);
    if (status != LDNS_STATUS_OK)
        return err_set(e, ERR_RETRY, "a message that cannot be decoded: %s",
                       ldns_get_errorstr_by_id(status));
    *m = mem_alloc(sizeof **m);
    (*m)->pkt = pkt;
    (*m)->arena = arena_sized(ARENA_SIZE);
    return 0;
}

void message_free(struct message *m)
{
    if (m == NULL)
        return;
    ldns_pkt_free(m->pkt);
    arena_free(m->arena);
    free(m);
}

/* --- the header ---------------------------------------------------------- */

uint16_t message_id(const struct message *m)
{
    return ldns_pkt_id(m->pkt);
}

bool message_is_response(const struct message *m, unsigned opcode)
{
    return ldns_pkt_qr(m->pkt) &&
           (unsigned)ldns_pkt_get_opcode(m->pkt) == opcode;
}

int message_rcode(const struct message *m)
{
    return (int)ldns_pkt_get_rcode(m->pkt) |
           (int)ldns_pkt_edns_extended_rcode(m->pkt) << 4;
}

const char *message_rcode_name(int rcode)
{
    /* IANA, DNS RCODEs */
    static const char *const names[] = {
        "NOERROR", "FORMERR",   "SERVFAIL",       "NXDOMAIN", "NOTIMP",
        "REFUSED", "YXDOMAIN",  "YXRRSET",        "NXRRSET",  "NOTAUTH",
        "NOTZONE", "DSOTYPENI", [16] = "BADVERS", "BADKEY",   "BADTIME",
        "BADMODE", "BADNAME",   "BADALG",         "BADTRUNC", "BADCOOKIE"};

    if (rcode < 0 || (size_t)rcode >= sizeof names / sizeof names[0] ||
        names[rcode] == NULL)
        return "an unassigned RCODE";
    return names[rcode];
}

const char *message_type_name(uint16_t type)
{
    switch (type) {
    case MESSAGE_A:
        return "A";
    case MESSAGE_NS:
        return "NS";
    case MESSAGE_CNAME:
        return "CNAME";
    case MESSAGE_SOA:
        return "SOA";
    case MESSAGE_TXT:
        return "TXT";
    case MESSAGE_AAAA:
        return "AAAA";
    case MESSAGE_AXFR:
        return "AXFR";
    default:
        return NULL;
    }
}

bool message_is_aa(const struct message *m)
{
    return ldns_pkt_aa(m->pkt);
}

bool message_is_ad(const struct message *m)
{
    return ldns_pkt_ad(m->pkt);
}

bool message_is_tc(const struct message *m)
{
    return ldns_pkt_tc(m->pkt);
}

bool message_has_edns(const struct message *m)
{
    return ldns_pkt_edns(m->pkt);
}

/* --- records ------------------------------------------------------------- */

static bool is_label_byte(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '*';
}

/* The name as canonical text; false: a name that is none to us (it would
 * need escapes). ldns has resolved compression already. */
static bool name_text(const ldns_rdf *rdf, char out[NAME_SIZE])
{
    const uint8_t *p = ldns_rdf_data(rdf);
    size_t size = ldns_rdf_size(rdf), at = 0, n = 0;
    char text[NAME_SIZE];

    if (size == 1 && p[0] == 0) {
        memcpy(out, ".", 2);
        return true;
    }
    while (at < size && p[at] != 0) {
        size_t label = p[at++];

        if (label > size - at || n + label + 2 > sizeof text)
            return false;
        for (size_t i = 0; i < label; i++) {
            if (!is_label_byte(p[at]))
                return false;
            text[n++] = (char)p[at++];
        }
        text[n++] = '.';
    }
    text[n] = '\0';
    return name_canon(text, out, NULL) == 0;
}

static bool name_is(const ldns_rdf *rdf, const char *name)
{
    char text[NAME_SIZE];

    return rdf != NULL && name_text(rdf, text) && name_equal(text, name);
}

bool message_answers(const struct message *m, const char *name, uint16_t type)
{
    const ldns_rr_list *questions = ldns_pkt_question(m->pkt);
    const ldns_rr *q;

    if (!ldns_pkt_qr(m->pkt) || ldns_rr_list_rr_count(questions) != 1)
        return false;
    q = ldns_rr_list_rr(questions, 0);
    return ldns_rr_get_type(q) == (ldns_rr_type)type &&
           ldns_rr_get_class(q) == LDNS_RR_CLASS_IN &&
           name_is(ldns_rr_owner(q), name);
}

static bool authority_has(const struct message *m, uint16_t type)
{
    const ldns_rr_list *list = ldns_pkt_authority(m->pkt);

    for (size_t i = 0; i < ldns_rr_list_rr_count(list); i++)
        if (ldns_rr_get_type(ldns_rr_list_rr(list, i)) == (ldns_rr_type)type)
            return true;
    return false;
}

bool message_has_soa(const struct message *m)
{
    return authority_has(m, MESSAGE_SOA);
}

bool message_is_referral(const struct message *m)
{
    return authority_has(m, MESSAGE_NS) && !authority_has(m, MESSAGE_SOA);
}

/* The next answer record of (name, type) from *at on, or NULL. */
static const ldns_rr *next(const struct message *m, size_t *at,
                           const char *name, uint16_t type)
{
    const ldns_rr_list *list = ldns_pkt_answer(m->pkt);

    while (*at < ldns_rr_list_rr_count(list)) {
        const ldns_rr *rr = ldns_rr_list_rr(list, (*at)++);

        if (ldns_rr_get_type(rr) == (ldns_rr_type)type &&
            ldns_rr_get_class(rr) == LDNS_RR_CLASS_IN &&
            (name == NULL || name_is(ldns_rr_owner(rr), name)))
            return rr;
    }
    return NULL;
}

static uint32_t ttl_of(const ldns_rr *rr)
{
    uint32_t ttl_s = ldns_rr_ttl(rr);

    return ttl_s > INT32_MAX ? 0 : ttl_s; /* RFC 2181 8 */
}

size_t message_count(const struct message *m, const char *name, uint16_t type)
{
    size_t n = 0, at = 0;

    while (next(m, &at, name, type) != NULL)
        n++;
    return n;
}

/* A character-string is its length byte and the bytes: RFC 1035 3.3. */
static struct message_string *read_txt(struct arena *a, const ldns_rr *rr,
                                       struct message_txt *out)
{
    size_t n = ldns_rr_rd_count(rr);
    struct message_string *strings = arena_array(a, n, sizeof *strings);

    for (size_t i = 0; i < n; i++) {
        const ldns_rdf *rdf = ldns_rr_rdf(rr, i);
        size_t size = ldns_rdf_size(rdf);

        strings[i].data = "";
        if (size > 1) {
            strings[i].data = (const char *)ldns_rdf_data(rdf) + 1;
            strings[i].len = size - 1;
        }
    }
    out->strings = strings;
    out->nstrings = n;
    out->ttl_s = ttl_of(rr);
    return strings;
}

const struct message_txt *message_txts(struct message *m, const char *name,
                                       size_t *n)
{
    size_t count = message_count(m, name, MESSAGE_TXT), at = 0;
    struct message_txt *txts = arena_array(m->arena, count, sizeof *txts);

    for (size_t i = 0; i < count; i++)
        (void)read_txt(m->arena, next(m, &at, name, MESSAGE_TXT), &txts[i]);
    *n = count;
    return txts;
}

size_t message_addrs(const struct message *m, const char *name, uint16_t type,
                     struct addr *out, size_t max, uint32_t *ttl_s)
{
    size_t want = type == MESSAGE_AAAA ? 16 : 4, n = 0, at = 0;
    const ldns_rr *rr;

    *ttl_s = 0;
    while ((rr = next(m, &at, name, type)) != NULL) {
        const ldns_rdf *rdf = ldns_rr_rdf(rr, 0);

        if (rdf == NULL || ldns_rdf_size(rdf) != want)
            continue;
        if (n == 0 || ttl_of(rr) < *ttl_s)
            *ttl_s = ttl_of(rr);
        if (n < max) {
            memset(&out[n], 0, sizeof out[n]);
            out[n].family = type == MESSAGE_AAAA ? 6 : 4;
            memcpy(out[n].bytes, ldns_rdf_data(rdf), want);
        }
        n++;
    }
    return n;
}

static void read_rdata(struct arena *a, const ldns_rr *rr,
                       struct message_rdata *out)
{
    uint8_t *data;

    for (size_t i = 0; i < ldns_rr_rd_count(rr); i++)
        out->len += ldns_rdf_size(ldns_rr_rdf(rr, i));
    data = arena_alloc(a, out->len + 1);
    out->data = data;
    out->ttl_s = ttl_of(rr);
    for (size_t i = 0; i < ldns_rr_rd_count(rr); i++) {
        const ldns_rdf *rdf = ldns_rr_rdf(rr, i);

        memcpy(data, ldns_rdf_data(rdf), ldns_rdf_size(rdf));
        data += ldns_rdf_size(rdf);
    }
}

const struct message_rdata *message_rdatas(struct message *m, const char *name,
                                           uint16_t type, size_t *n)
{
    size_t count = message_count(m, name, type), at = 0;
    struct message_rdata *all = arena_array(m->arena, count, sizeof *all);

    for (size_t i = 0; i < count; i++)
        read_rdata(m->arena, next(m, &at, name, type), &all[i]);
    *n = count;
    return all;
}

const char *const *message_targets(struct message *m, const char *name,
                                   uint16_t type, size_t *n)
{
    size_t count = message_count(m, name, type), at = 0;
    const char **targets = arena_array(m->arena, count, sizeof *targets);
    const ldns_rr *rr;

    *n = 0;
    while ((rr = next(m, &at, name, type)) != NULL) {
        const ldns_rdf *rdf = ldns_rr_rdf(rr, 0);
        char text[NAME_SIZE];

        if (rdf != NULL && ldns_rdf_get_type(rdf) == LDNS_RDF_TYPE_DNAME &&
            name_text(rdf, text))
            targets[(*n)++] = arena_strdup(m->arena, text);
    }
    return targets;
}

/* RFC 1035 3.3.13: MNAME, RNAME, SERIAL … */
static bool soa_serial(const ldns_rr *rr, uint32_t *serial)
{
    const ldns_rdf *rdf = ldns_rr_rdf(rr, 2);

    if (rdf == NULL || ldns_rdf_size(rdf) != 4)
        return false;
    *serial = ldns_rdf2native_int32(rdf);
    return true;
}

int message_serial(const struct message *m, uint32_t *serial)
{
    size_t at = 0;
    const ldns_rr *rr = next(m, &at, NULL, MESSAGE_SOA);

    return rr != NULL && soa_serial(rr, serial) ? 0 : -1;
}

int message_soa_minimum(const struct message *m, uint32_t *seconds)
{
    size_t at = 0;
    const ldns_rr *rr = next(m, &at, NULL, MESSAGE_SOA);
    const ldns_rdf *minimum = rr != NULL ? ldns_rr_rdf(rr, 6) : NULL;

    if (minimum == NULL || ldns_rdf_size(minimum) != 4)
        return -1;
    *seconds = ldns_read_uint32(ldns_rdf_data(minimum));
    if (ldns_rr_ttl(rr) < *seconds)
        *seconds = ldns_rr_ttl(rr);
    return 0;
}

struct message_txt *message_record_txt(const struct message_record *r,
                                       struct arena *a)
{
    struct message_txt *txt = arena_alloc(a, sizeof *txt);
    struct message_string *strings;

    strings = read_txt(a, r->rr, txt);
    for (size_t i = 0; i < txt->nstrings; i++)
        strings[i].data = arena_text(a, strings[i].data, strings[i].len);
    return txt;
}

void message_each(const struct message *m, message_record_fn *fn, void *arg)
{
    const ldns_rr_list *list = ldns_pkt_answer(m->pkt);

    for (size_t i = 0; i < ldns_rr_list_rr_count(list); i++) {
        const ldns_rr *rr = ldns_rr_list_rr(list, i);
        struct message_record r = {0};
        char owner[NAME_SIZE];

        if (ldns_rr_get_class(rr) != LDNS_RR_CLASS_IN)
            continue;
        r.type = (uint16_t)ldns_rr_get_type(rr);
        r.rr = rr;
        if (name_text(ldns_rr_owner(rr), owner))
            r.owner = owner;
        if (r.type == MESSAGE_SOA && !soa_serial(rr, &r.serial))
            continue;
        if (!fn(arg, &r))
            return;
    }
}
