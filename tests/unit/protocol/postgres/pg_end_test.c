/* SPDX-License-Identifier: MIT */
/* However it ends in the middle: the server closes, nothing comes, it is cancelled, the network
 * breaks; at each step, with and without TLS. */
#include "pg_help.h"

#include <poll.h>
#include <sys/socket.h>

static const struct scram_end_point end_point = {.bytes = "the certificate", .size = 32};

enum step {
    STARTED,
    TLS_ASKED,
    TLS_ACCEPTED,
    TOLD,
    HALF_A_MESSAGE,
    SASL,
    COMPUTING, /* the secret is at it, on the pool */
    PROVED,
    SIGNED_IN,
    NEARLY_READY,
    STEP_COUNT,
};

/* As far as this step; returns early when the target has ended. */
static void serve_until(struct peer *peer, enum step step, struct arena *arena)
{
    struct slice last;
    if (step >= TLS_ASKED) {
        peer_forget(peer, peer_hear(peer, 8).len);
    }
    if (step >= TLS_ACCEPTED && peer->done_count == 0) {
        peer_say(peer, SLICE("S"));
    }
    if (step >= TOLD && peer->done_count == 0) {
        (void)peer_hear_message(peer, '\0');
    }
    if (step == HALF_A_MESSAGE) {
        peer_say(peer, SLICE("R\0\0\0\x17\0\0\0\x0aSCR"));
    }
    if (step == SASL || step == COMPUTING) {
        say_sasl(peer, "SCRAM-SHA-256-PLUS", NULL);
    }
    if (step == COMPUTING) {
        struct pgwire_sasl_initial initial = {0};
        struct slice body = peer_hear_message(peer, 'p');
        assert_int_equal(pgwire_sasl_initial_read(body, &initial, NULL), ERR_NONE);
        struct slice nonce = initial.response;
        size_t at = slice_find(nonce, SLICE("r="));
        struct slice message = arena_format(arena, "%.*s+,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=200000",
                                            SLICE_ARG(slice_from(nonce, at)));
        say_auth(peer, PGWIRE_AUTH_SASL_CONTINUE, message);
    }
    if (step >= PROVED && peer->done_count == 0) {
        say_sasl(peer, "SCRAM-SHA-256-PLUS", "SCRAM-SHA-256");
        serve_scram(peer, "SCRAM-SHA-256-PLUS", &last, arena);
        say_auth(peer, PGWIRE_AUTH_SASL_FINAL, last);
    }
    if (step >= SIGNED_IN) {
        say_auth(peer, PGWIRE_AUTH_OK, SLICE_NONE);
    }
    if (step >= NEARLY_READY) {
        peer_say(peer, SLICE("S\0\0\0\x08x\0y\0K\0\0\0\x0c\0\0\0\x07wxyzZ\0\0\0\5"));
    }
}

static const struct wish over_tls = {
    .mode = PLACE_TLS_REQUIRE, .tls = TLS_AT_ONCE, .end_point = &end_point};

static void can_be_cancelled_at_each_step(void **state)
{
    (void)state;
    for (enum step step = STARTED; step < STEP_COUNT; step++) {
        struct peer peer;
        struct arena arena;
        char byte = 0;
        arena_init(&arena);
        peer_start(&peer, &over_tls);
        serve_until(&peer, step, &arena);
        pg_target_cancel(peer.target);
        peer.target = NULL;
        assert_false(peer_await(&peer, 3));
        while (recv(peer.fd, &byte, 1, 0) > 0) {
        }
        assert_int_equal(recv(peer.fd, &byte, 1, 0), 0); /* the stream is closed */
        peer_end(&peer);
        arena_release(&arena);
    }
}

static void can_be_cancelled_while_tls_is_put_on(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, &(struct wish){.mode = PLACE_TLS_REQUIRE, .tls = TLS_NEVER});
    (void)peer_hear(&peer, 8);
    peer_say(&peer, SLICE("S"));
    assert_non_null(peer.below);
    pg_target_cancel(peer.target);
    peer.target = NULL;
    assert_true(peer.tls_cancelled);
    assert_false(peer_await(&peer, 3));
    peer_end(&peer);
}

static void has_a_deadline_at_each_step(void **state)
{
    (void)state;
    static const char *const words[STEP_COUNT] = {
        [STARTED] = "TLS was not agreed on",    [TLS_ASKED] = "TLS was not agreed on",
        [TLS_ACCEPTED] = "not said a word",     [TOLD] = "not said a word",
        [HALF_A_MESSAGE] = "sign-in was under", [SASL] = "sign-in was under",
        [COMPUTING] = "sign-in was under",      [PROVED] = "sign-in was under",
        [SIGNED_IN] = "it was signed in to",    [NEARLY_READY] = "it was signed in to",
    };
    for (enum step step = STARTED; step < STEP_COUNT; step++) {
        struct peer peer;
        struct arena arena;
        struct wish wish = over_tls;
        arena_init(&arena);
        wish.timeout_ms = 800;
        peer_start(&peer, &wish);
        serve_until(&peer, step, &arena);
        assert_failed(&peer, ERR_TIMEOUT, "08001", words[step]);
        peer_end(&peer);
        arena_release(&arena);
    }
    struct peer peer;
    peer_start(&peer,
               &(struct wish){.mode = PLACE_TLS_REQUIRE, .tls = TLS_NEVER, .timeout_ms = 100});
    (void)peer_hear(&peer, 8);
    peer_say(&peer, SLICE("S"));
    assert_failed(&peer, ERR_TIMEOUT, "08001", "TLS was not agreed on");
    assert_true(peer.tls_cancelled);
    peer_end(&peer);
}

/* A byte now and then does not move the deadline. */
static void a_slow_server_does_not_gain_time(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, &(struct wish){.timeout_ms = 200});
    (void)peer_hear_message(&peer, '\0');
    for (size_t i = 0; i < 100 && peer.done_count == 0; i++) {
        static const char text[] = "N\0\0\0\x0aMhey\0\0";
        peer_say(&peer, slice_of(text + i % 11, 1));
        (void)poll(NULL, 0, 10);
    }
    assert_failed(&peer, ERR_TIMEOUT, "08001", "was not ready in time");
    peer_end(&peer);
}

static void a_server_may_close_at_each_step(void **state)
{
    (void)state;
    for (enum step step = STARTED; step < STEP_COUNT; step++) {
        struct peer peer;
        struct arena arena;
        arena_init(&arena);
        peer_start(&peer, &over_tls);
        serve_until(&peer, step, &arena);
        peer_turn(&peer);
        peer_hang_up(&peer);
        assert_true(peer_await(&peer, 2000));
        assert_null(peer.stream);
        assert_string_equal(peer.failure.code, "08006");
        assert_true(peer.failure.error.code == ERR_CLOSED || peer.failure.error.code == ERR_IO);
        peer_end(&peer);
        arena_release(&arena);
    }
}

static void a_close_says_when_it_was(void **state)
{
    (void)state;
    static const struct {
        struct slice bytes;
        const char *words;
    } cases[] = {
        {SLICE_INIT(""), "closes the connection without a word"},
        {SLICE_INIT("N\0\0\0\x0aMhey\0\0"), "closes the connection in the middle of the sign-in"},
        {SLICE_INIT("R\0\0\0\x08\0\0\0\0"), "closes the connection before it is ready"},
        {SLICE_INIT("R\0\0\0\x08\0\0\0\0Z\0\0\0"), "closes the connection before it is ready"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        peer_start(&peer, &(struct wish){.mode = PLACE_TLS_DISABLE});
        (void)peer_hear_message(&peer, '\0');
        peer_say(&peer, cases[i].bytes);
        peer_hang_up(&peer);
        assert_failed(&peer, ERR_CLOSED, "08006", cases[i].words);
        peer_end(&peer);
    }
}

/* A server without room says so and leaves without having read a byte. */
static void the_last_word_of_a_server_that_does_not_listen_is_heard(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, &(struct wish){.mode = PLACE_TLS_DISABLE});
    assert_int_equal(send(peer.fd,
                          "E\0\0\0\x0f"
                          "C53300\0Mx\0\0",
                          16, 0),
                     16);
    assert_int_equal(shutdown(peer.fd, SHUT_RD), 0);
    assert_failed(&peer, ERR_DENIED, "53300", "x (53300)");
    peer_end(&peer);

    peer_start(&peer, &(struct wish){.mode = PLACE_TLS_DISABLE});
    peer_hang_up(&peer);
    assert_failed(&peer, ERR_IO, "08006", "breaks the connection without a word");
    peer_end(&peer);
}

static void an_answer_that_cannot_be_sent_ends_it(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, &(struct wish){.mode = PLACE_TLS_DISABLE});
    assert_int_equal(send(peer.fd, "R\0\0\0\x08\0\0\0\3", 9, 0), 9);
    assert_int_equal(shutdown(peer.fd, SHUT_RD), 0);
    assert_failed(&peer, ERR_IO, "08006", "breaks the connection in the middle of the sign-in");
    peer_end(&peer);
}

static void every_call_may_break(void **state)
{
    (void)state;
    for (uint64_t at = 1; at < 40; at++) {
        struct peer peer;
        struct arena arena;
        struct fault fault = {.fail_at = at};
        struct wish wish = over_tls;
        arena_init(&arena);
        wish.fault = &fault;
        peer_start(&peer, &wish);
        serve_until(&peer, NEARLY_READY, &arena);
        peer_say(&peer, SLICE("I"));
        assert_true(peer_await(&peer, 2000));
        if (peer.stream == NULL) {
            assert_string_equal(peer.failure.code, "08006");
        }
        peer_end(&peer);
        arena_release(&arena);
    }
}

/* TLS ----------------------------------------------------------------------------------------- */

static void ask_for_tls(struct peer *peer, enum place_tls mode, enum tls_stub tls)
{
    peer_start(peer, &(struct wish){.mode = mode, .tls = tls});
    assert_bytes(peer_hear(peer, 8), "\0\0\0\x08\x04\xd2\x16\x2f");
    peer_forget(peer, 8);
}

static void a_server_without_tls_is_good_enough_for_prefer_alone(void **state)
{
    (void)state;
    for (enum place_tls mode = PLACE_TLS_PREFER; mode <= PLACE_TLS_VERIFY_FULL; mode++) {
        struct peer peer;
        ask_for_tls(&peer, mode, TLS_AT_ONCE);
        peer_say(&peer, SLICE("N"));
        if (mode == PLACE_TLS_PREFER) {
            assert_bytes(peer_hear_message(&peer, '\0'), "\0\3\0\0user\0gate\0database\0sales\0\0");
            say_auth(&peer, PGWIRE_AUTH_OK, SLICE_NONE);
            say_session(&peer);
            assert_ready(&peer);
            assert_false(stream_is_encrypted(peer.stream));
        } else {
            assert_failed(&peer, ERR_UNSUPPORTED, "08001", "the target does not support TLS");
            assert_int_equal(peer.heard.len, 0);
        }
        peer_end(&peer);
    }
}

static void nothing_in_plain_text_follows_a_consent(void **state)
{
    (void)state;
    static const struct slice answers[] = {
        SLICE_INIT("SR"),
        SLICE_INIT("SS"),
        SLICE_INIT("NR"),
        SLICE_INIT("SR\0\0\0\x08\0\0\0\0Z\0\0\0\5I and more than one read takes"),
    };
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        struct peer peer;
        ask_for_tls(&peer, PLACE_TLS_PREFER, TLS_AT_ONCE);
        peer_say(&peer, answers[i]);
        assert_failed(&peer, ERR_INPUT, "08P01", "somebody stands in between");
        assert_null(peer.below);
        peer_end(&peer);
    }
}

static void an_error_instead_of_consent_ends_it(void **state)
{
    (void)state;
    struct peer peer;
    ask_for_tls(&peer, PLACE_TLS_PREFER, TLS_AT_ONCE);
    say_error(&peer, "53300", "words that anybody could have put there");
    assert_failed(&peer, ERR_UNSUPPORTED, "08001", "answers with an error");
    assert_int_equal(slice_find(buf_view(&peer.answer), SLICE("anybody")), peer.answer.len);
    peer_end(&peer);
}

static void tls_that_fails_ends_it(void **state)
{
    (void)state;
    struct peer peer;
    ask_for_tls(&peer, PLACE_TLS_PREFER, TLS_FAILS);
    peer_say(&peer, SLICE("S"));
    assert_failed(&peer, ERR_UNAVAILABLE, "08001", "certificate is not for this host");
    peer_end(&peer);
    ask_for_tls(&peer, PLACE_TLS_REQUIRE, TLS_NONE_AFTER_ALL);
    peer_say(&peer, SLICE("S"));
    assert_failed(&peer, ERR_INTERNAL, "08001", "not encrypted after all");
    peer_end(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(can_be_cancelled_at_each_step),
        cmocka_unit_test(can_be_cancelled_while_tls_is_put_on),
        cmocka_unit_test(has_a_deadline_at_each_step),
        cmocka_unit_test(a_slow_server_does_not_gain_time),
        cmocka_unit_test(a_server_may_close_at_each_step),
        cmocka_unit_test(a_close_says_when_it_was),
        cmocka_unit_test(the_last_word_of_a_server_that_does_not_listen_is_heard),
        cmocka_unit_test(an_answer_that_cannot_be_sent_ends_it),
        cmocka_unit_test(every_call_may_break),
        cmocka_unit_test(a_server_without_tls_is_good_enough_for_prefer_alone),
        cmocka_unit_test(nothing_in_plain_text_follows_a_consent),
        cmocka_unit_test(an_error_instead_of_consent_ends_it),
        cmocka_unit_test(tls_that_fails_ends_it),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_end", tests, NULL, NULL);
}
