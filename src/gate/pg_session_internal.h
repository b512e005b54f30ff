/* SPDX-License-Identifier: MIT */
/* A session, between its files: pg_session.c has the way to the target, pg_session_record.c what it
 * is, pg_passage.c what passes once it is open, pg_session_end.c the end. */
#ifndef GH_GATE_PG_SESSION_INTERNAL_H
#define GH_GATE_PG_SESSION_INTERNAL_H

#include "gate/pg_lookup.h"
#include "gate/pg_session.h"
#include "gate/pg_way.h"
#include "gate/session_jobs.h"
#include "gate/session_metadata.h"
#include "policy/guard_cache.h"
#include "protocol/postgres/pg_filter.h"
#include "protocol/postgres/pg_tap.h"
#include "protocol/pump.h"

#define PG_SETTINGS        2   /* pg_session_guard.c has their names */
#define PG_ERROR_HEAD_SIZE 128 /* holds the severity, which comes first */

/* What came of the target's start, until the client is let through. */
struct pg_arrival {
    struct stream *stream; /* NULL: not yet, or handed on */
    struct buf greeting;
    struct buf rest;
    enum pgwire_transaction transaction;
};

/* Guard rails and masking rules as they are now. */
struct pg_session_guard {
    struct arena arena;
    struct gate_ruleset rules; /* guard rails: of none, where there are none */
    struct guard_scope scope;
    const struct guard_budget *budgets;
    size_t budget_count;
    bool is_empty; /* there are no rules at all */
};

struct pg_session {
    struct list link;
    uint64_t number; /* of its door */
    struct gate_worker *door;
    struct arena arena; /* of the texts of 'session' and of what cancels need */
    struct session session;
    struct session_metadata metadata; /* until the target is there */
    struct pg_front *front;           /* NULL: the client is let through, or gone */
    struct gate_job *job;             /* whose answer decides how it goes on */
    struct candidates_job *candidates;
    struct admit_job *admitted; /* until the target is there */
    struct pg_way way;
    struct pg_arrival arrival;
    struct recorder *recorder;
    struct pg_tap *tap;
    struct pump *pump;
    struct pg_session_guard *guard; /* NULL: there were none yet */
    uint64_t guard_generation;
    struct read_account *reads; /* NULL: there was no budget of an hour yet */
    struct pg_filter *filter;   /* NULL: nothing is looked for */
    struct session_guarded *guarded;
    size_t guarded_count;
    struct buf settings[PG_SETTINGS]; /* ParameterStatus of those that a filter has to know */
    struct pg_lookup *lookup;         /* under way */
    struct slice database;            /* that the client asked for */
    struct list cancels;              /* answered when the request that is under way is done */
    struct list next_cancels;         /* after it */
    struct pgwire_key target_key;
    struct pgwire_key key; /* what the client has instead */
    struct loop_task drain_task;
    struct loop_task free_task;
    struct error error; /* why it ends, when it must */
    bool is_enrolling;  /* the store is being told; nothing can be freed */
    bool is_enrolled;
    bool has_files;   /* that go at the end */
    bool has_masking; /* there was a masking rule */
    bool is_ready;
    bool is_ending;
    bool is_draining;
    bool has_terminated;                 /* the client said that it goes */
    bool has_fatal;                      /* the target said that it does */
    bool is_held[2];                     /* by side: the recorder is waited for */
    bool is_withheld;                    /* what the target sent last will never pass */
    bool is_over;                        /* all that it had to leave behind is there */
    char error_head[PG_ERROR_HEAD_SIZE]; /* of the target's last error */
    size_t error_head_len;
    uint64_t statement_count; /* that the metrics know of */
    uint64_t row_limit;       /* of what is recorded of each statement */
    struct timer retry;
};

/* Of one that was admitted: what it is; what its client says about it (ERR_DENIED: too little;
 * ERR_INPUT); its recording. */
void pg_session_describe(struct pg_session *session);
enum err pg_session_take_metadata(struct pg_session *session, struct error *reterr) MUST_USE;
enum err pg_session_start_recording(struct pg_session *session, struct error *reterr) MUST_USE;

/* Rules (pg_session_guard.c); where there is nothing to do, nothing is done. */
void pg_session_start_filter(struct pg_session *session);
/* The body of a ParameterStatus, for a filter that is started later. */
void pg_session_learn_setting(struct pg_session *session, struct slice body);
void pg_session_learn_greeting(struct pg_session *session, struct slice greeting);
/* What the target said goes on, after it had to wait. */
void pg_session_go_on(struct pg_session *session);
/* What was asked for the mask is over: nobody waits for it. */
void pg_session_end_lookup(struct pg_session *session);
/* For the store. */
void pg_session_keep_masking(struct pg_session *session);
void pg_session_end_guard(struct pg_session *session);

/* The client is let through: takes its stream and what it sent already. */
void pg_passage_start(struct pg_session *session, struct stream *take_stream, struct slice behind);
/* The client is told with FATAL, if that can stand where the target's messages are, and the end
 * follows. */
void pg_passage_end(struct pg_session *session, const char *sqlstate, struct slice reason);
/* Ends the session if it is idle and shall; a task. */
void pg_passage_check_drain(void *owner);

void pg_session_end(struct pg_session *session, struct slice reason);
/* Before any of it: what the end needs. */
void pg_session_init_end(struct pg_session *session);

/* Why it ends, if nobody has said so yet. */
void pg_session_set_reason(struct pg_session *session, struct slice reason);
/* A client that is not through yet is told why it never will be; on_closed follows. */
void pg_session_refuse(struct pg_session *session, const char *sqlstate, struct slice why,
                       struct slice hint);
/* What it does at the target is to be cancelled. */
void pg_session_cancel_query(struct pg_session *session);
/* What the gateway did, on record. 'what' is a word. */
void pg_session_note(struct pg_session *session, const char *what, struct slice why);

#endif
