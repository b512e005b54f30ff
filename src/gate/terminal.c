/* SPDX-License-Identifier: MIT */
#include "gate/terminal.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/json.h"
#include "gate/gate_internal.h"
#include "gate/gate_job.h"
#include "gate/gate_session.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/socket_stream.h"
#include "io/websocket_stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#define SECOND_US      INT64_C(1000000)
#define CONTROL_SIZE   LIMIT_KIB(8)                 /* of a text message that is written */
#define TO_SESSION_MAX LIMIT_WEBSOCKET_MESSAGE_SIZE /* that it has not taken, until we wait */

struct terminal {
    struct arena arena; /* of the request; wiped */
    struct terminal_request request;
    struct gate *gate;
    struct gate_worker *worker;
    struct websocket *socket; /* NULL: it is gone */
    struct stream *session;   /* the client's end of it; NULL: it is gone */
    struct buf in;            /* of the session: what is no whole frame yet, or waits */
    struct buf out;           /* to the session */
    struct gate_job *check;   /* that is under way */
    struct timer timer;
    struct loop_task free_task;
    int64_t began_at; /* by clock_monotonic() */
    int64_t moved_at; /* when something was typed or shown */
    bool is_accepted;
    bool is_full;       /* the socket takes no more now */
    bool is_over;       /* its end was told */
    bool asks_provider; /* the next check does, which blocks: nothing else is known */
};

static void terminal_go_on(struct terminal *self);

static void terminal_free(void *owner)
{
    struct terminal *self = owner;
    struct gate_worker *worker = self->worker;
    atomic_fetch_sub(&self->gate->terminal_count, 1);
    buf_wipe(&self->in);
    buf_release(&self->in);
    buf_wipe(&self->out);
    buf_release(&self->out);
    arena_release(&self->arena);
    memory_free(self);
    gate_worker_end_execution(worker);
}

static void terminal_leave_session(struct terminal *self)
{
    if (self->session != NULL) {
        stream_close(self->session); /* its command ends with it */
        self->session = NULL;
    }
}

/* When nobody is on either side any more. */
static void terminal_check_end(struct terminal *self)
{
    if (self->socket == NULL && self->session == NULL) {
        timer_stop(&self->timer);
        gate_job_abandon(self->check);
        self->check = NULL;
        loop_defer(self->worker->loop, &self->free_task);
    }
}

/* What is said that nobody types or sees ------------------------------------------------------ */

static void terminal_send_json(struct terminal *self, const struct buf *text)
{
    if (self->socket != NULL &&
        websocket_send(self->socket, WEBSOCKET_TEXT, buf_view(text)) != ERR_NONE) {
        log_line(LOG_GATE, LOG_DEBUG, "a terminal that does not read is not told why it ends",
                 log_text("id", self->request.id));
    }
}

static void terminal_tell_open(struct terminal *self)
{
    struct buf text;
    buf_init(&text, CONTROL_SIZE);
    struct json_writer json = json_writer_to(&text);
    json_begin_object(&json);
    json_member_text(&json, "type", SLICE("open"));
    json_member_text(&json, "session_id", self->request.id);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    terminal_send_json(self, &text);
    buf_release(&text);
}

static void terminal_tell_end(struct terminal *self, const struct execwire_exit *exit)
{
    static const struct slice ends[] = {
        [EXECWIRE_EXITED] = SLICE_INIT("exited"),   [EXECWIRE_SIGNALLED] = SLICE_INIT("signalled"),
        [EXECWIRE_STOPPED] = SLICE_INIT("stopped"), [EXECWIRE_NOT_RUN] = SLICE_INIT("not_run"),
        [EXECWIRE_REFUSED] = SLICE_INIT("refused"), [EXECWIRE_BLOCKED] = SLICE_INIT("refused"),
    };
    bool is_own = exit->end == EXECWIRE_EXITED || exit->end == EXECWIRE_SIGNALLED;
    struct buf text;
    if (self->is_over || self->socket == NULL) {
        return;
    }
    self->is_over = true;
    buf_init(&text, CONTROL_SIZE + LIMIT_EXEC_WORDS_SIZE * 6);
    struct json_writer json = json_writer_to(&text);
    json_begin_object(&json);
    json_member_text(&json, "type", SLICE("exit"));
    json_member_text(&json, "end", ends[exit->end]);
    json_member_int(&json, "code", exit->code);
    json_member_text(&json, "message", exit->words);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    terminal_send_json(self, &text);
    websocket_finish(self->socket, is_own ? WEBSOCKET_NORMAL : WEBSOCKET_POLICY, exit->words,
                     self->worker->is_draining ? LIMIT_STOP_WORDS_MS : LIMIT_WEBSOCKET_CLOSE_MS);
    buf_release(&text);
}

static void terminal_fail(struct terminal *self, const char *why)
{
    const struct execwire_exit exit = {.end = EXECWIRE_REFUSED, .words = slice_of_text(why)};
    terminal_leave_session(self);
    terminal_tell_end(self, &exit);
    terminal_check_end(self);
}

/* From the session ---------------------------------------------------------------------------- */

static void terminal_accept(struct terminal *self)
{
    char text[EXECWIRE_SIZE_SIZE];
    struct slice size = execwire_size_write(&self->request.size, text);
    self->is_accepted = true;
    must(execwire_write(&self->out, EXECWIRE_RESIZE, size) == ERR_NONE); /* on record */
    terminal_tell_open(self);
}

/* ERR_AGAIN: it waits for the socket. */
static enum err terminal_take_frame(struct terminal *self, const struct execwire_frame *frame)
{
    struct execwire_exit exit;
    if (frame->type == EXECWIRE_ACCEPT && !self->is_accepted) {
        terminal_accept(self);
        return ERR_NONE;
    }
    if (frame->type == EXECWIRE_OUTPUT && self->is_accepted) {
        self->moved_at = clock_monotonic();
        return self->socket == NULL
                   ? ERR_NONE
                   : websocket_send(self->socket, WEBSOCKET_BINARY, frame->payload);
    }
    if (frame->type == EXECWIRE_EXIT && execwire_exit_read(frame->payload, &exit) == ERR_NONE) {
        terminal_tell_end(self, &exit);
        return ERR_CLOSED;
    }
    return ERR_INPUT;
}

static enum err terminal_take_frames(struct terminal *self)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        struct execwire_frame frame;
        size_t taken = 0;
        err = execwire_read(buf_view(&self->in), &taken, &frame);
        if (err == ERR_NONE) {
            err = terminal_take_frame(self, &frame);
            self->is_full = err == ERR_AGAIN;
            buf_consume(&self->in, self->is_full ? 0 : taken);
        }
    }
    return err;
}

/* ERR_NONE: something came. */
static enum err terminal_read(struct terminal *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t room = self->in.size_max - self->in.len;
    must(buf_reserve(&self->in, room, &at) == ERR_NONE);
    enum err err = stream_read(self->session, at, room, &len);
    buf_commit(&self->in, err == ERR_NONE ? len : 0);
    return err;
}

/* A stream that takes nothing any more says why when it is read. */
static void terminal_write(struct terminal *self)
{
    enum err err = ERR_NONE;
    while (self->out.len > 0 && err == ERR_NONE) {
        struct slice bytes = buf_view(&self->out);
        size_t len = 0;
        err = stream_write(self->session, &bytes, 1, &len);
        buf_consume(&self->out, err == ERR_NONE ? len : 0);
    }
    if (err != ERR_NONE && err != ERR_AGAIN) {
        buf_clear(&self->out);
    }
}

static void terminal_watch(struct terminal *self)
{
    if (self->session != NULL) {
        stream_watch(self->session, (self->is_full ? 0U : STREAM_READABLE) |
                                        (self->out.len > 0 ? STREAM_WRITABLE : 0U));
    }
    if (self->socket != NULL) {
        websocket_hold(self->socket, !self->is_accepted || self->out.len > TO_SESSION_MAX);
    }
}

static void terminal_go_on(struct terminal *self)
{
    enum err err = terminal_take_frames(self);
    if (err == ERR_CLOSED) {
        terminal_leave_session(self);
        terminal_check_end(self);
        return;
    }
    if (err != ERR_MORE && err != ERR_AGAIN) {
        terminal_fail(self, "the session says what it must not");
        return;
    }
    terminal_write(self);
    terminal_watch(self);
}

static void terminal_on_session(void *owner, unsigned events)
{
    struct terminal *self = owner;
    enum err err =
        (events & STREAM_READABLE) != 0 && !self->is_full ? terminal_read(self) : ERR_NONE;
    if (err == ERR_NONE || err == ERR_AGAIN) {
        terminal_go_on(self);
    } else {
        terminal_fail(self, "the session was ended");
    }
}

/* From the socket ----------------------------------------------------------------------------- */

static enum err terminal_read_control(struct terminal *self, struct slice text)
{
    struct arena arena CLEANUP(arena_release);
    struct json json;
    struct slice type = SLICE("");
    int64_t columns = 0;
    int64_t rows = 0;
    char bytes[EXECWIRE_SIZE_SIZE];
    arena_init(&arena);
    enum err err = json_parse_in(&arena, text, &json, NULL);
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&json, "type"), &type, NULL);
    }
    if (err == ERR_NONE && !slice_equals(type, SLICE("resize"))) {
        err = ERR_INPUT;
    }
    if (err == ERR_NONE) {
        err = json_as_int(json_member(&json, "columns"), 1, LIMIT_TERMINAL_COLUMNS, &columns, NULL);
    }
    if (err == ERR_NONE) {
        err = json_as_int(json_member(&json, "rows"), 1, LIMIT_TERMINAL_ROWS, &rows, NULL);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct execwire_size size = {.columns = (uint16_t)columns, .rows = (uint16_t)rows};
    return execwire_write(&self->out, EXECWIRE_RESIZE, execwire_size_write(&size, bytes));
}

static void terminal_on_message(void *owner, enum websocket_kind kind, struct slice payload)
{
    struct terminal *self = owner;
    if (self->session == NULL) {
        return;
    }
    self->moved_at = clock_monotonic();
    if (kind == WEBSOCKET_BINARY) {
        must(execwire_write_data(&self->out, EXECWIRE_INPUT, payload) == ERR_NONE);
    } else if (terminal_read_control(self, payload) != ERR_NONE) {
        terminal_fail(self,
                      "a text message must be {\"type\":\"resize\",\"columns\":…,\"rows\":…}");
        return;
    }
    terminal_write(self);
    terminal_watch(self);
}

static void terminal_on_room(void *owner)
{
    struct terminal *self = owner;
    self->is_full = false;
    if (self->session != NULL) {
        terminal_go_on(self);
    }
}

/* Whoever sat there has left: so does the session's client. */
static void terminal_on_gone(void *owner, uint16_t code)
{
    struct terminal *self = owner;
    (void)code;
    self->socket = NULL;
    self->is_over = true;
    terminal_leave_session(self);
    terminal_check_end(self);
}

static const struct websocket_events terminal_events = {
    .on_message = terminal_on_message,
    .on_room = terminal_on_room,
    .on_gone = terminal_on_gone,
};

/* Time, and who sits there -------------------------------------------------------------------- */

struct terminal_check {
    struct gate_job job;
    struct identity_credential credential;
    struct slice member_id;
};

/* What a keeper of tokens does not answer now ends nothing. */
static void terminal_check_run(struct gate_job *job)
{
    struct terminal_check *check = CONTAINER_OF(job, struct terminal_check, job);
    struct identity_proof proof = {0};
    struct identity *identity = job->worker->gate->settings.identity;
    job->err = identity_verify(identity, &job->arena, &check->credential, &proof, &job->error);
    if (job->err == ERR_NONE && !slice_equals(proof.caller.id, check->member_id)) {
        job->err = ERR_UNAUTHENTICATED;
    }
}

static void terminal_check_done(struct gate_job *job)
{
    struct terminal *self = job->owner;
    enum err err = job->err;
    gate_job_free(job);
    self->check = NULL;
    self->asks_provider = err == ERR_AGAIN;
    if (err == ERR_UNAUTHENTICATED) {
        gate_worker_kill(self->worker, self->request.id,
                         SLICE("whoever opened the terminal is not signed in any more"));
    }
}

static void terminal_check_start(struct terminal *self)
{
    const struct identity_credential *credential = &self->request.credential;
    struct error ignored;
    struct terminal_check *check = gate_job_new(sizeof(*check), self->worker, self);
    check->job.run = terminal_check_run;
    check->job.done = terminal_check_done;
    check->credential = *credential;
    check->credential.text = arena_copy(&check->job.arena, credential->text);
    check->credential.organization = arena_copy(&check->job.arena, credential->organization);
    check->credential.may_ask = self->asks_provider;
    check->member_id = arena_copy(&check->job.arena, self->request.member_id);
    struct pool *pool =
        self->asks_provider ? self->gate->settings.slow_pool : self->gate->settings.pool;
    if (gate_job_start(&check->job, pool, &ignored) == ERR_NONE) {
        self->check = &check->job;
    } else {
        gate_job_free(&check->job); /* the next time */
    }
}

static void terminal_on_timer(void *owner)
{
    struct terminal *self = owner;
    int64_t now = clock_monotonic();
    if (now - self->moved_at > self->request.idle_s * SECOND_US) {
        gate_worker_kill(self->worker, self->request.id,
                         SLICE("nothing was typed or shown for too long"));
    } else if (now - self->began_at > LIMIT_TERMINAL_S * SECOND_US) {
        gate_worker_kill(self->worker, self->request.id,
                         SLICE("the terminal was open for as long as one may be"));
    } else if (self->check == NULL) {
        terminal_check_start(self);
    }
    timer_start(self->worker->loop, &self->timer, LIMIT_TERMINAL_CHECK_MS);
}

/* Starting ------------------------------------------------------------------------------------ */

static void terminal_write_item(struct buf *items, enum execwire_kind kind, struct slice name,
                                struct slice value)
{
    const struct execwire_item item = {.kind = kind, .name = name, .value = value};
    must(execwire_item_write(items, &item) == ERR_NONE); /* they were checked */
}

static void terminal_write_hello(struct terminal *self)
{
    const struct terminal_request *request = &self->request;
    char size[EXECWIRE_SIZE_SIZE];
    struct buf items;
    buf_init(&items, LIMIT_EXEC_FRAME_SIZE);
    terminal_write_item(&items, EXECWIRE_NAME, SLICE(""), request->connection_name);
    terminal_write_item(&items, EXECWIRE_APPLICATION, SLICE(""), request->application_name);
    terminal_write_item(&items, EXECWIRE_TERMINAL, request->kind,
                        execwire_size_write(&request->size, size));
    for (size_t i = 0; i < request->metadata.count; i++) {
        terminal_write_item(&items, EXECWIRE_METADATA, request->metadata.pairs[i].key,
                            request->metadata.pairs[i].value);
    }
    must(execwire_write(&self->out, EXECWIRE_HELLO, buf_view(&items)) == ERR_NONE);
    buf_release(&items);
}

static void terminal_start(struct terminal *self, struct stream *take_stream, struct slice behind)
{
    int fds[2] = {-1, -1};
    self->socket = websocket_new(take_stream, behind, &terminal_events, self);
    websocket_hold(self->socket, true);
    if (self->worker->is_draining ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
        terminal_fail(self, "the gateway cannot open the session now");
        return;
    }
    const struct gate_inside inside = {
        .protocol = self->request.protocol, .id = self->request.id, .take_fd = fds[0]};
    gate_session_start_inside(self->worker, &inside, &self->request.client);
    self->session = socket_stream_new(self->worker->loop, fds[1]);
    stream_own(self->session, terminal_on_session, self);
    terminal_write_hello(self);
    terminal_write(self);
    terminal_watch(self);
    timer_start(self->worker->loop, &self->timer, LIMIT_TERMINAL_CHECK_MS);
}

/* The call's arena goes behind this. */
static void terminal_on_upgraded(void *owner, struct stream *take_stream, struct slice behind)
{
    struct terminal **place = owner;
    struct terminal *self = *place;
    *place = NULL;
    self->worker = gate_worker_on(self->gate, take_stream->loop);
    must(self->worker != NULL); /* there is one on each */
    self->worker->execution_count++;
    self->began_at = self->moved_at = clock_monotonic();
    loop_task_init(&self->free_task, terminal_free, self);
    terminal_start(self, take_stream, behind);
}

/* The client was gone before it was answered. */
static void terminal_drop(void *at)
{
    struct terminal **place = at;
    if (*place != NULL) {
        atomic_fetch_sub(&(*place)->gate->terminal_count, 1);
        arena_release(&(*place)->arena);
        memory_free(*place);
    }
}

static void terminal_take_request(struct terminal *self, const struct terminal_request *request)
{
    struct arena *arena = &self->arena;
    struct shape_pairs metadata = {.count = request->metadata.count};
    metadata.pairs = arena_alloc_array(arena, metadata.count + 1, sizeof(*metadata.pairs));
    for (size_t i = 0; i < metadata.count; i++) {
        metadata.pairs[i].key = arena_copy(arena, request->metadata.pairs[i].key);
        metadata.pairs[i].value = arena_copy(arena, request->metadata.pairs[i].value);
    }
    self->request = *request;
    self->request.id = arena_copy(arena, request->id);
    self->request.connection_name = arena_copy(arena, request->connection_name);
    self->request.application_name = arena_copy(arena, request->application_name);
    self->request.metadata = metadata;
    self->request.kind = arena_copy(arena, request->kind);
    self->request.credential.text = arena_copy(arena, request->credential.text);
    self->request.credential.organization = arena_copy(arena, request->credential.organization);
    self->request.member_id = arena_copy(arena, request->member_id);
}

enum err terminal_admit(struct gate *gate, struct http_call *call,
                        const struct terminal_request *request, struct error *reterr)
{
    struct terminal **place = arena_alloc(call->arena, sizeof(*place));
    *place = NULL;
    if (atomic_fetch_add(&gate->terminal_count, 1) >= LIMIT_TERMINALS) {
        atomic_fetch_sub(&gate->terminal_count, 1);
        return fail(reterr, ERR_BUSY, "too many terminals are open; try again in a moment");
    }
    struct terminal *self = memory_new(sizeof(*self));
    arena_init(&self->arena);
    arena_hold_secrets(&self->arena);
    self->gate = gate;
    terminal_take_request(self, request);
    buf_init(&self->in, 2 * (LIMIT_EXEC_FRAME_SIZE + EXECWIRE_HEAD_SIZE));
    buf_init(&self->out, 4 * LIMIT_WEBSOCKET_MESSAGE_SIZE);
    timer_init(&self->timer, terminal_on_timer, self);
    *place = self;
    arena_on_end(call->arena, terminal_drop, place);
    return http_call_websocket(call, terminal_on_upgraded, place, reterr);
}
