/* SPDX-License-Identifier: MIT */
#include "pg_server.h"

#include "base/memory.h"
#include "base/must.h"

#include <arpa/inet.h>
#include <glob.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PG_SERVER_ARGUMENTS_MAX 16

struct pg_server {
    char folder[64];
    char bin[128];
    unsigned port;
    unsigned database_count;
    pid_t pid;
};

/* PostgreSQL does not run as root. */
static void pg_server_become_user(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    if (user != NULL) {
        must(setgroups(0, NULL) == 0 && setgid(user->pw_gid) == 0 && setuid(user->pw_uid) == 0);
    }
}

static pid_t pg_server_spawn(struct pg_server *server, const char *program,
                             const char *const *arguments)
{
    char path[256];
    const char *whole[PG_SERVER_ARGUMENTS_MAX + 1] = {path}; /* it finds its neighbours by that */
    (void)snprintf(path, sizeof(path), "%s/%s", server->bin, program);
    for (size_t i = 1; arguments[i] != NULL; i++) {
        must(i < PG_SERVER_ARGUMENTS_MAX);
        whole[i] = arguments[i];
    }
    pid_t pid = fork();
    must(pid >= 0);
    if (pid == 0) {
        pg_server_become_user();
        must(chdir("/") == 0);
        must(freopen("/dev/null", "w", stdout) != NULL);
        must(freopen("/dev/null", "w", stderr) != NULL);
        (void)execv(path, (char *const *)(uintptr_t)whole); /* execv has no const */
        _exit(127);
    }
    return pid;
}

static int pg_server_run(struct pg_server *server, const char *program,
                         const char *const *arguments)
{
    int status = 0;
    pid_t pid = pg_server_spawn(server, program, arguments);
    must(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static unsigned pg_server_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(fd, (const struct sockaddr *)&address, size) == 0);
    must(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}

struct pg_server *pg_server_new(void)
{
    struct pg_server *server = memory_new(sizeof(*server));
    glob_t found;
    must(glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) == 0);
    (void)snprintf(server->bin, sizeof(server->bin), "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    (void)snprintf(server->folder, sizeof(server->folder), "/tmp/gatehouse-pg-XXXXXX");
    must(mkdtemp(server->folder) != NULL);
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    must(user == NULL || chown(server->folder, user->pw_uid, user->pw_gid) == 0);
    char data[80];
    (void)snprintf(data, sizeof(data), "%s/data", server->folder);
    const char *const arguments[] = {"initdb", "-D", data, "-U",   "postgres",         "-A",
                                     "trust",  "-N", "-E", "UTF8", "--locale=C.UTF-8", NULL};
    must(pg_server_run(server, "initdb", arguments) == 0);
    server->port = pg_server_free_port();
    pg_server_start(server);
    return server;
}

void pg_server_start(struct pg_server *server)
{
    char data[80];
    char port[16];
    (void)snprintf(data, sizeof(data), "%s/data", server->folder);
    (void)snprintf(port, sizeof(port), "%u", server->port);
    const char *const arguments[] = {"postgres",  "-D", data,           "-p", port, "-h",
                                     "127.0.0.1", "-k", server->folder, "-F", NULL};
    server->pid = pg_server_spawn(server, "postgres", arguments);
    const char *const ready[] = {"pg_isready", "-q", "-h", "127.0.0.1", "-p", port, NULL};
    for (int i = 0; i < 200 && pg_server_run(server, "pg_isready", ready) != 0; i++) {
        (void)usleep(50000);
    }
}

void pg_server_stop(struct pg_server *server)
{
    if (server->pid > 0) {
        (void)kill(server->pid, SIGINT);
        must(waitpid(server->pid, NULL, 0) == server->pid);
        server->pid = 0;
    }
}

void pg_server_free(struct pg_server *server)
{
    pg_server_stop(server);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/rm", "rm", "-rf", server->folder, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(pid, NULL, 0);
    memory_free(server);
}

void pg_server_make_database(struct pg_server *server, char *url, size_t size)
{
    char port[16];
    char name[32];
    (void)snprintf(port, sizeof(port), "%u", server->port);
    (void)snprintf(name, sizeof(name), "test%u", ++server->database_count);
    const char *const arguments[] = {"createdb", "-h",       "127.0.0.1", "-p", port,
                                     "-U",       "postgres", name,        NULL};
    must(pg_server_run(server, "createdb", arguments) == 0);
    (void)snprintf(url, size, "postgres://postgres@127.0.0.1:%u/%s", server->port, name);
}
