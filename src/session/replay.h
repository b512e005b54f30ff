/* SPDX-License-Identifier: MIT */
/* What happened in a session, from the records of its PostgreSQL messages: which statement ran with
 * which values, and what came back for which. In constant memory: bodies are collected up to
 * LIMIT_RECORDING_MESSAGE_SIZE, and what is remembered of prepared statements has limits, too.
 * Not all messages are on record (proxy/pg_tap.h): whose an answer is follows from those that are.
 * Messages that do not fit together (some may not have been kept) are passed over. */
#ifndef GH_SESSION_REPLAY_H
#define GH_SESSION_REPLAY_H

#include "base/reader.h"
#include "session/record.h"

enum replay_kind {
    REPLAY_OPEN,         /* text: JSON */
    REPLAY_STATEMENT,    /* text, and the values of its parameters */
    REPLAY_COLUMNS,      /* of the rows that follow: the shape has their names */
    REPLAY_ROW,          /* values */
    REPLAY_DONE,         /* text: the command tag; empty: there was nothing to run */
    REPLAY_SUSPENDED,    /* as many rows as were asked for came, there may be more */
    REPLAY_SKIPPED,      /* it did not run, because one before it failed */
    REPLAY_COUNT,        /* count */
    REPLAY_ERROR,        /* text: fields as of pgwire_notice_next() */
    REPLAY_NOTICE,       /* likewise */
    REPLAY_NOTIFICATION, /* text: the payload; name: the channel */
    REPLAY_COPY,         /* text: data, from either side */
    REPLAY_COPY_FAILED,  /* text: why the client ended it */
    REPLAY_NOTE,         /* text: JSON */
    REPLAY_CLOSE,        /* text: JSON */
};

/* The columns of a result, or the parameters of a statement. */
struct replay_shape;

size_t replay_shape_count(const struct replay_shape *shape);
/* "" when it is not known. */
struct slice replay_shape_name(const struct replay_shape *shape, size_t index);

struct replay_values {
    size_t count; /* that are left */
    size_t index; /* of the next */
    bool is_cut;  /* the bytes end before the values do */
    struct reader reader;
    const struct replay_shape *shape; /* may be NULL */
};

struct replay_value {
    struct slice bytes; /* at == NULL: NULL */
    uint32_t type;      /* 0: not known */
    bool is_binary;
    bool is_cut; /* there was more of it */
};

/* Takes the first; false when none is left. */
bool replay_value_next(struct replay_values *values, struct replay_value *ret_value);

/* As text: simple types out of their binary form, others as \x and hex digits. In 'scratch', which
 * is overwritten, or the bytes themselves. */
struct slice replay_value_text(const struct replay_value *value, struct buf *scratch);

struct replay_event {
    enum replay_kind kind;
    enum record_side side;
    int64_t time;
    uint64_t statement; /* its number in the session, from 1; 0: none */
    struct slice text;
    struct slice name;
    bool is_cut; /* the text is not whole */
    const struct replay_shape *shape;
    struct replay_values values;
    struct record_count count;
};

/* Everything in it is valid during the call. Failing ends the replay. */
typedef enum err (*replay_visit_fn)(void *context, const struct replay_event *event,
                                    struct error *reterr);

struct replay;

struct replay *replay_new(replay_visit_fn visit, void *context);
void replay_free(struct replay *replay);

/* The next record of the session. Fails only as the visit does. */
enum err replay_add(struct replay *replay, const struct record *record,
                    struct error *reterr) MUST_USE;
/* There are no more: tells what is left of messages that are not whole. */
enum err replay_end(struct replay *replay, struct error *reterr) MUST_USE;

#endif
