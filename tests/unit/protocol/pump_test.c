/* SPDX-License-Identifier: MIT */
/* Bytes that pass, and how it ends. */
#include "pump_help.h"

#include <signal.h>

static void carries_both_ways(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_CLIENT, SLICE("question"));
    assert_received(fixture, PUMP_TARGET, "question");
    say(fixture, PUMP_TARGET, SLICE("answer"));
    assert_received(fixture, PUMP_CLIENT, "answer");
    assert_int_equal(pump_count(fixture->pump, PUMP_CLIENT), 8);
    assert_int_equal(pump_count(fixture->pump, PUMP_TARGET), 6);
    assert_int_equal(fixture->end_count, 0);
}

static void what_came_before_goes_first(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, SLICE("one "), SLICE("1 "));
    say(fixture, PUMP_CLIENT, SLICE("two"));
    say(fixture, PUMP_TARGET, SLICE("2"));
    assert_received(fixture, PUMP_TARGET, "one two");
    assert_received(fixture, PUMP_CLIENT, "1 2");
    assert_int_equal(pump_count(fixture->pump, PUMP_CLIENT), 7);
}

/* Numbers in a row, more than all buffers hold, and nobody reads for a while. */
static void nothing_is_lost_when_one_side_is_slow(void **state)
{
    enum { COUNT = 1000000 };
    struct fixture *fixture = *state;
    uint32_t *sent = memory_new_array(COUNT, sizeof(*sent));
    uint32_t *got = memory_new_array(COUNT, sizeof(*got));
    size_t size = COUNT * sizeof(*sent);
    size_t sent_len = 0;
    size_t got_len = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        sent[i] = i;
    }
    start(fixture, SLICE_NONE, SLICE_NONE);
    for (int round = 0; got_len < size && round < 100000; round++) {
        ssize_t len = write(fixture->fds[PUMP_TARGET], (char *)sent + sent_len, size - sent_len);
        sent_len += len > 0 ? (size_t)len : 0;
        loop_turn(fixture->loop);
        if (round % 7 == 0) { /* the slow side */
            len = read(fixture->fds[PUMP_CLIENT], (char *)got + got_len, 3000);
            got_len += len > 0 ? (size_t)len : 0;
        }
        /* What waits in the pump is one reading at most. */
        assert_true(pump_count(fixture->pump, PUMP_TARGET) <= got_len + (1 << 20));
    }
    assert_int_equal(got_len, size);
    assert_memory_equal(got, sent, size);
    memory_free(sent);
    memory_free(got);
}

static void a_client_that_ends_is_still_answered(void **state)
{
    struct fixture *fixture = *state;
    char byte = 0;
    start(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_CLIENT, SLICE("last words"));
    assert_int_equal(shutdown(fixture->fds[PUMP_CLIENT], SHUT_WR), 0);
    assert_received(fixture, PUMP_TARGET, "last words");
    turn(fixture);
    assert_int_equal(read(fixture->fds[PUMP_TARGET], &byte, 1), 0);
    assert_int_equal(fixture->end_count, 0);
    say(fixture, PUMP_TARGET, SLICE("the answer"));
    assert_int_equal(shutdown(fixture->fds[PUMP_TARGET], SHUT_WR), 0);
    assert_received(fixture, PUMP_CLIENT, "the answer");
    turn(fixture);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end, ERR_NONE);
}

static void a_target_that_ends_leaves_the_client_to_be_told(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_TARGET, SLICE("bye"));
    assert_int_equal(shutdown(fixture->fds[PUMP_TARGET], SHUT_RDWR), 0);
    assert_received(fixture, PUMP_CLIENT, "bye");
    turn(fixture);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_TARGET);
    assert_int_equal(fixture->end, ERR_NONE);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("it is ")), ERR_NONE);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("gone")), ERR_NONE);
    must_be_silent(fixture, PUMP_CLIENT);
    pump_finish(fixture->pump);
    assert_received(fixture, PUMP_CLIENT, "it is gone");
    must_have_ended(fixture, PUMP_CLIENT);
    assert_int_equal(fixture->gone_count, 0);
    assert_int_equal(shutdown(fixture->fds[PUMP_CLIENT], SHUT_WR), 0);
    turn(fixture);
    assert_int_equal(fixture->gone_count, 1);
    assert_int_equal(fixture->end_count, 1);
}

/* It says why and closes, with something unread: what the client says next cannot be written. */
static void a_target_that_breaks_is_read_to_its_end(void **state)
{
    struct fixture *fixture = *state;
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    say(fixture, PUMP_CLIENT, SLICE("question"));
    must_be_silent(fixture, PUMP_CLIENT);
    say(fixture, PUMP_TARGET, SLICE("why"));
    vanish(fixture, PUMP_TARGET);
    say(fixture, PUMP_CLIENT, SLICE("another"));
    assert_received(fixture, PUMP_CLIENT, "why");
    turn(fixture);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_TARGET);
    assert_int_equal(fixture->end, ERR_IO);
    must_have_seen(fixture, PUMP_TARGET, "why");
}

static void what_waits_for_the_client_survives_the_target(void **state)
{
    struct fixture *fixture = *state;
    char at[SCRATCH_SIZE];
    start_watched(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_CLIENT, SLICE("question"));
    turn(fixture);
    (void)fill(fixture, PUMP_TARGET);
    vanish(fixture, PUMP_TARGET);
    (void)!write(fixture->fds[PUMP_CLIENT], "another", 7);
    turn(fixture);
    assert_int_equal(fixture->end_count, 0);
    size_t got = 0;
    for (int i = 0; i < 100000 && fixture->end_count == 0; i++) {
        got += receive(fixture, PUMP_CLIENT, at, 100).len;
    }
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_TARGET);
    assert_int_equal(fixture->end, ERR_IO);
    assert_int_equal(pump_say(fixture->pump, PUMP_CLIENT, SLICE("it broke")), ERR_NONE);
    pump_finish(fixture->pump);
    for (size_t len = 1; len > 0;) {
        len = receive(fixture, PUMP_CLIENT, at, sizeof(at)).len;
        got += len;
        if (len > 0 && len < sizeof(at)) {
            assert_true(slice_ends_with(slice_of(at, len), SLICE("it broke")));
        }
    }
    assert_int_equal(got, buf_view(&fixture->seen[PUMP_TARGET]).len + strlen("it broke"));
}

static void a_client_that_is_gone_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    vanish(fixture, PUMP_CLIENT);
    for (int i = 0; i < 100 && fixture->end_count == 0; i++) {
        (void)!write(fixture->fds[PUMP_TARGET], "x", 1);
        turn(fixture);
    }
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_CLIENT);
    assert_int_equal(fixture->end, ERR_IO);
    pump_finish(fixture->pump); /* nobody is there to hear it */
    turn(fixture);
    assert_int_equal(fixture->gone_count, 1);
}

static void it_may_be_closed_as_it_ends(void **state)
{
    struct fixture *fixture = *state;
    fixture->closes_at_end = true;
    start(fixture, SLICE_NONE, SLICE_NONE);
    vanish(fixture, PUMP_TARGET);
    turn(fixture);
    assert_int_equal(fixture->end_count, 1);
    must_have_ended(fixture, PUMP_CLIENT);
}

static void nothing_is_told_after_the_end(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, SLICE("waits"), SLICE_NONE);
    pump_close(fixture->pump); /* before its first turn */
    fixture->pump = NULL;
    turn(fixture);
    assert_int_equal(fixture->end_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(carries_both_ways),
        TEST_DISTURBED(carries_both_ways),
        TEST(what_came_before_goes_first),
        TEST_DISTURBED(what_came_before_goes_first),
        TEST(nothing_is_lost_when_one_side_is_slow),
        TEST(a_client_that_ends_is_still_answered),
        TEST_DISTURBED(a_client_that_ends_is_still_answered),
        TEST(a_target_that_ends_leaves_the_client_to_be_told),
        TEST_DISTURBED(a_target_that_ends_leaves_the_client_to_be_told),
        TEST(a_target_that_breaks_is_read_to_its_end),
        TEST(what_waits_for_the_client_survives_the_target),
        TEST(a_client_that_is_gone_is_an_error),
        TEST(it_may_be_closed_as_it_ends),
        TEST(nothing_is_told_after_the_end),
    };
    (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
    return cmocka_run_group_tests_name("protocol/pump", tests, NULL, NULL);
}
