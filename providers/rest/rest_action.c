#include "providers/rest/rest_action.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_answer.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/rest/rest_path.h"

/* Some writes are only begun by their answer: it names an action, which is
 * asked for again until it has ended. */

#define FIRST_MS 250
#define LAST_MS 2000
#define LONGEST_MS 60000

struct action {
    struct rest *p;
    char id[REST_ID_SIZE];
    int64_t wait_ms, since_ms;
    rest_reply_cb *cb;
    void *arg;
};

static void finish(struct action *ac, const struct rest_reply *r)
{
    struct action copy = *ac;

    free(ac);
    copy.cb(copy.arg, r);
    rest_end(copy.p);
}

static void fail(struct action *ac, const struct rest_reply *r, bool is_sure,
                 const char *what, const char *why)
{
    struct rest_reply out = *r;

    out.is_sure = is_sure;
    (void)err_set(&out.err, is_sure ? ERR_INPUT : ERR_UNKNOWN,
                  "action %s of %s: %s%s", ac->id, ac->p->style->label, what,
                  why);
    finish(ac, &out);
}

static const cJSON *member(const struct action *ac, const struct rest_reply *r,
                           const char *name)
{
    const cJSON *o = rest_json_at(r->json, ac->p->style->action->object);

    return cJSON_GetObjectItemCaseSensitive(o, name);
}

static bool has_status(const struct action *ac, const struct rest_reply *r,
                       const char *status)
{
    const cJSON *v = member(ac, r, ac->p->style->action->status);

    return cJSON_IsString(v) && strcmp(v->valuestring, status) == 0;
}

static void look(struct action *ac, const struct rest_reply *r);

static void on_polled(void *arg, const struct rest_reply *r)
{
    struct action *ac = arg;

    if (r->err.code != ERR_NONE)
        fail(ac, r, false, "begun; its end was not seen: ", r->err.msg);
    else
        look(ac, r);
}

static void on_time(void *arg)
{
    struct action *ac = arg;
    struct arena *a = arena_new();
    const struct rest_path_args args = {.record = ac->id};

    rest_call(ac->p, "GET",
              rest_path(ac->p, a, ac->p->style->action->path, &args), NULL,
              on_polled, ac);
    arena_free(a);
}

/* An answer that holds the action. */
static void look(struct action *ac, const struct rest_reply *r)
{
    const struct rest_action *style = ac->p->style->action;
    char text[300];

    if (has_status(ac, r, style->done)) {
        finish(ac, r);
    } else if (!has_status(ac, r, style->running)) {
        rest_answer_text(member(ac, r, style->error), "", text, sizeof text);
        fail(ac, r, true, "it failed: ", text);
    } else if (clock_mono_ms() - ac->since_ms >= LONGEST_MS) {
        fail(ac, r, false, "it still runs after a minute", "");
    } else {
        (void)loop_timer_start(ac->p->env.loop, ac->wait_ms, on_time, ac);
        ac->wait_ms = 2 * ac->wait_ms < LAST_MS ? 2 * ac->wait_ms : LAST_MS;
    }
}

static void on_written(void *arg, const struct rest_reply *r)
{
    struct action *ac = arg;
    const struct rest_action *style = ac->p->style->action;

    if (r->err.code != ERR_NONE || style == NULL ||
        rest_json_at(r->json, style->object) == NULL)
        finish(ac, r);
    else if (!rest_json_text(member(ac, r, style->id), ac->id, sizeof ac->id))
        fail(ac, r, false, "it has no id in the answer", "");
    else
        look(ac, r);
}

void rest_action_call(struct rest *p, const char *method, const char *path,
                      const char *body, rest_reply_cb *cb, void *arg)
{
    struct action *ac = mem_alloc(sizeof *ac);

    rest_begin(p);
    ac->p = p;
    ac->wait_ms = FIRST_MS;
    ac->since_ms = clock_mono_ms();
    ac->cb = cb;
    ac->arg = arg;
    rest_call(p, method, path, body, on_written, ac);
}
