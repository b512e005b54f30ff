/* SPDX-License-Identifier: MIT */
#include "store/rows.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TOTAL_MAX 24

static struct arena arena;
static struct error error;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    error = (struct error){0};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

/* Pages --------------------------------------------------------------------------------------- */

static const struct page_hint the_start = {.position = 0, .name = {.at = "", .len = 0}};

/* What a database answers: the rows 'from' to total - 1, or all backward, cut by OFFSET and LIMIT.
 * Returns how many there are. */
static int64_t select_rows(int64_t total, int64_t from, const struct rows_page *page, int64_t *rows)
{
    int64_t count = 0;
    int64_t skipped = page->is_backward ? 0 : from;
    for (int64_t at = skipped + page->offset; at < total && count < page->limit; at++) {
        rows[count++] = page->is_backward ? total - 1 - at : at;
    }
    return count;
}

static void check_page(int64_t total, int64_t limit, int64_t offset, int64_t hinted)
{
    const struct page_hint hint = {.position = hinted, .name = SLICE("name")};
    int64_t wanted[TOTAL_MAX + 4];
    int64_t found[TOTAL_MAX + 4];
    const struct rows_page forward = {.limit = limit, .offset = offset};
    const struct rows_page page = rows_page_of(total, limit, offset, &hint);
    int64_t wanted_count = select_rows(total, 0, &forward, wanted);
    int64_t found_count = select_rows(total, hinted, &page, found);
    assert_true(page.limit >= 0 && page.offset >= 0);
    assert_int_equal(found_count, wanted_count);
    for (int64_t i = 0; i < found_count; i++) {
        assert_int_equal(found[page.is_backward ? found_count - 1 - i : i], wanted[i]);
    }
}

static void every_page_has_the_rows_that_counting_from_the_start_has(void **state)
{
    (void)state;
    for (int64_t total = 0; total <= TOTAL_MAX; total++) {
        for (int64_t limit = 0; limit <= total + 3; limit++) {
            for (int64_t offset = 0; offset <= total + 3; offset++) {
                for (int64_t hinted = 0; hinted <= offset; hinted++) {
                    check_page(total, limit, offset, hinted);
                }
            }
        }
    }
}

static void the_way_is_never_longer_than_half_the_list_and_a_page(void **state)
{
    (void)state;
    for (int64_t total = 0; total <= TOTAL_MAX; total++) {
        for (int64_t offset = 0; offset < total; offset++) {
            struct rows_page page = rows_page_of(total, 3, offset, &the_start);
            assert_true(page.offset <= total / 2);
        }
    }
}

static void the_largest_numbers_do_not_overflow(void **state)
{
    (void)state;
    struct rows_page page = rows_page_of(INT64_MAX, INT64_MAX, INT64_MAX - 1, &the_start);
    assert_true(page.is_backward && page.limit == 1 && page.offset == 0);
    page = rows_page_of(INT64_MAX, 10, INT64_MAX, &the_start);
    assert_true(!page.is_backward && page.limit == 10 && page.offset == INT64_MAX);
    page = rows_page_of(0, INT64_MAX, INT64_MAX, &the_start);
    assert_true(!page.is_backward && page.offset == INT64_MAX);
}

/* Patterns ------------------------------------------------------------------------------------ */

static void check_like(struct slice text, const char *pattern)
{
    assert_string_equal(arena_text(&arena, rows_like_in(&arena, text)), pattern);
}

static void a_pattern_matches_the_text_alone(void **state)
{
    (void)state;
    check_like(SLICE(""), "");
    check_like(SLICE_NONE, "");
    check_like(SLICE("abc"), "%abc%");
    check_like(SLICE("100%"), "%100\\%%");
    check_like(SLICE("a_b"), "%a\\_b%");
    check_like(SLICE("a\\b"), "%a\\\\b%");
    check_like(SLICE("%_\\"), "%\\%\\_\\\\%");
    check_like(SLICE("'; --"), "%'; --%");
}

static void a_pattern_is_in_lower_case(void **state)
{
    (void)state;
    check_like(SLICE("AbC"), "%abc%");
    check_like(SLICE("\xc3\x89t\xc3\xa9"), "%\xc3\x89t\xc3\xa9%"); /* ASCII has case */
}

/* Every text of up to three of these bytes, read back as LIKE reads it. */
static void a_pattern_says_every_text(void **state)
{
    (void)state;
    static const char bytes[] = "a%_\\";
    for (size_t number = 0; number < 4 * 4 * 4; number++) {
        const char text[3] = {bytes[number % 4], bytes[number / 4 % 4], bytes[number / 16]};
        struct slice pattern = rows_like_in(&arena, slice_of(text, sizeof(text)));
        char said[4] = {0};
        size_t said_count = 0;
        assert_true(pattern.at[0] == '%' && pattern.at[pattern.len - 1] == '%');
        for (size_t i = 1; i + 1 < pattern.len; i++) {
            bool is_escaped = pattern.at[i] == '\\';
            i += is_escaped ? 1 : 0;
            assert_true(is_escaped || (pattern.at[i] != '%' && pattern.at[i] != '_'));
            assert_true(i + 1 < pattern.len && said_count < sizeof(text));
            said[said_count++] = pattern.at[i];
        }
        assert_memory_equal(said, text, sizeof(text));
    }
}

/* Pairs --------------------------------------------------------------------------------------- */

static void check_pairs(const struct shape_pairs *pairs)
{
    struct shape_pairs again;
    struct slice text = rows_pairs_text_in(&arena, pairs);
    assert_int_equal(rows_pairs_parse_in(&arena, text, &again, &error), ERR_NONE);
    assert_true(again.is_given);
    assert_int_equal(again.count, pairs->count);
    for (size_t i = 0; i < pairs->count; i++) {
        assert_true(slice_equals(again.pairs[i].key, pairs->pairs[i].key));
        assert_true(slice_equals(again.pairs[i].value, pairs->pairs[i].value));
        assert_int_equal(again.pairs[i].is_null, pairs->pairs[i].is_null);
    }
    assert_true(slice_equals(rows_pairs_text_in(&arena, &again), text));
}

static void pairs_come_back_as_they_were(void **state)
{
    (void)state;
    struct shape_pair pairs[] = {
        {.key = SLICE("b"), .value = SLICE("second letter first")},
        {.key = SLICE("a"), .value = SLICE("")},
        {.key = SLICE("n"), .is_null = true},
        {.key = SLICE("\"quoted\\\" {}\n"), .value = SLICE("\"\\/\b\f\n\r\t\x01\x7f")},
        {.key = SLICE("caf\xc3\xa9"), .value = SLICE("\xf0\x9f\x94\x91 \xe2\x80\xa8")},
        {.key = SLICE("pairs"), .value = SLICE("},{\"pairs\":{}")},
    };
    const struct shape_pairs none = {0};
    check_pairs(&(struct shape_pairs){.pairs = pairs, .count = COUNT_OF(pairs)});
    check_pairs(&none);
    assert_true(slice_equals(rows_pairs_text_in(&arena, &none), SLICE("{}")));
}

static void many_and_long_pairs_come_back(void **state)
{
    (void)state;
    struct shape_pair pairs[100];
    char *value = arena_alloc(&arena, 262144);
    memset(value, 'v', 262144);
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        pairs[i] = (struct shape_pair){.key = arena_format(&arena, "envvar:KEY_%zu", i),
                                       .value = slice_of(value, i == 50 ? 262144 : i)};
    }
    check_pairs(&(struct shape_pairs){.pairs = pairs, .count = COUNT_OF(pairs)});
}

static void a_column_that_holds_no_pairs_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "null",
                                        "[]",
                                        "5",
                                        "{",
                                        "{}}",
                                        "{\"a\": 5}",
                                        "{\"a\": {}}",
                                        "{},\"x\":{",
                                        "{\"a\": \"b\"",
                                        "{\"a\": \"\", \"a\": \"\"}"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct shape_pairs pairs = {0};
        enum err err = rows_pairs_parse_in(&arena, slice_of_text(texts[i]), &pairs, &error);
        assert_int_equal(err, ERR_INPUT);
        assert_false(pairs.is_given);
    }
}

/* Lists --------------------------------------------------------------------------------------- */

static void a_list_grows_and_keeps_what_is_in_it(void **state)
{
    (void)state;
    struct rows_list list = {.arena = &arena, .item_size = sizeof(int64_t)};
    for (int64_t i = 0; i < 1000; i++) {
        int64_t *place = rows_list_add(&list);
        assert_true(*place == 0);
        *place = i + 1;
    }
    const int64_t *items = list.items;
    assert_int_equal(list.count, 1000);
    for (int64_t i = 0; i < 1000; i++) {
        assert_true(items[i] == i + 1);
    }
}

static void the_end_of_the_rows_is_no_error(void **state)
{
    (void)state;
    assert_int_equal(rows_end(ERR_NOT_FOUND), ERR_NONE);
    assert_int_equal(rows_end(ERR_NONE), ERR_NONE);
    assert_int_equal(rows_end(ERR_UNAVAILABLE), ERR_UNAVAILABLE);
}

static size_t count_parameters(const char *sql)
{
    size_t count = 0;
    for (struct slice rest = slice_of_text(sql); rest.at != NULL;) {
        struct slice parameter = slice_trim(slice_cut(rest, ',', &rest), " ");
        assert_true(slice_equals(parameter, arena_format(&arena, "$%zu", ++count)));
    }
    return count;
}

static void there_are_as_many_parameters_as_is_said(void **state)
{
    (void)state;
    assert_int_equal(count_parameters(ROWS_IDS), ROWS_IDS_COUNT);
    assert_int_equal(count_parameters(ROWS_FEW_IDS), ROWS_FEW_IDS_COUNT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_page_has_the_rows_that_counting_from_the_start_has),
        TEST(the_way_is_never_longer_than_half_the_list_and_a_page),
        TEST(the_largest_numbers_do_not_overflow),
        TEST(a_pattern_matches_the_text_alone),
        TEST(a_pattern_is_in_lower_case),
        TEST(a_pattern_says_every_text),
        TEST(pairs_come_back_as_they_were),
        TEST(many_and_long_pairs_come_back),
        TEST(a_column_that_holds_no_pairs_is_refused),
        TEST(a_list_grows_and_keeps_what_is_in_it),
        TEST(the_end_of_the_rows_is_no_error),
        TEST(there_are_as_many_parameters_as_is_said),
    };
    return cmocka_run_group_tests_name("store/rows", tests, NULL, NULL);
}
