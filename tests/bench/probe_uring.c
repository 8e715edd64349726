/* The same TCP connect probe on io_uring: socket -> connect (linked, with a
 * link timeout) -> close, on direct descriptors, so no per-probe system call.
 * Closes with FIN (liburing 2.3 has no setsockopt op). */
#include "tests/bench/bench.h"
#include <liburing.h>

enum { OP_SOCKET, OP_CONNECT, OP_TIMEOUT, OP_CLOSE };

static struct io_uring ring;
static struct __kernel_timespec ts = {.tv_sec = 1};

/* socket, connect with a time limit, in slot s. */
static void queue(unsigned s, struct sockaddr_in *sa)
{
    struct io_uring_sqe *q = io_uring_get_sqe(&ring);
    io_uring_prep_socket_direct(q, AF_INET, SOCK_STREAM, 0, s, 0);
    q->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    q->user_data = (uint64_t)s << 2 | OP_SOCKET;
    q = io_uring_get_sqe(&ring);
    io_uring_prep_connect(q, (int)s, (void *)sa, sizeof *sa);
    q->flags |= IOSQE_FIXED_FILE | IOSQE_IO_LINK;
    q->user_data = (uint64_t)s << 2 | OP_CONNECT;
    q = io_uring_get_sqe(&ring);
    io_uring_prep_link_timeout(q, &ts, 0);
    q->flags |= IOSQE_CQE_SKIP_SUCCESS;
    q->user_data = (uint64_t)s << 2 | OP_TIMEOUT;
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? (unsigned)num(argv[1]) : 10000,
             k = argc > 2 ? (unsigned)num(argv[2]) : 1024;
    uint16_t port = (uint16_t)(argc > 3 ? num(argv[3]) : 8000);
    in_addr_t base = inet_addr(argc > 4 ? argv[4] : "127.0.1.1");
    struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER |
                                         IORING_SETUP_DEFER_TASKRUN |
                                         IORING_SETUP_CQSIZE,
                                .cq_entries = k < 8192 ? 8 * k : 65536};
    raise_nofile();
    int rc = io_uring_queue_init_params(1024, &ring, &p);
    if (rc) {
        fprintf(stderr, "io_uring: %s\n", strerror(-rc));
        return 1;
    }
    if ((rc = io_uring_register_files_sparse(&ring, k))) {
        fprintf(stderr, "files: %s\n", strerror(-rc));
        return 1;
    }
    struct sockaddr_in *sa = calloc(k, sizeof *sa);
    unsigned *freel = malloc(k * sizeof *freel), nfree = k;
    for (unsigned i = 0; i < k; i++)
        freel[i] = i;
    unsigned started = 0, done = 0, ok = 0, ref = 0, to = 0, other = 0;
    long rss0 = rss_kb();
    struct cpu c0 = cpu_us();
    uint64_t t0 = now_us();
    while (done < n) {
        while (nfree && started < n) {
            if (io_uring_sq_space_left(&ring) < 4)
                io_uring_submit(&ring);
            unsigned s = freel[--nfree];
            sa[s] = (struct sockaddr_in){.sin_family = AF_INET,
                                         .sin_port = htons(port),
                                         .sin_addr.s_addr =
                                             target(base, 10000, started++)};
            queue(s, &sa[s]);
        }
        io_uring_submit_and_wait(&ring, 1);
        struct io_uring_cqe *cqe;
        unsigned head, seen = 0;
        io_uring_for_each_cqe(&ring, head, cqe)
        {
            unsigned s = (unsigned)(cqe->user_data >> 2),
                     op = cqe->user_data & 3;
            int res = cqe->res;
            seen++;
            if (op == OP_CONNECT) {
                if (res == 0)
                    ok++;
                else if (res == -ECONNREFUSED)
                    ref++;
                else if (res == -ECANCELED)
                    to++;
                else
                    other++;
                done++;
                if (io_uring_sq_space_left(&ring) < 1)
                    io_uring_submit(&ring);
                struct io_uring_sqe *q = io_uring_get_sqe(&ring);
                io_uring_prep_close_direct(q, s);
                q->user_data = (uint64_t)s << 2 | OP_CLOSE;
            } else if (op == OP_CLOSE) {
                freel[nfree++] = s;
            }
        }
        io_uring_cq_advance(&ring, seen);
    }
    report("uring-tcp", n, k, ok, ref, to, other, t0, c0, rss0);
    return 0;
}
