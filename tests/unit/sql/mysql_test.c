/* SPDX-License-Identifier: MIT */
/* MySQL's dialect: each case of statements_mysql.txt is a text, a line of dashes, what is found in
 * it, an empty line. Where servers of some versions read it otherwise, that stands behind "or". And
 * the settings of a session that change how a text is read. */
#include "summary.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *cases_path;
static struct arena arena;
static struct buf found;

static const struct sql_settings plain = {
    .dialect = SQL_MYSQL, .is_backslash_quoted = true, .database = SLICE_INIT("")};

static const char *summary_of(const struct sql_settings *settings, struct slice text)
{
    struct sql_script script = sql_analyze(&arena, settings, text);
    buf_truncate(&found, 0);
    summary_write(&found, &script, true);
    if (script.other != NULL) {
        assert_int_equal(buf_append(&found, SLICE("\nor ")), ERR_NONE);
        summary_write(&found, script.other, true);
    }
    return arena_text(&arena, buf_view(&found));
}

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

static void each_construct_does_what_the_grammar_says(void **state)
{
    (void)state;
    struct buf file CLEANUP(buf_release);
    buf_init(&file, LIMIT_MIB(1));
    char *at = NULL;
    FILE *in = fopen(cases_path, "r");
    assert_non_null(in);
    assert_int_equal(buf_reserve(&file, LIMIT_KIB(512), &at), ERR_NONE);
    buf_commit(&file, fread(at, 1, LIMIT_KIB(512), in));
    (void)fclose(in);
    size_t count = 0;
    size_t wrong = 0;
    for (struct slice rest = buf_view(&file); rest.len > 0; count++) {
        struct slice expected;
        struct slice text = next_case(&rest, &expected);
        const char *summary = summary_of(&plain, text);
        if (!slice_equals(slice_of_text(summary), expected)) {
            print_error("%.*s\nexpected: %.*s\nfound:    %s\n", SLICE_ARG(text),
                        SLICE_ARG(expected), summary);
            wrong++;
        }
        arena_reset(&arena);
    }
    assert_int_equal(wrong, 0);
    assert_true(count > 250);
}

static void expect(const struct sql_settings *settings, const char *text, const char *expected)
{
    assert_string_equal(summary_of(settings, slice_of_text(text)), expected);
    arena_reset(&arena);
}

static void backslashes_and_quotes_are_read_as_the_session_says(void **state)
{
    (void)state;
    struct sql_settings settings = plain;
    const char *text = "SELECT '\\'; DELETE FROM t; -- '";
    expect(&settings, text, "select");
    settings.is_backslash_quoted = false;
    expect(&settings, text, "select\ndelete t:+delete -where");
    settings = plain;
    text = "SELECT 1 FROM \"t\"";
    expect(&settings, text, "select ? a FROM that is not understood");
    settings.is_ansi_quoted = true;
    expect(&settings, text, "select t:r");
    expect(&settings, "SELECT \"a\"\"\\\"", "select");
}

static void what_may_be_read_otherwise_behind_a_setting_is_unknown(void **state)
{
    (void)state;
    const char *rest = "set\nother *:r ? what stands before it may change how it is read";
    expect(&plain, "SET sql_mode = ''; SELECT \"a\"", rest);
    expect(&plain, "SET @@`sql_mode` = ''; SELECT '\\''", rest);
    expect(&plain, "SET NAMES gbk; SELECT '\xc3\xa4'", rest);
    expect(&plain, "SET NAMES latin1; SELECT 'a'", "set\nselect");
    expect(&plain, "SET @a = 1; SELECT \"a\"", "set\nselect");
}

static void names_without_a_database_are_in_the_session_s(void **state)
{
    (void)state;
    struct sql_settings settings = plain;
    settings.database = SLICE("shop");
    expect(&settings, "SELECT 1 FROM t, hr.u", "select shop.t:r hr.u:r");
    expect(&settings, "DELETE FROM t; USE hr; DELETE FROM t",
           "delete shop.t:+delete -where\nset\ndelete hr.t:+delete -where");
    expect(&settings, "DROP DATABASE x", "drop x.*:+drop");
}

static void character_sets_may_hide_quotes(void **state)
{
    (void)state;
    struct sql_settings settings = plain;
    settings.charset = SQL_CHARSET_HIDING;
    expect(&settings, "SELECT 'a' FROM t", "select t:r");
    expect(&settings, "SELECT '\xbf\\' OR 1",
           "other *:r ? quotes can be parts of characters in "
           "this encoding");
    settings.charset = SQL_CHARSET_SINGLE;
    expect(&settings, "SELECT '\xbf' FROM t", "select t:r");
    expect(&settings, "SELECT 1\xa0 FROM t",
           "other *:r ? a name is in an encoding that is not read");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_construct_does_what_the_grammar_says),
        cmocka_unit_test(backslashes_and_quotes_are_read_as_the_session_says),
        cmocka_unit_test(what_may_be_read_otherwise_behind_a_setting_is_unknown),
        cmocka_unit_test(names_without_a_database_are_in_the_session_s),
        cmocka_unit_test(character_sets_may_hide_quotes),
    };
    cases_path = argc > 1 ? argv[1] : "statements_mysql.txt";
    arena_init(&arena);
    buf_init(&found, LIMIT_MIB(1));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_release(&found);
    arena_release(&arena);
    return failed;
}
