#ifndef RESOLVER_OP_H
#define RESOLVER_OP_H

#include <stdint.h>

#include "agent/base/loop.h"
#include "resolver/resolver.h"

/* What is under way in a resolver and goes with it. For this room only. */
struct op {
    void (*drop)(struct op *op); /* frees it, without its callback */
    struct op *prev, *next;
};

void op_add(struct resolver *r, struct op *op);
void op_remove(struct resolver *r, struct op *op); /* before its callback */
struct loop *op_loop(const struct resolver *r);
int64_t op_timeout_ms(const struct resolver *r);
/* Keeps what each of several servers said: "a timed out; b says SERVFAIL".
 * *all: NULL at first, heap then: thousands are under way at a time, and few
 * of them fail. */
void op_join_error(struct err **all, const struct err *e);

#endif
