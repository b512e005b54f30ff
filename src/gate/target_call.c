/* SPDX-License-Identifier: MIT */
#include "gate/target_call.h"

#include "base/memory.h"
#include "base/must.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/timer.h"
#include "protocol/agent_open.h"
#include "target/secret_source.h"
#include "tunnel/registry.h"

#include <pthread.h>

/* A worker's part. */
struct target_worker {
    struct target_calls *calls;
    struct worker *worker;
    size_t count; /* of calls that were sent to it and have not ended; under the lock */
    struct list running;
    bool is_draining;
    bool is_cut;
    uint64_t drain_ms;
    struct timer drain_deadline;
    struct mail drain_mail;
    struct loop_task drained;
};

struct target_calls {
    struct pool *pool;
    struct resolver *resolver;
    struct session_files *files;
    struct registry *registry;
    struct target_worker workers[LIMIT_WORKER_COUNT];
    size_t worker_count;
    pthread_mutex_t lock;
    size_t next;       /* the worker whose turn it is */
    size_t call_count; /* of threads that are in target_call_run() */
    bool is_closed;
};

/* On the stack of the thread that waits; the worker's from the mail until 'is_done'. */
struct target_call {
    const struct target_request *request;
    struct arena *arena;        /* of the answer */
    struct arena secrets;       /* wiped when it ends */
    struct target_worker *part; /* of the worker that does it */
    struct list link;
    struct mail mail;
    struct slice files_id; /* whose the files of its secrets are */
    struct place place;
    struct tls_client *tls;
    struct opening *opening;
    struct query *query;
    struct opening *stopping;
    struct cancel_key key; /* to cancel the statement; secret.at == NULL: there is none */
    int64_t began_at;
    struct target_answer answer;
    struct error error;
    bool is_done; /* under the lock */
    pthread_cond_t done;
};

static bool target_call_is_by_agent(const struct target_call *call)
{
    return call->request->agent_id.len > 0;
}

static const struct catalog_ops *target_catalog(const struct target_call *call)
{
    return call->request->protocol->catalog;
}

static struct shape_pairs target_parameters(const struct target_call *call)
{
    const struct shape_pairs *parameters = call->request->parameters;
    return parameters != NULL ? *parameters : target_catalog(call)->parameters;
}

/* The end of a call, on the loop --------------------------------------------------------------- */

static void target_call_end(struct target_call *call)
{
    struct target_worker *part = call->part;
    struct target_calls *calls = part->calls;
    call->answer.latency_us = clock_monotonic() - call->began_at;
    list_remove(&call->link);
    (void)pthread_mutex_lock(&calls->lock);
    part->count--;
    bool is_last = part->is_draining && part->count == 0;
    call->is_done = true;
    (void)pthread_cond_signal(&call->done);
    (void)pthread_mutex_unlock(&calls->lock); /* from here on the call may be gone */
    if (is_last) {
        loop_defer(worker_loop(part->worker), &part->drained);
    }
}

static void target_call_fail(struct target_call *call, const struct error *error,
                             enum target_problem problem, struct slice shown)
{
    call->error = *error;
    call->answer.problem = problem;
    call->answer.shown = arena_copy(call->arena, shown);
    target_call_end(call);
}

static void target_call_fail_for_stop(struct target_call *call)
{
    struct error error;
    enum err err = fail(&error, ERR_UNAVAILABLE, "the gateway is stopping");
    must(err == ERR_UNAVAILABLE);
    target_call_fail(call, &error, TARGET_PROBLEM_NONE, slice_of_text(error.message));
}

/* Through an agent elsewhere ------------------------------------------------------------------- */

/* The agent's link on this worker, which may have gone meanwhile; ERR_UNAVAILABLE. */
static enum err target_call_link(struct target_call *call, const char *suffix,
                                 struct agent_opening *ret_how, struct error *reterr)
{
    struct worker *worker = call->part->worker;
    const struct protocol *protocol = call->request->protocol;
    *ret_how = (struct agent_opening){
        .loop = worker_loop(worker),
        .link = registry_link(call->part->calls->registry, call->request->agent_id,
                              protocol_channel_in(&call->secrets, protocol, suffix), worker),
        .protocol = protocol,
    };
    return ret_how->link != NULL
               ? ERR_NONE
               : fail(reterr, ERR_UNAVAILABLE, "the connection's agent is not connected");
}

/* The statement -------------------------------------------------------------------------------- */

/* The server was asked to let go of the statement that took too long, or could not be. */
static void target_call_on_stopped(void *owner, const struct error *error)
{
    struct target_call *call = owner;
    (void)error;
    call->stopping = NULL;
    target_call_end(call);
}

static void target_call_cancel_statement(struct target_call *call)
{
    struct target_calls *calls = call->part->calls;
    bool signs_in = call->request->protocol->target.stop_signs_in;
    struct agent_opening how;
    if (target_call_is_by_agent(call)) {
        const struct agent_request request = {
            .variables = place_variables_in(&call->secrets, call->request->variables, signs_in),
            .key = call->key,
            .timeout_ms = LIMIT_TARGET_CANCEL_MS};
        if (target_call_link(call, PROTOCOL_CANCEL, &how, NULL) != ERR_NONE) {
            target_call_end(call);
            return;
        }
        call->stopping = agent_stop_start(&how, &request, target_call_on_stopped, call);
        return;
    }
    const struct dial_context context = {
        .worker = call->part->worker, .pool = calls->pool, .resolver = calls->resolver};
    const struct stop_request stop = {
        .place = &call->place,
        .tls = call->tls,
        .key = call->key,
        .timeout_ms = LIMIT_TARGET_CANCEL_MS,
    };
    call->stopping =
        call->request->protocol->target.stop(&context, &stop, target_call_on_stopped, call);
}

static void target_call_on_answer(void *owner, const struct query_rows *rows,
                                  const struct query_failure *failure)
{
    struct target_call *call = owner;
    call->query = NULL;
    if (rows != NULL) {
        call->answer.rows = *rows;
        target_call_end(call);
        return;
    }
    memcpy(call->answer.code, failure->code, sizeof(call->answer.code));
    if (failure->error.code != ERR_TIMEOUT || call->key.secret.at == NULL) {
        target_call_fail(call, &failure->error, target_catalog(call)->problem_of_query(failure),
                         slice_of_text(failure->error.message));
        return;
    }
    call->error = failure->error;
    call->answer.problem = TARGET_PROBLEM_TIMEOUT;
    call->answer.shown = arena_copy(call->arena, slice_of_text(failure->error.message));
    target_call_cancel_statement(call);
}

/* The way there -------------------------------------------------------------------------------- */

static void target_call_on_open(void *owner, const struct arrival *arrival,
                                const struct target_failure *failure)
{
    struct target_call *call = owner;
    const struct target_request *request = call->request;
    call->opening = NULL;
    if (failure != NULL) {
        struct ending_words words = {.message = SLICE("")};
        (void)request->protocol->target.read_answer(failure->answer, &words);
        memcpy(call->answer.code, failure->code, sizeof(call->answer.code));
        enum target_problem problem = failure->stage == TARGET_STAGE_AGENT
                                          ? TARGET_PROBLEM_AGENT
                                          : target_catalog(call)->problem_of_open(failure);
        call->answer.host_key = arena_copy(call->arena, failure->host_key);
        target_call_fail(call, &failure->error, problem, words.message);
        return;
    }
    call->answer.is_by_agent = target_call_is_by_agent(call);
    call->answer.is_encrypted = stream_is_encrypted(arrival->take_stream);
    call->key.number = arrival->key.number;
    call->key.secret = arrival->key.secret.at == NULL
                           ? SLICE_NONE
                           : arena_copy(&call->secrets, arrival->key.secret);
    const struct query_settings settings = {
        .text = slice_of_text(request->text),
        .values = request->values,
        .types = request->types,
        .are_binary = request->are_binary,
        .value_count = request->value_count,
        .column_count = request->column_count,
        .row_count_max = request->row_count_max,
        .size_max = LIMIT_QUERY_ANSWER_SIZE,
        .timeout_ms = LIMIT_TARGET_QUERY_MS,
        .rest = arrival->rest,
        .arena = call->arena,
    };
    call->query =
        target_catalog(call)->query(arrival->take_stream, &settings, target_call_on_answer, call);
}

static void target_call_ask_agent(struct target_call *call)
{
    struct agent_opening how;
    struct error error;
    const struct agent_request request = {
        .variables = place_variables_in(&call->secrets, call->request->variables, true),
        .database = call->request->database,
        .parameters = target_parameters(call),
        .version = target_catalog(call)->version,
        .timeout_ms = LIMIT_TARGET_OPEN_MS,
    };
    if (target_call_link(call, "", &how, &error) != ERR_NONE) {
        target_call_fail(call, &error, TARGET_PROBLEM_AGENT, slice_of_text(error.message));
        return;
    }
    call->opening = agent_open_start(&how, &request, target_call_on_open, call);
}

static void target_call_begin(struct mail *mail)
{
    struct target_call *call = CONTAINER_OF(mail, struct target_call, mail);
    struct target_worker *part = call->part;
    struct slice database = call->request->database;
    if (database.len == 0) {
        database =
            call->place.database.len > 0 ? call->place.database : target_catalog(call)->database;
    }
    call->began_at = clock_monotonic();
    list_append(&part->running, &call->link);
    if (part->is_cut) {
        target_call_fail_for_stop(call);
        return;
    }
    if (target_call_is_by_agent(call)) {
        target_call_ask_agent(call);
        return;
    }
    const struct dial_context context = {
        .worker = part->worker, .pool = part->calls->pool, .resolver = part->calls->resolver};
    const struct open_request open = {
        .place = &call->place,
        .tls = call->tls,
        .database = database,
        .parameters = target_parameters(call),
        .version = target_catalog(call)->version,
        .timeout_ms = LIMIT_TARGET_OPEN_MS,
    };
    call->opening =
        call->request->protocol->target.open(&context, &open, target_call_on_open, call);
}

/* The thread that waits ------------------------------------------------------------------------ */

static enum err target_call_resolve(struct target_call *call, struct session_files *files,
                                    struct error *reterr)
{
    struct shape_pairs variables = {0};
    struct target_answer *answer = &call->answer;
    enum err err = secret_sources_resolve(&call->secrets, call->request->sources,
                                          call->request->variables, &variables, NULL, reterr);
    if (err != ERR_NONE) {
        answer->problem = TARGET_PROBLEM_SECRETS;
        answer->shown = SLICE("the secrets of the connection cannot be had");
        return err;
    }
    call->files_id = session_files_id_in(&call->secrets);
    const struct place_owner owner = {.rules = &call->request->protocol->target.place,
                                      .arena = &call->secrets,
                                      .files = files,
                                      .session_id = call->files_id};
    err = place_open(&owner, &variables, &call->place, &call->tls, reterr);
    if (err == ERR_INPUT) {
        answer->problem = TARGET_PROBLEM_CONFIGURATION;
        answer->shown = arena_format(call->arena, "%s", reterr->message);
    }
    return err;
}

static void target_call_remove_files(struct target_calls *calls, const struct target_call *call)
{
    struct error error;
    if (call->place.has_files &&
        session_files_remove(calls->files, call->files_id, &error) != ERR_NONE) {
        log_line(LOG_GATE, LOG_ERROR, "files of secrets stay until the gateway stops",
                 log_error_field(&error));
    }
}

/* A place among the calls that may be under way. */
static enum err target_calls_take_place(struct target_calls *calls, struct error *reterr)
{
    enum err err = ERR_NONE;
    (void)pthread_mutex_lock(&calls->lock);
    if (calls->call_count == LIMIT_TARGET_CALLS) {
        err = fail(reterr, ERR_BUSY, "too many targets are being asked; try again in a moment");
    } else {
        calls->call_count++;
    }
    (void)pthread_mutex_unlock(&calls->lock);
    return err;
}

static void target_calls_leave_place(struct target_calls *calls)
{
    (void)pthread_mutex_lock(&calls->lock);
    calls->call_count--;
    (void)pthread_mutex_unlock(&calls->lock);
}

/* The worker whose turn it is, or one that has a link of the agent. */
static enum err target_calls_choose(struct target_calls *calls, struct target_call *call,
                                    struct error *reterr)
{
    struct worker *worker = NULL;
    call->part = &calls->workers[calls->next++ % calls->worker_count];
    if (!target_call_is_by_agent(call)) {
        return ERR_NONE;
    }
    enum err err =
        calls->registry == NULL
            ? ERR_UNAVAILABLE
            : registry_find(calls->registry, call->request->agent_id,
                            protocol_channel_in(&call->secrets, call->request->protocol, ""),
                            call->part->worker, &worker);
    for (size_t i = 0; i < calls->worker_count && err == ERR_NONE; i++) {
        call->part = calls->workers[i].worker == worker ? &calls->workers[i] : call->part;
    }
    if (err == ERR_NONE) {
        return ERR_NONE;
    }
    call->answer.problem = TARGET_PROBLEM_AGENT;
    call->answer.shown = err == ERR_UNSUPPORTED
                             ? SLICE("the connection's agent is too old for this")
                             : SLICE("the connection's agent is not connected to this gateway");
    return fail(reterr, err, "%.*s", SLICE_ARG(call->answer.shown));
}

/* Sends it to its worker, and waits for what becomes of it. */
static enum err target_call_send(struct target_calls *calls, struct target_call *call,
                                 struct error *reterr)
{
    (void)pthread_mutex_lock(&calls->lock);
    if (calls->is_closed) {
        (void)pthread_mutex_unlock(&calls->lock);
        return fail(reterr, ERR_UNAVAILABLE, "the gateway is stopping");
    }
    enum err err = target_calls_choose(calls, call, reterr);
    if (err != ERR_NONE) {
        (void)pthread_mutex_unlock(&calls->lock);
        return err;
    }
    must(pthread_cond_init(&call->done, NULL) == 0);
    call->part->count++;
    call->mail.deliver = target_call_begin;
    mailbox_send(worker_mailbox(call->part->worker), &call->mail);
    while (!call->is_done) {
        (void)pthread_cond_wait(&call->done, &calls->lock);
    }
    (void)pthread_mutex_unlock(&calls->lock);
    (void)pthread_cond_destroy(&call->done);
    if (call->error.code != ERR_NONE && reterr != NULL) {
        *reterr = call->error;
    }
    return call->error.code;
}

enum err target_call_run(struct target_calls *calls, struct arena *arena,
                         const struct target_request *request, struct target_answer *ret_answer,
                         struct error *reterr)
{
    struct target_call call = {.request = request, .arena = arena};
    enum err err = target_calls_take_place(calls, reterr);
    *ret_answer = call.answer;
    if (err != ERR_NONE) {
        return err;
    }
    arena_init(&call.secrets);
    arena_hold_secrets(&call.secrets);
    list_init(&call.link);
    err = target_call_is_by_agent(&call) ? ERR_NONE
                                         : target_call_resolve(&call, calls->files, reterr);
    if (err == ERR_NONE) {
        err = target_call_send(calls, &call, reterr);
    }
    *ret_answer = call.answer;
    target_call_remove_files(calls, &call);
    tls_client_unref(call.tls);
    arena_release(&call.secrets);
    target_calls_leave_place(calls);
    return err;
}

/* The workers' parts --------------------------------------------------------------------------- */

static void target_worker_on_drained(void *owner)
{
    struct target_worker *part = owner;
    timer_stop(&part->drain_deadline);
    worker_leave(part->worker);
}

static void target_worker_cut(void *owner)
{
    struct target_worker *part = owner;
    part->is_cut = true;
    LIST_EACH(link, &part->running) {
        struct target_call *call = LIST_ITEM(link, struct target_call, link);
        if (call->query != NULL) {
            query_cancel(call->query);
        } else {
            opening_cancel(call->opening != NULL ? call->opening : call->stopping);
        }
        target_call_fail_for_stop(call);
    }
}

static void target_worker_begin_drain(struct mail *mail)
{
    struct target_worker *part = CONTAINER_OF(mail, struct target_worker, drain_mail);
    struct loop *loop = worker_loop(part->worker);
    part->is_draining = true;
    timer_start(loop, &part->drain_deadline, part->drain_ms);
    (void)pthread_mutex_lock(&part->calls->lock);
    bool is_idle = part->count == 0;
    (void)pthread_mutex_unlock(&part->calls->lock);
    if (is_idle) {
        loop_defer(loop, &part->drained);
    }
}

struct target_calls *target_calls_new(struct pool *pool, struct resolver *resolver,
                                      struct session_files *files, struct registry *registry)
{
    struct target_calls *calls = memory_new(sizeof(*calls));
    calls->pool = pool;
    calls->resolver = resolver;
    calls->files = files;
    calls->registry = registry;
    must(pthread_mutex_init(&calls->lock, NULL) == 0);
    return calls;
}

void target_calls_free(struct target_calls *calls)
{
    if (calls == NULL) {
        return;
    }
    for (size_t i = 0; i < calls->worker_count; i++) {
        must(list_is_empty(&calls->workers[i].running) && calls->workers[i].count == 0);
    }
    must(calls->call_count == 0);
    (void)pthread_mutex_destroy(&calls->lock);
    memory_free(calls);
}

void target_calls_enter(struct target_calls *calls, struct worker *worker)
{
    must(calls->worker_count < LIMIT_WORKER_COUNT);
    struct target_worker *part = &calls->workers[calls->worker_count++];
    part->calls = calls;
    part->worker = worker;
    list_init(&part->running);
    timer_init(&part->drain_deadline, target_worker_cut, part);
    loop_task_init(&part->drained, target_worker_on_drained, part);
    worker_enter(worker);
}

void target_calls_drain(struct target_calls *calls, uint64_t deadline_ms)
{
    (void)pthread_mutex_lock(&calls->lock);
    calls->is_closed = true;
    (void)pthread_mutex_unlock(&calls->lock);
    for (size_t i = 0; i < calls->worker_count; i++) {
        struct target_worker *part = &calls->workers[i];
        part->drain_ms = deadline_ms;
        part->drain_mail.deliver = target_worker_begin_drain;
        mailbox_send(worker_mailbox(part->worker), &part->drain_mail);
    }
}
