/* SPDX-License-Identifier: MIT */
/* A statement whose rows are limited, and that can be counted. First the target is asked whether
 * all tables that it writes can be rolled back. Then it runs between START TRANSACTION and COMMIT
 * of the gateway's own, or behind a SAVEPOINT where the client has a transaction; the answer is
 * kept until it is known how many rows there were, and that they stay. Where they are too many they
 * are rolled back, and the client has an error. Meanwhile nothing else of the client's passes.
 *
 * Whoever owns it sends what 'text' says, or the command, as the step tells. */
#ifndef GH_MYSQL_MYSQL_LIMIT_H
#define GH_MYSQL_MYSQL_LIMIT_H

#include "base/arena.h"
#include "protocol/mysql/mysql_aside.h"
#include "protocol/mysql/mysql_filter.h"

enum mysql_limit_step {
    MYSQL_LIMIT_WAITS,   /* for more of the target's */
    MYSQL_LIMIT_ASKS,    /* 'text' is to be sent */
    MYSQL_LIMIT_RUNS,    /* the command itself is */
    MYSQL_LIMIT_REFUSES, /* it was not sent; 'words' say why */
    MYSQL_LIMIT_ANSWERS, /* 'answer' is what the target said, for the client */
};

enum mysql_limit_phase {
    MYSQL_LIMIT_NONE,
    MYSQL_LIMIT_LOOKING, /* at its tables */
    MYSQL_LIMIT_BEGINNING,
    MYSQL_LIMIT_RUNNING,
    MYSQL_LIMIT_ENDING,
    MYSQL_LIMIT_UNDOING, /* the COMMIT failed */
};

struct mysql_limit {
    enum mysql_limit_phase phase;
    struct arena arena;
    struct mysql_filter_limit rule;
    uint64_t number; /* of the command, in findings */
    const struct passage_events *events;
    void *owner;
    struct mysql_aside aside;
    struct slice text;
    bool has_other_table; /* that cannot be rolled back */
    /* The answer that is kept: */
    struct mysqlwire_framer framer;
    struct mysqlwire_state state;
    enum mysqlwire_kind kind;
    bool has_kind;
    struct buf body;
    bool has_rows;
    bool is_error;
    bool is_over;
    uint64_t rows;
    struct buf words;
    struct buf answer; /* a packet */
};

void mysql_limit_init(struct mysql_limit *limit, uint32_t capabilities,
                      const struct passage_events *events, void *owner);
void mysql_limit_release(struct mysql_limit *limit);
bool mysql_limit_is_busy(const struct mysql_limit *limit);
/* A command that passes with this limit; the first text is to be sent. */
void mysql_limit_begin(struct mysql_limit *limit, const struct mysql_filter_limit *rule,
                       uint64_t number);
/* The command was sent. */
void mysql_limit_ran(struct mysql_limit *limit, uint8_t command);
/* What the target says next; *bytes is what is left, which is nobody's. */
enum err mysql_limit_take(struct mysql_limit *limit, struct slice *bytes,
                          enum mysql_limit_step *ret_step, struct error *reterr) MUST_USE;

#endif
