#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service/control.h"
#include "agent/engine/service/service_internal.h"
#include "agent/engine/state/state_internal.h"
#include "agent/engine/world/override.h"

/* The operator's commands, through the control socket (control.h). */

#define CLIENT_MS 10000

struct client {
    uv_pipe_t pipe; /* first: freed through its handle */
    uv_write_t write;
    struct service *svc;
    struct loop_timer *timer;
    char *text;
    size_t len, cap;
    char answer[ERR_MSG_SIZE + 16];
    bool answered;
    struct client *prev, *next;
};

/* --- what is asked for ------------------------------------------------------
 */

static const char *text_of(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

    return cJSON_IsString(item) ? item->valuestring : "";
}

static int64_t number_of(const cJSON *o, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : 0;
}

static void take_override(struct service *svc, const cJSON *o)
{
    const char *key = text_of(o, "key");
    bool used = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "used"));
    struct state_override *row = NULL;

    HASH_FIND_STR(state_overrides(svc->state), key, row);
    if (key[0] == '\0' || (row == NULL && !used))
        return;
    if (row == NULL)
        row = state_override_row(svc->state, key);
    row->used = used;
    row->until_ms = number_of(o, "until_ms");
    row->since_wall_ms = number_of(o, "since_wall_ms");
    state_text(&row->user, text_of(o, "user"));
}

static void readmit_dc(struct service_zone *z, const char *dc)
{
    struct world *w = z->now->rz->world;

    for (size_t i = 0; i < w->nspecs; i++) {
        const struct spec *s = w->specs[i].spec;
        size_t at = 0;

        while (at < s->ndcs && strcmp(s->dcs[at].name, dc) != 0)
            at++;
        if (at == s->ndcs)
            continue;
        judge_readmit(&w->specs[i].memory, at);
        for (size_t n = 0; n < s->nsets; n++)
            for (size_t k = 0; k < s->sets[n].nrecords; k++) {
                const struct spec_record *rec = &s->sets[n].records[k];

                if (rec->dc == (long)at)
                    (void)override_readmit_name(z->svc->state, z->name,
                                                rec->name, rec->data);
            }
    }
}

static void take_readmit(struct service *svc, const cJSON *o)
{
    const char *zone = text_of(o, "zone"), *dc = text_of(o, "dc");
    const char *data = text_of(o, "data");
    struct service_zone *z = service_zone_find(svc, zone);

    if (dc[0] == '\0')
        (void)override_readmit_name(svc->state, zone, text_of(o, "name"),
                                    data[0] != '\0' ? data : NULL);
    else if (z != NULL && z->now != NULL)
        readmit_dc(z, dc);
}

/* For the history, and for whoever reads the service's lines. */
static void take_event(struct service *svc, const cJSON *o)
{
    struct state_event row = {.wall_ms = clock_wall_ms(),
                              .zone = text_of(o, "zone"),
                              .name = text_of(o, "name"),
                              .type = "",
                              .data = text_of(o, "data"),
                              .event = text_of(o, "event"),
                              .reason = text_of(o, "reason")};
    struct round_event ev = {ROUND_NOTE, row.zone, row.name,  "",
                             row.data,   false,    row.reason};

    state_event_add(svc->state, &row);
    svc->ro.sink(svc->ro.sink_arg, &ev);
}

static void each(struct service *svc, const cJSON *o, const char *key,
                 void (*take)(struct service *svc, const cJSON *item))
{
    const cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(o, key))
    {
        take(svc, item);
    }
}

static int carry_out(struct service *svc, const char *text, struct err *e)
{
    cJSON *o = cJSON_Parse(text);
    int rc = 0;

    if (!cJSON_IsObject(o)) {
        rc = err_set(e, ERR_INPUT, "not a request of this version");
    } else if (!cJSON_HasObjectItem(o, "save")) {
        service_work_before(svc);
        each(svc, o, "overrides", take_override);
        each(svc, o, "readmit", take_readmit);
        each(svc, o, "events", take_event);
        service_work_after(svc);
    }
    cJSON_Delete(o);
    return rc == 0 ? service_save(svc, e) : rc;
}

/* --- clients -----------------------------------------------------------------
 */

static void on_client_closed(uv_handle_t *h)
{
    struct client *c = (struct client *)h;

    free(c->text);
    free(c);
}

static void client_close(struct client *c)
{
    if (uv_is_closing((uv_handle_t *)&c->pipe))
        return;
    loop_timer_cancel(c->timer);
    c->timer = NULL;
    DL_DELETE(c->svc->clients, c);
    uv_close((uv_handle_t *)&c->pipe, on_client_closed);
}

static void on_written(uv_write_t *w, int status)
{
    (void)status;
    client_close(w->data);
}

static void on_late(void *arg)
{
    struct client *c = arg;

    c->timer = NULL;
    client_close(c);
}

static void answer(struct client *c)
{
    struct err e = {ERR_NONE, ""};
    uv_buf_t buf;

    c->answered = true;
    if (c->svc->gen == NULL || c->svc->stop > 0)
        (void)snprintf(c->answer, sizeof c->answer, "error it is ending\n");
    else if (carry_out(c->svc, c->text, &e) == 0)
        (void)snprintf(c->answer, sizeof c->answer, "ok\n");
    else
        (void)snprintf(c->answer, sizeof c->answer, "error %s\n", e.msg);
    buf = uv_buf_init(c->answer, (unsigned)strlen(c->answer));
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->pipe, &buf, 1, on_written) != 0)
        client_close(c);
}

static void on_room(uv_handle_t *h, size_t want, uv_buf_t *buf)
{
    struct client *c = (struct client *)h;

    (void)want;
    if (c->cap - c->len < 4096) {
        char *bigger = mem_alloc(2 * c->cap + 8192);

        if (c->len > 0)
            memcpy(bigger, c->text, c->len);
        free(c->text);
        c->text = bigger;
        c->cap = 2 * c->cap + 8192;
    }
    *buf = uv_buf_init(c->text + c->len, (unsigned)(c->cap - c->len - 1));
}

static void on_data(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    struct client *c = (struct client *)s;
    char *end;

    (void)buf;
    if (c->answered)
        return;
    if (n < 0 || c->len + (size_t)n > CONTROL_REQUEST_MAX) {
        client_close(c);
        return;
    }
    c->len += (size_t)n;
    c->text[c->len] = '\0';
    end = memchr(c->text, '\n', c->len);
    if (end == NULL)
        return;
    *end = '\0';
    answer(c);
}

static void on_client(uv_stream_t *server, int status)
{
    struct service *svc = server->data;
    struct client *c;

    if (status != 0)
        return;
    c = mem_alloc(sizeof *c);
    c->svc = svc;
    (void)uv_pipe_init(loop_uv(svc->loop), &c->pipe, 0);
    DL_APPEND(svc->clients, c);
    c->timer = loop_timer_start(svc->loop, CLIENT_MS, on_late, c);
    if (uv_accept(server, (uv_stream_t *)&c->pipe) != 0 ||
        uv_read_start((uv_stream_t *)&c->pipe, on_room, on_data) != 0)
        client_close(c);
}

/* --- the socket --------------------------------------------------------------
 */

static void free_handle(uv_handle_t *h)
{
    free(h);
}

static int listen_at(struct service *svc, const char *path)
{
    mode_t before = umask(0177);
    int rc;

    /* Whoever left it does not hold the lock any more. */
    (void)unlink(path);
    svc->control = mem_alloc(sizeof *svc->control);
    (void)uv_pipe_init(loop_uv(svc->loop), svc->control, 0);
    svc->control->data = svc;
    rc = uv_pipe_bind(svc->control, path);
    (void)umask(before);
    return rc != 0 ? rc : uv_listen((uv_stream_t *)svc->control, 16, on_client);
}

void service_control_open(struct service *svc)
{
    char *path = control_path(svc->gen->cfg->state);
    int rc = path != NULL ? listen_at(svc, path) : UV_ENAMETOOLONG;

    if (rc != 0)
        round_warn(&svc->gen->round, "", "control",
                   "no control socket beside %s: %s; freeze, maintenance and "
                   "readmit do not reach this service",
                   svc->gen->cfg->state, uv_strerror(rc));
    free(path);
}

void service_control_close(struct service *svc)
{
    struct client *c, *next;

    DL_FOREACH_SAFE(svc->clients, c, next)
    {
        client_close(c);
    }
    /* libuv unlinks the socket. */
    if (svc->control != NULL)
        uv_close((uv_handle_t *)svc->control, free_handle);
    svc->control = NULL;
}
