#include "agent/base/late_lib.h"

#include <dlfcn.h>
#include <string.h>

int late_lib_load(const char *file, const struct late_function *functions,
                  size_t n, void *table, struct err *e)
{
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (lib == NULL)
        return err_set(e, ERR_LOCAL, "a library cannot be loaded: %s",
                       dlerror());
    for (size_t i = 0; i < n; i++) {
        void *f = dlsym(lib, functions[i].name);

        if (f == NULL)
            return err_set(e, ERR_LOCAL, "%s has no %s", file,
                           functions[i].name);
        memcpy((char *)table + functions[i].offset, &f, sizeof f);
    }
    return 0;
}
