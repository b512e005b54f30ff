/* SPDX-License-Identifier: MIT */
/* The vectors are those of AWS's own suite for Signature Version 4 (aws-signing-test-suite/v4), and
 * one of its documentation. */
#include "target/aws_signature.h"

#include "base/memory.h"
#include "base/timestamp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HEADERS_MAX 8

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static const struct aws_credentials example = {
    .access_key_id = SLICE_INIT("AKIDEXAMPLE"),
    .secret_access_key = SLICE_INIT("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
    .session_token = SLICE_INIT(""),
};

struct vector {
    const char *name;
    const char *method;
    const char *path;
    const char *query;
    const char *body;
    const char *headers[HEADERS_MAX]; /* name, value, …; Host and X-Amz-Date come by themselves */
    const char *signed_names;
    const char *signature;
};

static const struct vector vectors[] = {
    {.name = "get-vanilla",
     .signed_names = "host;x-amz-date",
     .signature = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {.name = "post-vanilla",
     .method = "POST",
     .signed_names = "host;x-amz-date",
     .signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {.name = "get-vanilla-with-session-token",
     .headers = {"X-Amz-Security-Token",
                 "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"},
     .signed_names = "host;x-amz-date;x-amz-security-token",
     .signature = "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
    {.name = "get-header-key-duplicate",
     .headers = {"My-Header1", "value2", "My-Header1", "value2", "My-Header1", "value1"},
     .signed_names = "host;my-header1;x-amz-date",
     .signature = "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
    {.name = "get-header-value-trim",
     .headers = {"My-Header1", " value1", "My-Header2", " \"a   b   c\""},
     .signed_names = "host;my-header1;my-header2;x-amz-date",
     .signature = "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {.name = "get-vanilla-query-order-key-case",
     .query = "Param2=value2&Param1=value1",
     .signed_names = "host;x-amz-date",
     .signature = "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {.name = "get-vanilla-query-order-encoded",
     .query = "Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
     .signed_names = "host;x-amz-date",
     .signature = "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
    {.name = "get-utf8",
     .path = "/\xe1\x88\xb4",
     .signed_names = "host;x-amz-date",
     .signature = "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {.name = "get-unreserved",
     .path = "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
     .signed_names = "host;x-amz-date",
     .signature = "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {.name = "post-x-www-form-urlencoded",
     .method = "POST",
     .body = "Param1=value1",
     .headers = {"Content-Type", "application/x-www-form-urlencoded", "Content-Length", "13",
                 "x-amz-content-sha256",
                 "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"},
     .signed_names = "content-length;content-type;host;x-amz-content-sha256;x-amz-date",
     .signature = "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"},
};

static struct slice or (const char *text, const char *otherwise)
{
    return slice_of_text(text == NULL ? otherwise : text);
}

static struct slice sign(const struct vector *vector)
{
    struct aws_header headers[HEADERS_MAX] = {
        {SLICE("Host"), SLICE("example.amazonaws.com")},
        {SLICE("X-Amz-Date"), SLICE("20150830T123600Z")},
    };
    struct aws_request request = {
        .method = or (vector->method, "GET"),
        .path = or (vector->path, "/"),
        .query = or (vector->query, ""),
        .body = or (vector->body, ""),
        .headers = headers,
        .header_count = 2,
    };
    struct aws_scope scope = {.region = SLICE("us-east-1"), .service = SLICE("service")};
    assert_int_equal(timestamp_parse(SLICE("2015-08-30T12:36:00Z"), &scope.time), ERR_NONE);
    for (size_t i = 0; i < HEADERS_MAX && vector->headers[i] != NULL; i += 2) {
        headers[request.header_count++] = (struct aws_header){
            slice_of_text(vector->headers[i]), slice_of_text(vector->headers[i + 1])};
    }
    return aws_authorization_in(&arena, &request, &example, &scope);
}

static void signatures_are_those_of_the_suite(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct slice wanted = arena_format(
            &arena,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=%s, Signature=%s",
            vectors[i].signed_names, vectors[i].signature);
        struct slice made = sign(&vectors[i]);
        if (!slice_equals(made, wanted)) {
            print_error("%s\n", vectors[i].name);
        }
        assert_string_equal(made.at, wanted.at);
    }
}

/* "Create a signed AWS API request" in the IAM user guide. */
static void the_example_of_the_documentation_is_signed_alike(void **state)
{
    (void)state;
    const struct aws_header headers[] = {
        {SLICE_INIT("content-type"),
         SLICE_INIT("application/x-www-form-urlencoded; charset=utf-8")},
        {SLICE_INIT("host"), SLICE_INIT("iam.amazonaws.com")},
        {SLICE_INIT("x-amz-date"), SLICE_INIT("20150830T123600Z")},
    };
    const struct aws_request request = {
        .method = SLICE("GET"),
        .path = SLICE("/"),
        .query = SLICE("Action=ListUsers&Version=2010-05-08"),
        .body = SLICE(""),
        .headers = headers,
        .header_count = COUNT_OF(headers),
    };
    struct aws_scope scope = {.region = SLICE("us-east-1"), .service = SLICE("iam")};
    assert_int_equal(timestamp_parse(SLICE("2015-08-30T12:36:00Z"), &scope.time), ERR_NONE);
    struct slice made = aws_authorization_in(&arena, &request, &example, &scope);
    assert_true(slice_ends_with(
        made, SLICE("Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7")));
}

static void a_query_without_a_value_is_signed_with_an_empty_one(void **state)
{
    (void)state;
    struct slice bare = sign(&(struct vector){.query = "a&b=1"});
    assert_true(slice_equals(bare, sign(&(struct vector){.query = "b=1&a="})));
    assert_false(slice_equals(bare, sign(&(struct vector){.query = "a=1&b"})));
}

static void times_are_written_without_parts_of_a_second(void **state)
{
    (void)state;
    char text[AWS_TIME_SIZE];
    struct slice time = aws_time_format(INT64_C(1440938160999999), text);
    assert_true(slice_equals(time, SLICE("20150830T123600Z")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(signatures_are_those_of_the_suite),
        TEST(the_example_of_the_documentation_is_signed_alike),
        TEST(a_query_without_a_value_is_signed_with_an_empty_one),
        TEST(times_are_written_without_parts_of_a_second),
    };
    return cmocka_run_group_tests_name("target/aws_signature", tests, NULL, NULL);
}
