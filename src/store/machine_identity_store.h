/* SPDX-License-Identifier: MIT */
/* Machine identities in the store, each within its organization, with what is granted to them. */
#ifndef GH_STORE_MACHINE_IDENTITY_STORE_H
#define GH_STORE_MACHINE_IDENTITY_STORE_H

#include "model/machine.h"
#include "store/store.h"

struct machine_identity_list {
    struct machine_identity *identities;
    size_t count;
};

/* The newest first. */
enum err machine_identity_store_list(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id,
                                     struct machine_identity_list *ret_list,
                                     struct error *reterr) MUST_USE;
/* By id, or by name. */
enum err machine_identity_store_find(struct store_tx *tx, struct arena *arena,
                                     struct slice organization_id, struct slice name_or_id,
                                     struct machine_identity *ret_identity,
                                     struct error *reterr) MUST_USE;
/* ERR_CONFLICT: the name is taken. ERR_INPUT: it names something that is not there. */
enum err machine_identity_store_insert(struct store_tx *tx, const struct machine_identity *identity,
                                       struct error *reterr) MUST_USE;
/* All of it: what it does not name is no longer granted. */
enum err machine_identity_store_update(struct store_tx *tx, const struct machine_identity *identity,
                                       struct error *reterr) MUST_USE;
enum err machine_identity_store_delete(struct store_tx *tx, struct slice id,
                                       struct error *reterr) MUST_USE;

#endif
