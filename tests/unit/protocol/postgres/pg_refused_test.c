/* SPDX-License-Identifier: MIT */
/* What a server may not do, and what it is told of: order, sizes, methods, errors. */
#include "pg_help.h"

#include "base/limits.h"
#include "wire/pgwire_frame.h"

static const struct wish plain = {.mode = PLACE_TLS_DISABLE};

static void begin(struct peer *peer, const struct wish *wish)
{
    peer_start(peer, wish);
    (void)peer_hear_message(peer, '\0');
}

/* Order --------------------------------------------------------------------------------------- */

enum moment {
    AT_FIRST,
    AFTER_CLEARTEXT,
    AFTER_SASL,
    AFTER_CONTINUE,
    AFTER_OK,
    PLACE_COUNT,
};

static void go_to(struct peer *peer, enum moment place, struct arena *arena)
{
    struct slice last;
    begin(peer, &plain);
    if (place == AFTER_CLEARTEXT) {
        say_auth(peer, PGWIRE_AUTH_CLEARTEXT, SLICE_NONE);
        (void)peer_hear_message(peer, 'p');
    } else if (place == AFTER_SASL) {
        say_sasl(peer, "SCRAM-SHA-256", NULL);
        (void)peer_hear_message(peer, 'p');
    } else if (place == AFTER_CONTINUE) {
        say_sasl(peer, "SCRAM-SHA-256", NULL);
        serve_scram(peer, "SCRAM-SHA-256", &last, arena);
    } else if (place == AFTER_OK) {
        say_auth(peer, PGWIRE_AUTH_OK, SLICE_NONE);
        peer_say(peer, SLICE("K\0\0\0\x0c\0\0\0\x07wxyz"));
    }
    peer_turn(peer);
    assert_int_equal(peer->done_count, 0);
}

#define ALL (1u << PLACE_COUNT) - 1

/* Every message of a server, and where it may come: with a body that is good. */
static const struct {
    struct slice bytes;
    unsigned places;
} messages[] = {
    {SLICE_INIT("R\0\0\0\x08\0\0\0\0"), 1u << AT_FIRST | 1u << AFTER_CLEARTEXT},
    {SLICE_INIT("R\0\0\0\x08\0\0\0\3"), 1u << AT_FIRST},
    {SLICE_INIT("R\0\0\0\x0c\0\0\0\5salt"), 1u << AT_FIRST},
    {SLICE_INIT("R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"), 1u << AT_FIRST},
    {SLICE_INIT("R\0\0\0\x09\0\0\0\x0bx"), 0},
    {SLICE_INIT("R\0\0\0\x09\0\0\0\x0cx"), 0},
    {SLICE_INIT("v\0\0\0\x0c\0\3\0\0\0\0\0\0"),
     1u << AT_FIRST | 1u << AFTER_CLEARTEXT | 1u << AFTER_SASL | 1u << AFTER_CONTINUE},
    {SLICE_INIT("N\0\0\0\x0aMhey\0\0"), ALL},
    {SLICE_INIT("S\0\0\0\x08x\0y\0"), 1u << AFTER_OK},
    {SLICE_INIT("A\0\0\0\x0a\0\0\0\1\0\0"), 1u << AFTER_OK},
    {SLICE_INIT("K\0\0\0\x0c\0\0\0\x07wxyz"), 0}, /* it has come in AFTER_OK */
    {SLICE_INIT("1\0\0\0\4"), 0},
    {SLICE_INIT("2\0\0\0\4"), 0},
    {SLICE_INIT("3\0\0\0\4"), 0},
    {SLICE_INIT("C\0\0\0\x0dSELECT 1\0"), 0},
    {SLICE_INIT("D\0\0\0\6\0\0"), 0},
    {SLICE_INIT("G\0\0\0\7\0\0\0"), 0},
    {SLICE_INIT("H\0\0\0\7\0\0\0"), 0},
    {SLICE_INIT("I\0\0\0\4"), 0},
    {SLICE_INIT("T\0\0\0\6\0\0"), 0},
    {SLICE_INIT("V\0\0\0\x08\xff\xff\xff\xff"), 0},
    {SLICE_INIT("W\0\0\0\7\0\0\0"), 0},
    {SLICE_INIT("c\0\0\0\4"), 0},
    {SLICE_INIT("d\0\0\0\5x"), 0},
    {SLICE_INIT("n\0\0\0\4"), 0},
    {SLICE_INIT("s\0\0\0\4"), 0},
    {SLICE_INIT("t\0\0\0\6\0\0"), 0},
    {SLICE_INIT("Q\0\0\0\5\0"), 0},
    {SLICE_INIT("\0\0\0\0\4"), 0},
    {SLICE_INIT("\xff\0\0\0\4"), 0},
};

static void every_message_has_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(messages); i++) {
        for (enum moment place = AT_FIRST; place < PLACE_COUNT; place++) {
            struct peer peer;
            struct arena arena;
            arena_init(&arena);
            go_to(&peer, place, &arena);
            peer_say(&peer, messages[i].bytes);
            bool is_refused = (messages[i].places & 1u << place) == 0;
            if (is_refused) {
                assert_true(peer_await(&peer, 2000));
                assert_null(peer.stream);
                assert_string_equal(peer.failure.code,
                                    peer.failure.error.code == ERR_UNAUTHENTICATED ? "08001"
                                                                                   : "08P01");
            } else {
                peer_turn(&peer);
                assert_int_equal(peer.done_count, 0);
            }
            peer_end(&peer);
            arena_release(&arena);
        }
    }
}

static void ready_before_the_sign_in_is_over_is_refused(void **state)
{
    (void)state;
    for (enum moment place = AT_FIRST; place < AFTER_OK; place++) {
        struct peer peer;
        struct arena arena;
        arena_init(&arena);
        go_to(&peer, place, &arena);
        peer_say(&peer, SLICE("Z\0\0\0\5I"));
        assert_failed(&peer, ERR_INPUT, "08P01",
                      place == AT_FIRST ? "does not speak PostgreSQL" : "before it is ready");
        peer_end(&peer);
        arena_release(&arena);
    }
}

static void a_server_that_skips_its_proof_is_refused(void **state)
{
    (void)state;
    static const enum moment places[] = {AFTER_SASL, AFTER_CONTINUE};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        struct peer peer;
        struct arena arena;
        arena_init(&arena);
        go_to(&peer, places[i], &arena);
        peer_say(&peer, SLICE("R\0\0\0\x08\0\0\0\0Z\0\0\0\5I"));
        assert_failed(&peer, ERR_UNAUTHENTICATED, "08001", "without a proof");
        peer_end(&peer);
        arena_release(&arena);
    }
}

static void a_server_that_proves_something_else_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *last;
        enum err err;
        const char *words;
    } cases[] = {
        {"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ERR_UNAUTHENTICATED,
         "does not know the password"},
        {"e=invalid-proof", ERR_UNAUTHENTICATED, "refuses the password"},
        {"v=x", ERR_INPUT, "signature"},
        {"", ERR_INPUT, "SCRAM"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        struct arena arena;
        arena_init(&arena);
        go_to(&peer, AFTER_CONTINUE, &arena);
        say_auth(&peer, PGWIRE_AUTH_SASL_FINAL, slice_of_text(cases[i].last));
        assert_failed(&peer, cases[i].err, cases[i].err == ERR_INPUT ? "08P01" : "08001",
                      cases[i].words);
        peer_end(&peer);
        arena_release(&arena);
    }
}

/* Nothing that comes behind a question makes it answered. */
static void answers_to_scram_that_nobody_waited_for(void **state)
{
    (void)state;
    struct peer peer;
    begin(&peer, &plain);
    peer_say(&peer, SLICE("R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"
                          "R\0\0\0\x08\0\0\0\0"
                          "Z\0\0\0\5I"));
    assert_failed(&peer, ERR_UNAUTHENTICATED, "08001", "without a proof");
    peer_end(&peer);
}

/* Sizes --------------------------------------------------------------------------------------- */

static void sizes_that_cannot_be(void **state)
{
    (void)state;
    static const struct {
        struct slice bytes;
        enum err err;
    } cases[] = {
        {SLICE_INIT("R\0\0\0\0"), ERR_INPUT},
        {SLICE_INIT("R\0\0\0\3"), ERR_INPUT},
        {SLICE_INIT("R\0\0\0\7"), ERR_INPUT},
        {SLICE_INIT("R\xff\xff\xff\xff"), ERR_LIMIT},
        {SLICE_INIT("R\0\1\0\4"), ERR_LIMIT},
        {SLICE_INIT("S\x7f\xff\xff\xff"), ERR_LIMIT},
        {SLICE_INIT("K\0\0\0\x0b"), ERR_INPUT},
        {SLICE_INIT("K\0\0\1\x09"), ERR_LIMIT},
        {SLICE_INIT("Z\0\0\0\4"), ERR_INPUT},
        {SLICE_INIT("Z\0\0\0\6"), ERR_LIMIT},
        {SLICE_INIT("E\0\0\0\4"), ERR_INPUT},
        {SLICE_INIT("E\0\x01\0\x05"), ERR_LIMIT},
        {SLICE_INIT("E\x3f\xff\xff\xff"), ERR_LIMIT},
        {SLICE_INIT("N\x3f\xff\xff\xff"), ERR_LIMIT},
        {SLICE_INIT("Z\0\0\0\5X"), ERR_INPUT},
        {SLICE_INIT("S\0\0\0\7x\0y"), ERR_INPUT},
        {SLICE_INIT("S\0\0\0\x09x\0y\0z"), ERR_INPUT},
        {SLICE_INIT("E\0\0\0\x09Mabc\0"), ERR_INPUT},
        {SLICE_INIT("A\0\0\0\x0a\0\0\0\1xy"), ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        begin(&peer, &plain);
        peer_say(&peer, SLICE("R\0\0\0\x08\0\0\0\0"));
        peer_say(&peer, cases[i].bytes);
        if (cases[i].bytes.at[0] == 'R') {
            peer_end(&peer);
            begin(&peer, &plain);
            peer_say(&peer, SLICE("N\0\0\0\x0aMhey\0\0"));
            peer_say(&peer, cases[i].bytes);
        }
        assert_failed(&peer, cases[i].err, "08P01", "");
        peer_end(&peer);
    }
}

static void scram_messages_that_cannot_be(void **state)
{
    (void)state;
    static char large[LIMIT_SCRAM_MESSAGE_SIZE + 1];
    memset(large, 'r', sizeof(large));
    const struct {
        struct slice message;
        enum err err;
    } cases[] = {
        {SLICE(""), ERR_INPUT},
        {SLICE("r=nonce"), ERR_INPUT},
        {SLICE("r=nonce,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"), ERR_UNAUTHENTICATED},
        {SLICE("\xff\xff"), ERR_INPUT},
        {slice_of(large, sizeof(large)), ERR_LIMIT},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        struct arena arena;
        arena_init(&arena);
        go_to(&peer, AFTER_SASL, &arena);
        say_auth(&peer, PGWIRE_AUTH_SASL_CONTINUE, cases[i].message);
        assert_failed(&peer, cases[i].err, cases[i].err == ERR_UNAUTHENTICATED ? "08001" : "08P01",
                      "SCRAM");
        peer_end(&peer);
        arena_release(&arena);
    }
}

/* Strangers ----------------------------------------------------------------------------------- */

static void who_does_not_speak_postgresql_is_told(void **state)
{
    (void)state;
    static const struct slice words[] = {
        SLICE_INIT("HTTP/1.1 400 Bad Request\r\n\r\n"),
        SLICE_INIT("SSH-2.0-OpenSSH_9.2p1\r\n"),
        SLICE_INIT("J\0\0\0\x0a"
                   "5.7.44\0\1\0\0\0"),
        SLICE_INIT("220 mail.example ESMTP\r\n"),
        SLICE_INIT("-ERR unknown command\r\n"),
        SLICE_INIT("\x15\3\1\0\2\2\x46"),
        SLICE_INIT("\0\0\0\0\0\0\0\0"),
    };
    static const enum place_tls modes[] = {PLACE_TLS_DISABLE, PLACE_TLS_PREFER,
                                           PLACE_TLS_VERIFY_FULL};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        for (size_t j = 0; j < COUNT_OF(modes); j++) {
            struct peer peer;
            peer_start(&peer, &(struct wish){.mode = modes[j]});
            peer_say(&peer, words[i]);
            bool is_like_consent = words[i].at[0] == 'S' && modes[j] != PLACE_TLS_DISABLE;
            assert_failed(&peer, ERR_INPUT, "08P01",
                          is_like_consent ? "it is no PostgreSQL server, or"
                                          : "the target does not speak PostgreSQL's protocol");
            peer_end(&peer);
        }
    }
}

/* Methods ------------------------------------------------------------------------------------- */

static void methods_that_are_not_supported_are_named(void **state)
{
    (void)state;
    static const struct {
        struct slice bytes;
        const char *words;
    } cases[] = {
        {SLICE_INIT("R\0\0\0\x08\0\0\0\2"), "Kerberos V5"},
        {SLICE_INIT("R\0\0\0\x08\0\0\0\7"), "GSSAPI"},
        {SLICE_INIT("R\0\0\0\x09\0\0\0\x08x"), "GSSAPI"},
        {SLICE_INIT("R\0\0\0\x08\0\0\0\x09"), "SSPI"},
        {SLICE_INIT("R\0\0\0\x08\0\0\0\6"), "kind 6"},
        {SLICE_INIT("R\0\0\0\x08\xff\xff\xff\xff"), "kind 4294967295"},
        {SLICE_INIT("R\0\0\0\x16\0\0\0\x0aOAUTH\nBEARER\0\0"), "SASL with OAUTH\\nBEARER"},
        {SLICE_INIT("R\0\0\0\x11\0\0\0\x0aONE\0TWO\0\0"), "SASL with ONE, TWO"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        begin(&peer, &plain);
        peer_say(&peer, cases[i].bytes);
        assert_failed(&peer, ERR_UNSUPPORTED, "08001", cases[i].words);
        assert_int_equal(peer_hear(&peer, 1).len, 0);
        peer_end(&peer);
    }
}

static void binding_without_tls_is_refused(void **state)
{
    (void)state;
    struct peer peer;
    begin(&peer, &plain);
    say_sasl(&peer, "SCRAM-SHA-256-PLUS", "SCRAM-SHA-256");
    assert_failed(&peer, ERR_UNAUTHENTICATED, "08001", "but there is none");
    peer_end(&peer);

    /* With TLS, but a certificate that has no hash to bind by. */
    peer_start(&peer, &(struct wish){.mode = PLACE_TLS_REQUIRE});
    peer_forget(&peer, peer_hear(&peer, 8).len);
    peer_say(&peer, SLICE("S"));
    (void)peer_hear_message(&peer, '\0');
    say_sasl(&peer, "SCRAM-SHA-256-PLUS", NULL);
    assert_failed(&peer, ERR_UNSUPPORTED, "08001", "SASL with SCRAM-SHA-256-PLUS");
    peer_end(&peer);
}

static void a_password_in_clear_text_stays_off_networks(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        struct wish wish = {
            .is_remote = (i & 1) != 0,
            .allows_cleartext = (i & 2) != 0,
            .mode = (i & 4) != 0 ? PLACE_TLS_REQUIRE : PLACE_TLS_DISABLE,
        };
        struct peer peer;
        peer_start(&peer, &wish);
        if (wish.mode == PLACE_TLS_REQUIRE) {
            peer_forget(&peer, peer_hear(&peer, 8).len);
            peer_say(&peer, SLICE("S"));
        }
        (void)peer_hear_message(&peer, '\0');
        say_auth(&peer, PGWIRE_AUTH_CLEARTEXT, SLICE_NONE);
        if (i == 1) {
            assert_failed(&peer, ERR_UNSUPPORTED, "08001", "in clear text over a network");
            assert_int_equal(peer_hear(&peer, 1).len, 0);
        } else {
            assert_bytes(peer_hear_message(&peer, 'p'), PASSWORD "\0");
        }
        peer_end(&peer);
    }
}

static void without_a_password_none_can_be_asked_for(void **state)
{
    (void)state;
    static const struct slice questions[] = {
        SLICE_INIT("R\0\0\0\x08\0\0\0\3"),
        SLICE_INIT("R\0\0\0\x0c\0\0\0\5salt"),
        SLICE_INIT("R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"),
        SLICE_INIT("R\0\0\0\x09\0\0\0\x0cx"),
    };
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        struct peer peer;
        begin(&peer, &(struct wish){.has_no_secret = true});
        peer_say(&peer, questions[i]);
        assert_failed(&peer, ERR_UNSUPPORTED, "08001", "there is none for it");
        peer_end(&peer);
    }
}

/* Errors -------------------------------------------------------------------------------------- */

static struct slice answer_field(struct peer *peer, char type)
{
    return pgwire_notice_find(slice_from(buf_view(&peer->answer), PGWIRE_HEADER_SIZE), type);
}

static void errors_before_readiness_are_passed_on(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        const char *message;
    } cases[] = {
        {"53300", "sorry, too many clients already"},
        {"3D000", "database \"sales\" does not exist"},
        {"57P03", "the database system is starting up"},
        {"42501", "permission denied for database \"sales\""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (enum moment place = AT_FIRST; place < PLACE_COUNT; place++) {
            struct peer peer;
            struct arena arena;
            arena_init(&arena);
            go_to(&peer, place, &arena);
            say_error(&peer, cases[i].state, cases[i].message);
            assert_failed(&peer, ERR_DENIED, cases[i].state, "the target refuses the connection: ");
            assert_text(answer_field(&peer, PGWIRE_FIELD_MESSAGE), cases[i].message);
            peer_end(&peer);
            arena_release(&arena);
        }
    }
}

static void refused_credentials_are_not_the_clients(void **state)
{
    (void)state;
    static const char *const states[] = {"28P01", "28000", "28XYZ"};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        for (enum moment place = AT_FIRST; place < PLACE_COUNT; place++) {
            struct peer peer;
            struct arena arena;
            arena_init(&arena);
            go_to(&peer, place, &arena);
            say_error(&peer, states[i], "password authentication failed for user \"gate\"");
            assert_failed(&peer, ERR_DENIED, "08004", "for user \"gate\"");
            struct slice answer = buf_view(&peer.answer);
            assert_bytes(answer_field(&peer, PGWIRE_FIELD_MESSAGE),
                         "the target refuses the credentials that the gateway has stored for it");
            assert_int_equal(slice_find(answer, SLICE("gate\"")), answer.len);
            assert_int_equal(slice_find(answer, slice_of_text(states[i])), answer.len);
            peer_end(&peer);
            arena_release(&arena);
        }
    }
}

static void errors_of_any_form_become_good_ones(void **state)
{
    (void)state;
    static const struct {
        struct slice bytes;
        const char *state;
        const char *message;
        const char *words;
    } cases[] = {
        {SLICE_INIT("E\0\0\0\5\0"), "XX000", "", "connection:  (XX000)"},
        {SLICE_INIT("E\0\0\0\x0a"
                    "Cabc\0\0"),
         "XX000", "", "(XX000)"},
        {SLICE_INIT("E\0\0\0\x0c"
                    "C53-00\0\0"),
         "XX000", "", "(XX000)"},
        {SLICE_INIT("E\0\0\0\x11"
                    "Ma\x1b[2Jb\xff\n\0?\0\0"),
         "XX000", "a\x1b[2Jb\xff\n", "a\\x1b[2Jb\\xff\\n"},
        /* Of two states the first is meant, and the second does not reach a client. */
        {SLICE_INIT("E\0\0\0\x16"
                    "C53300\0C28P01\0Mx\0\0"),
         "53300", "x", "x (53300)"},
        {SLICE_INIT("E\0\0\0\x1b"
                    "SWARN\0C57P01\0Mx\0Dy\0Hz\0\0"),
         "57P01", "x", "x (57P01)"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        begin(&peer, &plain);
        peer_say(&peer, cases[i].bytes);
        assert_failed(&peer, ERR_DENIED, cases[i].state, cases[i].words);
        assert_text(answer_field(&peer, PGWIRE_FIELD_MESSAGE), cases[i].message);
        struct slice answer = buf_view(&peer.answer);
        assert_int_equal(slice_find(answer, SLICE("28P01")), answer.len);
        peer_end(&peer);
    }
}

static void a_large_error_is_passed_on_whole(void **state)
{
    (void)state;
    static char text[60000];
    struct peer peer;
    memset(text, 'x', sizeof(text) - 1);
    begin(&peer, &plain);
    say_error(&peer, "53300", text);
    assert_failed(&peer, ERR_DENIED, "53300", "xxxx");
    assert_text(answer_field(&peer, PGWIRE_FIELD_MESSAGE), text);
    peer_end(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_has_its_place),
        cmocka_unit_test(ready_before_the_sign_in_is_over_is_refused),
        cmocka_unit_test(a_server_that_skips_its_proof_is_refused),
        cmocka_unit_test(a_server_that_proves_something_else_is_refused),
        cmocka_unit_test(answers_to_scram_that_nobody_waited_for),
        cmocka_unit_test(sizes_that_cannot_be),
        cmocka_unit_test(scram_messages_that_cannot_be),
        cmocka_unit_test(who_does_not_speak_postgresql_is_told),
        cmocka_unit_test(methods_that_are_not_supported_are_named),
        cmocka_unit_test(binding_without_tls_is_refused),
        cmocka_unit_test(a_password_in_clear_text_stays_off_networks),
        cmocka_unit_test(without_a_password_none_can_be_asked_for),
        cmocka_unit_test(errors_before_readiness_are_passed_on),
        cmocka_unit_test(refused_credentials_are_not_the_clients),
        cmocka_unit_test(errors_of_any_form_become_good_ones),
        cmocka_unit_test(a_large_error_is_passed_on_whole),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_refused", tests, NULL, NULL);
}
