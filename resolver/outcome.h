#ifndef RESOLVER_OUTCOME_H
#define RESOLVER_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/err.h"
#include "resolver/message.h"
#include "resolver/resolver.h"

/* Found, gone or failed: what an answer says of the records. Pure. */
struct outcome_question {
    const char *name; /* canonical */
    uint16_t type;
    bool authoritative; /* the answer must be: asked at the zone's server */
    bool want_ad;       /* the answer must be validated */
};

/* Fills e with why, unless found: ERR_NOTFOUND when gone, ERR_RETRY when
 * failed. source: RFC 2308 2, RFC 4592 */
enum resolver_outcome outcome_judge(const struct message *m,
                                    const struct outcome_question *q,
                                    const struct addr *server, struct err *e);

#endif
