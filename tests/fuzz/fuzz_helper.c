#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/helper_wire.h"

/* What the helper is sent, from its bytes: it is refused with a text, or what
 * comes out keeps helper_wire.h's promises and is those bytes again. The first
 * byte says which socket it came by. */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

static void check_name(const char name[HELPER_NAME_MAX + 1])
{
    size_t n = strnlen(name, HELPER_NAME_MAX + 1);

    need(n <= HELPER_NAME_MAX);
    for (size_t i = 0; i < n; i++)
        need(name[i] > ' ' && name[i] < 0x7f);
}

static void check_request(const struct helper_request *r, bool runs)
{
    check_name(r->name);
    check_name(r->what);
    need(r->op >= HELPER_CONFIG && r->op <= HELPER_DROP);
    need(runs == (r->op == HELPER_RUN || r->op == HELPER_DROP));
    need(r->input_len <= HELPER_INPUT_MAX);
    need((r->input != NULL) == (r->op == HELPER_RUN && r->kind == DOER_NOTIFY));
    if (r->op == HELPER_RUN && r->kind == DOER_COMMAND) {
        need(r->target.family == 4 || r->target.family == 6);
        need(r->timeout_ms > 0 && r->timeout_ms <= HELPER_TIMEOUT_MAX_MS);
    } else {
        need(r->target.family == 0 && r->timeout_ms == 0);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct helper_request r;
    struct err e;
    struct buf b;
    char *text;
    bool runs;

    if (size < 1)
        return 0;
    runs = (data[0] & 1) != 0;
    text = malloc(size); /* exactly: the sanitizer sees what is read beyond */
    need(text != NULL);
    memcpy(text, data + 1, size - 1);
    if (helper_request_decode(text, size - 1, runs, &r, &e) != 0) {
        need(e.code == ERR_INPUT && e.msg[0] != '\0');
    } else {
        check_request(&r, runs);
        buf_init(&b, size + 4096);
        need(helper_request_encode(&r, &b, &e) == 0);
        need(b.len == size - 1);
        buf_fini(&b);
    }
    free(text);
    return 0;
}

#include "tests/fuzz/fuzz_main.h"
