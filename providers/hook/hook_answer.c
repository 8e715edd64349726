#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "providers/hook/hook.h"
#include "providers/rest/rest_json.h"

/* Answers. Members that are not known are passed over; those that are must be
 * right. */

#define TTL_MAX INT64_C(2147483647)
#define SPEC_LABEL "_failover."

static const cJSON *member(const cJSON *o, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(o, name);
}

/* ---- the whole ----------------------------------------------------------- */

static const struct {
    const char *name;
    enum err_code code;
} codes[] = {
    {"retry", ERR_RETRY},       {"auth", ERR_AUTH},
    {"notFound", ERR_NOTFOUND}, {"input", ERR_INPUT},
    {"conflict", ERR_CONFLICT}, {"limit", ERR_LIMIT},
    {"unknown", ERR_UNKNOWN},   {"unsupported", ERR_UNSUPPORTED},
};

/* out: *code. returns 0, or -1 with e set */
static int take_code(const cJSON *v, const char *place, enum err_code *code,
                     struct err *e)
{
    *code = ERR_RETRY;
    if (v == NULL)
        return 0;
    for (size_t i = 0; cJSON_IsString(v) && i < sizeof codes / sizeof codes[0];
         i++) {
        if (strcmp(codes[i].name, v->valuestring) != 0)
            continue;
        *code = codes[i].code;
        return 0;
    }
    return err_set(e, ERR_RETRY,
                   "%s.code: accepted: retry, auth, notFound, input, "
                   "conflict, limit, unknown, unsupported",
                   place);
}

/* Its own error, as e; returns -1. */
static int take_error(const cJSON *v, bool *own, struct err *e)
{
    const cJSON *message = member(v, "message");
    enum err_code code;

    if (!cJSON_IsObject(v) || !cJSON_IsString(message))
        return err_set(e, ERR_RETRY,
                       "error: accepted: an object with a \"message\"");
    if (take_code(member(v, "code"), "error", &code, e) != 0)
        return -1;
    *own = true;
    return err_set(e, code, "%.800s", message->valuestring);
}

int hook_answer_parse(const char *text, size_t len, cJSON **root, bool *own,
                      struct err *e)
{
    const cJSON *version, *error;

    *root = NULL;
    *own = false;
    if (len == 0)
        return err_set(e, ERR_RETRY, "its answer is empty");
    *root = rest_json_parse(text, len, e);
    if (*root == NULL)
        return err_wrap(e, "its answer");
    version = member(*root, "version");
    error = member(*root, "error");
    if (!cJSON_IsObject(*root))
        (void)err_set(e, ERR_RETRY, "its answer: not a JSON object");
    else if (!cJSON_IsNumber(version) || version->valueint != HOOK_VERSION)
        (void)err_set(e, ERR_RETRY, "its answer: version: accepted: %d",
                      HOOK_VERSION);
    else if (error != NULL)
        (void)take_error(error, own, e);
    else
        return 0;
    cJSON_Delete(*root);
    *root = NULL;
    return -1;
}

int hook_answer_serial(const cJSON *root, struct hook_serial *out,
                       struct err *e)
{
    const cJSON *v = member(root, "serial");
    int64_t n;

    *out = (struct hook_serial){false, 0};
    if (v == NULL)
        return 0;
    if (!cJSON_IsNumber(v) || !rest_json_uint(v, UINT32_MAX, &n))
        return err_set(e, ERR_RETRY, "serial: accepted: 0 to 4294967295");
    *out = (struct hook_serial){true, (uint32_t)n};
    return 0;
}

static const cJSON *array(const cJSON *root, const char *name, struct err *e)
{
    const cJSON *v = member(root, name);

    if (cJSON_IsArray(v))
        return v;
    (void)err_set(e, ERR_RETRY, "its answer: %s: %s; accepted: a list", name,
                  v == NULL ? "is missing" : "is none");
    return NULL;
}

static int take_name(const cJSON *v, const char *zone, char out[NAME_SIZE],
                     struct err *e)
{
    e->code = ERR_NONE;
    if (!cJSON_IsString(v))
        (void)err_set(e, ERR_RETRY, "accepted: a name as a string");
    else if (name_canon(v->valuestring, out, e) != 0)
        e->code = ERR_RETRY;
    else if (zone != NULL && !name_within(out, zone))
        (void)err_set(e, ERR_RETRY, "\"%s\" is not in %s", out, zone);
    return e->code == ERR_NONE ? 0 : -1;
}

/* ---- records ------------------------------------------------------------- */

static bool is_asked(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (name_equal(names[i], name))
            return true;
    return n == 0;
}

static int take_record(const cJSON *item, const char *zone,
                       const char *const *names, size_t n,
                       struct rrset_list *out, struct err *e)
{
    const cJSON *type = member(item, "type"), *data = member(item, "data"),
                *enabled = member(item, "enabled");
    char name[NAME_SIZE], *canon = NULL;
    enum rr_type t;
    int64_t ttl_s;

    if (take_name(member(item, "name"), zone, name, e) != 0)
        return err_wrap(e, "name");
    if (!cJSON_IsString(type))
        return err_set(e, ERR_RETRY, "type: accepted: a string");
    if (rr_type_parse(type->valuestring, &t, NULL) != 0 || t == RR_TXT ||
        !is_asked(names, n, name))
        return 0;
    if (!cJSON_IsNumber(member(item, "ttl")) ||
        !rest_json_uint(member(item, "ttl"), TTL_MAX, &ttl_s))
        return err_set(e, ERR_RETRY, "ttl: accepted: seconds, 0 to 2147483647");
    if (enabled != NULL && !cJSON_IsBool(enabled))
        return err_set(e, ERR_RETRY, "enabled: accepted: true or false");
    if (!cJSON_IsString(data))
        return err_set(e, ERR_RETRY, "data: accepted: a string");
    if (rr_data_canon(t, data->valuestring, ".", &canon, e) != 0) {
        e->code = ERR_RETRY;
        return err_wrap(e, "data");
    }
    rrset_list_add(out, name, t, canon, (uint32_t)ttl_s,
                   !cJSON_IsFalse(enabled));
    free(canon);
    return 0;
}

int hook_answer_records(const cJSON *root, const char *zone,
                        const char *const *names, size_t n,
                        struct rrset_list *out, struct err *e)
{
    const cJSON *list = array(root, "records", e);
    size_t at = 0;

    if (list == NULL)
        return -1;
    for (const cJSON *v = list->child; v != NULL; v = v->next, at++)
        if (take_record(v, zone, names, n, out, e) != 0)
            return err_wrap(e, "its answer: records[%zu]", at);
    return 0;
}

/* ---- names --------------------------------------------------------------- */

int hook_answer_zones(const cJSON *root, struct arena *a,
                      const char *const **names, size_t *n, struct err *e)
{
    const cJSON *list = array(root, "zones", e);
    const char **v;
    size_t at = 0;

    if (list == NULL)
        return -1;
    v = arena_array(a, (size_t)cJSON_GetArraySize(list) + 1, sizeof *v);
    for (const cJSON *z = list->child; z != NULL; z = z->next, at++) {
        char name[NAME_SIZE];

        if (take_name(z, NULL, name, e) != 0)
            return err_wrap(e, "its answer: zones[%zu]", at);
        v[at] = arena_strdup(a, name);
    }
    *names = v;
    *n = at;
    return 0;
}

static int take_spec(const cJSON *item, const char *zone, struct arena *a,
                     struct provider_spec *out, struct err *e)
{
    const cJSON *text = member(item, "text");
    char name[NAME_SIZE];

    if (take_name(member(item, "name"), zone, name, e) != 0)
        return err_wrap(e, "name");
    if (strncmp(name, SPEC_LABEL, sizeof SPEC_LABEL - 1) != 0)
        return err_set(e, ERR_RETRY, "name: \"%s\" does not begin with %s",
                       name, SPEC_LABEL);
    if (text != NULL && !cJSON_IsString(text))
        return err_set(e, ERR_RETRY, "text: accepted: a string");
    out->owner = arena_strdup(a, name + sizeof SPEC_LABEL - 1);
    if (text != NULL) {
        out->len = strlen(text->valuestring);
        out->text = arena_text(a, text->valuestring, out->len);
    }
    return 0;
}

int hook_answer_specs(const cJSON *root, const char *zone, struct arena *a,
                      struct provider_spec **specs, size_t *n, struct err *e)
{
    const cJSON *list = array(root, "specs", e);
    size_t at = 0;

    if (list == NULL)
        return -1;
    *specs =
        arena_array(a, (size_t)cJSON_GetArraySize(list) + 1, sizeof **specs);
    for (const cJSON *v = list->child; v != NULL; v = v->next, at++)
        if (take_spec(v, zone, a, &(*specs)[at], e) != 0)
            return err_wrap(e, "its answer: specs[%zu]", at);
    *n = at;
    return 0;
}

/* ---- what came of writes ------------------------------------------------- */

static int take_result(const cJSON *item, struct change_result *out,
                       struct err *e)
{
    static const char *const states[] = {[CHANGE_DONE] = "done",
                                         [CHANGE_FAILED] = "failed",
                                         [CHANGE_SKIPPED] = "skipped",
                                         [CHANGE_UNKNOWN] = "unknown"};
    const cJSON *state = member(item, "state"),
                *message = member(item, "message");
    enum err_code code;
    size_t s = 0;

    while (s < 4 && (!cJSON_IsString(state) ||
                     strcmp(states[s], state->valuestring) != 0))
        s++;
    if (s == 4)
        return err_set(e, ERR_RETRY,
                       "state: accepted: done, failed, skipped, unknown");
    if (message != NULL && !cJSON_IsString(message))
        return err_set(e, ERR_RETRY, "message: accepted: a string");
    if (take_code(member(item, "code"), "result", &code, e) != 0)
        return -1;
    out->state = (enum change_state)s;
    if (out->state == CHANGE_FAILED || out->state == CHANGE_UNKNOWN)
        (void)err_set(&out->err,
                      out->state == CHANGE_UNKNOWN ? ERR_UNKNOWN : code,
                      "%.800s",
                      message != NULL ? message->valuestring
                                      : "the command does not say why");
    return 0;
}

int hook_answer_results(const cJSON *root, size_t n, struct change_result *out,
                        struct err *e)
{
    const cJSON *list = array(root, "results", e);
    size_t at = 0;

    if (list == NULL)
        return -1;
    if ((size_t)cJSON_GetArraySize(list) != n)
        return err_set(e, ERR_RETRY,
                       "its answer: results: %d of them; accepted: %zu, one "
                       "for each change",
                       cJSON_GetArraySize(list), n);
    for (const cJSON *v = list->child; v != NULL; v = v->next, at++)
        if (take_result(v, &out[at], e) != 0)
            return err_wrap(e, "its answer: results[%zu]", at);
    return 0;
}

int hook_answer_written(const cJSON *root, bool *changed, struct err *e)
{
    const cJSON *v = member(root, "changed");

    if (!cJSON_IsBool(v))
        return err_set(e, ERR_RETRY,
                       "its answer: changed: accepted: true or false");
    *changed = cJSON_IsTrue(v);
    return 0;
}
