#include "providers/zonefile/zonefile_impl.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/base/proc.h"

/* Master files that a name server reads: edited in place, checked, reloaded.
 * source: providers' contract in provider.h */

#define WAIT_MAX_MS 3600000

static const struct config_field fields[] = {
    {"file", CONFIG_STR, true, false, NULL,
     "The zone's master file, an absolute path as /etc/bind/db.{zone}; {zone} "
     "is the zone's name without final dot. It must be a zone without dynamic "
     "updates.",
     "ZONEFILE_FILE"},
    {"check", CONFIG_STR, false, true, NULL,
     "Command that checks an edited file before it takes the old one's place, "
     "with {zone} and {file} (the edited file), run in the zone file's "
     "directory: \"named-checkzone -q {zone} {file}\", \"nsd-checkzone {zone} "
     "{file}\", \"kzonecheck -o {zone} {file}\". When it fails nothing is "
     "changed. Recommended.",
     "ZONEFILE_CHECK"},
    {"reload", CONFIG_STR, false, true, NULL,
     "Command that makes the server read the file, with {zone} and {file}: "
     "\"rndc reload {zone}\", \"nsd-control reload {zone}\", \"knotc "
     "zone-reload {zone}\". If it fails, or the server does not serve the new "
     "serial in time, the old file is put back and reload run again. Without "
     "it the server must watch the file itself: the serial is awaited all the "
     "same, but the new file stays.",
     "ZONEFILE_RELOAD"},
    {"include-dir", CONFIG_STR, false, false, NULL,
     "Where relative $INCLUDE names start and commands run: the server's "
     "working directory. Left out: the zone file's directory.",
     "ZONEFILE_INCLUDE_DIR"},
    {"timeout", CONFIG_STR, false, false, "30s",
     "Time limit for each command, from 100ms to 1h.", "ZONEFILE_TIMEOUT"},
    {"serial-timeout", CONFIG_STR, false, false, "10s",
     "How long to wait until the server serves the new serial, up to 1h; 0: "
     "not at all.",
     "ZONEFILE_SERIAL_TIMEOUT"},
    {"key-file", CONFIG_STR, false, false, NULL,
     "File with a TSIG key in BIND's syntax, not readable by others. For the "
     "zone file of a view that the server chooses by the key: under it the "
     "server is asked for the serial and for what it shows, and for a zone "
     "transfer.",
     "ZONEFILE_KEY_FILE"},
    {NULL, CONFIG_STR, false, false, NULL, NULL, NULL},
};

/* ---- options ------------------------------------------------------------ */

static char *expand_file(const char *file, const char *plain_zone)
{
    static const char key[] = "{zone}";
    struct buf b;

    buf_init(&b, 65536);
    for (const char *p = file; *p != '\0';) {
        if (strncmp(p, key, sizeof key - 1) == 0) {
            buf_str(&b, plain_zone);
            p += sizeof key - 1;
        } else {
            buf_char(&b, *p++);
        }
    }
    return buf_take(&b);
}

static int take_path(const struct config_provider *cfg, const char *name,
                     bool is_template, char **out, struct err *e)
{
    const char *v = config_option_get(cfg, fields, name);
    char *plain;
    int r = 0;

    if (v == NULL && is_template)
        return err_set(e, ERR_INPUT, "%s is missing", name);
    if (v == NULL)
        return 0;
    plain = is_template ? expand_file(v, "") : mem_strdup(v);
    if (v[0] != '/' || strpbrk(plain, "{}") != NULL) {
        (void)err_set(e, ERR_INPUT, "\"%.200s\"; accepted: an absolute path%s",
                      v, is_template ? " with {zone} for the zone's name" : "");
        r = err_wrap(e, "%s", name);
    } else {
        *out = mem_strdup(v);
    }
    free(plain);
    return r;
}

/* A template is tried once here, so that its faults are found at start. */
static int take_command(const struct config_provider *cfg, const char *name,
                        char **out, struct err *e)
{
    static const char *const keys[] = {"zone", "file"}, *const values[] = {
                                                            "example", "/file"};
    const char *v = config_option_get(cfg, fields, name);
    char **argv;

    if (v == NULL || v[0] == '\0')
        return 0;
    if (proc_split(v, keys, values, 2, &argv, e) != 0)
        return err_wrap(e, "%s", name);
    proc_argv_free(argv);
    *out = mem_strdup(v);
    return 0;
}

static int take_wait(const struct config_provider *cfg, const char *name,
                     int64_t min_ms, int64_t *out_ms, struct err *e)
{
    const char *v = config_option_get(cfg, fields, name);

    if (duration_parse(v, out_ms, e) != 0)
        return err_wrap(e, "%s", name);
    if (*out_ms < min_ms || *out_ms > WAIT_MAX_MS) {
        (void)err_set(e, ERR_INPUT, "\"%.40s\"; accepted: %s to 1h", v,
                      min_ms > 0 ? "100ms" : "0");
        return err_wrap(e, "%s", name);
    }
    return 0;
}

static int take_key(struct zonefile *z, const struct config_provider *cfg,
                    struct err *e)
{
    const char *file = config_option_get(cfg, fields, "key-file");
    char *text;
    int r;

    if (file == NULL)
        return 0;
    if (config_secret_file_get(cfg, "key-file", &text, e) != 0)
        return -1;
    r = tsig_key_parse(text, strlen(text), file, NULL, &z->key, e);
    config_secret_free(text);
    return r == 0 ? 0 : err_wrap(e, "key-file");
}

void zonefile_free(struct zonefile *z)
{
    tsig_key_free(z->key);
    free(z->name);
    free(z->file);
    free(z->check);
    free(z->reload);
    free(z->include_dir);
    free(z);
}

static int zonefile_open(const struct provider_ops *ops,
                         const struct provider_env *env,
                         const struct config_provider *cfg,
                         struct provider **out, struct err *e)
{
    struct zonefile *z = mem_alloc(sizeof *z);

    z->base.ops = ops;
    z->env = *env;
    z->name = mem_strdup(cfg->name);
    z->doer = cfg->doer;
    z->store = cfg->doer != NULL && cfg->doer->helper != NULL
                   ? &zonefile_store_helper
                   : &zonefile_store_disk;
    *out = NULL;
    if (take_path(cfg, "file", true, &z->file, e) != 0 ||
        take_path(cfg, "include-dir", false, &z->include_dir, e) != 0 ||
        take_command(cfg, "check", &z->check, e) != 0 ||
        take_command(cfg, "reload", &z->reload, e) != 0 ||
        take_wait(cfg, "timeout", 100, &z->timeout_ms, e) != 0 ||
        take_wait(cfg, "serial-timeout", 0, &z->serial_timeout_ms, e) != 0 ||
        take_key(z, cfg, e) != 0) {
        zonefile_free(z);
        return -1;
    }
    *out = &z->base;
    return 0;
}

/* ---- an instance's life ------------------------------------------------- */

void zonefile_enter(struct zonefile *z)
{
    z->running++;
}

static void close_now(void *arg)
{
    struct zonefile *z = arg;
    provider_close_cb *cb = z->close_cb;
    void *cb_arg = z->close_arg;

    zonefile_free(z);
    cb(cb_arg);
}

void zonefile_leave(struct zonefile *z)
{
    z->running--;
    if (z->running == 0 && z->close_cb != NULL)
        (void)loop_timer_start(z->env.loop, 0, close_now, z);
}

static void zonefile_close(struct provider *p, provider_close_cb *cb, void *arg)
{
    struct zonefile *z = (struct zonefile *)p;

    /* A call that is under way ends first: a half-way edit must not stay. */
    zonefile_enter(z);
    z->close_cb = cb;
    z->close_arg = arg;
    zonefile_leave(z);
}

static const struct tsig_key *zonefile_transfer_key(const struct provider *base)
{
    return ((const struct zonefile *)base)->key;
}

/* ---- reading ------------------------------------------------------------ */

char *zonefile_plain_zone(const char *zone)
{
    size_t n = strlen(zone);

    return mem_strndup(zone, n > 1 && zone[n - 1] == '.' ? n - 1 : n);
}

char *zonefile_path(const struct zonefile *z, const char *zone)
{
    char *plain = zonefile_plain_zone(zone);
    char *path = expand_file(z->file, plain);

    free(plain);
    return path;
}

int zonefile_argv(const char *command, const char *zone, const char *file,
                  char ***argv, struct err *e)
{
    static const char *const keys[] = {"zone", "file"};
    char *plain = zonefile_plain_zone(zone);
    const char *values[] = {plain, file};
    int r = proc_split(command, keys, values, 2, argv, e);

    free(plain);
    return r;
}

const char *zonefile_work_dir(const struct zonefile *z,
                              const struct zonefile_copy *c)
{
    if (z->include_dir != NULL)
        return z->include_dir;
    return c->dir[0] != '\0' ? c->dir : "/";
}

struct including {
    const struct zonefile *z;
    const struct zonefile_includes *files;
    const char *dir;
};

static int read_include(void *arg, const char *path, char **data, size_t *len,
                        struct err *e)
{
    const struct including *in = arg;
    struct zonefile_copy c;
    char *full =
        path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", in->dir, path);
    int r = in->z->store->include(in->files, full, &c, e);

    if (r == 0) {
        *data = c.text;
        *len = c.len;
        c.text = NULL;
    } else if (e->code == ERR_NOTFOUND && path[0] != '/') {
        (void)err_wrap(e, ZONEFILE_RELATIVE, in->dir);
    }
    zonefile_copy_fini(&c);
    free(full);
    return r;
}

int zonefile_zone_load(const struct zonefile *z, const char *zone,
                       struct zonefile_zone *out, struct err *e)
{
    struct including in = {.z = z, .files = &out->includes};
    struct masterfile_source src = {read_include, &in};

    memset(out, 0, sizeof *out);
    out->path = zonefile_path(z, zone);
    if (z->store->read(z, zone, &out->copy, &out->includes, e) != 0)
        return -1;
    in.dir = zonefile_work_dir(z, &out->copy);
    return masterfile_parse(zone, out->path, out->copy.text, out->copy.len,
                            &src, &out->m, e);
}

void zonefile_zone_fini(struct zonefile_zone *f)
{
    masterfile_free(f->m);
    zonefile_includes_fini(&f->includes);
    zonefile_copy_fini(&f->copy);
    free(f->path);
    memset(f, 0, sizeof *f);
}

/* A question, answered from a timer. */
struct call {
    struct zonefile *z;
    char *zone;
    struct arena *arena;
    const char **names;
    size_t n;
    provider_records_cb *records_cb;
    provider_specs_cb *specs_cb;
    void *arg;
};

static struct call *call_new(struct provider *p, const char *zone, void *arg)
{
    struct call *c = mem_alloc(sizeof *c);

    c->z = (struct zonefile *)p;
    c->zone = mem_strdup(zone);
    c->arena = arena_new();
    c->arg = arg;
    zonefile_enter(c->z);
    return c;
}

static void call_free(struct call *c)
{
    struct zonefile *z = c->z;

    arena_free(c->arena);
    free(c->zone);
    free(c);
    zonefile_leave(z);
}

static void answer_records(void *arg)
{
    struct call *c = arg;
    struct provider_records r = {.sets = NULL};
    struct zonefile_zone f;
    struct rrset_list sets;

    rrset_list_init(&sets);
    r.sets = &sets;
    if (zonefile_zone_load(c->z, c->zone, &f, &r.err) == 0) {
        r.has_serial = true;
        r.serial = masterfile_serial(f.m);
    }
    if (f.m == NULL || masterfile_list(f.m, c->names, c->n, &sets, &r.err) != 0)
        (void)err_wrap(&r.err, "zone %s", c->zone);
    c->records_cb(c->arg, &r);
    rrset_list_fini(&sets);
    zonefile_zone_fini(&f);
    call_free(c);
}

static void zonefile_list_records(struct provider *p, const char *zone,
                                  const char *const *names, size_t n,
                                  provider_records_cb *cb, void *arg)
{
    struct call *c = call_new(p, zone, arg);

    c->names = arena_array(c->arena, n, sizeof *c->names);
    for (size_t i = 0; i < n; i++)
        c->names[i] = arena_strdup(c->arena, names[i]);
    c->n = n;
    c->records_cb = cb;
    (void)loop_timer_start(c->z->env.loop, 0, answer_records, c);
}

static void answer_specs(void *arg)
{
    struct call *c = arg;
    struct provider_specs r = {.specs = NULL};
    struct provider_spec *specs = NULL;
    struct zonefile_zone f;
    const char **owners;

    if (zonefile_zone_load(c->z, c->zone, &f, &r.err) == 0) {
        masterfile_specs(f.m, c->arena, &owners, &r.n);
        specs = arena_array(c->arena, r.n, sizeof *specs);
        for (size_t i = 0; i < r.n; i++)
            specs[i].owner = owners[i]; /* the text comes from DNS */
    } else {
        (void)err_wrap(&r.err, "zone %s", c->zone);
    }
    r.specs = specs;
    c->specs_cb(c->arg, &r);
    zonefile_zone_fini(&f);
    call_free(c);
}

static void zonefile_list_specs(struct provider *p, const char *zone,
                                provider_specs_cb *cb, void *arg)
{
    struct call *c = call_new(p, zone, arg);

    c->specs_cb = cb;
    (void)loop_timer_start(c->z->env.loop, 0, answer_specs, c);
}

const struct provider_ops provider_zonefile = {
    .type = "zonefile",
    .fields = fields,
    .caps = {.in_place_disable = true,
             .atomic = true,
             .conditional = true, /* the file is locked */
             .local = true,
             .needs_reload = true,
             .lists_specs = true,
             .creates_missing = true},
    .open = zonefile_open,
    .close = zonefile_close,
    .list_specs = zonefile_list_specs,
    .list_records = zonefile_list_records,
    .apply = zonefile_apply,
    .write_spec = zonefile_write_spec,
    .transfer_key = zonefile_transfer_key,
    .check = zonefile_look,
};
