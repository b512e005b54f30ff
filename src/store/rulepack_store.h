/* SPDX-License-Identifier: MIT */
/* Masking rules that were made of rulepacks, in the store; for guard rails see guardrail_store.h.
 */
#ifndef GH_STORE_RULEPACK_STORE_H
#define GH_STORE_RULEPACK_STORE_H

#include "base/arena.h"
#include "store/store.h"

/* The id of the masking rule of the pack. ERR_NOT_FOUND: none was made yet. */
enum err rulepack_store_find_masking(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id, struct slice rulepack,
                                     struct slice *ret_id, struct error *reterr) MUST_USE;
/* A rule that was just made belongs to the pack. */
enum err rulepack_store_mark(struct store_tx *tx, struct slice id, struct slice rulepack,
                             struct slice managed_by, struct error *reterr) MUST_USE;
/* Ties a masking rule to a connection, in force, or takes it off; nothing happens when it is as
 * wanted already. */
enum err rulepack_store_link_masking(struct store_tx *tx, struct arena *arena, struct slice id,
                                     struct slice connection_id, bool is_wanted,
                                     struct error *reterr) MUST_USE;

#endif
