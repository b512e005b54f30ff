/* SPDX-License-Identifier: MIT */
/* The public keys with which a provider signs its tokens: a JWK set (RFC 7517). Keys that are not
 * for this, or of a kind or size we do not use, are passed over, as the RFC wants it. A set does
 * not change: any number of threads may verify with it at once. */
#ifndef GH_IDENTITY_JWK_H
#define GH_IDENTITY_JWK_H

#include "base/error.h"
#include "base/slice.h"
#include "codec/jwt.h"

struct jwk_set;

/* Usable are RSA keys of 2048 to 8192 bits, EC keys on P-256 and OKP keys of Ed25519 that may
 * verify signatures and come without their private part. ERR_INPUT when there is none, with what
 * is wrong with the last; ERR_LIMIT for too large a document or too many keys. */
enum err jwk_set_new(struct slice json, struct jwk_set **ret_set, struct error *reterr) MUST_USE;
void jwk_set_free(struct jwk_set *set);

/* Of usable keys; never 0. */
size_t jwk_set_count(const struct jwk_set *set);

/* By the key of the token's 'kid' that fits its algorithm, the first if there are several; without
 * a 'kid' by the only key that fits. ERR_NOT_FOUND when there is no such key, so that a newer set
 * may have it; ERR_UNAUTHENTICATED when there is and it did not sign the token. */
enum err jwk_set_verify(const struct jwk_set *set, const struct jwt *jwt,
                        struct error *reterr) MUST_USE;

#endif
