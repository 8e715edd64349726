#include "agent/base/curl_lib.h"

#include "agent/base/late_lib.h"

#ifndef CURL_SONAME /* the Makefile asks the library */
#define CURL_SONAME "libcurl.so.4"
#endif

int curl_lib_load(struct curl_lib *lib, struct err *e)
{
#define FUNCTION(name) {"curl_" #name, offsetof(struct curl_lib, name)},
    static const struct late_function functions[] = {CURL_LIB_EACH(FUNCTION)};
#undef FUNCTION

    return late_lib_load(CURL_SONAME, functions,
                         sizeof functions / sizeof functions[0], lib, e);
}
