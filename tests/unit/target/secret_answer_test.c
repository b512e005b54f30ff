/* SPDX-License-Identifier: MIT */
#include "target/secret_answer.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error.message[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static void check_value(const struct json *object, const char *key, const char *wanted)
{
    struct slice value = SLICE_NONE;
    assert_int_equal(secret_answer_value_in(&arena, object, slice_of_text(key), &value, &error),
                     ERR_NONE);
    assert_string_equal(arena_text(&arena, value), wanted);
}

static void check_no_value(const struct json *object, const char *key, const char *message)
{
    struct slice value = SLICE_NONE;
    assert_int_equal(secret_answer_value_in(&arena, object, slice_of_text(key), &value, &error),
                     ERR_INPUT);
    assert_string_equal(error.message, message);
}

static struct json object_of(const char *text)
{
    struct json object = {.arena = &arena};
    assert_int_equal(
        secret_answer_object_in(&arena, "the secret", slice_of_text(text), &object, &error),
        ERR_NONE);
    return object;
}

static void values_are_text_numbers_and_booleans(void **state)
{
    (void)state;
    struct json object = object_of(
        "{\"text\":\"gr\\u00fcn\",\"empty\":\"\",\"port\":5432,\"min\":-9223372036854775808,"
        "\"max\":9223372036854775807,\"half\":0.5,\"tenth\":0.1,\"large\":1e300,\"yes\":true,"
        "\"no\":false,\"a.b[0]\":\"dots are part of a key\",\"exact\":0.30000000000000004}");
    check_value(&object, "text", "gr\xc3\xbcn");
    check_value(&object, "empty", "");
    check_value(&object, "port", "5432");
    check_value(&object, "min", "-9223372036854775808");
    check_value(&object, "max", "9223372036854775807");
    check_value(&object, "half", "0.5");
    check_value(&object, "tenth", "0.1");
    check_value(&object, "large", "1e+300");
    check_value(&object, "exact", "0.30000000000000004");
    check_value(&object, "yes", "true");
    check_value(&object, "no", "false");
    check_value(&object, "a.b[0]", "dots are part of a key");
}

static void other_kinds_and_missing_keys_are_told_apart(void **state)
{
    (void)state;
    struct json object = object_of("{\"object\":{\"a\":\"s3cret\"},\"array\":[1],\"null\":null}");
    check_no_value(&object, "object", "'object' in the secret is an object");
    check_no_value(&object, "array", "'array' in the secret is an array");
    check_no_value(&object, "null", "'null' in the secret is null");
    check_no_value(&object, "missing", "the secret has no 'missing'");
    check_no_value(&object, "Object", "the secret has no 'Object'");
    check_no_value(&object, "new\nline", "the secret has no 'new\\nline'");
    struct slice value = SLICE_NONE;
    assert_int_equal(secret_answer_value_in(&arena, &object, SLICE("array\0x"), &value, &error),
                     ERR_INPUT);
    assert_string_equal(error.message, "no key holds a NUL byte");
}

static void a_secret_must_be_an_object_and_is_not_quoted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"s3cret", "the secret is not a JSON object: it is no JSON"},
        {"", "the secret is not a JSON object: it is no JSON"},
        {"{\"s3cret\":1,\"s3cret\":2}", "the secret is not a JSON object: it is no JSON"},
        {"{\"a\":", "the secret is not a JSON object: it is no JSON"},
        {"\"s3cret\"", "the secret is not a JSON object"},
        {"[\"s3cret\"]", "the secret is not a JSON object"},
        {"42", "the secret is not a JSON object"},
        {"null", "the secret is not a JSON object"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json object;
        assert_int_equal(secret_answer_object_in(&arena, "the secret", slice_of_text(cases[i].text),
                                                 &object, &error),
                         ERR_INPUT);
        assert_string_equal(error.message, cases[i].message);
    }
}

static void aws_answers_with_text_or_bytes(void **state)
{
    (void)state;
    struct json object;
    assert_int_equal(
        secret_answer_aws_in(&arena, 200,
                             SLICE("{\"ARN\":\"arn:x\",\"Name\":\"db\",\"CreatedDate\":1.5e9,"
                                   "\"SecretString\":\"{\\\"password\\\":\\\"p\\\"}\"}"),
                             &object, &error),
        ERR_NONE);
    check_value(&object, "password", "p");
    assert_int_equal(secret_answer_aws_in(&arena, 200, SLICE("{\"SecretBinary\":\"eyJhIjoiYiJ9\"}"),
                                          &object, &error),
                     ERR_NONE);
    check_value(&object, "a", "b");
}

struct refusal {
    long status;
    const char *body;
    enum err err;
    const char *message;
};

static void aws_refusals_are_told_by_type_and_message(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {400,
         "{\"__type\":\"ResourceNotFoundException\",\"Message\":\"Secrets Manager can't find the "
         "specified secret.\"}",
         ERR_UNAVAILABLE,
         "ResourceNotFoundException: Secrets Manager can't find the specified secret"},
        {400, "{\"__type\":\"com.amazon.coral#AccessDeniedException\",\"message\":\"User: u\"}",
         ERR_UNAVAILABLE, "AccessDeniedException: User: u"},
        {400, "{\"__type\":\"DecryptionFailure:http://internal/\"}", ERR_UNAVAILABLE,
         "DecryptionFailure"},
        {400, "{\"__type\":\"ThrottlingException\",\"message\":\"Rate exceeded\"}", ERR_BUSY,
         "ThrottlingException: Rate exceeded"},
        {500, "{\"__type\":\"InternalServiceError\"}", ERR_BUSY, "InternalServiceError"},
        {503, "<html>", ERR_BUSY, "AWS answers with status 503"},
        {429, "", ERR_BUSY, "AWS answers with status 429"},
        {403, "[]", ERR_UNAVAILABLE, "AWS answers with status 403"},
        {302, "", ERR_UNAVAILABLE, "AWS answers with status 302"},
        /* What AWS says of a signature repeats the request with its token. */
        {400,
         "{\"__type\":\"InvalidSignatureException\",\"message\":\"The signature does not match. "
         "x-amz-security-token:s3cret\"}",
         ERR_UNAVAILABLE,
         "InvalidSignatureException: the secret access key is wrong, or the clock is"},
        {400, "{\"__type\":\"X\",\"message\":\"one line\\nx-amz-security-token:s3cret\"}",
         ERR_UNAVAILABLE, "X: one line"},
        {400, "{\"__type\":\"X\\u001b[31m\",\"message\":5}", ERR_UNAVAILABLE, "X\\x1b[31m"},
        {200, "", ERR_UNAVAILABLE, "AWS answers with something that is no JSON"},
        {200, "{}", ERR_UNAVAILABLE, "AWS answers without a value"},
        {200, "{\"SecretString\":5}", ERR_UNAVAILABLE,
         "AWS answers with a SecretString that is no text"},
        {200, "{\"SecretBinary\":\"?\"}", ERR_UNAVAILABLE,
         "AWS answers with a SecretBinary that is no base64"},
        {200, "{\"SecretString\":\"s3cret\"}", ERR_INPUT,
         "the secret is not a JSON object: it is no JSON"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json object;
        assert_int_equal(secret_answer_aws_in(&arena, cases[i].status, slice_of_text(cases[i].body),
                                              &object, &error),
                         cases[i].err);
        assert_string_equal(error.message, cases[i].message);
    }
}

static void a_long_message_is_cut_between_characters(void **state)
{
    (void)state;
    struct json object;
    struct slice body = SLICE("{\"__type\":\"X\",\"message\":\"a");
    for (int i = 0; i < 200; i++) {
        body = arena_format(&arena, "%.*s\xc3\xbc", SLICE_ARG(body));
    }
    body = arena_format(&arena, "%.*s\"}", SLICE_ARG(body));
    assert_int_equal(secret_answer_aws_in(&arena, 400, body, &object, &error), ERR_UNAVAILABLE);
    struct slice message = slice_of_text(error.message);
    assert_true(slice_ends_with(message, SLICE("\xc3\xbc…")));
    assert_true(message.len < 220);
}

static void vault_answers_with_one_or_two_levels(void **state)
{
    (void)state;
    struct json object;
    assert_int_equal(secret_answer_vault_in(&arena, VAULT_KV1, 200,
                                            SLICE("{\"lease_duration\":1,\"data\":{\"a\":\"b\"}}"),
                                            &object, &error),
                     ERR_NONE);
    check_value(&object, "a", "b");
    assert_int_equal(secret_answer_vault_in(
                         &arena, VAULT_KV2, 200,
                         SLICE("{\"data\":{\"data\":{\"a\":5},\"metadata\":{\"version\":2}}}"),
                         &object, &error),
                     ERR_NONE);
    check_value(&object, "a", "5");
    /* A secret of version 1 may have values that are called like the levels of version 2. */
    assert_int_equal(secret_answer_vault_in(&arena, VAULT_KV1, 200,
                                            SLICE("{\"data\":{\"data\":\"b\",\"metadata\":\"c\"}}"),
                                            &object, &error),
                     ERR_NONE);
    check_value(&object, "data", "b");
}

static void vault_refusals_are_told(void **state)
{
    (void)state;
    static const struct refusal cases[] = {
        {403, "{\"errors\":[\"permission denied\"]}", ERR_UNAVAILABLE,
         "Vault: permission denied (status 403)"},
        {403, "{\"errors\":[\"1 error occurred:\\n\\t* permission denied\\n\\n\"]}",
         ERR_UNAVAILABLE, "Vault: permission denied (status 403)"},
        {404, "{\"errors\":[]}", ERR_UNAVAILABLE, "Vault has no such secret"},
        {404, "{\"errors\":[\"no handler for route\"]}", ERR_UNAVAILABLE,
         "Vault: no handler for route (status 404)"},
        {404, "{\"data\":{\"data\":null,\"metadata\":{\"deletion_time\":\"2026\",\"version\":1}}}",
         ERR_UNAVAILABLE, "the newest version of the secret is deleted"},
        {503, "{\"errors\":[\"Vault is sealed\"]}", ERR_UNAVAILABLE,
         "Vault: Vault is sealed (status 503)"},
        {429, "{\"errors\":[\"rate limit quota exceeded\"]}", ERR_BUSY,
         "Vault: rate limit quota exceeded (status 429)"},
        {412, "{\"errors\":[5]}", ERR_BUSY, "Vault answers with status 412"},
        {500, "<html>", ERR_BUSY, "Vault answers with status 500"},
        {307, "", ERR_UNAVAILABLE,
         "Vault sends to another address (status 307): VAULT_ADDR should be that of the active "
         "node"},
        {200, "", ERR_UNAVAILABLE, "Vault answers with something that is no secret"},
        {200, "{\"data\":5}", ERR_UNAVAILABLE, "Vault answers with something that is no secret"},
        {200, "{\"data\":{\"a\":\"s3cret\"}}", ERR_INPUT,
         "what Vault has there is no version 2 secret: is the engine version 1?"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct json object;
        assert_int_equal(secret_answer_vault_in(&arena, VAULT_KV2, cases[i].status,
                                                slice_of_text(cases[i].body), &object, &error),
                         cases[i].err);
        assert_string_equal(error.message, cases[i].message);
    }
}

static void a_sign_in_to_vault_gives_a_token(void **state)
{
    (void)state;
    struct slice token = SLICE_NONE;
    assert_int_equal(secret_answer_vault_login_in(&arena, 200,
                                                  SLICE("{\"auth\":{\"client_token\":\"hvs.1\"}}"),
                                                  &token, &error),
                     ERR_NONE);
    assert_true(slice_equals(token, SLICE("hvs.1")));
    static const struct refusal cases[] = {
        {400, "{\"errors\":[\"invalid role or secret ID\"]}", ERR_UNAVAILABLE,
         "Vault: invalid role or secret ID (status 400)"},
        {200, "{\"auth\":null}", ERR_UNAVAILABLE, "Vault answers without a token"},
        {200, "{\"auth\":{\"client_token\":\"\"}}", ERR_UNAVAILABLE,
         "Vault answers without a token"},
        {200, "", ERR_UNAVAILABLE, "Vault answers without a token"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(secret_answer_vault_login_in(&arena, cases[i].status,
                                                      slice_of_text(cases[i].body), &token, &error),
                         cases[i].err);
        assert_string_equal(error.message, cases[i].message);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    json_set_seed(1);
    const struct CMUnitTest tests[] = {
        TEST(values_are_text_numbers_and_booleans),
        TEST(other_kinds_and_missing_keys_are_told_apart),
        TEST(a_secret_must_be_an_object_and_is_not_quoted),
        TEST(aws_answers_with_text_or_bytes),
        TEST(aws_refusals_are_told_by_type_and_message),
        TEST(a_long_message_is_cut_between_characters),
        TEST(vault_answers_with_one_or_two_levels),
        TEST(vault_refusals_are_told),
        TEST(a_sign_in_to_vault_gives_a_token),
    };
    return cmocka_run_group_tests_name("target/secret_answer", tests, NULL, NULL);
}
