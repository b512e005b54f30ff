/* SPDX-License-Identifier: MIT */
/* An execution, between its files: execution.c its life and its pages, execution_keep.c what is
 * kept of what the target says. */
#ifndef GH_GATE_EXECUTION_INTERNAL_H
#define GH_GATE_EXECUTION_INTERNAL_H

#include "gate/execution.h"
#include "gate/gate_internal.h"

#include <stdatomic.h>

enum execution_state {
    EXECUTION_FILLING, /* the worker has the page */
    EXECUTION_READY,   /* it may be read, or the next be asked for */
    EXECUTION_READING, /* one thread reads it */
};

struct execution {
    atomic_uint references; /* whoever asked, and the worker */
    atomic_int state;
    _Atomic(struct later_bell *) bell; /* of who waits; NULL: nobody does */
    struct gate *gate;
    struct gate_worker *worker;
    struct mail mail;
    struct arena arena; /* of the request */
    struct arena page;  /* of the result, as far as it is here */
    struct execution_entry entry;
    uint64_t page_number; /* from 1; of who has the page */
    size_t page_row_count;
    struct list held; /* in the worker's list, while it waits for somebody to ask */
    struct timer hold;
    bool is_finished; /* nobody asks again */
    struct execution_request request;
    struct session_opener *opener; /* until the session has a copy */
    struct slice *statements;
    size_t statement_count;
    struct run *run;
    struct execution_result result;
    struct execution_statement *last;
    bool is_last_done; /* what comes belongs to the next statement */
    size_t size;       /* of what is kept */
    int64_t began_at;
};

extern const struct run_events execution_events;

/* The last one's results, or those of the next. */
struct execution_statement *execution_statement(struct execution *self);
void execution_take_columns(struct execution *self, const struct run_column *columns, size_t count);
void execution_on_end(void *owner, const struct error *error);

bool execution_is_paged(const struct execution *self);
/* There is something to be read. */
void execution_set_ready(struct execution *self);
/* The same, and what is behind it waits, for a time. */
void execution_hold(struct execution *self);
/* The worker has nothing more to do with it. */
void execution_leave(struct execution *self);

#endif
