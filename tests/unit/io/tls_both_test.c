/* SPDX-License-Identifier: MIT */
/* Two TLS streams of ours, one above each end of a socket, on one loop. */
#include "io/tls_stream.h"

#include "base/limits.h"
#include "dial_help.h"
#include "io/socket_stream.h"
#include "tls_issuer.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

#define PATTERN_PERIOD 65521 /* a prime, so that no two records look alike */
#define WRITE_SIZE     50000
#define READ_SIZE      30000
#define TURN_COUNT_MAX 8000000

static char pattern[PATTERN_PERIOD + WRITE_SIZE];

/* Sends 'size' bytes and then its end, and checks what comes until the peer's end. */
struct pump {
    struct stream *stream;
    size_t size;
    size_t sent;
    size_t received;
    size_t event_count;
    bool is_paused; /* does not read */
    bool said_end;
    bool heard_end;
    bool is_broken;
};

static bool pump_failed(struct pump *pump, enum err err)
{
    bool has_failed = err != ERR_NONE && err != ERR_AGAIN;
    pump->is_broken = pump->is_broken || has_failed;
    return has_failed;
}

static void pump_read(struct pump *pump)
{
    char bytes[READ_SIZE];
    size_t len = 0;
    enum err err = stream_read(pump->stream, bytes, sizeof(bytes), &len);
    if (err == ERR_CLOSED) {
        pump->heard_end = true;
        return;
    }
    if (!pump_failed(pump, err)) {
        assert_memory_equal(bytes, pattern + pump->received % PATTERN_PERIOD, len);
        pump->received += len;
    }
}

static void pump_write(struct pump *pump)
{
    size_t left = pump->size - pump->sent;
    size_t len = 0;
    if (left == 0) {
        enum err err = stream_shutdown(pump->stream);
        pump->said_end = !pump_failed(pump, err) && err == ERR_NONE;
        return;
    }
    struct slice part =
        slice_of(pattern + pump->sent % PATTERN_PERIOD, left < WRITE_SIZE ? left : WRITE_SIZE);
    if (!pump_failed(pump, stream_write(pump->stream, &part, 1, &len))) {
        pump->sent += len;
    }
}

static void pump_watch(struct pump *pump)
{
    bool reads = !pump->is_paused && !pump->heard_end;
    unsigned events = (reads ? STREAM_READABLE : 0) | (pump->said_end ? 0 : STREAM_WRITABLE);
    stream_watch(pump->stream, pump->is_broken ? 0 : events);
}

static void pump_on_event(void *owner, unsigned events)
{
    struct pump *pump = owner;
    pump->event_count++;
    if ((events & STREAM_READABLE) != 0 && !pump->is_paused && !pump->heard_end) {
        pump_read(pump);
    }
    if ((events & STREAM_WRITABLE) != 0 && !pump->said_end && !pump->is_broken) {
        pump_write(pump);
    }
    pump_watch(pump);
}

static void pump_start(struct pump *pump, struct stream *stream, size_t size)
{
    *pump = (struct pump){.stream = stream, .size = size};
    stream_own(stream, pump_on_event, pump);
    pump_watch(pump);
}

static bool pump_is_done(const struct pump *pump)
{
    return pump->is_broken || (pump->said_end && pump->heard_end);
}

/* Both ends of a connection. */
struct pumps {
    struct tls_pair pair;
    struct pump server;
    struct pump client;
};

/* False when the handshake failed. */
static bool pumps_start(struct pumps *pumps, struct tls_pair_wish wish, size_t server_size,
                        size_t client_size)
{
    tls_pair_start(&pumps->pair, wish);
    if (!tls_pair_await(&pumps->pair)) {
        return false;
    }
    pump_start(&pumps->server, pumps->pair.server.stream, server_size);
    pump_start(&pumps->client, pumps->pair.client.stream, client_size);
    return true;
}

static bool pumps_are_done(const struct pumps *pumps)
{
    return pumps->server.is_broken || pumps->client.is_broken ||
           (pump_is_done(&pumps->server) && pump_is_done(&pumps->client));
}

static void pumps_turn(struct pumps *pumps)
{
    size_t turns = 0;
    while (!pumps_are_done(pumps)) {
        loop_turn(pumps->pair.loop);
        assert_true(++turns < TURN_COUNT_MAX);
    }
}

static bool pumps_were_complete(const struct pumps *pumps)
{
    return !pumps->server.is_broken && !pumps->client.is_broken &&
           pumps->server.received == pumps->client.size &&
           pumps->client.received == pumps->server.size;
}

static bool exchange(struct tls_pair_wish wish, size_t server_size, size_t client_size)
{
    struct pumps pumps;
    bool is_complete = false;
    if (pumps_start(&pumps, wish, server_size, client_size)) {
        pumps_turn(&pumps);
        is_complete = pumps_were_complete(&pumps);
    }
    tls_pair_end(&pumps.pair);
    return is_complete;
}

/* The server and the client of all tests. */
static int make_wish(void **state)
{
    struct tls_issuer issuer;
    struct tls_pair_wish *wish = memory_new(sizeof(*wish));
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = (char)((i % PATTERN_PERIOD) * 31 + (i % PATTERN_PERIOD) / 256);
    }
    tls_issuer_make(&issuer, (struct tls_subject){.name = "x", .hosts = "DNS:db.test"});
    wish->server = tls_issuer_server(&issuer, SLICE("h2"));
    wish->client = tls_issuer_client(&issuer, TLS_VERIFY_FULL);
    wish->host = SLICE("db.test");
    tls_issuer_free(&issuer);
    *state = wish;
    return 0;
}

static int free_wish(void **state)
{
    struct tls_pair_wish *wish = *state;
    tls_server_unref(wish->server);
    tls_client_unref(wish->client);
    memory_free(wish);
    return 0;
}

/* The tests ------------------------------------------------------------------------------------ */

static void much_goes_both_ways_at_once(void **state)
{
    const struct tls_pair_wish *wish = *state;
    assert_true(exchange(*wish, LIMIT_MIB(20), LIMIT_MIB(20)));
    assert_true(exchange(*wish, LIMIT_MIB(20), 1));
    assert_true(exchange(*wish, 0, LIMIT_MIB(20)));
    assert_true(exchange(*wish, 0, 0));
}

static void narrow_sockets_only_slow_it_down(void **state)
{
    struct tls_pair_wish wish = *(const struct tls_pair_wish *)*state;
    wish.socket_buffer_size = 1;
    assert_true(exchange(wish, LIMIT_MIB(2), LIMIT_MIB(2)));
}

static void every_disturbance_only_slows_it_down(void **state)
{
    static const char *const faults[] = {"short",        "again",        "short,again",
                                         "short,seed:7", "again,seed:7", "short,again,seed:7"};
    struct tls_pair_wish wish = *(const struct tls_pair_wish *)*state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        struct fault fault;
        assert_int_equal(fault_parse(slice_of_text(faults[i]), &fault, NULL), ERR_NONE);
        wish.fault = &fault;
        assert_true(exchange(wish, LIMIT_KIB(100), LIMIT_KIB(70)));
    }
}

static void a_connection_that_breaks_at_any_call_ends(void **state)
{
    struct tls_pair_wish wish = *(const struct tls_pair_wish *)*state;
    bool is_complete = false;
    for (unsigned i = 1; !is_complete; i++) {
        struct fault fault;
        assert_true(i < 1000);
        assert_int_equal(fault_parse(SLICE("again"), &fault, NULL), ERR_NONE);
        fault.fail_at = i;
        wish.fault = &fault;
        is_complete = exchange(wish, LIMIT_KIB(100), LIMIT_KIB(70));
    }
}

static void who_reads_slowly_holds_back_who_writes(void **state)
{
    const struct tls_pair_wish *wish = *state;
    struct pumps pumps;
    assert_true(pumps_start(&pumps, *wish, LIMIT_MIB(20), LIMIT_MIB(20)));
    pumps.server.is_paused = true;
    pumps.client.is_paused = true;
    pump_watch(&pumps.server);
    pump_watch(&pumps.client);
    for (size_t i = 0; i < 1000; i++) {
        loop_turn(pumps.pair.loop);
    }
    size_t sent = pumps.server.sent;
    size_t events = pumps.server.event_count;
    assert_in_range(sent, 1, LIMIT_MIB(2)); /* what sockets and one buffer hold */
    for (size_t i = 0; i < 1000; i++) {
        loop_turn(pumps.pair.loop);
    }
    assert_int_equal(pumps.server.sent, sent);
    assert_in_range(pumps.server.event_count, events, events + 2); /* nobody spins */
    pumps.server.is_paused = false;
    pumps.client.is_paused = false;
    pump_watch(&pumps.server);
    pump_watch(&pumps.client);
    pumps_turn(&pumps);
    assert_true(pumps_were_complete(&pumps));
    tls_pair_end(&pumps.pair);
}

static void a_stalled_stream_holds_up_no_other(void **state)
{
    struct tls_pair_wish wish = *(const struct tls_pair_wish *)*state;
    struct pumps stalled;
    struct pumps running;
    assert_true(pumps_start(&stalled, wish, LIMIT_MIB(4), 0));
    stalled.client.is_paused = true;
    pump_watch(&stalled.client);
    wish.loop = stalled.pair.loop;
    assert_true(pumps_start(&running, wish, LIMIT_MIB(10), LIMIT_MIB(10)));
    pumps_turn(&running);
    assert_true(pumps_were_complete(&running));
    assert_false(pumps_are_done(&stalled));
    assert_true(stalled.server.sent < LIMIT_MIB(4));
    tls_pair_end(&running.pair);
    stalled.client.is_paused = false;
    pump_watch(&stalled.client);
    pumps_turn(&stalled);
    assert_true(pumps_were_complete(&stalled));
    tls_pair_end(&stalled.pair);
}

static void after_ones_end_the_other_still_sends(void **state)
{
    const struct tls_pair_wish *wish = *state;
    for (unsigned i = 0; i < 2; i++) {
        struct pumps pumps;
        assert_true(pumps_start(&pumps, *wish, 0, 0));
        struct pump *first = i == 0 ? &pumps.server : &pumps.client;
        struct pump *second = i == 0 ? &pumps.client : &pumps.server;
        second->size = LIMIT_MIB(1);
        stream_watch(second->stream, 0);
        for (size_t j = 0; j < 50; j++) {
            loop_turn(pumps.pair.loop);
        }
        assert_true(first->said_end);
        assert_false(first->heard_end);
        pump_watch(second);
        pumps_turn(&pumps);
        assert_true(pumps_were_complete(&pumps));
        tls_pair_end(&pumps.pair);
    }
}

static void a_dialled_connection_carries_it(void **state)
{
    const struct tls_pair_wish *wish = *state;
    struct dial_place place;
    struct dial_seen seen;
    struct pumps pumps;
    struct tls_pair *pair = &pumps.pair;
    struct stream *server = NULL;
    struct stream *client = NULL;
    dial_place_open(&place, NULL);
    *pair = (struct tls_pair){.loop = worker_loop(place.worker)};
    (void)dial_to(&place, SLICE("localhost"), 5000, &seen);
    dial_await(&place, &seen);
    int fd = accept4(place.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(fd >= 0 && seen.stream != NULL);
    assert_int_equal(tls_stream_new(wish->server, socket_stream_new(pair->loop, fd), &server),
                     ERR_NONE);
    assert_int_equal(tls_stream_new_client(wish->client, wish->host, seen.stream, &client, NULL),
                     ERR_NONE);
    pair->server.handshake = tls_handshake_start(server, 5000, tls_end_on_done, &pair->server);
    pair->client.handshake = tls_handshake_start(client, 5000, tls_end_on_done, &pair->client);
    assert_true(tls_pair_await(pair));
    pump_start(&pumps.server, pair->server.stream, LIMIT_MIB(5));
    pump_start(&pumps.client, pair->client.stream, LIMIT_MIB(5));
    pumps_turn(&pumps);
    assert_true(pumps_were_complete(&pumps));
    tls_pair_end(pair);
    dial_place_close(&place);
}

struct exchanging {
    pthread_t thread;
    struct tls_pair_wish wish;
    bool is_complete;
};

static void *exchange_often(void *argument)
{
    struct exchanging *self = argument;
    self->is_complete = true;
    for (size_t i = 0; i < 10; i++) {
        self->is_complete =
            exchange(self->wish, LIMIT_KIB(100), LIMIT_KIB(100)) && self->is_complete;
    }
    tls_server_unref(self->wish.server);
    tls_client_unref(self->wish.client);
    return NULL;
}

static void threads_share_a_client(void **state)
{
    const struct tls_pair_wish *wish = *state;
    struct exchanging threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        threads[i] = (struct exchanging){.wish = *wish};
        (void)tls_server_ref(wish->server);
        (void)tls_client_ref(wish->client);
        assert_int_equal(pthread_create(&threads[i].thread, NULL, exchange_often, &threads[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        assert_true(threads[i].is_complete);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_goes_both_ways_at_once),
        cmocka_unit_test(narrow_sockets_only_slow_it_down),
        cmocka_unit_test(every_disturbance_only_slows_it_down),
        cmocka_unit_test(a_connection_that_breaks_at_any_call_ends),
        cmocka_unit_test(who_reads_slowly_holds_back_who_writes),
        cmocka_unit_test(a_stalled_stream_holds_up_no_other),
        cmocka_unit_test(after_ones_end_the_other_still_sends),
        cmocka_unit_test(a_dialled_connection_carries_it),
        cmocka_unit_test(threads_share_a_client),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("io/tls_both", tests, make_wish, free_wish);
}
