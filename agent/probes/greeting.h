#ifndef AGENT_PROBES_GREETING_H
#define AGENT_PROBES_GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/probes/kind.h"

/* What servers say first; pure. source: RFC 5321 4.2 and RFC 959 4.2 (both
 * of several lines), RFC 3501 7.1, RFC 1939 3, RFC 4511 4.2 (LDAP says
 * nothing first: an anonymous bind is asked for, and any answer that is no
 * "unavailable" will do) */

#define GREETING_MAX 16384

enum greeting_kind {
    GREETING_SMTP,
    GREETING_FTP,
    GREETING_IMAP,
    GREETING_POP3,
    GREETING_LDAP,
};

/* What is to be sent first and last; "" : nothing. out: *len */
const char *greeting_hello(enum greeting_kind k, size_t *len);
const char *greeting_bye(enum greeting_kind k, size_t *len);

/* p: all that came so far. r must be PROBE_OK before.
 * returns true when r holds the verdict, false: more has to come */
bool greeting_judge(enum greeting_kind k, const char *p, size_t n,
                    struct probe_result *r);

#endif
