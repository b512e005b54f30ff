/* SPDX-License-Identifier: MIT */
#include "wire/execwire.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_frame_is_read_as_it_was_written(void **state)
{
    struct buf buf;
    struct execwire_frame frame;
    size_t taken = 0;
    (void)state;
    buf_init(&buf, LIMIT_KIB(1));
    assert_int_equal(execwire_write(&buf, EXECWIRE_OUTPUT, SLICE("rows")), ERR_NONE);
    for (size_t i = 0; i < buf.len; i++) {
        assert_int_equal(execwire_read(slice_sub(buf_view(&buf), 0, i), &taken, &frame), ERR_MORE);
    }
    assert_int_equal(execwire_read(buf_view(&buf), &taken, &frame), ERR_NONE);
    assert_int_equal(taken, EXECWIRE_HEAD_SIZE + 4);
    assert_int_equal(frame.type, EXECWIRE_OUTPUT);
    assert_true(slice_equals(frame.payload, SLICE("rows")));
    buf_release(&buf);
}

static void a_size_beyond_that_of_its_type_is_refused(void **state)
{
    static const char bad[][EXECWIRE_HEAD_SIZE + 1] = {"A\0\0\0\1", "E\0\0\0\1", "O\0\1\0\0",
                                                       "X\0\0\x10\x06", "q\0\0\0\0"};
    struct execwire_frame frame;
    size_t taken = 0;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct slice bytes = slice_of(bad[i], EXECWIRE_HEAD_SIZE);
        assert_int_equal(execwire_read(bytes, &taken, &frame), ERR_INPUT);
    }
    assert_int_equal(execwire_read(SLICE("q"), &taken, &frame), ERR_INPUT);
    assert_int_equal(execwire_read(SLICE(""), &taken, &frame), ERR_MORE);
}

static void data_of_any_size_becomes_frames(void **state)
{
    struct buf data;
    struct buf buf;
    char *at = NULL;
    size_t sum = 0;
    (void)state;
    buf_init(&data, 3 * LIMIT_EXEC_FRAME_SIZE);
    buf_init(&buf, LIMIT_MIB(1));
    assert_int_equal(buf_reserve(&data, 2 * LIMIT_EXEC_FRAME_SIZE + 7, &at), ERR_NONE);
    memset(at, 'x', 2 * LIMIT_EXEC_FRAME_SIZE + 7);
    buf_commit(&data, 2 * LIMIT_EXEC_FRAME_SIZE + 7);
    assert_int_equal(execwire_write_data(&buf, EXECWIRE_INPUT, buf_view(&data)), ERR_NONE);
    for (int i = 0; i < 3; i++) {
        struct execwire_frame frame;
        size_t taken = 0;
        assert_int_equal(execwire_read(buf_view(&buf), &taken, &frame), ERR_NONE);
        sum += frame.payload.len;
        buf_consume(&buf, taken);
    }
    assert_int_equal(sum, data.len);
    assert_int_equal(buf.len, 0);
    buf_release(&data);
    buf_release(&buf);
}

static void items_come_back_in_order(void **state)
{
    const struct execwire_item items[] = {
        {EXECWIRE_ARGUMENT, SLICE(""), SLICE("psql")},
        {EXECWIRE_VARIABLE, SLICE("PASS"), SLICE("")},
        {EXECWIRE_FILE, SLICE("KEY"), SLICE("a\nb")},
    };
    struct buf buf;
    (void)state;
    buf_init(&buf, LIMIT_KIB(1));
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        assert_int_equal(execwire_item_write(&buf, &items[i]), ERR_NONE);
    }
    struct reader reader = reader_of(buf_view(&buf));
    for (size_t i = 0; i < COUNT_OF(items); i++) {
        struct execwire_item item;
        assert_true(execwire_item_next(&reader, &item));
        assert_int_equal(item.kind, items[i].kind);
        assert_true(slice_equals(item.name, items[i].name));
        assert_true(slice_equals(item.value, items[i].value));
    }
    assert_int_equal(reader_done(&reader), ERR_NONE);
    for (size_t len = 1; len < 12; len++) {
        struct execwire_item item;
        reader = reader_of(slice_sub(buf_view(&buf), 0, len));
        while (execwire_item_next(&reader, &item)) {
        }
        assert_int_equal(reader_done(&reader) == ERR_NONE, len == 11);
    }
    buf_release(&buf);
}

static void an_end_says_how_and_why(void **state)
{
    const struct execwire_exit exit = {EXECWIRE_SIGNALLED, 9, SLICE("killed")};
    struct execwire_exit again;
    struct execwire_frame frame;
    struct buf buf;
    size_t taken = 0;
    (void)state;
    buf_init(&buf, LIMIT_KIB(1));
    assert_int_equal(execwire_exit_write(&buf, &exit), ERR_NONE);
    assert_int_equal(execwire_read(buf_view(&buf), &taken, &frame), ERR_NONE);
    assert_int_equal(frame.type, EXECWIRE_EXIT);
    assert_int_equal(execwire_exit_read(frame.payload, &again), ERR_NONE);
    assert_int_equal(again.end, EXECWIRE_SIGNALLED);
    assert_int_equal(again.code, 9);
    assert_true(slice_equals(again.words, SLICE("killed")));
    assert_int_equal(execwire_exit_read(slice_of("\0\0\0\0\0", 5), &again), ERR_INPUT);
    assert_int_equal(execwire_exit_read(slice_of("\7\0\0\0\0", 5), &again), ERR_INPUT);
    assert_int_equal(execwire_exit_read(slice_of("\1\0\0\0", 4), &again), ERR_INPUT);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_read_as_it_was_written),
        cmocka_unit_test(a_size_beyond_that_of_its_type_is_refused),
        cmocka_unit_test(data_of_any_size_becomes_frames),
        cmocka_unit_test(items_come_back_in_order),
        cmocka_unit_test(an_end_says_how_and_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
