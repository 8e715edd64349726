#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>
#include <string.h>

#include "agent/probes/dns.h"

/* The first byte: over TCP or not. Two zero bytes at the start of the answer
 * become the question's id. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};
    uint8_t *q = NULL, *a;
    size_t n = 0;

    if (size == 0 || dns_question("www.example.org", "A", &q, &n, &r) != 0)
        return 0;
    a = malloc(size);
    if (a == NULL)
        abort();
    memcpy(a, data + 1, size - 1);
    if (size >= 3 && a[0] == 0 && a[1] == 0)
        memcpy(a, q, 2);
    (void)dns_judge(q, n, a, size - 1, (data[0] & 1) != 0, &r);
    free(a);
    free(q);
    return 0;
}
