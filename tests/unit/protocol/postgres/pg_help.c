/* SPDX-License-Identifier: MIT */
#include "pg_help.h"

#include "base/limits.h"
#include "base/must.h"
#include "io/socket_stream.h"
#include "wire/pgwire_frame.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_COUNT 6

/* TLS by stub --------------------------------------------------------------------------------- */

struct stub_stream {
    struct stream stream;
    struct stream *below;
    struct loop_task free_task;
};

static struct stub_stream *stub_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct stub_stream, stream);
}

static enum err stub_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    enum err err = stream_read(stub_of(stream)->below, at, size, ret_len);
    for (size_t i = 0; err == ERR_NONE && i < *ret_len; i++) {
        at[i] = (char)~at[i];
    }
    return err;
}

static enum err stub_write(struct stream *stream, const struct slice *parts, size_t count,
                           size_t *ret_len)
{
    char bytes[64];
    size_t len = 0;
    must(count == 1);
    for (; len < parts[0].len && len < sizeof(bytes); len++) {
        bytes[len] = (char)~parts[0].at[len];
    }
    return stream_write(stub_of(stream)->below, &(struct slice){bytes, len}, 1, ret_len);
}

static void stub_on_event(void *owner, unsigned events)
{
    struct stub_stream *self = owner;
    self->stream.on_event(self->stream.owner, events);
}

static void stub_watch(struct stream *stream, unsigned events)
{
    stream_watch(stub_of(stream)->below, events);
}

static enum err stub_shutdown(struct stream *stream)
{
    return stream_shutdown(stub_of(stream)->below);
}

static void stub_close(struct stream *stream)
{
    stream_close(stub_of(stream)->below);
    loop_defer(stream->loop, &stub_of(stream)->free_task);
}

static struct slice stub_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE_NONE;
}

static bool stub_is_encrypted(const struct stream *stream)
{
    (void)stream;
    return true;
}

static const struct stream_ops stub_ops = {
    .read = stub_read,
    .write = stub_write,
    .watch = stub_watch,
    .shutdown = stub_shutdown,
    .close = stub_close,
    .protocol = stub_protocol,
    .is_encrypted = stub_is_encrypted,
};

static struct stream *stub_new(struct stream *take_below)
{
    struct stub_stream *self = memory_new(sizeof(*self));
    self->stream = (struct stream){.ops = &stub_ops, .loop = take_below->loop};
    self->below = take_below;
    loop_task_init(&self->free_task, memory_free, self);
    stream_own(take_below, stub_on_event, self);
    return &self->stream;
}

static void tls_end(void *owner)
{
    struct peer *peer = owner;
    struct stream *below = peer->below;
    static const struct error error = {ERR_UNAVAILABLE, "the certificate is not for this host"};
    peer->below = NULL;
    if (peer->wish.tls == TLS_FAILS) {
        stream_close(below);
        peer->tls_done(peer->tls_owner, NULL, NULL, &error);
        return;
    }
    peer->mask = (char)0xff;
    struct stream *above = peer->wish.tls == TLS_NONE_AFTER_ALL ? below : stub_new(below);
    peer->tls_done(peer->tls_owner, above, peer->wish.end_point, NULL);
}

static void *tls_wrap(void *context, struct stream *take_stream, pg_tls_done_fn on_done,
                      void *owner)
{
    struct peer *peer = context;
    peer->below = take_stream;
    peer->tls_done = on_done;
    peer->tls_owner = owner;
    if (peer->wish.tls == TLS_LATER) {
        loop_defer(peer->loop, &peer->tls_task);
    } else if (peer->wish.tls != TLS_NEVER) {
        tls_end(peer);
    }
    return peer;
}

static void tls_cancel(void *wrapping)
{
    struct peer *peer = wrapping;
    loop_task_cancel(&peer->tls_task);
    stream_close(peer->below);
    peer->below = NULL;
    peer->tls_cancelled = true;
}

struct pg_encryption_settings peer_encryption(struct peer *peer)
{
    return (struct pg_encryption_settings){
        .mode = peer->wish.mode,
        .tls = {.wrap = tls_wrap, .cancel = tls_cancel, .context = peer},
    };
}

/* Start and end ------------------------------------------------------------------------------- */

static void copy(struct buf *buf, struct slice bytes)
{
    assert_int_equal(buf->len, 0);
    assert_int_equal(buf_append(buf, bytes), ERR_NONE);
}

static void on_done(void *owner, const struct arrival *ready, const struct target_failure *failure)
{
    struct peer *peer = owner;
    peer->done_count++;
    peer->target = NULL;
    assert_true((ready == NULL) != (failure == NULL));
    if (failure != NULL) {
        peer->failure = *failure;
        copy(&peer->answer, failure->answer);
        return;
    }
    peer->stream = ready->take_stream;
    peer->version = ready->version;
    peer->transaction = (enum pgwire_transaction)ready->state;
    peer->process = ready->key.number;
    copy(&peer->key, ready->key.secret);
    copy(&peer->greeting, ready->greeting);
    copy(&peer->rest, ready->rest);
}

struct stream *peer_open(struct peer *peer, const struct wish *wish)
{
    int fds[2];
    *peer = (struct peer){.wish = *wish, .piece = wish->piece == 0 ? SIZE_MAX : wish->piece};
    assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    peer->fd = fds[1];
    peer->worker = worker_new(0, wish->fault);
    peer->loop = worker_loop(peer->worker);
    buf_init(&peer->heard, LIMIT_MIB(1));
    buf_init(&peer->key, LIMIT_MIB(1));
    buf_init(&peer->greeting, LIMIT_MIB(1));
    buf_init(&peer->rest, LIMIT_MIB(1));
    buf_init(&peer->answer, LIMIT_MIB(1));
    loop_task_init(&peer->tls_task, tls_end, peer);
    return socket_stream_new(peer->loop, fds[0]);
}

static struct pg_secret *make_secret(struct peer *peer)
{
    struct secret password;
    secret_init(&password);
    const char *text = peer->wish.password == NULL ? PASSWORD : peer->wish.password;
    assert_int_equal(secret_set(&password, slice_of_text(text)), ERR_NONE);
    struct pg_secret *secret = pg_secret_new(peer->worker, peer->pool, NULL, &password);
    assert_null(password.bytes);
    return secret;
}

void peer_start(struct peer *peer, const struct wish *wish)
{
    struct stream *stream = peer_open(peer, wish);
    peer->pool = pool_new(1, wish->pool_queue == 0 ? 8 : wish->pool_queue);
    struct pg_target_settings settings = {
        .user = SLICE(USER),
        .database = SLICE("sales"),
        .parameters = wish->parameters,
        .parameter_count = wish->parameter_count,
        .version = wish->version == 0 ? PGWIRE_VERSION(3, 0) : wish->version,
        .encryption = peer_encryption(peer),
        .take_secret = wish->has_no_secret ? NULL : make_secret(peer),
        .is_local = !wish->is_remote,
        .allows_cleartext = wish->allows_cleartext,
        .timeout_ms = wish->timeout_ms == 0 ? 30000 : wish->timeout_ms,
    };
    peer->target = pg_target_start(stream, &settings, on_done, peer);
    assert_int_equal(peer->done_count, 0);
}

void peer_end(struct peer *peer)
{
    if (peer->target != NULL) {
        pg_target_cancel(peer->target);
    }
    if (peer->stream != NULL) {
        stream_close(peer->stream);
    }
    peer_hang_up(peer);
    pool_free(peer->pool);
    worker_free(peer->worker);
    buf_release(&peer->heard);
    buf_release(&peer->key);
    buf_release(&peer->greeting);
    buf_release(&peer->rest);
    buf_release(&peer->answer);
}

/* Saying and hearing -------------------------------------------------------------------------- */

void peer_turn(struct peer *peer)
{
    for (size_t i = 0; i < TURN_COUNT; i++) {
        loop_turn(peer->loop);
    }
}

void peer_say(struct peer *peer, struct slice bytes)
{
    char piece[4096];
    peer_turn(peer);
    while (bytes.len > 0 && peer->fd >= 0) {
        struct slice part = slice_sub(bytes, 0, peer->piece);
        part = slice_sub(part, 0, sizeof(piece));
        for (size_t i = 0; i < part.len; i++) {
            piece[i] = (char)(part.at[i] ^ peer->mask);
        }
        ssize_t len = send(peer->fd, piece, part.len, MSG_NOSIGNAL);
        if (len < 0 && errno != EAGAIN) {
            return; /* the target has left */
        }
        bytes = slice_from(bytes, len < 0 ? 0 : (size_t)len);
        peer_turn(peer);
    }
}

static void hear(struct peer *peer)
{
    char bytes[4096];
    ssize_t len = recv(peer->fd, bytes, sizeof(bytes), 0);
    for (ssize_t i = 0; i < len; i++) {
        bytes[i] = (char)(bytes[i] ^ peer->mask);
    }
    if (len > 0) {
        assert_int_equal(buf_append(&peer->heard, slice_of(bytes, (size_t)len)), ERR_NONE);
    }
}

struct slice peer_hear(struct peer *peer, size_t size)
{
    for (unsigned i = 0; i < 20000 && peer->heard.len < size && peer->done_count == 0; i++) {
        peer_turn(peer);
        hear(peer);
        if (peer->heard.len < size && i > 3) {
            (void)poll(NULL, 0, 1);
        }
    }
    return slice_sub(buf_view(&peer->heard), 0, size);
}

void peer_forget(struct peer *peer, size_t size)
{
    buf_consume(&peer->heard, size);
}

struct slice peer_hear_message(struct peer *peer, char type)
{
    static char body[4096];
    size_t before = type == '\0' ? 0 : 1;
    struct reader reader = reader_of(peer_hear(peer, before + 4));
    if (reader.input.len < before + 4) {
        assert_int_equal(peer->done_count, 1);
        return SLICE_NONE;
    }
    if (before > 0) {
        assert_int_equal(reader_u8(&reader), type);
    }
    size_t size = reader_u32(&reader) - 4;
    assert_in_range(size, 0, sizeof(body));
    struct slice message = peer_hear(peer, before + 4 + size);
    if (message.len < before + 4 + size) {
        assert_int_equal(peer->done_count, 1);
        return SLICE_NONE;
    }
    memcpy(body, message.at + before + 4, size);
    peer_forget(peer, message.len);
    return slice_of(body, size);
}

void peer_hang_up(struct peer *peer)
{
    if (peer->fd >= 0) {
        assert_int_equal(close(peer->fd), 0);
        peer->fd = -1;
    }
}

bool peer_await(struct peer *peer, unsigned ms)
{
    for (unsigned i = 0; i < ms && peer->done_count == 0; i++) {
        peer_turn(peer);
        if (peer->done_count == 0) {
            (void)poll(NULL, 0, 1);
        }
    }
    peer_turn(peer);
    return peer->done_count > 0;
}

/* Messages ------------------------------------------------------------------------------------ */

static void say_buf(struct peer *peer, struct buf *buf, enum err err)
{
    assert_int_equal(err, ERR_NONE);
    peer_say(peer, buf_view(buf));
    buf_release(buf);
}

void say_auth(struct peer *peer, enum pgwire_auth_kind kind, struct slice data)
{
    struct buf buf;
    buf_init(&buf, LIMIT_MIB(1));
    say_buf(peer, &buf, pgwire_auth_write(&buf, &(struct pgwire_auth){kind, data}));
}

void say_sasl(struct peer *peer, const char *first, const char *second)
{
    struct buf buf;
    struct slice names[] = {slice_of_text(first), slice_of_text(second == NULL ? "" : second)};
    buf_init(&buf, LIMIT_MIB(1));
    say_buf(peer, &buf, pgwire_auth_sasl_write(&buf, names, second == NULL ? 1 : 2));
}

void say_error(struct peer *peer, const char *sqlstate, const char *message)
{
    struct buf buf;
    struct pgwire_notice error = {
        .severity = SLICE("FATAL"),
        .sqlstate = slice_of_text(sqlstate),
        .message = slice_of_text(message),
    };
    buf_init(&buf, LIMIT_MIB(1));
    say_buf(peer, &buf, pgwire_error_write(&buf, &error));
}

#define SESSION_PARAMETERS                                                                         \
    "S\0\0\0\x0e"                                                                                  \
    "one\0"                                                                                        \
    "first\0"                                                                                      \
    "S\0\0\0\x0c"                                                                                  \
    "two\0"                                                                                        \
    "2nd\0"

void say_session(struct peer *peer)
{
    peer_say(peer, SLICE(SESSION_PARAMETERS "K\0\0\0\x0c\0\0\0\x07wxyz"
                                            "Z\0\0\0\x05I"));
}

void serve_scram(struct peer *peer, const char *mechanism, struct slice *ret_last,
                 struct arena *arena)
{
    struct secret password;
    struct scram_verifier verifier;
    struct scram_server *server = NULL;
    struct pgwire_sasl_initial initial;
    secret_init(&password);
    assert_int_equal(secret_set(&password, SLICE(PASSWORD)), ERR_NONE);
    scram_verifier_make(&password, &verifier);
    secret_release(&password);
    struct slice body = peer_hear_message(peer, 'p');
    *ret_last = SLICE_NONE;
    if (body.at == NULL) {
        return;
    }
    assert_int_equal(pgwire_sasl_initial_read(body, &initial, NULL), ERR_NONE);
    assert_text(initial.mechanism, mechanism);
    bool is_bound = slice_equals(initial.mechanism, SLICE(SCRAM_MECHANISM_PLUS));
    struct scram_server_options options = {
        .verifiers = &verifier,
        .count = 1,
        .end_point = is_bound ? peer->wish.end_point : NULL,
        .mechanism = initial.mechanism,
    };
    struct slice answer;
    assert_int_equal(scram_server_new_in(arena, &options, &server, NULL), ERR_NONE);
    assert_int_equal(scram_server_take_in(arena, server, initial.response, &answer, NULL),
                     ERR_MORE);
    say_auth(peer, PGWIRE_AUTH_SASL_CONTINUE, answer);
    body = peer_hear_message(peer, 'p');
    if (body.at != NULL) {
        assert_int_equal(scram_server_take_in(arena, server, body, ret_last, NULL), ERR_NONE);
    }
}

/* Outcomes ------------------------------------------------------------------------------------ */

void assert_failed(struct peer *peer, enum err code, const char *sqlstate, const char *words)
{
    assert_true(peer_await(peer, 2000));
    assert_int_equal(peer->done_count, 1);
    assert_null(peer->stream);
    struct slice text = slice_of_text(peer->failure.error.message);
    if (slice_find(text, slice_of_text(words)) == text.len) {
        fail_msg("'%s' is not in '%s'", words, peer->failure.error.message);
    }
    assert_int_equal(peer->failure.error.code, code);
    assert_string_equal(peer->failure.code, sqlstate);
    struct slice body = slice_from(buf_view(&peer->answer), PGWIRE_HEADER_SIZE);
    struct slice fields;
    assert_int_equal(peer->answer.memory[0], PGWIRE_SERVER_ERROR);
    assert_int_equal(pgwire_notice_read(body, &fields, NULL), ERR_NONE);
    assert_text(pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE), sqlstate);
    assert_bytes(pgwire_notice_find(fields, PGWIRE_FIELD_SEVERITY), "FATAL");
    assert_bytes(pgwire_notice_find(fields, PGWIRE_FIELD_SEVERITY_PLAIN), "FATAL");
}

void assert_ready(struct peer *peer)
{
    assert_true(peer_await(peer, 2000));
    if (peer->stream == NULL) {
        fail_msg("%s", peer->failure.error.message);
    }
    assert_int_equal(peer->done_count, 1);
    assert_int_equal(peer->transaction, PGWIRE_IDLE);
    assert_int_equal(peer->process, 7);
    assert_bytes(buf_view(&peer->key), "wxyz");
    assert_bytes(buf_view(&peer->greeting), SESSION_PARAMETERS);
}
