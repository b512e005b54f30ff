/* SPDX-License-Identifier: MIT */
#include "io/log.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/text.h"
#include "codec/json.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <unistd.h>

#include <cmocka.h>

#define CAPTURE_SIZE 65536

/* What was logged since 'start', from the pipe behind the log. */
struct capture {
    int read_fd;
    int write_fd;
    char text[CAPTURE_SIZE];
};

static void capture_start(struct capture *capture, enum log_format format)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    capture->read_fd = fds[0];
    capture->write_fd = fds[1];
    log_start(capture->write_fd, format);
    assert_int_equal(log_set_levels(SLICE("info"), NULL), ERR_NONE);
}

static struct slice capture_take(struct capture *capture)
{
    size_t len = 0;
    ssize_t count = 0;
    while (len < CAPTURE_SIZE &&
           (count = read(capture->read_fd, capture->text + len, CAPTURE_SIZE - len)) > 0) {
        len += (size_t)count;
    }
    return slice_of(capture->text, len);
}

static void capture_end(struct capture *capture)
{
    log_start(STDERR_FILENO, LOG_FORMAT_TEXT);
    assert_int_equal(close(capture->read_fd), 0);
    assert_int_equal(close(capture->write_fd), 0);
}

static void assert_one_line(struct slice line)
{
    assert_true(line.len > 0 && line.len <= LOG_LINE_MAX);
    assert_int_equal(slice_find_byte(line, '\n'), line.len - 1);
    assert_true(text_is_utf8(line));
}

static void assert_line_ends(struct slice line, const char *end)
{
    assert_one_line(line);
    if (!slice_ends_with(slice_sub(line, 0, line.len - 1), slice_of_text(end))) {
        fail_msg("'%.*s' does not end with '%s'", SLICE_ARG(line), end);
    }
}

static struct json parse_line(struct arena *arena, struct slice line)
{
    struct json document;
    struct error error;
    assert_one_line(line);
    if (json_parse_in(arena, slice_sub(line, 0, line.len - 1), &document, &error) != ERR_NONE) {
        fail_msg("'%.*s': %s", SLICE_ARG(line), error.message);
    }
    return document;
}

static struct slice member_text(const struct json *document, const char *name)
{
    struct slice text = SLICE_NONE;
    assert_int_equal(json_as_text(json_member(document, name), &text, NULL), ERR_NONE);
    return text;
}

static void a_line_for_people_has_time_level_component_message_and_fields(void **state)
{
    (void)state;
    struct capture capture;
    capture_start(&capture, LOG_FORMAT_TEXT);
    log_line(LOG_HTTP, LOG_INFO, "listening", log_text("address", SLICE("127.0.0.1")),
             log_number("port", 8009));
    struct slice line = capture_take(&capture);
    assert_line_ends(line, " info  http   listening  address=127.0.0.1 port=8009");
    /* 2026-11-21 06:30:01.123 */
    static const char form[] = "dddd-dd-dd dd:dd:dd.ddd ";
    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        bool is_digit = line.at[i] >= '0' && line.at[i] <= '9';
        assert_true(form[i] == 'd' ? is_digit : line.at[i] == form[i]);
    }
    capture_end(&capture);
}

static void a_line_may_have_no_fields(void **state)
{
    (void)state;
    struct capture capture;
    struct arena arena;
    arena_init(&arena);
    capture_start(&capture, LOG_FORMAT_TEXT);
    log_line(LOG_APP, LOG_WARN, "stopping");
    assert_line_ends(capture_take(&capture), " warn  app    stopping");
    log_start(capture.write_fd, LOG_FORMAT_JSON);
    log_line(LOG_APP, LOG_WARN, "stopping");
    struct json document = parse_line(&arena, capture_take(&capture));
    assert_true(slice_equals(member_text(&document, "message"), SLICE("stopping")));
    capture_end(&capture);
    arena_release(&arena);
}

static void a_line_for_machines_is_one_object(void **state)
{
    (void)state;
    struct capture capture;
    struct arena arena;
    struct error error = {.code = ERR_IO, .message = "disk \"a\" is full"};
    int64_t number = 0;
    arena_init(&arena);
    capture_start(&capture, LOG_FORMAT_JSON);
    log_line(LOG_STORE, LOG_ERROR, "cannot write", log_error_field(&error),
             log_number("count", INT64_MIN));
    struct json document = parse_line(&arena, capture_take(&capture));
    struct slice time = member_text(&document, "time");
    assert_int_equal(time.len, sizeof("2026-11-21T06:30:01.123456Z") - 1);
    assert_int_equal(time.at[10], 'T');
    assert_int_equal(time.at[26], 'Z');
    assert_true(slice_equals(member_text(&document, "level"), SLICE("error")));
    assert_true(slice_equals(member_text(&document, "component"), SLICE("store")));
    assert_true(slice_equals(member_text(&document, "message"), SLICE("cannot write")));
    assert_true(slice_equals(member_text(&document, "error"), SLICE("disk \"a\" is full")));
    assert_int_equal(
        json_as_int(json_member(&document, "count"), INT64_MIN, INT64_MAX, &number, NULL),
        ERR_NONE);
    assert_true(number == INT64_MIN);
    capture_end(&capture);
    arena_release(&arena);
}

static void no_byte_breaks_a_line_or_moves_a_terminal(void **state)
{
    (void)state;
    struct capture capture;
    struct arena arena;
    arena_init(&arena);
    for (int byte = 0; byte < 256; byte++) {
        /* Alone, and as C1 controls and marks of direction are written in UTF-8. */
        char text[] = {'a', (char)byte, 'b', (char)0xc2, (char)byte, 'c'};
        struct slice value = slice_of(text, sizeof(text));
        capture_start(&capture, LOG_FORMAT_TEXT);
        log_line(LOG_HTTP, LOG_INFO, "asked", log_text("path", value));
        struct slice line = capture_take(&capture);
        assert_one_line(line);
        for (size_t i = 0; i < line.len - 1; i++) {
            assert_false((unsigned char)line.at[i] < 0x20 || line.at[i] == 0x7f);
            bool is_c1 = line.at[i] == (char)0xc2 && (unsigned char)line.at[i + 1] < 0xa0;
            assert_false(is_c1);
        }
        log_start(capture.write_fd, LOG_FORMAT_JSON);
        log_line(LOG_HTTP, LOG_INFO, "asked", log_text("path", value));
        if (byte == 0) {
            assert_one_line(capture_take(&capture)); /* our reader takes no U+0000 */
        } else {
            (void)parse_line(&arena, capture_take(&capture));
        }
        capture_end(&capture);
    }
    arena_release(&arena);
}

static void values_cannot_be_taken_for_other_fields(void **state)
{
    (void)state;
    struct capture capture;
    capture_start(&capture, LOG_FORMAT_TEXT);
    log_line(LOG_API, LOG_INFO, "asked", log_text("path", SLICE("/a user=root")),
             log_text("agent", SLICE("")), log_text("quote", SLICE("\"")));
    assert_line_ends(capture_take(&capture),
                     "asked  path=\"/a user=root\" agent=\"\" quote=\"\\\"\"");
    capture_end(&capture);
}

static void what_is_too_long_is_cut_and_marked(void **state)
{
    (void)state;
    struct capture capture;
    struct arena arena;
    bool is_cut = false;
    arena_init(&arena);
    char *text = arena_alloc(&arena, CAPTURE_SIZE);
    static const char *const fillings[] = {"x", "\x01", "\xff", "\xe2\x82\xac", "\""};
    for (size_t i = 0; i < COUNT_OF(fillings); i++) {
        size_t len = strlen(fillings[i]);
        for (size_t j = 0; j < CAPTURE_SIZE; j++) {
            text[j] = fillings[i][j % len];
        }
        struct slice value = slice_of(text, CAPTURE_SIZE);
        capture_start(&capture, LOG_FORMAT_JSON);
        log_line(LOG_API, LOG_INFO, "long", log_number("first", 1), log_text("a", value),
                 log_text("b", value), log_text("c", value), log_text("d", value),
                 log_text("e", value), log_text("f", value), log_text("g", value),
                 log_text("h", value), log_text("i", value), log_number("last", 2));
        struct json document = parse_line(&arena, capture_take(&capture));
        assert_int_equal(json_as_bool(json_member(&document, "cut"), &is_cut, NULL), ERR_NONE);
        assert_true(is_cut);
        log_start(capture.write_fd, LOG_FORMAT_TEXT);
        log_line(LOG_API, LOG_INFO, "long", log_text("a", value), log_text("b", value),
                 log_text("c", value), log_text("d", value), log_text("e", value),
                 log_text("f", value), log_text("g", value), log_text("h", value),
                 log_text("i", value));
        assert_line_ends(capture_take(&capture), " cut=true");
        capture_end(&capture);
    }
    arena_release(&arena);
}

static void one_long_value_leaves_room_for_the_next_field(void **state)
{
    (void)state;
    struct capture capture;
    char text[LOG_VALUE_MAX + 1];
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = 'x';
    }
    capture_start(&capture, LOG_FORMAT_TEXT);
    log_line(LOG_API, LOG_INFO, "long", log_text("a", slice_of(text, sizeof(text))),
             log_number("status", 200));
    assert_line_ends(capture_take(&capture), " status=200 cut=true");
    log_line(LOG_API, LOG_INFO, "long", log_text("a", slice_of(text, sizeof(text) - 1)),
             log_number("status", 200));
    assert_line_ends(capture_take(&capture), "x status=200");
    capture_end(&capture);
}

static int evaluation_count(int *count)
{
    (*count)++;
    return *count;
}

static void fields_of_a_level_that_is_off_are_not_evaluated(void **state)
{
    (void)state;
    struct capture capture;
    int count = 0;
    capture_start(&capture, LOG_FORMAT_TEXT);
    log_line(LOG_HTTP, LOG_DEBUG, "asked", log_number("count", evaluation_count(&count)));
    assert_int_equal(count, 0);
    assert_int_equal(capture_take(&capture).len, 0);
    assert_int_equal(log_set_levels(SLICE("error,http=debug"), NULL), ERR_NONE);
    log_line(LOG_HTTP, LOG_DEBUG, "asked", log_number("count", evaluation_count(&count)));
    log_line(LOG_API, LOG_WARN, "asked", log_number("count", evaluation_count(&count)));
    assert_int_equal(count, 1);
    assert_line_ends(capture_take(&capture), "asked  count=1");
    capture_end(&capture);
}

static void levels_are_read_back_as_they_were_set(void **state)
{
    (void)state;
    char text[LOG_LEVELS_SIZE];
    assert_int_equal(log_set_levels(SLICE("warn, http=debug ,store=error"), NULL), ERR_NONE);
    assert_true(slice_equals(log_levels(text, sizeof(text)),
                             SLICE("app=warn,io=warn,http=debug,store=error,gate=warn,tunnel=warn,"
                                   "api=warn")));
    char again[LOG_LEVELS_SIZE];
    assert_int_equal(log_set_levels(log_levels(text, sizeof(text)), NULL), ERR_NONE);
    assert_true(slice_equals(log_levels(again, sizeof(again)), log_levels(text, sizeof(text))));
}

static void wrong_levels_change_nothing(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",         "loud",   "info,", "http=", "http",
                                        "web=info", "=debug", ",",     "INFO",  "debug,api=loud"};
    char before[LOG_LEVELS_SIZE];
    char after[LOG_LEVELS_SIZE];
    assert_int_equal(log_set_levels(SLICE("info,io=error"), NULL), ERR_NONE);
    struct slice levels = log_levels(before, sizeof(before));
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct error error = {0};
        assert_false(log_levels_are_valid(slice_of_text(wrong[i])));
        assert_int_equal(log_set_levels(slice_of_text(wrong[i]), &error), ERR_INPUT);
        assert_true(strlen(error.message) > 0);
        assert_true(slice_equals(log_levels(after, sizeof(after)), levels));
    }
}

static void a_log_that_is_full_or_gone_stops_nobody(void **state)
{
    (void)state;
    struct capture capture;
    capture_start(&capture, LOG_FORMAT_TEXT);
    for (int i = 0; i < 10000; i++) { /* far more than the pipe holds */
        log_line(LOG_IO, LOG_INFO, "again and again", log_number("turn", i));
    }
    assert_int_equal(write(capture.write_fd, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 36) < 0 &&
                         errno == EAGAIN,
                     1);
    struct slice lines = capture_take(&capture);
    assert_int_equal(lines.at[lines.len - 1], '\n');
    assert_int_equal(close(capture.read_fd), 0);
    log_line(LOG_IO, LOG_INFO, "nobody reads", log_number("turn", 1)); /* EPIPE */
    capture.read_fd = dup(capture.write_fd);
    capture_end(&capture);
}

static void *log_much(void *at)
{
    (void)at;
    for (int i = 0; i < 200; i++) {
        log_line(LOG_IO, LOG_INFO, "from a thread", log_number("turn", i));
        enum err err = log_set_levels(i % 2 == 0 ? SLICE("info,api=debug") : SLICE("info"), NULL);
        assert_int_equal(err, ERR_NONE);
    }
    return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
    (void)state;
    struct capture capture;
    pthread_t threads[2];
    capture_start(&capture, LOG_FORMAT_TEXT);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, log_much, NULL), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    struct slice rest = capture_take(&capture);
    size_t count = 0;
    while (rest.len > 0) {
        struct slice line = slice_cut(rest, '\n', &rest);
        assert_true(slice_find(line, SLICE(" info  io     from a thread  turn=")) == 23);
        count++;
    }
    assert_int_equal(count, 400);
    capture_end(&capture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_for_people_has_time_level_component_message_and_fields),
        cmocka_unit_test(a_line_may_have_no_fields),
        cmocka_unit_test(a_line_for_machines_is_one_object),
        cmocka_unit_test(no_byte_breaks_a_line_or_moves_a_terminal),
        cmocka_unit_test(values_cannot_be_taken_for_other_fields),
        cmocka_unit_test(what_is_too_long_is_cut_and_marked),
        cmocka_unit_test(one_long_value_leaves_room_for_the_next_field),
        cmocka_unit_test(fields_of_a_level_that_is_off_are_not_evaluated),
        cmocka_unit_test(levels_are_read_back_as_they_were_set),
        cmocka_unit_test(wrong_levels_change_nothing),
        cmocka_unit_test(a_log_that_is_full_or_gone_stops_nobody),
        cmocka_unit_test(lines_of_threads_do_not_mix),
    };
    /* As the gateway does. */
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignored, NULL);
    return cmocka_run_group_tests_name("io/log", tests, NULL, NULL);
}
