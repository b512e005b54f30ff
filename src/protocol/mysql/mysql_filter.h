/* SPDX-License-Identifier: MIT */
/* Guard rails on a session of MySQL: each command that runs something is judged as the SQL that it
 * is, one after the other, when the one before is answered: so the session's settings that say how
 * a text is read are known. They are asked for by a statement of the gateway's own, whenever they
 * may have changed. Knows nothing of how commands pass. */
#ifndef GH_MYSQL_MYSQL_FILTER_H
#define GH_MYSQL_MYSQL_FILTER_H

#include "protocol/mysql/mysql_reach.h"
#include "protocol/passage.h"
#include "wire/mysqlwire_answer.h"

struct mysql_filter;

struct mysql_filter_settings {
    uint32_t capabilities;
    const struct passage_policy *policy;
    const struct passage_events *events;
    void *owner;
    bool is_late; /* statements ran without these rules, or others */
};

/* What becomes of a command. */
enum mysql_filter_outcome {
    MYSQL_FILTER_PASSES,
    MYSQL_FILTER_ASKS,    /* first the session's settings, or views, have to be known */
    MYSQL_FILTER_REFUSES, /* 'words' say why, for the client */
    MYSQL_FILTER_HOLDS,   /* people decide first: mysql_filter_decided() */
};

/* How many rows a command may change; see mysql_limit.h. */
struct mysql_filter_limit {
    int64_t max_rows; /* -1: any number */
    struct guard_finding rule;
    struct slice question;  /* which of its tables cannot be rolled back */
    bool is_in_transaction; /* of the client's */
};

struct mysql_filter *mysql_filter_new(const struct mysql_filter_settings *settings);
void mysql_filter_free(struct mysql_filter *filter);
void mysql_filter_set_policy(struct mysql_filter *filter, const struct passage_policy *policy);
/* Without rules nothing has to be whole, and nothing is judged; what is prepared is followed. */
bool mysql_filter_is_idle(const struct mysql_filter *filter);
/* Whether a command of this kind has to be whole, and the ones before it answered. */
bool mysql_filter_looks_at(const struct mysql_filter *filter, uint8_t command);

/* A whole command, from its first byte on; everything before it is answered, and 'status' is what
 * the target said last. 'words' gets what the client is told. */
enum mysql_filter_outcome mysql_filter_judge(struct mysql_filter *filter, struct slice command,
                                             uint16_t status, struct buf *words);
/* One that is too long to be looked at. */
void mysql_filter_judge_long(struct mysql_filter *filter, uint8_t command, struct buf *words);
/* It is answered; 'prepared' when that says so of a statement, else NULL. */
void mysql_filter_answered(struct mysql_filter *filter, const struct mysqlwire_prepared *prepared);

const struct passage_policy *mysql_filter_policy(const struct mysql_filter *filter);
/* Of the command that was judged last and passes: what it reaches, which prepared statement it
 * executes (0: none), its number in findings, whether it may read rows. */
const struct mysql_reach *mysql_filter_reach(const struct mysql_filter *filter);
uint32_t mysql_filter_executed(const struct mysql_filter *filter);
uint64_t mysql_filter_number(const struct mysql_filter *filter);
bool mysql_filter_reads(const struct mysql_filter *filter);
/* Valid until the next command. */
const struct mysql_filter_limit *mysql_filter_limit(const struct mysql_filter *filter);
/* The question stands right before it, and is not waited for. */
bool mysql_filter_sets_first(const struct mysql_filter *filter);

/* People decide on the command at hand; then it is judged again. */
bool mysql_filter_is_on_hold(const struct mysql_filter *filter);
void mysql_filter_decided(struct mysql_filter *filter, const struct hold_answer *answer);
/* Of the command that is refused: people did, or the client gave it up; then that it is told. */
bool mysql_filter_was_denied(const struct mysql_filter *filter);
void mysql_filter_refused(struct mysql_filter *filter);
bool mysql_filter_was_cancelled(const struct mysql_filter *filter);

/* The question, as a packet; then what the target says goes to 'take', until it is no longer asked.
 */
struct slice mysql_filter_question(const struct mysql_filter *filter);
void mysql_filter_ask(struct mysql_filter *filter);
bool mysql_filter_is_asking(const struct mysql_filter *filter);
/* What the answer leaves of *bytes. */
enum err mysql_filter_take(struct mysql_filter *filter, struct slice *bytes,
                           struct error *reterr) MUST_USE;

#endif
