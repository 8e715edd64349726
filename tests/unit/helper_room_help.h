#ifndef TESTS_UNIT_HELPER_ROOM_HELP_H
#define TESTS_UNIT_HELPER_ROOM_HELP_H

/* A helper in a process of its own, and somebody who speaks to its sockets as
 * he likes. For test_helper.c alone, after its includes. */

#define WAIT_MS 20000

#define ZONE_OF(zone)                                                          \
    "$TTL 60\n"                                                                \
    "@ IN SOA ns." zone ". root." zone ". 1 2 3 4 5\n"                         \
    "@ IN NS ns\n"
#define ZONE ZONE_OF("example.org") "$INCLUDE more\n"
/* Paths are relative to the helper's directory, but for zone files. */
#define CONFIG                                                                 \
    "agent { notify = \"cat\" }\n"                                             \
    "provider files { type = zonefile  file = \"%1$s/{zone}.zone\"\n"          \
    "  check = \"echo check {zone} {file}\"  reload = \"echo reload "          \
    "{zone}\" }\n"                                                             \
    "provider others { type = zonefile  file = \"%1$s/{zone}.zone\" }\n"       \
    "provider panel { type = ispconfig  url = \"https://192.0.2.1/\"\n"        \
    "  user = u  password-file = \"%1$s/password\" }\n"                        \
    "provider own { type = hook  command = \"cat\" }\n"                        \
    "zone \"example.org\" { provider = files }\n"                              \
    "zone \"example.net\" { provider = others }\n"                             \
    "command probe { exec = \"echo target {target}\"\n"                        \
    "  zones = {\"example.org\"} }\n"                                          \
    "command slow { exec = \"sleep 600\"  zones = {\"example.org\"} }\n"

struct room {
    char dir[64];
    pid_t pid;
    int files, runs;
    uint32_t generation, id;
};

struct said {
    struct helper_answer a;
    char text[4096];
    int fds[HELPER_FILES_MAX];
    size_t nfds;
};

static inline void said_fini(struct said *s)
{
    for (size_t i = 0; i < s->nfds; i++)
        (void)close(s->fds[i]);
    s->nfds = 0;
}

static inline const char *base(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static inline unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* --- files -----------------------------------------------------------------
 */

/* text: %1$s is the room's directory */
static inline void write_file(struct room *r, const char *name,
                              const char *text, mode_t mode)
{
    char *path = mem_printf("%s/%s", r->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    FILE *f = fdopen(fd, "w");

    assert_non_null(f);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
    (void)fprintf(f, text, r->dir);
#pragma GCC diagnostic pop
    assert_int_equal(fclose(f), 0);
    free(path);
}

static inline void assert_content(int fd, const char *text)
{
    char got[4096];
    ssize_t n = pread(fd, got, sizeof got - 1, 0);

    assert_true(n >= 0);
    got[n] = '\0';
    assert_string_equal(got, text);
}

static inline void assert_file(struct room *r, const char *name,
                               const char *text)
{
    char *path = mem_printf("%s/%s", r->dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_content(fd, text);
    (void)close(fd);
    free(path);
}

static inline int memory(const char *text, bool sealed)
{
    int fd = memfd_create("text", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    if (sealed)
        assert_int_equal(
            fcntl(fd, F_ADD_SEALS,
                  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE),
            0);
    return fd;
}

/* --- the helper's process ---------------------------------------------------
 */

static inline struct config *configured(struct room *r)
{
    struct config_schema schemas[PROVIDER_SCHEMAS];
    struct config *cfg = NULL;
    struct err e = {ERR_NONE, ""};
    char *path = mem_printf("%s/conf", r->dir);

    provider_schemas(schemas);
    if (config_load(path, schemas, &cfg, &e) != 0)
        fail_msg("%s", e.msg);
    free(path);
    return cfg;
}

static inline void serve(struct config *cfg, int files, int runs)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    (void)dup2(quiet, STDERR_FILENO); /* what it refuses */
    _exit(helper_serve(cfg, files, runs));
}

static inline int room_setup(void **state)
{
    struct room *r = mem_alloc(sizeof *r);
    struct config *cfg;
    int files[2], runs[2];

    (void)snprintf(r->dir, sizeof r->dir, "/tmp/df-helper.XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    write_file(r, "conf", CONFIG, 0600);
    write_file(r, "password", "hush\n", 0600);
    write_file(r, "example.org.zone", ZONE, 0644);
    write_file(r, "example.net.zone", ZONE_OF("example.net"), 0644);
    write_file(r, "more", "other IN A 192.0.2.9\n", 0600);
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files), 0);
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, runs), 0);
    r->generation = 1;
    cfg = configured(r);
    (void)fflush(NULL);
    r->pid = fork();
    if (r->pid == 0) {
        (void)close(files[0]);
        (void)close(runs[0]);
        serve(cfg, files[1], runs[1]);
    }
    (void)close(files[1]);
    (void)close(runs[1]);
    r->files = files[0];
    r->runs = runs[0];
    config_free(cfg);
    *state = r;
    return 0;
}

/* The helper ends, and in good order. */
static inline void hang_up(struct room *r)
{
    int status = -1;

    if (r->pid == 0)
        return;
    (void)close(r->files);
    (void)close(r->runs);
    assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    r->pid = 0;
}

static inline int room_teardown(void **state)
{
    static const char *const names[] = {
        "conf", "password",        "example.org.zone", "example.net.zone",
        "more", "example.com.zone"};
    struct room *r = *state;

    hang_up(r);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *path = mem_printf("%s/%s", r->dir, names[i]);

        (void)unlink(path);
        free(path);
    }
    assert_int_equal(rmdir(r->dir), 0); /* nothing else is left */
    free(r);
    return 0;
}

/* --- asking -----------------------------------------------------------------
 */

static inline void wait_for(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
}

static inline struct said ask_bytes(struct room *r, const char *p, size_t n,
                                    const int *fds, size_t nfds)
{
    static char bytes[sizeof(struct helper_answer) + HELPER_ANSWER_MAX];
    struct said s;
    int64_t got;

    memset(&s, 0, sizeof s);
    assert_int_equal(helper_send(r->files, 0, p, n, NULL, 0, fds, nfds), 0);
    wait_for(r->files);
    s.nfds = HELPER_FILES_MAX;
    got = helper_receive(r->files, 0, bytes, sizeof bytes, s.fds, &s.nfds);
    assert_true(got >= (int64_t)sizeof s.a);
    memcpy(&s.a, bytes, sizeof s.a);
    got -= (int64_t)sizeof s.a;
    assert_true(got < (int64_t)sizeof s.text);
    memcpy(s.text, bytes + sizeof s.a, (size_t)got);
    return s;
}

static inline struct said ask_request(struct room *r,
                                      const struct helper_request *q,
                                      const int *fds, size_t nfds)
{
    struct said s;
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(helper_request_encode(q, &b, NULL), 0);
    s = ask_bytes(r, b.data, b.len, fds, nfds);
    buf_fini(&b);
    return s;
}

static inline struct said ask_fd(struct room *r, enum helper_op op,
                                 const char *name, const char *what, int fd)
{
    struct helper_request q = {.op = op, .generation = r->generation};

    assert_int_equal(helper_request_names(&q, name, what, NULL), 0);
    return ask_request(r, &q, &fd, fd >= 0);
}

static inline struct said ask(struct room *r, enum helper_op op,
                              const char *name, const char *what)
{
    return ask_fd(r, op, name, what, -1);
}

static inline void assert_refused(struct room *r, enum helper_op op,
                                  const char *name, const char *what)
{
    struct said s = ask(r, op, name, what);

    assert_int_not_equal(s.a.err.code, ERR_NONE);
    assert_int_equal(s.nfds, 0);
    said_fini(&s);
}

static inline void refuse_bytes(struct room *r, const char *p, size_t n)
{
    struct said s = ask_bytes(r, p, n, NULL, 0);

    assert_int_equal(s.a.err.code, ERR_INPUT);
    assert_int_equal(s.nfds, 0);
    said_fini(&s);
}

static inline void assert_alive(struct room *r)
{
    struct said s = ask(r, HELPER_READ, "files", "example.org.");

    assert_int_equal(s.a.err.code, ERR_NONE);
    said_fini(&s);
}

static inline int descriptors(struct room *r)
{
    char path[64], link[256];
    int n = 0;
    /* When it has answered this, it has closed what it sent before. */
    struct said s = ask(r, HELPER_JOURNAL, "files", "example.org.");

    said_fini(&s);
    for (int fd = 0; fd < 256; fd++) {
        (void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)r->pid, fd);
        n += readlink(path, link, sizeof link) >= 0;
    }
    return n;
}

/* --- commands ---------------------------------------------------------------
 */

static inline void send_run_fds(struct room *r, const struct helper_request *q,
                                const int *fds, size_t n)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(helper_request_encode(q, &b, NULL), 0);
    assert_int_equal(helper_send(r->runs, 0, b.data, b.len, NULL, 0, fds, n),
                     0);
    buf_fini(&b);
}

static inline void send_run(struct room *r, const struct helper_request *q)
{
    send_run_fds(r, q, NULL, 0);
}

static inline void start_run(struct room *r, uint32_t id, enum doer_kind kind,
                             const char *name, const char *what,
                             const char *target, const char *input)
{
    struct helper_request q = {.op = HELPER_RUN,
                               .generation = r->generation,
                               .id = id,
                               .kind = kind,
                               .input = input,
                               .input_len = input != NULL ? strlen(input) : 0};

    assert_int_equal(helper_request_names(&q, name, what, NULL), 0);
    if (target != NULL) {
        assert_int_equal(addr_parse(target, &q.target), 0);
        q.timeout_ms = 5000;
    }
    send_run(r, &q);
}

static inline struct helper_result take_result(struct room *r)
{
    struct helper_result out;
    size_t none = 0;

    wait_for(r->runs);
    assert_int_equal(helper_receive(r->runs, 0, &out, sizeof out, NULL, &none),
                     sizeof out);
    return out;
}

static inline struct helper_result run(struct room *r, enum doer_kind kind,
                                       const char *name, const char *what,
                                       const char *target, const char *input)
{
    struct helper_result out;

    start_run(r, ++r->id, kind, name, what, target, input);
    out = take_result(r);
    assert_int_equal(out.id, r->id);
    return out;
}

static inline void refuse_run(struct room *r, enum doer_kind kind,
                              const char *name, const char *what,
                              const char *target)
{
    struct helper_result out = run(r, kind, name, what, target, NULL);

    assert_false(out.result.started);
    assert_int_not_equal(out.result.err.code, ERR_NONE);
}

#endif
