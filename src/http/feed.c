/* SPDX-License-Identifier: MIT */
#include "http/feed.h"

#include "base/limits.h"
#include "base/must.h"
#include "http/server_internal.h"
#include "io/log.h"

struct feed_run {
    struct exchange *exchange;
    struct http_feed feed;
    struct buf out;
    struct timer pause;
    enum err err; /* of the last question */
    struct error error;
};

static void feed_ask(struct feed_run *run);

/* On the worker ------------------------------------------------------------------------------- */

static void feed_let_go(struct exchange *exchange)
{
    exchange->on_sent = NULL;
    exchange->on_gone = NULL;
    exchange->feed = NULL;
}

static void feed_finish(struct exchange *exchange)
{
    feed_let_go(exchange);
    exchange_finish(exchange);
}

static void feed_wait(struct feed_run *run)
{
    struct http_worker *http = run->exchange->worker;
    if (http->is_draining) {
        feed_finish(run->exchange);
    } else {
        timer_start(http->loop, &run->pause, run->feed.pause_ms);
    }
}

static void feed_on_pause(void *owner)
{
    feed_ask(owner);
}

/* What is to be done when all that there was is with the client. */
static void feed_go_on(struct feed_run *run)
{
    if (run->err == ERR_CLOSED || exchange_is_head(run->exchange)) {
        feed_finish(run->exchange);
    } else if (run->err == ERR_MORE) {
        feed_ask(run);
    } else {
        feed_wait(run);
    }
}

static void feed_on_sent(struct exchange *exchange)
{
    feed_go_on(exchange->feed);
}

static void feed_on_gone(struct exchange *exchange)
{
    struct feed_run *run = exchange->feed;
    if (!exchange->on_pool) {
        timer_stop(&run->pause);
        feed_let_go(exchange);
        exchange_end(exchange);
    }
}

static void feed_deliver(struct mail *mail)
{
    struct exchange *exchange = CONTAINER_OF(mail, struct exchange, mail);
    struct feed_run *run = exchange->feed;
    struct http_worker *http = exchange->worker;
    exchange->on_pool = false;
    http->on_pool_count--;
    if (exchange->conn == NULL) {
        feed_let_go(exchange);
        exchange_end(exchange);
    } else if (run->err != ERR_NONE && run->err != ERR_MORE && run->err != ERR_CLOSED) {
        log_line(LOG_HTTP, LOG_WARN, "an answer was cut off",
                 log_text("path", exchange->request.path), log_error_field(&run->error));
        feed_let_go(exchange);
        exchange->transport->abort(exchange);
    } else if (run->out.len > 0) {
        exchange_send(exchange, buf_view(&run->out));
    } else {
        feed_go_on(run);
    }
    http_worker_check_drained(http);
}

/* On a pool thread. */
static void feed_run_next(struct pool_job *job)
{
    struct exchange *exchange = CONTAINER_OF(job, struct exchange, job);
    struct feed_run *run = exchange->feed;
    run->err = run->feed.next(run->feed.context, &run->out, &run->error);
    exchange->mail.deliver = feed_deliver;
    mailbox_send(worker_mailbox(exchange->worker->worker), &exchange->mail);
}

/* A pool with no room is asked again later. */
static void feed_ask(struct feed_run *run)
{
    struct exchange *exchange = run->exchange;
    struct http_worker *http = exchange->worker;
    buf_truncate(&run->out, 0);
    exchange->job.run = feed_run_next;
    exchange->on_pool = true;
    http->on_pool_count++;
    if (pool_submit(http->server->pool, &exchange->job) != ERR_NONE) {
        exchange->on_pool = false;
        http->on_pool_count--;
        feed_wait(run);
    }
}

void http_feed_start(struct exchange *exchange)
{
    exchange->on_sent = feed_on_sent;
    exchange->on_gone = feed_on_gone;
    exchange->ends_with_input = true;
    exchange_answer(exchange);
}

/* On the handler's thread --------------------------------------------------------------------- */

static void feed_end(void *at)
{
    struct feed_run *run = at;
    buf_release(&run->out);
}

void http_call_feed(struct http_call *call, const struct http_feed *feed)
{
    struct feed_run *run = arena_alloc(call->arena, sizeof(*run));
    must(call->exchange->feed == NULL);
    run->exchange = call->exchange;
    run->feed = *feed;
    run->err = ERR_MORE; /* the first question comes behind the head */
    buf_init(&run->out, LIMIT_HTTP_FEED_SIZE);
    timer_init(&run->pause, feed_on_pause, run);
    arena_on_end(call->arena, feed_end, run);
    call->response->is_streamed = true;
    call->exchange->feed = run;
}
