/* SPDX-License-Identifier: MIT */
#include "session/recording_folder.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "recording_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define DAY(n) (HELP_STARTED_AT + (n)*TIMESTAMP_DAY)

static struct help help;
static char walked[4096];

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    walked[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    help_end(&help);
    return 0;
}

static const char *id_of(int number)
{
    return arena_format(&help.arena, "01890000-0000-7000-8000-%012d", number).at;
}

static const char *path_of(int number, int64_t started_at)
{
    return recording_path_in(&help.arena, help.records, slice_of_text(id_of(number)), started_at);
}

static struct recorder *start(int number, int64_t started_at)
{
    struct recorder *recorder = NULL;
    must(recorder_open(help.recorders, slice_of_text(id_of(number)), started_at, &recorder, NULL) ==
         ERR_NONE);
    help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{}"));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    return recorder;
}

/* A closed recording. */
static void make(int number, int64_t started_at)
{
    (void)help_close(&help, start(number, started_at));
}

static enum err visit(void *context, const struct recording_place *place, struct error *reterr)
{
    (void)context;
    (void)reterr;
    size_t len = strlen(walked);
    (void)snprintf(walked + len, sizeof(walked) - len, "%.*s@%lld ",
                   SLICE_ARG(slice_from(place->session_id, 35)),
                   (long long)((place->day - HELP_STARTED_AT / TIMESTAMP_DAY * TIMESTAMP_DAY) /
                               TIMESTAMP_DAY));
    assert_int_equal(access(place->path, F_OK), 0);
    return place->session_id.at[35] == '9' ? ERR_DENIED : ERR_NONE;
}

static void all_are_walked_day_by_day(void **state)
{
    (void)state;
    assert_int_equal(recording_walk(help.records, visit, NULL, &help.error), ERR_NONE);
    make(2, DAY(0));
    make(1, DAY(0));
    make(3, DAY(-400));
    make(4, DAY(40));
    help_write_file(arena_format(&help.arena, "%s/2024/05/01/notes.txt", help.records).at,
                    SLICE("x"));
    help_write_file(arena_format(&help.arena, "%s/2024/05/01/x.ghr", help.records).at, SLICE("x"));
    help_write_file(arena_format(&help.arena, "%s/2024/05/99", help.records).at, SLICE("x"));
    help_write_file(arena_format(&help.arena, "%s/2024/README", help.records).at, SLICE("x"));
    assert_int_equal(recording_walk(help.records, visit, NULL, &help.error), ERR_NONE);
    assert_string_equal(walked, "3@-400 1@0 2@0 4@40 ");
    make(9, DAY(1));
    walked[0] = '\0';
    assert_int_equal(recording_walk(help.records, visit, NULL, &help.error), ERR_DENIED);
    assert_string_equal(walked, "3@-400 1@0 2@0 9@1 ");
}

static void those_without_their_end_are_found(void **state)
{
    (void)state;
    make(1, DAY(0));
    struct recorder *second = start(2, DAY(0));
    struct recorder *third = start(3, DAY(3));
    assert_int_equal(recording_walk_open(help.records, 0, visit, NULL, &help.error), ERR_NONE);
    assert_string_equal(walked, "3@3 2@0 "); /* newest first */
    walked[0] = '\0';
    assert_int_equal(recording_walk_open(help.records, DAY(3) + 5, visit, NULL, &help.error),
                     ERR_NONE);
    assert_string_equal(walked, "3@3 ");
    walked[0] = '\0';
    assert_int_equal(recording_walk_open(help.records, DAY(4), visit, NULL, &help.error), ERR_NONE);
    assert_string_equal(walked, "");
    (void)help_close(&help, second);
    walked[0] = '\0';
    assert_int_equal(recording_walk_open(help.records, INT64_MIN, visit, NULL, &help.error),
                     ERR_NONE);
    assert_string_equal(walked, "3@3 ");
    (void)help_close(&help, third);
}

static void one_is_found_by_the_id_of_its_session(void **state)
{
    (void)state;
    const char *path = NULL;
    make(1, DAY(0));
    make(2, DAY(70));
    assert_int_equal(
        recording_find_in(&help.arena, help.records, slice_of_text(id_of(2)), &path, &help.error),
        ERR_NONE);
    assert_string_equal(path, path_of(2, DAY(70)));
    assert_int_equal(recording_find_in(&help.arena, help.records,
                                       SLICE("01890000-0000-7000-8000-00000000000F"), &path,
                                       &help.error),
                     ERR_NOT_FOUND);
    assert_int_equal(
        recording_find_in(&help.arena, help.records, SLICE("../x"), &path, &help.error),
        ERR_NOT_FOUND);
    assert_int_equal(
        recording_find_in(&help.arena, "/nonexistent", slice_of_text(id_of(1)), &path, &help.error),
        ERR_NOT_FOUND);
}

static void one_that_is_written_is_not_removed(void **state)
{
    (void)state;
    struct recorder *recorder = start(1, DAY(0));
    assert_int_equal(recording_remove(path_of(1, DAY(0)), &help.error), ERR_BUSY);
    assert_int_equal(access(path_of(1, DAY(0)), F_OK), 0);
    (void)help_close(&help, recorder);
    assert_int_equal(recording_remove(path_of(1, DAY(0)), &help.error), ERR_NONE);
    assert_int_equal(access(path_of(1, DAY(0)), F_OK), -1);
}

static const char *place_of(int number, int64_t day)
{
    const char *path = path_of(number, day);
    return arena_format(&help.arena, "%.*s.removed", (int)(strlen(path) - strlen(".ghr")), path).at;
}

static void one_that_was_removed_is_known_until_it_is_forgotten(void **state)
{
    (void)state;
    const char *path = path_of(1, DAY(0));
    make(1, DAY(0));
    make(2, DAY(0));
    make(3, DAY(5));
    for (int i = 0; i < 2; i++) { /* whoever is killed begins again */
        assert_int_equal(recording_remove(path, &help.error), ERR_NONE);
        assert_int_equal(recording_remove(path_of(3, DAY(5)), &help.error), ERR_NONE);
    }
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(help_read_file(&help, place_of(1, DAY(0))).len, 0);
    assert_int_equal(recording_walk(help.records, visit, NULL, &help.error), ERR_NONE);
    assert_string_equal(walked, "2@0 ");
    walked[0] = '\0';
    assert_int_equal(recording_walk_removed(help.records, visit, NULL, &help.error), ERR_NONE);
    assert_string_equal(walked, "1@0 3@5 ");
    assert_int_equal(
        recording_find_in(&help.arena, help.records, slice_of_text(id_of(1)), &path, &help.error),
        ERR_NOT_FOUND);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(recording_forget(path_of(1, DAY(0)), &help.error), ERR_NONE);
    }
    walked[0] = '\0';
    assert_int_equal(recording_walk_removed(help.records, visit, NULL, &help.error), ERR_NONE);
    assert_string_equal(walked, "3@5 ");
    assert_int_equal(recording_remove(path_of(1, DAY(0)), &help.error), ERR_NOT_FOUND);
}

static void one_that_never_was_here_is_not_said_to_be_removed(void **state)
{
    (void)state;
    assert_int_equal(recording_remove(path_of(1, DAY(0)), &help.error), ERR_NOT_FOUND);
    make(2, DAY(0));
    assert_int_equal(recording_remove(path_of(1, DAY(0)), &help.error), ERR_NOT_FOUND);
    assert_int_equal(recording_walk_removed(help.records, visit, NULL, &help.error), ERR_NONE);
    assert_string_equal(walked, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_are_walked_day_by_day),
        TEST(those_without_their_end_are_found),
        TEST(one_is_found_by_the_id_of_its_session),
        TEST(one_that_is_written_is_not_removed),
        TEST(one_that_was_removed_is_known_until_it_is_forgotten),
        TEST(one_that_never_was_here_is_not_said_to_be_removed),
    };
    return cmocka_run_group_tests_name("session/recording_folder", tests, NULL, NULL);
}
