/* SPDX-License-Identifier: MIT */
#include "io/tls_stream.h"

#include "base/limits.h"
#include "tls_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define TURN_COUNT 20

static void turn(struct tls_peers *peers)
{
    for (size_t i = 0; i < TURN_COUNT; i++) {
        loop_turn(peers->loop);
    }
}

/* Starts a connection whose server end reads all that comes, 'read_size' bytes a call. */
static void start(struct tls_peers *peers, struct tls_wish wish, struct tls_seen *seen,
                  size_t read_size)
{
    tls_peers_start(peers, wish);
    *seen = (struct tls_seen){.stream = peers->server, .read_size = read_size};
    buf_init(&seen->in, LIMIT_MIB(1));
    stream_own(peers->server, tls_reader_on_event, seen);
    stream_watch(peers->server, STREAM_READABLE);
}

static void open_pair(struct tls_peers *peers, struct tls_wish wish, struct tls_seen *seen,
                      size_t read_size)
{
    start(peers, wish, seen, read_size);
    assert_int_equal(tls_peers_shake_hands(peers), 1);
    turn(peers);
}

static void finish(struct tls_peers *peers, struct tls_seen *seen)
{
    tls_peers_end(peers);
    buf_release(&seen->in);
}

static void send_text(struct tls_peers *peers, const char *text)
{
    assert_int_equal(SSL_write(peers->client, text, (int)strlen(text)), strlen(text));
}

/* All that the client gets, the loop turning meanwhile, and how its last read ended. */
static size_t receive(struct tls_peers *peers, int *ret_reason)
{
    char bytes[4096];
    size_t total = 0;
    size_t silent_turns = 0;
    while (silent_turns < TURN_COUNT) {
        int len = SSL_read(peers->client, bytes, sizeof(bytes));
        *ret_reason = SSL_get_error(peers->client, len);
        total += len > 0 ? (size_t)len : 0;
        silent_turns = len > 0 ? 0 : silent_turns + 1;
        loop_turn(peers->loop);
    }
    return total;
}

static void the_servers_first_common_protocol_is_chosen(void **state)
{
    (void)state;
    static const struct {
        struct slice offered;
        struct slice chosen;
    } cases[] = {{SLICE_INIT("\x02h2"), SLICE_INIT("h2")},
                 {SLICE_INIT("\x08http/1.1"), SLICE_INIT("http/1.1")},
                 {SLICE_INIT("\x08http/1.1\x02h2"), SLICE_INIT("h2")},
                 {SLICE_INIT(""), SLICE_INIT("")}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_peers peers;
        struct tls_seen seen;
        struct tls_wish wish = {.protocols = cases[i].offered.len > 0 ? cases[i].offered.at : NULL,
                                .protocols_len = (unsigned)cases[i].offered.len};
        open_pair(&peers, wish, &seen, 100);
        assert_true(slice_equals(stream_protocol(peers.server), cases[i].chosen));
        assert_true(stream_is_encrypted(peers.server));
        finish(&peers, &seen);
    }
}

static void clients_that_are_refused(void **state)
{
    (void)state;
    static const struct tls_wish wishes[] = {
        {.protocols = "\x06spdy/1", .protocols_len = 7},
        {.version_max = TLS1_1_VERSION},
        {.version_max = TLS1_2_VERSION, .ciphers = "ECDHE-ECDSA-AES128-SHA"},
        {.version_max = TLS1_2_VERSION, .ciphers = "AES128-GCM-SHA256"},
    };
    for (size_t i = 0; i < COUNT_OF(wishes); i++) {
        struct tls_peers peers;
        struct tls_seen seen;
        start(&peers, wishes[i], &seen, 100);
        assert_int_equal(tls_peers_shake_hands(&peers), 0);
        turn(&peers);
        assert_int_equal(seen.read_err, ERR_IO);
        finish(&peers, &seen);
    }
}

static void bytes_that_are_not_tls_are_an_error(void **state)
{
    (void)state;
    static const char *const texts[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
                                        "\x16\x03\x01\x00\x05zzzzz", "SSH-2.0-x\r\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct tls_peers peers;
        struct tls_seen seen;
        start(&peers, (struct tls_wish){.fault = NULL}, &seen, 100);
        size_t len = i == 1 ? 10 : strlen(texts[i]);
        assert_int_equal(write(peers.client_fd, texts[i], len), len);
        turn(&peers);
        assert_int_equal(seen.read_err, ERR_IO);
        size_t written = 0;
        assert_int_equal(stream_write(peers.server, &SLICE("x"), 1, &written), ERR_IO);
        assert_int_equal(stream_shutdown(peers.server), ERR_IO);
        finish(&peers, &seen);
    }
}

static void a_client_that_leaves_in_the_handshake_has_closed(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    start(&peers, (struct tls_wish){.fault = NULL}, &seen, 100);
    assert_int_equal(SSL_do_handshake(peers.client), -1);
    turn(&peers);
    assert_int_equal(seen.read_err, ERR_AGAIN);
    assert_int_equal(shutdown(peers.client_fd, SHUT_RDWR), 0);
    turn(&peers);
    assert_int_equal(seen.read_err, ERR_CLOSED);
    finish(&peers, &seen);
}

static void bytes_inside_are_reported_although_the_socket_is_silent(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.fault = NULL}, &seen, 1);
    send_text(&peers, "hello");
    send_text(&peers, "world");
    turn(&peers);
    assert_true(slice_equals(buf_view(&seen.in), SLICE("helloworld")));
    finish(&peers, &seen);
}

static void bytes_inside_wait_until_they_are_watched_for(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.fault = NULL}, &seen, 1);
    send_text(&peers, "abcdef");
    loop_turn(peers.loop);
    stream_watch(peers.server, 0);
    turn(&peers);
    assert_in_range(seen.in.len, 1, 5);
    stream_watch(peers.server, STREAM_READABLE);
    turn(&peers);
    assert_true(slice_equals(buf_view(&seen.in), SLICE("abcdef")));
    finish(&peers, &seen);
}

static void a_request_that_came_with_the_handshake_is_read_after_a_write(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    start(&peers, (struct tls_wish){.fault = NULL}, &seen, 100);
    stream_watch(peers.server, 0);
    size_t len = 0;
    assert_int_equal(stream_write(peers.server, &SLICE("hi"), 1, &len), ERR_AGAIN);
    assert_int_equal(SSL_do_handshake(peers.client), -1);
    assert_int_equal(stream_write(peers.server, &SLICE("hi"), 1, &len), ERR_AGAIN);
    assert_int_equal(SSL_do_handshake(peers.client), 1);
    send_text(&peers, "hello");
    assert_int_equal(stream_write(peers.server, &SLICE("hi"), 1, &len), ERR_NONE);
    stream_watch(peers.server, STREAM_READABLE);
    turn(&peers);
    assert_true(slice_equals(buf_view(&seen.in), SLICE("hello")));
    finish(&peers, &seen);
}

struct calls {
    struct stream *stream;
    unsigned count;
    enum err write_err;
};

static void read_and_count(void *owner, unsigned events)
{
    struct calls *calls = owner;
    char bytes[100];
    size_t len = 0;
    (void)events;
    calls->count++;
    enum err err = stream_read(calls->stream, bytes, sizeof(bytes), &len);
    assert_true(err == ERR_NONE || err == ERR_AGAIN);
}

static void half_a_record_calls_nobody_again_and_again(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.fault = NULL}, &seen, 100);
    struct calls calls = {.stream = peers.server};
    stream_own(peers.server, read_and_count, &calls);
    assert_int_equal(write(peers.client_fd,
                           "\x17\x03\x03\x00\x20"
                           "abcd",
                           9),
                     9);
    turn(&peers);
    assert_in_range(calls.count, 1, 2);
    finish(&peers, &seen);
}

static void write_and_count(void *owner, unsigned events)
{
    struct calls *calls = owner;
    size_t len = 0;
    assert_int_equal(events, STREAM_WRITABLE);
    calls->count++;
    calls->write_err = stream_write(calls->stream, &SLICE("hi"), 1, &len);
    stream_watch(calls->stream, calls->write_err == ERR_AGAIN ? STREAM_WRITABLE : 0);
}

static void who_writes_first_is_called_as_the_handshake_goes_on(void **state)
{
    (void)state;
    struct tls_peers peers;
    tls_peers_start(&peers, (struct tls_wish){.fault = NULL});
    struct calls calls = {.stream = peers.server};
    stream_own(peers.server, write_and_count, &calls);
    stream_watch(peers.server, STREAM_WRITABLE);
    turn(&peers);
    assert_int_equal(calls.count, 0);
    assert_int_equal(tls_peers_shake_hands(&peers), 1);
    int reason = 0;
    assert_int_equal(receive(&peers, &reason), 2);
    assert_int_equal(calls.write_err, ERR_NONE);
    assert_in_range(calls.count, 2, 4);
    tls_peers_end(&peers);
}

/* check-sizes: given parameters */
static void count_records(int is_write, int version, int type, const void *at, size_t len, SSL *ssl,
                          void *owner)
{
    (void)version;
    (void)ssl;
    if (is_write == 0 && type == SSL3_RT_HEADER && len > 0 &&
        *(const unsigned char *)at == SSL3_RT_APPLICATION_DATA) {
        (*(size_t *)owner)++;
    }
}

static void a_head_and_its_body_leave_in_one_record(void **state)
{
    (void)state;
    static char body[40000];
    static const struct {
        size_t body_len;
        size_t record_count;
    } cases[] = {{100, 1}, {16384 - 4, 1}, {16384 - 3, 2}, {40000, 3}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_peers peers;
        struct tls_seen seen;
        open_pair(&peers, (struct tls_wish){.version_max = TLS1_2_VERSION}, &seen, 100);
        size_t records = 0;
        SSL_set_msg_callback(peers.client, count_records);
        SSL_set_msg_callback_arg(peers.client, &records);
        const struct slice parts[] = {SLICE("he"), SLICE_NONE, SLICE("ad"),
                                      slice_of(body, cases[i].body_len), SLICE_NONE};
        size_t len = 0;
        assert_int_equal(stream_write(peers.server, parts, COUNT_OF(parts), &len), ERR_NONE);
        assert_int_equal(len, cases[i].body_len + 4);
        int reason = 0;
        assert_int_equal(receive(&peers, &reason), len);
        assert_int_equal(records, cases[i].record_count);
        finish(&peers, &seen);
    }
}

static void what_is_long_leaves_in_one_call(void **state)
{
    (void)state;
    struct fault fault = {.seed = 1}; /* which disturbs nothing, and counts */
    struct tls_peers peers;
    struct tls_seen seen;
    static char bytes[48000];
    int reason = 0;
    size_t taken = 0;
    open_pair(&peers, (struct tls_wish){.fault = &fault}, &seen, 100);
    struct slice part = slice_of(bytes, sizeof(bytes));
    uint64_t before = atomic_load(&fault.call_count);
    assert_int_equal(stream_write(peers.server, &part, 1, &taken), ERR_NONE);
    assert_int_equal(taken, sizeof(bytes));
    assert_int_equal(atomic_load(&fault.call_count), before + 1);
    assert_int_equal(receive(&peers, &reason), sizeof(bytes));
    finish(&peers, &seen);
}

static void empty_parts_are_taken_at_once(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.fault = NULL}, &seen, 100);
    const struct slice parts[] = {SLICE_NONE, SLICE("")};
    size_t len = 1;
    assert_int_equal(stream_write(peers.server, parts, 2, &len), ERR_NONE);
    assert_int_equal(len, 0);
    finish(&peers, &seen);
}

static void after_the_clients_end_we_still_answer(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.fault = NULL}, &seen, 100);
    send_text(&peers, "question");
    assert_int_equal(SSL_shutdown(peers.client), 0);
    turn(&peers);
    assert_true(slice_equals(buf_view(&seen.in), SLICE("question")));
    assert_int_equal(seen.read_err, ERR_CLOSED);
    size_t len = 0;
    assert_int_equal(stream_write(peers.server, &SLICE("answer"), 1, &len), ERR_NONE);
    assert_int_equal(stream_shutdown(peers.server), ERR_NONE);
    assert_int_equal(stream_write(peers.server, &SLICE("more"), 1, &len), ERR_IO);
    int reason = 0;
    assert_int_equal(receive(&peers, &reason), 6);
    assert_int_equal(reason, SSL_ERROR_ZERO_RETURN);
    finish(&peers, &seen);
}

static void an_end_without_close_notify_is_an_end_as_well(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        struct tls_peers peers;
        struct tls_seen seen;
        open_pair(&peers, (struct tls_wish){.version_max = versions[i]}, &seen, 100);
        send_text(&peers, "question");
        assert_int_equal(shutdown(peers.client_fd, SHUT_WR), 0);
        turn(&peers);
        assert_true(slice_equals(buf_view(&seen.in), SLICE("question")));
        assert_int_equal(seen.read_err, ERR_CLOSED);
        size_t len = 0;
        assert_int_equal(stream_write(peers.server, &SLICE("answer"), 1, &len), ERR_NONE);
        int reason = 0;
        assert_int_equal(receive(&peers, &reason), 6);
        finish(&peers, &seen);
    }
}

static void a_changed_byte_is_an_error(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.fault = NULL}, &seen, 100);
    static const char record[] = "\x17\x03\x03\x00\x20"
                                 "abcdefghijklmnopqrstuvwxyz012345";
    assert_int_equal(write(peers.client_fd, record, sizeof(record) - 1), sizeof(record) - 1);
    turn(&peers);
    assert_int_equal(seen.read_err, ERR_IO);
    assert_int_equal(seen.in.len, 0);
    finish(&peers, &seen);
}

struct closer {
    struct tls_peers *peers;
    unsigned call_count;
    unsigned close_at;
};

static void close_on_event(void *owner, unsigned events)
{
    struct closer *closer = owner;
    char byte = 0;
    size_t len = 0;
    (void)events;
    enum err err = stream_read(closer->peers->server, &byte, 1, &len);
    assert_true(err == ERR_NONE || err == ERR_AGAIN);
    if (++closer->call_count == closer->close_at) {
        stream_close(closer->peers->server);
        closer->peers->server = NULL;
    }
}

static void an_owner_may_close_in_its_callback(void **state)
{
    (void)state;
    /* The first calls come from the socket, the later ones from the bytes inside. */
    for (unsigned i = 1; i < 8; i++) {
        struct tls_peers peers;
        struct closer closer = {.peers = &peers, .close_at = i};
        tls_peers_start(&peers, (struct tls_wish){.fault = NULL});
        stream_own(peers.server, close_on_event, &closer);
        stream_watch(peers.server, STREAM_READABLE);
        for (size_t j = 0; j < TURN_COUNT && peers.server != NULL; j++) {
            if (SSL_do_handshake(peers.client) == 1) {
                send_text(&peers, "abcdefgh");
            }
            loop_turn(peers.loop);
        }
        assert_null(peers.server);
        assert_int_equal(closer.call_count, i);
        turn(&peers);
        assert_int_equal(closer.call_count, i);
        tls_peers_end(&peers);
    }
}

static void the_end_waits_until_all_is_sent(void **state)
{
    (void)state;
    static char body[60000];
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.socket_buffer_size = 1}, &seen, 100);
    size_t total = 0;
    size_t len = 0;
    enum err err = stream_write(peers.server, &(struct slice){body, sizeof(body)}, 1, &len);
    while (err == ERR_NONE) {
        total += len;
        err = stream_write(peers.server, &(struct slice){body, sizeof(body)}, 1, &len);
    }
    assert_int_equal(err, ERR_AGAIN);
    assert_in_range(total, 1, sizeof(body));
    assert_int_equal(stream_shutdown(peers.server), ERR_AGAIN);
    stream_watch(peers.server, 0);
    turn(&peers);
    int reason = 0;
    assert_int_equal(receive(&peers, &reason), total); /* sent although nobody watches */
    assert_int_equal(stream_shutdown(peers.server), ERR_NONE);
    assert_int_equal(stream_shutdown(peers.server), ERR_NONE);
    finish(&peers, &seen);
}

static void a_broken_write_ends_a_reader_too(void **state)
{
    (void)state;
    static char body[60000];
    struct tls_peers peers;
    struct tls_seen seen;
    struct fault fault;
    assert_int_equal(fault_parse(SLICE("fail:1000000"), &fault, NULL), ERR_NONE);
    open_pair(&peers, (struct tls_wish){.fault = &fault, .socket_buffer_size = 1}, &seen, 100);
    size_t len = 0;
    assert_int_equal(stream_write(peers.server, &(struct slice){body, sizeof(body)}, 1, &len),
                     ERR_NONE);
    assert_int_equal(stream_write(peers.server, &(struct slice){body, 1}, 1, &len), ERR_AGAIN);
    fault.fail_at = atomic_load(&fault.call_count) + 1;
    int reason = 0;
    (void)receive(&peers, &reason); /* makes room, and the next write fails */
    turn(&peers);
    assert_int_equal(seen.read_err, ERR_IO);
    finish(&peers, &seen);
}

static void a_ticket_resumes_a_session(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        struct tls_server *server = tls_server_make("gateway.test", SLICE("h2"));
        struct tls_wish wish = {.server = server, .version_max = versions[i]};
        struct tls_peers peers;
        struct tls_seen seen;
        int reason = 0;
        open_pair(&peers, wish, &seen, 100);
        assert_int_equal(receive(&peers, &reason), 0);
        wish.session = SSL_get1_session(peers.client);
        assert_int_equal(SSL_session_reused(peers.client), 0);
        assert_int_equal(SSL_shutdown(peers.client), 0);
        finish(&peers, &seen);
        open_pair(&peers, wish, &seen, 100);
        assert_int_equal(SSL_session_reused(peers.client), 1);
        finish(&peers, &seen);
        SSL_SESSION_free(wish.session);
        tls_server_unref(server);
    }
}

static void new_keys_in_the_middle_change_nothing(void **state)
{
    (void)state;
    struct tls_peers peers;
    struct tls_seen seen;
    open_pair(&peers, (struct tls_wish){.version_max = TLS1_3_VERSION}, &seen, 100);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(SSL_key_update(peers.client, SSL_KEY_UPDATE_REQUESTED), 1);
        send_text(&peers, "ab");
        turn(&peers);
        size_t len = 0;
        assert_int_equal(stream_write(peers.server, &SLICE("cd"), 1, &len), ERR_NONE);
        int reason = 0;
        assert_int_equal(receive(&peers, &reason), 2);
    }
    assert_true(slice_equals(buf_view(&seen.in), SLICE("ababababab")));
    finish(&peers, &seen);
}

static void assert_names(SSL *client, const char *name)
{
    X509 *certificate = SSL_get1_peer_certificate(client);
    assert_non_null(certificate);
    assert_int_equal(X509_check_host(certificate, name, 0, 0, NULL), 1);
    X509_free(certificate);
}

static void a_reload_leaves_old_connections_alone(void **state)
{
    (void)state;
    struct tls_server *server = tls_server_make("old.test", SLICE("h2"));
    struct tls_peers before;
    struct tls_peers after;
    struct tls_seen before_seen;
    struct tls_seen after_seen;
    start(&before, (struct tls_wish){.server = server}, &before_seen, 100);
    tls_server_unref(server);
    server = tls_server_make("new.test", SLICE("h2"));
    open_pair(&after, (struct tls_wish){.server = server}, &after_seen, 100);
    tls_server_unref(server);
    assert_int_equal(tls_peers_shake_hands(&before), 1);
    assert_names(before.client, "old.test");
    assert_names(after.client, "new.test");
    send_text(&before, "hello");
    turn(&before);
    assert_true(slice_equals(buf_view(&before_seen.in), SLICE("hello")));
    finish(&before, &before_seen);
    finish(&after, &after_seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_servers_first_common_protocol_is_chosen),
        cmocka_unit_test(clients_that_are_refused),
        cmocka_unit_test(bytes_that_are_not_tls_are_an_error),
        cmocka_unit_test(a_client_that_leaves_in_the_handshake_has_closed),
        cmocka_unit_test(bytes_inside_are_reported_although_the_socket_is_silent),
        cmocka_unit_test(bytes_inside_wait_until_they_are_watched_for),
        cmocka_unit_test(a_request_that_came_with_the_handshake_is_read_after_a_write),
        cmocka_unit_test(half_a_record_calls_nobody_again_and_again),
        cmocka_unit_test(who_writes_first_is_called_as_the_handshake_goes_on),
        cmocka_unit_test(a_head_and_its_body_leave_in_one_record),
        cmocka_unit_test(what_is_long_leaves_in_one_call),
        cmocka_unit_test(empty_parts_are_taken_at_once),
        cmocka_unit_test(after_the_clients_end_we_still_answer),
        cmocka_unit_test(an_end_without_close_notify_is_an_end_as_well),
        cmocka_unit_test(a_changed_byte_is_an_error),
        cmocka_unit_test(an_owner_may_close_in_its_callback),
        cmocka_unit_test(the_end_waits_until_all_is_sent),
        cmocka_unit_test(a_broken_write_ends_a_reader_too),
        cmocka_unit_test(a_ticket_resumes_a_session),
        cmocka_unit_test(new_keys_in_the_middle_change_nothing),
        cmocka_unit_test(a_reload_leaves_old_connections_alone),
    };
    return cmocka_run_group_tests_name("io/tls_stream", tests, NULL, NULL);
}
