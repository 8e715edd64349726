#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/base/name.h"
#include "resolver/op.h"
#include "resolver/resolver.h"

#define PREFIX "_failover."

/* One owner's TXT: the servers in turn until one does not fail. */
struct find {
    struct op op; /* first */
    struct resolver *resolver;
    struct addr *servers;
    size_t nservers, next;
    char owner[NAME_SIZE];
    char name[NAME_SIZE + sizeof PREFIX];
    struct err *err; /* as in struct lookup */
    struct loop_timer *timer;
    resolver_txt_cb *cb;
    void *arg;
};

static void free_find(struct op *op)
{
    struct find *f = (struct find *)op;

    loop_timer_cancel(f->timer);
    free(f->servers);
    free(f->err);
    free(f);
}

static void finish(struct find *f, struct resolver_txt *t)
{
    t->owner = f->owner;
    op_remove(f->resolver, &f->op);
    f->cb(f->arg, t);
    free_find(&f->op);
}

static void fail(void *arg)
{
    struct find *f = arg;
    struct resolver_txt t = {.outcome = RESOLVER_FAILED};

    f->timer = NULL;
    t.err = *f->err;
    finish(f, &t);
}

static void on_answer(void *arg, const struct resolver_answer *a);

static void ask_next(struct find *f)
{
    resolver_ask(f->resolver, &f->servers[f->next++], f->name, MESSAGE_TXT,
                 on_answer, f);
}

static void on_answer(void *arg, const struct resolver_answer *a)
{
    struct find *f = arg;
    struct resolver_txt t;

    if (a->outcome == RESOLVER_FAILED) {
        op_join_error(&f->err, &a->err);
        if (f->next < f->nservers)
            ask_next(f);
        else
            fail(f);
        return;
    }
    t.outcome = a->outcome;
    t.server = a->server;
    t.err = a->err;
    t.txts = NULL;
    t.ntxts = 0;
    t.ttl_s = 0;
    if (a->outcome == RESOLVER_FOUND)
        t.txts = message_txts(a->message, f->name, &t.ntxts);
    for (size_t i = 0; i < t.ntxts; i++)
        if (i == 0 || t.txts[i].ttl_s < t.ttl_s)
            t.ttl_s = t.txts[i].ttl_s;
    finish(f, &t);
}

/* owner's _failover name, canonical. returns 0, or -1 with e set */
static int make_name(struct find *f, const char *owner, struct err *e)
{
    char canon[NAME_SIZE];

    if (name_canon(owner, f->owner, e) != 0)
        return -1;
    (void)snprintf(f->name, sizeof f->name, PREFIX "%s",
                   strcmp(f->owner, ".") == 0 ? "" : f->owner);
    return name_canon(f->name, canon, e);
}

static int prepare(struct find *f, const char *owner, struct err *e)
{
    if (make_name(f, owner, e) != 0)
        return -1;
    return f->nservers > 0
               ? 0
               : err_set(e, ERR_RETRY,
                         "no name server to ask for %.300s is known", f->name);
}

void resolver_find_txt(struct resolver *r, const struct addr *servers,
                       size_t nservers, const char *owner, resolver_txt_cb *cb,
                       void *arg)
{
    struct find *f = mem_alloc(sizeof *f);
    struct err e;

    f->op.drop = free_find;
    f->resolver = r;
    f->servers = mem_array(nservers, sizeof *servers);
    if (nservers > 0)
        memcpy(f->servers, servers, nservers * sizeof *servers);
    f->nservers = nservers;
    f->cb = cb;
    f->arg = arg;
    op_add(r, &f->op);
    if (prepare(f, owner, &e) == 0) {
        ask_next(f);
        return;
    }
    op_join_error(&f->err, &e);
    f->timer = loop_timer_start(op_loop(r), 0, fail, f);
}
