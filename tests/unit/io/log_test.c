/* SPDX-License-Identifier: MIT */
#include "io/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#undef fail

struct pipe {
    int ends[2];
    char text[LOG_LINE_MAX * 2];
};

static int open_pipe(void **state)
{
    static struct pipe pipe_of_test;
    *state = &pipe_of_test;
    return pipe(pipe_of_test.ends);
}

static int close_pipe(void **state)
{
    const struct pipe *log = *state;
    (void)close(log->ends[0]);
    (void)close(log->ends[1]);
    assert_int_equal(log_set_levels(SLICE("info"), NULL), ERR_NONE);
    return 0;
}

static const char *written(struct pipe *log)
{
    ssize_t len = read(log->ends[0], log->text, sizeof(log->text) - 1);
    assert_true(len >= 0);
    log->text[len] = '\0';
    return log->text;
}

static void a_line_for_people_has_time_level_component_and_fields(void **state)
{
    struct pipe *log = *state;
    log_start(log->ends[1], LOG_FORMAT_TEXT);
    log_line(LOG_HTTP, LOG_WARN, "it happened", log_text("who", SLICE("a b")),
             log_number("times", -3), log_text("plain", SLICE("word")));
    const char *line = written(log);
    assert_non_null(strstr(line, " warn  http   it happened  who=\"a b\" times=-3 plain=word\n"));
    assert_int_equal(line[10], ' ');
    assert_int_equal(line[19], '.');
}

static void a_value_cannot_end_its_line_or_steer_a_terminal(void **state)
{
    struct pipe *log = *state;
    log_start(log->ends[1], LOG_FORMAT_TEXT);
    log_line(LOG_APP, LOG_ERROR, "x", log_text("value", SLICE("a\nb\x1b[2J\xff")));
    const char *line = written(log);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_null(strchr(line, '\x1b'));
}

static void a_line_for_machines_is_json_however_long_a_value_is(void **state)
{
    struct pipe *log = *state;
    char large[5000];
    memset(large, '"', sizeof(large));
    log_start(log->ends[1], LOG_FORMAT_JSON);
    log_line(LOG_STORE, LOG_INFO, "done", log_text("large", slice_of(large, sizeof(large))),
             log_number("n", INT64_MAX), log_text("bad", SLICE("\xff\n")));
    json_t *entry = json_loads(written(log), 0, NULL);
    assert_non_null(entry);
    assert_string_equal(json_string_value(json_object_get(entry, "component")), "store");
    assert_true(json_integer_value(json_object_get(entry, "n")) == INT64_MAX);
    json_decref(entry);
}

static void levels_are_kept_by_component(void **state)
{
    struct pipe *log = *state;
    char text[LOG_LEVELS_SIZE];
    log_start(log->ends[1], LOG_FORMAT_TEXT);
    assert_int_equal(log_set_levels(SLICE("error, http=debug"), NULL), ERR_NONE);
    assert_true(log_is_on(LOG_HTTP, LOG_DEBUG));
    assert_false(log_is_on(LOG_APP, LOG_WARN));
    assert_true(slice_equals(log_levels(text, sizeof(text)),
                             SLICE("app=error,io=error,http=debug,store=error,api=error")));
    log_line(LOG_APP, LOG_INFO, "unseen", log_number("n", 1));
    log_line(LOG_HTTP, LOG_DEBUG, "seen", log_number("n", 1));
    assert_null(strstr(written(log), "unseen"));
}

static void wrong_levels_change_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "loud", "http=", "nothing=info", "debug,http=loud", "info,,warn", "=info"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct error error = {0};
        assert_int_equal(log_set_levels(slice_of_text(wrong[i]), &error), ERR_INPUT);
        assert_true(error.message[0] != '\0');
        assert_false(log_is_on(LOG_HTTP, LOG_DEBUG));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_for_people_has_time_level_component_and_fields,
                                        open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(a_value_cannot_end_its_line_or_steer_a_terminal, open_pipe,
                                        close_pipe),
        cmocka_unit_test_setup_teardown(a_line_for_machines_is_json_however_long_a_value_is,
                                        open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(levels_are_kept_by_component, open_pipe, close_pipe),
        cmocka_unit_test_setup_teardown(wrong_levels_change_nothing, open_pipe, close_pipe),
    };
    return cmocka_run_group_tests_name("io/log", tests, NULL, NULL);
}
