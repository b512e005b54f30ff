/* SPDX-License-Identifier: MIT */
/* A recording as something that people or programs read, in constant memory: it goes out piece by
 * piece, and of a message no more than LIMIT_RECORDING_MESSAGE_SIZE is looked at. */
#ifndef GH_SESSION_RECORDING_EXPORT_H
#define GH_SESSION_RECORDING_EXPORT_H

#include "session/recording.h"
#include "session/replay.h"

enum recording_format {
    RECORDING_TEXT,      /* for a person, in a terminal */
    RECORDING_JSONL,     /* one object a line, for each statement, row, end, error … */
    RECORDING_CSV,       /* the rows of results, with a line of names before each result's */
    RECORDING_ASCIICAST, /* version 2, for a player of terminal sessions */
};

/* "text", "jsonl", "csv" or "asciicast"; ERR_INPUT. */
enum err recording_format_parse(struct slice name, enum recording_format *ret_format) MUST_USE;

/* Takes the bytes, or fails and so ends the export. */
typedef enum err (*recording_sink_fn)(void *context, struct slice bytes, struct error *reterr);

/* From where 'recording' stands (its start) to its end; 'find' says how its protocol is read. What
 * can be read is put out also when the rest cannot: then it fails as recording_next() does. */
enum err recording_export(struct recording *recording, replay_find_fn find,
                          enum recording_format format, recording_sink_fn sink, void *context,
                          struct error *reterr) MUST_USE;

#endif
