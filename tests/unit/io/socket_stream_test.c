/* SPDX-License-Identifier: MIT */
#include "io/socket_stream.h"

#include "base/memory.h"
#include "io/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct peers {
    struct loop *loop;
    struct stream *stream; /* NULL once closed */
    int fd;
    unsigned events; /* all that were reported */
    unsigned call_count;
    bool closes;
};

static void on_event(void *owner, unsigned events)
{
    struct peers *peers = owner;
    peers->events |= events;
    peers->call_count++;
    if (peers->closes) {
        stream_close(peers->stream);
        peers->stream = NULL;
    }
}

static void take(struct peers *peers, struct fault *fault, int take_fd)
{
    peers->loop = loop_new(fault);
    peers->stream = socket_stream_new(peers->loop, take_fd);
    peers->events = 0;
    peers->call_count = 0;
    peers->closes = false;
    stream_own(peers->stream, on_event, peers);
}

static void open_pair(struct peers *peers, struct fault *fault)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    peers->fd = fds[1];
    take(peers, fault, fds[0]);
}

static void finish(struct peers *peers)
{
    if (peers->stream != NULL) {
        stream_close(peers->stream);
    }
    if (peers->fd >= 0) {
        assert_int_equal(close(peers->fd), 0);
    }
    loop_free(peers->loop);
}

/* The events that are reported when these are watched for. */
static unsigned reported(struct peers *peers, unsigned events)
{
    peers->events = 0;
    stream_watch(peers->stream, events);
    loop_turn(peers->loop);
    return peers->events;
}

static enum err read_one(struct peers *peers)
{
    char byte = 0;
    size_t len = 0;
    return stream_read(peers->stream, &byte, 1, &len);
}

static void only_what_is_watched_for_is_reported(void **state)
{
    (void)state;
    struct peers peers;
    open_pair(&peers, NULL);
    assert_int_equal(reported(&peers, STREAM_READABLE), 0);
    assert_int_equal(reported(&peers, STREAM_READABLE | STREAM_WRITABLE), STREAM_WRITABLE);
    assert_int_equal(write(peers.fd, "ab", 2), 2);
    assert_int_equal(reported(&peers, STREAM_READABLE), STREAM_READABLE);
    assert_int_equal(reported(&peers, STREAM_WRITABLE), STREAM_WRITABLE);
    assert_int_equal(reported(&peers, STREAM_READABLE | STREAM_WRITABLE),
                     STREAM_READABLE | STREAM_WRITABLE);
    assert_int_equal(reported(&peers, 0), 0);
    finish(&peers);
}

static void what_is_left_is_reported_again(void **state)
{
    (void)state;
    struct peers peers;
    open_pair(&peers, NULL);
    assert_int_equal(write(peers.fd, "ab", 2), 2);
    assert_int_equal(reported(&peers, STREAM_READABLE), STREAM_READABLE);
    assert_int_equal(read_one(&peers), ERR_NONE);
    assert_int_equal(reported(&peers, STREAM_READABLE), STREAM_READABLE);
    assert_int_equal(read_one(&peers), ERR_NONE);
    assert_int_equal(reported(&peers, STREAM_READABLE), 0);
    assert_int_equal(read_one(&peers), ERR_AGAIN);
    finish(&peers);
}

static void parts_go_out_in_order_and_empty_ones_do_no_harm(void **state)
{
    (void)state;
    struct peers peers;
    open_pair(&peers, NULL);
    struct slice parts[STREAM_PARTS_MAX];
    for (size_t i = 0; i < STREAM_PARTS_MAX; i++) {
        parts[i] = i % 3 == 0 ? SLICE_NONE : slice_sub(SLICE("0123456789abcdef"), i, 1);
    }
    size_t len = 0;
    char text[32] = "";
    assert_int_equal(stream_write(peers.stream, parts, STREAM_PARTS_MAX, &len), ERR_NONE);
    assert_int_equal(len, 10);
    assert_int_equal(read(peers.fd, text, sizeof(text)), 10);
    assert_memory_equal(text, "124578abde", 10);
    assert_int_equal(stream_write(peers.stream, parts, 1, &len), ERR_NONE);
    assert_int_equal(len, 0);
    finish(&peers);
}

static void a_full_socket_must_be_waited_for(void **state)
{
    (void)state;
    static char body[100000];
    struct peers peers;
    open_pair(&peers, NULL);
    size_t total = 0;
    size_t len = 0;
    while (stream_write(peers.stream, &(struct slice){body, sizeof(body)}, 1, &len) == ERR_NONE) {
        assert_in_range(len, 1, sizeof(body));
        total += len;
    }
    assert_int_equal(stream_write(peers.stream, &SLICE("x"), 1, &len), ERR_AGAIN);
    assert_int_equal(reported(&peers, STREAM_WRITABLE), 0);
    while (total > 0) {
        ssize_t got = read(peers.fd, body, sizeof(body));
        assert_in_range(got, 1, total);
        total -= (size_t)got;
    }
    assert_int_equal(reported(&peers, STREAM_WRITABLE), STREAM_WRITABLE);
    assert_int_equal(stream_write(peers.stream, &SLICE("x"), 1, &len), ERR_NONE);
    finish(&peers);
}

static void each_direction_ends_alone(void **state)
{
    (void)state;
    struct peers peers;
    char text[8] = "";
    size_t len = 0;
    open_pair(&peers, NULL);
    assert_int_equal(shutdown(peers.fd, SHUT_WR), 0);
    assert_int_equal(reported(&peers, STREAM_READABLE), STREAM_READABLE);
    assert_int_equal(read_one(&peers), ERR_CLOSED);
    assert_int_equal(stream_write(peers.stream, &SLICE("answer"), 1, &len), ERR_NONE);
    assert_int_equal(stream_shutdown(peers.stream), ERR_NONE);
    assert_int_equal(stream_shutdown(peers.stream), ERR_NONE);
    assert_int_equal(read(peers.fd, text, sizeof(text)), 6);
    assert_int_equal(read(peers.fd, text, sizeof(text)), 0);
    finish(&peers);
}

static void a_reset_is_an_error(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listening, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, size), 0);
    struct peers peers = {.fd = -1};
    take(&peers, NULL, accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
    stream_watch(peers.stream, STREAM_READABLE);
    loop_turn(peers.loop);
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(reported(&peers, STREAM_READABLE), STREAM_READABLE);
    assert_int_equal(read_one(&peers), ERR_IO);
    assert_int_equal(close(listening), 0);
    finish(&peers);
}

static void an_owner_may_close_in_its_callback(void **state)
{
    (void)state;
    struct peers peers;
    open_pair(&peers, NULL);
    peers.closes = true;
    assert_int_equal(write(peers.fd, "ab", 2), 2);
    stream_watch(peers.stream, STREAM_READABLE | STREAM_WRITABLE);
    loop_turn(peers.loop);
    assert_null(peers.stream);
    loop_turn(peers.loop);
    assert_int_equal(peers.call_count, 1);
    char byte = 0;
    assert_int_not_equal(read(peers.fd, &byte, 1), 1);
    finish(&peers);
}

static void the_loops_fault_disturbs_it(void **state)
{
    (void)state;
    struct peers peers;
    struct fault fault;
    size_t len = 0;
    assert_int_equal(fault_parse(SLICE("short,fail:2"), &fault, NULL), ERR_NONE);
    open_pair(&peers, &fault);
    assert_int_equal(stream_write(peers.stream, &SLICE("0123456789"), 1, &len), ERR_NONE);
    assert_in_range(len, 1, 7);
    assert_int_equal(read_one(&peers), ERR_IO);
    finish(&peers);
}

static void a_socket_is_plain_and_has_no_protocol(void **state)
{
    (void)state;
    struct peers peers;
    open_pair(&peers, NULL);
    assert_false(stream_is_encrypted(peers.stream));
    assert_int_equal(stream_protocol(peers.stream).len, 0);
    finish(&peers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_watched_for_is_reported),
        cmocka_unit_test(what_is_left_is_reported_again),
        cmocka_unit_test(parts_go_out_in_order_and_empty_ones_do_no_harm),
        cmocka_unit_test(a_full_socket_must_be_waited_for),
        cmocka_unit_test(each_direction_ends_alone),
        cmocka_unit_test(a_reset_is_an_error),
        cmocka_unit_test(an_owner_may_close_in_its_callback),
        cmocka_unit_test(the_loops_fault_disturbs_it),
        cmocka_unit_test(a_socket_is_plain_and_has_no_protocol),
    };
    return cmocka_run_group_tests_name("io/socket_stream", tests, NULL, NULL);
}
