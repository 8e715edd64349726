#include "agent/base/name.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '*';
}

static int check_label(const char *in, const char *label, size_t len,
                       struct err *e)
{
    if (len == 0)
        return err_set(e, ERR_INPUT, "\"%.200s\" has an empty label", in);
    if (len > 63)
        return err_set(e, ERR_INPUT,
                       "\"%.200s\" has a label of %zu bytes; at most 63", in,
                       len);
    for (size_t i = 0; i < len; i++) {
        if (!is_name_byte(label[i]))
            return err_set(e, ERR_INPUT,
                           "\"%.200s\" is not a domain name: a label takes "
                           "letters, digits, '-' and '_'",
                           in);
        if (label[i] == '*' && len != 1)
            return err_set(e, ERR_INPUT,
                           "\"%.200s\": '*' may only be a whole label", in);
    }
    return 0;
}

int name_canon(const char *in, char out[NAME_SIZE], struct err *e)
{
    size_t len = strlen(in), start = 0;

    if (strcmp(in, ".") == 0) {
        memcpy(out, ".", 2);
        return 0;
    }
    if (len > 0 && in[len - 1] == '.')
        len--;
    if (len == 0)
        return err_set(e, ERR_INPUT, "an empty name");
    if (len > NAME_SIZE - 3)
        return err_set(e, ERR_INPUT,
                       "\"%.60s…\" is %zu characters long; a domain name has "
                       "at most 253",
                       in, len);
    for (size_t i = 0; i < len; i++)
        out[i] = (in[i] >= 'A' && in[i] <= 'Z') ? (char)(in[i] + 32) : in[i];
    out[len] = '.';
    out[len + 1] = '\0';
    for (size_t i = 0; i <= len; i++) {
        if (out[i] != '.')
            continue;
        out[len + 1] = '\0';
        if (check_label(out, out + start, i - start, e) != 0)
            return -1;
        start = i + 1;
    }
    return 0;
}

int name_resolve(const char *in, const char *origin, char out[NAME_SIZE],
                 struct err *e)
{
    char full[2 * NAME_SIZE];
    size_t len = strlen(in);

    if (len == 0 || strcmp(in, "@") == 0)
        return name_canon(origin, out, e);
    if (in[len - 1] == '.')
        return name_canon(in, out, e);
    if (strcmp(origin, ".") == 0)
        origin = "";
    if (len + strlen(origin) + 2 > sizeof full)
        return err_set(e, ERR_INPUT, "\"%.60s…\" is too long for a name", in);
    (void)snprintf(full, sizeof full, "%s.%s", in, origin);
    return name_canon(full, out, e);
}

bool name_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool name_within(const char *name, const char *zone)
{
    size_t n = strlen(name), z = strlen(zone);

    if (strcmp(zone, ".") == 0)
        return true;
    if (n < z || strcmp(name + n - z, zone) != 0)
        return false;
    return n == z || name[n - z - 1] == '.';
}

const char *name_relative(const char *name, const char *zone,
                          char out[NAME_SIZE])
{
    size_t n = strlen(name), z = strlen(zone);

    if (name_equal(name, zone)) {
        memcpy(out, "@", 2);
    } else if (name_within(name, zone) && strcmp(zone, ".") != 0) {
        memcpy(out, name, n - z - 1);
        out[n - z - 1] = '\0';
    } else {
        memcpy(out, name, n + 1);
    }
    return out;
}

const char *name_parent(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot != NULL && dot[1] != '\0' ? dot + 1 : ".";
}

size_t name_labels(const char *name)
{
    size_t n = 0;

    if (strcmp(name, ".") == 0)
        return 0;
    for (; *name != '\0'; name++)
        n += *name == '.';
    return n;
}

/* The start of the label that ends before the dot at end. */
static const char *label_before(const char *name, const char *end)
{
    while (end > name && end[-1] != '.')
        end--;
    return end;
}

int name_compare(const char *a, const char *b)
{
    const char *ea = a + strlen(a), *eb = b + strlen(b);

    if (strcmp(a, ".") == 0 || strcmp(b, ".") == 0)
        return (int)(name_labels(a) > 0) - (int)(name_labels(b) > 0);
    for (;;) {
        const char *la, *lb;
        size_t na, nb;
        int c;

        if (ea == a || eb == b)
            return (int)(ea != a) - (int)(eb != b);
        ea--;
        eb--;
        la = label_before(a, ea);
        lb = label_before(b, eb);
        na = (size_t)(ea - la);
        nb = (size_t)(eb - lb);
        c = memcmp(la, lb, na < nb ? na : nb);
        if (c == 0 && na != nb)
            c = na < nb ? -1 : 1;
        if (c != 0)
            return c;
        ea = la;
        eb = lb;
    }
}

long name_find_zone(const char *name, const char *const *zones, size_t n)
{
    long best = -1;
    size_t most = 0;

    for (size_t i = 0; i < n; i++) {
        size_t labels = name_labels(zones[i]);

        if (name_within(name, zones[i]) && (best < 0 || labels > most)) {
            best = (long)i;
            most = labels;
        }
    }
    return best;
}
