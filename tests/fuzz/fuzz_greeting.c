#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>
#include <string.h>

#include "agent/probes/greeting.h"

/* The first byte: the protocol. The verdict on a beginning is the one on any
 * longer text, and comes at the latest with GREETING_MAX bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct probe_result fine = {PROBE_OK, PROBE_FINE, 0, 0, ""};
    struct probe_result first = fine, r = fine;
    enum greeting_kind k;
    bool done = false;

    if (size == 0)
        return 0;
    k = (enum greeting_kind)(data[0] % (GREETING_LDAP + 1));
    if (size - 1 > 512) {
        (void)greeting_judge(k, (const char *)data + 1, size - 1, &r);
        return 0;
    }
    for (size_t n = 0; n < size; n++) {
        char *part = malloc(n > 0 ? n : 1);

        if (part == NULL)
            abort();
        memcpy(part, data + 1, n);
        r = fine;
        if (greeting_judge(k, part, n, &r)) {
            if (done &&
                (first.verdict != r.verdict || first.reason != r.reason))
                abort();
            first = r;
            done = true;
        } else if (done || r.verdict != PROBE_OK) {
            abort();
        }
        free(part);
    }
    return 0;
}
