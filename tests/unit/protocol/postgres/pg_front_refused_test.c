/* SPDX-License-Identifier: MIT */
/* What clients are refused for, and in which words. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/writer.h"
#include "pg_front_help.h"
#include "protocol/postgres/pg_front.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NO_WISH ((struct peer_wish){.fault = NULL})

/* The front has said its last words; the client leaves and the owner hears of it. */
static void assert_ended(struct peer *peer, enum err code)
{
    assert_true(peer->is_closed && !peer->is_reset);
    assert_int_equal(peer->said.len, 0);
    assert_int_equal(peer->closed_count, 0);
    peer_leave(peer);
    peer_turn(peer);
    assert_int_equal(peer->closed_count, 1);
    assert_int_equal(peer->reason.code, code);
    assert_int_equal(peer->open_count, 0);
    peer_end(peer);
}

static void assert_refused(struct peer *peer, const char *sqlstate, const char *text, enum err code)
{
    const char *said = peer_take_fatal(peer, sqlstate);
    assert_non_null(said);
    if (text != NULL) {
        assert_string_equal(said, text);
    }
    assert_ended(peer, code);
}

static void a_wrong_password_and_an_unknown_name_are_the_same(void **state)
{
    (void)state;
    struct slice first[2];
    for (int is_unknown = 0; is_unknown < 2; is_unknown++) {
        struct peer peer;
        peer_start(&peer, (struct peer_wish){.is_unknown = is_unknown == 1});
        peer_begin(&peer);
        peer_choose(&peer, "password 4");
        static char kept[2][512];
        struct slice said = slice_sub(buf_view(&peer.said), 0, sizeof(kept[0]));
        memcpy(kept[is_unknown], said.at, said.len);
        first[is_unknown] = slice_of(kept[is_unknown], said.len);
        peer_prove(&peer);
        assert_int_equal(peer.refused_count, 1);
        assert_int_equal(peer.known_count, 0);
        assert_refused(&peer, "28P01", "password authentication failed for user \"prod-db\"",
                       ERR_UNAUTHENTICATED);
        assert_string_equal(peer.reason.message, "SCRAM proof is wrong");
    }
    /* But for the nonces: the same salt, too. */
    assert_int_equal(first[0].len, first[1].len);
    size_t salt = slice_find(first[0], SLICE(",s="));
    assert_true(salt < first[0].len);
    assert_true(slice_equals(slice_from(first[0], salt), slice_from(first[1], salt)));
}

static void a_name_is_shown_safely_and_cut(void **state)
{
    (void)state;
    char name[200];
    memset(name, 'n', sizeof(name));
    name[0] = '\x1b';
    struct peer peer;
    const struct pgwire_parameter parameters[] = {{SLICE("user"), slice_of(name, sizeof(name))}};
    peer_start(&peer, (struct peer_wish){.is_unknown = true});
    peer_send_startup(&peer, PGWIRE_VERSION(3, 0), parameters, 1);
    peer_choose(&peer, "x");
    peer_prove(&peer);
    const char *text = peer_take_fatal(&peer, "28P01");
    assert_non_null(text);
    assert_non_null(strstr(text, "for user \"\\x1bnnn"));
    assert_int_equal(strlen(text),
                     strlen("password authentication failed for user \"\\x1b\"") + 62);
    peer_end(&peer);
}

static void a_startup_is_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        struct pgwire_parameter parameter;
        const char *sqlstate;
    } cases[] = {
        {{SLICE_INIT("replication"), SLICE_INIT("true")}, "0A000"},
        {{SLICE_INIT("replication"), SLICE_INIT("database")}, "0A000"},
        {{SLICE_INIT("replication"), SLICE_INIT("")}, "0A000"},
        {{SLICE_INIT("replication"), SLICE_INIT("1")}, "0A000"},
        {{SLICE_INIT("replication"), SLICE_INIT("falsely")}, "0A000"},
        {{SLICE_INIT("user"), SLICE_INIT("again")}, "08P01"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        const struct pgwire_parameter parameters[] = {{SLICE("user"), SLICE(PEER_NAME)},
                                                      cases[i].parameter};
        peer_start(&peer, NO_WISH);
        peer_send_startup(&peer, PGWIRE_VERSION(3, 0), parameters, 2);
        assert_refused(&peer, cases[i].sqlstate, NULL, i < 5 ? ERR_UNSUPPORTED : ERR_INPUT);
    }
}

static void tls_can_be_demanded(void **state)
{
    (void)state;
    struct peer peer;
    struct slice body;
    struct slice fields;
    peer_start(&peer, (struct peer_wish){.needs_tls = true});
    peer_begin(&peer);
    assert_int_equal(peer_take(&peer, &body), PGWIRE_SERVER_ERROR);
    assert_int_equal(pgwire_notice_read(body, &fields, NULL), ERR_NONE);
    assert_true(slice_equals(pgwire_notice_find(fields, 'C'), SLICE("28000")));
    assert_true(slice_equals(pgwire_notice_find(fields, 'M'),
                             SLICE("this gateway takes connections with TLS only")));
    assert_true(slice_equals(pgwire_notice_find(fields, 'H'),
                             SLICE("Connect with sslmode=require or stronger.")));
    assert_ended(&peer, ERR_DENIED);
}

static void other_versions_are_refused_in_their_words(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, NO_WISH);
    peer_send(&peer, SLICE("\0\0\0\x09\0\2\0\0\0"));
    assert_true(slice_equals(buf_view(&peer.said),
                             SLICE("EFATAL:  unsupported frontend protocol 2.0: this gateway "
                                   "supports 3.0 to 3.2\n\0")));
    buf_clear(&peer.said);
    assert_ended(&peer, ERR_UNSUPPORTED);
    peer_start(&peer, NO_WISH);
    peer_send(&peer, SLICE("\0\0\0\x09\0\4\0\1\0"));
    assert_refused(&peer, "0A000",
                   "unsupported frontend protocol 4.1: this gateway supports 3.0 to 3.2",
                   ERR_UNSUPPORTED);
    peer_start(&peer, NO_WISH);
    peer_send(&peer, SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_ended(&peer, ERR_LIMIT); /* without a word, like all of such a length */
}

static void hostile_packets_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct slice bytes;
        enum err code;
        const char *sqlstate; /* NULL: it is closed without a word */
    } cases[] = {
        {SLICE_INIT("\0\0\0\0\0\3\0\0"), ERR_INPUT, NULL},
        {SLICE_INIT("\0\0\0\7\0\3\0\0"), ERR_INPUT, NULL},
        {SLICE_INIT("\0\0\0\10\0\3\0\0"), ERR_INPUT, "08P01"},
        {SLICE_INIT("\0\0\0\x09\0\3\0\0\0"), ERR_UNAUTHENTICATED, "28000"}, /* nobody */
        {SLICE_INIT("\0\0\0\x09\0\3\0\0x"), ERR_INPUT, "08P01"},
        {SLICE_INIT("\0\0\x27\x11\0\3\0\0"), ERR_LIMIT, NULL}, /* 10001 bytes */
        {SLICE_INIT("\x7f\xff\xff\xff\0\3\0\0"), ERR_LIMIT, NULL},
        {SLICE_INIT("\xff\xff\xff\xff\0\3\0\0"), ERR_LIMIT, NULL},
        /* an SSLRequest with a body; half a cancel key; bytes behind */
        {SLICE_INIT("\0\0\0\x09\x04\xd2\x16\x2fx"), ERR_LIMIT, NULL},
        {SLICE_INIT("\0\0\0\x0b\x04\xd2\x16\x2e\0\0\0"), ERR_INPUT, NULL},
        {SLICE_INIT("\0\0\0\x08\x04\xd2\x16\x2f\0"), ERR_INPUT, "08P01"},
        {SLICE_INIT("\0\0\0\x08\x04\xd2\x16\x30\0"), ERR_INPUT, "08P01"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        peer_start(&peer, NO_WISH);
        peer_send(&peer, cases[i].bytes);
        if (cases[i].sqlstate == NULL) {
            assert_ended(&peer, cases[i].code);
        } else {
            assert_refused(&peer, cases[i].sqlstate, NULL, cases[i].code);
        }
    }
}

static void a_second_request_of_a_kind_is_refused(void **state)
{
    (void)state;
    static const enum pgwire_packet packets[] = {PGWIRE_SSL_REQUEST, PGWIRE_GSSENC_REQUEST};
    for (size_t i = 0; i < COUNT_OF(packets); i++) {
        struct peer peer;
        peer_start(&peer, NO_WISH);
        peer_send_request(&peer, packets[i]);
        assert_int_equal(peer_take_byte(&peer), 'N');
        peer_send_request(&peer, packets[i]);
        /* as servers say it: its code was taken for a version */
        assert_refused(&peer, "0A000",
                       i == 0 ? "unsupported frontend protocol 1234.5679: this gateway supports "
                                "3.0 to 3.2"
                              : "unsupported frontend protocol 1234.5680: this gateway supports "
                                "3.0 to 3.2",
                       ERR_UNSUPPORTED);
    }
}

static void the_largest_startup_passes(void **state)
{
    (void)state;
    static char value[LIMIT_PGWIRE_STARTUP_SIZE];
    struct peer peer;
    struct buf buf;
    memset(value, 'v', sizeof(value));
    size_t rest = sizeof("user") + sizeof(PEER_NAME) + sizeof("x") + 1 + 1 + 8;
    const struct pgwire_parameter parameters[] = {
        {SLICE("user"), SLICE(PEER_NAME)}, {SLICE("x"), slice_of(value, sizeof(value) - rest)}};
    buf_init(&buf, LIMIT_MIB(1));
    assert_int_equal(pgwire_startup_write(&buf, PGWIRE_VERSION(3, 0), parameters, 2), ERR_NONE);
    assert_int_equal(buf.len, LIMIT_PGWIRE_STARTUP_SIZE);
    buf_release(&buf);
    peer_start(&peer, NO_WISH);
    peer.piece_size = 777;
    peer_send_startup(&peer, PGWIRE_VERSION(3, 0), parameters, 2);
    peer_choose(&peer, "password 0");
    peer_prove(&peer);
    assert_true(peer_takes_session(&peer));
    peer_end(&peer);
}

/* To where the client chooses a mechanism (false) or proves itself (true). */
static void bring_to_proof(struct peer *peer, bool is_at_proof)
{
    peer_start(peer, NO_WISH);
    peer_begin(peer);
    if (is_at_proof) {
        peer_choose(peer, "password 0");
    }
    buf_clear(&peer->said);
}

static void any_other_message_ends_authentication(void **state)
{
    (void)state;
    for (int type = 1; type < 256; type++) {
        for (int is_at_proof = 0; is_at_proof < 2; is_at_proof++) {
            struct peer peer;
            bring_to_proof(&peer, is_at_proof == 1);
            peer_send_message(&peer, (char)type, type == 'X' ? SLICE_NONE : SLICE("0123456789"));
            if (type == 'X') {
                assert_ended(&peer, ERR_CLOSED);
                continue;
            }
            const char *text = peer_take_fatal(&peer, "08P01");
            assert_non_null(text);
            assert_int_equal(peer.refused_count, 0);
            peer_end(&peer);
        }
    }
}

static void answers_of_any_size_are_bounded(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {LIMIT_PG_FRONT_SASL_SIZE + 1, LIMIT_PGWIRE_TOKEN_SIZE + 1,
                                     0x3fffffff, 0xfffffffa};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct peer peer;
        char header[5] = {'p'};
        for (size_t at = 0; at < 4; at++) {
            header[1 + at] = (char)((sizes[i] + 4) >> (24 - 8 * at));
        }
        bring_to_proof(&peer, i % 2 == 1);
        peer_send(&peer, slice_of(header, sizeof(header)));
        assert_refused(&peer, "08P01", NULL, ERR_LIMIT);
    }
}

static void choices_are_refused(void **state)
{
    (void)state;
    static const struct slice bodies[] = {
        SLICE_INIT(""),
        SLICE_INIT("\0"),
        SLICE_INIT("md5\0\0\0\0\1x"),
        SLICE_INIT("SCRAM-SHA-256-PLUS\0\0\0\0\1x"), /* not offered here */
        SLICE_INIT("SCRAM-SHA-256\0\xff\xff\xff\xff"),
        SLICE_INIT("SCRAM-SHA-256\0\0\0\0\0"),
        SLICE_INIT("SCRAM-SHA-256\0\0\0\0\2x"),
        SLICE_INIT("SCRAM-SHA-256\0\0\0\0\1x"),
        SLICE_INIT("SCRAM-SHA-256\0\0\0\0\x0cp=x,,n=,r=ab"),
        SLICE_INIT("SCRAM-SHA-256\0\0\0\0\x0bn,a=b,n=,r=a"),
        SLICE_INIT("a password\0"),
    };
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct peer peer;
        bring_to_proof(&peer, false);
        peer_send_message(&peer, 'p', bodies[i]);
        assert_non_null(peer_take_fatal(&peer, "08P01"));
        assert_int_equal(peer.refused_count + peer.known_count, 0);
        peer_end(&peer);
    }
}

static void proofs_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct slice bodies[] = {SLICE_INIT(""), SLICE_INIT("\0"),
                                          SLICE_INIT("c=biws,r=x"), SLICE_INIT("\xff\xfe")};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct peer peer;
        bring_to_proof(&peer, true);
        peer_send_message(&peer, 'p', bodies[i]);
        assert_refused(&peer, "08P01", NULL, ERR_INPUT);
    }
}

static void verifiers_that_do_not_fit_together_are_our_fault(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, NO_WISH);
    peer.verifiers[2].salt[0] ^= 1;
    peer_begin(&peer);
    peer_choose(&peer, "password 0");
    assert_refused(&peer, "XX000", "internal error", ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_password_and_an_unknown_name_are_the_same),
        cmocka_unit_test(a_name_is_shown_safely_and_cut),
        cmocka_unit_test(a_startup_is_refused_in_words),
        cmocka_unit_test(tls_can_be_demanded),
        cmocka_unit_test(other_versions_are_refused_in_their_words),
        cmocka_unit_test(hostile_packets_are_refused),
        cmocka_unit_test(a_second_request_of_a_kind_is_refused),
        cmocka_unit_test(the_largest_startup_passes),
        cmocka_unit_test(any_other_message_ends_authentication),
        cmocka_unit_test(answers_of_any_size_are_bounded),
        cmocka_unit_test(choices_are_refused),
        cmocka_unit_test(proofs_that_are_none_are_refused),
        cmocka_unit_test(verifiers_that_do_not_fit_together_are_our_fault),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_front_refused", tests, NULL, NULL);
}
