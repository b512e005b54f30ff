/* SPDX-License-Identifier: MIT */
#include "identity/jwk.h"

#include "base/limits.h"
#include "base/memory.h"
#include "codec/base64.h"
#include "jwk_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* RFC 7515 appendix A.2 and A.3, RFC 8037 appendix A.2. */
#define RSA_N                                                                                      \
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4" \
    "d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5re" \
    "xMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxX" \
    "FvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
#define EC_X  "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define EC_Y  "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
#define OKP_X "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
#define RSA   "\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAB\""
#define EC    "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\""
#define OKP   "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" OKP_X "\""
#define RFC_CLAIMS                                                                                 \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl" \
    "fQ"

static struct arena arena;
static struct error error;

/* Made once: RSA keys take their time. */
static EVP_PKEY *rsa;
static EVP_PKEY *ec;
static EVP_PKEY *ed25519;

static int make_keys(void **state)
{
    (void)state;
    rsa = help_rsa_new(2048, 65537);
    ec = help_ec_new("P-256");
    ed25519 = help_ed25519_new();
    return 0;
}

static int free_keys(void **state)
{
    (void)state;
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(ed25519);
    return 0;
}

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

static struct jwk_set *set_of(struct slice json)
{
    struct jwk_set *set = NULL;
    enum err err = jwk_set_new(json, &set, &error);
    if (err != ERR_NONE) {
        fail_msg("%s", error.message);
    }
    return set;
}

static enum err verify_with(const struct jwk_set *set, struct slice token)
{
    struct jwt jwt;
    error = (struct error){0};
    assert_int_equal(jwt_parse_in(&arena, token, &jwt, &error), ERR_NONE);
    return jwk_set_verify(set, &jwt, &error);
}

static enum err verify(struct slice json, struct slice token)
{
    struct jwk_set *set = set_of(json);
    enum err err = verify_with(set, token);
    jwk_set_free(set);
    return err;
}

static struct slice keys_of(EVP_PKEY *pkey, const char *more)
{
    return help_jwk_set(&arena, help_jwk(&arena, pkey, more), SLICE_NONE, SLICE_NONE);
}

static void the_examples_of_the_rfcs_are_right(void **state)
{
    (void)state;
    struct jwk_set *set = set_of(SLICE("{\"keys\":[{" RSA "},{" EC "},{" OKP "}]}"));
    assert_int_equal(jwk_set_count(set), 3);
    assert_int_equal(
        verify_with(set, SLICE("eyJhbGciOiJSUzI1NiJ9." RFC_CLAIMS
                               ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AA"
                               "uHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynR"
                               "FdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB"
                               "_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6"
                               "IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlU"
                               "PQGe77Rw")),
        ERR_NONE);
    assert_int_equal(
        verify_with(set, SLICE("eyJhbGciOiJFUzI1NiJ9." RFC_CLAIMS
                               ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApm"
                               "WQxfKTUJqPP3-Kg6NU1Q")),
        ERR_NONE);
    /* What RFC 8037 appendix A.4 signs is no object, so it does not come out of the parser. */
    struct jwt jwt = {
        .algorithm = JWT_EDDSA,
        .signed_part = SLICE("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"),
    };
    assert_int_equal(
        base64_decode_in(&arena, BASE64_URL,
                         SLICE("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVs"
                               "Pt9g7sVvpAr_MuM0KAg"),
                         &jwt.signature),
        ERR_NONE);
    assert_int_equal(jwk_set_verify(set, &jwt, &error), ERR_NONE);
    jwk_set_free(set);
}

static void a_signature_of_each_algorithm_is_verified(void **state)
{
    (void)state;
    struct slice keys =
        help_jwk_set(&arena, help_jwk(&arena, rsa, "\"kid\":\"r\",\"use\":\"sig\""),
                     help_jwk(&arena, ec, "\"kid\":\"e\",\"alg\":\"ES256\""),
                     help_jwk(&arena, ed25519, "\"key_ops\":[\"sign\",\"verify\"]"));
    struct jwk_set *set = set_of(keys);
    struct slice tokens[] = {
        help_token(&arena, rsa, JWT_RS256, "{\"alg\":\"RS256\",\"kid\":\"r\"}", "{}"),
        help_token(&arena, rsa, JWT_RS256, "{\"alg\":\"RS256\"}", "{}"),
        help_token(&arena, rsa, JWT_PS256, "{\"alg\":\"PS256\",\"kid\":\"r\"}", "{}"),
        help_token(&arena, ec, JWT_ES256, "{\"alg\":\"ES256\",\"kid\":\"e\"}", "{}"),
        help_token(&arena, ec, JWT_ES256, "{\"alg\":\"ES256\"}", "{}"),
        help_token(&arena, ed25519, JWT_EDDSA, "{\"alg\":\"EdDSA\"}", "{}"),
    };
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        assert_int_equal(verify_with(set, tokens[i]), ERR_NONE);
    }
    jwk_set_free(set);
}

static void every_changed_bit_of_a_signature_is_noticed(void **state)
{
    (void)state;
    EVP_PKEY *const pkeys[] = {rsa, rsa, ec, ed25519};
    static const enum jwt_algorithm algorithms[] = {JWT_RS256, JWT_PS256, JWT_ES256, JWT_EDDSA};
    struct slice part = SLICE("e30.e30");
    for (size_t i = 0; i < COUNT_OF(pkeys); i++) {
        struct jwk_set *set = set_of(keys_of(pkeys[i], ""));
        struct slice right = help_sign(&arena, pkeys[i], algorithms[i], part);
        char *bytes = arena_text(&arena, right);
        struct jwt jwt = {.algorithm = algorithms[i], .signed_part = part};
        jwt.signature = slice_of(bytes, right.len);
        assert_int_equal(jwk_set_verify(set, &jwt, &error), ERR_NONE);
        for (size_t bit = 0; bit < right.len * 8; bit++) {
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            assert_int_equal(jwk_set_verify(set, &jwt, &error), ERR_UNAUTHENTICATED);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        }
        for (size_t len = 0; len < right.len; len++) {
            jwt.signature = slice_of(bytes, len);
            assert_int_equal(jwk_set_verify(set, &jwt, &error), ERR_UNAUTHENTICATED);
            jwt.signature = slice_of(bytes + right.len - len, len);
            assert_int_equal(jwk_set_verify(set, &jwt, &error), ERR_UNAUTHENTICATED);
        }
        jwk_set_free(set);
    }
}

static const struct {
    const char *key;
    const char *reason;
} unusable_keys[] = {
    {"7", "'keys[0]' must be an object"},
    {"{}", "'keys[0].kty' is required"},
    {"{\"kty\":1}", "'keys[0].kty' must be a string"},
    {"{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}", "'kty' is not RSA, EC or OKP"},
    {"{\"kty\":\"rsa\"}", "'kty' is not RSA, EC or OKP"},
    {"{" OKP ",\"use\":\"enc\"}", "'use' is not sig"},
    {"{" OKP ",\"use\":null}", "'keys[0].use' must be a string"},
    {"{" OKP ",\"key_ops\":[]}", "'key_ops' has no verify"},
    {"{" OKP ",\"key_ops\":[\"sign\",\"encrypt\"]}", "'key_ops' has no verify"},
    {"{" OKP ",\"key_ops\":\"verify\"}", "'keys[0].key_ops' must be an array"},
    {"{" OKP ",\"key_ops\":[1,\"verify\"]}", "'keys[0].key_ops[0]' must be a string"},
    {"{" OKP ",\"alg\":\"HS256\"}", "'alg' is not RS256, PS256, ES256 or EdDSA"},
    {"{" OKP ",\"alg\":7}", "'keys[0].alg' must be a string"},
    {"{" OKP ",\"kid\":7}", "'keys[0].kid' must be a string"},
    {"{" OKP ",\"kid\":\"\"}", "'kid' must have 1 to 256 bytes"},
    {"{" OKP ",\"d\":\"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A\"}",
     "its private part is there for all to see"},
    {"{\"kty\":\"RSA\",\"e\":\"AQAB\"}", "'keys[0].n' is required"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\"}", "'keys[0].e' is required"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "==\",\"e\":\"AQAB\"}", "'n' is not base64url"},
    {"{\"kty\":\"RSA\",\"n\":\"\",\"e\":\"AQAB\"}",
     "'n' is not an RSA modulus of 2048 to 8192 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"AQ\",\"e\":\"AQAB\"}",
     "'n' is not an RSA modulus of 2048 to 8192 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N RSA_N RSA_N RSA_N "AAAA\",\"e\":\"AQAB\"}",
     "'n' is not an RSA modulus of 2048 to 8192 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "AAAA\",\"e\":\"AQAB\"}", /* even */
     "'n' is not an RSA modulus of 2048 to 8192 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQ\"}",
     "'e' is not an RSA exponent from 65537 up to 32 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"Aw\"}",
     "'e' is not an RSA exponent from 65537 up to 32 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"\"}",
     "'e' is not an RSA exponent from 65537 up to 32 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAA\"}",
     "'e' is not an RSA exponent from 65537 up to 32 bits"},
    {"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAAAAE\"}",
     "'e' is not an RSA exponent from 65537 up to 32 bits"},
    {"{\"kty\":\"EC\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\"}", "'keys[0].crv' is required"},
    {"{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\"}",
     "'crv' is not P-256"},
    {"{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"" EC_X "\",\"y\":\"" EC_Y "\"}",
     "'crv' is not P-256"},
    {"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\"}", "'keys[0].y' is required"},
    {"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\",\"y\":\"\"}", "'x' and 'y' must have 32 bytes"},
    {"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "AAAA\",\"y\":\"" EC_Y "\"}",
     "'x' and 'y' must have 32 bytes"},
    {"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_Y "\",\"y\":\"" EC_X "\"}",
     "'x' and 'y' are not a point of the curve"},
    {"{\"kty\":\"EC\",\"crv\":\"P-256\","
     "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
     "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
     "'x' and 'y' are not a point of the curve"},
    {"{\"kty\":\"EC\",\"crv\":\"P-256\"," /* not less than the prime */
     "\"x\":\"__________________________________________8\",\"y\":\"" EC_Y "\"}",
     "'x' and 'y' are not a point of the curve"},
    {"{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"" OKP_X "\"}", "'crv' is not Ed25519"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed448\",\"x\":\"" OKP_X "\"}", "'crv' is not Ed25519"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}", "'x' is not a key of Ed25519"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\"," /* of order 4 */
     "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
     "'x' is not a key of Ed25519"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\"," /* the neutral point */
     "\"x\":\"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
     "'x' is not a key of Ed25519"},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\"," /* the same, not in its least form */
     "\"x\":\"7v_______________________________________38\"}",
     "'x' is not a key of Ed25519"},
};

static void keys_that_cannot_be_used_are_passed_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(unusable_keys); i++) {
        struct jwk_set *set = NULL;
        struct slice alone = arena_format(&arena, "{\"keys\":[%s]}", unusable_keys[i].key);
        struct slice message = arena_format(&arena, "key set without a key that can be used: %s",
                                            unusable_keys[i].reason);
        assert_int_equal(jwk_set_new(alone, &set, &error), ERR_INPUT);
        assert_string_equal(error.message, arena_text(&arena, message));
        assert_null(set);
        set = set_of(arena_format(&arena, "{\"keys\":[%s,{" EC "},%s]}", unusable_keys[i].key,
                                  unusable_keys[i].key));
        assert_int_equal(jwk_set_count(set), 1);
        jwk_set_free(set);
    }
}

static void other_documents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *message;
    } cases[] = {
        {"", "key set: malformed JSON at line 1, column 0: it ends too early"},
        {"<html>", "key set: malformed JSON at line 1, column 1: syntax error"},
        {"[]", "key set: the document must be an object"},
        {"{}", "key set: 'keys' is required"},
        {"{" EC "}", "key set: 'keys' is required"},
        {"{\"keys\":{}}", "key set: 'keys' must be an array"},
        {"{\"keys\":null}", "key set: 'keys' must be an array"},
        {"{\"keys\":[]}", "key set without a key that can be used: it is empty"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct jwk_set *set = NULL;
        assert_int_equal(jwk_set_new(slice_of_text(cases[i].json), &set, &error), ERR_INPUT);
        assert_string_equal(error.message, cases[i].message);
        assert_null(set);
    }
    jwk_set_free(NULL);
}

static void a_set_has_at_most_64_keys_and_256_kib(void **state)
{
    (void)state;
    struct jwk_set *set = NULL;
    struct slice list = SLICE("{" OKP "}");
    for (size_t count = 1; count < LIMIT_JWK_SET_COUNT; count++) {
        list = arena_format(&arena, "%.*s,{" OKP "}", SLICE_ARG(list));
    }
    set = set_of(arena_format(&arena, "{\"keys\":[%.*s]}", SLICE_ARG(list)));
    assert_int_equal(jwk_set_count(set), 64);
    jwk_set_free(set);
    set = NULL;
    struct slice json = arena_format(&arena, "{\"keys\":[%.*s,{}]}", SLICE_ARG(list));
    assert_int_equal(jwk_set_new(json, &set, &error), ERR_LIMIT);
    assert_string_equal(error.message, "key set of more than 64 keys");
    json = arena_format(&arena, "{\"keys\":[{" OKP "}]}%*s", (int)LIMIT_JWK_SET_SIZE, "");
    assert_int_equal(jwk_set_new(json, &set, &error), ERR_LIMIT);
    assert_string_equal(error.message, "key set of more than 262144 bytes");
    set = set_of(slice_sub(json, 0, LIMIT_JWK_SET_SIZE));
    jwk_set_free(set);
}

static void rsa_keys_have_2048_to_8192_bits(void **state)
{
    (void)state;
    struct jwk_set *set = NULL;
    EVP_PKEY *small = help_rsa_new(2047, 65537);
    assert_int_equal(jwk_set_new(keys_of(small, ""), &set, &error), ERR_INPUT);
    EVP_PKEY_free(small);
    EVP_PKEY *weak = help_rsa_new(2048, 3);
    assert_int_equal(jwk_set_new(keys_of(weak, ""), &set, &error), ERR_INPUT);
    EVP_PKEY_free(weak);
    /* Whether it is a product of two primes is not for the size to say. */
    char modulus[8192 / 8 + 1];
    memset(modulus, '\xff', sizeof(modulus));
    for (size_t size = sizeof(modulus) - 1; size <= sizeof(modulus); size++) {
        struct slice n = help_encode(&arena, slice_of(modulus, size));
        struct slice json = arena_format(
            &arena, "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"AQAB\"}]}", SLICE_ARG(n));
        assert_int_equal(jwk_set_new(json, &set, &error),
                         size < sizeof(modulus) ? ERR_NONE : ERR_INPUT);
    }
    jwk_set_free(set);
    modulus[255] = '\xfe';
    struct slice even = help_encode(&arena, slice_of(modulus, 256));
    struct slice json = arena_format(
        &arena, "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"AQAB\"}]}", SLICE_ARG(even));
    assert_int_equal(jwk_set_new(json, &set, &error), ERR_INPUT);
}

static void a_key_is_found_by_its_name(void **state)
{
    (void)state;
    EVP_PKEY *other = help_ec_new("P-256");
    struct slice keys = help_jwk_set(&arena, help_jwk(&arena, ec, "\"kid\":\"a\""),
                                     help_jwk(&arena, other, "\"kid\":\"b\""),
                                     help_jwk(&arena, ed25519, "\"kid\":\"a\""));
    struct jwk_set *set = set_of(keys);
    static const char a[] = "{\"alg\":\"ES256\",\"kid\":\"a\"}";
    static const char b[] = "{\"alg\":\"ES256\",\"kid\":\"b\"}";
    static const char c[] = "{\"alg\":\"ES256\",\"kid\":\"c\"}";
    static const char none[] = "{\"alg\":\"ES256\"}";
    assert_int_equal(verify_with(set, help_token(&arena, ec, JWT_ES256, a, "{}")), ERR_NONE);
    assert_int_equal(verify_with(set, help_token(&arena, other, JWT_ES256, b, "{}")), ERR_NONE);
    assert_int_equal(verify_with(set, help_token(&arena, other, JWT_ES256, a, "{}")),
                     ERR_UNAUTHENTICATED);
    assert_int_equal(verify_with(set, help_token(&arena, ec, JWT_ES256, c, "{}")), ERR_NOT_FOUND);
    assert_string_equal(error.message, "token of a key that is not known");
    assert_int_equal(verify_with(set, help_token(&arena, ec, JWT_ES256, none, "{}")),
                     ERR_UNAUTHENTICATED);
    assert_string_equal(error.message, "token that does not say which key signed it");
    /* One name for two keys of different kinds is usual enough; the algorithm tells them apart. */
    assert_int_equal(verify_with(set, help_token(&arena, ed25519, JWT_EDDSA,
                                                 "{\"alg\":\"EdDSA\",\"kid\":\"a\"}", "{}")),
                     ERR_NONE);
    /* A token without a name, when none of the keys fits. */
    assert_int_equal(
        verify_with(set, help_token(&arena, rsa, JWT_RS256, "{\"alg\":\"RS256\"}", "{}")),
        ERR_NOT_FOUND);
    jwk_set_free(set);
    EVP_PKEY_free(other);
}

static void a_key_is_used_with_its_own_algorithm_only(void **state)
{
    (void)state;
    struct slice keys = keys_of(rsa, "\"kid\":\"r\",\"alg\":\"PS256\"");
    struct slice pss =
        help_token(&arena, rsa, JWT_PS256, "{\"alg\":\"PS256\",\"kid\":\"r\"}", "{}");
    struct slice pkcs =
        help_token(&arena, rsa, JWT_RS256, "{\"alg\":\"RS256\",\"kid\":\"r\"}", "{}");
    assert_int_equal(verify(keys, pss), ERR_NONE);
    assert_int_equal(verify(keys, pkcs), ERR_UNAUTHENTICATED);
    assert_string_equal(error.message, "token whose key is not for its algorithm");
    /* An algorithm that is not for the kind of the key makes it fit nothing. */
    keys = keys_of(rsa, "\"kid\":\"r\",\"alg\":\"ES256\"");
    assert_int_equal(verify(keys, pkcs), ERR_UNAUTHENTICATED);
}

static void a_modulus_may_have_zeros_before_it(void **state)
{
    (void)state;
    struct slice n = SLICE_NONE;
    struct slice encoded = SLICE(RSA_N);
    assert_int_equal(base64_decode_in(&arena, BASE64_URL, encoded, &n), ERR_NONE);
    char bytes[258] = {0};
    memcpy(bytes + 2, n.at, n.len);
    n = help_encode(&arena, slice_of(bytes, sizeof(bytes)));
    struct jwk_set *set = set_of(arena_format(
        &arena, "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"AAEAAQ\"}]}", SLICE_ARG(n)));
    jwk_set_free(set);
}

int main(void)
{
    json_set_seed(1);
#define JWK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        JWK_TEST(the_examples_of_the_rfcs_are_right),
        JWK_TEST(a_signature_of_each_algorithm_is_verified),
        JWK_TEST(every_changed_bit_of_a_signature_is_noticed),
        JWK_TEST(keys_that_cannot_be_used_are_passed_over),
        JWK_TEST(other_documents_are_refused),
        JWK_TEST(a_set_has_at_most_64_keys_and_256_kib),
        JWK_TEST(rsa_keys_have_2048_to_8192_bits),
        JWK_TEST(a_key_is_found_by_its_name),
        JWK_TEST(a_key_is_used_with_its_own_algorithm_only),
        JWK_TEST(a_modulus_may_have_zeros_before_it),
    };
    return cmocka_run_group_tests_name("identity/jwk", tests, make_keys, free_keys);
}
