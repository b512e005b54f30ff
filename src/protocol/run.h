/* SPDX-License-Identifier: MIT */
/* A client of the gateway's own, for statements that come over the API: it speaks the protocol to
 * the front of the same gateway, so that they pass the same way as those of a native client, with
 * the same rules and the same record. */
#ifndef GH_PROTOCOL_RUN_H
#define GH_PROTOCOL_RUN_H

#include "base/error.h"
#include "codec/shape.h"
#include "io/stream.h"

struct run_column {
    struct slice name;
    struct slice type; /* the protocol's word for it */
};

/* What the server says that is no row. */
struct run_notice {
    struct slice severity; /* "ERROR", "NOTICE" … */
    struct slice code;     /* the protocol's own */
    struct slice message;
    struct slice detail; /* this and the next may be empty */
    struct slice hint;
    uint64_t position; /* in the statement, counted in characters from 1; 0: not known */
};

/* All is valid during the call. */
struct run_events {
    void (*on_columns)(void *owner, const struct run_column *columns, size_t count);
    /* at == NULL is NULL. values == NULL: a row that is too large to be shown. False, which is no
     * answer to that one: not now; nothing more is read, and it comes again when the run goes on.
     */
    bool (*on_row)(void *owner, const struct slice *values, size_t count);
    bool (*on_bytes)(void *owner, struct slice bytes); /* of a copy to the client; likewise */
    void (*on_notice)(void *owner, const struct run_notice *notice);
    /* The statement is done. 'rows': it returned or changed; below 0: it says nothing of that. */
    void (*on_complete)(void *owner, struct slice command, int64_t rows);
    /* It failed, or was refused; nothing behind it is sent. */
    void (*on_error)(void *owner, const struct run_notice *error);
    /* Of a command, once, before the words about it, if there are any, and the end. */
    void (*on_exit)(void *owner, int code);
    /* Once, and the last of all. NULL: everything was sent and answered. */
    void (*on_end)(void *owner, const struct error *error);
};

struct run_request {
    struct slice name; /* of the connection */
    struct slice application_name;
    struct shape_pairs metadata;
    const struct slice *statements; /* sent one after the other; borrowed until on_end */
    size_t statement_count;
    uint64_t sign_in_ms;
};

/* One that is under way; it is gone by itself behind on_end. */
struct run {
    void (*cancel)(struct run *run);
    /* After a 'false' of the owner's, not inside it. Events may come inside this. */
    void (*resume)(struct run *run);
};

struct run_ops {
    /* Takes the stream. The request is copied but for the statements, 'events' borrowed. No event
     * comes inside this. */
    struct run *(*start)(struct stream *take_stream, const struct run_request *request,
                         const struct run_events *events, void *owner);
    /* The statements of a script, each without what separates them: views of it, in the arena. */
    size_t (*split)(struct arena *arena, struct slice script, struct slice **ret_statements);
};

#endif
