/* SPDX-License-Identifier: MIT */
#include "io/command_box.h"

#include "base/limits.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY          65534
#define FOLDERS_AT      "/tmp"
#define SECRET_FILE_MAX ((off_t)1024 * 1024)

/* The folder ---------------------------------------------------------------------------------- */

static long box_landlock_version(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

enum err command_box_open(struct command_box *box, const struct commands_settings *settings,
                          struct error *reterr)
{
    bool is_root = geteuid() == 0;
    *box = (struct command_box){.settings = settings,
                                .user = is_root ? NOBODY : geteuid(),
                                .group = is_root ? NOBODY : getegid()};
    if (!is_root && box_landlock_version() <= 0) {
        return fail(reterr, ERR_UNSUPPORTED,
                    "the kernel has no Landlock, and the agent runs as the user whose keys a "
                    "command could read: nothing is run");
    }
    (void)snprintf(box->folder, sizeof(box->folder), FOLDERS_AT "/gatehouse-command-XXXXXX");
    if (mkdtemp(box->folder) == NULL ||
        (is_root && chown(box->folder, box->user, box->group) != 0)) {
        int cause = errno;
        command_box_close(box);
        return fail(reterr, ERR_IO, "no folder for the command: %s", strerror(cause));
    }
    return ERR_NONE;
}

/* As well as it goes: a disk may write elsewhere. What is no file is left alone: a pipe would have
 * somebody wait for its other end. */
static void box_wipe(int folder, const char *name)
{
    static const char zeros[4096];
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
        return;
    }
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    off_t size = status.st_size < SECRET_FILE_MAX ? status.st_size : SECRET_FILE_MAX;
    for (off_t at = 0; fd >= 0 && at < size; at += (off_t)sizeof(zeros)) {
        off_t left = size - at;
        size_t len = left < (off_t)sizeof(zeros) ? (size_t)left : sizeof(zeros);
        if (pwrite(fd, zeros, len, at) < 0) {
            break;
        }
    }
    if (fd >= 0) {
        (void)fdatasync(fd);
        (void)close(fd);
    }
}

/* A folder that a command has closed to its own user is opened again. Its processes are gone. */
static DIR *box_open_folder(int parent, const char *name)
{
    struct stat status;
    bool is_folder = fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                     S_ISDIR(status.st_mode) && fchmodat(parent, name, 0700, 0) == 0;
    int fd = is_folder ? openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL && fd >= 0) {
        (void)close(fd);
    }
    return folder;
}

static const char *box_next_name(DIR *folder)
{
    const struct dirent *entry = readdir(folder);
    while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)) {
        entry = readdir(folder);
    }
    return entry == NULL ? NULL : entry->d_name;
}

/* Folders in it come to the top, so that however deep they were, none is below a path that is too
 * long, and none is recursed into. True: there is less than before. */
static bool box_remove_folder(int top, const char *name, uint64_t *number)
{
    DIR *folder = box_open_folder(top, name);
    bool has_secrets = strcmp(name, COMMAND_SECRETS) == 0;
    const char *inner = folder == NULL ? NULL : box_next_name(folder);
    bool is_less = false;
    for (; inner != NULL; inner = box_next_name(folder)) {
        char there[32];
        if (has_secrets) {
            box_wipe(dirfd(folder), inner);
        }
        (void)snprintf(there, sizeof(there), "%" PRIx64, (*number)++);
        bool is_gone = unlinkat(dirfd(folder), inner, 0) == 0 ||
                       (fchmodat(dirfd(folder), inner, 0700, 0) == 0 &&
                        renameat(dirfd(folder), inner, top, there) == 0);
        is_less = is_less || is_gone;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return unlinkat(top, name, AT_REMOVEDIR) == 0 || is_less;
}

/* One look finds what was there when it began; what came to the top meanwhile, the next. */
static bool box_remove_once(int top, uint64_t *number)
{
    bool is_less = false;
    DIR *folder = box_open_folder(top, ".");
    const char *name = folder == NULL ? NULL : box_next_name(folder);
    for (; name != NULL; name = box_next_name(folder)) {
        bool is_gone = unlinkat(top, name, 0) == 0 || box_remove_folder(top, name, number);
        is_less = is_less || is_gone;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return is_less;
}

static void box_remove(const char *path)
{
    uint64_t number = 0; /* for names that nobody has taken */
    bool is_less = getentropy(&number, sizeof(number)) == 0 && chmod(path, 0700) == 0;
    int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (top >= 0 && is_less) {
        is_less = box_remove_once(top, &number);
    }
    if (top >= 0) {
        (void)close(top);
    }
    (void)rmdir(path);
}

static enum err box_write_file(const struct command_box *box, const char *path, struct slice value,
                               struct error *reterr)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool is_written = fd >= 0 && fchown(fd, box->user, box->group) == 0;
    while (is_written && value.len > 0) {
        ssize_t len = write(fd, value.at, value.len);
        is_written = len > 0;
        value = slice_from(value, len > 0 ? (size_t)len : 0);
    }
    int cause = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_written ? ERR_NONE
                      : fail(reterr, ERR_IO, "no file for a secret: %s", strerror(cause));
}

enum err command_box_write(const struct command_box *box, const char *name, struct slice value,
                           char *ret_path, struct error *reterr)
{
    (void)snprintf(ret_path, PATH_MAX, "%s/" COMMAND_SECRETS, box->folder);
    if (mkdir(ret_path, 0700) != 0 && errno != EEXIST) {
        return fail(reterr, ERR_IO, "no folder for secrets: %s", strerror(errno));
    }
    if (chown(ret_path, box->user, box->group) != 0 ||
        snprintf(ret_path, PATH_MAX, "%s/" COMMAND_SECRETS "/%s", box->folder, name) >= PATH_MAX) {
        return fail(reterr, ERR_IO, "no folder for secrets: %s", strerror(errno));
    }
    return box_write_file(box, ret_path, value, reterr);
}

void command_box_close(struct command_box *box)
{
    if (box->folder[0] != '\0') {
        box_remove(box->folder);
        box->folder[0] = '\0';
    }
}

/* Files --------------------------------------------------------------------------------------- */

/* The kernel may know more than the headers that this is built with. */
#define BOX_TRUNCATE       (UINT64_C(1) << 14)
#define BOX_IOCTL_DEV      (UINT64_C(1) << 15)
#define BOX_SCOPE_ABSTRACT (UINT64_C(1) << 0)
#define BOX_SCOPE_SIGNAL   (UINT64_C(1) << 1)
#define BOX_READ                                                                                   \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define BOX_FILE                                                                                   \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |   \
     BOX_TRUNCATE | BOX_IOCTL_DEV)

struct box_ruleset { /* landlock_ruleset_attr of a newer kernel */
    uint64_t files;
    uint64_t net;
    uint64_t scoped;
};

struct box_rules {
    int fd;
    uint64_t handled;
    const struct command_box *box;
};

static const char *const box_readable[] = {
    "/usr",    "/bin", "/sbin", "/lib",  "/lib32", "/lib64",
    "/libx32", "/opt", "/etc",  "/proc", "/sys",   "/run/systemd/resolve",
};

static const char *const box_devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};

/* What is not there needs no rule. */
static void box_allow(const struct box_rules *rules, const char *path, uint64_t access)
{
    struct stat status;
    struct landlock_path_beneath_attr rule = {.allowed_access = access & rules->handled};
    rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0) {
        return;
    }
    if (fstat(rule.parent_fd, &status) == 0) {
        rule.allowed_access &= S_ISDIR(status.st_mode) ? UINT64_MAX : BOX_FILE;
        (void)syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    }
    (void)close(rule.parent_fd);
}

/* Whether 'path' is the folder, or lies in it. */
static bool box_is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

enum box_meeting { BOX_APART, BOX_AROUND, BOX_INSIDE };

/* Whether something hidden lies below the path, or the path is, or lies in, what is hidden. */
static enum box_meeting box_meets(const struct box_rules *rules, const char *path)
{
    enum box_meeting meeting = BOX_APART;
    const char *const *hidden = rules->box->settings->hidden;
    for (size_t i = 0; i < COUNT_OF(rules->box->settings->hidden) && hidden[i] != NULL; i++) {
        char real[PATH_MAX];
        if (hidden[i][0] == '\0' || realpath(hidden[i], real) == NULL) {
            continue;
        }
        if (box_is_in(path, real)) {
            return BOX_INSIDE;
        }
        meeting = box_is_in(real, path) ? BOX_AROUND : meeting;
    }
    return meeting;
}

/* Landlock only adds: a folder with something hidden below is allowed by what else is in it. The
 * recursion ends where a hidden path does. */
static void box_allow_around(const struct box_rules *rules, const char *path) /* recursive */
{
    char real[PATH_MAX];
    if (realpath(path, real) == NULL) {
        return;
    }
    enum box_meeting meeting = box_meets(rules, real);
    if (meeting == BOX_APART) {
        box_allow(rules, real, BOX_READ);
    }
    DIR *folder = meeting == BOX_AROUND ? opendir(real) : NULL;
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char below[PATH_MAX];
        int len = snprintf(below, sizeof(below), "%s/%s", real, entry->d_name);
        bool is_folder = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
        if (is_folder && len > 0 && (size_t)len < sizeof(below) && entry->d_type != DT_LNK) {
            box_allow_around(rules, below);
        }
    }
    (void)closedir(folder);
}

static uint64_t box_handled(long version)
{
    uint64_t handled = LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1;
    handled |= version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0;
    handled |= version >= 3 ? BOX_TRUNCATE : 0;
    handled |= version >= 5 ? BOX_IOCTL_DEV : 0;
    return handled;
}

/* 0, or errno. A kernel without Landlock is one on which the user is another one. */
static int box_confine_files(const struct command_box *box)
{
    long version = box_landlock_version();
    if (version <= 0) {
        return 0;
    }
    struct box_ruleset ruleset = {.files = box_handled(version)};
    ruleset.scoped = version >= 6 ? BOX_SCOPE_ABSTRACT | BOX_SCOPE_SIGNAL : 0;
    size_t size = version >= 6   ? sizeof(ruleset)
                  : version >= 4 ? offsetof(struct box_ruleset, scoped)
                                 : offsetof(struct box_ruleset, net);
    struct box_rules rules = {.handled = ruleset.files, .box = box};
    rules.fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
    if (rules.fd < 0) {
        return errno;
    }
    for (size_t i = 0; i < COUNT_OF(box_readable); i++) {
        box_allow_around(&rules, box_readable[i]);
    }
    for (size_t i = 0; i < COUNT_OF(box_devices); i++) {
        box_allow(&rules, box_devices[i], BOX_FILE);
    }
    box_allow(&rules, box->folder, rules.handled);
    return syscall(SYS_landlock_restrict_self, rules.fd, 0) == 0 ? 0 : errno;
}

/* Calls --------------------------------------------------------------------------------------- */

/* What reaches around files and users: other processes, namespaces, the kernel itself. io_uring
 * makes sockets that no filter sees. */
static const int box_refused[] = {
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(kcmp),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(keyctl),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(kexec_load),
};

/* A namespace of users makes its maker root in it, for whom more of the kernel can be reached.
 * clone3() has its flags in memory, where no filter looks: libc takes clone() where there is none.
 */
static int box_refuse_namespaces(scmp_filter_ctx filter)
{
    static const uint64_t flags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                     CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    for (size_t i = 0; i < COUNT_OF(flags) && result == 0; i++) {
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
    }
    return result;
}

/* Sockets in the file system are found by their paths, which Landlock does not look at: the
 * gateway's own control socket among them. Of all other kinds, those of the machine under a virtual
 * one or of the kernel's ciphers, programs need none but the internet's, and what tells of it. */
static int box_refuse_sockets(scmp_filter_ctx filter)
{
    int result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                  SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, AF_UNIX));
    for (unsigned family = 0; family < AF_MAX && result == 0; family++) {
        bool is_needed = family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
        if (!is_needed && family != AF_UNIX) {
            result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                      SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, family));
        }
    }
    return result;
}

static int box_confine_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int result = filter == NULL ? -ENOSYS : 0;
    for (size_t i = 0; i < COUNT_OF(box_refused) && result == 0; i++) {
        result = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), box_refused[i], 0);
    }
    if (result == 0) {
        result = box_refuse_namespaces(filter);
    }
    result = result == 0 ? box_refuse_sockets(filter) : result;
    result = result == 0 ? seccomp_load(filter) : result;
    seccomp_release(filter);
    return -result;
}

/* Limits -------------------------------------------------------------------------------------- */

/* The threads of a process, by the links of its folder of them. */
static rlim_t box_thread_count(const char *pid, uid_t user)
{
    char path[PATH_MAX];
    struct stat status;
    (void)snprintf(path, sizeof(path), "/proc/%s/task", pid);
    bool is_own = stat(path, &status) == 0 && status.st_uid == user && status.st_nlink > 2;
    return is_own ? status.st_nlink - 2 : 0;
}

/* The kernel counts all processes of the user: what runs already is added to the limit. */
static rlim_t box_user_count(uid_t user)
{
    rlim_t count = 0;
    DIR *folder = opendir("/proc");
    if (folder == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        bool is_process = entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
        count += is_process ? box_thread_count(entry->d_name, user) : 0;
    }
    (void)closedir(folder);
    return count;
}

static void box_limit(const struct command_box *box)
{
    const struct {
        __rlimit_resource_t resource;
        rlim_t value;
    } limits[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_NOFILE, LIMIT_COMMAND_FILES},
        {RLIMIT_FSIZE, LIMIT_COMMAND_FILE_SIZE},
        {RLIMIT_MEMLOCK, LIMIT_KIB(64)},
        {RLIMIT_NPROC, box_user_count(box->user) + LIMIT_COMMAND_PROCESSES},
    };
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        const struct rlimit limit = {.rlim_cur = limits[i].value, .rlim_max = limits[i].value};
        (void)setrlimit(limits[i].resource, &limit);
    }
}

void command_box_limit_memory(void)
{
    const struct rlimit limit = {.rlim_cur = LIMIT_COMMAND_MEMORY,
                                 .rlim_max = LIMIT_COMMAND_MEMORY};
    (void)setrlimit(RLIMIT_DATA, &limit);
}

static int box_become_user(const struct command_box *box)
{
    if (geteuid() != 0) {
        return 0;
    }
    bool is_done = setgroups(0, NULL) == 0 && setresgid(box->group, box->group, box->group) == 0 &&
                   setresuid(box->user, box->user, box->user) == 0;
    return is_done ? 0 : errno;
}

int command_box_enter(const struct command_box *box)
{
    box_limit(box);
    int cause = box_become_user(box);
    if (cause == 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)) {
        cause = errno;
    }
    if (cause == 0) {
        cause = box_confine_files(box); /* from where the gateway's relative paths begin */
    }
    if (cause == 0 && chdir(box->folder) != 0) {
        cause = errno;
    }
    return cause == 0 ? box_confine_calls() : cause;
}
