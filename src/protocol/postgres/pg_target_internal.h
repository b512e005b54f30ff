/* SPDX-License-Identifier: MIT */
/* The start of a connection to a PostgreSQL server, between its files: pg_target.c has the stream
 * and the end, pg_target_auth.c what the messages mean, pg_target_problem.c what a failure says. */
#ifndef GH_POSTGRES_PG_TARGET_INTERNAL_H
#define GH_POSTGRES_PG_TARGET_INTERNAL_H

#include "io/timer.h"
#include "protocol/postgres/pg_target.h"
#include "wire/pgwire_frame.h"

enum pg_target_state {
    PG_TARGET_AT_ENCRYPTION,
    PG_TARGET_AT_AUTHENTICATION, /* until AuthenticationOk */
    PG_TARGET_AT_READY,          /* until ReadyForQuery */
    PG_TARGET_DONE,
};

struct pg_target {
    struct loop *loop;
    struct stream *stream; /* NULL while it is encrypted, and at the end */
    struct pg_encryption *encryption;
    struct pg_secret *secret;
    opened_fn on_done;
    void *owner;
    enum pg_target_state state;
    bool is_local;
    bool allows_cleartext;
    bool has_spoken;   /* a message of the protocol came */
    bool is_asking;    /* the secret; nothing more is taken until it has answered */
    bool is_proof_due; /* SCRAM has begun: AuthenticationOk alone is not enough */
    bool is_negotiated;
    bool has_end_point;
    struct scram_end_point end_point;
    uint32_t version;
    struct buf user;

    struct buf out;  /* may hold a password: wiped when it is sent */
    bool is_cut_off; /* cannot write any more; there may be a last word to read */
    struct slice in; /* what of 'bytes' has not been taken */
    struct pgwire_framer framer;
    bool is_body_next;
    struct buf body;
    struct buf greeting;
    struct buf key; /* its secret; empty: none came */
    uint32_t key_process;
    enum pgwire_transaction transaction;

    struct error error;
    char sqlstate[6]; /* empty: by the error's code */
    struct buf answer;
    struct timer deadline;
    struct loop_task fail_task;
    struct loop_task free_task;
    char bytes[LIMIT_PG_READ_SIZE];
};

/* Whether such a message may come now. */
enum err pg_target_expect(struct pg_target *target) MUST_USE;
/* A whole message, which pg_target_expect() has let through. Moves to another state, or asks the
 * secret, or fails with target->error. */
enum err pg_target_take(struct pg_target *target, struct slice body) MUST_USE;
/* The secret has answered: pg_target.c goes on. */
void pg_target_answered(struct pg_target *target, enum err err);

/* An ErrorResponse of the server becomes target->error, its SQLSTATE, and what the client sees. */
enum err pg_target_refused(struct pg_target *target, struct slice body) MUST_USE;
/* Fills SQLSTATE and the client's answer from target->error, where they are not there yet. */
void pg_target_explain(struct pg_target *target);

#endif
