/* SPDX-License-Identifier: MIT */
/* Agents in the store: only the hash of an agent's secret is kept. */
#ifndef GH_STORE_AGENT_STORE_H
#define GH_STORE_AGENT_STORE_H

#include "base/arena.h"
#include "model/agent.h"
#include "store/store.h"

struct agent_list {
    struct agent *agents;
    size_t count;
};

/* ERR_CONFLICT: the name is taken. */
enum err agent_store_insert(struct store_tx *tx, const struct agent *agent, struct slice token_hash,
                            struct error *reterr) MUST_USE;
/* By name or by id. */
enum err agent_store_find(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          struct slice name_or_id, struct agent *ret_agent,
                          struct error *reterr) MUST_USE;
/* Whose secret has this hash, in whichever organization. That the name fits is to be asked by who
 * was told one. ERR_NOT_FOUND: nobody's. */
enum err agent_store_find_by_token(struct store_tx *tx, struct arena *arena,
                                   struct slice token_hash, struct agent *ret_agent,
                                   struct error *reterr) MUST_USE;
/* By name. */
enum err agent_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                          struct agent_list *ret_list, struct error *reterr) MUST_USE;

/* What would be reached through it: resources that name it, connections that name it or follow
 * their resource to it. */
struct agent_uses {
    int64_t resource_count;
    int64_t connection_count;
};

enum err agent_store_count_uses(struct store_tx *tx, struct slice id, struct agent_uses *ret_uses,
                                struct error *reterr) MUST_USE;
/* Connections that name it follow their resource again, and resources go to the local agent. */
enum err agent_store_release_uses(struct store_tx *tx, struct slice id, int64_t now,
                                  struct error *reterr) MUST_USE;
/* Nothing may use it any more. */
enum err agent_store_delete(struct store_tx *tx, struct slice id, struct error *reterr) MUST_USE;

struct agent_presence {
    int64_t seen_at;
    int64_t connected_until;
    const struct agent_metadata *machine; /* NULL: as before */
};

/* It has a link. ERR_NOT_FOUND: there is no such agent any more. */
enum err agent_store_connect(struct store_tx *tx, struct slice id,
                             const struct agent_presence *presence, struct error *reterr) MUST_USE;
/* It has none any more; unless somebody else has written that it has since then. */
enum err agent_store_disconnect(struct store_tx *tx, struct slice id, int64_t connected_until,
                                int64_t now, struct error *reterr) MUST_USE;

/* Whether the agent is there, of the columns is_embedded and connected_until: the local one always,
 * others as long as their link says. */
bool agent_store_is_connected(const struct store_rows *rows, int first_column);

#endif
