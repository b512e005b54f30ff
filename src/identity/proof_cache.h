/* SPDX-License-Identifier: MIT */
/* Credentials that were found good a moment ago, so that not every request checks a signature and
 * asks the store. An entry is good for one generation of the callers (store_caller_generation) and
 * for PROOF_FRESH at most. Bounded; safe from any thread. Holds hashes of credentials only. */
#ifndef GH_IDENTITY_PROOF_CACHE_H
#define GH_IDENTITY_PROOF_CACHE_H

#include "identity/identity.h"

#define PROOF_KEY_SIZE 32
#define PROOF_FRESH    (30 * TIMESTAMP_SECOND)

struct proof_cache;

struct proof_key {
    unsigned char bytes[PROOF_KEY_SIZE];
};

struct proof_cache *proof_cache_new(void);
void proof_cache_free(struct proof_cache *cache);

struct proof_key proof_cache_key(const struct proof_cache *cache,
                                 const struct identity_credential *credential);
bool proof_cache_find_in(struct arena *arena, struct proof_cache *cache,
                         const struct proof_key *key, int64_t generation,
                         struct identity_proof *ret_proof);
/* 'generation' is what it was before the store was asked. An expires_at of 0: never. */
void proof_cache_put(struct proof_cache *cache, const struct proof_key *key, int64_t generation,
                     const struct identity_proof *proof);

#endif
