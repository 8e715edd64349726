#ifndef SPECS_TABLES_H
#define SPECS_TABLES_H

#include "specs/member.h"

/* What is made from the tables: the JSON Schema and the manual's lists. */

/* An object of the language, by the name that the schema and the manual
 * give it. */
struct spec_tables_entry {
    const char *name;
    const struct spec_table *table;
};
/* All of them, in the order of the manual; ends with a NULL name. */
extern const struct spec_tables_entry spec_tables[];
/* The name of a table; NULL: none of them. */
const char *spec_tables_name(const struct spec_table *t);

/* The JSON Schema (2020-12) of a spec, indented, with a final newline. Heap,
 * caller frees. It knows forms and limits, not names and places. */
char *spec_schema(void);

/* mdoc lists of all members of all objects, for the manual of the language:
 * one .Ss for each object. Heap, caller frees. source: mdoc(7) */
char *spec_manual(void);

#endif
