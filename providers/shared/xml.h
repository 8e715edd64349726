#ifndef PROVIDERS_SHARED_XML_H
#define PROVIDERS_SHARED_XML_H

#include <libxml/tree.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/base/err.h"
#include "agent/base/mem.h"

/* Reading XML from servers: libxml2 without network, entities, DOCTYPE, and
 * with a limit on size, depth and number of elements. */

#define XML_MAX_DEPTH 32
#define XML_MAX_ELEMENTS 1000000

struct xml; /* a parsed document */

/* data: the document, UTF-8 or as its declaration says.
 * out: *x — freed by xml_free
 * returns 0, or -1 with e set: ERR_RETRY (not well-formed: the place and
 * reason; a control character is named), ERR_LIMIT (too large, too deep, too
 * many elements), ERR_INPUT (has a DOCTYPE), ERR_LOCAL (no libxml2)
 * source: xmlCtxtReadMemory(3), XML 1.0 2.2 */
MUST_CHECK int xml_parse(const char *data, size_t len, size_t max_size,
                         struct xml **out, struct err *e);
void xml_free(struct xml *x); /* NULL is fine */

/* Borrowed until xml_free. */
const xmlNode *xml_root(const struct xml *x);
/* The first child element, the next sibling element; local: its name without
 * prefix, NULL: any. NULL when there is none. */
const xmlNode *xml_child(const xmlNode *n, const char *local);
const xmlNode *xml_next(const xmlNode *n, const char *local);
bool xml_is(const xmlNode *n, const char *local);
/* The text directly inside, "" when none; in arena a. */
const char *xml_text(const xmlNode *n, struct arena *a);
/* The attribute of that local name and namespace (NULL: any); NULL when
 * there is none; in arena a. */
const char *xml_attr(const xmlNode *n, const char *local, const char *ns,
                     struct arena *a);

#endif
