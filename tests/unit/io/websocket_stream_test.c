/* SPDX-License-Identifier: MIT */
/* The server's end of a WebSocket over a pair of sockets; the test is the client. */
#include "io/websocket_stream.h"

#include "base/limits.h"
#include "base/memory.h"
#include "io/socket_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t mask[WEBSOCKET_MASK_SIZE] = {9, 8, 7, 6};

struct both {
    struct loop *loop;
    struct websocket *socket; /* NULL: it is gone */
    int fd;                   /* of the client */
    struct buf came;          /* what the server was told */
    size_t message_count;
    size_t room_count;
    int gone_code;
    struct websocket_reader reader;
    struct buf in; /* of the client */
};

static void on_message(void *owner, enum websocket_kind kind, struct slice payload)
{
    struct both *both = owner;
    (void)kind;
    both->message_count++;
    assert_int_equal(buf_append(&both->came, payload), ERR_NONE);
}

static void on_room(void *owner)
{
    struct both *both = owner;
    both->room_count++;
}

static void on_gone(void *owner, uint16_t code)
{
    struct both *both = owner;
    both->socket = NULL;
    both->gone_code = code;
}

static const struct websocket_events events = {
    .on_message = on_message, .on_room = on_room, .on_gone = on_gone};

static void turn(struct both *both)
{
    for (int i = 0; i < 20; i++) {
        loop_turn(both->loop);
    }
}

static int start(void **state)
{
    struct both *both = memory_new(sizeof(*both));
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    both->loop = loop_new(NULL);
    both->fd = fds[1];
    both->gone_code = -1;
    buf_init(&both->came, LIMIT_MIB(4));
    buf_init(&both->in, LIMIT_MIB(4));
    websocket_reader_init(&both->reader, false, LIMIT_MIB(1));
    both->socket = websocket_new(socket_stream_new(both->loop, fds[0]), SLICE(""), &events, both);
    *state = both;
    return 0;
}

static int stop(void **state)
{
    struct both *both = *state;
    if (both->socket != NULL) {
        websocket_close(both->socket);
    }
    turn(both);
    loop_free(both->loop);
    (void)close(both->fd);
    websocket_reader_release(&both->reader);
    buf_release(&both->came);
    buf_release(&both->in);
    memory_free(both);
    return 0;
}

static void say(struct both *both, struct slice bytes)
{
    assert_int_equal(send(both->fd, bytes.at, bytes.len, MSG_NOSIGNAL), (ssize_t)bytes.len);
    turn(both);
}

static void say_message(struct both *both, enum websocket_kind kind, struct slice payload)
{
    struct buf frame;
    buf_init(&frame, LIMIT_MIB(1));
    assert_int_equal(websocket_write(&frame, kind, payload, mask), ERR_NONE);
    say(both, buf_view(&frame));
    buf_release(&frame);
}

/* What the server said next. */
static enum err hear(struct both *both, struct websocket_message *ret_message)
{
    enum websocket_code code = WEBSOCKET_NORMAL;
    static char bytes[65536];
    ssize_t len = 0;
    do {
        turn(both);
        len = recv(both->fd, bytes, sizeof(bytes), 0);
        if (len > 0) {
            assert_int_equal(buf_append(&both->in, slice_of(bytes, (size_t)len)), ERR_NONE);
        }
    } while (len > 0);
    size_t taken = 0;
    enum err err = websocket_read(&both->reader, buf_view(&both->in), &taken, ret_message, &code);
    buf_consume(&both->in, taken);
    return err;
}

static void messages_pass_both_ways_and_pings_are_answered(void **state)
{
    struct both *both = *state;
    struct websocket_message message;
    say_message(both, WEBSOCKET_BINARY, SLICE("one"));
    say_message(both, WEBSOCKET_PING, SLICE("there?"));
    assert_true(slice_equals(buf_view(&both->came), SLICE("one")));
    assert_int_equal(hear(both, &message), ERR_NONE);
    assert_int_equal(message.kind, WEBSOCKET_PONG);
    assert_true(slice_equals(message.payload, SLICE("there?")));
    assert_int_equal(websocket_send(both->socket, WEBSOCKET_TEXT, SLICE("two")), ERR_NONE);
    assert_int_equal(hear(both, &message), ERR_NONE);
    assert_true(slice_equals(message.payload, SLICE("two")));
}

static void who_is_held_is_not_read(void **state)
{
    struct both *both = *state;
    websocket_hold(both->socket, true);
    say_message(both, WEBSOCKET_BINARY, SLICE("later"));
    assert_int_equal(both->message_count, 0);
    websocket_hold(both->socket, false);
    turn(both);
    assert_int_equal(both->message_count, 1);
}

static void who_does_not_read_is_sent_no_more(void **state)
{
    static char bytes[LIMIT_KIB(32)];
    struct both *both = *state;
    struct websocket_message message;
    size_t sent = 0;
    while (websocket_send(both->socket, WEBSOCKET_BINARY, slice_of(bytes, sizeof(bytes))) ==
           ERR_NONE) {
        sent++;
        turn(both);
        assert_true(sent < 1000);
    }
    assert_int_equal(both->room_count, 0);
    assert_int_equal(websocket_send(both->socket, WEBSOCKET_TEXT, SLICE("why")), ERR_NONE);
    for (size_t i = 0; i < sent; i++) {
        assert_int_equal(hear(both, &message), ERR_NONE);
        assert_int_equal(message.payload.len, sizeof(bytes));
    }
    assert_int_equal(hear(both, &message), ERR_NONE);
    assert_true(slice_equals(message.payload, SLICE("why")));
    assert_int_equal(both->room_count, 1);
}

static void a_good_bye_is_answered_with_its_code(void **state)
{
    struct both *both = *state;
    struct websocket_message message;
    say_message(both, WEBSOCKET_CLOSE, SLICE("\x03\xe9"));
    assert_int_equal(hear(both, &message), ERR_NONE);
    assert_int_equal(message.kind, WEBSOCKET_CLOSE);
    assert_int_equal(message.code, WEBSOCKET_GOING_AWAY);
    assert_null(both->socket);
}

static void ours_goes_out_behind_what_was_sent(void **state)
{
    struct both *both = *state;
    struct websocket_message message;
    assert_int_equal(websocket_send(both->socket, WEBSOCKET_BINARY, SLICE("last")), ERR_NONE);
    websocket_finish(both->socket, WEBSOCKET_POLICY, SLICE("because"), 1000);
    assert_int_equal(websocket_send(both->socket, WEBSOCKET_BINARY, SLICE("too late")), ERR_NONE);
    assert_int_equal(hear(both, &message), ERR_NONE);
    assert_true(slice_equals(message.payload, SLICE("last")));
    assert_int_equal(hear(both, &message), ERR_NONE);
    assert_int_equal(message.code, WEBSOCKET_POLICY);
    assert_true(slice_equals(message.payload, SLICE("because")));
    assert_non_null(both->socket); /* the client has not said it */
    say_message(both, WEBSOCKET_CLOSE, SLICE("\x03\xf0"));
    assert_null(both->socket);
}

static void what_breaks_the_protocol_is_told_and_cut(void **state)
{
    struct both *both = *state;
    struct websocket_message message;
    say(both, SLICE("\x81\x05hello")); /* not masked */
    assert_int_equal(hear(both, &message), ERR_NONE);
    assert_int_equal(message.code, WEBSOCKET_PROTOCOL_ERROR);
    say_message(both, WEBSOCKET_BINARY, SLICE("more")); /* read, so that nothing is reset */
    assert_non_null(both->socket);
    (void)shutdown(both->fd, SHUT_WR);
    turn(both);
    assert_null(both->socket);
    assert_int_equal(both->message_count, 0);
}

static void a_client_that_is_lost_is_gone(void **state)
{
    struct both *both = *state;
    (void)shutdown(both->fd, SHUT_RDWR);
    turn(both);
    assert_null(both->socket);
    assert_int_equal(both->gone_code, WEBSOCKET_NO_CODE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_pass_both_ways_and_pings_are_answered, start,
                                        stop),
        cmocka_unit_test_setup_teardown(who_is_held_is_not_read, start, stop),
        cmocka_unit_test_setup_teardown(who_does_not_read_is_sent_no_more, start, stop),
        cmocka_unit_test_setup_teardown(a_good_bye_is_answered_with_its_code, start, stop),
        cmocka_unit_test_setup_teardown(ours_goes_out_behind_what_was_sent, start, stop),
        cmocka_unit_test_setup_teardown(what_breaks_the_protocol_is_told_and_cut, start, stop),
        cmocka_unit_test_setup_teardown(a_client_that_is_lost_is_gone, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
