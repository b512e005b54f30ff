/* SPDX-License-Identifier: MIT */
/* Globs, the normal form, known functions. */
#include "base/memory.h"
#include "base/must.h"
#include "policy/guard_function.h"
#include "policy/guard_glob.h"
#include "policy/guard_normal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool matches(const char *text, const char *schema, const char *name)
{
    struct guard_glob glob = guard_glob_view(slice_of_text(text));
    struct sql_name wanted = {.schema = slice_of_text(schema), .name = slice_of_text(name)};
    bool is_match = guard_glob_matches(&glob, &wanted, SQL_POSTGRES);
    assert_true(!is_match ||
                (guard_glob_start(&glob) & guard_name_start(wanted.name, SQL_POSTGRES)) != 0);
    return is_match;
}

static void globs_match_names(void **state)
{
    (void)state;
    assert_true(matches("users", "", "users"));
    assert_true(matches("users", "any", "users"));
    assert_false(matches("users", "", "Users"));
    assert_false(matches("users", "", "users2"));
    assert_false(matches("users", "", "user"));
    assert_true(matches("user*", "", "users"));
    assert_true(matches("*", "", "x"));
    assert_true(matches("*", "", ""));
    assert_true(matches("*s", "", "users"));
    assert_true(matches("u*e*s", "", "users"));
    assert_true(matches("u**s", "", "us"));
    assert_false(matches("u*x*s", "", "users"));
    assert_true(matches("?sers", "", "users"));
    assert_false(matches("?users", "", "users"));
    assert_true(matches("?x", "", "\xc3\xa4x"));
    assert_true(matches("*ab", "", "aab"));
    assert_true(matches("a*b*c", "", "abbbxc"));
}

static void starts_of_globs_and_names_tell_most_apart(void **state)
{
    (void)state;
    struct guard_glob glob = guard_glob_view(SLICE("hr.sal*"));
    assert_true((guard_glob_start(&glob) & guard_name_start(SLICE("salaries"), SQL_POSTGRES)) != 0);
    assert_true((guard_glob_start(&glob) & guard_name_start(SLICE("hr"), SQL_POSTGRES)) == 0);
    assert_true((guard_glob_start(&glob) & guard_name_start(SLICE("\xc3\xa4"), SQL_POSTGRES)) == 0);
    static const char *const any[] = {"*", "hr.?alaries", "hr."};
    for (size_t i = 0; i < COUNT_OF(any); i++) {
        glob = guard_glob_view(slice_of_text(any[i]));
        assert_true(guard_glob_start(&glob) == UINT64_MAX);
    }
}

static void schemas_match_or_are_unknown(void **state)
{
    (void)state;
    assert_true(matches("public.users", "public", "users"));
    assert_true(matches("public.users", "", "users"));
    assert_false(matches("public.users", "private", "users"));
    assert_true(matches("p*.users", "private", "users"));
    assert_true(matches("*.users", "private", "users"));
    assert_true(matches("p*.*", "private", "a.b"));
}

static void long_names_are_cut_as_the_database_cuts_them(void **state)
{
    (void)state;
    char name[80];
    memset(name, 'a', sizeof(name) - 1);
    name[79] = '\0';
    char wanted[64];
    memset(wanted, 'a', sizeof(wanted) - 1);
    wanted[63] = '\0';
    assert_true(matches(wanted, "", name));
    assert_true(matches(name, "", name));
    wanted[62] = 'b';
    assert_false(matches(wanted, "", name));
    /* A character that the cut would go through is left out whole. */
    name[62] = '\xc3';
    name[63] = '\xa4';
    wanted[62] = '\0';
    assert_true(matches(wanted, "", name));
}

static void check_normal(const char *text, bool is_backslash_quoted, const char *wanted)
{
    struct buf buf;
    buf_init(&buf, 1000);
    assert_int_equal(guard_normal_form(&buf, slice_of_text(text), is_backslash_quoted), ERR_NONE);
    assert_int_equal(buf_view(&buf).len, strlen(wanted));
    assert_memory_equal(buf_view(&buf).at, wanted, strlen(wanted));
    buf_release(&buf);
}

static void blanks_and_comments_are_one_blank(void **state)
{
    (void)state;
    check_normal("", false, "");
    check_normal(" \t\n", false, "");
    check_normal("a", false, "a");
    check_normal("a b", false, "a b");
    check_normal(" a  b\t", false, "a b");
    check_normal("a/**/b", false, "a b");
    check_normal("a--b\nc", false, "a c");
    check_normal("a--b\rc", false, "a c");
    check_normal("a--b", false, "a");
    check_normal("a/*/**/*/b", false, "a b");
    check_normal("a/* /* */ b", false, "a");
    check_normal("a/ *b- -c", false, "a/ *b- -c");
    check_normal("/* x */a -- y", false, "a");
    check_normal("a /* x */ -- y\n /**/ b", false, "a b");
    check_normal("a /", false, "a /");
    check_normal("a -", false, "a -");
}

static void quotes_stay_as_they_are(void **state)
{
    (void)state;
    check_normal("'a  b'  c", false, "'a  b' c");
    check_normal("'a''  b'  c", false, "'a''  b' c");
    check_normal("\"a  \"\" --b\"  c", false, "\"a  \"\" --b\" c");
    check_normal("'a\\'  b  '", false, "'a\\' b '");
    check_normal("'a\\'  b  '  c", true, "'a\\'  b  ' c");
    check_normal("E'a\\'  b  '  c", false, "E'a\\'  b  ' c");
    check_normal("ze'a\\'  b", false, "ze'a\\' b");
    check_normal("'a  ", false, "'a  ");
    check_normal("E'a\\", false, "E'a\\");
    check_normal("$$a  b$$  c", false, "$$a  b$$ c");
    check_normal("$x$a  $$ $y$ b$x$  c", false, "$x$a  $$ $y$ b$x$ c");
    check_normal("$x$a  b", false, "$x$a  b");
    check_normal("$1  $2", false, "$1 $2");
    check_normal("a$$  b$$", false, "a$$ b$$");
    check_normal("$a  b", false, "$a b");
}

static void quotes_begin_and_end_where_the_database_says(void **state)
{
    (void)state;
    check_normal("$1$a$  $1  $a$  b", false, "$1$a$  $1  $a$ b");
    check_normal("1$a$  b$a$  c", false, "1$a$  b$a$ c");
    check_normal("1e5$$  b$$  c", false, "1e5$$  b$$ c");
    check_normal("a1$a$  b$a$  c", false, "a1$a$ b$a$ c");
    check_normal("E'a''\\''  b'  c", false, "E'a''\\'' b'  c");
    check_normal("E'a''\\''  b", false, "E'a''\\'' b");
    check_normal("E'a'\n'\\'  b'  c", false, "E'a' '\\'  b' c");
    check_normal("E'a' -- d\n'\\'  b'  c", false, "E'a' '\\'  b' c");
    check_normal("E'a' '\\'  b", false, "E'a' '\\' b");
    check_normal("x'a\\'  b", true, "x'a\\' b");
    check_normal("b''  '\\'  b'  c", true, "b'' '\\'  b' c");
    check_normal("1e'\\'  b'  c", false, "1e'\\'  b' c");
    check_normal("1e5e'\\'  b'  c", false, "1e5e'\\'  b' c");
    check_normal("0xe'\\'  b", false, "0xe'\\' b");
    check_normal(".5e'\\'  b'  c", false, ".5e'\\'  b' c");
    check_normal("\n'\\'  b", false, "'\\' b");
}

static void what_was_cut_has_the_same_form(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        " ",
        "a",
        " a  b\t",
        "a/**/b",
        "a--b\nc",
        "a /* x */ b",
        "/* a */ b;",
        "a ;  b",
        " 'a  b'\n'c' ",
        "E'a'\n'\\''",
        "$1$a$  $a$",
        "\"a  b\" ",
        "u&'a'  uescape '!'",
        "a -- b",
    };
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct slice text = slice_of_text(texts[i]);
        struct sql_script script = sql_analyze(&arena, &settings, text);
        struct buf read;
        struct buf cut;
        buf_init(&read, 1000);
        buf_init(&cut, 1000);
        assert_true(script.is_cut);
        must(guard_normal_form(&read, text, false) == ERR_NONE);
        must(guard_normal_cut(&cut, text, 0, script.gaps, script.gap_count) == ERR_NONE);
        assert_true(slice_equals(buf_view(&read), buf_view(&cut)));
        buf_release(&read);
        buf_release(&cut);
    }
    arena_release(&arena);
}

static void it_is_the_same_twice(void **state)
{
    (void)state;
    static const char *const texts[] = {"a  /**/ 'b  c' -- d\n e", "$x$  $x$  /* a", "E'\\'  '  x"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct buf once;
        buf_init(&once, 1000);
        must(guard_normal_form(&once, slice_of_text(texts[i]), false) == ERR_NONE);
        struct buf twice;
        buf_init(&twice, 1000);
        must(guard_normal_form(&twice, buf_view(&once), false) == ERR_NONE);
        assert_true(slice_equals(buf_view(&once), buf_view(&twice)));
        buf_release(&once);
        buf_release(&twice);
    }
}

static bool is_harmless(const char *schema, const char *name)
{
    return guard_function_is_harmless(
        &(struct sql_name){.schema = slice_of_text(schema), .name = slice_of_text(name)});
}

static void the_database_s_own_functions_are_known(void **state)
{
    (void)state;
    static const char *const known[] = {
        "abbrev",          "xpath_exists",        "count",           "now",
        "coalesce",        "pg_get_expr",         "format_type",     "has_table_privilege",
        "array_to_string", "pg_table_is_visible", "obj_description", "pg_stat_get_numscans",
        "uuidv7",          "any_value",           "row_number",      "json_value",
        "pg_get_userbyid", "current_setting",     "generate_series", "unnest"};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        assert_true(is_harmless("", known[i]));
        assert_true(is_harmless("pg_catalog", known[i]));
        assert_false(is_harmless("public", known[i]));
    }
    static const char *const others[] = {"",
                                         "zzz",
                                         "aaa",
                                         "lo_export",
                                         "pg_read_file",
                                         "pg_ls_dir",
                                         "dblink",
                                         "query_to_xml",
                                         "table_to_xml",
                                         "pg_terminate_backend",
                                         "setval",
                                         "pg_switch_wal",
                                         "ts_stat",
                                         "cursor_to_xml",
                                         "database_to_xml",
                                         "lo_unlink",
                                         "pg_reload_conf",
                                         "COUNT"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(is_harmless("", others[i]));
        assert_false(is_harmless("pg_catalog", others[i]));
    }
    assert_true(is_harmless("information_schema", "_pg_expandarray"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(globs_match_names),
        cmocka_unit_test(starts_of_globs_and_names_tell_most_apart),
        cmocka_unit_test(schemas_match_or_are_unknown),
        cmocka_unit_test(long_names_are_cut_as_the_database_cuts_them),
        cmocka_unit_test(blanks_and_comments_are_one_blank),
        cmocka_unit_test(quotes_stay_as_they_are),
        cmocka_unit_test(quotes_begin_and_end_where_the_database_says),
        cmocka_unit_test(what_was_cut_has_the_same_form),
        cmocka_unit_test(it_is_the_same_twice),
        cmocka_unit_test(the_database_s_own_functions_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
