/* SPDX-License-Identifier: MIT */
/* A TLS connection that moves from one worker to another, again and again, while its client sends
 * and checks what comes back. */
#include "base/memory.h"
#include "io/socket_stream.h"
#include "io/tls_stream.h"
#include "io/worker.h"
#include "tls_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define MOVE_COUNT  200
#define MOVE_BLOCK  3000
#define MOVE_ROUNDS 2000

/* Echoes, and goes to the other worker after every few reads. */
struct mover {
    struct mail mail;
    struct worker *workers[2];
    int at;
    struct stream *stream;
    struct buf unsent;
    unsigned read_count;
    unsigned move_count;
    unsigned wrong_thread_count;
    pthread_t threads[2];
    bool knows[2];
};

static void mover_watch(struct mover *mover)
{
    stream_watch(mover->stream, mover->unsent.len > 0 ? STREAM_WRITABLE : STREAM_READABLE);
}

static void mover_send(struct mover *mover)
{
    while (mover->unsent.len > 0) {
        struct slice part = buf_view(&mover->unsent);
        size_t len = 0;
        if (stream_write(mover->stream, &part, 1, &len) != ERR_NONE) {
            return;
        }
        buf_consume(&mover->unsent, len);
    }
}

static void mover_move(struct mover *mover)
{
    stream_watch(mover->stream, 0);
    assert_true(stream_can_move(mover->stream));
    stream_detach(mover->stream);
    mover->at = 1 - mover->at;
    mover->move_count++;
    mailbox_send(worker_mailbox(mover->workers[mover->at]), &mover->mail);
}

static void mover_end(struct mover *mover)
{
    stream_close(mover->stream);
    worker_stop(mover->workers[mover->at]);
}

static void mover_on_event(void *owner, unsigned events)
{
    struct mover *mover = owner;
    char bytes[4096];
    size_t len = 0;
    mover->wrong_thread_count += pthread_equal(mover->threads[mover->at], pthread_self()) == 0;
    if ((events & STREAM_WRITABLE) != 0) {
        mover_send(mover);
    }
    if ((events & STREAM_READABLE) != 0 && mover->unsent.len == 0) {
        enum err err = stream_read(mover->stream, bytes, sizeof(bytes), &len);
        if (err == ERR_CLOSED || err == ERR_IO) {
            mover_end(mover);
            return;
        }
        if (err == ERR_NONE) {
            assert_int_equal(buf_append(&mover->unsent, slice_of(bytes, len)), ERR_NONE);
            mover_send(mover);
            mover->read_count++;
        }
    }
    if (mover->read_count % 5 == 4 && mover->move_count < MOVE_COUNT) {
        mover->read_count++;
        mover_move(mover); /* perhaps with bytes of a record that are read but not taken */
        return;
    }
    mover_watch(mover);
}

static void mover_on_arrival(struct mail *mail)
{
    struct mover *mover = CONTAINER_OF(mail, struct mover, mail);
    mover->threads[mover->at] = pthread_self();
    stream_attach(mover->stream, worker_loop(mover->workers[mover->at]));
    stream_own(mover->stream, mover_on_event, mover);
    mover_watch(mover);
}

static void stop_deliver(struct mail *mail)
{
    struct mover *mover = CONTAINER_OF(mail, struct mover, mail);
    worker_stop(mover->workers[1 - mover->at]);
}

/* The client: OpenSSL's own, blocking, with many blocks under way. */
struct sender {
    SSL *ssl;
    int fd;
};

/* Whether all came back as it was sent. */
static bool sender_run(const struct sender *sender)
{
    char block[MOVE_BLOCK];
    for (int i = 0; i < MOVE_ROUNDS; i++) {
        memset(block, 'a' + i % 26, sizeof(block));
        if (SSL_write(sender->ssl, block, sizeof(block)) != (int)sizeof(block)) {
            return false;
        }
        for (int len = 0; len < MOVE_BLOCK;) {
            char back[MOVE_BLOCK];
            int got = SSL_read(sender->ssl, back, MOVE_BLOCK - len);
            if (got <= 0 || back[0] != 'a' + i % 26 || back[got - 1] != back[0]) {
                return false;
            }
            len += got;
        }
    }
    (void)shutdown(sender->fd, SHUT_RDWR);
    return true;
}

static void a_tls_connection_moves_between_workers_under_load(void **state)
{
    (void)state;
    int fds[2];
    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct mover mover = {.mail = {.deliver = mover_on_arrival}};
    buf_init(&mover.unsent, 65536);
    mover.workers[0] = worker_new(0, NULL);
    mover.workers[1] = worker_new(1, NULL);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    mover.stream = socket_stream_new(worker_loop(mover.workers[0]), fds[0]);
    struct tls_server *server = NULL;
    struct sender sender = {.fd = fds[1]};
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    server = tls_server_make("localhost", SLICE_NONE);
    assert_int_equal(tls_stream_new(server, mover.stream, &mover.stream), ERR_NONE);
    tls_server_unref(server);
    stream_detach(mover.stream);
    mailbox_send(worker_mailbox(mover.workers[0]), &mover.mail);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(worker_start(mover.workers[i]), ERR_NONE);
    }
    sender.ssl = SSL_new(context);
    assert_int_equal(SSL_set_fd(sender.ssl, fds[1]), 1);
    assert_int_equal(SSL_connect(sender.ssl), 1);
    assert_true(sender_run(&sender));
    worker_join(mover.workers[mover.at]);
    struct mover stopper = {.mail = {.deliver = stop_deliver}, .at = mover.at};
    memcpy(stopper.workers, mover.workers, sizeof(stopper.workers));
    mailbox_send(worker_mailbox(mover.workers[1 - mover.at]), &stopper.mail);
    worker_join(mover.workers[1 - mover.at]);
    worker_free(mover.workers[0]);
    worker_free(mover.workers[1]);
    assert_int_equal(mover.move_count, MOVE_COUNT);
    assert_int_equal(mover.wrong_thread_count, 0);
    SSL_free(sender.ssl);
    SSL_CTX_free(context);
    (void)close(fds[1]);
    buf_release(&mover.unsent);
}

/* On one thread: what TLS holds, read or unsent, goes along. */
static void a_socket_goes_to_another_loop_and_works_there(void **state)
{
    (void)state;
    int fds[2];
    char bytes[8];
    size_t len = 0;
    struct slice part = SLICE("hi");
    struct loop *first = loop_new(NULL);
    struct loop *second = loop_new(NULL);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    struct stream *stream = socket_stream_new(first, fds[0]);
    struct tls_seen seen = {.stream = stream, .read_size = 64};
    buf_init(&seen.in, 64);
    stream_own(stream, tls_reader_on_event, &seen);
    stream_watch(stream, STREAM_READABLE);
    loop_turn(first);
    stream_watch(stream, 0);
    stream_detach(stream);
    assert_int_equal(write(fds[1], "abc", 3), 3);
    loop_turn(first);
    assert_int_equal(seen.in.len, 0);
    loop_free(first);
    stream_attach(stream, second);
    stream_watch(stream, STREAM_READABLE);
    loop_turn(second);
    assert_int_equal(seen.in.len, 3);
    assert_int_equal(stream_write(stream, &part, 1, &len), ERR_NONE);
    assert_int_equal(read(fds[1], bytes, sizeof(bytes)), 2);
    stream_close(stream);
    loop_free(second);
    (void)close(fds[1]);
    buf_release(&seen.in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_goes_to_another_loop_and_works_there),
        cmocka_unit_test(a_tls_connection_moves_between_workers_under_load),
    };
    return cmocka_run_group_tests_name("io/stream_move", tests, NULL, NULL);
}
