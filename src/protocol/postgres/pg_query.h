/* SPDX-License-Identifier: MIT */
/* One statement of the gateway's own at a PostgreSQL server that is ready for queries: sent by the
 * extended protocol with text parameters, so that no text is ever pasted into it, and answered with
 * rows of text. Says Terminate at the end. Runs on a loop and never blocks.
 *
 * The server is not trusted: all that it says is bounded, in order, and on time. */
#ifndef GH_POSTGRES_PG_QUERY_H
#define GH_POSTGRES_PG_QUERY_H

#include "base/arena.h"
#include "base/error.h"
#include "io/stream.h"

struct pg_query;

struct pg_row {
    struct pg_row *next;
    struct slice *values; /* one a column; at == NULL is NULL */
};

struct pg_rows {
    struct pg_row *first;
    size_t count;
};

/* All is copied but for the arena. */
struct pg_query_settings {
    struct slice text;
    const struct slice *values; /* of its parameters; at == NULL is NULL */
    size_t value_count;
    size_t column_count;  /* that each row must have */
    size_t row_count_max; /* more are ERR_LIMIT, and so are more than 'size_max' bytes in all */
    size_t size_max;
    uint64_t timeout_ms;
    struct slice rest;   /* of pg_target_ready */
    struct arena *arena; /* for the rows; nobody else's until it is done */
};

struct pg_query_failure {
    struct error error;
    char sqlstate[6]; /* of the server's refusal; empty: it is none */
};

/* One of the two is NULL; both are valid during the call, the rows as long as the arena. */
typedef void (*pg_query_done_fn)(void *owner, const struct pg_rows *rows,
                                 const struct pg_query_failure *failure);

/* Takes the stream, also when it fails. 'on_done' is called once, never inside this; then the
 * pg_query is gone. ERR_DENIED: the server refuses the statement; ERR_TIMEOUT: it may still be at
 * it. */
struct pg_query *pg_query_start(struct stream *take_stream,
                                const struct pg_query_settings *settings, pg_query_done_fn on_done,
                                void *owner);
/* At any time before 'on_done', which is not called any more; closes the stream. */
void pg_query_cancel(struct pg_query *query);

#endif
