/* SPDX-License-Identifier: MIT */
#include "session/recorder.h"

#include "base/memory.h"
#include "base/must.h"
#include "recording_help.h"

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

static void flush(struct recorder *recorder)
{
    assert_int_equal(recorder_flush(recorder, &help.error), ERR_NONE);
}

/* What is too long for a record comes out as several, of the same bytes. */
static void a_long_message_is_several_records(void **state)
{
    (void)state;
    static const size_t sizes[] = {65531, 65532, 131067, 131068, 1000000};
    char head[RECORD_MESSAGE_HEAD];
    char *bytes = arena_alloc(&help.arena, 1000000);
    struct recorder *recorder = help_open(&help);
    for (size_t i = 0; i < 1000000; i++) {
        bytes[i] = (char)(i % 251);
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const struct slice parts[] = {record_message_head('D', (uint32_t)sizes[i], head),
                                      slice_of(bytes, 10), slice_of(bytes + 10, sizes[i] - 10)};
        recorder_add(recorder, RECORD_MESSAGE, RECORD_FROM_TARGET, parts, 3);
    }
    flush(recorder);
    (void)help_close(&help, recorder);
    struct recording *recording = NULL;
    struct record record;
    must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
    must(recording_next(recording, &record, NULL) == ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct record_message message;
        assert_int_equal(record.kind, RECORD_MESSAGE);
        assert_int_equal(record_message_read(&record.payload, &message), ERR_NONE);
        assert_int_equal(message.size, sizes[i]);
        size_t len = message.body.len;
        assert_memory_equal(message.body.at, bytes, len);
        for (must(recording_next(recording, &record, NULL) == ERR_NONE); record.kind == RECORD_MORE;
             must(recording_next(recording, &record, NULL) == ERR_NONE)) {
            assert_memory_equal(record.payload.at, bytes + len, record.payload.len);
            len += record.payload.len;
        }
        assert_int_equal(len, sizes[i]);
    }
    recording_free(recording);
}

/* The next record, and how many messages it has. */
static size_t next_messages(struct recording *recording, struct record *record)
{
    size_t count = 0;
    struct record_message message;
    must(recording_next(recording, record, NULL) == ERR_NONE);
    for (struct slice rest = record->payload; rest.len > 0; count++) {
        must(record_message_read(&rest, &message) == ERR_NONE);
    }
    return count;
}

/* Of one side, and between two flushes. */
static void messages_share_a_record(void **state)
{
    (void)state;
    struct recording *recording = NULL;
    struct recording_state end;
    struct record record;
    struct recorder *recorder = help_open(&help);
    static const char sides[] = "ccctttgct|tt";
    static const size_t counts[] = {3, 3, 1, 1, 1, 2};
    for (size_t i = 0; i < sizeof(sides) - 1; i++) {
        if (sides[i] == '|') {
            flush(recorder);
        } else {
            help_message(recorder, (enum record_side)sides[i], 'x', SLICE("body"));
        }
    }
    flush(recorder);
    assert_int_equal(recorder_pool_stats(help.recorders).record_count, COUNT_OF(counts));
    struct help_closed closed = help_close(&help, recorder);
    must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        assert_int_equal(next_messages(recording, &record), counts[i]);
        assert_int_equal(record.kind, RECORD_MESSAGE);
    }
    recording_free(recording);
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_memory_equal(closed.summary.head, end.head, RECORD_CHAIN_SIZE);
}

/* Behind it only more of it may come. */
static void a_message_in_pieces_has_a_record_of_its_own(void **state)
{
    (void)state;
    char head[RECORD_MESSAGE_HEAD];
    struct recording *recording = NULL;
    struct record record;
    struct recorder *recorder = help_open(&help);
    char *bytes = arena_alloc(&help.arena, RECORD_PAYLOAD_MAX);
    (void)memset(bytes, 'b', RECORD_PAYLOAD_MAX);
    const struct slice piece[] = {record_message_head('D', 6, head), SLICE("abc")};
    help_message(recorder, RECORD_FROM_TARGET, 'T', SLICE("t"));
    recorder_add(recorder, RECORD_MESSAGE, RECORD_FROM_TARGET, piece, COUNT_OF(piece));
    help_add(recorder, RECORD_MORE, RECORD_FROM_TARGET, SLICE("def"));
    help_message(recorder, RECORD_FROM_TARGET, 'C', SLICE("c"));
    help_message(recorder, RECORD_FROM_TARGET, 'D', slice_of(bytes, RECORD_PAYLOAD_MAX));
    help_message(recorder, RECORD_FROM_TARGET, 'C', SLICE("c"));
    flush(recorder);
    (void)help_close(&help, recorder);
    must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
    static const enum record_kind kinds[] = {RECORD_MESSAGE, RECORD_MESSAGE, RECORD_MORE,
                                             RECORD_MESSAGE, RECORD_MESSAGE, RECORD_MORE,
                                             RECORD_MESSAGE, RECORD_CLOSE};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        must(recording_next(recording, &record, NULL) == ERR_NONE);
        assert_int_equal(record.kind, kinds[i]);
    }
    recording_free(recording);
}

/* A full record is followed by another, and a full block by another: nothing is lost. */
static void messages_beyond_a_record_go_into_the_next(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    struct recording *recording = NULL;
    struct record record;
    char body[200];
    size_t count = 0;
    size_t record_count = 0;
    struct recorder *recorder = help_open(&help);
    for (size_t i = 0; i < COUNT; i++) {
        must(getentropy(body, sizeof(body)) == 0);
        help_message(recorder, RECORD_FROM_TARGET, 'D', slice_of(body, sizeof(body)));
    }
    flush(recorder);
    (void)help_close(&help, recorder);
    must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
    for (; count < COUNT; record_count++) {
        count += next_messages(recording, &record);
    }
    assert_int_equal(count, COUNT);
    /* Some end early, with their block. */
    assert_in_range(record_count, COUNT * 205 / RECORD_PAYLOAD_MAX + 1,
                    COUNT * 205 / RECORD_PAYLOAD_MAX * 5 / 4 + 1);
    recording_free(recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_long_message_is_several_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_share_a_record, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_message_in_pieces_has_a_record_of_its_own, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(messages_beyond_a_record_go_into_the_next, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
