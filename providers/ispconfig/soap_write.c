#include <stdlib.h>
#include <string.h>

#include "providers/ispconfig/soap.h"

#define MAX_REQUEST ((size_t)1024 * 1024)

void soap_args_init(struct soap_args *a)
{
    buf_init(&a->b, MAX_REQUEST);
    a->unwritable = false;
}

void soap_args_fini(struct soap_args *a)
{
    if (a->b.data != NULL)
        explicit_bzero(a->b.data, a->b.len);
    buf_fini(&a->b);
}

/* Bytes of the UTF-8 character at s; 0: none (RFC 3629 4). */
static size_t char_length(const unsigned char *s)
{
    size_t n;

    if (s[0] < 0x80)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    n = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* Characters as XML wants them; those it cannot hold set `unwritable`. A
 * carriage return would be read back as a newline unless written so. */
static void put_text(struct soap_args *a, const char *s)
{
    while (*s != '\0') {
        size_t n = char_length((const unsigned char *)s);

        if (n == 0 || ((unsigned char)*s < 0x20 && *s != '\t' && *s != '\n' &&
                       *s != '\r')) {
            a->unwritable = true;
            return;
        }
        if (*s == '&')
            buf_str(&a->b, "&amp;");
        else if (*s == '<')
            buf_str(&a->b, "&lt;");
        else if (*s == '>')
            buf_str(&a->b, "&gt;");
        else if (*s == '\r')
            buf_str(&a->b, "&#13;");
        else
            buf_add(&a->b, s, n);
        s += n;
    }
}

static void put_element(struct soap_args *a, const char *tag, const char *s)
{
    if (s == NULL) {
        buf_printf(&a->b, "<%s xsi:nil=\"true\"/>", tag);
        return;
    }
    buf_printf(&a->b, "<%s xsi:type=\"xsd:string\">", tag);
    put_text(a, s);
    buf_printf(&a->b, "</%s>", tag);
}

void soap_put_string(struct soap_args *a, const char *s)
{
    put_element(a, "p", s);
}

void soap_put_bool(struct soap_args *a, bool v)
{
    buf_printf(&a->b, "<p xsi:type=\"xsd:boolean\">%s</p>",
               v ? "true" : "false");
}

void soap_open_map(struct soap_args *a)
{
    buf_str(&a->b, "<p xsi:type=\"m:Map\">");
}

void soap_put_member(struct soap_args *a, const char *key, const char *value)
{
    buf_str(&a->b, "<item>");
    put_element(a, "key", key);
    put_element(a, "value", value);
    buf_str(&a->b, "</item>");
}

void soap_close_map(struct soap_args *a)
{
    buf_str(&a->b, "</p>");
}

int soap_envelope(struct buf *body, const char *method, const char *session,
                  const struct soap_args *a, struct err *e)
{
    struct soap_args first;
    bool bad;

    soap_args_init(&first);
    if (session != NULL)
        soap_put_string(&first, session);
    bad = first.unwritable || a->unwritable;
    buf_str(body,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\""
            " xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\""
            " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\""
            " xmlns:m=\"http://xml.apache.org/xml-soap\">");
    buf_printf(body, "<s:Body><%s>%s%s</%s></s:Body></s:Envelope>\n", method,
               buf_get(&first.b), buf_get(&a->b), method);
    soap_args_fini(&first);
    if (bad)
        return err_set(e, ERR_INPUT,
                       "a value for %s is no UTF-8 text, or holds a control "
                       "character: it cannot be sent in XML",
                       method);
    if (body->over || a->b.over)
        return err_set(e, ERR_LIMIT, "the call %s is too large", method);
    return 0;
}
