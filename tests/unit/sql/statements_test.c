/* SPDX-License-Identifier: MIT */
/* Each construct of the manual has its case in statements.txt: the text, a line of dashes, what
 * is found in it, an empty line. */
#include "summary.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *cases_path;

static struct slice next_case(struct slice *rest, struct slice *ret_expected)
{
    size_t middle = slice_find(*rest, SLICE("\n----\n"));
    struct slice text = slice_sub(*rest, 0, middle);
    struct slice behind = slice_from(*rest, middle + 6);
    size_t end = slice_find(behind, SLICE("\n\n"));
    *ret_expected = slice_sub(behind, 0, end);
    *rest = slice_from(behind, end + 2);
    return text;
}

/* Who does not ask for columns is told the same of all else. */
static bool is_same_without_columns(struct arena *arena, struct slice text,
                                    const struct sql_script *script)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct sql_script effects = sql_analyze_effects(arena, &settings, text);
    struct buf all CLEANUP(buf_release);
    struct buf found CLEANUP(buf_release);
    buf_init(&all, LIMIT_MIB(1));
    buf_init(&found, LIMIT_MIB(1));
    summary_write(&all, script, false);
    summary_write(&found, &effects, true);
    return slice_equals(buf_view(&all), buf_view(&found));
}

static void each_construct_does_what_the_grammar_says(void **state)
{
    (void)state;
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct arena arena;
    struct buf file CLEANUP(buf_release);
    struct buf found CLEANUP(buf_release);
    arena_init(&arena);
    buf_init(&file, LIMIT_MIB(1));
    buf_init(&found, LIMIT_MIB(1));
    char *at = NULL;
    FILE *in = fopen(cases_path, "r");
    assert_non_null(in);
    assert_int_equal(buf_reserve(&file, LIMIT_KIB(512), &at), ERR_NONE);
    buf_commit(&file, fread(at, 1, LIMIT_KIB(512), in));
    (void)fclose(in);
    size_t count = 0;
    for (struct slice rest = buf_view(&file); rest.len > 0; count++) {
        struct slice expected;
        struct slice text = next_case(&rest, &expected);
        struct sql_script script = sql_analyze(&arena, &settings, text);
        buf_truncate(&found, 0);
        summary_write(&found, &script, true);
        if (!slice_equals(buf_view(&found), expected)) {
            print_error("%.*s\nexpected: %.*s\nfound:    %.*s\n", SLICE_ARG(text),
                        SLICE_ARG(expected), SLICE_ARG(buf_view(&found)));
            fail();
        }
        assert_true(is_same_without_columns(&arena, text, &script));
        arena_reset(&arena);
    }
    assert_true(count > 300);
    arena_release(&arena);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_construct_does_what_the_grammar_says),
    };
    cases_path = argc > 1 ? argv[1] : "statements.txt";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
