/* SPDX-License-Identifier: MIT */
/* Watches a PostgreSQL session whose start is over, both directions, as its bytes are about to be
 * passed on: cuts them into messages, once, for itself and for the rules, tells what is worth
 * recording, in order, and knows where both directions stand.
 * Constant memory whatever passes: nothing is collected, large messages come in pieces.
 *
 * Recorded whole is what says what was run, with which values, and what came of it: all messages of
 * the client but CopyData, CopyDone, Sync and Flush (Describe and Close are needed to tell whose
 * columns are described, and which statement a name stands for); of the server all but DataRow,
 * CopyData, CopyDone, ParseComplete, BindComplete, CloseComplete and NoData.
 *
 * So that it shows which answer is whose, a Sync is recorded right before the client's next message
 * where that came before the answer. Of a client that waits for each answer nothing more is.
 *
 * DataRow and CopyData, "rows" here, are recorded up to a limit for each statement, and counted.
 * Keys and passwords are not for a session that has started: they are errors. */
#ifndef GH_POSTGRES_PG_TAP_H
#define GH_POSTGRES_PG_TAP_H

#include "base/error.h"
#include "protocol/passage.h"
#include "wire/pgwire_state.h"

enum pg_record_kind {
    PG_RECORD_MESSAGE, /* one begins; a row only when it did not come in one piece */
    PG_RECORD_MORE,    /* further bytes of the one that side began last */
    PG_RECORD_ROWS,    /* whole messages of one type, one behind the other, headers included */
    PG_RECORD_COUNT,   /* a statement's rows of that side are over; there was at least one */
};

/* A side's message and all its MORE come without another record of that side in between; records
 * of the other side may come there. How bodies are cut depends on how they came. */
struct pg_record {
    enum pg_record_kind kind;
    enum pump_side side;
    char type; /* but for PG_RECORD_COUNT */
    /* The number of the client's message, counted from 0 (of rows, of the first); of the server's,
     * the one that is being answered, or PG_RECORD_NOBODY: nobody asked. */
    uint64_t request;
    uint32_t size;      /* of the whole body; PG_RECORD_MESSAGE and _MORE only */
    bool is_last;       /* the message is complete with these bytes; always but for those two */
    struct slice bytes; /* valid during the call; of a body, but for PG_RECORD_ROWS; may be empty */
    /* PG_RECORD_COUNT only: all of the statement, whether recorded or not. Comes right before the
     * message that ends it. Of the client: those of a copy, up to what is none of it. */
    uint64_t rows;
    uint64_t row_bytes; /* headers included */
    bool is_cut;        /* not all were recorded: the first ones, as long as the limit held them */
};

#define PG_RECORD_NOBODY UINT64_MAX

struct pg_tap_settings {
    /* Bytes of rows recorded for each statement and side, headers included, in whole messages; 0:
     * none. LIMIT_RECORDED_ROWS_SIZE unless somebody wants another. */
    uint64_t row_limit;
    void (*on_record)(void *owner, const struct pg_record *record);
    /* A message that is not recorded and changes what names stand for, or where batches end: Sync,
     * ParseComplete, BindComplete, CloseComplete. NULL: nobody wants to know. */
    void (*on_unrecorded)(void *owner, char type, uint64_t request);
    void *owner;
};

struct pg_tap;

struct pg_tap *pg_tap_new(const struct pg_tap_settings *settings);
void pg_tap_free(struct pg_tap *tap);

/* Without rules: these bytes of the side are about to be passed on, in any pieces, but in the order
 * in which both sides' are. All that they say has been told when it returns. ERR_INPUT, ERR_LIMIT:
 * they break the protocol and must not pass, the session ends; what is sound before that was told
 * already. */
enum err pg_tap_pass(struct pg_tap *tap, enum pump_side side, struct slice bytes,
                     struct error *reterr_error) MUST_USE;

/* The same in steps, for rules, which look at what is cut here before it is told, or after it; of
 * the target only what goes on is told. Each reading is between a begin and a finish. */
void pg_tap_begin(struct pg_tap *tap, enum pump_side side);
/* The next piece of what the side says, off *rest. ERR_MORE: that was all, but for what is surplus.
 */
enum err pg_tap_next(struct pg_tap *tap, enum pump_side side, struct slice *rest,
                     struct pgwire_piece *ret_piece, struct error *reterr_error) MUST_USE;
/* A piece goes on, in the order of its messages; its bytes are there up to the next flush. */
enum err pg_tap_take(struct pg_tap *tap, enum pump_side side, const struct pgwire_piece *piece,
                     struct error *reterr_error) MUST_USE;
/* What the gateway itself says in the place of the target, in any pieces. It is told. */
enum err pg_tap_write(struct pg_tap *tap, struct slice bytes, struct error *reterr_error) MUST_USE;
/* What was taken is told, and may go. */
void pg_tap_flush(struct pg_tap *tap, enum pump_side side);
void pg_tap_finish(struct pg_tap *tap, enum pump_side side);

/* Of the client's last bytes those behind its Terminate: a server ignores them, and they were not
 * looked at. They must not pass. */
size_t pg_tap_surplus(const struct pg_tap *tap);
/* The session is over: rows that were counted and not told yet are. */
void pg_tap_end(struct pg_tap *tap);

/* Whether that direction stands between two messages, after what passed so far: a reading that
 * failed did not. */
bool pg_tap_is_between(const struct pg_tap *tap, enum pump_side side);
/* The same before the last reading of that side, for when its bytes are held back after all,
 * for good: nothing more may be given to the tap then. */
bool pg_tap_was_between(const struct pg_tap *tap, enum pump_side side);

/* So many answers are owed that nothing more should be read of the client until some came. What may
 * come in one reading (LIMIT_READ_SIZE) still fits. A client that waits for nothing but a Sync of
 * its own is never stopped for good: servers send what they have when there is this much. */
bool pg_tap_is_full(const struct pg_tap *tap);
/* Nothing is owed and no batch is open. After a copy that failed see wire/pgwire_state.h. */
bool pg_tap_is_idle(const struct pg_tap *tap);
/* Where both directions stand. */
const struct pgwire_state *pg_tap_state(const struct pg_tap *tap);
const struct pgwire_framer *pg_tap_framer(const struct pg_tap *tap, enum pump_side side);
/* How many bytes at least are missing of the message under way, or of its header; 0: none is. */
size_t pg_tap_missing(const struct pg_tap *tap, enum pump_side side);
/* The client has said that it goes: Terminate. */
bool pg_tap_is_terminated(const struct pg_tap *tap);
/* As the server last said. */
enum pgwire_transaction pg_tap_transaction(const struct pg_tap *tap);
const struct passage_counts *pg_tap_counts(const struct pg_tap *tap);

#endif
