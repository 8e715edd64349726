#ifndef AGENT_BASE_CHARSTR_H
#define AGENT_BASE_CHARSTR_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/base/buf.h"

/* Character-strings, of which TXT data is made, in the presentation form of
 * master files. source: RFC 1035 3.3, 5.1 */

#define CHARSTR_MAX 255u /* bytes of one */

/* Adds one in quotes: quotes and backslashes get a backslash, what is not
 * printable ASCII becomes \DDD (decimal); ";" and "(" mean nothing inside
 * quotes. in: data — len bytes, any */
void charstr_add(struct buf *b, const char *data, size_t len);

/* Adds a text cut every CHARSTR_MAX bytes, sep between the strings; an empty
 * text is one empty string. An escape stands for one byte, so no cut falls
 * into one. returns how many strings it took */
size_t charstr_add_text(struct buf *b, const char *text, size_t len,
                        const char *sep);

/* The same with \ooo (octal) in place of \DDD: Route 53's spelling. */
size_t charstr_add_text_octal(struct buf *b, const char *text, size_t len,
                              const char *sep);

/* The bytes that a token (without its quotes) stands for, added to out.
 * returns false when it holds no right escape (\DDD above 255, a backslash at
 * the end); out then has what came before */
bool charstr_decode(const char *token, size_t len, struct buf *out);
/* The same for \ooo (octal, at most \377). */
bool charstr_decode_octal(const char *token, size_t len, struct buf *out);

/* How many strings a text of len bytes takes. */
size_t charstr_count(size_t len);

#endif
