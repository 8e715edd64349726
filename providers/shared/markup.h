#ifndef PROVIDERS_SHARED_MARKUP_H
#define PROVIDERS_SHARED_MARKUP_H

#include <stddef.h>

/* Makes one line of a server's text: tags out, blanks for control
 * characters, cut with "…". Returns out. */
const char *markup_strip(const char *text, char *out, size_t size);

#endif
