/* SPDX-License-Identifier: MIT */
/* A recording as events: when, from which side, and a text that a person reads. Follows a session
 * while it is recorded: at the end of what is there the next call goes on with what came since. */
#ifndef GH_SESSION_RECORDING_EVENTS_H
#define GH_SESSION_RECORDING_EVENTS_H

#include "session/recording.h"
#include "session/replay.h"

struct recording_event {
    uint64_t number; /* from 1; the same whenever the recording is read */
    int64_t time;
    char type;         /* 'i' from the client, 'o' to it, 'e' what failed or the gateway did */
    bool is_last;      /* the session ended; the text is JSON */
    struct slice text; /* no more than LIMIT_RECORDING_MESSAGE_SIZE bytes of what there was */
};

/* Everything in it is valid during the call. */
typedef void (*recording_event_fn)(void *context, const struct recording_event *event);

struct recording_events;

/* 'recording' stands at its start; 'find' says how its protocol is read. */
struct recording_events *recording_events_new(struct recording *take_recording, replay_find_fn find,
                                              recording_event_fn visit, void *context);
/* The text of each event is a line of JSON then, as of an export; also that of the last one. */
void recording_events_use_json(struct recording_events *events);
void recording_events_free(struct recording_events *events);

/* One record further: tells of none, one or several events. ERR_AGAIN: nothing more as yet, but it
 * is still being written. ERR_CLOSED: this is all. Otherwise as recording_next(). */
enum err recording_events_next(struct recording_events *events, struct error *reterr) MUST_USE;

#endif
