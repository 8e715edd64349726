#include "agent/base/core.h"

#include <sys/resource.h>
/* The leak checker of the sanitizers looks in from outside. */
#if defined __linux__ && !defined __SANITIZE_ADDRESS__
#define NOT_DUMPABLE
#include <sys/prctl.h>
#endif

void core_forbid(void)
{
    struct rlimit none = {0, 0};

    (void)setrlimit(RLIMIT_CORE, &none);
#ifdef NOT_DUMPABLE
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}
