/* SPDX-License-Identifier: MIT */
/* What happened in a session, event by event, from its records. What the records' messages mean is
 * the protocol's matter: the first record names it, and its table of functions reads the rest. A
 * protocol without such a table is shown by when, which side, and how many bytes. */
#ifndef GH_SESSION_REPLAY_H
#define GH_SESSION_REPLAY_H

#include "session/replay_event.h"
#include "sql/sql.h"

/* How a protocol reads its recordings: one constant table. Memory is constant, whatever is in the
 * recording: it holds what the target and the client chose. */
struct replay_ops {
    void *(*start)(replay_visit_fn visit, void *context);
    void (*free)(void *reader);
    /* The next record of kind RECORD_MESSAGE, RECORD_MORE or RECORD_COUNT; the others are not the
     * protocol's. Fails only as the visit does. */
    enum err (*add)(void *reader, const struct record *record, struct error *reterr);
    /* There are no more: tells what is left of messages that are not whole. May come again. */
    enum err (*end)(void *reader, struct error *reterr);
    /* Of the values in its events, if they have any: see replay_value_next(). One is left. */
    bool (*next_value)(struct replay_values *values, struct buf *scratch,
                       struct replay_value *ret_value);
    enum sql_dialect dialect; /* of its statements */
    bool is_terminal;         /* its events are those of somebody's screen */
    bool has_terminals;       /* some of its sessions are: told by the size, before all else */
};

/* By the subtype of the session's connection; "": the recording is too old to name one. NULL: that
 * protocol has none. */
typedef const struct replay_ops *(*replay_find_fn)(struct slice subtype);

struct replay;

struct replay *replay_new(replay_find_fn find, replay_visit_fn visit, void *context);
void replay_free(struct replay *replay);

/* The next record of the session. Fails only as the visit does. */
enum err replay_add(struct replay *replay, const struct record *record,
                    struct error *reterr) MUST_USE;
/* There are no more: tells what is left. */
enum err replay_end(struct replay *replay, struct error *reterr) MUST_USE;

/* Of the statements, once the first record was added. */
enum sql_dialect replay_dialect(const struct replay *replay);

/* Likewise. */
bool replay_is_terminal(const struct replay *replay);
bool replay_has_terminals(const struct replay *replay);

/* Takes the first, as text; false when none is left. It lies in 'scratch', which is overwritten, or
 * in the event. */
bool replay_value_next(struct replay_values *values, struct buf *scratch,
                       struct replay_value *ret_value);

#endif
