/* SPDX-License-Identifier: MIT */
#include "session/recorder.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/clock.h"
#include "recording_help.h"
#include "session/recording_folder.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct help help;

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    return 0;
}

static int set_up_strict(void **state)
{
    (void)state;
    help_start(&help, true);
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

static void note(struct recorder *recorder)
{
    help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{}"));
}

/* Files --------------------------------------------------------------------------------------- */

static void a_recording_is_a_file_of_the_gateway_alone(void **state)
{
    (void)state;
    struct stat status;
    struct recorder *recorder = help_open(&help);
    assert_string_equal(help.path + strlen(help.records), "/2024/05/01/" HELP_SESSION_ID ".ghr");
    assert_int_equal(stat(help.path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(stat(help.records, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    struct recorder *second = NULL;
    assert_int_equal(recorder_open(help.recorders, SLICE(HELP_SESSION_ID), HELP_STARTED_AT, &second,
                                   &help.error),
                     ERR_CONFLICT);
    assert_int_equal(recorder_open(help.recorders, SLICE("../../etc/passwd"), HELP_STARTED_AT,
                                   &second, &help.error),
                     ERR_INPUT);
    assert_null(second);
    assert_int_equal(recorder_pool_stats(help.recorders).open_count, 1);
    (void)help_close(&help, recorder);
    assert_int_equal(recorder_pool_stats(help.recorders).open_count, 0);
}

static void nothing_is_in_the_file_before_the_flush_and_all_after(void **state)
{
    (void)state;
    struct recording_state end;
    struct recorder *recorder = help_open(&help);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
        assert_int_equal(end.record_count, i * 2);
        note(recorder);
        note(recorder);
        assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
        assert_int_equal(end.record_count, i * 2);
        flush(recorder);
        flush(recorder);
    }
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_int_equal(end.block_count, 5);
    struct recorder_stats stats = recorder_pool_stats(help.recorders);
    assert_true(stats.block_count == 5 && stats.record_count == 10);
    assert_int_equal(stats.byte_count, end.size);
    (void)help_close(&help, recorder);
}

static void a_note_that_is_too_long_breaks_the_recorder(void **state)
{
    (void)state;
    struct recorder *recorder = help_open(&help);
    char *bytes = arena_alloc(&help.arena, 70000);
    help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, slice_of(bytes, 70000));
    assert_int_equal(recorder_flush(recorder, &help.error), ERR_LIMIT);
    assert_non_null(strstr(help.error.message, "a note of 70000 bytes"));
    struct help_closed closed = help_close(&help, recorder);
    assert_int_equal(closed.error.code, ERR_LIMIT);
}

/* Full disks ---------------------------------------------------------------------------------- */

static void limit_files(rlim_t size)
{
    struct rlimit limit;
    must(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    must(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = size;
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Notes that nothing makes shorter, until the file has 'size' bytes. Returns how many. */
static uint64_t fill_up_to(struct recorder *recorder, uint64_t size)
{
    struct recording_state end;
    char bytes[256];
    uint64_t count = 0;
    const size_t around = 9 + 16 + 14; /* a block and a record */
    must(help_verify(&help, help.path, &end) == ERR_CLOSED);
    for (size_t left = size - end.size; left > 0; count++) {
        size_t len = left > 512 ? sizeof(bytes) : left > 256 ? left / 2 - around : left - around;
        must(getentropy(bytes, sizeof(bytes)) == 0);
        help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, slice_of(bytes, len));
        flush(recorder);
        left -= len + around;
    }
    return count;
}

/* Room for 'left' bytes behind what is flushed: what then fails leaves a whole file. */
static void fill_up_with_room_for(size_t left)
{
    struct recording_state end;
    struct recorder *recorder = help_open(&help);
    uint64_t count = fill_up_to(recorder, LIMIT_RECORDING_WINDOW_SIZE - left);
    must(help_verify(&help, help.path, &end) == ERR_CLOSED);
    uint64_t size = end.size;
    assert_int_equal(size, LIMIT_RECORDING_WINDOW_SIZE - left);
    limit_files(LIMIT_RECORDING_WINDOW_SIZE);
    for (int i = 0; i < 3; i++) {
        char text[200] = "";
        help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, slice_of(text, sizeof(text)));
        enum err err = recorder_flush(recorder, &help.error);
        assert_int_equal(err, ERR_LIMIT);
        assert_non_null(strstr(help.error.message, "the session cannot be recorded: "));
    }
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_true(end.size == size && !end.is_cut && end.record_count == count);
    struct help_closed closed = help_close(&help, recorder);
    limit_files(RLIM_INFINITY);
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_false(closed.summary.is_whole);
    assert_int_equal(closed.error.code, ERR_LIMIT);
    assert_memory_equal(closed.summary.head, end.head, RECORD_CHAIN_SIZE);
    assert_int_equal(closed.summary.record_count, end.record_count);
    assert_int_equal(closed.summary.size, end.size);
    assert_false(end.is_cut);
    /* The block that closes, with its salt, takes 87 bytes. */
    assert_true(end.is_closed == (left >= 87));
    assert_int_equal(recorder_pool_stats(help.recorders).failure_count, 1);
    must(unlink(help.path) == 0);
}

static void a_full_disk_leaves_a_whole_file(void **state)
{
    (void)state;
    static const size_t rooms[] = {0, 1, 8, 9, 10, 24, 25, 26, 85, 86, 87, 88, 100, 150, 238};
    for (size_t i = 0; i < COUNT_OF(rooms); i++) {
        fill_up_with_room_for(rooms[i]);
        help_end(&help);
        help_start(&help, false);
    }
}

static void a_recording_does_not_begin_on_a_full_disk(void **state)
{
    (void)state;
    struct recorder *recorder = NULL;
    limit_files(100);
    assert_int_equal(recorder_open(help.recorders, SLICE(HELP_SESSION_ID), HELP_STARTED_AT,
                                   &recorder, &help.error),
                     ERR_LIMIT);
    limit_files(RLIM_INFINITY);
    assert_null(recorder);
    assert_int_equal(access(help.path, F_OK), -1);
    assert_int_equal(recorder_pool_stats(help.recorders).open_count, 0);
}

/* As root only: with a file system of its own. */
static void a_full_file_system_says_that_it_is_full(void **state)
{
    (void)state;
    must(mkdir(help.records, 0700) == 0);
    if (mount("tmpfs", help.records, "tmpfs", 0, "size=64k") != 0) {
        skip();
    }
    struct recording_state end;
    struct recorder *recorder = help_open(&help);
    uint64_t count = 0;
    enum err err = ERR_NONE;
    char text[400];
    while (err == ERR_NONE) {
        must(getentropy(text, 256) == 0);
        help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, slice_of(text, 256));
        err = recorder_flush(recorder, &help.error);
        count += err == ERR_NONE;
    }
    assert_int_equal(err, ERR_LIMIT);
    assert_string_equal(help.error.message, "the session cannot be recorded: the disk is full");
    struct help_closed closed = help_close(&help, recorder);
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_false(end.is_cut);
    assert_int_equal(end.record_count, count + (end.is_closed ? 1 : 0));
    assert_memory_equal(closed.summary.head, end.head, RECORD_CHAIN_SIZE);
    must(umount(help.records) == 0);
}

/* Kills --------------------------------------------------------------------------------------- */

static void what_was_flushed_outlives_kill_9(void **state)
{
    (void)state;
    int pipes[2];
    must(pipe(pipes) == 0);
    (void)fflush(NULL);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        struct help own;
        help_start_in(&own, help.folder, false);
        struct recorder *recorder = help_open(&own);
        for (uint32_t i = 1; true; i++) {
            note(recorder);
            must(recorder_flush(recorder, NULL) == ERR_NONE);
            must(write(pipes[1], &i, sizeof(i)) == sizeof(i));
        }
    }
    uint32_t told = 0;
    while (told < 1000) {
        must(read(pipes[0], &told, sizeof(told)) == sizeof(told));
    }
    must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    must(close(pipes[1]) == 0);
    while (read(pipes[0], &told, sizeof(told)) == sizeof(told)) {
    }
    must(close(pipes[0]) == 0);
    struct recording_state end;
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_true(end.record_count >= told && !end.is_closed && !end.is_written_to);
    assert_int_equal(recording_recover(help.path, help.keys, HELP_STOPPED, &end, &help.error),
                     ERR_NONE);
    assert_true(end.is_closed && end.record_count > told);
}

static _Noreturn void write_until_killed(void)
{
    struct help own;
    help_start_in(&own, help.folder, false);
    struct recorder *recorder = help_open(&own);
    for (unsigned count = 0; true; count++) {
        note(recorder);
        must(recorder_flush(recorder, NULL) == ERR_NONE);
        if (count % 16 == 0) {
            (void)usleep(100); /* so that a reader comes to the end */
        }
    }
}

/* Whenever it is read, and whenever its writer is killed, no block is half there. */
static void what_is_read_while_it_is_written_is_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct recording_state end = {0};
        (void)fflush(NULL);
        pid_t child = fork();
        must(child >= 0);
        if (child == 0) {
            write_until_killed();
        }
        for (uint64_t count = 0; count < 2000; count = end.record_count) {
            enum err err = help_verify(&help, help.path, &end);
            assert_true(err == ERR_CLOSED || end.record_count == 0); /* no head, no file yet */
            assert_true(end.record_count >= count);
        }
        must(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
        assert_int_equal(recording_recover(help.path, help.keys, HELP_STOPPED, &end, &help.error),
                         ERR_NONE);
        assert_true(end.is_closed && !end.is_cut);
        must(unlink(help.path) == 0);
    }
}

/* Strict -------------------------------------------------------------------------------------- */

struct waiter {
    int count;
    bool is_called;
    bool is_durable;
    enum err err;
    struct recorder *recorder;
};

static void on_durable(void *owner, const struct error *error)
{
    struct waiter *waiter = owner;
    waiter->count++;
    waiter->is_called = true;
    waiter->err = error == NULL ? ERR_NONE : error->code;
    waiter->is_durable = recorder_is_durable(waiter->recorder);
}

static void nothing_is_durable_before_it_is_synced(void **state)
{
    (void)state;
    struct waiter waiter = {.recorder = help_open(&help)};
    for (int i = 0; i < 50; i++) {
        note(waiter.recorder);
        flush(waiter.recorder);
        assert_false(recorder_is_durable(waiter.recorder));
        waiter.is_called = false;
        recorder_await(waiter.recorder, on_durable, &waiter);
        assert_false(waiter.is_called);
        help_turn_until(&help, &waiter.is_called);
        assert_true(waiter.is_durable && waiter.err == ERR_NONE);
    }
    assert_int_equal(waiter.count, 50);
    (void)help_close(&help, waiter.recorder);
}

static void a_wait_covers_what_was_flushed_before_it(void **state)
{
    (void)state;
    struct waiter first = {.recorder = help_open(&help)};
    struct waiter last = {.recorder = first.recorder};
    for (int i = 0; i < 20; i++) {
        note(first.recorder);
        flush(first.recorder);
        recorder_await(first.recorder, on_durable, &first);
    }
    note(first.recorder);
    flush(first.recorder);
    recorder_await(first.recorder, on_durable, &last);
    help_turn_until(&help, &last.is_called);
    assert_true(last.is_durable);
    assert_int_equal(first.count, 0); /* none is called for a wait that was replaced */
    assert_int_equal(last.count, 1);
    last.is_called = false;
    recorder_await(first.recorder, on_durable, &last); /* nothing to wait for: by mail, too */
    assert_false(last.is_called);
    help_turn_until(&help, &last.is_called);
    (void)help_close(&help, first.recorder);
}

static void a_close_while_a_sync_runs_waits_for_it(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        struct waiter waiter = {.recorder = help_open(&help)};
        struct recording_state end;
        note(waiter.recorder);
        flush(waiter.recorder);
        recorder_await(waiter.recorder, on_durable, &waiter);
        struct help_closed closed = help_close(&help, waiter.recorder);
        assert_true(closed.summary.is_whole && closed.summary.record_count == 2);
        assert_int_equal(waiter.count, 0);
        assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
        assert_true(end.is_closed && !end.is_written_to);
        must(unlink(help.path) == 0);
    }
}

static void many_recorders_are_synced_side_by_side(void **state)
{
    (void)state;
    struct waiter waiters[40] = {{0}};
    for (size_t i = 0; i < COUNT_OF(waiters); i++) {
        char id[64];
        (void)snprintf(id, sizeof(id), "01890000-0000-7000-8000-0000000001%02zu", i);
        must(recorder_open(help.recorders, slice_of_text(id), HELP_STARTED_AT, &waiters[i].recorder,
                           NULL) == ERR_NONE);
    }
    int64_t start = clock_monotonic();
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < COUNT_OF(waiters); i++) {
            waiters[i].is_called = false;
            note(waiters[i].recorder);
            flush(waiters[i].recorder);
            recorder_await(waiters[i].recorder, on_durable, &waiters[i]);
        }
        for (size_t i = 0; i < COUNT_OF(waiters); i++) {
            help_turn_until(&help, &waiters[i].is_called);
            assert_true(waiters[i].is_durable);
        }
    }
    print_message("%lld us a round of 40 syncs\n", (long long)(clock_monotonic() - start) / 5);
    for (size_t i = 0; i < COUNT_OF(waiters); i++) {
        assert_true(help_close(&help, waiters[i].recorder).summary.is_whole);
    }
}

static void without_strict_nothing_waits(void **state)
{
    (void)state;
    struct recorder *recorder = help_open(&help);
    note(recorder);
    flush(recorder);
    assert_true(recorder_is_durable(recorder));
    (void)help_close(&help, recorder);
}

/* Figures ------------------------------------------------------------------------------------- */

/* What a flush of one small record costs, with the write and without. */
static void a_flush_is_cheap(void **state)
{
    (void)state;
    enum { ROUNDS = 100000 };
    char text[95];
    (void)memset(text, 'x', sizeof(text));
    struct recorder *recorder = help_open(&help);
    struct rusage usage[2];
    must(getrusage(RUSAGE_SELF, &usage[0]) == 0);
    int64_t start = clock_monotonic();
    for (int i = 0; i < ROUNDS; i++) {
        help_message(recorder, RECORD_FROM_CLIENT, 'Q', slice_of(text, sizeof(text)));
        flush(recorder);
    }
    int64_t all = clock_monotonic() - start;
    must(getrusage(RUSAGE_SELF, &usage[1]) == 0);
    int64_t user = (int64_t)(usage[1].ru_utime.tv_sec - usage[0].ru_utime.tv_sec) * 1000000 +
                   (int64_t)(usage[1].ru_utime.tv_usec - usage[0].ru_utime.tv_usec);
    print_message("a flush of 100 bytes: %.2f us, of them %.2f in the program\n",
                  (double)all / ROUNDS, (double)user / ROUNDS);
    (void)help_close(&help, recorder);
    assert_true(user / ROUNDS < 50);
}

#define TEST(name)        cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define STRICT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_strict, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_recording_is_a_file_of_the_gateway_alone),
        TEST(nothing_is_in_the_file_before_the_flush_and_all_after),
        TEST(a_note_that_is_too_long_breaks_the_recorder),
        TEST(a_full_disk_leaves_a_whole_file),
        TEST(a_recording_does_not_begin_on_a_full_disk),
        TEST(a_full_file_system_says_that_it_is_full),
        TEST(what_was_flushed_outlives_kill_9),
        TEST(what_is_read_while_it_is_written_is_whole),
        TEST(without_strict_nothing_waits),
        STRICT_TEST(nothing_is_durable_before_it_is_synced),
        STRICT_TEST(a_wait_covers_what_was_flushed_before_it),
        STRICT_TEST(a_close_while_a_sync_runs_waits_for_it),
        STRICT_TEST(many_recorders_are_synced_side_by_side),
        TEST(a_flush_is_cheap),
    };
    return cmocka_run_group_tests_name("session/recorder", tests, NULL, NULL);
}
