/* SPDX-License-Identifier: MIT */
/* How much each caller has read on each connection in the last hour, in the sessions of all
 * workers: for read budgets of an hour. What was read counts for 60 to 61 minutes, in minutes of
 * the monotonic clock, so that no change of the clock frees or locks anybody. A limit is held
 * exactly: what would be beyond it is not counted. There is one lock for each account, taken once
 * for a run of rows. Whatever was counted is collected to be written down, so that it outlives the
 * process; used by workers and by the threads of the pool. */
#ifndef GH_GATE_READ_ACCOUNT_H
#define GH_GATE_READ_ACCOUNT_H

#include "protocol/passage.h"
#include "store/read_use_store.h"

#define READ_ACCOUNT_MINUTES 61

struct read_accounts;
struct read_account;

/* Of the gateway with this id; empty: no other uses the store. */
struct read_accounts *read_accounts_new(struct slice node_id);
struct slice read_accounts_node(const struct read_accounts *accounts);
/* After all that have references are gone. */
void read_accounts_free(struct read_accounts *accounts);

/* A reference to the account of this caller on this connection; NULL: it is not open. */
struct read_account *read_accounts_find(struct read_accounts *accounts, struct slice connection_id,
                                        struct slice caller_id);
/* The same, opened with what was written of it, when nobody else has opened it meanwhile. 'minute'
 * is the one of the day that 'now' is in, and what is of a later one counts as of this one. 'now':
 * of clock_monotonic(). */
struct read_account *read_accounts_open(struct read_accounts *accounts, const struct read_use *who,
                                        const struct read_use_list *written, int64_t minute,
                                        int64_t now);
struct read_account *read_account_ref(struct read_account *account);
void read_account_unref(struct read_account *account);

/* As passage_events.on_read. */
bool read_account_take(struct read_account *account, int64_t now, const struct read_amount *more,
                       const struct read_amount *most, struct read_hour *ret_hour);

/* What was counted and is not written yet, as of that minute of the day; it then is taken for
 * written. What nobody uses and holds nothing is forgotten. */
struct read_use_list read_accounts_collect_in(struct arena *arena, struct read_accounts *accounts,
                                              int64_t minute, int64_t now);
/* It was not written after all. */
void read_accounts_put_back(struct read_accounts *accounts, const struct read_use_list *list);
/* For a store that other gateways write to: the accounts that sessions have now; and what all
 * others have written of one, in the place of what was known of that. It counts as of then: as late
 * as it is read, and by the clocks of the gateways. 'minute': see read_accounts_open(). */
struct read_use_list read_accounts_used_in(struct arena *arena, struct read_accounts *accounts);
void read_account_set_others(struct read_account *account, const struct read_use_list *written,
                             int64_t minute, int64_t now);
size_t read_accounts_count(struct read_accounts *accounts);

#endif
