#ifndef AGENT_BASE_LATE_LIB_H
#define AGENT_BASE_LATE_LIB_H

#include <stddef.h>

#include "agent/base/err.h"

/* Libraries that are loaded when something first needs them. libcurl brings
 * 26 others with it, libxml2 seven: 6 MB that an agent without an HTTP
 * provider or a panel never touches. What was loaded stays loaded. */

/* One function of a library, and where its pointer goes in a table. */
struct late_function {
    const char *name;
    size_t offset; /* bytes from the table's beginning */
};

/* in:  file — the library's SONAME, "libcurl.so.4"; functions — n of them
 * out: table — a pointer for each function; n functions
 * returns 0, or -1 with e set (ERR_LOCAL: the loader's own words, or the
 * function that is missing)
 * source: dlopen(3), dlsym(3) */
MUST_CHECK int late_lib_load(const char *file,
                             const struct late_function *functions, size_t n,
                             void *table, struct err *e);

#endif
