#include <stdlib.h>
#include <string.h>

#include "providers/rfc2136/rfc2136.h"
#include "tests/fuzz/fuzz_main.h"

/* An answer to an update, from its bytes: without the key it is never taken
 * for a success, neither alone nor in a stream. */

#define NOW 1796070364u

static void need(int truth)
{
    if (!truth)
        abort();
}

static void check_judgement(const struct rfc2136 *p, struct rfc2136_answer *a)
{
    struct err e;
    enum rfc2136_verdict v = rfc2136_update_judge(p, "example.test.", a, &e);

    need(v != RFC2136_DONE && e.code != ERR_NONE && e.msg[0] != '\0');
    if (message_rcode(a->m) == 0)
        need(v == RFC2136_DISBELIEVED || a->tsig.error != 0);
}

static void check_data(struct message *m)
{
    static const enum rr_type types[] = {RR_A, RR_AAAA, RR_CNAME, RR_TXT};
    struct arena *a = arena_new();

    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        size_t n, len;
        const struct message_rdata *v =
            message_rdatas(m, NULL, (uint16_t)types[k], &n);

        for (size_t i = 0; i < n; i++) {
            if (types[k] == RR_TXT)
                need(rfc2136_rdata_txt_text(a, &v[i], &len) != NULL &&
                     len <= v[i].len);
            else
                need(rfc2136_rdata_text(a, types[k], &v[i]) != NULL);
            need(rfc2136_rdata_equal(types[k], &v[i], &v[i]));
        }
    }
    arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsig_key key = {.name = "failover-test.",
                           .algorithm = TSIG_HMAC_SHA256,
                           .secret = {1, 2, 3},
                           .secret_len = 3};
    struct rfc2136 p = {.key = &key, .who = "192.0.2.53:53"};
    struct tsig_mac mac = {.len = 32};
    struct rfc2136_answer a = {.is_signed = true};
    struct tsig_stream *s = tsig_stream_new(&key, &mac);
    struct err e = {0};

    need(tsig_stream_take(s, data, size, NOW, true, &e) != 0);
    tsig_stream_free(s);
    tsig_verify(&key, &mac, data, size, NOW, &a.tsig);
    need(a.tsig.verdict != TSIG_GOOD && a.tsig.verdict != TSIG_BAD_TIME);
    if (message_decode(data, size, &a.m, &a.err) != 0)
        return 0;
    check_judgement(&p, &a);
    check_data(a.m);
    message_free(a.m);
    return 0;
}
