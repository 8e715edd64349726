#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/config.h"

/* A configuration file, from its bytes: it is refused with a text that names
 * the file, or what comes out keeps config.h's promises. */

static const struct config_field panel[] = {
    {"url", CONFIG_STR, true, false, NULL, "address"},
    {"password", CONFIG_STR, false, false, NULL, "secret"},
    {"password-file", CONFIG_STR, false, false, NULL, "secret's file"},
    {"timeout", CONFIG_INT, false, false, "30", "seconds"},
    {"verbose", CONFIG_BOOL, false, false, "no", "say more"},
    {NULL, CONFIG_STR, false, false, NULL, NULL},
};
static const struct config_field files[] = {
    {"file", CONFIG_STR, true, false, NULL, "path"},
    {"reload", CONFIG_STR, false, true, NULL, "command"},
    {NULL, CONFIG_STR, false, false, NULL, NULL},
};
static const struct config_schema schemas[] = {
    {"ispconfig", panel}, {"zonefile", files}, {NULL, NULL}};

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void need(int truth)
{
    if (!truth)
        abort();
}

static void check_zone(const struct config *c, const struct config_zone *z)
{
    char name[NAME_SIZE];

    need(z->provider >= c->providers &&
         z->provider < c->providers + c->nproviders);
    if (strcmp(z->name, "*") == 0) {
        need(z->discover == DISCOVER_PROVIDER && z->nnames == 0);
        return;
    }
    need(name_canon(z->name, name, NULL) == 0 && strcmp(name, z->name) == 0);
    for (size_t i = 0; i < z->nnames; i++)
        need(name_within(z->names[i], z->name));
    for (size_t i = 0; i < z->nservers; i++)
        need(z->servers[i].family != 0 && z->servers[i].port != 0);
}

static void check_config(const struct config *c)
{
    need(c->nzones > 0 && c->state[0] == '/');
    for (size_t i = 0; i < c->nproviders; i++)
        need(c->providers[i].line > 0 && c->providers[i].type != NULL);
    for (size_t i = 0; i < c->nzones; i++) {
        need(c->zones[i].line > 0);
        check_zone(c, &c->zones[i]);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    int fd = memfd_create("config", MFD_CLOEXEC);
    struct config *c = NULL;
    struct err e = {0};
    char path[64];

    need(fd >= 0 && fchmod(fd, 0600) == 0);
    need(write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (config_load(path, schemas, &c, &e) == 0)
        check_config(c);
    else
        need(c == NULL && e.code != ERR_NONE &&
             strncmp(e.msg, path, strlen(path)) == 0);
    config_free(c);
    (void)close(fd);
    return 0;
}

#ifdef FUZZ_MAIN
static unsigned char input[2 * 1024 * 1024];

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
