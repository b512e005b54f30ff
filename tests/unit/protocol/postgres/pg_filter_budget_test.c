/* SPDX-License-Identifier: MIT */
/* What a client may read: what it gets up to the limit and behind it, in whatever pieces. */
#include "base/limits.h"
#include "base/memory.h"
#include "pg_mask_fake.h"
#include "pg_play.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROW_SIZE 2 /* of the body of one of 'select' or 'send' */

struct stage {
    struct play play;
    struct guard_budget budgets[3];
    struct mask_rules masking;
};

static struct guard_budget budget_of(enum guard_action action, uint64_t rows, uint64_t bytes,
                                     bool is_hourly)
{
    return (struct guard_budget){
        .finding = {.action = action,
                    .direction = GUARD_OUTPUT,
                    .guardrail_name = SLICE("play"),
                    .rule_name = SLICE("reads"),
                    .rule_type = SLICE("read_budget"),
                    .message = SLICE("enough")},
        .rows = rows,
        .bytes = bytes,
        .is_hourly = is_hourly,
    };
}

static void start(struct stage *stage, size_t count)
{
    stage->play.rules.max_rows = -1;
    stage->play.rules.budgets = stage->budgets;
    stage->play.rules.budget_count = count;
    play_start(&stage->play);
}

static void start_with(struct stage *stage, enum guard_action action, uint64_t rows, uint64_t bytes,
                       bool is_hourly)
{
    stage->budgets[0] = budget_of(action, rows, bytes, is_hourly);
    start(stage, 1);
}

static int set_up(void **state)
{
    *state = memory_new(sizeof(struct stage));
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    play_end(&stage->play);
    memory_free(stage);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void must_be(struct slice text, const char *expected)
{
    char *at = memory_new(text.len + 1);
    if (text.len > 0) {
        memcpy(at, text.at, text.len);
    }
    assert_string_equal(at, expected);
    memory_free(at);
}

/* The client gets this, since the last time. */
static void must_be_told(struct stage *stage, const char *expected)
{
    struct buf told;
    assert_int_equal(play_run(&stage->play), ERR_NONE);
    buf_init(&told, LIMIT_MIB(1));
    play_tell(buf_view(&stage->play.got), &told);
    must_be(buf_view(&told), expected);
    buf_release(&told);
    buf_clear(&stage->play.got);
}

static void must_have_run(struct stage *stage, const char *expected)
{
    must_be(buf_view(&stage->play.server.log), expected);
    buf_clear(&stage->play.server.log);
}

static bool got_has(const struct stage *stage, const char *text)
{
    struct slice got = buf_view(&stage->play.got);
    return slice_find(got, slice_of_text(text)) < got.len;
}

static void query(struct stage *stage, const char *text)
{
    play_query(&stage->play.client, text);
}

/* The client waits for the answer before it says more. */
static void ask(struct stage *stage, const char *text)
{
    query(stage, text);
    assert_int_equal(play_run(&stage->play), ERR_NONE);
}

static void extended(struct stage *stage, const char *text)
{
    play_extended(&stage->play.client, text);
}

/* Sessions ------------------------------------------------------------------------------------ */

static void what_fits_is_read_and_not_a_row_more(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 5, UINT64_MAX, false);
    query(stage, "select 3");
    query(stage, "select 2");
    must_be_told(stage, "T D D D C(SELECT 3) Z(I) T D D C(SELECT 2) Z(I) ");
    assert_int_equal(stage->play.events.len, 0);
    query(stage, "select 1");
    must_be_told(stage, "E(53400) Z(I) ");
    must_have_run(stage, "select 3\nselect 2\n");
    must_be(buf_view(&stage->play.events), "found;");
}

static void an_answer_ends_at_the_limit_in_words(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 2, UINT64_MAX, false);
    query(stage, "select 4");
    assert_int_equal(play_run(&stage->play), ERR_NONE);
    assert_true(got_has(stage, "blocked by guard rail 'play', rule 'reads': enough"));
    assert_true(got_has(stage, "the read budget of 2 rows for a session is spent"));
    assert_true(got_has(stage, "A new session has a budget of its own."));
    assert_int_equal(stage->play.block_count, 1);
    must_be_told(stage, "T D D E(53400) Z(I) ");
}

static void bytes_count_as_well(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 100, 3 * ROW_SIZE + 1, false);
    query(stage, "select 9");
    assert_int_equal(play_run(&stage->play), ERR_NONE);
    assert_true(got_has(stage, "the read budget of 100 rows and 7 bytes for a session is spent"));
    must_be_told(stage, "T D D D E(53400) Z(I) ");
    /* Something is left, but not enough for a row: it is not tried again and again. */
    query(stage, "select 1");
    must_be_told(stage, "E(53400) Z(I) ");
    must_have_run(stage, "select 9\n");
}

static void what_does_not_read_goes_on(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 1, UINT64_MAX, false);
    ask(stage, "begin");
    ask(stage, "select 2");
    ask(stage, "update 3");
    ask(stage, "commit");
    must_be_told(stage, "C(BEGIN) Z(T) T D E(53400) Z(T) C(UPDATE 3) Z(T) C(COMMIT) Z(I) ");
    assert_int_equal(stage->play.server.committed, 3);
    extended(stage, "begin");
    extended(stage, "update 1");
    extended(stage, "commit");
    play_sync(&stage->play.client);
    must_be_told(stage, "1 2 C(BEGIN) 1 2 C(UPDATE 1) 1 2 C(COMMIT) Z(I) ");
    ask(stage, "begin");
    ask(stage, "select 1");
    ask(stage, "commit");
    must_be_told(stage, "C(BEGIN) Z(T) E(53400) Z(E) C(ROLLBACK) Z(I) ");
}

static void rows_beside_what_was_done_are_refused_when_they_come(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 1, UINT64_MAX, false);
    ask(stage, "select 1");
    ask(stage, "returning 2");
    must_be_told(stage, "T D C(SELECT 1) Z(I) T E(53400) Z(I) ");
    must_have_run(stage, "select 1\nreturning 2\n");
}

static void several_statements_are_refused_if_one_reads(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 3, UINT64_MAX, false);
    ask(stage, "select 2; select 2; select 2");
    ask(stage, "update 1; select 1");
    ask(stage, "update 1; update 1");
    must_be_told(stage, "T D D C(SELECT 2) T D E(53400) Z(I) E(53400) Z(I) C(UPDATE 1) "
                        "C(UPDATE 1) Z(I) ");
}

static void a_batch_is_skipped_to_its_sync(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 2, UINT64_MAX, false);
    extended(stage, "select 3");
    extended(stage, "update 1");
    play_sync(&stage->play.client);
    extended(stage, "update 2");
    play_sync(&stage->play.client);
    extended(stage, "select 1");
    play_sync(&stage->play.client);
    query(stage, "select 1");
    must_be_told(stage, "1 2 D D E(53400) Z(I) 1 2 C(UPDATE 2) Z(I) 1 2 E(53400) Z(I) "
                        "T E(53400) Z(I) ");
}

/* A server that erred reads no Query before it has read a Sync. */
static void a_query_without_a_sync_is_skipped_too(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 2, UINT64_MAX, false);
    extended(stage, "select 3");
    query(stage, "update 1");
    must_be_told(stage, "1 2 D D E(53400) ");
    must_have_run(stage, "select 3\nupdate 1\n");
    query(stage, "prepare d as blocked");
    query(stage, "update 2");
    play_sync(&stage->play.client);
    query(stage, "update 3");
    must_be_told(stage, "Z(I) C(UPDATE 3) Z(I) ");
    must_have_run(stage, "update 3\n");
}

static void a_copy_ends_in_the_middle(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 3, UINT64_MAX, false);
    query(stage, "send 2");
    query(stage, "send 7");
    extended(stage, "send 1");
    play_sync(&stage->play.client);
    query(stage, "update 1");
    must_be_told(stage, "H d d c C(COPY 2) Z(I) H d E(53400) Z(I) 1 2 H E(53400) Z(I) "
                        "C(UPDATE 1) Z(I) ");
}

static void a_prepared_statement_reads_when_it_is_executed(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 1, UINT64_MAX, false);
    ask(stage, "prepare r as select 1");
    ask(stage, "prepare w as update 1");
    ask(stage, "execute r");
    ask(stage, "execute r");
    ask(stage, "execute w");
    must_be_told(stage, "C(PREPARE) Z(I) C(PREPARE) Z(I) T D C(SELECT 1) Z(I) E(53400) Z(I) "
                        "C(UPDATE 1) Z(I) ");
}

static void two_budgets_hold_both(void **state)
{
    struct stage *stage = *state;
    stage->budgets[0] = budget_of(GUARD_BLOCK, 100, UINT64_MAX, false);
    stage->budgets[1] = budget_of(GUARD_BLOCK, UINT64_MAX, 4 * ROW_SIZE, true);
    start(stage, 2);
    query(stage, "select 5");
    must_be_told(stage, "T D D D D E(53400) Z(I) ");
    assert_int_equal(stage->play.hour.rows, 4);
}

/* Hours --------------------------------------------------------------------------------------- */

static void an_hour_is_shared_with_other_sessions(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 10, UINT64_MAX, true);
    stage->play.hour.rows = 8;
    query(stage, "select 5");
    assert_int_equal(play_run(&stage->play), ERR_NONE);
    assert_true(got_has(stage, "the read budget of 10 rows in an hour is spent"));
    assert_true(got_has(stage, "Some of it can be read in 2 minutes."));
    must_be_told(stage, "T D D E(53400) Z(I) ");
    assert_int_equal(stage->play.hour.rows, 10);
    query(stage, "select 1");
    must_be_told(stage, "E(53400) Z(I) ");
    stage->play.hour.rows = 9; /* a minute has left */
    query(stage, "select 2");
    must_be_told(stage, "T D E(53400) Z(I) ");
}

static void what_was_not_enough_is_tried_again_when_there_is_more(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, UINT64_MAX, 10, true);
    stage->play.hour = (struct read_amount){.rows = 1, .bytes = 9};
    ask(stage, "select 1");
    ask(stage, "select 1");
    must_be_told(stage, "T E(53400) Z(I) E(53400) Z(I) ");
    must_have_run(stage, "select 1\n");
    stage->play.hour.bytes = 8;
    ask(stage, "select 1");
    must_be_told(stage, "T D C(SELECT 1) Z(I) ");
}

static void a_row_that_is_more_than_all_does_not_lock(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, UINT64_MAX, 30, true);
    query(stage, "show a very long text, which is more than fits");
    assert_int_equal(play_run(&stage->play), ERR_NONE);
    assert_true(got_has(stage, "The row alone is more than the budget."));
    must_be_told(stage, "T E(53400) Z(I) ");
    query(stage, "select 1");
    must_be_told(stage, "T D C(SELECT 1) Z(I) ");
}

/* Others -------------------------------------------------------------------------------------- */

static void a_warning_comes_once_for_each_time(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_WARN, 3, UINT64_MAX, true);
    query(stage, "select 3");
    query(stage, "select 1");
    query(stage, "select 1");
    must_be_told(stage, "T D D D C(SELECT 3) Z(I) T N D C(SELECT 1) Z(I) T D C(SELECT 1) Z(I) ");
    must_be(buf_view(&stage->play.events), "found;");
    stage->play.hour.rows = 0;
    query(stage, "select 1");
    query(stage, "select 3");
    must_be_told(stage, "T D C(SELECT 1) Z(I) T N D D D C(SELECT 3) Z(I) ");
    must_be(buf_view(&stage->play.events), "found;found;");
}

static void an_observer_says_nothing(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_OBSERVE, 1, UINT64_MAX, false);
    query(stage, "select 3");
    query(stage, "select 3");
    must_be_told(stage, "T D D D C(SELECT 3) Z(I) T D D D C(SELECT 3) Z(I) ");
    must_be(buf_view(&stage->play.events), "found;");
}

/* Rules that change --------------------------------------------------------------------------- */

static void change(struct stage *stage, uint64_t generation, size_t count)
{
    struct passage_policy policy;
    stage->play.rules.budget_count = count;
    play_policy(&stage->play.rules, generation, &policy);
    pg_filter_set_policy(stage->play.filter, &policy);
}

static void another_budget_is_for_the_next_statement(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 5, UINT64_MAX, false);
    query(stage, "select 4");
    /* It has reached the server, and is answered by what it was asked under. */
    struct slice bytes = buf_view(&stage->play.client);
    assert_int_equal(pg_filter_pass(stage->play.filter, PUMP_CLIENT, &bytes, NULL), ERR_NONE);
    assert_int_equal(buf_append(&stage->play.server.in, bytes), ERR_NONE);
    buf_clear(&stage->play.client);
    stage->budgets[0].rows = 2;
    change(stage, 2, 1);
    stage->budgets[0].rows = 3;
    change(stage, 3, 1);
    must_be_told(stage, "T D D D D C(SELECT 4) Z(I) ");
    query(stage, "select 1");
    must_be_told(stage, "E(53400) Z(I) ");
    stage->budgets[0].rows = 6;
    change(stage, 4, 1);
    query(stage, "select 9");
    must_be_told(stage, "T D D E(53400) Z(I) ");
    change(stage, 5, 0);
    query(stage, "select 9");
    must_be_told(stage, "T D D D D D D D D D C(SELECT 9) Z(I) ");
    assert_int_equal(stage->play.server.is_in_batch, 0);
}

static void a_budget_that_comes_later_counts_from_then_on(void **state)
{
    struct stage *stage = *state;
    start_with(stage, GUARD_BLOCK, 2, UINT64_MAX, false);
    change(stage, 2, 0);
    ask(stage, "select 9");
    must_be_told(stage, "T D D D D D D D D D C(SELECT 9) Z(I) ");
    change(stage, 3, 1);
    ask(stage, "select 2");
    ask(stage, "select 1");
    must_be_told(stage, "T D D C(SELECT 2) Z(I) E(53400) Z(I) ");
}

/* Masking ------------------------------------------------------------------------------------- */

static void masked_rows_count_as_the_client_gets_them(void **state)
{
    struct stage *stage = *state;
    stage->masking.looks_into_text = true;
    stage->play.rules.masking = &stage->masking;
    /* A row: two bytes and four more for each value. "[S]" is what is left of "SECRET". */
    start_with(stage, GUARD_BLOCK, UINT64_MAX, 9 + 9 + 8, false);
    query(stage, "show SECRET");
    query(stage, "show SECRET");
    query(stage, "show SECRET");
    must_be_told(stage, "T D C(SHOW) Z(I) T D C(SHOW) Z(I) T E(53400) Z(I) ");
    assert_false(got_has(stage, "SECRET"));
}

/* What the filter asks is told: the first column is the masked one. */
static void answer_lookup(struct stage *stage)
{
    if (stage->play.is_asked) {
        play_inform(&stage->play);
    }
}

static void pass_from_target(struct stage *stage, struct slice bytes)
{
    enum err err = pg_filter_pass(stage->play.filter, PUMP_TARGET, &bytes, &stage->play.error);
    assert_string_equal(stage->play.error.message, "");
    assert_int_equal(err, ERR_NONE);
    assert_int_equal(buf_append(&stage->play.got, bytes), ERR_NONE);
    answer_lookup(stage);
}

/* A small value, which is masked, and a large one, in parts of 64 KiB; before that of the number
 * the budget comes or goes. */
static void pass_large_row(struct stage *stage, size_t size, size_t change_at)
{
    const unsigned char head[] = {0,
                                  2,
                                  0,
                                  0,
                                  0,
                                  1,
                                  'x',
                                  (unsigned char)(size >> 24),
                                  (unsigned char)(size >> 16),
                                  (unsigned char)(size >> 8),
                                  (unsigned char)size};
    const struct pgwire_frame frame = {.packet = PGWIRE_MESSAGE,
                                       .type = PGWIRE_SERVER_DATA_ROW,
                                       .size = (uint32_t)(size + sizeof(head))};
    struct buf row;
    buf_init(&row, LIMIT_MIB(10));
    assert_int_equal(pgwire_header_write(&row, &frame), ERR_NONE);
    assert_int_equal(buf_append(&row, slice_of(head, sizeof(head))), ERR_NONE);
    for (size_t i = 0; i < size / 4; i++) { /* as a header that would be a message of 4 GiB */
        assert_int_equal(buf_append(&row, SLICE("\0\0\0\0")), ERR_NONE);
    }
    struct slice rest = buf_view(&row);
    for (size_t part = 0; rest.len > 0; part++) {
        struct slice bytes = slice_sub(rest, 0, LIMIT_KIB(64));
        rest = slice_from(rest, bytes.len);
        if (part == change_at) {
            stage->play.rules.budget_count = stage->play.rules.budget_count == 0;
            change(stage, 2 + part, stage->play.rules.budget_count);
        }
        pass_from_target(stage, bytes);
    }
    buf_release(&row);
}

static void rules_may_change_within_a_large_row(void **state)
{
    static const char described[] = "T\0\0\0\x32\0\2"
                                    "value\0\0\0\0\7\0\1\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"
                                    "n\0\0\0\0\7\0\2\0\0\0\x19\xff\xff\xff\xff\xff\xff\0";
    const size_t size = LIMIT_MIB(9);
    struct stage *stage = *state;
    for (size_t i = 0; i < 16; i++) {
        *stage = (struct stage){.masking = {.columns = {{"things", "value"}}, .column_count = 1}};
        stage->play.rules.masking = (i & 1) != 0 ? &stage->masking : NULL;
        stage->budgets[0] = budget_of(GUARD_BLOCK, 5, UINT64_MAX, false);
        start(stage, (i & 2) != 0);
        query(stage, "show x");
        struct slice bytes = buf_view(&stage->play.client);
        assert_int_equal(pg_filter_pass(stage->play.filter, PUMP_CLIENT, &bytes, NULL), ERR_NONE);
        pass_from_target(stage, slice_of(described, sizeof(described)));
        pass_large_row(stage, size, 2 + (i >> 2));
        pass_large_row(stage, size, SIZE_MAX);
        assert_in_range(stage->play.got.len, 2 * size, 2 * size + 200);
        pass_from_target(stage, SLICE("C\0\0\0\11SHOW\0Z\0\0\0\5I"));
        buf_clear(&stage->play.got);
        buf_clear(&stage->play.client);
        ask(stage, "select 9");
        if (stage->play.rules.budget_count > 0) {
            must_be_told(stage, "T D D D D E(53400) Z(I) "); /* the second one counted */
        } else {
            must_be_told(stage, "T D D D D D D D D D C(SELECT 9) Z(I) ");
        }
        play_end(&stage->play);
    }
    start(stage, 0);
}

/* Pieces -------------------------------------------------------------------------------------- */

static void add_pipeline(struct buf *buf)
{
    play_query(buf, "select 3; update 1");
    play_extended(buf, "show SECRET");
    play_extended(buf, "select 4");
    play_extended(buf, "update 1");
    play_sync(buf);
    play_query(buf, "send 4");
    play_query(buf, "begin");
    play_query(buf, "returning 3");
    play_query(buf, "commit");
    play_extended(buf, "select 1");
    play_sync(buf);
    play_query(buf, "update 1");
}

static size_t count_of(struct slice told, const char *word)
{
    size_t count = 0;
    for (size_t at = 0; at < told.len; at++) {
        count += slice_starts_with(slice_from(told, at), slice_of_text(word)) ? 1 : 0;
    }
    return count;
}

/* By the number of rows that may be read: what comes in other pieces is the same. */
static void play_in_pieces(struct stage *stage, uint64_t rows, size_t piece, struct buf *told)
{
    *stage = (struct stage){.masking = {.looks_into_text = true}};
    stage->play.rules.masking = (piece & 1) != 0 ? &stage->masking : NULL;
    stage->play.is_eager = (piece & 2) != 0;
    stage->play.pieces[PUMP_CLIENT] = piece >> 2 & 31;
    stage->play.pieces[PUMP_TARGET] = piece >> 2;
    start_with(stage, GUARD_BLOCK, rows, UINT64_MAX, (piece & 8) != 0);
    add_pipeline(&stage->play.client);
    assert_int_equal(play_run(&stage->play), ERR_NONE);
    play_tell(buf_view(&stage->play.got), told);
    must_be(slice_of(&stage->play.server.transaction, 1), "I");
}

static void pieces_make_no_difference(void **state)
{
    struct stage *stage = *state;
    for (uint64_t rows = 1; rows < 20; rows++) {
        size_t most = rows < 16 ? (size_t)rows : 16; /* there are not more */
        for (size_t piece = 0; piece < 4 * 64; piece++) {
            struct buf told;
            buf_init(&told, LIMIT_MIB(1));
            play_in_pieces(stage, rows, piece, &told);
            struct slice text = buf_view(&told);
            assert_int_equal(count_of(text, "D ") + count_of(text, "d "), most);
            assert_int_equal(count_of(text, "Z("), 8);
            assert_int_equal(count_of(text, "E(53400)") > 0, rows < 16);
            assert_int_equal(count_of(text, "E("), count_of(text, "E(53400)"));
            buf_release(&told);
            play_end(&stage->play);
        }
    }
    start(stage, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_fits_is_read_and_not_a_row_more),
        TEST(an_answer_ends_at_the_limit_in_words),
        TEST(bytes_count_as_well),
        TEST(what_does_not_read_goes_on),
        TEST(rows_beside_what_was_done_are_refused_when_they_come),
        TEST(several_statements_are_refused_if_one_reads),
        TEST(a_batch_is_skipped_to_its_sync),
        TEST(a_query_without_a_sync_is_skipped_too),
        TEST(a_copy_ends_in_the_middle),
        TEST(a_prepared_statement_reads_when_it_is_executed),
        TEST(two_budgets_hold_both),
        TEST(an_hour_is_shared_with_other_sessions),
        TEST(what_was_not_enough_is_tried_again_when_there_is_more),
        TEST(a_row_that_is_more_than_all_does_not_lock),
        TEST(a_warning_comes_once_for_each_time),
        TEST(an_observer_says_nothing),
        TEST(another_budget_is_for_the_next_statement),
        TEST(a_budget_that_comes_later_counts_from_then_on),
        TEST(masked_rows_count_as_the_client_gets_them),
        TEST(rules_may_change_within_a_large_row),
        TEST(pieces_make_no_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
