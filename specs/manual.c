#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mdoc.h"
#include "specs/check.h"
#include "specs/tables.h"

#define MANUAL_MAX (1u << 20)

static void kinds(struct buf *b, const struct spec_member *m)
{
    bool any = false;

    if (m->kinds == 0)
        return;
    buf_str(b, "Kinds:\n");
    for (int k = 0; k < SPEC_CHECK_NKINDS; k++) {
        if ((m->kinds & SPEC_CHECK_BIT(k)) == 0)
            continue;
        buf_printf(b, "%s%s", any ? ",\n" : "", spec_check_forms[k].name);
        any = true;
    }
    buf_str(b, ".\n");
}

/* What a member takes, where the table's limits say it. */
static void accepts(struct buf *b, const struct spec_member *m)
{
    char text[200];

    switch (m->kind) {
    case SPEC_MEMBER_COUNT:
    case SPEC_MEMBER_MS:
    case SPEC_MEMBER_BOOL_MS:
    case SPEC_MEMBER_S:
    case SPEC_MEMBER_PERCENT:
    case SPEC_MEMBER_CHOICE:
        buf_str(b, "Accepted: ");
        mdoc_text(b, spec_member_accepts(m, text, sizeof text));
        buf_str(b, ".\n");
        break;
    case SPEC_MEMBER_BOOL:
        buf_str(b, "Accepted: true or false.\n");
        break;
    default:
        break;
    }
}

static void member(struct buf *b, const struct spec_member *m)
{
    buf_printf(b, ".It Cm %s\n", m->name);
    mdoc_sentence(b, m->help);
    accepts(b, m);
    kinds(b, m);
    if (m->required)
        buf_str(b, "Must be given.\n");
    if (m->apex_only)
        buf_str(b, "In the apex spec only.\n");
    if (m->quoted)
        buf_str(b, "Not in the bare spelling.\n");
    if (m->dflt != NULL) {
        buf_str(b, "Default: ");
        mdoc_text(b, m->dflt);
        buf_str(b, ".\n");
    }
}

char *spec_manual(void)
{
    struct buf b;

    buf_init(&b, MANUAL_MAX);
    for (const struct spec_tables_entry *e = spec_tables; e->name != NULL;
         e++) {
        buf_str(&b, ".Ss Members of ");
        mdoc_text(&b, e->table->what);
        buf_str(&b, "\n.Bl -tag -width Ds\n");
        for (size_t i = 0; i < e->table->n; i++)
            member(&b, &e->table->members[i]);
        buf_str(&b, ".El\n");
    }
    return buf_take(&b);
}
