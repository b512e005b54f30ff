/* SPDX-License-Identifier: MIT */
#include "app/settings.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char *nothing[] = {NULL};

static enum err read_settings(char **arguments, char **environment, struct settings *settings,
                              struct error *error)
{
    static struct arena arena;
    arena_release(&arena);
    return settings_read(&arena, arguments, environment, settings, error);
}

static void without_anything_the_defaults_hold(void **state)
{
    (void)state;
    struct settings settings;
    assert_int_equal(read_settings(nothing, nothing, &settings, NULL), ERR_NONE);
    assert_string_equal(settings_text(&settings, SETTING_LISTEN), "127.0.0.1:8009");
    assert_int_equal(settings_number(&settings, SETTING_SHUTDOWN_SECONDS), 10);
    assert_true(settings_is(&settings, SETTING_SANDBOX, "on"));
    assert_string_equal(settings.store_url, "sqlite:./gatehouse-data/gatehouse.db");
}

static void a_flag_goes_before_the_environment(void **state)
{
    (void)state;
    struct settings settings;
    char flag[] = "--workers=3";
    char other[] = "--pool-threads";
    char value[] = "5";
    char *arguments[] = {flag, other, value, NULL};
    char variable[] = "GATEHOUSE_WORKERS=9";
    char another[] = "GATEHOUSE_LOG_LEVEL=warn,http=debug";
    char unrelated[] = "HOME=/root";
    char *environment[] = {variable, another, unrelated, NULL};
    assert_int_equal(read_settings(arguments, environment, &settings, NULL), ERR_NONE);
    assert_int_equal(settings_number(&settings, SETTING_WORKERS), 3);
    assert_int_equal(settings_number(&settings, SETTING_POOL_THREADS), 5);
    assert_string_equal(settings_text(&settings, SETTING_LOG_LEVEL), "warn,http=debug");
}

static void values_are_checked_by_their_kind(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err err;
    } cases[] = {
        {"--listen=127.0.0.1:0", ERR_NONE},
        {"--listen=[::1]:8009", ERR_NONE},
        {"--listen=localhost:1", ERR_NONE},
        {"--listen=:8009", ERR_NONE},
        {"--listen=8009", ERR_INPUT},
        {"--listen=::1:8009", ERR_INPUT},
        {"--listen=host:65536", ERR_INPUT},
        {"--listen=host:", ERR_INPUT},
        {"--listen=host:-1", ERR_INPUT},
        {"--listen=", ERR_INPUT},
        {"--workers=64", ERR_NONE},
        {"--workers=65", ERR_INPUT},
        {"--workers=1x", ERR_INPUT},
        {"--pool-threads=0", ERR_INPUT},
        {"--log-format=json", ERR_NONE},
        {"--log-format=text|json", ERR_INPUT},
        {"--database-url=sqlite:", ERR_INPUT},
        {"--database-url=sqlite:x", ERR_NONE},
        {"--database-url=postgres://a", ERR_NONE},
        {"--data-dir=", ERR_INPUT},
        {"--public-url=https://a", ERR_NONE},
        {"--public-url=ftp://a", ERR_INPUT},
        {"--public-url=https://", ERR_INPUT},
        {"--public-url=https://a b", ERR_INPUT},
        {"--public-url=https://user:word@a", ERR_INPUT},
        {"--public-url=https://a/?b=c", ERR_INPUT},
        {"--public-url=https://[::1]:8009/under/", ERR_NONE},
        {"--listen=[::]:1", ERR_NONE},
        {"--listen=[]:1", ERR_INPUT},
        {"--listen=[:1", ERR_INPUT},
        {"--listen=[nowhere]:1", ERR_INPUT},
        {"--listen=[127.0.0.1]:1", ERR_INPUT},
        {"--trusted-proxies=", ERR_NONE},
        {"--trusted-proxies=127.0.0.1, 10.0.0.0/8,2001:db8::/32", ERR_NONE},
        {"--trusted-proxies=proxy.example", ERR_INPUT},
        {"--trusted-proxies=0.0.0.0/0", ERR_INPUT},
        {"--cors-origins=", ERR_NONE},
        {"--cors-origins=https://a,https://b.example:8443", ERR_NONE},
        {"--cors-origins=*", ERR_INPUT},
        {"--cors-origins=http://a", ERR_INPUT},
        {"--tls-cert=a", ERR_INPUT},
        {"--fault=short,again", ERR_NONE},
        {"--fault=long", ERR_INPUT},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct settings settings;
        struct error error = {0};
        char text[64];
        (void)snprintf(text, sizeof(text), "%s", cases[i].text);
        char *arguments[] = {text, NULL};
        assert_int_equal(read_settings(arguments, nothing, &settings, &error), cases[i].err);
    }
}

static void a_password_in_a_wrong_url_is_not_repeated(void **state)
{
    (void)state;
    struct settings settings;
    struct error error = {0};
    char flag[] = "--database-url=mysql://user:secret@host/x";
    char *arguments[] = {flag, NULL};
    assert_int_equal(read_settings(arguments, nothing, &settings, &error), ERR_INPUT);
    assert_null(strstr(error.message, "secret"));
    assert_non_null(strstr(error.message, "GATEHOUSE_DATABASE_URL"));
}

static void unknown_variables_are_warned_of_with_what_was_meant(void **state)
{
    (void)state;
    struct settings settings;
    char close[] = "GATEHOUSE_LISTN=127.0.0.1:1";
    char service[] = "GATEHOUSE_PORT_8009_TCP=tcp://10.0.0.1:8009";
    char without_value[] = "GATEHOUSE_WORKERS";
    char empty[] = "GATEHOUSE_=x";
    char *environment[] = {close, service, without_value, empty, NULL};
    assert_int_equal(read_settings(nothing, environment, &settings, NULL), ERR_NONE);
    assert_int_equal(settings.warning_count, 3);
    assert_string_equal(settings.warnings[0], "GATEHOUSE_LISTN (GATEHOUSE_LISTEN?)");
    assert_string_equal(settings.warnings[1], "GATEHOUSE_PORT_8009_TCP");
    assert_string_equal(settings.warnings[2], "GATEHOUSE_");
    assert_string_equal(settings_text(&settings, SETTING_LISTEN), "127.0.0.1:8009");
}

static void many_unknown_variables_are_not_all_named(void **state)
{
    (void)state;
    struct settings settings;
    char texts[40][200];
    char *environment[41] = {NULL};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "GATEHOUSE_%0150zu=x", i);
        environment[i] = texts[i];
    }
    assert_int_equal(read_settings(nothing, environment, &settings, NULL), ERR_NONE);
    assert_int_equal(settings.warning_count, SETTINGS_WARNINGS_MAX);
}

static void refuse(const char *argument, struct error *error)
{
    struct settings settings;
    char text[4096];
    (void)snprintf(text, sizeof(text), "%s", argument);
    char *arguments[] = {text, NULL};
    assert_int_equal(read_settings(arguments, nothing, &settings, error), ERR_INPUT);
}

static void a_misspelt_flag_is_told_what_it_may_be(void **state)
{
    (void)state;
    struct error error;
    refuse("--listn=x", &error);
    assert_non_null(strstr(error.message, "'--listn': there is no such flag"));
    assert_non_null(strstr(error.message, "did you mean --listen"));
    refuse("--falt", &error); /* not in the help, nor here */
    assert_null(strstr(error.message, "--fault"));
    refuse("--", &error);
    refuse("", &error);
    refuse("listen", &error);
    assert_null(strstr(error.message, "did you mean"));
}

static void a_password_behind_a_misspelt_flag_is_not_repeated(void **state)
{
    (void)state;
    struct error error;
    refuse("--databse-url=postgres://user:secret@host/x", &error);
    assert_null(strstr(error.message, "secret"));
    assert_non_null(strstr(error.message, "did you mean --database-url"));
    refuse("postgres://user:secret@host/x", &error);
    assert_null(strstr(error.message, "secret"));
}

static void an_objection_is_one_short_line(void **state)
{
    (void)state;
    struct error error;
    char text[4000];
    refuse("--listen=a\nb\x1b[31m", &error);
    assert_null(strchr(error.message, '\n'));
    assert_null(strchr(error.message, '\x1b'));
    refuse("--no\nthing", &error);
    assert_null(strchr(error.message, '\n'));
    (void)snprintf(text, sizeof(text), "--listen=%03900d", 7);
    refuse(text, &error);
    assert_non_null(strstr(error.message, "HOST:PORT is expected"));
    refuse("--log-format=xml", &error);
    assert_non_null(strstr(error.message, "one of text|json"));
    refuse("--pool-threads=257", &error);
    assert_non_null(strstr(error.message, "1 to 256"));
}

static void a_flag_needs_a_value(void **state)
{
    (void)state;
    struct error error;
    refuse("--listen", &error);
    assert_non_null(strstr(error.message, "HOST:PORT"));
}

static char *printed(void (*print)(FILE *out), char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");
    assert_non_null(out);
    print(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void print_serve_help(FILE *out)
{
    settings_print_help(out, SETTINGS_SERVE);
}

static void print_agent_help(FILE *out)
{
    settings_print_help(out, SETTINGS_AGENT);
}

static void an_agent_has_settings_of_its_own(void **state)
{
    (void)state;
    struct settings settings;
    struct error error;
    struct arena arena;
    char help[16384];
    char token[] = "--token=http://a:gha_x@127.0.0.1:1";
    char plain[] = "--allow-plain=on";
    char listen[] = "--listen=127.0.0.1:1";
    char variable[] = "GATEHOUSE_LISTEN=nonsense";
    char *given[] = {token, plain, NULL};
    char *wrong[] = {token, listen, NULL};
    char *environment[] = {variable, NULL};
    arena_init(&arena);
    assert_int_equal(settings_read_agent(&arena, given, environment, &settings, NULL), ERR_NONE);
    assert_true(settings_is(&settings, SETTING_ALLOW_PLAIN, "on"));
    assert_int_equal(settings.warning_count, 0);
    assert_int_equal(settings_read_agent(&arena, nothing, nothing, &settings, &error), ERR_INPUT);
    assert_non_null(strstr(error.message, "GATEHOUSE_TOKEN"));
    assert_int_equal(settings_read_agent(&arena, wrong, nothing, &settings, &error), ERR_INPUT);
    assert_non_null(strstr(error.message, "there is no such flag"));
    assert_int_equal(settings_read(&arena, given, nothing, &settings, &error), ERR_INPUT);
    assert_null(strstr(error.message, "gha_x"));
    (void)printed(print_agent_help, help, sizeof(help));
    assert_non_null(strstr(help, "--ca-file"));
    assert_non_null(strstr(help, "--files-dir"));
    assert_non_null(strstr(help, "--sandbox"));
    assert_null(strstr(help, "--listen"));
    (void)printed(print_serve_help, help, sizeof(help));
    assert_null(strstr(help, "--ca-file"));
    arena_release(&arena);
}

static void help_and_documentation_come_from_the_table(void **state)
{
    (void)state;
    char help[16384];
    char page[16384];
    (void)printed(print_serve_help, help, sizeof(help));
    (void)printed(settings_print_markdown, page, sizeof(page));
    static const char *const flags[] = {"--data-dir", "--database-url",    "--log-level",
                                        "--sandbox",  "--trusted-proxies", "--cors-origins"};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        assert_non_null(strstr(help, flags[i]));
        assert_non_null(strstr(page, flags[i]));
    }
    assert_non_null(strstr(page, "| `--workers` | `GATEHOUSE_WORKERS` | COUNT, 0 to 64 | 0 | "));
    assert_non_null(strstr(page, "text\\|json"));
    assert_non_null(strstr(help, "default: 16, 1 to 256"));
    assert_null(strstr(help, "--fault"));
    assert_null(strstr(page, "--fault"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_anything_the_defaults_hold),
        cmocka_unit_test(a_flag_goes_before_the_environment),
        cmocka_unit_test(values_are_checked_by_their_kind),
        cmocka_unit_test(a_password_in_a_wrong_url_is_not_repeated),
        cmocka_unit_test(unknown_variables_are_warned_of_with_what_was_meant),
        cmocka_unit_test(many_unknown_variables_are_not_all_named),
        cmocka_unit_test(a_misspelt_flag_is_told_what_it_may_be),
        cmocka_unit_test(a_password_behind_a_misspelt_flag_is_not_repeated),
        cmocka_unit_test(an_objection_is_one_short_line),
        cmocka_unit_test(a_flag_needs_a_value),
        cmocka_unit_test(an_agent_has_settings_of_its_own),
        cmocka_unit_test(help_and_documentation_come_from_the_table),
    };
    return cmocka_run_group_tests_name("app/settings", tests, NULL, NULL);
}
