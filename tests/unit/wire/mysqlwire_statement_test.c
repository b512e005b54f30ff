/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_statement.h"

#include "mysqlwire_help.h"

static void a_kill_is_known_however_it_is_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t id;
        bool ends;
    } kills[] = {
        {"KILL 7", 7, true},
        {"kill query 7", 7, false},
        {"KILL CONNECTION 18446744073709551615;", UINT64_MAX, true},
        {" /* who */ KiLl\n-- me\n QUERY\t42 # now", 42, false},
        {"KILL /*!50000 QUERY */ 42", 42, false},
        {"/*M!100000 KILL SOFT QUERY 9 */", 9, false},
        {"KILL HARD 5 ;  ", 5, true},
    };
    struct mysqlwire_kill kill;
    for (size_t i = 0; i < COUNT_OF(kills); i++) {
        assert_true(mysqlwire_kill_read(slice_of_text(kills[i].text), &kill));
        assert_true(kill.id == kills[i].id);
        assert_int_equal(kill.ends_connection, kills[i].ends);
    }
}

static void other_statements_are_none(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "KILL",
                                         "KILL QUERY",
                                         "KILL x",
                                         "SELECT 'KILL 7'",
                                         "KILL 7 8",
                                         "KILL 7; DO 1",
                                         "KILL USER root",
                                         "KILLS 7",
                                         "KILL QUERY ID (1)",
                                         "/* KILL 7 */",
                                         "KILL 7a",
                                         "KILL CONNECTION_ID()",
                                         "-- KILL 7",
                                         "KILL -7",
                                         "/*",
                                         "KILL 18446744073709551616"};
    struct mysqlwire_kill kill;
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(mysqlwire_kill_read(slice_of_text(others[i]), &kill));
    }
}

static void what_begins_with_it_is_known_whatever_follows(void **state)
{
    (void)state;
    static const char *const texts[] = {"KILL",           "kill query 7",    "KILL USER root",
                                        "/**/KILL 7; DO", "/*!KILL*/ 7 + 0", "# x\nKiLL?"};
    static const char *const others[] = {"",       "KILLS 7",      "DO 1; KILL 7",
                                         "'KILL'", "/* KILL 7 */", "/* KILL"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_true(mysqlwire_is_kill(slice_of_text(texts[i])));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(mysqlwire_is_kill(slice_of_text(others[i])));
    }
}

static void one_behind_a_semicolon_is_found_and_prose_is_not(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "DO 1; KILL 7",       ";kill/**/query 7",    "SELECT '\\'; KILL 7",     "a;;# x\nKILL @x",
        "a; KILL (SELECT 1)", "a; kill user 'root'", "a; KILL CONNECTION_ID()", "a;/*!KILL*/ 7",
        "a; KILL f.g()",      "a; KILL -- x\n 7"};
    static const char *const others[] = {"",
                                         "KILL 7",
                                         "a;",
                                         "'they; kill time'",
                                         "a; SKILL 7",
                                         "a /*; kill me */",
                                         "'; kill nobody'"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_true(mysqlwire_has_kill(slice_of_text(texts[i])));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(mysqlwire_has_kill(slice_of_text(others[i])));
    }
}

static void a_file_is_named_by_the_statement_that_loads_it(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "LOAD DATA LOCAL INFILE '/tmp/a b' INTO TABLE t",
        "load data low_priority local /* x */ infile \"/tmp/a b\" into table t",
        "DO 1; LOAD DATA LOCAL INFILE 'x' INTO TABLE t; LOAD XML LOCAL INFILE '/tmp/a\\ b'",
        "LOAD DATA LOCAL INFILE'/tmp/a b'",
    };
    static const char *const others[] = {
        "SELECT 1",
        "LOAD DATA INFILE '/tmp/a b' INTO TABLE t",
        "LOAD DATA LOCAL INFILE '/tmp/a c' INTO TABLE t",
        "LOAD DATA LOCAL INFILE '/tmp/a b",
        "LOAD DATA LOCAL INFILE '/tmp/a bc'",
        "LOAD DATA LOCAL, INFILE '/tmp/a b'",
        "LOAD DATA LOCAL INFILE '/tmp/a'",
        "LOAD DATA LOCAL INFILE",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        assert_true(mysqlwire_names_file(slice_of_text(texts[i]), SLICE("/tmp/a b")));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(mysqlwire_names_file(slice_of_text(others[i]), SLICE("/tmp/a b")) &&
                     i != 3); /* a text that is cut is looked at as far as it goes */
    }
    assert_true(
        mysqlwire_names_file(SLICE("load data local infile 'a''b\\n\\\\c'"), SLICE("a'b\n\\c")));
    assert_true(mysqlwire_names_file(SLICE("load data local infile 'C:\\x'"), SLICE("C:\\x")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_is_known_however_it_is_written),
        cmocka_unit_test(other_statements_are_none),
        cmocka_unit_test(what_begins_with_it_is_known_whatever_follows),
        cmocka_unit_test(one_behind_a_semicolon_is_found_and_prose_is_not),
        cmocka_unit_test(a_file_is_named_by_the_statement_that_loads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
