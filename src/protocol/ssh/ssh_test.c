/* SPDX-License-Identifier: MIT */
/* Whether a server can be reached and lets the connection's user in. Nothing is asked of it: that
 * it did is the answer. */
#include "base/limits.h"
#include "base/memory.h"
#include "protocol/ssh/ssh.h"

#define VERSION "SSH-2.0"

struct sshd_test {
    struct query query;
    struct stream *stream;
    struct loop *loop;
    struct arena *arena;
    query_done_fn on_done;
    void *owner;
    struct loop_task task;
};

static void sshd_test_free(void *owner)
{
    memory_free(owner);
}

static void sshd_test_leave(struct sshd_test *self)
{
    stream_close(self->stream);
    loop_task_cancel(&self->task);
    loop_task_init(&self->task, sshd_test_free, self);
    loop_defer(self->loop, &self->task);
}

static void sshd_test_cancel(struct query *query)
{
    sshd_test_leave(CONTAINER_OF(query, struct sshd_test, query));
}

static void sshd_test_on_event(void *owner, unsigned events)
{
    (void)owner; /* nothing is watched */
    (void)events;
}

static void sshd_test_tell(void *owner)
{
    struct sshd_test *self = owner;
    struct query_row *row = arena_alloc(self->arena, sizeof(*row));
    row->values = arena_alloc_array(self->arena, 1, sizeof(*row->values));
    row->values[0] = SLICE(VERSION);
    const struct query_rows rows = {.first = row, .count = 1};
    sshd_test_leave(self);
    self->on_done(self->owner, &rows, NULL);
}

static struct query *sshd_test_start(struct stream *take_stream,
                                     const struct query_settings *settings, query_done_fn on_done,
                                     void *owner)
{
    struct sshd_test *self = memory_new(sizeof(*self));
    self->query.cancel = sshd_test_cancel;
    self->stream = take_stream;
    self->loop = take_stream->loop;
    self->arena = settings->arena;
    self->on_done = on_done;
    self->owner = owner;
    stream_own(take_stream, sshd_test_on_event, self);
    loop_task_init(&self->task, sshd_test_tell, self);
    loop_defer(self->loop, &self->task);
    return &self->query;
}

static enum target_problem sshd_test_problem_of_open(const struct target_failure *failure)
{
    if (failure->error.code == ERR_TIMEOUT) {
        return TARGET_PROBLEM_TIMEOUT;
    }
    switch (failure->stage) {
    case TARGET_STAGE_AGENT:
        return TARGET_PROBLEM_AGENT;
    case TARGET_STAGE_NETWORK:
        return TARGET_PROBLEM_NETWORK;
    case TARGET_STAGE_TLS:
        return TARGET_PROBLEM_SERVER; /* it is not the one that it should be */
    case TARGET_STAGE_SIGN_IN:
        break;
    }
    return failure->error.code == ERR_UNAUTHENTICATED ? TARGET_PROBLEM_CREDENTIALS
                                                      : TARGET_PROBLEM_SERVER;
}

static enum target_problem sshd_test_problem_of_query(const struct query_failure *failure)
{
    (void)failure; /* nothing is asked that could fail */
    return TARGET_PROBLEM_QUERY;
}

const struct catalog_ops sshd_catalog_ops = {
    .database = SLICE_INIT(""),
    .schema = SLICE_INIT(""),
    .texts = {[CATALOG_TEST] = ""},
    .query = sshd_test_start,
    .problem_of_open = sshd_test_problem_of_open,
    .problem_of_query = sshd_test_problem_of_query,
};
