/* SPDX-License-Identifier: MIT */
/* The secret of a native client's credential, and what is kept of it: a hash to know it again, and
 * the keys of its SCRAM-SHA-256 verifier, with which a client proves that it knows the secret
 * without sending it. The salt comes from the name of the connection, so that a client learns
 * nothing from it of what exists, and all credentials for one name are checked by one proof. */
#ifndef GH_IDENTITY_NATIVE_CREDENTIAL_H
#define GH_IDENTITY_NATIVE_CREDENTIAL_H

#include "base/arena.h"
#include "identity/scram.h"

#define NATIVE_HASH_SIZE     32                    /* SHA-256 of the secret */
#define NATIVE_VERIFIER_SIZE (2 * SCRAM_HASH_SIZE) /* StoredKey, then ServerKey */

struct native_credential {
    struct slice secret; /* ASCII */
    struct slice hash;
    struct slice verifier;
};

/* A new one, from 32 random bytes. Computes for some milliseconds. 'key' as for
 * scram_verifier_mock(). */
void native_credential_make_in(struct arena *arena, const struct secret *key,
                               struct slice connection_name,
                               struct native_credential *ret_credential);
/* What a proof is held against; 'kept' has NATIVE_VERIFIER_SIZE bytes. */
void native_credential_verifier(const struct secret *key, struct slice connection_name,
                                struct slice kept, struct scram_verifier *ret_verifier);

/* Of a client that sends its secret: the hash to know it by, of NATIVE_HASH_SIZE bytes. */
void native_credential_hash(struct slice secret, char *ret_hash);
/* In constant time; 'kept' has NATIVE_HASH_SIZE bytes. */
bool native_credential_is_hash(struct slice kept, const char *hash);

#endif
