#include "specs/schema.h"

#include "specs/check.h"

/* Strings and unions of the JSON Schema. */

#define PATTERN_MAX (1u << 16)
#define PORT ":[1-9][0-9]{0,4}"
#define HOST "[A-Za-z0-9_.-]*[A-Za-z_][A-Za-z0-9_.-]*"
#define NAME "[A-Za-z_][A-Za-z0-9_-]{0,62}"

static void raw(struct spec_printer *p, const char *key, const char *json)
{
    spec_print_key(p, NULL, key);
    spec_print_raw(p, json);
}

static void pattern(struct spec_printer *p, const char *name,
                    const struct buf *regex)
{
    spec_print_key(p, NULL, name);
    spec_print_open(p, '{');
    spec_print_key(p, NULL, "type");
    spec_print_string(p, NULL, "string");
    spec_print_key(p, NULL, "pattern");
    spec_print_string(p, NULL, buf_get(regex));
    spec_print_close(p, '}');
}

/* What may stand behind the kind in a shorthand. */
static const char *shorthand_rest(const struct spec_check_form *f)
{
    switch (f->rest) {
    case SPEC_REST_PATH:
        return "(" PORT "(/[^ #]*)?|://" HOST "(" PORT ")?([/?][^ #]*)?)";
    case SPEC_REST_QUERY:
        return PORT "/[^/ ]+/[A-Z]+";
    case SPEC_REST_SERVICE:
        return PORT "(/[A-Za-z0-9._/-]*)?";
    case SPEC_REST_COMMAND:
        return ":" NAME;
    case SPEC_REST_NONE:
        break;
    }
    return f->ported ? PORT : "";
}

/* All shorthands; alone: kinds without more are accepted too. */
static void shorthands(struct buf *b, bool alone)
{
    buf_str(b, "([1-9][0-9]{0,4}|(");
    for (int k = 0; k < SPEC_CHECK_NKINDS; k++)
        buf_printf(b, "%s%s%s%s%s", k > 0 ? "|" : "", spec_check_forms[k].name,
                   alone ? "(" : "", shorthand_rest(&spec_check_forms[k]),
                   alone ? ")?" : "");
    buf_str(b, ")(@[0-9A-Fa-f.:]+)?)");
}

static void conditions(struct buf *b)
{
    buf_str(b, "^!?(" NAME "([.](");
    for (int s = 0; s < SPEC_NDC_STATES; s++)
        buf_printf(b, "%s%s", s > 0 ? "|" : "",
                   spec_dc_state_name((enum spec_dc_state)s));
    buf_str(b, "))?|auto[|]" NAME "[|](maintenanceMode");
    for (int d = 0; d < SPEC_NDIMENSIONS; d++)
        buf_printf(b, "|%s", spec_dimension_name((enum spec_dimension)d));
    buf_str(b, ")|");
    shorthands(b, false);
    buf_str(b, ")$");
}

/* The strings that are made from the kinds of check. */
static void strings(struct spec_printer *p)
{
    struct buf b;

    buf_init(&b, PATTERN_MAX);
    buf_char(&b, '^');
    shorthands(&b, false);
    buf_char(&b, '$');
    pattern(p, "shorthand", &b);
    buf_reset(&b);
    buf_char(&b, '^');
    shorthands(&b, true);
    buf_char(&b, '$');
    pattern(p, "kind", &b);
    buf_reset(&b);
    conditions(&b);
    pattern(p, "expression", &b);
    buf_reset(&b);
    buf_str(&b, "^(?!(");
    for (int k = 0; k < SPEC_CHECK_NKINDS; k++)
        buf_printf(&b, "%s%s", k > 0 ? "|" : "", spec_check_forms[k].name);
    buf_str(&b, ")$)" NAME "$");
    pattern(p, "name", &b);
    buf_fini(&b);
}

void spec_schema_forms(struct spec_printer *p)
{
    strings(p);
    raw(p, "port", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}");
    raw(p, "anyCheck",
        "{\"anyOf\":[{\"$ref\":\"#/$defs/port\"},"
        "{\"$ref\":\"#/$defs/shorthand\"},{\"$ref\":\"#/$defs/name\"},"
        "{\"$ref\":\"#/$defs/check\"}]}");
    raw(p, "condition",
        "{\"anyOf\":[{\"$ref\":\"#/$defs/port\"},"
        "{\"$ref\":\"#/$defs/expression\"},{\"$ref\":\"#/$defs/need\"},"
        "{\"$ref\":\"#/$defs/check\"}]}");
    raw(p, "scenario",
        "{\"anyOf\":[{\"$ref\":\"#/$defs/condition\"},{\"type\":\"array\","
        "\"minItems\":1,\"maxItems\":64,\"items\":{\"type\":\"array\","
        "\"minItems\":1,\"maxItems\":64,"
        "\"items\":{\"$ref\":\"#/$defs/condition\"}}}]}");
    raw(p, "places",
        "{\"type\":\"array\",\"minItems\":1,\"maxItems\":64,\"items\":"
        "{\"anyOf\":[{\"type\":\"string\",\"pattern\":"
        "\"^([0-9.]+|\\\\[[0-9A-Fa-f:.]+\\\\])" PORT "$\"},"
        "{\"$ref\":\"#/$defs/shorthand\"},{\"$ref\":\"#/$defs/name\"},"
        "{\"$ref\":\"#/$defs/check\"}]}}");
    raw(p, "access",
        "{\"anyOf\":[{\"$ref\":\"#/$defs/places\"},"
        "{\"$ref\":\"#/$defs/dimension\"}]}");
    raw(p, "status",
        "{\"anyOf\":[{\"type\":\"integer\",\"minimum\":100,\"maximum\":599},"
        "{\"type\":\"string\",\"pattern\":"
        "\"^[1-5][0-9][0-9](-[1-5][0-9][0-9])?$\"}]}");
}
