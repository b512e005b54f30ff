/* SPDX-License-Identifier: MIT */
/* Keys as a provider has them, and tokens signed with them, made with OpenSSL alone. All text lives
 * in the arena. */
#ifndef GH_IDENTITY_JWK_HELP_H
#define GH_IDENTITY_JWK_HELP_H

#include "base/arena.h"
#include "codec/jwt.h"

#include <openssl/evp.h>

EVP_PKEY *help_rsa_new(size_t bits, unsigned exponent);
EVP_PKEY *help_ec_new(const char *curve);
EVP_PKEY *help_ed25519_new(void);

struct slice help_encode(struct arena *arena, struct slice bytes);
/* The public key as a JWK; 'more' is text of members that follow, such as "\"kid\":\"a\"". */
struct slice help_jwk(struct arena *arena, EVP_PKEY *pkey, const char *more);
/* {"keys":[…]} of up to three texts; SLICE_NONE ends them. */
struct slice help_jwk_set(struct arena *arena, struct slice a, struct slice b, struct slice c);

/* The bytes of a signature as RFC 7518 has them. */
struct slice help_sign(struct arena *arena, EVP_PKEY *pkey, enum jwt_algorithm algorithm,
                       struct slice text);
/* Header and claims encoded, with the dot. */
struct slice help_signed_part(struct arena *arena, struct slice header, struct slice claims);
struct slice help_join(struct arena *arena, struct slice part, struct slice signature);
struct slice help_token(struct arena *arena, EVP_PKEY *pkey, enum jwt_algorithm algorithm,
                        const char *header, const char *claims);

#endif
