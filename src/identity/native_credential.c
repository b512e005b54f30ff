/* SPDX-License-Identifier: MIT */
#include "identity/native_credential.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"

#include <sodium.h>

#define RANDOM_SIZE 32
#define MYSQL_MARK  "mysql:" /* before a secret whose own hash must not be known */

_Static_assert(NATIVE_VERIFIER_SIZE == 2 * SCRAM_HASH_SIZE, "both keys");

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

static struct slice native_credential_mysql_in(struct arena *arena, struct slice secret)
{
    struct mysql_verifier verifier;
    unsigned char *kept = arena_alloc(arena, NATIVE_VERIFIER_SIZE);
    mysql_verifier_make(secret, &verifier);
    memcpy(kept, verifier.sha2, sizeof(verifier.sha2));
    memcpy(kept + sizeof(verifier.sha2), verifier.sha1, sizeof(verifier.sha1));
    return slice_of(kept, NATIVE_VERIFIER_SIZE);
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

void native_credential_of_in(struct arena *arena, const struct secret *key,
                             struct slice connection_name, enum native_proof proof,
                             struct slice secret, struct native_credential *ret_credential)
{
    bool is_mysql = proof == NATIVE_PROOF_MYSQL;
    char *hash = arena_alloc(arena, NATIVE_HASH_SIZE);
    struct slice hashed =
        is_mysql ? arena_format(arena, MYSQL_MARK "%.*s", SLICE_ARG(secret)) : secret;
    native_credential_hash(hashed, hash);
    *ret_credential = (struct native_credential){
        .secret = secret,
        .hash = slice_of(hash, NATIVE_HASH_SIZE),
        .verifier = is_mysql ? native_credential_mysql_in(arena, secret)
                             : native_credential_keys_in(arena, key, connection_name, secret),
    };
}

void native_credential_make_in(struct arena *arena, const struct secret *key,
                               struct slice connection_name, enum native_proof proof,
                               struct native_credential *ret_credential)
{
    native_credential_of_in(arena, key, connection_name, proof, native_credential_secret_in(arena),
                            ret_credential);
}

void native_credential_mysql(struct slice kept, struct mysql_verifier *ret_verifier)
{
    must(kept.len == NATIVE_VERIFIER_SIZE);
    memcpy(ret_verifier->sha2, kept.at, sizeof(ret_verifier->sha2));
    memcpy(ret_verifier->sha1, kept.at + sizeof(ret_verifier->sha2), sizeof(ret_verifier->sha1));
}

void native_credential_mysql_mock(const struct secret *key, struct slice connection_name,
                                  struct mysql_verifier *ret_verifier)
{
    struct scram_verifier mock;
    scram_verifier_mock(key, connection_name, &mock);
    memcpy(ret_verifier->sha2, mock.stored_key, sizeof(ret_verifier->sha2));
    memcpy(ret_verifier->sha1, mock.server_key, sizeof(ret_verifier->sha1));
    scram_verifier_wipe(&mock);
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
