/* SPDX-License-Identifier: MIT */
/* What came of a script, statement by statement, printed as it comes: rows as a table, CSV,
 * Markdown or JSON. Notices and errors go to standard error, and are part of JSON besides. */
#ifndef GH_CLIENT_RESULT_H
#define GH_CLIENT_RESULT_H

#include "base/buf.h"
#include "client/show.h"

struct result {
    const struct client_run *run;
    bool is_json;
    struct table table;
    bool has_table;     /* one is being written */
    bool has_statement; /* JSON: one is open */
    struct slice *types;
    size_t column_count;
    struct arena arena;     /* of the statement */
    struct buf notices;     /* of the statement, as items of JSON */
    uint64_t row_count;     /* of the statement */
    size_t statement_count; /* that were begun */
    size_t result_count;    /* with columns */
    size_t error_count;
};

void result_init(struct result *result, const struct client_run *run);
void result_release(struct result *result);

/* Names, and types where they are known (else NULL). */
void result_columns(struct result *result, const struct slice *names, const struct slice *types,
                    size_t count);
/* at == NULL is NULL. */
void result_row(struct result *result, const struct slice *values, size_t count);
/* Of COPY … TO STDOUT. */
void result_bytes(struct result *result, struct slice bytes);
/* An object with severity, code, message, detail, hint and position, of which some may be absent.
 */
void result_notice(struct result *result, const struct json *notice);
/* The end of a statement, by the target's word or by an error. 'rows' is below 0 where it is not
 * known. */
void result_done(struct result *result, struct slice command, int64_t rows);
void result_error(struct result *result, const struct json *error);
/* Time passes. */
void result_look(struct result *result);
/* Nothing more comes. */
void result_end(struct result *result);

#endif
