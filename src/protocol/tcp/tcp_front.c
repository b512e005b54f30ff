/* SPDX-License-Identifier: MIT */
/* The client's side: TLS, one line that proves who it is, one line that answers (tcp.h). */
#include "base/memory.h"
#include "base/must.h"
#include "base/writer.h"
#include "identity/native_credential.h"
#include "io/timer.h"
#include "io/tls_stream.h"
#include "protocol/tcp/tcp.h"

#define LINGER_MS 2000

enum tcp_front_state {
    TCP_AT_LINE, /* TLS, then the client's line */
    TCP_ASKING,  /* the owner looks for verifiers */
    TCP_PROVEN,  /* it is to be told who the client is */
    TCP_KNOWN,   /* the owner opens the session */
    TCP_OPENING, /* the answer is on its way */
    TCP_ENDING,  /* likewise, and it is the last word */
    TCP_GONE,
};

struct tcp_front {
    struct front front;
    struct stream *stream;
    struct loop *loop;
    struct tls_server *tls;
    const struct front_events *events;
    void *owner;
    enum tcp_front_state state;
    struct arena arena; /* wiped */
    struct buf input;
    struct buf output;
    struct slice name;
    char proof[NATIVE_HASH_SIZE]; /* the hash of what the client sent */
    size_t index;                 /* of the verifier that it was held against well */
    bool is_refused;              /* the proof was wrong, which the owner is to be told */
    struct timer timer;
    struct loop_task task;
    struct error reason;
};

static struct tcp_front *tcp_front_of(struct front *front)
{
    return CONTAINER_OF(front, struct tcp_front, front);
}

/* The end -------------------------------------------------------------------------------------- */

static void tcp_front_free(void *owner)
{
    struct tcp_front *self = owner;
    buf_wipe(&self->input);
    buf_wipe(&self->output);
    arena_release(&self->arena);
    tls_server_unref(self->tls);
    memory_free(self);
}

static void tcp_front_leave(struct tcp_front *self)
{
    self->state = TCP_GONE;
    timer_stop(&self->timer);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, tcp_front_free, self);
    loop_defer(self->loop, &self->task);
}

static void tcp_front_close(struct front *front)
{
    struct tcp_front *self = tcp_front_of(front);
    stream_close(self->stream);
    tcp_front_leave(self);
}

/* Why it ends, if nothing was said of that yet. */
static void tcp_front_drop(struct tcp_front *self, enum err code, const char *why)
{
    if (self->state != TCP_ENDING) {
        must(fail(&self->reason, code, "%s", why) == code);
    }
    tcp_front_close(&self->front);
    self->events->on_closed(self->owner, &self->reason);
}

static void tcp_front_end(struct tcp_front *self, struct slice message, struct slice hint)
{
    const struct ending_words words = {.message = message, .hint = hint};
    char code[TARGET_CODE_SIZE];
    buf_clear(&self->output);
    must(tcp_answer_write(&words, code, &self->output) == ERR_NONE);
    must(fail(&self->reason, ERR_UNAUTHENTICATED, "%.*s", SLICE_ARG(message)) != ERR_NONE);
    self->state = TCP_ENDING;
    timer_start(self->loop, &self->timer, LINGER_MS);
    loop_defer(self->loop, &self->task);
}

/* The client's line ---------------------------------------------------------------------------- */

static void tcp_front_take_line(struct tcp_front *self, struct slice text)
{
    struct tcp_line line;
    if (!tcp_line_read(text, &line)) {
        tcp_front_end(self, SLICE("the first line must be 'GATEHOUSE' and the secret"), SLICE(""));
        return;
    }
    native_credential_hash(line.secret, self->proof);
    struct slice name = line.name.len > 0 ? line.name : tls_stream_server_name(self->stream);
    self->name = arena_copy(&self->arena, name);
    if (self->name.len == 0) {
        tcp_front_end(self, SLICE("no connection is named, neither by TLS (SNI) nor in the line"),
                      SLICE(""));
        return;
    }
    self->state = TCP_ASKING;
    self->events->on_name(self->owner, self->name);
}

static void tcp_front_read(struct tcp_front *self)
{
    char *at = NULL;
    size_t len = 0;
    size_t room = self->input.size_max - self->input.len;
    must(buf_reserve(&self->input, room, &at) == ERR_NONE);
    enum err err = stream_read(self->stream, at, room, &len);
    if (err == ERR_AGAIN) {
        return;
    }
    if (err != ERR_NONE) {
        tcp_front_drop(self, err, err == ERR_CLOSED ? "client left" : "connection broke");
        return;
    }
    buf_commit(&self->input, len);
    struct slice input = buf_view(&self->input);
    size_t end = slice_find_byte(input, '\n');
    if (end < input.len) {
        struct slice line = arena_copy(&self->arena, slice_sub(input, 0, end));
        buf_consume(&self->input, end + 1);
        tcp_front_take_line(self, line);
    } else if (self->input.len == self->input.size_max) {
        tcp_front_end(self, SLICE("the first line is too long"), SLICE(""));
    }
}

/* Our line ------------------------------------------------------------------------------------- */

static void tcp_front_write(struct tcp_front *self)
{
    while (self->output.len > 0) {
        struct slice bytes = buf_view(&self->output);
        size_t len = 0;
        enum err err = stream_write(self->stream, &bytes, 1, &len);
        if (err == ERR_AGAIN) {
            stream_watch(self->stream, STREAM_WRITABLE);
            return;
        }
        if (err != ERR_NONE) {
            tcp_front_drop(self, ERR_IO, "connection broke");
            return;
        }
        buf_consume(&self->output, len);
    }
    if (self->state == TCP_OPENING) {
        struct stream *stream = self->stream;
        stream_watch(stream, 0);
        tcp_front_leave(self); /* what it read stays until the end of the turn */
        self->events->on_open(self->owner, stream, buf_view(&self->input));
    } else if (stream_shutdown(self->stream) != ERR_AGAIN) {
        tcp_front_drop(self, ERR_CLOSED, "");
    } else {
        stream_watch(self->stream, STREAM_WRITABLE);
    }
}

static void tcp_front_run(void *owner)
{
    struct tcp_front *self = owner;
    if (self->is_refused && self->state != TCP_GONE) {
        self->is_refused = false;
        if (self->events->on_refused != NULL) {
            self->events->on_refused(self->owner, self->name);
        }
    }
    switch (self->state) {
    case TCP_AT_LINE:
        tcp_front_read(self);
        return;
    case TCP_OPENING:
    case TCP_ENDING:
        tcp_front_write(self);
        return;
    case TCP_PROVEN:
        timer_stop(&self->timer);
        self->state = TCP_KNOWN;
        self->events->on_known(self->owner, self->index);
        return;
    case TCP_ASKING:
    case TCP_KNOWN:
        stream_watch(self->stream, 0); /* what it sends now is for the target */
        return;
    case TCP_GONE:
        return;
    }
}

static void tcp_front_on_event(void *owner, unsigned events)
{
    (void)events;
    tcp_front_run(owner);
}

static void tcp_front_on_deadline(void *owner)
{
    tcp_front_drop(owner, ERR_TIMEOUT, "client took too long");
}

/* The owner's calls ---------------------------------------------------------------------------- */

static struct front *tcp_front_start(struct stream *take_stream, const struct front_config *config,
                                     const struct front_events *events, void *owner)
{
    struct tcp_front *self = memory_new(sizeof(*self));
    must(config->tls != NULL);
    self->front.ops = &tcp_front_ops;
    self->loop = take_stream->loop;
    self->tls = tls_server_ref(config->tls);
    self->events = events;
    self->owner = owner;
    arena_init(&self->arena);
    arena_hold_secrets(&self->arena);
    buf_init(&self->input, TCP_LINE_SIZE_MAX);
    buf_init(&self->output, TCP_ANSWER_SIZE_MAX);
    timer_init(&self->timer, tcp_front_on_deadline, self);
    timer_start(self->loop, &self->timer, config->authentication_ms);
    loop_task_init(&self->task, tcp_front_run, self);
    must(tls_stream_new(self->tls, take_stream, &self->stream) == ERR_NONE);
    stream_own(self->stream, tcp_front_on_event, self);
    stream_watch(self->stream, STREAM_READABLE);
    return &self->front;
}

/* All of them are compared, so that the time says nothing of which. */
static void tcp_front_answer(struct front *front, const struct front_verifiers *verifiers)
{
    struct tcp_front *self = tcp_front_of(front);
    size_t found = verifiers->count;
    if (self->state != TCP_ASKING) {
        return; /* it is on its way out */
    }
    for (size_t i = 0; i < verifiers->count; i++) {
        if (native_credential_is_hash(verifiers->hashes[i], self->proof)) {
            found = i;
        }
    }
    if (found == verifiers->count) {
        self->is_refused = true;
        tcp_front_end(self, SLICE("the connection or the secret is wrong"), SLICE(""));
        return;
    }
    self->state = TCP_PROVEN;
    self->index = found;
    loop_defer(self->loop, &self->task);
}

static enum err tcp_front_open(struct front *front, const struct arrival *arrival,
                               const struct cancel_key *key)
{
    struct tcp_front *self = tcp_front_of(front);
    (void)arrival;
    (void)key;
    if (self->state == TCP_KNOWN) {
        must(buf_append(&self->output, SLICE(TCP_OK)) == ERR_NONE);
        self->state = TCP_OPENING;
        timer_start(self->loop, &self->timer, LIMIT_FRONT_WRITE_MS);
        loop_defer(self->loop, &self->task);
    }
    return ERR_NONE;
}

static void tcp_front_cancelled(struct front *front)
{
    (void)front; /* nothing asks for it here */
}

static void tcp_front_refuse(struct front *front, const struct ending_words *words)
{
    struct tcp_front *self = tcp_front_of(front);
    if (self->state != TCP_ENDING && self->state != TCP_GONE) {
        tcp_front_end(self, words->message, words->hint);
    }
}

static struct hello tcp_front_hello_in(struct arena *arena, const struct front *front)
{
    (void)arena;
    return (struct hello){
        .name = CONTAINER_OF_CONST(front, struct tcp_front, front)->name,
        .database = SLICE(""),
        .application_name = SLICE(""),
        .metadata_hint = "A connection of TCP has no way to give them.",
    };
}

const struct front_ops tcp_front_ops = {
    .start = tcp_front_start,
    .answer = tcp_front_answer,
    .open = tcp_front_open,
    .cancelled = tcp_front_cancelled,
    .refuse = tcp_front_refuse,
    .hello_in = tcp_front_hello_in,
    .close = tcp_front_close,
};
