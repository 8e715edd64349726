#include "agent/cli/once_records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/mem.h"
#include "providers/provider.h"

#define PART_MAX 100
#define HASH_START 2166136261u

/* --- what was asked for -------------------------------------------------- */

/* Set and not empty; NULL else. */
static const char *env_get(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static const char *or_else(const char *a, const char *b)
{
    return a != NULL ? a : b;
}

static bool has_rows(const struct cli_options *o)
{
    const struct cli_record *r = &o->records[0];

    return o->nrecords > 0 || r->targets != NULL || r->check != NULL ||
           r->backup != NULL || r->all_down != NULL || r->ttl != NULL ||
           r->timeout != NULL;
}

bool once_records_wanted(const struct cli_options *o)
{
    return o->provider != NULL || o->zone != NULL || o->servers != NULL ||
           has_rows(o);
}

/* Record i of the command line, with what stands before the first --record;
 * where there is one at most, the environment names what is not given. */
static struct cli_record row_of(const struct cli_options *o, size_t i)
{
    const struct cli_record *all = &o->records[0], *own = &o->records[i];
    struct cli_record r = {
        .record = own->record,
        .targets = or_else(own->targets, all->targets),
        .check = or_else(or_else(own->check, all->check), "http:80/"),
        .backup = or_else(own->backup, all->backup),
        .all_down = or_else(or_else(own->all_down, all->all_down), "none"),
        .ttl = or_else(or_else(own->ttl, all->ttl), "600"),
        .timeout = or_else(or_else(own->timeout, all->timeout), "10s"),
    };

    if (o->nrecords <= 1) {
        /* Empty is a name, too: the zone's own. */
        r.record = or_else(r.record, getenv("DNS_TARGET_RR"));
        r.backup = or_else(r.backup, env_get("DNS_BACKUP_HOSTS"));
        r.targets = or_else(r.targets, env_get("DNS_TARGET_HOSTS"));
    }
    return r;
}

/* --- one record ---------------------------------------------------------- */

/* "www", "www.example.org", "@" or "" in the zone. */
static int find_owner(const char *text, const char *zone, char out[NAME_SIZE],
                      struct err *e)
{
    if (text[0] == '\0' || strcmp(text, "@") == 0) {
        memcpy(out, zone, strlen(zone) + 1);
        return 0;
    }
    if (name_canon(text, out, e) != 0)
        return err_wrap(e, "--record");
    if (name_within(out, zone))
        return 0;
    if (text[strlen(text) - 1] == '.')
        return err_set(e, ERR_INPUT, "--record %.200s is not in zone %s", text,
                       zone);
    return name_resolve(text, zone, out, e) == 0 ? 0 : err_wrap(e, "--record");
}

static int read_row(const struct cli_options *o, size_t i,
                    struct once_records *out, struct err *e)
{
    struct cli_record r = row_of(o, i);
    struct round_given *g = &out->given[out->ngiven];
    char owner[NAME_SIZE];

    if (r.record == NULL)
        return err_set(e, ERR_INPUT,
                       "which record? --record, or "
                       "DNS_TARGET_RR in the environment");
    if (r.targets == NULL)
        return err_set(e, ERR_INPUT,
                       "--record %.100s has no --targets (DNS_TARGET_HOSTS in "
                       "the environment)",
                       r.record);
    if (find_owner(r.record, out->cfg->zones[0].name, owner, e) != 0)
        return -1;
    for (size_t k = 0; k < out->ngiven; k++)
        if (name_equal(out->given[k].owner, owner))
            return err_set(e, ERR_INPUT, "--record %.100s is given twice",
                           r.record);
    g->text = once_records_spec(&r, owner, out->cfg, e);
    if (g->text == NULL)
        return err_wrap(e, "%s",
                        o->records[i].record != NULL ? "command line"
                                                     : "environment");
    g->owner = arena_strdup(out->cfg->arena, owner);
    out->ngiven++;
    return 0;
}

/* Addresses that the operator names may be probed: the limits are for those
 * that come from DNS. */
static void allow_targets(struct config *cfg, const char *text)
{
    size_t n = cfg->nallow_targets, most = n + strlen(text) / 2 + 1;
    struct cidr *list = arena_array(cfg->arena, most, sizeof *list);
    char *copy = arena_strdup(cfg->arena, text), *save = NULL;

    if (n > 0)
        memcpy(list, cfg->allow_targets, n * sizeof *list);
    for (char *w = strtok_r(copy, ", ", &save); w != NULL;
         w = strtok_r(NULL, ", ", &save)) {
        if (addr_parse(w, &list[n].net) != 0)
            continue;
        list[n].bits = list[n].net.family == 4 ? 32 : 128;
        n++;
    }
    cfg->allow_targets = list;
    cfg->nallow_targets = n;
}

static int read_rows(const struct cli_options *o, struct once_records *out,
                     struct err *e)
{
    size_t from = o->nrecords > 0 ? 1 : 0;
    bool from_env = env_get("DNS_TARGET_HOSTS") != NULL;

    if (!has_rows(o) && !from_env)
        return 0;
    if (strcmp(out->cfg->zones[0].name, "*") == 0)
        return err_set(e, ERR_INPUT, "--zone \"*\" has no records of its own");
    out->given =
        arena_array(out->cfg->arena, o->nrecords + 1, sizeof *out->given);
    for (size_t i = from; i <= o->nrecords; i++) {
        if (read_row(o, i, out, e) != 0)
            return -1;
        allow_targets(out->cfg, row_of(o, i).targets);
        if (row_of(o, i).backup != NULL)
            allow_targets(out->cfg, row_of(o, i).backup);
    }
    return 0;
}

/* --- where its state is kept --------------------------------------------- */

static const char *base_dir(struct arena *a, bool has_file, const char *state,
                            struct err *e)
{
    const char *home = env_get("HOME"), *xdg = env_get("XDG_STATE_HOME"),
               *systemd = env_get("STATE_DIRECTORY");

    if (has_file || (systemd == NULL && geteuid() == 0))
        return arena_strndup(a, state, (size_t)(strrchr(state, '/') - state));
    if (systemd != NULL)
        return arena_strndup(a, systemd, strcspn(systemd, ":"));
    if (xdg != NULL)
        return arena_printf(a, "%s/dnsfailover", xdg);
    if (home != NULL)
        return arena_printf(a, "%s/.local/state/dnsfailover", home);
    (void)err_set(e, ERR_INPUT,
                  "no place for the state: neither HOME nor STATE_DIRECTORY "
                  "is set");
    return NULL;
}

/* What is above the directory that the state makes itself. */
static void make_parents(const char *dir)
{
    char *copy = mem_strdup(dir);

    for (char *p = strchr(copy + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        *p = '\0';
        (void)mkdir(copy, 0700); /* what fails is told when it is opened */
        *p = '/';
    }
    free(copy);
}

/* source: FNV-1a */
static uint32_t hash_add(uint32_t h, const char *text)
{
    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

/* A name as part of a file's: without final dot, and of a length that every
 * file system takes. */
static const char *file_part(struct arena *a, const char *name)
{
    size_t n = strlen(name);
    char *out = arena_strndup(a, name, n > 1 ? n - 1 : n);

    /* Canonical names hold letters, digits, '-', '_' and at most one '*'. */
    if (out[0] == '*')
        out[0] = '_';
    if (strlen(out) <= PART_MAX)
        return out;
    return arena_printf(a, "%.*s-%08x", PART_MAX, out,
                        (unsigned)hash_add(HASH_START, name));
}

/* Of its own: rounds forget what they are not asked for, and several lines of
 * a crontab must not forget each other's records. */
static int set_state(bool has_file, bool writes, struct once_records *r,
                     struct err *e)
{
    struct arena *a = r->cfg->arena;
    const char *dir = base_dir(a, has_file, r->cfg->state, e);
    const char *provider = r->cfg->zones[0].provider->name;
    const char *zone = file_part(a, r->cfg->zones[0].name);
    uint32_t h = HASH_START;

    if (dir == NULL)
        return -1;
    if (writes && !has_file)
        make_parents(dir);
    for (size_t i = 0; i < r->ngiven; i++)
        h = hash_add(h, r->given[i].owner);
    if (r->ngiven == 0)
        r->cfg->state =
            arena_printf(a, "%s/once-%s-%s.db", dir, provider, zone);
    else if (r->ngiven == 1)
        r->cfg->state = arena_printf(a, "%s/once-%s-record-%s.db", dir,
                                     provider, file_part(a, r->given[0].owner));
    else
        r->cfg->state = arena_printf(a, "%s/once-%s-records-%08x-%s.db", dir,
                                     provider, (unsigned)h, zone);
    return 0;
}

/* A provider that cannot list the names with specs: the servers can. */
static void set_discover(struct config *cfg)
{
    const struct config_zone *section = &cfg->zones[0];
    const struct provider_ops *ops = provider_find(section->provider->type);
    struct config_zone *z;

    if (section->line > 0 || ops == NULL || ops->list_specs != NULL)
        return;
    z = arena_alloc(cfg->arena, sizeof *z);
    *z = *section;
    z->discover = DISCOVER_AXFR;
    cfg->zones = z;
}

/* --- the whole ----------------------------------------------------------- */

/* The file that is there, if any: one that only others can read is none. */
static const char *find_file(const struct cli_options *o)
{
    if (o->config_given || access(o->config, R_OK) == 0)
        return o->config;
    return NULL;
}

static int refuse(const struct err *e)
{
    return cli_fail(-1, "%s", e->msg);
}

int once_records_read(const struct cli_options *o, bool writes,
                      struct once_records *out)
{
    struct config_schema schemas[PROVIDER_SCHEMAS];
    struct config_request req = {
        .file = find_file(o), .provider = o->provider, .servers = o->servers};
    struct err e;

    memset(out, 0, sizeof *out);
    req.zone = or_else(o->zone, env_get("DNS_TARGET_DOMAIN"));
    req.records = has_rows(o) || env_get("DNS_TARGET_HOSTS") != NULL;
    if (req.zone == NULL)
        return cli_fail(-1, "which zone? --zone, or DNS_TARGET_DOMAIN in the "
                            "environment");
    if (req.provider == NULL && !has_rows(o))
        return cli_fail(-1, "--zone and --servers go with --provider or "
                            "--record");
    if (req.provider == NULL && req.file == NULL)
        return cli_fail(-1,
                        "--zone %.100s: at which provider? --provider TYPE "
                        "(dnsfailover providers lists them), or a "
                        "configuration",
                        req.zone);
    provider_schemas(schemas);
    if (config_load_for(&req, schemas, &out->cfg, &e) != 0 ||
        read_rows(o, out, &e) != 0 ||
        set_state(req.file != NULL, writes, out, &e) != 0)
        return refuse(&e);
    if (out->ngiven == 0)
        set_discover(out->cfg);
    return 0;
}

void once_records_fini(struct once_records *r)
{
    config_free(r->cfg);
    memset(r, 0, sizeof *r);
}
