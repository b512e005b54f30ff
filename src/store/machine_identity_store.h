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
/* A connection that an identity may use, and has no good credential for. */
struct machine_lack {
    struct slice connection_id;
    struct slice connection_name;
    bool is_named; /* not only carries an attribute */
};

struct machine_lacks {
    struct machine_lack *items;
    size_t count;
};

/* By what 'identity' names, which need not be stored yet; LIMIT_MACHINE_CREDENTIALS at most. What
 * it names and is not there is left out. */
enum err machine_identity_store_lacking(struct store_tx *tx, struct arena *arena,
                                        const struct machine_identity *identity, int64_t now,
                                        struct machine_lacks *ret_lacks,
                                        struct error *reterr) MUST_USE;
/* The same for one connection, granted to the stored identity, whatever credential it has.
 * ERR_NOT_FOUND: there is none, or it is not granted. */
enum err machine_identity_store_granted(struct store_tx *tx, struct arena *arena,
                                        const struct machine_identity *identity,
                                        struct slice name_or_id, struct machine_lack *ret_lack,
                                        struct error *reterr) MUST_USE;
enum err machine_identity_store_delete(struct store_tx *tx, struct slice id,
                                       struct error *reterr) MUST_USE;

#endif
