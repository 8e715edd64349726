#include <string.h>

#include "providers/rfc2136/rfc2136.h"

/* What the server holds and what it said, put together. */

static void end(struct rfc2136_edit_set *s, enum change_state state,
                const struct err *e)
{
    s->state = RFC2136_SET_OVER;
    s->result.state = state;
    if (e != NULL)
        s->result.err = *e;
}

/* Accepted, and the set is not so. source: RFC 2136 3.4.2.2 */
static void end_ignored(struct rfc2136_edit_set *s)
{
    struct err e;

    if (s->now.cname != NULL)
        (void)err_set(&e, ERR_INPUT,
                      "%s %s: the name is a CNAME, and servers ignore what "
                      "would stand beside it",
                      s->now.name, rr_type_name(s->now.type));
    else if (s->now.type == RR_CNAME && s->want.n > 0 && s->now.n == 0)
        (void)err_set(&e, ERR_INPUT,
                      "%s CNAME: the name has other records, and servers "
                      "ignore a CNAME beside them",
                      s->now.name);
    else
        (void)err_set(&e, ERR_CONFLICT,
                      "%s %s: the server took the update and does not show it",
                      s->now.name, rr_type_name(s->now.type));
    end(s, CHANGE_FAILED, &e);
}

static void end_checked(struct rfc2136_edit_set *s)
{
    switch (s->verdict) {
    case RFC2136_DONE:
        if (s->now.cname != NULL || ++s->looks > RFC2136_LOOKS_MAX)
            end_ignored(s);
        break;
    case RFC2136_LOST:
    case RFC2136_DISBELIEVED:
        end(s, CHANGE_UNKNOWN, &s->why);
        break;
    default:
        end(s, CHANGE_FAILED, &s->why);
    }
}

void rfc2136_settle(const struct rfc2136_edit_order *o, size_t i,
                    const struct rfc2136_soa *soa)
{
    struct rfc2136_edit_set *s = &o->sets[i];
    bool same;

    if (s->now.err.code != ERR_NONE) {
        end(s, CHANGE_FAILED, &s->now.err);
        return;
    }
    s->want = (struct rfc2136_set){.name = s->now.name, .type = s->now.type};
    if (o->want(o->arg, i, &s->now, soa, o->arena, &s->want, &s->result.err) !=
        0) {
        end(s, CHANGE_FAILED, NULL);
        return;
    }
    same = rfc2136_set_equal(&s->now, &s->want);
    /* A server may keep TTLs to its own limits. */
    if (same && s->now.n > 0 && s->now.ttl_s != s->want.ttl_s)
        same = s->state == RFC2136_SET_CHECK && s->verdict == RFC2136_DONE;
    if (same && s->is_fresh)
        end(s, CHANGE_DONE, NULL);
    else if (s->state == RFC2136_SET_CHECK)
        end_checked(s);
    else
        s->state = same ? RFC2136_SET_READ : RFC2136_SET_SEND;
}
