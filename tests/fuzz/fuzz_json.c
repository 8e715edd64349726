#include "tests/fuzz/fuzz_main.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "specs/json.h"

/* The strict reader never accepts what cJSON, an independent and more
 * lenient one, refuses, and where both read a text they read the same; a
 * value compares equal to itself read again and to its copy. */

static void same(const struct spec_value *v, const cJSON *c)
{
    const struct spec_value *k;
    const cJSON *item;

    switch (v->type) {
    case SPEC_VALUE_NULL:
        if (!cJSON_IsNull(c))
            abort();
        return;
    case SPEC_VALUE_FALSE:
    case SPEC_VALUE_TRUE:
        if (!cJSON_IsBool(c) ||
            (v->type == SPEC_VALUE_TRUE) != (cJSON_IsTrue(c) != 0))
            abort();
        return;
    case SPEC_VALUE_NUMBER:
        if (!cJSON_IsNumber(c))
            abort();
        return;
    case SPEC_VALUE_STRING:
        if (!cJSON_IsString(c) || strcmp(v->text, c->valuestring) != 0)
            abort();
        return;
    case SPEC_VALUE_ARRAY:
    case SPEC_VALUE_OBJECT:
        break;
    case SPEC_VALUE_TOKEN:
        abort();
    }
    item = c->child;
    for (k = v->child; k != NULL; k = k->next, item = item->next) {
        if (item == NULL || (k->name == NULL) != (item->string == NULL) ||
            (k->name != NULL && strcmp(k->name, item->string) != 0))
            abort();
        same(k, item);
    }
    if (item != NULL)
        abort();
}

static void compare(const char *text, size_t size, const struct spec_value *v)
{
    cJSON *c = cJSON_ParseWithLength(text, size);

    if (c == NULL)
        abort();
    same(v, c);
    cJSON_Delete(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct arena *a = arena_new();
    struct spec_value *v, *w;
    struct err e = {0};

    if (spec_json_parse(a, "_failover.x", text, size, &v, &e) == 0) {
        compare(text, size, v);
        if (spec_json_parse(a, "_failover.x", text, size, &w, &e) != 0 ||
            spec_value_compare(v, w) != 0 ||
            spec_value_compare(v, spec_value_copy(a, v)) != 0)
            abort();
    } else if (e.code == ERR_BUG || e.msg[0] == '\0') {
        abort();
    }
    arena_free(a);
    return 0;
}
