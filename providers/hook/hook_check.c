#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/proc.h"
#include "providers/hook/hook.h"
#include "providers/shared/findings.h"

/* What doctor asks: is the command there, does it answer, and does it say of
 * itself what the section says. */

struct exam {
    struct hook *h;
    struct arena *a;
    const char *zone;
    struct findings found;
    provider_check_cb *cb;
    void *arg;
};

static void exam_end(struct exam *x)
{
    struct hook *h = x->h;
    struct provider_checked r = findings_get(&x->found);

    x->cb(x->arg, &r);
    findings_fini(&x->found);
    arena_free(x->a);
    free(x);
    hook_leave(h);
}

static void exam_end_later(void *arg)
{
    exam_end(arg);
}

/* ---- the command --------------------------------------------------------- */

/* What it says and what the section says are to be the same. */
static void compare(struct exam *x, const cJSON *said, const char *name,
                    bool have)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(said, name);

    if (cJSON_IsBool(v) && cJSON_IsTrue(v) != have)
        findings_add(&x->found, PROVIDER_WARNING, name,
                     cJSON_IsTrue(v) ? "… = yes" : "… = no",
                     "the command says %s: %s, the section %s", name,
                     cJSON_IsTrue(v) ? "yes" : "no", have ? "yes" : "no");
}

static void compare_requests(struct exam *x, const cJSON *said)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(said, "requests"), *v;
    bool answers[HOOK_WRITE_SPEC + 1] = {false};

    if (!cJSON_IsArray(list))
        return;
    cJSON_ArrayForEach(v, list)
    {
        for (int i = HOOK_LIST_ZONES; i <= HOOK_WRITE_SPEC; i++)
            if (cJSON_IsString(v) &&
                strcmp(v->valuestring,
                       hook_request_name((enum hook_request)i)) == 0)
                answers[i] = true;
    }
    for (int i = HOOK_LIST_ZONES; i <= HOOK_WRITE_SPEC; i++) {
        const char *name = hook_request_name((enum hook_request)i);

        if (x->h->answers[i] && !answers[i])
            findings_add(&x->found, PROVIDER_ERROR, "requests", NULL,
                         "the command does not answer %s", name);
        else if (answers[i] && !x->h->answers[i])
            findings_add(&x->found, PROVIDER_OK, "requests", NULL,
                         "the command answers %s too, the section does not "
                         "use it",
                         name);
    }
}

static void on_capabilities(void *arg, const struct hook_reply *r)
{
    struct exam *x = arg;
    const cJSON *said =
        cJSON_GetObjectItemCaseSensitive(r->root, "capabilities");

    if (r->err.code != ERR_NONE && r->err.code != ERR_UNSUPPORTED) {
        /* Whether it is needed, the zones show. */
        findings_add(&x->found, PROVIDER_WARNING, "command", NULL,
                     "the command does not answer capabilities: %s",
                     r->err.msg);
    } else if (cJSON_IsObject(said)) {
        findings_add(&x->found, PROVIDER_OK, "command", NULL,
                     "the command answers");
        compare(x, said, "disables", x->h->ops.caps.in_place_disable);
        compare(x, said, "atomic", x->h->ops.caps.atomic);
        compare_requests(x, said);
    }
    exam_end(x);
}

/* Whoever can write it can do what the agent can. */
static void look_at_mode(struct exam *x, const char *program)
{
    struct stat st;

    if (strchr(program, '/') != NULL && stat(program, &st) == 0 &&
        (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        findings_add(&x->found, PROVIDER_WARNING, "command",
                     "chmod go-w of the command",
                     "%s can be written by others than its owner", program);
}

static void look_at_command(struct exam *x)
{
    const char *program = x->h->command.argv[0], *text;
    struct err e;

    if (proc_find(program, &e) != 0) {
        findings_add(&x->found, PROVIDER_ERROR, "command",
                     "the full path of an installed program", "%s", e.msg);
        (void)loop_timer_start(x->h->env.loop, 0, exam_end_later, x);
        return;
    }
    findings_add(&x->found, PROVIDER_OK, "command", NULL, "%s can be run",
                 program);
    look_at_mode(x, program);
    text = hook_ask(HOOK_CAPABILITIES, NULL, x->a, &e);
    hook_call(x->h, text, on_capabilities, x);
}

/* ---- one zone ------------------------------------------------------------ */

static void on_records(void *arg, const struct provider_records *r)
{
    struct exam *x = arg;

    if (r->err.code == ERR_NONE)
        findings_add(&x->found, PROVIDER_OK, NULL, NULL,
                     "%s: the command lists its records", x->zone);
    else
        findings_add(&x->found, PROVIDER_ERROR, "command", NULL, "%s",
                     r->err.msg);
    exam_end(x);
}

void hook_check(struct provider *p, const char *zone, provider_check_cb *cb,
                void *arg)
{
    struct exam *x = mem_alloc(sizeof *x);

    x->h = (struct hook *)p;
    x->a = arena_new();
    x->cb = cb;
    x->arg = arg;
    findings_init(&x->found);
    hook_enter(x->h);
    if (zone == NULL) {
        look_at_command(x);
        return;
    }
    x->zone = arena_strdup(x->a, zone);
    hook_list_records(p, x->zone, &x->zone, 1, on_records, x);
}
