#ifndef AGENT_BASE_CONFIG_TREE_H
#define AGENT_BASE_CONFIG_TREE_H

#include <confuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/config.h"
#include "agent/base/err.h"
#include "agent/base/mem.h"

/* Between libconfuse and the sections' readers: values that know their line,
 * and readers for the kinds of values. Inside agent/base/config*.c only. */

/* An option that every section has and nobody can write: its default is read
 * when the section opens, which tells the section's line. */
#define CONFIG_AT "\001at"

struct config_value {
    int line;
    char text[];
};

/* What the readers share while one file is read. */
struct config_ctx {
    const char *file;
    struct arena *arena; /* of the struct config */
    const struct config_schema *schemas;
    const struct doer *doer;
    struct err *e;
    bool others_read; /* the file is readable or writable by others */
    bool no_zones;    /* it needs no section zone */
    bool no_lines;    /* it is no file: messages name no lines */
};

/* Parses text (NUL-terminated, already scanned).
 * returns the root, freed by config_tree_free, or NULL with ctx->e set */
cfg_t *config_tree_parse(const struct config_ctx *ctx, const char *text);
void config_tree_free(cfg_t *root); /* NULL is fine */

/* Sets ctx->e to "FILE:LINE: SECTION TITLE: text"; sec NULL: without the
 * section; line 0: without the line. returns -1 */
int config_fail(const struct config_ctx *ctx, cfg_t *sec, int line,
                enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Puts place, section and what in front of ctx->e; returns -1. */
int config_fail_value(const struct config_ctx *ctx, cfg_t *sec,
                      const char *what, int line);

int config_sec_line(cfg_t *sec); /* of its opening brace */
size_t config_sec_count(cfg_t *root, const char *name);
cfg_t *config_sec_at(cfg_t *root, const char *name, size_t i);

/* The values of option name: how many, and the i-th (NULL: there is none). */
size_t config_count(cfg_t *sec, const char *name);
const struct config_value *config_at(cfg_t *sec, const char *name, size_t i);

/* The readers leave *out alone where the option is not given. words ends with
 * NULL. returns 0, or -1 with ctx->e set */
MUST_CHECK int config_read_text(const struct config_ctx *ctx, cfg_t *sec,
                                const char *name, const char **out);
MUST_CHECK int config_read_word(const struct config_ctx *ctx, cfg_t *sec,
                                const char *name, const char *const *words,
                                size_t *out);
MUST_CHECK int config_read_bool(const struct config_ctx *ctx, cfg_t *sec,
                                const char *name, bool *out);
MUST_CHECK int config_read_int(const struct config_ctx *ctx, cfg_t *sec,
                               const char *name, int64_t min, int64_t max,
                               int64_t *out);
MUST_CHECK int config_read_duration(const struct config_ctx *ctx, cfg_t *sec,
                                    const char *name, int64_t min_ms,
                                    int64_t max_ms, int64_t *out);
MUST_CHECK int config_read_addrs(const struct config_ctx *ctx, cfg_t *sec,
                                 const char *name, uint16_t port_or,
                                 const struct addr **out, size_t *n);
/* returns 0, or -1 with e set (ERR_INPUT: what is accepted) */
MUST_CHECK int config_parse_bool(const char *text, bool *out, struct err *e);
MUST_CHECK int config_parse_int(const char *text, int64_t min, int64_t max,
                                int64_t *out, struct err *e);

/* An empty configuration with the defaults; sets ctx->file and ctx->arena. */
struct config *config_new(struct config_ctx *ctx, const char *file);
/* Reads ctx->file into cfg. returns 0, or -1 with ctx->e set */
MUST_CHECK int config_read_file(struct config_ctx *ctx, struct config *cfg);
/* One provider's section. p: in an array of cfg, counted before, so that
 * config_free wipes its options */
MUST_CHECK int config_read_provider(const struct config_ctx *ctx, cfg_t *sec,
                                    struct config_provider *p);

/* The sections' own readers; each fills its part of cfg.
 * returns 0, or -1 with ctx->e set */
MUST_CHECK int config_read_providers(const struct config_ctx *ctx, cfg_t *root,
                                     struct config *cfg);
MUST_CHECK int config_read_commands(const struct config_ctx *ctx, cfg_t *root,
                                    struct config *cfg);
MUST_CHECK int config_read_zones(const struct config_ctx *ctx, cfg_t *root,
                                 struct config *cfg);

#endif
