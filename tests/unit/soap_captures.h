#ifndef TESTS_UNIT_SOAP_CAPTURES_H
#define TESTS_UNIT_SOAP_CAPTURES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"

/* The recorded answers beside the repository (../shared, or where
 * DNSFAILOVER_SHARED points), for tests that take each of them. */

static inline char *captures_path(const char *name)
{
    const char *shared = getenv("DNSFAILOVER_SHARED");

    return mem_printf("%s/ispconfig/captures%s%s",
                      shared != NULL ? shared : "../shared",
                      name[0] != '\0' ? "/" : "", name);
}

/* A whole file, NUL-terminated; NULL when it is not there. Caller frees. */
static inline char *captures_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text;
    size_t cap = (size_t)1024 * 1024;

    if (f == NULL)
        return NULL;
    text = mem_alloc(cap + 1);
    *len = fread(text, 1, cap, f);
    (void)fclose(f);
    return text;
}

/* Calls each(name, text, len) for every *.response.xml; returns how many. */
static inline size_t captures_each(void (*each)(const char *name,
                                                const char *text, size_t len))
{
    char *folder = captures_path("");
    DIR *d = opendir(folder);
    struct dirent *entry;
    size_t n = 0;

    free(folder);
    while (d != NULL && (entry = readdir(d)) != NULL) {
        const char *end = strstr(entry->d_name, ".response.xml");
        char *path, *text;
        size_t len = 0;

        if (end == NULL || end[13] != '\0')
            continue;
        path = captures_path(entry->d_name);
        text = captures_read(path, &len);
        if (text != NULL) {
            each(entry->d_name, text, len);
            n++;
        }
        free(text);
        free(path);
    }
    if (d != NULL)
        (void)closedir(d);
    return n;
}

#endif
