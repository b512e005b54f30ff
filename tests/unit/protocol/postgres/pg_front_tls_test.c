/* SPDX-License-Identifier: MIT */
/* Clients that speak TLS: asked for or at once, with and without channel binding. */
#include "base/memory.h"
#include "pg_front_help.h"
#include "protocol/postgres/pg_front.h"
#include "tls_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <unistd.h>

#include <cmocka.h>

#define ALPN     "\x0apostgresql"
#define ALPN_LEN 11

static struct tls_server *tls;

static int set_up(void **state)
{
    (void)state;
    tls = tls_server_make("gateway.test", SLICE("postgresql"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tls_server_unref(tls);
    return 0;
}

static void start(struct peer *peer, bool is_direct, struct peer_wish wish)
{
    wish.tls = tls;
    peer_start(peer, wish);
    if (!is_direct) {
        peer_send_request(peer, PGWIRE_SSL_REQUEST);
        assert_int_equal(peer_take_byte(peer), 'S');
    }
    assert_true(peer_start_tls(peer, is_direct ? ALPN : NULL, ALPN_LEN));
}

static void clients_with_tls_bind_their_channel(void **state)
{
    (void)state;
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        struct peer peer;
        start(&peer, is_direct == 1, (struct peer_wish){.needs_tls = true});
        peer.piece_size = 9;
        peer_begin(&peer);
        peer_choose(&peer, "password 1");
        assert_true(slice_equals(scram_client_mechanism(peer.scram), SLICE(SCRAM_MECHANISM_PLUS)));
        peer_prove(&peer);
        assert_true(peer_takes_session(&peer));
        assert_int_equal(peer.index, 1);
        assert_true(stream_is_encrypted(peer.taken));
        peer_end(&peer);
    }
}

static void bytes_behind_the_proof_go_with_an_encrypted_stream(void **state)
{
    (void)state;
    struct peer peer;
    start(&peer, false, (struct peer_wish){.opens_late = true});
    peer_sign_in(&peer, "password 1");
    peer_send_message(&peer, 'S', SLICE_NONE);
    peer_ready(&peer);
    peer_turn(&peer);
    assert_true(slice_equals(peer.behind, SLICE("S\0\0\0\4")));
    assert_true(peer_takes_session(&peer));
    peer_end(&peer);
}

static void last_words_are_read_under_tls_too(void **state)
{
    (void)state;
    struct peer peer;
    start(&peer, true, (struct peer_wish){.is_unknown = true});
    peer_sign_in(&peer, "password 1");
    assert_string_equal(peer_take_fatal(&peer, "28P01"),
                        "password authentication failed for user \"prod-db\"");
    assert_true(peer.is_closed);
    peer_leave(&peer);
    peer_turn(&peer);
    assert_int_equal(peer.closed_count, 1);
    peer_end(&peer);
}

static void a_channel_without_binding_is_not_mistaken(void **state)
{
    (void)state;
    /* "y": the client could bind, but says that it saw no offer; there was one. */
    struct peer peer;
    start(&peer, false, (struct peer_wish){.fault = NULL});
    peer_begin(&peer);
    buf_clear(&peer.said);
    peer_send_message(&peer, 'p', SLICE("SCRAM-SHA-256\0\0\0\0\x0ay,,n=,r=ab"));
    assert_string_equal(peer_take_fatal(&peer, "28000"),
                        "SCRAM client did not see that channel binding was offered");
    assert_int_equal(peer.refused_count, 0);
    peer_end(&peer);
}

/* CVE-2021-23214, and its like for the request that is answered with no. */
static void bytes_smuggled_behind_a_request_end_it(void **state)
{
    (void)state;
    static const struct slice cases[] = {
        SLICE_INIT("\0\0\0\x08\x04\xd2\x16\x2f\0"),
        SLICE_INIT("\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x13\0\3\0\0user\0admin\0\0"),
        SLICE_INIT("\0\0\0\x08\x04\xd2\x16\x30\0\0\0\x13\0\3\0\0user\0admin\0\0"),
        SLICE_INIT("\0\0\0\x08\x04\xd2\x16\x2f\x16\x03\x01\x02"), /* TLS before it was agreed on */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        peer_start(&peer, (struct peer_wish){.tls = tls});
        peer_send(&peer, cases[i]);
        assert_string_equal(peer_take_fatal(&peer, "08P01"),
                            "received unencrypted data after a request for encryption");
        assert_int_equal(peer.said.len, 0); /* no 'S' */
        peer_end(&peer);
    }
}

/* The answer is out, but the client's words are not TLS. */
static void plain_bytes_after_the_answer_are_not_read_as_packets(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.tls = tls});
    peer_send_request(&peer, PGWIRE_SSL_REQUEST);
    assert_int_equal(peer_take_byte(&peer), 'S');
    peer_begin(&peer);
    assert_int_equal(peer.closed_count, 1);
    assert_int_equal(peer.reason.code, ERR_IO);
    assert_int_equal(peer.name_count, 0);
    peer_end(&peer);
}

static void direct_tls_needs_its_application_protocol(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.tls = tls});
    assert_true(peer_start_tls(&peer, NULL, 0));
    peer_begin(&peer);
    assert_string_equal(peer_take_fatal(&peer, "08P01"),
                        "direct TLS without the application protocol 'postgresql'");
    peer_end(&peer);
    peer_start(&peer, (struct peer_wish){.tls = tls});
    assert_false(peer_start_tls(&peer, "\x02h2", 3));
    peer_turn(&peer);
    assert_int_equal(peer.closed_count, 1);
    peer_end(&peer);
}

static void direct_tls_without_a_certificate_is_closed(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.fault = NULL});
    peer_send(&peer, SLICE("\x16"));
    assert_int_equal(peer.closed_count, 1);
    assert_int_equal(peer.reason.code, ERR_UNSUPPORTED);
    assert_int_equal(peer.said.len, 0);
    peer_end(&peer);
}

static void encryption_inside_tls_is_refused(void **state)
{
    (void)state;
    static const enum pgwire_packet packets[] = {PGWIRE_GSSENC_REQUEST, PGWIRE_SSL_REQUEST};
    for (size_t i = 0; i < 4; i++) {
        struct peer peer;
        start(&peer, i % 2 == 1, (struct peer_wish){.fault = NULL});
        peer_send_request(&peer, packets[i / 2]);
        bool is_again = packets[i / 2] == PGWIRE_SSL_REQUEST && i % 2 == 0;
        assert_non_null(peer_take_fatal(&peer, is_again ? "0A000" : "08P01"));
        peer_end(&peer);
    }
}

static void gss_is_asked_for_first_then_tls(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, (struct peer_wish){.tls = tls});
    peer_send_request(&peer, PGWIRE_GSSENC_REQUEST);
    assert_int_equal(peer_take_byte(&peer), 'N');
    peer_send_request(&peer, PGWIRE_SSL_REQUEST);
    assert_int_equal(peer_take_byte(&peer), 'S');
    assert_true(peer_start_tls(&peer, ALPN, ALPN_LEN));
    peer_sign_in(&peer, "password 0");
    assert_true(peer_takes_session(&peer));
    peer_end(&peer);
}

/* Every cut of the ClientHello, the first byte alone among them. */
static void direct_tls_arrives_in_any_pieces(void **state)
{
    (void)state;
    static const struct slice faults[] = {SLICE_INIT("short"), SLICE_INIT("again"),
                                          SLICE_INIT("short,again,seed:7")};
    for (size_t i = 0; i < 9; i++) {
        struct peer peer;
        struct fault fault = {.seed = i};
        assert_int_equal(fault_parse(faults[i % 3], &fault, NULL), ERR_NONE);
        peer_start(&peer, (struct peer_wish){.tls = tls, .fault = &fault});
        bool is_direct = i < 6;
        if (!is_direct) {
            peer_send_request(&peer, PGWIRE_SSL_REQUEST);
            assert_int_equal(peer_take_byte(&peer), 'S');
        }
        for (size_t turn = 0; turn < 3 && peer.ssl == NULL; turn++) {
            assert_true(peer_start_tls(&peer, ALPN, ALPN_LEN));
        }
        peer_sign_in(&peer, "password 2");
        assert_true(peer_takes_session(&peer));
        peer_end(&peer);
    }
}

static void who_leaves_or_waits_in_the_handshake_is_closed(void **state)
{
    (void)state;
    for (int stays = 0; stays < 2; stays++) {
        for (int is_direct = 0; is_direct < 2; is_direct++) {
            struct peer peer;
            peer_start(&peer, (struct peer_wish){.tls = tls, .authentication_ms = 100});
            if (is_direct == 0) {
                peer_send_request(&peer, PGWIRE_SSL_REQUEST);
                assert_int_equal(peer_take_byte(&peer), 'S');
            }
            peer_send(&peer, SLICE("\x16\x03\x01\x02\x00"));
            assert_int_equal(peer.closed_count, 0);
            if (stays == 0) {
                peer_leave(&peer);
            }
            peer_wait_closed(&peer);
            assert_int_equal(peer.closed_count, 1);
            assert_int_equal(peer.reason.code, stays == 1 ? ERR_TIMEOUT : ERR_CLOSED);
            peer_end(&peer);
        }
    }
}

static void the_end_point_is_that_of_the_certificate(void **state)
{
    (void)state;
    struct front_config config = {.end_point = {.size = 3}};
    front_config_set_tls(&config, tls);
    assert_ptr_equal(config.tls, tls);
    assert_int_equal(config.end_point.size, 32);
    struct buf der CLEANUP(buf_release);
    buf_init(&der, 4096);
    assert_int_equal(tls_server_certificate(tls, &der), ERR_NONE);
    assert_true(der.len > 100 && buf_view(&der).at[0] == 0x30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clients_with_tls_bind_their_channel),
        cmocka_unit_test(bytes_behind_the_proof_go_with_an_encrypted_stream),
        cmocka_unit_test(last_words_are_read_under_tls_too),
        cmocka_unit_test(a_channel_without_binding_is_not_mistaken),
        cmocka_unit_test(bytes_smuggled_behind_a_request_end_it),
        cmocka_unit_test(plain_bytes_after_the_answer_are_not_read_as_packets),
        cmocka_unit_test(direct_tls_needs_its_application_protocol),
        cmocka_unit_test(direct_tls_without_a_certificate_is_closed),
        cmocka_unit_test(encryption_inside_tls_is_refused),
        cmocka_unit_test(gss_is_asked_for_first_then_tls),
        cmocka_unit_test(direct_tls_arrives_in_any_pieces),
        cmocka_unit_test(who_leaves_or_waits_in_the_handshake_is_closed),
        cmocka_unit_test(the_end_point_is_that_of_the_certificate),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_front_tls", tests, set_up, tear_down);
}
