/* SPDX-License-Identifier: MIT */
/* Sign-ins through a provider that are under way. Only hashes of what the browser holds are kept.
 */
#ifndef GH_STORE_LOGIN_STORE_H
#define GH_STORE_LOGIN_STORE_H

#include "base/arena.h"
#include "store/store.h"

struct login_attempt {
    struct slice id; /* the hash of the state, as text */
    struct slice organization_id;
    struct slice redirect;
    struct slice issuer;       /* of the provider that it goes to, and must come back from */
    struct slice browser_hash; /* empty: no browser has begun it yet */
    bool may_found;            /* may become the first admin */
    /* Of a program's sign-in; each may be empty. */
    struct slice program_state; /* goes back to it as it came */
    struct slice program_name;  /* as it calls itself */
    struct slice asked_from;    /* the address */
    int64_t created_at;
    int64_t expires_at;
};

/* Forgets those that have expired, too. */
enum err login_store_insert(struct store_tx *tx, const struct login_attempt *attempt, int64_t now,
                            struct error *reterr) MUST_USE;
/* One that no browser has begun, of this issuer. ERR_NOT_FOUND. */
enum err login_store_look(struct store_tx *tx, struct arena *arena,
                          const struct login_attempt *wanted, int64_t now,
                          struct login_attempt *ret_attempt, struct error *reterr) MUST_USE;
/* A browser begins it, once. ERR_NOT_FOUND when there is none, or another has. */
enum err login_store_begin(struct store_tx *tx, struct slice id, struct slice browser_hash,
                           int64_t now, struct error *reterr) MUST_USE;
/* Of this browser and issuer and not expired, else ERR_NOT_FOUND. */
enum err login_store_find(struct store_tx *tx, struct arena *arena,
                          const struct login_attempt *wanted, int64_t now,
                          struct login_attempt *ret_attempt, struct error *reterr) MUST_USE;
/* The same, and it is gone afterwards. */
enum err login_store_take(struct store_tx *tx, struct arena *arena,
                          const struct login_attempt *wanted, int64_t now,
                          struct login_attempt *ret_attempt, struct error *reterr) MUST_USE;

#endif
