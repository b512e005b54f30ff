/* SPDX-License-Identifier: MIT */
#include "pg_help.h"

#include "base/limits.h"
#include "identity/md5_password.h"

static const struct scram_end_point end_point = {.bytes = "the certificate", .size = 32};

/* Every way to sign in ------------------------------------------------------------------------ */

static void serve_trust(struct peer *peer)
{
    (void)peer;
}

static void serve_cleartext(struct peer *peer)
{
    say_auth(peer, PGWIRE_AUTH_CLEARTEXT, SLICE_NONE);
    assert_bytes(peer_hear_message(peer, 'p'), PASSWORD "\0");
}

static void serve_md5(struct peer *peer)
{
    struct secret password;
    char text[MD5_PASSWORD_TEXT_SIZE];
    secret_init(&password);
    assert_int_equal(secret_set(&password, SLICE(PASSWORD)), ERR_NONE);
    assert_int_equal(md5_password_answer(&password, SLICE(USER), SLICE("salt"), text, NULL),
                     ERR_NONE);
    secret_release(&password);
    say_auth(peer, PGWIRE_AUTH_MD5, SLICE("salt"));
    assert_true(slice_equals(peer_hear_message(peer, 'p'), slice_of(text, sizeof(text))));
}

static void end_scram(struct peer *peer, const char *mechanism)
{
    struct arena arena;
    struct slice last;
    arena_init(&arena);
    serve_scram(peer, mechanism, &last, &arena);
    say_auth(peer, PGWIRE_AUTH_SASL_FINAL, last);
    arena_release(&arena);
}

static void serve_plain_scram(struct peer *peer)
{
    say_sasl(peer, "SCRAM-SHA-256", NULL);
    end_scram(peer, "SCRAM-SHA-256");
}

static void serve_bound_scram(struct peer *peer)
{
    say_sasl(peer, "SCRAM-SHA-256-PLUS", "SCRAM-SHA-256");
    end_scram(peer, "SCRAM-SHA-256-PLUS");
}

static void serve_unbound_scram(struct peer *peer)
{
    say_sasl(peer, "SCRAM-SHA-256", "OTHER");
    end_scram(peer, "SCRAM-SHA-256");
}

static const struct way {
    const char *name;
    enum place_tls mode;
    enum tls_stub tls;
    bool has_end_point;
    void (*serve)(struct peer *peer);
} ways[] = {
    {"trust", PLACE_TLS_DISABLE, TLS_AT_ONCE, false, serve_trust},
    {"cleartext", PLACE_TLS_DISABLE, TLS_AT_ONCE, false, serve_cleartext},
    {"md5", PLACE_TLS_DISABLE, TLS_AT_ONCE, false, serve_md5},
    {"SCRAM", PLACE_TLS_DISABLE, TLS_AT_ONCE, false, serve_plain_scram},
    {"trust and TLS", PLACE_TLS_PREFER, TLS_LATER, false, serve_trust},
    {"cleartext and TLS", PLACE_TLS_REQUIRE, TLS_AT_ONCE, false, serve_cleartext},
    {"md5 and TLS", PLACE_TLS_VERIFY_CA, TLS_AT_ONCE, true, serve_md5},
    {"SCRAM bound to TLS", PLACE_TLS_VERIFY_FULL, TLS_LATER, true, serve_bound_scram},
    {"SCRAM, not offered to be bound", PLACE_TLS_PREFER, TLS_AT_ONCE, true, serve_unbound_scram},
    {"SCRAM, nothing to bind to", PLACE_TLS_REQUIRE, TLS_LATER, false, serve_unbound_scram},
};

static void serve_start(struct peer *peer)
{
    if (peer->wish.mode != PLACE_TLS_DISABLE) {
        assert_bytes(peer_hear(peer, 8), "\0\0\0\x08\x04\xd2\x16\x2f");
        peer_forget(peer, 8);
        peer_say(peer, SLICE("S"));
        peer_turn(peer);
    }
    assert_bytes(peer_hear_message(peer, '\0'), "\0\3\0\0user\0gate\0database\0sales\0\0");
}

static void sign_in(const struct way *way, size_t piece, struct fault *fault)
{
    struct peer peer;
    struct wish wish = {
        .mode = way->mode,
        .tls = way->tls,
        .end_point = way->has_end_point ? &end_point : NULL,
        .piece = piece,
        .fault = fault,
    };
    peer_start(&peer, &wish);
    serve_start(&peer);
    way->serve(&peer);
    say_auth(&peer, PGWIRE_AUTH_OK, SLICE_NONE);
    say_session(&peer);
    assert_ready(&peer);
    assert_int_equal(peer.heard.len, 0);
    assert_int_equal(peer.rest.len, 0);
    assert_int_equal(peer.version, PGWIRE_VERSION(3, 0));
    assert_int_equal(stream_is_encrypted(peer.stream), way->mode != PLACE_TLS_DISABLE);
    peer_end(&peer);
}

static void signs_in_by_every_way_whatever_the_pieces(void **state)
{
    (void)state;
    static const size_t pieces[] = {0, 1, 2, 3, 5, 7, 11, 13, 50};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        for (size_t j = 0; j < COUNT_OF(pieces); j++) {
            sign_in(&ways[i], pieces[j], NULL);
        }
    }
}

static void signs_in_over_a_bad_network(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 6; seed++) {
        for (size_t i = 0; i < COUNT_OF(ways); i++) {
            struct fault fault = {.is_short = true, .is_again = true, .seed = seed};
            sign_in(&ways[i], 0, &fault);
        }
    }
}

/* All that a server says may come in one piece, or be cut anywhere. */
static void every_cut_is_the_same(void **state)
{
    (void)state;
    static const char all[] = "v\0\0\0\x0c\0\3\0\0\0\0\0\0"
                              "R\0\0\0\x08\0\0\0\0"
                              "S\0\0\0\x0e"
                              "one\0"
                              "first\0"
                              "S\0\0\0\x0c"
                              "two\0"
                              "2nd\0"
                              "K\0\0\0\x0c\0\0\0\x07wxyz"
                              "Z\0\0\0\x05I"
                              "S\0\0\0\x0alater\0\0";
    struct slice bytes = slice_of(all, sizeof(all) - 1);
    for (size_t cut = 0; cut <= bytes.len; cut++) {
        struct peer peer;
        peer_start(&peer, &(struct wish){.mode = PLACE_TLS_DISABLE});
        serve_start(&peer);
        peer_say(&peer, slice_sub(bytes, 0, cut));
        peer_turn(&peer);
        size_t ready_at = bytes.len - 12;
        assert_int_equal(peer.done_count, cut >= ready_at);
        peer_say(&peer, slice_from(bytes, cut));
        assert_ready(&peer);
        /* What was behind ReadyForQuery is in the rest, or still in the stream. */
        char left[64];
        size_t len = 0;
        enum err err = stream_read(peer.stream, left, sizeof(left), &len);
        assert_true(err == ERR_NONE || err == ERR_AGAIN);
        len = err == ERR_NONE ? len : 0;
        assert_int_equal(buf_append(&peer.rest, slice_of(left, len)), ERR_NONE);
        assert_bytes(buf_view(&peer.rest), "S\0\0\0\x0alater\0\0");
        peer_end(&peer);
    }
}

/* The session --------------------------------------------------------------------------------- */

static void start_session(struct peer *peer, const struct wish *wish)
{
    peer_start(peer, wish);
    (void)peer_hear_message(peer, '\0');
    say_auth(peer, PGWIRE_AUTH_OK, SLICE_NONE);
}

static void notices_and_notifications_are_kept_in_their_order(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, &(struct wish){.has_no_secret = true});
    (void)peer_hear_message(&peer, '\0');
    peer_say(&peer, SLICE("N\0\0\0\x0eMbefore\0\0\0"));
    assert_failed(&peer, ERR_INPUT, "08P01", "malformed error or notice");
    peer_end(&peer);

    static const char kept[] = "N\0\0\0\x0dMbefore\0\0"
                               "S\0\0\0\x0a"
                               "a\0"
                               "one\0"
                               "N\0\0\0\x0cMafter\0\0"
                               "A\0\0\0\x0e\0\0\0\7"
                               "ch\0"
                               "xy\0"
                               "S\0\0\0\x0a"
                               "a\0"
                               "two\0";
    struct slice bytes = slice_of(kept, sizeof(kept) - 1);
    peer_start(&peer, &(struct wish){.has_no_secret = true});
    (void)peer_hear_message(&peer, '\0');
    peer_say(&peer, slice_sub(bytes, 0, 14));
    say_auth(&peer, PGWIRE_AUTH_OK, SLICE_NONE);
    peer_say(&peer, slice_from(bytes, 14));
    peer_say(&peer, SLICE("Z\0\0\0\5T"));
    assert_true(peer_await(&peer, 1000));
    assert_non_null(peer.stream);
    assert_true(slice_equals(buf_view(&peer.greeting), bytes));
    assert_int_equal(peer.transaction, PGWIRE_IN_TRANSACTION);
    assert_int_equal(peer.key.len, 0);
    peer_end(&peer);
}

static void the_greeting_has_a_limit(void **state)
{
    (void)state;
    struct peer peer;
    struct buf parameter;
    static char value[1000];
    buf_init(&parameter, LIMIT_KIB(2));
    memset(value, 'v', sizeof(value));
    struct pgwire_parameter one = {SLICE("name"), slice_of(value, sizeof(value))};
    assert_int_equal(pgwire_parameter_status_write(&parameter, &one), ERR_NONE);
    size_t fits = LIMIT_GREETING_SIZE / parameter.len;
    start_session(&peer, &(struct wish){.has_no_secret = true});
    for (size_t i = 0; i < fits; i++) {
        peer_say(&peer, buf_view(&parameter));
    }
    peer_turn(&peer);
    assert_int_equal(peer.done_count, 0);
    peer_say(&peer, buf_view(&parameter));
    assert_failed(&peer, ERR_LIMIT, "08P01", "more than 65536 bytes");
    peer_end(&peer);
    buf_release(&parameter);
}

static void keys_of_every_size(void **state)
{
    (void)state;
    static char secret[LIMIT_CANCEL_KEY_SIZE];
    for (size_t i = 0; i < sizeof(secret); i++) {
        secret[i] = (char)i;
    }
    static const size_t sizes[] = {4, 5, 32, LIMIT_CANCEL_KEY_SIZE};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct peer peer;
        struct buf buf;
        struct pgwire_key key = {.process = 0xfffffffe, .secret = slice_of(secret, sizes[i])};
        buf_init(&buf, LIMIT_KIB(1));
        assert_int_equal(pgwire_key_write(&buf, &key), ERR_NONE);
        start_session(&peer,
                      &(struct wish){.version = PGWIRE_VERSION(3, 2), .has_no_secret = true});
        peer_say(&peer, buf_view(&buf));
        peer_say(&peer, SLICE("Z\0\0\0\5I"));
        assert_true(peer_await(&peer, 1000));
        assert_int_equal(peer.process, 0xfffffffe);
        assert_true(slice_equals(buf_view(&peer.key), key.secret));
        assert_int_equal(peer.version, PGWIRE_VERSION(3, 2));
        peer_end(&peer);
        buf_release(&buf);
    }
}

static void an_older_version_is_agreed_on(void **state)
{
    (void)state;
    static const struct {
        const char *negotiation;
        uint32_t asked;
        const char *words; /* NULL: taken */
    } cases[] = {
        {"v\0\0\0\x0c\0\3\0\0\0\0\0\0", PGWIRE_VERSION(3, 2), NULL},
        {"v\0\0\0\x0c\0\3\0\2\0\0\0\0", PGWIRE_VERSION(3, 2), NULL},
        {"v\0\0\0\x0c\0\3\0\3\0\0\0\0", PGWIRE_VERSION(3, 2), "newer than asked for"},
        {"v\0\0\0\x0c\0\3\0\1\0\0\0\0", PGWIRE_VERSION(3, 0), "newer than asked for"},
        {"v\0\0\0\x0c\0\2\0\0\0\0\0\0", PGWIRE_VERSION(3, 0), "malformed negotiation"},
        {"v\0\0\0\x0c\0\3\0\0\0\0\0\1", PGWIRE_VERSION(3, 0), "malformed negotiation"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct peer peer;
        peer_start(&peer, &(struct wish){.version = cases[i].asked, .has_no_secret = true});
        struct slice body = peer_hear_message(&peer, '\0');
        assert_int_equal(body.at[3], PGWIRE_VERSION_MINOR(cases[i].asked));
        peer_say(&peer, slice_of(cases[i].negotiation, 13));
        if (cases[i].words != NULL) {
            assert_failed(&peer, ERR_INPUT, "08P01", cases[i].words);
        } else {
            say_auth(&peer, PGWIRE_AUTH_OK, SLICE_NONE);
            say_session(&peer);
            assert_ready(&peer);
            assert_int_equal(peer.version, PGWIRE_VERSION(3, cases[i].negotiation[8]));
        }
        peer_end(&peer);
    }
    struct peer peer;
    peer_start(&peer, &(struct wish){.version = PGWIRE_VERSION(3, 2)});
    peer_say(&peer, SLICE("v\0\0\0\x13\0\3\0\2\0\0\0\1_pq_.x\0"));
    assert_failed(&peer, ERR_INPUT, "08P01", "options of the protocol that nobody asked for");
    peer_end(&peer);
}

/* What is passed on --------------------------------------------------------------------------- */

static void a_clients_parameters_are_passed_on(void **state)
{
    (void)state;
    static const struct pgwire_parameter parameters[] = {
        {SLICE_INIT("user"), SLICE_INIT("somebody")},
        {SLICE_INIT("application_name"), SLICE_INIT("psql")},
        {SLICE_INIT("database"), SLICE_INIT("other")},
        {SLICE_INIT("_pq_.command"), SLICE_INIT("1")},
        {SLICE_INIT("options"), SLICE_INIT("-c geqo=off")},
        {SLICE_INIT("replication"), SLICE_INIT("OFF")},
        {SLICE_INIT("DateStyle"), SLICE_INIT("")},
    };
    struct peer peer;
    peer_start(&peer,
               &(struct wish){.parameters = parameters, .parameter_count = COUNT_OF(parameters)});
    assert_bytes(peer_hear_message(&peer, '\0'),
                 "\0\3\0\0user\0gate\0database\0sales\0application_name\0psql\0"
                 "options\0-c geqo=off\0DateStyle\0\0\0");
    peer_end(&peer);
}

static void replication_is_refused(void **state)
{
    (void)state;
    static const struct slice values[] = {SLICE_INIT("true"), SLICE_INIT("database"),
                                          SLICE_INIT("1"), SLICE_INIT(""), SLICE_INIT("offf")};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct peer peer;
        struct pgwire_parameter parameter = {SLICE("replication"), values[i]};
        peer_start(&peer, &(struct wish){.parameters = &parameter, .parameter_count = 1});
        assert_failed(&peer, ERR_UNSUPPORTED, "0A000", "replication");
        assert_int_equal(peer_hear(&peer, 1).len, 0);
        peer_end(&peer);
    }
}

static void what_cannot_be_said_is_refused(void **state)
{
    (void)state;
    static struct pgwire_parameter many[LIMIT_START_PARAMETERS + 1];
    static char name[LIMIT_PGWIRE_STARTUP_SIZE];
    memset(name, 'n', sizeof(name));
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        many[i] = (struct pgwire_parameter){slice_of(name, i + 1), SLICE("x")};
    }
    struct pgwire_parameter nul = {SLICE("options"), SLICE("-c\0user")};
    struct pgwire_parameter empty = {SLICE(""), SLICE("x")};
    struct pgwire_parameter large = {SLICE("options"), slice_of(name, sizeof(name))};
    const struct wish wishes[] = {
        {.parameters = many, .parameter_count = COUNT_OF(many)},
        {.parameters = many, .parameter_count = COUNT_OF(many) - 2},
        {.parameters = &nul, .parameter_count = 1},
        {.parameters = &empty, .parameter_count = 1},
        {.parameters = &large, .parameter_count = 1},
    };
    for (size_t i = 0; i < COUNT_OF(wishes); i++) {
        struct peer peer;
        peer_start(&peer, &wishes[i]);
        assert_failed(&peer, ERR_INPUT, "08P01", "too long or not valid");
        peer_end(&peer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_in_by_every_way_whatever_the_pieces),
        cmocka_unit_test(signs_in_over_a_bad_network),
        cmocka_unit_test(every_cut_is_the_same),
        cmocka_unit_test(notices_and_notifications_are_kept_in_their_order),
        cmocka_unit_test(the_greeting_has_a_limit),
        cmocka_unit_test(keys_of_every_size),
        cmocka_unit_test(an_older_version_is_agreed_on),
        cmocka_unit_test(a_clients_parameters_are_passed_on),
        cmocka_unit_test(replication_is_refused),
        cmocka_unit_test(what_cannot_be_said_is_refused),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_target", tests, NULL, NULL);
}
