/* SPDX-License-Identifier: MIT */
/* Calls on threads that wait, at a server by script on a thread of its own: what each failure is
 * called, what those may read who do not know where the target is, and that a stop ends them. */
#include "gate/target_call.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "protocol/postgres/postgres.h"
#include "wire/pgwire_answer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TRUSTED                                                                                    \
    "R\0\0\0\x08\0\0\0\0"                                                                          \
    "K\0\0\0\x0c\0\0\0\7abcd"                                                                      \
    "Z\0\0\0\5I"
#define ROWS                                                                                       \
    "1\0\0\0\4"                                                                                    \
    "2\0\0\0\4"                                                                                    \
    "D\0\0\0\x0b\0\1\0\0\0\1x"                                                                     \
    "C\0\0\0\x0dSELECT 1\0"                                                                        \
    "Z\0\0\0\5I"
#define REFUSAL                                                                                    \
    "E\0\0\0\x1cSERROR\0C42501\0Mnot you\0\0"                                                      \
    "Z\0\0\0\5I"

/* What it says to each connection, one after the other. */
struct server {
    int listening;
    uint16_t port;
    pthread_t thread;
    struct slice start;      /* to the startup packet; at == NULL: nothing */
    struct slice answer;     /* to the statement; likewise */
    atomic_uint heard_count; /* messages of clients, by reads */
};

struct scene {
    struct server server;
    struct worker *worker;
    struct pool *pool;
    struct resolver *resolver;
    struct target_calls *calls;
    struct arena arena;
    struct shape_pair pairs[8];
    struct shape_pairs variables;
    bool is_drained;
};

/* True: it said something. */
static bool server_hears(struct server *server, int fd)
{
    char bytes[4096];
    ssize_t len = read(fd, bytes, sizeof(bytes));
    (void)atomic_fetch_add(&server->heard_count, 1);
    return len > 0;
}

static void server_says(int fd, struct slice bytes)
{
    if (bytes.at != NULL) {
        must(write(fd, bytes.at, bytes.len) == (ssize_t)bytes.len);
    }
}

/* Ends when the listening socket is shut. */
static void *server_run(void *argument)
{
    struct server *server = argument;
    int fd = accept(server->listening, NULL, NULL);
    while (fd >= 0) {
        if (server_hears(server, fd)) {
            server_says(fd, server->start);
        }
        if (server->start.at != NULL && server_hears(server, fd)) {
            server_says(fd, server->answer);
        }
        while (server_hears(server, fd)) {
        }
        (void)close(fd);
        fd = accept(server->listening, NULL, NULL);
    }
    return NULL;
}

static void variable(struct scene *scene, const char *key, const char *value)
{
    struct shape_pair *pair = &scene->pairs[scene->variables.count++];
    pair->key = slice_of_text(key);
    pair->value = base64_encode_in(&scene->arena, BASE64_STANDARD, slice_of_text(value));
}

static void begin(struct scene *scene, struct slice start, struct slice answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    (void)signal(SIGPIPE, SIG_IGN);
    *scene = (struct scene){.server = {.start = start, .answer = answer},
                            .worker = worker_new(0, NULL),
                            .pool = pool_new(1, 8),
                            .resolver = resolver_new(NULL)};
    arena_init(&scene->arena);
    scene->server.listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(scene->server.listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(scene->server.listening, 8), 0);
    assert_int_equal(getsockname(scene->server.listening, (struct sockaddr *)&address, &size), 0);
    scene->server.port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&scene->server.thread, NULL, server_run, &scene->server), 0);
    scene->variables.pairs = scene->pairs;
    variable(scene, "envvar:HOST", "127.0.0.1");
    variable(scene, "envvar:PORT", arena_format(&scene->arena, "%u", scene->server.port).at);
    variable(scene, "envvar:USER", "gate");
    variable(scene, "envvar:SSLMODE", "disable");
    scene->calls = target_calls_new(scene->pool, scene->resolver, NULL, NULL);
    target_calls_enter(scene->calls, scene->worker);
    assert_int_equal(worker_start(scene->worker), ERR_NONE);
}

static void drain(struct scene *scene, uint64_t deadline_ms)
{
    if (!scene->is_drained) {
        scene->is_drained = true;
        target_calls_drain(scene->calls, deadline_ms);
    }
}

static void finish(struct scene *scene)
{
    drain(scene, 0);
    worker_join(scene->worker);
    target_calls_free(scene->calls);
    pool_free(scene->pool);
    worker_free(scene->worker);
    resolver_free(scene->resolver);
    (void)shutdown(scene->server.listening, SHUT_RDWR); /* wakes it */
    assert_int_equal(pthread_join(scene->server.thread, NULL), 0);
    (void)close(scene->server.listening);
    arena_release(&scene->arena);
}

static enum err call_with(struct scene *scene, const struct shape_pairs *variables,
                          struct target_answer *ret_answer, struct error *reterr)
{
    const struct target_request request = {
        .variables = variables,
        .database = SLICE(""),
        .protocol = &postgres_protocol,
        .text = "SELECT $1",
        .values = &(const struct slice){"x", 1},
        .value_count = 1,
        .column_count = 1,
        .row_count_max = 1,
    };
    return target_call_run(scene->calls, &scene->arena, &request, ret_answer, reterr);
}

static enum err call(struct scene *scene, struct target_answer *ret_answer, struct error *reterr)
{
    return call_with(scene, &scene->variables, ret_answer, reterr);
}

static void rows_come_back(void **state)
{
    (void)state;
    struct scene scene;
    struct target_answer answer;
    struct error error = {0};
    begin(&scene, SLICE(TRUSTED), SLICE(ROWS));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(call(&scene, &answer, &error), ERR_NONE);
        assert_int_equal(answer.problem, TARGET_PROBLEM_NONE);
        assert_int_equal(answer.rows.count, 1);
        assert_true(slice_equals(answer.rows.first->values[0], SLICE("x")));
        assert_true(answer.latency_us > 0 && !answer.is_encrypted);
    }
    finish(&scene);
}

static void each_problem_has_its_name(void **state)
{
    (void)state;
    static const struct {
        struct slice start;
        struct slice answer;
        enum target_problem problem;
        const char *sqlstate;
    } cases[] = {
        {.start = SLICE_INIT(TRUSTED),
         .answer = SLICE_INIT(REFUSAL),
         .problem = TARGET_PROBLEM_QUERY,
         .sqlstate = "42501"},
        {.start = SLICE_INIT("E\0\0\0\x1cSFATAL\0C3D000\0Mno such\0\0"),
         .problem = TARGET_PROBLEM_DATABASE,
         .sqlstate = "3D000"},
        {.start = SLICE_INIT("E\0\0\0\x1cSFATAL\0C28P01\0Mnot you\0\0"),
         .problem = TARGET_PROBLEM_CREDENTIALS},
        {.start = SLICE_INIT("E\0\0\0\x1cSFATAL\0C53300\0Mnot now\0\0"),
         .problem = TARGET_PROBLEM_SERVER,
         .sqlstate = "53300"},
        {.start = SLICE_INIT("HTTP/1.1 400 Bad Request\r\n\r\n"), .problem = TARGET_PROBLEM_SERVER},
        {.start = SLICE_INIT("R\0\0\0\x08\0\0\0\7"), .problem = TARGET_PROBLEM_CREDENTIALS},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct scene scene;
        struct target_answer answer;
        struct error error = {0};
        begin(&scene, cases[i].start, cases[i].answer);
        assert_int_not_equal(call(&scene, &answer, &error), ERR_NONE);
        assert_int_equal(answer.problem, cases[i].problem);
        assert_true(answer.shown.len > 0 && error.message[0] != '\0');
        assert_true(slice_find(answer.shown, SLICE("127.0.0.1")) == answer.shown.len);
        if (cases[i].sqlstate != NULL) {
            assert_string_equal(answer.code, cases[i].sqlstate);
        }
        finish(&scene);
    }
}

static void nobody_there_is_the_network(void **state)
{
    (void)state;
    struct scene scene;
    struct target_answer answer;
    struct error error = {0};
    begin(&scene, SLICE_NONE, SLICE_NONE);
    scene.pairs[1].value = base64_encode_in(&scene.arena, BASE64_STANDARD, SLICE("1"));
    assert_int_not_equal(call(&scene, &answer, &error), ERR_NONE);
    assert_int_equal(answer.problem, TARGET_PROBLEM_NETWORK);
    assert_true(slice_find(answer.shown, SLICE("127.0.0.1")) == answer.shown.len);
    finish(&scene);
}

static void bad_variables_are_the_configuration(void **state)
{
    (void)state;
    struct scene scene;
    struct target_answer answer;
    struct error error = {0};
    begin(&scene, SLICE_NONE, SLICE_NONE);
    scene.pairs[1].value = base64_encode_in(&scene.arena, BASE64_STANDARD, SLICE("no port"));
    assert_int_equal(call(&scene, &answer, &error), ERR_INPUT);
    assert_int_equal(answer.problem, TARGET_PROBLEM_CONFIGURATION);
    scene.pairs[1].value =
        base64_encode_in(&scene.arena, BASE64_STANDARD, SLICE("_envjson:NOT_THERE:key"));
    assert_int_not_equal(call(&scene, &answer, &error), ERR_NONE);
    assert_int_equal(answer.problem, TARGET_PROBLEM_SECRETS);
    assert_true(slice_find(answer.shown, SLICE("NOT_THERE")) == answer.shown.len);
    assert_int_equal(atomic_load(&scene.server.heard_count), 0);
    finish(&scene);
}

/* Calls on threads ----------------------------------------------------------------------------- */

struct caller {
    struct scene *scene;
    pthread_t thread;
    struct arena arena;
    struct target_answer answer;
    struct error error;
    enum err err;
};

static void *caller_run(void *argument)
{
    struct caller *caller = argument;
    const struct target_request request = {.variables = &caller->scene->variables,
                                           .database = SLICE(""),
                                           .protocol = &postgres_protocol,
                                           .text = "SELECT 1",
                                           .column_count = 1,
                                           .row_count_max = 1};
    caller->err = target_call_run(caller->scene->calls, &caller->arena, &request, &caller->answer,
                                  &caller->error);
    return NULL;
}

static void caller_start(struct caller *caller, struct scene *scene)
{
    *caller = (struct caller){.scene = scene};
    arena_init(&caller->arena);
    assert_int_equal(pthread_create(&caller->thread, NULL, caller_run, caller), 0);
}

static void caller_end(struct caller *caller)
{
    assert_int_equal(pthread_join(caller->thread, NULL), 0);
    arena_release(&caller->arena);
}

static void a_stop_ends_what_waits_and_begins_nothing(void **state)
{
    (void)state;
    struct scene scene;
    struct caller caller;
    struct target_answer answer;
    struct error error = {0};
    begin(&scene, SLICE(TRUSTED), SLICE_NONE); /* the statement is never answered */
    caller_start(&caller, &scene);
    while (atomic_load(&scene.server.heard_count) < 2) {
        (void)poll(NULL, 0, 1);
    }
    drain(&scene, 100);
    caller_end(&caller);
    assert_int_equal(caller.err, ERR_UNAVAILABLE);
    assert_int_equal(caller.answer.problem, TARGET_PROBLEM_NONE);
    assert_int_equal(call(&scene, &answer, &error), ERR_UNAVAILABLE);
    assert_int_equal(answer.problem, TARGET_PROBLEM_NONE);
    finish(&scene);
}

static void only_so_many_at_once(void **state)
{
    (void)state;
    struct scene scene;
    struct caller callers[LIMIT_TARGET_CALLS];
    struct target_answer answer;
    struct error error = {0};
    begin(&scene, SLICE_NONE, SLICE_NONE); /* it listens and says nothing */
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        caller_start(&callers[i], &scene);
    }
    enum err err = ERR_NONE;
    for (unsigned i = 0; i < 200 && err != ERR_BUSY; i++) { /* until all have their place */
        (void)poll(NULL, 0, 10);
        const struct shape_pairs none = {.count = 0}; /* it ends at once where there is a place */
        err = call_with(&scene, &none, &answer, &error);
    }
    assert_int_equal(err, ERR_BUSY);
    drain(&scene, 0);
    for (size_t i = 0; i < COUNT_OF(callers); i++) {
        caller_end(&callers[i]);
        assert_true(callers[i].err == ERR_UNAVAILABLE || callers[i].err == ERR_BUSY);
    }
    finish(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_back),
        cmocka_unit_test(each_problem_has_its_name),
        cmocka_unit_test(nobody_there_is_the_network),
        cmocka_unit_test(bad_variables_are_the_configuration),
        cmocka_unit_test(a_stop_ends_what_waits_and_begins_nothing),
        cmocka_unit_test(only_so_many_at_once),
    };
    return cmocka_run_group_tests_name("gate/target_call", tests, NULL, NULL);
}
