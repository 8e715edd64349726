#include "agent/engine/checks/check_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/duration.h"
#include "agent/base/mem.h"
#include "specs/check.h"

static void add_text(struct buf *b, const char *name, const char *value)
{
    if (value != NULL)
        buf_printf(b, " %s=%s", name, value);
}

static void add_number(struct buf *b, const char *name, int64_t value)
{
    if (value != 0)
        buf_printf(b, " %s=%" PRId64, name, value);
}

static void add_parameters(struct buf *b, const struct spec_check *c)
{
    const struct spec_dialog *d = spec_dialog_of(c);

    add_text(b, "path", d->path);
    add_text(b, "host", d->host);
    add_text(b, "serverName", d->server_name);
    add_text(b, "method", d->method);
    add_number(b, "unverified", spec_check_forms[c->kind].tls && !c->verify);
    for (size_t i = 0; i < d->nheaders; i++)
        add_text(b, d->headers[i].name, d->headers[i].value);
    for (size_t i = 0; i < d->nstatus; i++)
        buf_printf(b, " status=%" PRId64 "-%" PRId64, d->status[i].from,
                   d->status[i].to);
    add_text(b, "body", d->body);
    add_text(b, "bodyMatch", d->body_match);
    for (size_t i = 0; i < d->njson; i++)
        add_text(b, d->json[i].name, d->json[i].value);
    add_text(b, "send", d->send);
    add_text(b, "expect", d->expect);
    add_text(b, "name", d->dns_name);
    add_text(b, "type", d->dns_type);
    add_text(b, "service", d->service);
    add_text(b, "command", d->command);
    add_number(b, "minCertDays", d->min_cert_days);
    add_number(b, "followRedirects", d->follow_redirects);
}

static void add_targets(struct buf *b, const struct check *k)
{
    const struct addr *targets = checks_targets(k);
    char text[ADDR_TEXT_SIZE];

    if (checks_host(k) != NULL)
        buf_printf(b, " %s:%u", checks_host(k), k->spec->port);
    for (size_t i = 0; i < k->ntargets; i++)
        buf_printf(b, " %s", addr_format_port(&targets[i], text));
    if (k->ntargets > 1)
        buf_printf(b, " need=%u", k->need);
}

static void add_timeout(struct buf *b, int64_t timeout_ms, bool repeated)
{
    char text[32];

    buf_printf(b, " %s%s", duration_format(timeout_ms, text),
               repeated ? "+" : "");
}

static void add_thresholds(struct buf *b, uint32_t success, uint32_t failure)
{
    buf_printf(b, " %" PRIu32 "/%" PRIu32, success, failure);
}

void check_key_write(const struct check *k, struct buf *b)
{
    const struct spec_check *s = k->spec;

    buf_str(b, spec_check_kind_name(s->kind));
    add_targets(b, k);
    add_parameters(b, s);
    add_text(b, "for", k->name);
    add_timeout(b, s->timeout_ms, s->repeat_timeout);
    add_thresholds(b, s->required_success, s->required_failure);
}

#define UNVERIFIED " unverified=1"

/* --- old ones ------------------------------------------------------------- */

/* The last place in text where part begins, or NULL. */
static const char *find_last(const char *text, const char *part)
{
    const char *last = NULL;

    while ((text = strstr(text, part)) != NULL)
        last = text++;
    return last;
}

/* in: key — of a check, up to its timeout, len bytes
 * returns what is to be left out of it: they said of kinds without TLS, too,
 * that nothing is verified; NULL: nothing */
static const char *find_needless(const char *key, size_t len)
{
    const char *kind = key[0] == '|' ? key + 1 : key; /* of a problem */
    const char *at = strstr(key, UNVERIFIED);

    if (at == NULL || at >= key + len)
        return NULL;
    for (int k = 0; k < SPEC_CHECK_NKINDS; k++) {
        size_t n = strlen(spec_check_forms[k].name);

        if (strncmp(kind, spec_check_forms[k].name, n) == 0 && kind[n] == ' ')
            return spec_check_forms[k].tls ? NULL : at;
    }
    return NULL;
}

/* The whole of tail is "timeout=MS[ repeat] success=N failure=N". */
static bool read_old(const char *tail, int64_t *timeout_ms, bool *repeated,
                     uint32_t *success, uint32_t *failure)
{
    int end = 0;

    if (sscanf(tail, " timeout=%" SCNd64 "%n", timeout_ms, &end) != 1)
        return false;
    tail += end;
    *repeated = strncmp(tail, " repeat", 7) == 0;
    tail += *repeated ? 7 : 0;
    end = 0;
    return sscanf(tail, " success=%" SCNu32 " failure=%" SCNu32 "%n", success,
                  failure, &end) == 2 &&
           tail[end] == '\0';
}

char *check_key_modern(const char *key)
{
    const char *tail = find_last(key, " timeout="), *needless;
    uint32_t success, failure;
    int64_t timeout_ms;
    char *modern;
    bool repeated;
    struct buf b;

    if (tail == NULL ||
        !read_old(tail, &timeout_ms, &repeated, &success, &failure))
        return NULL;
    buf_init(&b, strlen(key) + 64);
    needless = find_needless(key, (size_t)(tail - key));
    if (needless != NULL) {
        buf_add(&b, key, (size_t)(needless - key));
        key = needless + strlen(UNVERIFIED);
    }
    buf_add(&b, key, (size_t)(tail - key));
    add_timeout(&b, timeout_ms, repeated);
    add_thresholds(&b, success, failure);
    modern = mem_strdup(buf_get(&b));
    buf_fini(&b);
    return modern;
}
