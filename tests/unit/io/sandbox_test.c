/* SPDX-License-Identifier: MIT */
/* Each case runs in a child: the sandbox cannot be taken off. */
#include "io/sandbox.h"

#include "base/must.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail

static char folder[] = "/tmp/gatehouse-sandbox-XXXXXX";
static struct sandbox_state in_force;

static bool opens(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

static bool runs_a_program(void)
{
    char *const arguments[] = {NULL};
    (void)execve("/bin/true", arguments, arguments);
    return errno != EPERM && errno != EACCES;
}

static bool forks(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    return pid > 0;
}

static bool makes_code(void)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(at, 4096, PROT_READ | PROT_EXEC) == 0;
}

static bool opens_a_raw_socket(void)
{
    return socket(AF_PACKET, SOCK_RAW, 0) >= 0;
}

static bool raises_a_limit(void)
{
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = 1};
    return setrlimit(RLIMIT_CORE, &limit) == 0;
}

static bool traces(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool leaves_its_folder(void)
{
    return in_force.landlock_version > 0 &&
           (opens("/etc/passwd", O_RDONLY) || opens("/tmp/gatehouse-outside", O_CREAT | O_RDWR) ||
            opens("/root/.profile", O_RDONLY) || opens("/bin/sh", O_RDONLY));
}

static void *add_one(void *at)
{
    (*(int *)at)++;
    return NULL;
}

static bool starts_a_thread(void)
{
    pthread_t thread;
    int number = 0;
    return pthread_create(&thread, NULL, add_one, &number) == 0 &&
           pthread_join(thread, NULL) == 0 && number == 1;
}

static bool finds_localhost_and_connects(void)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    if (getaddrinfo("localhost", NULL, &hints, &found) != 0) {
        return false;
    }
    freeaddrinfo(found);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    int connecting = socket(AF_INET, SOCK_STREAM, 0);
    return bind(listening, (const struct sockaddr *)&address, size) == 0 &&
           listen(listening, 1) == 0 &&
           getsockname(listening, (struct sockaddr *)&address, &size) == 0 &&
           connect(connecting, (const struct sockaddr *)&address, size) == 0;
}

static bool commits_to_a_database(void)
{
    char path[80];
    sqlite3 *database = NULL;
    (void)snprintf(path, sizeof(path), "%s/test.db", folder);
    return sqlite3_open(path, &database) == SQLITE_OK &&
           sqlite3_exec(database,
                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                        "CREATE TABLE IF NOT EXISTS t (a); INSERT INTO t VALUES (1);"
                        "PRAGMA wal_checkpoint(TRUNCATE)",
                        NULL, NULL, NULL) == SQLITE_OK &&
           sqlite3_close(database) == SQLITE_OK;
}

static bool in_sandbox(bool (*act)(void))
{
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        struct sandbox_settings settings = {.writable = {folder}};
        struct error error = {0};
        if (sandbox_start(&settings, &in_force, &error) != ERR_NONE) {
            (void)fprintf(stderr, "sandbox: %s\n", error.message);
            _exit(2);
        }
        _exit(act() ? 1 : 0);
    }
    int status = 0;
    must(waitpid(pid, &status, 0) == pid);
    must(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return WEXITSTATUS(status) == 1;
}

static void what_a_gateway_needs_still_works(void **state)
{
    (void)state;
    assert_true(in_sandbox(starts_a_thread));
    assert_true(in_sandbox(finds_localhost_and_connects));
    assert_true(in_sandbox(commits_to_a_database));
}

static void what_an_intruder_wants_is_refused(void **state)
{
    (void)state;
    assert_false(in_sandbox(runs_a_program));
    assert_false(in_sandbox(forks));
    assert_false(in_sandbox(makes_code));
    assert_false(in_sandbox(opens_a_raw_socket));
    assert_false(in_sandbox(raises_a_limit));
    assert_false(in_sandbox(traces));
    assert_false(in_sandbox(leaves_its_folder));
}

static void the_same_acts_succeed_outside(void **state)
{
    (void)state;
    assert_true(forks());
    assert_true(makes_code());
    assert_true(opens("/etc/passwd", O_RDONLY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_gateway_needs_still_works),
        cmocka_unit_test(what_an_intruder_wants_is_refused),
        cmocka_unit_test(the_same_acts_succeed_outside),
    };
    must(mkdtemp(folder) != NULL);
    int result = cmocka_run_group_tests_name("io/sandbox", tests, NULL, NULL);
    static const char *const files[] = {"test.db", "test.db-wal", "test.db-shm"};
    for (size_t i = 0; i < 3; i++) {
        char path[96];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    return result;
}
