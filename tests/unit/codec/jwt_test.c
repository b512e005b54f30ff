/* SPDX-License-Identifier: MIT */
#include "codec/jwt.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW (INT64_C(1700000000) * TIMESTAMP_SECOND)

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct slice encode(struct slice bytes)
{
    return base64_encode_in(&arena, BASE64_URL, bytes);
}

/* The parts as they are, each encoded. */
static struct slice token_of(struct slice header, struct slice claims, struct slice signature)
{
    struct slice a = encode(header);
    struct slice b = encode(claims);
    struct slice c = encode(signature);
    return arena_format(&arena, "%.*s.%.*s.%.*s", SLICE_ARG(a), SLICE_ARG(b), SLICE_ARG(c));
}

static void check_refused(struct slice token, enum err err, const char *message)
{
    struct jwt jwt = {0};
    error = (struct error){0};
    assert_int_equal(jwt_parse_in(&arena, token, &jwt, &error), err);
    assert_string_equal(error.message, message);
    assert_null(jwt.signed_part.at);
}

static void a_token_is_taken_apart(void **state)
{
    (void)state;
    /* RFC 7515 appendix A.2, the signature cut to its first bytes. */
    struct slice text = SLICE(
        "eyJhbGciOiJSUzI1NiJ9."
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cn"
        "VlfQ.cC4hiUPo");
    struct jwt jwt;
    struct slice issuer;
    bool is_root;
    assert_int_equal(jwt_parse_in(&arena, text, &jwt, &error), ERR_NONE);
    assert_int_equal(jwt.algorithm, JWT_RS256);
    assert_null(jwt.key_id.at);
    assert_true(slice_equals(jwt.signed_part, slice_sub(text, 0, text.len - 9)));
    assert_true(slice_equals(jwt.signature, SLICE("\x70\x2e\x21\x89\x43\xe8")));
    assert_int_equal(json_as_text(json_member(&jwt.claims, "iss"), &issuer, &error), ERR_NONE);
    assert_true(slice_equals(issuer, SLICE("joe")));
    assert_int_equal(
        json_as_bool(json_member(&jwt.claims, "http://example.com/is_root"), &is_root, &error),
        ERR_NONE);
    assert_true(is_root);
}

static void headers_that_are_in_use_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        enum jwt_algorithm algorithm;
        const char *key_id;
    } cases[] = {
        {"{\"alg\":\"RS256\"}", JWT_RS256, ""},
        {"{\"alg\":\"PS256\",\"typ\":\"JWT\"}", JWT_PS256, ""},
        {" {\"kid\" : \"7\", \"alg\":\"ES256\", \"typ\":\"jwt\"} ", JWT_ES256, "7"},
        {"{\"alg\":\"EdDSA\",\"typ\":\"at+jwt\",\"kid\":\"a/b\"}", JWT_EDDSA, "a/b"},
        {"{\"alg\":\"EdDSA\",\"typ\":\"application/at+JWT\"}", JWT_EDDSA, ""},
        {"{\"alg\":\"EdDSA\",\"typ\":\"Application/jwt\"}", JWT_EDDSA, ""},
        {"{\"\\u0061lg\":\"\\u0045dDSA\",\"x5t\":\"AA\",\"new\":null}", JWT_EDDSA, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct slice text = token_of(slice_of_text(cases[i].header), SLICE("{}"), SLICE("s"));
        struct jwt jwt;
        assert_int_equal(jwt_parse_in(&arena, text, &jwt, &error), ERR_NONE);
        assert_int_equal(jwt.algorithm, cases[i].algorithm);
        assert_true(slice_equals(jwt.key_id, slice_of_text(cases[i].key_id)));
    }
}

#define OTHER_ALGORITHM "'alg' must be RS256, PS256, ES256 or EdDSA"

static const struct {
    struct slice header;
    const char *message;
    enum err err; /* ERR_NONE: ERR_INPUT */
} hostile_headers[] = {
    {SLICE_INIT("{\"alg\":\"none\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"None\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"nOnE\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"HS256\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"HS512\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"RS1\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"RS512\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"ES256K\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"rs256\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"EdDSA \"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{\"alg\":\"RSA-OAEP\"}"), OTHER_ALGORITHM, ERR_UNSUPPORTED},
    {SLICE_INIT("{}"), "'alg' is required", ERR_NONE},
    {SLICE_INIT("{\"ALG\":\"EdDSA\"}"), "'alg' is required", ERR_NONE},
    {SLICE_INIT("{\"alg\":null}"), "'alg' must be a string", ERR_NONE},
    {SLICE_INIT("{\"alg\":[\"EdDSA\"]}"), "'alg' must be a string", ERR_NONE},
    {SLICE_INIT("{\"alg\":0}"), "'alg' must be a string", ERR_NONE},
    {SLICE_INIT("[\"alg\",\"EdDSA\"]"), "the document must be an object", ERR_NONE},
    {SLICE_INIT("\"EdDSA\""), "the document must be an object", ERR_NONE},
    {SLICE_INIT("null"), "the document must be an object", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"none\",\"alg\":\"EdDSA\"}"),
     "malformed JSON at line 1, column 19, in 'alg': a member comes twice", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"none\",\"\\u0061lg\":\"EdDSA\"}"),
     "malformed JSON at line 1, column 24, in '\\u0061lg': a member comes twice", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\"}{}"),
     "malformed JSON at line 1, column 16: something follows the document", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\"}\0"),
     "malformed JSON at line 1, column 16: something follows the document", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\\u0000\"}"),
     "malformed JSON at line 1, column 20, in 'alg': U+0000 is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"kid\":\"\xff\"}"),
     "malformed JSON at line 1, column 22, in 'kid': not UTF-8", ERR_NONE},
    {SLICE_INIT("\xef\xbb\xbf{\"alg\":\"EdDSA\"}"),
     "malformed JSON at line 1, column 1: syntax error", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",}"), "malformed JSON at line 1, column 16: syntax error",
     ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"crit\":[\"exp\"]}"), "'crit' is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"crit\":[]}"), "'crit' is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"crit\":null}"), "'crit' is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"b64\":false}"), "'b64' is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"b64\":true}"), "'b64' is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"jwk\":{\"kty\":\"OKP\"}}"), "'jwk' is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"jku\":\"https://evil.example/\"}"), "'jku' is not allowed",
     ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"x5c\":[\"MII\"]}"), "'x5c' is not allowed", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"x5u\":\"https://evil.example/\"}"), "'x5u' is not allowed",
     ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"typ\":\"JWE\"}"), "'typ' must be JWT or at+jwt", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"typ\":\"logout+jwt\"}"), "'typ' must be JWT or at+jwt",
     ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"typ\":\"application/\"}"), "'typ' must be JWT or at+jwt",
     ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"typ\":\"application/application/jwt\"}"),
     "'typ' must be JWT or at+jwt", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"typ\":null}"), "'typ' must be a string", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"kid\":7}"), "'kid' must be a string", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"kid\":null}"), "'kid' must be a string", ERR_NONE},
    {SLICE_INIT("{\"alg\":\"EdDSA\",\"kid\":\"\"}"), "'kid' must have 1 to 256 bytes", ERR_NONE},
};

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hostile_headers); i++) {
        struct slice message =
            arena_format(&arena, "header of a token: %s", hostile_headers[i].message);
        check_refused(token_of(hostile_headers[i].header, SLICE("{}"), SLICE("s")),
                      hostile_headers[i].err == ERR_NONE ? ERR_INPUT : hostile_headers[i].err,
                      arena_text(&arena, message));
    }
}

static void a_key_id_has_at_most_256_bytes(void **state)
{
    (void)state;
    struct jwt jwt;
    struct slice header = arena_format(&arena, "{\"alg\":\"EdDSA\",\"kid\":\"%0256d\"}", 7);
    struct slice token = token_of(header, SLICE("{}"), SLICE("s"));
    assert_int_equal(jwt_parse_in(&arena, token, &jwt, &error), ERR_NONE);
    assert_int_equal(jwt.key_id.len, 256);
    header = arena_format(&arena, "{\"alg\":\"EdDSA\",\"kid\":\"%0257d\"}", 7);
    check_refused(token_of(header, SLICE("{}"), SLICE("s")), ERR_INPUT,
                  "header of a token: 'kid' must have 1 to 256 bytes");
}

/* H is {"alg":"EdDSA"}, and e30 is {}. */
#define H "eyJhbGciOiJFZERTQSJ9"

static void a_token_of_another_form_is_refused(void **state)
{
    (void)state;
    static const char three[] = "token that has not three parts";
    static const char header[] = "header of a token: not base64url";
    static const char claims[] = "claims of a token: not base64url";
    static const char signature[] = "signature of a token: not base64url";
    static const struct {
        struct slice token;
        const char *message;
    } cases[] = {
        {SLICE_INIT(""), three},
        {SLICE_INIT("."), three},
        {SLICE_INIT(H), three},
        {SLICE_INIT(H ".e30"), three},
        {SLICE_INIT(H ".e30.cw.cw"), three},
        {SLICE_INIT(H ".e30.cw."), three},
        {SLICE_INIT("." H ".e30.cw"), three},
        {SLICE_INIT(H ".e30.cw.cw.cw"), three}, /* the form of a JWE */
        {SLICE_INIT(".."),
         "header of a token: malformed JSON at line 1, column 0: it ends too early"},
        {SLICE_INIT(".e30.cw"),
         "header of a token: malformed JSON at line 1, column 0: it ends too early"},
        {SLICE_INIT(H "..cw"),
         "claims of a token: malformed JSON at line 1, column 0: it ends too early"},
        {SLICE_INIT(H ".e30."), "token without a signature"},
        {SLICE_INIT(H "=.e30.cw"), header},
        {SLICE_INIT(H "====.e30.cw"), header},
        {SLICE_INIT(" " H ".e30.cw"), header},
        {SLICE_INIT(H "\n.e30.cw"), header},
        {SLICE_INIT(H "\0.e30.cw"), header},
        {SLICE_INIT("Bearer " H ".e30.cw"), header},
        {SLICE_INIT(H ".e30=.cw"), claims},
        {SLICE_INIT(H ".e31.cw"), claims}, /* as e30, with a bit that decodes to nothing */
        {SLICE_INIT(H ".e3.cw"), claims},
        {SLICE_INIT(H ".e.cw"), claims},
        {SLICE_INIT(H ".e3 0.cw"), claims},
        {SLICE_INIT(H ".e30.cw=="), signature},
        {SLICE_INIT(H ".e30.cx"), signature}, /* as cw, with a bit that decodes to nothing */
        {SLICE_INIT(H ".e30.cw\n"), signature},
        {SLICE_INIT(H ".e30.cw\0"), signature},
        {SLICE_INIT(H ".e30.c"), signature},
        {SLICE_INIT(H ".e30.c+"), signature},
        {SLICE_INIT(H ".e30.c/"), signature},
        {SLICE_INIT(H ".e30.\xc3\xa9"), signature},
        {SLICE_INIT(H ".W10.cw"), "claims of a token: the document must be an object"},
        {SLICE_INIT(H ".bnVsbA.cw"), "claims of a token: the document must be an object"},
        {SLICE_INIT(H ".eyJhIjoxLCJhIjoxfQ.cw"),
         "claims of a token: malformed JSON at line 1, column 10, in 'a': a member comes twice"},
        {SLICE_INIT(H ".eyJhIjoi_yJ9.cw"),
         "claims of a token: malformed JSON at line 1, column 6, in 'a': not UTF-8"},
    };
    struct jwt jwt;
    assert_int_equal(jwt_parse_in(&arena, SLICE(H ".e30.cw"), &jwt, &error), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_refused(cases[i].token, ERR_INPUT, cases[i].message);
    }
}

static void every_prefix_without_the_whole_signed_part_is_refused(void **state)
{
    (void)state;
    struct slice token = SLICE(H ".eyJhIjoxfQ.cw");
    struct jwt jwt;
    for (size_t len = 0; len < token.len; len++) {
        assert_int_equal(jwt_parse_in(&arena, slice_sub(token, 0, len), &jwt, &error), ERR_INPUT);
    }
    for (size_t from = 1; from <= token.len; from++) {
        assert_int_not_equal(jwt_parse_in(&arena, slice_from(token, from), &jwt, &error), ERR_NONE);
    }
}

static void a_token_has_at_most_16_kib(void **state)
{
    (void)state;
    struct jwt jwt;
    struct slice text = arena_format(&arena, H ".e30.%0*d", (int)(LIMIT_JWT_SIZE - 25), 0);
    assert_int_equal(text.len, LIMIT_JWT_SIZE);
    assert_int_not_equal(jwt_parse_in(&arena, text, &jwt, &error), ERR_LIMIT);
    text = arena_format(&arena, H ".e30.%0*d", (int)(LIMIT_JWT_SIZE - 24), 0);
    check_refused(text, ERR_LIMIT, "token of more than 16384 bytes");
    static char dots[1 << 20];
    memset(dots, '.', sizeof(dots));
    check_refused(slice_of(dots, sizeof(dots)), ERR_LIMIT, "token of more than 16384 bytes");
}

static const struct jwt_expectations ordinary = {
    .issuer = SLICE_INIT("https://id.example"),
    .audience = SLICE_INIT("gate"),
    .nonce = SLICE_INIT("n-1"),
    .now = NOW,
    .skew_s = 60,
};

static enum err check_claims(const char *claims, const struct jwt_expectations *expected)
{
    struct jwt jwt;
    struct slice text = token_of(SLICE("{\"alg\":\"EdDSA\"}"), slice_of_text(claims), SLICE("s"));
    assert_int_equal(jwt_parse_in(&arena, text, &jwt, &error), ERR_NONE);
    error = (struct error){0};
    return jwt_check_claims(&jwt, expected, &error);
}

#define ISS   "\"iss\":\"https://id.example\","
#define AUD   "\"aud\":\"gate\","
#define EXP   "\"exp\":1700000300,"
#define NONCE "\"nonce\":\"n-1\","
#define SUB   "\"sub\":\"ann\""

static void claims_as_expected_are_accepted(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{" ISS AUD EXP NONCE SUB "}",
        "{" ISS AUD NONCE SUB ",\"exp\":1699999940.5}", /* within the skew */
        "{" ISS AUD NONCE SUB ",\"exp\":1.7000003e9}",
        "{" ISS AUD NONCE SUB ",\"exp\":253402300799}",
        "{" ISS AUD EXP NONCE SUB ",\"nbf\":1700000060,\"iat\":1700000060}",
        "{" ISS AUD EXP NONCE SUB ",\"nbf\":0,\"iat\":0.0}",
        "{" ISS AUD EXP NONCE SUB ",\"azp\":\"gate\"}",
        "{" ISS EXP NONCE SUB ",\"aud\":[\"gate\"]}",
        "{" ISS EXP NONCE SUB ",\"aud\":[\"gate\",\"b\"],\"azp\":\"gate\"}",
        "{" ISS EXP NONCE SUB ",\"aud\":[\"b\",\"gate\"],\"azp\":\"gate\"}",
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(check_claims(cases[i], &ordinary), ERR_NONE);
    }
}

static void claims_that_are_missing_or_malformed_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *claims;
        const char *message;
    } cases[] = {
        {"{}", "'iss' is required"},
        {"{" AUD EXP NONCE SUB "}", "'iss' is required"},
        {"{" AUD EXP NONCE SUB ",\"iss\":[\"https://id.example\"]}", "'iss' must be a string"},
        {"{" ISS EXP NONCE SUB "}", "'aud' must be a string or an array of strings"},
        {"{" ISS EXP NONCE SUB ",\"aud\":null}", "'aud' must be a string or an array of strings"},
        {"{" ISS EXP NONCE SUB ",\"aud\":{\"gate\":1}}",
         "'aud' must be a string or an array of strings"},
        {"{" ISS EXP NONCE SUB ",\"aud\":[\"gate\",7],\"azp\":\"gate\"}",
         "'aud[1]' must be a string"},
        {"{" ISS EXP NONCE SUB ",\"aud\":[\"gate\",\"b\"]}", "'azp' is required"},
        {"{" ISS EXP NONCE SUB ",\"aud\":[\"gate\",\"gate\"]}", "'azp' is required"},
        {"{" ISS AUD EXP NONCE SUB ",\"azp\":null}", "'azp' must be a string"},
        {"{" ISS AUD NONCE SUB "}", "'exp' is required"},
        {"{" ISS AUD NONCE SUB ",\"exp\":\"1700000300\"}",
         "'exp' must be a number from 0 to 253402300799"},
        {"{" ISS AUD NONCE SUB ",\"exp\":null}", "'exp' must be a number from 0 to 253402300799"},
        {"{" ISS AUD NONCE SUB ",\"exp\":true}", "'exp' must be a number from 0 to 253402300799"},
        {"{" ISS AUD NONCE SUB ",\"exp\":-1}", "'exp' must be a number from 0 to 253402300799"},
        {"{" ISS AUD NONCE SUB ",\"exp\":1e300}", "'exp' must be a number from 0 to 253402300799"},
        {"{" ISS AUD NONCE SUB ",\"exp\":9223372036854775807}",
         "'exp' must be a number from 0 to 253402300799"},
        {"{" ISS AUD EXP NONCE SUB ",\"nbf\":\"0\"}",
         "'nbf' must be a number from 0 to 253402300799"},
        {"{" ISS AUD EXP NONCE SUB ",\"nbf\":null}",
         "'nbf' must be a number from 0 to 253402300799"},
        {"{" ISS AUD EXP NONCE SUB ",\"iat\":[]}", "'iat' must be a number from 0 to 253402300799"},
        {"{" ISS AUD EXP SUB "}", "'nonce' is required"},
        {"{" ISS AUD EXP SUB ",\"nonce\":1}", "'nonce' must be a string"},
        {"{" ISS AUD EXP "\"nonce\":\"n-1\"}", "'sub' is required"},
        {"{" ISS AUD EXP NONCE "\"sub\":7}", "'sub' must be a string"},
        {"{" ISS AUD EXP NONCE "\"sub\":\"\"}", "'sub' must have 1 to 255 bytes"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(check_claims(cases[i].claims, &ordinary), ERR_INPUT);
        struct slice message = arena_format(&arena, "claims of a token: %s", cases[i].message);
        assert_string_equal(error.message, arena_text(&arena, message));
    }
}

static void claims_for_others_and_other_times_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *claims;
        const char *message;
    } cases[] = {
        {"{" AUD EXP NONCE SUB ",\"iss\":\"https://id.example/\"}",
         "'iss' is not what is expected"},
        {"{" AUD EXP NONCE SUB ",\"iss\":\"https://ID.example\"}", "'iss' is not what is expected"},
        {"{" AUD EXP NONCE SUB ",\"iss\":\"\"}", "'iss' is not what is expected"},
        {"{" ISS EXP NONCE SUB ",\"aud\":\"Gate\"}", "'aud' is not what is expected"},
        {"{" ISS EXP NONCE SUB ",\"aud\":\"gate2\"}", "'aud' is not what is expected"},
        {"{" ISS EXP NONCE SUB ",\"aud\":\"\"}", "'aud' is not what is expected"},
        {"{" ISS EXP NONCE SUB ",\"aud\":[]}", "'aud' is not what is expected"},
        {"{" ISS EXP NONCE SUB ",\"aud\":[\"b\",\"c\"],\"azp\":\"gate\"}",
         "'aud' is not what is expected"},
        {"{" ISS EXP NONCE SUB ",\"aud\":[\"gate\",\"b\"],\"azp\":\"b\"}",
         "'azp' is not what is expected"},
        {"{" ISS AUD EXP NONCE SUB ",\"azp\":\"b\"}", "'azp' is not what is expected"},
        {"{" ISS AUD EXP NONCE SUB ",\"azp\":\"\"}", "'azp' is not what is expected"},
        {"{" ISS AUD NONCE SUB ",\"exp\":1699999940}", "the token has expired"},
        {"{" ISS AUD NONCE SUB ",\"exp\":1699999939.9}", "the token has expired"},
        {"{" ISS AUD NONCE SUB ",\"exp\":0}", "the token has expired"},
        {"{" ISS AUD EXP NONCE SUB ",\"nbf\":1700000061}", "'nbf' lies in the future"},
        {"{" ISS AUD EXP NONCE SUB ",\"nbf\":1700000060.5}", "'nbf' lies in the future"},
        {"{" ISS AUD EXP NONCE SUB ",\"iat\":1700000061}", "'iat' lies in the future"},
        {"{" ISS AUD EXP SUB ",\"nonce\":\"n-2\"}", "'nonce' is not what is expected"},
        {"{" ISS AUD EXP SUB ",\"nonce\":\"\"}", "'nonce' is not what is expected"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(check_claims(cases[i].claims, &ordinary), ERR_UNAUTHENTICATED);
        struct slice message = arena_format(&arena, "claims of a token: %s", cases[i].message);
        assert_string_equal(error.message, arena_text(&arena, message));
    }
}

static void what_is_not_expected_is_not_looked_at(void **state)
{
    (void)state;
    struct jwt_expectations expected = ordinary;
    expected.nonce = SLICE_NONE;
    assert_int_equal(check_claims("{" ISS AUD EXP SUB "}", &expected), ERR_NONE);
    assert_int_equal(check_claims("{" ISS AUD EXP SUB ",\"nonce\":7}", &expected), ERR_NONE);
}

static void a_named_party_must_be_that_of_the_token(void **state)
{
    (void)state;
    struct jwt_expectations expected = ordinary;
    expected.authorized_party = SLICE("cli");
    assert_int_equal(check_claims("{" ISS AUD EXP NONCE SUB ",\"azp\":\"cli\"}", &expected),
                     ERR_NONE);
    assert_int_equal(check_claims("{" ISS AUD EXP NONCE SUB ",\"azp\":\"gate\"}", &expected),
                     ERR_UNAUTHENTICATED);
    assert_int_equal(check_claims("{" ISS AUD EXP NONCE SUB "}", &expected), ERR_INPUT);
}

static void without_skew_the_second_counts(void **state)
{
    (void)state;
    struct jwt_expectations expected = ordinary;
    expected.skew_s = 0;
    expected.nonce = SLICE_NONE;
    static const char claims[] = "{" ISS AUD SUB ",\"exp\":1700000000,\"nbf\":1699999999}";
    assert_int_equal(check_claims(claims, &expected), ERR_UNAUTHENTICATED);
    expected.now -= 1;
    assert_int_equal(check_claims(claims, &expected), ERR_NONE);
    expected.now -= TIMESTAMP_SECOND - 1;
    assert_int_equal(check_claims(claims, &expected), ERR_NONE);
    expected.now -= 1;
    assert_int_equal(check_claims(claims, &expected), ERR_UNAUTHENTICATED);
}

static void a_subject_has_at_most_255_bytes(void **state)
{
    (void)state;
    struct slice claims = arena_format(&arena, "{" ISS AUD EXP NONCE "\"sub\":\"%0255d\"}", 1);
    assert_int_equal(check_claims(arena_text(&arena, claims), &ordinary), ERR_NONE);
    claims = arena_format(&arena, "{" ISS AUD EXP NONCE "\"sub\":\"%0256d\"}", 1);
    assert_int_equal(check_claims(arena_text(&arena, claims), &ordinary), ERR_INPUT);
}

static void a_token_that_is_made_is_read_back(void **state)
{
    (void)state;
    struct slice claims = SLICE("{\"sub\":\"ann\"}");
    struct slice part = jwt_make_in(&arena, SLICE("k\"\x01"), claims);
    struct slice text = jwt_join_in(&arena, part, SLICE("\xff\xee"));
    struct jwt jwt;
    struct slice subject;
    assert_int_equal(jwt_parse_in(&arena, text, &jwt, &error), ERR_NONE);
    assert_int_equal(jwt.algorithm, JWT_EDDSA);
    assert_true(slice_equals(jwt.key_id, SLICE("k\"\x01")));
    assert_true(slice_equals(jwt.signed_part, part));
    assert_true(slice_equals(jwt.signature, SLICE("\xff\xee")));
    assert_int_equal(json_as_text(json_member(&jwt.claims, "sub"), &subject, &error), ERR_NONE);
    assert_true(slice_equals(subject, SLICE("ann")));
    /* The longest name of a key, each byte of which needs an escape. */
    char longest[LIMIT_JWT_KEY_ID_SIZE];
    memset(longest, '\x01', sizeof(longest));
    part = jwt_make_in(&arena, slice_of(longest, sizeof(longest)), claims);
    assert_int_equal(jwt_parse_in(&arena, jwt_join_in(&arena, part, SLICE("s")), &jwt, &error),
                     ERR_NONE);
    assert_true(slice_equals(jwt.key_id, slice_of(longest, sizeof(longest))));
}

int main(void)
{
    json_set_seed(1);
#define JWT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        JWT_TEST(a_token_is_taken_apart),
        JWT_TEST(headers_that_are_in_use_are_read),
        JWT_TEST(hostile_headers_are_refused),
        JWT_TEST(a_key_id_has_at_most_256_bytes),
        JWT_TEST(a_token_of_another_form_is_refused),
        JWT_TEST(every_prefix_without_the_whole_signed_part_is_refused),
        JWT_TEST(a_token_has_at_most_16_kib),
        JWT_TEST(claims_as_expected_are_accepted),
        JWT_TEST(claims_that_are_missing_or_malformed_are_refused),
        JWT_TEST(claims_for_others_and_other_times_are_refused),
        JWT_TEST(what_is_not_expected_is_not_looked_at),
        JWT_TEST(a_named_party_must_be_that_of_the_token),
        JWT_TEST(without_skew_the_second_counts),
        JWT_TEST(a_subject_has_at_most_255_bytes),
        JWT_TEST(a_token_that_is_made_is_read_back),
    };
    return cmocka_run_group_tests_name("codec/jwt", tests, NULL, NULL);
}
