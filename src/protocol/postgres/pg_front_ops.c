/* SPDX-License-Identifier: MIT */
/* The front as the table of functions that the gate calls. */
#include "base/memory.h"
#include "protocol/postgres/pg_ending.h"
#include "protocol/postgres/pg_front_internal.h"
#include "protocol/postgres/pg_hello.h"

static struct pg_front *pg_front_of(struct front *front)
{
    return CONTAINER_OF(front, struct pg_front, front);
}

static struct front *front_start(struct stream *take_stream, const struct front_config *config,
                                 const struct front_events *events, void *owner)
{
    return &pg_front_new(take_stream, config, events, owner)->front;
}

static void front_answer(struct front *front, const struct front_verifiers *verifiers)
{
    pg_front_answer(pg_front_of(front), verifiers->scram, verifiers->count);
}

static enum err front_open(struct front *front, const struct arrival *arrival,
                           const struct cancel_key *key)
{
    const struct pg_front_session session = {
        .parameter_statuses = arrival->greeting,
        .key = {.process = key->number, .secret = key->secret},
        .transaction = (enum pgwire_transaction)arrival->state,
    };
    return pg_front_ready(pg_front_of(front), &session);
}

static void front_cancelled(struct front *front)
{
    pg_front_cancelled(pg_front_of(front));
}

static void front_refuse(struct front *front, const struct ending_words *words)
{
    pg_front_fail(pg_front_of(front), pg_ending_sqlstate(words, false), words->message,
                  words->hint);
}

static struct hello front_hello_in(struct arena *arena, const struct front *front)
{
    return pg_hello_in(arena, CONTAINER_OF_CONST(front, struct pg_front, front)->startup);
}

static void front_close(struct front *front)
{
    pg_front_close(pg_front_of(front));
}

const struct front_ops pg_front_ops = {
    .start = front_start,
    .answer = front_answer,
    .open = front_open,
    .cancelled = front_cancelled,
    .refuse = front_refuse,
    .hello_in = front_hello_in,
    .close = front_close,
};
