#include "providers/ispconfig/soap.h"

#include <stdlib.h>
#include <string.h>

#include "providers/shared/markup.h"
#include "providers/shared/xml.h"

#define XSI "http://www.w3.org/2001/XMLSchema-instance"

/* ---- fault texts --------------------------------------------------------- */

static void read_fault(const xmlNode *fault, struct arena *a,
                       struct soap_answer *out)
{
    const xmlNode *code = xml_child(fault, "faultcode");
    const xmlNode *text = xml_child(fault, "faultstring");

    if (code == NULL) /* SOAP 1.2 */
        code = xml_child(xml_child(fault, "Code"), "Value");
    if (text == NULL)
        text = xml_child(xml_child(fault, "Reason"), "Text");
    out->is_fault = true;
    (void)markup_strip(code != NULL ? xml_text(code, a) : "", out->code,
                       sizeof out->code);
    (void)markup_strip(text != NULL ? xml_text(text, a) : "", out->text,
                       sizeof out->text);
}

/* ---- values -------------------------------------------------------------- */

static int read_value(const xmlNode *n, struct arena *a, struct soap_value *v,
                      struct err *e);

static bool is_true(const char *s)
{
    return s != NULL && (strcmp(s, "true") == 0 || strcmp(s, "1") == 0);
}

/* What xsi:type says, without prefix; "" when it says nothing. */
static const char *type_of(const xmlNode *n, struct arena *a)
{
    const char *t = xml_attr(n, "type", XSI, a);
    const char *colon;

    if (t == NULL)
        return "";
    colon = strchr(t, ':');
    return colon != NULL ? colon + 1 : t;
}

static bool has_pair(const xmlNode *item)
{
    return xml_child(item, "key") != NULL && xml_child(item, "value") != NULL;
}

static size_t count_children(const xmlNode *n)
{
    size_t count = 0;

    for (n = xml_child(n, NULL); n != NULL; n = xml_next(n, NULL))
        count++;
    return count;
}

/* <item><key>k</key><value>v</value></item> …, or a struct: <k>v</k> … */
static int read_map(const xmlNode *n, bool pairs, struct arena *a,
                    struct soap_value *v, struct err *e)
{
    size_t count = count_children(n);

    v->kind = SOAP_MAP;
    v->keys = arena_array(a, count + 1, sizeof *v->keys);
    v->items = arena_array(a, count + 1, sizeof *v->items);
    for (n = xml_child(n, NULL); n != NULL; n = xml_next(n, NULL)) {
        const xmlNode *value = n;

        if (pairs && !has_pair(n))
            return err_set(e, ERR_RETRY,
                           "a map in the answer has an entry without key and "
                           "value");
        v->keys[v->n] = (const char *)n->name;
        if (pairs) {
            v->keys[v->n] = xml_text(xml_child(n, "key"), a);
            value = xml_child(n, "value");
        } else {
            v->keys[v->n] = arena_strdup(a, v->keys[v->n]);
        }
        if (read_value(value, a, &v->items[v->n], e) != 0)
            return -1;
        v->n++;
    }
    return 0;
}

static int read_list(const xmlNode *n, struct arena *a, struct soap_value *v,
                     struct err *e)
{
    v->kind = SOAP_LIST;
    v->items = arena_array(a, count_children(n) + 1, sizeof *v->items);
    for (n = xml_child(n, NULL); n != NULL; n = xml_next(n, NULL)) {
        if (read_value(n, a, &v->items[v->n], e) != 0)
            return -1;
        v->n++;
    }
    return 0;
}

static int read_scalar(const xmlNode *n, const char *type, struct arena *a,
                       struct soap_value *v, struct err *e)
{
    char *end;

    v->kind = SOAP_STRING;
    v->text = xml_text(n, a);
    if (strcmp(type, "boolean") == 0) {
        v->kind = SOAP_BOOL;
        v->number = is_true(v->text) ? 1 : 0;
    } else if (strcmp(type, "int") == 0 || strcmp(type, "integer") == 0 ||
               strcmp(type, "long") == 0) {
        v->kind = SOAP_INT;
        v->number = strtoll(v->text, &end, 10);
        if (end == v->text || *end != '\0')
            return err_set(e, ERR_RETRY,
                           "\"%.40s\" in the answer is not a number", v->text);
    }
    return 0;
}

static int read_value(const xmlNode *n, struct arena *a, struct soap_value *v,
                      struct err *e)
{
    const char *type = type_of(n, a);
    const xmlNode *first = xml_child(n, NULL);

    v->kind = SOAP_NIL;
    v->text = "";
    if (xml_attr(n, "href", NULL, a) != NULL)
        return err_set(e, ERR_UNSUPPORTED,
                       "the answer holds references (href), which no "
                       "ISPConfig sends");
    if (is_true(xml_attr(n, "nil", XSI, a)))
        return 0;
    if (strcmp(type, "Array") == 0)
        return read_list(n, a, v, e);
    if (strcmp(type, "Map") == 0)
        return read_map(n, true, a, v, e);
    if (first == NULL && strcmp(type, "Struct") != 0)
        return read_scalar(n, type, a, v, e);
    return read_map(
        n, first != NULL && xml_is(first, "item") && has_pair(first), a, v, e);
}

/* ---- the envelope -------------------------------------------------------- */

static int read_envelope(const xmlNode *root, struct arena *a,
                         struct soap_answer *out, struct err *e)
{
    const xmlNode *call, *value;

    if (!xml_is(root, "Envelope"))
        return err_set(e, ERR_RETRY,
                       "the answer is not SOAP: its root element is <%.40s>",
                       (const char *)root->name);
    call = xml_child(xml_child(root, "Body"), NULL);
    if (call == NULL)
        return err_set(e, ERR_RETRY, "the SOAP answer has an empty body");
    if (xml_is(call, "Fault")) {
        read_fault(call, a, out);
        return 0;
    }
    /* SOAP 1.2 puts a <result> naming the value in front of it. */
    value = xml_child(call, "return");
    out->value.text = "";
    if (value == NULL)
        return 0;
    return read_value(value, a, &out->value, e);
}

int soap_parse(struct arena *a, const char *body, size_t len, size_t max_size,
               struct soap_answer *out, struct err *e)
{
    struct xml *x;
    int rc;

    memset(out, 0, sizeof *out);
    if (xml_parse(body, len, max_size, &x, e) != 0)
        return -1;
    rc = read_envelope(xml_root(x), a, out, e);
    xml_free(x);
    return rc;
}

const struct soap_value *soap_get(const struct soap_value *v, const char *key)
{
    if (v == NULL || v->kind != SOAP_MAP)
        return NULL;
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->keys[i], key) == 0)
            return &v->items[i];
    return NULL;
}

const char *soap_get_text(const struct soap_value *v, const char *key)
{
    const struct soap_value *m = soap_get(v, key);

    if (m == NULL || m->kind == SOAP_NIL || m->kind == SOAP_MAP ||
        m->kind == SOAP_LIST)
        return NULL;
    return m->text;
}
