#ifndef AGENT_BASE_CURL_LIB_H
#define AGENT_BASE_CURL_LIB_H

#include <curl/curl.h>

#include "agent/base/err.h"

/* libcurl, loaded when somebody needs it (late_lib.h says why). Its functions
 * are called through this table: lib->url() is curl_url(). */

#define CURL_LIB_EACH(F)                                                       \
    F(easy_cleanup)                                                            \
    F(easy_getinfo)                                                            \
    F(easy_header)                                                             \
    F(easy_init)                                                               \
    F(easy_setopt)                                                             \
    F(easy_strerror)                                                           \
    F(free)                                                                    \
    F(getdate)                                                                 \
    F(global_cleanup)                                                          \
    F(global_init)                                                             \
    F(multi_add_handle)                                                        \
    F(multi_assign)                                                            \
    F(multi_cleanup)                                                           \
    F(multi_info_read)                                                         \
    F(multi_init)                                                              \
    F(multi_remove_handle)                                                     \
    F(multi_setopt)                                                            \
    F(multi_socket_action)                                                     \
    F(slist_append)                                                            \
    F(slist_free_all)                                                          \
    F(url)                                                                     \
    F(url_cleanup)                                                             \
    F(url_get)                                                                 \
    F(url_set)

#define CURL_LIB_MEMBER(name) __typeof__(curl_##name) *name;
struct curl_lib {
    CURL_LIB_EACH(CURL_LIB_MEMBER)
};
#undef CURL_LIB_MEMBER

/* out: lib — filled in; costs microseconds once it has been loaded
 * returns 0, or -1 with e set (ERR_LOCAL) */
MUST_CHECK int curl_lib_load(struct curl_lib *lib, struct err *e);

#endif
