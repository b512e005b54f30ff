/* SPDX-License-Identifier: MIT */
/* Guard rails in the store: rules of the kind 'guardrail', with what they are bound to. Each change
 * is told to whoever has sessions open (store_note_callers). */
#ifndef GH_STORE_GUARDRAIL_STORE_H
#define GH_STORE_GUARDRAIL_STORE_H

#include "model/guardrail.h"
#include "store/store.h"

struct guardrail_list {
    struct guardrail *guardrails;
    size_t count;
};

/* By name, the last first. */
enum err guardrail_store_list(struct store_tx *tx, struct arena *arena,
                              struct slice organization_id, struct guardrail_list *ret_list,
                              struct error *reterr) MUST_USE;
enum err guardrail_store_find(struct store_tx *tx, struct arena *arena,
                              struct slice organization_id, struct slice name_or_id,
                              struct guardrail *ret_guardrail, struct error *reterr) MUST_USE;
/* The one that was made of the rulepack. ERR_NOT_FOUND: none was yet. */
enum err guardrail_store_find_of_rulepack(struct store_tx *tx, struct arena *arena,
                                          struct slice organization_id, struct slice rulepack,
                                          struct guardrail *ret_guardrail,
                                          struct error *reterr) MUST_USE;
/* ERR_CONFLICT: the name is taken. ERR_INPUT: it is bound to something that is not there. */
enum err guardrail_store_insert(struct store_tx *tx, struct arena *arena,
                                const struct guardrail *guardrail, struct error *reterr) MUST_USE;
/* All of it, but for who manages it and when it was made: what it does not name is no longer
 * bound. */
enum err guardrail_store_replace(struct store_tx *tx, struct arena *arena,
                                 const struct guardrail *guardrail, struct error *reterr) MUST_USE;
enum err guardrail_store_delete(struct store_tx *tx, struct slice id,
                                struct error *reterr) MUST_USE;

/* One link to a connection; nothing happens when it is as wanted already. */
enum err guardrail_store_link(struct store_tx *tx, struct slice id, struct slice connection_id,
                              bool is_wanted, struct error *reterr) MUST_USE;

/* Those that act on a connection, by themselves or by an attribute that it carries, each once, by
 * name. */
enum err guardrail_store_of_connection(struct store_tx *tx, struct arena *arena,
                                       struct slice connection_id, struct guardrail_list *ret_list,
                                       struct error *reterr) MUST_USE;
/* The ids of the connections that one acts on, directly or by an attribute, each once. It need not
 * be in the store. */
enum err guardrail_store_connections(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id,
                                     const struct guardrail *guardrail, struct shape_texts *ret_ids,
                                     struct error *reterr) MUST_USE;

#endif
