/* SPDX-License-Identifier: MIT */
/* The secret of a native client's credential, and what is kept of it: a hash to know it again, and
 * a verifier, with which a client proves that it knows the secret without sending it. That is the
 * keys of SCRAM-SHA-256, whose salt comes from the name of the connection, so that a client learns
 * nothing from it of what exists, and all credentials for one name are checked by one proof; or
 * what MySQL's clients are checked by. */
#ifndef GH_IDENTITY_NATIVE_CREDENTIAL_H
#define GH_IDENTITY_NATIVE_CREDENTIAL_H

#include "base/arena.h"
#include "identity/mysql_proof.h"
#include "identity/scram.h"

#define NATIVE_HASH_SIZE     32 /* SHA-256 of the secret, where clients may send it */
#define NATIVE_VERIFIER_SIZE 64 /* StoredKey, then ServerKey; or both hashes, and zeros */

/* Which proof the connection's clients give. */
enum native_proof {
    NATIVE_PROOF_SCRAM,
    NATIVE_PROOF_MYSQL, /* the hash of the secret would be enough to sign in, so it is not kept */
};

struct native_credential {
    struct slice secret; /* ASCII */
    struct slice hash;
    struct slice verifier;
};

/* A new one, from 32 random bytes. Computes for some milliseconds. 'key' as for
 * scram_verifier_mock(). */
void native_credential_make_in(struct arena *arena, const struct secret *key,
                               struct slice connection_name, enum native_proof proof,
                               struct native_credential *ret_credential);
/* Likewise, of a secret that somebody else made. */
void native_credential_of_in(struct arena *arena, const struct secret *key,
                             struct slice connection_name, enum native_proof proof,
                             struct slice secret, struct native_credential *ret_credential);
/* What a proof is held against; 'kept' has NATIVE_VERIFIER_SIZE bytes. */
void native_credential_verifier(const struct secret *key, struct slice connection_name,
                                struct slice kept, struct scram_verifier *ret_verifier);
/* The same for MySQL. */
void native_credential_mysql(struct slice kept, struct mysql_verifier *ret_verifier);
/* Of an unknown name: one that no proof is right for, in the same time. */
void native_credential_mysql_mock(const struct secret *key, struct slice connection_name,
                                  struct mysql_verifier *ret_verifier);

/* Of a client that sends its secret: the hash to know it by, of NATIVE_HASH_SIZE bytes. */
void native_credential_hash(struct slice secret, char *ret_hash);
/* In constant time; 'kept' has NATIVE_HASH_SIZE bytes. */
bool native_credential_is_hash(struct slice kept, const char *hash);

#endif
