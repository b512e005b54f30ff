/* SPDX-License-Identifier: MIT */
#include "proxy/pump.h"

#include "base/buf.h"
#include "base/memory.h"
#include "io/socket_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define SCRATCH_SIZE 4096
#define TURNS        20000

/* A pump between two socket pairs; the test holds the far ends. */
struct fixture {
    struct loop *loop;
    struct pump *pump;
    int fds[2]; /* by side */
    char scratch[SCRATCH_SIZE];
    unsigned end_count;
    unsigned gone_count;
    enum pump_side end_side;
    enum err end;
};

static void on_end(void *owner, enum pump_side side, enum err err)
{
    struct fixture *fixture = owner;
    fixture->end_count++;
    fixture->end_side = side;
    fixture->end = err;
}

static void on_gone(void *owner)
{
    struct fixture *fixture = owner;
    fixture->gone_count++;
    fixture->pump = NULL;
}

static struct stream *open_side(struct fixture *fixture, int side)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    fixture->fds[side] = fds[1];
    return socket_stream_new(fixture->loop, fds[0]);
}

static void start(struct fixture *fixture, struct slice of_client, struct slice of_target)
{
    struct pump_settings settings = {
        .waiting = {of_client, of_target},
        .scratch = fixture->scratch,
        .scratch_size = SCRATCH_SIZE,
        .on_end = on_end,
        .on_gone = on_gone,
        .owner = fixture,
    };
    for (int side = 0; side < 2; side++) {
        settings.take_streams[side] = open_side(fixture, side);
    }
    fixture->pump = pump_new(&settings);
}

static int set_up(void **state)
{
    struct fixture *fixture = memory_new(sizeof(*fixture));
    fixture->loop = loop_new(NULL);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->pump != NULL) {
        pump_close(fixture->pump);
    }
    for (int side = 0; side < 2; side++) {
        (void)close(fixture->fds[side]);
    }
    loop_turn(fixture->loop);
    loop_free(fixture->loop);
    memory_free(fixture);
    return 0;
}

/* What the far end of a side gets within some turns. */
static struct slice receive(struct fixture *fixture, int side, char *at, size_t size)
{
    size_t len = 0;
    for (int turn = 0; turn < TURNS && len < size; turn++) {
        ssize_t got = read(fixture->fds[side], at + len, size - len);
        if (got == 0) {
            break;
        }
        len += got > 0 ? (size_t)got : 0;
        loop_turn(fixture->loop);
    }
    return slice_of(at, len);
}

static void say(const struct fixture *fixture, int side, struct slice text)
{
    assert_int_equal(write(fixture->fds[side], text.at, text.len), (ssize_t)text.len);
}

static void turn(struct fixture *fixture)
{
    for (int i = 0; i < 50; i++) {
        loop_turn(fixture->loop);
    }
}

#define assert_received(fixture, side, text)                                                       \
    do {                                                                                           \
        char got_at[64];                                                                           \
        struct slice got = receive(fixture, side, got_at, strlen(text));                           \
        assert_int_equal(got.len, strlen(text));                                                   \
        assert_memory_equal(got.at, text, got.len);                                                \
    } while (0)

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
    char byte = 0;
    start(fixture, SLICE_NONE, SLICE_NONE);
    say(fixture, PUMP_TARGET, SLICE("bye"));
    assert_int_equal(shutdown(fixture->fds[PUMP_TARGET], SHUT_RDWR), 0);
    assert_received(fixture, PUMP_CLIENT, "bye");
    turn(fixture);
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_TARGET);
    assert_int_equal(pump_say(fixture->pump, SLICE("it is gone")), ERR_NONE);
    pump_finish(fixture->pump);
    assert_received(fixture, PUMP_CLIENT, "it is gone");
    turn(fixture);
    assert_int_equal(read(fixture->fds[PUMP_CLIENT], &byte, 1), 0);
    assert_int_equal(fixture->gone_count, 0);
    assert_int_equal(shutdown(fixture->fds[PUMP_CLIENT], SHUT_WR), 0);
    turn(fixture);
    assert_int_equal(fixture->gone_count, 1);
    assert_int_equal(fixture->end_count, 1);
}

static void a_client_that_is_gone_is_an_error(void **state)
{
    struct fixture *fixture = *state;
    start(fixture, SLICE_NONE, SLICE_NONE);
    turn(fixture);
    (void)close(fixture->fds[PUMP_CLIENT]);
    fixture->fds[PUMP_CLIENT] = -1;
    for (int i = 0; i < 100 && fixture->end_count == 0; i++) {
        (void)!write(fixture->fds[PUMP_TARGET], "x", 1);
        turn(fixture);
    }
    assert_int_equal(fixture->end_count, 1);
    assert_int_equal(fixture->end_side, PUMP_CLIENT);
    assert_int_equal(fixture->end, ERR_IO);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(carries_both_ways),
        TEST(what_came_before_goes_first),
        TEST(nothing_is_lost_when_one_side_is_slow),
        TEST(a_client_that_ends_is_still_answered),
        TEST(a_target_that_ends_leaves_the_client_to_be_told),
        TEST(a_client_that_is_gone_is_an_error),
        TEST(nothing_is_told_after_the_end),
    };
    (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
