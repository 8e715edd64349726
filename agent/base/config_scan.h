#ifndef AGENT_BASE_CONFIG_SCAN_H
#define AGENT_BASE_CONFIG_SCAN_H

#include <stddef.h>

#include "agent/base/err.h"

/* The step in front of libconfuse 3.3, whose scanner counts a comment as
 * several lines, passes over bytes that it does not know, takes the end of
 * the file for a closing brace and puts environment variables into values.
 *
 * Turns the comments of text (len bytes and a NUL) into blanks, in place.
 * out: *line — of an error, from 1
 * returns 0, or -1 with e set (ERR_INPUT, without file and line) */
MUST_CHECK int config_scan(char *text, size_t len, int *line, struct err *e);

#endif
