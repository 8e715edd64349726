#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>

#include "agent/base/buf.h"
#include "specs/bare.h"

static void print(struct buf *b, const struct spec_value *v)
{
    char open = v->type == SPEC_VALUE_ARRAY ? '[' : '{';

    if (v->name != NULL)
        buf_printf(b, "%s:", v->name);
    if (v->type == SPEC_VALUE_TOKEN) {
        buf_str(b, v->text);
        return;
    }
    buf_char(b, open);
    for (const struct spec_value *k = v->child; k != NULL; k = k->next) {
        if (k != v->child)
            buf_char(b, ',');
        print(b, k);
    }
    buf_char(b, open == '[' ? ']' : '}');
}

/* What is accepted prints to a text that reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct spec_value *v, *w;
    struct err e = {0};
    struct buf b;

    buf_init(&b, 1u << 17);
    if (spec_bare_parse(a, "_failover.x", (const char *)data, size, &v, &e) ==
        0) {
        print(&b, v);
        if (spec_bare_parse(a, "_failover.x", buf_get(&b), b.len, &w, &e) !=
                0 ||
            spec_value_compare(v, w) != 0)
            abort();
    } else if (e.msg[0] == '\0') {
        abort();
    }
    buf_fini(&b);
    arena_free(a);
    return 0;
}
