/* SPDX-License-Identifier: MIT */
/* API keys in the store: only the hash of a key is kept. */
#ifndef GH_STORE_API_KEY_STORE_H
#define GH_STORE_API_KEY_STORE_H

#include "model/user.h"
#include "store/store.h"

struct api_key_list {
    struct api_key *keys;
    size_t count;
};

enum err api_key_store_insert(struct store_tx *tx, const struct api_key *key, struct slice hash,
                              struct error *reterr) MUST_USE;
/* By name or by id. */
enum err api_key_store_find(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                            struct slice name_or_id, struct api_key *ret_key,
                            struct error *reterr) MUST_USE;
enum err api_key_store_list(struct store_tx *tx, struct arena *arena, struct slice organization_id,
                            struct api_key_list *ret_list, struct error *reterr) MUST_USE;
/* Name, groups, expiry and deactivation. ERR_CONFLICT: the name is taken. */
enum err api_key_store_update(struct store_tx *tx, const struct api_key *key,
                              struct error *reterr) MUST_USE;

#endif
