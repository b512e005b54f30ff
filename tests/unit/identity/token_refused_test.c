/* SPDX-License-Identifier: MIT */
/* Tokens of an attacker, on the whole way that a token goes: its form, its signature, its claims.
 * Each differs from an accepted token in the one thing that it is named for. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "identity/jwk.h"
#include "jwk_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/bio.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#define NOW    (INT64_C(1700000000) * TIMESTAMP_SECOND)
#define ISS    "\"iss\":\"https://id.example\","
#define AUD    "\"aud\":\"gate\","
#define EXP    "\"exp\":1700000300,"
#define NONCE  "\"nonce\":\"n-1\","
#define SUB    "\"sub\":\"ann\""
#define CLAIMS "{" ISS AUD EXP NONCE SUB "}"
#define RS     "{\"alg\":\"RS256\",\"kid\":\"r\"}"
#define PS     "{\"alg\":\"PS256\",\"kid\":\"r\"}"
#define ES     "{\"alg\":\"ES256\",\"kid\":\"e\"}"
#define ED     "{\"alg\":\"EdDSA\",\"kid\":\"d\"}"

enum signer {
    SIGN_RS256,
    SIGN_PS256,
    SIGN_ES256,
    SIGN_EDDSA,
    SIGN_OTHER = 4, /* the four, by keys that nobody knows */
    SIGN_HMAC_PEM = 8,
    SIGN_HMAC_JWK,
    SIGN_NOT,
};

enum change {
    KEEP,
    OTHER_CLAIMS, /* put in the place of those that were signed */
    OTHER_HEADER,
    CUT,      /* the last byte of the signature */
    LONGER,   /* by one byte */
    TWICE,    /* the signature behind itself */
    ZERO,     /* all of it */
    R_ZERO,   /* the first half */
    S_ZERO,   /* the second half */
    ONES,     /* all bits */
    DER,      /* as OpenSSL makes it */
    S_HIGHER, /* by the order of Ed25519's group: the second form of the same signature */
    EMPTY,
    PADDED, /* '=' behind the token */
    FIFTH,  /* two more parts */
    FOURTH, /* one more */
};

static const struct hostile {
    const char *name;
    const char *header;
    const char *claims;
    enum signer signer;
    enum change change;
    enum err err;
} hostile_tokens[] = {
    {"none with a signature", "{\"alg\":\"none\"}", CLAIMS, SIGN_RS256, KEEP, ERR_UNSUPPORTED},
    {"none without one", "{\"alg\":\"none\"}", CLAIMS, SIGN_NOT, EMPTY, ERR_UNSUPPORTED},
    {"NONE", "{\"alg\":\"NONE\",\"kid\":\"r\"}", CLAIMS, SIGN_NOT, EMPTY, ERR_UNSUPPORTED},
    {"signature left out", RS, CLAIMS, SIGN_NOT, EMPTY, ERR_INPUT},
    {"HMAC with the PEM of the key", "{\"alg\":\"HS256\",\"kid\":\"r\"}", CLAIMS, SIGN_HMAC_PEM,
     KEEP, ERR_UNSUPPORTED},
    {"HMAC with the JWK of the key", "{\"alg\":\"HS256\",\"kid\":\"r\"}", CLAIMS, SIGN_HMAC_JWK,
     KEEP, ERR_UNSUPPORTED},
    {"HMAC called RS256", RS, CLAIMS, SIGN_HMAC_PEM, KEEP, ERR_UNAUTHENTICATED},
    {"HMAC called EdDSA", ED, CLAIMS, SIGN_HMAC_PEM, KEEP, ERR_UNAUTHENTICATED},
    {"RS256 called PS256", PS, CLAIMS, SIGN_RS256, KEEP, ERR_UNAUTHENTICATED},
    {"PS256 called RS256", RS, CLAIMS, SIGN_PS256, KEEP, ERR_UNAUTHENTICATED},
    {"RS256 called RS384", "{\"alg\":\"RS384\",\"kid\":\"r\"}", CLAIMS, SIGN_RS256, KEEP,
     ERR_UNSUPPORTED},
    {"RS256 with the key of ES256", "{\"alg\":\"RS256\",\"kid\":\"e\"}", CLAIMS, SIGN_RS256, KEEP,
     ERR_UNAUTHENTICATED},
    {"ES256 with the key of RS256", "{\"alg\":\"ES256\",\"kid\":\"r\"}", CLAIMS, SIGN_ES256, KEEP,
     ERR_UNAUTHENTICATED},
    {"EdDSA with the key of ES256", "{\"alg\":\"EdDSA\",\"kid\":\"e\"}", CLAIMS, SIGN_EDDSA, KEEP,
     ERR_UNAUTHENTICATED},
    {"ES256 with the key of EdDSA", "{\"alg\":\"ES256\",\"kid\":\"d\"}", CLAIMS, SIGN_ES256, KEEP,
     ERR_UNAUTHENTICATED},
    {"unknown key", "{\"alg\":\"RS256\",\"kid\":\"R\"}", CLAIMS, SIGN_RS256, KEEP, ERR_NOT_FOUND},
    {"a path for a key", "{\"alg\":\"RS256\",\"kid\":\"../../dev/null\"}", CLAIMS, SIGN_RS256, KEEP,
     ERR_NOT_FOUND},
    {"SQL for a key", "{\"alg\":\"RS256\",\"kid\":\"x' UNION SELECT 'k\"}", CLAIMS, SIGN_RS256,
     KEEP, ERR_NOT_FOUND},
    {"name of a key with a space", "{\"alg\":\"RS256\",\"kid\":\"r \"}", CLAIMS, SIGN_RS256, KEEP,
     ERR_NOT_FOUND},
    {"name of a key with NUL", "{\"alg\":\"RS256\",\"kid\":\"r\\u0000\"}", CLAIMS, SIGN_RS256, KEEP,
     ERR_INPUT},
    {"name of a key as a number", "{\"alg\":\"RS256\",\"kid\":0}", CLAIMS, SIGN_RS256, KEEP,
     ERR_INPUT},
    {"signed by another RS256", RS, CLAIMS, SIGN_OTHER + SIGN_RS256, KEEP, ERR_UNAUTHENTICATED},
    {"signed by another PS256", PS, CLAIMS, SIGN_OTHER + SIGN_PS256, KEEP, ERR_UNAUTHENTICATED},
    {"signed by another ES256", ES, CLAIMS, SIGN_OTHER + SIGN_ES256, KEEP, ERR_UNAUTHENTICATED},
    {"signed by another EdDSA", ED, CLAIMS, SIGN_OTHER + SIGN_EDDSA, KEEP, ERR_UNAUTHENTICATED},
    {"brings its key", "{\"alg\":\"EdDSA\",\"jwk\":{\"kty\":\"OKP\",\"crv\":\"Ed25519\"}}", CLAIMS,
     SIGN_OTHER + SIGN_EDDSA, KEEP, ERR_INPUT},
    {"brings its key's address", "{\"alg\":\"RS256\",\"jku\":\"https://evil.example/k\"}", CLAIMS,
     SIGN_OTHER + SIGN_RS256, KEEP, ERR_INPUT},
    {"brings its certificate", "{\"alg\":\"RS256\",\"x5c\":[\"MIIB\"]}", CLAIMS,
     SIGN_OTHER + SIGN_RS256, KEEP, ERR_INPUT},
    {"brings its certificate's address", "{\"alg\":\"RS256\",\"x5u\":\"https://evil.example/\"}",
     CLAIMS, SIGN_OTHER + SIGN_RS256, KEEP, ERR_INPUT},
    {"right, but brings a key", "{\"alg\":\"RS256\",\"kid\":\"r\",\"jwk\":null}", CLAIMS,
     SIGN_RS256, KEEP, ERR_INPUT},
    {"critical extension", "{\"alg\":\"RS256\",\"kid\":\"r\",\"crit\":[\"x\"],\"x\":1}", CLAIMS,
     SIGN_RS256, KEEP, ERR_INPUT},
    {"claims as they are", "{\"alg\":\"RS256\",\"kid\":\"r\",\"b64\":false}", CLAIMS, SIGN_RS256,
     KEEP, ERR_INPUT},
    {"algorithm twice", "{\"alg\":\"RS256\",\"kid\":\"r\",\"alg\":\"RS256\"}", CLAIMS, SIGN_RS256,
     KEEP, ERR_INPUT},
    {"another type", "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":\"logout+jwt\"}", CLAIMS, SIGN_RS256,
     KEEP, ERR_INPUT},
    {"header not UTF-8", "{\"alg\":\"RS256\",\"kid\":\"r\",\"x\":\"\xc0\xaf\"}", CLAIMS, SIGN_RS256,
     KEEP, ERR_INPUT},
    {"claims exchanged, RS256", RS, CLAIMS, SIGN_RS256, OTHER_CLAIMS, ERR_UNAUTHENTICATED},
    {"claims exchanged, PS256", PS, CLAIMS, SIGN_PS256, OTHER_CLAIMS, ERR_UNAUTHENTICATED},
    {"claims exchanged, ES256", ES, CLAIMS, SIGN_ES256, OTHER_CLAIMS, ERR_UNAUTHENTICATED},
    {"claims exchanged, EdDSA", ED, CLAIMS, SIGN_EDDSA, OTHER_CLAIMS, ERR_UNAUTHENTICATED},
    {"header exchanged, RS256", RS, CLAIMS, SIGN_RS256, OTHER_HEADER, ERR_UNAUTHENTICATED},
    {"header exchanged, EdDSA", ED, CLAIMS, SIGN_EDDSA, OTHER_HEADER, ERR_UNAUTHENTICATED},
    {"RS256 cut", RS, CLAIMS, SIGN_RS256, CUT, ERR_UNAUTHENTICATED},
    {"RS256 longer", RS, CLAIMS, SIGN_RS256, LONGER, ERR_UNAUTHENTICATED},
    {"RS256 of zeros", RS, CLAIMS, SIGN_RS256, ZERO, ERR_UNAUTHENTICATED},
    {"RS256 above the modulus", RS, CLAIMS, SIGN_RS256, ONES, ERR_UNAUTHENTICATED},
    {"PS256 cut", PS, CLAIMS, SIGN_PS256, CUT, ERR_UNAUTHENTICATED},
    {"PS256 of zeros", PS, CLAIMS, SIGN_PS256, ZERO, ERR_UNAUTHENTICATED},
    {"ES256 as DER", ES, CLAIMS, SIGN_ES256, DER, ERR_UNAUTHENTICATED},
    {"ES256 of zeros", ES, CLAIMS, SIGN_ES256, ZERO, ERR_UNAUTHENTICATED},
    {"ES256 with r zero", ES, CLAIMS, SIGN_ES256, R_ZERO, ERR_UNAUTHENTICATED},
    {"ES256 with s zero", ES, CLAIMS, SIGN_ES256, S_ZERO, ERR_UNAUTHENTICATED},
    {"ES256 above the order", ES, CLAIMS, SIGN_ES256, ONES, ERR_UNAUTHENTICATED},
    {"ES256 cut", ES, CLAIMS, SIGN_ES256, CUT, ERR_UNAUTHENTICATED},
    {"ES256 longer", ES, CLAIMS, SIGN_ES256, LONGER, ERR_UNAUTHENTICATED},
    {"ES256 twice", ES, CLAIMS, SIGN_ES256, TWICE, ERR_UNAUTHENTICATED},
    {"EdDSA of zeros", ED, CLAIMS, SIGN_EDDSA, ZERO, ERR_UNAUTHENTICATED},
    {"EdDSA cut", ED, CLAIMS, SIGN_EDDSA, CUT, ERR_UNAUTHENTICATED},
    {"EdDSA longer", ED, CLAIMS, SIGN_EDDSA, LONGER, ERR_UNAUTHENTICATED},
    {"EdDSA twice", ED, CLAIMS, SIGN_EDDSA, TWICE, ERR_UNAUTHENTICATED},
    {"EdDSA with s zero", ED, CLAIMS, SIGN_EDDSA, S_ZERO, ERR_UNAUTHENTICATED},
    {"EdDSA in its second form", ED, CLAIMS, SIGN_EDDSA, S_HIGHER, ERR_UNAUTHENTICATED},
    {"EdDSA signed by ES256", ED, CLAIMS, SIGN_ES256, KEEP, ERR_UNAUTHENTICATED},
    {"ES256 signed by EdDSA", ES, CLAIMS, SIGN_EDDSA, KEEP, ERR_UNAUTHENTICATED},
    {"padded", RS, CLAIMS, SIGN_RS256, PADDED, ERR_INPUT},
    {"of four parts", RS, CLAIMS, SIGN_RS256, FOURTH, ERR_INPUT},
    {"of five parts", RS, CLAIMS, SIGN_RS256, FIFTH, ERR_INPUT},
    {"claims of a list", RS, "[" CLAIMS "]", SIGN_RS256, KEEP, ERR_INPUT},
    {"claims of nothing", RS, "", SIGN_RS256, KEEP, ERR_INPUT},
    {"claims not UTF-8", RS, "{" ISS AUD EXP NONCE "\"sub\":\"\xff\"}", SIGN_RS256, KEEP,
     ERR_INPUT},
    {"claims with NUL", RS, "{" ISS AUD EXP NONCE "\"sub\":\"ann\\u0000\"}", SIGN_RS256, KEEP,
     ERR_INPUT},
    {"subject twice", RS, "{" ISS AUD EXP NONCE SUB "," SUB "}", SIGN_RS256, KEEP, ERR_INPUT},
    {"no subject", RS, "{" ISS AUD EXP "\"nonce\":\"n-1\"}", SIGN_RS256, KEEP, ERR_INPUT},
    {"no end", RS, "{" ISS AUD NONCE SUB "}", SIGN_RS256, KEEP, ERR_INPUT},
    {"end as text", RS, "{" ISS AUD NONCE SUB ",\"exp\":\"1700000300\"}", SIGN_RS256, KEEP,
     ERR_INPUT},
    {"expired", RS, "{" ISS AUD NONCE SUB ",\"exp\":1699999900}", SIGN_RS256, KEEP,
     ERR_UNAUTHENTICATED},
    {"not yet", ED, "{" ISS AUD EXP NONCE SUB ",\"nbf\":1700000100}", SIGN_EDDSA, KEEP,
     ERR_UNAUTHENTICATED},
    {"made later", ED, "{" ISS AUD EXP NONCE SUB ",\"iat\":1700000100}", SIGN_EDDSA, KEEP,
     ERR_UNAUTHENTICATED},
    {"another issuer", ED, "{" AUD EXP NONCE SUB ",\"iss\":\"https://id.example.org\"}", SIGN_EDDSA,
     KEEP, ERR_UNAUTHENTICATED},
    {"another audience", ED, "{" ISS EXP NONCE SUB ",\"aud\":\"gates\"}", SIGN_EDDSA, KEEP,
     ERR_UNAUTHENTICATED},
    {"another party", ED, "{" ISS AUD EXP NONCE SUB ",\"azp\":\"gates\"}", SIGN_EDDSA, KEEP,
     ERR_UNAUTHENTICATED},
    {"no party of several", ED, "{" ISS EXP NONCE SUB ",\"aud\":[\"gate\",\"b\"]}", SIGN_EDDSA,
     KEEP, ERR_INPUT},
    {"another nonce", ED, "{" ISS AUD EXP SUB ",\"nonce\":\"n-2\"}", SIGN_EDDSA, KEEP,
     ERR_UNAUTHENTICATED},
    {"no nonce", ED, "{" ISS AUD EXP SUB "}", SIGN_EDDSA, KEEP, ERR_INPUT},
};

static struct arena arena;
static struct error error;
static EVP_PKEY *own[4]; /* by algorithm */
static EVP_PKEY *other[4];
static struct jwk_set *set;

static void make_four(EVP_PKEY **pkeys)
{
    pkeys[JWT_RS256] = help_rsa_new(2048, 65537);
    pkeys[JWT_PS256] = pkeys[JWT_RS256];
    pkeys[JWT_ES256] = help_ec_new("P-256");
    pkeys[JWT_EDDSA] = help_ed25519_new();
}

static void free_four(EVP_PKEY **pkeys)
{
    EVP_PKEY_free(pkeys[JWT_RS256]);
    EVP_PKEY_free(pkeys[JWT_ES256]);
    EVP_PKEY_free(pkeys[JWT_EDDSA]);
}

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    make_four(own);
    make_four(other);
    struct slice keys = help_jwk_set(&arena, help_jwk(&arena, own[JWT_RS256], "\"kid\":\"r\""),
                                     help_jwk(&arena, own[JWT_ES256], "\"kid\":\"e\""),
                                     help_jwk(&arena, own[JWT_EDDSA], "\"kid\":\"d\""));
    return jwk_set_new(keys, &set, &error) == ERR_NONE ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    jwk_set_free(set);
    free_four(own);
    free_four(other);
    arena_release(&arena);
    return 0;
}

static enum err accept(struct slice token)
{
    static const struct jwt_expectations expected = {
        .issuer = SLICE_INIT("https://id.example"),
        .audience = SLICE_INIT("gate"),
        .nonce = SLICE_INIT("n-1"),
        .now = NOW,
        .skew_s = 60,
    };
    struct jwt jwt;
    error = (struct error){0};
    enum err err = jwt_parse_in(&arena, token, &jwt, &error);
    if (err == ERR_NONE) {
        err = jwk_set_verify(set, &jwt, &error);
    }
    if (err == ERR_NONE) {
        err = jwt_check_claims(&jwt, &expected, &error);
    }
    return err;
}

static struct slice hmac(struct slice key, struct slice text)
{
    unsigned char bytes[32];
    unsigned size = sizeof(bytes);
    must(HMAC(EVP_sha256(), key.at, (int)key.len, (const unsigned char *)text.at, text.len, bytes,
              &size) != NULL);
    return arena_copy(&arena, slice_of(bytes, size));
}

static struct slice hmac_with_pem(struct slice text)
{
    BIO *memory = BIO_new(BIO_s_mem());
    char *pem = NULL;
    must(memory != NULL && PEM_write_bio_PUBKEY(memory, own[JWT_RS256]) == 1);
    size_t size = (size_t)BIO_get_mem_data(memory, &pem);
    struct slice made = hmac(slice_of(pem, size), text);
    BIO_free_all(memory);
    return made;
}

static struct slice sign(enum signer signer, struct slice text)
{
    switch (signer) {
    case SIGN_HMAC_PEM:
        return hmac_with_pem(text);
    case SIGN_HMAC_JWK:
        return hmac(help_jwk(&arena, own[JWT_RS256], "\"kid\":\"r\""), text);
    case SIGN_NOT:
        return SLICE_NONE;
    case SIGN_RS256:
    case SIGN_PS256:
    case SIGN_ES256:
    case SIGN_EDDSA:
        return help_sign(&arena, own[signer], (enum jwt_algorithm)signer, text);
    case SIGN_OTHER:
        break;
    }
    unsigned algorithm = (unsigned)signer - SIGN_OTHER;
    return help_sign(&arena, other[algorithm], (enum jwt_algorithm)algorithm, text);
}

/* The order of the group, little endian (RFC 8032 section 5.1), is added to the second half. */
static void make_higher(char *s)
{
    static const unsigned char order[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a,       0x63,
                                            0x12, 0x58, 0xd6, 0x9c, 0xf7,       0xa2,
                                            0xde, 0xf9, 0xde, 0x14, [31] = 0x10};
    unsigned carry = 0;
    for (size_t i = 0; i < sizeof(order); i++) {
        carry += (unsigned)(unsigned char)s[i] + order[i];
        s[i] = (char)(unsigned char)(carry & 0xff);
        carry >>= 8;
    }
}

static struct slice sign_as_der(struct slice text)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char bytes[128];
    size_t size = sizeof(bytes);
    must(EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, own[JWT_ES256]) == 1);
    must(EVP_DigestSign(context, bytes, &size, (const unsigned char *)text.at, text.len) == 1);
    EVP_MD_CTX_free(context);
    return arena_copy(&arena, slice_of(bytes, size));
}

static struct slice change_signature(enum change change, struct slice signature, struct slice text)
{
    char *bytes = arena_alloc(&arena, signature.len * 2 + 1);
    size_t len = signature.len;
    if (len > 0) {
        memcpy(bytes, signature.at, len);
        memcpy(bytes + len, signature.at, len);
    }
    switch (change) {
    case CUT:
        return slice_of(bytes, len - 1);
    case LONGER:
        return slice_of(bytes, len + 1);
    case TWICE:
        return slice_of(bytes, len * 2);
    case ZERO:
        memset(bytes, 0, len);
        break;
    case ONES:
        memset(bytes, 0xff, len);
        break;
    case R_ZERO:
        memset(bytes, 0, len / 2);
        break;
    case S_ZERO:
        memset(bytes + len / 2, 0, len / 2);
        break;
    case S_HIGHER:
        make_higher(bytes + len / 2);
        break;
    case DER:
        return sign_as_der(text);
    case EMPTY:
        return SLICE_NONE;
    case KEEP:
    case OTHER_CLAIMS:
    case OTHER_HEADER:
    case PADDED:
    case FOURTH:
    case FIFTH:
        break;
    }
    return slice_of(bytes, len);
}

static struct slice token_of(const struct hostile *hostile)
{
    struct slice header = slice_of_text(hostile->header);
    struct slice claims = slice_of_text(hostile->claims);
    struct slice part = help_signed_part(&arena, header, claims);
    struct slice signature = change_signature(hostile->change, sign(hostile->signer, part), part);
    if (hostile->change == OTHER_CLAIMS) {
        part = help_signed_part(&arena, header, SLICE("{" ISS AUD EXP NONCE "\"sub\":\"root\"}"));
    } else if (hostile->change == OTHER_HEADER) {
        header = arena_format(&arena, "%.*s ", SLICE_ARG(header));
        part = help_signed_part(&arena, header, claims);
    }
    struct slice token = help_join(&arena, part, signature);
    const char *more = hostile->change == PADDED   ? "=="
                       : hostile->change == FOURTH ? ".e30"
                       : hostile->change == FIFTH  ? ".e30.e30"
                                                   : "";
    return arena_format(&arena, "%.*s%s", SLICE_ARG(token), more);
}

static void the_tokens_they_are_made_from_are_accepted(void **state)
{
    (void)state;
    static const struct hostile right[] = {
        {"RS256", RS, CLAIMS, SIGN_RS256, KEEP, ERR_NONE},
        {"PS256", PS, CLAIMS, SIGN_PS256, KEEP, ERR_NONE},
        {"ES256", ES, CLAIMS, SIGN_ES256, KEEP, ERR_NONE},
        {"EdDSA", ED, CLAIMS, SIGN_EDDSA, KEEP, ERR_NONE},
        {"no name of a key", "{\"alg\":\"EdDSA\"}", CLAIMS, SIGN_EDDSA, KEEP, ERR_NONE},
    };
    for (size_t i = 0; i < COUNT_OF(right); i++) {
        if (accept(token_of(&right[i])) != ERR_NONE) {
            fail_msg("%s: %s", right[i].name, error.message);
        }
    }
}

static void hostile_tokens_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hostile_tokens); i++) {
        enum err err = accept(token_of(&hostile_tokens[i]));
        if (err != hostile_tokens[i].err || error.message[0] == '\0') {
            fail_msg("%s: %s (%s)", hostile_tokens[i].name, err_text(err), error.message);
        }
    }
}

static void a_token_cut_at_any_place_is_refused(void **state)
{
    (void)state;
    static const char *const headers[] = {RS, PS, ES, ED};
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        const struct hostile right = {"cut", headers[i], CLAIMS, (enum signer)i, KEEP, ERR_NONE};
        struct slice token = token_of(&right);
        for (size_t len = 0; len < token.len; len++) {
            assert_int_not_equal(accept(slice_sub(token, 0, len)), ERR_NONE);
            assert_int_not_equal(accept(slice_from(token, len + 1)), ERR_NONE);
        }
    }
}

static void a_huge_token_is_refused_however_well_it_is_signed(void **state)
{
    (void)state;
    struct slice claims =
        arena_format(&arena, "{" ISS AUD EXP NONCE SUB ",\"x\":\"%0*d\"}", (int)LIMIT_JWT_SIZE, 0);
    const struct hostile huge = {"huge",     ED,   arena_text(&arena, claims),
                                 SIGN_EDDSA, KEEP, ERR_NONE};
    assert_int_equal(accept(token_of(&huge)), ERR_LIMIT);
}

int main(void)
{
    json_set_seed(1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tokens_they_are_made_from_are_accepted),
        cmocka_unit_test(hostile_tokens_are_refused),
        cmocka_unit_test(a_token_cut_at_any_place_is_refused),
        cmocka_unit_test(a_huge_token_is_refused_however_well_it_is_signed),
    };
    return cmocka_run_group_tests_name("identity/token_refused", tests, set_up, tear_down);
}
