#include "agent/engine/judge_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"

#define TEXT_MAX (1u << 20)

/* Tells one text of a spec from another; FNV-1a, RFC-less but enough: nobody
 * gains by a collision, truths are only kept too long. */
static void fingerprint(const struct spec *s, char out[20])
{
    char *text = spec_print(s);
    uint64_t h = 14695981039346656037u;

    for (const char *p = text; *p != '\0'; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    (void)snprintf(out, 20, "%016" PRIx64, h);
    free(text);
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

static void read_dcs(const char *text, const struct spec *s, int64_t shift_ms,
                     struct judge_memory *m)
{
    while (*text != '\0') {
        size_t len = strcspn(text, " ;");
        struct judge_dc_memory *dc = find_dc(s, m, text, len);
        int64_t out_ms = 0, last_ms = 0;
        int other = 0, barred = 0;

        if (dc != NULL && sscanf(text + len, " %" SCNd64 " %" SCNd64 " %d %d",
                                 &out_ms, &last_ms, &other, &barred) == 4) {
            dc->out_since_ms = moved(out_ms, shift_ms);
            dc->last_ms = moved(last_ms, shift_ms);
            dc->other_published = other != 0;
            dc->barred = barred != 0;
        }
        text += strcspn(text, ";");
        text += *text == ';';
    }
}

void judge_text_read(const struct state_judge *row, const struct spec *s,
                     int64_t shift_ms, struct judge_memory *m)
{
    char print[20];

    if (row->dcs != NULL)
        read_dcs(row->dcs, s, shift_ms, m);
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
        buf_printf(&dcs, "%s %" PRId64 " %" PRId64 " %d %d;", s->dcs[i].name,
                   m->dcs[i].out_since_ms, m->dcs[i].last_ms,
                   m->dcs[i].other_published, m->dcs[i].barred);
    state_text(&row->print, print);
    state_text(&row->truth, truth);
    state_text(&row->dcs, buf_get(&dcs));
    buf_fini(&dcs);
    free(truth);
}
