/* SPDX-License-Identifier: MIT */
#include "io/fetch.h"

#include "base/limits.h"
#include "base/memory.h"
#include "http_stub.h"
#include "io/clock.h"
#include "tls_issuer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static bool contains(const char *text, const char *wanted)
{
    struct slice in = slice_of_text(text);
    return slice_find(in, slice_of_text(wanted)) < in.len;
}

/* Answers with the request that it got. */
static struct slice echo(void *context, struct arena *scratch, struct slice request)
{
    (void)context;
    return http_stub_json(scratch, 200, arena_text(scratch, request));
}

/* The request, as the server saw it. */
static struct slice send_to(struct http_stub *stub, struct fetch_request request)
{
    struct fetch_answer answer = {.status = 0};
    struct error error = {.code = ERR_NONE};
    request.url = arena_format(&arena, "%s/a/path?q=1", http_stub_url(stub)).at;
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_NONE);
    assert_int_equal(answer.status, 200);
    return answer.body;
}

static void a_request_is_a_get_without_a_body(void **state)
{
    (void)state;
    struct http_stub *stub = http_stub_new(echo, NULL, NULL);
    struct slice seen = send_to(stub, (struct fetch_request){.url = NULL});
    assert_true(slice_starts_with(seen, SLICE("GET /a/path?q=1 HTTP/1.1\r\n")));
    assert_true(slice_equals(http_stub_header(seen, "accept"), SLICE("application/json")));
    assert_true(slice_equals(http_stub_header(seen, "user-agent"), SLICE("gatehouse")));
    assert_int_equal(http_stub_body(seen).len, 0);
    http_stub_free(stub);
}

static void a_form_and_a_body_are_posted(void **state)
{
    (void)state;
    struct http_stub *stub = http_stub_new(echo, NULL, NULL);
    struct slice seen = send_to(stub, (struct fetch_request){.form = SLICE("a=1&b=2")});
    assert_true(slice_starts_with(seen, SLICE("POST ")));
    assert_true(slice_equals(http_stub_header(seen, "content-type"),
                             SLICE("application/x-www-form-urlencoded")));
    assert_true(slice_equals(http_stub_body(seen), SLICE("a=1&b=2")));

    const struct fetch_header type = {"Content-Type", SLICE_INIT("application/json")};
    seen = send_to(
        stub, (struct fetch_request){.body = SLICE("{}"), .headers = &type, .header_count = 1});
    assert_true(slice_starts_with(seen, SLICE("POST ")));
    assert_true(slice_equals(http_stub_header(seen, "content-type"), SLICE("application/json")));
    assert_true(slice_equals(http_stub_body(seen), SLICE("{}")));
    http_stub_free(stub);
}

static void method_headers_and_credentials_are_sent(void **state)
{
    (void)state;
    struct http_stub *stub = http_stub_new(echo, NULL, NULL);
    const struct fetch_header headers[] = {{"X-One", SLICE_INIT("1 and more")},
                                           {"X-None", SLICE_INIT("")}};
    struct slice seen = send_to(
        stub, (struct fetch_request){.method = "PUT", .headers = headers, .header_count = 2});
    assert_true(slice_starts_with(seen, SLICE("PUT ")));
    assert_true(slice_equals(http_stub_header(seen, "x-one"), SLICE("1 and more")));
    assert_int_equal(slice_find(seen, SLICE("X-None")), seen.len);
    seen = send_to(stub, (struct fetch_request){.user = SLICE("u"), .password = SLICE("p")});
    assert_true(slice_equals(http_stub_header(seen, "authorization"), SLICE("Basic dTpw")));
    seen = send_to(stub, (struct fetch_request){.bearer = SLICE("token")});
    assert_true(slice_equals(http_stub_header(seen, "authorization"), SLICE("Bearer token")));
    http_stub_free(stub);
}

static void a_header_cannot_bring_another_one_with_it(void **state)
{
    (void)state;
    static const struct slice values[] = {SLICE_INIT("a\r\nX-Two: 2"), SLICE_INIT("a\nb"),
                                          SLICE_INIT("a\0b"), SLICE_INIT("a\x7f")};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        const struct fetch_header header = {"X-One", values[i]};
        struct fetch_request request = {
            .url = "http://127.0.0.1:1/", .headers = &header, .header_count = 1};
        struct fetch_answer answer;
        struct error error;
        assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_INPUT);
        assert_string_equal(error.message, "the value of X-One has a control character");
    }
}

struct canned {
    const char *text;
    size_t size; /* that follows it, of 'x' */
};

static struct slice canned_answer(void *context, struct arena *scratch, struct slice request)
{
    const struct canned *canned = context;
    (void)request;
    size_t len = slice_of_text(canned->text).len;
    char *at = arena_alloc(scratch, len + canned->size);
    memset(at, 'x', len + canned->size);
    memcpy(at, canned->text, len);
    return slice_of(at, len + canned->size);
}

static enum err fetch_canned(struct canned canned, struct fetch_answer *ret_answer,
                             struct error *reterr)
{
    struct http_stub *stub = http_stub_new(canned_answer, &canned, NULL);
    struct fetch_request request = {.url = http_stub_url(stub)};
    enum err err = fetch_in(&arena, &request, ret_answer, reterr);
    http_stub_free(stub);
    return err;
}

static void any_status_is_an_answer(void **state)
{
    (void)state;
    static const char *const heads[] = {"200", "204", "400", "404", "429", "500", "503"};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct fetch_answer answer;
        const char *text =
            arena_format(&arena, "HTTP/1.1 %s X\r\nContent-Length: 0\r\n\r\n", heads[i]).at;
        assert_int_equal(fetch_canned((struct canned){.text = text}, &answer, NULL), ERR_NONE);
        assert_int_equal(answer.status, strtol(heads[i], NULL, 10));
        assert_int_equal(answer.body.len, 0);
    }
}

static void a_redirect_is_an_answer_and_not_followed(void **state)
{
    (void)state;
    struct fetch_answer answer;
    struct canned canned = {.text = "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:1/\r\n"
                                    "Content-Length: 4\r\n\r\nmove"};
    assert_int_equal(fetch_canned(canned, &answer, NULL), ERR_NONE);
    assert_int_equal(answer.status, 307);
    assert_true(slice_equals(answer.body, SLICE("move")));
}

static void an_answer_has_a_largest_size(void **state)
{
    (void)state;
    struct fetch_answer answer;
    struct error error;
    struct canned canned = {.text = "HTTP/1.1 200 X\r\nConnection: close\r\n\r\n",
                            .size = LIMIT_FETCH_SIZE};
    assert_int_equal(fetch_canned(canned, &answer, &error), ERR_NONE);
    assert_int_equal(answer.body.len, LIMIT_FETCH_SIZE);
    canned.size++;
    assert_int_equal(fetch_canned(canned, &answer, &error), ERR_LIMIT);
    assert_string_equal(error.message, "127.0.0.1: the answer has more than 1048576 bytes");
}

static void what_is_no_http_is_an_error_that_names_the_host(void **state)
{
    (void)state;
    struct fetch_answer answer;
    struct error error;
    struct canned canned = {.text = "220 smtp.example.com\r\n"};
    assert_int_equal(fetch_canned(canned, &answer, &error), ERR_UNAVAILABLE);
    assert_true(contains(error.message, "127.0.0.1: "));
}

static void a_server_that_is_not_there_is_told(void **state)
{
    (void)state;
    struct fetch_answer answer;
    struct error error;
    struct fetch_request request = {.url = "http://user:geheim@127.0.0.1:1/secret/path"};
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_UNAVAILABLE);
    assert_true(contains(error.message, "127.0.0.1: "));
    assert_false(contains(error.message, "geheim"));
    request.url = "file:///etc/passwd";
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_UNAVAILABLE);
    assert_true(contains(error.message, "the server: "));
}

static struct slice never(void *context, struct arena *scratch, struct slice request)
{
    (void)context;
    (void)scratch;
    (void)request;
    return SLICE_NONE;
}

static void a_server_that_does_not_answer_is_given_up(void **state)
{
    (void)state;
    struct http_stub *stub = http_stub_new(never, NULL, NULL);
    struct fetch_request request = {.url = http_stub_url(stub), .timeout_ms = 300};
    struct fetch_answer answer;
    struct error error;
    int64_t start = clock_monotonic();
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_UNAVAILABLE);
    int64_t ms = (clock_monotonic() - start) / 1000;
    assert_true(ms >= 290 && ms < 5000);
    assert_true(contains(error.message, "timed out"));
    http_stub_free(stub);
}

static void a_private_issuer_is_trusted_where_it_is_named(void **state)
{
    (void)state;
    struct tls_issuer root = {.chain = {.memory = NULL}};
    struct tls_issuer other = {.chain = {.memory = NULL}};
    struct tls_issuer server = {.chain = {.memory = NULL}};
    tls_issuer_make(&root, (struct tls_subject){.name = "root", .is_issuer = true});
    tls_issuer_make(&other, (struct tls_subject){.name = "other", .is_issuer = true});
    tls_issuer_make(
        &server, (struct tls_subject){.name = "vault", .hosts = "IP:127.0.0.1", .issuer = &root});
    struct http_stub *stub = http_stub_new(echo, NULL, server.path);
    struct fetch_request request = {.url = http_stub_url(stub), .issuers = root.path};
    struct fetch_answer answer;
    struct error error;
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_NONE);
    assert_int_equal(answer.status, 200);
    request.issuers = other.path;
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_UNAVAILABLE);
    assert_true(contains(error.message, "certificate"));
    request.issuers = NULL; /* the system's do not know it */
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_UNAVAILABLE);
    request.issuers = "/nowhere.pem";
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_UNAVAILABLE);
    /* The name counts, too. */
    request.issuers = root.path;
    struct slice port = slice_from(slice_of_text(request.url), strlen("https://127.0.0.1"));
    request.url = arena_format(&arena, "https://localhost%.*s", SLICE_ARG(port)).at;
    assert_int_equal(fetch_in(&arena, &request, &answer, &error), ERR_UNAVAILABLE);
    http_stub_free(stub);
    tls_issuer_free(&server);
    tls_issuer_free(&other);
    tls_issuer_free(&root);
}

static void several_are_under_way_at_once(void **state)
{
    (void)state;
    struct http_stub *stub = http_stub_new(echo, NULL, NULL);
    struct http_stub *silent = http_stub_new(never, NULL, NULL);
    struct fetch fetches[LIMIT_FETCH_AT_ONCE] = {{.err = ERR_NONE}};
    for (size_t i = 0; i < COUNT_OF(fetches); i++) {
        fetches[i].request = (struct fetch_request){
            .url = arena_format(&arena, "%s/%zu", http_stub_url(stub), i).at, .timeout_ms = 2000};
    }
    const struct fetch_header bad = {"X", SLICE_INIT("\n")};
    fetches[2].request.url = "http://127.0.0.1:1/";
    fetches[3].request.headers = &bad;
    fetches[3].request.header_count = 1;
    fetches[4].request.url = http_stub_url(silent);
    fetches[4].request.timeout_ms = 300;
    fetch_all_in(&arena, fetches, COUNT_OF(fetches));
    for (size_t i = 0; i < COUNT_OF(fetches); i++) {
        bool is_good = i < 2 || i > 4;
        assert_int_equal(fetches[i].err,
                         is_good ? ERR_NONE : (i == 3 ? ERR_INPUT : ERR_UNAVAILABLE));
        if (is_good) {
            struct slice start = arena_format(&arena, "GET /%zu HTTP", i);
            assert_true(slice_starts_with(fetches[i].answer.body, start));
        } else {
            assert_true(fetches[i].error.message[0] != '\0');
        }
    }
    assert_true(http_stub_most_at_once(stub) > 1);
    fetch_all_in(&arena, fetches, 0);
    http_stub_free(silent);
    http_stub_free(stub);
}

/* The last one: nothing is fetched afterwards. */
static void a_stop_ends_what_is_under_way(void **state)
{
    (void)state;
    struct http_stub *stub = http_stub_new(never, NULL, NULL);
    struct fetch fetch = {.request = {.url = http_stub_url(stub)}};
    struct error error;
    int64_t start = clock_monotonic();
    fetch_stop_after(100);
    fetch_all_in(&arena, &fetch, 1);
    assert_int_equal(fetch.err, ERR_UNAVAILABLE);
    assert_true(clock_monotonic() - start < 4000000);
    assert_int_equal(fetch_in(&arena, &fetch.request, &fetch.answer, &error), ERR_UNAVAILABLE);
    http_stub_free(stub);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const char *const proxies[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                          "ALL_PROXY"};
    for (size_t i = 0; i < COUNT_OF(proxies); i++) {
        (void)unsetenv(proxies[i]);
    }
    fetch_start();
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_a_get_without_a_body),
        TEST(a_form_and_a_body_are_posted),
        TEST(method_headers_and_credentials_are_sent),
        TEST(a_header_cannot_bring_another_one_with_it),
        TEST(any_status_is_an_answer),
        TEST(a_redirect_is_an_answer_and_not_followed),
        TEST(an_answer_has_a_largest_size),
        TEST(what_is_no_http_is_an_error_that_names_the_host),
        TEST(a_server_that_is_not_there_is_told),
        TEST(a_server_that_does_not_answer_is_given_up),
        TEST(a_private_issuer_is_trusted_where_it_is_named),
        TEST(several_are_under_way_at_once),
        TEST(a_stop_ends_what_is_under_way),
    };
    return cmocka_run_group_tests_name("io/fetch", tests, NULL, NULL);
}
