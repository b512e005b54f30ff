/* SPDX-License-Identifier: MIT */
/* The client's side of TCP: what it sends decides, and its owner is told from the loop alone. */
#include "protocol/tcp/tcp.h"

#include "base/memory.h"
#include "base/must.h"
#include "identity/native_credential.h"
#include "io/socket_stream.h"
#include "tls_help.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define TURNS 200

enum owner_way {
    ANSWERS_AT_ONCE, /* inside on_name */
    ANSWERS_LATER,
    REFUSES_AT_ONCE, /* right behind its answer */
    LEAVES_AT_ONCE,
};

struct stage {
    struct tls_server *tls;
    struct loop *loop;
    struct front *front; /* NULL once it is gone */
    struct stream *taken;
    SSL *client;
    int client_fd;
    enum owner_way way;
    bool is_calling; /* the owner is inside of a call of its own */
    unsigned name_count;
    unsigned known_count;
    unsigned refused_count;
    unsigned closed_count;
    size_t index;
};

static void stage_answer(struct stage *stage)
{
    char hashes[2][NATIVE_HASH_SIZE];
    native_credential_hash(SLICE("another secret"), hashes[0]);
    native_credential_hash(SLICE("the-secret"), hashes[1]);
    const struct slice kept[] = {slice_of(hashes[0], NATIVE_HASH_SIZE),
                                 slice_of(hashes[1], NATIVE_HASH_SIZE)};
    const struct front_verifiers verifiers = {.hashes = kept, .count = 2};
    stage->is_calling = true;
    stage->front->ops->answer(stage->front, &verifiers);
    if (stage->way == REFUSES_AT_ONCE) {
        const struct ending_words words = {.message = SLICE("not now"), .hint = SLICE("")};
        stage->front->ops->refuse(stage->front, &words);
    } else if (stage->way == LEAVES_AT_ONCE) {
        stage->front->ops->close(stage->front);
        stage->front = NULL;
    }
    stage->is_calling = false;
}

static void on_name(void *owner, struct slice name)
{
    struct stage *stage = owner;
    assert_true(slice_equals(name, SLICE("wanted")));
    assert_false(stage->is_calling);
    stage->name_count++;
    if (stage->way != ANSWERS_LATER) {
        stage_answer(stage);
    }
}

static void on_refused(void *owner, struct slice name)
{
    struct stage *stage = owner;
    assert_true(slice_equals(name, SLICE("wanted")));
    assert_false(stage->is_calling);
    stage->refused_count++;
}

static void on_known(void *owner, size_t index)
{
    struct stage *stage = owner;
    const struct arrival arrival = {.state = '\0'};
    const struct cancel_key key = {.number = 0, .secret = SLICE("")};
    assert_false(stage->is_calling);
    stage->known_count++;
    stage->index = index;
    stage->is_calling = true;
    assert_int_equal(stage->front->ops->open(stage->front, &arrival, &key), ERR_NONE);
    stage->is_calling = false;
}

static void on_open(void *owner, struct stream *take_stream, struct slice behind)
{
    struct stage *stage = owner;
    assert_true(!stage->is_calling && slice_equals(behind, SLICE("for the target")));
    stage->taken = take_stream;
    stage->front = NULL;
}

static void on_cancel(void *owner, const struct cancel_key *key)
{
    (void)owner;
    (void)key;
    fail();
}

static void on_closed(void *owner, const struct error *reason)
{
    struct stage *stage = owner;
    (void)reason;
    assert_false(stage->is_calling);
    stage->closed_count++;
    stage->front = NULL;
}

static const struct front_events events = {
    .on_name = on_name,
    .on_refused = on_refused,
    .on_known = on_known,
    .on_open = on_open,
    .on_cancel = on_cancel,
    .on_closed = on_closed,
};

static void stage_start(struct stage *stage, enum owner_way way)
{
    int fds[2];
    struct tls_server *tls = stage->tls;
    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    *stage = (struct stage){.tls = tls, .loop = loop_new(NULL), .way = way, .client_fd = fds[1]};
    const struct front_config config = {.tls = tls, .authentication_ms = 60000};
    stage->front =
        tcp_front_ops.start(socket_stream_new(stage->loop, fds[0]), &config, &events, stage);
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    stage->client = SSL_new(context);
    SSL_CTX_free(context);
    must(SSL_set_fd(stage->client, fds[1]) == 1);
    for (int i = 0; i < TURNS && SSL_connect(stage->client) != 1; i++) {
        loop_turn(stage->loop);
    }
}

static void stage_end(struct stage *stage)
{
    if (stage->front != NULL) {
        stage->front->ops->close(stage->front);
    }
    if (stage->taken != NULL) {
        stream_close(stage->taken);
    }
    loop_turn(stage->loop);
    SSL_free(stage->client);
    (void)close(stage->client_fd);
    loop_free(stage->loop);
}

/* What the client is told, or nothing. */
static void stage_say(struct stage *stage, const char *line, const char *expected)
{
    char said[128] = "";
    assert_int_equal(SSL_write(stage->client, line, (int)strlen(line)), strlen(line));
    for (int i = 0; i < TURNS; i++) {
        loop_turn(stage->loop);
        if (stage->way == ANSWERS_LATER && stage->name_count == 1 && i == TURNS / 2) {
            stage_answer(stage);
        }
        if (said[0] == '\0') {
            (void)SSL_read(stage->client, said, sizeof(said) - 1);
        }
    }
    assert_string_equal(said, expected);
}

static int set_up(void **state)
{
    struct stage *stage = memory_new(sizeof(*stage));
    stage->tls = tls_server_make("gateway.test", SLICE_NONE);
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;
    tls_server_unref(stage->tls);
    memory_free(stage);
    return 0;
}

#define RIGHT "GATEHOUSE the-secret wanted\nfor the target"
#define WRONG "GATEHOUSE guessed wanted\n"

static void who_knows_the_secret_comes_in(void **state)
{
    struct stage *stage = *state;
    for (int way = ANSWERS_AT_ONCE; way <= ANSWERS_LATER; way++) {
        stage_start(stage, (enum owner_way)way);
        stage_say(stage, RIGHT, TCP_OK);
        assert_int_equal(stage->known_count, 1);
        assert_int_equal(stage->index, 1);
        assert_true(stage->taken != NULL && stage->refused_count == 0);
        stage_end(stage);
    }
}

static void who_does_not_is_refused_once(void **state)
{
    struct stage *stage = *state;
    for (int way = ANSWERS_AT_ONCE; way <= ANSWERS_LATER; way++) {
        stage_start(stage, (enum owner_way)way);
        stage_say(stage, WRONG, TCP_ERROR "the connection or the secret is wrong\n");
        assert_int_equal(stage->refused_count, 1);
        assert_int_equal(stage->known_count, 0);
        stage_end(stage);
    }
}

/* What the owner does right behind its answer counts. */
static void an_owner_that_changes_its_mind_is_not_called(void **state)
{
    struct stage *stage = *state;
    stage_start(stage, REFUSES_AT_ONCE);
    stage_say(stage, RIGHT, TCP_ERROR "not now\n");
    assert_int_equal(stage->known_count, 0);
    stage_end(stage);
    stage_start(stage, LEAVES_AT_ONCE);
    stage_say(stage, RIGHT, "");
    assert_int_equal(stage->known_count + stage->closed_count, 0);
    stage_end(stage);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_knows_the_secret_comes_in),
        TEST(who_does_not_is_refused_once),
        TEST(an_owner_that_changes_its_mind_is_not_called),
    };
    (void)signal(SIGPIPE, SIG_IGN); /* the client writes to a front that left */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
