/* SPDX-License-Identifier: MIT */
#include "app/cli.h"

#include "base/memory.h"
#include "cli_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <unistd.h>

#include <cmocka.h>

static void assert_refused(const struct result *result, int code, const char *says)
{
    assert_int_equal(result->code, code);
    assert_string_equal(result->out, "");
    assert_int_equal(strncmp(result->err, "gatehouse: ", strlen("gatehouse: ")), 0);
    assert_non_null(strstr(result->err, says));
    assert_ptr_equal(strchr(result->err, '\n'), result->err + strlen(result->err) - 1);
}

static void help_is_given_in_every_way_it_is_asked_for(void **state)
{
    (void)state;
    static const char *const ways[][3] = {{"help"},
                                          {"--help"},
                                          {"-h"},
                                          {"serve", "--help"},
                                          {"help", "serve"},
                                          {"org", "list", "--help"},
                                          {"org", "--help"}};
    static const char *const parts[] = {"gatehouse serve", "gatehouse check", "gatehouse version",
                                        "gatehouse org create NAME ADMIN-EMAIL",
                                        "--data-dir FOLDER"};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        struct result result;
        RUN(&result, ways[i][0], ways[i][1], ways[i][2]);
        assert_int_equal(result.code, 0);
        assert_string_equal(result.err, "");
        for (size_t j = 0; j < COUNT_OF(parts); j++) {
            assert_non_null(strstr(result.out, parts[j]));
        }
    }
}

static void a_command_that_is_none_is_refused_on_one_line(void **state)
{
    (void)state;
    struct result result;
    RUN(&result, NULL);
    assert_refused(&result, 2, "a command is expected");
    RUN(&result, "server");
    assert_refused(&result, 2, "no such command: server");
    RUN(&result, "org");
    assert_refused(&result, 2, "no such command: org; ");
    RUN(&result, "org", "remove");
    assert_refused(&result, 2, "no such command: org remove");
    RUN(&result, "a\nb\x1b[31m");
    assert_refused(&result, 2, "no such command: a");
    assert_null(strchr(result.err, '\x1b'));
}

static void a_wrong_setting_is_refused_before_anything_is_opened(void **state)
{
    (void)state;
    static const char *const commands[] = {"serve", "check"};
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        struct result result;
        RUN(&result, commands[i], "--data-dir", "/var/tmp/gatehouse-is-not-made", "--workers",
            "many");
        assert_refused(&result, 2, "--workers (GATEHOUSE_WORKERS): 'many'");
        assert_int_equal(access("/var/tmp/gatehouse-is-not-made", F_OK), -1);
    }
}

static void check_says_why_it_would_not_start(void **state)
{
    (void)state;
    struct result result;
    RUN(&result, "check", "--data-dir", "/proc/nothing");
    assert_refused(&result, 1, "--data-dir: cannot make '/proc/nothing'");
}

static void commands_say_that_no_gateway_answers(void **state)
{
    (void)state;
    struct result result;
    RUN(&result, "org", "list", "--data-dir", "/nonexistent");
    assert_refused(&result, 1, "no gateway answers at '/nonexistent/control.sock'");
    RUN(&result, "org", "list", "--data-dir=/nonexistent");
    assert_refused(&result, 1, "no gateway answers at '/nonexistent/control.sock'");
    RUN(&result, "org", "create", "help", "--data-dir=/nonexistent");
    assert_refused(&result, 1, "no gateway answers at '/nonexistent/control.sock'");
    RUN(&result, "org", "create", "--data-dir=/nonexistent");
    assert_refused(&result, 2, "a NAME is expected");
    RUN(&result, "org", "list", "--workers", "3");
    assert_refused(&result, 2, "'--workers': only --data-dir FOLDER is possible here");
    RUN(&result, "org", "list", "--data-dir");
    assert_refused(&result, 2, "--data-dir");
}

static void version_and_settings_are_printed(void **state)
{
    (void)state;
    struct result result;
    RUN(&result, "version");
    assert_int_equal(result.code, 0);
    assert_int_equal(strncmp(result.out, "gatehouse ", strlen("gatehouse ")), 0);
    RUN(&result, "settings");
    assert_int_equal(result.code, 0);
    assert_int_equal(strncmp(result.out, "# Configuration\n", strlen("# Configuration\n")), 0);
    RUN(&result, "version", "--workers=3");
    assert_refused(&result, 2, "'--workers=3'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_is_given_in_every_way_it_is_asked_for),
        cmocka_unit_test(a_command_that_is_none_is_refused_on_one_line),
        cmocka_unit_test(a_wrong_setting_is_refused_before_anything_is_opened),
        cmocka_unit_test(check_says_why_it_would_not_start),
        cmocka_unit_test(commands_say_that_no_gateway_answers),
        cmocka_unit_test(version_and_settings_are_printed),
    };
    return cmocka_run_group_tests_name("app/cli", tests, NULL, NULL);
}
