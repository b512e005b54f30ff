/* SPDX-License-Identifier: MIT */
#include "client/terminal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "client/credential.h"
#include "client/show.h"
#include "client/tty.h"
#include "codec/base64.h"
#include "codec/json_writer.h"
#include "codec/url.h"
#include "wire/websocket.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define KEYS_SIZE  LIMIT_KIB(4) /* that are read at once */
#define OUT_SIZE   LIMIT_KIB(256)
#define SHOWN_SIZE (LIMIT_EXEC_FRAME_SIZE + LIMIT_KIB(64))
#define HELP       "\r\n~.  leave, which ends the session\r\n~~  a ~\r\n~?  this\r\n"

struct terminal {
    struct client_run *run;
    struct client_link *link;
    struct websocket_reader reader;
    struct buf in;    /* of the gateway: what is no whole frame yet */
    struct buf out;   /* to it */
    struct buf shown; /* what the screen has not taken */
    struct tty_escape escape;
    int resized_fd;
    bool has_left; /* the person has */
    bool is_over;  /* the gateway has said so, or is gone */
    bool was_told; /* how it ended */
    enum err err;  /* of that */
    struct error error;
};

/* Finding out ---------------------------------------------------------------------------------- */

static struct slice terminal_name_in(const struct client_run *run)
{
    return url_encode(run->arena, slice_of_text(run->given.words[0]));
}

enum err client_terminal_find(struct client_run *run, bool *ret_is_there, struct error *reterr)
{
    struct json controls;
    enum err err = client_get(&run->client,
                              arena_format(run->arena, "/api/connections/%.*s/controls",
                                           SLICE_ARG(terminal_name_in(run))),
                              &controls, reterr);
    *ret_is_there = err == ERR_NONE && json_is_given(json_member(&controls, "terminal"));
    return err;
}

/* Sending -------------------------------------------------------------------------------------- */

static void terminal_send(struct terminal *self, enum websocket_kind kind, struct slice payload)
{
    uint8_t mask[WEBSOCKET_MASK_SIZE];
    must(getrandom(mask, sizeof(mask), 0) == (ssize_t)sizeof(mask));
    if (websocket_write(&self->out, kind, payload, mask) != ERR_NONE) {
        self->is_over = true;
        self->err = fail(&self->error, ERR_UNAVAILABLE, "the gateway takes nothing any more");
    }
}

static void terminal_send_size(struct terminal *self)
{
    const struct execwire_size size = tty_size();
    terminal_send(self, WEBSOCKET_TEXT,
                  arena_format(self->run->arena, "{\"type\":\"resize\",\"columns\":%u,\"rows\":%u}",
                               (unsigned)size.columns, (unsigned)size.rows));
}

static void terminal_show(struct terminal *self, struct slice text)
{
    must(buf_append(&self->shown, text) == ERR_NONE); /* no more is read before there is room */
}

static void terminal_take_keys(struct terminal *self)
{
    char keys[KEYS_SIZE];
    char out[KEYS_SIZE + 1];
    size_t len = 0;
    ssize_t got = read(STDIN_FILENO, keys, sizeof(keys));
    if (got <= 0) {
        self->has_left = got == 0 || (errno != EAGAIN && errno != EINTR);
        return;
    }
    enum tty_wish wish = tty_escape_take(&self->escape, slice_of(keys, (size_t)got), out, &len);
    if (len > 0) {
        terminal_send(self, WEBSOCKET_BINARY, slice_of(out, len));
    }
    if (wish == TTY_WANTS_HELP) {
        terminal_show(self, SLICE(HELP));
    }
    self->has_left = wish == TTY_LEAVES;
}

static void terminal_take_signals(struct terminal *self)
{
    struct signalfd_siginfo info;
    if (read(self->resized_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        terminal_send_size(self);
    }
    self->has_left = self->has_left || client_was_interrupted(&self->run->client);
}

/* What comes ----------------------------------------------------------------------------------- */

/* How the program ended is what we end with; all else is an error. */
static void terminal_take_exit(struct terminal *self, const struct json *told)
{
    struct slice end = show_text(told, "end");
    struct slice message = show_text(told, "message");
    int code = (int)(show_number(told, "code") & 0xff);
    self->was_told = true;
    if (slice_equals(end, SLICE("exited"))) {
        self->run->exit_code = code;
    } else if (slice_equals(end, SLICE("signalled"))) {
        self->run->exit_code = 128 + code;
        self->err = fail(&self->error, ERR_CLOSED, "%.*s", SLICE_ARG(message));
    } else {
        self->run->exit_code = CLIENT_EXIT_FAILED;
        self->err =
            fail(&self->error, ERR_CLOSED, "the session has ended: %.*s", SLICE_ARG(message));
    }
}

static void terminal_take_text(struct terminal *self, struct slice text)
{
    struct arena arena CLEANUP(arena_release);
    struct json told;
    arena_init(&arena);
    if (json_parse_in(&arena, text, &told, NULL) == ERR_NONE &&
        slice_equals(show_text(&told, "type"), SLICE("exit"))) {
        terminal_take_exit(self, &told);
    }
}

static void terminal_take(struct terminal *self, const struct websocket_message *message)
{
    switch (message->kind) {
    case WEBSOCKET_BINARY:
        terminal_show(self, message->payload);
        break;
    case WEBSOCKET_TEXT:
        terminal_take_text(self, message->payload);
        break;
    case WEBSOCKET_PING:
        terminal_send(self, WEBSOCKET_PONG, message->payload);
        break;
    case WEBSOCKET_CLOSE:
        self->is_over = true;
        break;
    case WEBSOCKET_PONG:
    case WEBSOCKET_CONTINUATION:
        break;
    }
}

static bool terminal_has_room(const struct terminal *self)
{
    return self->shown.len < SHOWN_SIZE - LIMIT_EXEC_FRAME_SIZE - sizeof(HELP);
}

static void terminal_take_messages(struct terminal *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && !self->is_over && terminal_has_room(self)) {
        struct websocket_message message = {.code = WEBSOCKET_NO_CODE};
        enum websocket_code code = WEBSOCKET_NORMAL;
        size_t taken = 0;
        err = websocket_read(&self->reader, buf_view(&self->in), &taken, &message, &code);
        buf_consume(&self->in, taken);
        if (err == ERR_NONE) {
            terminal_take(self, &message);
        } else if (err == ERR_INPUT) {
            self->is_over = true;
            self->err = fail(&self->error, ERR_UNAVAILABLE, "the gateway says what it must not");
        }
    }
}

/* All that is there: TLS may hold bytes that no poll tells of. */
static void terminal_read(struct terminal *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE && !self->is_over && terminal_has_room(self)) {
        char *at = NULL;
        size_t len = 0;
        size_t room = self->in.size_max - self->in.len;
        must(buf_reserve(&self->in, room, &at) == ERR_NONE);
        err = client_link_read(self->link, at, room, &len);
        buf_commit(&self->in, err == ERR_NONE ? len : 0);
        terminal_take_messages(self);
    }
    self->is_over = self->is_over || (err != ERR_NONE && err != ERR_AGAIN);
}

static void terminal_write(struct terminal *self)
{
    enum err err = ERR_NONE;
    while (self->out.len > 0 && err == ERR_NONE) {
        size_t len = 0;
        err = client_link_write(self->link, buf_view(&self->out), &len);
        buf_consume(&self->out, err == ERR_NONE ? len : 0);
    }
    self->is_over = self->is_over || (err != ERR_NONE && err != ERR_AGAIN);
}

static void terminal_write_screen(struct terminal *self)
{
    struct slice bytes = slice_sub(buf_view(&self->shown), 0, KEYS_SIZE);
    ssize_t len = write(STDOUT_FILENO, bytes.at, bytes.len);
    if (len > 0) {
        buf_consume(&self->shown, (size_t)len);
    } else if (len < 0 && errno != EAGAIN && errno != EINTR) {
        self->has_left = true; /* there is no screen any more */
    }
}

/* Turns ---------------------------------------------------------------------------------------- */

static void terminal_turn(struct terminal *self)
{
    bool takes_keys = self->out.len < OUT_SIZE / 2;
    struct pollfd waited[] = {
        {.fd = takes_keys ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = client_link_fd(self->link),
         .events =
             (short)((terminal_has_room(self) ? POLLIN : 0) | (self->out.len > 0 ? POLLOUT : 0))},
        {.fd = self->shown.len > 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
        {.fd = self->resized_fd, .events = POLLIN},
        {.fd = self->run->client.signal_fd, .events = POLLIN},
    };
    (void)poll(waited, COUNT_OF(waited), -1);
    if (waited[0].revents != 0) {
        terminal_take_keys(self);
    }
    if (waited[2].revents != 0) {
        terminal_write_screen(self);
    }
    if (waited[3].revents != 0 || waited[4].revents != 0) {
        terminal_take_signals(self);
    }
    terminal_take_messages(self);
    terminal_read(self);
    terminal_write(self);
}

static void terminal_carry(struct terminal *self)
{
    while (!self->is_over && !self->has_left) {
        terminal_turn(self);
    }
    while (self->shown.len > 0 && !self->has_left) {
        terminal_write_screen(self);
    }
    if (self->has_left) {
        self->run->exit_code = 0;
        self->err = ERR_NONE;
    } else if (!self->was_told && self->err == ERR_NONE) {
        self->err = fail(&self->error, ERR_UNAVAILABLE,
                         "the connection to the gateway was lost: the session has ended");
    }
}

/* Starting ------------------------------------------------------------------------------------- */

static enum err terminal_path_in(const struct client_run *run, struct slice *ret_path,
                                 struct error *reterr)
{
    const struct execwire_size size = tty_size();
    struct slice metadata = SLICE_NONE;
    const char *kind = getenv("TERM");
    int64_t seconds = 0;
    enum err err = client_given_metadata_in(run, &metadata, reterr);
    if (err == ERR_NONE) {
        err = client_given_seconds(run, CLIENT_DURATION, 0, &seconds, reterr);
    }
    struct slice duration =
        seconds > 0 ? arena_format(run->arena, "&duration_seconds=%lld", (long long)seconds)
                    : SLICE("");
    *ret_path = arena_format(
        run->arena,
        "/api/connections/%.*s/terminal?columns=%u&rows=%u&term=%.*s&client=gatehouse%%20connect"
        "%.*s&metadata=%.*s",
        SLICE_ARG(terminal_name_in(run)), (unsigned)size.columns, (unsigned)size.rows,
        SLICE_ARG(url_encode(run->arena,
                             slice_of_text(kind == NULL || kind[0] == '\0' ? "xterm" : kind))),
        SLICE_ARG(duration), SLICE_ARG(url_encode(run->arena, metadata)));
    return err;
}

static enum err terminal_ask(struct terminal *self, struct client_wait *ret_wait,
                             struct error *reterr)
{
    struct arena *arena = self->run->arena;
    uint8_t raw[WEBSOCKET_KEY_RAW_SIZE];
    struct slice path = SLICE_NONE;
    enum err err = terminal_path_in(self->run, &path, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    must(getrandom(raw, sizeof(raw), 0) == (ssize_t)sizeof(raw));
    struct slice key = base64_encode_in(arena, BASE64_STANDARD, slice_of(raw, sizeof(raw)));
    const struct client_upgrade upgrade = {
        .path = path,
        .protocol = "websocket",
        .headers = arena_format(arena, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %.*s\r\n",
                                SLICE_ARG(key)),
        .answer = arena_format(arena, "Sec-WebSocket-Accept: %.*s\r\n",
                               SLICE_ARG(websocket_accept_in(arena, key))),
        .ret_wait = ret_wait,
    };
    return client_link_open(&self->run->client, &upgrade, &self->link, reterr);
}

/* Where others must approve, it is waited for them, with the keys as they are. */
static enum err terminal_open(struct terminal *self, struct error *reterr)
{
    struct client_run *run = self->run;
    struct client_wait wait = {.arena = run->arena};
    enum err err = terminal_ask(self, &wait, reterr);
    if (err == ERR_NONE || wait.review_id.len == 0) {
        return err;
    }
    tty_restore();
    (void)fprintf(stderr, "gatehouse: %s\n", reterr->message);
    err = client_review_await(run, wait.review_id, reterr);
    if (err == ERR_NONE) {
        err = tty_make_raw(reterr);
    }
    return err == ERR_NONE ? terminal_ask(self, NULL, reterr) : err;
}

static enum err terminal_catch_resize(struct terminal *self, struct error *reterr)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGWINCH);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) == 0) {
        self->resized_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    }
    return self->resized_fd >= 0 ? ERR_NONE : fail(reterr, ERR_IO, "signalfd: %s", strerror(errno));
}

enum err client_terminal(struct client_run *run, struct error *reterr)
{
    struct terminal self = {.run = run, .resized_fd = -1, .escape = {.is_at_start = true}};
    if (run->given.child != NULL || client_given(run, CLIENT_PORT) != NULL) {
        return fail(reterr, ERR_INPUT,
                    "'%s' is a terminal: it has no port, and no client runs beside it",
                    run->given.words[0]);
    }
    websocket_reader_init(&self.reader, false, LIMIT_EXEC_FRAME_SIZE);
    buf_init(&self.in, LIMIT_EXEC_FRAME_SIZE + LIMIT_KIB(64));
    buf_init(&self.out, OUT_SIZE);
    buf_init(&self.shown, SHOWN_SIZE);
    enum err err = terminal_catch_resize(&self, reterr);
    if (err == ERR_NONE) {
        err = tty_make_raw(reterr);
    }
    if (err == ERR_NONE) {
        err = terminal_open(&self, reterr);
    }
    if (err == ERR_NONE) {
        terminal_carry(&self);
        tty_restore();
        err = self.err == ERR_NONE ? ERR_NONE : fail(reterr, self.err, "%s", self.error.message);
        (void)fprintf(stderr, "\r\ngatehouse: '%s' is closed\n", run->given.words[0]);
    }
    tty_restore();
    client_link_close(self.link);
    websocket_reader_release(&self.reader);
    buf_wipe(&self.in);
    buf_release(&self.in);
    buf_wipe(&self.out);
    buf_release(&self.out);
    buf_release(&self.shown);
    if (self.resized_fd >= 0) {
        (void)close(self.resized_fd);
    }
    return err;
}
