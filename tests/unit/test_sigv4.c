#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "agent/base/mem.h"
#include "providers/route53/sigv4.h"

#define HEADERS_MAX 16
#define EMPTY_SHA256                                                           \
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct sigv4_key example = {
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};

/* ---- vectors of our own, made with another signer (npm aws4 1.13.2) ------ */

struct vector {
    const char *region, *method, *path, *query, *canonical, *signature;
    struct sigv4_header headers[4];
    size_t n_headers;
    const char *body;
};

static const struct vector vectors[] = {
    {"us-east-1",
     "GET",
     "/2013-04-01/hostedzone/Z040120927RX9CM38HPQQ/rrset",
     "name=*.example.org.&maxitems=20", /* unsorted and raw: it is recoded */
     "GET\n/2013-04-01/hostedzone/Z040120927RX9CM38HPQQ/rrset\n"
     "maxitems=20&name=%2A.example.org.\nhost:route53.amazonaws.com\n"
     "x-amz-date:20260102T030405Z\n\nhost;x-amz-date\n" EMPTY_SHA256,
     "8549794ae4d0e2d8d848683ceced2c70798b432f844f27dad54ea482c6762913",
     {{"Host", "route53.amazonaws.com"}, {"X-Amz-Date", "20260102T030405Z"}},
     2,
     NULL},
    {"us-east-1",
     "GET",
     "/2013-04-01/hostedzone/Z1/rrset",
     "identifier=a%20b&maxitems=300&name=%5C052.example.org.&type=A",
     "GET\n/2013-04-01/hostedzone/Z1/rrset\n"
     "identifier=a%20b&maxitems=300&name=%5C052.example.org.&type=A\n"
     "host:127.0.0.1:8553\nx-amz-date:20260102T030405Z\n"
     "x-amz-security-token:FwoGZXIvYXdzEXAMPLE//token==\n\n"
     "host;x-amz-date;x-amz-security-token\n" EMPTY_SHA256,
     "2ba77f5a89437d3f446ac0ce02492a28bdf6877acf26af03e88405021f884f6e",
     {{"X-Amz-Security-Token", "FwoGZXIvYXdzEXAMPLE//token=="},
      {"Host", "127.0.0.1:8553"},
      {"X-Amz-Date", "20260102T030405Z"}},
     3,
     NULL},
    {"cn-northwest-1",
     "POST",
     "/2013-04-01/hostedzone/Z1/rrset/",
     "",
     "POST\n/2013-04-01/hostedzone/Z1/rrset/\n\ncontent-length:10\n"
     "content-type:text/xml\nhost:route53.amazonaws.com.cn\n"
     "x-amz-date:20260102T030405Z\n\n"
     "content-length;content-type;host;x-amz-date\n"
     "bdab664922c33ed6c63573b1b64c53c5c3ba25f38381873eeac5b32efb16120e",
     "870783571c00465c57ad205ed0079a96451d46e5e367bf1511651227b361a511",
     {{"Content-Type", "  text/xml "},
      {"Host", "route53.amazonaws.com.cn"},
      {"X-Amz-Date", "20260102T030405Z"},
      {"Content-Length", "10"}},
     4,
     "<a>\xc3\xa9</a>\n"},
};

static void test_own_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const struct vector *v = &vectors[i];
        struct sigv4_scope scope = {"20260102T030405Z", v->region, "route53"};
        struct sigv4_request r = {v->method,
                                  v->path,
                                  v->query,
                                  v->headers,
                                  v->n_headers,
                                  v->body,
                                  v->body != NULL ? strlen(v->body) : 0};
        struct buf b;
        const char *at;

        buf_init(&b, SIGV4_MAX);
        sigv4_canonical(&r, &b);
        assert_string_equal(buf_get(&b), v->canonical);
        buf_reset(&b);
        sigv4_authorization(&example, &scope, &r, &b);
        at = strstr(buf_get(&b), ", Signature=");
        assert_non_null(at);
        assert_string_equal(at + strlen(", Signature="), v->signature);
        buf_fini(&b);
    }
}

/* ---- AWS's own suite, where it lies beside the repository ---------------- */

struct suite {
    size_t run;
};

static char *read_part(const char *folder, const char *name, const char *ext)
{
    char *path = mem_printf("%s/%s.%s", folder, name, ext);
    FILE *f = fopen(path, "rb");
    char *text;
    size_t n;

    free(path);
    if (f == NULL)
        return NULL;
    text = mem_alloc(16384);
    n = fread(text, 1, 16383, f);
    (void)fclose(f);
    while (n > 0 && text[n - 1] == '\n') /* some files end in one */
        text[--n] = '\0';
    return text;
}

/* The request as a text, cut up in place. */
static void read_request(char *text, struct sigv4_request *r,
                         struct sigv4_header *h)
{
    char *body = strstr(text, "\n\n"), *line, *next, *end;

    if (body != NULL) {
        *body = '\0';
        r->body = body + 2;
        r->body_len = strlen(r->body);
    }
    line = strchr(text, '\n');
    *line++ = '\0';
    r->method = text;
    r->path = strchr(text, ' ') + 1;
    *strchr(text, ' ') = '\0';
    end = strrchr(r->path, ' '); /* the path of get-space holds one */
    *end = '\0';
    r->query = "";
    if (strchr(r->path, '?') != NULL) {
        char *mark = strchr(r->path, '?');

        *mark = '\0';
        r->query = mark + 1;
    }
    r->headers = h;
    for (; line != NULL && *line != '\0'; line = next) {
        next = line;
        do /* a line that begins with a blank belongs to the one before */
            next = strchr(next + 1, '\n');
        while (next != NULL && next[1] == ' ');
        if (next != NULL)
            *next++ = '\0';
        assert_true(r->n_headers < HEADERS_MAX);
        h[r->n_headers].name = line;
        h[r->n_headers].value = strchr(line, ':') + 1;
        *strchr(line, ':') = '\0';
        r->n_headers++;
    }
}

/* One request has a session that stands only in what is made of it. */
static void add_token(const char *canonical, struct sigv4_request *r,
                      struct sigv4_header *h, char token[512])
{
    const char *at = strstr(canonical, "\nx-amz-security-token:");

    for (size_t i = 0; i < r->n_headers; i++)
        if (strcasecmp(h[i].name, "X-Amz-Security-Token") == 0)
            return;
    if (at == NULL)
        return;
    assert_int_equal(sscanf(at, "\nx-amz-security-token:%511s", token), 1);
    h[r->n_headers].name = "X-Amz-Security-Token";
    h[r->n_headers++].value = token;
}

static void run_one(struct suite *s, const char *folder, const char *name)
{
    static const struct sigv4_key key = {
        "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
    static const struct sigv4_scope scope = {"20150830T123600Z", "us-east-1",
                                             "service"};
    struct sigv4_header headers[HEADERS_MAX];
    struct sigv4_request r = {0};
    char *req = read_part(folder, name, "req");
    char *creq = read_part(folder, name, "creq");
    char *sts = read_part(folder, name, "sts");
    char *authz = read_part(folder, name, "authz");
    struct buf b, text;
    char token[512];

    assert_true(creq != NULL && sts != NULL && authz != NULL);
    read_request(req, &r, headers);
    add_token(creq, &r, headers, token);
    buf_init(&b, SIGV4_MAX);
    buf_init(&text, SIGV4_MAX);
    sigv4_canonical(&r, &b);
    if (strcmp(buf_get(&b), creq) != 0)
        fail_msg("%s:\n%s\n--- wanted\n%s", name, buf_get(&b), creq);
    sigv4_string_to_sign(&scope, buf_get(&b), b.len, &text);
    assert_string_equal(buf_get(&text), sts);
    buf_reset(&b);
    sigv4_authorization(&key, &scope, &r, &b);
    assert_string_equal(buf_get(&b), authz);
    buf_fini(&b);
    buf_fini(&text);
    free(req);
    free(creq);
    free(sts);
    free(authz);
    s->run++;
}

static void run_folder(struct suite *s, const char *folder, const char *name)
{
    DIR *d = opendir(folder);
    char *req = mem_printf("%s/%s.req", folder, name);
    FILE *f = fopen(req, "rb");
    struct dirent *entry;

    free(req);
    if (f != NULL) {
        (void)fclose(f);
        run_one(s, folder, name);
    }
    while (d != NULL && (entry = readdir(d)) != NULL) {
        char *path;

        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        path = mem_printf("%s/%s", folder, entry->d_name);
        run_folder(s, path, entry->d_name);
        free(path);
    }
    if (d != NULL)
        (void)closedir(d);
}

static void test_aws_suite(void **state)
{
    const char *shared = getenv("DNSFAILOVER_SHARED");
    char *folder = mem_printf("%s/providers/recordings/sigv4/aws4_testsuite",
                              shared != NULL ? shared : "../shared");
    struct suite s = {0};

    (void)state;
    run_folder(&s, folder, "");
    free(folder);
    if (s.run == 0) {
        print_message("no ../shared/providers/recordings/sigv4\n");
        skip();
    }
    print_message("%zu vectors\n", s.run);
    assert_true(s.run >= 30);
}

/* ---- the rest ------------------------------------------------------------ */

static void test_time(void **state)
{
    char text[SIGV4_TIME_SIZE];

    (void)state;
    sigv4_time(0, text);
    assert_string_equal(text, "19700101T000000Z");
    sigv4_time(INT64_C(1440938160999), text);
    assert_string_equal(text, "20150830T123600Z");
}

static void test_encode(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1024);
    sigv4_encode(&b, "aZ9-._~ *\\/\xe1\x00", 13);
    assert_string_equal(buf_get(&b), "aZ9-._~%20%2A%5C%2F%E1%00");
    buf_fini(&b);
}

/* What stands in the way of a right signature elsewhere: "-" and "." sort
 * before "=", equal names sort by value, a name without value has one. */
static void test_query_order(void **state)
{
    struct sigv4_request r = {.method = "GET", .path = "", .query = ""};
    struct buf b;

    (void)state;
    buf_init(&b, SIGV4_MAX);
    r.query = "b-c=1&b=2&b=1&a&b.c=3&&%7e=%7E&x=%zz";
    sigv4_canonical(&r, &b);
    assert_string_equal(buf_get(&b),
                        "GET\n/\na=&b=1&b=2&b-c=1&b.c=3&x=%25zz&~=~\n\n"
                        "\n" EMPTY_SHA256);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_vectors), cmocka_unit_test(test_aws_suite),
        cmocka_unit_test(test_time),        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_query_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
