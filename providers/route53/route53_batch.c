#include <string.h>

#include "providers/route53/route53_answer.h"

/* A ChangeResourceRecordSets request. source: service model, "ChangeBatch",
 * "ResourceRecordSet" */

#define XMLNS "https://route53.amazonaws.com/doc/2013-04-01/"
#define COMMENT_MAX 256 /* characters */

/* Control characters cannot be said in XML 1.0; values have them escaped. */
static void add_text(struct buf *b, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '&')
            buf_str(b, "&amp;");
        else if (c == '<')
            buf_str(b, "&lt;");
        else if (c == '>')
            buf_str(b, "&gt;");
        else
            buf_char(b, c < 0x20 ? '?' : (char)c);
    }
}

static void add_element(struct buf *b, const char *name, const char *text)
{
    buf_printf(b, "<%s>", name);
    add_text(b, text, strlen(text));
    buf_printf(b, "</%s>", name);
}

void route53_batch_open(struct buf *body, const char *comment)
{
    static const char more[] = "...";
    size_t len = strlen(comment);

    buf_str(body, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<ChangeResourceRecordSetsRequest xmlns=\"" XMLNS "\">"
                  "<ChangeBatch><Comment>");
    if (len > COMMENT_MAX) {
        len = COMMENT_MAX - strlen(more);
        /* Not in the middle of a UTF-8 character. */
        while (len > 0 && ((unsigned char)comment[len] & 0xc0) == 0x80)
            len--;
        add_text(body, comment, len);
        buf_str(body, more);
    } else {
        add_text(body, comment, len);
    }
    buf_str(body, "</Comment><Changes>");
}

void route53_batch_change(struct buf *body, const char *action,
                          const struct route53_records *r)
{
    buf_printf(body, "<Change><Action>%s</Action><ResourceRecordSet>", action);
    add_element(body, "Name", r->name);
    add_element(body, "Type", r->type);
    buf_str(body, r->before != NULL ? r->before : "");
    buf_printf(body, "<TTL>%u</TTL><ResourceRecords>", r->ttl_s);
    for (size_t i = 0; i < r->n; i++) {
        buf_str(body, "<ResourceRecord>");
        add_element(body, "Value", r->values[i]);
        buf_str(body, "</ResourceRecord>");
    }
    buf_str(body, "</ResourceRecords>");
    buf_str(body, r->after != NULL ? r->after : "");
    buf_str(body, "</ResourceRecordSet></Change>");
}

void route53_batch_close(struct buf *body)
{
    buf_str(body, "</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>");
}
