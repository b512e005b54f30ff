/* SPDX-License-Identifier: MIT */
/* Statements that people decide on, for the files of pg_filter: what is held, what cannot be. */
#ifndef GH_POSTGRES_PG_FILTER_HOLD_H
#define GH_POSTGRES_PG_FILTER_HOLD_H

#include "protocol/postgres/pg_filter_internal.h"

/* What would be held: a text, and the message that gives it values. */
struct pg_filter_held {
    struct slice text;
    const struct pg_filter_facts *facts;
    const struct pgwire_bind *bind; /* NULL: a Query */
    struct pgwire_oids types;
    bool has_types;
    bool is_backslash_quoted;
    bool is_ambiguous;
};
void pg_filter_hold_init(struct pg_filter *filter);
void pg_filter_hold_release(struct pg_filter *filter);
bool pg_filter_is_on_hold(const struct pg_filter *filter);
/* The message at hand was dealt with. */
void pg_filter_hold_end_message(struct pg_filter *filter);
/* Nobody has approved all that the session does. */
bool pg_filter_needs_review(const struct pg_filter *filter, const struct guard_verdict *verdict);
/* Or it is blocked. */
bool pg_filter_stops(const struct pg_filter *filter, const struct guard_verdict *verdict);
/* What is left when nobody has to be asked, or was. */
void pg_filter_drop_reviews(struct guard_verdict *verdict);
/* Before it is sent, and before anything is done for it: ERR_AGAIN: when it was decided, or what is
 * owed was answered; ERR_DENIED: it was refused. */
enum err pg_filter_hold_check(struct pg_filter *filter, char type,
                              const struct pg_filter_held *held,
                              const struct guard_verdict *verdict,
                              struct error *reterr_error) MUST_USE;
/* It needs a review, which cannot be for this reason. */
enum err pg_filter_refuse_unheld(struct pg_filter *filter, char type,
                                 const struct guard_verdict *verdict, const char *why,
                                 struct error *reterr_error) MUST_USE;
/* What the client is to know while it waits, between two messages of the server. */
enum err pg_filter_hold_tell(struct pg_filter *filter, struct error *reterr_error) MUST_USE;

#endif
