/* SPDX-License-Identifier: MIT */
/* What a client sees of a server whose answers are masked and judged, with masking that is easy to
 * foresee (pg_mask_fake.h). */
#include "base/limits.h"
#include "base/memory.h"
#include "pg_mask_fake.h"
#include "pg_play.h"
#include "wire/pgwire_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct stage {
    struct play play;
    struct mask_rules masking;
    struct guard_scope scope;
};

static int set_up(void **state)
{
    struct stage *stage = memory_new(sizeof(*stage));
    stage->play.rules.max_rows = -1;
    stage->masking.looks_into_text = true;
    stage->play.rules.masking = &stage->masking;
    *state = stage;
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

static void mask_column(struct stage *stage)
{
    stage->masking.columns[0] = (struct fake_column){"things", "value"};
    stage->masking.column_count = 1;
}

static bool client_has(const struct stage *stage, const char *word)
{
    struct slice got = buf_view(&stage->play.got);
    return slice_find(got, slice_of_text(word)) < got.len;
}

#define assert_told(stage, expected)                                                               \
    do {                                                                                           \
        struct buf told;                                                                           \
        assert_int_equal(play_run(&(stage)->play), ERR_NONE);                                      \
        buf_init(&told, LIMIT_MIB(1));                                                             \
        play_tell(buf_view(&(stage)->play.got), &told);                                            \
        must_be(buf_view(&told), expected);                                                        \
        buf_release(&told);                                                                        \
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

static void say_all(struct stage *stage)
{
    play_query(&stage->play.client, "show my SECRET here");
    play_query(&stage->play.client, "show nothing");
    play_extended(&stage->play.client, "show a SECRET");
    play_sync(&stage->play.client);
}

static void what_is_found_is_masked(void **state)
{
    struct stage *stage = *state;
    play_start(&stage->play);
    say_all(stage);
    assert_told(stage, "T D C(SHOW) Z(I) T D C(SHOW) Z(I) 1 2 D C(SHOW) Z(I) ");
    assert_true(client_has(stage, "my [S] here") && client_has(stage, "a [S]"));
    assert_false(client_has(stage, "SECRET"));
    assert_int_equal(pg_filter_mask_counts(stage->play.filter)->by_type[0], 2);
}

static void pieces_of_any_size_come_to_the_same(void **state)
{
    struct stage *stage = *state;
    mask_column(stage);
    stage->play.pieces[PUMP_TARGET] = 1;
    stage->play.pieces[PUMP_CLIENT] = 3;
    play_start(&stage->play);
    say_all(stage);
    assert_told(stage, "T D C(SHOW) Z(I) T D C(SHOW) Z(I) 1 2 D C(SHOW) Z(I) ");
    assert_true(client_has(stage, "[R]"));
    assert_false(client_has(stage, "SECRET") || client_has(stage, "nothing"));
}

static void where_a_column_comes_from_is_asked_once(void **state)
{
    struct stage *stage = *state;
    mask_column(stage);
    play_start(&stage->play);
    say_all(stage);
    play_query(&stage->play.client, "select 1");
    assert_told(stage,
                "T D C(SHOW) Z(I) T D C(SHOW) Z(I) 1 2 D C(SHOW) Z(I) T D C(SELECT 1) Z(I) ");
    assert_int_equal(stage->play.lookup_count, 1);
    assert_false(client_has(stage, "nothing"));
}

static void what_nobody_can_say_is_masked(void **state)
{
    struct stage *stage = *state;
    stage->masking.columns[0] = (struct fake_column){"others", "value"};
    stage->masking.column_count = 1;
    stage->play.is_ignorant = true;
    play_start(&stage->play);
    play_query(&stage->play.client, "show plain");
    assert_told(stage, "T D C(SHOW) Z(I) ");
    assert_false(client_has(stage, "plain"));
}

static void a_table_that_no_rule_names_is_not_masked(void **state)
{
    struct stage *stage = *state;
    stage->masking.columns[0] = (struct fake_column){"others", "value"};
    stage->masking.column_count = 1;
    play_start(&stage->play);
    play_query(&stage->play.client, "show plain");
    assert_told(stage, "T D C(SHOW) Z(I) ");
    assert_true(client_has(stage, "plain"));
}

static void a_describe_of_ours_is_not_told(void **state)
{
    struct stage *stage = *state;
    play_start(&stage->play);
    play_parse(&stage->play.client, "s", "show SECRET");
    play_bind(&stage->play.client, "", "s");
    play_execute(&stage->play.client, "", 0);
    play_execute(&stage->play.client, "missing", 0);
    play_sync(&stage->play.client);
    assert_told(stage, "1 2 D C(SHOW) E(34000) Z(I) ");
    assert_true(client_has(stage, "[S]"));
}

static void what_is_blocked_ends_its_batch(void **state)
{
    struct stage *stage = *state;
    stage->scope.looks_at[GUARD_OUTPUT] = true;
    stage->play.rules.masking = NULL;
    stage->play.rules.output = &stage->scope;
    play_start(&stage->play);
    play_query(&stage->play.client, "show fine; show BLOCKME; show more");
    play_extended(&stage->play.client, "show BLOCKME");
    play_extended(&stage->play.client, "show more");
    play_sync(&stage->play.client);
    play_query(&stage->play.client, "show fine");
    assert_told(stage, "T D C(SHOW) T E(42501) Z(I) 1 2 E(42501) Z(I) T D C(SHOW) Z(I) ");
    assert_false(client_has(stage, "BLOCKME") || client_has(stage, "more"));
    assert_int_equal(stage->play.block_count, 2);
    must_be(buf_view(&stage->play.events), "found;found;");
}

static void what_the_client_says_behind_it_is_dropped(void **state)
{
    struct stage *stage = *state;
    stage->scope.looks_at[GUARD_OUTPUT] = true;
    stage->play.rules.output = &stage->scope;
    stage->play.is_eager = true;
    stage->play.pieces[PUMP_CLIENT] = 1;
    play_start(&stage->play);
    play_extended(&stage->play.client, "show BLOCKME");
    play_extended(&stage->play.client, "update 3");
    play_sync(&stage->play.client);
    play_extended(&stage->play.client, "update 4");
    play_sync(&stage->play.client);
    assert_told(stage, "1 2 E(42501) Z(I) 1 2 C(UPDATE 4) Z(I) ");
    assert_int_equal(stage->play.server.committed, 4);
}

static void a_query_in_the_batch_is_skipped_as_by_any_error(void **state)
{
    struct stage *stage = *state;
    stage->scope.looks_at[GUARD_OUTPUT] = true;
    stage->play.rules.output = &stage->scope;
    play_start(&stage->play);
    play_extended(&stage->play.client, "show BLOCKME");
    play_query(&stage->play.client, "show more");
    play_sync(&stage->play.client);
    play_query(&stage->play.client, "show fine");
    assert_told(stage, "1 2 E(42501) Z(I) T D C(SHOW) Z(I) ");
}

static void our_own_words_are_not_masked(void **state)
{
    struct stage *stage = *state;
    play_start(&stage->play);
    play_query(&stage->play.client, "blocked");
    play_query(&stage->play.client, "show SECRET");
    assert_told(stage, "E(42501) Z(I) T D C(SHOW) Z(I) ");
    assert_true(client_has(stage, "blocked by guard rail"));
}

static void rules_that_come_later_hold_from_the_next_statement(void **state)
{
    struct stage *stage = *state;
    struct passage_policy policy;
    struct mask_rules *masking = stage->play.rules.masking;
    stage->play.rules.masking = NULL;
    play_start(&stage->play);
    play_query(&stage->play.client, "show SECRET");
    assert_told(stage, "T D C(SHOW) Z(I) ");
    assert_true(client_has(stage, "SECRET"));
    buf_clear(&stage->play.got);
    stage->play.rules.masking = masking;
    play_policy(&stage->play.rules, 2, &policy);
    pg_filter_set_policy(stage->play.filter, &policy);
    play_query(&stage->play.client, "show SECRET");
    assert_told(stage, "T D C(SHOW) Z(I) ");
    assert_false(client_has(stage, "SECRET"));
}

static void a_limit_of_rows_stands_beside_it(void **state)
{
    struct stage *stage = *state;
    stage->play.rules.max_rows = 5;
    play_start(&stage->play);
    play_query(&stage->play.client, "update 9");
    play_query(&stage->play.client, "update 2");
    play_extended(&stage->play.client, "update 3");
    play_extended(&stage->play.client, "show SECRET");
    play_sync(&stage->play.client);
    assert_told(stage, "E(42501) Z(I) C(UPDATE 2) Z(I) 1 2 C(UPDATE 3) 1 2 D C(SHOW) Z(I) ");
    assert_false(client_has(stage, "SECRET"));
    assert_int_equal(stage->play.server.committed, 5);
}

static void large_rows_come_whole_or_are_masked(void **state)
{
    struct stage *stage = *state;
    size_t sizes[] = {LIMIT_MIB(1), LIMIT_MASK_MESSAGE_SIZE + 1};
    stage->play.pieces[PUMP_TARGET] = LIMIT_READ_SIZE;
    stage->play.pieces[PUMP_CLIENT] = LIMIT_READ_SIZE;
    play_start(&stage->play);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *body = memory_new(sizes[i] + 12);
        memset(body, 'x', sizes[i]);
        memcpy(body, "\0\1", 2);
        uint32_t len = (uint32_t)sizes[i] - 6;
        for (int j = 0; j < 4; j++) {
            body[2 + j] = (char)(len >> (24 - 8 * j));
        }
        memcpy(body + sizes[i] - 6, "SECRET", 6);
        const struct pgwire_frame frame = {
            .packet = PGWIRE_MESSAGE, .type = 'D', .size = (uint32_t)sizes[i]};
        play_query(&stage->play.client, "show x");
        struct slice bytes = buf_view(&stage->play.client);
        assert_int_equal(
            pg_filter_pass(stage->play.filter, PUMP_CLIENT, &bytes, &stage->play.error), ERR_NONE);
        buf_clear(&stage->play.client);
        struct buf *out = &stage->play.server.out;
        assert_int_equal(pgwire_header_write(out, &frame), ERR_NONE);
        assert_int_equal(buf_append(out, slice_of(body, sizes[i])), ERR_NONE);
        assert_int_equal(buf_append(out, slice_of("C\0\0\0\x09"
                                                  "SHOW\0Z\0\0\0\5I",
                                                  16)),
                         ERR_NONE);
        assert_told(stage, "D C(SHOW) Z(I) ");
        assert_false(client_has(stage, "SECRET"));
        assert_int_equal(i == 0, client_has(stage, "xxx[S]"));
        buf_clear(&stage->play.got);
        memory_free(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_found_is_masked),
        TEST(pieces_of_any_size_come_to_the_same),
        TEST(where_a_column_comes_from_is_asked_once),
        TEST(what_nobody_can_say_is_masked),
        TEST(a_table_that_no_rule_names_is_not_masked),
        TEST(a_describe_of_ours_is_not_told),
        TEST(what_is_blocked_ends_its_batch),
        TEST(what_the_client_says_behind_it_is_dropped),
        TEST(a_query_in_the_batch_is_skipped_as_by_any_error),
        TEST(our_own_words_are_not_masked),
        TEST(rules_that_come_later_hold_from_the_next_statement),
        TEST(a_limit_of_rows_stands_beside_it),
        TEST(large_rows_come_whole_or_are_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
