#include "providers/shared/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void findings_init(struct findings *f)
{
    memset(f, 0, sizeof *f);
    f->arena = arena_new();
}

void findings_fini(struct findings *f)
{
    arena_free(f->arena);
    memset(f, 0, sizeof *f);
}

void findings_add(struct findings *f, enum provider_finding_level level,
                  const char *option, const char *remedy, const char *fmt, ...)
{
    struct provider_finding *v;
    struct err text; /* one line, control characters taken out */
    char raw[ERR_MSG_SIZE];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    (void)err_set(&text, ERR_NONE, "%s", raw);
    f->v = arena_grow(f->arena, f->v, &f->cap, f->n, sizeof *f->v);
    v = &f->v[f->n++];
    v->level = level;
    v->option = option;
    v->text = arena_strdup(f->arena, text.msg);
    v->remedy = remedy != NULL ? arena_strdup(f->arena, remedy) : NULL;
}

struct provider_checked findings_get(const struct findings *f)
{
    const struct provider_checked r = {f->v, f->n};

    return r;
}
