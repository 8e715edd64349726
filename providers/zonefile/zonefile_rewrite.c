#include "providers/zonefile/zonefile_impl.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/duration.h"
#include "agent/base/log.h"
#include "agent/base/proc.h"
#include "providers/shared/serial.h"

/* One rewrite of a zone file, as steps of a job:
 *
 *   load → nothing to do: finish; to be confirmed: reload what the server does
 *     │    not serve yet, and await
 *     └ ask the served serial → stage → check → commit → reload → await
 *   check fails: the staged file goes, nothing was changed
 *   the file changed meanwhile: load once more, then ERR_CONFLICT
 *   reload fails, the serial does not follow: the old file comes back, and
 *   reload runs again
 *
 * Timers: `timeout` for each command, `serial-timeout` for await. */

#define POLL_MS 100

struct job {
    struct zonefile *z;
    struct zonefile_rewrite what;
    char *zone;
    struct zonefile_zone file;
    struct buf text; /* the new one */
    char *tmp;
    struct stat written;
    uint32_t serial; /* of text, or of the file while text is not in place */
    bool again, committed;
    bool confirming; /* nothing is written: there is nothing to take back */
    bool changed;
    int64_t deadline_ms;
    struct provider_serial served;
    struct err err;
};

static void load(void *arg);
static void ask_again(void *arg);

static void end(struct job *j, enum change_state state)
{
    struct zonefile_rewritten r = {.err = j->err,
                                   .why = j->err,
                                   .state = state,
                                   .changed = j->changed,
                                   .has_serial = j->file.m != NULL,
                                   .serial = j->serial};
    struct zonefile *z = j->z;

    if (r.err.code != ERR_NONE)
        (void)err_wrap(&r.err, "zone %s", j->zone);
    j->what.done(j->what.arg, &r);
    j->z->store->unstage(j->z, j->zone, &j->tmp);
    zonefile_zone_fini(&j->file);
    buf_fini(&j->text);
    free(j->zone);
    free(j);
    zonefile_leave(z);
}

static void finish(struct job *j)
{
    end(j, CHANGE_DONE);
}

/* The whole is given up: what was to be done is not. state is FAILED, or
 * UNKNOWN when the new file could not be taken back. */
static void give_up(struct job *j, enum change_state state)
{
    if (!j->committed && j->file.m != NULL)
        j->serial = masterfile_serial(j->file.m);
    end(j, state);
}

/* ---- commands ----------------------------------------------------------- */

static void run(struct job *j, enum doer_kind kind, const char *file,
                proc_cb *cb)
{
    struct zonefile *z = j->z;
    struct doer_command what = {.kind = kind,
                                .name = z->name,
                                .zone = j->zone,
                                .timeout_ms = z->timeout_ms,
                                .dir = zonefile_work_dir(z, &j->file.copy)};
    struct proc_result none = {.exit_code = -1};
    char **argv;

    if (zonefile_argv(kind == DOER_CHECK ? z->check : z->reload, j->zone, file,
                      &argv, &none.err) != 0) {
        cb(j, &none);
        return;
    }
    what.argv = argv;
    (void)doer_run(z->doer, z->env.loop, &what, cb, j);
    proc_argv_free(argv);
}

/* ---- taking back -------------------------------------------------------- */

static void on_second_reload(void *arg, const struct proc_result *r)
{
    struct job *j = arg;
    struct err why = j->err;

    if (r->exit_code != 0)
        (void)err_set(&j->err, why.code, "%s; reload of it failed too: %s",
                      why.msg, r->err.msg);
    give_up(j, CHANGE_FAILED);
}

static void put_back(struct job *j)
{
    struct zonefile_copy now = j->file.copy; /* borrows path and dir */
    struct err why = j->err, e = {.code = ERR_NONE};
    struct stat st;

    now.st = j->written;
    if (j->z->store->unchanged(j->z, j->zone, &now, &e) != 0 ||
        j->z->store->stage(j->z, j->zone, &j->file.copy, j->file.copy.text,
                           j->file.copy.len, &j->tmp, &e) != 0 ||
        j->z->store->commit(j->z, j->zone, &now, &j->tmp, &st, &e) != 0) {
        (void)err_set(&j->err, ERR_UNKNOWN,
                      "%s; the old file could not be put back: %s", why.msg,
                      e.msg);
        give_up(j, CHANGE_UNKNOWN);
        return;
    }
    j->committed = false;
    (void)err_set(&j->err, why.code, "%s; the old file was put back", why.msg);
    run(j, DOER_RELOAD, j->file.copy.path, on_second_reload);
}

/* j->err says why. */
static void take_back(struct job *j)
{
    if (j->confirming) {
        give_up(j, CHANGE_UNKNOWN);
        return;
    }
    put_back(j);
}

/* ---- the served serial -------------------------------------------------- */

static void not_served(struct job *j)
{
    char wait[32];

    (void)duration_format(j->z->serial_timeout_ms, wait);
    if (j->served.known)
        (void)err_set(&j->err, ERR_RETRY,
                      "the server still serves serial %u, not %u, %s after the "
                      "change; its log says why",
                      j->served.serial, j->serial, wait);
    else
        (void)err_set(&j->err, ERR_RETRY,
                      "no authoritative server answered within %s after the "
                      "change to serial %u; the server's log says why",
                      wait, j->serial);
    if (j->z->reload != NULL) {
        take_back(j);
        return;
    }
    /* Who watches the file may take longer; verification tells in the end. */
    log_line(LOG_WARN,
             "zone %s: %s. Not yet served, and provider %s has no reload "
             "command: the new file stays",
             j->zone, j->err.msg, j->z->name);
    j->err = (struct err){.code = ERR_NONE};
    finish(j);
}

static void on_served(void *arg, const struct provider_serial *s)
{
    struct job *j = arg;

    if (s->known)
        j->served = *s;
    if (s->known && !serial_newer(j->serial, s->serial))
        finish(j);
    else if (clock_mono_ms() >= j->deadline_ms)
        not_served(j);
    else
        (void)loop_timer_start(j->z->env.loop, POLL_MS, ask_again, j);
}

static void ask_again(void *arg)
{
    struct job *j = arg;

    j->z->env.served_serial(j->z->env.arg, j->zone, on_served, j);
}

static void await(struct job *j)
{
    if (j->z->env.served_serial == NULL || j->z->serial_timeout_ms == 0) {
        finish(j);
        return;
    }
    j->deadline_ms = clock_mono_ms() + j->z->serial_timeout_ms;
    j->served.known = false;
    ask_again(j);
}

static void on_reload(void *arg, const struct proc_result *r)
{
    struct job *j = arg;

    if (r->exit_code == 0) {
        await(j);
        return;
    }
    (void)err_set(&j->err, ERR_RETRY, "reload failed: %s", r->err.msg);
    take_back(j);
}

/* ---- writing ------------------------------------------------------------ */

static void commit(struct job *j)
{
    int r = j->z->store->commit(j->z, j->zone, &j->file.copy, &j->tmp,
                                &j->written, &j->err);

    /* What somebody else has put there since our reading must not be lost. */
    if (r != 0 && j->err.code == ERR_CONFLICT && !j->again) {
        j->again = true;
        j->err = (struct err){.code = ERR_NONE};
        load(j);
        return;
    }
    if (r != 0) {
        give_up(j, CHANGE_FAILED);
        return;
    }
    j->committed = true;
    if (j->z->reload != NULL)
        run(j, DOER_RELOAD, j->file.copy.path, on_reload);
    else
        await(j);
}

static void on_check(void *arg, const struct proc_result *r)
{
    struct job *j = arg;

    if (r->exit_code == 0) {
        commit(j);
        return;
    }
    j->z->store->unstage(j->z, j->zone, &j->tmp);
    (void)err_set(&j->err, r->timed_out ? ERR_RETRY : ERR_INPUT,
                  "the check of the edited file failed, nothing was changed: "
                  "%s",
                  r->err.msg);
    give_up(j, CHANGE_FAILED);
}

static void write_file(struct job *j)
{
    if (j->z->store->journal_check(j->z, j->zone, &j->file.copy, &j->err) !=
            0 ||
        j->z->store->stage(j->z, j->zone, &j->file.copy, buf_get(&j->text),
                           j->text.len, &j->tmp, &j->err) != 0) {
        give_up(j, CHANGE_FAILED);
        return;
    }
    if (j->z->check != NULL)
        run(j, DOER_CHECK, j->tmp, on_check);
    else
        commit(j);
}

static void on_served_before(void *arg, const struct provider_serial *s)
{
    struct job *j = arg;
    uint32_t old = masterfile_serial(j->file.m);

    if (s->known && serial_newer(s->serial, old)) {
        (void)err_set(&j->err, ERR_INPUT,
                      "%s has serial %u, and the server serves the newer %u: "
                      "it does not serve this file (dynamic updates, signing "
                      "by the server, another file?). Nothing was changed",
                      j->file.path, old, s->serial);
        give_up(j, CHANGE_FAILED);
        return;
    }
    write_file(j);
}

static void on_served_confirming(void *arg, const struct provider_serial *s)
{
    struct job *j = arg;

    if (s->known && !serial_newer(j->serial, s->serial)) {
        finish(j);
        return;
    }
    j->confirming = true;
    if (j->z->reload != NULL)
        run(j, DOER_RELOAD, j->file.copy.path, on_reload);
    else
        await(j);
}

/* A run that ended between writing the file and the reload has left a file
 * that nobody serves. */
static void confirm(struct job *j)
{
    if (j->what.confirm && j->z->env.served_serial != NULL &&
        j->z->serial_timeout_ms > 0)
        j->z->env.served_serial(j->z->env.arg, j->zone, on_served_confirming,
                                j);
    else
        finish(j);
}

static void load(void *arg)
{
    struct job *j = arg;

    zonefile_zone_fini(&j->file);
    buf_reset(&j->text);
    if (zonefile_zone_load(j->z, j->zone, &j->file, &j->err) != 0) {
        give_up(j, CHANGE_FAILED);
        return;
    }
    j->serial = serial_next(masterfile_serial(j->file.m), clock_wall_ms());
    if (j->what.edit(j->what.arg, j->file.m, j->serial, &j->text, &j->changed,
                     &j->err) != 0) {
        give_up(j, CHANGE_FAILED);
        return;
    }
    if (!j->changed) {
        j->serial = masterfile_serial(j->file.m);
        confirm(j);
        return;
    }
    if (j->z->env.served_serial != NULL && j->z->serial_timeout_ms > 0)
        j->z->env.served_serial(j->z->env.arg, j->zone, on_served_before, j);
    else
        write_file(j);
}

void zonefile_rewrite(struct zonefile *z, const struct zonefile_rewrite *what)
{
    struct job *j = mem_alloc(sizeof *j);

    j->z = z;
    j->what = *what;
    j->zone = mem_strdup(what->zone);
    buf_init(&j->text, MASTERFILE_MAX);
    zonefile_enter(z);
    (void)loop_timer_start(z->env.loop, 0, load, j);
}
