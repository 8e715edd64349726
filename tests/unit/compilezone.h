#ifndef TESTS_UNIT_COMPILEZONE_H
#define TESTS_UNIT_COMPILEZONE_H

/* BIND's own reading of a zone file, where named-compilezone is installed. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/buf.h"
#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/base/proc.h"

static inline bool compilezone_is_here(void)
{
    return access("/usr/bin/named-compilezone", X_OK) == 0;
}

struct compilezone_run {
    bool done, ok, odd;
};

static inline void compilezone_ended(void *arg, const struct proc_result *r)
{
    struct compilezone_run *run = arg;

    run->ok = r->exit_code == 0;
    run->odd = strstr(r->output, "TTL set to prior TTL") != NULL;
    run->done = true;
}

/* A file's text, runs of blanks as one; heap. */
static inline char *compilezone_squeezed(const char *path)
{
    FILE *f = fopen(path, "re");
    struct buf b;
    int c, last = 0;

    buf_init(&b, 1 << 20);
    while (f != NULL && (c = fgetc(f)) != EOF) {
        if (c == '\t')
            c = ' ';
        if (c != ' ' || last != ' ')
            buf_char(&b, (char)c);
        last = c;
    }
    if (f != NULL)
        (void)fclose(f);
    return buf_take(&b);
}

/* The records of a zone file of example.test, one a line; NULL: BIND refuses
 * it. *odd: it evened out the TTLs of a set. */
static inline char *compilezone(const char *path, bool *odd)
{
    char *out = mem_printf("%s.out", path), *in = mem_strdup(path), *text;
    char *argv[] = {mem_strdup("/usr/bin/named-compilezone"),
                    mem_strdup("-i"),
                    mem_strdup("none"),
                    mem_strdup("-k"),
                    mem_strdup("ignore"),
                    mem_strdup("-o"),
                    out,
                    mem_strdup("example.test"),
                    in,
                    NULL};
    struct compilezone_run run = {false, false, false};
    struct loop *l = loop_new();

    proc_run(l, argv, NULL, NULL, 0, 10000, compilezone_ended, &run);
    if (!loop_wait(l, &run.done, clock_mono_ms() + 20000))
        abort();
    loop_free(l);
    text = run.ok ? compilezone_squeezed(out) : NULL;
    *odd = run.odd;
    (void)unlink(out);
    for (size_t i = 0; argv[i] != NULL; i++)
        free(argv[i]);
    return text;
}

#endif
