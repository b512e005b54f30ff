/* SPDX-License-Identifier: MIT */
#include "app/recordings.h"

#include "app/protocols.h"
#include "base/memory.h"
#include "base/must.h"
#include "cli_help.h"
#include "recording_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define NO_SESSION_ID "01890000-0000-7000-8000-00000000000f"

static struct help help;
static struct recorder *recorder;
static struct result result;
static char key_flag[128];

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    (void)snprintf(key_flag, sizeof(key_flag), "--master-key-file=%s/key", help.folder);
    recorder = help_open(&help);
    help_message(recorder, RECORD_FROM_CLIENT, 'Q', SLICE("SELECT 1\0"));
    help_message(recorder, RECORD_FROM_TARGET, 'D', SLICE("\0\1\0\0\0\1\x31"));
    help_message(recorder, RECORD_FROM_TARGET, 'C', SLICE("SELECT 1\0"));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    help_end(&help);
    return 0;
}

/* gatehouse recording WORD NAME, with the settings of the test. */
static void command(const char *word, const char *name, const char *more)
{
    RUN(&result, "recording", word, name, "--data-dir", help.folder, key_flag, more);
}

static void assert_out(int code, const char *part)
{
    if (result.code != code || strstr(result.out, part) == NULL) {
        print_error("%d, not %d: '%s' is not in:\n%s%s", result.code, code, part, result.out,
                    result.err);
        must(false);
    }
}

static void assert_err(int code, const char *part)
{
    assert_int_equal(result.code, code);
    assert_non_null(strstr(result.err, part));
}

static void verify_tells_of_each_recording(void **state)
{
    (void)state;
    struct help_closed closed = help_close(&help, recorder);
    char hex[65];
    for (size_t i = 0; i < 32; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", closed.summary.head[i]);
    }
    command("verify", HELP_SESSION_ID, NULL);
    assert_out(0, HELP_SESSION_ID ": ok; 3 records in ");
    assert_out(0, hex);
    command("verify", help.path, NULL);
    assert_out(0, ".ghr: ok; 3 records in ");
    assert_string_equal(result.err, "");
    command("verify", HELP_SESSION_ID, NO_SESSION_ID);
    assert_out(1, "ok; 3 records");
    assert_out(1, NO_SESSION_ID ": there is no recording of session '" NO_SESSION_ID "'");
    assert_err(1, "gatehouse: 1 of 2 recordings not verified");
    command("verify", "/nonexistent/file", NULL);
    assert_out(1, "/nonexistent/file: '/nonexistent/file': No such file");
}

static void verify_tells_what_is_wrong(void **state)
{
    (void)state;
    command("verify", HELP_SESSION_ID, NULL);
    assert_out(0, ": ok, and the session goes on; 2 records in ");
    (void)help_close(&help, recorder);
    struct slice bytes = help_read_file(&help, help.path);
    help_write_file(help.path, slice_sub(bytes, 0, bytes.len - 30));
    command("verify", HELP_SESSION_ID, NULL);
    assert_out(1, ": cut off: its last block is not whole; 2 records in ");
    assert_out(1, " bytes are good; the head is ");
    help_write_file(help.path, slice_sub(bytes, 0, 155));
    command("verify", HELP_SESSION_ID, NULL);
    assert_out(1, ": not closed: its gateway was killed, or its end was cut off; 0 records");
    char *changed = arena_alloc(&help.arena, bytes.len);
    (void)memcpy(changed, bytes.at, bytes.len);
    changed[170]++;
    help_write_file(help.path, slice_of(changed, bytes.len));
    command("verify", HELP_SESSION_ID, NULL);
    assert_out(1, ": the recording was changed: block 1, at byte 155: ");
}

static void show_and_export_print_it(void **state)
{
    (void)state;
    (void)help_close(&help, recorder);
    command("show", HELP_SESSION_ID, NULL);
    assert_out(0, "Z #1 > SELECT 1\n    1\n");
    command("export", HELP_SESSION_ID, "--format=text");
    assert_out(0, "Z #1 > SELECT 1\n    1\n");
    command("export", HELP_SESSION_ID, "--format=csv");
    assert_out(0, "column1\n1\n");
    command("export", HELP_SESSION_ID, "--format=jsonl");
    assert_out(0, "\"type\":\"row\",\"statement\":1,\"values\":[\"1\"]}\n");
    command("export", help.path, "--format=asciicast");
    assert_out(0, "{\"version\":2,");
    RUN(&result, "recording", "export", "--format", "csv", help.path, key_flag);
    assert_out(0, "column1\n1\n");
}

static void recordings_that_name_no_protocol_are_of_the_first_one(void **state)
{
    (void)state;
    const struct replay_ops *first = protocol_find_replay(SLICE("postgres"));
    assert_non_null(first);
    assert_ptr_equal(protocol_find_replay(SLICE("")), first);
    assert_null(protocol_find_replay(SLICE("another")));
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    (void)help_close(&help, recorder);
    RUN(&result, "recording", "verify");
    assert_err(2, "a FILE or a SESSION-ID is expected");
    RUN(&result, "recording");
    assert_err(2, "no such command: recording");
    command("export", HELP_SESSION_ID, NULL);
    assert_err(2, "--format: text, jsonl, csv or asciicast is expected");
    command("export", HELP_SESSION_ID, "--format=xml");
    assert_err(2, "--format: text, jsonl, csv or asciicast is expected");
    command("export", HELP_SESSION_ID, "--format");
    assert_err(2, "--format: text, jsonl, csv or asciicast is expected");
    command("show", HELP_SESSION_ID, "--format=csv");
    assert_err(2, "--format: only 'recording export' has it");
    command("show", HELP_SESSION_ID, help.path);
    assert_err(2, "one FILE or SESSION-ID is expected, not 2");
    command("show", HELP_SESSION_ID, "--colour=red");
    assert_err(2, "'--colour': there is no such flag");
    RUN(&result, "recording", "show", help.path, "--data-dir", help.folder);
    assert_err(2, "--master-key-file: there is no '");
    assert_string_equal(result.out, "");
    char *path = arena_text(&help.arena, arena_format(&help.arena, "%s/other", help.folder));
    struct seal_keys *other = NULL;
    bool is_new = false;
    must(seal_keys_open(path, &other, &is_new, NULL) == ERR_NONE);
    seal_keys_close(other);
    RUN(&result, "recording", "show", help.path, "--master-key-file", path);
    assert_err(1, "the recording's own key: ");
}

static void a_new_master_key_closes_all_recordings(void **state)
{
    (void)state;
    struct recordings_resealed resealed;
    (void)help_close(&help, recorder);
    help_write_file(
        arena_format(&help.arena, "%s/2024/05/01/" NO_SESSION_ID ".ghr", help.records).at,
        SLICE(""));
    must(seal_keys_add(help.keys, NULL) == ERR_NONE);
    assert_int_equal(recordings_reseal(help.records, help.keys, &resealed, &help.error), ERR_NONE);
    assert_true(resealed.seen_count == 2 && resealed.resealed_count == 1);
    assert_int_equal(resealed.lost_count, 1);
    must(seal_keys_drop_old(help.keys, NULL) == ERR_NONE);
    command("verify", HELP_SESSION_ID, NULL);
    assert_out(0, ": ok; 3 records");
}

static void rekey_and_drop_old_lose_no_recording(void **state)
{
    (void)state;
    (void)help_close(&help, recorder);
    RUN(&result, "rekey", "--data-dir", help.folder, key_flag);
    assert_out(0, "/recordings': 1 seen, 1 closed anew\n");
    RUN(&result, "rekey", "drop-old", "--data-dir", help.folder, key_flag);
    assert_out(0, "/recordings': 1 seen, 0 closed anew\n");
    command("verify", HELP_SESSION_ID, NULL);
    assert_out(0, ": ok; 3 records");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verify_tells_of_each_recording),
        TEST(verify_tells_what_is_wrong),
        TEST(show_and_export_print_it),
        cmocka_unit_test(recordings_that_name_no_protocol_are_of_the_first_one),
        TEST(wrong_arguments_are_refused),
        TEST(a_new_master_key_closes_all_recordings),
        TEST(rekey_and_drop_old_lose_no_recording),
    };
    return cmocka_run_group_tests_name("app/recordings", tests, NULL, NULL);
}
