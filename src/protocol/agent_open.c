/* SPDX-License-Identifier: MIT */
#include "protocol/agent_open.h"

#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"

#include <stdio.h>

#define GRACE_MS 2000 /* the agent's own words about its deadline come before this */

struct agent_open {
    struct opening opening;
    const struct protocol *protocol;
    struct loop *loop;
    struct channel *channel; /* NULL: it was never asked for */
    struct arena arena;      /* wiped */
    struct error error;
    struct timer deadline;
    struct loop_task task; /* fails, or frees */
    opened_fn on_done;
    stopped_fn on_stopped;
    void *owner;
};

static void agent_open_free(void *owner)
{
    struct agent_open *self = owner;
    arena_release(&self->arena);
    memory_free(self);
}

static void agent_open_leave(struct agent_open *self)
{
    timer_stop(&self->deadline);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, agent_open_free, self);
    loop_defer(self->loop, &self->task);
}

void agent_open_tell_failure(const struct protocol *protocol, const struct error *error,
                             opened_fn on_done, void *owner)
{
    struct target_failure failure = {.stage = TARGET_STAGE_AGENT, .error = *error};
    struct buf answer;
    char message[sizeof(error->message) + 64];
    (void)snprintf(message, sizeof(message), "the target cannot be reached: %s", error->message);
    buf_init(&answer, LIMIT_KIB(4));
    const struct ending_words words = {
        .why = ENDING_CONNECTION, .code = SLICE(""), .message = slice_of_text(message)};
    must(protocol->target.write_answer(&words, failure.code, &answer) == ERR_NONE);
    failure.answer = buf_view(&answer);
    on_done(owner, NULL, &failure);
    buf_release(&answer);
}

/* In the words of the agent, or of the server behind it. */
static void agent_open_hand_on(struct agent_open *self, const struct agent_failure *told)
{
    struct target_failure failure = {.answer = told->answer, .host_key = told->host_key};
    enum err err = ERR_UNAVAILABLE;
    agent_cause_read(told, &failure.stage, &err);
    must(fail(&failure.error, err, "%.*s", SLICE_ARG(told->message)) == err);
    memcpy(failure.code, told->code.at, sizeof(failure.code) - 1);
    agent_open_leave(self);
    self->on_done(self->owner, NULL, &failure);
}

static void agent_open_fail(struct agent_open *self, const struct error *error)
{
    agent_open_leave(self);
    if (self->on_stopped != NULL) {
        self->on_stopped(self->owner, error);
    } else {
        agent_open_tell_failure(self->protocol, error, self->on_done, self->owner);
    }
}

static void agent_open_on_bad_start(void *owner)
{
    struct agent_open *self = owner;
    agent_open_fail(self, &self->error);
}

static void agent_open_on_deadline(void *owner)
{
    struct agent_open *self = owner;
    link_open_cancel(self->channel);
    must(fail(&self->error, ERR_TIMEOUT, "the agent does not answer") == ERR_TIMEOUT);
    agent_open_fail(self, &self->error);
}

/* What the agent says --------------------------------------------------------------------------
 * It is another program on another machine, and passes on what a server says: nothing of it is
 * taken for good. */

static bool agent_open_is_code(struct slice code)
{
    bool is_one = code.len == TARGET_CODE_SIZE - 1;
    for (size_t i = 0; i < code.len; i++) {
        bool is_digit = code.at[i] >= '0' && code.at[i] <= '9';
        is_one = is_one && (is_digit || (code.at[i] >= 'A' && code.at[i] <= 'Z'));
    }
    return is_one;
}

static void agent_open_on_refused(struct agent_open *self, struct slice message,
                                  const struct error *error)
{
    struct agent_failure told;
    struct ending_words words;
    bool is_told = error->code == ERR_DENIED && message.len > 0 &&
                   agent_failure_read_in(&self->arena, message, &told, &self->error) == ERR_NONE &&
                   self->protocol->target.read_answer(told.answer, &words) &&
                   agent_open_is_code(told.code);
    if (is_told && self->on_stopped != NULL) {
        must(fail(&self->error, ERR_UNAVAILABLE, "%.*s", SLICE_ARG(told.message)) != ERR_NONE);
        agent_open_fail(self, &self->error);
    } else if (is_told) {
        agent_open_hand_on(self, &told);
    } else {
        agent_open_fail(self, error);
    }
}

static void agent_open_on_opened(void *owner, struct stream *take_stream, struct slice message,
                                 const struct error *error)
{
    struct agent_open *self = owner;
    struct arrival arrival;
    self->channel = NULL;
    if (take_stream == NULL) {
        agent_open_on_refused(self, message, error);
        return;
    }
    if (self->on_stopped != NULL) {
        stream_close(take_stream);
        agent_open_leave(self);
        self->on_stopped(self->owner, NULL);
        return;
    }
    if (agent_ready_read_in(&self->arena, message, &arrival, &self->error) != ERR_NONE ||
        self->protocol->target.check_arrival(&arrival, &self->error) != ERR_NONE) {
        stream_close(take_stream);
        error_prefix(&self->error, "the agent's answer: ");
        agent_open_fail(self, &self->error);
        return;
    }
    arrival.take_stream = take_stream;
    agent_open_leave(self);
    self->on_done(self->owner, &arrival, NULL);
}

static void agent_open_cancel(struct opening *opening)
{
    struct agent_open *self = CONTAINER_OF(opening, struct agent_open, opening);
    if (self->channel != NULL) {
        link_open_cancel(self->channel);
    }
    agent_open_leave(self);
}

static struct agent_open *agent_open_new(const struct agent_opening *how, const char *suffix,
                                         const struct agent_request *request)
{
    struct agent_open *self = memory_new(sizeof(*self));
    struct buf message;
    self->opening.cancel = agent_open_cancel;
    self->loop = how->loop;
    self->protocol = how->protocol;
    arena_init(&self->arena);
    arena_hold_secrets(&self->arena);
    timer_init(&self->deadline, agent_open_on_deadline, self);
    loop_task_init(&self->task, agent_open_on_bad_start, self);
    buf_init(&message, LIMIT_TUNNEL_MESSAGE_SIZE);
    if (agent_request_write(request, &message) != ERR_NONE) {
        must(fail(&self->error, ERR_LIMIT, "what the agent is to be told is too long") ==
             ERR_LIMIT);
        loop_defer(how->loop, &self->task);
    } else {
        const struct channel_request channel = {
            .kind = protocol_channel_in(&self->arena, how->protocol, suffix),
            .message = buf_view(&message)};
        self->channel = link_open(how->link, &channel, agent_open_on_opened, self);
        timer_start(how->loop, &self->deadline, request->timeout_ms + GRACE_MS);
    }
    buf_wipe(&message);
    buf_release(&message);
    return self;
}

struct opening *agent_open_start(const struct agent_opening *how,
                                 const struct agent_request *request, opened_fn on_done,
                                 void *owner)
{
    struct agent_open *self = agent_open_new(how, "", request);
    self->on_done = on_done;
    self->owner = owner;
    return &self->opening;
}

struct opening *agent_stop_start(const struct agent_opening *how,
                                 const struct agent_request *request, stopped_fn on_done,
                                 void *owner)
{
    struct agent_open *self = agent_open_new(how, PROTOCOL_CANCEL, request);
    self->on_stopped = on_done;
    self->owner = owner;
    return &self->opening;
}
