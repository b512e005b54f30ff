/* SPDX-License-Identifier: MIT */
/* All that came of a script, from its recording, as long as it goes on. */
#include "api/handlers.h"
#include "api/sessions.h"
#include "base/memory.h"
#include "http/feed.h"
#include "session/recording_events.h"

struct result_query {
    struct slice results;
};

static const char *const result_forms[] = {"text", "jsonl", NULL};

static const struct shape_field result_query_fields[] = {
    {.name = "results",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct result_query, results),
     .choices = result_forms,
     .about = "jsonl: an object a line for the columns, each row, the end and the error of a "
              "statement, and one of type 'close' at the end of the session; text when it is left "
              "out"},
};

const struct shape result_query_shape = {
    .name = "ResultQuery", .size = sizeof(struct result_query), SHAPE_FIELDS(result_query_fields)};

struct execution_follow {
    struct recording_events *events;
    struct buf *out;
    bool is_json;
    enum err err;
};

static void execution_on_event(void *context, const struct recording_event *event)
{
    struct execution_follow *self = context;
    bool is_shown = self->is_json || !event->is_last; /* as JSON the end is told, too */
    if (is_shown && event->type != 'i' && self->err == ERR_NONE) {
        self->err = buf_append(self->out, event->text);
    }
}

static enum err execution_next(void *context, struct buf *out, struct error *reterr)
{
    struct execution_follow *self = context;
    enum err err = ERR_NONE;
    self->out = out;
    while (err == ERR_NONE && out->len < LIMIT_KIB(64)) {
        err = recording_events_next(self->events, reterr);
        err = self->err == ERR_NONE ? err : fail(reterr, self->err, "an event is too large");
    }
    return err == ERR_AGAIN ? ERR_NONE : err == ERR_NONE ? ERR_MORE : err;
}

static void execution_end_follow(void *at)
{
    struct execution_follow *self = at;
    recording_events_free(self->events);
}

/* What the session's client got, as it is on record, until the session is over. */
enum err sessions_get_result(struct api_call *call, struct error *reterr)
{
    struct session session;
    struct recording *recording = NULL;
    struct result_query query = {0};
    enum err err = api_read_query(call, &result_query_shape, &query, reterr);
    if (err == ERR_NONE) {
        err = session_open_recording(call, "view", &session, &recording, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct execution_follow *self = arena_alloc(call->arena, sizeof(*self));
    self->is_json = slice_equals(query.results, SLICE("jsonl"));
    self->events =
        recording_events_new(recording, call->api->find_replay, execution_on_event, self);
    if (self->is_json) {
        recording_events_use_json(self->events);
    }
    arena_on_end(call->arena, execution_end_follow, self);
    call->response->status = 200;
    call->response->content_type =
        self->is_json ? SLICE("application/jsonl") : SLICE("text/plain; charset=utf-8");
    http_call_feed(call->http, &(struct http_feed){.next = execution_next,
                                                   .context = self,
                                                   .pause_ms = LIMIT_SESSION_STREAM_PAUSE_MS});
    return ERR_NONE;
}
