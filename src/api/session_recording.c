/* SPDX-License-Identifier: MIT */
/* Recordings as files, and whether they are what was written. */
#include "api/far_recording.h"
#include "api/reader_slots.h"
#include "api/sessions.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/hex.h"
#include "io/clock.h"
#include "session/recording_events.h"
#include "session/recording_export.h"
#include "session/recording_folder.h"

#include <inttypes.h>

#define PIECE_SIZE LIMIT_KIB(64)

/* Opening -------------------------------------------------------------------------------------- */

static enum err session_open_file(struct api_call *call, const struct session *session,
                                  struct recording **ret_recording, struct error *reterr)
{
    const struct api *api = call->api;
    const char *path =
        recording_path_in(call->arena, api->recordings, session->id, session->started_at);
    enum err err = recording_open(path, api->keys, ret_recording, reterr);
    if (err == ERR_NOT_FOUND) {
        err = far_recording_open(api->nodes, api->keys, session, ret_recording, reterr);
    }
    return err == ERR_NOT_FOUND
               ? fail(reterr, err,
                      "the recording of the session '%.*s' is not on this gateway: it is on "
                      "one that does not run, or was removed",
                      SLICE_ARG(session->id))
               : err;
}

enum err session_open_recording(struct api_call *call, const char *action,
                                struct session *ret_session, struct recording **ret_recording,
                                struct error *reterr)
{
    struct recording *recording = NULL;
    enum err err = session_load(call, ret_session, reterr);
    if (err == ERR_NONE) {
        err = reader_slots_take_in(call->arena, call->api->readers, call->caller.id, reterr);
    }
    if (err == ERR_NONE) {
        err = session_open_file(call, ret_session, &recording, reterr);
    }
    if (err == ERR_NONE) {
        struct slice payload = session_payload_in(call->arena, ret_session);
        err = api_audit_alone(call, action, 200, payload, reterr);
    }
    if (err != ERR_NONE) {
        recording_free(recording);
        return err;
    }
    *ret_recording = recording;
    return ERR_NONE;
}

/* The chain's head, which the store keeps, tells of blocks that were cut off at the end. */
static enum err session_check_head(struct arena *arena, const struct session *session,
                                   const struct recording *recording, struct error *reterr)
{
    struct recording_state state = recording_state(recording);
    struct slice head = hex_encode(arena, slice_of(state.head, sizeof(state.head)));
    if (session->ended_at == 0) {
        return ERR_NONE;
    }
    if (!slice_equals(head, session->recording_head)) {
        return fail(reterr, ERR_CONFLICT, "the recording does not end as it was written");
    }
    const char *fault = recording_fault(&state);
    return fault == NULL ? ERR_NONE : fail(reterr, ERR_CONFLICT, "%s", fault);
}

/* Download ------------------------------------------------------------------------------------- */

struct download_query {
    struct slice extension;
    struct slice events;
};

static const char *const download_extensions[] = {"csv", "json", "jsonl", "txt", "cast", NULL};

#define AT(member) .offset = offsetof(struct download_query, member)

static const struct shape_field download_query_fields[] = {
    {.name = "extension",
     .kind = SHAPE_TEXT,
     AT(extension),
     .choices = download_extensions,
     .about = "csv: rows; json: events; jsonl: statements, rows, errors; txt, which is taken when "
              "it is left out; cast: for a player of terminal sessions (asciicast 2)"},
    {.name = "events",
     .kind = SHAPE_TEXT,
     AT(events),
     .max = 8,
     .about = "of json, which of i, o and e; all when it is left out"},
};

const struct shape session_download_shape = {.name = "SessionDownload",
                                             .size = sizeof(struct download_query),
                                             SHAPE_FIELDS(download_query_fields)};

#undef AT

static const struct download_kind {
    const char *extension;
    const char *content_type;
    enum recording_format format;
    bool is_events;
} download_kinds[] = {
    {"txt", "text/plain; charset=utf-8", RECORDING_TEXT, false},
    {"csv", "text/csv; charset=utf-8", RECORDING_CSV, false},
    {"json", "application/json", RECORDING_TEXT, true},
    {"jsonl", "application/jsonl", RECORDING_JSONL, false},
    {"cast", "application/x-asciicast", RECORDING_ASCIICAST, false},
};

static const struct download_kind *download_kind_of(struct slice extension)
{
    for (size_t i = 0; i < COUNT_OF(download_kinds); i++) {
        if (slice_equals(extension, slice_of_text(download_kinds[i].extension))) {
            return &download_kinds[i];
        }
    }
    return &download_kinds[0];
}

struct download {
    struct api_call *call;
    struct session session;
    struct recording *recording;
    struct slice wanted; /* of the types of events */
    struct buf out;
    bool has_event;
    enum err err; /* of the client's connection */
};

static enum err download_send(struct download *self)
{
    if (self->err == ERR_NONE) {
        self->err = http_call_stream_write(self->call->http, buf_view(&self->out));
    }
    buf_truncate(&self->out, 0);
    return self->err;
}

/* Small pieces go out together. */
static enum err download_take(void *context, struct slice bytes, struct error *reterr)
{
    struct download *self = context;
    (void)reterr;
    while (bytes.len > 0 && self->err == ERR_NONE) {
        struct slice part = slice_sub(bytes, 0, PIECE_SIZE - self->out.len);
        bytes = slice_from(bytes, part.len);
        self->err = buf_append(&self->out, part);
        if (self->out.len >= PIECE_SIZE) {
            (void)download_send(self);
        }
    }
    return self->err;
}

static void download_take_event(void *context, const struct recording_event *event)
{
    struct download *self = context;
    if (event->is_last ||
        (self->wanted.len > 0 && slice_find_byte(self->wanted, event->type) == self->wanted.len)) {
        return;
    }
    struct buf buf;
    buf_init(&buf, LIMIT_HTTP_FEED_SIZE);
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_timestamp(&json, "time", event->time);
    json_member_text(&json, "type", slice_of(&event->type, 1));
    json_member_text(&json, "stream", event->text);
    json_end_object(&json);
    (void)download_take(self, self->has_event ? SLICE(",\n") : SLICE("[\n"), NULL);
    self->err = self->err == ERR_NONE ? json_writer_done(&json) : self->err;
    (void)download_take(self, buf_view(&buf), NULL);
    self->has_event = true;
    buf_release(&buf);
}

static enum err download_events(struct download *self, struct error *reterr)
{
    struct recording_events *events = recording_events_new(
        self->recording, self->call->api->find_replay, download_take_event, self);
    enum err err = ERR_NONE;
    while (err == ERR_NONE && self->err == ERR_NONE) {
        err = recording_events_next(events, reterr);
    }
    if (err == ERR_CLOSED || err == ERR_AGAIN) {
        err = session_check_head(self->call->arena, &self->session, self->recording, reterr);
    }
    recording_events_free(events); /* and the recording */
    self->recording = NULL;
    return err == ERR_NONE
               ? download_take(self, self->has_event ? SLICE("\n]\n") : SLICE("[]\n"), reterr)
               : err;
}

static enum err download_run(struct download *self, const struct download_kind *kind,
                             struct error *reterr)
{
    if (kind->is_events) {
        return download_events(self, reterr);
    }
    enum err err = recording_export(self->recording, self->call->api->find_replay, kind->format,
                                    download_take, self, reterr);
    return err == ERR_NONE
               ? session_check_head(self->call->arena, &self->session, self->recording, reterr)
               : err;
}

/* A recording that is damaged ends with the connection, so that nobody takes it for whole. */
enum err sessions_download(struct api_call *call, struct error *reterr)
{
    struct download_query query = {0};
    struct download self = {.call = call};
    enum err err = api_read_query(call, &session_download_shape, &query, reterr);
    if (err == ERR_NONE) {
        err = session_open_recording(call, "download", &self.session, &self.recording, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct download_kind *kind = download_kind_of(query.extension);
    self.wanted = query.events;
    call->response->content_type = slice_of_text(kind->content_type);
    http_response_header(call->response, SLICE("Content-Disposition"),
                         arena_format(call->arena, "attachment; filename=\"%.*s.%s\"",
                                      SLICE_ARG(self.session.id), kind->extension));
    buf_init(&self.out, PIECE_SIZE);
    err = http_call_stream_begin(call->http);
    if (err == ERR_NONE) {
        err = download_run(&self, kind, reterr);
    }
    if (err == ERR_NONE) {
        err = download_send(&self);
    }
    buf_release(&self.out);
    recording_free(self.recording);
    return err;
}

/* With the session ----------------------------------------------------------------------------- */

struct event_list {
    struct arena *arena;
    struct json_writer *json;
    int64_t started_at;
    bool is_base64;
    bool is_full;
    size_t size;
};

static void event_list_take(void *context, const struct recording_event *event)
{
    struct event_list *self = context;
    int64_t since = event->time < self->started_at ? 0 : event->time - self->started_at;
    self->is_full = self->is_full || self->size + event->text.len > LIMIT_SESSION_EVENTS_SIZE;
    if (event->is_last || self->is_full) {
        return;
    }
    self->size += event->text.len;
    json_begin_array(self->json);
    json_raw(self->json, arena_format(self->arena, "%" PRId64 ".%06" PRId64,
                                      since / TIMESTAMP_SECOND, since % TIMESTAMP_SECOND));
    json_text(self->json, slice_of(&event->type, 1));
    json_text(self->json, self->is_base64
                              ? base64_encode_in(self->arena, BASE64_STANDARD, event->text)
                              : event->text);
    json_end_array(self->json);
}

enum err session_write_events(struct api_call *call, bool is_base64, struct json_writer *json,
                              struct error *reterr)
{
    struct session session;
    struct recording *recording = NULL;
    enum err err = session_open_recording(call, "view", &session, &recording, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct event_list list = {.arena = call->arena,
                              .json = json,
                              .started_at = session.started_at,
                              .is_base64 = is_base64};
    struct recording_events *events =
        recording_events_new(recording, call->api->find_replay, event_list_take, &list);
    json_member_array(json, "event_stream");
    while (err == ERR_NONE && !list.is_full) {
        err = recording_events_next(events, reterr);
    }
    json_end_array(json);
    json_member_int(json, "event_size", (int64_t)list.size);
    json_member_bool(json, "truncated", list.is_full);
    recording_events_free(events);
    return err == ERR_CLOSED || err == ERR_AGAIN ? ERR_NONE : err;
}

/* Is it whole ---------------------------------------------------------------------------------- */

static enum err session_read_all(struct recording *recording, struct error *reterr)
{
    struct record record;
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        err = recording_next(recording, &record, reterr);
    }
    return err == ERR_CLOSED ? ERR_NONE : err;
}

enum err sessions_verify(struct api_call *call, struct error *reterr)
{
    struct session session;
    struct recording *recording = NULL;
    struct error error = {0};
    enum err err = session_open_recording(call, "verify", &session, &recording, reterr);
    if (err != ERR_NONE && err != ERR_CONFLICT && err != ERR_INPUT) {
        return err;
    }
    error = err == ERR_NONE ? error : *reterr;
    struct recording_state state = {0};
    if (recording != NULL) {
        err = session_read_all(recording, &error);
        err = err == ERR_NONE ? session_check_head(call->arena, &session, recording, &error) : err;
        state = recording_state(recording);
        recording_free(recording);
    }
    bool is_open = err == ERR_NONE && session.ended_at == 0;
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "recording_status",
                     err != ERR_NONE ? SLICE("damaged")
                     : is_open       ? SLICE("open")
                                     : SLICE("whole"));
    json_member_text(&json, "message",
                     err != ERR_NONE ? slice_of_text(error.message) : session.recording_error);
    json_member_int(&json, "records", (int64_t)state.record_count);
    json_member_int(&json, "size", (int64_t)state.size);
    json_member_text(&json, "session", session.id);
    json_member_text(&json, "hash",
                     state.record_count == 0
                         ? SLICE("")
                         : hex_encode(call->arena, slice_of(state.head, sizeof(state.head))));
    json_member_timestamp(&json, "checked_at", clock_now());
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
