/* SPDX-License-Identifier: MIT */
#include "model/rulepack.h"

#include "base/arena.h"
#include "base/memory.h"
#include "model/guardrail.h"
#include "model/masking_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; ours is meant */

static void each_guard_rail_of_a_pack_is_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < rulepack_count; i++) {
        struct arena arena CLEANUP(arena_release);
        struct guardrail guardrail = {0};
        struct error error = {0};
        struct json body;
        arena_init(&arena);
        if (rulepacks[i].guardrail == NULL) {
            continue;
        }
        enum err err = json_parse_in(&arena, slice_of_text(rulepacks[i].guardrail), &body, &error);
        if (err == ERR_NONE) {
            err = shape_read(&guardrail_shape, SHAPE_WHOLE, &body, &guardrail, &error);
        }
        if (err == ERR_NONE) {
            err = guardrail_check(&guardrail, &error);
        }
        assert_string_equal(error.message, "");
        assert_int_equal(err, ERR_NONE);
        assert_true(slice_equals(guardrail.name, slice_of_text(rulepacks[i].name)));
    }
}

static void each_masking_rule_of_a_pack_is_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < rulepack_count; i++) {
        struct arena arena CLEANUP(arena_release);
        struct masking_rule rule = {0};
        struct error error = {0};
        struct json body;
        arena_init(&arena);
        if (rulepacks[i].masking_rule == NULL) {
            continue;
        }
        enum err err =
            json_parse_in(&arena, slice_of_text(rulepacks[i].masking_rule), &body, &error);
        if (err == ERR_NONE) {
            err = shape_read(&masking_rule_shape, SHAPE_WHOLE, &body, &rule, &error);
        }
        if (err == ERR_NONE) {
            err = masking_rule_check(&rule, &error);
        }
        assert_string_equal(error.message, "");
        assert_int_equal(err, ERR_NONE);
        assert_true(slice_equals(rule.name, slice_of_text(rulepacks[i].name)));
    }
}

static void a_pack_is_found_by_its_whole_name(void **state)
{
    (void)state;
    assert_string_equal(rulepack_find(SLICE("read-only"))->name, "read-only");
    assert_null(rulepack_find(SLICE("read")));
    assert_null(rulepack_find(SLICE("")));
    for (size_t i = 1; i < rulepack_count; i++) {
        assert_true(slice_compare(slice_of_text(rulepacks[i - 1].name),
                                  slice_of_text(rulepacks[i].name)) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_guard_rail_of_a_pack_is_valid),
        cmocka_unit_test(each_masking_rule_of_a_pack_is_valid),
        cmocka_unit_test(a_pack_is_found_by_its_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
