#ifndef SPECS_SCHEMA_H
#define SPECS_SCHEMA_H

#include "specs/print.h"
#include "specs/tables.h"

/* The members of $defs that are no object of a table: port, shorthand, kind,
 * expression, name, anyCheck, condition, scenario, places, access, status. */
void spec_schema_forms(struct spec_printer *p);

#endif
