#include "providers/zonefile/masterfile_impl.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/addr.h"

/* What a file holds. */

#define DATA_MAX 65536
#define INSIDE 1000000 /* so many '(' that no newline ends the record */

uint32_t masterfile_serial(const struct masterfile *m)
{
    return m->serial;
}

static unsigned hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a' + 10);
    return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10) : 16;
}

/* "\# 4 C0000201" as an address. source: RFC 3597 5 */
static char *generic_addr(const char *text, enum rr_type type)
{
    size_t n = type == RR_A ? 4 : 16, digits = 0;
    struct addr a = {.family = type == RR_A ? 4 : 6};
    char out[ADDR_TEXT_SIZE];
    const char *p = type == RR_A ? "\\# 4 " : "\\# 16 ";

    if (strncmp(text, p, strlen(p)) != 0)
        return NULL;
    for (p = text + strlen(p); *p != '\0'; p++) {
        unsigned v = hex_value(*p);

        if (*p == ' ')
            continue;
        if (v > 15 || digits >= 2 * n)
            return NULL;
        a.bytes[digits / 2] = (uint8_t)((unsigned)a.bytes[digits / 2] << 4 | v);
        digits++;
    }
    return digits == 2 * n ? mem_strdup(addr_format(&a, out)) : NULL;
}

/* The tokens of the data with one blank between. */
static void plain_data(const struct masterfile_item *it, struct buf *out)
{
    struct masterfile_lexer l = {
        .s = it->text + it->rdata.off, .len = it->rdata.len, .depth = INSIDE};
    struct masterfile_token t;

    for (uint32_t i = 0; i < it->ntokens; i++) {
        if (masterfile_next(&l, &t, NULL) != 1)
            break;
        if (i > 0)
            buf_char(out, ' ');
        buf_add(out, l.s + t.off, t.len);
    }
}

char *masterfile_data(const struct masterfile_item *it)
{
    enum rr_type type = (enum rr_type)it->type;
    struct arena *a = NULL;
    const char *name;
    char *data = NULL;
    struct buf b;

    buf_init(&b, DATA_MAX);
    plain_data(it, &b);
    if (rr_data_canon(type, buf_get(&b), it->origin, &data, NULL) != 0) {
        data = NULL;
        if (type != RR_CNAME) {
            data = generic_addr(buf_get(&b), type);
        } else if (it->ntokens == 1) {
            a = arena_new();
            name = masterfile_name(a, buf_get(&b), b.len, it->origin);
            data = name != NULL ? mem_strdup(name) : NULL;
        }
    }
    if (data == NULL)
        data = buf_take(&b);
    arena_free(a);
    buf_fini(&b);
    return data;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct list {
    struct rrset_list *out;
    const char *name;
};

static void add_generated(void *arg, const struct masterfile_item *it,
                          char *data)
{
    struct list *l = arg;

    rrset_list_add(l->out, l->name, (enum rr_type)it->type, data, it->ttl,
                   true);
    free(data);
}

int masterfile_list(const struct masterfile *m, const char *const *names,
                    size_t n, struct rrset_list *out, struct err *e)
{
    const char **sorted = mem_array(n, sizeof *sorted);
    int r = 0;

    for (size_t i = 0; i < n; i++)
        sorted[i] = names[i];
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 0; i < m->n; i++) {
        const struct masterfile_item *it = &m->items[i];
        char *data;

        if (it->kind == MF_GENERATE || !masterfile_type_is_ours(it->type) ||
            bsearch(&it->owner, sorted, n, sizeof *sorted, compare_names) ==
                NULL)
            continue;
        data = masterfile_data(it);
        rrset_list_add(out, it->owner, (enum rr_type)it->type, data, it->ttl,
                       it->kind == MF_RECORD);
        free(data);
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        struct list l = {out, sorted[i]};

        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
            r = masterfile_generate_each(m, sorted[i], add_generated, &l, e);
    }
    free(sorted);
    return r;
}

void masterfile_specs(const struct masterfile *m, struct arena *a,
                      const char ***owners, size_t *n)
{
    static const char label[] = "_failover.";
    const char **v = NULL;
    size_t found = 0, cap = 0, kept = 0;
    char name[NAME_SIZE];

    for (size_t i = 0; i < m->n; i++) {
        const struct masterfile_item *it = &m->items[i];

        if (it->kind != MF_RECORD || it->type != RR_TXT ||
            strncmp(it->owner, label, sizeof label - 1) != 0 ||
            name_canon(it->owner + sizeof label - 1, name, NULL) != 0 ||
            !name_within(name, m->zone))
            continue;
        v = mem_grow(v, &cap, found, sizeof *v);
        v[found++] = it->owner + sizeof label - 1;
    }
    if (found > 0)
        qsort(v, found, sizeof *v, compare_names);
    *owners = arena_array(a, found, sizeof **owners);
    for (size_t i = 0; i < found; i++)
        if (i == 0 || strcmp(v[i], v[i - 1]) != 0)
            (*owners)[kept++] = arena_strdup(a, v[i]);
    *n = kept;
    free(v);
}
