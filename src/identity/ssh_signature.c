/* SPDX-License-Identifier: MIT */
#include "identity/ssh_signature.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <sodium.h>

DEFINE_FREE_AT(BN_free, BIGNUM)
DEFINE_FREE_AT(ECDSA_SIG_free, ECDSA_SIG)
DEFINE_FREE_AT(EVP_MD_CTX_free, EVP_MD_CTX)
DEFINE_FREE_AT(EVP_PKEY_free, EVP_PKEY)
DEFINE_FREE_AT(EVP_PKEY_CTX_free, EVP_PKEY_CTX)
DEFINE_FREE_AT(OSSL_PARAM_free, OSSL_PARAM)
DEFINE_FREE_AT(OSSL_PARAM_BLD_free, OSSL_PARAM_BLD)

#define DER_SIZE_MAX 160 /* of a signature by P-521 */

static struct slice signature_field(struct reader *reader)
{
    size_t size = reader_u32(reader);
    return reader_view(reader, size);
}

static const unsigned char *signature_bytes(struct slice text)
{
    return (const unsigned char *)text.at;
}

static EVP_PKEY *signature_make_key(const char *kind, OSSL_PARAM_BLD *builder)
{
    OSSL_PARAM *params CLEANUP(OSSL_PARAM_free_at)
    = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *making CLEANUP(EVP_PKEY_CTX_free_at)
    = EVP_PKEY_CTX_new_from_name(NULL, kind, NULL);
    EVP_PKEY *key = NULL;
    must(params != NULL && making != NULL && EVP_PKEY_fromdata_init(making) == 1);
    return EVP_PKEY_fromdata(making, &key, EVP_PKEY_PUBLIC_KEY, params) == 1 ? key : NULL;
}

static bool signature_verify(EVP_PKEY *key, const EVP_MD *hash, struct slice data,
                             struct slice signature)
{
    EVP_MD_CTX *context CLEANUP(EVP_MD_CTX_free_at)
    = EVP_MD_CTX_new();
    must(context != NULL);
    bool is_right = key != NULL && EVP_DigestVerifyInit(context, NULL, hash, NULL, key) == 1 &&
                    EVP_DigestVerify(context, signature_bytes(signature), signature.len,
                                     signature_bytes(data), data.len) == 1;
    ERR_clear_error();
    return is_right;
}

/* Ed25519 ------------------------------------------------------------------------------------- */

static bool signature_is_ed25519(const struct sshwire_key *key, struct slice data,
                                 struct slice signature)
{
    return signature.len == crypto_sign_BYTES &&
           crypto_sign_verify_detached(signature_bytes(signature), signature_bytes(data), data.len,
                                       signature_bytes(key->point)) == 0;
}

/* ECDSA --------------------------------------------------------------------------------------- */

static EVP_PKEY *signature_point_key(const char *curve, struct slice point)
{
    OSSL_PARAM_BLD *builder CLEANUP(OSSL_PARAM_BLD_free_at)
    = OSSL_PARAM_BLD_new();
    must(builder != NULL &&
         OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0) == 1 &&
         OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point.at, point.len) ==
             1);
    return signature_make_key("EC", builder);
}

/* SSH has two numbers, OpenSSL wants them as DER has them. */
static bool signature_is_ecdsa(const struct sshwire_key *key, struct slice data,
                               struct slice signature)
{
    static const struct {
        enum sshwire_key_kind kind;
        const char *curve;
        const char *hash;
    } curves[] = {{SSHWIRE_KEY_ECDSA_256, "P-256", "SHA256"},
                  {SSHWIRE_KEY_ECDSA_384, "P-384", "SHA384"},
                  {SSHWIRE_KEY_ECDSA_521, "P-521", "SHA512"}};
    unsigned char der[DER_SIZE_MAX];
    unsigned char *end = der;
    struct reader reader = reader_of(signature);
    struct slice r = signature_field(&reader);
    struct slice s = signature_field(&reader);
    size_t curve = 0;
    while (curve < COUNT_OF(curves) && curves[curve].kind != key->kind) {
        curve++;
    }
    if (reader_done(&reader) != ERR_NONE || r.len > 67 || s.len > 67 || curve == COUNT_OF(curves)) {
        return false;
    }
    ECDSA_SIG *numbers CLEANUP(ECDSA_SIG_free_at)
    = ECDSA_SIG_new();
    BIGNUM *r_number = BN_bin2bn(signature_bytes(r), (int)r.len, NULL);
    BIGNUM *s_number = BN_bin2bn(signature_bytes(s), (int)s.len, NULL);
    must(numbers != NULL && ECDSA_SIG_set0(numbers, r_number, s_number) == 1);
    int len = i2d_ECDSA_SIG(numbers, &end);
    must(len > 0 && len <= DER_SIZE_MAX);
    EVP_PKEY *public CLEANUP(EVP_PKEY_free_at)
    = signature_point_key(curves[curve].curve, key->point);
    return signature_verify(public, EVP_get_digestbyname(curves[curve].hash), data,
                            slice_of(der, (size_t)len));
}

/* RSA ----------------------------------------------------------------------------------------- */

static bool signature_is_rsa(const struct sshwire_key *key, const char *hash, struct slice data,
                             struct slice signature)
{
    struct reader reader = reader_of(key->blob);
    (void)signature_field(&reader); /* its type */
    struct slice exponent = signature_field(&reader);
    struct slice modulus = signature_field(&reader);
    BIGNUM *e CLEANUP(BN_free_at)
    = BN_bin2bn(signature_bytes(exponent), (int)exponent.len, NULL);
    BIGNUM *n CLEANUP(BN_free_at)
    = BN_bin2bn(signature_bytes(modulus), (int)modulus.len, NULL);
    OSSL_PARAM_BLD *builder CLEANUP(OSSL_PARAM_BLD_free_at)
    = OSSL_PARAM_BLD_new();
    must(e != NULL && n != NULL && builder != NULL &&
         OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
         OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1);
    EVP_PKEY *public CLEANUP(EVP_PKEY_free_at)
    = signature_make_key("RSA", builder);
    return signature_verify(public, EVP_get_digestbyname(hash), data, signature);
}

/* All of them --------------------------------------------------------------------------------- */

bool ssh_signature_is_right(const struct sshwire_key *key, struct slice data,
                            struct slice signature)
{
    struct reader reader = reader_of(signature);
    struct slice algorithm = signature_field(&reader);
    struct slice made = signature_field(&reader);
    if (reader_done(&reader) != ERR_NONE || made.len == 0) {
        return false;
    }
    switch (key->kind) {
    case SSHWIRE_KEY_ED25519:
        return slice_equals(algorithm, key->type) && signature_is_ed25519(key, data, made);
    case SSHWIRE_KEY_ECDSA_256:
    case SSHWIRE_KEY_ECDSA_384:
    case SSHWIRE_KEY_ECDSA_521:
        return slice_equals(algorithm, key->type) && signature_is_ecdsa(key, data, made);
    case SSHWIRE_KEY_RSA:
        return slice_equals(algorithm, SLICE("rsa-sha2-512"))
                   ? signature_is_rsa(key, "SHA512", data, made)
                   : slice_equals(algorithm, SLICE("rsa-sha2-256")) &&
                         signature_is_rsa(key, "SHA256", data, made);
    case SSHWIRE_KEY_SK_ED25519:
    case SSHWIRE_KEY_SK_ECDSA:
        break;
    }
    return false;
}
