#ifndef AGENT_BASE_MDOC_H
#define AGENT_BASE_MDOC_H

#include "agent/base/buf.h"

/* Texts of tables for the manual pages. source: mdoc(7), roff(7) */

/* text as it is to be read: no macro, no escape, no quote is made of it. */
void mdoc_text(struct buf *b, const char *text);
/* The same as sentences, each in a line of its own: the first begins with a
 * capital, the last ends with one full stop. */
void mdoc_sentence(struct buf *b, const char *text);

#endif
