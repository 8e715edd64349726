#include "specs/advise.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/base/mem.h"
#include "specs/check.h"
#include "specs/walk.h"

#define UDP_ANSWER_BYTES 1232u /* source: spec-language 10 */
#define OPT_BYTES 11u
#define TTL_LONG_S 300
#define TTL_DETECTION_TIMES 10 /* "far above" */
#define DEBOUNCE_MS 3000
#define STRING_MAX 255u

const struct spec_advice_kind spec_advice_kinds[SPEC_NADVICE] = {
    [SPEC_ADVICE_SPELLING] = {"spelling",
                              "the spelling that was seen, where it is not "
                              "JSON",
                              true},
    [SPEC_ADVICE_TXT_SIZE] = {"txt-size",
                              "the TXT records make an answer longer than "
                              "1,232 bytes",
                              false},
    [SPEC_ADVICE_PANEL] = {"panel-characters",
                           "characters that panels break: semicolons, "
                           "unbalanced parentheses or quotes",
                           false},
    [SPEC_ADVICE_TTL_LONG] = {"ttl-long", "a TTL above 300 s", false},
    [SPEC_ADVICE_TTL_DETECTION] = {"ttl-detection",
                                   "a TTL far above the time of detection",
                                   false},
    [SPEC_ADVICE_OWN_NAME] = {"own-name",
                              "a check that resolves the very name it steers",
                              false},
    [SPEC_ADVICE_VERIFY_OFF] = {"verify-off",
                                "the verification of certificates is switched "
                                "off",
                                false},
    [SPEC_ADVICE_SINGLE] = {"single-record",
                            "a set with a single record and no fallback",
                            false},
    [SPEC_ADVICE_INTERNET] = {"internet",
                              "internet counts only for an agent that stands "
                              "in that dc",
                              false},
    [SPEC_ADVICE_FAILOVER_TIME] = {"failover-time",
                                   "how long a failover takes at worst", true},
};

struct advise {
    const struct spec *s;
    const struct spec_advise_context *ctx;
    struct arena *arena;
    struct spec_advice *out; /* heap until the end */
    size_t n, cap;
};

static void say(struct advise *a, enum spec_advice_id kind, const char *pointer,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void say(struct advise *a, enum spec_advice_id kind, const char *pointer,
                const char *fmt, ...)
{
    char text[600];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    a->out = mem_grow(a->out, &a->cap, a->n, sizeof *a->out);
    a->out[a->n].kind = kind;
    a->out[a->n++].text = arena_printf(
        a->arena, "_failover.%.*s%s%s: %s", (int)strlen(a->s->owner) - 1,
        a->s->owner, pointer[0] != '\0' ? " " : "", pointer, text);
}

static size_t rdata_bytes(const struct spec_txt *txt)
{
    size_t n = 0;

    /* A text from a file is one string, cut when it is published. */
    for (size_t i = 0; i < txt->nstrings; i++) {
        size_t len = txt->strings[i].len;

        n += len + (len > 0 ? (len + STRING_MAX - 1) / STRING_MAX : 1);
    }
    return n;
}

/* source: RFC 1035 4.1: header, question, and for each record a pointer to
 * its name, type, class, TTL and length; RFC 6891 6.1.2: the OPT record */
static void advise_size(struct advise *a, const struct spec_txt *txts, size_t n)
{
    size_t bytes =
        12 + strlen(a->s->owner) + 1 + sizeof "_failover" + 4 + OPT_BYTES;

    for (size_t i = 0; i < n; i++)
        bytes += 12 + rdata_bytes(&txts[i]);
    if (bytes > UDP_ANSWER_BYTES)
        say(a, SPEC_ADVICE_TXT_SIZE, "",
            "the answer has %zu bytes; above %u it is cut and asked for again "
            "by TCP, which some networks do not let through",
            bytes, UDP_ANSWER_BYTES);
}

static void advise_panel(struct advise *a, const struct spec_txt *txt)
{
    size_t semicolons = 0, quotes = 0;
    long parens = 0, lowest = 0;

    for (size_t i = 0; i < txt->nstrings; i++) {
        for (size_t k = 0; k < txt->strings[i].len; k++) {
            char c = txt->strings[i].data[k];

            semicolons += c == ';';
            quotes += c == '"';
            parens += (c == '(') - (c == ')');
            if (parens < lowest)
                lowest = parens;
        }
    }
    if (semicolons > 0)
        say(a, SPEC_ADVICE_PANEL, "",
            "a semicolon in the text: panels and zone files without care cut "
            "there");
    if (parens != 0 || lowest < 0)
        say(a, SPEC_ADVICE_PANEL, "",
            "unbalanced parentheses in the text: zone files without care read "
            "on into the next line");
    if (quotes % 2 != 0)
        say(a, SPEC_ADVICE_PANEL, "",
            "an odd number of quotes in the text: panels that strip or add "
            "them break it");
}

static void advise_spelling(struct advise *a)
{
    if (a->s->spelling == SPEC_BARE)
        say(a, SPEC_ADVICE_SPELLING, "",
            "the spelling is bare: written so, or JSON whose quotes were lost "
            "on the way");
    else if (a->s->spelling == SPEC_ESCAPED)
        say(a, SPEC_ADVICE_SPELLING, "",
            "the spelling is JSON with escaped or doubled quotes: a panel "
            "touched them");
}

struct slowest {
    int64_t cron_interval_ms;
    int64_t ms; /* -1: none yet */
};

static int detection(void *arg, const struct spec_check *c)
{
    struct slowest *worst = arg;
    /* Rows: each timeout is tried once more before it counts. */
    int64_t timeout = c->timeout_ms * (c->repeat_timeout ? 2 : 1);
    int64_t step = c->retry_period_ms > timeout ? c->retry_period_ms : timeout;
    int64_t ms = worst->cron_interval_ms > 0 ? worst->cron_interval_ms
                                             : c->access_period_ms;

    ms += ((int64_t)c->required_failure - 1) * step + timeout;
    if (ms > worst->ms)
        worst->ms = ms;
    return 0;
}

static int64_t detection_ms(const struct spec *s, const struct spec_set *set,
                            int64_t cron_interval_ms)
{
    struct slowest worst = {cron_interval_ms, -1};
    struct spec_walk w = {
        .spec = s, .into_dcs = true, .visit = detection, .arg = &worst};

    spec_walk_init(&w);
    for (size_t i = 0; i < set->nrecords; i++)
        (void)spec_walk_record(&w, &set->records[i]);
    spec_walk_fini(&w);
    return worst.ms;
}

int64_t spec_worst_case_ms(const struct spec *s, const struct spec_set *set,
                           int64_t cron_interval_ms, int64_t provider_ms,
                           int64_t debounce_ms)
{
    int64_t ms = detection_ms(s, set, cron_interval_ms);

    if (ms < 0)
        return -1;
    return ms + debounce_ms + provider_ms +
           (set->ttl_s > 0 ? set->ttl_s * (int64_t)1000 : 0);
}

static const char *set_name(const struct spec_set *set, char out[400])
{
    (void)snprintf(out, 400, "%s %s%s%s", set->name, spec_type_name(set->type),
                   set->view != NULL ? " in view " : "",
                   set->view != NULL ? set->view : "");
    return out;
}

static void advise_ttl(struct advise *a, const struct spec_set *set)
{
    int64_t ms = detection_ms(a->s, set, a->ctx->cron_interval_ms);
    char name[400], text[32];

    if (ms < 0 || set->ttl_s <= 0)
        return;
    if (set->ttl_s > TTL_LONG_S)
        say(a, SPEC_ADVICE_TTL_LONG, set->records[0].pointer,
            "%s has a TTL of %" PRId32 " s: resolvers hand out a withdrawn "
            "value for so long; at most %d s is advised",
            set_name(set, name), set->ttl_s, TTL_LONG_S);
    else if (set->ttl_s * (int64_t)1000 > ms * TTL_DETECTION_TIMES)
        say(a, SPEC_ADVICE_TTL_DETECTION, set->records[0].pointer,
            "%s has a TTL of %" PRId32 " s, while a failure is known after %s",
            set_name(set, name), set->ttl_s, duration_format(ms, text));
}

static void advise_single(struct advise *a, const struct spec_set *set)
{
    char name[400];

    if (set->nrecords == 1 && set->nfallback == 0)
        say(a, SPEC_ADVICE_SINGLE, set->records[0].pointer,
            "%s has a single record and no fallback: there is nothing to "
            "switch to",
            set_name(set, name));
}

static void advise_time(struct advise *a, const struct spec_set *set)
{
    int64_t debounce = a->ctx->debounce_ms, ms;
    char name[400], text[32];

    if (a->ctx->cron_interval_ms > 0)
        debounce = 0;
    else if (debounce < 0)
        debounce = DEBOUNCE_MS;
    ms = spec_worst_case_ms(a->s, set, a->ctx->cron_interval_ms,
                            a->ctx->provider_ms, debounce);
    if (ms >= 0)
        say(a, SPEC_ADVICE_FAILOVER_TIME, set->records[0].pointer,
            "%s: a failover takes at most %s%s", set_name(set, name),
            duration_format(ms, text),
            set->ttl_s < 0 ? ", and the TTL that stands in the zone" : "");
}

/* What the checks of one record say of it. */
struct about {
    struct advise *a;
    const struct spec_record *rec;
};

static int own_name(void *arg, const struct spec_check *c)
{
    struct about *about = arg;
    char text[200];

    if (c->kind == SPEC_CHECK_DNS &&
        name_equal(spec_dialog_of(c)->dns_name, about->rec->name))
        say(about->a, SPEC_ADVICE_OWN_NAME, c->pointer,
            "%s asks for %s, the very name that it steers: what it finds "
            "depends on what it decides",
            spec_check_text(c, text, sizeof text), about->rec->name);
    if (spec_dialog_of(c)->follow_redirects > 0)
        say(about->a, SPEC_ADVICE_OWN_NAME, c->pointer,
            "%s follows redirects: one to %s resolves the very name that it "
            "steers",
            spec_check_text(c, text, sizeof text), about->rec->name);
    return 0;
}

static void advise_own_name(struct advise *a)
{
    struct about about = {.a = a};
    struct spec_walk w = {
        .spec = a->s, .into_dcs = true, .visit = own_name, .arg = &about};

    spec_walk_init(&w);
    for (size_t i = 0; i < a->s->nsets; i++) {
        for (size_t k = 0; k < a->s->sets[i].nrecords; k++) {
            about.rec = &a->s->sets[i].records[k];
            (void)spec_walk_record(&w, about.rec);
        }
    }
    spec_walk_fini(&w);
}

static void advise_checks(struct advise *a)
{
    for (size_t i = 0; i < a->s->nchecks; i++) {
        const struct spec_check *c = &a->s->checks[i];
        char text[200];

        if (spec_check_forms[c->kind].tls && !c->verify)
            say(a, SPEC_ADVICE_VERIFY_OFF, c->pointer,
                "%s does not verify the certificate: whoever answers passes",
                spec_check_text(c, text, sizeof text));
    }
}

static void advise_dcs(struct advise *a)
{
    for (size_t i = 0; i < a->s->ndcs; i++) {
        const struct spec_dc *dc = &a->s->dcs[i];

        if (dc->dims[SPEC_INTERNET].given &&
            (a->ctx->dc == NULL || strcmp(a->ctx->dc, dc->name) != 0))
            say(a, SPEC_ADVICE_INTERNET, dc->pointer,
                "internet of %s counts only as seen by an agent that stands "
                "there (dc = \"%s\" in its file); here it is ignored",
                dc->name, dc->name);
    }
}

static int by_kind(const void *a, const void *b)
{
    const struct spec_advice *x = a, *y = b;

    return x->kind != y->kind ? (int)x->kind - (int)y->kind
                              : strcmp(x->text, y->text);
}

void spec_advise(const struct spec *s, const struct spec_txt *txts, size_t n,
                 const struct spec_advise_context *ctx, struct arena *arena,
                 struct spec_advice **out, size_t *nout)
{
    struct advise a = {.s = s, .ctx = ctx, .arena = arena};
    size_t kept = 0;

    advise_spelling(&a);
    advise_size(&a, txts, n);
    for (size_t i = 0; i < n; i++)
        advise_panel(&a, &txts[i]);
    for (size_t i = 0; i < s->nsets; i++) {
        advise_ttl(&a, &s->sets[i]);
        advise_single(&a, &s->sets[i]);
        advise_time(&a, &s->sets[i]);
    }
    advise_own_name(&a);
    advise_checks(&a);
    advise_dcs(&a);
    if (a.n > 0)
        qsort(a.out, a.n, sizeof *a.out, by_kind);
    *out = arena_array(arena, a.n + 1, sizeof **out);
    for (size_t i = 0; i < a.n; i++)
        if (i == 0 || by_kind(&a.out[i - 1], &a.out[i]) != 0)
            (*out)[kept++] = a.out[i];
    *nout = kept;
    free(a.out);
}
