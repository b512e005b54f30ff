/* SPDX-License-Identifier: MIT */
#include "identity/signing_key.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"

#include <sodium.h>

struct signing_key {
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
    unsigned char secret_key[crypto_sign_SECRETKEYBYTES];
    struct arena arena; /* of the name */
    struct slice id;
};

/* RFC 7638 section 3 and RFC 8037 appendix A.3: the members that make the key, in order. */
static struct slice signing_key_thumbprint_in(struct arena *arena, struct slice public_key)
{
    struct slice x = base64_encode_in(arena, BASE64_URL, public_key);
    struct slice jwk =
        arena_format(arena, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"%.*s\"}", SLICE_ARG(x));
    unsigned char hash[crypto_hash_sha256_BYTES];
    must(crypto_hash_sha256(hash, (const unsigned char *)jwk.at, jwk.len) == 0);
    return base64_encode_in(arena, BASE64_URL, slice_of(hash, sizeof(hash)));
}

enum err signing_key_new(const struct secret *seed, struct signing_key **ret_key,
                         struct error *reterr)
{
    must(sodium_init() >= 0);
    struct slice bytes = secret_view(seed);
    if (bytes.len != SIGNING_KEY_SEED_SIZE) {
        return fail(reterr, ERR_INPUT, "seed of a signing key must have %d bytes",
                    SIGNING_KEY_SEED_SIZE);
    }
    struct signing_key *key = memory_new(sizeof(*key));
    arena_init(&key->arena);
    must(crypto_sign_seed_keypair(key->public_key, key->secret_key,
                                  (const unsigned char *)bytes.at) == 0);
    key->id =
        signing_key_thumbprint_in(&key->arena, slice_of(key->public_key, sizeof(key->public_key)));
    *ret_key = key;
    return ERR_NONE;
}

void signing_key_free(struct signing_key *key)
{
    if (key == NULL) {
        return;
    }
    arena_release(&key->arena);
    explicit_bzero(key, sizeof(*key));
    memory_free(key);
}

struct slice signing_key_id(const struct signing_key *key)
{
    return key->id;
}

enum err signing_key_sign_in(struct arena *arena, const struct signing_key *key,
                             struct slice claims, struct slice *ret_token, struct error *reterr)
{
    struct slice token = SLICE_NONE;
    if (claims.len <= LIMIT_JWT_SIZE) {
        struct slice part = jwt_make_in(arena, key->id, claims);
        unsigned char signature[crypto_sign_BYTES];
        must(crypto_sign_detached(signature, NULL, (const unsigned char *)part.at, part.len,
                                  key->secret_key) == 0);
        token = jwt_join_in(arena, part, slice_of(signature, sizeof(signature)));
    }
    if (token.len == 0 || token.len > LIMIT_JWT_SIZE) {
        return fail(reterr, ERR_LIMIT, "token of more than %zu bytes", LIMIT_JWT_SIZE);
    }
    *ret_token = token;
    return ERR_NONE;
}

enum err signing_key_verify(const struct signing_key *key, const struct jwt *jwt,
                            struct error *reterr)
{
    if (jwt->algorithm != JWT_EDDSA || !slice_equals(jwt->key_id, key->id)) {
        return fail(reterr, ERR_NOT_FOUND, "token of a key that is not known");
    }
    if (jwt->signature.len != crypto_sign_BYTES ||
        crypto_sign_verify_detached((const unsigned char *)jwt->signature.at,
                                    (const unsigned char *)jwt->signed_part.at,
                                    jwt->signed_part.len, key->public_key) != 0) {
        return fail(reterr, ERR_UNAUTHENTICATED, "token whose signature is wrong");
    }
    return ERR_NONE;
}
