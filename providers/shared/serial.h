#ifndef PROVIDERS_SHARED_SERIAL_H
#define PROVIDERS_SHARED_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* SOA serial numbers. source: RFC 1982, RFC 1912 2.2 */

/* a comes after b. The pair that is 2^31 apart has no order: false both
 * ways. source: RFC 1982 3.2 */
bool serial_newer(uint32_t a, uint32_t b);

/* The serial after old, in old's own style; always newer than old, never 0:
 *   YYYYMMDDnn          today (UTC) with 01, or old + 1 when that is not
 *                       newer; after 99 plain + 1
 *   seconds since 1970  (within a day of now) now, or old + 1
 *   anything else       old + 1; 1 after 4294967295
 * now_wall_ms: milliseconds since 1970 UTC */
uint32_t serial_next(uint32_t old, int64_t now_wall_ms);

#endif
