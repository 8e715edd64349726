#include "specs/publish.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/charstr.h"
#include "agent/base/mem.h"

#define OUT_MAX ((size_t)1 << 20) /* four characters a byte, and quotes */

static const char *const formats[] = {
    [PUBLISH_BIND] = "bind",       [PUBLISH_ISPCONFIG] = "ispconfig",
    [PUBLISH_ROUTE53] = "route53", [PUBLISH_RAW] = "raw",
    [PUBLISH_BARE] = "bare",
};

const char *publish_format_name(enum publish_format f)
{
    return (size_t)f < PUBLISH_NFORMATS ? formats[f] : "?";
}

int publish_format_parse(const char *text, enum publish_format *out,
                         struct err *e)
{
    for (size_t i = 0; i < PUBLISH_NFORMATS; i++) {
        if (strcmp(text, formats[i]) == 0) {
            *out = (enum publish_format)i;
            return 0;
        }
    }
    return err_set(e, ERR_INPUT,
                   "found \"%.40s\"; accepted: bind, ispconfig, route53, raw, "
                   "bare",
                   text);
}

/* --- master files --------------------------------------------------------- */

char *publish_bind(const char *owner, uint32_t ttl_s, const char *text,
                   size_t len)
{
    bool several = charstr_count(len) > 1;
    struct buf b;

    buf_init(&b, OUT_MAX);
    buf_printf(&b, "_failover.%s %u IN TXT %s",
               strcmp(owner, ".") == 0 ? "" : owner, ttl_s,
               several ? "( " : "");
    (void)charstr_add_text(&b, text, len, "\n    ");
    buf_str(&b, several ? " )\n" : "\n");
    return buf_take(&b);
}

/* --- Route 53 ------------------------------------------------------------- */

char *publish_route53(const char *text, size_t len, struct err *e)
{
    struct buf b;

    buf_init(&b, OUT_MAX);
    (void)charstr_add_text_octal(&b, text, len, " ");
    if (b.len > PUBLISH_ROUTE53_VALUE_MAX) {
        (void)err_set(e, ERR_LIMIT,
                      "found %zu characters as a Route 53 value; accepted: at "
                      "most %u (and %u in one request); --format bare needs "
                      "fewer",
                      b.len, PUBLISH_ROUTE53_VALUE_MAX,
                      PUBLISH_ROUTE53_REQUEST_MAX);
        buf_fini(&b);
        return NULL;
    }
    return buf_take(&b);
}

/* --- ISPConfig ------------------------------------------------------------ */

/* One character of UTF-8 (RFC 3629 3) at p; *n: its bytes. 0xffffffff: none */
static uint32_t utf8_at(const unsigned char *p, size_t left, size_t *n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t v;

    *n = p[0] < 0x80             ? 1
         : (p[0] & 0xe0) == 0xc0 ? 2
         : (p[0] & 0xf0) == 0xe0 ? 3
         : (p[0] & 0xf8) == 0xf0 ? 4
                                 : 0;
    if (*n == 0 || *n > left)
        return UINT32_MAX;
    v = *n == 1 ? p[0] : p[0] & (0x7fu >> *n);
    for (size_t i = 1; i < *n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return UINT32_MAX;
        v = v << 6 | (p[i] & 0x3fu);
    }
    return v < least[*n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)
               ? UINT32_MAX
               : v;
}

/* source: RFC 8259 7 */
static void add_escaped(struct buf *b, uint32_t v)
{
    if (v < 0x10000) {
        buf_printf(b, "\\u%04x", v);
        return;
    }
    v -= 0x10000;
    buf_printf(b, "\\u%04x\\u%04x", 0xd800 + (v >> 10), 0xdc00 + (v & 0x3ff));
}

/* JSON in ASCII; outside of its strings it is that already. */
static char *ascii_json(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text;
    struct buf b;
    size_t n;

    buf_init(&b, OUT_MAX);
    for (size_t i = 0; i < len; i += n) {
        uint32_t v = utf8_at(p + i, len - i, &n);

        if (v == UINT32_MAX) {
            buf_fini(&b);
            return NULL;
        }
        if (n == 1 && v != 0x7f)
            buf_char(&b, (char)text[i]);
        else
            add_escaped(&b, v);
    }
    return buf_take(&b);
}

char *publish_ispconfig(const char *text, size_t len, char **json)
{
    struct buf b;

    *json = ascii_json(text, len);
    if (*json == NULL)
        return NULL;
    buf_init(&b, OUT_MAX);
    for (const char *p = *json; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            buf_char(&b, '\\');
        buf_char(&b, *p);
    }
    return buf_take(&b);
}

/* --- sizes ---------------------------------------------------------------- */

size_t publish_wire_len(const char *owner, size_t len)
{
    size_t header = 12, opt = 11, record = 2 + 10;
    size_t question = strlen("_failover.") + strlen(owner) + 1 + 4;

    if (strcmp(owner, ".") == 0)
        question--; /* the root's dot is no label */
    return header + question + record + len + charstr_count(len) + opt;
}

static int check_size(const struct spec *s, const struct publish_text *t,
                      size_t txt_max, struct err *e)
{
    size_t stored = strlen(t->stored), served = strlen(t->served);

    if (served > SPEC_TEXT_MAX)
        return err_set(e, ERR_LIMIT,
                       "found %zu bytes of canonical text; accepted: at most "
                       "%u",
                       served, SPEC_TEXT_MAX);
    if (txt_max != 0 && stored > txt_max)
        return err_set(e, ERR_LIMIT,
                       "found %zu bytes; the provider takes at most %zu in one "
                       "TXT record",
                       stored, txt_max);
    if (publish_wire_len(s->owner, served) > UINT16_MAX)
        return err_set(e, ERR_LIMIT,
                       "found %zu bytes, an answer of %zu; a DNS message has "
                       "at most %u",
                       served, publish_wire_len(s->owner, served), UINT16_MAX);
    return 0;
}

/* --- the text for a place ------------------------------------------------- */

static int make_bare(const struct spec *s, struct publish_text *out,
                     struct err *e)
{
    out->spelling = SPEC_BARE;
    out->stored = spec_print_bare(s, e);
    if (out->stored == NULL)
        return -1;
    out->served = mem_strdup(out->stored);
    return 0;
}

static int make_ispconfig(const struct spec *s, struct publish_text *out,
                          struct err *e)
{
    char *json = spec_print(s);
    size_t n;

    out->spelling = SPEC_JSON;
    out->stored = publish_ispconfig(json, strlen(json), &out->served);
    free(json);
    n = out->stored != NULL ? strlen(out->stored) : 0;
    if (out->stored != NULL && n <= PUBLISH_ISPCONFIG_MAX)
        return 0;
    publish_text_fini(out);
    if (make_bare(s, out, e) == 0)
        return 0;
    return err_wrap(e,
                    "ISPConfig damages JSON of more than %u bytes with escaped "
                    "quotes (this one has %zu), so it has to be bare",
                    PUBLISH_ISPCONFIG_MAX, n);
}

int publish_text_make(const struct spec *s, enum publish_format f,
                      size_t txt_max, struct publish_text *out, struct err *e)
{
    int rc = 0;

    memset(out, 0, sizeof *out);
    if (f == PUBLISH_BARE) {
        rc = make_bare(s, out, e);
    } else if (f == PUBLISH_ISPCONFIG) {
        rc = make_ispconfig(s, out, e);
    } else {
        out->spelling = SPEC_JSON;
        out->stored = spec_print(s);
        out->served = mem_strdup(out->stored);
    }
    if (rc == 0)
        rc = check_size(s, out, txt_max, e);
    if (rc != 0)
        publish_text_fini(out);
    return rc;
}

void publish_text_fini(struct publish_text *t)
{
    free(t->stored);
    free(t->served);
    memset(t, 0, sizeof *t);
}
