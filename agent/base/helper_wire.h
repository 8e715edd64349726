#ifndef AGENT_BASE_HELPER_WIRE_H
#define AGENT_BASE_HELPER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/addr.h"
#include "agent/base/buf.h"
#include "agent/base/doer.h"
#include "agent/base/err.h"
#include "agent/base/name.h"
#include "agent/base/proc.h"

/* What goes between the service and its helper, over two pairs of
 * SOCK_SEQPACKET sockets: `files`, a question and its answer in turn, and
 * `runs`, commands whose results come when they come. Both ends are the same
 * program, forked, so numbers go as they lie in memory; but the helper
 * believes nothing of what comes. */

enum helper_op {
    /* files */
    HELPER_CONFIG = 1, /* reads the configuration anew; answer: a generation
                          and the file */
    HELPER_OPTION,     /* opens the file of option `what` of provider `name` */
    HELPER_READ,       /* zone file: provider `name`, zone `what`; answer: its
                          path, the names of its $INCLUDEs, all files */
    HELPER_JOURNAL,    /* is there a journal? */
    HELPER_STAGE,      /* writes the text that comes as a memory file beside
                          it; answer: that file's path */
    HELPER_UNSTAGE,
    HELPER_UNCHANGED, /* is it still `identity`? */
    HELPER_COMMIT,    /* over `identity`; answer: identity */
    /* runs */
    HELPER_RUN, /* command `kind`; answer: struct helper_result */
    HELPER_DROP /* of the command `id`; no answer */
};

#define HELPER_FIRST 1 /* the generation that the helper starts with */
#define HELPER_NAME_MAX (NAME_SIZE - 1)
#define HELPER_INPUT_MAX ((size_t)64 << 10)
#define HELPER_ANSWER_MAX ((size_t)128 << 10)
#define HELPER_FILES_MAX 200 /* below SCM_MAX_FD */
#define HELPER_STDIO 2       /* go with RUN HOOK */
#define HELPER_TIMEOUT_MAX_MS 3600000

/* A file as stat(2) tells it from others. */
struct helper_identity {
    uint64_t dev, ino, mtime_s, mtime_ns;
    int64_t size;
};

struct helper_request {
    enum helper_op op;
    uint32_t generation;
    uint32_t id; /* RUN, DROP */
    enum doer_kind kind;
    int64_t timeout_ms; /* RUN COMMAND */
    struct addr target; /* RUN COMMAND; family 0 elsewhere */
    struct helper_identity identity;
    char name[HELPER_NAME_MAX + 1]; /* "" where it does not apply */
    char what[HELPER_NAME_MAX + 1];
    const char *input; /* RUN NOTIFY; borrowed from the message */
    size_t input_len;
};

/* Puts the names in; NULL is "". returns 0, or -1 with e set (ERR_LIMIT) */
MUST_CHECK int helper_request_names(struct helper_request *r, const char *name,
                                    const char *what, struct err *e);
/* The message of a request. returns 0, or -1 with e set (ERR_LIMIT) */
MUST_CHECK int helper_request_encode(const struct helper_request *r,
                                     struct buf *out, struct err *e);
/* Strict: exactly one request, every member within its limits, and those that
 * do not belong to the operation empty.
 * runs: it came over `runs`
 * returns 0, or -1 with e set (ERR_INPUT) */
MUST_CHECK int helper_request_decode(const char *p, size_t n, bool runs,
                                     struct helper_request *r, struct err *e);

/* An answer on `files`; payload and descriptors follow it. */
struct helper_answer {
    struct err err;
    uint32_t generation;
    uint32_t nfds;
    struct helper_identity identity;
};
/* An answer on `runs`. */
struct helper_result {
    uint32_t id;
    struct proc_result result;
};

/* Sends one message of up to three parts with n descriptors (at most
 * HELPER_FILES_MAX); flags as send(2).
 * returns 0, or -1 with errno set */
MUST_CHECK int helper_send(int fd, int flags, const void *head, size_t head_len,
                           const void *rest, size_t rest_len, const int *fds,
                           size_t n);
/* Receives one message and at most *n descriptors (close-on-exec), which the
 * caller closes; more are closed, and *n says how many there are.
 * returns its length, 0 at the end, or -1 with errno set (EMSGSIZE: it was
 * larger than size) */
MUST_CHECK int64_t helper_receive(int fd, int flags, void *p, size_t size,
                                  int *fds, size_t *n);

#endif
