#include "providers/rest/rest_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 32
#define MAX_VALUES 2000000

/* cJSON knows no limits of ours, and cuts a string at \u0000. */
struct scan {
    const char *text;
    size_t len, at;
    size_t depth, values;
};

static int refuse(const struct scan *s, enum err_code code, const char *what,
                  struct err *e)
{
    return err_set(e, code, "%s at byte %zu", what, s->at);
}

/* At the quote that opens it; ends at the one that closes it. */
static int scan_string(struct scan *s, struct err *e)
{
    for (s->at++; s->at < s->len && s->text[s->at] != '"'; s->at++) {
        if (s->text[s->at] == '\0')
            return refuse(s, ERR_RETRY, "a NUL byte", e);
        if (s->text[s->at] != '\\')
            continue;
        if (s->len - s->at > 5 && memcmp(s->text + s->at, "\\u0000", 6) == 0)
            return refuse(s, ERR_RETRY, "a NUL in a string", e);
        s->at++;
    }
    return s->at < s->len ? 0 : refuse(s, ERR_RETRY, "the end in a string", e);
}

static int scan_all(struct scan *s, struct err *e)
{
    for (; s->at < s->len; s->at++) {
        char c = s->text[s->at];

        if (c == '"' && scan_string(s, e) != 0)
            return -1;
        if (c == '{' || c == '[')
            s->depth++;
        else if ((c == '}' || c == ']') && s->depth > 0)
            s->depth--;
        s->values += c == ',' || c == ':' || c == '[' || c == '{';
        if (s->depth > MAX_DEPTH)
            return refuse(s, ERR_LIMIT, "more than 32 levels", e);
        if (s->values > MAX_VALUES)
            return refuse(s, ERR_LIMIT, "more than 2000000 values", e);
    }
    return 0;
}

cJSON *rest_json_parse(const char *text, size_t len, struct err *e)
{
    struct scan s = {.text = text, .len = len};
    const char *end = NULL;
    cJSON *root;

    if (len > REST_MAX_ANSWER) {
        (void)err_set(e, ERR_LIMIT, "JSON of %zu bytes", len);
        return NULL;
    }
    if (scan_all(&s, e) != 0)
        return NULL;
    root = cJSON_ParseWithLengthOpts(text, len, &end, false);
    while (root != NULL && end < text + len &&
           (*end == ' ' || *end == '\n' || *end == '\r' || *end == '\t'))
        end++;
    if (root != NULL && end == text + len)
        return root;
    cJSON_Delete(root);
    s.at = end != NULL && end >= text ? (size_t)(end - text) : 0;
    (void)refuse(&s, ERR_RETRY, "not JSON", e);
    return NULL;
}

const cJSON *rest_json_at(const cJSON *root, const char *path)
{
    char member[64];

    while (root != NULL && *path != '\0') {
        size_t n = strcspn(path, ".");

        if (n >= sizeof member)
            return NULL;
        memcpy(member, path, n);
        member[n] = '\0';
        root = cJSON_GetObjectItemCaseSensitive(root, member);
        path += n + (path[n] == '.');
    }
    return root;
}

bool rest_json_uint(const cJSON *v, int64_t max, int64_t *out)
{
    int64_t n = 0;

    if (cJSON_IsNumber(v)) {
        double d = v->valuedouble;

        if (!(d >= 0 && d <= (double)max) || floor(d) < d)
            return false;
        *out = (int64_t)d;
        return true;
    }
    if (!cJSON_IsString(v) || v->valuestring[0] == '\0')
        return false;
    for (const char *c = v->valuestring; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || n > (max - (*c - '0')) / 10)
            return false;
        n = n * 10 + (*c - '0');
    }
    *out = n;
    return true;
}

bool rest_json_text(const cJSON *v, char *out, size_t size)
{
    int64_t n;

    if (cJSON_IsString(v)) {
        size_t len = strlen(v->valuestring);

        if (len >= size)
            return false;
        memcpy(out, v->valuestring, len + 1);
        return true;
    }
    /* 2^53: beyond it a double has lost digits. */
    if (!cJSON_IsNumber(v) || !rest_json_uint(v, (int64_t)1 << 53, &n))
        return false;
    return (size_t)snprintf(out, size, "%lld", (long long)n) < size;
}
