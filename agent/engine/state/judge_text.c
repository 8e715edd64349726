#include "agent/engine/state/judge_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"

#define TEXT_MAX (1u << 20)

/* Tells one text of a spec from another. */
static void fingerprint(const struct spec *s, char out[20])
{
    (void)snprintf(out, 20, "%016" PRIx64, s->hash);
}

static void read_truth(const char *text, struct judge_memory *m)
{
    for (size_t i = 0; i < m->ntruth && text[i] != '\0'; i++)
        m->truth[i] = text[i] == '1'   ? TRI_FALSE
                      : text[i] == '2' ? TRI_TRUE
                                       : TRI_UNKNOWN;
}

static struct judge_dc_memory *find_dc(const struct spec *s,
                                       struct judge_memory *m, const char *name,
                                       size_t len)
{
    for (size_t i = 0; i < s->ndcs; i++)
        if (strncmp(s->dcs[i].name, name, len) == 0 &&
            s->dcs[i].name[len] == '\0')
            return &m->dcs[i];
    return NULL;
}

static int64_t moved(int64_t t, int64_t shift_ms)
{
    return t == 0 ? 0 : t + shift_ms != 0 ? t + shift_ms : 1;
}

/* One data centre of a row's text. */
struct entry {
    const char *name;
    size_t len;
    struct judge_dc_memory m;
};

/* Takes the first entry of *text. returns false at the end; what cannot be
 * read is skipped. */
static bool next_entry(const char **text, struct entry *e)
{
    while (**text != '\0') {
        const char *at = *text;
        int other = 0, barred = 0, maintained = 0;

        e->name = at;
        e->len = strcspn(at, " ;");
        *text += strcspn(at, ";");
        *text += **text == ';';
        if (sscanf(at + e->len, " %" SCNd64 " %" SCNd64 " %d %d %d",
                   &e->m.out_since_ms, &e->m.last_ms, &other, &barred,
                   &maintained) != 5)
            continue;
        e->m.other_published = other != 0;
        e->m.barred = barred != 0;
        e->m.maintained = maintained != 0;
        return true;
    }
    return false;
}

static void write_entry(struct buf *b, const char *name, size_t len,
                        const struct judge_dc_memory *m)
{
    buf_printf(b, "%.*s %" PRId64 " %" PRId64 " %d %d %d;", (int)len, name,
               m->out_since_ms, m->last_ms, m->other_published, m->barred,
               m->maintained);
}

static void read_dcs(const char *text, const struct spec *s,
                     struct judge_memory *m)
{
    struct entry e;

    while (next_entry(&text, &e)) {
        struct judge_dc_memory *dc = find_dc(s, m, e.name, e.len);

        if (dc != NULL)
            *dc = e.m;
    }
}

void judge_text_move(struct state_judge *row, int64_t shift_ms)
{
    const char *text = row->dcs;
    struct entry e;
    struct buf b;

    if (text == NULL || shift_ms == 0)
        return;
    buf_init(&b, TEXT_MAX);
    while (next_entry(&text, &e)) {
        e.m.out_since_ms = moved(e.m.out_since_ms, shift_ms);
        e.m.last_ms = moved(e.m.last_ms, shift_ms);
        write_entry(&b, e.name, e.len, &e.m);
    }
    state_text(&row->dcs, buf_get(&b));
    buf_fini(&b);
}

bool judge_text_readmit(struct state_judge *row, const char *dc)
{
    const char *text = row->dcs;
    bool found = false;
    struct entry e;
    struct buf b;

    if (text == NULL)
        return false;
    buf_init(&b, TEXT_MAX);
    while (next_entry(&text, &e)) {
        if (strlen(dc) == e.len && strncmp(e.name, dc, e.len) == 0) {
            found = true;
            e.m.barred = e.m.other_published = false;
            e.m.out_since_ms = 0;
        }
        write_entry(&b, e.name, e.len, &e.m);
    }
    state_text(&row->dcs, buf_get(&b));
    buf_fini(&b);
    return found;
}

void judge_text_read(const struct state_judge *row, const struct spec *s,
                     struct judge_memory *m)
{
    char print[20];

    if (row->dcs != NULL)
        read_dcs(row->dcs, s, m);
    if (row->truth == NULL || row->print == NULL)
        return;
    fingerprint(s, print);
    if (strcmp(print, row->print) == 0)
        read_truth(row->truth, m);
}

void judge_text_write(const struct judge_memory *m, const struct spec *s,
                      struct state_judge *row)
{
    char print[20], *truth = mem_alloc(m->ntruth + 1);
    struct buf dcs;

    fingerprint(s, print);
    for (size_t i = 0; i < m->ntruth; i++)
        truth[i] = m->truth[i] == TRI_FALSE  ? '1'
                   : m->truth[i] == TRI_TRUE ? '2'
                                             : '0';
    buf_init(&dcs, TEXT_MAX);
    for (size_t i = 0; i < m->ndcs && i < s->ndcs; i++)
        write_entry(&dcs, s->dcs[i].name, strlen(s->dcs[i].name), &m->dcs[i]);
    state_text(&row->print, print);
    state_text(&row->truth, truth);
    state_text(&row->dcs, buf_get(&dcs));
    buf_fini(&dcs);
    free(truth);
}
