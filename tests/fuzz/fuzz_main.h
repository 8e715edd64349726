#ifndef TESTS_FUZZ_MAIN_H
#define TESTS_FUZZ_MAIN_H

#include <stddef.h>
#include <stdint.h>

/* Each fuzz target defines this one; libFuzzer calls it, or, with FUZZ_MAIN,
 * a plain main() for each file of its arguments: so the corpora run as
 * ordinary tests under any compiler. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef FUZZ_MAIN
#include <stdio.h>
#include <stdlib.h>

/* The whole file in a block of exactly its size, so that reading beyond its
 * end is seen. */
static int fuzz_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    long size = -1;
    int rc = 1;

    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        goto out;
    size = ftell(f);
    if (size < 0 || fseek(f, 0, SEEK_SET) != 0)
        goto out;
    data = malloc(size > 0 ? (size_t)size : 1);
    if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size)
        goto out;
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    rc = 0;
out:
    if (rc != 0)
        (void)fprintf(stderr, "%s cannot be read\n", path);
    free(data);
    if (f != NULL)
        (void)fclose(f);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0;

    for (int i = 1; i < argc; i++)
        rc |= fuzz_file(argv[i]);
    (void)printf("%d files\n", argc - 1);
    return rc;
}
#endif

#endif
