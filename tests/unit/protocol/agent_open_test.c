/* SPDX-License-Identifier: MIT */
/* A session and a cancel request through an agent whose answers are a script: what it says is
 * handed on when it can be, and nothing of it is taken for good. */
#include "protocol/agent_open.h"

#include "link_help.h"
#include "protocol/postgres/postgres.h"
#include "wire/pgwire_answer.h"

struct outcome {
    unsigned count;
    bool is_ready;
    struct arrival ready;
    struct buf greeting;
    struct buf answer;
    struct error error;
    char sqlstate[6];
    enum target_stage stage;
    unsigned stopped_count;
    struct error stopped_error;
};

static void on_done(void *owner, const struct arrival *ready, const struct target_failure *failure)
{
    struct outcome *outcome = owner;
    outcome->count++;
    assert_true((ready == NULL) != (failure == NULL));
    outcome->is_ready = ready != NULL;
    if (ready != NULL) {
        outcome->ready = *ready;
        assert_int_equal(buf_append(&outcome->greeting, ready->greeting), ERR_NONE);
        return;
    }
    outcome->error = failure->error;
    outcome->stage = failure->stage;
    memcpy(outcome->sqlstate, failure->code, sizeof(outcome->sqlstate));
    assert_int_equal(buf_append(&outcome->answer, failure->answer), ERR_NONE);
}

static void on_stopped(void *owner, const struct error *error)
{
    struct outcome *outcome = owner;
    outcome->stopped_count++;
    if (error != NULL) {
        outcome->stopped_error = *error;
    }
}

static const struct agent_request order = {.database = SLICE_INIT("shop"), .timeout_ms = 5000};
static const struct agent_request cancel = {.timeout_ms = 5000,
                                            .key = {.number = 1, .secret = SLICE_INIT("abcd")}};

struct far {
    struct pair *pair;
    struct outcome outcome;
    struct opening *far;
    struct talk *asked;
};

static void far_begin(struct far *far, bool is_cancel)
{
    *far = (struct far){.pair = pair_new(NULL)};
    far->pair->accepts = false;
    buf_init(&far->outcome.greeting, LIMIT_MIB(1));
    buf_init(&far->outcome.answer, LIMIT_MIB(1));
    struct link *link = far->pair->links[LINK_GATEWAY];
    const struct agent_opening how = {
        .loop = far->pair->loop, .link = link, .protocol = &postgres_protocol};
    far->far = is_cancel ? agent_stop_start(&how, &cancel, on_stopped, &far->outcome)
                         : agent_open_start(&how, &order, on_done, &far->outcome);
    PAIR_AWAIT(far->pair, far->pair->asked_count == 1);
    far->asked = &far->pair->asked[0];
    assert_string_equal(far->asked->kind, is_cancel ? "/postgres-cancel" : "/postgres");
}

static void far_end(struct far *far)
{
    if (far->outcome.is_ready) {
        stream_close(far->outcome.ready.take_stream);
    }
    buf_release(&far->outcome.greeting);
    buf_release(&far->outcome.answer);
    pair_free(far->pair);
}

static void far_accept(struct far *far, const char *message)
{
    talk_accept(far->asked, slice_of_text(message));
    PAIR_AWAIT(far->pair, far->outcome.count + far->outcome.stopped_count == 1);
}

static void far_refuse(struct far *far, struct slice message)
{
    channel_refuse(far->asked->channel, message);
    far->asked->channel = NULL;
    PAIR_AWAIT(far->pair, far->outcome.count + far->outcome.stopped_count == 1);
}

static void assert_told(const struct far *far, const char *sqlstate, const char *words)
{
    struct slice fields;
    struct slice answer = buf_view(&far->outcome.answer);
    assert_false(far->outcome.is_ready);
    assert_string_equal(far->outcome.sqlstate, sqlstate);
    assert_int_equal(pgwire_notice_read(slice_from(answer, 5), &fields, NULL), ERR_NONE);
    struct slice message = pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE);
    assert_true(slice_find(message, slice_of_text(words)) < message.len);
}

static void what_the_agent_reports_is_the_session(void **state)
{
    (void)state;
    struct far far;
    far_begin(&far, false);
    /* S a=b; N with severity and message */
    far_accept(&far, "{\"version\":196608,\"transaction\":\"I\",\"process\":9,\"key\":\"YWJjZA==\","
                     "\"greeting\":\"UwAAAAhhAGIA\",\"rest\":\"\"}");
    assert_true(far.outcome.is_ready);
    assert_true(slice_equals(buf_view(&far.outcome.greeting), SLICE("S\0\0\0\x08"
                                                                    "a\0b\0")));
    far_end(&far);
}

static void a_report_that_is_none_is_a_failure(void **state)
{
    (void)state;
    static const char *const reports[] = {
        "",
        "{}",
        "\xff",
        /* half a message; a row; ReadyForQuery; a message without end */
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"UwAAAAhhAGI=\"}",
        "{\"version\":196608,\"transaction\":\"\",\"greeting\":\"\"}",
        "{\"version\":196608,\"greeting\":\"\"}",
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"RAAAAAYAAA==\"}",
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"WgAAAAVJ\"}",
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"U38AAAA=\"}",
    };
    for (size_t i = 0; i < COUNT_OF(reports); i++) {
        struct far far;
        far_begin(&far, false);
        far_accept(&far, reports[i]);
        assert_told(&far, "08001", "the target cannot be reached: ");
        far_end(&far);
    }
}

static void a_report_that_is_too_long_is_a_failure(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"",
        "{\"version\":196608,\"transaction\":\"I\",\"greeting\":\"\",\"rest\":\""};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        struct far far;
        struct buf buf CLEANUP(buf_release);
        buf_init(&buf, LIMIT_MIB(1));
        assert_int_equal(buf_append(&buf, slice_of_text(heads[i])), ERR_NONE);
        while (buf.len < LIMIT_GREETING_SIZE * 3 / 2) {
            assert_int_equal(buf_append(&buf, SLICE("TgAAAAUA")), ERR_NONE); /* N, of no fields */
        }
        assert_int_equal(buf_append(&buf, SLICE("\"}\0")), ERR_NONE);
        far_begin(&far, false);
        far_accept(&far, buf_view(&buf).at);
        assert_told(&far, "08001", "says too much");
        far_end(&far);
    }
}

static struct slice refusal_in(struct arena *arena, const char *sqlstate, struct slice answer)
{
    const struct agent_failure refusal = {
        .message = SLICE_INIT("for the log"), .code = slice_of_text(sqlstate), .answer = answer};
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_MIB(1));
    assert_int_equal(agent_failure_write(&refusal, &buf), ERR_NONE);
    return arena_copy(arena, buf_view(&buf));
}

static void a_refusal_is_handed_on(void **state)
{
    (void)state;
    struct far far;
    struct arena arena;
    arena_init(&arena);
    far_begin(&far, false);
    far_refuse(&far, refusal_in(&arena, "3D000", SLICE("E\0\0\0\x0bMno\0C3\0\0")));
    assert_told(&far, "3D000", "no");
    assert_string_equal(far.outcome.error.message, "for the log");
    assert_int_equal(far.outcome.stage, TARGET_STAGE_SIGN_IN);
    far_end(&far);
    arena_release(&arena);
}

static void a_refusal_that_is_none_is_the_agents_fault(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    const struct slice refusals[] = {
        SLICE_NONE,
        SLICE("no"),
        refusal_in(&arena, "3d000", SLICE("E\0\0\0\x08Mno\0\0")),
        refusal_in(&arena, "3D000", SLICE("E\0\0\0\x08Mno")),
        refusal_in(&arena, "3D000", SLICE("Z\0\0\0\x08Mno\0\0")),
        refusal_in(&arena, "3D000", SLICE("E\0\0\0\x08Dno\0\0")),
        refusal_in(&arena, "3D000", SLICE("")),
    };
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct far far;
        far_begin(&far, false);
        far_refuse(&far, refusals[i]);
        assert_told(&far, "08001", "the agent refused");
        far_end(&far);
    }
    arena_release(&arena);
}

static void a_link_that_breaks_is_told(void **state)
{
    (void)state;
    struct far far;
    far_begin(&far, false);
    link_close(far.pair->links[LINK_AGENT]);
    far.pair->links[LINK_AGENT] = NULL;
    PAIR_AWAIT(far.pair, far.outcome.count == 1);
    assert_told(&far, "08001", "the link to the agent ended");
    assert_int_equal(far.outcome.stage, TARGET_STAGE_AGENT);
    far_end(&far);
}

static void who_cancels_hears_nothing(void **state)
{
    (void)state;
    for (int is_stop = 0; is_stop < 2; is_stop++) {
        struct far far;
        far_begin(&far, is_stop == 1);
        opening_cancel(far.far);
        far.asked->done_count = 0;
        pair_turn(far.pair, 20);
        assert_int_equal(far.outcome.count + far.outcome.stopped_count, 0);
        far_end(&far);
    }
}

static void a_cancel_request_is_answered(void **state)
{
    (void)state;
    struct far far;
    struct arena arena;
    arena_init(&arena);
    far_begin(&far, true);
    far_accept(&far, "{}");
    assert_int_equal(far.outcome.stopped_error.code, ERR_NONE);
    far_end(&far);
    far_begin(&far, true);
    far_refuse(&far, refusal_in(&arena, "08001", SLICE("E\0\0\0\x08Mno\0\0")));
    assert_string_equal(far.outcome.stopped_error.message, "for the log");
    far_end(&far);
    far_begin(&far, true);
    far_refuse(&far, SLICE("?"));
    assert_string_equal(far.outcome.stopped_error.message, "the agent refused");
    far_end(&far);
    arena_release(&arena);
}

static void what_is_too_long_for_the_agent_fails(void **state)
{
    (void)state;
    struct pair *pair = pair_new(NULL);
    const struct agent_opening how = {
        .loop = pair->loop, .link = pair->links[LINK_GATEWAY], .protocol = &postgres_protocol};
    struct outcome outcome = {0};
    char *text = memory_new(LIMIT_TUNNEL_MESSAGE_SIZE);
    struct agent_request long_order = order;
    long_order.database = slice_of(text, LIMIT_TUNNEL_MESSAGE_SIZE);
    buf_init(&outcome.answer, LIMIT_KIB(4));
    (void)agent_open_start(&how, &long_order, on_done, &outcome);
    assert_int_equal(outcome.count, 0);
    PAIR_AWAIT(pair, outcome.count == 1);
    assert_int_equal(outcome.error.code, ERR_LIMIT);
    struct opening *far = agent_open_start(&how, &long_order, on_done, &outcome);
    opening_cancel(far);
    pair_turn(pair, 5);
    assert_int_equal(outcome.count, 1);
    buf_release(&outcome.answer);
    memory_free(text);
    pair_free(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_agent_reports_is_the_session),
        cmocka_unit_test(a_report_that_is_none_is_a_failure),
        cmocka_unit_test(a_report_that_is_too_long_is_a_failure),
        cmocka_unit_test(a_refusal_is_handed_on),
        cmocka_unit_test(a_refusal_that_is_none_is_the_agents_fault),
        cmocka_unit_test(a_link_that_breaks_is_told),
        cmocka_unit_test(who_cancels_hears_nothing),
        cmocka_unit_test(a_cancel_request_is_answered),
        cmocka_unit_test(what_is_too_long_for_the_agent_fails),
    };
    return cmocka_run_group_tests_name("protocol/agent_open", tests, NULL, NULL);
}
