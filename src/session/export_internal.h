/* SPDX-License-Identifier: MIT */
/* What the formats of an export share. Each has a function that takes one event and appends to
 * 'out'; whatever may be long is sent on piece by piece. */
#ifndef GH_SESSION_EXPORT_INTERNAL_H
#define GH_SESSION_EXPORT_INTERNAL_H

#include "base/writer.h"
#include "session/recording_export.h"

struct export
{
    struct recording *recording;
    const struct replay *replay; /* that tells it the events; asciicast alone asks */
    recording_sink_fn sink;
    void *sink_context;
    bool is_cast;       /* text goes out as what a terminal printed */
    bool is_bare;       /* text without time and number; statements as they were sent */
    int64_t started_at; /* of the first record */
    int64_t time;       /* of the event */
    bool has_result;    /* CSV: one was begun */
    bool has_columns;   /* CSV: and its names */
    bool has_terminal;  /* there was one in the session */
    bool has_cast_head; /* asciicast: its first line is out */
    int64_t cast_width;
    int64_t cast_height;
    struct buf cast_input; /* of a terminal: the first bytes of a character */
    struct buf cast_output;
    struct buf out;
    struct buf scratch; /* of one value */
    struct error *reterr;
    enum err err; /* of the sink: nothing more goes out */
};

/* Sends what is in 'out', all of it or when it is much. */
void export_send(struct export *export);
void export_drain(struct export *export);

/* Appends the text with everything escaped that a terminal would obey. Of a block, further lines
 * are indented; otherwise ends of lines and tabs are written as \n and \t, and \ as \\. */
void export_plain(struct export *export, struct slice text, bool is_block);

/* "client", "target" or "gateway". */
const char *export_side_name(enum record_side side);

void export_text_event(struct export *export, const struct replay_event *event);
void export_json_event(struct export *export, const struct replay_event *event);
void export_csv_event(struct export *export, const struct replay_event *event);

/* The recording ends without its last record. */
void export_text_end(struct export *export, const struct recording_state *state);
void export_json_end(struct export *export, const struct recording_state *state);

/* asciicast: its first line, and 'text' as a line of its own. */
void export_cast_start(struct export *export);
void export_cast_send(struct export *export, struct slice text);
/* Likewise, of a terminal: what was typed and shown. */
void export_cast_terminal(struct export *export, const struct replay_event *event);

#endif
