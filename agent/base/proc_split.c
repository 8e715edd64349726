#include "agent/base/proc.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/buf.h"
#include "agent/base/mem.h"

/* Longer than any command line that a person writes; the values that are put
 * in are names and paths. */
#define WORD_MAX 65536
#define WORDS_MAX 1024

struct vars {
    const char *const *keys, *const *values;
    size_t n;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t key_length(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789-_");
}

static int unknown_key(const char *key, size_t len, const struct vars *v,
                       struct err *e)
{
    struct buf known;

    buf_init(&known, ERR_MSG_SIZE);
    for (size_t i = 0; i < v->n; i++)
        buf_printf(&known, "%s{%s}", i > 0 ? ", " : "", v->keys[i]);
    (void)err_set(e, ERR_INPUT, "unknown {%.*s}; accepted: %s",
                  (int)(len < 60 ? len : 60), key,
                  v->n > 0 ? buf_get(&known) : "none here");
    buf_fini(&known);
    return -1;
}

/* Adds the value of the placeholder at p ('{') to word.
 * returns the bytes of p used, 0 when p is no placeholder, or -1 */
static int add_value(const char *p, const struct vars *v, struct buf *word,
                     struct err *e)
{
    size_t len = key_length(p + 1);

    if (len == 0 || p[1 + len] != '}')
        return 0;
    for (size_t i = 0; i < v->n; i++) {
        if (strlen(v->keys[i]) == len && memcmp(v->keys[i], p + 1, len) == 0) {
            buf_str(word, v->values[i]);
            return (int)len + 2;
        }
    }
    return unknown_key(p + 1, len, v, e);
}

/* Reads the word that starts at *at, and leaves *at behind it. */
static int read_word(const char **at, const struct vars *v, struct buf *word,
                     struct err *e)
{
    const char *p = *at;
    char quote = '\0';

    while (*p != '\0' && (quote != '\0' || !is_blank(*p))) {
        int used = *p == '{' ? add_value(p, v, word, e) : 0;

        if (used < 0)
            return -1;
        if (used > 0) {
            p += used;
            continue;
        }
        if (quote == '\0' && (*p == '\'' || *p == '"'))
            quote = *p;
        else if (*p == quote)
            quote = '\0';
        else
            buf_char(word, *p);
        p++;
    }
    *at = p;
    if (quote != '\0')
        return err_set(e, ERR_INPUT, "the quote %c is not closed", quote);
    if (word->over)
        return err_set(e, ERR_INPUT, "a word is longer than %d bytes",
                       WORD_MAX);
    return 0;
}

static int split(const char *p, const struct vars *v, char ***argv,
                 struct err *e)
{
    size_t cap = 0, n = 0;
    struct buf word;

    buf_init(&word, WORD_MAX);
    *argv = mem_grow(NULL, &cap, 0, sizeof **argv);
    for (;;) {
        while (is_blank(*p))
            p++;
        if (*p == '\0')
            break;
        if (n == WORDS_MAX) {
            buf_fini(&word);
            return err_set(e, ERR_INPUT, "more than %d words", WORDS_MAX);
        }
        if (read_word(&p, v, &word, e) != 0) {
            buf_fini(&word);
            return -1;
        }
        *argv = mem_grow(*argv, &cap, n + 1, sizeof **argv);
        (*argv)[n++] = buf_take(&word);
    }
    if (n == 0 || (*argv)[0][0] == '\0')
        return err_set(e, ERR_INPUT, "no command");
    return 0;
}

int proc_split(const char *command, const char *const *keys,
               const char *const *values, size_t nvars, char ***argv,
               struct err *e)
{
    struct vars v = {keys, values, nvars};

    if (split(command, &v, argv, e) == 0)
        return 0;
    proc_argv_free(*argv);
    *argv = NULL;
    return err_wrap(e, "command \"%.200s\"", command);
}

void proc_argv_free(char **argv)
{
    if (argv == NULL)
        return;
    for (size_t i = 0; argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}
