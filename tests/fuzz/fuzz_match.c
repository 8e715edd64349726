#include "tests/fuzz/fuzz_main.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/mem.h"
#include "agent/probes/match.h"

/* Three lines: a pattern, a JSON pointer and a value; the rest is the body. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct probe_result r = {PROBE_OK, PROBE_FINE, 0, 0, ""};
    char *text = mem_strndup((const char *)data, size), *at = text, *line[3];
    struct probe_pair json;
    struct probe_params p = {0};

    for (int i = 0; i < 3; i++) {
        line[i] = at;
        at = strchr(at, '\n');
        if (at == NULL) {
            free(text);
            return 0;
        }
        *at++ = '\0';
    }
    p.body_match = line[0];
    (void)match_body(&p, at, strlen(at), false, &r);
    json.name = line[1];
    json.value = line[2];
    p.body_match = NULL;
    p.json = &json;
    p.njson = 1;
    (void)match_body(&p, at, strlen(at), false, &r);
    free(text);
    return 0;
}
