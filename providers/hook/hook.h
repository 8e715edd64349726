#ifndef PROVIDERS_HOOK_HOOK_H
#define PROVIDERS_HOOK_HOOK_H

#include <cjson/cJSON.h>

#include "agent/base/mem.h"
#include "providers/hook/hook_command.h"
#include "providers/provider.h"

/* A command of the site's own: each request goes to its standard input as one
 * JSON object, its answer comes from its standard output as another.
 *
 *   hook.c          options, an instance's life
 *   hook_command.c  what is run, and where
 *   hook_request.c  requests as JSON
 *   hook_call.c     one run of the command
 *   hook_answer.c   answers, read strictly
 *   hook_plan.c     what a change set comes to, given what is there
 *   hook_list.c, hook_apply.c, hook_spec.c, hook_check.c: the operations
 *
 * source: "THE HOOK'S REQUESTS" in dnsfailover.conf(5) */

#define HOOK_VERSION 1
#define HOOK_REQUEST_MAX ((size_t)4 << 20)
#define HOOK_ANSWER_MAX ((size_t)4 << 20)

enum hook_request {
    HOOK_CAPABILITIES,
    HOOK_LIST_ZONES,
    HOOK_LIST_SPECS,
    HOOK_LIST_RECORDS,
    HOOK_APPLY,
    HOOK_WRITE_SPEC,
};
/* "list-zones", … */
const char *hook_request_name(enum hook_request r);

struct hook {
    struct provider base;
    struct provider_ops ops; /* base.ops: what this command can do */
    struct provider_env env;
    const struct doer *doer;
    char *name;
    struct hook_command command;
    bool answers[HOOK_WRITE_SPEC + 1]; /* by enum hook_request */
    int running;                       /* calls under way */
    provider_close_cb *close_cb;
    void *close_arg;
};
void hook_enter(struct hook *h);
void hook_leave(struct hook *h);

/* ---- requests (hook_request.c) ------------------------------------------- */

/* One set that changes, as a whole: what the request says beside the single
 * changes, for commands that write sets. */
struct hook_set {
    const char *name; /* canonical */
    enum rr_type type;
    size_t number;           /* of the changes of it that come first */
    int64_t ttl_s;           /* to give it; -1: as it is */
    const char *const *from; /* enabled values now, and afterwards */
    const char *const *to;
    size_t nfrom, nto;
};
/* The JSON of a request, in arena a; NULL with e set: ERR_LIMIT (longer than
 * HOOK_REQUEST_MAX), ERR_INPUT (a text with a NUL byte).
 * zone NULL: none */
const char *hook_ask(enum hook_request r, const char *zone, struct arena *a,
                     struct err *e);
const char *hook_ask_records(const char *zone, const char *const *names,
                             size_t n, struct arena *a, struct err *e);
/* open: which of the changes are asked for; the rest is left out */
const char *hook_ask_apply(const struct change_set *set, const bool *open,
                           const struct hook_set *sets, size_t nsets,
                           struct arena *a, struct err *e);
const char *hook_ask_spec(const struct spec_write *w, struct arena *a,
                          struct err *e);

/* ---- one run (hook_call.c) ----------------------------------------------- */

struct hook_reply {
    struct err err;    /* ERR_NONE: text is its answer, and it ended with 0;
                          what the answer's own error says; else what became of
                          the command */
    bool is_refused;   /* err is the answer's own: nothing was changed */
    bool is_started;   /* false: it was not run, so nothing was changed */
    const cJSON *root; /* the answer, an object; NULL: none; borrowed */
};
typedef void hook_reply_cb(void *arg, const struct hook_reply *r);
/* Runs the command with text (of hook_ask…) and calls back once, later. */
void hook_call(struct hook *h, const char *text, hook_reply_cb *cb, void *arg);

/* ---- answers (hook_answer.c) --------------------------------------------- */

/* All return 0, or -1 with e set; a message begins with the place:
 * "records[3].ttl: …". ERR_RETRY: not what was agreed on */

/* One JSON object with "version": 1, and the error it may hold.
 * out: *root — by cJSON_Delete; *own — e is the answer's own error */
MUST_CHECK int hook_answer_parse(const char *text, size_t len, cJSON **root,
                                 bool *own, struct err *e);
struct hook_serial {
    bool has;
    uint32_t serial;
};
MUST_CHECK int hook_answer_serial(const cJSON *root, struct hook_serial *out,
                                  struct err *e);
/* Sets of names (all of them: n 0) in zone, A, AAAA and CNAME. */
MUST_CHECK int hook_answer_records(const cJSON *root, const char *zone,
                                   const char *const *names, size_t n,
                                   struct rrset_list *out, struct err *e);
MUST_CHECK int hook_answer_zones(const cJSON *root, struct arena *a,
                                 const char *const **names, size_t *n,
                                 struct err *e);
MUST_CHECK int hook_answer_specs(const cJSON *root, const char *zone,
                                 struct arena *a, struct provider_spec **specs,
                                 size_t *n, struct err *e);
/* Exactly n results, in the order of the changes asked for. */
MUST_CHECK int hook_answer_results(const cJSON *root, size_t n,
                                   struct change_result *out, struct err *e);
MUST_CHECK int hook_answer_written(const cJSON *root, bool *changed,
                                   struct err *e);

/* ---- the plan (hook_plan.c) ---------------------------------------------- */

struct hook_plan {
    bool *open; /* per change: to be asked for */
    size_t nopen;
    struct hook_set *sets; /* of the open changes */
    size_t nsets;
};
/* out: *p — in a; results: of the changes that need no request: DONE, FAILED
 * (switches: a value that is not held and must not be created), SKIPPED */
void hook_plan_make(const struct change_set *set, const struct rrset_list *have,
                    bool may_add, struct arena *a, struct hook_plan *p,
                    struct change_result *results);
/* The change's value is there, or not there, as it is to be. */
bool hook_plan_is_so(const struct change *c, const struct rrset_list *have);

/* ---- operations ---------------------------------------------------------- */

void hook_list_zones(struct provider *p, provider_names_cb *cb, void *arg);
void hook_list_specs(struct provider *p, const char *zone,
                     provider_specs_cb *cb, void *arg);
void hook_list_records(struct provider *p, const char *zone,
                       const char *const *names, size_t n,
                       provider_records_cb *cb, void *arg);
void hook_apply(struct provider *p, const struct change_set *set,
                provider_apply_cb *cb, void *arg);
void hook_write_spec(struct provider *p, const struct spec_write *w,
                     provider_written_cb *cb, void *arg);
void hook_check(struct provider *p, const char *zone, provider_check_cb *cb,
                void *arg);

#endif
