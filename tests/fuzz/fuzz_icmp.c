#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>

#include "agent/probes/grpc.h"
#include "agent/probes/icmp.h"

/* The first byte: the family, and whether an IPv4 header stands before it.
 * The same bytes as a gRPC answer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct icmp_news n;

    if (size == 0)
        return 0;
    icmp_parse(data + 1, size - 1, (data[0] & 1) != 0,
               (data[0] & 2) != 0 ? 6 : 4, &n);
    if (n.kind == ICMP_UNREACHABLE && n.about.family == 0)
        abort();
    if (grpc_status(data + 1, size - 1) < -1)
        abort();
    return 0;
}
