#include "providers/rest/rest_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_text.h"
#include "providers/rest/rest_zone.h"

void rest_path_encode(struct buf *b, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text != '\0'; text++) {
        if (strchr(plain, *text) != NULL)
            buf_char(b, *text);
        else
            buf_printf(b, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

static const char *value_of(const struct rest *p, const char *word, size_t n,
                            const struct rest_path_args *args,
                            char name[NAME_SIZE])
{
    const struct rest_zone *z = args->zone;
    const struct {
        const char *word, *value;
    } values[] = {
        {"account", p->account},
        {"type", args->type},
        {"record", args->record},
        {"id", z != NULL ? z->id : NULL},
        {"zone.", z != NULL ? z->name : NULL},
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strlen(values[i].word) == n && memcmp(word, values[i].word, n) == 0)
            return values[i].value;
    if (n == 4 && memcmp(word, "zone", n) == 0 && z != NULL) {
        (void)snprintf(name, NAME_SIZE, "%s", z->name);
        name[strlen(name) - 1] = '\0';
        return name;
    }
    if (n == 4 && memcmp(word, "fqdn", n) == 0 && args->name != NULL) {
        (void)snprintf(name, NAME_SIZE, "%s", args->name);
        name[strlen(name) - 1] = '\0';
        return name;
    }
    if (n == 4 && memcmp(word, "name", n) == 0 && z != NULL &&
        args->name != NULL)
        return rest_name_out(p->style, args->name, z->name, name);
    return NULL;
}

const char *rest_path(const struct rest *p, struct arena *a,
                      const char *template, const struct rest_path_args *args)
{
    struct buf b;
    const char *out;
    char name[NAME_SIZE];

    buf_init(&b, 8192);
    while (*template != '\0') {
        size_t n = strcspn(template, "{");
        const char *value;

        buf_add(&b, template, n);
        template += n;
        if (*template == '\0')
            break;
        n = strcspn(template, "}");
        value = value_of(p, template + 1, n - 1, args, name);
        rest_path_encode(&b, value != NULL ? value : "");
        template += n + (template[n] == '}');
    }
    out = arena_strdup(a, buf_get(&b));
    buf_fini(&b);
    return out;
}
