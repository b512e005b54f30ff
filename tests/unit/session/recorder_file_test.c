/* SPDX-License-Identifier: MIT */
/* Files that are cut, removed or fail while they are written: the recorder says so, and the process
 * goes on. */
#include "session/recorder.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "recording_help.h"
#include "session/block.h"
#include "session/recording_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

/* Of bytes that nothing makes shorter. */
static enum err write_note(struct recorder *recorder)
{
    char bytes[250];
    must(getentropy(bytes, sizeof(bytes)) == 0);
    help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, slice_of(bytes, sizeof(bytes)));
    return recorder_flush(recorder, &help.error);
}

static void write_notes(struct recorder *recorder, size_t size)
{
    for (size_t written = 0; written < size; written += 250) {
        assert_int_equal(write_note(recorder), ERR_NONE);
    }
}

/* In the middle of what was written, and of it only a little or much. */
static void cut_at(size_t written, off_t size)
{
    struct recording_state end;
    struct recorder *recorder = help_open(&help);
    write_notes(recorder, written);
    if (size < 0) {
        must(unlink(help.path) == 0);
    } else {
        must(truncate(help.path, size) == 0);
    }
    enum err err = ERR_NONE;
    for (size_t more = 0; more < 2 * LIMIT_RECORDING_CHECK_SIZE && err == ERR_NONE; more += 250) {
        err = write_note(recorder);
    }
    assert_int_equal(err, ERR_IO);
    assert_non_null(strstr(help.error.message, "its recording was cut or removed"));
    struct help_closed closed = help_close(&help, recorder);
    assert_false(closed.summary.is_whole);
    assert_int_equal(closed.error.code, ERR_IO);
    if (size >= 0) {
        enum err verified = help_verify(&help, help.path, &end);
        assert_true(verified != ERR_CLOSED || !end.is_closed);
        must(unlink(help.path) == 0);
    }
}

static void a_file_that_is_cut_or_removed_ends_its_recording(void **state)
{
    (void)state;
    static const off_t sizes[] = {-1, 0, 1, 154, 155, 1000, 4095, 4096, 5000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        cut_at(LIMIT_KIB(6), sizes[i]);
        cut_at(LIMIT_KIB(300), sizes[i]);
    }
    cut_at(LIMIT_KIB(300), LIMIT_KIB(299));
}

/* Nothing is written behind the cut but the record that closes. */
static void a_cut_is_noticed_by_the_close(void **state)
{
    (void)state;
    struct recording_state end;
    for (off_t size = 0; size <= 2000; size += 500) {
        struct recorder *recorder = help_open(&help);
        write_notes(recorder, LIMIT_KIB(3));
        must(truncate(help.path, size) == 0);
        struct help_closed closed = help_close(&help, recorder);
        assert_false(closed.summary.is_whole);
        assert_non_null(strstr(closed.error.message, "its recording was cut or removed"));
        enum err verified = help_verify(&help, help.path, &end);
        assert_true(verified != ERR_CLOSED || !end.is_closed);
        must(unlink(help.path) == 0);
    }
}

static _Noreturn void write_to_a_disk_that_fails(bool is_strict)
{
    struct help own;
    help_start_in(&own, help.folder, is_strict);
    struct recorder *recorder = help_open(&own);
    must(write_note(recorder) == ERR_NONE);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EIO), SCMP_SYS(write), 0) == 0);
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EIO), SCMP_SYS(pwrite64), 0) == 0);
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EIO), SCMP_SYS(ftruncate), 0) == 0);
    must(seccomp_load(filter) == 0);
    for (int i = 0; i < 3; i++) {
        must(write_note(recorder) == ERR_IO);
        must(strstr(help.error.message, "the session cannot be recorded: Input/output error") !=
             NULL);
    }
    _exit(0);
}

static void a_disk_that_fails_leaves_what_was_written(void **state)
{
    (void)state;
    for (int is_strict = 0; is_strict <= 1; is_strict++) {
        struct recording_state end;
        int status = 0;
        (void)fflush(NULL);
        pid_t child = fork();
        must(child >= 0);
        if (child == 0) {
            write_to_a_disk_that_fails(is_strict != 0);
        }
        must(waitpid(child, &status, 0) == child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
        assert_true(end.record_count == 1 && !end.is_closed && !end.is_cut);
        must(unlink(help.path) == 0);
    }
}

/* The last that is written of a block in strict mode is its head. */
static _Noreturn void write_until_killed_before_the_head(void)
{
    struct help own;
    help_start_in(&own, help.folder, true);
    struct recorder *recorder = help_open(&own);
    must(write_note(recorder) == ERR_NONE);
    const struct scmp_arg_cmp is_head = {
        .arg = 2, .op = SCMP_CMP_EQ, .datum_a = BLOCK_HEAD_SIZE, .datum_b = 0};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    must(seccomp_rule_add_array(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(pwrite64), 1, &is_head) ==
         0);
    must(seccomp_load(filter) == 0);
    (void)!write_note(recorder);
    _exit(0);
}

static void a_kill_amid_a_block_loses_that_block_alone(void **state)
{
    (void)state;
    struct recording_state end;
    int status = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    must(child >= 0);
    if (child == 0) {
        write_until_killed_before_the_head();
    }
    must(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(help_verify(&help, help.path, &end), ERR_CLOSED);
    assert_true(end.record_count == 1 && end.is_cut && !end.is_closed);
    assert_int_equal(recording_recover(help.path, help.keys, HELP_STOPPED, &end, &help.error),
                     ERR_NONE);
    assert_true(end.record_count == 2 && end.is_closed && !end.is_cut);
}

/* Who reads an old recording while its end is being put right must not take it for one whose
 * session goes on, and find it well. */
static void who_closes_a_recording_is_not_its_recorder(void **state)
{
    (void)state;
    struct recorder *recorder = help_open(&help);
    assert_int_equal(write_note(recorder), ERR_NONE);
    int closer = open(help.path, O_RDWR | O_CLOEXEC);
    int reader = open(help.path, O_RDONLY | O_CLOEXEC);
    must(closer >= 0 && reader >= 0);
    assert_true(recording_is_recorded(reader) && recording_is_locked(reader));
    assert_false(recording_lock_to_close(closer));
    help_close(&help, recorder);
    assert_false(recording_is_recorded(reader) || recording_is_locked(reader));
    assert_true(recording_lock_to_close(closer));
    assert_true(!recording_is_recorded(reader) && recording_is_locked(reader));
    int other = open(help.path, O_RDWR | O_CLOEXEC);
    must(other >= 0);
    assert_false(recording_lock(other));
    assert_false(recording_lock_to_close(other));
    must(close(other) == 0 && close(reader) == 0 && close(closer) == 0);
}

#define TEST(name)        cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define STRICT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_strict, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_is_cut_or_removed_ends_its_recording),
        STRICT_TEST(a_file_that_is_cut_or_removed_ends_its_recording),
        TEST(a_cut_is_noticed_by_the_close),
        STRICT_TEST(a_cut_is_noticed_by_the_close),
        TEST(a_disk_that_fails_leaves_what_was_written),
        TEST(a_kill_amid_a_block_loses_that_block_alone),
        TEST(who_closes_a_recording_is_not_its_recorder),
    };
    return cmocka_run_group_tests_name("session/recorder_file", tests, NULL, NULL);
}
