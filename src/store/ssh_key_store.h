/* SPDX-License-Identifier: MIT */
/* Keys by which people sign in over SSH, in the store. */
#ifndef GH_STORE_SSH_KEY_STORE_H
#define GH_STORE_SSH_KEY_STORE_H

#include "model/ssh_key.h"
#include "store/store.h"

struct ssh_key_list {
    struct ssh_key *keys;
    size_t count;
};

/* ERR_CONFLICT: it is somebody's already, in whatever organization; or there are LIMIT_SSH_KEYS. */
enum err ssh_key_store_insert(struct store_tx *tx, const struct ssh_key *key,
                              struct error *reterr) MUST_USE;
/* Of a person; oldest first. */
enum err ssh_key_store_list(struct store_tx *tx, struct arena *arena, struct slice user_id,
                            struct ssh_key_list *ret_list, struct error *reterr) MUST_USE;
enum err ssh_key_store_find(struct store_tx *tx, struct arena *arena, struct slice user_id,
                            struct slice id, struct ssh_key *ret_key,
                            struct error *reterr) MUST_USE;
/* Whosever it is. ERR_NOT_FOUND without words. */
enum err ssh_key_store_find_fingerprint(struct store_tx *tx, struct arena *arena,
                                        struct slice fingerprint, struct ssh_key *ret_key,
                                        struct error *reterr) MUST_USE;
enum err ssh_key_store_used(struct store_tx *tx, struct slice id, int64_t now,
                            struct error *reterr) MUST_USE;
/* What it let in is let out. */
enum err ssh_key_store_delete(struct store_tx *tx, struct slice id, int64_t now,
                              struct error *reterr) MUST_USE;

#endif
