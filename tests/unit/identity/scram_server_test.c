/* SPDX-License-Identifier: MIT */
#include "identity/scram.h"

#include "base/memory.h"
#include "base/must.h"
#include "scram_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BINDING_OTHER "cD10bHMtc2VydmVyLWVuZC1wb2ludCwseHl6" /* "p=tls-server-end-point,,xyz" */

static struct arena arena;
static struct error error;
static struct scram_verifier rfc_verifier;
static struct scram_server *server;
static struct slice answer;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    struct secret password CLEANUP(secret_release);
    scram_password(&password, SLICE("pencil"));
    static const unsigned char salt[] = {0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e,
                                         0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36, 0xfa, 0x81};
    scram_verifier_derive(&password, slice_of(salt, sizeof(salt)), 4096, &rfc_verifier);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static enum err begin(struct slice mechanism, const struct scram_end_point *end_point)
{
    const struct scram_server_options options = {
        .verifiers = &rfc_verifier,
        .count = 1,
        .end_point = end_point,
        .mechanism = mechanism,
        .nonce = SLICE(RFC_SERVER_NONCE),
    };
    error = (struct error){0};
    return scram_server_new_in(&arena, &options, &server, &error);
}

static enum err take(struct slice message)
{
    answer = SLICE_NONE;
    return scram_server_take_in(&arena, server, message, &answer, &error);
}

/* What becomes of a first message, without and with channel binding on offer. */
static enum err first(struct slice message)
{
    assert_int_equal(begin(SLICE(SCRAM_MECHANISM), NULL), ERR_NONE);
    return take(message);
}

static enum err first_plus(struct slice message)
{
    assert_int_equal(begin(SLICE(SCRAM_MECHANISM_PLUS), &psql_end_point), ERR_NONE);
    return take(message);
}

/* What becomes of a last message after the first one of the RFC. */
static enum err final(struct slice message)
{
    assert_int_equal(first(SLICE(RFC_CLIENT_FIRST)), ERR_MORE);
    return take(message);
}

static void the_example_of_rfc_7677_signs_in(void **state)
{
    (void)state;
    assert_int_equal(first(SLICE(RFC_CLIENT_FIRST)), ERR_MORE);
    assert_true(slice_equals(answer, SLICE(RFC_SERVER_FIRST)));
    assert_int_equal(take(SLICE(RFC_CLIENT_FINAL)), ERR_NONE);
    assert_true(slice_equals(answer, SLICE(RFC_SERVER_FINAL)));
}

static void what_psql_said_signs_in(void **state)
{
    (void)state;
    struct scram_verifier verifier;
    assert_int_equal(scram_verifier_parse(SLICE(PSQL_VERIFIER), &verifier, &error), ERR_NONE);
    for (size_t i = 0; i < PSQL_EXCHANGE_COUNT; i++) {
        const struct scram_exchange *psql = &psql_exchanges[i];
        const struct scram_server_options options = {
            .verifiers = &verifier,
            .count = 1,
            .end_point = psql->plus_is_offered ? &psql_end_point : NULL,
            .mechanism = psql->mechanism,
            .nonce = SLICE(PSQL_SERVER_NONCE),
        };
        assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_NONE);
        assert_int_equal(take(psql->messages[0]), ERR_MORE);
        assert_true(slice_equals(answer, psql->messages[1]));
        assert_int_equal(take(psql->messages[2]), ERR_NONE);
        assert_true(slice_equals(answer, psql->messages[3]));
    }
}

static void a_mechanism_that_was_not_offered_is_refused(void **state)
{
    (void)state;
    static const struct slice names[] = {
        SLICE_INIT(""),
        SLICE_INIT("SCRAM-SHA-1"),
        SLICE_INIT("scram-sha-256"),
        SLICE_INIT("SCRAM-SHA-256-PLUS "),
        SLICE_INIT("SCRAM-SHA-256\0"),
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_int_equal(begin(names[i], &psql_end_point), ERR_UNSUPPORTED);
    }
    assert_int_equal(begin(SLICE(SCRAM_MECHANISM_PLUS), NULL), ERR_UNSUPPORTED);
    assert_string_equal(error.message, "SASL mechanism that was not offered");
}

static void first_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct slice message;
        enum err err;
    } refused[] = {
        {SLICE_INIT(""), ERR_INPUT},
        {SLICE_INIT("n"), ERR_INPUT},
        {SLICE_INIT("n,"), ERR_INPUT},
        {SLICE_INIT("n,,"), ERR_INPUT},
        {SLICE_INIT("n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT(",,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("N,,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("nn,,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("x,,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("p,,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,x,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,a=ann,n=user,r=abc"), ERR_UNSUPPORTED},
        {SLICE_INIT("n,a=,n=user,r=abc"), ERR_UNSUPPORTED},
        {SLICE_INIT("p=tls-server-end-point,,n=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,m=x,n=user,r=abc"), ERR_UNSUPPORTED},
        {SLICE_INIT("n,,n=user,r=abc,m=x"), ERR_UNSUPPORTED},
        {SLICE_INIT("n,,n=user"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,"), ERR_INPUT},
        {SLICE_INIT("n,,r=abc,n=user"), ERR_INPUT},
        {SLICE_INIT("n,,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,N=user,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n:user,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=us=er,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=us=2c,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=us=2,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=us==2C,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=\xff,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=\0,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r="), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=a b"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=a\x7f"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=a\n"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=\xc3\xa9"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc\0"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,x"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,x="), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,1=x"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,[=x"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,xy=x"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,r=abc"), ERR_INPUT},
        {SLICE_INIT("n,,n=user,r=abc,a=ann"), ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(first(refused[i].message), refused[i].err);
        assert_null(answer.at);
        assert_string_not_equal(error.message, "");
        assert_int_equal(take(SLICE(RFC_CLIENT_FIRST)), ERR_INPUT);
    }
}

static void first_messages_are_accepted(void **state)
{
    (void)state;
    static const struct slice accepted[] = {
        SLICE_INIT("n,,n=,r=abc"),         SLICE_INIT("y,,n=,r=abc"),
        SLICE_INIT("n,,n=*,r=abc"),        SLICE_INIT("n,,n=a=2Cb=3D,r=a"),
        SLICE_INIT("n,,n=\xc3\xa9,r=abc"), SLICE_INIT("n,,n=u,r=~!=*+/"),
        SLICE_INIT("n,,n=u,r=abc,x=y"),    SLICE_INIT("n,,n=u,r=abc,x==,Z=\xc3\xa9,x=1"),
    };
    for (size_t i = 0; i < COUNT_OF(accepted); i++) {
        assert_int_equal(first(accepted[i]), ERR_MORE);
    }
}

static void channel_binding_fits_to_what_was_offered(void **state)
{
    (void)state;
    assert_int_equal(first_plus(SLICE("p=tls-server-end-point,,n=,r=abc")), ERR_MORE);
    assert_int_equal(first_plus(SLICE("p=tls-unique,,n=,r=abc")), ERR_UNSUPPORTED);
    assert_int_equal(first_plus(SLICE("p=,,n=,r=abc")), ERR_UNSUPPORTED);
    assert_int_equal(first_plus(SLICE("p=tls-server-end-point2,,n=,r=abc")), ERR_UNSUPPORTED);
    assert_int_equal(first_plus(SLICE("n,,n=,r=abc")), ERR_INPUT);
    assert_string_equal(
        error.message,
        "SCRAM mechanism with channel binding, without channel binding in its message");
    assert_int_equal(first_plus(SLICE("y,,n=,r=abc")), ERR_INPUT);
    assert_int_equal(begin(SLICE(SCRAM_MECHANISM), &psql_end_point), ERR_NONE);
    assert_int_equal(take(SLICE("n,,n=,r=abc")), ERR_MORE);
    assert_int_equal(begin(SLICE(SCRAM_MECHANISM), &psql_end_point), ERR_NONE);
    assert_int_equal(take(SLICE("p=tls-server-end-point,,n=,r=abc")), ERR_INPUT);
}

static void an_offer_that_did_not_arrive_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(begin(SLICE(SCRAM_MECHANISM), &psql_end_point), ERR_NONE);
    assert_int_equal(take(SLICE("y,,n=,r=abc")), ERR_UNAUTHENTICATED);
    assert_string_equal(error.message, "SCRAM client did not see that channel binding was offered");
}

static void last_messages_are_refused(void **state)
{
    (void)state;
    static const struct {
        struct slice message;
        enum err err;
    } refused[] = {
        {SLICE_INIT(""), ERR_INPUT},
        {SLICE_INIT(RFC_CLIENT_FIRST), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",c=biws,p=" RFC_PROOF), ERR_INPUT},
        {SLICE_INIT("r=" RFC_NONCE ",p=" RFC_PROOF), ERR_INPUT},
        {SLICE_INIT("c=biws,p=" RFC_PROOF), ERR_INPUT},
        {SLICE_INIT("c=biws,p=" RFC_PROOF ",r=" RFC_NONCE), ERR_INPUT},
        {SLICE_INIT("c=,r=" RFC_NONCE ",p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=eSws,r=" RFC_NONCE ",p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=biwsYQ==,r=" RFC_NONCE ",p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=" BINDING_OTHER ",r=" RFC_NONCE ",p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=biws,r=" RFC_CLIENT_NONCE ",p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=biws,r=" RFC_SERVER_NONCE ",p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=biws,r=" RFC_NONCE "0,p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=biws,r=,p=" RFC_PROOF), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ","), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p="), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p"), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",v=" RFC_PROOF), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=AAAA"), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=" RFC_PROOF ","), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=" RFC_PROOF ",x=y"), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=" RFC_PROOF "AAAA"), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=" RFC_PROOF "\n"), ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=" RFC_PROOF "\0"), ERR_INPUT},
        /* Two bits that decode to nothing. */
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVR="),
         ERR_INPUT},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",m=x,p=" RFC_PROOF), ERR_UNSUPPORTED},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",c=biws,p=" RFC_PROOF), ERR_INPUT},
        /* What is signed is another message with it. */
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",x=y,p=" RFC_PROOF), ERR_UNAUTHENTICATED},
        {SLICE_INIT("c=biws,r=" RFC_NONCE ",p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
         ERR_UNAUTHENTICATED},
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(final(refused[i].message), refused[i].err);
        assert_null(answer.at);
        assert_null(strstr(error.message, RFC_PROOF));
        /* One attempt: what would have been right comes too late. */
        assert_int_equal(take(SLICE(RFC_CLIENT_FINAL)), ERR_INPUT);
        assert_string_equal(error.message, "SCRAM message after the last one");
    }
}

static void a_client_on_another_channel_is_refused(void **state)
{
    (void)state;
    struct scram_verifier verifier;
    assert_int_equal(scram_verifier_parse(SLICE(PSQL_VERIFIER), &verifier, &error), ERR_NONE);
    struct scram_end_point others[] = {psql_end_point, psql_end_point};
    others[0].bytes[47] ^= 1;
    others[1].size = 32;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        const struct scram_server_options options = {
            .verifiers = &verifier,
            .count = 1,
            .end_point = &others[i],
            .mechanism = SLICE(SCRAM_MECHANISM_PLUS),
            .nonce = SLICE(PSQL_SERVER_NONCE),
        };
        assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_NONE);
        assert_int_equal(take(psql_exchanges[1].messages[0]), ERR_MORE);
        assert_int_equal(take(psql_exchanges[1].messages[2]), ERR_UNAUTHENTICATED);
        assert_string_equal(error.message, "SCRAM client on another channel");
    }
}

static void every_prefix_is_refused_or_another_message(void **state)
{
    (void)state;
    struct slice message = SLICE(RFC_CLIENT_FIRST);
    size_t shortest = message.len - strlen(RFC_CLIENT_NONCE) + 1;
    for (size_t len = 0; len < message.len; len++) {
        assert_int_equal(first(slice_sub(message, 0, len)), len < shortest ? ERR_INPUT : ERR_MORE);
    }
    message = SLICE(RFC_CLIENT_FINAL);
    for (size_t len = 0; len < message.len; len++) {
        enum err err = final(slice_sub(message, 0, len));
        assert_int_equal(err, ERR_INPUT);
    }
}

static void every_changed_bit_is_noticed(void **state)
{
    (void)state;
    static const struct slice messages[] = {SLICE_INIT(RFC_CLIENT_FIRST),
                                            SLICE_INIT(RFC_CLIENT_FINAL)};
    for (size_t which = 0; which < COUNT_OF(messages); which++) {
        char *bytes = arena_text(&arena, messages[which]);
        struct slice changed = slice_of(bytes, messages[which].len);
        for (size_t bit = 0; bit < changed.len * 8; bit++) {
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            enum err err = first(which == 0 ? changed : messages[0]);
            if (err == ERR_MORE) {
                err = take(which == 1 ? changed : messages[1]);
            }
            assert_int_not_equal(err, ERR_NONE);
            assert_int_not_equal(err, ERR_MORE);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        }
    }
}

static void sizes_are_bounded(void **state)
{
    (void)state;
    size_t nonce_max = LIMIT_SCRAM_NONCE_SIZE - strlen(RFC_SERVER_NONCE);
    char bytes[LIMIT_SCRAM_MESSAGE_SIZE];
    memset(bytes, 'a', sizeof(bytes));
    struct slice text = slice_of(bytes, sizeof(bytes));
    struct slice message =
        arena_format(&arena, "n,,n=,r=%.*s", SLICE_ARG(slice_sub(text, 0, nonce_max)));
    assert_int_equal(first(message), ERR_MORE);
    message = arena_format(&arena, "n,,n=,r=%.*s", SLICE_ARG(slice_sub(text, 0, nonce_max + 1)));
    assert_int_equal(first(message), ERR_LIMIT);
    message = arena_format(&arena, "n,,n=,r=%.*s",
                           SLICE_ARG(slice_sub(text, 0, LIMIT_SCRAM_NONCE_SIZE + 1)));
    assert_int_equal(first(message), ERR_INPUT);
    struct slice name = slice_sub(text, 0, LIMIT_SCRAM_MESSAGE_SIZE - strlen("n,,n=,r=a"));
    assert_int_equal(first(arena_format(&arena, "n,,n=%.*s,r=a", SLICE_ARG(name))), ERR_MORE);
    assert_int_equal(first(arena_format(&arena, "n,,n=%.*s,r=ab", SLICE_ARG(name))), ERR_LIMIT);
    assert_string_equal(error.message, "SCRAM message of 2049 bytes");
}

static void extensions_are_signed_and_ignored(void **state)
{
    (void)state;
    /* Computed from RFC 5802 section 3 with another implementation of HMAC and PBKDF2. */
    assert_int_equal(first(SLICE(RFC_CLIENT_FIRST ",x=y")), ERR_MORE);
    assert_true(slice_equals(answer, SLICE(RFC_SERVER_FIRST)));
    assert_int_equal(take(SLICE("c=biws,r=" RFC_NONCE
                                ",Z=1,x==,p=PcbvHgxoxVRe51hSl4X1ZgeLewcgc8Wi6EDhS3KjVik=")),
                     ERR_NONE);
    assert_true(slice_equals(answer, SLICE("v=11//9PhxRJXgJSjXT/k/mh/x0uDmqwDJBaKhR4/YjOk=")));
}

static void nobody_signs_in_as_a_mock(void **state)
{
    (void)state;
    struct secret key CLEANUP(secret_release);
    scram_password(&key, SLICE("of the gateway"));
    struct scram_verifier mock;
    scram_verifier_mock(&key, SLICE("user"), &mock);
    /* Even with the keys of a real one. */
    struct scram_verifier exposed = rfc_verifier;
    exposed.is_mock = true;
    const struct scram_verifier *verifiers[] = {&mock, &exposed};
    for (size_t i = 0; i < COUNT_OF(verifiers); i++) {
        const struct scram_server_options options = {.verifiers = verifiers[i],
                                                     .count = 1,
                                                     .mechanism = SLICE(SCRAM_MECHANISM),
                                                     .nonce = SLICE(RFC_SERVER_NONCE)};
        assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_NONE);
        assert_int_equal(take(SLICE(RFC_CLIENT_FIRST)), ERR_MORE);
        assert_int_equal(answer.len, strlen(RFC_SERVER_FIRST));
        assert_int_equal(take(SLICE(RFC_CLIENT_FINAL)), ERR_UNAUTHENTICATED);
        assert_string_equal(error.message, "SCRAM proof is wrong");
    }
}

/* A server for the first 'count' of 'verifiers', and what it says to the proof of RFC 7677. */
static enum err final_among(const struct scram_verifier *verifiers, size_t count)
{
    const struct scram_server_options options = {.verifiers = verifiers,
                                                 .count = count,
                                                 .mechanism = SLICE(SCRAM_MECHANISM),
                                                 .nonce = SLICE(RFC_SERVER_NONCE)};
    assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_NONE);
    assert_int_equal(take(SLICE(RFC_CLIENT_FIRST)), ERR_MORE);
    assert_true(slice_equals(answer, SLICE(RFC_SERVER_FIRST)));
    return take(SLICE(RFC_CLIENT_FINAL));
}

static void the_verifier_that_fits_is_found_among_several(void **state)
{
    (void)state;
    struct scram_verifier verifiers[LIMIT_SCRAM_VERIFIERS];
    for (size_t i = 0; i < COUNT_OF(verifiers); i++) {
        struct secret password CLEANUP(secret_release);
        scram_password(&password, arena_format(&arena, "password %zu", i));
        scram_verifier_derive(&password, slice_of(rfc_verifier.salt, rfc_verifier.salt_size), 4096,
                              &verifiers[i]);
    }
    for (size_t count = 1; count <= COUNT_OF(verifiers); count++) {
        assert_int_equal(final_among(verifiers, count), ERR_UNAUTHENTICATED);
        assert_string_equal(error.message, "SCRAM proof is wrong");
        size_t index = count * 7 % count;
        for (size_t at = 0; at < 3; at++, index = (index + count / 2) % count) {
            struct scram_verifier other = verifiers[index];
            verifiers[index] = rfc_verifier;
            assert_int_equal(final_among(verifiers, count), ERR_NONE);
            assert_int_equal(scram_server_index(server), index);
            assert_true(slice_equals(answer, SLICE(RFC_SERVER_FINAL)));
            verifiers[index] = other;
        }
    }
}

static void a_mock_among_verifiers_hides_none(void **state)
{
    (void)state;
    struct scram_verifier verifiers[3] = {rfc_verifier, rfc_verifier, rfc_verifier};
    verifiers[0].is_mock = true;
    assert_int_equal(final_among(verifiers, 1), ERR_UNAUTHENTICATED);
    assert_int_equal(final_among(verifiers, 3), ERR_NONE);
    assert_int_equal(scram_server_index(server), 1);
}

static void verifiers_with_several_salts_are_refused(void **state)
{
    (void)state;
    struct scram_verifier verifiers[2] = {rfc_verifier, rfc_verifier};
    const struct scram_server_options options = {
        .verifiers = verifiers, .count = 2, .mechanism = SLICE(SCRAM_MECHANISM)};
    assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_NONE);
    verifiers[1].salt[3] ^= 1;
    assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_INTERNAL);
    verifiers[1] = rfc_verifier;
    verifiers[1].iterations++;
    assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_INTERNAL);
}

static void nonces_are_new_each_time(void **state)
{
    (void)state;
    struct slice answers[2];
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        const struct scram_server_options options = {
            .verifiers = &rfc_verifier, .count = 1, .mechanism = SLICE(SCRAM_MECHANISM)};
        assert_int_equal(scram_server_new_in(&arena, &options, &server, &error), ERR_NONE);
        assert_int_equal(take(SLICE(RFC_CLIENT_FIRST)), ERR_MORE);
        assert_int_equal(answer.len, strlen("r=" RFC_CLIENT_NONCE ",s=" RFC_SALT ",i=4096") + 24);
        answers[i] = answer;
        assert_int_equal(take(SLICE(RFC_CLIENT_FINAL)), ERR_UNAUTHENTICATED);
        assert_string_equal(error.message, "SCRAM answer to another nonce");
    }
    assert_false(slice_equals(answers[0], answers[1]));
}

static void nothing_comes_after_the_end(void **state)
{
    (void)state;
    assert_int_equal(final(SLICE(RFC_CLIENT_FINAL)), ERR_NONE);
    assert_int_equal(take(SLICE(RFC_CLIENT_FINAL)), ERR_INPUT);
    assert_int_equal(take(SLICE(RFC_CLIENT_FIRST)), ERR_INPUT);
    assert_string_equal(error.message, "SCRAM message after the last one");
}

int main(void)
{
#define SERVER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SERVER_TEST(the_example_of_rfc_7677_signs_in),
        SERVER_TEST(what_psql_said_signs_in),
        SERVER_TEST(a_mechanism_that_was_not_offered_is_refused),
        SERVER_TEST(first_messages_are_refused),
        SERVER_TEST(first_messages_are_accepted),
        SERVER_TEST(channel_binding_fits_to_what_was_offered),
        SERVER_TEST(an_offer_that_did_not_arrive_is_noticed),
        SERVER_TEST(last_messages_are_refused),
        SERVER_TEST(a_client_on_another_channel_is_refused),
        SERVER_TEST(every_prefix_is_refused_or_another_message),
        SERVER_TEST(every_changed_bit_is_noticed),
        SERVER_TEST(sizes_are_bounded),
        SERVER_TEST(extensions_are_signed_and_ignored),
        SERVER_TEST(nobody_signs_in_as_a_mock),
        SERVER_TEST(the_verifier_that_fits_is_found_among_several),
        SERVER_TEST(a_mock_among_verifiers_hides_none),
        SERVER_TEST(verifiers_with_several_salts_are_refused),
        SERVER_TEST(nonces_are_new_each_time),
        SERVER_TEST(nothing_comes_after_the_end),
    };
    return cmocka_run_group_tests_name("identity/scram_server", tests, NULL, NULL);
}
