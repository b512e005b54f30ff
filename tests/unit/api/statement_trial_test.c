/* SPDX-License-Identifier: MIT */
#include "api/statement_trial.h"

#include "base/memory.h"
#include "guard_rules.h"
#include "io/clock.h"
#include "protocol/postgres/pg_replay.h"
#include "recording_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct help help;
static struct guard_rules *rules;
static struct statement_trial *trial;

static const struct replay_ops *find(struct slice subtype)
{
    (void)subtype;
    return &pg_replay_ops;
}

static void begin(const char *input, int64_t deadline)
{
    help_start(&help, false);
    struct guardrail guardrail = guardrail_of(&help.arena, input, "");
    must(guard_rules_new(&guardrail, 1, &rules, &help.error) == ERR_NONE);
    trial = statement_trial_new_in(&help.arena, rules, find, deadline);
}

static void end(void)
{
    help_end(&help);
    guard_rules_unref(rules);
}

/* A session of one statement after the other, each with the tag of its answer. */
static void record(const char *const *statements, const char *tag)
{
    struct recorder *recorder = help_open(&help);
    help_add(recorder, RECORD_OPEN, RECORD_FROM_GATEWAY, SLICE("{}"));
    for (size_t i = 0; statements[i] != NULL; i++) {
        help_message(recorder, RECORD_FROM_CLIENT, 'Q',
                     slice_of(statements[i], strlen(statements[i]) + 1));
        help_message(recorder, RECORD_FROM_TARGET, 'C', slice_of(tag, strlen(tag) + 1));
        help_message(recorder, RECORD_FROM_TARGET, 'Z', SLICE("I"));
    }
    (void)help_close(&help, recorder);
}

/* What is on record, by somebody in 'group'. */
static void read_by(const char *user, const char *group)
{
    struct recording *recording = NULL;
    struct slice name = slice_of_text(group);
    const struct shape_texts groups = {.items = &name, .count = 1, .is_given = true};
    const struct session session = {.id = SLICE(HELP_SESSION_ID),
                                    .user_email = slice_of_text(user),
                                    .connection_name = SLICE("orders")};
    must(recording_open(help.path, help.keys, &recording, &help.error) == ERR_NONE);
    statement_trial_read(trial, &session, &groups, recording);
    recording_free(recording);
}

#define STATEMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void statements_are_counted_by_who_ran_them(void **state)
{
    (void)state;
    begin("{\"type\":\"sql\",\"operations\":[\"delete\"],\"name\":\"no delete\","
          "\"except_groups\":[\"dba\"]},"
          "{\"type\":\"deny_words_list\",\"words\":[\"secret\"],\"action\":\"warn\"}",
          INT64_MAX);
    record(STATEMENTS("SELECT 1", "DELETE\nFROM t", "SELECT secret"), "SELECT 1");
    read_by("ann", "sales");
    read_by("bob", "dba");
    read_by("ann", "sales");
    struct trial_result result = statement_trial_result(trial);
    assert_null(result.missed);
    assert_int_equal(result.statements, 9);
    assert_int_equal(result.matched, 5);
    assert_int_equal(result.blocked, 2);
    assert_int_equal(result.tally_count, 2);
    const struct trial_tally *ann = &result.tallies[0];
    assert_true(slice_equals(ann->user, SLICE("ann")));
    assert_true(slice_equals(ann->connection, SLICE("orders")));
    assert_int_equal(ann->count, 4);
    assert_int_equal(ann->blocked, 2);
    assert_int_equal(ann->example_count, LIMIT_TRIAL_EXAMPLES);
    assert_true(slice_equals(ann->examples[0].statement, SLICE("DELETE FROM t")));
    assert_true(slice_equals(ann->examples[0].rule_name, SLICE("no delete")));
    assert_true(slice_equals(ann->examples[0].session_id, SLICE(HELP_SESSION_ID)));
    assert_int_equal(result.tallies[1].count, 1);
    assert_int_equal(result.tallies[1].blocked, 0);
    end();
}

static void rows_are_counted_by_the_tag(void **state)
{
    (void)state;
    begin("{\"type\":\"sql\",\"operations\":[\"update\"],\"max_rows\":5}", INT64_MAX);
    record(STATEMENTS("UPDATE t SET a = 1"), "UPDATE 5");
    read_by("ann", "sales");
    assert_int_equal(statement_trial_result(trial).matched, 0);
    end();
    begin("{\"type\":\"sql\",\"operations\":[\"update\"],\"max_rows\":5}", INT64_MAX);
    record(STATEMENTS("UPDATE t SET a = 1", "SELECT 1"), "UPDATE 6");
    read_by("ann", "sales");
    assert_int_equal(statement_trial_result(trial).matched, 1);
    end();
}

static void what_was_not_looked_at_is_said(void **state)
{
    (void)state;
    begin("{\"type\":\"deny_words_list\",\"words\":[\"secret\"]}", INT64_MAX);
    record(STATEMENTS("SELECT secret"), "SELECT 1");
    struct slice bytes = help_read_file(&help, help.path);
    help_write_file(help.path, slice_sub(bytes, 0, bytes.len - 1));
    assert_false(statement_trial_is_over(trial));
    statement_trial_miss(trial, "this first");
    read_by("ann", "sales");
    assert_string_equal(statement_trial_result(trial).missed, "this first");
    end();
    begin("{\"type\":\"deny_words_list\",\"words\":[\"secret\"]}", clock_monotonic() - 1);
    record(STATEMENTS("SELECT secret"), "SELECT 1");
    assert_true(statement_trial_is_over(trial));
    read_by("ann", "sales");
    assert_int_equal(statement_trial_result(trial).statements, 0);
    assert_string_equal(statement_trial_result(trial).missed, "it would take too long");
    end();
}

static void a_changed_recording_is_read_up_to_there(void **state)
{
    (void)state;
    begin("{\"type\":\"deny_words_list\",\"words\":[\"secret\"]}", INT64_MAX);
    record(STATEMENTS("SELECT secret"), "SELECT 1");
    struct slice bytes = help_read_file(&help, help.path);
    char *changed = arena_alloc(&help.arena, bytes.len);
    memcpy(changed, bytes.at, bytes.len);
    changed[bytes.len - 20] = (char)(changed[bytes.len - 20] ^ 1);
    help_write_file(help.path, slice_of(changed, bytes.len));
    read_by("ann", "sales");
    assert_string_equal(statement_trial_result(trial).missed, "a recording is damaged");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_counted_by_who_ran_them),
        cmocka_unit_test(rows_are_counted_by_the_tag),
        cmocka_unit_test(what_was_not_looked_at_is_said),
        cmocka_unit_test(a_changed_recording_is_read_up_to_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
