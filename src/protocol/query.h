/* SPDX-License-Identifier: MIT */
/* A statement of the gateway's own at a target that is ready, and its rows, whatever the protocol:
 * what the catalog is asked, and what is asked for those who manage a connection. */
#ifndef GH_PROTOCOL_QUERY_H
#define GH_PROTOCOL_QUERY_H

#include "base/arena.h"
#include "base/error.h"
#include "io/stream.h"

struct query_row {
    struct query_row *next;
    struct slice *values; /* one a column; at == NULL is NULL */
};

struct query_rows {
    struct query_row *first;
    size_t count;
};

/* All is copied but for the arena. */
struct query_settings {
    struct slice text;
    const struct slice *values; /* of its parameters; at == NULL is NULL */
    const uint32_t *types;      /* of them, the protocol's own numbers; NULL: the server knows */
    const bool *are_binary;     /* likewise; NULL: all are text */
    size_t value_count;
    size_t column_count;  /* that each row must have */
    size_t row_count_max; /* more are ERR_LIMIT, and so are more than 'size_max' bytes in all */
    size_t size_max;
    uint64_t timeout_ms;
    struct slice rest;   /* of the arrival */
    struct arena *arena; /* for the rows; nobody else's until it is done */
};

struct query_failure {
    struct error error;
    char code[6]; /* of the server's refusal, an SQLSTATE; empty: it is none */
};

/* One of the two is NULL; both are valid during the call, the rows as long as the arena. */
typedef void (*query_done_fn)(void *owner, const struct query_rows *rows,
                              const struct query_failure *failure);

/* One that is under way: the first member of what each protocol has of its own. It is gone by
 * itself once it has called back. */
struct query {
    void (*cancel)(struct query *query);
};

/* Takes the stream, also when it fails. 'on_done' is called once, never inside this. ERR_DENIED:
 * the server refuses the statement; ERR_TIMEOUT: it may still be at it. */
typedef struct query *(*query_start_fn)(struct stream *take_stream,
                                        const struct query_settings *settings,
                                        query_done_fn on_done, void *owner);
/* At any time before it has called back, which it then does not any more; closes the stream. */
void query_cancel(struct query *query);

#endif
