#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "providers/ispconfig/ispconfig.h"

/* The three lists. Each lives in one struct reading, from the start of the
 * operation to the caller's callback. */

struct reading {
    struct ispconfig *p;
    struct arena *a;
    const char **names; /* list_records: what is asked for */
    size_t n_names;
    const struct isp_zone *z;
    struct provider_spec *specs; /* heap while it grows */
    size_t n_specs, cap;
    union {
        provider_names_cb *zones;
        provider_specs_cb *specs;
        provider_records_cb *records;
    } cb;
    void *arg;
};

static struct reading *reading_new(struct provider *p, void *arg)
{
    struct reading *r = mem_alloc(sizeof *r);

    r->p = (struct ispconfig *)p;
    r->a = arena_new();
    r->arg = arg;
    isp_begin(r->p);
    return r;
}

static void reading_free(struct reading *r)
{
    struct ispconfig *p = r->p;

    arena_free(r->a);
    free(r->specs);
    free(r);
    isp_end(p);
}

/* A read whose answer was lost leaves nothing in doubt. */
static struct err as_read(const struct err *e)
{
    struct err out = *e;

    if (out.code == ERR_UNKNOWN)
        out.code = ERR_RETRY;
    return out;
}

/* ---- zones -----------------------------------------------------------------
 */

/* Takes the canonical origins of the switched-on zones, each once. */
static size_t take_origins(struct reading *r, const struct soap_value *items,
                           size_t n)
{
    size_t found = 0;

    r->names = arena_array(r->a, n + 1, sizeof *r->names);
    for (size_t i = 0; i < n; i++) {
        const char *origin = soap_get_text(&items[i], "origin");
        const char *active = soap_get_text(&items[i], "active");
        char name[NAME_SIZE];
        bool again = false;

        if (origin == NULL || name_canon(origin, name, NULL) != 0 ||
            (active != NULL && strcasecmp(active, "Y") != 0))
            continue;
        for (size_t k = 0; k < found && !again; k++)
            again = name_equal(r->names[k], name);
        if (!again)
            r->names[found++] = arena_strdup(r->a, name);
    }
    return found;
}

static void on_zones(void *arg, const struct isp_reply *reply)
{
    struct reading *r = arg;
    struct provider_names out = {.err = as_read(&reply->err)};
    const struct soap_value *items;
    size_t n;

    if (out.err.code == ERR_LIMIT)
        (void)err_wrap(&out.err, "the list of all zones: name the zones in the "
                                 "configuration instead of zone \"*\"");
    else if (out.err.code == ERR_NONE &&
             !isp_records_of(reply->value, &items, &n))
        (void)err_set(&out.err, ERR_RETRY,
                      "the answer to dns_zone_get is no list");
    else if (out.err.code == ERR_NONE &&
             (out.n = take_origins(r, items, n)) == 0)
        (void)err_set(&out.err, ERR_RETRY, "the list of zones came back empty");
    out.names = r->names;
    r->cb.zones(r->arg, &out);
    reading_free(r);
}

void isp_list_zones(struct provider *p, provider_names_cb *cb, void *arg)
{
    struct reading *r = reading_new(p, arg);
    struct soap_args args;

    r->cb.zones = cb;
    soap_args_init(&args);
    soap_open_map(&args);
    soap_put_member(&args, "active", "Y");
    soap_close_map(&args);
    isp_call(r->p, "dns_zone_get", &args, false, on_zones, r);
}

/* ---- specs ------------------------------------------------------------------
 */

#define SPEC_LABEL "_failover"

/* The owner of a spec stored under that name; false: another name. The label
 * goes first, so that "_failover.*" leaves a wildcard that is a name. */
static bool spec_owner(const char *stored, const struct isp_zone *z,
                       char out[NAME_SIZE])
{
    size_t n = sizeof SPEC_LABEL - 1;

    if (strncasecmp(stored, SPEC_LABEL, n) != 0)
        return false;
    stored += n;
    if (*stored == '.' && stored[1] != '\0')
        stored++;
    else if (*stored != '\0')
        return false;
    /* Behind another label, "@" is just a letter. */
    return strcmp(stored, "@") != 0 && isp_name_of(stored, z, out) == 0 &&
           name_within(out, z->name);
}

/* The server's search is loose ("_" and "%", letter case, the type of the
 * function): all of it is checked again. */
static void take_spec(struct reading *r, const struct soap_value *v)
{
    const char *zone = soap_get_text(v, "zone");
    const char *type = soap_get_text(v, "type");
    const char *name = soap_get_text(v, "name");
    const char *data = soap_get_text(v, "data");
    const char *active = soap_get_text(v, "active");
    struct provider_spec *s;
    char owner[NAME_SIZE];

    if (zone == NULL || type == NULL || name == NULL || data == NULL ||
        active == NULL || strcmp(zone, r->z->id) != 0 ||
        strcasecmp(type, "TXT") != 0 || strcasecmp(active, "Y") != 0 ||
        !spec_owner(name, r->z, owner))
        return;
    r->specs = mem_grow(r->specs, &r->cap, r->n_specs, sizeof *r->specs);
    s = &r->specs[r->n_specs++];
    s->owner = arena_strdup(r->a, owner);
    s->text = arena_strdup(r->a, data);
    s->len = strlen(data);
}

static void specs_end(struct reading *r, const struct err *e)
{
    struct provider_specs out = {
        .err = as_read(e), .specs = r->specs, .n = r->n_specs};

    if (out.err.code != ERR_NONE)
        out.n = 0;
    r->cb.specs(r->arg, &out);
    reading_free(r);
}

static int take_specs(struct reading *r, const struct isp_reply *reply,
                      size_t *rows, struct err *e)
{
    const struct soap_value *items;

    if (reply->err.code != ERR_NONE) {
        *e = reply->err;
        return -1;
    }
    if (!isp_records_of(reply->value, &items, rows))
        return err_set(e, ERR_RETRY, "zone %s: the answer is no list",
                       r->z->name);
    for (size_t i = 0; i < *rows; i++)
        take_spec(r, &items[i]);
    return 0;
}

static void on_whole_zone(void *arg, const struct isp_reply *reply)
{
    struct reading *r = arg;
    struct err e = {0};
    size_t rows = 0;

    /* Too large to be read, so it is not empty: the search stands. */
    if (reply->err.code != ERR_LIMIT && take_specs(r, reply, &rows, &e) == 0 &&
        rows == 0)
        (void)err_set(&e, ERR_RETRY,
                      "zone %s: the list of its records came back empty; that "
                      "is not taken for \"no records\"",
                      r->z->name);
    specs_end(r, &e);
}

static void on_specs(void *arg, const struct isp_reply *reply)
{
    struct reading *r = arg;
    struct soap_args args;
    struct err e = {0};
    size_t rows;

    if (take_specs(r, reply, &rows, &e) != 0 || r->n_specs > 0) {
        specs_end(r, &e);
        return;
    }
    /* An empty list is no proof: a column that an old server does not know
     * looks the same. */
    soap_args_init(&args);
    soap_put_string(&args, r->z->id);
    isp_call(r->p, "dns_rr_get_all_by_zone", &args, false, on_whole_zone, r);
}

static void on_specs_zone(void *arg, const struct isp_zone *z,
                          const struct err *e)
{
    struct reading *r = arg;
    struct soap_args args;

    if (z == NULL) {
        specs_end(r, e);
        return;
    }
    r->z = z;
    soap_args_init(&args);
    soap_open_map(&args);
    soap_put_member(&args, "zone", z->id);
    /* LIKE: the backslash keeps "_" from standing for any character. */
    soap_put_member(&args, "name", "\\" SPEC_LABEL "%");
    soap_put_member(&args, "type", "TXT");
    soap_put_member(&args, "active", "Y");
    soap_close_map(&args);
    isp_call(r->p, "dns_txt_get", &args, false, on_specs, r);
}

void isp_list_specs(struct provider *p, const char *zone, provider_specs_cb *cb,
                    void *arg)
{
    struct reading *r = reading_new(p, arg);

    r->cb.specs = cb;
    isp_zone_find(r->p, r->a, zone, on_specs_zone, r);
}

/* ---- records ----------------------------------------------------------------
 */

static void records_end(struct reading *r, const struct err *e,
                        const struct rrset_list *sets)
{
    struct provider_records out = {.err = as_read(e), .sets = sets};

    if (r->z != NULL && e->code == ERR_NONE) {
        out.has_serial = true;
        out.serial = r->z->serial;
    }
    r->cb.records(r->arg, &out);
    reading_free(r);
}

static void on_rows(void *arg, const struct isp_rows *rows)
{
    struct reading *r = arg;
    struct rrset_list sets;

    rrset_list_init(&sets);
    if (rows->err.code == ERR_NONE)
        for (size_t i = 0; i < rows->n; i++)
            rrset_list_add(&sets, rows->v[i].name, rows->v[i].type,
                           rows->v[i].data, rows->v[i].ttl_s,
                           rows->v[i].active);
    records_end(r, &rows->err, &sets);
    rrset_list_fini(&sets);
}

static void on_records_zone(void *arg, const struct isp_zone *z,
                            const struct err *e)
{
    struct reading *r = arg;
    struct rrset_list none;

    if (z == NULL) {
        rrset_list_init(&none);
        records_end(r, e, &none);
        return;
    }
    r->z = z;
    isp_rows_list(r->p, r->a, z, r->names, r->n_names, on_rows, r);
}

void isp_list_records(struct provider *p, const char *zone,
                      const char *const *names, size_t n,
                      provider_records_cb *cb, void *arg)
{
    struct reading *r = reading_new(p, arg);

    r->cb.records = cb;
    r->names = arena_array(r->a, n + 1, sizeof *r->names);
    for (size_t i = 0; i < n; i++)
        r->names[i] = arena_strdup(r->a, names[i]);
    r->n_names = n;
    isp_zone_find(r->p, r->a, zone, on_records_zone, r);
}
