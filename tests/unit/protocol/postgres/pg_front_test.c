/* SPDX-License-Identifier: MIT */
/* Clients that get in, what the owner is told, and how connections end. */
#include "protocol/postgres/pg_front.h"

#include "base/limits.h"
#include "base/memory.h"
#include "pg_front_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_WISH ((struct peer_wish){.fault = NULL})

static void a_client_signs_in_and_the_stream_is_taken(void **state)
{
    (void)state;
    static const char *const passwords[] = {"password 0", "password 1", "password 2"};
    for (size_t i = 0; i < COUNT_OF(passwords); i++) {
        struct peer peer;
        peer_start(&peer, NO_WISH);
        peer_sign_in(&peer, passwords[i]);
        assert_true(peer_takes_session(&peer));
        assert_true(scram_client_is_done(peer.scram));
        assert_int_equal(peer.known_count, 1);
        assert_int_equal(peer.index, i);
        assert_int_equal(peer.open_count, 1);
        assert_int_equal(peer.name_count, 1);
        assert_int_equal(peer.refused_count + peer.closed_count, 0);
        assert_non_null(peer.taken);
        assert_int_equal(peer.behind.len, 0);
        peer_end(&peer);
    }
}

static void the_startup_is_kept_and_read(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.opens_late = true});
    const struct pgwire_parameter parameters[] = {{SLICE("user"), SLICE(PEER_NAME)},
                                                  {SLICE("replication"), SLICE("off")},
                                                  {SLICE("application_name"), SLICE("psql")}};
    assert_null(pg_front_startup(peer.front));
    peer_send_startup(&peer, PGWIRE_VERSION(3, 2), parameters, COUNT_OF(parameters));
    peer_choose(&peer, "password 1");
    peer_prove(&peer);
    assert_int_equal(peer.known_count, 1);
    const struct pgwire_startup *startup = pg_front_startup(peer.front);
    assert_int_equal(startup->version, PGWIRE_VERSION(3, 2));
    assert_true(slice_equals(startup->user, SLICE(PEER_NAME)));
    assert_true(slice_equals(startup->database, SLICE(PEER_NAME)));
    assert_true(
        slice_equals(pgwire_startup_find(startup, SLICE("application_name")), SLICE("psql")));
    assert_int_equal(peer.said.len, 0); /* the end of authentication waits for the session */
    peer_end(&peer);
}

static void every_cut_of_the_bytes_is_the_same(void **state)
{
    (void)state;
    size_t total = 0;
    for (size_t cut = 0; cut == 0 || cut < total; cut++) {
        struct peer peer;
        peer_start(&peer, NO_WISH);
        peer.cut_at = cut;
        peer_send_request(&peer, PGWIRE_GSSENC_REQUEST);
        assert_int_equal(peer_take_byte(&peer), 'N');
        peer_send_request(&peer, PGWIRE_SSL_REQUEST);
        assert_int_equal(peer_take_byte(&peer), 'N');
        peer_sign_in(&peer, "password 1");
        assert_true(peer_takes_session(&peer));
        total = peer.sent;
        peer_end(&peer);
    }
    assert_true(total > 200);
}

static void every_size_of_pieces_is_the_same(void **state)
{
    (void)state;
    static const struct slice faults[] = {SLICE_INIT("short"), SLICE_INIT("again"),
                                          SLICE_INIT("short,again")};
    for (size_t size = 1; size < 12; size++) {
        struct peer peer;
        struct fault fault = {0};
        struct slice text = faults[size % COUNT_OF(faults)];
        assert_int_equal(fault_parse(text, &fault, NULL), ERR_NONE);
        peer_start(&peer, (struct peer_wish){.fault = size > 3 ? &fault : NULL});
        peer.piece_size = size;
        peer_sign_in(&peer, "password 2");
        assert_true(peer_takes_session(&peer));
        assert_int_equal(peer.index, 2);
        peer_end(&peer);
    }
}

/* False when the connection broke. */
static bool gets_in(struct peer *peer)
{
    peer_begin(peer);
    if (peer->said.len == 0) {
        return false;
    }
    peer_choose(peer, "password 0");
    if (peer->said.len == 0) {
        return false;
    }
    peer_prove(peer);
    return peer->said.len > 0;
}

static void a_connection_may_break_at_any_call(void **state)
{
    (void)state;
    bool got_in = false;
    for (uint64_t at = 1; !got_in; at++) {
        struct peer peer;
        struct fault fault = {.fail_at = at};
        peer_start(&peer, (struct peer_wish){.fault = &fault});
        got_in = gets_in(&peer);
        assert_int_equal(peer.closed_count, got_in ? 0 : 1);
        assert_true(got_in || peer.reason.code == ERR_IO);
        assert_int_equal(peer.open_count, got_in ? 1 : 0);
        assert_true(at < 30);
        peer_end(&peer);
    }
}

static void bytes_behind_the_proof_go_with_the_stream(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.opens_late = true});
    peer_sign_in(&peer, "password 0");
    peer_send_message(&peer, 'Q', SLICE("select 1\0"));
    assert_int_equal(peer.open_count, 0);
    peer_ready(&peer);
    peer_turn(&peer);
    assert_int_equal(peer.open_count, 1);
    assert_true(slice_equals(peer.behind, SLICE("Q\0\0\0\x0dselect 1\0")));
    assert_true(peer_takes_session(&peer));
    peer_end(&peer);
}

static void who_sends_much_behind_the_proof_waits(void **state)
{
    (void)state;
    struct peer peer;
    char bytes[3 * LIMIT_PG_FRONT_INPUT_SIZE];
    memset(bytes, 'x', sizeof(bytes));
    peer_start(&peer, (struct peer_wish){.opens_late = true});
    peer_sign_in(&peer, "password 0");
    peer_send(&peer, slice_of(bytes, sizeof(bytes)));
    peer_ready(&peer);
    peer_turn(&peer);
    assert_int_equal(peer.behind.len, LIMIT_PG_FRONT_INPUT_SIZE);
    size_t len = 0;
    assert_int_equal(stream_read(peer.taken, bytes, sizeof(bytes), &len), ERR_NONE);
    assert_int_equal(len, 2 * LIMIT_PG_FRONT_INPUT_SIZE); /* the rest is where it was */
    peer_end(&peer);
}

static void answers_come_later(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.answers_late = true, .opens_late = true});
    peer_begin(&peer);
    assert_int_equal(peer.name_count, 0); /* who asks for a password first costs no search */
    peer_choose(&peer, "password 2");
    assert_int_equal(peer.name_count, 1);
    assert_int_equal(peer.said.len, 0);
    peer_answer(&peer);
    assert_int_equal(peer.said.len, 0); /* nothing happens inside the owner's call */
    peer_turn(&peer);
    peer_prove(&peer);
    assert_int_equal(peer.known_count, 1);
    assert_int_equal(peer.open_count, 0);
    peer_ready(&peer);
    assert_int_equal(peer.open_count, 0);
    peer_turn(&peer);
    assert_true(peer_takes_session(&peer));
    peer_end(&peer);
}

static void cancel_requests_reach_the_owner(void **state)
{
    (void)state;
    struct peer peer;
    struct buf buf;
    char secret[LIMIT_CANCEL_KEY_SIZE];
    memset(secret, 's', sizeof(secret));
    for (size_t size = PGWIRE_KEY_SIZE_MIN; size <= sizeof(secret); size += 84) {
        const struct pgwire_key key = {.process = 77, .secret = slice_of(secret, size)};
        peer_start(&peer, (struct peer_wish){.needs_tls = true}); /* libpq cancels without TLS */
        peer.piece_size = size % 5;
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(pgwire_cancel_write(&buf, &key), ERR_NONE);
        peer_send(&peer, buf_view(&buf));
        assert_int_equal(peer.cancel_count, 1);
        assert_int_equal(peer.cancel_process, 77);
        assert_true(slice_equals(peer.cancel_secret, key.secret));
        assert_true(peer.is_closed);
        assert_int_equal(peer.said.len, 0);
        peer_leave(&peer);
        peer_turn(&peer);
        assert_int_equal(peer.closed_count, 1);
        assert_int_equal(peer.reason.code, ERR_NONE);
        buf_release(&buf);
        peer_end(&peer);
    }
}

static void a_cancel_request_ends_when_it_was_done(void **state)
{
    (void)state;
    static const char request[] = "\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x4dkeys";
    for (int way = 0; way < 3; way++) {
        struct peer peer;
        peer_start(&peer, (struct peer_wish){.cancels_late = true});
        peer_send(&peer, slice_of(request, sizeof(request) - 1));
        assert_int_equal(peer.cancel_count, 1);
        assert_false(peer.is_closed);
        if (way == 0) {
            pg_front_cancelled(peer.front);
        } else if (way == 1) {
            pg_front_fail(peer.front, SLICE("57P01"), SLICE("it stops"), SLICE(""));
        }
        peer_leave(&peer);
        peer_turn(&peer);
        assert_int_equal(peer.said.len, 0);
        assert_int_equal(peer.closed_count, 1);
        peer_end(&peer);
    }
}

static void what_is_being_opened_can_still_fail(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.opens_late = true});
    peer_sign_in(&peer, "password 0");
    peer_ready(&peer);
    pg_front_fail(peer.front, SLICE("57P01"), SLICE("it was revoked"), SLICE(""));
    peer_turn(&peer);
    assert_int_equal(peer.open_count, 0);
    (void)peer_takes_session(&peer);
    assert_string_equal(peer_take_fatal(&peer, "57P01"), "it was revoked");
    peer_leave(&peer);
    peer_turn(&peer);
    assert_int_equal(peer.closed_count, 1);
    peer_end(&peer);
}

static void newer_versions_and_options_are_negotiated(void **state)
{
    (void)state;
    static const struct {
        uint32_t asked;
        uint32_t agreed;
        struct slice option;
        bool is_said;
    } cases[] = {
        {PGWIRE_VERSION(3, 0), PGWIRE_VERSION(3, 0), SLICE_INIT("options"), false},
        {PGWIRE_VERSION(3, 2), PGWIRE_VERSION(3, 2), SLICE_INIT("options"), false},
        {PGWIRE_VERSION(3, 3), PGWIRE_VERSION(3, 2), SLICE_INIT("options"), true},
        {PGWIRE_VERSION(3, 9999), PGWIRE_VERSION(3, 2), SLICE_INIT("_pq_.grease"), true},
        {PGWIRE_VERSION(3, 0), PGWIRE_VERSION(3, 0), SLICE_INIT("_pq_.other"), true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        struct slice body;
        peer_start(&peer, NO_WISH);
        const struct pgwire_parameter parameters[] = {{SLICE("user"), SLICE(PEER_NAME)},
                                                      {cases[i].option, SLICE("x")}};
        peer_send_startup(&peer, cases[i].asked, parameters, COUNT_OF(parameters));
        if (cases[i].is_said) {
            struct pgwire_negotiation negotiation;
            struct slice name;
            assert_int_equal(peer_take(&peer, &body), PGWIRE_SERVER_NEGOTIATE_VERSION);
            assert_int_equal(pgwire_negotiation_read(body, &negotiation, NULL), ERR_NONE);
            assert_int_equal(negotiation.version, cases[i].agreed);
            bool is_option = pgwire_is_protocol_option(cases[i].option);
            assert_int_equal(negotiation.name_count, is_option ? 1 : 0);
            assert_int_equal(pgwire_name_next(&negotiation.unknown, &name), is_option);
            assert_true(!is_option || slice_equals(name, cases[i].option));
        }
        assert_int_equal(pg_front_startup(peer.front)->version, cases[i].agreed);
        peer_choose(&peer, "password 0");
        peer_prove(&peer);
        assert_true(peer_takes_session(&peer));
        peer_end(&peer);
    }
}

/* Brings a client to one of the stages, from its first byte to the open session. */
#define STAGE_COUNT 6
static void bring_to(struct peer *peer, size_t stage, struct peer_wish wish)
{
    wish.answers_late = true;
    wish.opens_late = true;
    peer_start(peer, wish);
    if (stage == 1) {
        peer_send(peer, SLICE("\0\0\0"));
    }
    if (stage >= 2) {
        peer_begin(peer);
    }
    if (stage >= 3) {
        peer_choose(peer, "password 0");
    }
    if (stage >= 4) {
        peer_answer(peer);
        peer_turn(peer);
    }
    if (stage >= 5) {
        peer_prove(peer);
        assert_int_equal(peer->known_count, 1);
    }
}

static void a_client_that_leaves_is_told_of_once(void **state)
{
    (void)state;
    for (size_t stage = 0; stage < STAGE_COUNT; stage++) {
        struct peer peer;
        bring_to(&peer, stage, NO_WISH);
        peer_leave(&peer);
        peer_turn(&peer);
        assert_int_equal(peer.closed_count, 1);
        assert_int_equal(peer.reason.code, ERR_CLOSED);
        assert_string_equal(peer.reason.message, "client left");
        assert_int_equal(peer.refused_count, 0);
        peer_end(&peer);
    }
}

static void an_owner_may_close_at_any_stage(void **state)
{
    (void)state;
    for (size_t stage = 0; stage < STAGE_COUNT; stage++) {
        struct peer peer;
        bring_to(&peer, stage, NO_WISH);
        pg_front_close(peer.front);
        peer.front = NULL;
        peer_turn(&peer);
        assert_int_equal(peer.closed_count, 0);
        peer_end(&peer);
    }
}

static void an_owner_may_refuse_at_any_stage(void **state)
{
    (void)state;
    for (size_t stage = 0; stage < STAGE_COUNT; stage++) {
        struct peer peer;
        struct slice data;
        bring_to(&peer, stage, NO_WISH);
        if (stage >= 2 && stage < 5) {
            buf_clear(&peer.said);
        }
        /* Unread bytes, which would make a careless end a reset. */
        assert_int_equal(write(peer.fd, "Q\0\0\0\x05\0", 6), 6);
        pg_front_fail(peer.front, SLICE("57P01"), SLICE("the gateway stops"), SLICE("Wait."));
        pg_front_fail(peer.front, SLICE("57P02"), SLICE("again"), SLICE_NONE);
        peer_turn(&peer);
        if (stage == 5) {
            assert_true(peer_take_auth(&peer, PGWIRE_AUTH_SASL_FINAL, &data));
        }
        assert_string_equal(peer_take_fatal(&peer, "57P01"), "the gateway stops");
        assert_int_equal(peer.said.len, 0);
        assert_true(peer.is_closed && !peer.is_reset);
        /* Answers that come too late do nothing. */
        assert_int_equal(peer.closed_count, 0);
        pg_front_answer(peer.front, peer.verifiers, 1);
        peer_ready(&peer);
        peer_leave(&peer);
        peer_turn(&peer);
        assert_int_equal(peer.closed_count, 1);
        assert_int_equal(peer.reason.code, ERR_NONE);
        assert_string_equal(peer.reason.message, "the gateway stops");
        assert_int_equal(peer.open_count, 0);
        peer_end(&peer);
    }
}

static void a_client_that_reads_nothing_is_cut_in_the_end(void **state)
{
    (void)state;
    struct peer peer;
    bring_to(&peer, 5, NO_WISH);
    pg_front_fail(peer.front, SLICE("08001"), SLICE("no such target"), SLICE_NONE);
    peer_wait_closed(&peer); /* it has read, but does not close */
    assert_int_equal(peer.closed_count, 1);
    assert_string_equal(peer.reason.message, "no such target");
    peer_end(&peer);
}

static void who_takes_too_long_is_sent_away(void **state)
{
    (void)state;
    for (size_t stage = 0; stage < STAGE_COUNT - 1; stage++) {
        struct peer peer;
        struct slice data;
        bring_to(&peer, stage, (struct peer_wish){.authentication_ms = 100});
        while (peer_take(&peer, &data) != '\0') {
        }
        for (size_t i = 0; i < 40 && !peer.is_closed; i++) {
            (void)usleep(10000);
            peer_turn(&peer);
        }
        assert_true(peer.is_closed);
        if (stage < 2) {
            assert_int_equal(peer.said.len, 0);
        } else {
            assert_string_equal(peer_take_fatal(&peer, "57014"),
                                "canceling authentication due to timeout");
        }
        peer_leave(&peer);
        peer_turn(&peer);
        assert_int_equal(peer.closed_count, 1);
        assert_int_equal(peer.reason.code, ERR_TIMEOUT);
        peer_end(&peer);
    }
}

static void who_is_known_waits_as_long_as_the_owner_wants(void **state)
{
    (void)state;
    struct peer peer;
    bring_to(&peer, 5, (struct peer_wish){.authentication_ms = 100});
    for (size_t i = 0; i < 30; i++) {
        (void)usleep(10000);
        peer_turn(&peer);
    }
    assert_int_equal(peer.closed_count, 0);
    peer_ready(&peer);
    peer_turn(&peer);
    assert_true(peer_takes_session(&peer));
    peer_end(&peer);
}

static void a_session_that_cannot_be_told_is_not_begun(void **state)
{
    (void)state;
    static char statuses[LIMIT_PG_FRONT_OUTPUT_SIZE + 1];
    struct peer peer;
    bring_to(&peer, 5, NO_WISH);
    struct pg_front_session session = {
        .parameter_statuses = slice_of(statuses, sizeof(statuses)),
        .key = {.process = 1, .secret = SLICE("abcd")},
        .transaction = PGWIRE_IDLE,
    };
    assert_int_equal(pg_front_ready(peer.front, &session), ERR_LIMIT);
    session.parameter_statuses = SLICE_NONE;
    session.key.secret = SLICE("ab");
    assert_int_equal(pg_front_ready(peer.front, &session), ERR_INPUT);
    peer_ready(&peer);
    peer_turn(&peer);
    assert_true(peer_takes_session(&peer));
    peer_end(&peer);
}

static void connections_that_break_are_told_of(void **state)
{
    (void)state;
    for (size_t stage = 1; stage < STAGE_COUNT; stage++) {
        struct peer peer;
        bring_to(&peer, stage, NO_WISH);
        int fd = peer.fd;
        peer.fd = -1; /* closed with unread bytes inside: a reset */
        (void)close(fd);
        if (stage == 5) {
            peer_ready(&peer);
        }
        peer_turn(&peer);
        assert_int_equal(peer.closed_count, 1);
        assert_int_equal(peer.open_count, 0);
        assert_true(peer.reason.code == ERR_CLOSED || peer.reason.code == ERR_IO);
        peer_end(&peer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_signs_in_and_the_stream_is_taken),
        cmocka_unit_test(the_startup_is_kept_and_read),
        cmocka_unit_test(every_cut_of_the_bytes_is_the_same),
        cmocka_unit_test(every_size_of_pieces_is_the_same),
        cmocka_unit_test(a_connection_may_break_at_any_call),
        cmocka_unit_test(bytes_behind_the_proof_go_with_the_stream),
        cmocka_unit_test(who_sends_much_behind_the_proof_waits),
        cmocka_unit_test(answers_come_later),
        cmocka_unit_test(cancel_requests_reach_the_owner),
        cmocka_unit_test(a_cancel_request_ends_when_it_was_done),
        cmocka_unit_test(what_is_being_opened_can_still_fail),
        cmocka_unit_test(newer_versions_and_options_are_negotiated),
        cmocka_unit_test(a_client_that_leaves_is_told_of_once),
        cmocka_unit_test(an_owner_may_close_at_any_stage),
        cmocka_unit_test(an_owner_may_refuse_at_any_stage),
        cmocka_unit_test(a_client_that_reads_nothing_is_cut_in_the_end),
        cmocka_unit_test(who_takes_too_long_is_sent_away),
        cmocka_unit_test(who_is_known_waits_as_long_as_the_owner_wants),
        cmocka_unit_test(a_session_that_cannot_be_told_is_not_begun),
        cmocka_unit_test(connections_that_break_are_told_of),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_front", tests, NULL, NULL);
}
