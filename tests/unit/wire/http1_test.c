/* SPDX-License-Identifier: MIT */
#include "http1_help.h"

static const struct slice valid_requests[] = {
    SLICE_INIT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    SLICE_INIT("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    SLICE_INIT("GET /healthz?full=1&x=%20 HTTP/1.1\r\nHost: localhost:8009\r\n"
               "User-Agent: curl/7.88.1\r\nAccept: */*\r\nX-Empty:\r\n\r\n"),
    SLICE_INIT("POST /api HTTP/1.1\r\nhost: [::1]:80\r\ncontent-length: 12\r\n\r\n"),
    SLICE_INIT("PUT http://example.org:81/a?b HTTP/1.1\r\nHost: other\r\n"
               "Transfer-Encoding: Chunked\r\nExpect: 100-Continue\r\n\r\n"),
    SLICE_INIT("CONNECT db.example.org:5432 HTTP/1.1\r\nHost: db.example.org:5432\r\n\r\n"),
    SLICE_INIT("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
    SLICE_INIT("GET / HTTP/1.0\r\n\r\n"),
};

static void parse_valid(struct slice input, struct outcome *ret_outcome)
{
    parse(input, ret_outcome);
    if (ret_outcome->err != ERR_NONE) {
        print_error("refused: %s: %.*s\n", ret_outcome->problem.text, SLICE_ARG(input));
    }
    assert_int_equal(ret_outcome->err, ERR_NONE);
}

static void a_request_is_taken_apart(void **state)
{
    (void)state;
    struct outcome outcome;
    parse_valid(valid_requests[2], &outcome);
    const struct http1_request *request = &outcome.request;
    assert_slice(request->method, "GET");
    assert_slice(request->target, "/healthz?full=1&x=%20");
    assert_slice(request->path, "/healthz");
    assert_slice(request->query, "full=1&x=%20");
    assert_slice(request->host, "localhost:8009");
    assert_int_equal(request->version_minor, 1);
    assert_int_equal(request->header_count, 4);
    assert_slice(request->headers[1].name, "User-Agent");
    assert_slice(request->headers[1].value, "curl/7.88.1");
    assert_int_equal(request->body, HTTP1_BODY_NONE);
    assert_true(request->keep_alive);
    assert_false(request->expect_continue);
    assert_false(request->upgrade);
}

static void headers_are_found_without_case_and_counted(void **state)
{
    (void)state;
    struct outcome outcome;
    parse_valid(SLICE(GET HOST "X-A: 1\r\nx-a: 2\r\nX-Empty: \t \r\n\r\n"), &outcome);
    const struct http1_request *request = &outcome.request;
    size_t count = request->header_count;
    assert_slice(http_header_find(request->headers, count, SLICE("X-a")), "1");
    assert_int_equal(http_header_repeats(request->headers, count, SLICE("x-A")), 2);
    assert_int_equal(http_header_find(request->headers, count, SLICE("x-empty")).len, 0);
    assert_non_null(http_header_find(request->headers, count, SLICE("x-empty")).at);
    assert_null(http_header_find(request->headers, count, SLICE("x-b")).at);
    assert_int_equal(http_header_repeats(request->headers, count, SLICE("x-b")), 0);
}

static void space_around_a_value_is_not_part_of_it_but_space_inside_is(void **state)
{
    (void)state;
    struct outcome outcome;
    parse_valid(SLICE(GET HOST "A: \t b \t c\x80 \t\r\nB:d\r\n\r\n"), &outcome);
    assert_slice(outcome.request.headers[1].value, "b \t c\x80");
    assert_slice(outcome.request.headers[2].value, "d");
}

struct target_case {
    struct slice input;
    const char *path;
    const char *query;
    const char *host;
};

static void every_form_of_target_is_taken_apart(void **state)
{
    (void)state;
    static const struct target_case cases[] = {
        {SLICE_INIT("GET /a/b HTTP/1.1\r\n" HOST "\r\n"), "/a/b", NULL, "a"},
        {SLICE_INIT("GET /a? HTTP/1.1\r\n" HOST "\r\n"), "/a", "", "a"},
        {SLICE_INIT("GET /a?b?c HTTP/1.1\r\n" HOST "\r\n"), "/a", "b?c", "a"},
        {SLICE_INIT("GET //x/y HTTP/1.1\r\n" HOST "\r\n"), "//x/y", NULL, "a"},
        {SLICE_INIT("GET http://b/c?d HTTP/1.1\r\n" HOST "\r\n"), "/c", "d", "b"},
        {SLICE_INIT("GET HTTPS://b:8/ HTTP/1.1\r\n" HOST "\r\n"), "/", NULL, "b:8"},
        {SLICE_INIT("GET http://b HTTP/1.1\r\n" HOST "\r\n"), "/", NULL, "b"},
        {SLICE_INIT("GET http://b?c/d HTTP/1.1\r\n" HOST "\r\n"), "/", "c/d", "b"},
        {SLICE_INIT("GET http://[::1]:9/c HTTP/1.1\r\n" HOST "\r\n"), "/c", NULL, "[::1]:9"},
        {SLICE_INIT("OPTIONS * HTTP/1.1\r\n" HOST "\r\n"), "*", NULL, "a"},
        {SLICE_INIT("CONNECT b:22 HTTP/1.1\r\n" HOST "\r\n"), "", NULL, "b:22"},
        {SLICE_INIT("CONNECT [fe80::1]:22 HTTP/1.1\r\n" HOST "\r\n"), "", NULL, "[fe80::1]:22"},
        {SLICE_INIT("get / HTTP/1.0\r\n\r\n"), "/", NULL, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome outcome;
        parse_valid(cases[i].input, &outcome);
        assert_slice(outcome.request.path, cases[i].path);
        assert_slice(outcome.request.query, cases[i].query);
        assert_slice(outcome.request.host, cases[i].host);
        assert_int_equal(outcome.request.query.at == NULL, cases[i].query == NULL);
    }
}

static void valid_hosts_are_taken(void **state)
{
    (void)state;
    static const struct slice inputs[] = {
        SLICE_INIT(GET "Host: a.b-c_d~e\r\n\r\n"),
        SLICE_INIT(GET "Host: 127.0.0.1:65535\r\n\r\n"),
        SLICE_INIT(GET "Host: [::ffff:1.2.3.4]\r\n\r\n"),
        SLICE_INIT(GET "Host: a:\r\n\r\n"),
        SLICE_INIT(GET "Host: x%41\r\n\r\n"),
    };
    for (size_t i = 0; i < COUNT(inputs); i++) {
        struct outcome outcome;
        parse_valid(inputs[i], &outcome);
    }
}

struct framing_case {
    struct slice input;
    enum http1_body body;
    uint64_t length;
};

static void the_headers_decide_how_the_body_is_framed(void **state)
{
    (void)state;
    static const struct framing_case cases[] = {
        {SLICE_INIT(POST "\r\n"), HTTP1_BODY_NONE, 0},
        {SLICE_INIT(POST "Content-Length: 0\r\n\r\n"), HTTP1_BODY_NONE, 0},
        {SLICE_INIT(POST "CONTENT-LENGTH:7\r\n\r\n"), HTTP1_BODY_LENGTH, 7},
        {SLICE_INIT(POST "Content-Length: 007\r\n\r\n"), HTTP1_BODY_LENGTH, 7},
        {SLICE_INIT(POST "Content-Length: 18446744073709551615\r\n\r\n"), HTTP1_BODY_LENGTH,
         UINT64_MAX},
        {SLICE_INIT(POST "Transfer-Encoding: chunked\r\n\r\n"), HTTP1_BODY_CHUNKED, 0},
        {SLICE_INIT(POST "transfer-encoding:\tCHUNKED \r\n\r\n"), HTTP1_BODY_CHUNKED, 0},
        {SLICE_INIT("POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\n"), HTTP1_BODY_LENGTH, 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome outcome;
        parse_valid(cases[i].input, &outcome);
        assert_int_equal(outcome.request.body, cases[i].body);
        assert_true(outcome.request.content_length == cases[i].length);
    }
}

struct connection_case {
    struct slice input;
    bool keep_alive;
    bool upgrade;
    bool expect_continue;
};

static void the_headers_decide_what_becomes_of_the_connection(void **state)
{
    (void)state;
    static const struct connection_case cases[] = {
        {SLICE_INIT(GET HOST "\r\n"), true, false, false},
        {SLICE_INIT("GET / HTTP/1.7\r\n" HOST "\r\n"), true, false, false},
        {SLICE_INIT(GET HOST "Connection: Close\r\n\r\n"), false, false, false},
        {SLICE_INIT(GET HOST "Connection: keep-alive, close\r\n\r\n"), false, false, false},
        {SLICE_INIT(GET HOST "Connection: x\r\nConnection: , close\r\n\r\n"), false, false, false},
        {SLICE_INIT("GET / HTTP/1.0\r\n\r\n"), false, false, false},
        {SLICE_INIT("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), true, false, false},
        {SLICE_INIT(GET HOST "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"), true, true,
         false},
        {SLICE_INIT(GET HOST "Upgrade: websocket\r\n\r\n"), true, false, false},
        {SLICE_INIT(GET HOST "Connection: Upgrade\r\n\r\n"), true, false, false},
        {SLICE_INIT("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"), false, false,
         false},
        {SLICE_INIT(POST "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n"), true, false, true},
        {SLICE_INIT(POST "Expect: 100-continue\r\n\r\n"), true, false, false},
        {SLICE_INIT("POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"), false,
         false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct outcome outcome;
        parse_valid(cases[i].input, &outcome);
        assert_int_equal(outcome.request.keep_alive, cases[i].keep_alive);
        assert_int_equal(outcome.request.upgrade, cases[i].upgrade);
        assert_int_equal(outcome.request.expect_continue, cases[i].expect_continue);
    }
}

static void every_prefix_of_a_valid_head_needs_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(valid_requests); i++) {
        for (size_t len = 0; len < valid_requests[i].len; len++) {
            struct http1_problem problem;
            size_t scanned = 0;
            size_t size = 0;
            assert_int_equal(
                http1_head_find(slice_sub(valid_requests[i], 0, len), &scanned, &size, &problem),
                ERR_MORE);
        }
    }
}

static void a_head_that_comes_byte_by_byte_ends_where_it_does_in_one_piece(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(valid_requests); i++) {
        struct http1_problem problem;
        size_t size = 0;
        assert_int_equal(find_by_byte(valid_requests[i], &size, &problem), ERR_NONE);
        assert_int_equal(size, valid_requests[i].len);
    }
}

static void no_bytes_at_all_need_more(void **state)
{
    (void)state;
    struct http1_problem problem;
    size_t scanned = 0;
    size_t size = 0;
    assert_int_equal(http1_head_find(SLICE_NONE, &scanned, &size, &problem), ERR_MORE);
    assert_int_equal(scanned, 0);
}

static void what_follows_the_head_is_not_looked_at(void **state)
{
    (void)state;
    struct slice input = SLICE(GET HOST "\r\n\0\r\n\n\rGET");
    struct http1_problem problem;
    size_t scanned = 0;
    size_t size = 0;
    assert_int_equal(http1_head_find(input, &scanned, &size, &problem), ERR_NONE);
    assert_int_equal(size, sizeof(GET HOST "\r\n") - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_taken_apart),
        cmocka_unit_test(headers_are_found_without_case_and_counted),
        cmocka_unit_test(space_around_a_value_is_not_part_of_it_but_space_inside_is),
        cmocka_unit_test(every_form_of_target_is_taken_apart),
        cmocka_unit_test(valid_hosts_are_taken),
        cmocka_unit_test(the_headers_decide_how_the_body_is_framed),
        cmocka_unit_test(the_headers_decide_what_becomes_of_the_connection),
        cmocka_unit_test(every_prefix_of_a_valid_head_needs_more),
        cmocka_unit_test(a_head_that_comes_byte_by_byte_ends_where_it_does_in_one_piece),
        cmocka_unit_test(no_bytes_at_all_need_more),
        cmocka_unit_test(what_follows_the_head_is_not_looked_at),
    };
    return cmocka_run_group_tests_name("wire/http1", tests, NULL, NULL);
}
