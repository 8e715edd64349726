#include "agent/probes/match.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <cjson/cJSON.h>
#include <pcre2.h>
#include <string.h>

#include "agent/base/buf.h"

/* Expressions come from DNS: what one may cost is bounded. A million steps
 * take some ten milliseconds. */
enum {
    PATTERN_MAX = 4096,
    MATCH_LIMIT = 1000000,
    DEPTH_LIMIT = 1000,
    HEAP_LIMIT_KB = 2048,
    PARENS_LIMIT = 64
};

bool match_status(const struct probe_range *ranges, size_t n, int64_t status)
{
    if (n == 0)
        return status >= 200 && status <= 399;
    for (size_t i = 0; i < n; i++)
        if (status >= ranges[i].from && status <= ranges[i].to)
            return true;
    return false;
}

bool match_text(const char *haystack, size_t len, const char *needle)
{
    return memmem(haystack, len, needle, strlen(needle)) != NULL;
}

bool match_wants_body(const struct probe_params *p)
{
    return p->body != NULL || p->body_match != NULL || p->njson > 0;
}

/* --- regular expressions -------------------------------------------------- */

static pcre2_code *compile(const char *pattern, struct probe_result *r)
{
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    PCRE2_SIZE at = 0;
    int error = 0;
    pcre2_code *code;
    PCRE2_UCHAR text[64];

    if (c == NULL)
        return NULL;
    (void)pcre2_set_max_pattern_length(c, PATTERN_MAX);
    (void)pcre2_set_parens_nest_limit(c, PARENS_LIMIT);
    code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                         PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
                             PCRE2_NEVER_BACKSLASH_C,
                         &error, &at, c);
    pcre2_compile_context_free(c);
    if (code == NULL) {
        (void)pcre2_get_error_message(error, text, sizeof text);
        (void)probe_local(r, PROBE_UNABLE, "bodyMatch: %s", (char *)text);
    }
    return code;
}

static int match_regex(const char *pattern, const char *body, size_t len,
                       struct probe_result *r)
{
    pcre2_match_context *c = pcre2_match_context_create(NULL);
    pcre2_code *code = compile(pattern, r);
    pcre2_match_data *m =
        code != NULL ? pcre2_match_data_create_from_pattern(code, NULL) : NULL;
    int rc = PCRE2_ERROR_NOMEMORY;

    if (c != NULL && m != NULL) {
        (void)pcre2_set_match_limit(c, MATCH_LIMIT);
        (void)pcre2_set_depth_limit(c, DEPTH_LIMIT);
        (void)pcre2_set_heap_limit(c, HEAP_LIMIT_KB);
        rc = pcre2_match(code, (PCRE2_SPTR)body, len, 0, 0, m, c);
    }
    if (rc == PCRE2_ERROR_NOMATCH)
        (void)probe_fail(r, PROBE_CONTENT, "bodyMatch does not match");
    else if (rc < 0 && code != NULL)
        (void)probe_local(r, PROBE_UNABLE, "bodyMatch ran into its limits (%d)",
                          rc);
    pcre2_match_data_free(m);
    pcre2_code_free(code);
    pcre2_match_context_free(c);
    return rc >= 0 ? 0 : -1;
}

/* --- JSON ---------------------------------------------------------------- */

/* One reference token, unescaped. returns what follows it, or NULL: a bad
 * escape or too long. source: RFC 6901 3 */
static const char *next_token(const char *p, struct buf *out)
{
    buf_reset(out);
    for (; *p != '\0' && *p != '/'; p++) {
        char c = *p;

        if (c == '~') {
            p++;
            if (*p != '0' && *p != '1')
                return NULL;
            c = *p == '0' ? '~' : '/';
        }
        buf_char(out, c);
    }
    return out->over ? NULL : p;
}

static const cJSON *array_item(const cJSON *array, const char *token)
{
    int i = 0;

    if (*token == '\0' || (token[0] == '0' && token[1] != '\0') ||
        strlen(token) > 8)
        return NULL;
    for (; *token != '\0'; token++) {
        if (*token < '0' || *token > '9')
            return NULL;
        i = i * 10 + (*token - '0');
    }
    return cJSON_GetArrayItem(array, i);
}

const cJSON *match_pointer(const cJSON *root, const char *pointer)
{
    struct buf token;

    buf_init(&token, 1024);
    while (root != NULL && *pointer != '\0') {
        if (*pointer != '/') {
            root = NULL;
            break;
        }
        pointer = next_token(pointer + 1, &token);
        if (pointer == NULL)
            root = NULL;
        else if (cJSON_IsArray(root))
            root = array_item(root, buf_get(&token));
        else if (cJSON_IsObject(root))
            root = cJSON_GetObjectItemCaseSensitive(root, buf_get(&token));
        else
            root = NULL;
        if (pointer == NULL)
            break;
    }
    buf_fini(&token);
    return root;
}

static int match_pair(const cJSON *root, const struct probe_pair *pair,
                      struct probe_result *r)
{
    cJSON *want = cJSON_Parse(pair->value);
    const cJSON *found = match_pointer(root, pair->name);
    int rc = 0;

    if (want == NULL) {
        (void)probe_local(r, PROBE_UNABLE, "json %.24s: no value to compare",
                          pair->name);
        return -1;
    }
    if (found == NULL) {
        (void)probe_fail(r, PROBE_CONTENT, "json %.32s: not there", pair->name);
        rc = -1;
    } else if (!cJSON_Compare(found, want, true)) {
        (void)probe_fail(r, PROBE_CONTENT, "json %.24s: not %.16s", pair->name,
                         pair->value);
        rc = -1;
    }
    cJSON_Delete(want);
    return rc;
}

static int match_json(const struct probe_params *p, const char *body,
                      size_t len, struct probe_result *r)
{
    cJSON *root = cJSON_ParseWithLength(body, len);
    int rc = 0;

    if (root == NULL) {
        (void)probe_fail(r, PROBE_CONTENT, "the body is not JSON");
        return -1;
    }
    for (size_t i = 0; i < p->njson && rc == 0; i++)
        rc = match_pair(root, &p->json[i], r);
    cJSON_Delete(root);
    return rc;
}

int match_body(const struct probe_params *p, const char *body, size_t len,
               bool cut, struct probe_result *r)
{
    if (p->body != NULL && !match_text(body, len, p->body)) {
        (void)probe_fail(r, PROBE_CONTENT, "body: text not found%s",
                         cut ? " in the first 256 KiB" : "");
        return -1;
    }
    if (p->body_match != NULL && match_regex(p->body_match, body, len, r) != 0)
        return -1;
    if (p->njson == 0)
        return 0;
    if (cut) {
        (void)probe_fail(r, PROBE_CONTENT, "json: body longer than 256 KiB");
        return -1;
    }
    return match_json(p, body, len, r);
}
