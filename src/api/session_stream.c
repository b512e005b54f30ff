/* SPDX-License-Identifier: MIT */
/* A session as it goes on, as server-sent events: all that is on record, then what comes, until it
 * ends. All of it is read from the recording, so that a slow reader misses nothing and delays
 * nobody; a client that lost its connection goes on after the last event it has (Last-Event-ID). */
#include "api/sessions.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "http/feed.h"
#include "io/clock.h"
#include "session/recording_events.h"

#include <inttypes.h>

#define RECORDS_AT_ONCE 4096 /* before others have their turn */

struct session_stream {
    struct api_call call; /* its request, to ask again who reads; not its HTTP call */
    struct slice user_id; /* whose session it is */
    struct recording_events *events;
    uint64_t seen; /* the number of the last event that the client has */
    struct buf *out;
    struct arena scratch;
    enum err err; /* of the text for one event */
    bool was_told_of_end;
    int64_t checked_at;
    int64_t written_at;
};

static void follow_write(struct session_stream *self, struct slice text)
{
    if (self->err == ERR_NONE) {
        self->err = buf_append(self->out, text);
    }
}

static void follow_write_end(struct session_stream *self, struct slice reason)
{
    follow_write(self, SLICE("event: session_end\ndata: "));
    follow_write(self, reason);
    follow_write(self, SLICE("\n\n"));
    self->was_told_of_end = true;
}

static void follow_on_event(void *context, const struct recording_event *event)
{
    struct session_stream *self = context;
    if (event->is_last) {
        follow_write_end(self, event->text);
        return;
    }
    if (event->number <= self->seen) {
        return;
    }
    follow_write(
        self, arena_format(&self->scratch, "id: %" PRIu64 "\nevent: event\ndata: ", event->number));
    if (self->err == ERR_NONE) {
        struct json_writer json = json_writer_to(self->out);
        json_begin_object(&json);
        json_member_timestamp(&json, "time", event->time);
        json_member_text(&json, "type", slice_of(&event->type, 1));
        json_member_text(&json, "payload",
                         base64_encode_in(&self->scratch, BASE64_STANDARD, event->text));
        json_end_object(&json);
        self->err = json_writer_done(&json);
    }
    follow_write(self, SLICE("\n\n"));
    arena_reset(&self->scratch);
}

/* Who reads for hours may have lost the right to meanwhile. A store that does not answer ends
 * nothing; whom the identity provider must be asked about asks again himself. */
static bool follow_may_go_on(struct session_stream *self, int64_t now)
{
    struct caller caller;
    struct error error;
    if (now - self->checked_at < TIMESTAMP_SECOND) {
        return true;
    }
    self->checked_at = now;
    enum err err = api_verify_again(&self->call, &self->scratch, &caller, &error);
    bool may =
        err == ERR_NONE && (slice_equals(caller.id, self->user_id) || caller_reads_all(&caller));
    arena_reset(&self->scratch);
    return may || (err != ERR_NONE && err != ERR_UNAUTHENTICATED && err != ERR_AGAIN);
}

static enum err follow_read(struct session_stream *self, struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < RECORDS_AT_ONCE && self->out->len < LIMIT_KIB(64); i++) {
        err = recording_events_next(self->events, reterr);
        if (self->err != ERR_NONE) {
            return fail(reterr, self->err, "an event is too large");
        }
        if (err != ERR_NONE) {
            return err;
        }
    }
    return ERR_MORE;
}

static enum err follow_next(void *context, struct buf *out, struct error *reterr)
{
    struct session_stream *self = context;
    int64_t now = clock_now();
    self->out = out;
    if (!follow_may_go_on(self, now)) {
        return ERR_CLOSED; /* who asks again hears why */
    }
    enum err err = follow_read(self, reterr);
    if (err == ERR_CLOSED && !self->was_told_of_end) {
        follow_write_end(self, SLICE("{\"reason\":\"the recording ends here\"}"));
    }
    if (out->len > 0 || now < self->written_at) {
        self->written_at = now;
    } else if (now - self->written_at > LIMIT_SESSION_STREAM_ALIVE_S * TIMESTAMP_SECOND) {
        follow_write(self, SLICE(": still here\n\n"));
        self->written_at = now;
    }
    return err == ERR_AGAIN ? ERR_NONE : err;
}

static void follow_end(void *at)
{
    struct session_stream *self = at;
    recording_events_free(self->events);
    arena_release(&self->scratch);
}

static enum err follow_read_last(const struct api_call *call, uint64_t *ret_last,
                                 struct error *reterr)
{
    struct slice text = http_request_header(call->request, SLICE("Last-Event-ID"));
    *ret_last = 0;
    return text.len == 0 || text_parse_u64(text, ret_last) == ERR_NONE
               ? ERR_NONE
               : fail(reterr, ERR_INPUT, "'Last-Event-ID' must be the id of an event");
}

enum err sessions_stream(struct api_call *call, struct error *reterr)
{
    struct session session;
    struct recording *recording = NULL;
    uint64_t seen = 0;
    enum err err = follow_read_last(call, &seen, reterr);
    if (err == ERR_NONE) {
        err = session_open_recording(call, "stream", &session, &recording, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct session_stream *self = arena_alloc(call->arena, sizeof(*self));
    self->call = *call;
    self->call.http = NULL;
    self->user_id = session.user_id;
    self->seen = seen;
    self->checked_at = self->written_at = clock_now();
    self->events = recording_events_new(recording, call->api->find_replay, follow_on_event, self);
    arena_init(&self->scratch);
    arena_on_end(call->arena, follow_end, self);
    call->response->status = 200;
    call->response->content_type = SLICE("text/event-stream");
    http_response_header(call->response, SLICE("X-Accel-Buffering"), SLICE("no"));
    http_call_feed(call->http, &(struct http_feed){.next = follow_next,
                                                   .context = self,
                                                   .pause_ms = LIMIT_SESSION_STREAM_PAUSE_MS});
    return ERR_NONE;
}
