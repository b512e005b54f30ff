/* SPDX-License-Identifier: MIT */
/* Signed JSON Web Tokens in their compact form (RFC 7515, RFC 7519), read strictly: three parts of
 * base64url, a header that names one of four asymmetric algorithms and brings no key of its own,
 * and an object of claims. No signature is checked here, identity/ does that; until it is, the
 * claims are what anybody may have written. */
#ifndef GH_CODEC_JWT_H
#define GH_CODEC_JWT_H

#include "base/arena.h"
#include "base/error.h"
#include "codec/json.h"

#include <stdint.h>

enum jwt_algorithm {
    JWT_RS256, /* RSA, PKCS #1 v1.5, SHA-256 */
    JWT_PS256, /* RSA, PSS, SHA-256 */
    JWT_ES256, /* ECDSA on P-256, SHA-256 */
    JWT_EDDSA, /* Ed25519 (RFC 8037) */
};

struct jwt {
    enum jwt_algorithm algorithm;
    struct slice key_id;      /* SLICE_NONE: the header names none */
    struct slice signed_part; /* a view of the text: header, dot, claims, as they were encoded */
    struct slice signature;   /* decoded, at least one byte */
    struct json claims;       /* an object */
};

/* What the four are called in 'alg'. ERR_UNSUPPORTED for all other names: none, HS256 … */
enum err jwt_algorithm_of(struct slice name, enum jwt_algorithm *ret_algorithm) MUST_USE;

/* ERR_LIMIT beyond LIMIT_JWT_SIZE, ERR_UNSUPPORTED for another algorithm, else ERR_INPUT. */
enum err jwt_parse_in(struct arena *arena, struct slice text, struct jwt *ret_jwt,
                      struct error *error) MUST_USE;

struct jwt_expectations {
    struct slice issuer;
    struct slice audience;
    /* Must be the token's 'azp'. Empty: 'azp', which a token for several audiences must have, is
     * the audience. */
    struct slice authorized_party;
    bool any_party;     /* 'azp' does not matter: an access token is for its audience */
    struct slice nonce; /* empty: not looked at */
    int64_t now;        /* timestamp */
    int64_t skew_s;     /* by which the issuer's clock may differ, at most a day */
};

/* For claims whose signature was found right. ERR_INPUT when one that is needed is missing or of
 * the wrong kind, ERR_UNAUTHENTICATED when it is not what is expected. After ERR_NONE 'sub' is a
 * text of 1 to LIMIT_JWT_SUBJECT_SIZE bytes. */
enum err jwt_check_claims(const struct jwt *jwt, const struct jwt_expectations *expected,
                          struct error *error) MUST_USE;

/* 'exp'. */
enum err jwt_expiry(const struct jwt *jwt, int64_t *ret_timestamp, struct error *error) MUST_USE;

/* The part of an EdDSA token that is to be signed; 'claims' is the text of a JSON object. */
struct slice jwt_make_in(struct arena *arena, struct slice key_id, struct slice claims);
/* The whole token: what jwt_make_in() made, and its signature. */
struct slice jwt_join_in(struct arena *arena, struct slice signed_part, struct slice signature);

#endif
