#include "agent/cli/publish_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/clock.h"
#include "agent/base/loop.h"
#include "agent/cli/operator.h"
#include "agent/engine/world/txt.h"

#define WRITE_MS 120000 /* what a provider may take, its own limits beside */
#define PAUSE_MS 250

/* Length of a name without its final dot. */
static int plain_len(const char *name)
{
    size_t n = strlen(name);

    return (int)(n > 1 && name[n - 1] == '.' ? n - 1 : n);
}

/* --- what is there now ---------------------------------------------------- */

/* The answer that counts: the first server's that has one. */
static const struct publish_look *first_answer(const struct publish_net *n,
                                               const struct publish_look *looks)
{
    for (size_t i = 0; i < n->nservers; i++)
        if (looks[i].outcome != RESOLVER_FAILED)
            return &looks[i];
    return NULL;
}

/* returns 0, or -1 after saying that nobody knows what is there */
static int show_change(const struct publish_write *w)
{
    struct publish_net *n = w->net;
    const struct publish_look *looks = publish_look_all(n, n->owner);
    const struct publish_look *look = first_answer(n, looks);
    struct spec_context ctx;
    struct spec *old = NULL;
    struct err e;

    if (look == NULL)
        return cli_fail(-1,
                        "what is published at _failover.%.*s now cannot be "
                        "seen: %s; nothing was written",
                        plain_len(n->owner), n->owner,
                        n->nservers > 0 ? looks[0].err.msg : "no server");
    publish_context(n, &ctx);
    if (look->ntxts > 0 &&
        spec_parse(look->txts, look->ntxts, &ctx, &old, &e) != 0 &&
        e.code != ERR_NOTFOUND)
        (void)printf("the spec published now is not valid: %s\n", e.msg);
    else if (old == NULL)
        (void)printf("no spec is published at _failover.%.*s now\n",
                     plain_len(n->owner), n->owner);
    publish_print_diff(old, w->spec);
    (void)fflush(stdout);
    spec_free(old);
    return 0;
}

/* --- the write ------------------------------------------------------------ */

struct writing {
    struct provider_written r;
    bool done;
};

static void on_written(void *arg, const struct provider_written *r)
{
    struct writing *job = arg;

    job->r = *r;
    job->done = true;
}

static struct provider_written *write_text(const struct publish_write *w)
{
    struct publish_net *n = w->net;
    struct writing *job = arena_alloc(n->arena, sizeof *job);
    struct spec_write what = {.zone = n->zone,
                              .owner = n->owner,
                              .text = w->text->stored,
                              .len = strlen(w->text->stored),
                              .ttl_s = PUBLISH_TTL_S};

    n->provider->ops->write_spec(n->provider, &what, on_written, job);
    if (!loop_wait(n->loop, &job->done, clock_mono_ms() + WRITE_MS))
        (void)err_set(&job->r.err, ERR_UNKNOWN,
                      "no answer in time; it may or may not be written");
    return &job->r;
}

static void tell_written(const struct publish_write *w,
                         const struct provider_written *r)
{
    const struct publish_net *n = w->net;

    (void)printf("%s provider %s, zone %s",
                 r->changed ? "written:" : "as it is:",
                 n->section->provider->name, n->zone);
    if (r->has_serial)
        (void)printf(", serial %" PRIu32, r->serial);
    (void)printf(", %zu bytes as %s\n", strlen(w->text->stored),
                 spec_spelling_name(w->text->spelling));
    (void)fflush(stdout);
}

/* Under the lock of the state: no round changes the zone meanwhile. */
static int write_locked(const struct cli_options *o,
                        const struct publish_write *w)
{
    const struct publish_net *n = w->net;
    struct operator_env env;
    struct provider_written *r;
    int code = operator_begin(o, &env);

    if (code != CLI_DONE)
        return operator_end(&env, code);
    r = write_text(w);
    if (r->err.code != ERR_NONE && !r->changed)
        return operator_end(&env,
                            cli_fail(CLI_FAILED, "provider %s: %s%s",
                                     n->section->provider->name, r->err.msg,
                                     r->err.code == ERR_UNKNOWN
                                         ? ""
                                         : "; nothing was written"));
    tell_written(w, r);
    if (r->changed)
        operator_event(&env, "spec published", n->zone, n->owner, "",
                       "%zu bytes as %s through %s", strlen(w->text->stored),
                       spec_spelling_name(w->text->spelling),
                       n->section->provider->name);
    code = operator_end(&env, CLI_DONE);
    if (r->err.code != ERR_NONE)
        code = cli_fail(CLI_FAILED, "provider %s: %s",
                        n->section->provider->name, r->err.msg);
    return code;
}

/* --- reading back --------------------------------------------------------- */

/* One server, asked until it shows the text. */
struct watch {
    const struct publish_write *w;
    const struct addr *server;
    int64_t start_ms, end_ms, seen_ms;
    bool seen, done;
    struct spec_txt *txts; /* once seen; in the arena */
    size_t ntxts;
    char why[ERR_MSG_SIZE];
};

static void say_other(struct watch *t, size_t ours, size_t len)
{
    if (ours == 0)
        (void)snprintf(t->why, sizeof t->why, "it has no spec there");
    else if (ours == 1)
        (void)snprintf(t->why, sizeof t->why, "it has another text (%zu bytes)",
                       len);
    else
        (void)snprintf(t->why, sizeof t->why, "it has %zu specs there", ours);
}

/* The only text that is ours is, byte for byte, the one that was written. */
static bool shows(struct watch *t, const struct resolver_txt *answer)
{
    const char *want = t->w->text->served;
    size_t ours = 0, len = 0;
    bool same = false;

    for (size_t i = 0; i < answer->ntxts; i++) {
        struct buf b;

        buf_init(&b, 65536);
        for (size_t k = 0; k < answer->txts[i].nstrings; k++)
            buf_add(&b, answer->txts[i].strings[k].data,
                    answer->txts[i].strings[k].len);
        if (!provider_txt_is_foreign(buf_get(&b), b.len)) {
            ours++;
            len = b.len;
            same = b.len == strlen(want) && memcmp(buf_get(&b), want, len) == 0;
        }
        buf_fini(&b);
    }
    say_other(t, ours, len);
    return ours == 1 && same;
}

static void look_now(void *arg);

static void on_txt(void *arg, const struct resolver_txt *answer)
{
    struct watch *t = arg;
    struct publish_net *n = t->w->net;
    int64_t now_ms = clock_mono_ms();

    if (answer->outcome == RESOLVER_FOUND)
        t->seen = shows(t, answer);
    else
        (void)snprintf(t->why, sizeof t->why, "%s", answer->err.msg);
    if (t->seen) {
        t->txts = txt_copy(n->arena, answer->txts, answer->ntxts);
        t->ntxts = answer->ntxts;
        t->seen_ms = now_ms - t->start_ms;
    }
    t->done = t->seen || now_ms + PAUSE_MS > t->end_ms;
    if (!t->done)
        (void)loop_timer_start(n->loop, PAUSE_MS, look_now, t);
}

static void look_now(void *arg)
{
    struct watch *t = arg;
    struct publish_net *n = t->w->net;

    resolver_find_txt(n->resolver, t->server, 1, n->owner, on_txt, t);
}

/* What DNS serves means what was meant. returns 0, or -1 after saying so */
static int check_meaning(const struct watch *t, const char *server)
{
    const struct publish_write *w = t->w;
    struct spec_context ctx;
    struct spec *got = NULL;
    struct err e;
    char *want, *is;
    int rc = 0;

    publish_context(w->net, &ctx);
    if (spec_parse(t->txts, t->ntxts, &ctx, &got, &e) != 0)
        return cli_fail(-1, "%s shows it, and it cannot be read: %s", server,
                        e.msg);
    want = spec_print(w->spec);
    is = spec_print(got);
    if (strcmp(want, is) != 0)
        rc = cli_fail(-1, "%s shows it, and it does not mean what was meant",
                      server);
    free(want);
    free(is);
    spec_free(got);
    return rc;
}

static int tell_watch(const struct watch *t)
{
    char server[ADDR_TEXT_SIZE];

    (void)addr_format_port(t->server, server);
    if (!t->seen) {
        (void)printf("written, not yet seen at %s: %s\n", server,
                     t->why[0] != '\0' ? t->why : "no answer");
        return -1;
    }
    if (check_meaning(t, server) != 0)
        return -1;
    (void)printf("%s shows it after %" PRId64 ".%" PRId64 " s\n", server,
                 t->seen_ms / 1000, t->seen_ms % 1000 / 100);
    return 0;
}

static int read_back(const struct publish_write *w)
{
    struct publish_net *n = w->net;
    struct watch *t = arena_array(n->arena, n->nservers + 1, sizeof *t);
    int64_t now_ms = clock_mono_ms();
    int code = CLI_DONE;

    for (size_t i = 0; i < n->nservers; i++) {
        t[i].w = w;
        t[i].server = &n->servers[i];
        t[i].start_ms = now_ms;
        t[i].end_ms = now_ms + w->wait_ms;
        look_now(&t[i]);
    }
    for (size_t i = 0; i < n->nservers; i++) {
        (void)loop_wait(n->loop, &t[i].done, now_ms + w->wait_ms);
        if (tell_watch(&t[i]) != 0)
            code = CLI_FAILED;
        (void)fflush(stdout);
    }
    return code;
}

int publish_write(const struct cli_options *o, const struct publish_write *w)
{
    int code;

    if (show_change(w) != 0)
        return CLI_FAILED;
    if (w->dry_run) {
        (void)puts("nothing was written (--dry-run)");
        return CLI_DONE;
    }
    code = write_locked(o, w);
    if (code == CLI_DONE)
        code = read_back(w);
    return code;
}
