/* SPDX-License-Identifier: MIT */
#include "jwk_help.h"

#include "base/must.h"
#include "codec/base64.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>

EVP_PKEY *help_rsa_new(size_t bits, unsigned exponent)
{
    EVP_PKEY_CTX *making = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    BIGNUM *e = BN_new();
    EVP_PKEY *pkey = NULL;
    must(making != NULL && e != NULL && BN_set_word(e, exponent) == 1);
    must(EVP_PKEY_keygen_init(making) == 1);
    must(EVP_PKEY_CTX_set_rsa_keygen_bits(making, (int)bits) == 1);
    must(EVP_PKEY_CTX_set1_rsa_keygen_pubexp(making, e) == 1);
    must(EVP_PKEY_generate(making, &pkey) == 1);
    EVP_PKEY_CTX_free(making);
    BN_free(e);
    return pkey;
}

EVP_PKEY *help_ec_new(const char *curve)
{
    EVP_PKEY *pkey = EVP_EC_gen(curve);
    must(pkey != NULL);
    return pkey;
}

EVP_PKEY *help_ed25519_new(void)
{
    EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    must(pkey != NULL);
    return pkey;
}

struct slice help_encode(struct arena *arena, struct slice bytes)
{
    return base64_encode_in(arena, BASE64_URL, bytes);
}

/* With 'size' bytes, or as many as it needs when that is 0. */
static struct slice help_number(struct arena *arena, EVP_PKEY *pkey, const char *name, int size)
{
    BIGNUM *number = NULL;
    unsigned char bytes[2048];
    must(EVP_PKEY_get_bn_param(pkey, name, &number) == 1);
    size = size == 0 ? BN_num_bytes(number) : size;
    must(size <= (int)sizeof(bytes) && BN_bn2binpad(number, bytes, size) == size);
    BN_free(number);
    return help_encode(arena, slice_of(bytes, (size_t)size));
}

struct slice help_jwk(struct arena *arena, EVP_PKEY *pkey, const char *more)
{
    const char *comma = more[0] == '\0' ? "" : ",";
    if (EVP_PKEY_is_a(pkey, "RSA")) {
        struct slice n = help_number(arena, pkey, OSSL_PKEY_PARAM_RSA_N, 0);
        struct slice e = help_number(arena, pkey, OSSL_PKEY_PARAM_RSA_E, 0);
        return arena_format(arena, "{\"kty\":\"RSA\",\"n\":\"%.*s\",\"e\":\"%.*s\"%s%s}",
                            SLICE_ARG(n), SLICE_ARG(e), comma, more);
    }
    if (EVP_PKEY_is_a(pkey, "EC")) {
        int size = (EVP_PKEY_get_bits(pkey) + 7) / 8;
        struct slice x = help_number(arena, pkey, OSSL_PKEY_PARAM_EC_PUB_X, size);
        struct slice y = help_number(arena, pkey, OSSL_PKEY_PARAM_EC_PUB_Y, size);
        return arena_format(arena,
                            "{\"kty\":\"EC\",\"crv\":\"P-%d\",\"x\":\"%.*s\",\"y\":\"%.*s\"%s%s}",
                            EVP_PKEY_get_bits(pkey), SLICE_ARG(x), SLICE_ARG(y), comma, more);
    }
    unsigned char bytes[32];
    size_t size = sizeof(bytes);
    must(EVP_PKEY_get_raw_public_key(pkey, bytes, &size) == 1);
    struct slice x = help_encode(arena, slice_of(bytes, size));
    return arena_format(arena, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%.*s\"%s%s}",
                        SLICE_ARG(x), comma, more);
}

struct slice help_jwk_set(struct arena *arena, struct slice a, struct slice b, struct slice c)
{
    return arena_format(arena, "{\"keys\":[%.*s%s%.*s%s%.*s]}", SLICE_ARG(a), b.len > 0 ? "," : "",
                        SLICE_ARG(b), c.len > 0 ? "," : "", SLICE_ARG(c));
}

/* DER to r and s. */
static struct slice help_pair(struct arena *arena, struct slice der)
{
    const unsigned char *at = (const unsigned char *)der.at;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)der.len);
    must(pair != NULL);
    unsigned char bytes[64];
    must(BN_bn2binpad(ECDSA_SIG_get0_r(pair), bytes, 32) == 32);
    must(BN_bn2binpad(ECDSA_SIG_get0_s(pair), bytes + 32, 32) == 32);
    ECDSA_SIG_free(pair);
    return arena_copy(arena, slice_of(bytes, sizeof(bytes)));
}

struct slice help_sign(struct arena *arena, EVP_PKEY *pkey, enum jwt_algorithm algorithm,
                       struct slice text)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *options = NULL;
    unsigned char bytes[2048];
    size_t size = sizeof(bytes);
    must(EVP_DigestSignInit_ex(context, &options, algorithm == JWT_EDDSA ? NULL : "SHA256", NULL,
                               NULL, pkey, NULL) == 1);
    if (algorithm == JWT_PS256) {
        must(EVP_PKEY_CTX_set_rsa_padding(options, RSA_PKCS1_PSS_PADDING) == 1);
        must(EVP_PKEY_CTX_set_rsa_pss_saltlen(options, RSA_PSS_SALTLEN_DIGEST) == 1);
    }
    must(EVP_DigestSign(context, bytes, &size, (const unsigned char *)text.at, text.len) == 1);
    EVP_MD_CTX_free(context);
    struct slice signature = slice_of(bytes, size);
    return algorithm == JWT_ES256 ? help_pair(arena, signature) : arena_copy(arena, signature);
}

struct slice help_signed_part(struct arena *arena, struct slice header, struct slice claims)
{
    struct slice a = help_encode(arena, header);
    struct slice b = help_encode(arena, claims);
    return arena_format(arena, "%.*s.%.*s", SLICE_ARG(a), SLICE_ARG(b));
}

struct slice help_join(struct arena *arena, struct slice part, struct slice signature)
{
    struct slice last = help_encode(arena, signature);
    return arena_format(arena, "%.*s.%.*s", SLICE_ARG(part), SLICE_ARG(last));
}

struct slice help_token(struct arena *arena, EVP_PKEY *pkey, enum jwt_algorithm algorithm,
                        const char *header, const char *claims)
{
    struct slice part = help_signed_part(arena, slice_of_text(header), slice_of_text(claims));
    return help_join(arena, part, help_sign(arena, pkey, algorithm, part));
}
