#include "specs/json.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

/* The way from cJSON's tree to ours: both walk in text order, so the next
 * number of one is the next number of the other. */
struct convert {
    struct arena *arena;
    const char *where, *text;
    const struct spec_json_number *numbers;
    size_t at;
    struct err *e;
};

static struct spec_value *add(struct convert *c, struct spec_value *parent,
                              const cJSON *item)
{
    const char *text = NULL, *name = NULL;
    enum spec_value_type type = SPEC_VALUE_NULL;

    if (item->string != NULL)
        name = arena_strdup(c->arena, item->string);
    switch (item->type & 0xff) {
    case cJSON_False:
        type = SPEC_VALUE_FALSE;
        break;
    case cJSON_True:
        type = SPEC_VALUE_TRUE;
        break;
    case cJSON_Number: {
        const struct spec_json_number *n = &c->numbers[c->at++];

        type = SPEC_VALUE_NUMBER;
        text = arena_strndup(c->arena, c->text + n->at, n->len);
        break;
    }
    case cJSON_String:
        type = SPEC_VALUE_STRING;
        text = arena_strdup(c->arena, item->valuestring);
        break;
    case cJSON_Array:
        type = SPEC_VALUE_ARRAY;
        break;
    case cJSON_Object:
        type = SPEC_VALUE_OBJECT;
        break;
    default:
        break;
    }
    return spec_value_add(c->arena, parent, type, name, text);
}

/* Adds item and what is below it; depth is bounded by the scan. */
static int convert(struct convert *c, struct spec_value *parent,
                   const cJSON *item, struct spec_value **out)
{
    struct spec_value *v = add(c, parent, item);
    const struct spec_value *twice;

    for (const cJSON *k = item->child; k != NULL; k = k->next)
        if (convert(c, v, k, NULL) != 0)
            return -1;
    if (out != NULL)
        *out = v;
    if (v->type != SPEC_VALUE_OBJECT)
        return 0;
    twice = spec_value_close(c->arena, v);
    if (twice != NULL) {
        char ptr[SPEC_POINTER_SIZE];

        return err_set(c->e, ERR_INPUT,
                       "%s %s: found this member twice; accepted: each member "
                       "once",
                       c->where, spec_value_pointer(twice, ptr));
    }
    return 0;
}

int spec_json_parse(struct arena *a, const char *where, const char *text,
                    size_t len, struct spec_value **root, struct err *e)
{
    struct convert c = {.arena = a, .where = where, .text = text, .e = e};
    struct spec_json_number *numbers = NULL;
    cJSON *tree = NULL;
    size_t n = 0;
    int rc = -1;

    *root = NULL;
    if (spec_json_scan(where, text, len, &numbers, &n, e) != 0)
        goto out;
    c.numbers = numbers;
    tree = cJSON_ParseWithLength(text, len);
    if (tree == NULL) {
        (void)err_set(e, ERR_BUG, "%s: cJSON refuses what the scan accepts",
                      where);
        goto out;
    }
    rc = convert(&c, NULL, tree, root);
out:
    cJSON_Delete(tree);
    free(numbers);
    return rc;
}
