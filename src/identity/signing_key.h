/* SPDX-License-Identifier: MIT */
/* The gateway's own key pair, Ed25519: it signs the gateway's tokens and knows them again. Its name
 * in them is its thumbprint (RFC 7638), so that there may be an older one beside it. A key does not
 * change: any number of threads may use it at once. Wiped when it is freed. */
#ifndef GH_IDENTITY_SIGNING_KEY_H
#define GH_IDENTITY_SIGNING_KEY_H

#include "base/arena.h"
#include "base/error.h"
#include "base/secret.h"
#include "codec/jwt.h"

#define SIGNING_KEY_SEED_SIZE 32

struct signing_key;

/* The same seed makes the same key. ERR_INPUT when it has not SIGNING_KEY_SEED_SIZE bytes. */
enum err signing_key_new(const struct secret *seed, struct signing_key **ret_key,
                         struct error *reterr) MUST_USE;
void signing_key_free(struct signing_key *key);

/* As long as the key. */
struct slice signing_key_id(const struct signing_key *key);

/* 'claims' is the text of a JSON object. ERR_LIMIT when the token would be larger than what
 * jwt_parse_in() reads. */
enum err signing_key_sign_in(struct arena *arena, const struct signing_key *key,
                             struct slice claims, struct slice *ret_token,
                             struct error *reterr) MUST_USE;

/* ERR_NOT_FOUND when the token is not of this key, ERR_UNAUTHENTICATED when its signature is wrong.
 */
enum err signing_key_verify(const struct signing_key *key, const struct jwt *jwt,
                            struct error *reterr) MUST_USE;

#endif
