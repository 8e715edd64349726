#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "specs/spec.h"

static const char *const ns_names[] = {"ns.example.org."};

/* The input as one string, or (cut > 0) as strings of cut bytes. */
static struct spec *read_cut(const struct spec_context *ctx, const char *text,
                             size_t len, size_t cut, struct err *e)
{
    size_t n = cut > 0 ? len / cut + 1 : 1;
    struct spec_string *strings = mem_array(n, sizeof *strings);
    struct spec_txt txt = {strings, n};
    struct spec *s = NULL;

    for (size_t i = 0; i < n; i++) {
        size_t from = i * cut;

        strings[i].data = text + from;
        strings[i].len = cut > 0 && len - from > cut ? cut : len - from;
    }
    if (spec_parse(&txt, 1, ctx, &s, e) != 0 && (s != NULL || !e->msg[0]))
        abort();
    free(strings);
    return s;
}

/* What is accepted prints to a text that prints the same; a cut changes
 * nothing; an error is one line. */
static void run(const struct spec_context *ctx, const char *text, size_t len)
{
    struct err e = {0}, e2 = {0};
    struct spec *s = read_cut(ctx, text, len, 0, &e), *t;
    struct spec *u = read_cut(ctx, text, len, 255, &e2);
    char *p, *q;

    if ((s == NULL) != (u == NULL) || strchr(e.msg, '\n') != NULL)
        abort();
    spec_free(u);
    if (s == NULL)
        return;
    p = spec_print(s);
    t = NULL;
    if (spec_parse_text(p, strlen(p), ctx, &t, &e) != 0) {
        if (e.code != ERR_LIMIT) /* longer than what it came from */
            abort();
    } else {
        q = spec_print(t);
        if (strcmp(p, q) != 0)
            abort();
        free(q);
    }
    free(p);
    spec_free(s);
    spec_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spec_context ctx = {.owner = "www.example.org.",
                               .zone = "example.org.",
                               .ns_names = ns_names,
                               .nns_names = 1,
                               .max_targets = 200};

    run(&ctx, (const char *)data, size);
    ctx.owner = ctx.zone;
    run(&ctx, (const char *)data, size);
    return 0;
}
