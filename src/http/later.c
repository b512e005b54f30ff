/* SPDX-License-Identifier: MIT */
#include "http/later.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "http/gzip.h"
#include "http/server_internal.h"

#include <stdatomic.h>

/* Shared with whoever rings it, who may outlast the exchange. */
struct later_bell {
    atomic_uint references;
    atomic_bool is_rung; /* its mail is under way */
    struct mail mail;
    struct worker *worker;
    struct later_run *run; /* the worker's; NULL: nobody waits */
};

struct later_run {
    struct exchange *exchange;
    struct later_bell *bell;
    bool asks_at_once; /* it rang while it was being asked */
    http_later_fn ask;
    void *context;
    uint64_t since_ms; /* by the loop's clock */
    struct timer pause;
    enum err err; /* of the last question */
};

static void later_wait(struct later_run *run);

/* On the worker ------------------------------------------------------------------------------- */

static void later_let_go(struct exchange *exchange)
{
    struct later_run *run = exchange->later;
    timer_stop(&run->pause);
    run->bell->run = NULL;
    later_bell_unref(run->bell);
    exchange->on_gone = NULL;
    exchange->later = NULL;
}

static void later_on_gone(struct exchange *exchange)
{
    if (!exchange->on_pool) {
        later_let_go(exchange);
        exchange_end(exchange);
    }
}

static void later_deliver(struct mail *mail)
{
    struct exchange *exchange = CONTAINER_OF(mail, struct exchange, mail);
    struct later_run *run = exchange->later;
    struct http_worker *http = exchange->worker;
    exchange->on_pool = false;
    http->on_pool_count--;
    if (exchange->conn == NULL) {
        later_let_go(exchange);
        exchange_end(exchange);
    } else if (run->err == ERR_AGAIN) {
        later_wait(run);
    } else {
        later_let_go(exchange);
        exchange_answer(exchange);
    }
    http_worker_check_drained(http);
}

/* On a pool thread. */
static void later_run_next(struct pool_job *job)
{
    struct exchange *exchange = CONTAINER_OF(job, struct exchange, job);
    struct later_run *run = exchange->later;
    struct http_call call = http_call_of(exchange);
    struct error error = {.code = ERR_INTERNAL, .message = "unknown"};
    run->err = run->ask(run->context, &call, &error);
    if (run->err != ERR_NONE && run->err != ERR_AGAIN) {
        error.code = run->err;
        http_call_answer_error(&call, &error);
    }
    if (run->err != ERR_AGAIN) {
        gzip_answer(&exchange->request, &exchange->response);
    }
    exchange->mail.deliver = later_deliver;
    mailbox_send(worker_mailbox(exchange->worker->worker), &exchange->mail);
}

/* A pool with no room is asked again later. */
static void later_on_pause(void *owner)
{
    struct later_run *run = owner;
    struct exchange *exchange = run->exchange;
    struct http_worker *http = exchange->worker;
    run->asks_at_once = false;
    exchange->job.run = later_run_next;
    exchange->on_pool = true;
    http->on_pool_count++;
    if (pool_submit(http->server->pool, &exchange->job) != ERR_NONE) {
        exchange->on_pool = false;
        http->on_pool_count--;
        later_wait(run);
    }
}

/* An eighth of what it has taken so far is the most that an answer comes too late. */
static void later_wait(struct later_run *run)
{
    struct loop *loop = run->exchange->worker->loop;
    uint64_t pause = (loop_now_ms(loop) - run->since_ms) / 8;
    pause = pause < 1 ? 1 : pause;
    if (run->asks_at_once) {
        later_on_pause(run);
        return;
    }
    timer_start(loop, &run->pause, pause < LIMIT_HTTP_LATER_MS ? pause : LIMIT_HTTP_LATER_MS);
}

void http_later_start(struct exchange *exchange)
{
    struct later_run *run = exchange->later;
    exchange->on_gone = later_on_gone;
    exchange_drop_body(exchange); /* the handler has read it */
    run->since_ms = loop_now_ms(exchange->worker->loop);
    later_wait(run);
}

void http_later_drop(struct exchange *exchange)
{
    if (exchange->later != NULL) {
        later_let_go(exchange);
    }
}

/* The bell ------------------------------------------------------------------------------------ */

void later_bell_unref(struct later_bell *bell)
{
    if (bell != NULL && atomic_fetch_sub(&bell->references, 1) == 1) {
        memory_free(bell);
    }
}

static void later_on_bell(struct mail *mail)
{
    struct later_bell *bell = CONTAINER_OF(mail, struct later_bell, mail);
    struct later_run *run = bell->run;
    atomic_store(&bell->is_rung, false);
    if (run != NULL && run->exchange->on_pool) {
        run->asks_at_once = true;
    } else if (run != NULL) {
        timer_stop(&run->pause);
        later_on_pause(run);
    }
    later_bell_unref(bell);
}

void later_bell_ring(struct later_bell *bell)
{
    if (!atomic_exchange(&bell->is_rung, true)) {
        atomic_fetch_add(&bell->references, 1);
        mailbox_send(worker_mailbox(bell->worker), &bell->mail);
    }
}

/* On the handler's thread --------------------------------------------------------------------- */

static struct later_bell *later_bell_new(struct later_run *run)
{
    struct later_bell *bell = memory_new(sizeof(*bell));
    atomic_init(&bell->references, 2);
    atomic_init(&bell->is_rung, false);
    bell->worker = run->exchange->worker->worker;
    bell->mail.deliver = later_on_bell;
    bell->run = run;
    return bell;
}

struct later_bell *http_call_later(struct http_call *call, http_later_fn ask, void *context)
{
    struct later_run *run = arena_alloc(call->arena, sizeof(*run));
    must(call->exchange->later == NULL);
    run->exchange = call->exchange;
    run->ask = ask;
    run->context = context;
    timer_init(&run->pause, later_on_pause, run);
    run->bell = later_bell_new(run);
    call->exchange->later = run;
    return run->bell;
}
