#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/describe.h"
#include "specs/advise.h"
#include "specs/tables.h"

/* What the program's tables say: of the language, the manual's lists of
 * members and advice, the JSON Schema; of the providers, the manual's lists of
 * options. For contrib/lint/generated.sh. */

static int put(char *text)
{
    int rc = fputs(text, stdout) < 0 || fflush(stdout) != 0;

    free(text);
    return rc;
}

/* source: mdoc(7) */
static int advice(void)
{
    (void)puts(".Bl -tag -width Ds");
    for (size_t i = 0; i < SPEC_NADVICE; i++) {
        const struct spec_advice_kind *k = &spec_advice_kinds[i];

        (void)printf(".It Cm %s\n%c%s%s.\n", k->id,
                     k->help[0] >= 'a' && k->help[0] <= 'z' ? k->help[0] - 32
                                                            : k->help[0],
                     k->help + 1, k->info ? " (a note)" : "");
    }
    (void)puts(".El");
    return fflush(stdout) != 0;
}

static int types(void)
{
    for (size_t i = 0; providers[i] != NULL; i++)
        (void)puts(providers[i]->type);
    return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    static const char prefix[] = "provider-";
    const char *what = argc == 2 ? argv[1] : "";
    bool is_type = strncmp(what, prefix, sizeof prefix - 1) == 0;
    const struct provider_ops *ops =
        is_type ? provider_find(what + sizeof prefix - 1) : NULL;

    if (strcmp(what, "members") == 0)
        return put(spec_manual());
    if (strcmp(what, "schema") == 0)
        return put(spec_schema());
    if (strcmp(what, "advice") == 0)
        return advice();
    if (strcmp(what, "types") == 0)
        return types();
    if (ops != NULL)
        return put(describe_manual(ops));
    (void)fputs("usage: manual members|advice|schema|types|provider-TYPE\n",
                stderr);
    return 2;
}
