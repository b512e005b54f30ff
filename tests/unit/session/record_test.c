/* SPDX-License-Identifier: MIT */
#include "session/record.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct record sample = {
    .time = INT64_C(1714566600123456),
    .side = RECORD_FROM_TARGET,
    .kind = RECORD_NOTE,
    .payload = SLICE_INIT("{\"what\":\"cancelled\"}"),
};

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const enum record_side sides[] = {RECORD_FROM_CLIENT, RECORD_FROM_TARGET,
                                             RECORD_FROM_GATEWAY};
    for (int kind = RECORD_OPEN; kind <= RECORD_CLOSE; kind++) {
        for (size_t side = 0; side < COUNT_OF(sides); side++) {
            struct buf buf CLEANUP(buf_release);
            struct record record = sample;
            struct record again;
            size_t taken = 0;
            buf_init(&buf, 256);
            record.kind = (enum record_kind)kind;
            record.side = sides[side];
            record.time = side == 0 ? -1 : record.time;
            assert_int_equal(record_write(&buf, &record), ERR_NONE);
            assert_int_equal(buf.len, RECORD_HEAD_SIZE + record.payload.len);
            assert_int_equal(record_read(buf_view(&buf), &taken, &again), ERR_NONE);
            assert_int_equal(taken, buf.len);
            assert_true(again.time == record.time && again.side == record.side &&
                        again.kind == record.kind && slice_equals(again.payload, record.payload));
        }
    }
}

static void every_prefix_of_a_record_needs_more(void **state)
{
    (void)state;
    struct buf buf CLEANUP(buf_release);
    struct record record;
    size_t taken = 0;
    buf_init(&buf, 256);
    assert_int_equal(record_write(&buf, &sample), ERR_NONE);
    for (size_t len = 0; len < buf.len; len++) {
        assert_int_equal(record_read(slice_sub(buf_view(&buf), 0, len), &taken, &record), ERR_MORE);
    }
}

static void a_time_a_side_a_kind_and_a_size_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        char byte;
    } wrong[] = {{8, 'x'}, {8, 0}, {9, 0}, {9, 7}, {9, -1}, {10, 1}, {11, 2}, {0, 127}, {0, -128}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct buf buf CLEANUP(buf_release);
        struct record record;
        size_t taken = 0;
        buf_init(&buf, 256);
        assert_int_equal(record_write(&buf, &sample), ERR_NONE);
        buf.memory[buf.start + wrong[i].at] = wrong[i].byte;
        assert_int_equal(record_read(buf_view(&buf), &taken, &record), ERR_INPUT);
    }
}

static void a_payload_has_a_limit(void **state)
{
    (void)state;
    struct buf buf CLEANUP(buf_release);
    static char bytes[RECORD_PAYLOAD_MAX];
    struct record record = sample;
    const struct slice parts[] = {SLICE("x"), slice_of(bytes, sizeof(bytes))};
    buf_init(&buf, sizeof(bytes) + 100);
    assert_int_equal(record_write_parts(&buf, &record, parts, 2), ERR_LIMIT);
    assert_int_equal(buf.len, 0);
    record.payload = parts[1];
    assert_int_equal(record_write(&buf, &record), ERR_NONE);
    assert_int_equal(buf.len, RECORD_SIZE_MAX);
    assert_int_equal(record_write(&buf, &sample), ERR_NONE);
    assert_int_equal(record_write(&buf, &record), ERR_LIMIT);
    assert_int_equal(buf.len, RECORD_SIZE_MAX + RECORD_HEAD_SIZE + sample.payload.len);
}

static void messages_are_read_again(void **state)
{
    (void)state;
    char head[RECORD_MESSAGE_HEAD];
    struct record_message message;
    struct slice rest = SLICE("T\0\0\0\6ab"
                              "Z\0\0\0\4"
                              "Q\0\0\1\4SELECT");
    assert_int_equal(record_message_read(&rest, &message), ERR_NONE);
    assert_true(message.type == 'T' && message.size == 2);
    assert_true(slice_equals(message.body, SLICE("ab")));
    assert_int_equal(record_message_read(&rest, &message), ERR_NONE);
    assert_true(message.type == 'Z' && message.size == 0 && message.body.len == 0);
    assert_int_equal(record_message_read(&rest, &message), ERR_NONE);
    assert_true(message.type == 'Q' && message.size == 256);
    assert_true(slice_equals(message.body, SLICE("SELECT")));
    assert_int_equal(rest.len, 0);
    assert_true(slice_equals(record_message_head('Q', 256, head), SLICE("Q\0\0\1\4")));

    const struct slice broken[] = {SLICE(""), SLICE("Q\0\0\0"), SLICE("Q\0\0\0\3")};
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        rest = broken[i];
        assert_int_equal(record_message_read(&rest, &message), ERR_INPUT);
        assert_int_equal(rest.len, broken[i].len);
    }
}

static void a_record_goes_on_up_to_its_limit(void **state)
{
    (void)state;
    struct buf buf CLEANUP(buf_release);
    struct record record;
    size_t taken = 0;
    char *bytes = memory_new(RECORD_PAYLOAD_MAX);
    const struct slice more = slice_of(bytes, RECORD_PAYLOAD_MAX - sample.payload.len);
    buf_init(&buf, 2 * RECORD_SIZE_MAX);
    assert_int_equal(record_write(&buf, &sample), ERR_NONE);
    size_t start = buf.len;
    assert_int_equal(record_write(&buf, &sample), ERR_NONE);
    assert_int_equal(record_extend(&buf, start, &more, 1), ERR_NONE);
    assert_int_equal(record_extend(&buf, start, &(struct slice){bytes, 1}, 1), ERR_LIMIT);
    assert_int_equal(record_read(slice_from(buf_view(&buf), start), &taken, &record), ERR_NONE);
    assert_int_equal(taken, RECORD_SIZE_MAX);
    assert_true(slice_equals(slice_sub(record.payload, 0, sample.payload.len), sample.payload));
    assert_true(record.time == sample.time && record.kind == sample.kind);
    assert_int_equal(record_read(buf_view(&buf), &taken, &record), ERR_NONE);
    assert_true(slice_equals(record.payload, sample.payload));
    memory_free(bytes);
}

static void counts_are_read_again(void **state)
{
    (void)state;
    char payload[RECORD_COUNT_SIZE];
    struct record_count count;
    const struct record_count given = {.rows = UINT64_MAX, .bytes = 258, .is_cut = true};
    struct slice written = record_count_write(&given, payload);
    assert_int_equal(record_count_read(written, &count), ERR_NONE);
    assert_true(count.rows == UINT64_MAX && count.bytes == 258 && count.is_cut);
    payload[16] = 2;
    assert_int_equal(record_count_read(written, &count), ERR_INPUT);
    payload[16] = 0;
    assert_int_equal(record_count_read(slice_sub(written, 0, 16), &count), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(every_prefix_of_a_record_needs_more),
        cmocka_unit_test(a_time_a_side_a_kind_and_a_size_that_are_none_are_refused),
        cmocka_unit_test(a_payload_has_a_limit),
        cmocka_unit_test(messages_are_read_again),
        cmocka_unit_test(a_record_goes_on_up_to_its_limit),
        cmocka_unit_test(counts_are_read_again),
    };
    return cmocka_run_group_tests_name("session/record", tests, NULL, NULL);
}
