/* SPDX-License-Identifier: MIT */
/* The PostgreSQL front with a fixed list of candidates and a session that does next to nothing, for
 * the tests with real clients. Prints "port N", then serves on one worker until SIGTERM; says on
 * stderr what the owner of a front is told.
 *
 * The name "shop" has the passwords "password 0" to "password 2". A query is answered with one row:
 * the index of the candidate. The database "none" is refused after sign-in.
 *
 * Usage: pg_front_server [plain | CERTIFICATE KEY [needs-tls]] */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/listener.h"
#include "io/log.h"
#include "io/socket_stream.h"
#include "io/worker.h"
#include "protocol/postgres/pg_front.h"
#include "wire/pgwire_answer.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define CANDIDATE_COUNT 3
#define NAME            SLICE("shop")

struct server {
    struct loop *loop;
    struct front_config config;
    struct secret mock_key;
    struct scram_verifier candidates[CANDIDATE_COUNT];
};

/* A client, before and after it is known who it is. */
struct session {
    struct server *server;
    struct pg_front *front;
    struct stream *stream;
    struct loop_task task;
    size_t index;
    char bytes[4096];
    size_t len;
    bool is_open;
};

static void session_free(void *at)
{
    memory_free(at);
}

static void session_end(struct session *session)
{
    stream_close(session->stream);
    loop_task_init(&session->task, session_free, session);
    loop_defer(session->server->loop, &session->task);
}

/* T: one column "candidate" of text; D, C, Z. */
static void answer_query(struct session *session)
{
    char text[] = "T\0\0\0\x22\0\1candidate\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0"
                  "D\0\0\0\x0b\0\1\0\0\0\1?"
                  "C\0\0\0\x0dSELECT 1\0"
                  "Z\0\0\0\5I";
    struct slice bytes = slice_of(text, sizeof(text) - 1);
    text[slice_find_byte(bytes, '?')] = (char)('0' + session->index);
    size_t len = 0;
    if (stream_write(session->stream, &bytes, 1, &len) != ERR_NONE || len != bytes.len) {
        (void)fprintf(stderr, "short write\n");
    }
}

/* Queries come whole, as long as they are short. */
static bool take_message(struct session *session)
{
    struct slice bytes = slice_of(session->bytes, session->len);
    if (bytes.len < 5) {
        return false;
    }
    size_t size = 1 + ((size_t)(unsigned char)bytes.at[3] << 8) + (unsigned char)bytes.at[4];
    if (size > bytes.len) {
        return false;
    }
    if (bytes.at[0] == PGWIRE_CLIENT_QUERY) {
        answer_query(session);
    }
    session->is_open = bytes.at[0] != PGWIRE_CLIENT_TERMINATE;
    session->len -= size;
    memmove(session->bytes, session->bytes + size, session->len);
    return session->is_open;
}

static void on_event(void *owner, unsigned events)
{
    struct session *session = owner;
    size_t len = 0;
    (void)events;
    enum err err = stream_read(session->stream, session->bytes + session->len,
                               sizeof(session->bytes) - session->len, &len);
    session->len += err == ERR_NONE ? len : 0;
    while (take_message(session)) {
    }
    if (!session->is_open || (err != ERR_NONE && err != ERR_AGAIN) ||
        session->len == sizeof(session->bytes)) {
        session_end(session);
    }
}

static void on_name(void *owner, struct slice name)
{
    struct session *session = owner;
    bool is_known = slice_equals(name, NAME);
    pg_front_answer(session->front, session->server->candidates, is_known ? CANDIDATE_COUNT : 0);
}

static void on_refused(void *owner, struct slice name)
{
    (void)owner;
    (void)fprintf(stderr, "refused %.*s\n", SLICE_ARG(name));
}

static void on_known(void *owner, size_t index)
{
    struct session *session = owner;
    session->index = index;
    if (slice_equals(pg_front_startup(session->front)->database, SLICE("none"))) {
        pg_front_fail(session->front, SLICE("08001"), SLICE("the target does not answer"),
                      SLICE("Ask who runs it."));
        return;
    }
    const struct pg_front_session answer = {
        .parameter_statuses = SLICE("S\0\0\0\x16server_version\00017\0"
                                    "S\0\0\0\x19"
                                    "client_encoding\0UTF8\0"
                                    "S\0\0\0\x23standard_conforming_strings\0on\0"),
        .key = {.process = 4711, .secret = SLICE("keys")},
        .transaction = PGWIRE_IDLE,
    };
    must(pg_front_ready(session->front, &answer) == ERR_NONE);
}

static void on_open(void *owner, struct stream *take_stream, struct slice behind)
{
    struct session *session = owner;
    session->stream = take_stream;
    must(behind.len <= sizeof(session->bytes));
    memcpy(session->bytes, behind.len > 0 ? behind.at : "", behind.len);
    session->len = behind.len;
    session->is_open = true;
    stream_own(session->stream, on_event, session);
    stream_watch(session->stream, STREAM_READABLE);
    while (take_message(session)) {
    }
}

static void on_cancel(void *owner, const struct cancel_key *key)
{
    struct session *session = owner;
    (void)fprintf(stderr, "cancel %u %.*s\n", key->number, SLICE_ARG(key->secret));
    pg_front_cancelled(session->front);
}

static void on_closed(void *owner, const struct error *reason)
{
    (void)fprintf(stderr, "closed %d %s\n", (int)reason->code, reason->message);
    memory_free(owner);
}

static const struct front_events events = {
    .on_name = on_name,
    .on_refused = on_refused,
    .on_known = on_known,
    .on_open = on_open,
    .on_cancel = on_cancel,
    .on_closed = on_closed,
};

static void on_accept(void *owner, int take_fd, const struct sockaddr_storage *peer)
{
    struct server *server = owner;
    struct session *session = memory_new(sizeof(*session));
    (void)peer;
    session->server = server;
    session->front =
        pg_front_new(socket_stream_new(server->loop, take_fd), &server->config, &events, session);
}

static void make_candidates(struct server *server)
{
    struct scram_verifier mock;
    secret_init(&server->mock_key);
    must(secret_set(&server->mock_key, SLICE("of the gateway")) == ERR_NONE);
    scram_verifier_mock(&server->mock_key, NAME, &mock);
    for (size_t i = 0; i < CANDIDATE_COUNT; i++) {
        struct secret password CLEANUP(secret_release);
        char text[32];
        int len = snprintf(text, sizeof(text), "password %zu", i);
        secret_init(&password);
        must(secret_set(&password, slice_of(text, (size_t)len)) == ERR_NONE);
        scram_verifier_derive(&password, slice_of(mock.salt, mock.salt_size), mock.iterations,
                              &server->candidates[i]);
    }
    server->config.mock_key = &server->mock_key;
    server->config.authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS;
}

int main(int argument_count, char **arguments)
{
    static struct server server;
    struct error error = {0};
    struct tls_server *tls = NULL;
    sigset_t signals;
    int fd = -1;
    must(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    log_start(STDERR_FILENO, LOG_FORMAT_TEXT);
    if ((argument_count > 2 && tls_server_new(arguments[1], arguments[2], SLICE("postgresql"), &tls,
                                              &error) != ERR_NONE) ||
        listener_open_sockets(SLICE("127.0.0.1:0"), 1, &fd, &error) != ERR_NONE) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    make_candidates(&server);
    if (tls != NULL) {
        front_config_set_tls(&server.config, tls);
        server.config.needs_tls = argument_count > 3;
    }
    (void)printf("port %u\n", listener_port(fd));
    (void)fflush(stdout);
    struct worker *worker = worker_new(0, NULL);
    server.loop = worker_loop(worker);
    (void)listener_new(server.loop, fd, on_accept, &server);
    must(worker_start(worker) == ERR_NONE);
    int number = 0;
    (void)sigwait(&signals, &number);
    _exit(0); /* its connections end with it */
}
