/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_far.h"

#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"
#include "wire/pgwire_answer.h"
#include "wire/pgwire_frame.h"

#include <stdio.h>

#define GRACE_MS 2000 /* the agent's own words about its deadline come before this */

struct pg_far {
    struct loop *loop;
    struct channel *channel; /* NULL: it was never asked for */
    struct arena arena;      /* wiped */
    struct error error;
    struct timer deadline;
    struct loop_task task; /* fails, or frees */
    pg_target_done_fn on_done;
    pg_cancel_done_fn on_stopped;
    void *owner;
};

static void pg_far_free(void *owner)
{
    struct pg_far *far = owner;
    arena_release(&far->arena);
    memory_free(far);
}

static void pg_far_leave(struct pg_far *far)
{
    timer_stop(&far->deadline);
    loop_task_cancel(&far->task);
    loop_task_init(&far->task, pg_far_free, far);
    loop_defer(far->loop, &far->task);
}

void pg_far_tell_failure(const struct error *error, pg_target_done_fn on_done, void *owner)
{
    struct pg_target_failure failure = {.error = *error, .sqlstate = "08001"};
    struct buf answer;
    char message[sizeof(error->message) + 64];
    (void)snprintf(message, sizeof(message), "the target cannot be reached: %s", error->message);
    buf_init(&answer, LIMIT_KIB(4));
    must(pgwire_error_write(&answer, &(struct pgwire_notice){
                                         .severity = SLICE("FATAL"),
                                         .sqlstate = slice_of_text(failure.sqlstate),
                                         .message = slice_of_text(message),
                                     }) == ERR_NONE);
    failure.answer = buf_view(&answer);
    on_done(owner, NULL, &failure);
    buf_release(&answer);
}

/* In the words of the agent, or of the server behind it. */
static void pg_far_hand_on(struct pg_far *far, const struct pg_refusal *refusal)
{
    struct pg_target_failure failure = {.sqlstate = "08001", .answer = refusal->answer};
    must(fail(&failure.error, ERR_UNAVAILABLE, "%.*s", SLICE_ARG(refusal->message)) ==
         ERR_UNAVAILABLE);
    memcpy(failure.sqlstate, refusal->sqlstate.at, sizeof(failure.sqlstate) - 1);
    pg_far_leave(far);
    far->on_done(far->owner, NULL, &failure);
}

static void pg_far_fail(struct pg_far *far, const struct error *error)
{
    pg_far_leave(far);
    if (far->on_stopped != NULL) {
        far->on_stopped(far->owner, error);
    } else {
        pg_far_tell_failure(error, far->on_done, far->owner);
    }
}

static void pg_far_on_bad_start(void *owner)
{
    struct pg_far *far = owner;
    pg_far_fail(far, &far->error);
}

static void pg_far_on_deadline(void *owner)
{
    struct pg_far *far = owner;
    link_open_cancel(far->channel);
    must(fail(&far->error, ERR_TIMEOUT, "the agent does not answer") == ERR_TIMEOUT);
    pg_far_fail(far, &far->error);
}

/* What the agent says --------------------------------------------------------------------------
 * It is another program on another machine, and passes on what a server says: nothing of it is
 * taken for good. */

/* One that is not whole, or says nothing, is not handed on. */
static bool pg_far_is_error(struct slice answer)
{
    struct slice fields;
    return answer.len > PGWIRE_HEADER_SIZE && answer.len <= LIMIT_PG_GREETING_SIZE &&
           answer.at[0] == PGWIRE_SERVER_ERROR &&
           pgwire_notice_read(slice_from(answer, PGWIRE_HEADER_SIZE), &fields, NULL) == ERR_NONE &&
           pgwire_notice_find(fields, PGWIRE_FIELD_MESSAGE).at != NULL;
}

static bool pg_far_is_sqlstate(struct slice state)
{
    bool is_one = state.len == 5;
    for (size_t i = 0; i < state.len; i++) {
        bool is_digit = state.at[i] >= '0' && state.at[i] <= '9';
        is_one = is_one && (is_digit || (state.at[i] >= 'A' && state.at[i] <= 'Z'));
    }
    return is_one;
}

static bool pg_far_is_greeting(char type)
{
    return type == PGWIRE_SERVER_PARAMETER_STATUS || type == PGWIRE_SERVER_NOTICE ||
           type == PGWIRE_SERVER_NOTIFICATION;
}

static enum err pg_far_check(const struct pg_report *report, struct error *reterr)
{
    struct pgwire_framer framer;
    struct slice left = report->greeting;
    if (left.len > LIMIT_PG_GREETING_SIZE || report->rest.len > LIMIT_PG_GREETING_SIZE) {
        return fail(reterr, ERR_LIMIT, "the target says too much at the start");
    }
    pgwire_framer_init(&framer, PGWIRE_FROM_SERVER);
    while (left.len > 0) {
        struct pgwire_event event;
        size_t taken = 0;
        enum err err = pgwire_framer_next(&framer, left, &taken, &event, reterr);
        if (err == ERR_MORE) {
            break;
        }
        if (err != ERR_NONE) {
            return err;
        }
        if (!pg_far_is_greeting(framer.frame.type)) {
            return fail(reterr, ERR_INPUT, "a message of the start is none");
        }
        left = slice_from(left, taken);
    }
    return pgwire_framer_is_between(&framer)
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "the messages of the start are not whole");
}

static void pg_far_on_refused(struct pg_far *far, struct slice message, const struct error *error)
{
    struct pg_refusal refusal;
    bool is_told = error->code == ERR_DENIED && message.len > 0 &&
                   pg_refusal_read_in(&far->arena, message, &refusal, &far->error) == ERR_NONE &&
                   pg_far_is_error(refusal.answer) && pg_far_is_sqlstate(refusal.sqlstate);
    if (is_told && far->on_stopped != NULL) {
        must(fail(&far->error, ERR_UNAVAILABLE, "%.*s", SLICE_ARG(refusal.message)) != ERR_NONE);
        pg_far_fail(far, &far->error);
    } else if (is_told) {
        pg_far_hand_on(far, &refusal);
    } else {
        pg_far_fail(far, error);
    }
}

static void pg_far_on_opened(void *owner, struct stream *take_stream, struct slice message,
                             const struct error *error)
{
    struct pg_far *far = owner;
    struct pg_report report;
    far->channel = NULL;
    if (take_stream == NULL) {
        pg_far_on_refused(far, message, error);
        return;
    }
    if (far->on_stopped != NULL) {
        stream_close(take_stream);
        pg_far_leave(far);
        far->on_stopped(far->owner, NULL);
        return;
    }
    if (pg_report_read_in(&far->arena, message, &report, &far->error) != ERR_NONE ||
        pg_far_check(&report, &far->error) != ERR_NONE) {
        stream_close(take_stream);
        error_prefix(&far->error, "the agent's answer: ");
        pg_far_fail(far, &far->error);
        return;
    }
    const struct pg_target_ready ready = {
        .take_stream = take_stream,
        .version = report.version,
        .key = report.key,
        .transaction = report.transaction,
        .greeting = report.greeting,
        .rest = report.rest,
    };
    pg_far_leave(far);
    far->on_done(far->owner, &ready, NULL);
}

static struct pg_far *pg_far_new(struct loop *loop, struct link *link, const char *kind,
                                 const struct pg_order *order)
{
    struct pg_far *far = memory_new(sizeof(*far));
    struct buf message;
    far->loop = loop;
    arena_init(&far->arena);
    arena_hold_secrets(&far->arena);
    timer_init(&far->deadline, pg_far_on_deadline, far);
    loop_task_init(&far->task, pg_far_on_bad_start, far);
    buf_init(&message, LIMIT_TUNNEL_MESSAGE_SIZE);
    if (pg_order_write(order, &message) != ERR_NONE) {
        must(fail(&far->error, ERR_LIMIT, "what the agent is to be told is too long") == ERR_LIMIT);
        loop_defer(loop, &far->task);
    } else {
        const struct channel_request request = {.kind = slice_of_text(kind),
                                                .message = buf_view(&message)};
        far->channel = link_open(link, &request, pg_far_on_opened, far);
        timer_start(loop, &far->deadline, order->timeout_ms + GRACE_MS);
    }
    buf_wipe(&message);
    buf_release(&message);
    return far;
}

struct pg_far *pg_far_start(struct loop *loop, struct link *link, const struct pg_order *order,
                            pg_target_done_fn on_done, void *owner)
{
    struct pg_far *far = pg_far_new(loop, link, PG_ORDER_KIND, order);
    far->on_done = on_done;
    far->owner = owner;
    return far;
}

struct pg_far *pg_far_stop(struct loop *loop, struct link *link, const struct pg_order *order,
                           pg_cancel_done_fn on_done, void *owner)
{
    struct pg_far *far = pg_far_new(loop, link, PG_ORDER_CANCEL_KIND, order);
    far->on_stopped = on_done;
    far->owner = owner;
    return far;
}

void pg_far_cancel(struct pg_far *far)
{
    if (far->channel != NULL) {
        link_open_cancel(far->channel);
    }
    pg_far_leave(far);
}
