/* SPDX-License-Identifier: MIT */
#include "io/command_keeper.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/clock.h"
#include "io/command_box.h"
#include "io/command_family.h"
#include "io/command_plan.h"
#include "io/command_terminal.h"
#include "wire/execwire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN_MS 60000

enum keeper_fd {
    KEEPER_SOCKET,
    KEEPER_INPUT,
    KEEPER_OUTPUT,
    KEEPER_ERRORS,
    KEEPER_LEADER,
    KEEPER_FDS
};

struct keeper {
    int fds[KEEPER_FDS]; /* -1: closed */
    const struct commands_settings *settings;
    struct command_box box;
    struct command_plan plan;
    pid_t leader;         /* 0: it was not started, or is over */
    struct buf in;        /* of the socket */
    struct buf input;     /* that the command has not taken yet */
    struct buf out;       /* that the socket has not taken yet */
    bool has_input_ended; /* all of it came */
    bool is_left;         /* nobody is at the other end */
    bool is_over;
    bool was_started;
    uint64_t output_size;
    int64_t end_at; /* by clock_monotonic() */
    struct command_echo echo;
    struct execwire_exit exit;
    struct error error;
};

static void keeper_close(struct keeper *self, enum keeper_fd which)
{
    if (self->fds[which] >= 0) {
        (void)close(self->fds[which]);
        self->fds[which] = -1;
    }
}

/* What it comes to, if nothing was said of that yet. */
static void keeper_finish(struct keeper *self, enum execwire_end end, uint32_t code,
                          struct slice words)
{
    if (!self->is_over) {
        self->is_over = true;
        self->exit = (struct execwire_exit){.end = end, .code = code, .words = words};
    }
}

/* The socket ---------------------------------------------------------------------------------- */

static void keeper_send(struct keeper *self)
{
    struct slice bytes = buf_view(&self->out);
    ssize_t len =
        bytes.len == 0 ? 0 : send(self->fds[KEEPER_SOCKET], bytes.at, bytes.len, MSG_NOSIGNAL);
    if (len > 0) {
        buf_consume(&self->out, (size_t)len);
    } else if (len < 0 && errno != EAGAIN && errno != EINTR) {
        self->is_left = true;
    }
}

static void keeper_receive(struct keeper *self)
{
    char *at = NULL;
    size_t room = self->in.size_max - self->in.len;
    room = room < LIMIT_EXEC_FRAME_SIZE ? room : LIMIT_EXEC_FRAME_SIZE;
    must(buf_reserve(&self->in, room, &at) == ERR_NONE);
    ssize_t len = recv(self->fds[KEEPER_SOCKET], at, room, 0);
    if (len > 0) {
        buf_commit(&self->in, (size_t)len);
    } else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
        self->is_left = true;
    }
}

/* Starting ------------------------------------------------------------------------------------ */

/* Who started the gateway may have had some ignored (a shell's "&" does so with Ctrl-C), and so has
 * the gateway: programs get them as they are made. */
static void keeper_restore_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_DFL); /* which fails for those that cannot be ignored */
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child. What is said on 'status' is why there is no program. */
static void keeper_become(const struct keeper *self, const int pipes[3], int status)
{
    (void)setsid();
    int cause = self->plan.is_terminal ? command_terminal_take(pipes[0]) : 0;
    for (int i = 0; i < 3; i++) {
        (void)dup2(pipes[i], i);
    }
    keeper_restore_signals();
    cause = cause == 0 ? command_box_enter(&self->box) : cause;
    if (cause == 0) {
        command_box_limit_memory();
        cause = command_plan_execute(&self->plan);
    }
    ssize_t len = write(status, &cause, sizeof(cause));
    (void)len;
    _exit(127);
}

/* A terminal is all three of the command's at once. */
static bool keeper_make_pipes(const struct keeper *self, int pipes[4][2])
{
    const struct command_plan *plan = &self->plan;
    memset(pipes, 0xff, 4 * sizeof(pipes[0]));
    bool is_made = pipe2(pipes[3], O_CLOEXEC) == 0;
    if (is_made && plan->is_terminal) {
        is_made = command_terminal_open(&plan->size, self->box.user, &pipes[0][1], &pipes[0][0]);
        pipes[1][0] = is_made ? fcntl(pipes[0][1], F_DUPFD_CLOEXEC, 0) : -1;
        return is_made && pipes[1][0] >= 0;
    }
    for (int i = 0; i < 3; i++) {
        is_made = is_made && pipe2(pipes[i], O_CLOEXEC) == 0;
    }
    return is_made;
}

static void keeper_close_pipes(int pipes[4][2], int side_of_output)
{
    static const int of_child[4] = {0, 1, 1, 1};
    for (int i = 0; i < 4; i++) {
        int side = side_of_output == 0 ? of_child[i] : 1 - of_child[i];
        if (pipes[i][side] >= 0) {
            (void)close(pipes[i][side]);
        }
    }
}

/* The first three pipes are the command's. */
static void keeper_take_pipes(struct keeper *self, int pipes[4][2])
{
    self->fds[KEEPER_INPUT] = pipes[0][1];
    self->fds[KEEPER_OUTPUT] = pipes[1][0];
    self->fds[KEEPER_ERRORS] = pipes[2][0];
    for (int i = KEEPER_INPUT; i <= KEEPER_ERRORS; i++) {
        (void)fcntl(self->fds[i], F_SETFL, O_NONBLOCK);
    }
    command_echo_init(&self->echo, self->plan.is_terminal);
    (void)fcntl(self->fds[KEEPER_OUTPUT], F_SETPIPE_SZ, (int)LIMIT_COMMAND_OUT_SIZE);
}

static void keeper_tell_cause(struct keeper *self, int cause)
{
    const char *program = command_plan_program(&self->plan);
    const char *what = cause == ENOENT    ? "there is no program of that name on the agent"
                       : cause == EACCES  ? "it may not be executed there"
                       : cause == ENOEXEC ? "it is no program"
                       : cause == E2BIG   ? "its arguments and variables are too long"
                                          : strerror(cause);
    must(fail(&self->error, ERR_INPUT, "the command '%.200s' cannot be run: %s", program, what) ==
         ERR_INPUT);
    keeper_finish(self, EXECWIRE_NOT_RUN, cause == ENOENT ? 127 : 126,
                  slice_of_text(self->error.message));
}

static void keeper_start(struct keeper *self)
{
    int pipes[4][2];
    bool is_terminal = self->plan.is_terminal;
    int cause = keeper_make_pipes(self, pipes) ? 0 : errno;
    pid_t pid = cause == 0 ? fork() : -1;
    if (pid == 0) {
        const int own[3] = {pipes[0][0], pipes[is_terminal ? 0 : 1][is_terminal ? 0 : 1],
                            pipes[is_terminal ? 0 : 2][is_terminal ? 0 : 1]};
        keeper_become(self, own, pipes[3][1]);
    }
    cause = pid < 0 && cause == 0 ? errno : cause;
    keeper_close_pipes(pipes, 0);
    if (pid > 0) {
        ssize_t len = read(pipes[3][0], &cause, sizeof(cause));
        cause = len == (ssize_t)sizeof(cause) ? cause : 0;
    }
    if (cause != 0) {
        keeper_close_pipes(pipes, 1);
        keeper_tell_cause(self, cause);
        return;
    }
    self->leader = pid;
    self->fds[KEEPER_LEADER] = (int)syscall(SYS_pidfd_open, pid, 0);
    keeper_take_pipes(self, pipes);
    (void)close(pipes[3][0]);
}

/* What comes to it ---------------------------------------------------------------------------- */

static void keeper_begin(struct keeper *self)
{
    self->was_started = true;
    self->end_at = clock_monotonic() + LIMIT_COMMAND_S * INT64_C(1000000);
    keeper_start(self);
}

static enum err keeper_take_plan(struct keeper *self, struct slice items)
{
    struct error *error = &self->error;
    if (self->plan.argument_count > 0) {
        return ERR_INPUT;
    }
    enum err err = command_box_open(&self->box, self->settings, error);
    if (err == ERR_NONE) {
        err = command_plan_read(&self->plan, &self->box, items, error);
    }
    if (err != ERR_NONE) {
        keeper_finish(self, EXECWIRE_NOT_RUN, 126, slice_of_text(error->message));
    } else if (self->plan.is_terminal) {
        keeper_begin(self); /* somebody sits before it; nothing need be typed */
    }
    return ERR_NONE;
}

static enum err keeper_resize(struct keeper *self, struct slice payload)
{
    struct execwire_size size;
    if (!self->plan.is_terminal || execwire_size_read(payload, &size) != ERR_NONE) {
        return ERR_INPUT;
    }
    if (self->fds[KEEPER_OUTPUT] >= 0) {
        command_terminal_resize(self->fds[KEEPER_OUTPUT], &size);
    }
    return ERR_NONE;
}

static enum err keeper_take(struct keeper *self, const struct execwire_frame *frame)
{
    if (frame->type == EXECWIRE_START) {
        return keeper_take_plan(self, frame->payload);
    }
    if (!self->is_over && self->plan.argument_count == 0) {
        return ERR_INPUT;
    }
    if (!self->is_over && !self->was_started) {
        keeper_begin(self);
    }
    switch (frame->type) {
    case EXECWIRE_INPUT:
        return self->fds[KEEPER_INPUT] < 0 ? ERR_NONE : buf_append(&self->input, frame->payload);
    case EXECWIRE_INPUT_END:
        self->has_input_ended = true;
        return self->plan.is_terminal ? ERR_INPUT : ERR_NONE;
    case EXECWIRE_RESIZE:
        return keeper_resize(self, frame->payload);
    case EXECWIRE_ECHO:
    case EXECWIRE_HIDDEN:
    case EXECWIRE_HELLO:
    case EXECWIRE_ACCEPT:
    case EXECWIRE_START:
    case EXECWIRE_OUTPUT:
    case EXECWIRE_ERRORS:
    case EXECWIRE_EXIT:
        break;
    }
    return ERR_INPUT;
}

static bool keeper_has_room(const struct keeper *self)
{
    return self->input.len < LIMIT_EXEC_FRAME_SIZE;
}

static void keeper_take_frames(struct keeper *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && keeper_has_room(self)) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(buf_view(&self->in), &taken, &frame);
        if (err == ERR_NONE) {
            err = keeper_take(self, &frame);
            buf_consume(&self->in, taken);
        }
    }
    if (err != ERR_NONE && err != ERR_MORE) {
        self->is_left = true; /* it is no gateway */
    }
}

/* A command that takes no more of its input may be done with it. */
static void keeper_give_input(struct keeper *self)
{
    struct slice bytes = buf_view(&self->input);
    ssize_t len = bytes.len == 0 ? 0 : write(self->fds[KEEPER_INPUT], bytes.at, bytes.len);
    if (len > 0) {
        buf_consume(&self->input, (size_t)len);
    } else if (len < 0 && errno != EAGAIN && errno != EINTR) {
        buf_clear(&self->input);
        keeper_close(self, KEEPER_INPUT);
    }
}

/* What a program shows behind having turned the echo off goes out behind the word of that. */
static void keeper_look_at_echo(struct keeper *self)
{
    int fd = self->fds[KEEPER_OUTPUT];
    if (self->echo.is_watched && fd >= 0 && command_echo_changed(&self->echo, fd)) {
        struct slice is_shown = self->echo.is_shown ? SLICE("\1") : SLICE("\0");
        must(execwire_write(&self->out, EXECWIRE_ECHO, is_shown) == ERR_NONE);
    }
}

static void keeper_take_output(struct keeper *self, enum keeper_fd which)
{
    static char bytes[LIMIT_EXEC_FRAME_SIZE];
    ssize_t len = read(self->fds[which], bytes, sizeof(bytes));
    keeper_look_at_echo(self);
    if (len > 0) {
        enum execwire_type type = which == KEEPER_OUTPUT ? EXECWIRE_OUTPUT : EXECWIRE_ERRORS;
        must(execwire_write(&self->out, type, slice_of(bytes, (size_t)len)) == ERR_NONE);
        self->output_size += (uint64_t)len;
    } else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
        keeper_close(self, which);
    }
    if (self->output_size > LIMIT_COMMAND_OUTPUT) {
        keeper_finish(self, EXECWIRE_STOPPED, 0,
                      SLICE("the command was ended: it has written more than 2 GiB"));
    }
}

static void keeper_take_status(struct keeper *self)
{
    int status = 0;
    if (waitpid(self->leader, &status, WNOHANG) != self->leader) {
        return;
    }
    self->leader = 0;
    keeper_close(self, KEEPER_LEADER);
    if (WIFSIGNALED(status)) {
        const char *name = strsignal(WTERMSIG(status));
        must(fail(&self->error, ERR_CLOSED, "the command was ended by signal %d (%s)",
                  WTERMSIG(status), name == NULL ? "unknown" : name) == ERR_CLOSED);
        keeper_finish(self, EXECWIRE_SIGNALLED, (uint32_t)WTERMSIG(status),
                      slice_of_text(self->error.message));
    } else {
        keeper_finish(self, EXECWIRE_EXITED, (uint32_t)WEXITSTATUS(status), SLICE(""));
    }
}

/* Turns --------------------------------------------------------------------------------------- */

static void keeper_wait(struct keeper *self, int timeout_ms, struct pollfd waits[KEEPER_FDS])
{
    bool has_room = self->out.len < LIMIT_COMMAND_OUT_SIZE;
    const short events[KEEPER_FDS] = {
        [KEEPER_SOCKET] =
            (short)((keeper_has_room(self) ? POLLIN : 0) | (self->out.len > 0 ? POLLOUT : 0)),
        [KEEPER_INPUT] = POLLOUT,
        [KEEPER_OUTPUT] = POLLIN,
        [KEEPER_ERRORS] = POLLIN,
        [KEEPER_LEADER] = POLLIN,
    };
    for (int i = 0; i < KEEPER_FDS; i++) {
        bool is_output = i == KEEPER_OUTPUT || i == KEEPER_ERRORS;
        bool is_wanted = is_output ? has_room : i != KEEPER_INPUT || self->input.len > 0;
        waits[i] = (struct pollfd){.fd = is_wanted ? self->fds[i] : -1, .events = events[i]};
    }
    timeout_ms = command_echo_wait(&self->echo, timeout_ms);
    int count = poll(waits, KEEPER_FDS, timeout_ms);
    if (count < 0) {
        memset(waits, 0, KEEPER_FDS * sizeof(*waits));
    } else if (count > 0) {
        command_echo_stir(&self->echo);
    }
}

static void keeper_turn(struct keeper *self, int timeout_ms)
{
    struct pollfd waits[KEEPER_FDS];
    keeper_wait(self, timeout_ms, waits);
    if ((waits[KEEPER_SOCKET].revents & POLLIN) != 0) {
        keeper_receive(self);
    } else if ((waits[KEEPER_SOCKET].revents & (POLLHUP | POLLERR)) != 0) {
        self->is_left = true;
    }
    keeper_look_at_echo(self);
    if (waits[KEEPER_INPUT].revents != 0) {
        keeper_give_input(self);
    }
    keeper_take_frames(self); /* behind what makes room: nothing whole is left waiting */
    if (self->has_input_ended && self->input.len == 0 && self->in.len == 0) {
        keeper_close(self, KEEPER_INPUT);
    }
    for (enum keeper_fd i = KEEPER_OUTPUT; i <= KEEPER_ERRORS; i++) {
        if (waits[i].revents != 0 && self->fds[i] >= 0) {
            keeper_take_output(self, i);
        }
    }
    if (waits[KEEPER_LEADER].revents != 0 && self->leader != 0) {
        keeper_take_status(self);
    }
    keeper_send(self);
    if (clock_monotonic() > self->end_at) {
        keeper_finish(self, EXECWIRE_STOPPED, 0,
                      self->leader == 0 ? SLICE("nothing was said of what is to be run")
                                        : SLICE("the command was ended: it took a day"));
    }
}

/* The end ------------------------------------------------------------------------------------- */

/* Who reads slowly is waited for as long as something is read. */
static void keeper_flush(struct keeper *self)
{
    size_t left = self->out.len;
    struct pollfd wait = {.fd = self->fds[KEEPER_SOCKET], .events = POLLOUT};
    while (left > 0 && !self->is_left && poll(&wait, 1, LIMIT_COMMAND_TELL_MS) > 0) {
        keeper_send(self);
        if ((wait.revents & (POLLHUP | POLLERR)) != 0 || self->out.len == left) {
            return;
        }
        left = self->out.len;
    }
}

/* What was written before the end is read to its end; nobody is left to write more. */
static void keeper_drain(struct keeper *self)
{
    int64_t until = clock_monotonic() + LIMIT_COMMAND_TELL_MS * INT64_C(1000);
    bool is_cut = self->exit.end == EXECWIRE_STOPPED;
    while (!is_cut && !self->is_left && clock_monotonic() < until &&
           (self->fds[KEEPER_OUTPUT] >= 0 || self->fds[KEEPER_ERRORS] >= 0)) {
        size_t waiting = self->out.len;
        keeper_turn(self, 1000);
        until = self->out.len < waiting ? clock_monotonic() + LIMIT_COMMAND_TELL_MS * INT64_C(1000)
                                        : until;
    }
}

/* A socket that is closed with bytes unread may take back what was sent. */
static void keeper_leave(struct keeper *self)
{
    struct pollfd wait = {.fd = self->fds[KEEPER_SOCKET], .events = POLLIN};
    char bytes[4096];
    (void)shutdown(self->fds[KEEPER_SOCKET], SHUT_WR);
    while (!self->is_left && poll(&wait, 1, LIMIT_COMMAND_TELL_MS) > 0) {
        ssize_t len = recv(self->fds[KEEPER_SOCKET], bytes, sizeof(bytes), 0);
        self->is_left = len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR);
    }
}

static void keeper_end_command(struct keeper *self)
{
    keeper_close(self, KEEPER_INPUT);
    if (self->leader != 0) {
        command_family_ask(self->leader, self->plan.is_terminal);
        int64_t until = clock_monotonic() + LIMIT_COMMAND_TERM_MS * INT64_C(1000);
        struct pollfd wait = {.fd = self->fds[KEEPER_LEADER], .events = POLLIN};
        int left = (int)((until - clock_monotonic()) / 1000);
        (void)poll(&wait, 1, left > 0 ? left : 0);
    }
    command_family_kill();
    self->leader = 0;
    keeper_close(self, KEEPER_LEADER);
}

static void keeper_say_end(struct keeper *self)
{
    keeper_drain(self);
    command_box_close(&self->box); /* who hears of the end finds nothing left */
    if (execwire_exit_write(&self->out, &self->exit) == ERR_NONE) {
        keeper_flush(self);
    }
    keeper_leave(self);
}

static void keeper_run(struct keeper *self)
{
    self->end_at = clock_monotonic() + LIMIT_COMMAND_START_MS * INT64_C(1000);
    while (!self->is_left && !self->is_over) {
        int64_t left_ms = (self->end_at - clock_monotonic()) / 1000 + 1;
        keeper_turn(self, left_ms < TURN_MS ? (int)left_ms : TURN_MS);
    }
    keeper_end_command(self);
    if (!self->is_left) {
        keeper_say_end(self);
    }
}

void command_keeper_run(int take_fd, const struct commands_settings *settings)
{
    struct keeper *self = memory_new(sizeof(*self));
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* what a command leaves behind is found */
    for (int i = 0; i < KEEPER_FDS; i++) {
        self->fds[i] = -1;
    }
    self->fds[KEEPER_SOCKET] = take_fd;
    self->settings = settings;
    buf_init(&self->in, LIMIT_EXEC_START_SIZE + 2 * LIMIT_EXEC_FRAME_SIZE);
    buf_init(&self->input, 2 * LIMIT_EXEC_FRAME_SIZE);
    buf_init(&self->out, LIMIT_COMMAND_OUT_SIZE + 4 * LIMIT_EXEC_FRAME_SIZE);
    command_plan_init(&self->plan);
    keeper_run(self);
    command_box_close(&self->box);
    command_plan_release(&self->plan);
    buf_wipe(&self->in);
    (void)close(take_fd);
}

void command_keeper_refuse(int fd, const char *words)
{
    const struct execwire_exit exit = {
        .end = EXECWIRE_NOT_RUN, .code = 126, .words = slice_of_text(words)};
    struct buf buf;
    buf_init(&buf, LIMIT_EXEC_WORDS_SIZE + LIMIT_KIB(1));
    must(execwire_exit_write(&buf, &exit) == ERR_NONE);
    (void)send(fd, buf_view(&buf).at, buf.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    buf_release(&buf);
}
