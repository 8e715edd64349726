#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "specs/check.h"
#include "specs/schema.h"
#include "specs/tables.h"

#define SCHEMA_MAX (1u << 20)
#define COUNT_PATTERN "^(0|[1-9][0-9]*)$"
#define DURATION_PATTERN "^[0-9]+([.][0-9]+)?(ms|s|m|h)?$"
#define SET_PATTERN "^[^ |]+[ |](A|AAAA|CNAME)([ |][A-Za-z0-9._:/-]{1,63})?$"

static void open(struct spec_printer *p)
{
    spec_print_open(p, '{');
}

static void close(struct spec_printer *p)
{
    spec_print_close(p, '}');
}

static void text(struct spec_printer *p, const char *key, const char *value)
{
    spec_print_key(p, NULL, key);
    spec_print_string(p, NULL, value);
}

static void raw(struct spec_printer *p, const char *key, const char *value)
{
    spec_print_key(p, NULL, key);
    spec_print_raw(p, value);
}

static void ref_key(struct spec_printer *p, const char *name)
{
    char path[64];

    (void)snprintf(path, sizeof path, "#/$defs/%s", name);
    text(p, "$ref", path);
}

static void ref(struct spec_printer *p, const char *name)
{
    open(p);
    ref_key(p, name);
    close(p);
}

static void open_any(struct spec_printer *p)
{
    spec_print_key(p, NULL, "anyOf");
    spec_print_open(p, '[');
}

static void close_any(struct spec_printer *p)
{
    spec_print_close(p, ']');
}

static void pattern(struct spec_printer *p, const char *regex)
{
    open(p);
    text(p, "type", "string");
    text(p, "pattern", regex);
    close(p);
}

/* A number of the member's unit; per: of it in one of JSON's. */
static void limits(struct spec_printer *p, const struct spec_member *m,
                   const char *type, int64_t per)
{
    const char *const keys[] = {"minimum", "maximum"};
    const int64_t values[] = {m->min, m->max};
    char n[48];

    open(p);
    text(p, "type", type);
    for (size_t i = 0; i < 2; i++) {
        if (values[i] % per == 0)
            (void)snprintf(n, sizeof n, "%" PRId64, values[i] / per);
        else
            (void)snprintf(n, sizeof n, "%" PRId64 ".%03" PRId64,
                           values[i] / per, values[i] % per);
        raw(p, keys[i], n);
    }
    close(p);
}

static void numbers(struct spec_printer *p, const struct spec_member *m)
{
    bool count = m->kind == SPEC_MEMBER_COUNT;

    open_any(p);
    if (m->kind == SPEC_MEMBER_BOOL_MS) {
        open(p);
        text(p, "type", "boolean");
        close(p);
    }
    if (count || m->kind == SPEC_MEMBER_S)
        limits(p, m, "integer", 1);
    else
        limits(p, m, "number", 1000);
    pattern(p, count ? COUNT_PATTERN : DURATION_PATTERN);
    close_any(p);
}

static void choices(struct spec_printer *p, const struct spec_member *m)
{
    spec_print_key(p, NULL, "enum");
    spec_print_open(p, '[');
    for (size_t i = 0; m->choices[i] != NULL; i++)
        spec_print_string(p, NULL, m->choices[i]);
    spec_print_close(p, ']');
}

/* The opening of a list of 1 to SPEC_LIST_MAX elements; its items follow. */
static void bounded_list(struct spec_printer *p)
{
    char max[16];

    (void)snprintf(max, sizeof max, "%u", SPEC_LIST_MAX);
    text(p, "type", "array");
    raw(p, "minItems", "1");
    raw(p, "maxItems", max);
    spec_print_key(p, NULL, "items");
}

/* {"anyOf": [one, list of it]} */
static void one_or_list(struct spec_printer *p, const char *name)
{
    open_any(p);
    ref(p, name);
    open(p);
    bounded_list(p);
    ref(p, name);
    close(p);
    close_any(p);
}

static void pairs(struct spec_printer *p)
{
    char max[16];

    (void)snprintf(max, sizeof max, "%u", SPEC_LIST_MAX);
    text(p, "type", "object");
    raw(p, "minProperties", "1");
    raw(p, "maxProperties", max);
    raw(p, "additionalProperties",
        "{\"type\":[\"string\",\"number\",\"boolean\",\"null\"]}");
}

static void map(struct spec_printer *p, const struct spec_member *m)
{
    const char *name = m->table != NULL             ? spec_tables_name(m->table)
                       : m->of == SPEC_MEMBER_CHECK ? "anyCheck"
                                                    : "scenario";

    text(p, "type", "object");
    spec_print_key(p, NULL, "propertyNames");
    if (strcmp(name, "set") == 0)
        pattern(p, SET_PATTERN);
    else
        ref(p, "name");
    spec_print_key(p, NULL, "additionalProperties");
    ref(p, name);
}

/* The lists among the members. */
static void list(struct spec_printer *p, const struct spec_member *m)
{
    if (m->kind == SPEC_MEMBER_LIST || m->kind == SPEC_MEMBER_NAMES) {
        text(p, "type", "array");
        spec_print_key(p, NULL, "items");
        if (m->kind == SPEC_MEMBER_LIST)
            ref(p, spec_tables_name(m->table));
        else
            pattern(p, "^.");
        return;
    }
    bounded_list(p);
    if (m->kind == SPEC_MEMBER_CONDS) {
        ref(p, "condition");
    } else if (m->kind == SPEC_MEMBER_TARGETS) {
        pattern(p, "^(\\[[0-9A-Fa-f:.]+\\]|[0-9A-Fa-f.:]+)(:[0-9]+)?$");
    } else {
        open(p);
        choices(p, m);
        close(p);
    }
}

static void value(struct spec_printer *p, const struct spec_member *m)
{
    switch (m->kind) {
    case SPEC_MEMBER_COUNT:
    case SPEC_MEMBER_MS:
    case SPEC_MEMBER_BOOL_MS:
    case SPEC_MEMBER_S:
        numbers(p, m);
        break;
    case SPEC_MEMBER_PERCENT:
        text(p, "type", "string");
        text(p, "pattern", "^([0-9]|[1-9][0-9]|100)%$");
        break;
    case SPEC_MEMBER_CHOICE:
        choices(p, m);
        break;
    case SPEC_MEMBER_BOOL:
        text(p, "type", "boolean");
        break;
    case SPEC_MEMBER_STRING:
    case SPEC_MEMBER_NAME:
        text(p, "type", "string");
        raw(p, "minLength", "1");
        break;
    case SPEC_MEMBER_ADDRESS:
        text(p, "type", "string");
        text(p, "pattern", "^[0-9A-Fa-f.:]+$");
        break;
    case SPEC_MEMBER_CHECK:
        one_or_list(p, "anyCheck");
        break;
    case SPEC_MEMBER_KIND:
        ref_key(p, "kind");
        break;
    case SPEC_MEMBER_COND:
        ref_key(p, "scenario");
        break;
    case SPEC_MEMBER_ACCESS:
        ref_key(p, m->required ? "places" : "access");
        break;
    case SPEC_MEMBER_STATUS:
        one_or_list(p, "status");
        break;
    case SPEC_MEMBER_PAIRS:
        pairs(p);
        break;
    case SPEC_MEMBER_CONDS:
    case SPEC_MEMBER_TARGETS:
    case SPEC_MEMBER_NAMES:
    case SPEC_MEMBER_CHOICES:
    case SPEC_MEMBER_LIST:
        list(p, m);
        break;
    case SPEC_MEMBER_OBJECT:
        ref_key(p, spec_tables_name(m->table));
        break;
    case SPEC_MEMBER_MAP:
        map(p, m);
        break;
    }
}

static void member(struct spec_printer *p, const struct spec_member *m)
{
    char help[400];

    (void)snprintf(help, sizeof help, "%s%s%s%s", m->help,
                   m->apex_only ? " (apex spec only)" : "",
                   m->dflt != NULL ? "; default: " : "",
                   m->dflt != NULL ? m->dflt : "");
    spec_print_key(p, NULL, m->name);
    open(p);
    text(p, "description", help);
    value(p, m);
    close(p);
}

/* A check object's type that says kind k, alone or by a shorthand. */
static void kind_pattern(int k, char *out, size_t size)
{
    (void)snprintf(out, size, "^(%s%s([:@].*)?)$",
                   k == SPEC_CHECK_TCP ? "[0-9]+|" : "",
                   spec_check_forms[k].name);
}

/* Of a check object: which members each kind does not take. */
static void kind_rules(struct spec_printer *p)
{
    char regex[200];

    spec_print_key(p, NULL, "allOf");
    spec_print_open(p, '[');
    for (int k = 0; k < SPEC_CHECK_NKINDS; k++) {
        kind_pattern(k, regex, sizeof regex);
        open(p);
        spec_print_key(p, NULL, "if");
        open(p);
        spec_print_key(p, NULL, "properties");
        open(p);
        spec_print_key(p, NULL, "type");
        pattern(p, regex);
        close(p);
        if (k != SPEC_CHECK_TCP) /* the default */
            raw(p, "required", "[\"type\"]");
        close(p);
        spec_print_key(p, NULL, "then");
        open(p);
        spec_print_key(p, NULL, "properties");
        open(p);
        for (size_t i = 0; i < spec_check_members.n; i++) {
            const struct spec_member *m = &spec_check_members.members[i];

            if (m->kinds != 0 && (m->kinds & SPEC_CHECK_BIT(k)) == 0)
                raw(p, m->name, "false");
        }
        close(p);
        close(p);
        close(p);
    }
    spec_print_close(p, ']');
}

static void table(struct spec_printer *p, const struct spec_tables_entry *e)
{
    const struct spec_table *t = e->table;
    bool any = false;

    spec_print_key(p, NULL, e->name);
    open(p);
    text(p, "description", t->what);
    text(p, "type", "object");
    spec_print_key(p, NULL, "properties");
    open(p);
    for (size_t i = 0; i < t->n; i++)
        member(p, &t->members[i]);
    close(p);
    for (size_t i = 0; i < t->n; i++) {
        if (!t->members[i].required)
            continue;
        if (!any) {
            spec_print_key(p, NULL, "required");
            spec_print_open(p, '[');
        }
        any = true;
        spec_print_string(p, NULL, t->members[i].name);
    }
    if (any)
        spec_print_close(p, ']');
    if (!t->unknown_warns) {
        raw(p, "patternProperties", "{\"^(comment$|x-)\":true}");
        raw(p, "additionalProperties", "false");
    }
    if (t == &spec_check_members)
        kind_rules(p);
    close(p);
}

static void newline(struct buf *b, size_t depth)
{
    buf_char(b, '\n');
    for (size_t i = 0; i < depth; i++)
        buf_str(b, "  ");
}

/* Compact JSON with line ends and two blanks for each level. */
static void indent(struct buf *b, const char *s)
{
    size_t depth = 0;
    bool quoted = false;

    for (; *s != '\0'; s++) {
        if (quoted) {
            buf_char(b, *s);
            if (*s == '\\')
                buf_char(b, *++s);
            else
                quoted = *s != '"';
        } else if ((*s == '{' && s[1] == '}') || (*s == '[' && s[1] == ']')) {
            buf_add(b, s++, 2);
        } else if (*s == '{' || *s == '[') {
            buf_char(b, *s);
            newline(b, ++depth);
        } else if (*s == '}' || *s == ']') {
            newline(b, --depth);
            buf_char(b, *s);
        } else if (*s == ',') {
            buf_char(b, ',');
            newline(b, depth);
        } else {
            quoted = *s == '"';
            buf_char(b, *s);
            if (*s == ':')
                buf_char(b, ' ');
        }
    }
    buf_char(b, '\n');
}

char *spec_schema(void)
{
    struct spec_printer p = {.e = NULL};
    struct buf out;

    buf_init(&p.b, SCHEMA_MAX);
    buf_init(&out, SCHEMA_MAX);
    open(&p);
    text(&p, "$schema", "https://json-schema.org/draft/2020-12/schema");
    text(&p, "title", "The spec of a name in its _failover TXT record");
    text(&p, "description",
         "Made from the parser's tables. What it cannot know: names that must "
         "be defined, places of records, what an agent allows.");
    raw(&p, "oneOf",
        "[{\"type\":\"array\",\"minItems\":1,"
        "\"items\":{\"$ref\":\"#/$defs/row\"}},"
        "{\"$ref\":\"#/$defs/object\"}]");
    spec_print_key(&p, NULL, "$defs");
    open(&p);
    for (const struct spec_tables_entry *e = spec_tables; e->name != NULL; e++)
        table(&p, e);
    spec_schema_forms(&p);
    close(&p);
    close(&p);
    indent(&out, buf_get(&p.b));
    buf_fini(&p.b);
    return buf_take(&out);
}
