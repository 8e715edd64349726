/* The answer parser: whatever is read can be written, and the strings read
 * back are the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "providers/ispconfig/soap.h"

#define MAX ((size_t)16 * 1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct soap_args *args, const struct soap_value *v)
{
    if (v->kind != SOAP_MAP) {
        soap_put_string(args, v->kind == SOAP_NIL ? NULL : v->text);
        return;
    }
    soap_open_map(args);
    for (size_t i = 0; i < v->n; i++)
        soap_put_member(args, v->keys[i], soap_get_text(v, v->keys[i]));
    soap_close_map(args);
}

/* A call with one argument, read as an answer: its element is not called
 * "return", so that the value is renamed on the way. */
static void read_back(struct arena *a, const struct soap_value *v)
{
    struct soap_answer again;
    struct soap_args args;
    struct buf body;
    struct err e;
    char *at;

    soap_args_init(&args);
    buf_init(&body, MAX);
    put(&args, v);
    if (soap_envelope(&body, "call", NULL, &args, &e) == 0 &&
        v->kind == SOAP_STRING) {
        /* <p …> and </p> become <return …> by a second writing */
        char *text = mem_strdup(body.data);
        struct buf swapped;

        buf_init(&swapped, MAX);
        at = strstr(text, "<p ");
        *at = '\0';
        buf_str(&swapped, text);
        buf_str(&swapped, "<return ");
        at += 3;
        buf_add(&swapped, at,
                strlen(at) - strlen("</p></call></s:Body>"
                                    "</s:Envelope>\n"));
        buf_str(&swapped, "</return></call></s:Body></s:Envelope>");
        if (soap_parse(a, swapped.data, swapped.len, MAX, &again, &e) != 0 ||
            strcmp(again.value.text, v->text) != 0)
            abort();
        buf_fini(&swapped);
        free(text);
    }
    soap_args_fini(&args);
    buf_fini(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct soap_answer out;
    struct err e;

    if (soap_parse(a, (const char *)data, size, MAX, &out, &e) == 0 &&
        !out.is_fault)
        read_back(a, &out.value);
    arena_free(a);
    return 0;
}

#include "tests/fuzz/fuzz_main.h"
