/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_resized_keeps_its_bytes(void **state)
{
    (void)state;
    char *at = memory_wipe_resize(NULL, 4);
    assert_non_null(at);
    memcpy(at, "abc", 4);
    at = memory_wipe_resize(at, 100000);
    assert_string_equal(at, "abc");
    at = memory_wipe_resize(at, 2);
    assert_memory_equal(at, "ab", 2);
    at = memory_wipe_resize(at, 0);
    assert_non_null(at);
    memory_wipe_free(at);
}

static void nothing_can_be_freed(void **state)
{
    (void)state;
    memory_wipe_free(NULL);
    memory_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_resized_keeps_its_bytes),
        cmocka_unit_test(nothing_can_be_freed),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
