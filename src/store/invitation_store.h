/* SPDX-License-Identifier: MIT */
/* Invitations: what lets a person who has no account to sign in to yet choose a password. One for
 * each user, kept as a hash, good until it expires and while the user's status is 'invited';
 * user_store ends it with every change of the status or of the password. */
#ifndef GH_STORE_INVITATION_STORE_H
#define GH_STORE_INVITATION_STORE_H

#include "base/arena.h"
#include "store/store.h"

struct invitation {
    struct slice user_id;
    struct slice email;
    struct slice name;
    struct slice organization_id;
    struct slice organization_name;
    int64_t expires_at;
};

struct invitation_write {
    struct slice user_id;
    struct slice hash;
    int64_t now;
    int64_t expires_at;
};

/* In the place of an older one, which ends. */
enum err invitation_store_put(struct store_tx *tx, const struct invitation_write *write,
                              struct error *reterr) MUST_USE;
/* The good one with this hash. ERR_NOT_FOUND: it was used, replaced or withdrawn, or has expired.
 */
enum err invitation_store_find(struct store_tx *tx, struct arena *arena, struct slice hash,
                               int64_t now, struct invitation *ret_invitation,
                               struct error *reterr) MUST_USE;
/* It has been used: the user is active and has this password. ERR_NOT_FOUND: it is not good any
 * more. */
enum err invitation_store_use(struct store_tx *tx, const struct invitation *invitation,
                              struct slice password_hash, int64_t now,
                              struct error *reterr) MUST_USE;
/* ERR_NOT_FOUND when there is none. */
enum err invitation_store_delete(struct store_tx *tx, struct slice user_id,
                                 struct error *reterr) MUST_USE;

#endif
