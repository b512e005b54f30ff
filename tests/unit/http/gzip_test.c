/* SPDX-License-Identifier: MIT */
#include "http/gzip.h"

#include "base/memory.h"
#include "base/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

static bool accepts(const char *value, const char *coding)
{
    struct http_header header = {SLICE("accept-encoding"), slice_of_text(value)};
    struct http_request request = {.headers = &header, .header_count = 1};
    return http_accepts_encoding(&request, slice_of_text(coding));
}

static void a_coding_is_taken_when_the_header_names_it(void **state)
{
    (void)state;
    assert_true(accepts("gzip", "gzip"));
    assert_true(accepts("br;q=1.0, GZIP;q=0.5", "gzip"));
    assert_true(accepts("deflate ,\tgzip ; q=0.001", "gzip"));
    assert_true(accepts("*", "br"));
    assert_true(accepts("*;q=0, br", "br"));
}

static void a_coding_is_refused_when_the_header_says_so_or_nothing(void **state)
{
    (void)state;
    struct http_request request = {0};
    assert_false(http_accepts_encoding(&request, SLICE("gzip")));
    assert_false(accepts("", "gzip"));
    assert_false(accepts("gzip;q=0", "gzip"));
    assert_false(accepts("gzip;q=0.000, br", "gzip"));
    assert_false(accepts("*;q=0", "gzip"));
    assert_false(accepts("gzip;q=0, *", "gzip"));
    assert_false(accepts("gzipx, xgzip", "gzip"));
}

static void make_answer(struct http_response *response, size_t size)
{
    http_response_init(response);
    char *at = NULL;
    must(buf_reserve(&response->buf, size, &at) == ERR_NONE);
    memset(at, 'a', size);
    buf_commit(&response->buf, size);
}

static const struct http_header takes_gzip = {{"Accept-Encoding", 15}, {"gzip", 4}};
static const struct http_request request = {.headers = &takes_gzip, .header_count = 1};

static void a_large_answer_is_compressed_and_comes_back_the_same(void **state)
{
    (void)state;
    struct http_response response;
    make_answer(&response, 100000);
    gzip_answer(&request, &response);
    struct slice body = http_response_body(&response);
    assert_true(body.len < 1000);
    assert_true(
        http_header_find(response.headers, response.header_count, SLICE("content-encoding")).len >
        0);
    Bytef *output = memory_new(200000);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)body.at,
                       .avail_in = (uInt)body.len,
                       .next_out = output,
                       .avail_out = 200000};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, 100000);
    assert_int_equal(output[99999], 'a');
    (void)inflateEnd(&stream);
    memory_free(output);
    http_response_release(&response);
}

static void small_and_secret_answers_stay_as_they_are(void **state)
{
    (void)state;
    struct http_response response;
    make_answer(&response, 100);
    gzip_answer(&request, &response);
    assert_int_equal(http_response_body(&response).len, 100);
    http_response_release(&response);
    make_answer(&response, 100000);
    response.is_compressible = false;
    gzip_answer(&request, &response);
    assert_int_equal(http_response_body(&response).len, 100000);
    http_response_release(&response);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_coding_is_taken_when_the_header_names_it),
        cmocka_unit_test(a_coding_is_refused_when_the_header_says_so_or_nothing),
        cmocka_unit_test(a_large_answer_is_compressed_and_comes_back_the_same),
        cmocka_unit_test(small_and_secret_answers_stay_as_they_are),
    };
    return cmocka_run_group_tests_name("http/gzip", tests, NULL, NULL);
}
