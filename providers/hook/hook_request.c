#include <string.h>

#include "providers/hook/hook.h"

const char *hook_request_name(enum hook_request r)
{
    static const char *const names[] = {
        [HOOK_CAPABILITIES] = "capabilities",
        [HOOK_LIST_ZONES] = "list-zones",
        [HOOK_LIST_SPECS] = "list-specs",
        [HOOK_LIST_RECORDS] = "list-records",
        [HOOK_APPLY] = "apply",
        [HOOK_WRITE_SPEC] = "write-spec",
    };

    return names[r];
}

static cJSON *begin(enum hook_request r, const char *zone)
{
    cJSON *o = cJSON_CreateObject();

    (void)cJSON_AddNumberToObject(o, "version", HOOK_VERSION);
    (void)cJSON_AddStringToObject(o, "request", hook_request_name(r));
    if (zone != NULL)
        (void)cJSON_AddStringToObject(o, "zone", zone);
    return o;
}

static const char *end(cJSON *o, struct arena *a, struct err *e)
{
    char *text = cJSON_PrintUnformatted(o);
    const char *out = NULL;

    cJSON_Delete(o);
    if (text == NULL)
        (void)err_set(e, ERR_BUG, "a request that cannot be written");
    else if (strlen(text) > HOOK_REQUEST_MAX)
        (void)err_set(e, ERR_LIMIT, "a request of more than %zu bytes",
                      HOOK_REQUEST_MAX);
    else
        out = arena_strdup(a, text);
    cJSON_free(text);
    return out;
}

static void add_texts(cJSON *o, const char *member, const char *const *v,
                      size_t n)
{
    cJSON *list = cJSON_AddArrayToObject(o, member);

    for (size_t i = 0; i < n; i++)
        (void)cJSON_AddItemToArray(list, cJSON_CreateString(v[i]));
}

const char *hook_ask(enum hook_request r, const char *zone, struct arena *a,
                     struct err *e)
{
    return end(begin(r, zone), a, e);
}

const char *hook_ask_records(const char *zone, const char *const *names,
                             size_t n, struct arena *a, struct err *e)
{
    cJSON *o = begin(HOOK_LIST_RECORDS, zone);

    add_texts(o, "names", names, n);
    return end(o, a, e);
}

static void add_change(cJSON *list, const struct change *c)
{
    cJSON *o = cJSON_CreateObject();

    (void)cJSON_AddStringToObject(
        o, "op", c->op == CHANGE_PUBLISH ? "publish" : "withdraw");
    (void)cJSON_AddStringToObject(o, "name", c->name);
    (void)cJSON_AddStringToObject(o, "type", rr_type_name(c->type));
    (void)cJSON_AddStringToObject(o, "data", c->data);
    if (c->op == CHANGE_PUBLISH && c->ttl_s >= 0)
        (void)cJSON_AddNumberToObject(o, "ttl", (double)c->ttl_s);
    (void)cJSON_AddNumberToObject(o, "set", (double)c->set);
    if (c->confirm)
        (void)cJSON_AddTrueToObject(o, "confirm");
    (void)cJSON_AddItemToArray(list, o);
}

static void add_set(cJSON *list, const struct hook_set *s)
{
    cJSON *o = cJSON_CreateObject();

    (void)cJSON_AddNumberToObject(o, "set", (double)s->number);
    (void)cJSON_AddStringToObject(o, "name", s->name);
    (void)cJSON_AddStringToObject(o, "type", rr_type_name(s->type));
    if (s->ttl_s >= 0)
        (void)cJSON_AddNumberToObject(o, "ttl", (double)s->ttl_s);
    add_texts(o, "from", s->from, s->nfrom);
    add_texts(o, "to", s->to, s->nto);
    (void)cJSON_AddItemToArray(list, o);
}

const char *hook_ask_apply(const struct change_set *set, const bool *open,
                           const struct hook_set *sets, size_t nsets,
                           struct arena *a, struct err *e)
{
    cJSON *o = begin(HOOK_APPLY, set->zone);
    cJSON *list;

    (void)cJSON_AddBoolToObject(o, "create", set->create);
    if (set->comment != NULL)
        (void)cJSON_AddStringToObject(o, "comment", set->comment);
    list = cJSON_AddArrayToObject(o, "changes");
    for (size_t i = 0; i < set->n; i++)
        if (open[i])
            add_change(list, &set->v[i]);
    list = cJSON_AddArrayToObject(o, "sets");
    for (size_t i = 0; i < nsets; i++)
        add_set(list, &sets[i]);
    return end(o, a, e);
}

const char *hook_ask_spec(const struct spec_write *w, struct arena *a,
                          struct err *e)
{
    char *text, *name;
    cJSON *o;

    if (memchr(w->text, '\0', w->len) != NULL) {
        (void)err_set(e, ERR_INPUT, "a text with a NUL byte");
        return NULL;
    }
    text = arena_text(a, w->text, w->len);
    name = arena_printf(a, "_failover.%s", w->owner);
    o = begin(HOOK_WRITE_SPEC, w->zone);
    (void)cJSON_AddStringToObject(o, "name", name);
    (void)cJSON_AddStringToObject(o, "text", text);
    (void)cJSON_AddNumberToObject(o, "ttl", (double)w->ttl_s);
    return end(o, a, e);
}
