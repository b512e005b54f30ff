/* SPDX-License-Identifier: MIT */
/* Whatever a client sends, in whatever pieces: the front says whole messages only, ends at most
 * once, and knows nobody who has not proved it.
 *
 * The first byte chooses the configuration and the owner's ways. Then come pieces, each with its
 * length before it; between two of them the loop turns. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "protocol/postgres/pg_front.h"
#include "wire/pgwire_frame.h"

enum way {
    WAY_ENCRYPTED = 1,
    WAY_NEEDS_TLS = 2,
    WAY_UNKNOWN = 4,
    WAY_ANSWERS_LATE = 8,
    WAY_WRITES_SLOWLY = 16,
    WAY_FAILS_LATE = 32,
};

/* A stream in memory. */
struct client {
    struct stream stream;
    struct loop_task task;
    unsigned watched;
    unsigned ways;
    struct slice piece; /* not read yet */
    bool has_ended;
    struct buf said;
    struct pg_front *front;
    unsigned closed_count;
    bool is_closed;
    bool has_asked;
};

static struct scram_verifier verifiers[2];
static struct secret mock_key;
static struct loop *loop;

static struct client *client_of(struct stream *stream)
{
    return CONTAINER_OF(stream, struct client, stream);
}

static unsigned ready(const struct client *client)
{
    bool is_readable = client->piece.len > 0 || client->has_ended;
    return client->watched & (STREAM_WRITABLE | (is_readable ? STREAM_READABLE : 0U));
}

static void run(void *owner)
{
    struct client *client = owner;
    if (!client->is_closed && ready(client) != 0) {
        client->stream.on_event(client->stream.owner, ready(client));
    }
    if (!client->is_closed && ready(client) != 0) {
        loop_defer(loop, &client->task);
    }
}

static enum err client_read(struct stream *stream, char *at, size_t size, size_t *ret_len)
{
    struct client *client = client_of(stream);
    must(!client->is_closed && size > 0);
    struct slice bytes = slice_sub(client->piece, 0, size);
    if (bytes.len == 0) {
        return client->has_ended ? ERR_CLOSED : ERR_AGAIN;
    }
    memcpy(at, bytes.at, bytes.len);
    client->piece = slice_from(client->piece, bytes.len);
    *ret_len = bytes.len;
    return ERR_NONE;
}

static enum err client_write(struct stream *stream, const struct slice *parts, size_t count,
                             size_t *ret_len)
{
    struct client *client = client_of(stream);
    must(!client->is_closed && count == 1);
    bool is_slow = (client->ways & WAY_WRITES_SLOWLY) != 0;
    struct slice bytes = slice_sub(parts[0], 0, is_slow ? 3 : parts[0].len);
    must(buf_append(&client->said, bytes) == ERR_NONE);
    *ret_len = bytes.len;
    return ERR_NONE;
}

static void client_watch(struct stream *stream, unsigned events)
{
    struct client *client = client_of(stream);
    must(!client->is_closed);
    client->watched = events;
    if (ready(client) != 0) {
        loop_defer(loop, &client->task);
    }
}

static enum err client_shutdown(struct stream *stream)
{
    must(!client_of(stream)->is_closed);
    return ERR_NONE;
}

static void client_close(struct stream *stream)
{
    struct client *client = client_of(stream);
    must(!client->is_closed);
    client->is_closed = true;
    loop_task_cancel(&client->task);
}

static struct slice client_protocol(const struct stream *stream)
{
    (void)stream;
    return SLICE_NONE;
}

static bool client_is_encrypted(const struct stream *stream)
{
    const struct client *client =
        (const void *)((const char *)stream - offsetof(struct client, stream));
    return (client->ways & WAY_ENCRYPTED) != 0;
}

static const struct stream_ops client_ops = {
    .read = client_read,
    .write = client_write,
    .watch = client_watch,
    .shutdown = client_shutdown,
    .close = client_close,
    .protocol = client_protocol,
    .is_encrypted = client_is_encrypted,
};

static void answer(struct client *client)
{
    client->has_asked = false;
    if ((client->ways & WAY_FAILS_LATE) != 0) {
        pg_front_fail(client->front, SLICE("57P03"), SLICE("not now"), SLICE("Later."));
    } else {
        pg_front_answer(client->front, verifiers,
                        (client->ways & WAY_UNKNOWN) != 0 ? 0 : COUNT_OF(verifiers));
    }
}

static void on_name(void *owner, struct slice name)
{
    struct client *client = owner;
    must(name.len > 0 && pg_front_startup(client->front)->database.len > 0);
    must((client->ways & WAY_NEEDS_TLS) == 0 || (client->ways & WAY_ENCRYPTED) != 0);
    client->has_asked = true;
    if ((client->ways & WAY_ANSWERS_LATE) == 0) {
        answer(client);
    }
}

static void on_known(void *owner, size_t index)
{
    (void)owner;
    (void)index;
    must(false); /* the nonce is random: nobody can prove anything by chance */
}

static void on_cancel(void *owner, const struct cancel_key *key)
{
    struct client *client = owner;
    must(key->secret.len >= PGWIRE_KEY_SIZE_MIN && key->secret.len <= LIMIT_CANCEL_KEY_SIZE);
    pg_front_cancelled(client->front);
}

static void on_closed(void *owner, const struct error *reason)
{
    struct client *client = owner;
    must(client->is_closed && strlen(reason->message) > 0);
    must(++client->closed_count == 1);
    client->front = NULL;
}

static const struct front_events events = {
    .on_name = on_name,
    .on_known = on_known,
    .on_cancel = on_cancel,
    .on_closed = on_closed,
};

static void prepare(void)
{
    struct scram_verifier mock;
    loop = loop_new(NULL);
    secret_init(&mock_key);
    must(secret_set(&mock_key, SLICE("key")) == ERR_NONE);
    scram_verifier_mock(&mock_key, SLICE("shop"), &mock);
    for (size_t i = 0; i < COUNT_OF(verifiers); i++) {
        scram_verifier_derive(&mock_key, slice_of(mock.salt, mock.salt_size), mock.iterations,
                              &verifiers[i]);
    }
}

static void turn(struct client *client)
{
    for (size_t i = 0; i < 4; i++) {
        loop_turn(loop);
    }
    while (client->front != NULL && ready(client) != 0) {
        loop_turn(loop);
    }
    if (client->front != NULL && client->has_asked) {
        answer(client);
        loop_turn(loop);
    }
}

/* Answers to requests for encryption, then messages; or one error of version 2. */
static void check_said(struct slice said)
{
    struct pgwire_framer framer;
    while (slice_starts_with(said, SLICE("N"))) {
        said = slice_from(said, 1);
    }
    if (slice_starts_with(said, SLICE("EFATAL:"))) {
        must(said.at[said.len - 1] == '\0');
        return;
    }
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    bool is_whole = true;
    while (said.len > 0) {
        struct pgwire_event event;
        size_t taken = 0;
        must(pgwire_framer_next(&framer, said, &taken, &event, NULL) == ERR_NONE);
        must(framer.frame.is_known);
        is_whole = event.is_last;
        said = slice_from(said, taken);
    }
    must(is_whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (loop == NULL) {
        prepare();
    }
    struct reader reader = reader_of(slice_of(bytes, size));
    struct client client = {.stream = {.ops = &client_ops, .loop = loop},
                            .ways = reader_u8(&reader)};
    struct front_config config = {
        .end_point = {.size = 32},
        .needs_tls = (client.ways & WAY_NEEDS_TLS) != 0,
        .mock_key = &mock_key,
        .authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS,
    };
    buf_init(&client.said, LIMIT_MIB(1));
    loop_task_init(&client.task, run, &client);
    client.front = pg_front_new(&client.stream, &config, &events, &client);
    while (reader_left(&reader) > 0 && client.front != NULL) {
        size_t len = reader_u8(&reader);
        size_t left = reader_left(&reader);
        client.piece = reader_view(&reader, len < left ? len : left);
        client_watch(&client.stream, client.watched);
        turn(&client);
    }
    if (client.front != NULL) {
        client.has_ended = true;
        client_watch(&client.stream, client.watched);
        turn(&client);
    }
    must(client.closed_count == 1 && client.front == NULL);
    check_said(buf_view(&client.said));
    buf_release(&client.said);
    return 0;
}
