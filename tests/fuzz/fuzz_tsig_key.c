#include <stdlib.h>
#include <string.h>

#include "resolver/tsig.h"
#include "tests/fuzz/fuzz_main.h"

/* A key file: it is refused with a text, or what it gives can sign. */

static void need(int truth)
{
    if (!truth)
        abort();
}

static void check_key(const struct tsig_key *key)
{
    char canon[NAME_SIZE];
    uint8_t head[12] = {1, 2, 0x28}, *wire;
    struct tsig_mac mac;
    struct err e = {0};
    size_t len;

    need(name_canon(key->name, canon, NULL) == 0);
    need(strcmp(canon, key->name) == 0);
    need(key->secret_len > 0 && key->secret_len <= TSIG_SECRET_MAX);
    need(tsig_sign(key, 1, head, sizeof head, &wire, &len, &mac, &e) == 0);
    need(len > sizeof head + mac.len);
    free(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tsig_key *key;
    struct err e = {0};

    for (int named = 0; named < 2; named++) {
        const char *name = named ? "main." : NULL;

        if (tsig_key_parse((const char *)data, size, "key", name, &key, &e) ==
            0)
            check_key(key);
        else
            need(key == NULL && e.msg[0] != '\0');
        tsig_key_free(key);
    }
    return 0;
}
