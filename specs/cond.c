#include "specs/cond.h"

#include <stdio.h>
#include <string.h>

#include "specs/check.h"
#include "specs/scope.h"

#define ACCEPTED                                                               \
    "a scenario: the name of a check, dc or scenario, \"dc1.noWan\", "         \
    "\"auto|dc1|wanAccess\", a check in place, each with an optional leading " \
    "\"!\"; [[a,b],[c]] for (a and b) or c; {\"need\":2,\"of\":[a,b,c]}"
#define TEXT_MAX_BYTES 4096u

const char *spec_dimension_name(enum spec_dimension d)
{
    static const char *const names[] = {[SPEC_WAN] = "wanAccess",
                                        [SPEC_LAN] = "lanAccess",
                                        [SPEC_ACCESS] = "access",
                                        [SPEC_INTERNET] = "internet"};

    return (size_t)d < SPEC_NDIMENSIONS ? names[d] : "?";
}

const char *spec_dc_state_name(enum spec_dc_state s)
{
    static const char *const names[] = {[SPEC_DC_OK] = "ok",
                                        [SPEC_DC_NO_LAN] = "noLan",
                                        [SPEC_DC_NO_WAN] = "noWan",
                                        [SPEC_DC_NO_ACCESS] = "noAccess",
                                        [SPEC_DC_NO_INTERNET] = "noInternet"};

    return (size_t)s < SPEC_NDC_STATES ? names[s] : "?";
}

static int find_dc(struct spec_reader *r, const struct spec_value *v,
                   const char *name, size_t n, struct spec_cond *c)
{
    enum spec_named_kind kind;
    char text[64];

    if (n >= sizeof text)
        return spec_member_error(r, v, ACCEPTED);
    memcpy(text, name, n);
    text[n] = '\0';
    if (!spec_scope_is_name(text))
        return spec_member_error(r, v, ACCEPTED);
    if (spec_scope_find(r, v, text, 1u << SPEC_NAMED_DC, &kind, &c->ref) != 0)
        return -1;
    spec_scope_note(r, SPEC_NAMED_DC, &c->ref);
    return 0;
}

/* dc|dimension behind "auto|". */
static int read_auto(struct spec_reader *r, const struct spec_value *v,
                     const char *text, struct spec_cond *c)
{
    const char *bar = strchr(text, '|');
    size_t dc;

    if (bar == NULL)
        return spec_member_error(r, v, ACCEPTED);
    if (find_dc(r, v, text, (size_t)(bar - text), c) != 0)
        return -1;
    dc = c->ref;
    if (strcmp(bar + 1, "maintenanceMode") == 0) {
        c->kind = SPEC_COND_MAINTENANCE;
        return 0;
    }
    c->kind = SPEC_COND_DIMENSION;
    for (int d = 0; d < SPEC_NDIMENSIONS; d++) {
        if (strcmp(bar + 1, spec_dimension_name((enum spec_dimension)d)) != 0)
            continue;
        c->dimension = (enum spec_dimension)d;
        if (!spec_scope_has_dim(r, dc, c->dimension))
            return spec_member_fail(r, v,
                                    "the dc \"%.*s\" does not give \"%s\"; "
                                    "accepted: a dimension that it gives",
                                    (int)(bar - text), text, bar + 1);
        return 0;
    }
    return spec_member_error(r, v,
                             "auto|dc|dimension with wanAccess, lanAccess, "
                             "access, internet or maintenanceMode");
}

/* dc.state; dot stands in text. */
static int read_state(struct spec_reader *r, const struct spec_value *v,
                      const char *text, const char *dot, struct spec_cond *c)
{
    c->kind = SPEC_COND_DC_STATE;
    if (find_dc(r, v, text, (size_t)(dot - text), c) != 0)
        return -1;
    for (int s = 0; s < SPEC_NDC_STATES; s++) {
        if (strcmp(dot + 1, spec_dc_state_name((enum spec_dc_state)s)) == 0) {
            c->state = (enum spec_dc_state)s;
            return 0;
        }
    }
    return spec_member_error(r, v,
                             "a state behind the dc: ok, noLan, noWan, "
                             "noAccess or noInternet");
}

static int read_name(struct spec_reader *r, const struct spec_value *v,
                     const char *name, struct spec_cond *c)
{
    enum spec_named_kind kind;

    if (spec_scope_find(r, v, name, (1u << SPEC_NNAMED) - 1, &kind, &c->ref) !=
        0)
        return -1;
    spec_scope_note(r, kind, &c->ref);
    if (kind == SPEC_NAMED_DC) {
        c->kind = SPEC_COND_DC;
    } else if (kind == SPEC_NAMED_SCENARIO) {
        c->kind = SPEC_COND_SCENARIO;
        c->local = spec_scope_cond(r, c->ref)->local;
    } else {
        c->kind = SPEC_COND_CHECK;
        c->local = spec_check_is_local(spec_scope_check(r, c->ref));
    }
    return 0;
}

static int read_check(struct spec_reader *r, const struct spec_value *v,
                      const char *text, struct spec_cond *c)
{
    const struct spec_check *check;
    char out[200];

    c->kind = SPEC_COND_CHECK;
    if (spec_check_read_one(r, v, text, &r->own, &c->ref) != 0)
        return -1;
    check = spec_scope_check(r, c->ref);
    c->local = spec_check_is_local(check);
    if (c->text == NULL)
        c->text =
            arena_strdup(r->arena, spec_check_text(check, out, sizeof out));
    spec_scope_note(r, SPEC_NAMED_CHECK, &c->ref);
    return 0;
}

static int read_leaf(struct spec_reader *r, const struct spec_value *v,
                     struct spec_cond *c)
{
    const char *text, *dot;

    if (!spec_value_is_scalar(v))
        return spec_member_error(r, v, ACCEPTED);
    text = v->text;
    c->text = v->text;
    c->negate = text[0] == '!';
    text += c->negate;
    if (strncmp(text, "auto|", 5) == 0)
        return read_auto(r, v, text + 5, c);
    if (spec_scope_is_name(text) && spec_check_kind_of(text) < 0)
        return read_name(r, v, text, c);
    dot = strchr(text, '.');
    if (dot != NULL && strpbrk(text, ":/@") == NULL)
        return read_state(r, v, text, dot, c);
    if (spec_check_kind_of(text) < 0 &&
        spec_member_digits(text, 1, 65535, &(int64_t){0}) != 0)
        return spec_member_error(r, v, ACCEPTED);
    return read_check(r, v, text, c);
}

/* A text for people; what does not fit is left out. */
struct words {
    char text[TEXT_MAX_BYTES];
    size_t len;
    bool over;
};

static void add(struct words *w, const char *s)
{
    size_t n = strlen(s);

    w->over |= n > sizeof w->text - w->len;
    if (w->over)
        return;
    memcpy(w->text + w->len, s, n);
    w->len += n;
}

/* "[[a,b],[c]]" of the parts' own texts. */
static const char *join(struct spec_reader *r, const struct spec_cond *c)
{
    struct words w;

    w.len = 0;
    w.over = false;
    if (c->kind == SPEC_COND_NEED)
        w.len = (size_t)snprintf(w.text, sizeof w.text, "%u of ",
                                 (unsigned)c->need);
    add(&w, "[");
    for (size_t i = 0; i < c->n; i++) {
        bool wrap = c->kind == SPEC_COND_ANY && c->of[i].kind != SPEC_COND_ALL;

        add(&w, i == 0 ? wrap ? "[" : "" : wrap ? ",[" : ",");
        add(&w, c->of[i].text);
        add(&w, wrap ? "]" : "");
    }
    add(&w, "]");
    return arena_text(r->arena, w.text, w.len);
}

/* Reads the elements of list as parts of c; one alone stands for c. */
static int read_parts(struct spec_reader *r, const struct spec_value *list,
                      int (*read)(struct spec_reader *,
                                  const struct spec_value *,
                                  struct spec_cond *),
                      struct spec_cond *c)
{
    struct spec_cond *of;
    size_t n = 0;

    if (list->type != SPEC_VALUE_ARRAY)
        return spec_member_error(r, list, ACCEPTED);
    if (list->n == 0)
        return spec_member_fail(r, list,
                                "found an empty list; accepted: " ACCEPTED);
    if (list->n > SPEC_LIST_MAX)
        return spec_member_fail(r, list,
                                "found %zu conditions; accepted: at most %u",
                                list->n, SPEC_LIST_MAX);
    if (list->n == 1 && c->kind != SPEC_COND_NEED)
        return read(r, list->child, c);
    of = arena_array(r->arena, list->n, sizeof *of);
    for (const struct spec_value *k = list->child; k != NULL; k = k->next) {
        if (read(r, k, &of[n]) != 0)
            return -1;
        c->local |= of[n++].local;
    }
    c->of = of;
    c->n = n;
    c->text = join(r, c);
    return 0;
}

static const struct spec_member need_members[] = {
    {.name = "need",
     .kind = SPEC_MEMBER_COUNT,
     .required = true,
     .min = 1,
     .max = SPEC_LIST_MAX,
     .help = "how many of them must be true"},
    {.name = "of",
     .kind = SPEC_MEMBER_CONDS,
     .required = true,
     .help = "a list of conditions"},
};
const struct spec_table spec_cond_need = {
    .what = "a condition",
    .members = need_members,
    .n = 2,
};

static int read_part(struct spec_reader *r, const struct spec_value *v,
                     struct spec_cond *c);

static int read_need(struct spec_reader *r, const struct spec_value *v,
                     struct spec_cond *c)
{
    const struct spec_value *given[2];
    int64_t n;

    if (spec_member_collect(r, v, &spec_cond_need, given) != 0 ||
        spec_member_number(r, given[0], &need_members[0], &n) != 0)
        return -1;
    c->kind = SPEC_COND_NEED;
    c->need = (uint32_t)n;
    if (read_parts(r, given[1], read_part, c) != 0)
        return -1;
    if (n > (int64_t)c->n)
        return spec_member_error(r, given[0],
                                 "at most the number of conditions, %zu", c->n);
    return 0;
}

/* A condition, or a check object. */
static int read_part(struct spec_reader *r, const struct spec_value *v,
                     struct spec_cond *c)
{
    if (v->type != SPEC_VALUE_OBJECT)
        return read_leaf(r, v, c);
    if (spec_value_find(v, "of") != NULL)
        return read_need(r, v, c);
    return read_check(r, v, NULL, c);
}

static int read_all(struct spec_reader *r, const struct spec_value *v,
                    struct spec_cond *c)
{
    if (v->type != SPEC_VALUE_ARRAY)
        return spec_member_error(r, v,
                                 "a list of lists: [[a,b],[c]] for (a and b) "
                                 "or c");
    c->kind = SPEC_COND_ALL;
    return read_parts(r, v, read_part, c);
}

int spec_cond_read(struct spec_reader *r, const struct spec_value *v,
                   struct spec_cond *out)
{
    memset(out, 0, sizeof *out);
    if (v->type != SPEC_VALUE_ARRAY)
        return read_part(r, v, out);
    out->kind = SPEC_COND_ANY;
    if (read_parts(r, v, read_all, out) != 0)
        return -1;
    if (out->kind == SPEC_COND_ALL) /* one alone of a list of lists */
        out->text = arena_printf(r->arena, "[%s]", out->text);
    return 0;
}
