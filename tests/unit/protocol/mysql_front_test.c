/* SPDX-License-Identifier: MIT */
/* The client's side of MySQL: what it sends decides, silence ends, and its owner is told from the
 * loop alone. */
#include "protocol/mysql/mysql_front.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "identity/native_credential.h"
#include "io/socket_stream.h"
#include "wire/mysqlwire_answer.h"
#include "wire/mysqlwire_frame.h"
#include "wire/mysqlwire_start.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define TURNS 200
#define CAPABILITIES                                                                               \
    (MYSQLWIRE_PROTOCOL_41 | MYSQLWIRE_SECURE_CONNECTION | MYSQLWIRE_PLUGIN_AUTH |                 \
     MYSQLWIRE_PLUGIN_AUTH_LENENC | MYSQLWIRE_TRANSACTIONS)

struct stage {
    struct loop *loop;
    struct front *front; /* NULL once it is gone */
    struct stream *taken;
    struct secret mock_key;
    struct mysqlwire_greeting greeting;
    struct buf heard;
    int client_fd;
    bool is_calling; /* the owner is inside of a call of its own */
    size_t known_count;
    size_t refused_count;
    size_t closed_count;
    enum err reason;
};

static void on_name(void *owner, struct slice name)
{
    struct stage *stage = owner;
    struct mysql_verifier verifier;
    char kept[NATIVE_VERIFIER_SIZE] = {0};
    mysql_verifier_make(SLICE("secret"), &verifier);
    memcpy(kept, verifier.sha2, sizeof(verifier.sha2));
    memcpy(kept + sizeof(verifier.sha2), verifier.sha1, sizeof(verifier.sha1));
    const struct slice slices[] = {slice_of(kept, sizeof(kept))};
    const struct front_verifiers verifiers = {.kept = slices,
                                              .count = slice_equals(name, SLICE("shop"))};
    assert_false(stage->is_calling);
    stage->is_calling = true;
    stage->front->ops->answer(stage->front, &verifiers);
    stage->is_calling = false;
}

static void on_refused(void *owner, struct slice name)
{
    struct stage *stage = owner;
    (void)name;
    assert_false(stage->is_calling);
    stage->refused_count++;
}

static void on_known(void *owner, size_t index)
{
    struct stage *stage = owner;
    struct slice ok = SLICE("\0\0\0\x02\0\0\0");
    const struct arrival arrival = {.greeting = ok, .version = CAPABILITIES};
    const struct cancel_key key = {.secret = SLICE("")};
    assert_true(!stage->is_calling && index == 0);
    stage->known_count++;
    stage->is_calling = true;
    assert_int_equal(stage->front->ops->open(stage->front, &arrival, &key), ERR_NONE);
    stage->is_calling = false;
}

static void on_open(void *owner, struct stream *take_stream, struct slice behind)
{
    struct stage *stage = owner;
    (void)behind;
    assert_false(stage->is_calling);
    stage->taken = take_stream;
    stage->front = NULL;
}

static void on_cancel(void *owner, const struct cancel_key *key)
{
    (void)owner;
    (void)key;
    fail();
}

static void on_closed(void *owner, const struct error *reason)
{
    struct stage *stage = owner;
    assert_false(stage->is_calling);
    stage->closed_count++;
    stage->reason = reason->code;
    stage->front = NULL;
}

static const struct front_events events = {
    .on_name = on_name,
    .on_refused = on_refused,
    .on_known = on_known,
    .on_open = on_open,
    .on_cancel = on_cancel,
    .on_closed = on_closed,
};

/* What the front has said since the last time. */
static void stage_turn(struct stage *stage)
{
    for (int i = 0; i < TURNS; i++) {
        char bytes[512];
        const struct timespec moment = {.tv_nsec = 100000};
        loop_turn(stage->loop);
        ssize_t len = recv(stage->client_fd, bytes, sizeof(bytes), 0);
        if (len > 0) {
            must(buf_append(&stage->heard, slice_of(bytes, (size_t)len)) == ERR_NONE);
        } else {
            (void)nanosleep(&moment, NULL);
        }
    }
}

static struct slice stage_heard(struct stage *stage, uint8_t sequence)
{
    struct slice body = SLICE_NONE;
    uint8_t found = 0;
    size_t taken = 0;
    assert_int_equal(
        mysqlwire_packet_read(buf_view(&stage->heard), 65536, &taken, &found, &body, NULL),
        ERR_NONE);
    assert_int_equal(found, sequence);
    buf_consume(&stage->heard, taken);
    return body;
}

static void stage_start(struct stage *stage, bool needs_tls, uint64_t authentication_ms)
{
    int fds[2];
    struct error error;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    *stage = (struct stage){.loop = loop_new(NULL), .client_fd = fds[1]};
    secret_init(&stage->mock_key);
    must(secret_set(&stage->mock_key, SLICE("a key of the test's own")) == ERR_NONE);
    buf_init(&stage->heard, 65536);
    const struct front_config config = {.needs_tls = needs_tls,
                                        .mock_key = &stage->mock_key,
                                        .authentication_ms = authentication_ms};
    stage->front =
        mysql_front_ops.start(socket_stream_new(stage->loop, fds[0]), &config, &events, stage);
    stage_turn(stage);
    assert_int_equal(mysqlwire_greeting_read(stage_heard(stage, 0), &stage->greeting, &error),
                     ERR_NONE);
    assert_true(slice_equals(stage->greeting.plugin, SLICE(MYSQLWIRE_PLUGIN_SHA2)));
    assert_int_equal(stage->greeting.capabilities & MYSQLWIRE_SSL, 0);
    assert_int_equal(stage->greeting.capabilities & (MYSQLWIRE_COMPRESS | MYSQLWIRE_ZSTD),
                     MYSQLWIRE_COMPRESS | MYSQLWIRE_ZSTD);
}

static void stage_end(struct stage *stage)
{
    (void)close(stage->client_fd);
    if (stage->front != NULL) {
        stage->front->ops->close(stage->front);
    }
    if (stage->taken != NULL) {
        stream_close(stage->taken);
    }
    for (int i = 0; i < 4; i++) {
        loop_turn(stage->loop);
    }
    loop_free(stage->loop);
    buf_release(&stage->heard);
    secret_release(&stage->mock_key);
}

static void stage_send(struct stage *stage, struct slice bytes)
{
    assert_int_equal(send(stage->client_fd, bytes.at, bytes.len, 0), bytes.len);
    stage_turn(stage);
}

static void stage_answer(struct stage *stage, const char *user, struct slice plugin,
                         struct slice proof)
{
    struct buf buf;
    const struct mysqlwire_response response = {.capabilities = CAPABILITIES,
                                                .packet_max = 1 << 24,
                                                .charset = MYSQLWIRE_UTF8MB4,
                                                .user = slice_of_text(user),
                                                .proof = proof,
                                                .plugin = plugin};
    buf_init(&buf, 1024);
    must(mysqlwire_response_write(&buf, 1, &response) == ERR_NONE);
    stage_send(stage, buf_view(&buf));
    buf_release(&buf);
}

static void expect_error(struct stage *stage, uint8_t sequence, uint16_t number)
{
    struct mysqlwire_error told;
    struct error error;
    assert_int_equal(mysqlwire_error_read(stage_heard(stage, sequence), &told, &error), ERR_NONE);
    assert_int_equal(told.number, number);
}

static void the_right_proof_opens(void **state)
{
    (void)state;
    struct stage stage;
    unsigned char proof[MYSQL_PROOF_SHA2_SIZE];
    stage_start(&stage, false, 60000);
    mysql_proof_sha2(SLICE("secret"), stage.greeting.scramble, proof);
    stage_answer(&stage, "shop;ticket=1", SLICE(MYSQLWIRE_PLUGIN_SHA2),
                 slice_of(proof, sizeof(proof)));
    assert_true(slice_equals(stage_heard(&stage, 2), SLICE("\x01\x03")));
    assert_int_equal(stage_heard(&stage, 3).at[0], 0);
    assert_int_equal(stage.known_count, 1);
    assert_non_null(stage.taken);
    stage_end(&stage);
}

static void who_cannot_is_asked_for_another(void **state)
{
    (void)state;
    struct stage stage;
    struct mysqlwire_switch asked;
    struct error error;
    struct buf buf;
    unsigned char proof[MYSQL_PROOF_SHA1_SIZE];
    stage_start(&stage, false, 60000);
    stage_answer(&stage, "shop", SLICE(MYSQLWIRE_PLUGIN_NATIVE), SLICE(""));
    assert_int_equal(mysqlwire_switch_read(stage_heard(&stage, 2), &asked, &error), ERR_NONE);
    assert_true(slice_equals(asked.plugin, SLICE(MYSQLWIRE_PLUGIN_NATIVE)));
    assert_false(slice_equals(mysqlwire_scramble_of(asked.data), stage.greeting.scramble));
    mysql_proof_sha1(SLICE("secret"), mysqlwire_scramble_of(asked.data), proof);
    buf_init(&buf, 64);
    must(mysqlwire_data_write(&buf, 3, slice_of(proof, sizeof(proof)), SLICE("")) == ERR_NONE);
    stage_send(&stage, buf_view(&buf));
    assert_int_equal(stage_heard(&stage, 4).at[0], 0);
    assert_non_null(stage.taken);
    buf_release(&buf);
    stage_end(&stage);
}

/* In the same words, and told to the owner once. */
static void a_wrong_proof_and_an_unknown_name_are_one(void **state)
{
    (void)state;
    static const char *const users[] = {"shop", "nobody", ""};
    for (size_t i = 0; i < COUNT_OF(users); i++) {
        struct stage stage;
        unsigned char proof[MYSQL_PROOF_SHA2_SIZE];
        stage_start(&stage, false, 60000);
        mysql_proof_sha2(i == 0 ? SLICE("wrong") : SLICE("secret"), stage.greeting.scramble, proof);
        stage_answer(&stage, users[i], SLICE(MYSQLWIRE_PLUGIN_SHA2),
                     slice_of(proof, sizeof(proof)));
        expect_error(&stage, 2, 1045);
        assert_int_equal(stage.refused_count, 1);
        assert_int_equal(stage.known_count, 0);
        stage_end(&stage);
    }
}

/* The first may be of a client that would rather be asked; the second is an empty password. */
static void an_empty_proof_is_asked_for_once(void **state)
{
    (void)state;
    struct stage stage;
    struct mysqlwire_switch asked;
    struct error error;
    struct buf buf;
    stage_start(&stage, false, 60000);
    stage_answer(&stage, "shop", SLICE(MYSQLWIRE_PLUGIN_SHA2), SLICE(""));
    assert_int_equal(mysqlwire_switch_read(stage_heard(&stage, 2), &asked, &error), ERR_NONE);
    assert_true(slice_equals(asked.plugin, SLICE(MYSQLWIRE_PLUGIN_SHA2)));
    buf_init(&buf, 64);
    must(mysqlwire_data_write(&buf, 3, SLICE(""), SLICE("")) == ERR_NONE);
    stage_send(&stage, buf_view(&buf));
    expect_error(&stage, 4, 1045);
    buf_release(&buf);
    stage_end(&stage);
}

static void a_secret_in_clear_text_is_not_asked_for(void **state)
{
    (void)state;
    struct stage stage;
    struct mysqlwire_switch asked;
    struct error error;
    stage_start(&stage, false, 60000);
    stage_answer(&stage, "shop", SLICE(MYSQLWIRE_PLUGIN_CLEAR), SLICE(""));
    assert_int_equal(mysqlwire_switch_read(stage_heard(&stage, 2), &asked, &error), ERR_NONE);
    assert_true(slice_equals(asked.plugin, SLICE(MYSQLWIRE_PLUGIN_SHA2)));
    stage_end(&stage);
}

static void without_tls_where_it_is_needed(void **state)
{
    (void)state;
    struct stage stage;
    stage_start(&stage, true, 60000);
    stage_answer(&stage, "shop", SLICE(MYSQLWIRE_PLUGIN_SHA2), SLICE("x"));
    expect_error(&stage, 2, 3159);
    stage_end(&stage);
}

static void silence_and_nonsense_end_it(void **state)
{
    (void)state;
    static const struct slice said[] = {SLICE_INIT(""), SLICE_INIT("\x20"),
                                        SLICE_INIT("\xff\xff\xff\x01"), SLICE_INIT("\x01\0\0\x07x"),
                                        SLICE_INIT("\x03\0\0\x01\x05\0\0")};
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        struct stage stage;
        stage_start(&stage, false, 60000); /* it is not the time that ends it */
        stage_send(&stage, said[i]);
        for (int turn = 0; turn < 20 && stage.closed_count == 0; turn++) {
            (void)shutdown(stage.client_fd, i == 4 ? SHUT_WR : SHUT_RDWR);
            stage_turn(&stage);
        }
        assert_int_equal(stage.closed_count, 1);
        assert_null(stage.front);
        assert_int_equal(stage.known_count + stage.refused_count, 0);
        stage_end(&stage);
    }
    struct stage stage; /* the time is enough of a reason */
    stage_start(&stage, false, 20);
    for (int turn = 0; turn < 1000 && stage.closed_count == 0; turn++) {
        stage_turn(&stage);
    }
    assert_int_equal(stage.closed_count, 1);
    assert_int_equal(stage.reason, ERR_TIMEOUT);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_right_proof_opens),
        cmocka_unit_test(who_cannot_is_asked_for_another),
        cmocka_unit_test(a_wrong_proof_and_an_unknown_name_are_one),
        cmocka_unit_test(an_empty_proof_is_asked_for_once),
        cmocka_unit_test(a_secret_in_clear_text_is_not_asked_for),
        cmocka_unit_test(without_tls_where_it_is_needed),
        cmocka_unit_test(silence_and_nonsense_end_it),
    };
    (void)signal(SIGPIPE, SIG_IGN); /* the client writes to a front that left */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
