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

static void addresses_have_a_host_and_a_port(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_anything_the_defaults_hold),
        cmocka_unit_test(a_flag_goes_before_the_environment),
        cmocka_unit_test(addresses_have_a_host_and_a_port),
        cmocka_unit_test(a_password_in_a_wrong_url_is_not_repeated),
    };
    return cmocka_run_group_tests_name("app/settings", tests, NULL, NULL);
}
