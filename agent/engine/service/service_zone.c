#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "agent/base/clock.h"
#include "agent/engine/service/service_internal.h"
#include "agent/engine/state/state_zone.h"

/* A zone's specs: read when a serial changes, when their TTL is over, or when
 * the operator asks for it, beside the epoch that is at work.
 *
 *   REST ──due──▶ SERVERS ──▶ LISTS ──▶ TEXTS ──same as now──▶ REST
 *    ▲                │failed             │changed
 *    └────────────────┴──────────◀── READY (the zone's work rests: swap) */

#define TTL_LEAST_MS 5000
#define TTL_MOST_MS 3600000
#define SERIAL_LEAST_MS 1000
#define SERIAL_MOST_MS 30000
#define FULL_EVERY_MS 3600000
#define FAILED_FIRST_MS 5000
#define FAILED_MOST_MS 60000
#define OPEN_AGAIN_MS 20000 /* a text that could not be read */

static int64_t clamp(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* --- zones ---------------------------------------------------------------- */

struct service_zone *service_zone_find(struct service *svc, const char *name)
{
    struct service_zone *z;

    DL_FOREACH2(svc->zones, z, next_zone)
    {
        if (name_equal(z->name, name))
            return z;
    }
    return NULL;
}

struct service_zone *service_zone_get(struct service *svc, const char *name)
{
    struct service_zone *z = service_zone_find(svc, name);

    if (z != NULL)
        return z;
    z = mem_alloc(sizeof *z);
    z->svc = svc;
    (void)snprintf(z->name, sizeof z->name, "%s", name);
    z->serial_every_ms = SERIAL_MOST_MS;
    z->refresh_at_ms = z->serial_at_ms = z->step_at_ms = SERVICE_NEVER;
    z->look_at_ms = z->observe_at_ms = SERVICE_NEVER;
    DL_APPEND2(svc->zones, z, prev, next_zone);
    return z;
}

void service_zone_free(struct service_zone *z)
{
    struct service *svc = z->svc;
    struct service_epoch *e = z->now;

    DL_DELETE2(svc->zones, z, prev, next_zone);
    service_serial_drop(z);
    if (z->next != NULL)
        service_epoch_unref(z->next);
    if (e != NULL) {
        z->now = NULL;
        service_probe_remove(e);
        service_gen_zones(e->gen);
        service_epoch_unref(e);
    }
    service_round_fini(&z->work_round);
    service_round_fini(&z->look_round);
    free(z);
}

static void leave(struct service_zone *z)
{
    struct service *svc = z->svc;
    char name[NAME_SIZE];

    memcpy(name, z->name, sizeof name);
    round_note(&svc->gen->round, name,
               "%s is no longer in the configuration: not managed any more; "
               "its records stay as they stand",
               name);
    service_zone_free(z);
    service_problem_leave(svc, name);
    state_zone_leave(svc->state, name);
    service_changed(svc);
}

/* --- epochs --------------------------------------------------------------- */

static struct service_epoch *epoch_new(struct service_zone *z)
{
    struct service_epoch *e = mem_alloc(sizeof *e);

    e->gen = z->gen;
    e->gen->refs++;
    e->zone = z;
    e->refs = 1;
    service_round_init(z->gen, &e->round);
    e->round.checks = checks_new(z->svc->state);
    e->cfg = *z->cfg;
    if (!z->was_full)
        e->cfg.discover = DISCOVER_NAMES;
    e->rz = round_add_zone(&e->round, &e->cfg, z->name);
    return e;
}

static void epoch_free(struct service_epoch *e)
{
    struct round_zone *rz = e->rz;

    live_free(rz->live);
    round_zone_fini(rz);
    checks_free(e->round.checks);
    service_round_fini(&e->round);
    service_gen_unref(e->gen);
    free(e);
}

void service_epoch_unref(struct service_epoch *e)
{
    if (--e->refs == 0)
        epoch_free(e);
}

static EVP_MD_CTX *digest_begin(void)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();

    if (md == NULL || EVP_DigestInit_ex(md, EVP_sha256(), NULL) != 1)
        abort(); /* out of memory, as mem.h */
    return md;
}

/* The servers, and the names of the zone's NS set. */
static void digest_end(EVP_MD_CTX *md, const struct round_zone *rz,
                       unsigned char out[32])
{
    for (size_t i = 0; i < rz->nns_names; i++)
        (void)EVP_DigestUpdate(md, rz->ns_names[i],
                               strlen(rz->ns_names[i]) + 1);
    for (size_t i = 0; i < rz->nservers; i++) {
        char text[ADDR_TEXT_SIZE];

        (void)addr_format_port(&rz->servers[i], text);
        (void)EVP_DigestUpdate(md, text, strlen(text) + 1);
    }
    (void)EVP_DigestFinal_ex(md, out, NULL);
    EVP_MD_CTX_free(md);
}

/* What the world is made of. */
static void print_epoch(struct service_epoch *e)
{
    const struct round_zone *rz = e->rz;
    EVP_MD_CTX *md = digest_begin();

    for (size_t i = 0; i < rz->nowners; i++) {
        const struct round_owner *o = rz->owners[i];

        if (o->spec == NULL || o->row == NULL)
            continue;
        (void)EVP_DigestUpdate(md, o->name, strlen(o->name) + 1);
        (void)EVP_DigestUpdate(md, o->row->print, sizeof o->row->print);
    }
    digest_end(md, rz, e->print);
}

/* What was read, before anything is made of it. */
static void print_raw(struct service_epoch *e)
{
    const struct round_zone *rz = e->rz;
    EVP_MD_CTX *md = digest_begin();

    for (size_t i = 0; i < rz->nowners; i++) {
        const struct round_owner *o = rz->owners[i];

        (void)EVP_DigestUpdate(md, o->name, strlen(o->name) + 1);
        (void)EVP_DigestUpdate(md, &o->ntxts, sizeof o->ntxts);
        for (size_t k = 0; k < o->ntxts; k++) {
            const struct spec_txt *x = &o->txts[k];

            (void)EVP_DigestUpdate(md, &x->nstrings, sizeof x->nstrings);
            for (size_t s = 0; s < x->nstrings; s++) {
                (void)EVP_DigestUpdate(md, &x->strings[s].len, sizeof(size_t));
                (void)EVP_DigestUpdate(md, x->strings[s].data,
                                       x->strings[s].len);
            }
        }
    }
    digest_end(md, rz, e->raw);
}

/* All texts are there and as they were, and there was nothing to be told of
 * them: the specs would be the same, so they are not made a second time. */
static bool is_as_before(const struct service_zone *z)
{
    const struct service_epoch *e = z->next, *now = z->now;

    if (now == NULL || now->gen != z->gen || !now->clean ||
        memcmp(now->raw, e->raw, sizeof e->raw) != 0)
        return false;
    for (size_t i = 0; i < e->rz->nowners; i++) {
        const struct round_owner *o = e->rz->owners[i];
        bool is_none = o->outcome == RESOLVER_GONE && o->row == NULL;

        if (!is_none && (o->outcome != RESOLVER_FOUND || o->row == NULL ||
                         !o->row->good || o->row->stale != NULL))
            return false;
    }
    return true;
}

static void keep_owners(const struct service_epoch *e)
{
    for (size_t i = 0; i < e->rz->nowners; i++) {
        struct state_spec *row = e->rz->owners[i]->row;

        if (row == NULL)
            continue;
        row->used = true;
        row->good_wall_ms = clock_wall_ms();
        row->gone_ms = 0;
    }
}

static void measure(struct service_epoch *e)
{
    const struct round_zone *rz = e->rz;

    e->ttl_ms = TTL_MOST_MS;
    for (size_t i = 0; i < rz->nowners; i++) {
        const struct round_owner *o = rz->owners[i];
        int64_t ttl_ms = (int64_t)o->ttl_s * 1000;

        if (o->outcome == RESOLVER_FOUND && ttl_ms < e->ttl_ms)
            e->ttl_ms = ttl_ms;
        e->open = e->open || (o->outcome == RESOLVER_FAILED && o->sent) ||
                  (o->row != NULL && o->row->gone_ms != 0);
    }
}

/* --- reading -------------------------------------------------------------- */

static void rest(struct service_zone *z)
{
    if (z->next != NULL)
        service_epoch_unref(z->next);
    z->next = NULL;
    z->refresh = SERVICE_REST;
}

static void begin(struct service_zone *z, int64_t now_ms)
{
    z->was_full = z->now == NULL || z->full || z->now->gen != z->gen ||
                  now_ms >= z->full_at_ms ||
                  service_problem_stands(z, SERVICE_PROBLEM_READ);
    z->refresh_now = z->full = false;
    z->refresh_at_ms = SERVICE_NEVER;
    service_problem_begin(z, SERVICE_PROBLEM_READ);
    z->next = epoch_new(z);
    z->refresh = SERVICE_SERVERS;
    round_find_servers(&z->next->round);
}

static void failed(struct service_zone *z, int64_t now_ms)
{
    service_problem_end(z, SERVICE_PROBLEM_READ);
    rest(z);
    z->full = true;
    z->failed_ms = clamp(2 * z->failed_ms, FAILED_FIRST_MS, FAILED_MOST_MS);
    z->refresh_at_ms = now_ms + z->failed_ms;
    service_changed(z->svc);
}

static void take_times(struct service_zone *z, int64_t now_ms)
{
    const struct service_epoch *e = z->next;

    z->failed_ms = 0;
    z->refresh_at_ms =
        now_ms +
        (e->open ? OPEN_AGAIN_MS : clamp(e->ttl_ms, TTL_LEAST_MS, TTL_MOST_MS));
    z->serial_every_ms = clamp(e->ttl_ms, SERIAL_LEAST_MS, SERIAL_MOST_MS);
    z->serial_at_ms = now_ms + z->serial_every_ms;
    if (z->was_full)
        z->full_at_ms = now_ms + FULL_EVERY_MS;
    /* Others' hands are seen where reading costs nothing, or the serial says
     * that something has changed. */
    if (e->rz->provider->ops->caps.local || z->was_full)
        z->observe_at_ms = now_ms;
}

static void finish_reading(struct service_zone *z, int64_t now_ms)
{
    struct service_epoch *e = z->next;

    print_raw(e);
    if (is_as_before(z)) {
        keep_owners(e);
        service_problem_end(z, SERVICE_PROBLEM_READ);
        measure(e);
        take_times(z, now_ms);
        rest(z);
        mem_trim();
        return;
    }
    round_read_specs(&e->round);
    service_problem_end(z, SERVICE_PROBLEM_READ);
    e->clean = !service_problem_stands(z, SERVICE_PROBLEM_READ);
    service_changed(z->svc);
    print_epoch(e);
    measure(e);
    take_times(z, now_ms);
    if (z->now != NULL && z->now->gen == z->gen &&
        memcmp(z->now->print, e->print, sizeof e->print) == 0)
        rest(z);
    else
        z->refresh = SERVICE_READY;
}

static bool same_servers(const struct round_zone *a, const struct round_zone *b)
{
    if (a->nservers != b->nservers)
        return false;
    for (size_t i = 0; i < a->nservers; i++)
        if (!addr_equal(&a->servers[i], &b->servers[i]) ||
            a->servers[i].port != b->servers[i].port)
            return false;
    return true;
}

static void forget_serials(struct service_zone *z)
{
    memset(z->serial_known, 0, sizeof z->serial_known);
    z->serial_at_ms = 0;
}

static void swap(struct service_zone *z)
{
    struct service_epoch *e = z->next, *old = z->now;
    const struct spec *apex = e->rz->apex->spec;

    e->debounce_ms = apex != NULL && apex->top->debounce_ms >= 0
                         ? apex->top->debounce_ms
                         : LIVE_DEBOUNCE_MS;
    if (old != NULL)
        world_save(old->rz->world);
    state_zone_unmark(z->svc->state, z->name);
    service_problem_begin(z, SERVICE_PROBLEM_BUILD);
    round_build(&e->round);
    service_problem_end(z, SERVICE_PROBLEM_BUILD);
    state_zone_sweep(z->svc->state, z->name);
    e->built = true;
    service_probe_add(e);
    z->now = e;
    z->next = NULL;
    z->refresh = SERVICE_REST;
    z->backoff_ms = z->retry_at_ms = 0;
    if (old == NULL || !same_servers(old->rz, e->rz))
        forget_serials(z);
    service_gen_zones(e->gen);
    if (old != NULL) {
        service_probe_remove(old);
        service_gen_zones(old->gen);
        service_epoch_unref(old);
    }
    mem_trim();
    service_work_begin(z);
    service_changed(z->svc);
}

static void turn_reading(struct service_zone *z, int64_t now_ms)
{
    if (z->next->round.waiting > 0)
        return;
    switch (z->refresh) {
    case SERVICE_SERVERS:
        round_check_servers(&z->next->round);
        if (z->next->rz->failed) {
            failed(z, now_ms);
            return;
        }
        z->refresh = SERVICE_LISTS;
        round_discover_lists(&z->next->round);
        break;
    case SERVICE_LISTS:
        z->refresh = SERVICE_TEXTS;
        round_discover_rest(&z->next->round);
        break;
    case SERVICE_TEXTS:
        finish_reading(z, now_ms);
        break;
    case SERVICE_READY:
        if (service_work_rests(z))
            swap(z);
        break;
    case SERVICE_REST:
        break;
    }
}

/* --- the turn ------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void turn_times(struct service_zone *z, int64_t now_ms, int64_t *next_ms)
{
    if (z->leaving || z->svc->stop > 0)
        return;
    if (z->refresh == SERVICE_REST &&
        (z->refresh_now || now_ms >= z->refresh_at_ms))
        begin(z, now_ms);
    if (z->now != NULL && now_ms >= z->serial_at_ms && z->asking == NULL) {
        z->serial_at_ms = now_ms + z->serial_every_ms;
        service_serial_ask(z);
    }
    if (z->refresh == SERVICE_REST)
        *next_ms = earlier(*next_ms, z->refresh_at_ms);
    if (z->now != NULL)
        *next_ms = earlier(*next_ms, z->serial_at_ms);
}

void service_zone_turn(struct service_zone *z, int64_t now_ms, int64_t *next_ms)
{
    if (z->leaving && service_work_rests(z) &&
        (z->next == NULL || z->next->round.waiting == 0)) {
        leave(z);
        return;
    }
    turn_times(z, now_ms, next_ms);
    /* A stage that has nobody to ask is over at once. */
    for (int i = 0; i < SERVICE_READY && z->refresh != SERVICE_REST; i++)
        turn_reading(z, now_ms);
    if (z->now != NULL)
        service_work_turn(z, now_ms, next_ms);
}
