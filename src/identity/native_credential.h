/* SPDX-License-Identifier: MIT */
/* The secret of a native client's credential, and what is kept of it: a hash to know it again, and
 * the verifier of SCRAM-SHA-256 (RFC 5802, RFC 7677), with which a client proves that it knows the
 * secret without sending it, and the gateway that it has the verifier. */
#ifndef GH_IDENTITY_NATIVE_CREDENTIAL_H
#define GH_IDENTITY_NATIVE_CREDENTIAL_H

#include "base/arena.h"

#define NATIVE_SALT_SIZE     16
#define NATIVE_ITERATIONS    4096
#define NATIVE_VERIFIER_SIZE 64 /* StoredKey, then ServerKey */

struct native_credential {
    struct slice secret; /* ASCII */
    struct slice hash;
    struct slice verifier;
};

/* A new one, from 32 random bytes. Computes for some milliseconds. */
void native_credential_make_in(struct arena *arena, const unsigned char *salt,
                               struct native_credential *ret_credential);
/* The verifier of a secret. 'verifier' holds NATIVE_VERIFIER_SIZE bytes. */
void native_credential_verifier(struct slice secret, const unsigned char *salt,
                                unsigned char *verifier);

#endif
