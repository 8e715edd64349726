#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "providers/ispconfig/ispconfig.h"

/* One write: read the record, send it back whole with the change, and where
 * the answer leaves a doubt (an error, a 0, nothing) read it once more and
 * say what is there. Reading first keeps what others changed since the list
 * was made, and shows a record that is gone. */

#define AGAIN_MS 5000 /* a slow failure is not tried again */

struct writing {
    struct ispconfig *p;
    struct arena *a;
    struct isp_write w;
    const struct change *change; /* of an added record */
    bool again;                  /* the second try to read back */
    int64_t sent_ms;             /* the write, clock_mono_ms */
    struct err why;              /* what the write's answer said */
    isp_write_cb *cb;
    void *arg;
};

static struct writing *writing_new(struct ispconfig *p, isp_write_cb *cb,
                                   void *arg)
{
    struct writing *w = mem_alloc(sizeof *w);

    w->p = p;
    w->a = arena_new();
    w->cb = cb;
    w->arg = arg;
    return w;
}

static void finish(struct writing *w, enum isp_outcome outcome,
                   const struct err *err)
{
    isp_write_cb *cb = w->cb;
    void *arg = w->arg;
    struct err e = *err;

    if (outcome == ISP_WRITTEN || outcome == ISP_IS_SO)
        e.code = ERR_NONE;
    else if (outcome == ISP_UNKNOWN)
        e.code = ERR_UNKNOWN;
    else if (e.code == ERR_UNKNOWN)
        e.code = ERR_RETRY;
    arena_free(w->a);
    free(w);
    cb(arg, outcome, &e);
}

static void finish_unknown(struct writing *w, const char *doing,
                           const struct err *then)
{
    struct err e;

    (void)err_set(&e, ERR_UNKNOWN, "%.400s; %s: %.400s", w->why.msg, doing,
                  then->msg);
    finish(w, ISP_UNKNOWN, &e);
}

/* ---- what an error of a write means ----------------------------------------
 */

enum doubt { SURELY_NOT, STOP_ALL, LOOK };

/* Some errors are certain to come before the change; with a new serial the
 * rest may come after it: the row is written first. */
static enum doubt doubt_of(const struct isp_reply *r, bool new_serial)
{
    if (!r->was_sent)
        return STOP_ALL;
    if (isp_fault_stops(r->fault) ||
        strcmp(r->fault, "session_does_not_exist") == 0)
        return STOP_ALL;
    if (isp_fault_is_early(r->fault))
        return SURELY_NOT;
    if (!new_serial && (strcmp(r->fault, "permission_denied") == 0 ||
                        strcmp(r->fault, "data_processing_error") == 0))
        return SURELY_NOT;
    return LOOK;
}

/* The answer is a count above zero or an id. */
static bool is_success(const struct isp_reply *r)
{
    const char *s;

    if (r->err.code != ERR_NONE)
        return false;
    if (r->value->kind == SOAP_INT)
        return r->value->number > 0;
    s = r->value->text;
    return r->value->kind == SOAP_STRING && s[0] >= '1' && s[0] <= '9' &&
           strspn(s, "0123456789") == strlen(s);
}

static bool is_as_wanted(const struct writing *w, const struct isp_row *row)
{
    return row->active == w->w.active &&
           (w->w.ttl_s < 0 || (int64_t)row->ttl_s == w->w.ttl_s);
}

/* ---- reading one record -----------------------------------------------------
 */

enum found { FOUND, FOUND_NOT, FOUND_ERROR };

/* The record in r, when it is still the one that was listed. */
static enum found find_row(const struct writing *w, const struct isp_reply *r,
                           struct isp_row *row, struct err *e)
{
    const struct isp_row *listed = w->w.row;
    const struct soap_value *items;
    size_t n;
    int rc;

    *e = r->err;
    if (e->code != ERR_NONE)
        return FOUND_ERROR;
    if (!isp_records_of(r->value, &items, &n) || n != 1)
        return FOUND_NOT;
    rc = isp_row_read(items, w->w.zone, w->a, row, e);
    if (rc < 0)
        return FOUND_ERROR;
    if (rc == 0 || strcmp(row->id, listed->id) != 0 ||
        row->type != listed->type || !name_equal(row->name, listed->name) ||
        strcmp(row->data, listed->data) != 0)
        return FOUND_NOT;
    return FOUND;
}

static void read_row(struct writing *w, isp_reply_cb *cb)
{
    struct soap_args args;

    soap_args_init(&args);
    soap_put_string(&args, w->w.row->id);
    isp_call(w->p, isp_method(w->a, w->w.row->type, "get"), &args, false, cb,
             w);
}

/* ---- after the write
 * --------------------------------------------------------- */

static void on_after(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;
    struct isp_row row;
    struct err e;

    switch (find_row(w, r, &row, &e)) {
    case FOUND_ERROR:
        if (!w->again && clock_mono_ms() - w->sent_ms < AGAIN_MS) {
            w->again = true;
            read_row(w, on_after);
            return;
        }
        finish_unknown(w, "reading it back", &e);
        return;
    case FOUND_NOT:
        (void)err_wrap(&w->why, "the record is gone");
        finish(w, ISP_REFUSED, &w->why);
        return;
    case FOUND:
        break;
    }
    finish(w, is_as_wanted(w, &row) ? ISP_WRITTEN : ISP_REFUSED, &w->why);
}

/* What the answer to a write settles; true: it settles nothing, look. silent
 * and text stand for an answer that is neither success nor fault. */
static bool must_look(struct writing *w, const struct isp_reply *r,
                      enum err_code silent, const char *text)
{
    w->why = r->err;
    if (is_success(r)) {
        finish(w, ISP_WRITTEN, &w->why);
        return false;
    }
    if (w->why.code == ERR_NONE)
        (void)err_set(&w->why, silent, "%s", text);
    switch (r->err.code == ERR_NONE ? LOOK : doubt_of(r, w->w.new_serial)) {
    case SURELY_NOT:
        finish(w, ISP_REFUSED, &w->why);
        return false;
    case STOP_ALL:
        finish(w, ISP_UNREACHED, &w->why);
        return false;
    case LOOK:
        break;
    }
    return true;
}

static void on_update(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;

    if (must_look(w, r, ERR_CONFLICT, "the panel says that it changed nothing"))
        read_row(w, on_after);
}

/* ---- the write
 * ---------------------------------------------------------------- */

static void put_row(struct soap_args *args, const struct writing *w,
                    const struct isp_row *row)
{
    char ttl[24];

    (void)snprintf(ttl, sizeof ttl, "%lld", (long long)w->w.ttl_s);
    soap_open_map(args);
    for (size_t i = 0; i < row->n; i++) {
        const char *value = row->values[i];

        /* A string: PHP takes a boolean true for "N" here. */
        if (strcmp(row->columns[i], "active") == 0)
            value = w->w.active ? "Y" : "N";
        else if (strcmp(row->columns[i], "ttl") == 0 && w->w.ttl_s >= 0)
            value = ttl;
        soap_put_member(args, row->columns[i], value);
    }
    soap_close_map(args);
}

static void send_update(struct writing *w, const struct isp_row *row)
{
    struct soap_args args;

    soap_args_init(&args);
    soap_put_string(&args, "0"); /* client 0: the owner stays */
    soap_put_string(&args, row->id);
    put_row(&args, w, row);
    if (w->w.new_serial)
        soap_put_bool(&args, true);
    w->sent_ms = clock_mono_ms();
    isp_call(w->p, isp_method(w->a, row->type, "update"), &args, true,
             on_update, w);
}

static void on_before(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;
    struct isp_row row;
    struct err e;

    switch (find_row(w, r, &row, &e)) {
    case FOUND_ERROR:
        finish(w,
               r->fault[0] == '\0' || doubt_of(r, false) == STOP_ALL
                   ? ISP_UNREACHED
                   : ISP_REFUSED,
               &e);
        return;
    case FOUND_NOT:
        (void)err_set(&e, ERR_CONFLICT, "the record is gone");
        finish(w, ISP_GONE, &e);
        return;
    case FOUND:
        break;
    }
    if (is_as_wanted(w, &row) && !w->w.anyway)
        finish(w, ISP_IS_SO, &e);
    else
        send_update(w, &row);
}

void isp_write(struct ispconfig *p, const struct isp_write *what,
               isp_write_cb *cb, void *arg)
{
    struct writing *w = writing_new(p, cb, arg);

    w->w = *what;
    read_row(w, on_before);
}

/* ---- a new record
 * --------------------------------------------------------------- */

static void on_added_list(void *arg, const struct isp_rows *rows)
{
    struct writing *w = arg;
    const struct change *c = w->change;

    if (rows->err.code != ERR_NONE) {
        finish_unknown(w, "looking for it", &rows->err);
        return;
    }
    for (size_t i = 0; i < rows->n; i++) {
        const struct isp_row *row = &rows->v[i];

        if (row->type == c->type && row->active &&
            name_equal(row->name, c->name) && strcmp(row->data, c->data) == 0) {
            finish(w, ISP_WRITTEN, &w->why);
            return;
        }
    }
    finish(w, ISP_REFUSED, &w->why);
}

static void on_add(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;

    if (must_look(w, r, ERR_RETRY, "the panel did not say the new record's id"))
        isp_rows_list(w->p, w->a, w->w.zone, &w->change->name, 1, on_added_list,
                      w);
}

/* Absolute, or relative where the form's 64 characters would not do. */
static const char *name_to_store(const char *name, const struct isp_zone *z,
                                 char relative[NAME_SIZE])
{
    if (strlen(name) <= 64)
        return name;
    (void)name_relative(name, z->name, relative);
    return strcmp(relative, "@") == 0 ? name : relative;
}

void isp_put_new_row(struct soap_args *args, const struct isp_zone *z,
                     const struct change *c)
{
    char relative[NAME_SIZE], ttl[24], serial[16], stamp[32];
    uint32_t ttl_s = c->ttl_s >= 0 ? (uint32_t)c->ttl_s : z->ttl_s;

    clock_format(clock_wall_ms(), stamp, sizeof stamp);
    stamp[10] = ' '; /* "2026-11-30 12:00:07", as MySQL writes it */
    stamp[19] = '\0';
    (void)snprintf(ttl, sizeof ttl, "%lu",
                   (unsigned long)(ttl_s < 60 ? 60 : ttl_s));
    (void)snprintf(serial, sizeof serial, "%lu", (unsigned long)z->serial);
    soap_open_map(args);
    /* The server that serves the zone, or nobody would publish the record. */
    soap_put_member(args, "server_id", z->server_id);
    soap_put_member(args, "zone", z->id);
    soap_put_member(args, "name", name_to_store(c->name, z, relative));
    soap_put_member(args, "type", rr_type_name(c->type));
    soap_put_member(args, "data", c->data);
    soap_put_member(args, "aux", "0");
    soap_put_member(args, "ttl", ttl);
    soap_put_member(args, "active", "Y");
    soap_put_member(args, "stamp", stamp);
    soap_put_member(args, "serial", serial);
    soap_close_map(args);
}

void isp_add(struct ispconfig *p, const struct isp_zone *z,
             const struct change *c, bool new_serial, isp_write_cb *cb,
             void *arg)
{
    struct writing *w = writing_new(p, cb, arg);
    struct soap_args args;

    w->w.zone = z;
    w->w.new_serial = new_serial;
    w->change = c;
    soap_args_init(&args);
    soap_put_string(&args, "0");
    isp_put_new_row(&args, z, c);
    if (new_serial)
        soap_put_bool(&args, true);
    isp_call(p, isp_method(w->a, c->type, "add"), &args, true, on_add, w);
}
