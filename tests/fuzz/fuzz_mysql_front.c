/* SPDX-License-Identifier: MIT */
/* Whatever a client of MySQL sends, in whatever pieces: the front says whole packets only, ends or
 * opens once, and knows nobody who has not proved it. Random bytes are the same every time, so that
 * a proof can be among the seeds.
 *
 * The first byte chooses the configuration and the owner's ways. Then come pieces, each with its
 * length before it; between two of them the loop turns. */
#include "fuzz.h"
#include "fuzz_client.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "identity/native_credential.h"
#include "protocol/mysql/mysql_front.h"
#include "protocol/mysql/mysql_hello.h"
#include "wire/mysqlwire_answer.h"
#include "wire/mysqlwire_frame.h"

#include <sodium.h>

enum way {
    WAY_ENCRYPTED = 1,
    WAY_NEEDS_TLS = 2,
    WAY_UNKNOWN = 4,
    WAY_ANSWERS_LATE = 8,
    WAY_WRITES_SLOWLY = 16,
    WAY_REFUSES = 32,
    WAY_OPENS_WRONGLY = 64, /* what the target said is no OK */
};

#define NONCE "bbbbbbbbbbbbbbbbbbbb"

static const char *const secrets[] = {"the secret of one", "the secret of another"};

struct client {
    struct client_stream stream;
    unsigned ways;
    struct front *front;
    struct buf sent;
    uint32_t capabilities; /* as the target would agree to */
    unsigned end_count;
    bool has_asked;
    bool is_known;
};

static struct slice kept[COUNT_OF(secrets)];
static struct secret mock_key;
static struct loop *loop;

/* Random bytes --------------------------------------------------------------------------------- */

static const char *random_name(void)
{
    return "none";
}

static uint32_t random_number(void)
{
    return 1;
}

static uint32_t random_below(const uint32_t bound)
{
    return 1 % bound;
}

static void random_bytes(void *const at, const size_t size)
{
    memset(at, 1, size);
}

static struct randombytes_implementation no_randomness = {
    .implementation_name = random_name,
    .random = random_number,
    .uniform = random_below,
    .buf = random_bytes,
};

static void prepare(void)
{
    static char bytes[COUNT_OF(secrets)][NATIVE_VERIFIER_SIZE];
    must(randombytes_set_implementation(&no_randomness) == 0);
    loop = loop_new(NULL);
    secret_init(&mock_key);
    must(secret_set(&mock_key, SLICE("key")) == ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        struct mysql_verifier verifier;
        mysql_verifier_make(slice_of_text(secrets[i]), &verifier);
        memcpy(bytes[i], verifier.sha2, sizeof(verifier.sha2));
        memcpy(bytes[i] + sizeof(verifier.sha2), verifier.sha1, sizeof(verifier.sha1));
        kept[i] = slice_of(bytes[i], NATIVE_VERIFIER_SIZE);
    }
}

/* The owner ------------------------------------------------------------------------------------ */

static void answer(struct client *client)
{
    const struct front_verifiers verifiers = {
        .kept = kept, .count = (client->ways & WAY_UNKNOWN) != 0 ? 0 : COUNT_OF(kept)};
    client->has_asked = false;
    client->front->ops->answer(client->front, &verifiers);
}

static void on_name(void *owner, struct slice name)
{
    struct client *client = owner;
    struct arena arena;
    arena_init_small(&arena);
    struct hello hello = client->front->ops->hello_in(&arena, client->front);
    must((client->ways & WAY_NEEDS_TLS) == 0 || client->stream.is_encrypted);
    must(slice_equals(hello.name, name));
    must(hello.parameters.count <= LIMIT_MYSQL_ATTRIBUTES + 1);
    must((hello.version & ~MYSQL_SERVED_CAPABILITIES) == 0);
    client->capabilities = hello.version;
    arena_release(&arena);
    client->has_asked = true;
    if ((client->ways & WAY_ANSWERS_LATE) == 0) {
        answer(client);
    }
}

static bool has_sent(const struct client *client, struct slice bytes)
{
    return slice_find(buf_view(&client->sent), bytes) < client->sent.len;
}

static bool has_proved(const struct client *client, const char *secret)
{
    unsigned char sha2[MYSQL_PROOF_SHA2_SIZE];
    unsigned char sha1[MYSQL_PROOF_SHA1_SIZE];
    mysql_proof_sha2(slice_of_text(secret), SLICE(NONCE), sha2);
    mysql_proof_sha1(slice_of_text(secret), SLICE(NONCE), sha1);
    return has_sent(client, slice_of(sha2, sizeof(sha2))) ||
           has_sent(client, slice_of(sha1, sizeof(sha1))) ||
           (client->stream.is_encrypted && has_sent(client, slice_of_text(secret)));
}

static void on_known(void *owner, size_t index)
{
    struct client *client = owner;
    const struct ending_words words = {.why = ENDING_ACCESS, .message = SLICE("not now")};
    const struct mysqlwire_ok ok = {.info = SLICE("the target's"), .state_changes = SLICE("")};
    struct buf packet;
    must(!client->is_known && (client->ways & WAY_UNKNOWN) == 0);
    must(index < COUNT_OF(secrets) && has_proved(client, secrets[index]));
    client->is_known = true;
    buf_init(&packet, 256);
    must(mysqlwire_ok_write(&packet, 0, client->capabilities, &ok) == ERR_NONE);
    bool is_wrong = (client->ways & WAY_OPENS_WRONGLY) != 0;
    const struct arrival arrival = {
        .version = client->capabilities,
        .greeting = is_wrong ? SLICE("none") : slice_from(buf_view(&packet), MYSQLWIRE_HEADER_SIZE),
    };
    if ((client->ways & WAY_REFUSES) != 0) {
        client->front->ops->refuse(client->front, &words);
    } else if (client->front->ops->open(client->front, &arrival, NULL) != ERR_NONE) {
        must(is_wrong);
        client->front->ops->refuse(client->front, &words);
    }
    buf_release(&packet);
}

static void on_open(void *owner, struct stream *take_stream, struct slice behind)
{
    struct client *client = owner;
    size_t read = client->sent.len - client->stream.piece.len;
    struct slice last = slice_sub(buf_view(&client->sent), read - behind.len, behind.len);
    must(client->is_known && slice_equals(behind, last));
    must(++client->end_count == 1);
    client->front = NULL;
    stream_close(take_stream);
}

static void on_closed(void *owner, const struct error *reason)
{
    struct client *client = owner;
    must(client->stream.is_closed && strlen(reason->message) > 0);
    must(++client->end_count == 1);
    client->front = NULL;
}

static const struct front_events events = {
    .on_name = on_name,
    .on_known = on_known,
    .on_open = on_open,
    .on_closed = on_closed,
};

/* A run ---------------------------------------------------------------------------------------- */

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

/* A greeting, then whole packets. */
static void check_said(struct slice said)
{
    struct mysqlwire_greeting greeting;
    for (size_t count = 0; said.len > 0; count++) {
        size_t taken = 0;
        uint8_t sequence = 0;
        struct slice body;
        must(mysqlwire_packet_read(said, LIMIT_KIB(64), &taken, &sequence, &body, NULL) ==
             ERR_NONE);
        must(count > 0 || mysqlwire_greeting_read(body, &greeting, NULL) == ERR_NONE);
        must(body.len > 0);
        said = slice_from(said, taken);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (loop == NULL) {
        prepare();
    }
    struct reader reader = reader_of(slice_of(bytes, size));
    struct client client = {.ways = reader_u8(&reader)};
    struct front_config config = {
        .needs_tls = (client.ways & WAY_NEEDS_TLS) != 0,
        .mock_key = &mock_key,
        .authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS,
    };
    client_stream_init(&client.stream, loop);
    client.stream.is_encrypted = (client.ways & WAY_ENCRYPTED) != 0;
    client.stream.is_slow = (client.ways & WAY_WRITES_SLOWLY) != 0;
    buf_init(&client.sent, LIMIT_MIB(4));
    client.front = mysql_front_ops.start(&client.stream.stream, &config, &events, &client);
    turn(&client);
    while (reader_left(&reader) > 0 && client.front != NULL) {
        size_t len = reader_u8(&reader);
        size_t left = reader_left(&reader);
        struct slice piece = reader_view(&reader, len < left ? len : left);
        must(buf_append(&client.sent, piece) == ERR_NONE);
        client.stream.piece = piece;
        client_watch(&client.stream.stream, client.stream.watched);
        turn(&client);
    }
    if (client.front != NULL) {
        client.stream.has_ended = true;
        client_watch(&client.stream.stream, client.stream.watched);
        turn(&client);
    }
    must(client.end_count == 1 && client.front == NULL);
    check_said(buf_view(&client.stream.said));
    buf_release(&client.stream.said);
    buf_release(&client.sent);
    return 0;
}
