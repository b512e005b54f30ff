/* SPDX-License-Identifier: MIT */
/* A session, between its files: pg_session.c has the way to the target and the end, pg_passage.c
 * what passes once it is open. */
#ifndef GH_GATE_PG_SESSION_INTERNAL_H
#define GH_GATE_PG_SESSION_INTERNAL_H

#include "gate/pg_session.h"
#include "gate/session_jobs.h"
#include "proxy/pg_open.h"
#include "proxy/pg_tap.h"
#include "proxy/pump.h"

/* What came of the target's start, until the client is let through. */
struct pg_arrival {
    struct stream *stream; /* NULL: not yet, or handed on */
    struct buf greeting;
    struct buf rest;
    enum pgwire_transaction transaction;
};

struct pg_session {
    struct list link;
    struct gate_worker *door;
    struct arena arena; /* of the texts of 'session' and of what cancels need */
    struct session session;
    struct pg_front *front; /* NULL: the client is let through, or gone */
    struct gate_job *job;   /* whose answer decides how it goes on */
    struct candidates_job *candidates;
    struct admit_job *admitted; /* until the target is there */
    struct pg_open *open;
    struct pg_arrival arrival;
    struct recorder *recorder;
    struct pg_tap *tap;
    struct pump *pump;
    struct pg_stop *stop;
    struct pg_place place; /* of the target; no password */
    struct tls_client *tls;
    struct pgwire_key target_key;
    struct pgwire_key key; /* what the client has instead */
    struct loop_task drain_task;
    struct loop_task free_task;
    struct error error; /* why it ends, when it must */
    bool is_enrolling;  /* the store is being told; nothing can be freed */
    bool is_enrolled;
    bool is_ready;
    bool is_ending;
    bool is_draining;
    bool has_terminated; /* the client said that it goes */
    bool has_fatal;      /* the target said that it does */
    bool is_over;        /* all that it had to leave behind is there */
    struct timer retry;
};

/* The client is let through: takes its stream and what it sent already. */
void pg_passage_start(struct pg_session *session, struct stream *take_stream, struct slice behind);
/* The client is told with FATAL, if that can stand where the target's messages are, and the end
 * follows. */
void pg_passage_end(struct pg_session *session, const char *sqlstate, struct slice reason);
/* Ends the session if it is idle and shall; a task. */
void pg_passage_check_drain(void *owner);

void pg_session_end(struct pg_session *session, struct slice reason);

#endif
