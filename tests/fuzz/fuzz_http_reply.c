#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>
#include <string.h>

#include "agent/probes/http_reply.h"

struct outcome {
    enum http_reply_step step;
    int status;
    const char *error;
    uint64_t body_len;
    size_t kept;
};

static struct outcome run(const char *p, size_t n, size_t piece, bool head)
{
    struct http_reply h;
    struct outcome o = {.step = HTTP_REPLY_MORE};

    http_reply_init(&h, head, true);
    for (size_t at = 0; at < n && o.step == HTTP_REPLY_MORE; at += piece)
        o.step = http_reply_feed(&h, p + at, n - at < piece ? n - at : piece);
    if (o.step == HTTP_REPLY_MORE)
        o.step = http_reply_eof(&h);
    if (o.step == HTTP_REPLY_MORE || h.body.over || h.head.over ||
        (o.step == HTTP_REPLY_DONE && (h.status < 200 || h.status > 999)) ||
        (o.step == HTTP_REPLY_BAD) != (h.error != NULL))
        abort();
    o.status = h.status;
    o.error = h.error;
    o.body_len = h.body_len;
    o.kept = h.body.len;
    http_reply_fini(&h);
    return o;
}

/* The first byte: the size of the pieces, and whether it answers a HEAD. Cut
 * in pieces or whole, a reply is the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *p = (const char *)data + 1;
    struct outcome a, b;

    if (size == 0)
        return 0;
    a = run(p, size - 1, SIZE_MAX / 2, (data[0] & 1) != 0);
    b = run(p, size - 1, (size_t)(data[0] >> 1) + 1, (data[0] & 1) != 0);
    if (a.step != b.step || a.status != b.status || a.error != b.error ||
        (a.step == HTTP_REPLY_DONE &&
         (a.body_len != b.body_len || a.kept != b.kept)))
        abort();
    return 0;
}
