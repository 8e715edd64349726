#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/ispconfig/ispconfig.h"

/* A spec's TXT record, in these steps: read the zone, try the permissions,
 * list the TXT rows of the name, write the text into the one that is ours (or
 * add a row), read it back, switch further ones of ours off, look at the
 * serial. The text is stored as it is given: the panel escapes nothing, and
 * its answer about a write says nothing about what is stored (a column cuts,
 * a character set replaces), so the row is read back in any case. */

struct txt_rows {
    struct isp_row *v; /* heap while it grows */
    size_t n, cap;
};

struct writing {
    struct ispconfig *p;
    struct arena *a;
    struct spec_write what; /* a copy */
    char name[NAME_SIZE];   /* canonical, _failover included */
    const struct isp_zone *z;
    struct txt_rows ours;
    size_t variant;            /* of the search under way */
    const struct isp_row *row; /* that gets the text; NULL: add one */
    const char *id;            /* of it, or of the added one */
    size_t extra;              /* the next of ours that may be switched off */
    bool added;                /* it is not known whether a row was added */
    struct err why;            /* what the write's answer said */
    struct provider_written out;
    provider_written_cb *cb;
    void *arg;
};

static void finish(struct writing *w, const struct err *e)
{
    struct ispconfig *p = w->p;

    if (e != NULL)
        w->out.err = *e;
    if (w->out.err.code != ERR_NONE)
        (void)err_wrap(&w->out.err, "%s TXT", w->name);
    w->cb(w->arg, &w->out);
    arena_free(w->a);
    free(w->ours.v);
    free(w);
    isp_end(p);
}

/* Before any write: an answer that was lost leaves nothing in doubt. */
static void fail_read(struct writing *w, const struct err *e)
{
    struct err as_read = *e;

    if (as_read.code == ERR_UNKNOWN)
        as_read.code = ERR_RETRY;
    finish(w, &as_read);
}

/* ---- the serial ---------------------------------------------------------- */

static void on_serial(void *arg, const struct isp_serial *s)
{
    struct writing *w = arg;

    w->out.has_serial = s->known;
    w->out.serial = s->serial;
    finish(w, w->out.err.code == ERR_NONE ? &s->err : NULL);
}

static void end(struct writing *w)
{
    if (w->out.changed) {
        isp_serial_settle(w->p, w->z, on_serial, w);
        return;
    }
    w->out.has_serial = true;
    w->out.serial = w->z->serial;
    finish(w, NULL);
}

/* ---- writing a row ------------------------------------------------------- */

/* Further active rows of ours behind the one at `from`. */
static const struct isp_row *next_extra(const struct writing *w, size_t *from)
{
    for (; *from < w->ours.n; (*from)++) {
        const struct isp_row *row = &w->ours.v[*from];

        if (row != w->row && row->active)
            return row;
    }
    return NULL;
}

/* The whole row back with its text (NULL: as it is) and whether it is on. */
static void send_update(struct writing *w, const struct isp_row *row,
                        const char *text, bool active, bool last,
                        isp_reply_cb *cb)
{
    struct soap_args args;

    soap_args_init(&args);
    soap_put_string(&args, "0"); /* client 0: the owner stays */
    soap_put_string(&args, row->id);
    soap_open_map(&args);
    for (size_t i = 0; i < row->n; i++) {
        const char *value = row->values[i];

        if (strcmp(row->columns[i], "active") == 0)
            value = active ? "Y" : "N";
        else if (strcmp(row->columns[i], "data") == 0 && text != NULL)
            value = text;
        soap_put_member(&args, row->columns[i], value);
    }
    soap_close_map(&args);
    if (last)
        soap_put_bool(&args, true);
    isp_call(w->p, "dns_txt_update", &args, true, cb, w);
}

static void switch_off_extras(struct writing *w);

static void on_extra(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;

    if (r->err.code != ERR_NONE) {
        w->out.err = r->err;
        (void)err_wrap(&w->out.err,
                       "the text is stored, but another spec beside it could "
                       "not be switched off (record %s)",
                       w->ours.v[w->extra].id);
        end(w);
        return;
    }
    w->out.changed = true;
    w->extra++;
    switch_off_extras(w);
}

/* Two specs at one name are one spec with members that contradict. */
static void switch_off_extras(struct writing *w)
{
    const struct isp_row *row = next_extra(w, &w->extra);
    size_t after = w->extra + 1;

    if (row == NULL)
        end(w);
    else
        send_update(w, row, NULL, false, next_extra(w, &after) == NULL,
                    on_extra);
}

/* ---- after the write ----------------------------------------------------- */

static void not_stored(struct writing *w, const struct isp_row *row)
{
    if (w->why.code == ERR_NONE)
        (void)err_set(&w->why, ERR_CONFLICT,
                      "the panel accepted the text and stores another one "
                      "(%zu of %zu bytes, %s)",
                      strlen(row->data), w->what.len,
                      row->active ? "active" : "inactive");
    if (w->why.code == ERR_UNKNOWN)
        w->why.code = ERR_RETRY; /* it was looked at: it is not there */
    finish(w, &w->why);
}

static void on_read_back(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;
    const struct soap_value *items;
    struct isp_row row;
    struct err e = r->err;
    size_t n;

    if (e.code == ERR_NONE &&
        (!isp_records_of(r->value, &items, &n) || n != 1 ||
         isp_txt_row_read(items, w->z, w->a, &row, &e) != 1))
        (void)err_set(&e, ERR_RETRY, "the record is not there");
    if (e.code != ERR_NONE) {
        struct err doubt;

        (void)err_set(&doubt, ERR_UNKNOWN, "%.400s%sreading it back: %.400s",
                      w->why.msg, w->why.code != ERR_NONE ? "; " : "", e.msg);
        finish(w, &doubt);
        return;
    }
    if (!row.active || strcmp(row.data, w->what.text) != 0) {
        not_stored(w, &row);
        return;
    }
    w->out.changed = true;
    switch_off_extras(w);
}

static void read_back(struct writing *w)
{
    struct soap_args args;

    soap_args_init(&args);
    soap_put_string(&args, w->id);
    isp_call(w->p, "dns_txt_get", &args, false, on_read_back, w);
}

/* Certain to have changed nothing. */
static bool is_refused(const struct isp_reply *r)
{
    return r->err.code != ERR_NONE &&
           (!r->was_sent || isp_fault_is_early(r->fault));
}

static void on_update(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;

    w->why = r->err;
    if (is_refused(r))
        fail_read(w, &w->why);
    else
        read_back(w);
}

static void search(struct writing *w);

static bool is_id(const struct soap_value *v)
{
    return (v->kind == SOAP_STRING || v->kind == SOAP_INT) &&
           v->text[0] >= '1' && v->text[0] <= '9' &&
           strspn(v->text, "0123456789") == strlen(v->text);
}

static void on_add(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;

    w->why = r->err;
    if (is_refused(r)) {
        fail_read(w, &w->why);
    } else if (r->err.code != ERR_NONE || !is_id(r->value)) {
        if (w->why.code == ERR_NONE)
            (void)err_set(&w->why, ERR_RETRY,
                          "the panel did not say the new record's id");
        w->added = true;
        w->ours.n = w->variant = 0;
        search(w);
    } else {
        w->id = arena_strdup(w->a, r->value->text);
        read_back(w);
    }
}

static void add_row(struct writing *w)
{
    struct change c = {.op = CHANGE_PUBLISH,
                       .name = w->name,
                       .type = RR_TXT,
                       .data = w->what.text,
                       .ttl_s = w->what.ttl_s};
    struct soap_args args;

    soap_args_init(&args);
    soap_put_string(&args, "0");
    isp_put_new_row(&args, w->z, &c);
    soap_put_bool(&args, true);
    isp_call(w->p, "dns_txt_add", &args, true, on_add, w);
}

/* ---- what is there ------------------------------------------------------- */

/* The first active row of ours; else one that was switched off with this very
 * text; else none. */
static const struct isp_row *pick(const struct writing *w)
{
    const struct isp_row *off = NULL;

    for (size_t i = 0; i < w->ours.n; i++) {
        const struct isp_row *row = &w->ours.v[i];

        if (row->active)
            return row;
        if (off == NULL && strcmp(row->data, w->what.text) == 0)
            off = row;
    }
    return off;
}

static void write_text(struct writing *w)
{
    size_t first = 0;
    bool alone;

    w->row = pick(w);
    if (w->row == NULL) {
        add_row(w);
        return;
    }
    w->id = w->row->id;
    alone = next_extra(w, &first) == NULL;
    if (w->row->active && strcmp(w->row->data, w->what.text) == 0)
        switch_off_extras(w);
    else
        send_update(w, w->row, w->what.text, true, alone, on_update);
}

/* The server's search is loose: all of it is checked again. */
static int collect(struct writing *w, const struct isp_reply *r, size_t *n,
                   struct err *e)
{
    const struct soap_value *items;

    *e = r->err;
    if (e->code != ERR_NONE)
        return -1;
    if (!isp_records_of(r->value, &items, n))
        return err_set(e, ERR_RETRY, "the answer to a search is no list");
    for (size_t i = 0; i < *n; i++) {
        struct isp_row row;
        bool again = false;
        int rc = isp_txt_row_read(&items[i], w->z, w->a, &row, e);

        if (rc < 0)
            return -1;
        if (rc == 0 || !name_equal(row.name, w->name) ||
            provider_txt_is_foreign(row.data, strlen(row.data)))
            continue;
        for (size_t k = 0; k < w->ours.n && !again; k++)
            again = strcmp(w->ours.v[k].id, row.id) == 0;
        if (again)
            continue;
        w->ours.v =
            mem_grow(w->ours.v, &w->ours.cap, w->ours.n, sizeof *w->ours.v);
        w->ours.v[w->ours.n++] = row;
    }
    return 0;
}

static void on_whole_zone(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;
    struct err e;
    size_t n = 1;

    /* Too large to be read, so it is not empty: the searches stand. */
    if (r->err.code != ERR_LIMIT && collect(w, r, &n, &e) != 0) {
        fail_read(w, &e);
    } else if (n == 0) {
        (void)err_set(&e, ERR_RETRY,
                      "the list of the zone's records came back empty; that is "
                      "not taken for \"no records\"");
        fail_read(w, &e);
    } else {
        write_text(w);
    }
}

/* After an addition whose answer says nothing. */
static void look_for_added(struct writing *w)
{
    w->row = pick(w);
    if (w->row == NULL || !w->row->active ||
        strcmp(w->row->data, w->what.text) != 0) {
        if (w->why.code == ERR_UNKNOWN)
            w->why.code = ERR_RETRY; /* it was looked for: it is not there */
        finish(w, &w->why);
        return;
    }
    w->out.changed = true;
    switch_off_extras(w);
}

static void fail_search(struct writing *w, const struct err *e)
{
    struct err doubt;

    if (!w->added) {
        fail_read(w, e);
        return;
    }
    (void)err_set(&doubt, ERR_UNKNOWN, "%.400s; looking for it: %.400s",
                  w->why.msg, e->msg);
    finish(w, &doubt);
}

static void on_search(void *arg, const struct isp_reply *r)
{
    struct writing *w = arg;
    char variants[4][NAME_SIZE];
    struct soap_args args;
    struct err e;
    size_t n;

    if (collect(w, r, &n, &e) != 0) {
        fail_search(w, &e);
    } else if (++w->variant < isp_name_variants(w->name, w->z, variants)) {
        search(w);
    } else if (w->added) {
        look_for_added(w);
    } else if (w->ours.n > 0) {
        write_text(w);
    } else {
        /* A second spec beside one that was overlooked would damage both. */
        soap_args_init(&args);
        soap_put_string(&args, w->z->id);
        isp_call(w->p, "dns_rr_get_all_by_zone", &args, false, on_whole_zone,
                 w);
    }
}

static void search(struct writing *w)
{
    char variants[4][NAME_SIZE];
    struct soap_args args;

    (void)isp_name_variants(w->name, w->z, variants);
    soap_args_init(&args);
    soap_open_map(&args);
    soap_put_member(&args, "zone", w->z->id);
    soap_put_member(&args, "type", "TXT");
    soap_put_member(&args, "name", variants[w->variant]);
    soap_close_map(&args);
    isp_call(w->p, "dns_txt_get", &args, false, on_search, w);
}

static void on_permissions(void *arg, const struct err *e)
{
    struct writing *w = arg;

    if (e->code != ERR_NONE)
        fail_read(w, e);
    else
        search(w);
}

static void on_zone(void *arg, const struct isp_zone *z, const struct err *e)
{
    static const enum rr_type types[] = {RR_TXT, (enum rr_type)0};
    struct writing *w = arg;

    if (z == NULL) {
        fail_read(w, e);
        return;
    }
    w->z = z;
    isp_permissions(w->p, types, on_permissions, w);
}

void isp_write_spec(struct provider *p, const struct spec_write *what,
                    provider_written_cb *cb, void *arg)
{
    struct writing *w = mem_alloc(sizeof *w);

    w->p = (struct ispconfig *)p;
    w->a = arena_new();
    w->what = *what;
    w->what.zone = arena_strdup(w->a, what->zone);
    w->what.text = arena_strndup(w->a, what->text, what->len);
    (void)snprintf(w->name, sizeof w->name, "_failover.%.240s", what->owner);
    w->cb = cb;
    w->arg = arg;
    isp_begin(w->p);
    isp_zone_find(w->p, w->a, w->what.zone, on_zone, w);
}
