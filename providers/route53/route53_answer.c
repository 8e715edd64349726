#include "providers/route53/route53_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/charstr.h"
#include "providers/shared/xml.h"

#define VALUES_MAX 10000 /* of one set; its own limit is below */

/* ---- spelling ------------------------------------------------------------ */

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

int route53_name(const char *answered, char out[NAME_SIZE])
{
    char plain[2 * NAME_SIZE];
    size_t n = 0;

    for (const char *p = answered; *p != '\0'; p++) {
        int c = (unsigned char)*p;

        if (n + 1 >= sizeof plain)
            return -1;
        if (c == '\\') {
            if (!is_octal(p[1]) || p[1] > '3' || !is_octal(p[2]) ||
                !is_octal(p[3]))
                return -1;
            c = (p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0');
            if (c == '.' || c == '\0')
                return -1;
            p += 3;
        }
        plain[n++] = (char)c;
    }
    plain[n] = '\0';
    return name_canon(plain, out, NULL);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* One string in quotes from p on; NULL when it is not one. */
static const char *decode_string(const char *p, struct buf *out)
{
    size_t n = 0;

    if (*p++ != '"')
        return NULL;
    while (p[n] != '"') {
        if (p[n] == '\\')
            n++;
        if (p[n] == '\0')
            return NULL;
        n++;
    }
    return charstr_decode_octal(p, n, out) ? p + n + 1 : NULL;
}

bool route53_txt_decode(const char *value, struct buf *out)
{
    const char *p = value;

    do {
        while (is_blank(*p))
            p++;
        p = decode_string(p, out);
        if (p == NULL || (*p != '\0' && !is_blank(*p)))
            return false;
        while (is_blank(*p))
            p++;
    } while (*p != '\0');
    return !out->over;
}

/* ---- common -------------------------------------------------------------- */

/* Text of a child element; NULL when there is none. */
static const char *text_of(const xmlNode *n, const char *child, struct arena *a)
{
    const xmlNode *c = xml_child(n, child);

    return c != NULL ? xml_text(c, a) : NULL;
}

static bool is_true(const char *text)
{
    return text != NULL && strcmp(text, "true") == 0;
}

/* "/hostedzone/Z1" and "Z1" are one. */
static const char *plain_id(const char *id)
{
    const char *slash = id != NULL ? strrchr(id, '/') : NULL;

    return slash != NULL ? slash + 1 : id;
}

/* Digits only. returns false: not a number up to max */
static bool read_number(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t v = 0;

    if (text == NULL || text[0] == '\0' || strlen(text) > 18)
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        v = v * 10 + (uint64_t)(*text - '0');
    }
    *out = v;
    return v <= max;
}

/* The document whose root is `root`; NULL with e set. */
static struct xml *open_answer(const char *body, size_t len, const char *root,
                               struct err *e)
{
    struct xml *x;

    if (xml_parse(body, len, ROUTE53_MAX_ANSWER, &x, e) != 0)
        return NULL;
    if (xml_is(xml_root(x), root))
        return x;
    (void)err_set(e, ERR_RETRY, "the answer is <%.60s>, not <%s>",
                  (const char *)xml_root(x)->name, root);
    xml_free(x);
    return NULL;
}

/* IsTruncated. absent: what it means when it is missing; NULL: that the answer
 * is not whole. */
static int read_truncated(const xmlNode *root, struct arena *a,
                          const char *absent, bool *out, struct err *e)
{
    const char *text = text_of(root, "IsTruncated", a);

    if (text == NULL)
        text = absent;
    *out = is_true(text);
    if (text != NULL && (*out || strcmp(text, "false") == 0))
        return 0;
    return err_set(e, ERR_RETRY, "the list does not say whether it goes on");
}

static size_t count(const xmlNode *list, const char *local)
{
    size_t n = 0;

    for (const xmlNode *c = xml_child(list, local); c != NULL;
         c = xml_next(c, local))
        n++;
    return n;
}

/* ---- record sets --------------------------------------------------------- */

static int read_values(const xmlNode *set, struct arena *a,
                       struct route53_set *out, struct err *e)
{
    const xmlNode *list = xml_child(set, "ResourceRecords");
    size_t n = count(list, "ResourceRecord");

    if (n > VALUES_MAX)
        return err_set(e, ERR_LIMIT, "%.100s has %zu values", out->as_named, n);
    out->values = arena_array(a, n + 1, sizeof *out->values);
    for (const xmlNode *r = xml_child(list, "ResourceRecord"); r != NULL;
         r = xml_next(r, "ResourceRecord")) {
        const char *value = text_of(r, "Value", a);

        if (value == NULL)
            return err_set(e, ERR_RETRY,
                           "%.100s %.20s has a record without "
                           "value",
                           out->as_named, out->type);
        out->values[out->n++] = value;
    }
    return 0;
}

static int read_set(const xmlNode *set, struct arena *a,
                    struct route53_set *out, struct err *e)
{
    uint64_t ttl = 0;
    bool has_ttl;

    out->as_named = text_of(set, "Name", a);
    out->type = text_of(set, "Type", a);
    if (out->as_named == NULL || out->type == NULL)
        return err_set(e, ERR_RETRY, "a record set has no name or no type");
    if (route53_name(out->as_named, out->name) != 0)
        out->name[0] = '\0';
    route53_read_routing(set, a, out);
    if (read_values(set, a, out, e) != 0)
        return -1;
    has_ttl = read_number(text_of(set, "TTL", a), INT32_MAX, &ttl);
    if (!has_ttl && out->managed == NULL)
        return err_set(e, ERR_RETRY, "%.100s %.20s has no TTL", out->as_named,
                       out->type);
    if (out->n == 0 && out->managed == NULL)
        return err_set(e, ERR_RETRY, "%.100s %.20s has no records",
                       out->as_named, out->type);
    if (out->fixed == NULL && (!has_ttl || out->n == 0))
        out->fixed = out->managed; /* there is nothing to write back */
    out->ttl_s = (uint32_t)ttl;
    return 0;
}

static int read_all_sets(const xmlNode *root, struct arena *a,
                         struct route53_sets *out, struct err *e)
{
    const xmlNode *list = xml_child(root, "ResourceRecordSets");

    if (list == NULL)
        return err_set(e, ERR_RETRY, "the answer holds no list");
    out->v =
        arena_array(a, count(list, "ResourceRecordSet") + 1, sizeof *out->v);
    for (const xmlNode *s = xml_child(list, "ResourceRecordSet"); s != NULL;
         s = xml_next(s, "ResourceRecordSet"))
        if (read_set(s, a, &out->v[out->n++], e) != 0)
            return -1;
    if (read_truncated(root, a, NULL, &out->truncated, e) != 0)
        return -1;
    out->next.name = text_of(root, "NextRecordName", a);
    out->next.type = text_of(root, "NextRecordType", a);
    out->next.id = text_of(root, "NextRecordIdentifier", a);
    if (out->truncated && (out->next.name == NULL || out->next.type == NULL))
        return err_set(e, ERR_RETRY, "the list goes on and does not say where");
    return 0;
}

int route53_read_sets(struct arena *a, const char *body, size_t len,
                      struct route53_sets *out, struct err *e)
{
    struct xml *x;
    int rc;

    memset(out, 0, sizeof *out);
    x = open_answer(body, len, "ListResourceRecordSetsResponse", e);
    if (x == NULL)
        return -1;
    rc = read_all_sets(xml_root(x), a, out, e);
    xml_free(x);
    return rc;
}

/* ---- zones --------------------------------------------------------------- */

static int read_zone(const xmlNode *zone, struct arena *a,
                     struct route53_zone_row *out, struct err *e)
{
    const char *name = text_of(zone, "Name", a);

    out->id = plain_id(text_of(zone, "Id", a));
    if (name == NULL || out->id == NULL || out->id[0] == '\0')
        return err_set(e, ERR_RETRY, "a hosted zone has no name or no id");
    if (route53_name(name, out->name) != 0)
        out->name[0] = '\0';
    out->is_private =
        is_true(text_of(xml_child(zone, "Config"), "PrivateZone", a));
    if (!read_number(text_of(zone, "ResourceRecordSetCount", a), INT64_MAX,
                     &out->records))
        out->records = 0;
    return 0;
}

static int read_all_zones(const xmlNode *root, struct arena *a,
                          struct route53_zones *out, struct err *e)
{
    const xmlNode *list = xml_child(root, "HostedZones");

    if (list == NULL)
        return err_set(e, ERR_RETRY, "the answer holds no list");
    out->v = arena_array(a, count(list, "HostedZone") + 1, sizeof *out->v);
    for (const xmlNode *z = xml_child(list, "HostedZone"); z != NULL;
         z = xml_next(z, "HostedZone"))
        if (read_zone(z, a, &out->v[out->n++], e) != 0)
            return -1;
    /* Route 53 says it here too; servers that stand in for it do not. */
    if (read_truncated(root, a, "false", &out->truncated, e) != 0)
        return -1;
    out->next_name = text_of(root, "NextDNSName", a);
    out->next_id = plain_id(text_of(root, "NextHostedZoneId", a));
    out->next_marker = text_of(root, "NextMarker", a);
    if (out->truncated && out->next_name == NULL && out->next_marker == NULL)
        return err_set(e, ERR_RETRY, "the list goes on and does not say where");
    return 0;
}

int route53_read_zones(struct arena *a, const char *body, size_t len,
                       struct route53_zones *out, struct err *e)
{
    struct xml *x;
    int rc;

    memset(out, 0, sizeof *out);
    if (xml_parse(body, len, ROUTE53_MAX_ANSWER, &x, e) != 0)
        return -1;
    if (xml_is(xml_root(x), "ListHostedZonesByNameResponse") ||
        xml_is(xml_root(x), "ListHostedZonesResponse"))
        rc = read_all_zones(xml_root(x), a, out, e);
    else
        rc = err_set(e, ERR_RETRY, "the answer is <%.60s>, no list of zones",
                     (const char *)xml_root(x)->name);
    xml_free(x);
    return rc;
}

/* ---- changes and errors -------------------------------------------------- */

int route53_read_change(struct arena *a, const char *body, size_t len,
                        struct route53_change *out, struct err *e)
{
    const xmlNode *info;
    const char *status;
    struct xml *x;
    int rc = 0;

    memset(out, 0, sizeof *out);
    if (xml_parse(body, len, ROUTE53_MAX_ANSWER, &x, e) != 0)
        return -1;
    info = xml_child(xml_root(x), "ChangeInfo");
    out->id = plain_id(text_of(info, "Id", a));
    status = text_of(info, "Status", a);
    if (info == NULL || out->id == NULL || status == NULL)
        rc = err_set(e, ERR_RETRY, "the answer is <%.60s>, no change",
                     (const char *)xml_root(x)->name);
    else
        out->in_sync = strcmp(status, "INSYNC") == 0;
    xml_free(x);
    return rc;
}

static const char *join_messages(const xmlNode *list, struct arena *a)
{
    const char *all = "";

    for (const xmlNode *m = xml_child(list, "Message"); m != NULL;
         m = xml_next(m, "Message"))
        all = arena_printf(a, "%.2000s%s%.500s", all,
                           all[0] != '\0' ? "; " : "", xml_text(m, a));
    return all;
}

bool route53_read_error(struct arena *a, const char *body, size_t len,
                        char code[ROUTE53_CODE_SIZE], const char **text)
{
    const xmlNode *root, *error;
    const char *name = NULL;
    struct xml *x;

    code[0] = '\0';
    *text = "";
    if (len == 0 || xml_parse(body, len, ROUTE53_MAX_ANSWER, &x, NULL) != 0)
        return false;
    root = xml_root(x);
    error = xml_child(root, "Error");
    if (xml_is(root, "ErrorResponse") && error != NULL) {
        name = text_of(error, "Code", a);
        *text = text_of(error, "Message", a);
    } else if (xml_is(root, "InvalidChangeBatch")) {
        name = "InvalidChangeBatch";
        *text = join_messages(xml_child(root, "Messages"), a);
    }
    if (*text == NULL)
        *text = "";
    (void)snprintf(code, ROUTE53_CODE_SIZE, "%s", name != NULL ? name : "");
    xml_free(x);
    return name != NULL;
}
