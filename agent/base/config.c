#include "agent/base/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/buf.h"
#include "agent/base/config_scan.h"
#include "agent/base/config_tree.h"
#include "agent/base/proc.h"

#define FILE_MAX (1024 * 1024)
#define DNS_PORT 53
#define STATE_DEFAULT "/var/lib/dnsfailover/state.db"
#define TARGETS_DEFAULT 200
#define TARGETS_LIMIT 100000
#define PERIOD_DEFAULT_MS 500
#define PERIOD_LOW_MS 10
#define PERIOD_HIGH_MS 3600000
#define DC_MAX 63
#define USER_MAX 32

/* At most one section of this kind.
 * out: *sec — NULL: there is none */
static int one_section(const struct config_ctx *ctx, cfg_t *root,
                       const char *name, cfg_t **sec)
{
    size_t n = config_sec_count(root, name);

    *sec = n > 0 ? config_sec_at(root, name, 0) : NULL;
    if (n < 2)
        return 0;
    return config_fail(ctx, *sec, config_sec_line(config_sec_at(root, name, 1)),
                       ERR_INPUT, "is given twice; first in line %d",
                       config_sec_line(*sec));
}

static int read_state(const struct config_ctx *ctx, cfg_t *sec,
                      struct config *cfg)
{
    if (config_read_text(ctx, sec, "state", &cfg->state) != 0)
        return -1;
    if (cfg->state[0] != '/')
        return config_fail(
            ctx, sec, config_at(sec, "state", 0)->line, ERR_INPUT,
            "state: \"%.100s\"; accepted: an absolute path", cfg->state);
    return 0;
}

/* As useradd(8) lets them be called. */
static int read_user(const struct config_ctx *ctx, cfg_t *sec,
                     struct config *cfg)
{
    static const char accepted[] = "abcdefghijklmnopqrstuvwxyz"
                                   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789_.-";
    size_t n;

    if (config_read_text(ctx, sec, "user", &cfg->user) != 0)
        return -1;
    n = cfg->user != NULL ? strlen(cfg->user) : 0;
    if (cfg->user == NULL || (n > 0 && n <= USER_MAX && cfg->user[0] != '-' &&
                              strspn(cfg->user, accepted) == n))
        return 0;
    return config_fail(ctx, sec, config_at(sec, "user", 0)->line, ERR_INPUT,
                       "user: \"%.60s\"; accepted: the name of a system user "
                       "of up to %d letters, digits, '_', '-' and '.'",
                       cfg->user, USER_MAX);
}

static int read_dc(const struct config_ctx *ctx, cfg_t *sec, struct config *cfg)
{
    size_t n;

    if (config_read_text(ctx, sec, "dc", &cfg->dc) != 0)
        return -1;
    n = cfg->dc != NULL ? strlen(cfg->dc) : 1;
    if (n <= DC_MAX)
        return 0;
    return config_fail(ctx, sec, config_at(sec, "dc", 0)->line, ERR_INPUT,
                       "dc has %zu bytes; accepted: at most %d", n, DC_MAX);
}

/* Without a port: an echo. */
static int read_anchors(const struct config_ctx *ctx, cfg_t *sec,
                        struct config *cfg)
{
    return config_read_addrs(ctx, sec, "anchors", 0, &cfg->anchors,
                             &cfg->nanchors);
}

static int read_allow_targets(const struct config_ctx *ctx, cfg_t *sec,
                              struct config *cfg)
{
    size_t n = config_count(sec, "allow-targets");
    struct cidr *list = arena_array(ctx->arena, n, sizeof *list);

    for (size_t i = 0; i < n; i++) {
        const struct config_value *v = config_at(sec, "allow-targets", i);

        if (cidr_parse(v->text, &list[i], ctx->e) != 0)
            return config_fail_value(ctx, sec, "allow-targets", v->line);
    }
    cfg->allow_targets = list;
    cfg->nallow_targets = n;
    return 0;
}

static int read_notify(const struct config_ctx *ctx, cfg_t *sec,
                       struct config *cfg)
{
    const struct config_value *v = config_at(sec, "notify", 0);
    char **argv;

    if (v == NULL)
        return 0;
    if (proc_split(v->text, NULL, NULL, 0, &argv, ctx->e) != 0)
        return config_fail_value(ctx, sec, "notify", v->line);
    proc_argv_free(argv);
    return config_read_text(ctx, sec, "notify", &cfg->notify);
}

static int read_agent(const struct config_ctx *ctx, cfg_t *root,
                      struct config *cfg)
{
    const struct config_value *listen;
    cfg_t *sec;

    if (one_section(ctx, root, "agent", &sec) != 0)
        return -1;
    if (sec == NULL)
        return 0;
    listen = config_at(sec, "listen", 0);
    if (listen != NULL)
        return config_fail(ctx, sec, listen->line, ERR_UNSUPPORTED,
                           "listen: the status page is not yet supported");
    if (read_state(ctx, sec, cfg) != 0 || read_user(ctx, sec, cfg) != 0 ||
        read_dc(ctx, sec, cfg) != 0 || read_anchors(ctx, sec, cfg) != 0 ||
        read_allow_targets(ctx, sec, cfg) != 0 ||
        read_notify(ctx, sec, cfg) != 0 ||
        config_read_int(ctx, sec, "max-targets", 1, TARGETS_LIMIT,
                        &cfg->max_targets) != 0)
        return -1;
    return config_read_duration(ctx, sec, "min-period", PERIOD_LOW_MS,
                                PERIOD_HIGH_MS, &cfg->min_period_ms);
}

/* The AD bit is only as good as the way that it came. */
static int check_trust(const struct config_ctx *ctx, cfg_t *sec,
                       const struct config *cfg)
{
    for (size_t i = 0; cfg->trust_ad && i < cfg->nresolvers; i++) {
        const struct config_value *v = config_at(sec, "servers", i);

        if (addr_classify(&cfg->resolvers[i]) != ADDR_LOOPBACK)
            return config_fail(ctx, sec, v->line, ERR_INPUT,
                               "servers: \"%.60s\" is not on loopback; "
                               "accepted with trust = ad: a validating "
                               "resolver on this machine",
                               v->text);
    }
    return 0;
}

static int read_resolver(const struct config_ctx *ctx, cfg_t *root,
                         struct config *cfg)
{
    static const char *const words[] = {"any", "ad", NULL};
    size_t trust = 0;
    cfg_t *sec;

    if (one_section(ctx, root, "resolver", &sec) != 0)
        return -1;
    if (sec == NULL)
        return 0;
    if (config_read_addrs(ctx, sec, "servers", DNS_PORT, &cfg->resolvers,
                          &cfg->nresolvers) != 0 ||
        config_read_word(ctx, sec, "trust", words, &trust) != 0)
        return -1;
    cfg->trust_ad = trust == 1;
    return check_trust(ctx, sec, cfg);
}

static int read_all(struct config_ctx *ctx, char *text, size_t len,
                    struct config *cfg)
{
    cfg_t *root;
    int line, rc;

    if (config_scan(text, len, &line, ctx->e) != 0)
        return err_wrap(ctx->e, "%s:%d", ctx->file, line);
    root = config_tree_parse(ctx, text);
    if (root == NULL)
        return -1;
    rc = read_agent(ctx, root, cfg);
    if (rc == 0)
        rc = read_resolver(ctx, root, cfg);
    if (rc == 0)
        rc = config_read_commands(ctx, root, cfg);
    if (rc == 0)
        rc = config_read_providers(ctx, root, cfg);
    if (rc == 0)
        rc = config_read_zones(ctx, root, cfg);
    config_tree_free(root);
    return rc;
}

int config_open(const char *file, struct err *e)
{
    /* Not blocking: a named pipe must not hang us. */
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum err_code code = errno == ENOENT   ? ERR_NOTFOUND
                         : errno == EACCES ? ERR_AUTH
                                           : ERR_INPUT;

    if (fd < 0)
        return err_set(e, code, "%s: %s", file, strerror(errno));
    return fd;
}

static int check_file(const struct config_ctx *ctx, int fd, struct stat *st)
{
    if (fstat(fd, st) != 0)
        return err_set(ctx->e, ERR_INPUT, "%s: %s", ctx->file, strerror(errno));
    if (!S_ISREG(st->st_mode))
        return err_set(ctx->e, ERR_INPUT, "%s: is %s; accepted: a file",
                       ctx->file,
                       S_ISDIR(st->st_mode) ? "a directory" : "not a file");
    return 0;
}

/* Reads what is there, at most FILE_MAX bytes.
 * returns 0 with *len set, or -1 */
static int read_file(const struct config_ctx *ctx, int fd, char *text,
                     size_t *len)
{
    *len = 0;
    while (*len <= FILE_MAX) {
        ssize_t n = read(fd, text + *len, FILE_MAX + 1 - *len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(ctx->e, ERR_INPUT, "%s: %s", ctx->file,
                           strerror(errno));
        if (n == 0)
            return 0;
        *len += (size_t)n;
    }
    return err_set(ctx->e, ERR_INPUT,
                   "%s: larger than 1 MiB; accepted: up to 1 MiB", ctx->file);
}

static int load(struct config_ctx *ctx, int fd, struct config *cfg)
{
    char *text;
    struct stat st;
    size_t len;
    int rc;

    if (check_file(ctx, fd, &st) != 0)
        return -1;
    ctx->others_read = (st.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    text = mem_alloc(FILE_MAX + 2);
    rc = read_file(ctx, fd, text, &len);
    if (rc == 0)
        rc = read_all(ctx, text, len, cfg);
    explicit_bzero(text, FILE_MAX + 2);
    free(text);
    return rc;
}

int config_read_file(struct config_ctx *ctx, struct config *cfg)
{
    int fd = config_open(ctx->file, ctx->e), rc;

    if (fd < 0)
        return -1;
    rc = load(ctx, fd, cfg);
    (void)close(fd);
    return rc;
}

struct config *config_new(struct config_ctx *ctx, const char *file)
{
    struct arena *a = arena_new();
    struct config *c = arena_alloc(a, sizeof *c);

    ctx->arena = c->arena = a;
    c->file = ctx->file = arena_strdup(a, file);
    c->doer = ctx->doer;
    c->state = STATE_DEFAULT;
    c->max_targets = TARGETS_DEFAULT;
    c->min_period_ms = PERIOD_DEFAULT_MS;
    return c;
}

int config_load_open(const char *file, int fd, const struct doer *doer,
                     const struct config_schema *schemas, struct config **cfg,
                     struct err *e)
{
    struct err own = {0};
    struct config_ctx ctx = {
        .schemas = schemas, .doer = doer, .e = e != NULL ? e : &own};
    struct config *c = config_new(&ctx, file);

    *cfg = NULL;
    if (load(&ctx, fd, c) != 0) {
        config_free(c);
        return -1;
    }
    *cfg = c;
    return 0;
}

int config_load(const char *file, const struct config_schema *schemas,
                struct config **cfg, struct err *e)
{
    struct err own = {0};
    int fd = config_open(file, e != NULL ? e : &own), rc;

    *cfg = NULL;
    if (fd < 0)
        return -1;
    rc = config_load_open(file, fd, NULL, schemas, cfg, e);
    (void)close(fd);
    return rc;
}

void config_take_doer(struct config *cfg, const struct doer *doer)
{
    cfg->doer = doer;
    for (size_t i = 0; i < cfg->nproviders; i++)
        cfg->providers[i].doer = doer;
}

/* Without a cast away from const: the bytes are ours, in the arena. */
static void wipe(const char *text)
{
    explicit_bzero((char *)(uintptr_t)text, strlen(text));
}

void config_free(struct config *cfg)
{
    if (cfg == NULL)
        return;
    for (size_t i = 0; i < cfg->nproviders; i++)
        for (size_t j = 0; j < cfg->providers[i].noptions; j++)
            wipe(cfg->providers[i].options[j].value);
    arena_free(cfg->arena);
}
