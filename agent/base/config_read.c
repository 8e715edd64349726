#include "agent/base/config_tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/duration.h"

static void put_place(const struct config_ctx *ctx, cfg_t *sec, int line,
                      struct buf *b)
{
    buf_init(b, 2 * ERR_MSG_SIZE);
    buf_str(b, ctx->file);
    if (line > 0 && !ctx->no_lines)
        buf_printf(b, ":%d", line);
    if (sec != NULL) {
        buf_printf(b, ": %s", cfg_name(sec));
        if (cfg_title(sec) != NULL)
            buf_printf(b, " %s", cfg_title(sec));
    }
}

int config_fail(const struct config_ctx *ctx, cfg_t *sec, int line,
                enum err_code code, const char *fmt, ...)
{
    char text[ERR_MSG_SIZE];
    struct buf place;
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    put_place(ctx, sec, line, &place);
    (void)err_set(ctx->e, code, "%s: %s", buf_get(&place), text);
    buf_fini(&place);
    return -1;
}

int config_fail_value(const struct config_ctx *ctx, cfg_t *sec,
                      const char *what, int line)
{
    struct buf place;

    put_place(ctx, sec, line, &place);
    (void)err_wrap(ctx->e, "%s: %s", buf_get(&place), what);
    buf_fini(&place);
    return -1;
}

size_t config_count(cfg_t *sec, const char *name)
{
    return cfg_size(sec, name);
}

const struct config_value *config_at(cfg_t *sec, const char *name, size_t i)
{
    if (i >= config_count(sec, name))
        return NULL;
    return cfg_getnptr(sec, name, (unsigned)i);
}

int config_sec_line(cfg_t *sec)
{
    const struct config_value *at = config_at(sec, CONFIG_AT, 0);

    return at != NULL ? at->line : 0;
}

size_t config_sec_count(cfg_t *root, const char *name)
{
    return cfg_size(root, name);
}

cfg_t *config_sec_at(cfg_t *root, const char *name, size_t i)
{
    return cfg_getnsec(root, name, (unsigned)i);
}

int config_read_text(const struct config_ctx *ctx, cfg_t *sec, const char *name,
                     const char **out)
{
    const struct config_value *v = config_at(sec, name, 0);

    if (v == NULL)
        return 0;
    if (v->text[0] == '\0')
        return config_fail(ctx, sec, v->line, ERR_INPUT, "%s is empty", name);
    *out = arena_strdup(ctx->arena, v->text);
    return 0;
}

int config_read_word(const struct config_ctx *ctx, cfg_t *sec, const char *name,
                     const char *const *words, size_t *out)
{
    const struct config_value *v = config_at(sec, name, 0);
    struct buf accepted;

    if (v == NULL)
        return 0;
    buf_init(&accepted, ERR_MSG_SIZE);
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(v->text, words[i]) == 0) {
            *out = i;
            buf_fini(&accepted);
            return 0;
        }
        buf_printf(&accepted, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    (void)config_fail(ctx, sec, v->line, ERR_INPUT,
                      "%s: \"%.60s\"; accepted: %s", name, v->text,
                      buf_get(&accepted));
    buf_fini(&accepted);
    return -1;
}

int config_parse_bool(const char *text, bool *out, struct err *e)
{
    if (strcmp(text, "yes") == 0 || strcmp(text, "true") == 0)
        *out = true;
    else if (strcmp(text, "no") == 0 || strcmp(text, "false") == 0)
        *out = false;
    else
        return err_set(e, ERR_INPUT, "\"%.60s\"; accepted: yes, no", text);
    return 0;
}

int config_read_bool(const struct config_ctx *ctx, cfg_t *sec, const char *name,
                     bool *out)
{
    const struct config_value *v = config_at(sec, name, 0);

    if (v == NULL || config_parse_bool(v->text, out, ctx->e) == 0)
        return 0;
    return config_fail_value(ctx, sec, name, v->line);
}

int config_parse_int(const char *text, int64_t min, int64_t max, int64_t *out,
                     struct err *e)
{
    size_t n = strlen(text);
    int64_t v = 0;

    /* 18 digits always fit. */
    if (n == 0 || n > 18 || strspn(text, "0123456789") != n)
        goto bad;
    for (const char *p = text; *p != '\0'; p++)
        v = v * 10 + (*p - '0');
    if (v < min || v > max)
        goto bad;
    *out = v;
    return 0;
bad:
    return err_set(e, ERR_INPUT,
                   "\"%.60s\"; accepted: a whole number from %" PRId64
                   " to %" PRId64,
                   text, min, max);
}

int config_read_int(const struct config_ctx *ctx, cfg_t *sec, const char *name,
                    int64_t min, int64_t max, int64_t *out)
{
    const struct config_value *v = config_at(sec, name, 0);

    if (v == NULL || config_parse_int(v->text, min, max, out, ctx->e) == 0)
        return 0;
    return config_fail_value(ctx, sec, name, v->line);
}

int config_read_duration(const struct config_ctx *ctx, cfg_t *sec,
                         const char *name, int64_t min_ms, int64_t max_ms,
                         int64_t *out)
{
    const struct config_value *v = config_at(sec, name, 0);
    char low[32], high[32];
    int64_t ms = 0;

    if (v == NULL)
        return 0;
    if (duration_parse(v->text, &ms, ctx->e) != 0)
        return config_fail_value(ctx, sec, name, v->line);
    if (ms < min_ms || ms > max_ms)
        return config_fail(ctx, sec, v->line, ERR_INPUT,
                           "%s: \"%.60s\"; accepted: from %s to %s", name,
                           v->text, duration_format(min_ms, low),
                           duration_format(max_ms, high));
    *out = ms;
    return 0;
}

int config_read_addrs(const struct config_ctx *ctx, cfg_t *sec,
                      const char *name, uint16_t port_or,
                      const struct addr **out, size_t *n)
{
    size_t count = config_count(sec, name);
    struct addr *list = arena_array(ctx->arena, count, sizeof *list);

    for (size_t i = 0; i < count; i++) {
        const struct config_value *v = config_at(sec, name, i);

        if (addr_parse_port(v->text, port_or, &list[i], ctx->e) != 0)
            return config_fail_value(ctx, sec, name, v->line);
    }
    *out = list;
    *n = count;
    return 0;
}
