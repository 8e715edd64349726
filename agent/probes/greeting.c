#include "agent/probes/greeting.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* An anonymous simple bind, version 3, and an unbind. source: RFC 4511 4.2,
 * 4.3 */
static const char ldap_bind[] = "\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04"
                                "\x00\x80\x00";
static const char ldap_unbind[] = "\x30\x05\x02\x01\x02\x42\x00";

const char *greeting_hello(enum greeting_kind k, size_t *len)
{
    *len = k == GREETING_LDAP ? sizeof ldap_bind - 1 : 0;
    return k == GREETING_LDAP ? ldap_bind : "";
}

const char *greeting_bye(enum greeting_kind k, size_t *len)
{
    const char *bye = k == GREETING_IMAP ? "a LOGOUT\r\n" : "QUIT\r\n";

    if (k == GREETING_LDAP) {
        *len = sizeof ldap_unbind - 1;
        return ldap_unbind;
    }
    *len = strlen(bye);
    return bye;
}

/* --- lines ---------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool refuses(struct probe_result *r, const char *line, size_t n)
{
    return probe_fail(r, PROBE_STATUS, "%.*s", n < 54 ? (int)n : 54, line);
}

static bool alien(struct probe_result *r, const char *protocol,
                  const char *line, size_t n)
{
    return probe_fail(r, PROBE_PROTOCOL, "not %s: %.*s", protocol,
                      n < 40 ? (int)n : 40, line);
}

/* The line at p without its end. out: *next — behind it
 * returns its length, or SIZE_MAX while it has no end */
static size_t get_line(const char *p, const char *end, const char **next)
{
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    size_t n;

    if (nl == NULL)
        return SIZE_MAX;
    *next = nl + 1;
    n = (size_t)(nl - p);
    return n > 0 && p[n - 1] == '\r' ? n - 1 : n;
}

/* The first bytes cannot be three digits and a blank or '-'. */
static bool is_no_reply(const char *p, size_t n)
{
    for (size_t i = 0; i < n && i < 3; i++)
        if (!is_digit(p[i]))
            return true;
    return n > 3 && p[3] != ' ' && p[3] != '-' && p[3] != '\r' && p[3] != '\n';
}

/* SMTP repeats the code on each line, FTP need not: it ends with a line that
 * begins with the code and a blank. */
static bool judge_code(bool ftp, const char *p, size_t n,
                       struct probe_result *r)
{
    const char *end = p + n, *first = p, *next = p;
    const char *protocol = ftp ? "FTP" : "SMTP";
    size_t first_len = 0;
    bool inside = false;

    for (; p < end; p = next) {
        size_t len;

        if ((!ftp || !inside) && is_no_reply(p, (size_t)(end - p)))
            return alien(r, protocol, p, (size_t)(end - p));
        len = get_line(p, end, &next);
        if (len == SIZE_MAX)
            return false;
        if (!inside) {
            first = p;
            first_len = len;
            if (len < 3)
                return alien(r, protocol, p, len);
        } else if (!ftp && memcmp(p, first, 3) != 0) {
            return alien(r, protocol, p, len);
        } else if (ftp && (len < 3 || memcmp(p, first, 3) != 0 ||
                           (len > 3 && p[3] != ' '))) {
            continue;
        }
        if (len > 3 && p[3] == '-') {
            inside = true;
            continue;
        }
        inside = false;
        /* "120 ready in 5 minutes" comes before the real one. */
        if (ftp && memcmp(first, "1", 1) == 0)
            continue;
        if (memcmp(first, "220", 3) != 0)
            return refuses(r, first, first_len);
        return true;
    }
    return false;
}

static bool starts(const char *p, size_t n, const char *word)
{
    size_t len = strlen(word);

    return strncasecmp(p, word, n < len ? n : len) == 0;
}

static bool judge_pop3(const char *p, size_t n, struct probe_result *r)
{
    const char *next;
    size_t len = get_line(p, p + n, &next);

    if (!starts(p, n, "+OK") && !starts(p, n, "-ERR"))
        return alien(r, "POP3", p, n);
    if (len == SIZE_MAX)
        return false;
    return len >= 3 && p[0] == '+' ? true : refuses(r, p, len);
}

static bool judge_imap(const char *p, size_t n, struct probe_result *r)
{
    const char *next;
    size_t len = get_line(p, p + n, &next);

    if (!starts(p, n, "* OK") && !starts(p, n, "* PREAUTH") &&
        !starts(p, n, "* BYE"))
        return alien(r, "IMAP", p, n);
    if (len == SIZE_MAX)
        return false;
    return len >= 4 && !starts(p, len, "* BYE") ? true : refuses(r, p, len);
}

/* --- LDAP ----------------------------------------------------------------- */

struct ber {
    const uint8_t *p;
    size_t n;
};

/* One element: its tag and content. returns 1, 0: more has to come, -1: not
 * BER as LDAP uses it (definite lengths). source: RFC 4511 5.1 */
static int ber_next(struct ber *in, uint8_t *tag, struct ber *content)
{
    size_t len, at = 2;

    if (in->n < 2)
        return 0;
    *tag = in->p[0];
    len = in->p[1];
    if (len > 0x84 || len == 0x80)
        return -1;
    if (len > 0x80) {
        size_t bytes = len - 0x80;

        if (in->n < 2 + bytes)
            return 0;
        len = 0;
        for (size_t i = 0; i < bytes; i++)
            len = len << 8 | in->p[2 + i];
        at += bytes;
    }
    if (len > GREETING_MAX)
        return -1;
    if (in->n - at < len)
        return 0;
    content->p = in->p + at;
    content->n = len;
    in->p += at + len;
    in->n -= at + len;
    return 1;
}

static bool judge_ldap(const char *bytes, size_t n, struct probe_result *r)
{
    struct ber in = {(const uint8_t *)bytes, n}, message, id, op, code;
    uint8_t tag = 0;
    int rc = n > 0 && in.p[0] != 0x30 ? -1 : ber_next(&in, &tag, &message);

    if (rc == 0)
        return false;
    if (rc < 0 || ber_next(&message, &tag, &id) != 1 || tag != 0x02 ||
        ber_next(&message, &tag, &op) != 1)
        return probe_fail(r, PROBE_PROTOCOL, "not LDAP");
    if (tag == 0x78)
        return probe_fail(r, PROBE_STATUS, "notice of disconnection");
    if (tag != 0x61 || ber_next(&op, &tag, &code) != 1 || tag != 0x0a ||
        code.n != 1)
        return probe_fail(r, PROBE_PROTOCOL, "no answer to the bind");
    switch (code.p[0]) {
    case 1:  /* operationsError */
    case 51: /* busy */
    case 52: /* unavailable */
    case 80: /* other */
        return probe_fail(r, PROBE_STATUS, "result code %u", code.p[0]);
    default: /* success; or it wants to know who asks */
        return true;
    }
}

bool greeting_judge(enum greeting_kind k, const char *p, size_t n,
                    struct probe_result *r)
{
    bool done = false;

    switch (k) {
    case GREETING_SMTP:
    case GREETING_FTP:
        done = judge_code(k == GREETING_FTP, p, n, r);
        break;
    case GREETING_IMAP:
        done = judge_imap(p, n, r);
        break;
    case GREETING_POP3:
        done = judge_pop3(p, n, r);
        break;
    case GREETING_LDAP:
        done = judge_ldap(p, n, r);
        break;
    }
    if (!done && n >= GREETING_MAX)
        return probe_fail(r, PROBE_PROTOCOL, "greeting without an end");
    return done;
}
