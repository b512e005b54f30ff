/* SPDX-License-Identifier: MIT */
#include "identity/person_key.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>

DEFINE_FREE_AT(EVP_PKEY_free, EVP_PKEY)
DEFINE_FREE_AT(EVP_PKEY_CTX_free, EVP_PKEY_CTX)
DEFINE_FREE_AT(OSSL_PARAM_free, OSSL_PARAM)
DEFINE_FREE_AT(OSSL_PARAM_BLD_free, OSSL_PARAM_BLD)

static bool person_key_is_on_curve(const char *curve, struct slice point)
{
    OSSL_PARAM_BLD *builder CLEANUP(OSSL_PARAM_BLD_free_at)
    = OSSL_PARAM_BLD_new();
    must(builder != NULL &&
         OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0) == 1 &&
         OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point.at, point.len) ==
             1);
    OSSL_PARAM *params CLEANUP(OSSL_PARAM_free_at)
    = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *making CLEANUP(EVP_PKEY_CTX_free_at)
    = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    must(params != NULL && making != NULL && EVP_PKEY_fromdata_init(making) == 1);
    EVP_PKEY *key CLEANUP(EVP_PKEY_free_at)
    = NULL;
    bool is_it = EVP_PKEY_fromdata(making, &key, EVP_PKEY_PUBLIC_KEY, params) == 1;
    if (is_it) {
        EVP_PKEY_CTX *checking CLEANUP(EVP_PKEY_CTX_free_at)
        = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
        must(checking != NULL);
        is_it = EVP_PKEY_public_check(checking) == 1;
    }
    ERR_clear_error();
    return is_it;
}

/* For points of a small order anybody can make signatures. */
bool person_key_is_sound(const struct sshwire_key *key)
{
    switch (key->kind) {
    case SSHWIRE_KEY_ED25519:
    case SSHWIRE_KEY_SK_ED25519:
        return crypto_core_ed25519_is_valid_point((const unsigned char *)key->point.at) == 1;
    case SSHWIRE_KEY_ECDSA_256:
    case SSHWIRE_KEY_SK_ECDSA:
        return person_key_is_on_curve("P-256", key->point);
    case SSHWIRE_KEY_ECDSA_384:
        return person_key_is_on_curve("P-384", key->point);
    case SSHWIRE_KEY_ECDSA_521:
        return person_key_is_on_curve("P-521", key->point);
    case SSHWIRE_KEY_RSA:
        break;
    }
    return true;
}

enum err person_key_read_in(struct arena *arena, struct slice line, struct sshwire_key *ret_key,
                            struct error *reterr)
{
    struct sshwire_key key;
    enum err err = sshwire_key_read_line_in(arena, line, &key, reterr);
    if (err == ERR_NONE && !person_key_is_sound(&key)) {
        err = fail(reterr, ERR_INPUT, "the key is no point that somebody can have a secret for");
    }
    if (err == ERR_NONE) {
        *ret_key = key;
    }
    return err;
}

struct slice person_key_fingerprint_in(struct arena *arena, struct slice blob)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    must(crypto_hash_sha256(hash, (const unsigned char *)blob.at, blob.len) == 0);
    struct slice text = base64_encode_in(arena, BASE64_STANDARD_BARE, slice_of(hash, sizeof(hash)));
    return arena_format(arena, "SHA256:%.*s", SLICE_ARG(text));
}
