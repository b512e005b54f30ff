/* SPDX-License-Identifier: MIT */
/* What a PostgreSQL server says to a gateway that signs in. The first byte says how the gateway is
 * set up, the second in pieces of which size the rest comes. Held: pieces make no difference, it
 * ends once in one way, its answer is a good ErrorResponse, what it keeps are whole messages, and a
 * password goes out in clear text only where it may. */
#include "base/memory.h"
#include "base/must.h"
#include "fuzz.h"
#include "fuzz_stream.h"
#include "protocol/postgres/pg_target.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"

#include <sched.h>

#define PASSWORD       "a-secret-of-the-gateway"
#define TURN_COUNT_MAX 20000000u

enum flag {
    FLAG_TLS = 1,
    FLAG_REQUIRED = 2,
    FLAG_REMOTE = 4,
    FLAG_BINDS = 8,
    FLAG_NEWER = 16,
    FLAG_BEHIND = 32, /* more comes in one piece with the answer to the request for TLS */
};

struct outcome {
    unsigned count;
    bool is_ready;
    enum err err;
    char sqlstate[6];
    struct buf greeting;
    struct buf left; /* behind ReadyForQuery, wherever it was */
};

static const struct scram_end_point end_point = {.bytes = "the certificate", .size = 32};

static void *wrap(void *context, struct stream *take_stream, pg_tls_done_fn on_done, void *owner)
{
    const uint8_t *flags = context;
    must(!script_of(take_stream)->is_encrypted);
    script_of(take_stream)->is_encrypted = true;
    on_done(owner, take_stream, (*flags & FLAG_BINDS) != 0 ? &end_point : NULL, NULL);
    return NULL;
}

static void check_greeting(struct slice greeting)
{
    struct pgwire_framer framer;
    struct pgwire_event event = {.is_last = true};
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    while (greeting.len > 0) {
        size_t taken = 0;
        must(pgwire_framer_next(&framer, greeting, &taken, &event, NULL) == ERR_NONE);
        greeting = slice_from(greeting, taken);
    }
    must(event.is_last);
}

static void check_answer(const struct target_failure *failure)
{
    struct slice fields;
    struct slice body = slice_from(failure->answer, PGWIRE_HEADER_SIZE);
    must(failure->answer.len > PGWIRE_HEADER_SIZE && failure->error.message[0] != '\0');
    must(pgwire_notice_read(body, &fields, NULL) == ERR_NONE);
    struct slice state = pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE);
    must(slice_equals(state, slice_of_text(failure->code)));
    must(!slice_starts_with(state, SLICE("28")));
    must(slice_find(failure->answer, SLICE(PASSWORD)) == failure->answer.len);
}

static void on_done(void *owner, const struct arrival *ready, const struct target_failure *failure)
{
    struct outcome *outcome = owner;
    outcome->count++;
    outcome->is_ready = ready != NULL;
    if (failure != NULL) {
        check_answer(failure);
        outcome->err = failure->error.code;
        memcpy(outcome->sqlstate, failure->code, sizeof(outcome->sqlstate));
        return;
    }
    check_greeting(ready->greeting);
    must(script_of(ready->take_stream)->watched == 0);
    must(buf_append(&outcome->greeting, ready->greeting) == ERR_NONE);
    must(buf_append(&outcome->left, ready->rest) == ERR_NONE);
    must(buf_append(&outcome->left, script_of(ready->take_stream)->in) == ERR_NONE);
}

struct fuzzed {
    struct worker *worker;
    struct pool *pool;
};

static struct pg_secret *make_secret(const struct fuzzed *fuzzed)
{
    struct secret password;
    secret_init(&password);
    must(secret_set(&password, SLICE(PASSWORD)) == ERR_NONE);
    return pg_secret_new(fuzzed->worker, fuzzed->pool, NULL, &password);
}

static void run(const struct fuzzed *fuzzed, uint8_t flags, struct script *script,
                struct outcome *outcome)
{
    struct loop *loop = worker_loop(fuzzed->worker);
    script->alone = (flags & FLAG_TLS) != 0 && (flags & FLAG_BEHIND) == 0 ? 1 : 0;
    script->stream = (struct stream){.ops = &script_ops, .loop = loop};
    buf_init(&script->out, LIMIT_MIB(1));
    buf_init(&outcome->greeting, LIMIT_MIB(1));
    buf_init(&outcome->left, LIMIT_MIB(4));
    enum place_tls mode = (flags & FLAG_REQUIRED) != 0 ? PLACE_TLS_REQUIRE : PLACE_TLS_PREFER;
    struct pg_target_settings settings = {
        .user = SLICE("gate"),
        .version = PGWIRE_VERSION(3, (flags & FLAG_NEWER) != 0 ? 2 : 0),
        .encryption = {.mode = (flags & FLAG_TLS) != 0 ? mode : PLACE_TLS_DISABLE,
                       .tls = {.wrap = wrap, .context = &flags}},
        .take_secret = make_secret(fuzzed),
        .is_local = (flags & FLAG_REMOTE) == 0,
        .timeout_ms = 3600000,
    };
    (void)pg_target_start(&script->stream, &settings, on_done, outcome);
    for (unsigned i = 0; outcome->count == 0; i++) {
        must(i < TURN_COUNT_MAX);
        if (script->watched != 0) {
            script->stream.on_event(script->stream.owner, script->watched);
            continue;
        }
        loop_turn(loop);
        (void)sched_yield(); /* the pool computes */
    }
    loop_turn(loop);
    loop_turn(loop);
    must(outcome->count == 1 && script->is_closed != outcome->is_ready);
    bool may_be_clear = script->is_encrypted || settings.is_local;
    must(may_be_clear || slice_find(buf_view(&script->out), SLICE(PASSWORD)) == script->out.len);
}

static void release(struct script *script, struct outcome *outcome)
{
    buf_release(&script->out);
    buf_release(&outcome->greeting);
    buf_release(&outcome->left);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct fuzzed fuzzed;
    struct slice input = slice_from(slice_of(bytes, size), 2);
    if (size < 2 || slice_find(input, SLICE(PASSWORD)) < input.len) { /* it may come back */
        return 0;
    }
    if (fuzzed.worker == NULL) {
        fuzzed = (struct fuzzed){.worker = worker_new(0, NULL), .pool = pool_new(1, 8)};
    }
    struct script whole = {.in = input, .piece = SIZE_MAX};
    struct script split = {.in = input, .piece = 1u + bytes[1]};
    struct outcome first = {0};
    struct outcome second = {0};
    run(&fuzzed, bytes[0], &whole, &first);
    run(&fuzzed, bytes[0], &split, &second);
    if ((bytes[0] & FLAG_BEHIND) == 0) {
        must(first.is_ready == second.is_ready && first.err == second.err);
        must(memcmp(first.sqlstate, second.sqlstate, sizeof(first.sqlstate)) == 0);
        must(slice_equals(buf_view(&first.greeting), buf_view(&second.greeting)));
        must(slice_equals(buf_view(&first.left), buf_view(&second.left)));
    }
    release(&whole, &first);
    release(&split, &second);
    return 0;
}
