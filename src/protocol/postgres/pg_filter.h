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
 * is bounded. Pure: no clock, no stream; whoever owns it carries the bytes. The tap has the
 * client's view: what it says, and of the server's what goes on to it. */
#ifndef GH_POSTGRES_PG_FILTER_H
#define GH_POSTGRES_PG_FILTER_H

#include "base/error.h"
#include "base/hash.h"
#include "policy/guard_cache.h"
#include "protocol/passage.h"
#include "protocol/postgres/pg_mask.h"
#include "protocol/postgres/pg_tap.h"
#include "sql/sql.h"
#include "wire/pgwire.h"

struct pg_filter_settings {
    struct pg_tap *tap; /* cuts what comes, and is told what goes on; outlives the filter */
    /* Without 'judge' there are no rules yet: what passes is shown to pg_filter_watch(), and what
     * names stand for is followed, with 'analyze', up to pg_filter_begin(). */
    struct passage_policy policy;
    struct slice greeting; /* the server's ParameterStatus messages of the start, and others */
    enum pgwire_transaction transaction;
    uint8_t seed[HASH_SEED_SIZE]; /* random */
    void (*on_event)(void *owner, const struct guard_event *event);
    /* Its on_ask, answered by pg_filter_informed(), on_known, on_stamp and on_change. NULL: nothing
     * is known of the catalog. */
    const struct passage_events *catalog;
    void *catalog_owner;
    /* An answer is blocked: what the server does is to be cancelled; then pg_filter_cancelled().
     * NULL: it goes on, unseen. */
    void (*on_block)(void *owner);
    /* A statement is held until pg_filter_decided(). NULL: what would be is refused. */
    void (*on_hold)(void *owner, const struct held_statement *held);
    /* It is not any more, as the batch that it is part of has failed. */
    void (*on_unhold)(void *owner);
    /* For budgets of an hour: 'more' is added to what was read, unless that would then be beyond
     * 'most'; whether it was, and what was read then. NULL: nothing may be read where there is such
     * a budget. */
    bool (*on_read)(void *owner, const struct read_amount *more, const struct read_amount *most,
                    struct read_hour *ret_hour);
    void *owner;
};

struct pg_filter;

/* At the start of the session. */
struct pg_filter *pg_filter_new(const struct pg_filter_settings *settings);
void pg_filter_free(struct pg_filter *filter);
/* From the next message of the client on, also amid a batch or a copy. */
void pg_filter_set_policy(struct pg_filter *filter, const struct passage_policy *policy);

/* There are no rules yet, or the session rests. */
bool pg_filter_is_watching(const struct pg_filter *filter);
/* A message passed, or a piece of one, in the order in which the tap tells; 'state' has it. */
void pg_filter_watch(struct pg_filter *filter, const struct pg_record *record,
                     const struct pgwire_state *state);
/* One that the tap does not record. */
void pg_filter_watch_unrecorded(struct pg_filter *filter, char type, uint64_t request);
/* The first rules are there: whether what the tap has seen stands where they can begin. The client
 * has to be between two messages, and the target not amid a small one. */
bool pg_filter_may_begin(const struct pg_tap *tap);
/* All that comes behind what the tap has seen comes to pg_filter_pass(). What was defined before,
 * and could not be followed, is judged as unknown. */
void pg_filter_begin(struct pg_filter *filter, const struct passage_policy *policy);

/* Rules about columns alone have nothing to do while what the client says reaches none of them.
 * Between readings: the session rests from here on if it may, and is watched as one without rules;
 * a reading passes so if pg_filter_rests(), before it is given to the tap. Else pg_filter_begin()
 * is due, with whatever rules there are. */
void pg_filter_rest(struct pg_filter *filter);
bool pg_filter_is_resting(const struct pg_filter *filter);
bool pg_filter_rests(struct pg_filter *filter, enum pump_side side, struct slice bytes) MUST_USE;
const struct passage_policy *pg_filter_policy(const struct pg_filter *filter);

/* Puts into *bytes what goes on to the other side: the same where nothing is changed, valid until
 * the next call. What is to be said to the side itself beside that are pg_filter_words().
 * ERR_INPUT, ERR_LIMIT: they break the protocol, or more than is bearable; none of it passes, the
 * session ends, and the filter must only be freed. */
enum err pg_filter_pass(struct pg_filter *filter, enum pump_side side, struct slice *bytes,
                        struct error *reterr_error) MUST_USE;
/* The same, where 'seen', right before the bytes, goes on as it came. */
enum err pg_filter_pass_behind(struct pg_filter *filter, enum pump_side side, struct slice seen,
                               struct slice *bytes, struct error *reterr_error) MUST_USE;
/* What the client said is told, and looked at when the server has said more. */
enum err pg_filter_hold(struct pg_filter *filter, struct slice bytes,
                        struct error *reterr_error) MUST_USE;
/* For the server, after a pg_filter_pass() of what it said; valid until the next call. */
struct slice pg_filter_words(const struct pg_filter *filter);
/* Whether nothing more is to be read of the client, until the server has said more. */
bool pg_filter_holds(const struct pg_filter *filter);

/* Whether what the server said waits for one of the two below, and nothing more is to be read of
 * it. When this has become false, pg_filter_pass() of nothing that it said goes on with it. */
bool pg_filter_waits(const struct pg_filter *filter);
/* What a client whose statement is held is told meanwhile; and what was decided on it. Nothing when
 * none is. Both take effect with the next pg_filter_pass() of nothing that the server said. */
void pg_filter_hold_notice(struct pg_filter *filter, struct slice message, struct slice hint);
void pg_filter_decided(struct pg_filter *filter, const struct hold_answer *answer);
void pg_filter_informed(struct pg_filter *filter);
void pg_filter_cancelled(struct pg_filter *filter);
/* NULL: nothing was ever masked. */
const struct mask_counts *pg_filter_mask_counts(const struct pg_filter *filter);

#endif
