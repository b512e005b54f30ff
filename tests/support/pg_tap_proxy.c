/* SPDX-License-Identifier: MIT */
/* The PostgreSQL path from front to target with a tap in between, for tests/e2e/test_pg_tap.py.
 * Prints "port N", then serves on one worker until SIGTERM; says on standard output what the taps
 * tell and how sessions end, a JSON object a line. Clients sign in as "shop" with the password
 * "password" and are "postgres" at the target, a server on this machine that trusts it.
 *
 * pg_tap_proxy PORT ROW_LIMIT at_once|held [CERTIFICATE KEY] (held: each piece waits for a turn, as
 * if for a disk) */
#include "base/arena.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/hex.h"
#include "codec/json_writer.h"
#include "io/listener.h"
#include "io/log.h"
#include "io/socket_stream.h"
#include "io/worker.h"
#include "protocol/postgres/pg_cancel.h"
#include "protocol/postgres/pg_front.h"
#include "protocol/postgres/pg_tap.h"
#include "protocol/postgres/pg_target.h"
#include "wire/pgwire_answer.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME       SLICE("shop")
#define PASSWORD   SLICE("password")
#define TIMEOUT_MS 20000

struct server {
    struct worker *worker;
    struct front_config config;
    struct secret mock_key;
    struct scram_verifier verifier;
    uint16_t port; /* of the target */
    uint64_t row_limit;
    bool holds;
    int64_t session_count;
    char scratch[LIMIT_READ_SIZE];
};

struct session {
    struct server *server;
    int64_t id;
    struct pg_front *front;    /* until the session is open */
    struct pg_target *signing; /* while it signs in */
    struct stream *target;     /* from there until the session is open */
    struct buf rest;           /* what it said behind its start */
    struct pump *pump;
    struct pg_tap *tap;
    bool is_held[2];
    bool has_target_erred; /* the last of its messages that were recorded is an error */
    struct loop_task resume;
    struct loop_task release;
};

static void session_release(void *owner)
{
    struct session *session = owner;
    loop_task_cancel(&session->resume);
    if (session->signing != NULL) {
        pg_target_cancel(session->signing);
    }
    if (session->target != NULL) {
        stream_close(session->target);
    }
    pg_tap_free(session->tap);
    buf_release(&session->rest);
    memory_free(session);
}

/* What it prints ------------------------------------------------------------------------------ */

static void print(const struct json_writer *json)
{
    must(json_writer_done(json) == ERR_NONE);
    (void)printf("%.*s\n", SLICE_ARG(buf_view(json->buf)));
    (void)fflush(stdout);
}

static const char *name_of_side(enum pump_side side)
{
    return side == PUMP_CLIENT ? "client" : "target";
}

static void print_record(const struct session *session, const struct pg_record *record)
{
    static const char *const kinds[] = {"message", "more", "rows", "count"};
    struct arena arena;
    struct buf buf;
    arena_init(&arena);
    buf_init(&buf, LIMIT_MIB(1));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_int(&json, "session", session->id);
    json_member_text(&json, "kind", slice_of_text(kinds[record->kind]));
    json_member_text(&json, "side", slice_of_text(name_of_side(record->side)));
    if (record->request != PG_RECORD_NOBODY) {
        json_member_int(&json, "request", (int64_t)record->request);
    }
    if (record->kind == PG_RECORD_COUNT) {
        json_member_int(&json, "rows", (int64_t)record->rows);
        json_member_int(&json, "row_bytes", (int64_t)record->row_bytes);
        json_member_bool(&json, "is_cut", record->is_cut);
    } else {
        json_member_text(&json, "type", slice_of(&record->type, 1));
        json_member_int(&json, "size", (int64_t)record->size);
        json_member_bool(&json, "is_last", record->is_last);
        json_member_text(&json, "bytes", hex_encode(&arena, record->bytes));
    }
    json_end_object(&json);
    print(&json);
    buf_release(&buf);
    arena_release(&arena);
}

static void on_record(void *owner, const struct pg_record *record)
{
    struct session *session = owner;
    if (record->side == PUMP_TARGET) {
        session->has_target_erred = record->type == PGWIRE_SERVER_ERROR;
    }
    print_record(session, record);
}

static void print_end(const struct session *session, enum pump_side side, enum err err, bool speaks)
{
    const struct passage_counts *counts = pg_tap_counts(session->tap);
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(4));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_int(&json, "session", session->id);
    json_member_text(&json, "kind", SLICE("end"));
    json_member_text(&json, "side", slice_of_text(name_of_side(side)));
    json_member_text(&json, "error", slice_of_text(err_text(err)));
    json_member_bool(&json, "speaks", speaks);
    json_member_bool(&json, "is_idle", pg_tap_is_idle(session->tap));
    json_member_bool(&json, "is_terminated", pg_tap_is_terminated(session->tap));
    json_member_int(&json, "statements", (int64_t)counts->statements);
    json_member_int(&json, "errors", (int64_t)counts->errors);
    json_member_int(&json, "rows", (int64_t)counts->rows);
    json_member_int(&json, "row_bytes", (int64_t)counts->row_bytes);
    json_member_int(&json, "of_client", (int64_t)counts->bytes[PUMP_CLIENT]);
    json_member_int(&json, "of_target", (int64_t)counts->bytes[PUMP_TARGET]);
    json_end_object(&json);
    print(&json);
    buf_release(&buf);
}

/* The open session ---------------------------------------------------------------------------- */

static enum err on_pass(void *owner, enum pump_side side, struct slice *bytes)
{
    struct session *session = owner;
    struct error error = {0};
    if (side == PUMP_TARGET) {
        session->has_target_erred = false;
    }
    enum err err = pg_tap_pass(session->tap, side, *bytes, &error);
    if (err != ERR_NONE) {
        (void)fprintf(stderr, "%s: %s\n", name_of_side(side), error.message);
        return err;
    }
    pump_hold(session->pump, PUMP_CLIENT, pg_tap_is_full(session->tap));
    if (!session->server->holds) {
        return ERR_NONE;
    }
    session->is_held[side] = true;
    loop_defer(worker_loop(session->server->worker), &session->resume);
    return ERR_AGAIN;
}

static void on_resume(void *owner)
{
    struct session *session = owner;
    for (int side = 0; side < 2; side++) {
        if (session->is_held[side]) {
            session->is_held[side] = false;
            pump_resume(session->pump, (enum pump_side)side);
        }
    }
}

static void say_why(struct session *session, enum err err)
{
    struct pgwire_notice notice = {
        .severity = SLICE("FATAL"),
        .sqlstate = err == ERR_IO || err == ERR_NONE ? SLICE("08006") : SLICE("08P01"),
        .message = err == ERR_IO || err == ERR_NONE ? SLICE("the target has closed the connection")
                                                    : SLICE("the session broke the protocol"),
    };
    struct buf words;
    buf_init(&words, LIMIT_KIB(4));
    must(pgwire_error_write(&words, &notice) == ERR_NONE);
    must(pump_say(session->pump, PUMP_CLIENT, buf_view(&words)) == ERR_NONE);
    buf_release(&words);
}

static void on_end(void *owner, enum pump_side side, enum err err)
{
    struct session *session = owner;
    bool is_client_gone = side == PUMP_CLIENT && err == ERR_IO;
    bool is_wanted = !is_client_gone && !pg_tap_is_terminated(session->tap);
    bool speaks =
        is_wanted && !session->has_target_erred && pg_tap_is_between(session->tap, PUMP_TARGET);
    pg_tap_end(session->tap);
    print_end(session, side, err, speaks);
    if (speaks) {
        say_why(session, err);
    }
    pump_finish(session->pump);
}

static void on_gone(void *owner)
{
    struct session *session = owner;
    loop_task_cancel(&session->resume);
    loop_defer(worker_loop(session->server->worker), &session->release);
}

static void on_open(void *owner, struct stream *take_stream, struct slice behind)
{
    struct session *session = owner;
    struct pg_tap_settings tap = {
        .row_limit = session->server->row_limit,
        .on_record = on_record,
        .owner = session,
    };
    struct pump_settings pump = {
        .scratch = session->server->scratch,
        .scratch_size = sizeof(session->server->scratch),
        .on_pass = on_pass,
        .on_end = on_end,
        .on_gone = on_gone,
        .owner = session,
    };
    pump.take_streams[PUMP_CLIENT] = take_stream;
    pump.take_streams[PUMP_TARGET] = session->target;
    pump.waiting[PUMP_CLIENT] = behind;
    pump.waiting[PUMP_TARGET] = buf_view(&session->rest);
    session->front = NULL;
    session->target = NULL;
    session->tap = pg_tap_new(&tap);
    session->pump = pump_new(&pump);
    buf_clear(&session->rest);
}

/* Its start ----------------------------------------------------------------------------------- */

static struct stream *connect_to_target(const struct server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(server->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    must(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return socket_stream_new(worker_loop(server->worker), fd);
}

static void on_target(void *owner, const struct arrival *ready,
                      const struct target_failure *failure)
{
    struct session *session = owner;
    session->signing = NULL;
    if (failure != NULL) {
        pg_front_fail(session->front, slice_of_text(failure->code),
                      slice_of_text(failure->error.message), SLICE_NONE);
        return;
    }
    session->target = ready->take_stream;
    must(buf_append(&session->rest, ready->rest) == ERR_NONE);
    const struct pg_front_session answer = {
        .parameter_statuses = ready->greeting,
        .key = {.process = ready->key.number, .secret = ready->key.secret},
        .transaction = (enum pgwire_transaction)ready->state,
    };
    must(pg_front_ready(session->front, &answer) == ERR_NONE);
}

static void on_known(void *owner, size_t index)
{
    struct session *session = owner;
    const struct pgwire_startup *startup = pg_front_startup(session->front);
    (void)index;
    struct pg_target_settings settings = {
        .user = SLICE("postgres"),
        .database = startup->database,
        .parameters = startup->parameters,
        .parameter_count = startup->parameter_count,
        .version = PGWIRE_VERSION(3, 0),
        .is_local = true,
        .timeout_ms = TIMEOUT_MS,
    };
    session->signing =
        pg_target_start(connect_to_target(session->server), &settings, on_target, session);
}

static void on_name(void *owner, struct slice name)
{
    struct session *session = owner;
    bool is_known = slice_equals(name, NAME);
    pg_front_answer(session->front, &session->server->verifier, is_known);
}

static void on_cancelled(void *owner, const struct error *error)
{
    (void)owner;
    must(error == NULL);
}

static void on_cancel(void *owner, const struct cancel_key *key)
{
    struct session *session = owner;
    struct pg_cancel_settings settings = {.key = *key, .timeout_ms = TIMEOUT_MS};
    (void)pg_cancel_start(connect_to_target(session->server), &settings, on_cancelled, NULL);
    pg_front_cancelled(session->front);
}

static void on_closed(void *owner, const struct error *reason)
{
    struct session *session = owner;
    (void)reason;
    session->front = NULL;
    loop_defer(worker_loop(session->server->worker), &session->release);
}

static const struct front_events events = {
    .on_name = on_name,
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
    session->id = ++server->session_count;
    buf_init(&session->rest, LIMIT_PG_READ_SIZE);
    loop_task_init(&session->resume, on_resume, session);
    loop_task_init(&session->release, session_release, session);
    session->front = pg_front_new(socket_stream_new(worker_loop(server->worker), take_fd),
                                  &server->config, &events, session);
}

static void make_verifier(struct server *server)
{
    struct scram_verifier mock;
    struct secret password CLEANUP(secret_release);
    secret_init(&password);
    secret_init(&server->mock_key);
    must(secret_set(&server->mock_key, SLICE("of the gateway")) == ERR_NONE);
    must(secret_set(&password, PASSWORD) == ERR_NONE);
    scram_verifier_mock(&server->mock_key, NAME, &mock);
    scram_verifier_derive(&password, slice_of(mock.salt, mock.salt_size), mock.iterations,
                          &server->verifier);
    server->config.mock_key = &server->mock_key;
    server->config.authentication_ms = LIMIT_FRONT_AUTHENTICATION_MS;
}

int main(int argument_count, char **arguments)
{
    static struct server server;
    struct error error = {0};
    uint64_t port = 0;
    sigset_t signals;
    int fd = -1;
    struct tls_server *tls = NULL;
    must(argument_count >= 4 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    log_start(STDERR_FILENO, LOG_FORMAT_TEXT);
    must(text_parse_u64(slice_of_text(arguments[1]), &port) == ERR_NONE);
    must(text_parse_u64(slice_of_text(arguments[2]), &server.row_limit) == ERR_NONE);
    server.port = (uint16_t)port;
    server.holds = strcmp(arguments[3], "held") == 0;
    if ((argument_count > 5 && tls_server_new(arguments[4], arguments[5], SLICE("postgresql"), &tls,
                                              &error) != ERR_NONE) ||
        listener_open_sockets(SLICE("127.0.0.1:0"), 1, &fd, &error) != ERR_NONE) {
        (void)fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    make_verifier(&server);
    if (tls != NULL) {
        front_config_set_tls(&server.config, tls);
    }
    (void)printf("port %u\n", listener_port(fd));
    (void)fflush(stdout);
    server.worker = worker_new(0, NULL);
    (void)listener_new(worker_loop(server.worker), fd, on_accept, &server);
    must(worker_start(server.worker) == ERR_NONE);
    int number = 0;
    (void)sigwait(&signals, &number);
    _exit(0); /* its connections end with it */
}
