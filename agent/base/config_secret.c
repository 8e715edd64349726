#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/config.h"
#include "agent/base/mem.h"

#define SECRET_MAX 4096
#define CUT_MIN 4u /* bytes of a secret that are worth hiding */

static const char *given(const struct config_provider *p, const char *name)
{
    const struct config_option *o = config_option_find(p, name);

    return o != NULL ? o->value : NULL;
}

/* out: *path — heap */
static int find_path(const char *value, char **path, struct err *e)
{
    const char *dir;

    if (strchr(value, '/') != NULL) {
        *path = mem_strdup(value);
        return 0;
    }
    dir = getenv("CREDENTIALS_DIRECTORY");
    if (dir == NULL || dir[0] != '/')
        return err_set(e, ERR_NOTFOUND,
                       "\"%.100s\" names a systemd credential, and "
                       "CREDENTIALS_DIRECTORY is not set; accepted: a path, "
                       "or LoadCredential= in the unit",
                       value);
    *path = mem_printf("%s/%s", dir, value);
    return 0;
}

static int check_mode(const char *path, int fd, struct err *e)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return err_set(e, ERR_AUTH, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_AUTH, "%s: is not a file", path);
    if ((st.st_mode & S_IRWXO) != 0)
        return err_set(e, ERR_AUTH,
                       "%s: others can read it; to keep it secret: "
                       "chmod 600 %s",
                       path, path);
    return 0;
}

/* The first line of text (SECRET_MAX bytes with its NUL), cut in place. */
static int first_line(const char *path, char *text, size_t len, struct err *e)
{
    size_t n = strcspn(text, "\r\n");

    if (n == len && len == SECRET_MAX - 1)
        return err_set(e, ERR_AUTH,
                       "%s: its first line is longer than %d "
                       "bytes",
                       path, SECRET_MAX - 2);
    if (n < len && text[n] == '\0')
        return err_set(e, ERR_AUTH, "%s: holds a NUL byte", path);
    if (n == 0)
        return err_set(e, ERR_AUTH, "%s: its first line is empty", path);
    text[n] = '\0';
    return 0;
}

/* out: text — SECRET_MAX bytes with its NUL; *len */
static int read_open(const char *path, int fd, char *text, size_t *out_len,
                     struct err *e)
{
    size_t len = 0;

    if (check_mode(path, fd, e) != 0)
        return -1;
    while (len < SECRET_MAX - 1) {
        ssize_t n = read(fd, text + len, SECRET_MAX - 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_AUTH, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        len += (size_t)n;
    }
    text[len] = '\0';
    *out_len = len;
    return 0;
}

int config_file_path(const struct config_provider *p, const char *option,
                     char **path, struct err *e)
{
    const char *value = given(p, option);

    *path = NULL;
    if (value == NULL)
        return err_set(e, ERR_NOTFOUND, "no %s", option);
    return find_path(value, path, e);
}

/* out: *path — heap, also after an error
 * returns the descriptor, or -1 with e set */
static int open_option(const struct config_provider *p, const char *option,
                       char **path, struct err *e)
{
    if (config_file_path(p, option, path, e) != 0)
        return -1;
    return doer_open(p->doer, p->name, option, *path, e);
}

/* whole: as many lines as it has, without a NUL */
static int whole_text(const char *path, const char *text, size_t len,
                      struct err *e)
{
    if (len == SECRET_MAX - 1)
        return err_set(e, ERR_AUTH, "%s: is longer than %d bytes", path,
                       SECRET_MAX - 2);
    if (strlen(text) != len)
        return err_set(e, ERR_AUTH, "%s: holds a NUL byte", path);
    return 0;
}

/* whole: the file, not its first line */
static int secret_from_file(const struct config_provider *p, const char *option,
                            bool whole, char **secret, struct err *e)
{
    char text[SECRET_MAX], *path;
    size_t len = 0;
    int fd = open_option(p, option, &path, e), rc = -1;

    if (fd >= 0) {
        rc = read_open(path, fd, text, &len, e);
        (void)close(fd);
    }
    if (rc == 0)
        rc = whole ? whole_text(path, text, len, e)
                   : first_line(path, text, len, e);
    if (rc == 0)
        *secret = mem_strdup(text);
    explicit_bzero(text, sizeof text);
    free(path);
    return rc;
}

/* returns 0 with *text (max + 1 bytes) filled, or -1 */
static int read_text(const char *path, int fd, char *text, size_t max,
                     struct err *e)
{
    size_t len = 0;

    while (len <= max) {
        ssize_t n = read(fd, text + len, max + 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, ERR_AUTH, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        len += (size_t)n;
    }
    if (len > max)
        return err_set(e, ERR_LIMIT, "%s: more than %zu bytes", path, max);
    text[len] = '\0';
    if (strlen(text) != len)
        return err_set(e, ERR_INPUT, "%s: holds a NUL byte", path);
    return 0;
}

int config_file_get(const struct config_provider *p, const char *option,
                    size_t max, char **text, struct err *e)
{
    char *path;
    int fd, rc = -1;

    *text = NULL;
    if (given(p, option) == NULL)
        return 0;
    fd = open_option(p, option, &path, e);
    if (fd >= 0) {
        *text = mem_alloc(max + 2);
        rc = read_text(path, fd, *text, max, e);
        (void)close(fd);
    }
    free(path);
    if (rc == 0)
        return 0;
    free(*text);
    *text = NULL;
    if (e->code == ERR_AUTH) /* no secret: no account is at stake */
        e->code = ERR_INPUT;
    return err_wrap(e, "%s", option);
}

static const struct config_field *field_of(const struct config_field *fields,
                                           const char *name)
{
    while (fields->name != NULL && strcmp(fields->name, name) != 0)
        fields++;
    return fields;
}

int config_secret_get(const struct config_provider *p,
                      const struct config_field *fields, const char *name,
                      char **secret, struct err *e)
{
    const struct config_field *f = field_of(fields, name);
    char *option = mem_printf("%s-file", name);
    const char *file = given(p, option), *value = given(p, name), *env;
    size_t len;

    *secret = NULL;
    if (file != NULL) {
        int rc = secret_from_file(p, option, false, secret, e);

        if (rc != 0)
            (void)err_wrap(e, "%s", option);
        free(option);
        return rc;
    }
    free(option);
    if (value == NULL)
        value = config_env_get(f, &env, &len);
    if (value != NULL && value[0] != '\0') {
        *secret = mem_strdup(value);
        return 0;
    }
    return err_set(e, ERR_NOTFOUND, "no %s; accepted: %s-file, %s%s%s", name,
                   name, name, f->env != NULL ? ", or the environment's " : "",
                   f->env != NULL ? f->env : "");
}

int config_secret_file_get(const struct config_provider *p, const char *option,
                           char **text, struct err *e)
{
    *text = NULL;
    if (secret_from_file(p, option, true, text, e) == 0)
        return 0;
    return err_wrap(e, "%s", option);
}

void config_secret_free(char *secret)
{
    if (secret == NULL)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}

static bool is_cut(const char *rest)
{
    return *rest == '\0' || *rest == '"' || strncmp(rest, "…", 3) == 0;
}

void config_secret_blank(char *text, const char *secret)
{
    size_t len = secret != NULL ? strlen(secret) : 0;

    for (char *at = text; len > 0 && *at != '\0'; at++) {
        size_t n = 0;

        while (n < len && at[n] == secret[n])
            n++;
        if (n == len || (n >= CUT_MIN && is_cut(at + n))) {
            memset(at, '*', n);
            at += n - 1;
        }
    }
}
