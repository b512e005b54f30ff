/* SPDX-License-Identifier: MIT */
#include "app/sql_command.h"

#include "base/memory.h"
#include "base/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct error error;
static char *answer;

static int tear_down(void **state)
{
    (void)state;
    free(answer);
    answer = NULL;
    return 0;
}

/* Into 'answer'. */
static enum err analyze(char **arguments, const char *text)
{
    struct arena arena CLEANUP(arena_release);
    size_t size = 0;
    char bytes[256];
    (void)snprintf(bytes, sizeof(bytes), "%s", text);
    FILE *in = bytes[0] == '\0' ? fopen("/dev/null", "r") : fmemopen(bytes, strlen(bytes), "r");
    FILE *out = open_memstream(&answer, &size);
    must(in != NULL && out != NULL);
    arena_init(&arena);
    error = (struct error){0};
    enum err err = sql_command_analyze(&arena, arguments, in, out, &error);
    must(fclose(in) == 0 && fclose(out) == 0);
    return err;
}

static void assert_says(const char *part)
{
    if (strstr(answer, part) == NULL) {
        print_error("'%s' is not in: %s", part, answer);
        must(false);
    }
}

static void each_statement_is_a_line(void **state)
{
    (void)state;
    char *none[] = {NULL};
    assert_int_equal(analyze(none, "DELETE FROM a.t; SELECT f(x) FROM t"), ERR_NONE);
    const char *second = strchr(answer, '\n');
    assert_true(second != NULL && strchr(second + 1, '\n') == answer + strlen(answer) - 1);
    assert_says("{\"offset\":0,\"length\":15,\"verb\":\"delete\",\"operations\":[\"delete\"],"
                "\"relations\":[{\"schema\":\"a\",\"name\":\"t\",\"read\":false,\"written\":true,"
                "\"all\":false,"
                "\"operations\":[\"delete\"]}],\"functions\":[],\"operators\":[],\"types\":[],"
                "\"columns\":[],"
                "\"without_where\":true,\"rewrites_rows\":false,");
    assert_says("\n{\"offset\":17,\"length\":18,\"verb\":\"select\"");
    assert_says("\"functions\":[{\"schema\":\"\",\"name\":\"f\",\"field\":false}],\"operators\":[],"
                "\"types\":[],\"columns\":[{\"qualifier\":\"\",\"name\":\"x\",\"used\":true}]");
    assert_says("\"unknown\":false,\"why\":\"\"}");
}

static void what_is_not_understood_says_why(void **state)
{
    (void)state;
    char *postgres[] = {(char[]){"--dialect=postgres"}, NULL};
    assert_int_equal(analyze(postgres, "DO 'BEGIN END'"), ERR_NONE);
    assert_says("\"operations\":[\"do\",\"code\"]");
    assert_says("\"unknown\":true,\"why\":\"");
    assert_null(strstr(answer, "\"why\":\"\""));
}

static void nothing_says_nothing(void **state)
{
    (void)state;
    char *postgres[] = {(char[]){"--dialect"}, (char[]){"postgres"}, NULL};
    assert_int_equal(analyze(postgres, ""), ERR_NONE);
    assert_string_equal(answer, "");
}

static void other_dialects_and_options_are_refused(void **state)
{
    (void)state;
    char *other[] = {(char[]){"--dialect=oracle"}, NULL};
    assert_int_equal(analyze(other, "SELECT 1"), ERR_INPUT);
    assert_string_equal(error.message, "dialect 'oracle' is not known: postgres, mysql");
    assert_string_equal(answer, "");
    tear_down(NULL);
    char *option[] = {(char[]){"--dialect"}, NULL};
    assert_int_equal(analyze(option, "SELECT 1"), ERR_INPUT);
    assert_string_equal(error.message, "'--dialect': only --dialect is possible here");
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_statement_is_a_line),
        TEST(what_is_not_understood_says_why),
        TEST(nothing_says_nothing),
        TEST(other_dialects_and_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
