#include "resolver/outcome.h"

#include <stdio.h>

enum { NOERROR = 0, NXDOMAIN = 3 };

#define TYPE_SIZE 16

static const char *type_text(uint16_t type, char out[TYPE_SIZE])
{
    const char *name = message_type_name(type);

    if (name != NULL)
        (void)snprintf(out, TYPE_SIZE, "%s", name);
    else
        (void)snprintf(out, TYPE_SIZE, "TYPE%u", type); /* RFC 3597 5 */
    return out;
}

/* The server does not stand for this zone. */
static enum resolver_outcome not_authoritative(const struct message *m,
                                               const struct outcome_question *q,
                                               const char *who, struct err *e)
{
    if (message_is_referral(m))
        (void)err_set(e, ERR_RETRY,
                      "%s is not authoritative for %s: it refers to other "
                      "name servers",
                      who, q->name);
    else
        (void)err_set(e, ERR_RETRY, "%s is not authoritative for %s", who,
                      q->name);
    return RESOLVER_FAILED;
}

static enum resolver_outcome no_records(const struct message *m,
                                        const struct outcome_question *q,
                                        const char *who, struct err *e)
{
    char type[TYPE_SIZE];

    type_text(q->type, type);
    /* A resolver would have followed it: what it led to counts there. */
    if (q->authoritative && message_count(m, q->name, MESSAGE_CNAME) > 0) {
        (void)err_set(e, ERR_NOTFOUND, "no %s but a CNAME at %s, says %s", type,
                      q->name, who);
        return RESOLVER_GONE;
    }
    if (message_rcode(m) == NXDOMAIN) {
        (void)err_set(e, ERR_NOTFOUND, "NXDOMAIN for %s, says %s", q->name,
                      who);
        return RESOLVER_GONE;
    }
    if (message_has_soa(m)) {
        (void)err_set(e, ERR_NOTFOUND, "no %s at %s, says %s", type, q->name,
                      who);
        return RESOLVER_GONE;
    }
    (void)err_set(e, ERR_RETRY, "%s gives an empty answer without SOA for %s",
                  who, q->name);
    return RESOLVER_FAILED;
}

enum resolver_outcome outcome_judge(const struct message *m,
                                    const struct outcome_question *q,
                                    const struct addr *server, struct err *e)
{
    int rcode = message_rcode(m);
    char who[ADDR_TEXT_SIZE];

    addr_format_port(server, who);
    if (rcode != NOERROR && rcode != NXDOMAIN) {
        (void)err_set(e, ERR_RETRY, "%s says %s for %s", who,
                      message_rcode_name(rcode), q->name);
        return RESOLVER_FAILED;
    }
    if (q->authoritative && !message_is_aa(m))
        return not_authoritative(m, q, who, e);
    if (q->want_ad && !message_is_ad(m)) {
        (void)err_set(e, ERR_RETRY,
                      "%s did not validate its answer for %s (no AD bit), "
                      "and trust is \"ad\"",
                      who, q->name);
        return RESOLVER_FAILED;
    }
    if (message_count(m, q->authoritative ? q->name : NULL, q->type) == 0)
        return no_records(m, q, who, e);
    if (rcode == NXDOMAIN) {
        (void)err_set(e, ERR_RETRY, "%s says NXDOMAIN for %s beside records",
                      who, q->name);
        return RESOLVER_FAILED;
    }
    return RESOLVER_FOUND;
}
