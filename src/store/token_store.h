/* SPDX-License-Identifier: MIT */
/* What tells a good credential from a bad one, and who stands behind it. */
#ifndef GH_STORE_TOKEN_STORE_H
#define GH_STORE_TOKEN_STORE_H

#include "base/arena.h"
#include "base/secret.h"
#include "model/caller.h"
#include "store/store.h"

struct token_claims {
    struct slice user_id;
    struct slice token_id;
    int64_t issued_at;
};

/* The person of a token that was signed by this gateway. ERR_NOT_FOUND when there is none, he is
 * not active, or the token was revoked, by its id or by the time of its making. is_admin and
 * is_auditor are not set. */
enum err token_store_user(struct store_tx *tx, struct arena *arena,
                          const struct token_claims *claims, struct caller *ret_caller,
                          struct error *reterr) MUST_USE;
/* What a provider calls somebody, and where that counts. */
struct token_subject {
    struct slice issuer;
    struct slice subject;
    struct slice organization; /* its name; empty: any */
};

/* The person whom a provider calls so; without an organization, in the default one before others.
 * ERR_UNAUTHENTICATED when he is not active: nobody slips into another organization that way, nor
 * becomes a service account. ERR_NOT_FOUND when there is none. */
enum err token_store_subject(struct store_tx *tx, struct arena *arena,
                             const struct token_subject *wanted, struct caller *ret_caller,
                             struct error *reterr) MUST_USE;
/* The service account of that provider; without an organization, of the one that was the first to
 * have an account for this subject. ERR_NOT_FOUND also when it is not active. */
enum err token_store_service_account(struct store_tx *tx, struct arena *arena,
                                     const struct token_subject *wanted, struct caller *ret_caller,
                                     struct error *reterr) MUST_USE;

struct api_key_times {
    int64_t last_used_at;
    int64_t expires_at; /* 0: never */
};

/* The API key with this hash. ERR_NOT_FOUND also when it is revoked or expired. */
enum err token_store_api_key(struct store_tx *tx, struct arena *arena, struct slice hash,
                             struct caller *ret_caller, struct api_key_times *ret_times,
                             struct error *reterr) MUST_USE;

struct token_member {
    struct slice id;
    struct slice issuer; /* whose word counts now: a service account of another one is nobody */
};

/* The person, the API key or the service account with this id, whatever it shows. ERR_NOT_FOUND
 * when there is none, or it is not active. */
enum err token_store_member(struct store_tx *tx, struct arena *arena,
                            const struct token_member *wanted, struct caller *ret_caller,
                            struct error *reterr) MUST_USE;
enum err token_store_used_api_key(struct store_tx *tx, struct slice id, int64_t now,
                                  struct error *reterr) MUST_USE;

/* Whether a secret with this hash was given to an agent, a native client or an API key, be it still
 * good or not. */
enum err token_store_has_secret(struct store_tx *tx, struct slice hash, bool *ret_has,
                                struct error *reterr) MUST_USE;

enum err token_store_revoke(struct store_tx *tx, struct slice token_id, int64_t expires_at,
                            int64_t now, struct error *reterr) MUST_USE;
/* All tokens of the user that were made before 'now'. */
enum err token_store_revoke_all(struct store_tx *tx, struct slice user_id, int64_t now,
                                struct error *reterr) MUST_USE;

/* The seed of the key that signs tokens, made at first need. */
enum err token_store_signing_seed(struct store *store, struct secret *seed,
                                  struct error *reterr) MUST_USE;

#endif
