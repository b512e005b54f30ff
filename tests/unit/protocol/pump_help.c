/* SPDX-License-Identifier: MIT */
#include "pump_help.h"

#include "base/limits.h"
#include "io/socket_stream.h"

#include <errno.h>

#define TURNS 20000

static enum err on_pass(void *owner, enum pump_side side, struct slice *bytes)
{
    struct fixture *fixture = owner;
    enum err verdict = fixture->verdicts[side];
    assert_int_equal(fixture->end_count, 0);
    assert_true(bytes->len > 0);
    assert_int_equal(buf_append(&fixture->seen[side], *bytes), ERR_NONE);
    fixture->seen_count[side]++;
    fixture->verdicts[side] = ERR_NONE;
    if (fixture->replaces[side]) {
        *bytes = fixture->replacement[side];
    }
    if (fixture->words[side].len > 0) {
        assert_int_equal(pump_say(fixture->pump, side, fixture->words[side]), ERR_NONE);
    }
    return verdict;
}

static void on_end(void *owner, enum pump_side side, enum err err)
{
    struct fixture *fixture = owner;
    fixture->end_count++;
    fixture->end_side = side;
    fixture->end = err;
    if (fixture->closes_at_end) {
        pump_close(fixture->pump);
        fixture->pump = NULL;
    }
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

void start(struct fixture *fixture, struct slice of_client, struct slice of_target)
{
    struct pump_settings settings = {
        .waiting = {of_client, of_target},
        .scratch = fixture->scratch,
        .scratch_size = SCRATCH_SIZE,
        .replaced_max = fixture->replaced_max,
        .on_pass = fixture->watches ? on_pass : NULL,
        .on_end = on_end,
        .on_gone = on_gone,
        .owner = fixture,
    };
    for (int side = 0; side < 2; side++) {
        settings.take_streams[side] = open_side(fixture, side);
    }
    fixture->pump = pump_new(&settings);
}

void start_watched(struct fixture *fixture, struct slice of_client, struct slice of_target)
{
    fixture->watches = true;
    start(fixture, of_client, of_target);
}

int set_up(void **state)
{
    struct fixture *fixture = memory_new(sizeof(*fixture));
    fixture->loop = loop_new(&fixture->fault);
    fixture->fds[PUMP_CLIENT] = -1;
    fixture->fds[PUMP_TARGET] = -1;
    buf_init(&fixture->seen[PUMP_CLIENT], LIMIT_MIB(64));
    buf_init(&fixture->seen[PUMP_TARGET], LIMIT_MIB(64));
    *state = fixture;
    return 0;
}

int set_up_disturbed(void **state)
{
    int result = set_up(state);
    struct fixture *fixture = *state;
    fixture->fault.is_short = true;
    fixture->fault.is_again = true;
    fixture->fault.seed = 42;
    return result;
}

int tear_down(void **state)
{
    struct fixture *fixture = *state;
    if (fixture->pump != NULL) {
        pump_close(fixture->pump);
    }
    for (int side = 0; side < 2; side++) {
        (void)close(fixture->fds[side]);
        buf_release(&fixture->seen[side]);
    }
    loop_turn(fixture->loop);
    loop_free(fixture->loop);
    memory_free(fixture);
    return 0;
}

struct slice receive(struct fixture *fixture, int side, char *at, size_t size)
{
    size_t len = 0;
    for (int i = 0; i < TURNS && len < size; i++) {
        ssize_t got = read(fixture->fds[side], at + len, size - len);
        if (got == 0) {
            break;
        }
        len += got > 0 ? (size_t)got : 0;
        loop_turn(fixture->loop);
    }
    return slice_of(at, len);
}

void say(const struct fixture *fixture, int side, struct slice text)
{
    assert_int_equal(write(fixture->fds[side], text.at, text.len), (ssize_t)text.len);
}

void turn(struct fixture *fixture)
{
    for (int i = 0; i < 50; i++) {
        loop_turn(fixture->loop);
    }
}

void vanish(struct fixture *fixture, int side)
{
    (void)close(fixture->fds[side]);
    fixture->fds[side] = -1;
}

size_t fill(struct fixture *fixture, int side)
{
    static const char bytes[4096];
    size_t size = 0;
    for (int idle = 0; idle < 20;) {
        ssize_t len = write(fixture->fds[side], bytes, sizeof(bytes));
        size += len > 0 ? (size_t)len : 0;
        idle = len > 0 ? 0 : idle + 1;
        loop_turn(fixture->loop);
    }
    return size;
}

void must_be_silent(struct fixture *fixture, int side)
{
    char byte;
    turn(fixture);
    assert_int_equal(read(fixture->fds[side], &byte, 1), -1);
    assert_int_equal(errno, EAGAIN);
}

void must_have_ended(struct fixture *fixture, int side)
{
    char byte;
    turn(fixture);
    assert_int_equal(read(fixture->fds[side], &byte, 1), 0);
}

void must_have_seen(const struct fixture *fixture, int side, const char *text)
{
    struct slice seen = buf_view(&fixture->seen[side]);
    assert_int_equal(seen.len, strlen(text));
    assert_memory_equal(seen.at, text, seen.len);
}
