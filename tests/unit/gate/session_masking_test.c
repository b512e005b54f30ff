/* SPDX-License-Identifier: MIT */
#include "gate/session_masking.h"

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

static void assert_metrics(const struct mask_counts *counts, const char *wanted)
{
    const struct session_masking masking = session_masking_in(&arena, counts);
    const char *text = arena_text(&arena, session_metrics_json_in(&arena, &masking));
    assert_string_equal(text, wanted);
}

static void rules_that_found_nothing_are_said(void **state)
{
    (void)state;
    assert_metrics(&(struct mask_counts){0},
                   "{\"data_masking\":{\"info_types\":{},\"total_redact_count\":0,"
                   "\"transformed_bytes\":0,\"err_count\":0}}");
}

static void what_was_found_is_said_by_type(void **state)
{
    (void)state;
    struct mask_counts counts = {.columns = 2,
                                 .column_bytes = 20,
                                 .custom = 3,
                                 .custom_bytes = 9,
                                 .bytes = 59 + 100,
                                 .errors = 4};
    counts.by_type[DETECT_EMAIL_ADDRESS] = 1;
    counts.bytes_by_type[DETECT_EMAIL_ADDRESS] = 30;
    assert_metrics(&counts,
                   "{\"data_masking\":{\"info_types\":{\"EMAIL_ADDRESS\":1,\"COLUMN\":2,\"CUSTOM\":"
                   "3,\"UNEXAMINED\":4},\"total_redact_count\":10,\"transformed_bytes\":159,"
                   "\"err_count\":4}}");
}

static void what_was_refused_is_an_error_alone(void **state)
{
    (void)state;
    assert_metrics(&(struct mask_counts){.errors = 2},
                   "{\"data_masking\":{\"info_types\":{},\"total_redact_count\":0,"
                   "\"transformed_bytes\":0,\"err_count\":2}}");
}

static void all_types_have_room(void **state)
{
    (void)state;
    struct mask_counts counts = {.columns = 1, .custom = 1, .errors = 1, .bytes = 1};
    for (int i = 0; i < DETECT_TYPE_COUNT; i++) {
        counts.by_type[i] = UINT32_MAX;
    }
    const struct session_masking masking = session_masking_in(&arena, &counts);
    assert_int_equal(masking.type_count, DETECT_TYPE_COUNT + 3);
    assert_true(session_metrics_json_in(&arena, &masking).len > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_that_found_nothing_are_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_found_is_said_by_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_refused_is_an_error_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_types_have_room, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("gate/session_masking", tests, NULL, NULL);
}
