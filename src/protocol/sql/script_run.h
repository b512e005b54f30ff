/* SPDX-License-Identifier: MIT */
/* What runs of a script have in common (protocol/run.h), whatever SQL database they are for: one
 * statement is sent after the other, each when the one before it was answered, until one fails or
 * all are; rows that the owner does not take now wait. What servers say is the protocol's. */
#ifndef GH_SQL_SCRIPT_RUN_H
#define GH_SQL_SCRIPT_RUN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "io/loop.h"
#include "protocol/ending.h"
#include "protocol/run.h"
#include "sql/sql.h"

struct script_run;

struct script_run_ops {
    /* Up to the next event. ERR_MORE: all that came was taken; ERR_CLOSED: nothing is left to do;
     * ERR_AGAIN: the owner takes nothing now; else 'error' says why. */
    enum err (*step)(struct script_run *script);
    /* The owner gets again what it did not take; likewise. */
    enum err (*take_held)(struct script_run *script);
    /* Into 'out': a statement, and that there is no other. */
    enum err (*write_statement)(struct script_run *script, struct slice statement);
    enum err (*write_farewell)(struct script_run *script);
    void (*stop_sign_in)(struct script_run *script); /* if it is under way */
    void (*free)(struct script_run *script);         /* all that it is a part of */
};

/* A part of what each protocol has of its own. */
struct script_run {
    struct run run;
    const struct script_run_ops *ops;
    struct loop *loop;
    struct stream *stream; /* NULL before and at the end */
    const struct run_events *events;
    void *owner;
    struct arena arena; /* of the request */
    const struct slice *statements;
    size_t statement_count;
    size_t next; /* the statement to be sent */
    bool has_failed;
    bool is_done;
    bool is_held; /* by the owner: nothing is read */

    struct buf out;
    struct slice in; /* what was read and has not been taken */
    struct buf body; /* of the message that comes */
    struct error error;
    struct loop_task free_task;
    char bytes[LIMIT_KIB(16)];
};

/* All else of it is zero. */
void script_run_init(struct script_run *self, const struct script_run_ops *ops, struct loop *loop,
                     const struct run_request *request);
void script_run_release(struct script_run *self);

/* Takes the stream of a session that is signed in, and sends the first statement. */
void script_run_begin(struct script_run *self, struct stream *take_stream);
/* The session was refused. words == NULL: the target's words are not known. */
void script_run_refuse(struct script_run *self, const struct ending_words *words,
                       const struct error *error);

/* ERR_CLOSED: nothing is left to do. At once: what is behind the end of an answer must not be taken
 * for an answer to the next. */
enum err script_run_send_next(struct script_run *self);
/* As much of 'out' as goes. */
void script_run_send(struct script_run *self);

/* See run_ops. parts == NULL: the script is not understood, and sent as it is. */
size_t script_run_split(struct arena *arena, struct slice script, const struct sql_script *parts,
                        struct slice **ret_statements);

#endif
