/* SPDX-License-Identifier: MIT */
#include "io/sandbox.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What loops, TLS, both stores, name resolution and threads call. Everything else is refused with
 * EPERM: a library that probes for a newer call goes on with the older one. */
static const int sandbox_calls[] = {
    /* memory and threads */
    SCMP_SYS(brk),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(getcpu),
    SCMP_SYS(membarrier),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigtimedwait),
    /* time and randomness */
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getrandom),
    /* descriptors and files */
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(preadv),
    SCMP_SYS(pwritev),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(open),
    SCMP_SYS(openat),
    SCMP_SYS(stat),
    SCMP_SYS(fstat),
    SCMP_SYS(lstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getcwd),
    SCMP_SYS(getdents64),
    SCMP_SYS(fsync),
    SCMP_SYS(fdatasync),
    SCMP_SYS(ftruncate),
    SCMP_SYS(fallocate),
    SCMP_SYS(fcntl),
    SCMP_SYS(flock),
    SCMP_SYS(unlink),
    SCMP_SYS(unlinkat),
    SCMP_SYS(rename),
    SCMP_SYS(renameat),
    SCMP_SYS(renameat2),
    SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchown),
    SCMP_SYS(fstatfs),
    SCMP_SYS(statfs),
    SCMP_SYS(dup),
    SCMP_SYS(pipe2),
    SCMP_SYS(umask),
    /* waiting */
    SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(select),
    SCMP_SYS(pselect6),
    SCMP_SYS(eventfd2),
    /* sockets; making one is below */
    SCMP_SYS(bind),
    SCMP_SYS(connect),
    SCMP_SYS(listen),
    SCMP_SYS(accept),
    SCMP_SYS(accept4),
    SCMP_SYS(getsockname),
    SCMP_SYS(getpeername),
    SCMP_SYS(getsockopt),
    SCMP_SYS(setsockopt),
    SCMP_SYS(sendto),
    SCMP_SYS(recvfrom),
    SCMP_SYS(sendmsg),
    SCMP_SYS(recvmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(shutdown),
    /* who am I, what may I */
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
};

#define SANDBOX_ARGUMENTS_MAX 2
#define SANDBOX_INT           UINT32_MAX /* what the kernel reads of an int */
#define SANDBOX_SOCKET_TYPE   0xf        /* without SOCK_CLOEXEC and SOCK_NONBLOCK */

/* An argument that, under the mask, is the value. A mask of 0: no more arguments matter. */
struct sandbox_argument {
    unsigned index;
    uint64_t mask;
    uint64_t value;
};

/* A call is let through when its arguments are these. */
struct sandbox_condition {
    int call;
    struct sandbox_argument arguments[SANDBOX_ARGUMENTS_MAX];
};

static const struct sandbox_condition sandbox_conditions[] = {
    {SCMP_SYS(socket), {{0, SANDBOX_INT, AF_INET}, {1, SANDBOX_SOCKET_TYPE, SOCK_STREAM}}},
    {SCMP_SYS(socket), {{0, SANDBOX_INT, AF_INET}, {1, SANDBOX_SOCKET_TYPE, SOCK_DGRAM}}},
    {SCMP_SYS(socket), {{0, SANDBOX_INT, AF_INET6}, {1, SANDBOX_SOCKET_TYPE, SOCK_STREAM}}},
    {SCMP_SYS(socket), {{0, SANDBOX_INT, AF_INET6}, {1, SANDBOX_SOCKET_TYPE, SOCK_DGRAM}}},
    {SCMP_SYS(socket), {{0, SANDBOX_INT, AF_UNIX}}},
    /* name resolution asks for the interfaces */
    {SCMP_SYS(socket), {{0, SANDBOX_INT, AF_NETLINK}, {2, SANDBOX_INT, NETLINK_ROUTE}}},
    {SCMP_SYS(socketpair), {{0, SANDBOX_INT, AF_UNIX}}},
    /* memory never becomes code, be it a file's: that would be a program run without execve */
    {SCMP_SYS(mmap), {{2, PROT_EXEC, 0}}},
    {SCMP_SYS(mprotect), {{2, PROT_EXEC, 0}}},
    {SCMP_SYS(clone), {{0, CLONE_THREAD, CLONE_THREAD}}}, /* threads, not processes */
    {SCMP_SYS(setpriority), {{0, SANDBOX_INT, PRIO_PROCESS}, {1, SANDBOX_INT, 0}}}, /* its own */
    {SCMP_SYS(prctl), {{0, SANDBOX_INT, PR_SET_NAME}}}, /* names of threads, no privileges */
    {SCMP_SYS(prlimit64), {{2, UINT64_MAX, 0}}},        /* limits are read, not set */
    /* what sockets need, and isatty; no input for a terminal, no devices */
    {SCMP_SYS(ioctl), {{1, SANDBOX_INT, FIONBIO}}},
    {SCMP_SYS(ioctl), {{1, SANDBOX_INT, FIONREAD}}},
    {SCMP_SYS(ioctl), {{1, SANDBOX_INT, FIOCLEX}}},
    {SCMP_SYS(ioctl), {{1, SANDBOX_INT, TCGETS}}},
    {SCMP_SYS(ioctl), {{1, SANDBOX_INT, SIOCGIFINDEX}}},
    {SCMP_SYS(ioctl), {{1, SANDBOX_INT, SIOCGIFNAME}}},
};

static int sandbox_add_condition(scmp_filter_ctx filter, const struct sandbox_condition *condition)
{
    struct scmp_arg_cmp comparisons[SANDBOX_ARGUMENTS_MAX];
    unsigned count = 0;
    while (count < SANDBOX_ARGUMENTS_MAX && condition->arguments[count].mask != 0) {
        const struct sandbox_argument *argument = &condition->arguments[count];
        comparisons[count++] = (struct scmp_arg_cmp){
            .arg = argument->index,
            .op = SCMP_CMP_MASKED_EQ,
            .datum_a = argument->mask,
            .datum_b = argument->value,
        };
    }
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, condition->call, count, comparisons);
}

static int sandbox_add_conditions(scmp_filter_ctx filter)
{
    int result = 0;
    for (size_t i = 0; i < COUNT_OF(sandbox_conditions) && result == 0; i++) {
        result = sandbox_add_condition(filter, &sandbox_conditions[i]);
    }
    /* abort() and the like; no signals for others. */
    const struct sandbox_condition own_signals = {SCMP_SYS(tgkill),
                                                  {{0, SANDBOX_INT, (uint64_t)getpid()}}};
    if (result == 0) {
        result = sandbox_add_condition(filter, &own_signals);
    }
    /* clone3 hides its flags from filters; told that it does not exist, libc uses clone. */
    return result == 0 ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0)
                       : result;
}

static enum err sandbox_filter_calls(struct error *reterr)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result = filter == NULL ? -1 : seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    for (size_t i = 0; result == 0 && i < COUNT_OF(sandbox_calls); i++) {
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, sandbox_calls[i], 0);
    }
    if (result == 0) {
        result = sandbox_add_conditions(filter);
    }
    if (result == 0) {
        result = seccomp_load(filter);
    }
    seccomp_release(filter);
    return result == 0 ? ERR_NONE
                       : fail(reterr, ERR_UNSUPPORTED,
                              "the kernel takes no seccomp filter; --sandbox off goes without");
}

/* Files ---------------------------------------------------------------------------------------- */

#define SANDBOX_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define SANDBOX_WRITE                                                                              \
    (SANDBOX_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |               \
     LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |   \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER | SANDBOX_TRUNCATE)
#define SANDBOX_OF_FILES                                                                           \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | SANDBOX_TRUNCATE)

/* The kernel may know more than the headers that this is built with. */
#define SANDBOX_TRUNCATE  (UINT64_C(1) << 14)
#define SANDBOX_IOCTL_DEV (UINT64_C(1) << 15)

/* What this version can refuse; what a version does not know it refuses to be asked for. */
static uint64_t sandbox_handled(long version)
{
    uint64_t handled = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;
    handled |= version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
    handled |= version >= 3 ? SANDBOX_TRUNCATE : 0;
    handled |= version >= 5 ? SANDBOX_IOCTL_DEV : 0;
    return handled;
}

struct sandbox_rules {
    int fd;
    uint64_t handled;
};

/* Names, time zones, certificates, libraries that name resolution loads, our own numbers. */
static const char *const sandbox_readable[] = {
    "/etc/resolv.conf",     "/etc/hosts",     "/etc/nsswitch.conf",
    "/etc/gai.conf",        "/etc/services",  "/etc/ssl",
    "/etc/localtime",       "/etc/host.conf", "/usr/lib",
    "/usr/share/zoneinfo",  "/lib",           "/proc/self",
    "/etc/ld.so.cache",     "/dev/urandom",   "/dev/null",
    "/run/systemd/resolve",
};

static enum err sandbox_allow(const struct sandbox_rules *rules, const char *path, uint64_t access,
                              struct error *reterr)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = access & rules->handled};
    struct stat status;
    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0 || fstat(rule.parent_fd, &status) != 0) {
        return errno == ENOENT
                   ? ERR_NONE /* nothing there to be read */
                   : fail(reterr, ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    }
    if (!S_ISDIR(status.st_mode)) {
        rule.allowed_access &= SANDBOX_OF_FILES;
    }
    long result = syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    int cause = errno;
    (void)close(rule.parent_fd);
    return result == 0 ? ERR_NONE
                       : fail(reterr, ERR_IO, "landlock refuses '%s': %s", path, strerror(cause));
}

static enum err sandbox_allow_all(const struct sandbox_rules *rules, const char *const *paths,
                                  size_t count, uint64_t access, struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && paths[i] != NULL && err == ERR_NONE; i++) {
        err = sandbox_allow(rules, paths[i], access, reterr);
    }
    return err;
}

/* A file in the root folder is allowed alone: its folder would be everything. */
static enum err sandbox_allow_folder_of(const struct sandbox_rules *rules, const char *path,
                                        struct error *reterr)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (slash == path) {
        return sandbox_allow(rules, path, SANDBOX_READ, reterr);
    }
    (void)snprintf(folder, sizeof(folder), "%.*s", slash == NULL ? 1 : (int)(slash - path),
                   slash == NULL ? "." : path);
    return sandbox_allow(rules, folder, SANDBOX_READ, reterr);
}

/* A rule holds for a file, not for its name: the next file of that name is found through its
 * folder. Where the name is a link, the next one lies beside what it points to. */
static enum err sandbox_allow_replaced(const struct sandbox_rules *rules, const char *const *paths,
                                       struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < SANDBOX_PATHS_MAX && paths[i] != NULL && err == ERR_NONE; i++) {
        char target[PATH_MAX];
        err = sandbox_allow_folder_of(rules, paths[i], reterr);
        if (err == ERR_NONE && realpath(paths[i], target) != NULL) {
            err = sandbox_allow_folder_of(rules, target, reterr);
        }
    }
    return err;
}

static enum err sandbox_add_rules(const struct sandbox_rules *rules,
                                  const struct sandbox_settings *settings, struct error *reterr)
{
    enum err err = sandbox_allow_all(rules, sandbox_readable, COUNT_OF(sandbox_readable),
                                     SANDBOX_READ, reterr);
    if (err == ERR_NONE) {
        err = sandbox_allow_replaced(rules, settings->replaced, reterr);
    }
    if (err == ERR_NONE) {
        err =
            sandbox_allow_all(rules, settings->writable, SANDBOX_PATHS_MAX, SANDBOX_WRITE, reterr);
    }
    if (err == ERR_NONE) {
        err = sandbox_allow_all(rules, settings->emptied, SANDBOX_PATHS_MAX,
                                LANDLOCK_ACCESS_FS_REMOVE_DIR, reterr);
    }
    return err;
}

static enum err sandbox_confine_files(const struct sandbox_settings *settings, int *ret_version,
                                      struct error *reterr)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    *ret_version = version > 0 ? (int)version : 0;
    if (version <= 0) {
        return ERR_NONE;
    }
    struct sandbox_rules rules = {.handled = sandbox_handled(version)};
    struct landlock_ruleset_attr handled = {.handled_access_fs = rules.handled};
    rules.fd = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
    if (rules.fd < 0) {
        return fail(reterr, ERR_IO, "landlock: %s", strerror(errno));
    }
    enum err err = sandbox_add_rules(&rules, settings, reterr);
    if (err == ERR_NONE && syscall(SYS_landlock_restrict_self, rules.fd, 0) != 0) {
        err = fail(reterr, ERR_IO, "landlock: %s", strerror(errno));
    }
    (void)close(rules.fd);
    return err;
}

enum err sandbox_start(const struct sandbox_settings *settings, struct sandbox_state *ret_state,
                       struct error *reterr)
{
    struct rlimit no_core = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || setrlimit(RLIMIT_CORE, &no_core) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return fail(reterr, ERR_IO, "cannot give up privileges: %s", strerror(errno));
    }
    enum err err = sandbox_confine_files(settings, &ret_state->landlock_version, reterr);
    if (err == ERR_NONE) {
        err = sandbox_filter_calls(reterr);
    }
    ret_state->has_filter = err == ERR_NONE;
    return err;
}
