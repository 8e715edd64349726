#include "providers/describe.h"

#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mdoc.h"

#define MANUAL_MAX (1u << 20)

static void add(struct describe_fact **at, const char *id, bool yes,
                const char *help)
{
    const struct describe_fact f = {.id = id, .help = help, .yes = yes};

    *(*at)++ = f;
}

static void add_number(struct describe_fact **at, const char *id,
                       long long number, const char *unit, const char *help)
{
    const struct describe_fact f = {.id = id,
                                    .help = help,
                                    .is_number = true,
                                    .number = number,
                                    .unit = unit};

    *(*at)++ = f;
}

size_t describe_facts(const struct provider_ops *ops, struct arena *a,
                      struct describe_fact **facts)
{
    const struct provider_caps *c = &ops->caps;
    struct describe_fact *at = arena_array(a, 16, sizeof *at);

    *facts = at;
    add(&at, "in-place", c->in_place_disable,
        "a withdrawn record stays where it is, switched off");
    add(&at, "creates-missing", c->creates_missing,
        "a record that is missing is added without create = yes");
    add(&at, "atomic", c->atomic, "all changes of a round are made, or none");
    add(&at, "lists-zones", c->lists_zones && ops->list_zones != NULL,
        "zone \"*\" stands for every zone of the account");
    add(&at, "lists-specs", c->lists_specs && ops->list_specs != NULL,
        "discover = provider finds the names with specs");
    add(&at, "publish", ops->write_spec != NULL,
        "publish --write can write specs");
    add_number(&at, "min-ttl", c->min_ttl_s, "s",
               "the smallest TTL that is accepted");
    add_number(&at, "txt-max", (long long)c->txt_max, "bytes",
               "the longest text of a TXT record");
    add_number(&at, "publish-time", c->publish_ms / 1000, "s",
               "from an accepted change until DNS serves it, at most");
    return (size_t)(at - *facts);
}

/* --- the manual ---------------------------------------------------------- */

static void put_env(struct buf *b, const char *env)
{
    const char *sep = "Environment:\n.Ev ";

    for (size_t n; *env != '\0'; env += n) {
        env += strspn(env, " ");
        n = strcspn(env, " ");
        buf_printf(b, "%s%.*s", sep, (int)n, env);
        sep = " ,\n.Ev ";
    }
    buf_str(b, " .\n");
}

static void put_option(struct buf *b, const struct config_field *f)
{
    buf_printf(b, ".It Cm %s\n", f->name);
    mdoc_sentence(b, f->help != NULL ? f->help : f->name);
    if (f->required)
        buf_str(b, "Required.\n");
    if (f->dflt != NULL && f->dflt[0] != '\0') {
        buf_str(b, "Default:\n.Ql ");
        mdoc_text(b, f->dflt);
        buf_str(b, " .\n");
    }
    if (f->env != NULL && f->env[0] != '\0')
        put_env(b, f->env);
}

char *describe_manual(const struct provider_ops *ops)
{
    struct describe_fact *facts;
    struct arena *a = arena_new();
    size_t n = describe_facts(ops, a, &facts);
    struct buf b;

    buf_init(&b, MANUAL_MAX);
    buf_str(&b, ".Bl -tag -width Ds\n");
    for (const struct config_field *f = ops->fields; f->name != NULL; f++)
        put_option(&b, f);
    buf_str(&b, ".El\n.Pp\nWhat it can:\n.Bl -bullet -compact\n");
    for (size_t i = 0; i < n; i++) {
        if (facts[i].is_number ? facts[i].number == 0 : !facts[i].yes)
            continue;
        buf_str(&b, ".It\n");
        mdoc_text(&b, facts[i].help);
        if (facts[i].is_number)
            buf_printf(&b, ": %lld %s", facts[i].number, facts[i].unit);
        buf_str(&b, "\n");
    }
    buf_str(&b, ".El\n");
    arena_free(a);
    return buf_take(&b);
}
