/* SPDX-License-Identifier: MIT */
#include "io/tls_stream.h"

#include "base/limits.h"
#include "tls_help.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#define ECHO_SIZE      65536
#define PATTERN_PERIOD 65521 /* a prime, so that no two records look alike */
#define PUMP_SIZE      16384
#define TURN_COUNT_MAX 4000000

/* Sends back what it reads and reads no more until all of it is sent; ends when the peer does. */
struct echo {
    struct stream *stream;
    char bytes[ECHO_SIZE];
    struct slice left;
    bool peer_ended;
    bool done;
    bool broken;
};

static bool echo_failed(struct echo *echo, enum err err)
{
    if (err == ERR_NONE || err == ERR_AGAIN) {
        return false;
    }
    echo->broken = true;
    stream_watch(echo->stream, 0);
    return true;
}

static void echo_on_event(void *owner, unsigned events)
{
    struct echo *echo = owner;
    enum err err = ERR_NONE;
    size_t len = 0;
    if ((events & STREAM_READABLE) != 0 && echo->left.len == 0) {
        err = stream_read(echo->stream, echo->bytes, sizeof(echo->bytes), &len);
        echo->peer_ended = err == ERR_CLOSED;
        if (!echo->peer_ended && echo_failed(echo, err)) {
            return;
        }
        echo->left = slice_of(echo->bytes, len);
    }
    if (echo->left.len > 0) {
        len = 0;
        /* In two parts, so that records are joined from several. */
        const struct slice parts[] = {slice_sub(echo->left, 0, 100), SLICE_NONE,
                                      slice_from(echo->left, 100)};
        err = stream_write(echo->stream, parts, 3, &len);
        if (echo_failed(echo, err)) {
            return;
        }
        echo->left = slice_from(echo->left, len);
    }
    if (echo->peer_ended && echo->left.len == 0) {
        err = stream_shutdown(echo->stream);
        if (echo_failed(echo, err)) {
            return;
        }
        echo->done = err == ERR_NONE;
    }
    unsigned waiting = echo->left.len > 0 || echo->peer_ended ? STREAM_WRITABLE : STREAM_READABLE;
    stream_watch(echo->stream, echo->done ? 0 : waiting);
}

/* The client: it sends 'size' bytes and then its end, and checks what comes back. */
struct pump {
    SSL *client;
    char *pattern;
    size_t size;
    size_t sent;
    size_t received;
    bool said_end;
    bool heard_end;
    bool broken;
};

static void pump_check(struct pump *pump, int result)
{
    int reason = SSL_get_error(pump->client, result);
    if (reason == SSL_ERROR_ZERO_RETURN) {
        pump->heard_end = true;
    } else if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) {
        pump->broken = true;
    }
}

static void pump_turn(struct pump *pump)
{
    if (pump->sent < pump->size) {
        size_t size = pump->size - pump->sent < PUMP_SIZE ? pump->size - pump->sent : PUMP_SIZE;
        int result =
            SSL_write(pump->client, pump->pattern + pump->sent % PATTERN_PERIOD, (int)size);
        if (result > 0) {
            pump->sent += (size_t)result;
        } else {
            pump_check(pump, result);
        }
    } else if (!pump->said_end) {
        int result = SSL_shutdown(pump->client);
        pump->said_end = result >= 0;
        if (result < 0) {
            pump_check(pump, result);
        }
    }
    char bytes[PUMP_SIZE];
    int result = SSL_read(pump->client, bytes, sizeof(bytes));
    if (result > 0) {
        assert_memory_equal(bytes, pump->pattern + pump->received % PATTERN_PERIOD, (size_t)result);
        pump->received += (size_t)result;
    } else {
        pump_check(pump, result);
    }
}

/* An echo of 'size' bytes; true when all came back and both ended orderly. */
static bool echo_run(struct tls_wish wish, size_t size)
{
    struct tls_peers peers;
    tls_peers_start(&peers, wish);
    struct echo *echo = memory_new(sizeof(*echo));
    echo->stream = peers.server;
    stream_own(peers.server, echo_on_event, echo);
    stream_watch(peers.server, STREAM_READABLE);
    struct pump pump = {.client = peers.client, .size = size};
    pump.pattern = memory_new(PATTERN_PERIOD + PUMP_SIZE);
    for (size_t i = 0; i < PATTERN_PERIOD + PUMP_SIZE; i++) {
        pump.pattern[i] = (char)((i % PATTERN_PERIOD) * 31 + (i % PATTERN_PERIOD) / 256);
    }
    size_t turns = 0;
    while (!pump.broken && !echo->broken && !(pump.heard_end && echo->done)) {
        pump_turn(&pump);
        loop_turn(peers.loop);
        assert_true(++turns < TURN_COUNT_MAX);
    }
    bool complete = !pump.broken && !echo->broken && pump.received == size;
    tls_peers_end(&peers);
    memory_free(pump.pattern);
    memory_free(echo);
    return complete;
}

static void ten_megabytes_come_back_unchanged(void **state)
{
    (void)state;
    assert_true(echo_run((struct tls_wish){.version_max = TLS1_2_VERSION}, LIMIT_MIB(10)));
    assert_true(echo_run((struct tls_wish){.version_max = TLS1_3_VERSION}, LIMIT_MIB(10)));
}

static void narrow_sockets_only_slow_it_down(void **state)
{
    (void)state;
    assert_true(echo_run((struct tls_wish){.socket_buffer_size = 1}, LIMIT_MIB(1)));
}

static void every_disturbance_only_slows_it_down(void **state)
{
    (void)state;
    static const char *const faults[] = {"short",        "again",        "short,again",
                                         "short,seed:7", "again,seed:7", "short,again,seed:7"};
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < COUNT_OF(faults) * COUNT_OF(versions); i++) {
        struct fault fault;
        assert_int_equal(fault_parse(slice_of_text(faults[i / COUNT_OF(versions)]), &fault, NULL),
                         ERR_NONE);
        struct tls_wish wish = {.fault = &fault, .version_max = versions[i % COUNT_OF(versions)]};
        assert_true(echo_run(wish, LIMIT_KIB(100)));
        wish.socket_buffer_size = 1;
        assert_true(echo_run(wish, LIMIT_KIB(100)));
    }
}

static void a_connection_that_breaks_at_any_call_ends(void **state)
{
    (void)state;
    struct tls_server *server = tls_server_make("gateway.test", SLICE_NONE);
    bool complete = false;
    for (unsigned i = 1; !complete; i++) {
        assert_true(i < 1000);
        struct fault fault;
        char text[32];
        (void)snprintf(text, sizeof(text), "again,fail:%u", i);
        assert_int_equal(fault_parse(slice_of_text(text), &fault, NULL), ERR_NONE);
        complete = echo_run((struct tls_wish){.fault = &fault, .server = server}, LIMIT_KIB(100));
    }
    tls_server_unref(server);
}

struct echo_thread {
    pthread_t thread;
    struct tls_server *server;
    bool complete;
};

static void *run_echoes(void *argument)
{
    struct echo_thread *self = argument;
    self->complete = true;
    for (size_t i = 0; i < 10; i++) {
        struct tls_wish wish = {.server = self->server};
        self->complete = echo_run(wish, LIMIT_KIB(100)) && self->complete;
    }
    tls_server_unref(self->server);
    return NULL;
}

static void threads_share_a_server_that_ends_with_the_last_of_them(void **state)
{
    (void)state;
    struct echo_thread threads[4] = {{.complete = false}};
    struct tls_server *server = tls_server_make("gateway.test", SLICE("h2"));
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        threads[i].server = tls_server_ref(server);
        assert_int_equal(pthread_create(&threads[i].thread, NULL, run_echoes, &threads[i]), 0);
    }
    tls_server_unref(server);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        assert_true(threads[i].complete);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_megabytes_come_back_unchanged),
        cmocka_unit_test(narrow_sockets_only_slow_it_down),
        cmocka_unit_test(every_disturbance_only_slows_it_down),
        cmocka_unit_test(a_connection_that_breaks_at_any_call_ends),
        cmocka_unit_test(threads_share_a_server_that_ends_with_the_last_of_them),
    };
    return cmocka_run_group_tests_name("io/tls_echo", tests, NULL, NULL);
}
