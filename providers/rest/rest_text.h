#ifndef PROVIDERS_REST_REST_TEXT_H
#define PROVIDERS_REST_REST_TEXT_H

#include <stddef.h>

#include "agent/base/err.h"
#include "agent/base/name.h"
#include "providers/rrset.h"

/* Names and values as an API writes them. */

struct buf;
struct rest_style;

/* returns 0, or -1: not a name that the agent handles */
MUST_CHECK int rest_name_in(const struct rest_style *style, const char *text,
                            const char *zone, char out[NAME_SIZE]);
const char *rest_name_out(const struct rest_style *style, const char *name,
                          const char *zone, char out[NAME_SIZE]);
/* The bytes of a TXT value: one or several strings in quotes, or bare. */
void rest_txt_in(const char *text, struct buf *out);
/* A canonical value (TXT: len bytes) as the API takes it. */
void rest_data_out(const struct rest_style *style, enum rr_type t,
                   const char *data, size_t len, struct buf *out);

#endif
