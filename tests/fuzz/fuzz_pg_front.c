/* SPDX-License-Identifier: MIT */
/* Whatever a client sends, in whatever pieces: the front says whole messages only, ends at most
 * once, and knows nobody who has not proved it.
 *
 * The first byte chooses the configuration and the owner's ways. Then come pieces, each with its
 * length before it; between two of them the loop turns. */
#include "fuzz.h"
#include "fuzz_client.h"

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

struct client {
    struct client_stream stream;
    unsigned ways;
    struct pg_front *front;
    unsigned closed_count;
    bool has_asked;
};

static struct scram_verifier verifiers[2];
static struct secret mock_key;
static struct loop *loop;

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
    must(client->stream.is_closed && strlen(reason->message) > 0);
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
    while (client->front != NULL && client_ready(&client->stream) != 0) {
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
    struct client client = {.ways = reader_u8(&reader)};
    struct front_config config = {
        .end_point = {.size = 32},
        .needs_tls = (client.ways & WAY_NEEDS_TLS) != 0,
        .mock_key = &mock_key,
        .authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS,
    };
    client_stream_init(&client.stream, loop);
    client.stream.is_encrypted = (client.ways & WAY_ENCRYPTED) != 0;
    client.stream.is_slow = (client.ways & WAY_WRITES_SLOWLY) != 0;
    client.front = pg_front_new(&client.stream.stream, &config, &events, &client);
    while (reader_left(&reader) > 0 && client.front != NULL) {
        size_t len = reader_u8(&reader);
        size_t left = reader_left(&reader);
        client.stream.piece = reader_view(&reader, len < left ? len : left);
        client_watch(&client.stream.stream, client.stream.watched);
        turn(&client);
    }
    if (client.front != NULL) {
        client.stream.has_ended = true;
        client_watch(&client.stream.stream, client.stream.watched);
        turn(&client);
    }
    must(client.closed_count == 1 && client.front == NULL);
    check_said(buf_view(&client.stream.said));
    buf_release(&client.stream.said);
    return 0;
}
