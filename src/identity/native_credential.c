/* SPDX-License-Identifier: MIT */
#include "identity/native_credential.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"

#include <sodium.h>

#define RANDOM_SIZE 32

static struct slice native_credential_secret_in(struct arena *arena)
{
    unsigned char random[RANDOM_SIZE];
    randombytes_buf(random, sizeof(random));
    struct slice secret = base64_encode_in(arena, BASE64_URL, slice_of(random, sizeof(random)));
    sodium_memzero(random, sizeof(random));
    return secret;
}

static struct slice native_credential_keys_in(struct arena *arena, const struct secret *key,
                                              struct slice connection_name, struct slice text)
{
    struct secret password CLEANUP(secret_release);
    struct scram_verifier verifier;
    unsigned char *keys = arena_alloc(arena, NATIVE_VERIFIER_SIZE);
    secret_init(&password);
    must(secret_set(&password, text) == ERR_NONE);
    scram_verifier_mock(key, connection_name, &verifier);
    scram_verifier_derive(&password, slice_of(verifier.salt, verifier.salt_size),
                          verifier.iterations, &verifier);
    memcpy(keys, verifier.stored_key, SCRAM_HASH_SIZE);
    memcpy(keys + SCRAM_HASH_SIZE, verifier.server_key, SCRAM_HASH_SIZE);
    scram_verifier_wipe(&verifier);
    return slice_of(keys, NATIVE_VERIFIER_SIZE);
}

void native_credential_hash(struct slice secret, char *ret_hash)
{
    (void)crypto_hash_sha256((unsigned char *)ret_hash, (const unsigned char *)secret.at,
                             secret.len);
}

bool native_credential_is_hash(struct slice kept, const char *hash)
{
    must(kept.len == NATIVE_HASH_SIZE);
    return sodium_memcmp(kept.at, hash, NATIVE_HASH_SIZE) == 0;
}

void native_credential_make_in(struct arena *arena, const struct secret *key,
                               struct slice connection_name,
                               struct native_credential *ret_credential)
{
    char *hash = arena_alloc(arena, NATIVE_HASH_SIZE);
    struct slice secret = native_credential_secret_in(arena);
    native_credential_hash(secret, hash);
    *ret_credential = (struct native_credential){
        .secret = secret,
        .hash = slice_of(hash, NATIVE_HASH_SIZE),
        .verifier = native_credential_keys_in(arena, key, connection_name, secret),
    };
}

void native_credential_verifier(const struct secret *key, struct slice connection_name,
                                struct slice kept, struct scram_verifier *ret_verifier)
{
    must(kept.len == NATIVE_VERIFIER_SIZE);
    scram_verifier_mock(key, connection_name, ret_verifier);
    memcpy(ret_verifier->stored_key, kept.at, SCRAM_HASH_SIZE);
    memcpy(ret_verifier->server_key, kept.at + SCRAM_HASH_SIZE, SCRAM_HASH_SIZE);
    ret_verifier->is_mock = false;
}
