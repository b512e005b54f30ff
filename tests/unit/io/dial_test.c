/* SPDX-License-Identifier: MIT */
#include "io/dial.h"

#include "base/must.h"
#include "dial_help.h"
#include "io/listener.h"
#include "io/sandbox.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A port of 127.0.0.3 whose queue of connections is full: it drops what comes. */
struct silence {
    int fds[64];
    size_t count;
};

static bool silence_is_full(const struct silence *silence)
{
    int error = 0;
    struct tcp_info info;
    socklen_t size = sizeof(info);
    error = getsockopt(silence->fds[silence->count - 1], IPPROTO_TCP, TCP_INFO, &info, &size);
    return error == 0 && info.tcpi_state != TCP_ESTABLISHED;
}

static void silence_open(struct silence *silence, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    must(inet_pton(AF_INET, "127.0.0.3", &address.sin_addr) == 1);
    silence->fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    silence->count = 1;
    assert_int_equal(bind(silence->fds[0], (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(silence->fds[0], 0), 0);
    do {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fd, (struct sockaddr *)&address, sizeof(address));
        silence->fds[silence->count++] = fd;
        (void)usleep(10000);
    } while (!silence_is_full(silence) && silence->count < COUNT_OF(silence->fds));
    assert_true(silence->count < COUNT_OF(silence->fds));
}

static void silence_close(struct silence *silence)
{
    for (size_t i = 0; i < silence->count; i++) {
        assert_int_equal(close(silence->fds[i]), 0);
    }
}

/* The tests ------------------------------------------------------------------------------------ */

static void names_and_addresses_are_connected_to(void **state)
{
    (void)state;
    struct dial_place place;
    dial_place_open(&place, NULL);
    dial_must_connect(&place, SLICE("127.0.0.1"));
    dial_must_connect(&place, SLICE("localhost"));
    dial_must_connect(&place, SLICE("::ffff:127.0.0.1"));
    dial_place_close(&place);
}

static int option_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof(value);
    assert_int_equal(getsockopt(fd, level, name, &value, &size), 0);
    return value;
}

static void small_writes_leave_at_once_and_dead_peers_are_noticed(void **state)
{
    (void)state;
    struct dial_place place;
    struct dial_seen seen;
    dial_place_open(&place, NULL);
    (void)dial_to(&place, SLICE("127.0.0.1"), 5000, &seen);
    dial_await(&place, &seen);
    int fd = dial_socket_to(place.port);
    assert_int_not_equal(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_not_equal(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    assert_int_equal(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), LIMIT_KEEPALIVE_IDLE_S);
    stream_close(seen.stream);
    dial_place_close(&place);
}

static void what_went_wrong_is_told_in_words(void **state)
{
    (void)state;
    struct dial_place place;
    char host[300];
    memset(host, 'a', sizeof(host));
    dial_place_open(&place, NULL);
    dial_must_fail(&place, SLICE(""), ERR_INPUT, "no name");
    dial_must_fail(&place, SLICE("two words"), ERR_INPUT, "characters that no name has");
    dial_must_fail(&place, SLICE("a\0b"), ERR_INPUT, "characters that no name has");
    dial_must_fail(&place, slice_of(host, LIMIT_HOST_SIZE), ERR_INPUT, "too long");
    place.port = 1;
    dial_must_fail(&place, SLICE("127.0.0.1"), ERR_UNAVAILABLE, "'127.0.0.1' port ");
    dial_must_fail(&place, SLICE("127.0.0.1"), ERR_UNAVAILABLE, ": Connection refused");
    dial_place_close(&place);
}

static void a_name_that_is_not_found_is_named(void **state)
{
    (void)state;
    struct dial_place place;
    struct dial_seen seen;
    dial_place_open(&place, NULL);
    (void)dial_to(&place, SLICE("no.such.host.invalid"), 60000, &seen);
    dial_await(&place, &seen);
    assert_int_equal(seen.error.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(seen.error.message, "cannot find 'no.such.host.invalid': "));
    dial_place_close(&place);
}

static void families_take_turns_and_every_cause_is_told(void **state)
{
    (void)state;
    struct dial_place place;
    dial_place_open(&place, dial_find_listed);
    place.port = 1;
    dial_must_fail(&place, SLICE("127.0.0.1,127.0.0.2,::1"), ERR_UNAVAILABLE,
                   "port 1: 127.0.0.1: Connection refused; ::1: ");
    dial_must_fail(&place, SLICE("127.0.0.1,127.0.0.2,::1"), ERR_UNAVAILABLE,
                   "; 127.0.0.2: Connection refused");
    dial_must_fail(&place, SLICE("127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5"),
                   ERR_UNAVAILABLE, "; 127.0.0.3: Connection refused; and 2 more");
    dial_must_fail(&place, SLICE(","), ERR_UNAVAILABLE, "it has no address");
    dial_place_close(&place);
}

static void the_first_address_that_answers_is_taken(void **state)
{
    (void)state;
    struct dial_place place;
    struct silence silence;
    dial_place_open(&place, dial_find_listed);
    silence_open(&silence, place.port);
    dial_must_connect(&place, SLICE("127.0.0.2,127.0.0.4,127.0.0.1"));
    struct timespec start;
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    dial_must_connect(&place, SLICE("127.0.0.3,127.0.0.3,127.0.0.1"));
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ms = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
    assert_in_range(ms, 2 * LIMIT_DIAL_STEP_MS - 10, 4500); /* two that say nothing */
    silence_close(&silence);
    dial_place_close(&place);
}

static void a_deadline_ends_it_while_it_connects(void **state)
{
    (void)state;
    struct dial_place place;
    struct silence silence;
    dial_place_open(&place, dial_find_listed);
    silence_open(&silence, place.port);
    dial_must_fail(&place, SLICE("127.0.0.3"), ERR_TIMEOUT, ": no answer");
    dial_must_fail(&place, SLICE("127.0.0.3,127.0.0.2"), ERR_TIMEOUT,
                   "127.0.0.3: no answer; 127.0.0.2: Connection refused");
    silence_close(&silence);
    dial_place_close(&place);
}

static void a_cancelled_dial_is_silent_at_every_step(void **state)
{
    (void)state;
    struct dial_place place;
    struct silence silence;
    struct dial_seen seen;
    dial_place_open(&place, dial_find_listed);
    dial_cancel(dial_to(&place, SLICE(""), 1000, &seen));
    dial_must_stay_silent(&place, &seen);
    for (unsigned turns = 0; turns < 60; turns++) {
        struct dial *dial = dial_to(&place, SLICE("127.0.0.2,127.0.0.1"), 1000, &seen);
        for (unsigned i = 0; i < turns && seen.count == 0; i++) {
            loop_turn(worker_loop(place.worker));
        }
        if (seen.count == 0) {
            dial_cancel(dial);
            dial_must_stay_silent(&place, &seen);
        } else {
            stream_close(seen.stream);
        }
    }
    silence_open(&silence, place.port);
    uint16_t port = place.port;
    struct dial *dial = dial_to(&place, SLICE("127.0.0.3,127.0.0.3"), 10000, &seen);
    for (size_t i = 0; i < 400; i++) {
        dial_turn(&place); /* both are under way */
    }
    dial_cancel(dial);
    place.port = 1;
    dial_must_stay_silent(&place, &seen);
    place.port = port;
    silence_close(&silence);
    dial_place_close(&place);
}

static int dial_confined(struct dial_place *place)
{
    static const struct sandbox_settings settings = {.writable = {NULL}};
    struct sandbox_state sandbox;
    struct dial_seen seen;
    if (sandbox_start(&settings, &sandbox, NULL) != ERR_NONE || !sandbox.has_filter) {
        return 1;
    }
    place->worker = worker_new(0, NULL);
    place->resolver = resolver_new(NULL);
    static const char *const hosts[] = {"localhost", "127.0.0.1"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        (void)dial_to(place, slice_of_text(hosts[i]), 5000, &seen);
        for (size_t j = 0; j < DIAL_WAIT_TURNS && seen.count == 0; j++) {
            dial_turn(place);
        }
        if (seen.stream == NULL) {
            return 2 + (int)i;
        }
        stream_close(seen.stream);
    }
    resolver_free(place->resolver);
    worker_free(place->worker);
    return 0;
}

static void the_sandbox_lets_it_find_and_connect(void **state)
{
    (void)state;
    struct dial_place place;
    int status = -1;
    must(listener_open_sockets(SLICE("127.0.0.1:0"), 1, &place.listener, NULL) == ERR_NONE);
    place.port = (uint16_t)listener_port(place.listener);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(dial_confined(&place));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(close(place.listener), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sandbox_lets_it_find_and_connect), /* first: it forks */
        cmocka_unit_test(names_and_addresses_are_connected_to),
        cmocka_unit_test(small_writes_leave_at_once_and_dead_peers_are_noticed),
        cmocka_unit_test(what_went_wrong_is_told_in_words),
        cmocka_unit_test(a_name_that_is_not_found_is_named),
        cmocka_unit_test(families_take_turns_and_every_cause_is_told),
        cmocka_unit_test(the_first_address_that_answers_is_taken),
        cmocka_unit_test(a_deadline_ends_it_while_it_connects),
        cmocka_unit_test(a_cancelled_dial_is_silent_at_every_step),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("io/dial", tests, NULL, NULL);
}
