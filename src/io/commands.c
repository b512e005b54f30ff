/* SPDX-License-Identifier: MIT */
#include "io/commands.h"

#include "base/limits.h"
#include "base/memory.h"
#include "io/command_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAP_MS 1000

struct commands {
    int fd; /* to the helper */
    pid_t pid;
};

/* The helper ---------------------------------------------------------------------------------- */

struct commands_helper {
    int fd;
    size_t count; /* keepers that run */
    struct commands_settings settings;
};

/* -1: nobody asks any more; -2: nothing came. */
static int commands_receive(int fd)
{
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (len <= 0) {
        return len < 0 && (errno == EINTR || errno == EAGAIN) ? -2 : -1;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    int received = -2;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
        memcpy(&received, CMSG_DATA(head), sizeof(received));
    }
    return received;
}

static void commands_reap(struct commands_helper *self)
{
    while (self->count > 0 && waitpid(-1, NULL, WNOHANG) > 0) {
        self->count--;
    }
}

static void commands_keep(struct commands_helper *self, int take_fd)
{
    bool has_room = self->count < LIMIT_COMMANDS;
    pid_t pid = has_room ? fork() : -1;
    if (pid == 0) {
        (void)close(self->fd);
        command_keeper_run(take_fd, &self->settings);
        _exit(0);
    }
    if (pid < 0) {
        command_keeper_refuse(take_fd, has_room ? "no process can be made for the command"
                                                : "too many commands run; try again in a moment");
    } else {
        self->count++;
    }
    (void)close(take_fd);
}

static void commands_help(struct commands_helper *self)
{
    (void)prctl(PR_SET_NAME, "gatehouse-cmd");
    (void)prctl(PR_SET_DUMPABLE, 0); /* nobody looks into what its environment holds */
    struct pollfd wait = {.fd = self->fd, .events = POLLIN};
    for (;;) {
        int count = poll(&wait, 1, self->count > 0 ? REAP_MS : -1);
        commands_reap(self);
        if (count <= 0) {
            continue;
        }
        int fd = commands_receive(self->fd);
        if (fd == -1) {
            return;
        }
        if (fd >= 0) {
            commands_keep(self, fd);
        }
    }
}

/* Signals are the gateway's affair: a stop reaches the helper as the end of its socket. */
static void commands_become_helper(int fd, const struct commands_settings *settings)
{
    struct commands_helper helper = {.fd = fd, .settings = *settings};
    int null = open("/dev/null", O_RDWR);
    sigset_t none;
    (void)setsid();
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    helper.fd = dup2(fd, STDERR_FILENO + 1);
    (void)fcntl(helper.fd, F_SETFD, FD_CLOEXEC);
    (void)close_range((unsigned)helper.fd + 1, ~0U, 0);
    commands_help(&helper);
    _exit(0);
}

/* This side ----------------------------------------------------------------------------------- */

enum err commands_start(const struct commands_settings *settings, struct commands **ret_commands,
                        struct error *reterr)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
        return fail(reterr, ERR_IO, "no sockets for the helper of commands: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(fds[0]);
        commands_become_helper(fds[1], settings);
    }
    (void)close(fds[1]);
    if (pid < 0) {
        (void)close(fds[0]);
        return fail(reterr, ERR_IO, "no process for the helper of commands: %s", strerror(errno));
    }
    struct commands *commands = memory_new(sizeof(*commands));
    *commands = (struct commands){.fd = fds[0], .pid = pid};
    *ret_commands = commands;
    return ERR_NONE;
}

/* The sandbox lets nobody wait for a child: the helper ends with its socket, and is reaped by
 * whoever reaps the gateway. */
void commands_free(struct commands *commands)
{
    if (commands != NULL) {
        (void)close(commands->fd);
        memory_free(commands);
    }
}

static bool commands_send(int fd, int passed)
{
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(passed));
    memcpy(CMSG_DATA(head), &passed, sizeof(passed));
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

enum err commands_connect(const struct commands *commands, int *ret_fd, struct error *reterr)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0) {
        return fail(reterr, ERR_UNAVAILABLE, "no sockets for a command: %s", strerror(errno));
    }
    bool is_sent = commands_send(commands->fd, fds[1]);
    bool is_full = !is_sent && errno == EAGAIN;
    (void)close(fds[1]);
    if (!is_sent) {
        (void)close(fds[0]);
        return is_full
                   ? fail(reterr, ERR_BUSY, "too many commands start at once")
                   : fail(reterr, ERR_UNAVAILABLE,
                          "the helper that runs commands is gone; it comes back with a restart");
    }
    *ret_fd = fds[0];
    return ERR_NONE;
}
