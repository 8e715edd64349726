#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/name.h"
#include "resolver/outcome.h"
#include "resolver/owners.h"

/* A DNS message, from its bytes: it is refused with a text, or everything
 * that can be asked of it keeps message.h's promises. */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

static void need_canonical(const char *name)
{
    char canon[NAME_SIZE];

    need(name_canon(name, canon, NULL) == 0 && strcmp(canon, name) == 0);
}

static void check_txts(struct message *m)
{
    size_t n, total = 0;
    const struct message_txt *t = message_txts(m, NULL, &n);

    need(n == message_count(m, NULL, MESSAGE_TXT));
    for (size_t i = 0; i < n; i++) {
        need(t[i].ttl_s <= 0x7fffffff);
        for (size_t k = 0; k < t[i].nstrings; k++) {
            const struct message_string *s = &t[i].strings[k];

            need(s->len <= 255 && s->data != NULL);
            for (size_t j = 0; j < s->len; j++)
                total += (unsigned char)s->data[j];
        }
    }
    need(total <= (size_t)65535 * 255);
}

static void check_names(struct message *m, uint16_t type)
{
    size_t n;
    const char *const *t = message_targets(m, NULL, type, &n);

    need(n <= message_count(m, NULL, type));
    for (size_t i = 0; i < n; i++)
        need_canonical(t[i]);
}

static void check_addrs(struct message *m, uint16_t type)
{
    struct addr a[3];
    uint32_t ttl_s;
    size_t n = message_addrs(m, NULL, type, a, 3, &ttl_s);

    need(n <= message_count(m, NULL, type));
    for (size_t i = 0; i < n && i < 3; i++)
        need(a[i].family == (type == MESSAGE_A ? 4 : 6) && a[i].port == 0);
}

static void check_outcome(struct message *m, bool authoritative)
{
    struct outcome_question q = {"www.example.org.", MESSAGE_TXT, authoritative,
                                 !authoritative};
    struct addr server = {.family = 4, .port = 53};
    struct err e = {0};
    enum resolver_outcome o = outcome_judge(m, &q, &server, &e);

    need((o == RESOLVER_FOUND) == (e.code == ERR_NONE));
    need((o == RESOLVER_GONE) == (e.code == ERR_NOTFOUND));
    if (o == RESOLVER_FOUND)
        need(message_count(m, authoritative ? q.name : NULL, q.type) > 0);
}

static void check_owners(struct message *m)
{
    struct owners *o = owners_new("example.org.");
    struct err e = {0};
    bool done = false;
    uint32_t serial;
    size_t n;

    if (owners_take(o, m, "192.0.2.53:53", &done, &e) != 0) {
        need(e.code != ERR_NONE);
    } else if (done) {
        const struct resolver_owner *names = owners_get(o, &n, &serial);

        for (size_t i = 0; i < n; i++) {
            need_canonical(names[i].name);
            need(name_within(names[i].name, "example.org."));
            need(i == 0 || name_compare(names[i - 1].name, names[i].name) < 0);
            need(names[i].ntxts > 0);
        }
    }
    owners_free(o);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct message *m;
    struct err e = {0};
    uint32_t serial;

    if (message_decode(data, size, &m, &e) != 0) {
        need(m == NULL && e.code == ERR_RETRY && e.msg[0] != '\0');
        return 0;
    }
    need(message_rcode_name(message_rcode(m)) != NULL);
    (void)message_answers(m, "www.example.org.", MESSAGE_TXT);
    need(!message_is_referral(m) || !message_has_soa(m));
    (void)!message_serial(m, &serial);
    check_txts(m);
    check_names(m, MESSAGE_NS);
    check_names(m, MESSAGE_CNAME);
    check_addrs(m, MESSAGE_A);
    check_addrs(m, MESSAGE_AAAA);
    check_outcome(m, true);
    check_outcome(m, false);
    check_owners(m);
    message_free(m);
    return 0;
}

#ifdef FUZZ_MAIN
static unsigned char input[65536];

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "re");

        if (f == NULL) {
            perror(argv[i]);
            return 1;
        }
        (void)LLVMFuzzerTestOneInput(input, fread(input, 1, sizeof input, f));
        (void)fclose(f);
    }
    return 0;
}
#endif
