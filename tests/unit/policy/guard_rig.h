/* SPDX-License-Identifier: MIT */
/* For the tests of guard rails: rules from their JSON, and the scope that judges by them. */
#ifndef GH_TESTS_POLICY_GUARD_RIG_H
#define GH_TESTS_POLICY_GUARD_RIG_H

#include "base/memory.h"
#include "guard_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct sql_settings settings = {.dialect = SQL_POSTGRES};

static struct arena arena;
static struct guard_scratch *scratch;
static struct guard_rules *rules;
static struct guard_scope scope;
static struct guard_verdict verdict;

static inline int rig_set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    scratch = guard_scratch_new();
    rules = NULL;
    verdict = (struct guard_verdict){.count = 0};
    return 0;
}

static inline int rig_tear_down(void **state)
{
    (void)state;
    guard_rules_unref(rules);
    guard_scratch_free(scratch);
    arena_release(&arena);
    return 0;
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_set_up, rig_tear_down)

/* The entries of both directions, for somebody in these groups. */
static inline void rig_use(const char *input, const char *output, const struct slice *groups,
                           size_t count)
{
    struct guardrail guardrail = guardrail_of(&arena, input, output);
    guard_rules_unref(rules);
    rules = NULL;
    assert_int_equal(guard_rules_new(&guardrail, 1, &rules, NULL), ERR_NONE);
    scope = guard_scope_in(&arena, scratch, rules, groups, count);
}

#endif
