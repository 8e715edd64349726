#include "agent/engine/helper/helper_room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/base/log.h"
#include "agent/base/mem.h"
#include "agent/probes/probe.h"
#include "providers/hook/hook_command.h"
#include "providers/provider.h"
#include "providers/zonefile/zonefile_desk.h"

/* Zones finish with the reading that they began with; the first one's notify
 * command serves as long as the service. */
#define KEEP_READINGS 16
#define REFUSALS_TOLD 20

struct reading {
    uint32_t number;
    const struct config *cfg;
    struct config *own;           /* NULL: borrowed */
    struct zonefile_desk **desks; /* of its providers; NULL: not asked for */
    struct reading *prev, *next;
};

struct helper_room {
    const char *file;
    struct reading *readings; /* oldest first */
    size_t n;
    uint32_t last;
    size_t refused;
};

/* --- readings ------------------------------------------------------------- */

static struct reading *reading_add(struct helper_room *r,
                                   const struct config *cfg, struct config *own)
{
    struct reading *g = mem_alloc(sizeof *g);

    g->number = ++r->last;
    g->cfg = cfg;
    g->own = own;
    g->desks = mem_array(cfg->nproviders + 1, sizeof(struct zonefile_desk *));
    DL_APPEND(r->readings, g);
    r->n++;
    return g;
}

static void reading_free(struct helper_room *r, struct reading *g)
{
    DL_DELETE(r->readings, g);
    r->n--;
    for (size_t i = 0; i < g->cfg->nproviders; i++)
        zonefile_desk_free(g->desks[i]);
    free(g->desks);
    config_free(g->own);
    free(g);
}

struct helper_room *helper_room_new(const struct config *cfg)
{
    struct helper_room *r = mem_alloc(sizeof *r);

    r->file = cfg->file;
    (void)reading_add(r, cfg, NULL);
    return r;
}

void helper_room_free(struct helper_room *r)
{
    while (r->readings != NULL)
        reading_free(r, r->readings);
    free(r);
}

static struct reading *reading_of(struct helper_room *r, uint32_t number,
                                  struct err *e)
{
    struct reading *g;

    DL_FOREACH(r->readings, g)
    {
        if (g->number == number)
            return g;
    }
    (void)err_set(e, ERR_AUTH, "no reading %u of the configuration", number);
    return NULL;
}

static const struct config_provider *provider_of(const struct reading *g,
                                                 const char *name, size_t *at,
                                                 struct err *e)
{
    for (*at = 0; *at < g->cfg->nproviders; ++*at)
        if (strcmp(g->cfg->providers[*at].name, name) == 0)
            return &g->cfg->providers[*at];
    (void)err_set(e, ERR_AUTH, "no provider %.70s", name);
    return NULL;
}

static struct zonefile_desk *desk_of(struct reading *g, const char *name,
                                     struct err *e)
{
    size_t at;
    const struct config_provider *p = provider_of(g, name, &at, e);

    if (p != NULL && g->desks[at] == NULL)
        g->desks[at] = zonefile_desk_new(g->cfg, p, e);
    return p != NULL ? g->desks[at] : NULL;
}

/* --- files ---------------------------------------------------------------- */

/* What the service will find wrong with the file, it says itself: it parses
 * the same one. */
static int read_again(struct helper_room *r, struct helper_answer *a, int *fd,
                      struct err *e)
{
    struct config_schema schemas[PROVIDER_SCHEMAS];
    struct config *cfg;
    struct err own;
    struct reading *second;

    *fd = config_open(r->file, e);
    if (*fd < 0)
        return -1;
    a->nfds = 1;
    provider_schemas(schemas);
    if (config_load_open(r->file, *fd, NULL, schemas, &cfg, &own) == 0) {
        a->generation = reading_add(r, cfg, cfg)->number;
        second = r->readings->next;
        if (r->n > KEEP_READINGS)
            reading_free(r, second);
    }
    if (lseek(*fd, 0, SEEK_SET) == 0)
        return 0;
    return err_set(e, ERR_LOCAL, "%s: %s", r->file, strerror(errno));
}

void helper_room_refused(struct helper_room *r, const char *name,
                         const struct err *e)
{
    if (r->refused++ < REFUSALS_TOLD)
        log_line(LOG_ERROR, "the helper refuses%s%s: %s",
                 name[0] != '\0' ? " what is asked of " : "", name, e->msg);
}

static int refuse(struct helper_room *r, const char *name, const struct err *e)
{
    helper_room_refused(r, name, e);
    return -1;
}

static int open_option(struct helper_room *r, const struct reading *g,
                       const char *provider, const char *option,
                       struct helper_answer *a, int *fd, struct err *e)
{
    static const char tail[] = "-file";
    size_t at, n = strlen(option);
    const struct config_provider *p = provider_of(g, provider, &at, e);
    struct stat st;
    char *path = NULL;

    if (p == NULL)
        return refuse(r, provider, e);
    if (n < sizeof tail || strcmp(option + n - (sizeof tail - 1), tail) != 0) {
        (void)err_set(e, ERR_AUTH, "%.70s is no option with a file", option);
        return refuse(r, provider, e);
    }
    if (config_file_path(p, option, &path, e) != 0)
        return refuse(r, provider, e);
    *fd = doer_open(NULL, provider, option, path, e);
    if (*fd >= 0)
        a->nfds = 1;
    if (*fd >= 0 && (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode)))
        (void)err_set(e, ERR_AUTH, "%s: is not a file", path);
    free(path);
    return e->code == ERR_NONE ? 0 : -1;
}

static int stage(struct zonefile_desk *d, const char *zone, int fd,
                 struct buf *text, struct err *e)
{
    const char *tmp;

    if (fd < 0)
        return err_set(e, ERR_INPUT, "a text to be staged is missing");
    if (zonefile_desk_stage(d, zone, fd, &tmp, e) != 0)
        return -1;
    buf_str(text, tmp);
    return 0;
}

static int on_zone(struct helper_room *r, struct reading *g,
                   const struct helper_request *q, int fd,
                   struct helper_answer *a, struct buf *text, int *fds,
                   struct err *e)
{
    struct zonefile_desk *d = desk_of(g, q->name, e);
    size_t n = 0;
    int rc;

    if (d == NULL)
        return refuse(r, q->name, e);
    if (!zonefile_desk_serves(d, q->what)) {
        (void)err_set(e, ERR_AUTH, "the configuration gives it no zone %.100s",
                      q->what);
        return refuse(r, q->name, e);
    }
    switch (q->op) {
    case HELPER_READ:
        rc = zonefile_desk_read(d, q->what, text, fds, &n, e);
        a->nfds = (uint32_t)n;
        return rc;
    case HELPER_JOURNAL:
        return zonefile_desk_journal(d, q->what, e);
    case HELPER_STAGE:
        return stage(d, q->what, fd, text, e);
    case HELPER_UNSTAGE:
        return zonefile_desk_unstage(d, q->what, e);
    case HELPER_UNCHANGED:
        return zonefile_desk_unchanged(d, q->what, &q->identity, e);
    case HELPER_COMMIT:
        return zonefile_desk_commit(d, q->what, &q->identity, &a->identity, e);
    default:
        return err_set(e, ERR_INPUT, "no such request: %d", (int)q->op);
    }
}

void helper_room_answer(struct helper_room *r, const struct helper_request *q,
                        int fd, struct helper_answer *a, struct buf *text,
                        int fds[HELPER_FILES_MAX])
{
    struct reading *g = NULL;
    struct err *e = &a->err;

    if (q->op == HELPER_CONFIG) {
        (void)read_again(r, a, &fds[0], e);
        return;
    }
    g = reading_of(r, q->generation, e);
    if (g == NULL)
        helper_room_refused(r, "", e);
    else if (q->op == HELPER_OPTION)
        (void)open_option(r, g, q->name, q->what, a, &fds[0], e);
    else
        (void)on_zone(r, g, q, fd, a, text, fds, e);
}

/* --- commands ------------------------------------------------------------- */

static int check_command(const struct reading *g,
                         const struct helper_request *q,
                         struct helper_command *c, struct err *e)
{
    static const char *const keys[] = {"target"};
    const struct probe_limits limits = {g->cfg->allow_targets,
                                        g->cfg->nallow_targets};
    char text[ADDR_TEXT_SIZE];
    const char *values[] = {addr_format(&q->target, text)};

    if (probe_allowed(&limits, &q->target, q->name, e) != 0)
        return -1;
    c->timeout_ms = q->timeout_ms;
    for (size_t i = 0; i < g->cfg->ncommands; i++)
        if (strcmp(g->cfg->commands[i].name, q->name) == 0)
            return proc_split(g->cfg->commands[i].exec, keys, values, 1,
                              &c->argv, e);
    return err_set(e, ERR_AUTH, "no command %.70s", q->name);
}

static int notify_command(const struct reading *g,
                          const struct helper_request *q,
                          struct helper_command *c, struct err *e)
{
    if (g->cfg->notify == NULL)
        return err_set(e, ERR_AUTH, "no notify command");
    c->input = q->input;
    c->input_len = q->input_len;
    c->timeout_ms = DOER_NOTIFY_MS;
    return proc_split(g->cfg->notify, NULL, NULL, 0, &c->argv, e);
}

static int hook(const struct reading *g, const struct helper_request *q,
                struct helper_command *c, struct err *e)
{
    size_t at;
    const struct config_provider *p = provider_of(g, q->name, &at, e);
    struct hook_command h;
    int rc;

    if (p == NULL)
        return -1;
    if (strcmp(p->type, provider_hook.type) != 0)
        return err_set(e, ERR_AUTH, "of type %s, which is no hook", p->type);
    rc = hook_command_read(p, &h, e);
    c->argv = h.argv;
    c->env = h.env;
    c->dir = h.dir;
    c->timeout_ms = h.timeout_ms;
    return rc;
}

int helper_room_command(struct helper_room *r, const struct helper_request *q,
                        struct helper_command *c, struct err *e)
{
    struct reading *g = reading_of(r, q->generation, e);
    struct zonefile_desk *d;

    memset(c, 0, sizeof *c);
    if (g == NULL)
        return -1;
    switch (q->kind) {
    case DOER_CHECK:
    case DOER_RELOAD:
        d = desk_of(g, q->name, e);
        if (d == NULL)
            return -1;
        return zonefile_desk_command(d, q->what, q->kind == DOER_CHECK,
                                     &c->argv, &c->dir, &c->timeout_ms, e);
    case DOER_NOTIFY:
        return notify_command(g, q, c, e);
    case DOER_COMMAND:
        return check_command(g, q, c, e);
    case DOER_HOOK:
        return hook(g, q, c, e);
    }
    return err_set(e, ERR_INPUT, "no such kind of command: %d", (int)q->kind);
}

void helper_command_fini(struct helper_command *c)
{
    proc_argv_free(c->argv);
    proc_argv_free(c->env);
    free(c->dir);
    memset(c, 0, sizeof *c);
}
