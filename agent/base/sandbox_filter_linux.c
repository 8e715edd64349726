#ifdef __linux__

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/sandbox_filter.h"

/* Allowed: what our code, libuv, libcurl, c-ares, OpenSSL, SQLite (WAL) and
 * glibc (threads, getaddrinfo with its NSS modules, malloc) call; newer and
 * older names of one thing both, for other processors and libraries. A path
 * cannot be looked at here: which files can be opened is the user's matter. */
static const int allowed[] = {
    /* memory, threads; mmap, mprotect, clone: below */
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    SCMP_SYS(mincore), SCMP_SYS(msync), SCMP_SYS(mincore), SCMP_SYS(futex),
    SCMP_SYS(futex_time64), SCMP_SYS(set_robust_list),
    SCMP_SYS(get_robust_list), SCMP_SYS(rseq), SCMP_SYS(membarrier),
    SCMP_SYS(arch_prctl), SCMP_SYS(set_tid_address), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(getcpu), SCMP_SYS(exit),
    SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
    /* signals to ourselves: kill, tgkill: below */
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(rt_sigtimedwait_time64), SCMP_SYS(sigaltstack),
    SCMP_SYS(sigreturn), SCMP_SYS(pause), SCMP_SYS(signalfd4),
    /* time */
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_gettime64), SCMP_SYS(clock_getres),
    SCMP_SYS(clock_getres_time64), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(clock_nanosleep_time64), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(timerfd_create),
    SCMP_SYS(timerfd_settime), SCMP_SYS(timerfd_gettime), SCMP_SYS(adjtimex),
    SCMP_SYS(clock_adjtime),
    /* who and where we are; the helper's end */
    SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getppid), SCMP_SYS(getuid),
    SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid), SCMP_SYS(getresuid),
    SCMP_SYS(getresgid), SCMP_SYS(getgroups), SCMP_SYS(getpgrp),
    SCMP_SYS(uname), SCMP_SYS(sysinfo), SCMP_SYS(times), SCMP_SYS(getrusage),
    SCMP_SYS(getrlimit), SCMP_SYS(ugetrlimit), SCMP_SYS(setrlimit),
    SCMP_SYS(getrandom), SCMP_SYS(wait4), SCMP_SYS(waitid), SCMP_SYS(capget),
    SCMP_SYS(getcwd),
    /* waiting */
    SCMP_SYS(epoll_create), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(ppoll_time64), SCMP_SYS(select),
    SCMP_SYS(_newselect), SCMP_SYS(pselect6), SCMP_SYS(pselect6_time64),
    SCMP_SYS(eventfd2), SCMP_SYS(pipe), SCMP_SYS(pipe2),
    SCMP_SYS(inotify_init1), SCMP_SYS(inotify_add_watch),
    SCMP_SYS(inotify_rm_watch),
    /* files */
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(preadv),
    SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(pwrite64), SCMP_SYS(pwritev),
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(close), SCMP_SYS(close_range),
    SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(dup), SCMP_SYS(dup2),
    SCMP_SYS(dup3), SCMP_SYS(fcntl), SCMP_SYS(fcntl64), SCMP_SYS(flock),
    SCMP_SYS(stat), SCMP_SYS(stat64), SCMP_SYS(fstat), SCMP_SYS(fstat64),
    SCMP_SYS(lstat), SCMP_SYS(lstat64), SCMP_SYS(newfstatat),
    SCMP_SYS(fstatat64), SCMP_SYS(statx), SCMP_SYS(statfs), SCMP_SYS(statfs64),
    SCMP_SYS(fstatfs), SCMP_SYS(fstatfs64), SCMP_SYS(access),
    SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink),
    SCMP_SYS(readlinkat), SCMP_SYS(getdents), SCMP_SYS(getdents64),
    SCMP_SYS(umask), SCMP_SYS(fsync), SCMP_SYS(fdatasync), SCMP_SYS(ftruncate),
    SCMP_SYS(ftruncate64), SCMP_SYS(fallocate), SCMP_SYS(fadvise64),
    SCMP_SYS(fadvise64_64), SCMP_SYS(unlink), SCMP_SYS(unlinkat),
    SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat), SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat),
    SCMP_SYS(memfd_create),
    /* sockets; socket, ioctl, prctl: below */
    SCMP_SYS(socketpair), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept),
    SCMP_SYS(accept4), SCMP_SYS(connect), SCMP_SYS(getsockname),
    SCMP_SYS(getpeername), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt),
    SCMP_SYS(shutdown), SCMP_SYS(send), SCMP_SYS(sendto), SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg), SCMP_SYS(recv), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
    SCMP_SYS(recvmmsg), SCMP_SYS(recvmmsg_time64)};

/* Never called by any of the above: whoever does is not us. */
static const int deadly[] = {SCMP_SYS(execve),
                             SCMP_SYS(execveat),
                             SCMP_SYS(fork),
                             SCMP_SYS(vfork),
                             SCMP_SYS(ptrace),
                             SCMP_SYS(process_vm_readv),
                             SCMP_SYS(process_vm_writev),
                             SCMP_SYS(mount),
                             SCMP_SYS(umount2),
                             SCMP_SYS(pivot_root),
                             SCMP_SYS(chroot),
                             SCMP_SYS(setns),
                             SCMP_SYS(unshare),
                             SCMP_SYS(init_module),
                             SCMP_SYS(finit_module),
                             SCMP_SYS(bpf),
                             SCMP_SYS(kexec_load),
                             SCMP_SYS(reboot)};

struct rule {
    int call;
    struct scmp_arg_cmp arg;
};

/* A rule holds for a call whose one argument compares so. */
#define IS(n, v)                                                               \
    {                                                                          \
        (n), SCMP_CMP_EQ, (scmp_datum_t)(v), 0                                 \
    }
#define MASKED(n, mask, v)                                                     \
    {                                                                          \
        (n), SCMP_CMP_MASKED_EQ, (scmp_datum_t)(mask), (scmp_datum_t)(v)       \
    }

static const struct rule narrowed[] = {
    {SCMP_SYS(socket), IS(0, AF_INET)},
    {SCMP_SYS(socket), IS(0, AF_INET6)},
    {SCMP_SYS(socket), IS(0, AF_UNIX)},
    {SCMP_SYS(socket), IS(0, AF_NETLINK)}, /* getaddrinfo */
    /* no memory that can be written and run: two of the three, or none */
    {SCMP_SYS(mmap), MASKED(2, PROT_WRITE | PROT_EXEC, 0)},
    {SCMP_SYS(mmap), MASKED(2, PROT_WRITE | PROT_EXEC, PROT_WRITE)},
    {SCMP_SYS(mmap), MASKED(2, PROT_WRITE | PROT_EXEC, PROT_EXEC)},
    {SCMP_SYS(mmap2), MASKED(2, PROT_WRITE | PROT_EXEC, 0)},
    {SCMP_SYS(mmap2), MASKED(2, PROT_WRITE | PROT_EXEC, PROT_WRITE)},
    {SCMP_SYS(mmap2), MASKED(2, PROT_WRITE | PROT_EXEC, PROT_EXEC)},
    {SCMP_SYS(mprotect), MASKED(2, PROT_EXEC, 0)},
    /* threads, not processes; clone3 cannot be looked into, and glibc falls
     * back where it is not there */
    {SCMP_SYS(clone), MASKED(0, CLONE_THREAD, CLONE_THREAD)},
    {SCMP_SYS(ioctl), IS(1, FIONREAD)},
    {SCMP_SYS(ioctl), IS(1, FIONBIO)},
    {SCMP_SYS(ioctl), IS(1, FIOCLEX)},
    {SCMP_SYS(ioctl), IS(1, FIONCLEX)},
    {SCMP_SYS(ioctl), IS(1, TCGETS)},
    {SCMP_SYS(ioctl), IS(1, TIOCGWINSZ)},
    {SCMP_SYS(prctl), IS(0, PR_SET_NAME)},
    {SCMP_SYS(prctl), IS(0, PR_GET_NAME)},
    {SCMP_SYS(prctl), IS(0, 0x53564d41)}, /* PR_SET_VMA, for malloc's names */
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* A call that this processor does not have is none to be allowed. */
static int settle(int rc)
{
    return rc == -EDOM ? 0 : rc;
}

static int add_self(scmp_filter_ctx f)
{
    const struct scmp_arg_cmp self = IS(0, getpid());
    int rc =
        seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, &self);

    if (rc == 0)
        rc =
            seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(kill), 1, &self);
    /* setrlimit(2) of glibc, for ourselves */
    if (rc == 0) {
        const struct scmp_arg_cmp own = IS(0, 0);

        rc = seccomp_rule_add_array(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                                    &own);
    }
    return rc;
}

static int add_all(scmp_filter_ctx f)
{
    const struct scmp_arg_cmp process = MASKED(0, CLONE_THREAD, 0);
    int rc = 0;

    for (size_t i = 0; i < COUNT(allowed) && rc == 0; i++)
        rc = settle(
            seccomp_rule_add_array(f, SCMP_ACT_ALLOW, allowed[i], 0, NULL));
    for (size_t i = 0; i < COUNT(deadly) && rc == 0; i++)
        rc = settle(seccomp_rule_add_array(f, SCMP_ACT_KILL_PROCESS, deadly[i],
                                           0, NULL));
    for (size_t i = 0; i < COUNT(narrowed) && rc == 0; i++)
        rc = settle(seccomp_rule_add_array(f, SCMP_ACT_ALLOW, narrowed[i].call,
                                           1, &narrowed[i].arg));
    if (rc == 0)
        rc = seccomp_rule_add_array(f, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone),
                                    1, &process);
    return rc == 0 ? add_self(f) : rc;
}

static int load(struct err *e)
{
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int rc = f != NULL ? 0 : -ENOMEM;

    if (rc == 0)
        rc = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
    /* A tree instead of a list: a call is found in 8 steps, not 180. */
    if (rc == 0)
        rc = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (rc == 0)
        rc = add_all(f);
    if (rc == 0)
        rc = seccomp_load(f);
    seccomp_release(f);
    if (rc == 0)
        return 0;
    return err_set(e, ERR_LOCAL, "sandbox: filter of system calls: %s",
                   strerror(-rc));
}

#ifdef __SANITIZE_ADDRESS__
/* Its leak check makes a process that traces us; nor may it be kept from
 * that. */
int sandbox_filter_load(struct err *e)
{
    (void)e;
    (void)load;
    (void)prctl(PR_SET_DUMPABLE, 1);
    return 0;
}
#else
int sandbox_filter_load(struct err *e)
{
    return load(e);
}
#endif

#else
typedef int sandbox_filter_is_empty;
#endif
