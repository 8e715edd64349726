#include "providers/rest/rest_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/http.h"
#include "agent/base/mem.h"
#include "providers/rest/rest.h"
#include "providers/rest/rest_call.h"
#include "providers/rest/rest_json.h"
#include "providers/shared/endpoint.h"

#define MAX_PAGES 1000

struct paging {
    struct rest *p;
    char *path;        /* of the first page */
    const char *items; /* where they stand */
    struct rest_pages to;
    int64_t page;
    uint32_t *firsts; /* a print of the first item of each page */
    size_t n, cap;
    size_t seen;
};

static void finish(struct paging *g, const struct rest_reply *r)
{
    struct rest *p = g->p;

    g->to.done(g->to.arg, r, g->seen);
    free(g->path);
    free(g->firsts);
    free(g);
    rest_end(p);
}

static int broken(const struct paging *g, struct rest_reply *r,
                  const char *what)
{
    r->is_sure = true;
    return err_set(&r->err, ERR_RETRY, "%s: %s", g->path, what);
}

/* A server that gives the same page again and again would never end. */
static int check_repeat(struct paging *g, const cJSON *first,
                        struct rest_reply *r)
{
    char *text = cJSON_PrintUnformatted(first);
    const char *const parts[] = {text != NULL ? text : ""};
    uint32_t h = endpoint_hash(parts, 1);

    cJSON_free(text);
    for (size_t i = 0; i < g->n; i++)
        if (g->firsts[i] == h)
            return broken(g, r, "the next page repeats an earlier one");
    g->firsts = mem_grow(g->firsts, &g->cap, g->n, sizeof *g->firsts);
    g->firsts[g->n++] = h;
    return 0;
}

/* rel="next" of a Link header; in a heap string, NULL: none.
 * source: RFC 8288 3 */
static char *link_next(const char *link)
{
    while (link != NULL && (link = strchr(link, '<')) != NULL) {
        size_t n = strcspn(++link, ">");
        size_t params = strcspn(link + n, ",");

        if (memmem(link + n, params, "rel=\"next\"", 10) != NULL ||
            memmem(link + n, params, "rel=next", 8) != NULL)
            return mem_strndup(link, n);
        link += n;
    }
    return NULL;
}

static char *numbered(const struct paging *g)
{
    return mem_printf("%s%cpage=%lld", g->path,
                      strchr(g->path, '?') != NULL ? '&' : '?',
                      (long long)g->page + 1);
}

/* Where the next page is (heap); NULL: this was the last. */
static char *next_path(const struct paging *g, const struct rest_reply *r)
{
    const struct rest_style *style = g->p->style;
    const cJSON *next;
    const char *header;
    int64_t total;

    switch (style->paging) {
    case REST_ONE_PAGE:
        return NULL;
    case REST_PAGE_NUMBERS:
        next = rest_json_at(r->json, style->page_total);
        if (!rest_json_uint(next, INT32_MAX, &total) || g->page >= total)
            return NULL;
        return numbered(g);
    case REST_NEXT_LINK:
        next = rest_json_at(r->json, style->page_next);
        return cJSON_IsString(next) ? mem_strdup(next->valuestring) : NULL;
    case REST_TOTAL_HEADER:
        header = http_header(r->http, style->page_total);
        return header != NULL && g->seen < strtoull(header, NULL, 10)
                   ? numbered(g)
                   : NULL;
    case REST_LINK_HEADER:
        return link_next(http_header(r->http, "Link"));
    }
    return NULL;
}

static int take_items(struct paging *g, struct rest_reply *r)
{
    const struct rest_style *style = g->p->style;
    const cJSON *list = rest_json_at(r->json, g->items);
    int64_t now;

    if (!cJSON_IsArray(list))
        return broken(g, r, "the answer holds no list");
    if (style->page_now != NULL &&
        rest_json_uint(rest_json_at(r->json, style->page_now), INT32_MAX,
                       &now) &&
        now != g->page)
        return broken(g, r, "another page came than was asked for");
    if (list->child == NULL && g->page > 1)
        return broken(g, r, "a page is empty that was to hold more");
    if (list->child != NULL && check_repeat(g, list->child, r) != 0)
        return -1;
    for (const cJSON *i = list->child; i != NULL; i = i->next) {
        g->seen++;
        if (g->to.each(g->to.arg, i, &r->err) != 0)
            return -1;
    }
    if (g->to.page != NULL)
        g->to.page(g->to.arg, r->json);
    return 0;
}

static void on_page(void *arg, const struct rest_reply *reply)
{
    struct paging *g = arg;
    struct rest_reply r = *reply;
    char *next;

    if (r.err.code != ERR_NONE || take_items(g, &r) != 0) {
        finish(g, &r);
        return;
    }
    next = next_path(g, &r);
    if (next == NULL) {
        finish(g, &r);
    } else if (++g->page > MAX_PAGES) {
        (void)broken(g, &r, "more than 1000 pages");
        r.err.code = ERR_LIMIT;
        finish(g, &r);
    } else {
        rest_call(g->p, "GET", next, NULL, on_page, g);
    }
    free(next);
}

void rest_pages_get(struct rest *p, const char *path, const char *items,
                    const struct rest_pages *pages)
{
    struct paging *g = mem_alloc(sizeof *g);

    rest_begin(p);
    g->p = p;
    g->path =
        p->style->page_size != NULL
            ? mem_printf("%s%c%s", path, strchr(path, '?') != NULL ? '&' : '?',
                         p->style->page_size)
            : mem_strdup(path);
    g->items = items;
    g->to = *pages;
    g->page = 1;
    rest_call(p, "GET", g->path, NULL, on_page, g);
}
