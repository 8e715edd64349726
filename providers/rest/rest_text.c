#include "providers/rest/rest_text.h"

#include <stdio.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/charstr.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"

/* ---- names --------------------------------------------------------------- */

int rest_name_in(const struct rest_style *style, const char *text,
                 const char *zone, char out[NAME_SIZE])
{
    if (style->names == REST_RELATIVE)
        return name_resolve(text, zone, out, NULL);
    return name_canon(text, out, NULL);
}

static void cut_dot(char *name)
{
    size_t n = strlen(name);

    if (n > 1 && name[n - 1] == '.')
        name[n - 1] = '\0';
}

const char *rest_name_out(const struct rest_style *style, const char *name,
                          const char *zone, char out[NAME_SIZE])
{
    if (style->names == REST_RELATIVE) {
        if (name_equal(name, zone))
            (void)snprintf(out, NAME_SIZE, "%s", style->apex);
        else
            (void)name_relative(name, zone, out);
        return out;
    }
    (void)snprintf(out, NAME_SIZE, "%s", name);
    if (style->names == REST_FQDN)
        cut_dot(out);
    return out;
}

/* ---- values -------------------------------------------------------------- */

/* Past the string in quotes at text; NULL: there is none. */
static const char *string_end(const char *text)
{
    if (*text != '"')
        return NULL;
    for (text++; *text != '\0' && *text != '"'; text++)
        if (*text == '\\' && text[1] != '\0')
            text++;
    return *text == '"' ? text + 1 : NULL;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static bool decode_strings(const char *text, struct buf *out)
{
    const char *end;

    text = skip_blanks(text);
    if (*text != '"')
        return false;
    for (; *text != '\0'; text = skip_blanks(end)) {
        end = string_end(text);
        if (end == NULL ||
            !charstr_decode(text + 1, (size_t)(end - text) - 2, out))
            return false;
    }
    return true;
}

void rest_txt_in(const char *text, struct buf *out)
{
    if (decode_strings(text, out))
        return;
    buf_reset(out);
    buf_str(out, text);
}

/* Bare text that would be read as strings in quotes, or that JSON cannot hold,
 * goes out in quotes all the same. */
static bool needs_quotes(const char *data, size_t len)
{
    struct buf b;
    bool yes;

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)data[i] < ' ')
            return true;
    buf_init(&b, len + 1);
    yes = decode_strings(data, &b);
    buf_fini(&b);
    return yes;
}

void rest_data_out(const struct rest_style *style, enum rr_type t,
                   const char *data, size_t len, struct buf *out)
{
    if (t == RR_TXT && !style->txt_raw &&
        (!style->txt_bare || needs_quotes(data, len))) {
        (void)charstr_add_text(out, data, len, " ");
        return;
    }
    buf_add(out, data, len);
    if (t == RR_CNAME && style->targets == REST_TARGET_NO_DOT && out->len > 1 &&
        out->data[out->len - 1] == '.')
        out->data[--out->len] = '\0';
}
