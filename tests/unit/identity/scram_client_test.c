/* SPDX-License-Identifier: MIT */
#include "identity/scram.h"

#include "base/memory.h"
#include "scram_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SALT_32   "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" /* 24 bytes */
#define SALT_MAX  SALT_32 SALT_32 SALT_32 SALT_32 SALT_32 "AAAAAAAAAAA="
#define SALT_OVER SALT_32 SALT_32 SALT_32 SALT_32 SALT_32 "AAAAAAAAAAAA"

static struct arena arena;
static struct error error;
static struct secret password;
static struct scram_client *client;
static struct slice answer;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    scram_password(&password, SLICE("pencil"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    secret_release(&password);
    arena_release(&arena);
    return 0;
}

static void begin(struct slice user)
{
    const struct scram_client_options options = {
        .password = &password, .user = user, .nonce = SLICE(RFC_CLIENT_NONCE)};
    client = scram_client_new_in(&arena, &options);
}

static enum err take(struct slice message)
{
    answer = SLICE_NONE;
    return scram_client_take_in(&arena, client, message, &answer, &error);
}

static enum err first(struct slice message)
{
    begin(SLICE("user"));
    return take(message);
}

static enum err final(struct slice message)
{
    assert_int_equal(first(SLICE(RFC_SERVER_FIRST)), ERR_MORE);
    return take(message);
}

static void the_example_of_rfc_7677_signs_in(void **state)
{
    (void)state;
    begin(SLICE("user"));
    assert_true(slice_equals(scram_client_mechanism(client), SLICE(SCRAM_MECHANISM)));
    assert_true(slice_equals(scram_client_first_in(&arena, client), SLICE(RFC_CLIENT_FIRST)));
    assert_int_equal(take(SLICE(RFC_SERVER_FIRST)), ERR_MORE);
    assert_true(slice_equals(answer, SLICE(RFC_CLIENT_FINAL)));
    assert_false(scram_client_is_done(client));
    assert_int_equal(take(SLICE(RFC_SERVER_FINAL)), ERR_NONE);
    assert_null(answer.at);
    assert_true(scram_client_is_done(client));
}

static void what_psql_says_is_said(void **state)
{
    (void)state;
    struct secret secret CLEANUP(secret_release);
    scram_password(&secret, SLICE(PSQL_PASSWORD));
    for (size_t i = 0; i < PSQL_EXCHANGE_COUNT; i++) {
        const struct scram_exchange *psql = &psql_exchanges[i];
        const struct scram_client_options options = {
            .password = &secret,
            .end_point = psql->binds ? &psql_end_point : NULL,
            .plus_is_offered = psql->plus_is_offered,
            .nonce = psql->client_nonce,
        };
        client = scram_client_new_in(&arena, &options);
        assert_true(slice_equals(scram_client_mechanism(client), psql->mechanism));
        assert_true(slice_equals(scram_client_first_in(&arena, client), psql->messages[0]));
        assert_int_equal(take(psql->messages[1]), ERR_MORE);
        assert_true(slice_equals(answer, psql->messages[2]));
        assert_int_equal(take(psql->messages[3]), ERR_NONE);
        assert_true(scram_client_is_done(client));
    }
}

static void an_offer_without_an_end_point_is_not_taken(void **state)
{
    (void)state;
    const struct scram_client_options options = {.password = &password, .plus_is_offered = true};
    client = scram_client_new_in(&arena, &options);
    assert_true(slice_equals(scram_client_mechanism(client), SLICE(SCRAM_MECHANISM)));
    assert_true(slice_starts_with(scram_client_first_in(&arena, client), SLICE("n,,n=,r=")));
}

static void names_are_escaped_and_extensions_are_ignored(void **state)
{
    (void)state;
    /* Computed from RFC 5802 section 3 with another implementation of HMAC and PBKDF2. */
    begin(SLICE("a,b=\xc3\xa9"));
    assert_true(slice_equals(scram_client_first_in(&arena, client),
                             SLICE("n,,n=a=2Cb=3D\xc3\xa9,r=" RFC_CLIENT_NONCE)));
    assert_int_equal(take(SLICE(RFC_SERVER_FIRST ",x=y,Z==")), ERR_MORE);
    assert_true(slice_equals(
        answer, SLICE("c=biws,r=" RFC_NONCE ",p=V2SpyMsI6FN28PvGFPvxxmmB0hH9CGycpo6HjbszWFU=")));
    assert_int_equal(take(SLICE("v=LEtFo69afEmVIAw/jNUNNuFDV/62mbc//LFM+6HTMIM=,x=y")), ERR_NONE);
}

static void first_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct slice message;
        enum err err;
    } refused[] = {
        {SLICE_INIT(""), ERR_INPUT},
        {SLICE_INIT(RFC_SERVER_FINAL), ERR_INPUT},
        {SLICE_INIT("e=other-error"), ERR_INPUT},
        {SLICE_INIT("s=" RFC_SALT ",r=" RFC_NONCE ",i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",i=4096,s=" RFC_SALT), ERR_INPUT},
        {SLICE_INIT("m=x,r=" RFC_NONCE ",s=" RFC_SALT ",i=4096"), ERR_UNSUPPORTED},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096,m=x"), ERR_UNSUPPORTED},
        {SLICE_INIT("r=,s=" RFC_SALT ",i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE " ,s=" RFC_SALT ",i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_CLIENT_NONCE ",s=" RFC_SALT ",i=4096"), ERR_UNAUTHENTICATED},
        {SLICE_INIT("r=" RFC_SERVER_NONCE ",s=" RFC_SALT ",i=4096"), ERR_UNAUTHENTICATED},
        {SLICE_INIT("r=R" RFC_NONCE ",s=" RFC_SALT ",i=4096"), ERR_UNAUTHENTICATED},
        {SLICE_INIT("r=rOprNGfwEbeRWgbNEkq,s=" RFC_SALT ",i=4096"), ERR_UNAUTHENTICATED},
        {SLICE_INIT("r=" RFC_NONCE ",s=,i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=W22ZaJ0SNY7soEsUEjb6gQ,i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=W22ZaJ0SNY7soEsUEjb6gR==,i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=W22Z\naJ0SNY7soEsUEjb6gQ==,i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=W22Z-J0SNY7soEsUEjb6gQ==,i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" SALT_OVER ",i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i="), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=-4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=+4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i= 4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=04096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096x"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=0"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=1"), ERR_LIMIT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4095"), ERR_LIMIT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=1000001"), ERR_LIMIT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4294971392"), ERR_LIMIT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=18446744073709555712"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096,"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096,x"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096,x="), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096,i=4096"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096\0"), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",s=" RFC_SALT ",i=4096,x=\xff"), ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(first(refused[i].message), refused[i].err);
        assert_null(answer.at);
        assert_string_not_equal(error.message, "");
        assert_int_equal(take(SLICE(RFC_SERVER_FIRST)), ERR_INPUT);
        assert_false(scram_client_is_done(client));
    }
}

static void salts_and_nonces_up_to_the_bounds_are_accepted(void **state)
{
    (void)state;
    assert_int_equal(first(SLICE("r=" RFC_NONCE ",s=" SALT_MAX ",i=4096")), ERR_MORE);
    assert_int_equal(first(SLICE("r=" RFC_NONCE ",s=AA==,i=4097")), ERR_MORE);
    assert_int_equal(first(SLICE("r=" RFC_CLIENT_NONCE "x,s=AA==,i=4096")), ERR_MORE);
    char bytes[LIMIT_SCRAM_MESSAGE_SIZE];
    memset(bytes, 'a', sizeof(bytes));
    struct slice rest = slice_of(bytes, LIMIT_SCRAM_NONCE_SIZE - strlen(RFC_CLIENT_NONCE));
    assert_int_equal(
        first(arena_format(&arena, "r=" RFC_CLIENT_NONCE "%.*s,s=AA==,i=4096", SLICE_ARG(rest))),
        ERR_MORE);
    rest.len++;
    assert_int_equal(
        first(arena_format(&arena, "r=" RFC_CLIENT_NONCE "%.*s,s=AA==,i=4096", SLICE_ARG(rest))),
        ERR_INPUT);
    rest = slice_of(bytes, LIMIT_SCRAM_MESSAGE_SIZE - strlen(RFC_SERVER_FIRST ",x="));
    assert_int_equal(first(arena_format(&arena, "%s,x=%.*s", RFC_SERVER_FIRST, SLICE_ARG(rest))),
                     ERR_MORE);
    assert_int_equal(first(arena_format(&arena, "%s,x=b%.*s", RFC_SERVER_FIRST, SLICE_ARG(rest))),
                     ERR_LIMIT);
}

static void last_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct slice message;
        enum err err;
    } refused[] = {
        {SLICE_INIT(""), ERR_INPUT},
        {SLICE_INIT(RFC_SERVER_FIRST), ERR_INPUT},
        {SLICE_INIT("e=invalid-proof"), ERR_UNAUTHENTICATED},
        {SLICE_INIT("e=" RFC_SERVER_FINAL), ERR_UNAUTHENTICATED},
        {SLICE_INIT("v="), ERR_INPUT},
        {SLICE_INIT("V=" RFC_SIGNATURE), ERR_INPUT},
        {SLICE_INIT("v=AAAA"), ERR_INPUT},
        {SLICE_INIT("v=" RFC_SIGNATURE "AAAA"), ERR_INPUT},
        {SLICE_INIT("v=" RFC_SIGNATURE ","), ERR_INPUT},
        {SLICE_INIT("v=" RFC_SIGNATURE ",v=" RFC_SIGNATURE), ERR_INPUT},
        {SLICE_INIT("v=" RFC_SIGNATURE ",e=other-error"), ERR_INPUT},
        {SLICE_INIT("v=" RFC_SIGNATURE ",m=x"), ERR_UNSUPPORTED},
        {SLICE_INIT("m=x,v=" RFC_SIGNATURE), ERR_UNSUPPORTED},
        {SLICE_INIT("x=y,v=" RFC_SIGNATURE), ERR_INPUT},
        {SLICE_INIT("v=" RFC_SIGNATURE "\0"), ERR_INPUT},
        {SLICE_INIT("v=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), ERR_UNAUTHENTICATED},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(final(refused[i].message), refused[i].err);
        assert_null(strstr(error.message, RFC_SIGNATURE));
        assert_int_equal(take(SLICE(RFC_SERVER_FINAL)), ERR_INPUT);
        assert_string_equal(error.message, "SCRAM message after the last one");
        assert_false(scram_client_is_done(client));
    }
}

static void every_prefix_is_refused(void **state)
{
    (void)state;
    struct slice message = SLICE(RFC_SERVER_FIRST);
    for (size_t len = 0; len < message.len; len++) {
        enum err err = first(slice_sub(message, 0, len));
        assert_int_not_equal(err, ERR_NONE);
        assert_int_not_equal(err, ERR_MORE);
    }
    message = SLICE(RFC_SERVER_FINAL);
    for (size_t len = 0; len < message.len; len++) {
        assert_int_equal(final(slice_sub(message, 0, len)), ERR_INPUT);
    }
}

static void every_changed_bit_of_the_signature_is_noticed(void **state)
{
    (void)state;
    struct slice message = SLICE(RFC_SERVER_FINAL);
    char *bytes = arena_text(&arena, message);
    for (size_t bit = 0; bit < message.len * 8; bit++) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        assert_int_not_equal(final(slice_of(bytes, message.len)), ERR_NONE);
        assert_false(scram_client_is_done(client));
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
    }
}

static void nonces_are_new_each_time(void **state)
{
    (void)state;
    const struct scram_client_options options = {.password = &password};
    struct slice a = scram_client_first_in(&arena, scram_client_new_in(&arena, &options));
    struct slice b = scram_client_first_in(&arena, scram_client_new_in(&arena, &options));
    assert_int_equal(a.len, strlen("n,,n=,r=") + 24);
    assert_int_equal(b.len, a.len);
    assert_false(slice_equals(a, b));
}

static void both_sides_understand_each_other(void **state)
{
    (void)state;
    struct scram_verifier verifier;
    scram_verifier_make(&password, &verifier);
    for (int binds = 0; binds < 2; binds++) {
        const struct scram_end_point *end_point = binds ? &psql_end_point : NULL;
        const struct scram_client_options options = {
            .password = &password, .end_point = end_point, .plus_is_offered = end_point != NULL};
        client = scram_client_new_in(&arena, &options);
        const struct scram_server_options server_options = {
            .verifiers = &verifier,
            .count = 1,
            .end_point = end_point,
            .mechanism = scram_client_mechanism(client),
        };
        struct scram_server *server;
        struct slice said;
        assert_int_equal(scram_server_new_in(&arena, &server_options, &server, &error), ERR_NONE);
        assert_int_equal(scram_server_take_in(&arena, server, scram_client_first_in(&arena, client),
                                              &said, &error),
                         ERR_MORE);
        assert_int_equal(take(said), ERR_MORE);
        assert_int_equal(scram_server_take_in(&arena, server, answer, &said, &error), ERR_NONE);
        assert_int_equal(take(said), ERR_NONE);
        assert_true(scram_client_is_done(client));
    }
}

static void nothing_comes_after_the_end(void **state)
{
    (void)state;
    assert_int_equal(final(SLICE(RFC_SERVER_FINAL)), ERR_NONE);
    assert_int_equal(take(SLICE(RFC_SERVER_FINAL)), ERR_INPUT);
    assert_false(scram_client_is_done(client));
}

int main(void)
{
#define CLIENT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLIENT_TEST(the_example_of_rfc_7677_signs_in),
        CLIENT_TEST(what_psql_says_is_said),
        CLIENT_TEST(an_offer_without_an_end_point_is_not_taken),
        CLIENT_TEST(names_are_escaped_and_extensions_are_ignored),
        CLIENT_TEST(first_messages_are_refused),
        CLIENT_TEST(salts_and_nonces_up_to_the_bounds_are_accepted),
        CLIENT_TEST(last_messages_are_refused),
        CLIENT_TEST(every_prefix_is_refused),
        CLIENT_TEST(every_changed_bit_of_the_signature_is_noticed),
        CLIENT_TEST(nonces_are_new_each_time),
        CLIENT_TEST(both_sides_understand_each_other),
        CLIENT_TEST(nothing_comes_after_the_end),
    };
    return cmocka_run_group_tests_name("identity/scram_client", tests, NULL, NULL);
}
