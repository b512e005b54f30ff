/* SPDX-License-Identifier: MIT */
/* Signs in to a PostgreSQL server on this machine as the gateway would, for
 * tests/e2e/test_pg_target.py. The password comes on standard input; what came of it goes to
 * standard output, a JSON object in a line. Then it sends the query, counts what is answered on the
 * stream that was handed over, and prints that, too.
 *
 * pg_target_probe PORT USER DATABASE QUERY [remote|cancel] ('-': no query; remote: as if there were
 * a network in between; cancel: what the query does, a little later) */
#include "base/must.h"
#include "base/text.h"
#include "codec/json_writer.h"
#include "io/socket_stream.h"
#include "io/timer.h"
#include "protocol/postgres/pg_cancel.h"
#include "protocol/postgres/pg_target.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"
#include "wire/pgwire_query.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT_MS      20000
#define CANCEL_AFTER_MS 300

struct probe {
    struct worker *worker;
    struct pool *pool;
    uint16_t port;
    struct slice query; /* at == NULL: none */
    bool cancels;
    bool is_cancelled;
    struct stream *stream;
    struct timer cancel_timer;
    struct pgwire_framer framer;
    struct buf body;
    struct buf key;
    uint32_t process;
    int64_t row_bytes;
    int64_t row_count;
    char sqlstate[6]; /* of the last error */
    bool is_over;
    char bytes[65536];
};

static struct stream *connect_to(const struct probe *probe)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(probe->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0);
    must(connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0);
    must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return socket_stream_new(worker_loop(probe->worker), fd);
}

static void print(const struct json_writer *json)
{
    must(json_writer_done(json) == ERR_NONE);
    (void)printf("%.*s\n", SLICE_ARG(buf_view(json->buf)));
    (void)fflush(stdout);
}

/* The query ----------------------------------------------------------------------------------- */

/* The answer to the query and the end of the request to cancel it come in any order. */
static void finish(struct probe *probe)
{
    if (!probe->is_over) {
        return;
    }
    if (probe->cancels && !probe->is_cancelled) {
        stream_watch(probe->stream, 0);
        return;
    }
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(4));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_int(&json, "row_bytes", probe->row_bytes);
    json_member_int(&json, "rows", probe->row_count);
    json_member_text(&json, "sqlstate", slice_of_text(probe->sqlstate));
    json_member_bool(&json, "cancelled", probe->is_cancelled);
    json_end_object(&json);
    print(&json);
    buf_release(&buf);
    stream_close(probe->stream);
    timer_stop(&probe->cancel_timer);
    worker_stop(probe->worker);
}

static void take_body(struct probe *probe, struct slice body)
{
    struct slice fields;
    must(pgwire_notice_read(body, &fields, NULL) == ERR_NONE);
    struct slice state = pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE);
    must(state.len == sizeof(probe->sqlstate) - 1);
    memcpy(probe->sqlstate, state.at, state.len);
    buf_clear(&probe->body);
}

static void take(struct probe *probe, struct slice input)
{
    while (!probe->is_over) {
        struct pgwire_event event;
        size_t taken = 0;
        enum err err = pgwire_framer_next(&probe->framer, input, &taken, &event, NULL);
        if (err == ERR_MORE) {
            return;
        }
        must(err == ERR_NONE);
        input = slice_from(input, taken);
        char type = probe->framer.frame.type;
        if (event.kind == PGWIRE_EVENT_BODY) {
            take_body(probe, event.bytes);
        } else if (event.kind == PGWIRE_EVENT_PART) {
            probe->row_bytes += type == PGWIRE_SERVER_DATA_ROW ? (int64_t)event.bytes.len : 0;
            probe->is_over = type == PGWIRE_SERVER_READY;
        } else if (type == PGWIRE_SERVER_ERROR) {
            must(pgwire_framer_collect(&probe->framer, &probe->body, NULL) == ERR_NONE);
        } else {
            probe->row_count += type == PGWIRE_SERVER_DATA_ROW;
        }
    }
    finish(probe);
}

static void on_event(void *owner, unsigned events)
{
    struct probe *probe = owner;
    size_t len = 0;
    (void)events;
    enum err err = stream_read(probe->stream, probe->bytes, sizeof(probe->bytes), &len);
    if (err != ERR_AGAIN) {
        must(err == ERR_NONE);
        take(probe, slice_of(probe->bytes, len));
    }
}

static void on_cancelled(void *owner, const struct error *error)
{
    struct probe *probe = owner;
    must(error == NULL);
    probe->is_cancelled = true;
    finish(probe);
}

static void on_cancel_time(void *owner)
{
    struct probe *probe = owner;
    struct pg_cancel_settings settings = {
        .key = {.number = probe->process, .secret = buf_view(&probe->key)},
        .timeout_ms = TIMEOUT_MS,
    };
    (void)pg_cancel_start(connect_to(probe), &settings, on_cancelled, probe);
}

static void ask(struct probe *probe)
{
    struct buf buf;
    size_t len = 0;
    buf_init(&buf, LIMIT_KIB(64));
    must(pgwire_query_write(&buf, probe->query) == ERR_NONE);
    struct slice bytes = buf_view(&buf);
    must(stream_write(probe->stream, &bytes, 1, &len) == ERR_NONE && len == bytes.len);
    buf_release(&buf);
    pgwire_framer_init(&probe->framer, PGWIRE_FROM_SERVER);
    stream_own(probe->stream, on_event, probe);
    stream_watch(probe->stream, STREAM_READABLE);
    if (probe->cancels) {
        timer_start(worker_loop(probe->worker), &probe->cancel_timer, CANCEL_AFTER_MS);
    }
}

/* Signing in ---------------------------------------------------------------------------------- */

static void print_failure(const struct target_failure *failure)
{
    struct buf buf;
    struct slice fields = slice_from(failure->answer, PGWIRE_HEADER_SIZE);
    buf_init(&buf, LIMIT_KIB(64));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "error", slice_of_text(failure->error.message));
    json_member_text(&json, "sqlstate", slice_of_text(failure->code));
    json_member_text(&json, "message", pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE));
    json_end_object(&json);
    print(&json);
    buf_release(&buf);
}

static void write_parameters(struct json_writer *json, struct slice greeting)
{
    struct pgwire_framer framer;
    struct pgwire_event event;
    size_t taken = 0;
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    while (pgwire_framer_next(&framer, greeting, &taken, &event, NULL) == ERR_NONE) {
        struct pgwire_parameter parameter;
        greeting = slice_from(greeting, taken);
        if (event.kind == PGWIRE_EVENT_PART &&
            framer.frame.type == PGWIRE_SERVER_PARAMETER_STATUS) {
            must(pgwire_parameter_status_read(event.bytes, &parameter, NULL) == ERR_NONE);
            json_key_text(json, parameter.name);
            json_text(json, parameter.value);
        }
    }
}

static void print_ready(const struct arrival *ready)
{
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(256));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_object(&json, "parameters");
    write_parameters(&json, ready->greeting);
    json_end_object(&json);
    json_member_int(&json, "key_size", (int64_t)ready->key.secret.len);
    json_member_text(&json, "transaction", slice_of(&ready->state, 1));
    json_member_int(&json, "rest", (int64_t)ready->rest.len);
    json_end_object(&json);
    print(&json);
    buf_release(&buf);
}

static void on_done(void *owner, const struct arrival *ready, const struct target_failure *failure)
{
    struct probe *probe = owner;
    if (failure != NULL) {
        print_failure(failure);
        worker_stop(probe->worker);
        return;
    }
    print_ready(ready);
    probe->stream = ready->take_stream;
    probe->process = ready->key.number;
    must(buf_append(&probe->key, ready->key.secret) == ERR_NONE);
    if (probe->query.at != NULL) {
        ask(probe);
        return;
    }
    stream_close(probe->stream);
    worker_stop(probe->worker);
}

static void read_password(struct secret *password)
{
    char text[4096];
    ssize_t len = read(STDIN_FILENO, text, sizeof(text));
    must(len >= 0);
    secret_init(password);
    must(secret_set(password, slice_of(text, (size_t)len)) == ERR_NONE);
}

static void start(struct probe *probe, char **arguments, bool is_local)
{
    static const struct pgwire_parameter parameters[] = {
        {SLICE_INIT("application_name"), SLICE_INIT("probe")},
        {SLICE_INIT("client_encoding"), SLICE_INIT("UTF8")},
        {SLICE_INIT("options"), SLICE_INIT("-c search_path=elsewhere")},
        {SLICE_INIT("DateStyle"), SLICE_INIT("SQL, DMY")},
        {SLICE_INIT("replication"), SLICE_INIT("false")},
    };
    struct secret password;
    read_password(&password);
    struct pg_target_settings settings = {
        .user = slice_of_text(arguments[2]),
        .database = slice_of_text(arguments[3]),
        .parameters = parameters,
        .parameter_count = COUNT_OF(parameters),
        .version = PGWIRE_VERSION(3, 0),
        .take_secret = pg_secret_new(probe->worker, probe->pool, NULL, &password),
        .is_local = is_local,
        .timeout_ms = TIMEOUT_MS,
    };
    (void)pg_target_start(connect_to(probe), &settings, on_done, probe);
}

int main(int argument_count, char **arguments)
{
    static struct probe probe;
    uint64_t port = 0;
    must(argument_count >= 5 && signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    must(text_parse_u64(slice_of_text(arguments[1]), &port) == ERR_NONE);
    const char *wish = argument_count > 5 ? arguments[5] : "";
    probe.port = (uint16_t)port;
    probe.worker = worker_new(0, NULL);
    probe.pool = pool_new(1, 8);
    probe.query = strcmp(arguments[4], "-") == 0 ? SLICE_NONE : slice_of_text(arguments[4]);
    probe.cancels = strcmp(wish, "cancel") == 0;
    buf_init(&probe.body, LIMIT_KIB(64));
    buf_init(&probe.key, LIMIT_CANCEL_KEY_SIZE);
    timer_init(&probe.cancel_timer, on_cancel_time, &probe);
    start(&probe, arguments, strcmp(wish, "remote") != 0);
    loop_run(worker_loop(probe.worker));
    buf_release(&probe.key);
    pool_free(probe.pool);
    worker_free(probe.worker);
    return 0;
}
