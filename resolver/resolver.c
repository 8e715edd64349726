#include "resolver/resolver.h"

#define CARES_NO_DEPRECATED
#include <ares.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/channel.h"
#include "resolver/op.h"
#include "resolver/outcome.h"
#include "resolver/pool.h"

#define TIMEOUT_MS 2000
#define TRIES 2
#define DNS_PORT 53

struct resolver {
    struct loop *loop;
    struct pool *pool;
    struct addr *servers; /* recursive ones */
    size_t nservers;
    struct err no_servers; /* why there is none; told by each lookup */
    int64_t timeout_ms;
    struct op *ops;
};

/* One resolver_ask or resolver_lookup. */
struct lookup {
    struct op op; /* first */
    struct resolver *resolver;
    char name[NAME_SIZE];
    struct outcome_question question;
    struct addr server;
    size_t next;              /* of the recursive servers */
    struct loop_timer *timer; /* the answer "no server" */
    struct err *err; /* what those asked so far said; NULL: nothing bad */
    resolver_cb *cb;
    void *arg;
};

/* --- life ---------------------------------------------------------------- */

static void copy_servers(struct resolver *r, const struct resolver_options *o)
{
    if (o == NULL || o->nservers == 0) {
        if (channel_resolv_conf(&r->servers, &r->nservers, &r->no_servers) != 0)
            r->nservers = 0;
        return;
    }
    r->servers = mem_array(o->nservers, sizeof *r->servers);
    r->nservers = o->nservers;
    for (size_t i = 0; i < o->nservers; i++) {
        r->servers[i] = o->servers[i];
        if (r->servers[i].port == 0)
            r->servers[i].port = DNS_PORT;
    }
}

int resolver_new(struct loop *l, const struct resolver_options *o,
                 struct resolver **out, struct err *e)
{
    struct resolver *r;
    int status = ares_library_init(ARES_LIB_INIT_ALL);

    *out = NULL;
    if (status != ARES_SUCCESS)
        return err_set(e, ERR_LOCAL, "c-ares: %s", ares_strerror(status));
    r = mem_alloc(sizeof *r);
    r->loop = l;
    r->timeout_ms = o != NULL && o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS;
    r->pool = pool_new(l, r->timeout_ms,
                       o != NULL && o->tries > 0 ? o->tries : TRIES);
    copy_servers(r, o);
    *out = r;
    return 0;
}

void resolver_free(struct resolver *r)
{
    if (r == NULL)
        return;
    pool_free(r->pool); /* first: it calls nobody any more */
    while (r->ops != NULL) {
        struct op *op = r->ops;

        DL_DELETE(r->ops, op);
        op->drop(op);
    }
    free(r->servers);
    free(r);
    ares_library_cleanup();
}

void op_add(struct resolver *r, struct op *op)
{
    DL_APPEND(r->ops, op);
}

void op_remove(struct resolver *r, struct op *op)
{
    DL_DELETE(r->ops, op);
}

struct loop *op_loop(const struct resolver *r)
{
    return r->loop;
}

void op_join_error(struct err **all, const struct err *e)
{
    struct err *old = *all;

    *all = mem_alloc(sizeof **all);
    if (old == NULL)
        **all = *e;
    else
        (void)err_set(*all, e->code, "%.500s; %.500s", old->msg, e->msg);
    free(old);
}

int64_t op_timeout_ms(const struct resolver *r)
{
    return r->timeout_ms;
}

/* --- one question -------------------------------------------------------- */

static void drop_lookup(struct op *op)
{
    struct lookup *l = (struct lookup *)op;

    loop_timer_cancel(l->timer);
    free(l->err);
    free(l);
}

static void on_answer(void *arg, struct message *m, const struct err *e);

static struct lookup *new_lookup(struct resolver *r, const char *name,
                                 uint16_t type, resolver_cb *cb, void *arg)
{
    struct lookup *l = mem_alloc(sizeof *l);

    l->op.drop = drop_lookup;
    l->resolver = r;
    /* A name that is none is refused by the pool, later. */
    if (name_canon(name, l->name, NULL) != 0)
        (void)snprintf(l->name, sizeof l->name, "%s", name);
    l->question.name = l->name;
    l->question.type = type;
    l->cb = cb;
    l->arg = arg;
    op_add(r, &l->op);
    return l;
}

static void ask(struct lookup *l)
{
    struct pool_question q = {0};

    q.name = l->name;
    q.type = l->question.type;
    q.rd = q.ad = !l->question.authoritative;
    pool_ask(l->resolver->pool, &l->server, &q, on_answer, l);
}

static bool ask_next(struct lookup *l)
{
    struct resolver *r = l->resolver;

    if (l->question.authoritative || l->next >= r->nservers)
        return false;
    l->server = r->servers[l->next++];
    ask(l);
    return true;
}

static void on_answer(void *arg, struct message *m, const struct err *e)
{
    struct lookup *l = arg;
    struct resolver_answer a;
    const struct err *why = e;

    a.outcome = RESOLVER_FAILED;
    a.err.code = ERR_NONE;
    a.err.msg[0] = '\0';
    if (m != NULL) {
        a.outcome = outcome_judge(m, &l->question, &l->server, &a.err);
        why = &a.err;
    }
    if (a.outcome == RESOLVER_FAILED) {
        op_join_error(&l->err, why);
        if (ask_next(l))
            return;
        a.err = *l->err;
    }
    a.message = m;
    a.server = l->server;
    op_remove(l->resolver, &l->op);
    l->cb(l->arg, &a);
    drop_lookup(&l->op);
}

void resolver_ask(struct resolver *r, const struct addr *server,
                  const char *name, uint16_t type, resolver_cb *cb, void *arg)
{
    struct lookup *l = new_lookup(r, name, type, cb, arg);

    l->question.authoritative = true;
    l->server = *server;
    if (l->server.port == 0)
        l->server.port = DNS_PORT;
    ask(l);
}

static void on_no_server(void *arg)
{
    struct lookup *l = arg;

    l->timer = NULL;
    on_answer(l, NULL, &l->resolver->no_servers);
}

const struct addr *resolver_servers(const struct resolver *r, size_t *n)
{
    *n = r->nservers;
    return r->servers;
}

void resolver_lookup(struct resolver *r, const char *name, uint16_t type,
                     bool want_ad, resolver_cb *cb, void *arg)
{
    struct lookup *l = new_lookup(r, name, type, cb, arg);

    l->question.want_ad = want_ad;
    if (!ask_next(l))
        l->timer = loop_timer_start(r->loop, 0, on_no_server, l);
}
