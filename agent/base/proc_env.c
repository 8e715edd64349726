#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/mem.h"
#include "agent/base/proc.h"

/* What is passed on. A list of what is not would miss the next provider's
 * token. */
static const char *const passed[] = {
    "PATH", "HOME",     "USER", "LOGNAME", "SHELL",
    "LANG", "LANGUAGE", "TZ",   "TMPDIR",  NULL,
};

static bool is_passed(const char *variable)
{
    size_t n = strcspn(variable, "=");

    if (n > 3 && strncmp(variable, "LC_", 3) == 0)
        return true;
    for (size_t i = 0; passed[i] != NULL; i++)
        if (strlen(passed[i]) == n && strncmp(variable, passed[i], n) == 0)
            return true;
    return false;
}

char **proc_env_new(void)
{
    size_t n = 0, kept = 0;
    char **env;

    while (environ != NULL && environ[n] != NULL)
        n++;
    env = mem_array(n + 1, sizeof *env);
    for (size_t i = 0; i < n; i++)
        if (is_passed(environ[i]))
            env[kept++] = environ[i];
    env[kept] = NULL;
    return env;
}
