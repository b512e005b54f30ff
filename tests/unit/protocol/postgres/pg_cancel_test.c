/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_cancel.h"

#include "base/limits.h"
#include "pg_help.h"

#include <sys/socket.h>

struct outcome {
    unsigned count;
    enum err err;
};

static void on_done(void *owner, const struct error *error)
{
    struct outcome *outcome = owner;
    outcome->count++;
    outcome->err = error == NULL ? ERR_NONE : error->code;
}

static struct pg_cancel *begin(struct peer *peer, const struct wish *wish, struct slice key,
                               struct outcome *outcome)
{
    *outcome = (struct outcome){0};
    struct stream *stream = peer_open(peer, wish);
    struct pg_cancel_settings settings = {
        .encryption = peer_encryption(peer),
        .key = {.number = 0x01020304, .secret = key},
        .timeout_ms = wish->timeout_ms == 0 ? 30000 : wish->timeout_ms,
    };
    return pg_cancel_start(stream, &settings, on_done, outcome);
}

static void finish(struct peer *peer, const struct outcome *outcome, enum err err)
{
    for (unsigned i = 0; i < 1000 && outcome->count == 0; i++) {
        (void)peer_await(peer, 1);
    }
    assert_int_equal(outcome->count, 1);
    assert_int_equal(outcome->err, err);
    peer_end(peer);
}

static void a_request_is_sent_and_the_end_awaited(void **state)
{
    (void)state;
    static char key[LIMIT_CANCEL_KEY_SIZE];
    static const size_t sizes[] = {4, 32, LIMIT_CANCEL_KEY_SIZE};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (enum place_tls mode = PLACE_TLS_DISABLE; mode <= PLACE_TLS_REQUIRE; mode++) {
            struct peer peer;
            struct outcome outcome;
            (void)begin(&peer, &(struct wish){.mode = mode}, slice_of(key, sizes[i]), &outcome);
            if (mode != PLACE_TLS_DISABLE) {
                peer_forget(&peer, peer_hear(&peer, 8).len);
                peer_say(&peer, mode == PLACE_TLS_PREFER ? SLICE("N") : SLICE("S"));
            }
            struct slice body = peer_hear_message(&peer, '\0');
            assert_bytes(slice_sub(body, 0, 8), "\x04\xd2\x16\x2e\1\2\3\4");
            assert_int_equal(body.len, 8 + sizes[i]);
            peer_turn(&peer);
            assert_int_equal(outcome.count, 0);
            peer_hang_up(&peer);
            finish(&peer, &outcome, ERR_NONE);
        }
    }
}

static void a_bad_network_changes_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct peer peer;
        struct outcome outcome;
        struct fault fault = {.is_short = true, .is_again = true, .seed = seed};
        (void)begin(&peer, &(struct wish){.fault = &fault}, SLICE("wxyz"), &outcome);
        assert_bytes(peer_hear_message(&peer, '\0'), "\x04\xd2\x16\x2e\1\2\3\4wxyz");
        peer_hang_up(&peer);
        finish(&peer, &outcome, ERR_NONE);
    }
}

static void what_goes_wrong_is_told(void **state)
{
    (void)state;
    struct peer peer;
    struct outcome outcome;
    (void)begin(&peer, &(struct wish){.timeout_ms = 100}, SLICE("wxyz"), &outcome);
    finish(&peer, &outcome, ERR_TIMEOUT);

    (void)begin(&peer, &(struct wish){.mode = PLACE_TLS_DISABLE}, SLICE("wxyz"), &outcome);
    peer_say(&peer, SLICE("E"));
    finish(&peer, &outcome, ERR_INPUT);

    (void)begin(&peer, &(struct wish){.mode = PLACE_TLS_REQUIRE}, SLICE("wxyz"), &outcome);
    peer_say(&peer, SLICE("N"));
    finish(&peer, &outcome, ERR_UNSUPPORTED);

    (void)begin(&peer, &(struct wish){.mode = PLACE_TLS_DISABLE}, SLICE("wxyz"), &outcome);
    assert_int_equal(shutdown(peer.fd, SHUT_RD), 0);
    finish(&peer, &outcome, ERR_IO);

    (void)begin(&peer, &(struct wish){.mode = PLACE_TLS_PREFER}, SLICE("wxyz"), &outcome);
    peer_hang_up(&peer);
    finish(&peer, &outcome, ERR_IO);
}

static void it_can_be_aborted_at_each_step(void **state)
{
    (void)state;
    for (unsigned step = 0; step < 5; step++) {
        struct peer peer;
        struct outcome outcome;
        struct wish wish = {.mode = PLACE_TLS_REQUIRE, .tls = step == 2 ? TLS_NEVER : TLS_AT_ONCE};
        struct pg_cancel *cancel = begin(&peer, &wish, SLICE("wxyz"), &outcome);
        if (step > 0) {
            peer_forget(&peer, peer_hear(&peer, 8).len);
        }
        if (step > 1) {
            peer_say(&peer, SLICE("S"));
        }
        if (step > 3) {
            (void)peer_hear_message(&peer, '\0');
        }
        pg_cancel_abort(cancel);
        peer_turn(&peer);
        assert_int_equal(outcome.count, 0);
        assert_int_equal(peer.tls_cancelled, step == 2);
        peer_end(&peer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_sent_and_the_end_awaited),
        cmocka_unit_test(a_bad_network_changes_nothing),
        cmocka_unit_test(what_goes_wrong_is_told),
        cmocka_unit_test(it_can_be_aborted_at_each_step),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_cancel", tests, NULL, NULL);
}
