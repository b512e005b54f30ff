/* SPDX-License-Identifier: MIT */
#include "pg_replay_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void prepared_statements_are_shown_with_their_values(void **state)
{
    (void)state;
    static const char four[] = {0, 0, 0, 42};
    said_parse("s1", "SELECT $1", 23);
    said_by_client('D', SLICE("Ss1\0"));
    said_by_target('t', SLICE("\0\1\0\0\0\x17"));
    said_columns(two_names, two_types, 2, false);
    said_ready();
    for (int i = 0; i < 2; i++) {
        said_bind("", "s1", 1, (const struct slice[]){slice_of(four, 4)}, 1, 1);
        said_by_client('E', SLICE("\0\0\0\0\0"));
        said_row((const struct slice[]){SLICE("\xff\xff\xff\xff"), SLICE("text")}, 2);
        said_by_target('C', SLICE("SELECT 1\0"));
    }
    export_finish();
    export_check(RECORDING_TEXT, "T #1 > SELECT $1\n    $1 = 42\n"
                                 "    id\tthe name\n"
                                 "    -1\ttext\n"
                                 "T #1 SELECT 1\n"
                                 "T #2 > SELECT $1\n    $1 = 42\n"
                                 "    id\tthe name\n"
                                 "    -1\ttext\n"
                                 "T #2 SELECT 1\n"
                                 "T session closed: {\"reason\":\"client left\"}\n");
    export_check(RECORDING_CSV, "id,the name\n-1,text\n\nid,the name\n-1,text\n");
}

static void values_that_have_no_simple_type_are_hex(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const uint32_t types[] = {16, 20, 701, 2950, 3802, 21};
    said_by_client('Q', SLICE("binary\0"));
    said_columns(names, types, 6, true);
    said_row((const struct slice[]){SLICE("\1"), SLICE("\x80\0\0\0\0\0\0\0"), SLICE("\1\2\xab"),
                                    SLICE("\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10"),
                                    SLICE("\1{\"x\":1}"), SLICE("\xff\xfe")},
             6);
    said_row((const struct slice[]){SLICE("ab"), SLICE("a"), SLICE(""), SLICE("u"), SLICE("j"),
                                    SLICE("xyz")},
             6);
    export_finish();
    export_check(RECORDING_CSV,
                 "a,b,c,d,e,f\n"
                 "t,-9223372036854775808,\\x0102ab,01020304-0506-0708-090a-0b0c0d0e0f10,"
                 "\"{\"\"x\"\":1}\",-2\n"
                 "\\x6162,\\x61,\\x,\\x75,\\x6a,\\x78797a\n");
}

/* Three in one batch; the second fails, the third does not run. */
static void an_error_belongs_to_what_failed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const texts[] = {"one", "two", "three"};
        said_parse("", texts[i], 0);
        said_bind("", "", 0, NULL, 0, 0);
        said_by_client('E', SLICE("\0\0\0\0\0"));
    }
    said_by_target('C', SLICE("UPDATE 1\0"));
    said_error("42P01", "no two");
    said_parse("bad", "SELEC", 0);
    said_error("42601", "no such word");
    said_by_client('Q', SLICE("after\0"));
    said_by_target('I', SLICE(""));
    export_finish();
    export_check(RECORDING_TEXT, "T #1 > one\nT #2 > two\nT #3 > three\n"
                                 "T #1 UPDATE 1\n"
                                 "T #2 ERROR 42P01: no two\n    hint: try again\n"
                                 "T #3 (did not run: an earlier statement failed)\n"
                                 "T #4 > SELEC\n"
                                 "T #4 ERROR 42601: no such word\n    hint: try again\n"
                                 "T #5 > after\n"
                                 "T #5 (done)\n"
                                 "T session closed: {\"reason\":\"client left\"}\n");
}

static void execute(const char *text)
{
    said_parse("", text, 0);
    said_bind("", "", 0, NULL, 0, 0);
    said_by_client('E', SLICE("\0\0\0\0\0"));
}

/* What is recorded of a client that waits for each answer: no Sync. */
static void answers_belong_to_what_was_asked_last(void **state)
{
    (void)state;
    said_by_client('Q', SLICE("one\0"));
    said_by_target('C', SLICE("ONE\0"));
    said_ready();
    said_by_client('Q', SLICE("two; and more\0"));
    said_by_target('C', SLICE("TWO\0"));
    said_by_target('C', SLICE("MORE\0"));
    said_ready();
    said_by_client('Q', SLICE("three\0"));
    said_error("42601", "no three");
    said_ready();
    said_by_client('Q', SLICE("\0"));
    said_by_target('I', SLICE(""));
    said_ready();
    said_by_client('F', SLICE("\0\0\0\x7\0\0\0\0\0\0"));
    said_by_target('V', SLICE("\xff\xff\xff\xff"));
    said_ready();
    execute("six");
    said_by_target('C', SLICE("SIX\0"));
    said_ready();
    said_parse("s", "never run", 0); /* and a Sync */
    said_ready();
    execute("seven");
    said_error("42601", "no seven");
    said_ready();
    said_by_client('Q', SLICE("eight\0"));
    said_by_target('C', SLICE("EIGHT\0"));
    said_ready();
    export_finish();
    export_check(RECORDING_TEXT, "T #1 > one\nT #1 ONE\n"
                                 "T #2 > two; and more\nT #2 TWO\nT #2 MORE\n"
                                 "T #3 > three\nT #3 ERROR 42601: no three\n    hint: try again\n"
                                 "T #4 > \nT #4 (done)\n"
                                 "T #5 > (call of function 7)\n"
                                 "T #6 > six\nT #6 SIX\n"
                                 "T #7 > seven\nT #7 ERROR 42601: no seven\n    hint: try again\n"
                                 "T #8 > eight\nT #8 EIGHT\n"
                                 "T session closed: {\"reason\":\"client left\"}\n");
}

/* Of one that does not wait, Sync and ReadyForQuery show where an error ends. */
static void an_error_ends_its_own_batch_alone(void **state)
{
    (void)state;
    execute("one");
    execute("two");
    said_by_client('S', SLICE(""));
    execute("three");
    said_by_client('S', SLICE(""));
    said_by_client('Q', SLICE("four; four\0"));
    said_by_client('Q', SLICE("five\0"));
    said_error("42P01", "no one");
    said_ready();
    said_by_target('C', SLICE("THREE\0"));
    said_ready();
    said_by_target('C', SLICE("FOUR\0"));
    said_by_target('C', SLICE("FOUR\0"));
    said_ready();
    said_by_target('C', SLICE("FIVE\0"));
    export_finish();
    export_check(RECORDING_TEXT,
                 "T #1 > one\nT #2 > two\nT #3 > three\nT #4 > four; four\nT #5 > five\n"
                 "T #1 ERROR 42P01: no one\n    hint: try again\n"
                 "T #2 (did not run: an earlier statement failed)\n"
                 "T #3 THREE\nT #4 FOUR\nT #4 FOUR\nT #5 FIVE\n"
                 "T session closed: {\"reason\":\"client left\"}\n");
}

/* A client that goes on amid the answers to a query of several statements, or right before it is
 * told that the server is ready: what is left of them comes first. */
static void a_query_is_answered_whole_before_the_next(void **state)
{
    (void)state;
    said_by_client('Q', SLICE("one; one\0"));
    said_by_target('C', SLICE("A\0"));
    said_by_client('Q', SLICE("two; two\0"));
    said_by_client('Q', SLICE("three\0"));
    said_columns(two_names, two_types, 1, false);
    said_row((const struct slice[]){SLICE("1")}, 1);
    said_by_target('C', SLICE("B\0"));
    said_ready();
    said_by_target('C', SLICE("C\0"));
    said_error("22012", "no two");
    said_ready();
    said_by_target('C', SLICE("D\0"));
    execute("four");
    said_ready();
    said_by_target('C', SLICE("E\0"));
    said_ready();
    export_finish();
    export_check(RECORDING_TEXT, "T #1 > one; one\nT #1 A\n"
                                 "T #2 > two; two\nT #3 > three\n"
                                 "    id\n    1\n"
                                 "T #1 B\nT #2 C\n"
                                 "T #2 ERROR 22012: no two\n    hint: try again\n"
                                 "T #3 D\nT #4 > four\nT #4 E\n"
                                 "T session closed: {\"reason\":\"client left\"}\n");
}

/* Of three statements that are described at once, one has no rows: NoData is not recorded. */
static void columns_belong_to_what_was_described(void **state)
{
    (void)state;
    static const char *const names[] = {"first", "third"};
    static const char *const tags[] = {"A\0", "B\0", "C\0"};
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        const char object[] = {'S', (char)('a' + i), '\0'};
        said_parse(name, name, 0);
        said_by_client('D', slice_of(object, sizeof(object)));
    }
    for (int i = 0; i < 3; i++) {
        /* of one the count has wrapped, as behind 65,535 parameters */
        said_by_target('t', i == 0 ? SLICE("\0\0\0\0\0\x17") : SLICE("\0\0"));
        if (i != 1) {
            said_columns(&names[i / 2], two_types, 1, false);
        }
    }
    said_ready();
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        said_bind("", name, 0, NULL, 0, 0);
        said_by_client('E', SLICE("\0\0\0\0\0"));
        if (i != 1) {
            said_row((const struct slice[]){SLICE("1")}, 1);
        }
        said_by_target('C', slice_of(tags[i], 2));
    }
    export_finish();
    export_check(RECORDING_TEXT, "T #1 > a\n    first\n    1\nT #1 A\n"
                                 "T #2 > b\nT #2 B\n"
                                 "T #3 > c\n    third\n    1\nT #3 C\n"
                                 "T session closed: {\"reason\":\"client left\"}\n");
}

static void copies_and_notifications_are_shown(void **state)
{
    (void)state;
    said_by_client('Q', SLICE("COPY t FROM STDIN\0"));
    said_by_target('G', SLICE("\0\0\0"));
    said_by_client('d', SLICE("1\tone\n"));
    said_by_client('f', SLICE("no more\0"));
    said_by_target('A', SLICE("\0\0\0\1news\0hello\0"));
    said_by_target('C', SLICE("COPY 0\0"));
    said_ready();
    export_finish();
    export_check(RECORDING_TEXT, "T #1 > COPY t FROM STDIN\n"
                                 "T #1 copied in: 1\tone\n    \n"
                                 "T #1 the client ended the copy: no more\n"
                                 "T notification of news: hello\n"
                                 "T #1 COPY 0\n"
                                 "T session closed: {\"reason\":\"client left\"}\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, export_set_up, export_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(prepared_statements_are_shown_with_their_values),
        TEST(values_that_have_no_simple_type_are_hex),
        TEST(an_error_belongs_to_what_failed),
        TEST(answers_belong_to_what_was_asked_last),
        TEST(an_error_ends_its_own_batch_alone),
        TEST(a_query_is_answered_whole_before_the_next),
        TEST(columns_belong_to_what_was_described),
        TEST(copies_and_notifications_are_shown),
    };
    return cmocka_run_group_tests_name("postgres/pg_replay", tests, NULL, NULL);
}
