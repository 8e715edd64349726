#include "providers/rest/rest_answer.h"

#include <stdio.h>
#include <string.h>

#include "agent/base/buf.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/shared/markup.h"

/* ---- what an error body says --------------------------------------------- */

#define TEXT_MAX 400
#define NEST_MAX 4

/* Members that hold a text for people, or lead to one, in any of the APIs. */
static const char *const telling[] = {
    "message", "error",  "detail", "errorMessage", "description", "title",
    "cause",   "errors", "code",   "creates",      "updates",     "deletes",
    "base",    NULL};

static void add_text(struct buf *b, const char *text)
{
    if (*text == '\0' || strstr(buf_get(b), text) != NULL)
        return;
    if (b->len > 0)
        buf_str(b, ": ");
    buf_printf(b, "%.200s%s", text, strlen(text) > 200 ? "…" : "");
}

static void gather(const cJSON *v, int depth, struct buf *b);

static bool is_telling(const char *name)
{
    for (size_t i = 0; telling[i] != NULL; i++)
        if (strcmp(telling[i], name) == 0)
            return true;
    return false;
}

/* errors: {field: [text…]} names the field. */
static void gather_fields(const cJSON *v, int depth, struct buf *b)
{
    for (const cJSON *m = v->child; m != NULL; m = m->next) {
        if (is_telling(m->string) || !(cJSON_IsArray(m) || cJSON_IsString(m)))
            continue;
        add_text(b, m->string);
        gather(m, depth + 1, b);
    }
}

static void gather(const cJSON *v, int depth, struct buf *b)
{
    char number[32];

    if (v == NULL || depth > NEST_MAX || b->len > TEXT_MAX)
        return;
    if (cJSON_IsString(v))
        add_text(b, v->valuestring);
    else if (rest_json_text(v, number, sizeof number))
        add_text(b, number);
    else if (cJSON_IsArray(v))
        for (const cJSON *i = v->child; i != NULL; i = i->next)
            gather(i, depth + 1, b);
    else if (cJSON_IsObject(v)) {
        for (size_t i = 0; telling[i] != NULL; i++) {
            const cJSON *m = cJSON_GetObjectItemCaseSensitive(v, telling[i]);

            gather(m, depth + 1, b);
            if (cJSON_IsObject(m) && strcmp(telling[i], "errors") == 0)
                gather_fields(m, depth + 1, b);
        }
    }
}

void rest_answer_text(const cJSON *root, const char *body, char *out,
                      size_t size)
{
    struct buf b;

    buf_init(&b, 2 * TEXT_MAX);
    gather(root, 0, &b);
    if (root != NULL && b.len == 0 && cJSON_IsObject(root))
        gather_fields(root, 0, &b);
    (void)markup_strip(b.len > 0 ? buf_get(&b) : body, out, size);
    buf_fini(&b);
}

/* ---- what the status means ----------------------------------------------- */

static const struct {
    long status;
    enum err_code code;
    bool is_sure; /* refused before anything was done */
    const char *hint;
} statuses[] = {
    {400, ERR_INPUT, true, ""},
    {401, ERR_AUTH, true, "; is the secret right, and still valid?"},
    {402, ERR_AUTH, true, ""},
    {403, ERR_AUTH, true, "; which rights has it?"},
    {404, ERR_NOTFOUND, true, ""},
    {405, ERR_UNSUPPORTED, true, ""},
    {409, ERR_CONFLICT, true, ""},
    {410, ERR_NOTFOUND, true, ""},
    {412, ERR_UNSUPPORTED, true, ""},
    {413, ERR_LIMIT, true, ""},
    {422, ERR_INPUT, true, ""},
    {423, ERR_RETRY, true, ""},
    {429, ERR_RETRY, true, ""},
};

static void read_status(const struct rest_style *style,
                        const struct http_response *h, const char *what,
                        const char *text, struct rest_reply *r)
{
    size_t n = sizeof statuses / sizeof statuses[0], i = 0;

    while (i < n && statuses[i].status != h->status)
        i++;
    if (h->status >= 300 && h->status < 400) {
        r->is_sure = true;
        (void)err_set(&r->err, ERR_INPUT,
                      "%s: HTTP %ld to \"%.200s\": redirects are not followed "
                      "(the secret would travel with them); write the final "
                      "address as url",
                      what, h->status, h->location != NULL ? h->location : "");
    } else if (i < n) {
        r->is_sure = statuses[i].is_sure;
        (void)err_set(&r->err, statuses[i].code, "%s: HTTP %ld: %s%s", what,
                      h->status, text, statuses[i].hint);
    } else {
        /* Behind a gateway the request may have gone on. */
        r->is_sure = h->status < 500;
        (void)err_set(&r->err, h->status < 500 ? ERR_INPUT : ERR_RETRY,
                      "%s: HTTP %ld from %s: %s", what, h->status, style->label,
                      text);
    }
}

static void read_json(const struct rest_style *style,
                      const struct http_response *h, const char *what,
                      cJSON **root, struct rest_reply *r)
{
    struct err e = {0};

    *root = rest_json_parse(h->body, h->body_len, &e);
    r->json = *root;
    if (h->status >= 300)
        return;
    if (*root == NULL && (h->status == 204 || h->body_len == 0))
        return; /* nothing to say */
    if (*root == NULL)
        (void)err_set(&r->err, e.code,
                      "%s: HTTP %ld, and the answer is no JSON that is taken "
                      "(%s; %.60s)",
                      what, h->status, e.msg, h->content_type);
    else if (style->verdict != NULL && style->verdict(*root, &r->err) != 0) {
        r->is_sure = style->verdict_is_sure;
        (void)err_wrap(&r->err, "%s: HTTP %ld", what, h->status);
    }
}

void rest_answer_read(const struct rest_style *style,
                      const struct http_response *h, const char *what,
                      const char *secret, cJSON **root, struct rest_reply *r)
{
    char text[TEXT_MAX];

    *root = NULL;
    memset(r, 0, sizeof *r);
    r->http = h;
    r->status = h->status;
    if (h->status == 0) {
        r->err = h->err;
        r->is_sure = h->err.code != ERR_UNKNOWN && h->err.code != ERR_LIMIT;
        (void)err_wrap(&r->err, "%s", what);
        return;
    }
    read_json(style, h, what, root, r);
    if (h->status >= 300) {
        rest_answer_text(*root, h->body, text, sizeof text);
        config_secret_blank(text, secret); /* where it was cut, too */
        read_status(style, h, what, text, r);
    }
    config_secret_blank(r->err.msg, secret);
}
