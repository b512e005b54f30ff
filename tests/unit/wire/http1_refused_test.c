/* SPDX-License-Identifier: MIT */
#include "http1_help.h"

struct bad_case {
    int status;
    struct slice bytes;
};

static const struct bad_case bad_cases[] = {
    /* line ends */
    {400, SLICE_INIT("GET / HTTP/1.1\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\r\nHost: a\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\r\nHost: a\r\n\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\r\nHost: a\n\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\rHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\r\nHost: a\r\n\r\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n")},
    {400, SLICE_INIT("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("\rGET / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n")},
    {400, SLICE_INIT("G\0T / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("\x16\x03\x01\x02\x00\x01")},
    /* request line */
    {400, SLICE_INIT("GET /\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET  / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET /  HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.1 \r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT(" GET / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET /\tHTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / x HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("G(T / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET: / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / http/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.10\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1,1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/x.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.x\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP /1.1\r\nHost: a\r\n\r\n")},
    {505, SLICE_INIT("GET / HTTP/2.0\r\nHost: a\r\n\r\n")},
    {505, SLICE_INIT("GET / HTTP/0.9\r\nHost: a\r\n\r\n")},
    {505, SLICE_INIT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},
    /* targets */
    {400, SLICE_INIT("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET * HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("OPTIONS ** HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET a HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET ?a HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET http:/a HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET http://user@b/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET http://b:x/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("CONNECT b HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("CONNECT b: HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("CONNECT :22 HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n")},
    {400, SLICE_INIT("CONNECT http://b:80/ HTTP/1.1\r\nHost: a\r\n\r\n")},
    /* hosts */
    {400, SLICE_INIT(GET "\r\n")},
    {400, SLICE_INIT(GET "Host:\r\n\r\n")},
    {400, SLICE_INIT(GET HOST HOST "\r\n")},
    {400, SLICE_INIT(GET HOST "HOST: b\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a b\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a/b\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a@b\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a?b\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a\\b\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: \xc3\xa4\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: :80\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a:80:80\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a:65536\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a:-1\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a:99999999999999999999\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a%4\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: a%zz\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: [::1\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: []\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: [::g]\r\n\r\n")},
    {400, SLICE_INIT(GET "Host: [::1]x\r\n\r\n")},
    {400, SLICE_INIT("GET http://b/ HTTP/1.1\r\n\r\n")},
    {400, SLICE_INIT("GET http://b/ HTTP/1.1\r\nHost: a b\r\n\r\n")},
    {400, SLICE_INIT("GET / HTTP/1.0\r\n" HOST HOST "\r\n")},
    /* headers */
    {400, SLICE_INIT(GET HOST "X : b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X\t: b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X: a\r\n b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X: a\r\n\tb\r\n\r\n")},
    {400, SLICE_INIT(GET " Host: a\r\n\r\n")},
    {400, SLICE_INIT(GET HOST ": b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X(y): b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X y: b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X\x80: b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "\"X\": b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X: a\x01\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X: \x0b"
                              "a\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X: a\x7f\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "X: \x1b[31m\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "Connection: a b\r\n\r\n")},
    {400, SLICE_INIT(GET HOST "Connection: close;\r\n\r\n")},
    {417, SLICE_INIT(POST "Expect: 200-ok\r\n\r\n")},
    {417, SLICE_INIT(POST "Expect:\r\n\r\n")},
    /* lengths */
    {400, SLICE_INIT(POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 0\r\ncontent-length: 0\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 5, 5\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 5,6\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length:\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: +5\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: -5\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 5 5\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 0x5\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 5a\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 5.0\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: \"5\"\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 18446744073709551616\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 99999999999999999999999\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length : 5\r\n\r\n")},
    /* codings */
    {400, SLICE_INIT(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: chunked, chunked\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: chunked, gzip\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: chunked,\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: ,chunked\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding:\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: \x0b"
                          "chunked\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding: \"chunked\"\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding\t: chunked\r\n\r\n")},
    {400, SLICE_INIT(POST "Transfer-Encoding:\r\n chunked\r\n\r\n")},
    {400, SLICE_INIT(POST "Content-Length: 5\r\nTransfer-Encoding: gzip\r\n\r\n")},
    {400, SLICE_INIT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n")},
    {501, SLICE_INIT(POST "Transfer-Encoding: gzip\r\n\r\n")},
    {501, SLICE_INIT(POST "Transfer-Encoding: gzip, chunked\r\n\r\n")},
    {501, SLICE_INIT(POST "Transfer-Encoding: identity\r\n\r\n")},
    {501, SLICE_INIT(POST "Transfer-Encoding: xchunked\r\n\r\n")},
    {501, SLICE_INIT(POST "Transfer-Encoding: chunked;q=1\r\n\r\n")},
};

static void malformed_and_smuggling_requests_are_refused_with_their_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad_cases); i++) {
        struct outcome outcome;
        parse(bad_cases[i].bytes, &outcome);
        if (outcome.err == ERR_NONE || outcome.err == ERR_MORE ||
            outcome.problem.status != bad_cases[i].status) {
            print_error("%d, not %d: %.*s\n", outcome.problem.status, bad_cases[i].status,
                        SLICE_ARG(bad_cases[i].bytes));
        }
        assert_int_equal(outcome.problem.status, bad_cases[i].status);
        assert_int_equal(outcome.err, bad_cases[i].status == 400 ? ERR_INPUT : ERR_UNSUPPORTED);
        assert_non_null(outcome.problem.text);
    }
}

static void a_bad_line_end_is_refused_at_the_first_byte_that_shows_it(void **state)
{
    (void)state;
    static const struct slice inputs[] = {
        SLICE_INIT("GET / HTTP/1.1\n"),
        SLICE_INIT("GET / HTTP/1.1\rX"),
        SLICE_INIT("GET \0"),
        SLICE_INIT("\r\n\r\n\r\n"),
        SLICE_INIT("GET / HTTP/1.1\r\nHost: a\r\n\rX"),
    };
    for (size_t i = 0; i < COUNT(inputs); i++) {
        struct http1_problem problem;
        size_t scanned = 0;
        size_t size = 0;
        struct slice before = slice_sub(inputs[i], 0, inputs[i].len - 1);
        assert_int_equal(find_by_byte(before, &size, &problem), ERR_MORE);
        assert_int_equal(find_by_byte(inputs[i], &size, &problem), ERR_INPUT);
        assert_int_equal(http1_head_find(inputs[i], &scanned, &size, &problem), ERR_INPUT);
    }
}

static void check_filled(struct slice first, struct slice filler, size_t size, struct slice last,
                         int status)
{
    struct buf buf;
    struct outcome outcome;
    buf_init(&buf, LIMIT_MIB(1));
    fill(&buf, first, filler, size, last);
    parse(buf_view(&buf), &outcome);
    assert_int_equal(outcome.problem.status, status);
    assert_int_equal(outcome.err, status == 0 ? ERR_NONE : ERR_LIMIT);
    if (outcome.err == ERR_LIMIT) {
        assert_true(status == 414 || status == 431);
    }
    buf_release(&buf);
}

static void what_is_too_long_is_told_apart(void **state)
{
    (void)state;
    struct slice end = SLICE(" HTTP/1.1\r\n" HOST "\r\n");
    size_t target = LIMIT_HTTP_TARGET_SIZE + 4;
    check_filled(SLICE("GET /"), SLICE("a"), target, end, 0);
    check_filled(SLICE("GET /"), SLICE("a"), target + 1, end, 414);
    check_filled(SLICE("GET /"), SLICE("a"), LIMIT_HTTP_HEAD_SIZE, end, 414);
    check_filled(SLICE("\r\n\r\nGET /"), SLICE("a"), LIMIT_HTTP_HEAD_SIZE, end, 414);

    struct slice head = SLICE(GET HOST "X: ");
    end = SLICE("\r\n\r\n");
    check_filled(head, SLICE("a"), LIMIT_HTTP_HEAD_SIZE - end.len, end, 0);
    check_filled(head, SLICE("a"), LIMIT_HTTP_HEAD_SIZE - end.len + 1, end, 431);
    check_filled(SLICE(GET HOST), SLICE("a:b\r\n"), sizeof(GET HOST) - 1 + 99 * 5, SLICE("\r\n"),
                 0);
    check_filled(SLICE(GET HOST), SLICE("a:b\r\n"), sizeof(GET HOST) - 1 + 100 * 5, SLICE("\r\n"),
                 431);
}

static void a_head_that_is_not_whole_is_refused_by_the_parser_itself(void **state)
{
    (void)state;
    struct slice whole = SLICE(GET HOST "Accept: */*\r\nX-Empty:\r\n\r\n");
    struct http1_request request;
    for (size_t len = 0; len < whole.len; len++) {
        struct http1_problem problem = {0};
        assert_int_equal(http1_request_parse(slice_sub(whole, 0, len), &request, &problem),
                         ERR_INPUT);
        assert_int_equal(problem.status, 400);
    }
    struct http1_problem problem = {0};
    assert_int_equal(http1_request_parse(SLICE_NONE, &request, &problem), ERR_INPUT);
    assert_int_equal(http1_request_parse(SLICE(GET HOST "\r\nX"), &request, &problem), ERR_INPUT);
    assert_int_equal(http1_request_parse(SLICE(GET HOST "X: \r \r\n\r\n"), &request, &problem),
                     ERR_INPUT);
}

static void a_target_may_hold_every_visible_byte_but_the_fragment_mark(void **state)
{
    (void)state;
    for (unsigned value = 1; value < 256; value++) {
        char input[] = "GET /? HTTP/1.1\r\n" HOST "\r\n";
        struct outcome outcome;
        if (value == ' ' || value == '\r' || value == '\n') {
            continue;
        }
        input[5] = (char)(unsigned char)value;
        parse(slice_of_text(input), &outcome);
        bool good = value > ' ' && value < 0x7f && value != '#';
        assert_int_equal(outcome.err, good ? ERR_NONE : ERR_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_and_smuggling_requests_are_refused_with_their_status),
        cmocka_unit_test(a_bad_line_end_is_refused_at_the_first_byte_that_shows_it),
        cmocka_unit_test(what_is_too_long_is_told_apart),
        cmocka_unit_test(a_head_that_is_not_whole_is_refused_by_the_parser_itself),
        cmocka_unit_test(a_target_may_hold_every_visible_byte_but_the_fragment_mark),
    };
    return cmocka_run_group_tests_name("wire/http1_refused", tests, NULL, NULL);
}
