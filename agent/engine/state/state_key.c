#include "agent/engine/state/state_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/base/mem.h"
#include "specs/check.h"

#define UNVERIFIED " unverified=1"

void state_key_add_timeout(struct buf *b, int64_t timeout_ms, bool repeated)
{
    char text[32];

    buf_printf(b, " %s%s", duration_format(timeout_ms, text),
               repeated ? "+" : "");
}

void state_key_add_thresholds(struct buf *b, uint32_t success, uint32_t failure)
{
    buf_printf(b, " %" PRIu32 "/%" PRIu32, success, failure);
}

/* --- old ones ------------------------------------------------------------- */

/* The last place in text where part begins, or NULL. */
static const char *find_last(const char *text, const char *part)
{
    const char *last = NULL;

    while ((text = strstr(text, part)) != NULL)
        last = text++;
    return last;
}

/* in: key — of a check, up to its timeout, len bytes
 * returns what is to be left out of it: they said of kinds without TLS, too,
 * that nothing is verified; NULL: nothing */
static const char *find_needless(const char *key, size_t len)
{
    const char *kind = key[0] == '|' ? key + 1 : key; /* of a problem */
    const char *at = strstr(key, UNVERIFIED);

    if (at == NULL || at >= key + len)
        return NULL;
    for (int k = 0; k < SPEC_CHECK_NKINDS; k++) {
        size_t n = strlen(spec_check_forms[k].name);

        if (strncmp(kind, spec_check_forms[k].name, n) == 0 && kind[n] == ' ')
            return spec_check_forms[k].tls ? NULL : at;
    }
    return NULL;
}

/* The whole of tail is "timeout=MS[ repeat] success=N failure=N". */
static bool read_old(const char *tail, int64_t *timeout_ms, bool *repeated,
                     uint32_t *success, uint32_t *failure)
{
    int end = 0;

    if (sscanf(tail, " timeout=%" SCNd64 "%n", timeout_ms, &end) != 1)
        return false;
    tail += end;
    *repeated = strncmp(tail, " repeat", 7) == 0;
    tail += *repeated ? 7 : 0;
    end = 0;
    return sscanf(tail, " success=%" SCNu32 " failure=%" SCNu32 "%n", success,
                  failure, &end) == 2 &&
           tail[end] == '\0';
}

char *state_key_modern(const char *key)
{
    const char *tail = find_last(key, " timeout="), *needless;
    uint32_t success, failure;
    int64_t timeout_ms;
    char *modern;
    bool repeated;
    struct buf b;

    if (tail == NULL ||
        !read_old(tail, &timeout_ms, &repeated, &success, &failure))
        return NULL;
    buf_init(&b, strlen(key) + 64);
    needless = find_needless(key, (size_t)(tail - key));
    if (needless != NULL) {
        buf_add(&b, key, (size_t)(needless - key));
        key = needless + strlen(UNVERIFIED);
    }
    buf_add(&b, key, (size_t)(tail - key));
    state_key_add_timeout(&b, timeout_ms, repeated);
    state_key_add_thresholds(&b, success, failure);
    modern = mem_strdup(buf_get(&b));
    buf_fini(&b);
    return modern;
}
