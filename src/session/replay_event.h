/* SPDX-License-Identifier: MIT */
/* What a recording tells of its session, whatever protocol it speaks: statements and their values,
 * what came back for them, and what the gateway did. */
#ifndef GH_SESSION_REPLAY_EVENT_H
#define GH_SESSION_REPLAY_EVENT_H

#include "base/reader.h"
#include "session/record.h"

enum replay_kind {
    REPLAY_OPEN,         /* text: JSON */
    REPLAY_STATEMENT,    /* text, and the values of its parameters */
    REPLAY_COLUMNS,      /* of the rows that follow: their names */
    REPLAY_ROW,          /* values */
    REPLAY_DONE,         /* text: the target's words; empty: there was nothing to run; count */
    REPLAY_SUSPENDED,    /* as many rows as were asked for came, there may be more */
    REPLAY_SKIPPED,      /* it did not run, because one before it failed */
    REPLAY_COUNT,        /* count, of all its rows */
    REPLAY_ERROR,        /* fields; text: how bad it is, in the sender's words */
    REPLAY_NOTICE,       /* likewise */
    REPLAY_NOTIFICATION, /* text: the payload; name: the channel */
    REPLAY_COPY,         /* text: data, from either side */
    REPLAY_OUTPUT,       /* text: of a program; name: stdin, stdout or stderr */
    REPLAY_TERMINAL,     /* text, by name: what was typed (input) or is shown (output); its size
                            from now on (size: "80x24"); words about something that was typed and
                            not shown (hidden) */
    REPLAY_COPY_FAILED,  /* text: why the client ended it */
    REPLAY_BYTES,        /* count.bytes: nothing more is known of what that side said */
    REPLAY_TOTAL,        /* count: of those of that side, and of their bytes */
    REPLAY_NOTE,         /* text: JSON */
    REPLAY_CLOSE,        /* text: JSON */
};

/* One part of an error or a notice. */
struct replay_field {
    const char *name; /* "severity", "code", "message", or what the protocol has besides */
    struct slice text;
};

struct replay_ops;

/* Those of a row, or of a statement's parameters; replay_value_next() takes one after the other. */
struct replay_values {
    size_t count; /* that are left */
    size_t index; /* of the next */
    bool is_cut;  /* the bytes end before the values do */
    const struct replay_ops *ops;
    struct reader reader; /* for the protocol: where the next begins */
    const void *types;    /* likewise; may be NULL */
};

struct replay_value {
    struct slice text; /* at == NULL: NULL */
    bool is_cut;       /* there was more of it */
};

struct replay_event {
    enum replay_kind kind;
    enum record_side side;
    int64_t time;
    uint64_t statement; /* its number in the session, from 1; 0: none */
    struct slice text;
    struct slice name;
    bool is_cut; /* the text is not whole */
    const struct slice *columns;
    const struct slice *column_types; /* names of them; NULL: not known */
    size_t column_count;
    const struct replay_field *fields;
    size_t field_count;
    struct replay_values values;
    struct record_count count; /* of REPLAY_DONE: only 'rows', written or told; 0: not known */
};

/* Everything in it is valid during the call. Failing ends the replay. */
typedef enum err (*replay_visit_fn)(void *context, const struct replay_event *event,
                                    struct error *reterr);

#endif
