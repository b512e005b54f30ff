/* SPDX-License-Identifier: MIT */
/* Guard rails: whose the names in statements are. */
#ifndef GH_POSTGRES_PG_FILTER_KNOWN_H
#define GH_POSTGRES_PG_FILTER_KNOWN_H

#include "protocol/postgres/pg_filter_internal.h"

/* policy.judge and .judge_script, by what is known of names. False: when the catalog has answered,
 * or what is owed was; then again. */
bool pg_filter_judge_text(struct pg_filter *filter, const struct sql_settings *settings,
                          struct slice text, struct guard_verdict *ret_verdict,
                          struct guard_facts *ret_facts) MUST_USE;
bool pg_filter_judge_script(struct pg_filter *filter, const struct sql_settings *settings,
                            struct slice text, const struct sql_script *script,
                            struct guard_verdict *ret_verdict) MUST_USE;
/* A verdict from when this was another is none any more. */
uint64_t pg_filter_known_id(const struct pg_filter *filter);
/* Whether the catalog is asked, and the client waits. */
bool pg_filter_known_holds(const struct pg_filter *filter);
/* The message at hand was dealt with. */
void pg_filter_known_end_message(struct pg_filter *filter);
/* The first rules come: nobody has looked at what the transaction at hand has done. */
void pg_filter_known_begin(struct pg_filter *filter);
/* A statement was sent to be run. */
void pg_filter_known_sent(struct pg_filter *filter, const struct pg_filter_facts *facts);
void pg_filter_known_ready(struct pg_filter *filter);
/* What was asked of the catalog is known, or cannot be. */
void pg_filter_known_informed(struct pg_filter *filter);
void pg_filter_known_release(struct pg_filter *filter);

#endif
