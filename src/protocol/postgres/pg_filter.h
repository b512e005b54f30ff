/* SPDX-License-Identifier: MIT */
/* Guard rails and masking on an open session of PostgreSQL: between what came of one side and what
 * goes on to the other. Statements are judged before the server has them. In the place of one that
 * is blocked the server gets a statement of ours that it cannot understand, and the client gets our
 * words in the place of the error that comes of it: so the answer stands where it belongs in a
 * pipeline, and what both sides hold to be the state of the transaction is true. Nothing of a
 * blocked statement reaches the server. A limit of rows is held by a transaction of ours around the
 * statement. What the server answers is masked and judged (pg_mask) before it goes on, and what of
 * it is rows is counted where a read budget applies.
 *
 * Fails closed: what is not understood, too large, or no longer known is judged as unknown. Memory
 * is bounded. Pure: no clock, no stream; whoever owns it carries the bytes. Knows the client's view
 * (pg_tap) only as far as what it passes on keeps the order that the protocol asks for. */
#ifndef GH_POSTGRES_PG_FILTER_H
#define GH_POSTGRES_PG_FILTER_H

#include "base/error.h"
#include "base/hash.h"
#include "policy/guard_cache.h"
#include "protocol/passage.h"
#include "protocol/postgres/pg_mask.h"
#include "sql/sql.h"
#include "wire/pgwire.h"

struct pg_filter_settings {
    struct passage_policy policy;
    uint64_t request;      /* the number of the client's next message */
    bool is_late;          /* there may be prepared statements already, which are unknown */
    struct slice greeting; /* the server's ParameterStatus messages of the start, and others */
    enum pgwire_transaction transaction;
    uint8_t seed[HASH_SEED_SIZE]; /* random */
    void (*on_event)(void *owner, const struct guard_event *event);
    /* As pg_mask_settings has it; answered by pg_filter_learn_row() and pg_filter_learn_done(). */
    void (*on_lookup)(void *owner, struct slice tables);
    /* An answer is blocked: what the server does is to be cancelled; then pg_filter_cancelled().
     * NULL: it goes on, unseen. */
    void (*on_block)(void *owner);
    /* For budgets of an hour: 'more' is added to what was read, unless that would then be beyond
     * 'most'; whether it was, and what was read then. NULL: nothing may be read where there is such
     * a budget. */
    bool (*on_read)(void *owner, const struct read_amount *more, const struct read_amount *most,
                    struct read_hour *ret_hour);
    void *owner;
};

struct pg_filter;

/* When nothing is owed, no batch is open, and both sides are between two messages. */
struct pg_filter *pg_filter_new(const struct pg_filter_settings *settings);
void pg_filter_free(struct pg_filter *filter);
/* From the next message of the client on. */
void pg_filter_set_policy(struct pg_filter *filter, const struct passage_policy *policy);

/* Puts into *bytes what goes on to the other side: the same where nothing is changed, valid until
 * the next call. What is to be said to the side itself beside that are pg_filter_words().
 * ERR_INPUT, ERR_LIMIT: they break the protocol, or more than is bearable; none of it passes, the
 * session ends, and the filter must only be freed. */
enum err pg_filter_pass(struct pg_filter *filter, enum pump_side side, struct slice *bytes,
                        struct error *reterr_error) MUST_USE;
/* For the server, after a pg_filter_pass() of what it said; valid until the next call. */
struct slice pg_filter_words(const struct pg_filter *filter);
/* Whether nothing more is to be read of the client, until the server has said more. */
bool pg_filter_holds(const struct pg_filter *filter);

/* Whether what the server said waits for one of the three below, and nothing more is to be read of
 * it. When this has become false, pg_filter_pass() of nothing that it said goes on with it. */
bool pg_filter_waits(const struct pg_filter *filter);
void pg_filter_learn_row(struct pg_filter *filter, const struct slice *values);
void pg_filter_learn_done(struct pg_filter *filter, bool is_complete);
void pg_filter_cancelled(struct pg_filter *filter);
/* NULL: nothing was ever masked. */
const struct mask_counts *pg_filter_mask_counts(const struct pg_filter *filter);

#endif
