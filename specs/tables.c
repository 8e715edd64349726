#include "specs/tables.h"

#include "specs/check.h"
#include "specs/cond.h"
#include "specs/dc.h"
#include "specs/object.h"

const struct spec_tables_entry spec_tables[] = {
    {"object", &spec_object_members},
    {"row", &spec_item_rows},
    {"record", &spec_item_records},
    {"defaults", &spec_object_defaults},
    {"check", &spec_check_members},
    {"dc", &spec_dc_members},
    {"dimension", &spec_dc_access},
    {"need", &spec_cond_need},
    {"set", &spec_object_sets},
    {"vantage", &spec_object_vantage},
    {NULL, NULL},
};

const char *spec_tables_name(const struct spec_table *t)
{
    for (const struct spec_tables_entry *e = spec_tables; e->name != NULL; e++)
        if (e->table == t)
            return e->name;
    return NULL;
}
