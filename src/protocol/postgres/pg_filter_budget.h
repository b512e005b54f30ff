/* SPDX-License-Identifier: MIT */
/* Guard rails: how much is read. */
#ifndef GH_POSTGRES_PG_FILTER_BUDGET_H
#define GH_POSTGRES_PG_FILTER_BUDGET_H

#include "protocol/postgres/pg_filter_internal.h"

void pg_filter_budget_init(struct pg_filter *filter);
void pg_filter_budget_release(struct pg_filter *filter);
/* Of requests from the next one on. */
void pg_filter_budget_set(struct pg_filter *filter, const struct passage_policy *policy);
bool pg_filter_has_budgets(const struct pg_filter *filter);
/* A statement is about to be sent; ERR_DENIED: it reads, nothing may be read, and
 * it was refused. */
enum err pg_filter_budget_check(struct pg_filter *filter, char type,
                                const struct pg_filter_facts *facts,
                                struct error *reterr_error) MUST_USE;
/* Whether messages of that type count. */
bool pg_filter_budget_counts(const struct pg_filter *filter, char type);
/* Whole messages, as they are about to go on, those that count with others; of what pg_mask has
 * written the last may be longer. Whatever fits goes on; what does not, and what comes behind it,
 * is blocked. */
enum err pg_filter_budget_put(struct pg_filter *filter, struct slice messages, bool is_lasting,
                              struct error *reterr_error) MUST_USE;
/* One of which only the header is there: whether it fits, else it was blocked. */
enum err pg_filter_budget_put_header(struct pg_filter *filter, uint32_t size, bool *ret_passes,
                                     struct error *reterr_error) MUST_USE;

#endif
