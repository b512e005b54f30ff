/* SPDX-License-Identifier: MIT */
#include "session/recording.h"

#include "base/memory.h"
#include "base/must.h"
#include "recording_help.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static struct help help;

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    help_end(&help);
    return 0;
}

/* Three blocks, one of them compressed, and the one that closes. */
static struct help_closed write_small(void)
{
    char many[2000];
    struct recorder *recorder = help_open(&help);
    help_add(recorder, RECORD_OPEN, RECORD_FROM_GATEWAY, SLICE("{\"user\":\"ann\"}"));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    help_message(recorder, RECORD_FROM_CLIENT, 'Q', SLICE("SELECT 1\0"));
    help_message(recorder, RECORD_FROM_TARGET, 'C', SLICE("SELECT 1\0"));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    (void)memset(many, 'm', sizeof(many));
    help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, slice_of(many, sizeof(many)));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    return help_close(&help, recorder);
}

static void what_was_recorded_comes_out(void **state)
{
    (void)state;
    struct help_closed closed = write_small();
    struct recording *recording = NULL;
    struct record record;
    assert_int_equal(recording_open(help.path, help.keys, &recording, &help.error), ERR_NONE);
    assert_true(slice_equals(recording_session_id(recording), SLICE(HELP_SESSION_ID)));
    assert_true(recording_started_at(recording) == HELP_STARTED_AT);
    static const enum record_kind kinds[] = {RECORD_OPEN, RECORD_MESSAGE, RECORD_MESSAGE,
                                             RECORD_NOTE, RECORD_CLOSE};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        assert_int_equal(recording_next(recording, &record, &help.error), ERR_NONE);
        assert_int_equal(record.kind, kinds[i]);
        assert_true(record.time > HELP_STARTED_AT);
    }
    assert_true(slice_equals(record.payload, SLICE("{\"reason\":\"client left\"}")));
    assert_int_equal(recording_next(recording, &record, &help.error), ERR_CLOSED);
    assert_int_equal(recording_next(recording, &record, &help.error), ERR_CLOSED);
    struct recording_state end = recording_state(recording);
    recording_free(recording);
    assert_true(end.is_closed && !end.is_cut && !end.is_written_to);
    assert_int_equal(end.record_count, 5);
    assert_int_equal(end.block_count, 4);
    assert_true(closed.summary.is_whole && closed.summary.record_count == 5);
    assert_int_equal(end.size, closed.summary.size);
    assert_int_equal(end.size, help_read_file(&help, help.path).len);
    assert_memory_equal(end.head, closed.summary.head, RECORD_CHAIN_SIZE);
    assert_true(end.size < 900); /* the 2,000 bytes were compressed */
}

static void what_is_recorded_cannot_be_read_in_the_file(void **state)
{
    (void)state;
    (void)write_small();
    struct slice bytes = help_read_file(&help, help.path);
    assert_int_equal(slice_find(bytes, SLICE("SELECT")), bytes.len);
    assert_int_equal(slice_find(bytes, SLICE("ann")), bytes.len);
}

static void every_byte_that_changes_is_noticed(void **state)
{
    (void)state;
    (void)write_small();
    struct slice bytes = help_read_file(&help, help.path);
    char *changed = arena_alloc(&help.arena, bytes.len);
    for (size_t at = 0; at < bytes.len; at++) {
        for (int bit = 0; bit < 8; bit += 7) {
            struct recording_state end;
            (void)memcpy(changed, bytes.at, bytes.len);
            changed[at] = (char)(changed[at] ^ (1 << bit));
            help_write_file(help.path, slice_of(changed, bytes.len));
            enum err err = help_verify(&help, help.path, &end);
            bool is_head = at < 155;
            assert_true(err == ERR_CONFLICT ||
                        (is_head && (err == ERR_INPUT || err == ERR_INTERNAL)));
            assert_true(help.error.message[0] != '\0');
        }
    }
}

static void a_file_cut_off_anywhere_keeps_what_is_before(void **state)
{
    (void)state;
    (void)write_small();
    struct slice bytes = help_read_file(&help, help.path);
    uint64_t records = 0;
    for (size_t len = 0; len < bytes.len; len++) {
        struct recording_state end;
        help_write_file(help.path, slice_sub(bytes, 0, len));
        enum err err = help_verify(&help, help.path, &end);
        if (len < 155) {
            assert_int_equal(err, ERR_INPUT);
            continue;
        }
        assert_int_equal(err, ERR_CLOSED);
        assert_true(end.record_count >= records && end.size <= len);
        /* the first bytes of a block are zero, as is what was taken and not written */
        bool is_clear = len > end.size + 3 || len == end.size;
        assert_true(end.is_cut == (end.size < len) || !is_clear || len >= bytes.len - 8);
        assert_true(!end.is_closed || end.is_cut);
        records = end.record_count;
    }
    assert_int_equal(records, 5);
}

static void a_recording_cut_off_anywhere_is_recovered(void **state)
{
    (void)state;
    (void)write_small();
    struct slice bytes = help_read_file(&help, help.path);
    for (size_t len = 155; len <= bytes.len; len++) {
        struct recording_state before;
        struct recording_state after;
        struct recording_state again;
        struct recording_outlook outlook;
        help_write_file(help.path, slice_sub(bytes, 0, len));
        assert_int_equal(help_verify(&help, help.path, &before), ERR_CLOSED);
        assert_int_equal(
            recording_look_ahead(help.path, help.keys, HELP_STOPPED, &outlook, &help.error),
            ERR_NONE);
        assert_memory_equal(outlook.state.head, before.head, RECORD_CHAIN_SIZE);
        assert_int_equal(help_read_file(&help, help.path).len, len);
        assert_int_equal(recording_recover(help.path, help.keys, HELP_STOPPED, &after, &help.error),
                         ERR_NONE);
        assert_int_equal(help_verify(&help, help.path, &again), ERR_CLOSED);
        assert_true(after.is_closed && again.is_closed && !again.is_cut && !again.is_written_to);
        assert_int_equal(again.record_count, before.record_count + (before.is_closed ? 0 : 1));
        assert_memory_equal(after.head, again.head, RECORD_CHAIN_SIZE);
        assert_memory_equal(outlook.closed_head, again.head, RECORD_CHAIN_SIZE);
        assert_int_equal(outlook.closed_size, again.size);
        assert_int_equal(again.size, help_read_file(&help, help.path).len);
    }
    assert_true(slice_equals(help_read_file(&help, help.path), bytes));
}

static void a_changed_recording_is_not_recovered(void **state)
{
    (void)state;
    (void)write_small();
    struct slice bytes = help_read_file(&help, help.path);
    char *changed = arena_alloc(&help.arena, bytes.len);
    (void)memcpy(changed, bytes.at, bytes.len);
    changed[200]++;
    struct slice given = slice_of(changed, bytes.len - 60);
    help_write_file(help.path, given);
    struct recording_state end;
    assert_int_equal(recording_recover(help.path, help.keys, HELP_STOPPED, &end, &help.error),
                     ERR_CONFLICT);
    assert_true(slice_equals(help_read_file(&help, help.path), given));
    assert_int_equal(recording_recover("/nonexistent", help.keys, HELP_STOPPED, &end, &help.error),
                     ERR_NOT_FOUND);
}

/* The file of a recorder that is not closed is longer than what was written; one that is killed
 * within a block leaves its bytes without a head. */
static void behind_zeros_is_what_was_never_finished(void **state)
{
    (void)state;
    (void)write_small();
    struct slice bytes = help_read_file(&help, help.path);
    struct recording_state end;
    char *longer = arena_alloc(&help.arena, bytes.len + 300000);
    size_t len = bytes.len - 8 - 9 - 16 - (14 + 24); /* without the block that closes */
    (void)memcpy(longer, bytes.at, len);
    help_write_file(help.path, slice_of(longer, len + 300000));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_true(!end.is_cut && end.record_count == 4 && end.size == len);
    longer[len + 9] = 1;
    longer[len + 250000] = 1;
    help_write_file(help.path, slice_of(longer, len + 300000));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_true(end.is_cut && end.record_count == 4 && end.size == len);
    longer[len + 270000] = 1; /* too far for one block */
    help_write_file(help.path, slice_of(longer, len + 300000));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CONFLICT);
    longer[len + 270000] = 0;
    longer[len + 8] = 1; /* of the head */
    help_write_file(help.path, slice_of(longer, len + 300000));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CONFLICT);
}

/* The blocks of a recording whose blocks are all of one size. */
struct blocks {
    struct slice head;
    struct slice items[6];
};

static struct blocks write_blocks(void)
{
    struct blocks blocks;
    struct recorder *recorder = help_open(&help);
    for (int i = 0; i < 6; i++) {
        help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("the same every time"));
        must(recorder_flush(recorder, NULL) == ERR_NONE);
    }
    (void)help_close(&help, recorder);
    struct slice bytes = help_read_file(&help, help.path);
    size_t size = 9 + 14 + 19 + 16;
    blocks.head = slice_sub(bytes, 0, 155);
    for (size_t i = 0; i < 6; i++) {
        blocks.items[i] = slice_sub(bytes, 155 + i * size, size);
    }
    return blocks;
}

static void blocks_open_in_their_place_only(void **state)
{
    (void)state;
    static const int orders[][6] = {
        {0, 2, 1, 3, 4, 5}, {1, 2, 3, 4, 5, -1}, {0, 1, 3, 4, 5, -1},
        {0, 0, 1, 2, 3, 4}, {0, 1, 2, 2, 3, 4},  {5, 4, 3, 2, 1, 0},
    };
    struct blocks blocks = write_blocks();
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct recording_state end;
        struct buf buf CLEANUP(buf_release);
        buf_init(&buf, 10000);
        must(buf_append(&buf, blocks.head) == ERR_NONE);
        for (size_t at = 0; at < 6 && orders[i][at] >= 0; at++) {
            must(buf_append(&buf, blocks.items[orders[i][at]]) == ERR_NONE);
        }
        help_write_file(help.path, buf_view(&buf));
        assert_int_equal(help_verify(&help, help.path, &end), ERR_CONFLICT);
        assert_non_null(strstr(help.error.message, "the recording was changed: block "));
    }
}

static void blocks_of_another_recording_do_not_open(void **state)
{
    (void)state;
    struct blocks first = write_blocks();
    must(unlink(help.path) == 0);
    struct blocks second = write_blocks();
    struct recording_state end;
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, 10000);
    must(buf_append(&buf, first.head) == ERR_NONE);
    must(buf_append(&buf, second.items[0]) == ERR_NONE);
    help_write_file(help.path, buf_view(&buf));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CONFLICT);
}

static void another_key_does_not_open_it(void **state)
{
    (void)state;
    struct help other;
    struct recording *recording = NULL;
    (void)write_small();
    help_start(&other, false);
    assert_int_equal(recording_open(help.path, other.keys, &recording, &help.error), ERR_INTERNAL);
    assert_non_null(strstr(help.error.message, "the recording's own key: "));
    help_end(&other);
}

static void other_files_are_no_recordings(void **state)
{
    (void)state;
    struct recording_state end;
    (void)write_small();
    struct slice bytes = help_read_file(&help, help.path);
    char *changed = arena_alloc(&help.arena, bytes.len);
    (void)memcpy(changed, bytes.at, bytes.len);
    changed[9] = 2;
    help_write_file(help.path, slice_of(changed, bytes.len));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_INPUT);
    assert_non_null(strstr(help.error.message, "version 2"));
    help_write_file(help.path, SLICE("hello"));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_INPUT);
    assert_int_equal(help_verify(&help, "/nonexistent", &end), ERR_NOT_FOUND);
}

static void a_new_master_key_takes_over(void **state)
{
    (void)state;
    struct recording_state end;
    bool is_resealed = false;
    struct recorder *recorder = help_open(&help);
    help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{}"));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    assert_int_equal(recording_reseal(help.path, help.keys, &is_resealed, &help.error), ERR_NONE);
    assert_false(is_resealed);
    must(seal_keys_add(help.keys, NULL) == ERR_NONE);
    assert_int_equal(recording_reseal(help.path, help.keys, &is_resealed, &help.error), ERR_NONE);
    assert_true(is_resealed);
    must(seal_keys_drop_old(help.keys, NULL) == ERR_NONE);
    struct help_closed closed = help_close(&help, recorder);
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_true(end.is_closed && end.record_count == 2);
    assert_memory_equal(end.head, closed.summary.head, RECORD_CHAIN_SIZE);
    help_write_file(help.path, SLICE("x"));
    assert_int_equal(recording_reseal(help.path, help.keys, &is_resealed, &help.error), ERR_INPUT);
}

static void it_is_read_while_it_is_written(void **state)
{
    (void)state;
    struct recording_state end;
    struct recorder *recorder = help_open(&help);
    for (uint64_t i = 1; i < 20; i++) {
        help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{}"));
        must(recorder_flush(recorder, NULL) == ERR_NONE);
        assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
        assert_true(end.record_count == i && end.is_written_to && !end.is_cut && !end.is_closed);
        assert_int_equal(recording_recover(help.path, help.keys, HELP_STOPPED, &end, &help.error),
                         ERR_BUSY);
    }
    (void)help_close(&help, recorder);
}

static void a_hundred_thousand_records_take_no_memory(void **state)
{
    (void)state;
    char row[600];
    struct recording_state end;
    struct recorder *recorder = help_open(&help);
    long before = 0;
    for (int i = 0; i < 100000; i++) {
        for (size_t at = 0; at < sizeof(row); at++) {
            row[at] = (char)(at * (size_t)(i + 1) >> 3);
        }
        help_add(recorder, RECORD_NOTE, RECORD_FROM_TARGET, slice_of(row, sizeof(row)));
        if (i % 100 == 99) {
            assert_int_equal(recorder_flush(recorder, &help.error), ERR_NONE);
        }
        before = i == 5000 ? help_resident_kib() : before;
    }
    struct help_closed closed = help_close(&help, recorder);
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_true(end.is_closed && end.record_count == 100001);
    assert_memory_equal(end.head, closed.summary.head, RECORD_CHAIN_SIZE);
    print_message("%llu bytes of file, %ld KiB more memory\n", (unsigned long long)end.size,
                  help_resident_kib() - before);
    assert_true(help_resident_kib() - before < 8192 || help_is_sanitized());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_recorded_comes_out),
        TEST(what_is_recorded_cannot_be_read_in_the_file),
        TEST(every_byte_that_changes_is_noticed),
        TEST(a_file_cut_off_anywhere_keeps_what_is_before),
        TEST(a_recording_cut_off_anywhere_is_recovered),
        TEST(a_changed_recording_is_not_recovered),
        TEST(behind_zeros_is_what_was_never_finished),
        TEST(blocks_open_in_their_place_only),
        TEST(blocks_of_another_recording_do_not_open),
        TEST(another_key_does_not_open_it),
        TEST(other_files_are_no_recordings),
        TEST(a_new_master_key_takes_over),
        TEST(it_is_read_while_it_is_written),
        TEST(a_hundred_thousand_records_take_no_memory),
    };
    return cmocka_run_group_tests_name("session/recording", tests, NULL, NULL);
}
