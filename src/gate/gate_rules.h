/* SPDX-License-Identifier: MIT */
/* The guard rails and masking rules of connections, compiled once for all sessions of all workers
 * that have the same ones: what is asked for again with the same content is shared. Used by the
 * threads of the pool.
 */
#ifndef GH_GATE_GATE_RULES_H
#define GH_GATE_GATE_RULES_H

#include "base/arena.h"
#include "policy/guard.h"
#include "policy/mask.h"
#include "store/store.h"

struct credential_grant;
struct read_account;
struct read_accounts;
struct gate_rules;

/* Of the gateway with this id: see read_accounts_new(). */
struct gate_rules *gate_rules_new(struct slice node_id);
void gate_rules_free(struct gate_rules *rules);

/* Of all callers on all connections that have budgets of an hour. */
struct read_accounts *gate_rules_accounts(struct gate_rules *rules);

/* What a connection has; references. */
struct gate_ruleset {
    struct guard_rules *guard;  /* NULL: none */
    struct mask_rules *masking; /* likewise */
    struct read_account *reads; /* NULL: no budget of an hour is among the guard rails */
};

void gate_ruleset_release(struct gate_ruleset *set);
struct gate_ruleset gate_ruleset_ref(const struct gate_ruleset *set);
bool gate_ruleset_is_empty(const struct gate_ruleset *set);

/* Those of the connection, inside the transaction, in the place of what *set held. Fails when they
 * cannot be read or compiled: then nobody may use the connection. */
enum err gate_rules_load(struct gate_rules *rules, struct store_tx *tx, struct arena *arena,
                         const struct credential_grant *grant, struct gate_ruleset *set,
                         struct error *reterr) MUST_USE;

#endif
