/* SPDX-License-Identifier: MIT */
/* Commands that people decide on, as the filter of guard rails has them. */
#include "protocol/mysql/mysql_filter.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HELD "DELETE FROM goods"
#define SESSION                                                                                    \
    SLICE("\x01\0\0\x01\x03\x04\0\0\x02\x03"                                                       \
          "def\x04\0\0\x03\x03"                                                                    \
          "def\x04\0\0\x04\x03"                                                                    \
          "def\x05\0\0\x05\xfe\0\0\x02\0\x0e\0\0\x06\0\x07utf8mb4\x04shop"                         \
          "\x05\0\0\x07\xfe\0\0\x02\0")

struct asked {
    size_t holds;
    size_t findings;
    size_t values;
    struct slice value;
    char text[64];
    char kept[16];
    bool has_locks;
};

static void on_hold(void *owner, const struct held_statement *held)
{
    struct asked *asked = owner;
    asked->holds++;
    asked->values = held->value_count;
    asked->has_locks = held->has_locks;
    assert_true(held->text.len < sizeof(asked->text));
    memcpy(asked->text, held->text.at, held->text.len);
    asked->text[held->text.len] = '\0';
    if (held->value_count > 0) {
        memcpy(asked->kept, held->values[0].bytes.at, held->values[0].bytes.len);
        asked->value = slice_of(asked->kept, held->values[0].bytes.len);
    }
    assert_true(slice_equals(held->database, SLICE("shop")));
}

static void on_finding(void *owner, const struct guard_event *event)
{
    struct asked *asked = owner;
    (void)event;
    asked->findings++;
}

static void judge(void *context, const struct sql_settings *settings, struct slice text,
                  struct guard_verdict *ret_verdict, struct guard_facts *ret_facts)
{
    (void)context;
    (void)settings;
    bool is_held = slice_find(text, SLICE("DELETE")) < text.len;
    *ret_verdict = (struct guard_verdict){
        .action = is_held ? GUARD_REVIEW : GUARD_PASS, .max_rows = -1, .count = is_held ? 1 : 0};
    ret_verdict->findings[0] = (struct guard_finding){.action = GUARD_REVIEW,
                                                      .guardrail_name = SLICE("rail"),
                                                      .rule_name = SLICE("rule"),
                                                      .rule_type = SLICE("sql"),
                                                      .message = SLICE(""),
                                                      .why = SLICE("")};
    bool is_named = slice_find(text, SLICE("EXECUTE")) < text.len;
    *ret_facts = (struct guard_facts){.statement_count = 1,
                                      .operations = is_named  ? SQL_BIT(SQL_EXECUTE)
                                                    : is_held ? SQL_BIT(SQL_DELETE)
                                                              : SQL_BIT(SQL_SELECT),
                                      .prepared = SLICE("")};
}

static const struct passage_policy policy = {.generation = 1, .judge = judge};
static const struct passage_events events = {.on_hold = on_hold, .on_finding = on_finding};
static const struct passage_events events_without = {.on_finding = on_finding};

struct play {
    struct mysql_filter *filter;
    struct asked asked;
    struct buf words;
};

static enum mysql_filter_outcome judged(struct play *play, struct slice command)
{
    return mysql_filter_judge(play->filter, command, 0, &play->words);
}

static struct play *begin(const struct passage_events *told)
{
    struct play *play = memory_new(sizeof(*play));
    struct error error;
    struct slice answer = SESSION;
    const struct mysql_filter_settings settings = {
        .policy = &policy, .events = told, .owner = &play->asked};
    buf_init(&play->words, 4096);
    play->filter = mysql_filter_new(&settings);
    assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_ASKS);
    mysql_filter_ask(play->filter);
    assert_int_equal(mysql_filter_take(play->filter, &answer, &error), ERR_NONE);
    assert_int_equal(answer.len, 0);
    return play;
}

static void end(struct play *play)
{
    mysql_filter_free(play->filter);
    buf_release(&play->words);
    memory_free(play);
}

static bool says(const struct play *play, const char *words)
{
    struct slice said = buf_view(&play->words);
    return slice_find(said, slice_of_text(words)) < said.len;
}

static void decide(struct play *play, enum hold_end outcome)
{
    const struct hold_answer answer = {
        .end = outcome, .message = SLICE("not today"), .hint = SLICE("ask ann")};
    mysql_filter_decided(play->filter, &answer);
}

static void what_is_approved_passes_once(void **state)
{
    (void)state;
    struct play *play = begin(&events);
    assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_HOLDS);
    assert_true(mysql_filter_is_on_hold(play->filter));
    assert_string_equal(play->asked.text, HELD);
    assert_false(play->asked.has_locks);
    decide(play, HOLD_PASSES);
    assert_false(mysql_filter_is_on_hold(play->filter));
    assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_PASSES);
    assert_int_equal(play->asked.holds, 1);
    assert_int_equal(play->asked.findings, 1); /* told once */
    mysql_filter_answered(play->filter, NULL);
    assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_HOLDS);
    assert_int_equal(play->asked.holds, 2);
    end(play);
}

static void what_is_refused_does_not(void **state)
{
    (void)state;
    const enum hold_end ends[] = {HOLD_REFUSED, HOLD_CANCELLED};
    for (size_t i = 0; i < 2; i++) {
        struct play *play = begin(&events);
        assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_HOLDS);
        decide(play, ends[i]);
        assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_REFUSES);
        assert_true(says(play, i == 0 ? "not today. ask ann" : "interrupted"));
        assert_int_equal(mysql_filter_was_cancelled(play->filter), i == 1);
        assert_true(mysql_filter_was_denied(play->filter));
        mysql_filter_refused(play->filter);
        assert_int_equal(judged(play, SLICE("\x03SELECT 1")), MYSQL_FILTER_PASSES);
        end(play);
    }
}

/* A decision that comes late, or twice, is nobody's. */
static void a_decision_on_nothing_changes_nothing(void **state)
{
    (void)state;
    struct play *play = begin(&events);
    decide(play, HOLD_PASSES);
    assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_HOLDS);
    decide(play, HOLD_REFUSED);
    decide(play, HOLD_PASSES);
    assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_REFUSES);
    end(play);
}

static void what_cannot_be_shown_is_refused(void **state)
{
    (void)state;
    static const struct slice commands[] = {
        SLICE_INIT("\x03"
                   "EXECUTE DELETE_all"),
        SLICE_INIT("\x03" HELD " WHERE a = '\xff'"),
    };
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct play *play = begin(&events);
        assert_int_equal(judged(play, commands[i]), MYSQL_FILTER_REFUSES);
        assert_true(says(play, "It needs a review, which it cannot have"));
        assert_int_equal(play->asked.holds, 0);
        end(play);
    }
    struct play *play = begin(&events_without);
    assert_int_equal(judged(play, SLICE("\x03" HELD)), MYSQL_FILTER_REFUSES);
    end(play);
}

/* What is prepared runs nothing: its EXECUTE waits, and people see its values. */
static void an_execute_waits_with_its_values(void **state)
{
    (void)state;
    struct play *play = begin(&events);
    const struct mysqlwire_prepared prepared = {.id = 9, .parameter_count = 1};
    struct slice execute = SLICE("\x17\x09\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x03"
                                 "abc");
    assert_int_equal(judged(play, SLICE("\x16" HELD " WHERE a = ?")), MYSQL_FILTER_PASSES);
    assert_int_equal(play->asked.holds, 0);
    mysql_filter_answered(play->filter, &prepared);
    assert_int_equal(judged(play, execute), MYSQL_FILTER_HOLDS);
    assert_string_equal(play->asked.text, HELD " WHERE a = ?");
    assert_int_equal(play->asked.values, 1);
    assert_true(slice_equals(play->asked.value, SLICE("abc")));
    decide(play, HOLD_PASSES);
    assert_int_equal(judged(play, execute), MYSQL_FILTER_PASSES);
    end(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_approved_passes_once),
        cmocka_unit_test(what_is_refused_does_not),
        cmocka_unit_test(a_decision_on_nothing_changes_nothing),
        cmocka_unit_test(what_cannot_be_shown_is_refused),
        cmocka_unit_test(an_execute_waits_with_its_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
