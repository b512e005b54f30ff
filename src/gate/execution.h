/* SPDX-License-Identifier: MIT */
/* A script that is executed over the API: a session whose client is the gateway itself. That client
 * sits at the other end of a pair of sockets, so that what it sends is judged, masked, counted and
 * recorded as if it came over the network. It goes on when whoever asked for it has left.
 *
 * Of what the target says no more is kept than an answer shows; all of it is on record. Where an
 * answer comes in pages, one of them is kept, and the target waits: its own buffers and those on
 * the way hold what is behind it, whatever the size of the result. */
#ifndef GH_GATE_EXECUTION_H
#define GH_GATE_EXECUTION_H

#include "gate/gate.h"
#include "gate/session_opener.h"
#include "http/later.h"
#include "protocol/run.h"
#include "wire/address.h"

struct execution;

/* All is copied. */
struct execution_request {
    const struct protocol *protocol;     /* has run_ops */
    struct slice id;                     /* of the session, and of the credential that opens it */
    const struct session_opener *opener; /* NULL: the credential is in the store */
    struct slice connection_name;
    struct slice application_name;
    struct shape_pairs metadata;
    struct slice script;
    struct address client;
    /* Its answer comes in pages of so many rows, which this member of the organization may ask for;
     * 0: it does not, and the first LIMIT_EXECUTION_ROWS of each statement are all of it. */
    size_t page_rows;
    struct slice organization_id;
    struct slice member_id;
};

struct execution_row {
    struct execution_row *next;
    struct slice *values; /* as many as the statement has columns; at == NULL is NULL */
};

/* What came of one statement. */
struct execution_statement {
    struct execution_statement *next;
    struct run_column *columns;
    size_t column_count;
    struct execution_row *first;
    struct execution_row *last;
    size_t row_count; /* that are here; the target may have sent more */
    struct buf text;  /* of a copy */
    struct slice command;
    int64_t rows; /* returned or changed; below 0: it says nothing of that */
    struct run_notice *notices;
    size_t notice_count;
    size_t notice_capacity;
    struct run_notice *error; /* NULL: it did not fail */
    bool is_truncated;
    bool is_continued; /* its rows before these were on an earlier page */
};

struct execution_result {
    struct execution_statement *first;
    struct slice failure; /* why the session ended before its time; empty: it did not */
    bool is_over;         /* no page follows this one, which is all where there are no pages */
    bool has_failed;
    bool is_blocked; /* by a guard rail */
    bool is_truncated;
    bool has_exit_code; /* of a command */
    int exit_code;
    int64_t duration_us;
};

/* From any thread. ERR_BUSY: LIMIT_EXECUTIONS are under way, or scripts as large as may be. */
enum err execution_start(struct gate *gate, const struct execution_request *request,
                         struct execution **ret_execution, struct error *reterr) MUST_USE;
void execution_ref(struct execution *execution);
/* The script goes on; what comes of it is kept for nobody then, unless it comes in pages. NULL is
 * nobody's. */
void execution_unref(struct execution *execution);

/* Rung once, when there is something to be asked for, or at once. In the place of another. */
void execution_set_bell(struct execution *execution, struct later_bell *take_bell);

/* One whose answer comes in pages, for who has asked for it; NULL: there is none of this session
 * here. */
struct execution *execution_find_ref(struct gate *gate, const struct execution_request *whose);

/* By clock_monotonic(). */
int64_t execution_began_at(const struct execution *execution);

/* From any thread: the page of this number, counted from 1, to be released. What comes of a script
 * waits at the target while its page is full, and goes on when the next is asked for; who does not
 * ask within LIMIT_EXECUTION_HOLD_MS ends the session. The last page can be asked for again until
 * then. ERR_AGAIN: it is not there yet. ERR_NOT_FOUND: it is neither the last that was read nor the
 * one behind it. */
enum err execution_page_take(struct execution *execution, uint64_t number,
                             const struct execution_result **ret_result,
                             struct error *reterr) MUST_USE;
void execution_page_release(struct execution *execution);
/* Instead, where nobody can ask for it again. */
void execution_page_finish(struct execution *execution);

/* On the worker: what waits to be asked for ends. */
void executions_drain(struct gate_worker *worker);

#endif
