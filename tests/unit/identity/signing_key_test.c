/* SPDX-License-Identifier: MIT */
#include "identity/signing_key.h"

#include "base/limits.h"
#include "codec/base64.h"
#include "identity/jwk.h"
#include "jwk_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct error error;
static struct signing_key *key; /* that of RFC 8037 appendix A.1 */

static struct signing_key *key_of(struct slice seed)
{
    struct secret secret;
    struct signing_key *made = NULL;
    secret_init(&secret);
    assert_int_equal(secret_set(&secret, seed), ERR_NONE);
    assert_int_equal(signing_key_new(&secret, &made, &error), ERR_NONE);
    secret_release(&secret);
    return made;
}

static int set_up(void **state)
{
    (void)state;
    struct slice seed;
    arena_init(&arena);
    error = (struct error){0};
    assert_int_equal(base64_decode_in(&arena, BASE64_URL,
                                      SLICE("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"), &seed),
                     ERR_NONE);
    key = key_of(seed);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    signing_key_free(key);
    arena_release(&arena);
    return 0;
}

static struct jwt signed_by(const struct signing_key *signer, struct slice claims)
{
    struct slice token;
    struct jwt jwt = {0};
    assert_int_equal(signing_key_sign_in(&arena, signer, claims, &token, &error), ERR_NONE);
    assert_int_equal(jwt_parse_in(&arena, token, &jwt, &error), ERR_NONE);
    return jwt;
}

static void the_name_of_a_key_is_its_thumbprint(void **state)
{
    (void)state;
    /* RFC 8037 appendix A.3. */
    assert_true(
        slice_equals(signing_key_id(key), SLICE("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")));
}

static void the_signature_of_rfc_8037_is_right(void **state)
{
    (void)state;
    /* Appendix A.4; what is signed there is no object, so it does not come out of the parser. */
    struct jwt jwt = {
        .algorithm = JWT_EDDSA,
        .key_id = signing_key_id(key),
        .signed_part = SLICE("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"),
    };
    assert_int_equal(
        base64_decode_in(&arena, BASE64_URL,
                         SLICE("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVs"
                               "Pt9g7sVvpAr_MuM0KAg"),
                         &jwt.signature),
        ERR_NONE);
    assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_NONE);
}

static void a_token_names_its_key_and_is_known_again(void **state)
{
    (void)state;
    struct slice subject;
    struct jwt jwt = signed_by(key, SLICE("{\"sub\":\"ann\",\"exp\":1}"));
    assert_int_equal(jwt.algorithm, JWT_EDDSA);
    assert_true(slice_equals(jwt.key_id, signing_key_id(key)));
    assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_NONE);
    assert_int_equal(json_as_text(json_member(&jwt.claims, "sub"), &subject, &error), ERR_NONE);
    assert_true(slice_equals(subject, SLICE("ann")));
}

static void others_can_check_a_token_with_the_public_key(void **state)
{
    (void)state;
    struct jwt jwt = signed_by(key, SLICE("{}"));
    struct slice id = signing_key_id(key);
    struct slice json =
        arena_format(&arena,
                     "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"%.*s\","
                     "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}",
                     SLICE_ARG(id));
    struct jwk_set *set;
    assert_int_equal(jwk_set_new(json, &set, &error), ERR_NONE);
    assert_int_equal(jwk_set_verify(set, &jwt, &error), ERR_NONE);
    jwk_set_free(set);
}

static void a_token_of_another_key_is_not_found(void **state)
{
    (void)state;
    struct signing_key *other = key_of(SLICE("0123456789abcdef0123456789abcdef"));
    struct jwt jwt = signed_by(other, SLICE("{}"));
    assert_int_equal(signing_key_verify(other, &jwt, &error), ERR_NONE);
    assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_NOT_FOUND);
    jwt.key_id = signing_key_id(key);
    assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_UNAUTHENTICATED);
    assert_string_equal(error.message, "token whose signature is wrong");
    jwt = signed_by(key, SLICE("{}"));
    jwt.key_id = SLICE_NONE;
    assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_NOT_FOUND);
    jwt = signed_by(key, SLICE("{}"));
    jwt.algorithm = JWT_ES256;
    assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_NOT_FOUND);
    signing_key_free(other);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct jwt jwt = signed_by(key, SLICE("{\"sub\":\"ann\"}"));
    struct slice *parts[] = {&jwt.signed_part, &jwt.signature};
    for (size_t part = 0; part < 2; part++) {
        struct slice right = *parts[part];
        char *bytes = arena_text(&arena, right);
        *parts[part] = slice_of(bytes, right.len);
        for (size_t bit = 0; bit < right.len * 8; bit++) {
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_UNAUTHENTICATED);
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        }
        for (size_t len = 0; len < right.len; len++) {
            *parts[part] = slice_sub(right, 0, len);
            assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_UNAUTHENTICATED);
        }
        *parts[part] = right;
    }
    assert_int_equal(signing_key_verify(key, &jwt, &error), ERR_NONE);
}

static void a_token_that_nobody_would_read_is_not_made(void **state)
{
    (void)state;
    static char text[LIMIT_JWT_SIZE * 2];
    memset(text, ' ', sizeof(text));
    text[0] = '{';
    text[1] = '}';
    struct slice token = SLICE_NONE;
    assert_int_equal(signing_key_sign_in(&arena, key, slice_of(text, 12100), &token, &error),
                     ERR_NONE);
    assert_true(token.len > LIMIT_JWT_SIZE - 100 && token.len <= LIMIT_JWT_SIZE);
    for (size_t len = 12300; len <= sizeof(text); len += 1000) {
        assert_int_equal(signing_key_sign_in(&arena, key, slice_of(text, len), &token, &error),
                         ERR_LIMIT);
        assert_string_equal(error.message, "token of more than 16384 bytes");
    }
}

static void a_seed_has_32_bytes(void **state)
{
    (void)state;
    static const char bytes[64] = {0};
    struct secret seed;
    secret_init(&seed);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct signing_key *made = NULL;
        assert_int_equal(secret_set(&seed, slice_of(bytes, len)), ERR_NONE);
        assert_int_equal(signing_key_new(&seed, &made, &error), len == 32 ? ERR_NONE : ERR_INPUT);
        signing_key_free(made);
    }
    assert_string_equal(error.message, "seed of a signing key must have 32 bytes");
    secret_release(&seed);
    signing_key_free(NULL);
}

int main(void)
{
    json_set_seed(1);
#define KEY_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        KEY_TEST(the_name_of_a_key_is_its_thumbprint),
        KEY_TEST(the_signature_of_rfc_8037_is_right),
        KEY_TEST(a_token_names_its_key_and_is_known_again),
        KEY_TEST(others_can_check_a_token_with_the_public_key),
        KEY_TEST(a_token_of_another_key_is_not_found),
        KEY_TEST(every_changed_byte_is_noticed),
        KEY_TEST(a_token_that_nobody_would_read_is_not_made),
        KEY_TEST(a_seed_has_32_bytes),
    };
    return cmocka_run_group_tests_name("identity/signing_key", tests, NULL, NULL);
}
