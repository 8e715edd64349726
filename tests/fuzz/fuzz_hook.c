/* Whatever a hook may answer. What is read is canonical, in the zone, and as
 * many as was asked for; what is not read has a place and a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "providers/hook/hook.h"

#define ZONE "example.org."

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds)
        abort();
}

static void check_name(const char *name, const char *zone)
{
    char again[NAME_SIZE];

    need(name_canon(name, again, NULL) == 0 && strcmp(again, name) == 0);
    need(zone == NULL || name_within(name, zone));
}

static void check_records(const cJSON *root)
{
    struct rrset_list sets;
    struct err e = {.code = ERR_NONE};

    rrset_list_init(&sets);
    if (hook_answer_records(root, ZONE, NULL, 0, &sets, &e) != 0) {
        need(e.code != ERR_NONE && e.msg[0] != '\0');
    } else {
        for (size_t i = 0; i < sets.n; i++) {
            check_name(sets.sets[i].name, ZONE);
            need(sets.sets[i].n > 0 && sets.sets[i].type != RR_TXT);
        }
    }
    rrset_list_fini(&sets);
}

static void check_names(const cJSON *root, struct arena *a)
{
    const char *const *names;
    struct provider_spec *specs;
    struct err e;
    size_t n;

    if (hook_answer_zones(root, a, &names, &n, &e) == 0)
        for (size_t i = 0; i < n; i++)
            check_name(names[i], NULL);
    if (hook_answer_specs(root, ZONE, a, &specs, &n, &e) == 0)
        for (size_t i = 0; i < n; i++) {
            check_name(specs[i].owner, NULL);
            need(specs[i].text == NULL ||
                 strlen(specs[i].text) == specs[i].len);
        }
}

static void check_results(const cJSON *root)
{
    struct change_result r[2];
    struct hook_serial serial;
    struct err e;
    bool changed;

    memset(r, 0, sizeof r);
    if (hook_answer_results(root, 2, r, &e) == 0)
        for (size_t i = 0; i < 2; i++)
            need((r[i].err.code != ERR_NONE) ==
                 (r[i].state == CHANGE_FAILED || r[i].state == CHANGE_UNKNOWN));
    if (hook_answer_serial(root, &serial, &e) == 0)
        need(serial.has || serial.serial == 0);
    (void)!hook_answer_written(root, &changed, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *a = arena_new();
    struct err e = {.code = ERR_NONE};
    cJSON *root;
    bool own;

    if (hook_answer_parse((const char *)data, size, &root, &own, &e) != 0) {
        need(root == NULL && e.code != ERR_NONE);
    } else {
        check_records(root);
        check_names(root, a);
        check_results(root);
    }
    cJSON_Delete(root);
    arena_free(a);
    return 0;
}

#include "tests/fuzz/fuzz_main.h"
