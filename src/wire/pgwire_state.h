/* SPDX-License-Identifier: MIT */
/* Where a PostgreSQL connection stands, from the headers of both directions in the order in which
 * they pass: which request each of a server's messages answers. Clients may send many requests
 * before the first is answered (protocol-flow, "Pipelining"), so answers that are owed stand in a
 * queue, which is bounded.
 * Bodies are needed of the server's Authentication and ReadyForQuery only. Says nothing of what
 * requests contain. One thing cannot be known: whether a copy failed before or after the server
 * read a Sync that was sent into it, and so whether that Sync is answered; its ReadyForQuery may
 * pass for the next one's. After an error the state must not be used again: end the connection. */
#ifndef GH_WIRE_PGWIRE_STATE_H
#define GH_WIRE_PGWIRE_STATE_H

#include "base/error.h"
#include "base/limits.h"
#include "wire/pgwire_frame.h"

enum pgwire_phase {
    PGWIRE_PHASE_START,          /* the client's packets without a type */
    PGWIRE_PHASE_AUTHENTICATION, /* from StartupMessage to AuthenticationOk */
    PGWIRE_PHASE_SETTINGS,       /* from there to the first ReadyForQuery */
    PGWIRE_PHASE_READY,          /* nothing is owed and no batch is open */
    PGWIRE_PHASE_BUSY,
    PGWIRE_PHASE_COPY_IN,
    PGWIRE_PHASE_COPY_OUT,
    PGWIRE_PHASE_COPY_BOTH,
    PGWIRE_PHASE_FUNCTION_CALL,
    PGWIRE_PHASE_ENDED, /* by Terminate, a cancel request, or an error at the start */
};

enum pgwire_request_kind {
    PGWIRE_REQUEST_NONE, /* asynchronous: nobody asked */
    PGWIRE_REQUEST_STARTUP,
    PGWIRE_REQUEST_QUERY,
    PGWIRE_REQUEST_PARSE,
    PGWIRE_REQUEST_BIND,
    PGWIRE_REQUEST_DESCRIBE,
    PGWIRE_REQUEST_EXECUTE,
    PGWIRE_REQUEST_CLOSE,
    PGWIRE_REQUEST_SYNC,
    PGWIRE_REQUEST_FUNCTION_CALL,
    PGWIRE_REQUEST_COPY_END, /* CopyDone or CopyFail, sent before the copy began; owes nothing */
};

struct pgwire_request {
    uint64_t id; /* the number of the client's message; the StartupMessage is 0 */
    enum pgwire_request_kind kind;
};

struct pgwire_state {
    bool has_started;
    bool is_authenticated;
    bool is_asked; /* the client owes an answer to an authentication request */
    bool has_ended;
    bool is_in_batch;      /* extended messages since the last Sync */
    bool is_skipping;      /* the server ignores everything up to a Sync that has not come yet */
    bool is_head_answered; /* something that is not asynchronous came for the first in the queue */
    bool client_copies;    /* CopyData is expected from it */
    bool server_copies;    /* as well */
    bool copied_both;      /* a copy in both directions has not been completed yet */
    uint32_t spare_sync;   /* Syncs sent into a copy, which the server may or may not answer */
    uint64_t next_id;
    enum pgwire_transaction transaction; /* as the server last said */
    struct pgwire_request *requests;     /* a ring; NULL before the first, and after a long queue */
    size_t capacity;
    size_t first;
    size_t count;
};

void pgwire_state_init(struct pgwire_state *state);
/* For a connection whose start was dealt with elsewhere, up to its first ReadyForQuery. */
void pgwire_state_skip_start(struct pgwire_state *state);
void pgwire_state_release(struct pgwire_state *state);
/* 'state' was initialized and not used. */
void pgwire_state_copy(struct pgwire_state *state, const struct pgwire_state *other);

enum pgwire_phase pgwire_state_phase(const struct pgwire_state *state);
/* LIMIT_PGWIRE_OWED requests wait: read nothing more from the client until the server answered. */
bool pgwire_state_is_full(const struct pgwire_state *state);

/* Whether a ReadyForQuery is owed: the open batch, if there is one, is not the first thing that the
 * server has to do. */
bool pgwire_state_owes_ready(const struct pgwire_state *state);

/* Whether a Sync was sent that is not answered: what ends in an error before it skips all up to it,
 * also a Query, which is answered by a ReadyForQuery as well. */
bool pgwire_state_owes_sync(const struct pgwire_state *state);

/* Whether the request of that number is still to be answered. */
bool pgwire_state_owes(const struct pgwire_state *state, uint64_t id);

/* What became of a client's message. */
struct pgwire_step {
    uint64_t id;
    bool is_owed; /* answers to it will come */
};

/* A message passes from the client to the server. ERR_INPUT: the server would end the connection
 * for it. ERR_LIMIT: the queue is full. */
enum err pgwire_state_client(struct pgwire_state *state, const struct pgwire_frame *frame,
                             struct pgwire_step *ret_step, struct error *reterr_error) MUST_USE;

/* So many more CopyData pass, right behind one for which pgwire_state_client() was called. */
void pgwire_state_more_data(struct pgwire_state *state, uint64_t count);

struct pgwire_answer {
    struct pgwire_request request;
    bool is_asynchronous; /* it only comes meanwhile: a notice, a notification, a parameter */
    bool is_last;         /* nothing more will come for the request */
};

/* A message passes from the server to the client. 'body' is that of Authentication and
 * ReadyForQuery, whole; it is not looked at for others. ERR_INPUT: nothing that is owed is answered
 * by this. */
enum err pgwire_state_server(struct pgwire_state *state, const struct pgwire_frame *frame,
                             struct slice body, struct pgwire_answer *ret_answer,
                             struct error *reterr_error) MUST_USE;

#endif
