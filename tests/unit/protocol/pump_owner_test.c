/* SPDX-License-Identifier: MIT */
/* What the owner of a pump may do: see, hold, refuse, stop, say, finish. */
#include "base/limits.h"
#include "pump_help.h"

#include <signal.h>

/* Passing ------------------------------------------------------------------------------------- */

static void what_came_before_is_seen_first(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE("one "), SLICE("1 "));
    assert_int_equal(fixture->seen_count[PUMP_CLIENT], 0);
    say(fixture, PUMP_CLIENT, SLICE("two"));
    say(fixture, PUMP_TARGET, SLICE("2"));
    assert_received(fixture, PUMP_TARGET, "one two");
    assert_received(fixture, PUMP_CLIENT, "1 2");
    must_have_seen(fixture, PUMP_CLIENT, "one two");
    must_have_seen(fixture, PUMP_TARGET, "1 2");
}

static void what_is_held_passes_when_it_is_resumed(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    for (int side = 0; side < 2; side++) {
        int other = 1 - side;
        fixture->verdicts[side] = ERR_AGAIN;
        say(fixture, side, SLICE("held"));
        must_be_silent(fixture, other);
        say(fixture, side, SLICE(" back"));
        must_be_silent(fixture, other);
        must_have_seen(fixture, side, "held"); /* nothing more was read */
        pump_resume(fixture->pump, (enum pump_side)other);
        must_be_silent(fixture, other);
        pump_resume(fixture->pump, (enum pump_side)side);
        assert_received(fixture, other, "held back");
        must_have_seen(fixture, side, "held back");
        buf_clear(&fixture->seen[side]);
    }
    assert_int_equal(fixture->end_count, 0);
}

static void one_side_is_held_and_the_other_goes_on(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    fixture->verdicts[PUMP_CLIENT] = ERR_AGAIN;
    say(fixture, PUMP_CLIENT, SLICE("question"));
    must_be_silent(fixture, PUMP_TARGET);
    say(fixture, PUMP_TARGET, SLICE("news"));
    assert_received(fixture, PUMP_CLIENT, "news");
    must_be_silent(fixture, PUMP_TARGET);
    pump_resume(fixture->pump, PUMP_CLIENT);
    assert_received(fixture, PUMP_TARGET, "question");
}

static void what_came_before_may_be_held(void **state)
{
    struct fixture *fixture = *state;
    fixture->verdicts[PUMP_CLIENT] = ERR_AGAIN;
    fixture->verdicts[PUMP_TARGET] = ERR_AGAIN;
    start_watched(fixture, SLICE("one "), SLICE("1 "));
    pump_resume(fixture->pump, PUMP_CLIENT); /* too early to mean anything */
    say(fixture, PUMP_CLIENT, SLICE("two"));
    must_be_silent(fixture, PUMP_CLIENT);
    must_be_silent(fixture, PUMP_TARGET);
    pump_resume(fixture->pump, PUMP_CLIENT);
    pump_resume(fixture->pump, PUMP_TARGET);
    assert_received(fixture, PUMP_TARGET, "one two");
    assert_received(fixture, PUMP_CLIENT, "1 ");
}

static void what_is_dropped_never_passes(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    for (int side = 0; side < 2; side++) {
        fixture->verdicts[side] = ERR_AGAIN;
        say(fixture, side, SLICE("secret"));
        must_be_silent(fixture, 1 - side);
        pump_drop(fixture->pump, (enum pump_side)(1 - side)); /* nothing is held there */
        pump_drop(fixture->pump, (enum pump_side)side);
        pump_resume(fixture->pump, (enum pump_side)side);
        must_be_silent(fixture, 1 - side);
        say(fixture, side, SLICE("known"));
        assert_received(fixture, 1 - side, "known");
    }
    fixture->verdicts[PUMP_TARGET] = ERR_AGAIN;
    say(fixture, PUMP_TARGET, SLICE("secret"));
    must_be_silent(fixture, PUMP_CLIENT);
    pump_drop(fixture->pump, PUMP_TARGET);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("last words")), ERR_NONE);
    pump_finish(fixture->pump);
    assert_received(fixture, PUMP_CLIENT, "last words");
    must_have_ended(fixture, PUMP_CLIENT);
}

static void what_takes_the_place_of_bytes_passes(void **state)
{
    struct fixture *fixture = *state;
    fixture->replaced_max = 2 * SCRATCH_SIZE;
    fixture->replaces[PUMP_CLIENT] = true;
    fixture->replacement[PUMP_CLIENT] = SLICE("other words");
    start_watched(fixture, SLICE("before"), SLICE_NONE);
    assert_received(fixture, PUMP_TARGET, "other words");
    fixture->replacement[PUMP_CLIENT] = SLICE("");
    say(fixture, PUMP_CLIENT, SLICE("dropped"));
    must_be_silent(fixture, PUMP_TARGET);
    fixture->verdicts[PUMP_CLIENT] = ERR_AGAIN;
    say(fixture, PUMP_CLIENT, SLICE("dropped, too"));
    must_be_silent(fixture, PUMP_TARGET);
    say(fixture, PUMP_CLIENT, SLICE("unread"));
    must_be_silent(fixture, PUMP_TARGET);
    assert_int_equal(fixture->seen_count[PUMP_CLIENT], 3);
    fixture->replacement[PUMP_CLIENT] = SLICE("and back");
    pump_resume(fixture->pump, PUMP_CLIENT);
    assert_received(fixture, PUMP_TARGET, "and back");
}

static void more_than_was_said_takes_no_place(void **state)
{
    static char much[4 * SCRATCH_SIZE + 3 * LIMIT_PUMP_OWN_SIZE];
    struct fixture *fixture = *state;
    fixture->replaces[PUMP_TARGET] = true;
    fixture->replacement[PUMP_TARGET] = slice_of(much, sizeof(much));
    fixture->verdicts[PUMP_TARGET] = ERR_AGAIN;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_TARGET, SLICE("little"));
    must_be_silent(fixture, PUMP_CLIENT);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end, ERR_LIMIT);
}

static void the_target_is_told_something_when_it_speaks(void **state)
{
    struct fixture *fixture = *state;
    fixture->words[PUMP_TARGET] = SLICE("go on");
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_CLIENT, SLICE("first "));
    assert_received(fixture, PUMP_TARGET, "first ");
    say(fixture, PUMP_TARGET, SLICE("answer"));
    assert_received(fixture, PUMP_CLIENT, "answer");
    assert_received(fixture, PUMP_TARGET, "go on");
}

static void a_side_that_is_held_is_not_read(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    pump_hold(fixture->pump, PUMP_TARGET, true);
    say(fixture, PUMP_TARGET, SLICE("news"));
    must_be_silent(fixture, PUMP_CLIENT);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("own ")), ERR_NONE);
    assert_received(fixture, PUMP_CLIENT, "own ");
    pump_hold(fixture->pump, PUMP_TARGET, false);
    assert_received(fixture, PUMP_CLIENT, "news");
}

static void it_is_known_who_has_ended(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    assert_false(pump_has_ended(fixture->pump, PUMP_CLIENT));
    assert_int_equal(shutdown(fixture->fds[PUMP_CLIENT], SHUT_WR), 0);
    must_have_ended(fixture, PUMP_TARGET);
    assert_true(pump_has_ended(fixture->pump, PUMP_CLIENT));
    assert_false(pump_has_ended(fixture->pump, PUMP_TARGET));
}

static void a_side_may_end_while_it_is_held(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    fixture->verdicts[PUMP_TARGET] = ERR_AGAIN;
    say(fixture, PUMP_TARGET, SLICE("last words"));
    vanish(fixture, PUMP_TARGET);
    must_be_silent(fixture, PUMP_CLIENT);
    assert_int_equal(fixture->end_count, 0);
    pump_resume(fixture->pump, PUMP_TARGET);
    assert_received(fixture, PUMP_CLIENT, "last words");
    turn(fixture);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_TARGET);
    assert_int_equal(fixture->end, ERR_NONE);
}

static void what_is_refused_does_not_pass(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_CLIENT, SLICE("good"));
    assert_received(fixture, PUMP_TARGET, "good");
    fixture->verdicts[PUMP_CLIENT] = ERR_INPUT;
    say(fixture, PUMP_CLIENT, SLICE("bad"));
    must_be_silent(fixture, PUMP_TARGET);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_CLIENT);
    assert_int_equal(fixture->end, ERR_INPUT);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("that was bad")), ERR_NONE);
    pump_finish(fixture->pump);
    assert_received(fixture, PUMP_CLIENT, "that was bad");
    must_have_ended(fixture, PUMP_CLIENT);
    must_have_ended(fixture, PUMP_TARGET);
}

static void a_targets_bytes_may_be_refused(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    fixture->verdicts[PUMP_TARGET] = ERR_IO;
    say(fixture, PUMP_TARGET, SLICE("bad"));
    must_be_silent(fixture, PUMP_CLIENT);
    assert_int_equal(fixture->end_side, PUMP_TARGET);
    assert_int_equal(fixture->end, ERR_IO);
}

static void what_came_before_may_be_refused(void **state)
{
    struct fixture *fixture = *state;
    fixture->verdicts[PUMP_TARGET] = ERR_INPUT;
    start_watched(fixture, SLICE_NONE, SLICE("bad"));
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("that was bad")), ERR_NONE);
    must_be_silent(fixture, PUMP_CLIENT);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end, ERR_INPUT);
    pump_finish(fixture->pump);
    assert_received(fixture, PUMP_CLIENT, "that was bad");
}

static void a_client_can_be_stopped(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    pump_hold(fixture->pump, PUMP_CLIENT, true); /* before its first turn */
    say(fixture, PUMP_CLIENT, SLICE("question"));
    must_be_silent(fixture, PUMP_TARGET);
    say(fixture, PUMP_TARGET, SLICE("answer"));
    assert_received(fixture, PUMP_CLIENT, "answer");
    must_have_seen(fixture, PUMP_CLIENT, "");
    pump_hold(fixture->pump, PUMP_CLIENT, false);
    assert_received(fixture, PUMP_TARGET, "question");
    pump_hold(fixture->pump, PUMP_CLIENT, true);
    assert_int_equal(shutdown(fixture->fds[PUMP_CLIENT], SHUT_WR), 0);
    must_be_silent(fixture, PUMP_TARGET);
    pump_hold(fixture->pump, PUMP_CLIENT, false);
    must_have_ended(fixture, PUMP_TARGET);
}

/* Saying -------------------------------------------------------------------------------------- */

static void own_words_go_behind_what_waits(void **state)
{
    struct fixture *fixture = *state;
    char at[512];
    struct slice got;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    (void)fill(fixture, PUMP_TARGET);
    size_t passed = buf_view(&fixture->seen[PUMP_TARGET]).len;
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("own words")), ERR_NONE);
    for (size_t len = 0; len < passed; len += got.len) {
        got = receive(fixture, PUMP_CLIENT, at,
                      passed - len < sizeof(at) ? passed - len : sizeof(at));
        assert_true(got.len > 0);
        assert_int_equal(slice_find_byte(got, 'o'), got.len);
    }
    assert_received(fixture, PUMP_CLIENT, "own words");
    got = receive(fixture, PUMP_CLIENT, at, sizeof(at)); /* and it goes on */
    assert_true(got.len == sizeof(at));
}

static void own_words_wait_behind_what_is_held(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    fixture->verdicts[PUMP_TARGET] = ERR_AGAIN;
    say(fixture, PUMP_TARGET, SLICE("its words, "));
    turn(fixture);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("own words")), ERR_NONE);
    must_be_silent(fixture, PUMP_CLIENT);
    pump_resume(fixture->pump, PUMP_TARGET);
    assert_received(fixture, PUMP_CLIENT, "its words, own words");
}

static void own_words_may_come_first(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE("1 "));
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("own ")), ERR_NONE);
    say(fixture, PUMP_TARGET, SLICE("2"));
    assert_received(fixture, PUMP_CLIENT, "1 own 2");
    must_have_seen(fixture, PUMP_TARGET, "1 2");
}

static void own_words_are_limited(void **state)
{
    struct fixture *fixture = *state;
    char *words = memory_new(LIMIT_PUMP_OWN_SIZE + 1);
    unsigned count = 0;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, slice_of(words, LIMIT_PUMP_OWN_SIZE + 1)),
                     ERR_LIMIT);
    turn(fixture);
    (void)fill(fixture, PUMP_TARGET);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, slice_of(words, LIMIT_PUMP_OWN_SIZE)),
                     ERR_NONE);
    while (pump_say(fixture->pump, PUMP_CLIENT, slice_of(words, 1024)) == ERR_NONE) {
        assert_true(count++ < LIMIT_PUMP_OWN_SIZE / 1024);
    }
    memory_free(words);
}

/* Finishing ----------------------------------------------------------------------------------- */

static void it_can_be_finished_at_any_time(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE("one"), SLICE("1 ")); /* before its first turn */
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("no more")), ERR_NONE);
    pump_finish(fixture->pump);
    assert_received(fixture, PUMP_CLIENT, "1 no more");
    must_have_seen(fixture, PUMP_TARGET, "1 ");
    must_have_seen(fixture, PUMP_CLIENT, "");
    must_have_ended(fixture, PUMP_TARGET);
    say(fixture, PUMP_CLIENT, SLICE("hello?")); /* which is read, for nothing */
    must_have_ended(fixture, PUMP_CLIENT);
    assert_int_equal(fixture->gone_count, 0);
    vanish(fixture, PUMP_CLIENT);
    turn(fixture);
    assert_int_equal(fixture->gone_count, 1);
    assert_int_equal(fixture->end_count, 0);
}

static void a_client_that_sends_much_hears_the_end(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    (void)fill(fixture, PUMP_CLIENT);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("stop")), ERR_NONE);
    pump_finish(fixture->pump);
    for (int i = 0; i < 1000; i++) {
        (void)!write(fixture->fds[PUMP_CLIENT], fixture, SCRATCH_SIZE);
        loop_turn(fixture->loop);
    }
    assert_received(fixture, PUMP_CLIENT, "stop");
    must_have_ended(fixture, PUMP_CLIENT);
    vanish(fixture, PUMP_CLIENT);
    turn(fixture);
    assert_int_equal(fixture->gone_count, 1);
}

static void what_is_held_is_still_waited_for(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    fixture->verdicts[PUMP_TARGET] = ERR_AGAIN;
    fixture->verdicts[PUMP_CLIENT] = ERR_AGAIN;
    say(fixture, PUMP_TARGET, SLICE("its words, "));
    say(fixture, PUMP_CLIENT, SLICE("question"));
    turn(fixture);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("own words")), ERR_NONE);
    pump_finish(fixture->pump);
    must_be_silent(fixture, PUMP_CLIENT);
    pump_resume(fixture->pump, PUMP_CLIENT); /* for whom nobody is there any more */
    pump_resume(fixture->pump, PUMP_TARGET);
    assert_received(fixture, PUMP_CLIENT, "its words, own words");
    must_have_ended(fixture, PUMP_CLIENT);
    must_have_ended(fixture, PUMP_TARGET);
}

static void a_client_that_had_ended_is_gone_when_it_has_all(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    assert_int_equal(shutdown(fixture->fds[PUMP_CLIENT], SHUT_WR), 0);
    turn(fixture);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("bye")), ERR_NONE);
    pump_finish(fixture->pump);
    assert_received(fixture, PUMP_CLIENT, "bye");
    turn(fixture);
    assert_int_equal(fixture->gone_count, 1);
}

static void a_client_that_does_not_end_is_not_waited_for(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    pump_finish(fixture->pump);
    for (int i = 0; i < 200 && fixture->gone_count == 0; i++) {
        turn(fixture);
        (void)usleep(50000);
        assert_true(i > 50 || fixture->gone_count == 0);
    }
    assert_int_equal(fixture->gone_count, 1);
    must_have_ended(fixture, PUMP_CLIENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_came_before_is_seen_first),
        TEST_DISTURBED(what_came_before_is_seen_first),
        TEST(what_is_held_passes_when_it_is_resumed),
        TEST(one_side_is_held_and_the_other_goes_on),
        TEST(what_came_before_may_be_held),
        TEST(a_side_may_end_while_it_is_held),
        TEST(what_is_dropped_never_passes),
        TEST(what_takes_the_place_of_bytes_passes),
        TEST(more_than_was_said_takes_no_place),
        TEST(the_target_is_told_something_when_it_speaks),
        TEST(a_side_that_is_held_is_not_read),
        TEST(it_is_known_who_has_ended),
        TEST(what_is_refused_does_not_pass),
        TEST(a_targets_bytes_may_be_refused),
        TEST(what_came_before_may_be_refused),
        TEST(a_client_can_be_stopped),
        TEST(own_words_go_behind_what_waits),
        TEST(own_words_wait_behind_what_is_held),
        TEST_DISTURBED(own_words_may_come_first),
        TEST(own_words_may_come_first),
        TEST(own_words_are_limited),
        TEST(it_can_be_finished_at_any_time),
        TEST_DISTURBED(it_can_be_finished_at_any_time),
        TEST(a_client_that_sends_much_hears_the_end),
        TEST(what_is_held_is_still_waited_for),
        TEST(a_client_that_had_ended_is_gone_when_it_has_all),
        TEST(a_client_that_does_not_end_is_not_waited_for),
    };
    (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
    return cmocka_run_group_tests_name("protocol/pump_owner", tests, NULL, NULL);
}
