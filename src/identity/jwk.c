/* SPDX-License-Identifier: MIT */
#include "identity/jwk.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/writer.h"
#include "codec/base64.h"
#include "codec/json.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <sodium.h>

#define JWK_RSA_BITS_MIN          2048
#define JWK_RSA_BITS_MAX          8192
#define JWK_RSA_EXPONENT_BITS_MIN 17 /* 65537 and above (FIPS 186-5, appendix A.1.1) */
#define JWK_RSA_EXPONENT_BITS_MAX 32
#define JWK_P256_SIZE             32 /* of a coordinate, and of each half of a signature */

enum jwk_type { JWK_RSA, JWK_EC, JWK_OKP };

struct jwk {
    enum jwk_type type;
    struct slice key_id; /* SLICE_NONE: it has none */
    bool has_algorithm;
    enum jwt_algorithm algorithm; /* the only one it may be used with, if it has one */
    EVP_PKEY *pkey;               /* RSA and EC */
    struct slice ed25519;         /* OKP */
};

struct jwk_set {
    struct arena arena;
    struct jwk *keys;
    size_t count;
};

DEFINE_FREE_AT(BN_free, BIGNUM)
DEFINE_FREE_AT(ECDSA_SIG_free, ECDSA_SIG)
DEFINE_FREE_AT(EVP_MD_CTX_free, EVP_MD_CTX)
DEFINE_FREE_AT(EVP_PKEY_CTX_free, EVP_PKEY_CTX)
DEFINE_FREE_AT(OSSL_PARAM_free, OSSL_PARAM)
DEFINE_FREE_AT(OSSL_PARAM_BLD_free, OSSL_PARAM_BLD)
DEFINE_FREE_AT(jwk_set_free, struct jwk_set)

static const unsigned char *jwk_bytes(struct slice slice)
{
    return (const unsigned char *)slice.at;
}

static BIGNUM *jwk_number_new(struct slice bytes)
{
    BIGNUM *number = BN_bin2bn(jwk_bytes(bytes), (int)bytes.len, NULL);
    must(number != NULL);
    return number;
}

/* A member that is base64url. */
static enum err jwk_read_bytes(const struct json *json, const char *name, struct slice *ret_bytes,
                               struct error *reterr)
{
    struct slice text;
    enum err err = json_as_text(json_member(json, name), &text, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (base64_decode_in(json->arena, BASE64_URL, text, ret_bytes) != ERR_NONE) {
        return fail(reterr, ERR_INPUT, "'%s' is not base64url", name);
    }
    return ERR_NONE;
}

static enum err jwk_check_curve(const struct json *json, const char *wanted, struct error *reterr)
{
    struct slice curve;
    enum err err = json_as_text(json_member(json, "crv"), &curve, reterr);
    if (err == ERR_NONE && !slice_equals(curve, slice_of_text(wanted))) {
        return fail(reterr, ERR_INPUT, "'crv' is not %s", wanted);
    }
    return err;
}

/* NULL when OpenSSL does not want it; points that are not on the curve among others. */
static EVP_PKEY *jwk_pkey_new(const char *type, OSSL_PARAM_BLD *builder)
{
    OSSL_PARAM *params CLEANUP(OSSL_PARAM_free_at)
    = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *making CLEANUP(EVP_PKEY_CTX_free_at)
    = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    must(params != NULL && making != NULL && EVP_PKEY_fromdata_init(making) == 1);
    EVP_PKEY *pkey = NULL;
    int made = EVP_PKEY_fromdata(making, &pkey, EVP_PKEY_PUBLIC_KEY, params);
    ERR_clear_error();
    return made == 1 ? pkey : NULL;
}

static enum err jwk_read_rsa(const struct json *json, struct jwk *key, struct error *reterr)
{
    struct slice modulus;
    struct slice exponent;
    enum err err = jwk_read_bytes(json, "n", &modulus, reterr);
    if (err == ERR_NONE) {
        err = jwk_read_bytes(json, "e", &exponent, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    BIGNUM *n CLEANUP(BN_free_at)
    = jwk_number_new(modulus);
    BIGNUM *e CLEANUP(BN_free_at)
    = jwk_number_new(exponent);
    if (BN_num_bits(n) < JWK_RSA_BITS_MIN || BN_num_bits(n) > JWK_RSA_BITS_MAX || !BN_is_odd(n)) {
        return fail(reterr, ERR_INPUT, "'n' is not an RSA modulus of %d to %d bits",
                    JWK_RSA_BITS_MIN, JWK_RSA_BITS_MAX);
    }
    if (BN_num_bits(e) < JWK_RSA_EXPONENT_BITS_MIN || BN_num_bits(e) > JWK_RSA_EXPONENT_BITS_MAX ||
        !BN_is_odd(e)) {
        return fail(reterr, ERR_INPUT, "'e' is not an RSA exponent from 65537 up to 32 bits");
    }
    OSSL_PARAM_BLD *builder CLEANUP(OSSL_PARAM_BLD_free_at)
    = OSSL_PARAM_BLD_new();
    must(builder != NULL && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
         OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1);
    key->type = JWK_RSA;
    key->pkey = jwk_pkey_new("RSA", builder);
    if (key->pkey == NULL) {
        return fail(reterr, ERR_INPUT, "'n' and 'e' are not an RSA key");
    }
    return ERR_NONE;
}

static enum err jwk_make_ec(struct slice point, struct jwk *key, struct error *reterr)
{
    OSSL_PARAM_BLD *builder CLEANUP(OSSL_PARAM_BLD_free_at)
    = OSSL_PARAM_BLD_new();
    must(builder != NULL &&
         OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) ==
             1 &&
         OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point.at, point.len) ==
             1);
    key->pkey = jwk_pkey_new("EC", builder);
    if (key->pkey != NULL) {
        EVP_PKEY_CTX *checking CLEANUP(EVP_PKEY_CTX_free_at)
        = EVP_PKEY_CTX_new_from_pkey(NULL, key->pkey, NULL);
        must(checking != NULL);
        int checked = EVP_PKEY_public_check(checking);
        ERR_clear_error();
        if (checked == 1) {
            return ERR_NONE;
        }
        EVP_PKEY_free(key->pkey);
        key->pkey = NULL;
    }
    return fail(reterr, ERR_INPUT, "'x' and 'y' are not a point of the curve");
}

static enum err jwk_read_ec(const struct json *json, struct jwk *key, struct error *reterr)
{
    struct slice x;
    struct slice y;
    enum err err = jwk_check_curve(json, "P-256", reterr);
    if (err == ERR_NONE) {
        err = jwk_read_bytes(json, "x", &x, reterr);
    }
    if (err == ERR_NONE) {
        err = jwk_read_bytes(json, "y", &y, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (x.len != JWK_P256_SIZE || y.len != JWK_P256_SIZE) {
        return fail(reterr, ERR_INPUT, "'x' and 'y' must have %d bytes", JWK_P256_SIZE);
    }
    /* SEC 1 section 2.3.3: an uncompressed point. */
    struct buf point CLEANUP(buf_release);
    buf_init(&point, 1 + 2 * JWK_P256_SIZE);
    struct writer writer = writer_to(&point);
    writer_u8(&writer, POINT_CONVERSION_UNCOMPRESSED);
    writer_bytes(&writer, x);
    writer_bytes(&writer, y);
    must(writer_done(&writer) == ERR_NONE);
    key->type = JWK_EC;
    return jwk_make_ec(buf_view(&point), key, reterr);
}

static enum err jwk_read_okp(const struct json *json, struct jwk *key, struct error *reterr)
{
    struct slice x;
    enum err err = jwk_check_curve(json, "Ed25519", reterr);
    if (err == ERR_NONE) {
        err = jwk_read_bytes(json, "x", &x, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    /* Under a point of small order anything is signed. */
    if (x.len != crypto_sign_PUBLICKEYBYTES ||
        crypto_core_ed25519_is_valid_point(jwk_bytes(x)) != 1) {
        return fail(reterr, ERR_INPUT, "'x' is not a key of Ed25519");
    }
    key->type = JWK_OKP;
    key->ed25519 = x;
    return ERR_NONE;
}

/* RFC 7517 sections 4.2 and 4.3: what the key is for, if it says so. */
static enum err jwk_check_use(const struct json *json, struct error *reterr)
{
    struct json use = json_member(json, "use");
    struct json operations = json_member(json, "key_ops");
    struct slice text;
    if (!json_is_absent(use)) {
        enum err err = json_as_text(use, &text, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        if (!slice_equals(text, SLICE("sig"))) {
            return fail(reterr, ERR_INPUT, "'use' is not sig");
        }
    }
    if (json_is_absent(operations)) {
        return ERR_NONE;
    }
    size_t count;
    enum err err = json_as_array(operations, &count, reterr);
    for (size_t i = 0; err == ERR_NONE && i < count; i++) {
        err = json_as_text(json_item(&operations, i), &text, reterr);
        if (err == ERR_NONE && slice_equals(text, SLICE("verify"))) {
            return ERR_NONE;
        }
    }
    return err == ERR_NONE ? fail(reterr, ERR_INPUT, "'key_ops' has no verify") : err;
}

static enum err jwk_read_names(const struct json *json, struct jwk *key, struct error *reterr)
{
    struct json algorithm = json_member(json, "alg");
    struct json key_id = json_member(json, "kid");
    struct slice text;
    if (!json_is_absent(algorithm)) {
        enum err err = json_as_text(algorithm, &text, reterr);
        if (err != ERR_NONE) {
            return err;
        }
        if (jwt_algorithm_of(text, &key->algorithm) != ERR_NONE) {
            return fail(reterr, ERR_INPUT, "'alg' is not RS256, PS256, ES256 or EdDSA");
        }
        key->has_algorithm = true;
    }
    if (json_is_absent(key_id)) {
        return ERR_NONE;
    }
    enum err err = json_as_text(key_id, &key->key_id, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (key->key_id.len == 0 || key->key_id.len > LIMIT_JWT_KEY_ID_SIZE) {
        return fail(reterr, ERR_INPUT, "'kid' must have 1 to %d bytes", LIMIT_JWT_KEY_ID_SIZE);
    }
    return ERR_NONE;
}

/* On failure there is nothing to free. What the key holds lives in the document's arena. */
static enum err jwk_read(const struct json *json, struct jwk *ret_key, struct error *reterr)
{
    struct jwk key = {.key_id = SLICE_NONE};
    struct slice type;
    enum err err = json_as_text(json_member(json, "kty"), &type, reterr);
    if (err == ERR_NONE) {
        err = jwk_check_use(json, reterr);
    }
    if (err == ERR_NONE) {
        err = jwk_read_names(json, &key, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (!json_is_absent(json_member(json, "d"))) {
        return fail(reterr, ERR_INPUT, "its private part is there for all to see");
    }
    if (slice_equals(type, SLICE("RSA"))) {
        err = jwk_read_rsa(json, &key, reterr);
    } else if (slice_equals(type, SLICE("EC"))) {
        err = jwk_read_ec(json, &key, reterr);
    } else if (slice_equals(type, SLICE("OKP"))) {
        err = jwk_read_okp(json, &key, reterr);
    } else {
        err = fail(reterr, ERR_INPUT, "'kty' is not RSA, EC or OKP");
    }
    if (err == ERR_NONE) {
        *ret_key = key;
    }
    return err;
}

/* The keys that can be used, into the set; 'reason' says why the last one that cannot is not. */
static void jwk_set_add(struct jwk_set *set, const struct json *keys, size_t count,
                        struct error *reason)
{
    set->keys = arena_alloc_array(&set->arena, count, sizeof(*set->keys));
    for (size_t i = 0; i < count; i++) {
        struct json item = json_item(keys, i);
        struct jwk key;
        if (jwk_read(&item, &key, reason) == ERR_NONE) {
            key.key_id = key.key_id.len > 0 ? arena_copy(&set->arena, key.key_id) : SLICE_NONE;
            key.ed25519 = arena_copy(&set->arena, key.ed25519);
            set->keys[set->count++] = key;
        }
    }
}

enum err jwk_set_new(struct slice json, struct jwk_set **ret_set, struct error *reterr)
{
    must(sodium_init() >= 0);
    if (json.len > LIMIT_JWK_SET_SIZE) {
        return fail(reterr, ERR_LIMIT, "key set of more than %zu bytes", LIMIT_JWK_SET_SIZE);
    }
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct json document;
    size_t count;
    enum err err = json_parse_in(&arena, json, &document, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "key set: ");
        return err;
    }
    struct json keys = json_member(&document, "keys");
    err = json_as_array(keys, &count, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "key set: ");
        return err;
    }
    if (count > LIMIT_JWK_SET_COUNT) {
        return fail(reterr, ERR_LIMIT, "key set of more than %d keys", LIMIT_JWK_SET_COUNT);
    }
    struct jwk_set *set CLEANUP(jwk_set_free_at)
    = memory_new(sizeof(*set));
    struct error reason = {.message = "it is empty"};
    arena_init(&set->arena);
    jwk_set_add(set, &keys, count, &reason);
    if (set->count == 0) {
        return fail(reterr, ERR_INPUT, "key set without a key that can be used: %s",
                    reason.message);
    }
    *ret_set = set;
    set = NULL;
    return ERR_NONE;
}

void jwk_set_free(struct jwk_set *set)
{
    if (set == NULL) {
        return;
    }
    for (size_t i = 0; i < set->count; i++) {
        EVP_PKEY_free(set->keys[i].pkey);
    }
    arena_release(&set->arena);
    memory_free(set);
}

size_t jwk_set_count(const struct jwk_set *set)
{
    return set->count;
}

static bool jwk_fits(const struct jwk *key, enum jwt_algorithm algorithm)
{
    if (key->has_algorithm && key->algorithm != algorithm) {
        return false;
    }
    switch (algorithm) {
    case JWT_RS256:
    case JWT_PS256:
        return key->type == JWK_RSA;
    case JWT_ES256:
        return key->type == JWK_EC;
    case JWT_EDDSA:
        return key->type == JWK_OKP;
    }
    return false;
}

static bool jwk_verify_sha256(const struct jwk *key, bool is_pss, struct slice text,
                              struct slice signature)
{
    EVP_MD_CTX *context CLEANUP(EVP_MD_CTX_free_at)
    = EVP_MD_CTX_new();
    EVP_PKEY_CTX *options = NULL; /* the context's */
    must(context != NULL &&
         EVP_DigestVerifyInit_ex(context, &options, "SHA256", NULL, NULL, key->pkey, NULL) == 1);
    if (key->type == JWK_RSA) {
        must(EVP_PKEY_CTX_set_rsa_padding(options,
                                          is_pss ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) == 1);
    }
    if (is_pss) {
        /* RFC 7518 section 3.5. */
        must(EVP_PKEY_CTX_set_rsa_mgf1_md(options, EVP_sha256()) == 1 &&
             EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1);
    }
    int verified =
        EVP_DigestVerify(context, jwk_bytes(signature), signature.len, jwk_bytes(text), text.len);
    ERR_clear_error();
    return verified == 1;
}

static bool jwk_verify_rsa(const struct jwk *key, const struct jwt *jwt)
{
    if (jwt->signature.len != (size_t)EVP_PKEY_get_size(key->pkey)) {
        return false;
    }
    return jwk_verify_sha256(key, jwt->algorithm == JWT_PS256, jwt->signed_part, jwt->signature);
}

/* RFC 7518 section 3.4: r and s, 32 bytes each; OpenSSL knows them as DER. */
static bool jwk_verify_ec(const struct jwk *key, const struct jwt *jwt)
{
    if (jwt->signature.len != 2 * JWK_P256_SIZE) {
        return false;
    }
    ECDSA_SIG *pair CLEANUP(ECDSA_SIG_free_at)
    = ECDSA_SIG_new();
    must(pair != NULL);
    BIGNUM *r = jwk_number_new(slice_sub(jwt->signature, 0, JWK_P256_SIZE));
    BIGNUM *s = jwk_number_new(slice_from(jwt->signature, JWK_P256_SIZE));
    must(ECDSA_SIG_set0(pair, r, s) == 1); /* takes both */
    unsigned char *der = NULL;
    int der_len = i2d_ECDSA_SIG(pair, &der);
    must(der_len > 0);
    bool is_right = jwk_verify_sha256(key, false, jwt->signed_part, slice_of(der, (size_t)der_len));
    OPENSSL_free(der);
    return is_right;
}

static bool jwk_verify_okp(const struct jwk *key, const struct jwt *jwt)
{
    return jwt->signature.len == crypto_sign_BYTES &&
           crypto_sign_verify_detached(jwk_bytes(jwt->signature), jwk_bytes(jwt->signed_part),
                                       jwt->signed_part.len, jwk_bytes(key->ed25519)) == 0;
}

static bool jwk_verify(const struct jwk *key, const struct jwt *jwt)
{
    switch (key->type) {
    case JWK_RSA:
        return jwk_verify_rsa(key, jwt);
    case JWK_EC:
        return jwk_verify_ec(key, jwt);
    case JWK_OKP:
        return jwk_verify_okp(key, jwt);
    }
    return false;
}

/* The first key that fits, or NULL. Counted are the keys that have the token's 'kid', if it has
 * one, and those of them that fit. */
static const struct jwk *jwk_set_find(const struct jwk_set *set, const struct jwt *jwt,
                                      size_t *ret_named_count, size_t *ret_fit_count)
{
    const struct jwk *found = NULL;
    size_t named_count = 0;
    size_t fit_count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct jwk *key = &set->keys[i];
        if (jwt->key_id.len > 0 && !slice_equals(key->key_id, jwt->key_id)) {
            continue;
        }
        named_count++;
        if (jwk_fits(key, jwt->algorithm)) {
            found = found == NULL ? key : found;
            fit_count++;
        }
    }
    *ret_named_count = named_count;
    *ret_fit_count = fit_count;
    return found;
}

enum err jwk_set_verify(const struct jwk_set *set, const struct jwt *jwt, struct error *reterr)
{
    bool is_named = jwt->key_id.len > 0;
    size_t named_count;
    size_t fit_count;
    const struct jwk *key = jwk_set_find(set, jwt, &named_count, &fit_count);
    if (key == NULL && is_named && named_count > 0) {
        return fail(reterr, ERR_UNAUTHENTICATED, "token whose key is not for its algorithm");
    }
    if (key == NULL) {
        return fail(reterr, ERR_NOT_FOUND, "token of a key that is not known");
    }
    if (!is_named && fit_count > 1) {
        return fail(reterr, ERR_UNAUTHENTICATED, "token that does not say which key signed it");
    }
    if (!jwk_verify(key, jwt)) {
        return fail(reterr, ERR_UNAUTHENTICATED, "token whose signature is wrong");
    }
    return ERR_NONE;
}
