/* SPDX-License-Identifier: MIT */
#include "io/sandbox.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/netlink.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PATH_SIZE 128

/* A folder with: data/, beside.txt, tls/cert.pem -> ../archive/cert1.pem. */
struct place {
    char root[PATH_SIZE];
    int listener; /* on loopback, opened before */
    struct sockaddr_in address;
    struct sandbox_state state;
};

/* Runs in a child, confined; 0, or the line that went wrong. */
typedef int (*case_fn)(struct place *place);

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            return __LINE__;                                                                       \
        }                                                                                          \
    } while (0)

static const char *path_in(const struct place *place, const char *name, char *path)
{
    (void)snprintf(path, PATH_SIZE * 2, "%s/%s", place->root, name);
    return path;
}

static int open_in(const struct place *place, const char *name, int flags)
{
    char path[PATH_SIZE * 2];
    return open(path_in(place, name, path), flags | O_CLOEXEC, 0600);
}

static void make_file(const struct place *place, const char *name)
{
    int fd = open_in(place, name, O_CREAT | O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, name, strlen(name)), (ssize_t)strlen(name));
    assert_int_equal(close(fd), 0);
}

static void make_folder(const struct place *place, const char *name)
{
    char path[PATH_SIZE * 2];
    assert_int_equal(mkdir(path_in(place, name, path), 0700), 0);
}

static void place_make(struct place *place)
{
    char path[PATH_SIZE * 2];
    *place = (struct place){.root = "/var/tmp/gatehouse-sandbox-XXXXXX"};
    assert_non_null(mkdtemp(place->root));
    make_folder(place, "data");
    make_folder(place, "tls");
    make_folder(place, "archive");
    make_folder(place, "emptied");
    make_folder(place, "emptied/own");
    make_file(place, "beside.txt");
    make_file(place, "data/inside.txt");
    make_file(place, "archive/cert1.pem");
    assert_int_equal(symlink("../archive/cert1.pem", path_in(place, "tls/cert.pem", path)), 0);
    socklen_t len = sizeof(place->address);
    place->address.sin_family = AF_INET;
    place->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    place->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr *address = (struct sockaddr *)&place->address;
    assert_int_equal(bind(place->listener, address, len), 0);
    assert_int_equal(listen(place->listener, 4), 0);
    assert_int_equal(getsockname(place->listener, address, &len), 0);
}

static void place_remove(struct place *place)
{
    assert_int_equal(close(place->listener), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)execlp("rm", "rm", "-r", place->root, (char *)NULL);
        _exit(1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int confine(struct place *place)
{
    char data[PATH_SIZE * 2];
    char cert[PATH_SIZE * 2];
    char own[PATH_SIZE * 2];
    char emptied[PATH_SIZE * 2];
    struct sandbox_settings settings = {
        .writable = {path_in(place, "data", data), path_in(place, "emptied/own", own)},
        .emptied = {path_in(place, "emptied", emptied)},
        .replaced = {path_in(place, "tls/cert.pem", cert)},
    };
    struct error error = {0};
    enum err err = sandbox_start(&settings, &place->state, &error);
    if (err != ERR_NONE) {
        (void)fprintf(stderr, "%s\n", error.message);
    }
    return err == ERR_NONE ? 0 : __LINE__;
}

static int status_of_child(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* The child tells when it is confined, the parent then does what others do meanwhile, and the child
 * tells which line went wrong: exit codes are too small for it. */
static void run_confined(case_fn run, void (*meanwhile)(struct place *place))
{
    struct place place;
    int fds[2];
    int line = -1;
    int size = (int)sizeof(line);
    place_make(&place);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        line = confine(&place);
        bool is_told = write(fds[1], &line, sizeof(line)) == size;
        is_told = is_told && read(fds[1], &line, sizeof(line)) == size;
        line = line == 0 ? run(&place) : line;
        _exit(is_told && write(fds[1], &line, sizeof(line)) == size ? 0 : 1);
    }
    assert_int_equal(close(fds[1]), 0);
    ssize_t count = read(fds[0], &line, sizeof(line));
    if (count == size && meanwhile != NULL) {
        meanwhile(&place);
    }
    if (count == size && write(fds[0], &line, sizeof(line)) == size) {
        count = read(fds[0], &line, sizeof(line));
    }
    int status = status_of_child(child);
    assert_int_equal(close(fds[0]), 0);
    place_remove(&place);
    if (count != size || status != 0 || line != 0) {
        fail_msg("failed at line %d, status %x", line, (unsigned)status);
    }
}

/* Refused ------------------------------------------------------------------------------------- */

static int no_program(struct place *place)
{
    char *const arguments[] = {NULL};
    (void)place;
    EXPECT(execve("/bin/true", arguments, arguments) == -1);
    EXPECT(errno == EPERM || errno == EACCES);
    EXPECT(syscall(SYS_execveat, AT_FDCWD, "/bin/true", arguments, arguments, 0) == -1);
    EXPECT(syscall(SYS_fork) == -1 && errno == EPERM);
    EXPECT(syscall(SYS_vfork) == -1 && errno == EPERM);
    EXPECT(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == -1 && errno == EPERM);
    EXPECT(syscall(SYS_clone3, NULL, 0) == -1 && errno == ENOSYS);
    return 0;
}

static int no_other_process(struct place *place)
{
    (void)place;
    EXPECT(ptrace(PTRACE_ATTACH, 1, NULL, NULL) == -1 && errno == EPERM);
    EXPECT(syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0) == -1 && errno == EPERM);
    EXPECT(syscall(SYS_pidfd_open, 1, 0) == -1 && errno == EPERM);
    EXPECT(kill(1, 0) == -1 && errno == EPERM);
    EXPECT(syscall(SYS_tgkill, 1, 1, 0) == -1 && errno == EPERM);
    return 0;
}

static int no_door_in_the_kernel(struct place *place)
{
    static const long calls[] = {SYS_bpf,
                                 SYS_mount,
                                 SYS_unshare,
                                 SYS_setns,
                                 SYS_keyctl,
                                 SYS_io_uring_setup,
                                 SYS_chroot,
                                 SYS_memfd_create,
                                 SYS_setuid,
                                 SYS_init_module,
                                 SYS_umount2,
                                 SYS_perf_event_open,
                                 SYS_open_by_handle_at,
                                 SYS_userfaultfd,
                                 SYS_personality};
    (void)place;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        EXPECT(syscall(calls[i], 0, 0, 0, 0, 0, 0) == -1 && errno == EPERM);
    }
    EXPECT(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1 && errno == EPERM);
    EXPECT(ioctl(0, TIOCSTI, "x") == -1 && errno == EPERM);
    return 0;
}

static int no_new_code(struct place *place)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(page != MAP_FAILED);
    EXPECT(mprotect(page, 4096, PROT_READ | PROT_EXEC) == -1 && errno == EPERM);
    EXPECT(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                0) == MAP_FAILED);
    EXPECT(errno == EPERM);
    int fd = open_in(place, "data/inside.txt", O_RDWR);
    EXPECT(fd >= 0);
    EXPECT(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED);
    EXPECT(errno == EPERM);
    return 0;
}

static int no_socket_but_those_of_the_network(struct place *place)
{
    (void)place;
    EXPECT(socket(AF_PACKET, SOCK_RAW, 0) == -1 && errno == EPERM);
    EXPECT(socket(AF_ALG, SOCK_SEQPACKET, 0) == -1 && errno == EPERM);
    EXPECT(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) == -1 && errno == EPERM);
    EXPECT(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) == -1 && errno == EPERM);
    EXPECT(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) >= 0);
    EXPECT(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP) >= 0);
    EXPECT(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || errno == EAFNOSUPPORT);
    EXPECT(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    return 0;
}

static int no_file_outside(struct place *place)
{
    char from[PATH_SIZE * 2];
    char to[PATH_SIZE * 2];
    if (place->state.landlock_version == 0) {
        return 0; /* the kernel has none, and says so */
    }
    EXPECT(open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES);
    EXPECT(open("/etc/shadow", O_RDONLY) == -1);
    EXPECT(open("/root", O_RDONLY | O_DIRECTORY) == -1 && errno == EACCES);
    EXPECT(open("/proc/1/environ", O_RDONLY) == -1);
    EXPECT(open_in(place, "beside.txt", O_RDONLY) == -1 && errno == EACCES);
    EXPECT(open_in(place, "data/../beside.txt", O_RDONLY) == -1 && errno == EACCES);
    EXPECT(open_in(place, "new.txt", O_CREAT | O_WRONLY) == -1 && errno == EACCES);
    EXPECT(rename(path_in(place, "data/inside.txt", from), path_in(place, "out.txt", to)) == -1);
    EXPECT(unlink(path_in(place, "beside.txt", from)) == -1 && errno == EACCES);
    return 0;
}

static int readable_files_are_not_writable(struct place *place)
{
    if (place->state.landlock_version == 0) {
        return 0;
    }
    EXPECT(open("/etc/hosts", O_WRONLY) == -1);
    EXPECT(open_in(place, "tls/cert.pem", O_WRONLY) == -1 && errno == EACCES);
    EXPECT(open_in(place, "tls/cert.pem", O_RDONLY) >= 0);
    /* Kernels before Landlock 3 cannot refuse this. */
    EXPECT(place->state.landlock_version < 3 ||
           (open_in(place, "tls/cert.pem", O_RDONLY | O_TRUNC) == -1 && errno == EACCES));
    return 0;
}

/* Allowed ------------------------------------------------------------------------------------- */

static int a_folder_of_its_own_can_go(struct place *place)
{
    char path[PATH_SIZE * 2];
    EXPECT(open_in(place, "emptied/own/a.txt", O_CREAT | O_WRONLY) >= 0);
    EXPECT(unlink(path_in(place, "emptied/own/a.txt", path)) == 0);
    if (place->state.landlock_version > 0) {
        EXPECT(open_in(place, "emptied/new.txt", O_CREAT | O_WRONLY) == -1 && errno == EACCES);
        EXPECT(open_in(place, "emptied", O_RDONLY | O_DIRECTORY) == -1 && errno == EACCES);
    }
    EXPECT(unlinkat(AT_FDCWD, path_in(place, "emptied/own", path), AT_REMOVEDIR) == 0);
    return 0;
}

static int files_inside(struct place *place)
{
    char from[PATH_SIZE * 2];
    char to[PATH_SIZE * 2];
    char text[32];
    EXPECT(mkdir(path_in(place, "data/sub", from), 0700) == 0);
    int fd = open_in(place, "data/sub/a.txt", O_CREAT | O_RDWR | O_TRUNC);
    EXPECT(fd >= 0 && write(fd, "text", 4) == 4 && fsync(fd) == 0 && fchmod(fd, 0600) == 0);
    EXPECT(pread(fd, text, sizeof(text), 0) == 4 && ftruncate(fd, 2) == 0);
    EXPECT(rename(path_in(place, "data/sub/a.txt", from), path_in(place, "data/sub/b", to)) == 0);
    EXPECT(unlink(to) == 0);
    return 0;
}

/* As programs that renew certificates do: a new file, and the link turned to it. */
static void renew(struct place *place)
{
    char from[PATH_SIZE * 2];
    char to[PATH_SIZE * 2];
    make_file(place, "archive/cert2.pem");
    assert_int_equal(symlink("../archive/cert2.pem", path_in(place, "tls/new", from)), 0);
    assert_int_equal(rename(from, path_in(place, "tls/cert.pem", to)), 0);
}

static int the_next_certificate(struct place *place)
{
    char text[32];
    int fd = open_in(place, "tls/cert.pem", O_RDONLY);
    EXPECT(fd >= 0 && read(fd, text, sizeof(text)) == 17);
    EXPECT(memcmp(text, "archive/cert2.pem", 17) == 0);
    return 0;
}

static void *answer(void *at)
{
    *(int *)at = prctl(PR_SET_NAME, "worker", 0, 0, 0) == 0 ? 42 : 0;
    return NULL;
}

static int threads(struct place *place)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int result = 0;
    (void)place;
    EXPECT(pthread_attr_init(&attributes) == 0);
    EXPECT(pthread_attr_setstacksize(&attributes, 262144) == 0);
    EXPECT(pthread_create(&thread, &attributes, answer, &result) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
    EXPECT(result == 42);
    return 0;
}

static int connections_and_names(struct place *place)
{
    const struct sockaddr *address = (const struct sockaddr *)&place->address;
    struct addrinfo *found = NULL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT(fd >= 0 && connect(fd, address, sizeof(place->address)) == 0);
    int other = accept4(place->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    char byte = 0;
    EXPECT(other >= 0 && send(other, "x", 1, MSG_NOSIGNAL) == 1 && read(fd, &byte, 1) == 1);
    EXPECT(getaddrinfo("localhost", "443", NULL, &found) == 0 && found != NULL);
    freeaddrinfo(found);
    return 0;
}

static int a_database_in_wal_mode(struct place *place)
{
    char path[PATH_SIZE * 2];
    sqlite3 *db = NULL;
    EXPECT(sqlite3_open(path_in(place, "data/test.db", path), &db) == SQLITE_OK);
    EXPECT(sqlite3_exec(db,
                        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                        "CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT) STRICT;"
                        "BEGIN IMMEDIATE; INSERT INTO thing (name) VALUES ('a'); COMMIT;"
                        "PRAGMA wal_checkpoint(TRUNCATE); VACUUM;",
                        NULL, NULL, NULL) == SQLITE_OK);
    EXPECT(sqlite3_close(db) == SQLITE_OK);
    return 0;
}

static int status_has(const char *line)
{
    char text[8192];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    text[len < 0 ? 0 : len] = '\0';
    return strstr(text, line) != NULL;
}

static int what_the_kernel_says(struct place *place)
{
    struct rlimit core = {.rlim_max = 1};
    EXPECT(status_has("\nSeccomp:\t2\n"));
    EXPECT(status_has("\nNoNewPrivs:\t1\n"));
    EXPECT(place->state.has_filter);
    EXPECT(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0);
    EXPECT(setrlimit(RLIMIT_CORE, &core) == -1 && errno == EPERM);
    return 0;
}

/* The tests ----------------------------------------------------------------------------------- */

static void it_runs_no_program_and_makes_no_process(void **state)
{
    (void)state;
    run_confined(no_program, NULL);
}

static void it_reaches_no_other_process(void **state)
{
    (void)state;
    run_confined(no_other_process, NULL);
}

static void it_finds_no_door_in_the_kernel(void **state)
{
    (void)state;
    run_confined(no_door_in_the_kernel, NULL);
}

static void its_memory_never_becomes_code(void **state)
{
    (void)state;
    run_confined(no_new_code, NULL);
}

static void its_sockets_are_those_of_the_network(void **state)
{
    (void)state;
    run_confined(no_socket_but_those_of_the_network, NULL);
}

static void it_sees_no_file_outside(void **state)
{
    (void)state;
    run_confined(no_file_outside, NULL);
}

static void what_it_only_reads_stays_as_it_is(void **state)
{
    (void)state;
    run_confined(readable_files_are_not_writable, NULL);
}

static void it_reads_and_writes_inside(void **state)
{
    (void)state;
    run_confined(files_inside, NULL);
}

static void it_removes_a_folder_of_its_own_beside_others(void **state)
{
    (void)state;
    run_confined(a_folder_of_its_own_can_go, NULL);
}

static void it_reads_a_certificate_that_took_the_place_of_another(void **state)
{
    (void)state;
    run_confined(the_next_certificate, renew);
}

static void it_starts_threads(void **state)
{
    (void)state;
    run_confined(threads, NULL);
}

static void it_connects_and_resolves_names(void **state)
{
    (void)state;
    run_confined(connections_and_names, NULL);
}

static void it_commits_to_a_database(void **state)
{
    (void)state;
    run_confined(a_database_in_wal_mode, NULL);
}

static void the_kernel_confirms_it(void **state)
{
    (void)state;
    run_confined(what_the_kernel_says, NULL);
}

static void its_parent_stays_free(void **state)
{
    (void)state;
    run_confined(threads, NULL);
    int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_false(status_has("\nNoNewPrivs:\t1\n"));
}

static void a_folder_that_cannot_be_opened_is_named(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sandbox_settings settings = {.writable = {"/etc/passwd/data"}};
        struct sandbox_state result;
        struct error error = {0};
        enum err err = sandbox_start(&settings, &result, &error);
        bool is_named = strstr(error.message, "/etc/passwd/data") != NULL;
        _exit(result.landlock_version == 0 || (err == ERR_IO && is_named) ? 0 : 1);
    }
    assert_int_equal(status_of_child(child), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_no_program_and_makes_no_process),
        cmocka_unit_test(it_reaches_no_other_process),
        cmocka_unit_test(it_finds_no_door_in_the_kernel),
        cmocka_unit_test(its_memory_never_becomes_code),
        cmocka_unit_test(its_sockets_are_those_of_the_network),
        cmocka_unit_test(it_sees_no_file_outside),
        cmocka_unit_test(what_it_only_reads_stays_as_it_is),
        cmocka_unit_test(it_reads_and_writes_inside),
        cmocka_unit_test(it_removes_a_folder_of_its_own_beside_others),
        cmocka_unit_test(it_reads_a_certificate_that_took_the_place_of_another),
        cmocka_unit_test(it_starts_threads),
        cmocka_unit_test(it_connects_and_resolves_names),
        cmocka_unit_test(it_commits_to_a_database),
        cmocka_unit_test(the_kernel_confirms_it),
        cmocka_unit_test(its_parent_stays_free),
        cmocka_unit_test(a_folder_that_cannot_be_opened_is_named),
    };
    return cmocka_run_group_tests_name("io/sandbox", tests, NULL, NULL);
}
