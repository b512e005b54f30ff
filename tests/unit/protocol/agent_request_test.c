/* SPDX-License-Identifier: MIT */
/* What a gateway and an agent tell each other of a session, there and back, and what is no such
 * thing. */
#include "protocol/agent_request.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define VERSION_3_0                (3U << 16)
#define VERSION_3_2                (VERSION_3_0 | 2)
#define assert_bytes(actual, text) assert_true(slice_equals((actual), SLICE(text)))

static struct arena arena;

static struct slice written(struct buf *buf)
{
    struct slice copy = arena_copy(&arena, buf_view(buf));
    buf_release(buf);
    return copy;
}

static void a_request_comes_back(void **state)
{
    (void)state;
    struct shape_pair pairs[] = {
        {.key = SLICE_INIT("envvar:HOST"), .value = SLICE_INIT("aG9zdA==")},
        {.key = SLICE_INIT("envvar:PASS"), .value = SLICE_INIT("_envjson:A:b")}};
    struct shape_pair parameter = {.key = SLICE_INIT("application_name"),
                                   .value = SLICE_INIT("\xff\"\n")};
    const struct agent_request order = {
        .variables = {.pairs = pairs, .count = 2},
        .database = SLICE_INIT("sh\xc3\xb6p"),
        .parameters = {.pairs = &parameter, .count = 1},
        .version = VERSION_3_2,
        .timeout_ms = 1234,
        .key = {.number = 4000000000u, .secret = SLICE_INIT("\0\1\2\3\4\5")},
    };
    struct agent_request read = {.version = 0};
    struct buf buf;
    buf_init(&buf, 4096);
    assert_int_equal(agent_request_write(&order, &buf), ERR_NONE);
    assert_int_equal(agent_request_read_in(&arena, written(&buf), &read, NULL), ERR_NONE);
    assert_int_equal(read.variables.count, 2);
    assert_bytes(read.variables.pairs[1].key, "envvar:PASS");
    assert_bytes(read.variables.pairs[1].value, "_envjson:A:b");
    assert_bytes(read.database, "sh\xc3\xb6p");
    assert_int_equal(read.parameters.count, 1);
    assert_bytes(read.parameters.pairs[0].value, "\xff\"\n");
    assert_int_equal(read.version, VERSION_3_2);
    assert_int_equal(read.timeout_ms, 1234);
    assert_int_equal(read.key.number, 4000000000u);
    assert_bytes(read.key.secret, "\0\1\2\3\4\5");
}

static void what_is_missing_is_empty(void **state)
{
    (void)state;
    struct agent_request read = {.version = 1};
    assert_int_equal(
        agent_request_read_in(&arena, SLICE("{\"variables\":{},\"later\":[1]}"), &read, NULL),
        ERR_NONE);
    assert_int_equal(read.variables.count + read.parameters.count + read.database.len, 0);
    assert_null(read.key.secret.at);
    assert_int_equal(read.timeout_ms, 30000);
}

static void what_is_ready_comes_back(void **state)
{
    (void)state;
    const struct arrival report = {.version = VERSION_3_0,
                                   .state = 'T',
                                   .key = {.number = 7, .secret = SLICE_INIT("abcd")},
                                   .greeting = SLICE_INIT("S\0\0\0\x08"
                                                          "a\0b\0"),
                                   .rest = SLICE_INIT("A")};
    struct arrival read = {.version = 0};
    struct buf buf;
    buf_init(&buf, 4096);
    assert_int_equal(agent_ready_write(&report, &buf), ERR_NONE);
    assert_int_equal(agent_ready_read_in(&arena, written(&buf), &read, NULL), ERR_NONE);
    assert_int_equal(read.version, report.version);
    assert_int_equal(read.state, 'T');
    assert_int_equal(read.key.number, 7);
    assert_bytes(read.key.secret, "abcd");
    assert_true(slice_equals(read.greeting, report.greeting));
    assert_bytes(read.rest, "A");
}

static void a_failure_comes_back(void **state)
{
    (void)state;
    const struct agent_failure refusal = {
        .message = SLICE_INIT("no"),
        .code = SLICE_INIT("08001"),
        .answer = SLICE_INIT("E..."),
        .cause = SLICE_INIT("tls"),
    };
    struct agent_failure read;
    struct buf buf;
    buf_init(&buf, 4096);
    assert_int_equal(agent_failure_write(&refusal, &buf), ERR_NONE);
    assert_int_equal(agent_failure_read_in(&arena, written(&buf), &read, NULL), ERR_NONE);
    assert_bytes(read.message, "no");
    assert_bytes(read.code, "08001");
    assert_bytes(read.answer, "E...");
    assert_bytes(read.cause, "tls");
}

static void a_cause_comes_back(void **state)
{
    (void)state;
    static const struct {
        enum target_stage stage;
        enum err err;
        enum err read; /* what has no word of its own is not available */
    } cases[] = {
        {TARGET_STAGE_AGENT, ERR_TIMEOUT, ERR_UNAVAILABLE},
        {TARGET_STAGE_NETWORK, ERR_TIMEOUT, ERR_TIMEOUT},
        {TARGET_STAGE_NETWORK, ERR_IO, ERR_UNAVAILABLE},
        {TARGET_STAGE_TLS, ERR_TIMEOUT, ERR_TIMEOUT},
        {TARGET_STAGE_TLS, ERR_UNSUPPORTED, ERR_UNAVAILABLE},
        {TARGET_STAGE_SIGN_IN, ERR_TIMEOUT, ERR_TIMEOUT},
        {TARGET_STAGE_SIGN_IN, ERR_UNAUTHENTICATED, ERR_UNAUTHENTICATED},
        {TARGET_STAGE_SIGN_IN, ERR_UNSUPPORTED, ERR_UNAUTHENTICATED},
        {TARGET_STAGE_SIGN_IN, ERR_INPUT, ERR_UNAVAILABLE},
    };
    enum target_stage stage = TARGET_STAGE_AGENT;
    enum err err = ERR_NONE;
    struct agent_failure failure = {.code = SLICE("28000")};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        failure.cause = agent_cause_of(cases[i].stage, cases[i].err);
        assert_true(failure.cause.len > 0);
        agent_cause_read(&failure, &stage, &err);
        assert_int_equal(stage, cases[i].stage);
        assert_int_equal(err, cases[i].read);
    }
    failure.cause = SLICE("");
    agent_cause_read(&failure, &stage, &err);
    assert_int_equal(stage, TARGET_STAGE_SIGN_IN);
    failure = (struct agent_failure){.code = SLICE("08001"), .cause = SLICE("of a later release")};
    agent_cause_read(&failure, &stage, &err);
    assert_int_equal(stage, TARGET_STAGE_NETWORK);
    assert_int_equal(err, ERR_UNAVAILABLE);
}

static void what_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const orders[] = {
        "",
        "[]",
        "{}",
        "{\"variables\":[]}",
        "{\"variables\":{},\"database\":\"%\"}",
        "{\"variables\":{},\"parameters\":[{\"name\":\"YQ==\"}]}",
        "{\"variables\":{},\"parameters\":[{\"name\":\"YQ==\",\"value\":\"!\"}]}",
        "{\"variables\":{},\"timeout_ms\":0}",
        "{\"variables\":{},\"timeout_ms\":600001}",
        "{\"variables\":{},\"version\":4294967296}",
        "{\"variables\":{},\"key\":\"YQ==\"}",
        "{\"variables\":{},\"key\":5}",
    };
    static const char *const reports[] = {
        "{}",
        "{\"version\":196608,\"transaction\":\"X\",\"greeting\":\"\"}",
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"?\"}",
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"\",\"rest\":\"?\"}",
        "{\"version\":-1,\"transaction\":\"I\",\"greeting\":\"\"}",
    };
    static const char *const refusals[] = {
        "{}",
        "{\"message\":\"m\",\"sqlstate\":\"0800\",\"answer\":\"\"}",
        "{\"message\":\"m\",\"sqlstate\":\"080011\",\"answer\":\"\"}",
        "{\"message\":\"m\",\"sqlstate\":\"08001\",\"answer\":\"?\"}",
    };
    struct agent_request order;
    struct arrival report;
    struct agent_failure refusal;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct error error = {0};
        assert_int_equal(agent_request_read_in(&arena, slice_of_text(orders[i]), &order, &error),
                         ERR_INPUT);
    }
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        assert_int_not_equal(agent_ready_read_in(&arena, slice_of_text(reports[i]), &report, NULL),
                             ERR_NONE);
    }
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        assert_int_not_equal(
            agent_failure_read_in(&arena, slice_of_text(refusals[i]), &refusal, NULL), ERR_NONE);
    }
}

static void what_does_not_fit_is_not_written(void **state)
{
    (void)state;
    const struct arrival report = {.state = 'I', .greeting = SLICE_INIT("0123456789")};
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 40);
    assert_int_equal(agent_ready_write(&report, &buf), ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_comes_back),
        cmocka_unit_test(what_is_missing_is_empty),
        cmocka_unit_test(what_is_ready_comes_back),
        cmocka_unit_test(a_failure_comes_back),
        cmocka_unit_test(a_cause_comes_back),
        cmocka_unit_test(what_is_none_is_refused),
        cmocka_unit_test(what_does_not_fit_is_not_written),
    };
    arena_init(&arena);
    int failed = cmocka_run_group_tests_name("protocol/agent_request", tests, NULL, NULL);
    arena_release(&arena);
    return failed;
}
