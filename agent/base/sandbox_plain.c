/* Systems that are not Linux: nothing but the user. */
#ifndef __linux__

#include "agent/base/sandbox.h"
#include "agent/base/sandbox_impl.h"

int sandbox_impl_before(struct err *e)
{
    (void)e;
    return 0;
}

int sandbox_impl_after(const char *dir, struct err *e)
{
    (void)dir;
    (void)e;
    return 0;
}

const char *sandbox_describe(pid_t pid, char out[SANDBOX_TEXT_SIZE])
{
    (void)pid;
    (void)out;
    return NULL;
}

void sandbox_name_process(const char *name)
{
    (void)name;
}

#else
typedef int sandbox_plain_is_empty;
#endif
