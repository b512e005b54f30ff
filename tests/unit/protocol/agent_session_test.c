/* SPDX-License-Identifier: MIT */
/* The agent's part of a session, asked over a real link by the gateway's part, before a server that
 * is a script. Whatever ends first, nothing of it stays: loops are freed, and say so if not. */
#include "protocol/agent_session.h"

#include "base/must.h"
#include "codec/base64.h"
#include "link_help.h"
#include "protocol/agent_open.h"
#include "protocol/postgres/postgres.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

struct stage {
    struct worker *worker;
    struct agent_place place;
    struct pair *pair;
    int listening;
    int server;
    struct arena arena;
    struct agent_kinds kinds;
    struct agent_request order;
    unsigned done_count;
    unsigned stopped_count;
    struct stream *session;
    char sqlstate[6];
    struct error error;
};

static void serve(void *owner, struct channel *channel, struct slice kind, struct slice message)
{
    struct stage *stage = owner;
    for (size_t i = 0; i < stage->kinds.count; i++) {
        if (slice_equals(stage->kinds.items[i].name, kind)) {
            stage->kinds.items[i].serve(&stage->kinds.items[i], &stage->place, channel, message);
        }
    }
}

static void on_done(void *owner, const struct arrival *ready, const struct target_failure *failure)
{
    struct stage *stage = owner;
    stage->done_count++;
    if (ready != NULL) {
        stage->session = ready->take_stream;
        assert_true(slice_equals(ready->greeting, SLICE("S\0\0\0\x08"
                                                        "a\0b\0")));
        assert_true(slice_equals(ready->key.secret, SLICE("keys")));
    } else {
        stage->error = failure->error;
        memcpy(stage->sqlstate, failure->code, sizeof(stage->sqlstate));
    }
}

static void on_stopped(void *owner, const struct error *error)
{
    struct stage *stage = owner;
    stage->stopped_count++;
    stage->error = error == NULL ? (struct error){.code = ERR_NONE} : *error;
}

static void stage_variable(struct stage *stage, const char *key, const char *value)
{
    struct shape_pair *pair = &stage->order.variables.pairs[stage->order.variables.count++];
    pair->key = slice_of_text(key);
    pair->value = base64_encode_in(&stage->arena, BASE64_STANDARD, slice_of_text(value));
}

static void stage_begin(struct stage *stage)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    *stage = (struct stage){.server = -1, .worker = worker_new(0, NULL)};
    static const struct protocol *const known[] = {&postgres_protocol};
    const struct protocols protocols = {.items = known, .count = COUNT_OF(known)};
    arena_init(&stage->arena);
    stage->kinds = agent_session_kinds_in(&stage->arena, &protocols);
    stage->listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(stage->listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(stage->listening, 8), 0);
    assert_int_equal(getsockname(stage->listening, (struct sockaddr *)&address, &size), 0);
    stage->place = (struct agent_place){.worker = stage->worker,
                                        .resolver = resolver_new(NULL),
                                        .pool = pool_new(1, 4),
                                        .slow_pool = pool_new(1, 4),
                                        .scratch = memory_new(LIMIT_READ_SIZE)};
    worker_enter(stage->worker); /* so that it goes on when the last request leaves */
    stage->pair = pair_new_on(worker_loop(stage->worker));
    stage->pair->serve = serve;
    stage->pair->serve_owner = stage;
    stage->order = (struct agent_request){.version = 3U << 16, .timeout_ms = 20000};
    stage->order.variables.pairs = arena_alloc_array(&stage->arena, 8, sizeof(struct shape_pair));
    stage_variable(stage, "envvar:HOST", "127.0.0.1");
    stage_variable(stage, "envvar:USER", "gate");
    stage_variable(stage, "envvar:SSLMODE", "disable");
    stage_variable(stage, "envvar:PORT",
                   arena_format(&stage->arena, "%u", ntohs(address.sin_port)).at);
}

static void stage_turn(struct stage *stage)
{
    pair_turn(stage->pair, 1);
    (void)sched_yield();
}

/* The condition may consume what it sees. */
#define STAGE_AWAIT(stage, condition)                                                              \
    do {                                                                                           \
        bool is_met = (condition);                                                                 \
        for (unsigned turns = 0; turns < 2000000 && !is_met; turns++) {                            \
            stage_turn(stage);                                                                     \
            is_met = (condition);                                                                  \
        }                                                                                          \
        assert_true(is_met);                                                                       \
    } while (0)

/* All that was begun ends by itself, once both ends of the link are gone. */
static void stage_end(struct stage *stage)
{
    if (stage->session != NULL) {
        stream_close(stage->session);
    }
    pair_free(stage->pair);
    pool_free(stage->place.pool);
    pool_free(stage->place.slow_pool);
    for (int i = 0; i < 20; i++) {
        loop_turn(worker_loop(stage->worker));
    }
    worker_free(stage->worker);
    resolver_free(stage->place.resolver);
    memory_free(stage->place.scratch);
    (void)close(stage->listening);
    if (stage->server >= 0) {
        (void)close(stage->server);
    }
    arena_release(&stage->arena);
}

static struct agent_opening stage_how(const struct stage *stage)
{
    return (struct agent_opening){.loop = stage->pair->loop,
                                  .link = stage->pair->links[LINK_GATEWAY],
                                  .protocol = &postgres_protocol};
}

static struct opening *stage_ask(struct stage *stage)
{
    const struct agent_opening how = stage_how(stage);
    return agent_open_start(&how, &stage->order, on_done, stage);
}

static bool stage_has_guest(struct stage *stage)
{
    if (stage->server < 0) {
        stage->server = accept4(stage->listening, NULL, NULL, SOCK_NONBLOCK);
    }
    return stage->server >= 0;
}

static void stage_say(struct stage *stage, struct slice bytes)
{
    assert_int_equal(write(stage->server, bytes.at, bytes.len), (ssize_t)bytes.len);
}

/* Whether the server has heard this last, or the end. */
static bool stage_heard(struct stage *stage, struct slice wanted)
{
    char bytes[1024];
    ssize_t len = read(stage->server, bytes, sizeof(bytes));
    return len >= 0 && (size_t)len >= wanted.len && (len == 0) == (wanted.len == 0) &&
           slice_equals(slice_of(bytes + (size_t)len - wanted.len, wanted.len), wanted);
}

static void stage_open(struct stage *stage)
{
    (void)stage_ask(stage);
    STAGE_AWAIT(stage, stage_has_guest(stage));
    STAGE_AWAIT(stage, stage_heard(stage, SLICE("user\0gate\0\0")));
    stage_say(stage, SLICE("R\0\0\0\x08\0\0\0\0S\0\0\0\x08"
                           "a\0b\0K\0\0\0\x0c\0\0\0\x07keysZ\0\0\0\x05I"));
    STAGE_AWAIT(stage, stage->done_count == 1);
    assert_non_null(stage->session);
}

static void a_session_is_carried_both_ways(void **state)
{
    (void)state;
    struct stage stage;
    char bytes[64];
    size_t len = 0;
    struct slice question = SLICE("Q\0\0\0\x06?\0");
    stage_begin(&stage);
    stage_open(&stage);
    assert_int_equal(stream_write(stage.session, &question, 1, &len), ERR_NONE);
    STAGE_AWAIT(&stage, stage_heard(&stage, question));
    stage_say(&stage, SLICE("answer"));
    STAGE_AWAIT(&stage, stream_read(stage.session, bytes, sizeof(bytes), &len) == ERR_NONE);
    assert_bytes(slice_of(bytes, len), "answer");
    (void)close(stage.server);
    stage.server = -1;
    STAGE_AWAIT(&stage, stream_read(stage.session, bytes, sizeof(bytes), &len) == ERR_CLOSED);
    stage_end(&stage);
}

static void a_session_that_ends_closes_the_target(void **state)
{
    (void)state;
    struct stage stage;
    stage_begin(&stage);
    stage_open(&stage);
    stream_close(stage.session);
    stage.session = NULL;
    STAGE_AWAIT(&stage, stage_heard(&stage, SLICE("")));
    stage_end(&stage);
}

static void a_link_that_ends_closes_the_target(void **state)
{
    (void)state;
    struct stage stage;
    stage_begin(&stage);
    stage_open(&stage);
    link_close(stage.pair->links[LINK_AGENT]);
    stage.pair->links[LINK_AGENT] = NULL;
    STAGE_AWAIT(&stage, stage_heard(&stage, SLICE("")));
    stage_end(&stage);
}

static void what_the_server_says_against_it_is_told(void **state)
{
    (void)state;
    struct stage stage;
    stage_begin(&stage);
    (void)stage_ask(&stage);
    STAGE_AWAIT(&stage, stage_has_guest(&stage));
    stage_say(&stage, SLICE("E\0\0\0\x19SFATAL\0C3D000\0Mnone\0\0"));
    STAGE_AWAIT(&stage, stage.done_count == 1);
    assert_string_equal(stage.sqlstate, "3D000");
    stage_end(&stage);
}

static void who_asks_no_more_stops_what_was_begun(void **state)
{
    (void)state;
    for (int when = 0; when < 3; when++) {
        struct stage stage;
        stage_begin(&stage);
        struct opening *far = stage_ask(&stage);
        if (when == 1) {
            pair_turn(stage.pair, 6); /* asked, and perhaps looked up */
        } else if (when == 2) {
            STAGE_AWAIT(&stage, stage_has_guest(&stage));
            STAGE_AWAIT(&stage, stage_heard(&stage, SLICE("gate\0\0")));
        }
        opening_cancel(far);
        if (when == 2) {
            STAGE_AWAIT(&stage, stage_heard(&stage, SLICE("")));
        }
        pair_turn(stage.pair, 20);
        assert_int_equal(stage.done_count, 0);
        stage_end(&stage);
    }
}

static void an_order_that_cannot_be_done_is_refused(void **state)
{
    (void)state;
    struct stage stage;
    stage_begin(&stage);
    stage.order.variables.count = 1; /* no user */
    (void)stage_ask(&stage);
    STAGE_AWAIT(&stage, stage.done_count == 1);
    assert_string_equal(stage.sqlstate, "08001");
    assert_non_null(strstr(stage.error.message, "USER"));
    stage_end(&stage);
    stage_begin(&stage);
    const struct agent_opening how = stage_how(&stage);
    (void)agent_stop_start(&how, &stage.order, on_stopped, &stage);
    STAGE_AWAIT(&stage, stage.stopped_count == 1);
    assert_non_null(strstr(stage.error.message, "what is to be cancelled"));
    stage_end(&stage);
}

static void a_query_is_cancelled(void **state)
{
    (void)state;
    struct stage stage;
    for (int is_given_up = 0; is_given_up < 2; is_given_up++) {
        stage_begin(&stage);
        stage.order.key = (struct cancel_key){.number = 7, .secret = SLICE("keys")};
        const struct agent_opening again = stage_how(&stage);
        struct opening *far = agent_stop_start(&again, &stage.order, on_stopped, &stage);
        STAGE_AWAIT(&stage, stage_has_guest(&stage));
        STAGE_AWAIT(&stage, stage_heard(&stage, SLICE("\0\0\0\x07keys")));
        if (is_given_up != 0) {
            opening_cancel(far);
            STAGE_AWAIT(&stage, stage_heard(&stage, SLICE("")));
            assert_int_equal(stage.stopped_count, 0);
        } else {
            (void)close(stage.server);
            stage.server = -1;
            STAGE_AWAIT(&stage, stage.stopped_count == 1);
            assert_int_equal(stage.error.code, ERR_NONE);
        }
        stage_end(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_carried_both_ways),
        cmocka_unit_test(a_session_that_ends_closes_the_target),
        cmocka_unit_test(a_link_that_ends_closes_the_target),
        cmocka_unit_test(what_the_server_says_against_it_is_told),
        cmocka_unit_test(who_asks_no_more_stops_what_was_begun),
        cmocka_unit_test(an_order_that_cannot_be_done_is_refused),
        cmocka_unit_test(a_query_is_cancelled),
    };
    return cmocka_run_group_tests_name("protocol/agent_session", tests, NULL, NULL);
}
