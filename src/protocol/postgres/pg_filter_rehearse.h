/* SPDX-License-Identifier: MIT */
/* Statements that run, and are committed when people have seen what they did, for the files of
 * pg_filter. */
#ifndef GH_POSTGRES_PG_FILTER_REHEARSE_H
#define GH_POSTGRES_PG_FILTER_REHEARSE_H

#include "protocol/postgres/pg_filter_hold.h"

/* There is none any more. */
void pg_filter_rehearse_clear(struct pg_filter *filter);

/* What is at hand is to be rehearsed: NULL, and it is kept for those who decide; else why it cannot
 * be. */
const char *pg_filter_rehearse_prepare(struct pg_filter *filter, const struct pg_filter_held *held,
                                       const struct guard_verdict *verdict);
/* The text behind the BEGIN of its transaction. */
struct slice pg_filter_rehearse_begin(struct pg_filter *filter);
/* Whether the message at hand is. */
bool pg_filter_is_rehearsal(const struct pg_filter *filter);
/* Of a statement that is: it runs in a transaction of ours, whatever it changes. */
void pg_filter_rehearse_facts(struct pg_filter_facts *facts);
/* Why what is executed cannot be run now; NULL: it can. */
const char *pg_filter_rehearse_why_not_now(const struct pg_filter *filter,
                                           const struct pg_filter_facts *facts,
                                           struct slice portal);

/* It has run, and the server is asked what it did, then for a sample of the rows; then people
 * are. */
enum err pg_filter_rehearse_ask(struct pg_filter *filter, struct error *reterr_error) MUST_USE;
bool pg_filter_rehearse_is_asking(const struct pg_filter *filter);
void pg_filter_rehearse_answer(struct pg_filter *filter, struct slice row);
/* One of these was answered. */
enum err pg_filter_rehearse_asked(struct pg_filter *filter, struct error *reterr_error) MUST_USE;
/* Whether the body of that ErrorResponse is of the sample alone, without which it goes on. */
bool pg_filter_rehearse_outlives(struct pg_filter *filter, struct slice error);
/* One of these has failed: the transaction goes back to where it was, or ends. */
enum err pg_filter_rehearse_failed(struct pg_filter *filter, struct error *reterr_error) MUST_USE;
/* Ends the transaction, once they have decided. */
enum err pg_filter_rehearse_go_on(struct pg_filter *filter, struct error *reterr_error) MUST_USE;

#endif
