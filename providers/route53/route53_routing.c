#include <string.h>

#include "providers/route53/route53_answer.h"
#include "providers/shared/xml.h"

/* How a set is routed: kept as it was answered, so that a set with an
 * identifier can be written back with nothing lost. Members go before or
 * behind TTL and ResourceRecords, as the service model orders them.
 * source: service model, "ResourceRecordSet" */

#define MEMBER_MAX ((size_t)64 * 1024)

struct member {
    const char *element;
    const char *what; /* NULL: named by its value */
    bool is_fixed;    /* such a set is somebody else's in any case */
};

static const struct member before[] = {
    {"SetIdentifier", NULL, false},
    {"Weight", "weighted routing", false},
    {"Region", "latency routing", false},
    {"GeoLocation", "geolocation routing", false},
    {"Failover", "failover routing", false},
    {"MultiValueAnswer", "multivalue routing", false},
};

static const struct member after[] = {
    {"AliasTarget", "an alias", true},
    {"HealthCheckId", "a health check", false},
    {"TrafficPolicyInstanceId", "a traffic policy", true},
    {"CidrRoutingConfig", "routing by network", false},
    {"GeoProximityLocation", "geoproximity routing", false},
};

static const char *const plain[] = {"Name", "Type", "TTL", "ResourceRecords"};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* ---- copies -------------------------------------------------------------- */

static void add_escaped(struct buf *b, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '&')
            buf_str(b, "&amp;");
        else if (*p == '<')
            buf_str(b, "&lt;");
        else if (*p == '>')
            buf_str(b, "&gt;");
        else if ((unsigned char)*p < 0x20)
            buf_printf(b, "&#%u;", (unsigned)(unsigned char)*p);
        else
            buf_char(b, *p);
    }
}

/* returns false for what the copy would lose. No deeper than xml_parse lets
 * documents be. */
static bool add_copy(struct buf *b, const xmlNode *n, struct arena *a)
{
    const xmlNode *child = xml_child(n, NULL);
    bool whole = n->properties == NULL;

    buf_printf(b, "<%s>", (const char *)n->name);
    if (child == NULL)
        add_escaped(b, xml_text(n, a));
    for (; child != NULL; child = xml_next(child, NULL))
        whole &= add_copy(b, child, a);
    buf_printf(b, "</%s>", (const char *)n->name);
    return whole && !b->over;
}

/* ---- members ------------------------------------------------------------- */

static const struct member *find(const struct member *table, size_t n,
                                 const xmlNode *node)
{
    for (size_t i = 0; i < n; i++)
        if (xml_is(node, table[i].element))
            return &table[i];
    return NULL;
}

static bool is_plain(const xmlNode *n)
{
    for (size_t i = 0; i < COUNT(plain); i++)
        if (xml_is(n, plain[i]))
            return true;
    return false;
}

/* What an element says of how the set is routed. Unknown ones too: a set that
 * is written back without them would lose them. */
static const char *name_of(const xmlNode *n, struct arena *a)
{
    const struct member *m = find(before, COUNT(before), n);

    if (m == NULL)
        m = find(after, COUNT(after), n);
    if (m == NULL)
        return arena_printf(a, "%.60s", (const char *)n->name);
    return m->what != NULL
               ? m->what
               : arena_printf(a, "set identifier \"%.100s\"", xml_text(n, a));
}

static void look_at(const xmlNode *n, struct arena *a, struct route53_set *out)
{
    const struct member *m = find(after, COUNT(after), n);
    bool is_id = xml_is(n, "SetIdentifier");

    if (is_id)
        out->set_id = xml_text(n, a);
    if (m != NULL && m->is_fixed)
        out->fixed = m->what;
    /* An identifier says least of all. */
    if (out->managed == NULL || !is_id)
        out->managed = name_of(n, a);
}

static void add_members(struct buf *b, const xmlNode *set, struct arena *a,
                        const struct member *table, size_t n,
                        struct route53_set *out)
{
    for (size_t i = 0; i < n; i++) {
        const xmlNode *c = xml_child(set, table[i].element);

        for (; c != NULL; c = xml_next(c, table[i].element))
            if (!add_copy(b, c, a))
                out->fixed = table[i].element;
    }
}

static void add_unknown(struct buf *b, const xmlNode *set, struct arena *a,
                        struct route53_set *out)
{
    for (const xmlNode *c = xml_child(set, NULL); c != NULL;
         c = xml_next(c, NULL))
        if (!is_plain(c) && find(before, COUNT(before), c) == NULL &&
            find(after, COUNT(after), c) == NULL && !add_copy(b, c, a))
            out->fixed = name_of(c, a);
}

void route53_read_routing(const xmlNode *set, struct arena *a,
                          struct route53_set *out)
{
    struct buf b;

    for (const xmlNode *n = xml_child(set, NULL); n != NULL;
         n = xml_next(n, NULL))
        if (!is_plain(n))
            look_at(n, a, out);
    if (out->managed == NULL)
        return;
    buf_init(&b, MEMBER_MAX);
    add_members(&b, set, a, before, COUNT(before), out);
    out->before = arena_strdup(a, buf_get(&b));
    buf_reset(&b);
    add_members(&b, set, a, after, COUNT(after), out);
    add_unknown(&b, set, a, out);
    out->after = arena_strdup(a, buf_get(&b));
    buf_fini(&b);
}
