#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/mem.h"
#include "agent/base/proc.h"

#define PATH_DEFAULT "/usr/local/bin:/bin:/usr/bin"

static bool is_program(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return false;
    if (!S_ISREG(st.st_mode))
        errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
    else if (access(path, X_OK) == 0)
        return true;
    return false;
}

int proc_find(const char *program, struct err *e)
{
    const char *path = getenv("PATH");
    bool found = false;

    if (strchr(program, '/') != NULL) {
        if (is_program(program))
            return 0;
        return err_set(e, ERR_LOCAL, "%s: %s", program, strerror(errno));
    }
    if (path == NULL)
        path = PATH_DEFAULT;
    for (const char *at = path; !found; at++) {
        size_t n = strcspn(at, ":");
        char *full = n == 0 ? mem_printf("./%s", program)
                            : mem_printf("%.*s/%s", (int)n, at, program);

        found = is_program(full);
        free(full);
        at += n;
        if (*at == '\0')
            break;
    }
    if (found)
        return 0;
    return err_set(e, ERR_LOCAL, "%s: no such program in PATH", program);
}
