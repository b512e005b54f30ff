/* SPDX-License-Identifier: MIT */
#include "session/recording_events.h"

#include "base/limits.h"
#include "base/must.h"
#include "pg_replay_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static struct help help;
static struct recorder *recorder;
static struct buf seen;

static void visit(void *context, const struct recording_event *event)
{
    (void)context;
    char head[64];
    int len = snprintf(head, sizeof(head), "%u %c%s ", (unsigned)event->number, event->type,
                       event->is_last ? " last" : "");
    must(buf_append(&seen, slice_of(head, (size_t)len)) == ERR_NONE);
    must(buf_append(&seen, event->text) == ERR_NONE);
}

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    recorder = help_open(&help);
    help_add(recorder, RECORD_OPEN, RECORD_FROM_GATEWAY, SLICE("{}"));
    must(recorder_flush(recorder, &help.error) == ERR_NONE);
    buf_init(&seen, LIMIT_MIB(8));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (recorder != NULL) {
        (void)help_close(&help, recorder);
    }
    buf_release(&seen);
    help_end(&help);
    return 0;
}

static struct recording_events *follow(void)
{
    struct recording *recording = NULL;
    must(recording_open(help.path, help.keys, &recording, &help.error) == ERR_NONE);
    return recording_events_new(recording, find_pg_replay, visit, NULL);
}

/* All that there is now. */
static enum err read_on(struct recording_events *events)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        err = recording_events_next(events, &help.error);
    }
    return err;
}

static void say(enum record_side side, char type, struct slice body)
{
    help_message(recorder, side, type, body);
    must(recorder_flush(recorder, &help.error) == ERR_NONE);
}

static void check(const char *wanted)
{
    assert_string_equal(arena_text(&help.arena, buf_view(&seen)), wanted);
    buf_truncate(&seen, 0);
}

static void what_comes_is_told_of_until_the_end(void **state)
{
    (void)state;
    struct recording_events *events = follow();
    assert_int_equal(read_on(events), ERR_AGAIN);
    check("");
    say(RECORD_FROM_CLIENT, 'Q', SLICE("SELECT 1\n  ;\0"));
    assert_int_equal(read_on(events), ERR_AGAIN);
    check("1 i SELECT 1\n  ;\n");
    assert_int_equal(read_on(events), ERR_AGAIN);
    say(RECORD_FROM_TARGET, 'E', SLICE("SERROR\0C22012\0Mno\0\0"));
    say(RECORD_FROM_TARGET, 'Z', SLICE("I"));
    assert_int_equal(read_on(events), ERR_AGAIN);
    check("2 e ERROR 22012: no\n");
    (void)help_close(&help, recorder);
    recorder = NULL;
    assert_int_equal(read_on(events), ERR_CLOSED);
    assert_true(slice_starts_with(buf_view(&seen), SLICE("3 e last {\"reason\":")));
    recording_events_free(events);
}

static void what_was_followed_is_what_is_read_afterwards(void **state)
{
    (void)state;
    struct recording_events *events = follow();
    for (int i = 0; i < 20; i++) {
        say(RECORD_FROM_CLIENT, 'Q', SLICE("SELECT 1\0"));
        say(RECORD_FROM_TARGET, 'C', SLICE("SELECT 1\0"));
        say(RECORD_FROM_TARGET, 'Z', SLICE("I"));
        assert_int_equal(read_on(events), ERR_AGAIN);
    }
    (void)help_close(&help, recorder);
    recorder = NULL;
    assert_int_equal(read_on(events), ERR_CLOSED);
    recording_events_free(events);
    const char *followed = arena_text(&help.arena, buf_view(&seen));
    buf_truncate(&seen, 0);
    events = follow();
    assert_int_equal(read_on(events), ERR_CLOSED);
    check(followed);
    recording_events_free(events);
}

/* As it is seen when a block is being written: its bytes come one after the other. */
static void a_block_that_is_not_whole_yet_comes_later(void **state)
{
    (void)state;
    say(RECORD_FROM_CLIENT, 'Q', SLICE("SELECT 'all of it'\0"));
    struct recording_state end;
    must(help_verify(&help, help.path, &end) == ERR_CLOSED);
    struct slice whole = slice_sub(help_read_file(&help, help.path), 0, end.size);
    help_write_file(help.path, slice_sub(whole, 0, whole.len - 9));
    struct recording_events *events = follow();
    assert_int_equal(recording_events_next(events, &help.error), ERR_NONE); /* what opens it */
    assert_int_equal(recording_events_next(events, &help.error), ERR_AGAIN);
    check("");
    help_write_file(help.path, whole);
    assert_int_equal(recording_events_next(events, &help.error), ERR_NONE);
    check("1 i SELECT 'all of it'\n");
    recording_events_free(events);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_comes_is_told_of_until_the_end),
        TEST(what_was_followed_is_what_is_read_afterwards),
        TEST(a_block_that_is_not_whole_yet_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
