#include "agent/cli/operator.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/clock.h"

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

/* Waits while another run holds the lock: a round ends by itself. */
static int edit_state(const struct cli_options *o, const char *path,
                      struct state **s, struct err *e)
{
    const struct timespec pause = {0, POLL_MS * 1000000L};
    int64_t end_ms = clock_mono_ms() + o->wait_ms;
    bool told = false;
    int rc;

    while ((rc = state_edit(path, s, e)) != 0 && e->code == ERR_BUSY &&
           clock_mono_ms() < end_ms) {
        if (!told && isatty(STDERR_FILENO) == 1)
            (void)fputs("dnsfailover: a round is running; waiting for its "
                        "end\n",
                        stderr);
        told = true;
        (void)nanosleep(&pause, NULL);
    }
    return rc;
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
    if ((looks ? state_open(env->cfg->state, true, &env->state, &e)
               : edit_state(o, env->cfg->state, &env->state, &e)) != 0)
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

    if (code == CLI_DONE && !env->looks && state_save(env->state, &e) != 0)
        code = cli_fail(CLI_FAILED, "%s", e.msg);
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
}
