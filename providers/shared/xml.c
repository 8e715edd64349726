#include "providers/shared/xml.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/late_lib.h"

#ifndef XML_SONAME /* the Makefile asks the library */
#define XML_SONAME "libxml2.so.2"
#endif

/* libxml2, loaded with the first document (late_lib.h says why):
 * lib.FreeDoc() is xmlFreeDoc(). */
#define EACH(F)                                                                \
    F(CtxtGetLastError)                                                        \
    F(CtxtReadMemory)                                                          \
    F(DocGetRootElement)                                                       \
    F(FreeDoc)                                                                 \
    F(FreeParserCtxt)                                                          \
    F(InitParser)                                                              \
    F(NewParserCtxt)                                                           \
    F(SAX2StartElementNs)                                                      \
    F(StopParser)
#define MEMBER(name) __typeof__(xml##name) *name;
#define FUNCTION(name) {"xml" #name, offsetof(struct lib, name)},

struct lib {
    EACH(MEMBER)
};

static int load(struct lib *lib, struct err *e)
{
    static const struct late_function functions[] = {EACH(FUNCTION)};

    return late_lib_load(XML_SONAME, functions,
                         sizeof functions / sizeof functions[0], lib, e);
}

struct xml {
    struct lib lib;
    xmlDoc *doc;
    size_t elements;
    bool has_doctype, too_deep, too_many;
};

/* ---- limits, checked while libxml2 reads -------------------------------- */

static void on_doctype(void *arg, const xmlChar *name, const xmlChar *id,
                       const xmlChar *system)
{
    xmlParserCtxt *c = arg;
    struct xml *x = c->_private;

    (void)name;
    (void)id;
    (void)system;
    x->has_doctype = true;
    x->lib.StopParser(c);
}

static void on_element(void *arg, const xmlChar *local, const xmlChar *prefix,
                       const xmlChar *uri, int n_ns, const xmlChar **ns,
                       int n_attrs, int n_defaulted, const xmlChar **attrs)
{
    xmlParserCtxt *c = arg;
    struct xml *x = c->_private;

    x->elements++;
    x->too_many = x->elements > XML_MAX_ELEMENTS;
    x->too_deep = c->nodeNr >= XML_MAX_DEPTH;
    if (x->too_many || x->too_deep) {
        x->lib.StopParser(c);
        return;
    }
    x->lib.SAX2StartElementNs(arg, local, prefix, uri, n_ns, ns, n_attrs,
                              n_defaulted, attrs);
}

/* ---- what went wrong ----------------------------------------------------- */

/* The first byte that XML 1.0 2.2 does not allow; false: none. */
static bool find_control(const char *data, size_t len, unsigned *byte,
                         size_t *line)
{
    *line = 1;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)data[i];

        if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
            *byte = c;
            return true;
        }
        *line += c == '\n';
    }
    return false;
}

static int describe(const struct xml *x, xmlParserCtxt *c, const char *data,
                    size_t len, struct err *e)
{
    const xmlError *why = x->lib.CtxtGetLastError(c);
    unsigned byte;
    size_t line;

    if (x->has_doctype)
        return err_set(e, ERR_INPUT, "the XML has a DOCTYPE, which is refused");
    if (x->too_deep)
        return err_set(e, ERR_LIMIT, "the XML is nested deeper than %d",
                       XML_MAX_DEPTH);
    if (x->too_many)
        return err_set(e, ERR_LIMIT, "the XML has more than %d elements",
                       XML_MAX_ELEMENTS);
    if (find_control(data, len, &byte, &line))
        return err_set(e, ERR_RETRY,
                       "the XML holds the control character 0x%02x in line "
                       "%zu, which nobody can read; a stored value has it",
                       byte, line);
    if (why == NULL || why->message == NULL)
        return err_set(e, ERR_RETRY, "the XML cannot be read");
    return err_set(e, ERR_RETRY, "the XML is not well-formed: line %d: %.*s",
                   why->line, (int)strcspn(why->message, "\r\n"), why->message);
}

int xml_parse(const char *data, size_t len, size_t max_size, struct xml **out,
              struct err *e)
{
    xmlParserCtxt *c;
    struct xml *x;

    if (len > max_size || len > INT_MAX)
        return err_set(e, ERR_LIMIT,
                       "the XML has %zu bytes; at most %zu are read", len,
                       max_size);
    x = mem_alloc(sizeof *x);
    if (load(&x->lib, e) != 0) {
        free(x);
        return -1;
    }
    x->lib.InitParser();
    c = x->lib.NewParserCtxt();
    if (c == NULL || c->sax == NULL)
        abort();
    c->_private = x;
    c->sax->internalSubset = on_doctype;
    c->sax->externalSubset = on_doctype;
    c->sax->startElementNs = on_element;
    x->doc = x->lib.CtxtReadMemory(c, data, (int)len, NULL, NULL,
                                   XML_PARSE_NONET | XML_PARSE_NOERROR |
                                       XML_PARSE_NOWARNING | XML_PARSE_NOCDATA |
                                       XML_PARSE_HUGE);
    if (x->doc == NULL || x->has_doctype || x->too_deep || x->too_many ||
        c->wellFormed == 0 || x->lib.DocGetRootElement(x->doc) == NULL) {
        (void)describe(x, c, data, len, e);
        x->lib.FreeParserCtxt(c);
        xml_free(x);
        *out = NULL;
        return -1;
    }
    x->lib.FreeParserCtxt(c);
    *out = x;
    return 0;
}

void xml_free(struct xml *x)
{
    if (x == NULL)
        return;
    if (x->doc != NULL)
        x->lib.FreeDoc(x->doc);
    free(x);
}

/* ---- walking ------------------------------------------------------------- */

const xmlNode *xml_root(const struct xml *x)
{
    return x->lib.DocGetRootElement(x->doc);
}

bool xml_is(const xmlNode *n, const char *local)
{
    return n->type == XML_ELEMENT_NODE &&
           (local == NULL || strcmp((const char *)n->name, local) == 0);
}

static const xmlNode *from(const xmlNode *n, const char *local)
{
    while (n != NULL && !xml_is(n, local))
        n = n->next;
    return n;
}

const xmlNode *xml_child(const xmlNode *n, const char *local)
{
    return n == NULL ? NULL : from(n->children, local);
}

const xmlNode *xml_next(const xmlNode *n, const char *local)
{
    return n == NULL ? NULL : from(n->next, local);
}

static bool is_text(const xmlNode *n)
{
    return (n->type == XML_TEXT_NODE || n->type == XML_CDATA_SECTION_NODE) &&
           n->content != NULL;
}

/* Joins the text nodes from n on. */
static const char *join(const xmlNode *n, struct arena *a)
{
    size_t len = 0;
    char *s, *at;

    for (const xmlNode *k = n; k != NULL; k = k->next)
        len += is_text(k) ? strlen((const char *)k->content) : 0;
    s = at = arena_alloc(a, len + 1);
    for (const xmlNode *k = n; k != NULL; k = k->next) {
        size_t part = is_text(k) ? strlen((const char *)k->content) : 0;

        if (part > 0)
            memcpy(at, k->content, part);
        at += part;
    }
    return s;
}

const char *xml_text(const xmlNode *n, struct arena *a)
{
    return join(n->children, a);
}

const char *xml_attr(const xmlNode *n, const char *local, const char *ns,
                     struct arena *a)
{
    for (const xmlAttr *k = n->properties; k != NULL; k = k->next) {
        if (strcmp((const char *)k->name, local) != 0)
            continue;
        if (ns == NULL || (k->ns != NULL && k->ns->href != NULL &&
                           strcmp((const char *)k->ns->href, ns) == 0))
            return join(k->children, a);
    }
    return NULL;
}
