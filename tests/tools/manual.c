#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "specs/advise.h"
#include "specs/tables.h"

/* What the program's tables say of the language: the member lists of the
 * manual, the advice of lint, the JSON Schema. For `make generate`, and for
 * the tests that compare. */

static int put(char *text)
{
    int rc = fputs(text, stdout) < 0 || fflush(stdout) != 0;

    free(text);
    return rc;
}

static int advice(void)
{
    for (size_t i = 0; i < SPEC_NADVICE; i++) {
        const struct spec_advice_kind *k = &spec_advice_kinds[i];

        (void)printf("%s\t%s\t%s\n", k->id, k->info ? "info" : "warning",
                     k->help);
    }
    return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "members") == 0)
        return put(spec_manual());
    if (strcmp(what, "schema") == 0)
        return put(spec_schema());
    if (strcmp(what, "advice") == 0)
        return advice();
    (void)fputs("usage: manual members|schema|advice\n", stderr);
    return 2;
}
