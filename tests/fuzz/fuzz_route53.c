/* Whatever Route 53 may answer: lists, errors, changes; and the spelling of
 * names and texts. What is read as a name is canonical and is read the same
 * again, a text comes back from its own spelling, a plain set can be written.*/
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/charstr.h"
#include "providers/route53/route53_answer.h"

#define MAX ((size_t)16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char *answered)
{
    char once[NAME_SIZE], twice[NAME_SIZE];

    if (route53_name(answered, once) != 0)
        return;
    if (route53_name(once, twice) != 0 || strcmp(once, twice) != 0)
        abort();
}

static void check_text(const char *value)
{
    struct buf text, spelled, again;

    buf_init(&text, MAX);
    buf_init(&spelled, MAX);
    buf_init(&again, MAX);
    if (route53_txt_decode(value, &text)) {
        (void)charstr_add_text_octal(&spelled, buf_get(&text), text.len, " ");
        if (!route53_txt_decode(buf_get(&spelled), &again) ||
            again.len != text.len ||
            memcmp(buf_get(&again), buf_get(&text), text.len) != 0)
            abort();
    }
    buf_fini(&text);
    buf_fini(&spelled);
    buf_fini(&again);
}

static void check_sets(struct arena *a, const struct route53_sets *sets)
{
    struct buf body;

    buf_init(&body, MAX);
    route53_batch_open(&body, "fuzz");
    for (size_t i = 0; i < sets->n; i++) {
        const struct route53_set *s = &sets->v[i];
        struct route53_records r = {s->as_named, s->type, s->ttl_s, s->values,
                                    s->n};

        check_name(s->as_named);
        for (size_t k = 0; k < s->n; k++)
            check_text(s->values[k]);
        r.before = s->before;
        r.after = s->after;
        if (s->fixed == NULL)
            route53_batch_change(&body, "DELETE", &r);
    }
    route53_batch_close(&body);
    buf_fini(&body);
    (void)a;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    const char *text = (const char *)data, *said;
    char code[ROUTE53_CODE_SIZE];
    struct route53_sets sets;
    struct route53_zones zones;
    struct route53_change change;
    char *plain = mem_strndup(text, size);
    struct err e;

    check_name(plain);
    check_text(plain);
    if (route53_read_sets(a, text, size, &sets, &e) == 0)
        check_sets(a, &sets);
    if (route53_read_zones(a, text, size, &zones, &e) == 0)
        for (size_t i = 0; i < zones.n; i++)
            if (zones.v[i].id[0] == '\0')
                abort();
    if (route53_read_change(a, text, size, &change, &e) == 0 &&
        change.id == NULL)
        abort();
    if (route53_read_error(a, text, size, code, &said) && said == NULL)
        abort();
    free(plain);
    arena_free(a);
    return 0;
}

#include "tests/fuzz/fuzz_main.h"
