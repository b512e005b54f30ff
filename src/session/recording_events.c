/* SPDX-License-Identifier: MIT */
#include "session/recording_events.h"

#include "base/limits.h"
#include "base/memory.h"
#include "session/export_internal.h"

#define EVENT_OUT_SIZE (LIMIT_RECORDING_MESSAGE_SIZE * 12)

struct recording_events {
    struct recording *recording;
    struct replay *replay;
    struct export export;
    struct recording_event event;
    recording_event_fn visit;
    void *context;
    bool is_json;
    bool was_released; /* no recorder had it open when it was last read to its end */
};

static char recording_event_type(const struct replay_event *event)
{
    switch (event->kind) {
    case REPLAY_STATEMENT:
    case REPLAY_COPY_FAILED:
        return 'i';
    case REPLAY_COPY:
    case REPLAY_BYTES:
        return event->side == RECORD_FROM_CLIENT ? 'i' : 'o';
    case REPLAY_TERMINAL:
        return slice_equals(event->name, SLICE("size"))     ? 'r'
               : slice_equals(event->name, SLICE("hidden")) ? 'm'
               : event->side == RECORD_FROM_CLIENT          ? 'i'
                                                            : 'o';
    case REPLAY_OUTPUT:
        return event->side == RECORD_FROM_CLIENT            ? 'i'
               : slice_equals(event->name, SLICE("stderr")) ? 'e'
                                                            : 'o';
    case REPLAY_ERROR:
    case REPLAY_SKIPPED:
    case REPLAY_TOTAL:
    case REPLAY_NOTE:
    case REPLAY_CLOSE:
        return 'e';
    case REPLAY_OPEN:
    case REPLAY_COLUMNS:
    case REPLAY_ROW:
    case REPLAY_DONE:
    case REPLAY_SUSPENDED:
    case REPLAY_COUNT:
    case REPLAY_NOTICE:
    case REPLAY_NOTIFICATION:
        break;
    }
    return 'o';
}

/* What is long comes in pieces, each an event. */
static enum err recording_events_send(void *context, struct slice bytes, struct error *reterr)
{
    struct recording_events *self = context;
    (void)reterr;
    self->event.number++;
    self->event.text = bytes;
    self->visit(self->context, &self->event);
    return ERR_NONE;
}

static enum err recording_events_visit(void *context, const struct replay_event *event,
                                       struct error *reterr)
{
    struct recording_events *self = context;
    self->event.time = event->time;
    self->event.type = recording_event_type(event);
    self->event.is_last = event->kind == REPLAY_CLOSE;
    if (self->event.is_last && !self->is_json) {
        return recording_events_send(self, event->text, reterr);
    }
    if (event->kind != REPLAY_OPEN) { /* that is the session, which who asks for this has */
        (self->is_json ? export_json_event : export_text_event)(&self->export, event);
        export_send(&self->export);
    }
    return ERR_NONE;
}

struct recording_events *recording_events_new(struct recording *take_recording, replay_find_fn find,
                                              recording_event_fn visit, void *context)
{
    struct recording_events *self = memory_new(sizeof(*self));
    self->recording = take_recording;
    self->replay = replay_new(find, recording_events_visit, self);
    self->visit = visit;
    self->context = context;
    self->export.recording = take_recording;
    self->export.sink = recording_events_send;
    self->export.sink_context = self;
    self->export.is_bare = true;
    buf_init(&self->export.out, EVENT_OUT_SIZE);
    buf_init(&self->export.scratch, LIMIT_RECORDING_MESSAGE_SIZE * 2 + 2);
    return self;
}

void recording_events_use_json(struct recording_events *events)
{
    events->is_json = true;
}

void recording_events_free(struct recording_events *events)
{
    if (events == NULL) {
        return;
    }
    replay_free(events->replay);
    recording_free(events->recording);
    buf_release(&events->export.out);
    buf_release(&events->export.scratch);
    memory_free(events);
}

/* The session has ended when its last record says so, or when no recorder has the file open any
 * more: then the file is read once again, for what was written before the recorder closed it. */
static enum err recording_events_end(struct recording_events *self, struct error *reterr)
{
    struct recording_state state = recording_state(self->recording);
    if (state.is_closed || self->was_released) {
        enum err err = replay_end(self->replay, reterr);
        return err == ERR_NONE ? ERR_CLOSED : err;
    }
    self->was_released = !state.is_written_to;
    recording_look_again(self->recording);
    return self->was_released ? ERR_NONE : ERR_AGAIN;
}

enum err recording_events_next(struct recording_events *events, struct error *reterr)
{
    struct record record;
    enum err err = recording_next(events->recording, &record, reterr);
    if (err == ERR_CLOSED) {
        return recording_events_end(events, reterr);
    }
    return err == ERR_NONE ? replay_add(events->replay, &record, reterr) : err;
}
