#ifndef TESTS_UNIT_REST_STYLE_H
#define TESTS_UNIT_REST_STYLE_H

#include "providers/rest/rest.h"

#define ZONE "example.org."
#define WWW "www." ZONE

/* Sets whose values are bare strings, in a list without a name. */
static const struct rest_style strings_style = {
    .ops = &provider_dnsimple, /* for its capabilities */
    .label = "Somebody",
    .names = REST_RELATIVE,
    .apex = "@",
    .targets = REST_TARGET_RELATIVE,
    .txt_bare = true,
    .by_set = true,
    .m = {.name = "subname", .type = "type", .ttl = "ttl", .values = "records"},
    .paths = {.items = "", .batch = "/sets"},
    .new_ttl_s = 3600,
};

#endif
