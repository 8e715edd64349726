#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>

#include "specs/json.h"

/* The strict scan never lets through what cJSON refuses (that is ERR_BUG),
 * and a value compares equal to itself read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct arena *a = arena_new();
    struct spec_value *v, *w;
    struct err e = {0};

    if (spec_json_parse(a, "_failover.x", text, size, &v, &e) == 0) {
        if (spec_json_parse(a, "_failover.x", text, size, &w, &e) != 0 ||
            spec_value_compare(v, w) != 0)
            abort();
    } else if (e.code == ERR_BUG || e.msg[0] == '\0') {
        abort();
    }
    arena_free(a);
    return 0;
}
