/* SPDX-License-Identifier: MIT */
#include "identity/native_credential.h"

#include "base/must.h"
#include "codec/base64.h"

#include <openssl/evp.h>
#include <sodium.h>

#define RANDOM_SIZE 32
#define KEY_SIZE    32

static void native_credential_hmac(const unsigned char *key, struct slice text, unsigned char *out)
{
    _Static_assert(crypto_auth_hmacsha256_KEYBYTES == KEY_SIZE, "the key is a hash");
    (void)crypto_auth_hmacsha256(out, (const unsigned char *)text.at, text.len, key);
}

void native_credential_verifier(struct slice secret, const unsigned char *salt,
                                unsigned char *verifier)
{
    unsigned char salted[KEY_SIZE];
    unsigned char client_key[KEY_SIZE];
    must(PKCS5_PBKDF2_HMAC(secret.at, (int)secret.len, salt, NATIVE_SALT_SIZE, NATIVE_ITERATIONS,
                           EVP_sha256(), KEY_SIZE, salted) == 1);
    native_credential_hmac(salted, SLICE("Client Key"), client_key);
    (void)crypto_hash_sha256(verifier, client_key, sizeof(client_key));
    native_credential_hmac(salted, SLICE("Server Key"), verifier + KEY_SIZE);
    sodium_memzero(salted, sizeof(salted));
    sodium_memzero(client_key, sizeof(client_key));
}

void native_credential_make_in(struct arena *arena, const unsigned char *salt,
                               struct native_credential *ret_credential)
{
    unsigned char random[RANDOM_SIZE];
    unsigned char *hash = arena_alloc(arena, crypto_hash_sha256_BYTES);
    unsigned char *verifier = arena_alloc(arena, NATIVE_VERIFIER_SIZE);
    randombytes_buf(random, sizeof(random));
    struct slice secret = base64_encode_in(arena, BASE64_URL, slice_of(random, sizeof(random)));
    sodium_memzero(random, sizeof(random));
    (void)crypto_hash_sha256(hash, (const unsigned char *)secret.at, secret.len);
    native_credential_verifier(secret, salt, verifier);
    *ret_credential = (struct native_credential){
        .secret = secret,
        .hash = slice_of(hash, crypto_hash_sha256_BYTES),
        .verifier = slice_of(verifier, NATIVE_VERIFIER_SIZE),
    };
}
