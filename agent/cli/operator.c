#include "agent/cli/operator.h"

#include <cjson/cJSON.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"
#include "agent/base/mem.h"
#include "agent/engine/service/control.h"

#define POLL_MS 100

/* --- who ----------------------------------------------------------------- */

/* A login as useradd makes them; the environment may say anything. */
static bool is_login(const char *t)
{
    static const char ok[] = "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-";

    return t != NULL && t[0] != '\0' && strlen(t) < 48 &&
           t[strspn(t, ok)] == '\0';
}

static void find_user(char *out, size_t size)
{
    uid_t uid = getuid();
    const struct passwd *pw = getpwuid(uid);
    const char *sudo = getenv("SUDO_USER");

    if (uid == 0 && is_login(sudo))
        (void)snprintf(out, size, "%s", sudo);
    else if (pw != NULL && is_login(pw->pw_name))
        (void)snprintf(out, size, "%s", pw->pw_name);
    else
        (void)snprintf(out, size, "uid %lu", (unsigned long)uid);
}

/* --- beginning and end --------------------------------------------------- */

/* A service holds the lock for as long as it runs: its state, saved for us,
 * is read, and the change handed over. returns false when none listens */
static bool ask_service(struct operator_env *env, const char *path, int *rc,
                        struct err *e)
{
    struct err why;

    if (control_ask(path, "{\"save\":true}", &why) != 0) {
        if (why.code == ERR_NOTFOUND)
            return false;
        *e = why;
        *rc = -1;
        return true;
    }
    env->to = cJSON_CreateObject();
    *rc = state_open(path, true, &env->state, e);
    return true;
}

/* Waits while another run holds the lock: a round ends by itself. */
static int edit_state(struct operator_env *env, const char *path, struct err *e)
{
    const struct timespec pause = {0, POLL_MS * 1000000L};
    int64_t end_ms = clock_mono_ms() + env->o->wait_ms;
    bool told = false;
    int rc;

    while ((rc = state_edit(path, &env->state, e)) != 0 &&
           e->code == ERR_BUSY) {
        if (ask_service(env, path, &rc, e) || clock_mono_ms() >= end_ms)
            break;
        if (!told && isatty(STDERR_FILENO) == 1)
            (void)fputs("dnsfailover: a round is running; waiting for its "
                        "end\n",
                        stderr);
        told = true;
        (void)nanosleep(&pause, NULL);
    }
    return rc;
}

/* --- for the service ------------------------------------------------------ */

static void add_item(struct operator_env *env, const char *list, cJSON *item)
{
    cJSON *to = cJSON_GetObjectItemCaseSensitive(env->to, list);

    if (to == NULL)
        to = cJSON_AddArrayToObject(env->to, list);
    if (!cJSON_AddItemToArray(to, item))
        cJSON_Delete(item);
}

static void add_overrides(struct operator_env *env)
{
    struct state_override *row;

    for (row = state_overrides(env->state); row != NULL; row = row->hh.next) {
        cJSON *o = cJSON_CreateObject();

        (void)cJSON_AddStringToObject(o, "key", row->key);
        (void)cJSON_AddBoolToObject(o, "used", row->used);
        (void)cJSON_AddNumberToObject(o, "until_ms", (double)row->until_ms);
        (void)cJSON_AddNumberToObject(o, "since_wall_ms",
                                      (double)row->since_wall_ms);
        (void)cJSON_AddStringToObject(o, "user",
                                      row->user != NULL ? row->user : "");
        add_item(env, "overrides", o);
    }
}

static int hand_over(struct operator_env *env, struct err *e)
{
    char *text;
    int rc;

    add_overrides(env);
    text = cJSON_PrintUnformatted(env->to);
    rc = text != NULL ? control_ask(env->cfg->state, text, e)
                      : err_set(e, ERR_LOCAL, "out of memory");
    cJSON_free(text);
    return rc;
}

static void add_readmit(struct operator_env *env, const char *zone,
                        const char *dc, const char *name, const char *data)
{
    cJSON *o;

    if (env->to == NULL)
        return;
    o = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(o, "zone", zone);
    (void)cJSON_AddStringToObject(o, "dc", dc);
    (void)cJSON_AddStringToObject(o, "name", name);
    (void)cJSON_AddStringToObject(o, "data", data != NULL ? data : "");
    add_item(env, "readmit", o);
}

size_t operator_readmit_name(struct operator_env *env, const char *zone,
                             const char *name, const char *data)
{
    size_t n = override_readmit_name(env->state, zone, name, data);

    if (n > 0)
        add_readmit(env, zone, "", name, data);
    return n;
}

size_t operator_readmit_dc(struct operator_env *env,
                           const struct recall_zone *z, const char *dc)
{
    add_readmit(env, z->name, dc, "", NULL);
    return override_readmit_dc(env->state, z, dc);
}

static void set_until(struct operator_env *env)
{
    char text[32];

    if (env->o->for_ms == 0)
        return;
    env->until_ms = env->now_ms + env->o->for_ms;
    clock_format(clock_wall_ms() + env->o->for_ms, text, sizeof text);
    (void)snprintf(env->until, sizeof env->until, " until %s", text);
}

static int begin(const struct cli_options *o, bool looks,
                 struct operator_env *env)
{
    struct err e;

    memset(env, 0, sizeof *env);
    env->o = o;
    env->looks = looks;
    env->cfg = cli_config(o);
    if (env->cfg == NULL)
        return CLI_USAGE;
    if (looks)
        cli_ask_to_save(env->cfg->state);
    if ((looks ? state_open(env->cfg->state, true, &env->state, &e)
               : edit_state(env, env->cfg->state, &e)) != 0)
        return cli_fail(e.code == ERR_BUSY    ? CLI_BUSY
                        : e.code == ERR_INPUT ? CLI_USAGE
                                              : CLI_FAILED,
                        "%s", e.msg);
    env->now_ms = state_now_ms();
    set_until(env);
    find_user(env->user, sizeof env->user);
    env->recall = recall_new(env->cfg, env->state);
    return CLI_DONE;
}

int operator_begin(const struct cli_options *o, struct operator_env *env)
{
    return begin(o, false, env);
}

int operator_look(const struct cli_options *o, struct operator_env *env)
{
    return begin(o, true, env);
}

int operator_end(struct operator_env *env, int code)
{
    struct err e;

    if (code == CLI_DONE && !env->looks &&
        (env->to != NULL ? hand_over(env, &e) : state_save(env->state, &e)) !=
            0)
        code = cli_fail(CLI_FAILED, "%s", e.msg);
    cJSON_Delete(env->to);
    recall_free(env->recall);
    state_close(env->state);
    config_free(env->cfg);
    return code;
}

void operator_event(struct operator_env *env, const char *event,
                    const char *zone, const char *name, const char *data,
                    const char *fmt, ...)
{
    char text[ERR_MSG_SIZE], whole[ERR_MSG_SIZE + 80];
    struct state_event ev = {clock_wall_ms(), zone, name, "", data,
                             event,           whole};
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)snprintf(whole, sizeof whole, "%s, by %s", text, env->user);
    state_event_add(env->state, &ev);
    if (env->to != NULL) {
        cJSON *o = cJSON_CreateObject();

        (void)cJSON_AddStringToObject(o, "event", event);
        (void)cJSON_AddStringToObject(o, "zone", zone);
        (void)cJSON_AddStringToObject(o, "name", name);
        (void)cJSON_AddStringToObject(o, "data", data);
        (void)cJSON_AddStringToObject(o, "reason", whole);
        add_item(env, "events", o);
    }
}
