#include "providers/provider.h"

#include <string.h>

#define PROVIDER_ROW(stem) &provider_##stem,
const struct provider_ops *const providers[] = {PROVIDER_ROWS(PROVIDER_ROW)
                                                    NULL};

const struct provider_ops *provider_find(const char *type)
{
    for (size_t i = 0; providers[i] != NULL; i++)
        if (strcmp(providers[i]->type, type) == 0)
            return providers[i];
    return NULL;
}

void provider_schemas(struct config_schema out[PROVIDER_SCHEMAS])
{
    size_t n = 0;

    for (; providers[n] != NULL && n < PROVIDER_SCHEMAS - 1; n++) {
        out[n].type = providers[n]->type;
        out[n].fields = providers[n]->fields;
    }
    out[n] = (struct config_schema){NULL, NULL};
}

const struct tsig_key *provider_transfer_key(const struct provider *p)
{
    return p->ops->transfer_key == NULL ? NULL : p->ops->transfer_key(p);
}

void provider_skip_after(const struct change_set *set, size_t failed,
                         struct change_result *results)
{
    if (failed >= set->n || set->v[failed].op != CHANGE_PUBLISH)
        return;
    for (size_t i = failed + 1; i < set->n; i++)
        if (set->v[i].set == set->v[failed].set &&
            set->v[i].op == CHANGE_WITHDRAW)
            results[i].state = CHANGE_SKIPPED;
}

bool provider_txt_is_foreign(const char *text, size_t len)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t i = 0;

    if (len >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0)
        i = sizeof mark - 1;
    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' ||
                       text[i] == '\n'))
        i++;
    return i == len || (text[i] != '[' && text[i] != '{' && text[i] != '"');
}
