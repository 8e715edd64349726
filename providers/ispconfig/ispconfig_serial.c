#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "providers/ispconfig/ispconfig.h"
#include "providers/shared/serial.h"

/* ---- permissions -----------------------------------------------------------
 */

/* An update of record 0 with nothing to change (the key id is ignored; PHP
 * reads an empty map as null), by each function that the change will need. The
 * server checks the permission first. After it, this call cannot change
 * anything, on any version: ids start at 1, so there is no row to change;
 * servers refuse the id (invalid_id, or the page "Primary ID fehlt!"), older
 * ones the empty record (data_processing_error), and an UPDATE … WHERE id = 0
 * behind all that would match nothing. It does not ask for a new serial. */

static const enum rr_type tried[] = {RR_A, RR_AAAA, RR_CNAME, RR_TXT};
#define N_TRIED (sizeof tried / sizeof tried[0])

struct trial {
    struct ispconfig *p;
    struct arena *a;
    bool zone, record[N_TRIED]; /* still to be tried */
    bool *granted;              /* by the call under way */
    isp_done_cb *cb;
    void *arg;
};

static void try_next(void *arg);

static void trial_end(struct trial *t, const struct err *e)
{
    isp_done_cb *cb = t->cb;
    void *arg = t->arg;
    struct err copy = *e;

    arena_free(t->a);
    free(t);
    cb(arg, &copy);
}

static void on_trial(void *arg, const struct isp_reply *r)
{
    struct trial *t = arg;
    bool refused_id = strcmp(r->fault, "invalid_id") == 0 ||
                      strcmp(r->fault, ISPCONFIG_NO_ID) == 0 ||
                      strcmp(r->fault, "data_processing_error") == 0 ||
                      strcmp(r->fault, "database_error") == 0;
    struct err e = r->err;

    if (e.code != ERR_NONE && !refused_id) {
        if (e.code == ERR_UNKNOWN) /* it could not change anything */
            e.code = ERR_RETRY;
        trial_end(t, &e);
        return;
    }
    *t->granted = true;
    try_next(t);
}

static void try_update(struct trial *t, const char *method, bool *granted)
{
    struct soap_args args;

    t->granted = granted;
    soap_args_init(&args);
    soap_put_string(&args, "0");
    soap_put_string(&args, "0");
    soap_open_map(&args);
    soap_put_member(&args, "id", "0");
    soap_close_map(&args);
    isp_call(t->p, method, &args, true, on_trial, t);
}

static void try_next(void *arg)
{
    struct trial *t = arg;
    struct err none = {0};

    if (t->zone) {
        t->zone = false;
        try_update(t, "dns_zone_update", &t->p->may_change_zone);
        return;
    }
    for (size_t i = 0; i < N_TRIED; i++) {
        if (!t->record[i])
            continue;
        t->record[i] = false;
        try_update(t, isp_method(t->a, tried[i], "update"),
                   &t->p->may_change[i]);
        return;
    }
    trial_end(t, &none);
}

void isp_permissions(struct ispconfig *p, const enum rr_type *types,
                     isp_done_cb *cb, void *arg)
{
    struct trial *t = mem_alloc(sizeof *t);

    t->p = p;
    t->a = arena_new();
    t->cb = cb;
    t->arg = arg;
    t->zone = !p->may_change_zone;
    for (; *types != 0; types++)
        for (size_t i = 0; i < N_TRIED; i++)
            if (tried[i] == *types)
                t->record[i] = !p->may_change[i];
    /* With nothing to try, the answer still comes later. */
    (void)loop_timer_start(p->loop, 0, try_next, t);
}

/* ---- the serial -------------------------------------------------------------
 */

struct settle {
    struct ispconfig *p;
    const struct isp_zone *z;
    bool raised; /* by us */
    struct err why;
    isp_serial_cb *cb;
    void *arg;
};

static void settle_read(struct settle *s);

static void settle_end(struct settle *s, const struct isp_serial *out)
{
    isp_serial_cb *cb = s->cb;
    void *arg = s->arg;

    free(s);
    cb(arg, out);
}

static void on_raised(void *arg, const struct isp_reply *r)
{
    struct settle *s = arg;

    s->raised = true;
    s->why = r->err;
    settle_read(s); /* whatever was said: what is there counts */
}

static void settle_raise(struct settle *s)
{
    struct soap_args args;
    char text[16];

    (void)snprintf(text, sizeof text, "%lu",
                   (unsigned long)serial_next(s->z->serial, clock_wall_ms()));
    soap_args_init(&args);
    soap_put_string(&args, "0");
    soap_put_string(&args, s->z->id);
    soap_open_map(&args);
    soap_put_member(&args, "serial", text);
    soap_close_map(&args);
    isp_call(s->p, "dns_zone_update", &args, true, on_raised, s);
}

static bool serial_of(const struct isp_reply *r, uint32_t *serial)
{
    const struct soap_value *items;
    const char *text;
    char *end;
    size_t n;

    if (r->err.code != ERR_NONE || !isp_records_of(r->value, &items, &n) ||
        n != 1)
        return false;
    text = soap_get_text(items, "serial");
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    *serial = (uint32_t)strtoul(text, &end, 10);
    return *end == '\0';
}

static void on_serial(void *arg, const struct isp_reply *r)
{
    struct settle *s = arg;
    struct isp_serial out = {.known = serial_of(r, &out.serial)};

    if (!out.known) {
        (void)err_set(&out.err, ERR_RETRY,
                      "zone %s was changed, but its serial cannot be read, so "
                      "it may not have risen: %.300s",
                      s->z->name,
                      r->err.code != ERR_NONE ? r->err.msg : "no such zone");
        settle_end(s, &out);
    } else if (out.serial != s->z->serial) {
        settle_end(s, &out);
    } else if (!s->raised) {
        settle_raise(s);
    } else {
        (void)err_set(&out.err, ERR_RETRY,
                      "zone %s was changed, but its serial stays %lu: "
                      "secondaries will not fetch the change%s%.300s",
                      s->z->name, (unsigned long)out.serial,
                      s->why.code != ERR_NONE ? ": " : "", s->why.msg);
        settle_end(s, &out);
    }
}

static void settle_read(struct settle *s)
{
    struct soap_args args;

    soap_args_init(&args);
    soap_put_string(&args, s->z->id);
    isp_call(s->p, "dns_zone_get", &args, false, on_serial, s);
}

void isp_serial_settle(struct ispconfig *p, const struct isp_zone *z,
                       isp_serial_cb *cb, void *arg)
{
    struct settle *s = mem_alloc(sizeof *s);

    s->p = p;
    s->z = z;
    s->cb = cb;
    s->arg = arg;
    settle_read(s);
}
