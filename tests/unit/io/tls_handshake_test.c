/* SPDX-License-Identifier: MIT */
#include "io/tls_handshake.h"

#include "base/limits.h"
#include "io/socket_stream.h"
#include "tls_issuer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#define WAIT_TURNS 20000 /* of a millisecond */
#define NO_PEM     ((struct tls_pem){.path = NULL})

/* Our client, and whoever the test puts at the other end of its socket. */
struct meeting {
    struct loop *loop;
    struct tls_end client;
    SSL *server; /* OpenSSL's, or NULL */
    int fd;
};

static struct tls_client *client_new(struct tls_pem certificate, struct tls_pem key)
{
    struct tls_client *client = NULL;
    struct tls_client_settings settings = {
        .verify = TLS_VERIFY_NONE, .certificate = certificate, .key = key};
    assert_int_equal(tls_client_new(&settings, &client, NULL), ERR_NONE);
    return client;
}

static void meeting_start(struct meeting *meeting, struct tls_client *client, struct fault *fault,
                          uint64_t timeout_ms)
{
    int fds[2];
    struct stream *stream = NULL;
    *meeting = (struct meeting){.loop = loop_new(fault)};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(tls_stream_new_client(client, SLICE("db.test"),
                                           socket_stream_new(meeting->loop, fds[0]), &stream, NULL),
                     ERR_NONE);
    meeting->client.handshake =
        tls_handshake_start(stream, timeout_ms, tls_end_on_done, &meeting->client);
    meeting->fd = fds[1];
}

static void meeting_await(struct meeting *meeting)
{
    for (size_t i = 0; i < WAIT_TURNS && meeting->client.handshake != NULL; i++) {
        if (meeting->server != NULL) {
            (void)SSL_do_handshake(meeting->server);
        }
        loop_turn(meeting->loop);
        (void)usleep(1000);
    }
    assert_null(meeting->client.handshake);
}

static void meeting_end(struct meeting *meeting)
{
    if (meeting->client.handshake != NULL) {
        tls_handshake_cancel(meeting->client.handshake);
    }
    if (meeting->client.stream != NULL) {
        stream_close(meeting->client.stream);
    }
    SSL_free(meeting->server);
    if (meeting->fd >= 0) {
        assert_int_equal(close(meeting->fd), 0);
    }
    loop_free(meeting->loop);
}

static void assert_message(const struct error *error, enum err code, const char *message)
{
    assert_int_equal(error->code, code);
    assert_string_equal(error->message, message);
}

/* Strangers ------------------------------------------------------------------------------------ */

static void peers_that_are_no_tls_servers_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        struct slice bytes;
        const char *message;
    } cases[] = {
        {SLICE_INIT("SSH-2.0-OpenSSH_9.2\r\n"),
         "TLS with 'db.test': the other side does not speak TLS"},
        {SLICE_INIT("HTTP/1.1 400 Bad Request\r\n\r\n"),
         "TLS with 'db.test': the other side does not speak TLS"},
        {SLICE_INIT("\x4a\x00\x00\x00\x0a"
                    "8.0.36\0 and so on"),
         "TLS with 'db.test': the other side does not speak TLS"},
        {SLICE_INIT("\x15\x03\x03\x00\x02\x02\x28"),
         "TLS with 'db.test': refused by the other side: handshake failure"},
        {SLICE_INIT("\x15\x03\x03\x00\x02\x02\x46"),
         "TLS with 'db.test': refused by the other side: protocol version"},
        {SLICE_INIT("\x15\x03\x03\x00\x02\x02\x70"),
         "TLS with 'db.test': refused by the other side: unrecognized name"},
        {SLICE_INIT(""),
         "TLS with 'db.test': the other side ended the connection in the handshake"},
        {SLICE_INIT("\x16\x03\x03\x00\x50\x02"),
         "TLS with 'db.test': the other side ended the connection in the handshake"},
    };
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct meeting meeting;
        meeting_start(&meeting, client, NULL, 20000);
        assert_int_equal(write(meeting.fd, cases[i].bytes.at, cases[i].bytes.len),
                         cases[i].bytes.len);
        assert_int_equal(shutdown(meeting.fd, SHUT_WR), 0);
        meeting_await(&meeting);
        assert_message(&meeting.client.error, ERR_UNAVAILABLE, cases[i].message);
        meeting_end(&meeting);
    }
    tls_client_unref(client);
}

static void a_connection_that_breaks_is_told(void **state)
{
    (void)state;
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    for (uint64_t call = 1; call <= 2; call++) {
        struct meeting meeting;
        struct fault fault;
        assert_int_equal(fault_parse(SLICE("short"), &fault, NULL), ERR_NONE);
        fault.fail_at = call; /* a write, later a write out of what was kept */
        meeting_start(&meeting, client, &fault, 20000);
        meeting_await(&meeting);
        assert_message(&meeting.client.error, ERR_UNAVAILABLE,
                       "TLS with 'db.test': the connection broke in the handshake");
        meeting_end(&meeting);
    }
    struct meeting meeting;
    struct fault fault;
    assert_int_equal(fault_parse(SLICE("fail:2"), &fault, NULL), ERR_NONE); /* the first read */
    meeting_start(&meeting, client, &fault, 20000);
    meeting_await(&meeting);
    assert_message(&meeting.client.error, ERR_UNAVAILABLE,
                   "TLS with 'db.test': the connection broke in the handshake");
    meeting_end(&meeting);
    tls_client_unref(client);
}

/* Time ----------------------------------------------------------------------------------------- */

static void a_silent_peer_has_until_the_deadline(void **state)
{
    (void)state;
    struct meeting meeting;
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    meeting_start(&meeting, client, NULL, 200);
    for (size_t i = 0; i < 100; i++) {
        loop_turn(meeting.loop);
        (void)usleep(1000);
    }
    assert_non_null(meeting.client.handshake);
    meeting_await(&meeting);
    assert_message(&meeting.client.error, ERR_TIMEOUT,
                   "TLS with 'db.test': the handshake took too long");
    char bytes[4096];
    assert_true(read(meeting.fd, bytes, sizeof(bytes)) > 0);
    assert_int_equal(read(meeting.fd, bytes, sizeof(bytes)), 0); /* closed */
    meeting_end(&meeting);
    tls_client_unref(client);
}

static void bytes_that_trickle_do_not_move_the_deadline(void **state)
{
    (void)state;
    struct meeting meeting;
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    meeting_start(&meeting, client, NULL, 200);
    assert_int_equal(write(meeting.fd, "\x16\x03\x03\x10\x00\x02\x00\x0f\xf0", 9), 9);
    size_t turns = 0;
    while (meeting.client.handshake != NULL && turns++ < WAIT_TURNS) {
        assert_int_equal(write(meeting.fd, "x", 1), 1);
        loop_turn(meeting.loop);
        (void)usleep(5000);
    }
    assert_message(&meeting.client.error, ERR_TIMEOUT,
                   "TLS with 'db.test': the handshake took too long");
    meeting_end(&meeting);
    tls_client_unref(client);
}

static void a_server_waits_no_longer_for_its_client(void **state)
{
    (void)state;
    int fds[2];
    struct stream *stream = NULL;
    struct tls_end end = {.stream = NULL};
    struct loop *loop = loop_new(NULL);
    struct tls_server *server = tls_server_make("gateway.test", SLICE_NONE);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(tls_stream_new(server, socket_stream_new(loop, fds[0]), &stream), ERR_NONE);
    tls_server_unref(server);
    end.handshake = tls_handshake_start(stream, 100, tls_end_on_done, &end);
    for (size_t i = 0; i < WAIT_TURNS && end.handshake != NULL; i++) {
        loop_turn(loop);
        (void)usleep(1000);
    }
    assert_message(&end.error, ERR_TIMEOUT, "TLS: the handshake took too long");
    assert_int_equal(close(fds[1]), 0);
    loop_free(loop);
}

static void it_is_cancelled_at_any_turn(void **state)
{
    (void)state;
    struct tls_server *server = tls_server_make("db.test", SLICE_NONE);
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    bool is_over = false;
    for (unsigned turns = 0; !is_over; turns++) {
        struct tls_pair pair;
        struct fault fault;
        assert_true(turns < 1000);
        assert_int_equal(fault_parse(SLICE("short,again"), &fault, NULL), ERR_NONE);
        tls_pair_start(&pair, (struct tls_pair_wish){.server = server,
                                                     .client = client,
                                                     .fault = turns % 2 == 0 ? &fault : NULL});
        for (unsigned i = 0; i < turns; i++) {
            loop_turn(pair.loop);
        }
        is_over = pair.client.handshake == NULL && pair.server.handshake == NULL;
        tls_pair_end(&pair); /* cancels what is still there, and turns on */
    }
    tls_server_unref(server);
    tls_client_unref(client);
}

static void a_server_hears_that_its_client_was_cancelled(void **state)
{
    (void)state;
    struct tls_pair pair;
    struct tls_server *server = tls_server_make("db.test", SLICE_NONE);
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    tls_pair_start(&pair, (struct tls_pair_wish){.server = server, .client = client});
    loop_turn(pair.loop);
    tls_handshake_cancel(pair.client.handshake);
    for (size_t i = 0; i < 20; i++) {
        loop_turn(pair.loop);
    }
    assert_null(pair.client.stream);
    pair.client.handshake = NULL;
    assert_null(pair.server.handshake);
    assert_int_equal(pair.server.error.code, ERR_UNAVAILABLE);
    tls_pair_end(&pair);
    tls_server_unref(server);
    tls_client_unref(client);
}

/* Servers of OpenSSL --------------------------------------------------------------------------- */

/* One that wants a certificate of this issuer, or none when it is NULL. */
static SSL *server_new(int fd, int version_max, const struct tls_issuer *own,
                       const struct tls_issuer *wanted)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_non_null(context);
    SSL_CTX_set_security_level(context, 0);
    assert_int_equal(SSL_CTX_set_min_proto_version(context, TLS1_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(context, version_max), 1);
    assert_int_equal(SSL_CTX_use_certificate(context, own->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, own->key), 1);
    if (wanted != NULL) {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
        assert_int_equal(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), wanted->certificate),
                         1);
    }
    SSL *server = SSL_new(context);
    SSL_CTX_free(context);
    assert_non_null(server);
    assert_int_equal(SSL_set_fd(server, fd), 1);
    SSL_set_accept_state(server);
    return server;
}

/* What the first read after the handshake answers. */
static enum err first_read(struct meeting *meeting)
{
    char byte = 0;
    size_t len = 0;
    enum err err = ERR_AGAIN;
    for (size_t i = 0; i < 200 && err == ERR_AGAIN; i++) {
        (void)SSL_do_handshake(meeting->server);
        loop_turn(meeting->loop);
        err = stream_read(meeting->client.stream, &byte, 1, &len);
    }
    return err;
}

static void a_refused_client_is_told_why(void **state)
{
    (void)state;
    struct tls_issuer own;
    struct tls_issuer stranger;
    tls_issuer_make(&own, (struct tls_subject){.name = "own", .is_issuer = true});
    tls_issuer_make(&stranger, (struct tls_subject){.name = "stranger", .is_issuer = true});
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t i = 0; i < 2 * COUNT_OF(versions); i++) {
        struct meeting meeting;
        struct error error = {.code = ERR_NONE};
        bool shows_one = i % 2 == 1;
        struct tls_client *client =
            client_new((struct tls_pem){.path = shows_one ? stranger.path : NULL}, NO_PEM);
        meeting_start(&meeting, client, NULL, 20000);
        meeting.server = server_new(meeting.fd, versions[i / 2], &own, &own);
        meeting_await(&meeting);
        if (versions[i / 2] == TLS1_2_VERSION) {
            error = meeting.client.error;
        } else { /* the client is done before the server has judged */
            assert_non_null(meeting.client.stream);
            assert_int_equal(first_read(&meeting), ERR_IO);
            assert_int_equal(tls_stream_explain(meeting.client.stream, &error), ERR_UNAVAILABLE);
        }
        assert_non_null(strstr(error.message, "TLS with 'db.test': refused by the other side: "));
        assert_non_null(strstr(error.message, shows_one ? "unknown CA"
                                              : versions[i / 2] == TLS1_3_VERSION
                                                  ? "certificate required"
                                                  : "handshake failure"));
        meeting_end(&meeting);
        tls_client_unref(client);
    }
    tls_issuer_free(&own);
    tls_issuer_free(&stranger);
}

static struct slice read_file(const char *path, char *bytes, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t len = fread(bytes, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return slice_of(bytes, len);
}

static void a_certificate_of_ours_is_shown_out_of_a_file_or_memory(void **state)
{
    (void)state;
    char bytes[8192];
    struct tls_issuer own;
    struct tls_issuer middle;
    struct tls_issuer shown;
    tls_issuer_make(&own, (struct tls_subject){.name = "own", .is_issuer = true});
    tls_issuer_make(&middle,
                    (struct tls_subject){.name = "middle", .issuer = &own, .is_issuer = true});
    tls_issuer_make(&shown, (struct tls_subject){.name = "gateway", .issuer = &middle});
    struct slice memory = read_file(shown.path, bytes, sizeof(bytes));
    const struct tls_pem sources[] = {{.path = shown.path}, {.bytes = memory}};
    for (size_t i = 0; i < 4; i++) {
        struct meeting meeting;
        struct buf der CLEANUP(buf_release);
        buf_init(&der, LIMIT_KIB(16));
        struct tls_client *client = client_new(sources[i % 2], i < 2 ? sources[1] : NO_PEM);
        meeting_start(&meeting, client, NULL, 20000);
        meeting.server = server_new(meeting.fd, TLS1_3_VERSION, &own, &own);
        meeting_await(&meeting);
        assert_non_null(meeting.client.stream);
        assert_int_equal(SSL_do_handshake(meeting.server), 1);
        assert_int_equal(X509_cmp(SSL_get0_peer_certificate(meeting.server), shown.certificate), 0);
        assert_string_equal(SSL_get_servername(meeting.server, TLSEXT_NAMETYPE_host_name),
                            "db.test");
        assert_int_equal(tls_stream_own_certificate(meeting.client.stream, &der), ERR_NONE);
        assert_int_equal(first_read(&meeting), ERR_AGAIN);
        meeting_end(&meeting);
        tls_client_unref(client);
    }
    tls_issuer_free(&shown);
    tls_issuer_free(&middle);
    tls_issuer_free(&own);
}

static void old_versions_are_refused(void **state)
{
    (void)state;
    struct meeting meeting;
    struct tls_issuer own;
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    tls_issuer_make(&own, (struct tls_subject){.name = "own"});
    meeting_start(&meeting, client, NULL, 20000);
    meeting.server = server_new(meeting.fd, TLS1_1_VERSION, &own, NULL);
    meeting_await(&meeting);
    assert_message(&meeting.client.error, ERR_UNAVAILABLE,
                   "TLS with 'db.test': refused by the other side: protocol version");
    meeting_end(&meeting);
    /* One that does not even listen. */
    meeting_start(&meeting, client, NULL, 20000);
    static const char hello[] = "\x16\x03\x01\x00\x2a\x02\x00\x00\x26\x03\x01"
                                "abcdefghijklmnopqrstuvwxyz012345"
                                "\x00\xc0\x13\x00";
    assert_int_equal(write(meeting.fd, hello, sizeof(hello) - 1), sizeof(hello) - 1);
    meeting_await(&meeting);
    assert_message(&meeting.client.error, ERR_UNAVAILABLE,
                   "TLS with 'db.test': the other side speaks only versions of TLS that are too "
                   "old");
    meeting_end(&meeting);
    tls_client_unref(client);
    tls_issuer_free(&own);
}

static void what_came_with_the_handshake_is_read_after_it(void **state)
{
    (void)state;
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    struct tls_issuer own;
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    tls_issuer_make(&own, (struct tls_subject){.name = "own"});
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        struct meeting meeting;
        bool is_written = false;
        meeting_start(&meeting, client, NULL, 20000);
        meeting.server = server_new(meeting.fd, versions[i], &own, NULL);
        for (size_t j = 0; j < WAIT_TURNS && (!is_written || meeting.client.stream == NULL); j++) {
            if (!is_written && SSL_do_handshake(meeting.server) == 1) {
                is_written = SSL_write(meeting.server, "hello", 5) == 5;
            }
            loop_turn(meeting.loop);
        }
        struct tls_seen seen = {.stream = meeting.client.stream, .read_size = 100};
        buf_init(&seen.in, 1000);
        stream_own(meeting.client.stream, tls_reader_on_event, &seen);
        stream_watch(meeting.client.stream, STREAM_READABLE);
        for (size_t j = 0; j < 20; j++) {
            loop_turn(meeting.loop);
        }
        assert_true(slice_equals(buf_view(&seen.in), SLICE("hello")));
        buf_release(&seen.in);
        meeting_end(&meeting);
    }
    tls_client_unref(client);
    tls_issuer_free(&own);
}

static void nobody_renegotiates(void **state)
{
    (void)state;
    struct meeting meeting;
    struct tls_issuer own;
    struct tls_client *client = client_new(NO_PEM, NO_PEM);
    tls_issuer_make(&own, (struct tls_subject){.name = "own"});
    meeting_start(&meeting, client, NULL, 20000);
    meeting.server = server_new(meeting.fd, TLS1_2_VERSION, &own, NULL);
    meeting_await(&meeting);
    assert_int_equal(SSL_renegotiate(meeting.server), 1);
    assert_int_equal(SSL_do_handshake(meeting.server), 1); /* sends the request */
    char byte = 0;
    size_t len = 0;
    loop_turn(meeting.loop);
    assert_int_equal(stream_read(meeting.client.stream, &byte, 1, &len), ERR_AGAIN);
    assert_int_equal(SSL_read(meeting.server, &byte, 1), -1);
    assert_int_equal(ERR_GET_REASON(ERR_get_error()), SSL_R_NO_RENEGOTIATION);
    meeting_end(&meeting);
    tls_client_unref(client);
    tls_issuer_free(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_that_are_no_tls_servers_are_told_apart),
        cmocka_unit_test(a_connection_that_breaks_is_told),
        cmocka_unit_test(a_silent_peer_has_until_the_deadline),
        cmocka_unit_test(bytes_that_trickle_do_not_move_the_deadline),
        cmocka_unit_test(a_server_waits_no_longer_for_its_client),
        cmocka_unit_test(it_is_cancelled_at_any_turn),
        cmocka_unit_test(a_server_hears_that_its_client_was_cancelled),
        cmocka_unit_test(a_refused_client_is_told_why),
        cmocka_unit_test(a_certificate_of_ours_is_shown_out_of_a_file_or_memory),
        cmocka_unit_test(old_versions_are_refused),
        cmocka_unit_test(what_came_with_the_handshake_is_read_after_it),
        cmocka_unit_test(nobody_renegotiates),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("io/tls_handshake", tests, NULL, NULL);
}
