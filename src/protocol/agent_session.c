/* SPDX-License-Identifier: MIT */
#include "protocol/agent_session.h"

#include "base/memory.h"
#include "base/must.h"
#include "model/secret_map.h"
#include "protocol/agent_request.h"
#include "protocol/pump.h"
#include "target/secret_source.h"

#define MESSAGE_SIZE LIMIT_TUNNEL_MESSAGE_SIZE

/* One order, from its coming to the end of its session. */
struct agent_session {
    const struct agent_place *place;
    const struct protocol *protocol;
    struct channel *channel; /* until it was answered */
    struct arena arena;      /* wiped */
    struct agent_request request;
    bool is_cancel;
    bool is_gone;          /* nobody waits for the answer */
    struct slice files_id; /* whose the files of its secrets are */
    struct place target;
    struct tls_client *tls;
    struct opening *opening; /* or stopping */
    struct pump *pump;
    struct stream *answered; /* that a query was cancelled */
    enum err err;
    struct error error;
    struct pool_job job;
    struct mail mail;
    struct loop_task free_task;
};

static void agent_session_free(void *owner)
{
    struct agent_session *self = owner;
    struct worker *worker = self->place->worker;
    tls_client_unref(self->tls);
    arena_release(&self->arena);
    memory_free(self);
    worker_leave(worker); /* the agent does not end before */
}

static void agent_session_on_files_removed(struct mail *mail)
{
    agent_session_free(CONTAINER_OF(mail, struct agent_session, mail));
}

static void agent_session_remove_files(struct pool_job *job)
{
    struct agent_session *self = CONTAINER_OF(job, struct agent_session, job);
    enum err err = session_files_remove(self->place->files, self->files_id, NULL);
    (void)err; /* what stays goes with the agent */
    mailbox_send(worker_mailbox(self->place->worker), &self->mail);
}

static void agent_session_free_later(struct agent_session *self)
{
    self->job.run = agent_session_remove_files;
    self->mail.deliver = agent_session_on_files_removed;
    if (!self->target.has_files || pool_submit(self->place->pool, &self->job) != ERR_NONE) {
        loop_defer(worker_loop(self->place->worker), &self->free_task);
    }
}

/* Answering ----------------------------------------------------------------------------------- */

static void agent_session_refuse(struct agent_session *self, const struct agent_failure *failure)
{
    struct buf buf;
    buf_init(&buf, MESSAGE_SIZE);
    must(agent_failure_write(failure, &buf) == ERR_NONE);
    channel_refuse(self->channel, buf_view(&buf));
    buf_release(&buf);
    self->channel = NULL;
    agent_session_free_later(self);
}

/* The client learns that it is the gateway's affair; its log has the cause. */
static void agent_session_fail(struct agent_session *self, const struct error *error)
{
    struct buf answer;
    char code[TARGET_CODE_SIZE] = "";
    const struct ending_words words = {.why = ENDING_CONNECTION,
                                       .message = SLICE("the agent cannot open the session")};
    buf_init(&answer, LIMIT_KIB(4));
    must(self->protocol->target.write_answer(&words, code, &answer) == ERR_NONE);
    const struct agent_failure failure = {.message = slice_of_text(error->message),
                                          .code = slice_of_text(code),
                                          .answer = buf_view(&answer),
                                          .cause = agent_cause_of(TARGET_STAGE_AGENT, error->code)};
    agent_session_refuse(self, &failure);
    buf_release(&answer);
}

/* The channel is gone: close. */
static void agent_session_drop(struct agent_session *self)
{
    channel_refuse(self->channel, SLICE(""));
    self->channel = NULL;
    agent_session_free_later(self);
}

/* A session ----------------------------------------------------------------------------------- */

static void agent_session_on_gone(void *owner)
{
    struct agent_session *self = owner;
    self->is_gone = true;
    if (self->opening == NULL) {
        return; /* it is still being looked up */
    }
    opening_cancel(self->opening);
    self->opening = NULL;
    agent_session_drop(self);
}

static void agent_session_on_pump_gone(void *owner)
{
    agent_session_free_later(owner);
}

static void agent_session_on_pump_end(void *owner, enum pump_side side, enum err err)
{
    struct agent_session *self = owner;
    (void)side;
    (void)err;
    pump_finish(self->pump);
}

static void agent_session_carry(struct agent_session *self, struct stream *take_channel,
                                struct stream *take_target)
{
    const struct pump_settings pump = {
        .take_streams = {take_channel, take_target},
        .scratch = self->place->scratch,
        .scratch_size = LIMIT_READ_SIZE,
        .on_end = agent_session_on_pump_end,
        .on_gone = agent_session_on_pump_gone,
        .owner = self,
    };
    self->pump = pump_new(&pump);
}

static void agent_session_on_target(void *owner, const struct arrival *arrival,
                                    const struct target_failure *failure)
{
    struct agent_session *self = owner;
    self->opening = NULL;
    if (failure != NULL) {
        const struct agent_failure told = {.message = slice_of_text(failure->error.message),
                                           .code = slice_of_text(failure->code),
                                           .answer = failure->answer,
                                           .host_key = failure->host_key,
                                           .cause =
                                               agent_cause_of(failure->stage, failure->error.code)};
        agent_session_refuse(self, &told);
        return;
    }
    struct buf buf;
    buf_init(&buf, MESSAGE_SIZE);
    must(agent_ready_write(arrival, &buf) == ERR_NONE);
    struct stream *channel = channel_accept(self->channel, buf_view(&buf));
    buf_wipe(&buf);
    self->channel = NULL;
    agent_session_carry(self, channel, arrival->take_stream);
}

/* A cancel request ---------------------------------------------------------------------------- */

/* The gateway closes what has told it all; at once from here, the answer would not go out. */
static void agent_session_on_answered(void *owner, unsigned events)
{
    struct agent_session *self = owner;
    char bytes[64];
    size_t len = 0;
    (void)events;
    enum err err = stream_read(self->answered, bytes, sizeof(bytes), &len);
    if (err != ERR_NONE && err != ERR_AGAIN) {
        stream_close(self->answered);
        agent_session_free_later(self);
    }
}

static void agent_session_on_stopped(void *owner, const struct error *error)
{
    struct agent_session *self = owner;
    self->opening = NULL;
    if (error != NULL) {
        agent_session_fail(self, error);
        return;
    }
    self->answered = channel_accept(self->channel, SLICE("{}"));
    self->channel = NULL;
    stream_own(self->answered, agent_session_on_answered, self);
    stream_watch(self->answered, STREAM_READABLE);
}

/* On the way ---------------------------------------------------------------------------------- */

static void agent_session_go(struct agent_session *self)
{
    const struct agent_request *request = &self->request;
    const struct target_ops *target = &self->protocol->target;
    const struct dial_context context = {.worker = self->place->worker,
                                         .pool = self->place->pool,
                                         .resolver = self->place->resolver,
                                         .cache = self->place->sign_ins,
                                         .commands = self->place->commands};
    if (self->is_cancel) {
        const struct stop_request stop = {.place = &self->target,
                                          .tls = self->tls,
                                          .key = request->key,
                                          .timeout_ms = request->timeout_ms};
        self->opening = target->stop(&context, &stop, agent_session_on_stopped, self);
        return;
    }
    const struct open_request open = {
        .place = &self->target,
        .tls = self->tls,
        .database = request->database,
        .parameters = request->parameters,
        .version = request->version,
        .timeout_ms = request->timeout_ms,
        .command = request->command,
    };
    self->opening = target->open(&context, &open, agent_session_on_target, self);
}

static void agent_session_on_resolved(struct mail *mail)
{
    struct agent_session *self = CONTAINER_OF(mail, struct agent_session, mail);
    if (self->is_gone) {
        agent_session_drop(self);
    } else if (self->err != ERR_NONE) {
        agent_session_fail(self, &self->error);
    } else {
        agent_session_go(self);
    }
}

static void agent_session_resolve(struct pool_job *job)
{
    struct agent_session *self = CONTAINER_OF(job, struct agent_session, job);
    struct shape_pairs plain;
    enum err err = secret_sources_resolve(&self->arena, SECRET_SOURCES_ALL,
                                          &self->request.variables, &plain, NULL, &self->error);
    if (err == ERR_NONE) {
        self->files_id = session_files_id_in(&self->arena);
        const struct place_owner owner = {.rules = &self->protocol->target.place,
                                          .arena = &self->arena,
                                          .files = self->place->files,
                                          .session_id = self->files_id};
        err = place_open(&owner, &plain, &self->target, &self->tls, &self->error);
    }
    self->err = err;
    mailbox_send(worker_mailbox(self->place->worker), &self->mail);
}

/* Keepers of secrets may be slow to answer, and must not hold up the sign-ins of others. */
static struct pool *agent_session_pool(const struct agent_session *self)
{
    const struct shape_pairs *variables = &self->request.variables;
    for (size_t i = 0; i < variables->count; i++) {
        if (secret_is_reference(variables->pairs[i].value)) {
            return self->place->slow_pool;
        }
    }
    return self->place->pool;
}

static void agent_session_start(const struct agent_kind *kind, const struct agent_place *place,
                                struct channel *take_channel, struct slice message)
{
    struct agent_session *self = memory_new(sizeof(*self));
    self->place = place;
    self->protocol = kind->protocol;
    self->channel = take_channel;
    self->is_cancel = kind->is_cancel;
    self->job.run = agent_session_resolve;
    self->mail.deliver = agent_session_on_resolved;
    arena_init(&self->arena);
    arena_hold_secrets(&self->arena);
    loop_task_init(&self->free_task, agent_session_free, self);
    worker_enter(place->worker);
    channel_on_gone(take_channel, agent_session_on_gone, self);
    enum err err = agent_request_read_in(&self->arena, message, &self->request, &self->error);
    if (err == ERR_NONE && self->is_cancel && self->request.key.secret.at == NULL) {
        err = fail(&self->error, ERR_INPUT, "it is not said what is to be cancelled");
    }
    if (err == ERR_NONE && pool_submit(agent_session_pool(self), &self->job) != ERR_NONE) {
        err = fail(&self->error, ERR_BUSY, "the agent is busy");
    }
    if (err != ERR_NONE) {
        agent_session_fail(self, &self->error);
    }
}

struct agent_kinds agent_session_kinds_in(struct arena *arena, const struct protocols *protocols)
{
    struct agent_kinds kinds = {.count = 0};
    kinds.items = arena_alloc_array(arena, 2 * protocols->count, sizeof(*kinds.items));
    for (size_t i = 0; i < protocols->count; i++) {
        const struct protocol *protocol = protocols->items[i];
        kinds.items[kinds.count++] =
            (struct agent_kind){.name = protocol_channel_in(arena, protocol, ""),
                                .serve = agent_session_start,
                                .protocol = protocol};
        if (protocol->target.stop != NULL) {
            kinds.items[kinds.count++] =
                (struct agent_kind){.name = protocol_channel_in(arena, protocol, PROTOCOL_CANCEL),
                                    .serve = agent_session_start,
                                    .protocol = protocol,
                                    .is_cancel = true};
        }
    }
    return kinds;
}
