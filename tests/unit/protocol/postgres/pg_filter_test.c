/* SPDX-License-Identifier: MIT */
/* What a client and a server see of guard rails between them. */
#include "base/limits.h"
#include "base/memory.h"
#include "pg_play.h"
#include "wire/pgwire_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    struct play *play = memory_new(sizeof(*play));
    play->rules.max_rows = -1;
    play_start(play);
    *state = play;
    return 0;
}

static int tear_down(void **state)
{
    struct play *play = *state;
    play_end(play);
    memory_free(play);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* The client gets this, since the last time. */
#define assert_told(play, expected)                                                                \
    do {                                                                                           \
        assert_int_equal(play_run(play), ERR_NONE);                                                \
        struct buf told;                                                                           \
        buf_init(&told, LIMIT_MIB(1));                                                             \
        play_tell(buf_view(&(play)->got), &told);                                                  \
        must_be(buf_view(&told), expected);                                                        \
        buf_release(&told);                                                                        \
        buf_clear(&(play)->got);                                                                   \
    } while (0)

static void must_be(struct slice text, const char *expected)
{
    char *at = memory_new(text.len + 1);
    if (text.len > 0) {
        memcpy(at, text.at, text.len);
    }
    assert_string_equal(at, expected);
    memory_free(at);
}

/* The server has run this, since the last time. */
static void must_have_run(struct play *play, const char *expected)
{
    must_be(buf_view(&play->server.log), expected);
    buf_clear(&play->server.log);
}

static void must_have_events(struct play *play, const char *expected)
{
    must_be(buf_view(&play->events), expected);
    buf_clear(&play->events);
}

/* Queries ------------------------------------------------------------------------------------- */

static void what_is_not_blocked_is_not_copied(void **state)
{
    struct play *play = *state;
    struct buf bytes;
    buf_init(&bytes, LIMIT_MIB(1));
    play_query(&bytes, "select 1");
    play_extended(&bytes, "update 3");
    play_sync(&bytes);
    struct slice view = buf_view(&bytes);
    assert_int_equal(pg_filter_pass(play->filter, PUMP_CLIENT, &view, &play->error), ERR_NONE);
    assert_ptr_equal(view.at, buf_view(&bytes).at);
    assert_int_equal(view.len, bytes.len);
    buf_release(&bytes);
}

static void a_blocked_query_is_an_error_and_never_comes(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "blocked");
    play_query(&play->client, "select 2");
    play_query(&play->client, "select 1; blocked; select 3");
    assert_told(play, "E(42501) Z(I) T D D C(SELECT 2) Z(I) E(42501) Z(I) ");
    must_have_run(play, "select 2\n");
    must_have_events(play, "found;found;");
}

/* The fault is where it is in the client's text. */
static void must_point_at(struct play *play, const char *position)
{
    char field[20];
    int len = snprintf(field, sizeof(field), "P%s", position);
    assert_int_equal(play_run(play), ERR_NONE);
    struct slice got = buf_view(&play->got);
    assert_true(slice_find(got, slice_of(field, (size_t)len + 1)) < got.len);
}

static void a_typo_is_the_servers_error(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "blocked; nonsense; select 1");
    must_point_at(play, "10");
    assert_told(play, "E(42601) Z(I) ");
    play_parse(&play->client, "", "blocked;  nonsense");
    play_sync(&play->client);
    must_point_at(play, "11");
    assert_told(play, "E(42601) Z(I) ");
    play_query(&play->client, "begin");
    assert_told(play, "C(BEGIN) Z(T) ");
    play_query(&play->client, "nonsense; blocked");
    must_point_at(play, "1");
    assert_told(play, "E(42601) Z(E) ");
    must_have_run(play, "begin\n");
    must_have_events(play, "found;found;found;");
}

/* Where a Sync more could be one too many, nobody is asked. */
static void in_a_pipeline_what_is_refused_is_not_asked_about(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "select 1");
    play_query(&play->client, "blocked; nonsense");
    play_parse(&play->client, "", "select 1");
    play_query(&play->client, "blocked; nonsense");
    assert_told(play, "T D C(SELECT 1) Z(I) E(42501) Z(I) 1 E(42501) Z(I) ");
}

static void in_a_block_the_error_fails_the_block(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "begin");
    play_query(&play->client, "blocked");
    play_query(&play->client, "select 1");
    play_query(&play->client, "commit");
    assert_told(play, "C(BEGIN) Z(T) E(42501) Z(E) E(25P02) Z(E) C(ROLLBACK) Z(I) ");
}

static void a_warning_comes_before_the_answer(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "warned");
    play_query(&play->client, "fail");
    play_extended(&play->client, "warned");
    play_sync(&play->client);
    assert_told(play, "N T D C(SELECT 1) Z(I) E(42703) Z(I) N 1 2 D C(SELECT 1) Z(I) ");
    must_have_events(play, "found;found;");
}

static void what_is_refused_says_which_rule_and_no_more(void **state)
{
    struct play *play = *state;
    play_query(&play->client, "blocked");
    assert_int_equal(play_run(play), ERR_NONE);
    struct slice got = buf_view(&play->got);
    assert_true(slice_find(got, SLICE("blocked by guard rail 'play', rule 'words': not that")) <
                got.len);
    assert_true(slice_find(got, SLICE("refused by")) == got.len);
}

static void a_function_call_is_unknown(void **state)
{
    static const char call[] = "F\0\0\0\x0e\0\0\0\x01\0\0\0\0\0\0";
    struct play *play = *state;
    play->rules.blocks_unknown = true;
    assert_int_equal(buf_append(&play->client, slice_of(call, sizeof(call) - 1)), ERR_NONE);
    assert_told(play, "E(42501) Z(I) ");
}

static void a_query_that_is_too_large_is_refused(void **state)
{
    struct play *play = *state;
    char *text = memory_new(LIMIT_PG_FILTER_TEXT_SIZE + 2);
    memset(text, ' ', LIMIT_PG_FILTER_TEXT_SIZE + 1);
    play->pieces[PUMP_CLIENT] = LIMIT_READ_SIZE;
    play_query(&play->client, text);
    play_query(&play->client, "select 1");
    play_parse(&play->client, "", text);
    play_sync(&play->client);
    assert_told(play, "E(54000) Z(I) T D C(SELECT 1) Z(I) E(54000) Z(I) ");
    must_have_events(play, "refused;refused;");
    memory_free(text);
}

static void a_large_query_passes_whole(void **state)
{
    struct play *play = *state;
    char *text = memory_new(LIMIT_MIB(1) + 1);
    memset(text, ' ', LIMIT_MIB(1));
    memcpy(text, "select 2", 8);
    play->pieces[PUMP_CLIENT] = 1000;
    play_query(&play->client, text);
    assert_told(play, "T D D C(SELECT 2) Z(I) ");
    memory_free(text);
}

/* Pipelines ------------------------------------------------------------------------------------ */

static void a_batch_is_answered_up_to_what_is_blocked(void **state)
{
    struct play *play = *state;
    play_extended(&play->client, "update 1");
    play_extended(&play->client, "blocked");
    play_extended(&play->client, "update 2");
    play_sync(&play->client);
    play_extended(&play->client, "select 1");
    play_sync(&play->client);
    assert_told(play, "1 2 C(UPDATE 1) E(42501) Z(I) 1 2 D C(SELECT 1) Z(I) ");
    must_have_run(play, "update 1\nselect 1\n");
    assert_int_equal(play->server.committed, 0); /* a batch is all or nothing */
}

static void an_earlier_error_takes_the_place(void **state)
{
    struct play *play = *state;
    play_extended(&play->client, "fail");
    play_extended(&play->client, "blocked");
    play_sync(&play->client);
    play_extended(&play->client, "blocked");
    play_sync(&play->client);
    assert_told(play, "1 2 E(42703) Z(I) E(42501) Z(I) ");
}

static void values_are_looked_at(void **state)
{
    struct play *play = *state;
    const struct slice good = SLICE("good value");
    const struct slice bad = SLICE("bad value");
    play_parse(&play->client, "", "select 1");
    assert_int_equal(pgwire_bind_write(&play->client, SLICE(""), &good, NULL, 1), ERR_NONE);
    play_execute(&play->client, "", 0);
    assert_int_equal(pgwire_bind_write(&play->client, SLICE(""), &bad, NULL, 1), ERR_NONE);
    play_execute(&play->client, "", 0);
    play_sync(&play->client);
    assert_told(play, "1 2 D C(SELECT 1) E(42501) Z(I) ");
}

static void a_changed_rule_applies_to_what_was_prepared(void **state)
{
    struct play *play = *state;
    struct passage_policy policy;
    play->rules.is_lenient = true;
    play_parse(&play->client, "one", "blocked");
    play_sync(&play->client);
    play_query(&play->client, "prepare two as blocked");
    assert_told(play, "1 Z(I) C(PREPARE) Z(I) ");
    play_bind(&play->client, "", "one");
    play_execute(&play->client, "", 0);
    play_sync(&play->client);
    play_query(&play->client, "execute two");
    assert_told(play, "2 D C(SELECT 1) Z(I) T D C(SELECT 1) Z(I) ");
    play->rules.is_lenient = false;
    play_policy(&play->rules, 2, &policy);
    pg_filter_set_policy(play->filter, &policy);
    play_bind(&play->client, "", "one");
    play_execute(&play->client, "", 0);
    play_sync(&play->client);
    play_query(&play->client, "execute two");
    play_query(&play->client, "execute one");
    play_bind(&play->client, "", "two");
    play_sync(&play->client);
    assert_told(play, "E(42501) Z(I) E(42501) Z(I) E(42501) Z(I) E(42501) Z(I) ");
}

static void a_name_means_what_the_server_took_it_for(void **state)
{
    struct play *play = *state;
    struct passage_policy policy;
    play->rules.is_lenient = true;
    play_parse(&play->client, "one", "blocked");
    play_sync(&play->client);
    play_parse(&play->client, "one", "select 1"); /* the server refuses: there is one */
    play_sync(&play->client);
    assert_told(play, "1 Z(I) E(42P05) Z(I) ");
    play->rules.is_lenient = false;
    play_policy(&play->rules, 2, &policy);
    pg_filter_set_policy(play->filter, &policy);
    play_bind(&play->client, "", "one");
    play_sync(&play->client);
    assert_told(play, "E(42501) Z(I) ");
    must_have_run(play, "");
}

static void what_cannot_be_read_fails_alone(void **state)
{
    static const char malformed[] = "B\0\0\0\x0c\0\0\0\0\0\1\0\0"
                                    "E\0\0\0\x09"
                                    "abcde";
    struct play *play = *state;
    assert_int_equal(buf_append(&play->client, slice_of(malformed, 13)), ERR_NONE);
    play_sync(&play->client);
    assert_int_equal(buf_append(&play->client, slice_of(malformed + 13, 10)), ERR_NONE);
    play_sync(&play->client);
    play_query(&play->client, "select 1");
    assert_told(play, "E(08P01) Z(I) E(08P01) Z(I) T D C(SELECT 1) Z(I) ");
}

#define LONG_NAME "a23456789b23456789c23456789d23456789e23456789f23456789g23456789"

static void names_are_cut_as_servers_cut_them(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    const struct pgwire_object object = {PGWIRE_STATEMENT, SLICE(LONG_NAME "two")};
    play_parse(&play->client, LONG_NAME "one", "select 1");
    play_sync(&play->client);
    assert_int_equal(pgwire_close_write(&play->client, &object), ERR_NONE);
    play_parse(&play->client, LONG_NAME "two", "update 9");
    play_bind(&play->client, LONG_NAME "portal", LONG_NAME "one");
    play_execute(&play->client, LONG_NAME, 0);
    play_sync(&play->client);
    assert_told(play, "1 Z(I) 3 1 2 E(42501) Z(I) ");
    assert_int_equal(play->server.committed, 0);
}

static void names_that_nobody_can_follow_are_refused(void **state)
{
    struct play *play = *state;
    play_parse(&play->client, "\xc3\xa9", "select 1");
    play_sync(&play->client);
    play_query(&play->client, "prepare \xc3\xa9 as select 1");
    play_bind(&play->client, "\xe9", "");
    play_sync(&play->client);
    assert_told(play, "E(42602) Z(I) E(42602) Z(I) E(42602) Z(I) ");
    must_have_run(play, "");
}

static void what_sql_prepared_is_judged_when_a_message_names_it(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    play_query(&play->client, "prepare one as update 9");
    play_bind(&play->client, "", "one");
    play_execute(&play->client, "", 0);
    play_sync(&play->client);
    play_query(&play->client, "prepare two as update 5");
    play_bind(&play->client, "", "two");
    play_execute(&play->client, "", 0);
    play_sync(&play->client);
    assert_told(play, "C(PREPARE) Z(I) 2 E(42501) Z(I) C(PREPARE) Z(I) 2 C(UPDATE 5) Z(I) ");
    assert_int_equal(play->server.committed, 5);
}

static void execute_does_what_was_prepared(void **state)
{
    struct play *play = *state;
    play->rules.blocks_unknown = true;
    play_query(&play->client, "prepare one as select 2");
    play_query(&play->client, "prepare two as blocked");
    play_query(&play->client, "execute one");
    play_query(&play->client, "execute two");
    play_query(&play->client, "prepare three as select 1; execute three");
    play_query(&play->client, "deallocate one");
    play_query(&play->client, "execute one");
    assert_told(play, "C(PREPARE) Z(I) E(42501) Z(I) T D D C(SELECT 2) Z(I) E(42501) Z(I) "
                      "C(PREPARE) T D C(SELECT 1) Z(I) C(DEALLOCATE) Z(I) E(42501) Z(I) ");
}

static void copies_pass(void **state)
{
    static const char data[] = "d\0\0\0\x05xd\0\0\0\x05yc\0\0\0\x04";
    struct play *play = *state;
    play->is_eager = true;
    play_query(&play->client, "copy");
    assert_told(play, "G ");
    assert_int_equal(buf_append(&play->client, slice_of(data, sizeof(data) - 1)), ERR_NONE);
    play_query(&play->client, "blocked");
    assert_told(play, "C(COPY 2) Z(I) E(42501) Z(I) ");
}

/* Limits --------------------------------------------------------------------------------------- */

static void too_many_rows_are_taken_back(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    play_query(&play->client, "update 5");
    play_query(&play->client, "update 6");
    play_query(&play->client, "select 1");
    assert_told(play, "C(UPDATE 5) Z(I) E(42501) Z(I) T D C(SELECT 1) Z(I) ");
    must_have_run(play, "BEGIN\nupdate 5\nCOMMIT\nBEGIN\nupdate 6\nROLLBACK\nselect 1\n");
    assert_int_equal(play->server.committed, 5);
    must_have_events(play, "too many;");
}

static void a_statement_that_fails_is_rolled_back(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    play_query(&play->client, "update 5; fail");
    play_query(&play->client, "update 1");
    assert_told(play, "E(42501) Z(I) C(UPDATE 1) Z(I) ");
    must_have_events(play, "refused;");
}

static void in_the_clients_block_the_block_fails(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    play_query(&play->client, "begin");
    play_query(&play->client, "update 4");
    play_query(&play->client, "update 6");
    play_query(&play->client, "commit");
    assert_told(play, "C(BEGIN) Z(T) C(UPDATE 4) Z(T) E(42501) Z(E) C(ROLLBACK) Z(I) ");
    assert_int_equal(play->server.committed, 0);
}

static void limits_hold_in_batches(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    play_extended(&play->client, "update 4");
    play_extended(&play->client, "update 5");
    play_sync(&play->client);
    assert_told(play, "1 2 C(UPDATE 4) 1 2 C(UPDATE 5) Z(I) ");
    assert_int_equal(play->server.committed, 9);
    play_extended(&play->client, "update 1");
    play_extended(&play->client, "update 6");
    play_extended(&play->client, "select 1");
    play_sync(&play->client);
    play_extended(&play->client, "update 2");
    play_sync(&play->client);
    assert_told(play, "1 2 C(UPDATE 1) 1 2 E(42501) Z(I) 1 2 C(UPDATE 2) Z(I) ");
    assert_int_equal(play->server.committed, 11);
}

static void nothing_ends_the_transaction_behind_a_limited_write(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    play_extended(&play->client, "begin");
    play_extended(&play->client, "update 6");
    play_extended(&play->client, "commit");
    play_sync(&play->client);
    assert_told(play, "1 2 C(BEGIN) 1 2 E(42501) Z(E) ");
    play_query(&play->client, "rollback");
    play_extended(&play->client, "update 3");
    play_extended(&play->client, "commit");
    play_sync(&play->client);
    assert_told(play, "C(ROLLBACK) Z(I) 1 2 C(UPDATE 3) 1 2 E(42501) Z(I) ");
    play_extended(&play->client, "update 3");
    play_query(&play->client, "select 1");
    assert_told(play, "1 2 C(UPDATE 3) E(42501) Z(I) ");
    assert_int_equal(play->server.committed, 0);
}

static void what_was_prepared_is_counted(void **state)
{
    struct play *play = *state;
    play->rules.max_rows = 5;
    play_query(&play->client, "prepare one as update 6");
    play_query(&play->client, "execute one");
    play_parse(&play->client, "two", "update 7");
    play_sync(&play->client);
    play_bind(&play->client, "p", "two");
    play_execute(&play->client, "p", 0);
    play_sync(&play->client);
    play_bind(&play->client, "p", "two");
    play_execute(&play->client, "p", 1);
    play_sync(&play->client);
    assert_told(play, "C(PREPARE) Z(I) E(42501) Z(I) 1 Z(I) 2 E(42501) Z(I) 2 E(42501) Z(I) ");
    assert_int_equal(play->server.committed, 0);
}

/* A server that is none --------------------------------------------------------------------------
 */

static void a_server_that_runs_the_substitute_is_none(void **state)
{
    static const char done[] = "C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
    struct play *play = *state;
    struct slice bytes = slice_of(done, sizeof(done) - 1);
    struct buf query;
    buf_init(&query, LIMIT_KIB(1));
    play_query(&query, "blocked");
    struct slice asked = buf_view(&query);
    assert_int_equal(pg_filter_pass(play->filter, PUMP_CLIENT, &asked, &play->error), ERR_NONE);
    /* Its grammar is asked for, by a Parse of several commands, which runs nothing. */
    assert_int_equal(asked.at[0], 'P');
    assert_true(slice_find(asked, SLICE("; SELECT 1; blocked")) < asked.len);
    assert_int_equal(pg_filter_pass(play->filter, PUMP_TARGET, &bytes, &play->error), ERR_INPUT);
    buf_release(&query);
}

static void fatal_words_of_the_server_are_its_own(void **state)
{
    static const char fatal[] = "E\0\0\0\x1bSFATAL\0C57P01\0Mbye\0\0"
                                "\0\0\0\0";
    struct play *play = *state;
    struct slice bytes = slice_of(fatal, 0x1b - 4 + 5);
    struct buf query;
    buf_init(&query, LIMIT_KIB(1));
    play_query(&query, "blocked");
    struct slice asked = buf_view(&query);
    assert_int_equal(pg_filter_pass(play->filter, PUMP_CLIENT, &asked, &play->error), ERR_NONE);
    assert_int_equal(pg_filter_pass(play->filter, PUMP_TARGET, &bytes, &play->error), ERR_NONE);
    assert_true(slice_find(bytes, SLICE("57P01")) < bytes.len);
    buf_release(&query);
}

static void what_other_rules_block_is_blocked_each_time(void **state)
{
    struct play *play = *state;
    struct passage_policy policy;
    play->rules.is_lenient = true;
    play_parse(&play->client, "s", "blocked");
    play_sync(&play->client);
    assert_told(play, "1 Z(I) ");
    play->rules.is_lenient = false;
    play_policy(&play->rules, 2, &policy);
    pg_filter_set_policy(play->filter, &policy);
    for (int i = 0; i < 3; i++) {
        play_bind(&play->client, "", "s");
        play_execute(&play->client, "", 0);
        play_sync(&play->client);
        assert_told(play, "E(42501) Z(I) ");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_blocked_is_not_copied),
        TEST(a_blocked_query_is_an_error_and_never_comes),
        TEST(a_typo_is_the_servers_error),
        TEST(in_a_pipeline_what_is_refused_is_not_asked_about),
        TEST(in_a_block_the_error_fails_the_block),
        TEST(a_warning_comes_before_the_answer),
        TEST(what_is_refused_says_which_rule_and_no_more),
        TEST(a_function_call_is_unknown),
        TEST(a_query_that_is_too_large_is_refused),
        TEST(a_large_query_passes_whole),
        TEST(a_batch_is_answered_up_to_what_is_blocked),
        TEST(an_earlier_error_takes_the_place),
        TEST(values_are_looked_at),
        TEST(what_other_rules_block_is_blocked_each_time),
        TEST(a_changed_rule_applies_to_what_was_prepared),
        TEST(a_name_means_what_the_server_took_it_for),
        TEST(what_cannot_be_read_fails_alone),
        TEST(names_are_cut_as_servers_cut_them),
        TEST(names_that_nobody_can_follow_are_refused),
        TEST(what_sql_prepared_is_judged_when_a_message_names_it),
        TEST(execute_does_what_was_prepared),
        TEST(copies_pass),
        TEST(too_many_rows_are_taken_back),
        TEST(a_statement_that_fails_is_rolled_back),
        TEST(in_the_clients_block_the_block_fails),
        TEST(limits_hold_in_batches),
        TEST(nothing_ends_the_transaction_behind_a_limited_write),
        TEST(what_was_prepared_is_counted),
        TEST(a_server_that_runs_the_substitute_is_none),
        TEST(fatal_words_of_the_server_are_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
