/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_agent.h"

#include "base/memory.h"
#include "base/must.h"
#include "model/secret_map.h"
#include "protocol/postgres/pg_open.h"
#include "protocol/postgres/pg_order.h"
#include "protocol/pump.h"
#include "target/secret_source.h"
#include "wire/pgwire_answer.h"

#define MESSAGE_SIZE LIMIT_TUNNEL_MESSAGE_SIZE

/* One order, from its coming to the end of its session. */
struct pg_errand {
    const struct agent_place *place;
    struct channel *channel; /* until it was answered */
    struct arena arena;      /* wiped */
    struct pg_order order;
    bool is_cancel;
    bool is_gone;          /* nobody waits for the answer */
    struct slice files_id; /* whose the files of its secrets are */
    struct pg_place target;
    struct tls_client *tls;
    struct pg_open *open;
    struct pg_stop *stop;
    struct pump *pump;
    struct stream *answered; /* that a query was cancelled */
    enum err err;
    struct error error;
    struct pool_job job;
    struct mail mail;
    struct loop_task free_task;
};

static void pg_errand_free(void *owner)
{
    struct pg_errand *errand = owner;
    struct worker *worker = errand->place->worker;
    tls_client_unref(errand->tls);
    arena_release(&errand->arena);
    memory_free(errand);
    worker_leave(worker); /* the agent does not end before */
}

static void pg_errand_on_files_removed(struct mail *mail)
{
    pg_errand_free(CONTAINER_OF(mail, struct pg_errand, mail));
}

static void pg_errand_remove_files(struct pool_job *job)
{
    struct pg_errand *errand = CONTAINER_OF(job, struct pg_errand, job);
    enum err err = session_files_remove(errand->place->files, errand->files_id, NULL);
    (void)err; /* what stays goes with the agent */
    mailbox_send(worker_mailbox(errand->place->worker), &errand->mail);
}

static void pg_errand_free_later(struct pg_errand *errand)
{
    errand->job.run = pg_errand_remove_files;
    errand->mail.deliver = pg_errand_on_files_removed;
    if (!errand->target.has_files || pool_submit(errand->place->pool, &errand->job) != ERR_NONE) {
        loop_defer(worker_loop(errand->place->worker), &errand->free_task);
    }
}

/* Answering ----------------------------------------------------------------------------------- */

static void pg_errand_refuse(struct pg_errand *errand, struct slice message, const char *sqlstate,
                             struct slice answer)
{
    struct buf buf;
    const struct pg_refusal refusal = {
        .message = message, .sqlstate = slice_of_text(sqlstate), .answer = answer};
    buf_init(&buf, MESSAGE_SIZE);
    must(pg_refusal_write(&refusal, &buf) == ERR_NONE);
    channel_refuse(errand->channel, buf_view(&buf));
    buf_release(&buf);
    errand->channel = NULL;
    pg_errand_free_later(errand);
}

/* The client learns that it is the gateway's affair; its log has the cause. */
static void pg_errand_fail(struct pg_errand *errand, const struct error *error)
{
    struct buf answer;
    buf_init(&answer, LIMIT_KIB(4));
    must(pgwire_error_write(&answer, &(struct pgwire_notice){
                                         .severity = SLICE("FATAL"),
                                         .sqlstate = SLICE("08001"),
                                         .message = SLICE("the agent cannot open the session"),
                                     }) == ERR_NONE);
    pg_errand_refuse(errand, slice_of_text(error->message), "08001", buf_view(&answer));
    buf_release(&answer);
}

/* For nobody. */
static void pg_errand_drop(struct pg_errand *errand)
{
    channel_refuse(errand->channel, SLICE(""));
    errand->channel = NULL;
    pg_errand_free_later(errand);
}

/* A session ----------------------------------------------------------------------------------- */

static void pg_errand_on_gone(void *owner)
{
    struct pg_errand *errand = owner;
    errand->is_gone = true;
    if (errand->open == NULL && errand->stop == NULL) {
        return; /* it is still being looked up */
    }
    if (errand->open != NULL) {
        pg_open_cancel(errand->open);
        errand->open = NULL;
    } else {
        pg_stop_cancel(errand->stop);
        errand->stop = NULL;
    }
    pg_errand_drop(errand);
}

static void pg_errand_on_pump_gone(void *owner)
{
    pg_errand_free_later(owner);
}

static void pg_errand_on_pump_end(void *owner, enum pump_side side, enum err err)
{
    struct pg_errand *errand = owner;
    (void)side;
    (void)err;
    pump_finish(errand->pump);
}

static void pg_errand_carry(struct pg_errand *errand, struct stream *take_channel,
                            struct stream *take_target)
{
    const struct pump_settings pump = {
        .take_streams = {take_channel, take_target},
        .scratch = errand->place->scratch,
        .scratch_size = LIMIT_READ_SIZE,
        .on_end = pg_errand_on_pump_end,
        .on_gone = pg_errand_on_pump_gone,
        .owner = errand,
    };
    errand->pump = pump_new(&pump);
}

static void pg_errand_on_target(void *owner, const struct pg_target_ready *ready,
                                const struct pg_target_failure *failure)
{
    struct pg_errand *errand = owner;
    errand->open = NULL;
    if (failure != NULL) {
        pg_errand_refuse(errand, slice_of_text(failure->error.message), failure->sqlstate,
                         failure->answer);
        return;
    }
    struct buf buf;
    const struct pg_report report = {
        .version = ready->version,
        .transaction = ready->transaction,
        .key = ready->key,
        .greeting = ready->greeting,
        .rest = ready->rest,
    };
    buf_init(&buf, MESSAGE_SIZE);
    must(pg_report_write(&report, &buf) == ERR_NONE);
    struct stream *channel = channel_accept(errand->channel, buf_view(&buf));
    buf_wipe(&buf);
    errand->channel = NULL;
    pg_errand_carry(errand, channel, ready->take_stream);
}

/* A cancel request ---------------------------------------------------------------------------- */

/* The gateway closes what has told it all; at once from here, the answer would not go out. */
static void pg_errand_on_answered(void *owner, unsigned events)
{
    struct pg_errand *errand = owner;
    char bytes[64];
    size_t len = 0;
    (void)events;
    enum err err = stream_read(errand->answered, bytes, sizeof(bytes), &len);
    if (err != ERR_NONE && err != ERR_AGAIN) {
        stream_close(errand->answered);
        pg_errand_free_later(errand);
    }
}

static void pg_errand_on_stopped(void *owner, const struct error *error)
{
    struct pg_errand *errand = owner;
    errand->stop = NULL;
    if (error != NULL) {
        pg_errand_fail(errand, error);
        return;
    }
    errand->answered = channel_accept(errand->channel, SLICE("{}"));
    errand->channel = NULL;
    stream_own(errand->answered, pg_errand_on_answered, errand);
    stream_watch(errand->answered, STREAM_READABLE);
}

/* On the way ---------------------------------------------------------------------------------- */

static void pg_errand_go(struct pg_errand *errand)
{
    const struct pg_order *order = &errand->order;
    const struct pg_road road = {.worker = errand->place->worker,
                                 .pool = errand->place->pool,
                                 .resolver = errand->place->resolver,
                                 .cache = errand->place->sign_ins};
    if (errand->is_cancel) {
        const struct pg_stop_settings stop = {.place = &errand->target,
                                              .tls = errand->tls,
                                              .key = order->key,
                                              .timeout_ms = order->timeout_ms};
        errand->stop = pg_stop_start(&road, &stop, pg_errand_on_stopped, errand);
        return;
    }
    const struct pg_open_settings open = {
        .place = &errand->target,
        .tls = errand->tls,
        .database = order->database,
        .parameters = order->parameters,
        .parameter_count = order->parameter_count,
        .version = order->version,
        .timeout_ms = order->timeout_ms,
    };
    errand->open = pg_open_start(&road, &open, pg_errand_on_target, errand);
}

static void pg_errand_on_resolved(struct mail *mail)
{
    struct pg_errand *errand = CONTAINER_OF(mail, struct pg_errand, mail);
    if (errand->is_gone) {
        pg_errand_drop(errand);
    } else if (errand->err != ERR_NONE) {
        pg_errand_fail(errand, &errand->error);
    } else {
        pg_errand_go(errand);
    }
}

static void pg_errand_resolve(struct pool_job *job)
{
    struct pg_errand *errand = CONTAINER_OF(job, struct pg_errand, job);
    struct shape_pairs plain;
    enum err err = secret_sources_resolve(&errand->arena, &errand->order.variables, &plain, NULL,
                                          &errand->error);
    if (err == ERR_NONE) {
        errand->files_id = session_files_id_in(&errand->arena);
        const struct pg_place_owner owner = {
            .arena = &errand->arena, .files = errand->place->files, .session_id = errand->files_id};
        err = pg_place_open(&owner, &plain, &errand->target, &errand->tls, &errand->error);
    }
    errand->err = err;
    mailbox_send(worker_mailbox(errand->place->worker), &errand->mail);
}

/* Keepers of secrets may be slow to answer, and must not hold up the sign-ins of others. */
static struct pool *pg_errand_pool(const struct pg_errand *errand)
{
    const struct shape_pairs *variables = &errand->order.variables;
    for (size_t i = 0; i < variables->count; i++) {
        if (secret_is_reference(variables->pairs[i].value)) {
            return errand->place->slow_pool;
        }
    }
    return errand->place->pool;
}

static void pg_errand_start(const struct agent_place *place, struct channel *take_channel,
                            struct slice message, bool is_cancel)
{
    struct pg_errand *errand = memory_new(sizeof(*errand));
    errand->place = place;
    errand->channel = take_channel;
    errand->is_cancel = is_cancel;
    errand->job.run = pg_errand_resolve;
    errand->mail.deliver = pg_errand_on_resolved;
    arena_init(&errand->arena);
    arena_hold_secrets(&errand->arena);
    loop_task_init(&errand->free_task, pg_errand_free, errand);
    worker_enter(place->worker);
    channel_on_gone(take_channel, pg_errand_on_gone, errand);
    enum err err = pg_order_read_in(&errand->arena, message, &errand->order, &errand->error);
    if (err == ERR_NONE && is_cancel && errand->order.key.secret.at == NULL) {
        err = fail(&errand->error, ERR_INPUT, "it is not said what is to be cancelled");
    }
    if (err == ERR_NONE && pool_submit(pg_errand_pool(errand), &errand->job) != ERR_NONE) {
        err = fail(&errand->error, ERR_BUSY, "the agent is busy");
    }
    if (err != ERR_NONE) {
        pg_errand_fail(errand, &errand->error);
    }
}

void pg_agent_serve(const struct agent_place *place, struct channel *take_channel,
                    struct slice message)
{
    pg_errand_start(place, take_channel, message, false);
}

void pg_agent_serve_cancel(const struct agent_place *place, struct channel *take_channel,
                           struct slice message)
{
    pg_errand_start(place, take_channel, message, true);
}
