/* SPDX-License-Identifier: MIT */
#include "codec/jwt.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "codec/json_writer.h"

/* The most that jwt_make_in() writes: each byte of a key's name may become an escape. */
#define JWT_HEADER_SIZE_MAX (64 + 6 * LIMIT_JWT_KEY_ID_SIZE)

/* Of a claim with a time (RFC 7519 section 2, NumericDate): the last second of a timestamp. */
#define JWT_TIME_MAX 253402300799.0

static const struct {
    struct slice name;
    enum jwt_algorithm algorithm;
} jwt_algorithms[] = {
    {SLICE_INIT("RS256"), JWT_RS256},
    {SLICE_INIT("PS256"), JWT_PS256},
    {SLICE_INIT("ES256"), JWT_ES256},
    {SLICE_INIT("EdDSA"), JWT_EDDSA},
};

/* Extensions that must be understood (RFC 7515 section 4.1.11, RFC 7797), and keys that come with
 * the token, which would let anybody sign. */
static const char *const jwt_refused_members[] = {"crit", "b64", "jwk", "jku", "x5c", "x5u"};

enum err jwt_algorithm_of(struct slice name, enum jwt_algorithm *ret_algorithm)
{
    for (size_t i = 0; i < COUNT_OF(jwt_algorithms); i++) {
        if (slice_equals(name, jwt_algorithms[i].name)) {
            *ret_algorithm = jwt_algorithms[i].algorithm;
            return ERR_NONE;
        }
    }
    return ERR_UNSUPPORTED;
}

static enum err jwt_check_type(const struct json *header, struct error *error)
{
    struct json member = json_member(header, "typ");
    struct slice type;
    if (json_is_absent(member)) {
        return ERR_NONE;
    }
    enum err err = json_as_text(member, &type, error);
    if (err != ERR_NONE) {
        return err;
    }
    /* RFC 7515 section 4.1.9: the prefix may be left out. */
    struct slice prefix = SLICE("application/");
    if (slice_equals_nocase(slice_sub(type, 0, prefix.len), prefix)) {
        type = slice_from(type, prefix.len);
    }
    if (!slice_equals_nocase(type, SLICE("JWT")) && !slice_equals_nocase(type, SLICE("at+jwt"))) {
        return fail(error, ERR_INPUT, "'typ' must be JWT or at+jwt");
    }
    return ERR_NONE;
}

static enum err jwt_read_key_id(const struct json *header, struct slice *ret_key_id,
                                struct error *error)
{
    struct json member = json_member(header, "kid");
    struct slice key_id = SLICE_NONE;
    if (!json_is_absent(member)) {
        enum err err = json_as_text(member, &key_id, error);
        if (err != ERR_NONE) {
            return err;
        }
        if (key_id.len == 0 || key_id.len > LIMIT_JWT_KEY_ID_SIZE) {
            return fail(error, ERR_INPUT, "'kid' must have 1 to %d bytes", LIMIT_JWT_KEY_ID_SIZE);
        }
    }
    *ret_key_id = key_id;
    return ERR_NONE;
}

static enum err jwt_read_header(const struct json *header, struct jwt *jwt, struct error *error)
{
    for (size_t i = 0; i < COUNT_OF(jwt_refused_members); i++) {
        if (!json_is_absent(json_member(header, jwt_refused_members[i]))) {
            return fail(error, ERR_INPUT, "'%s' is not allowed", jwt_refused_members[i]);
        }
    }
    struct slice name;
    enum err err = json_as_text(json_member(header, "alg"), &name, error);
    if (err != ERR_NONE) {
        return err;
    }
    if (jwt_algorithm_of(name, &jwt->algorithm) != ERR_NONE) {
        return fail(error, ERR_UNSUPPORTED, "'alg' must be RS256, PS256, ES256 or EdDSA");
    }
    err = jwt_check_type(header, error);
    if (err != ERR_NONE) {
        return err;
    }
    return jwt_read_key_id(header, &jwt->key_id, error);
}

static enum err jwt_decode_object(struct arena *arena, struct slice part, struct json *ret_object,
                                  struct error *error)
{
    struct slice text;
    struct json object;
    if (base64_decode_in(arena, BASE64_URL, part, &text) != ERR_NONE) {
        return fail(error, ERR_INPUT, "not base64url");
    }
    enum err err = json_parse_in(arena, text, &object, error);
    if (err != ERR_NONE) {
        return err;
    }
    err = json_as_object(object, error);
    if (err == ERR_NONE) {
        *ret_object = object;
    }
    return err;
}

enum err jwt_parse_in(struct arena *arena, struct slice text, struct jwt *ret_jwt,
                      struct error *error)
{
    if (text.len > LIMIT_JWT_SIZE) {
        return fail(error, ERR_LIMIT, "token of more than %zu bytes", LIMIT_JWT_SIZE);
    }
    struct slice claims_part;
    struct slice signature_part;
    struct slice header_part = slice_cut(text, '.', &claims_part);
    claims_part = slice_cut(claims_part, '.', &signature_part);
    if (signature_part.at == NULL || slice_find_byte(signature_part, '.') < signature_part.len) {
        return fail(error, ERR_INPUT, "token that has not three parts");
    }
    struct jwt jwt = {0};
    struct json header;
    enum err err = jwt_decode_object(arena, header_part, &header, error);
    if (err == ERR_NONE) {
        err = jwt_read_header(&header, &jwt, error);
    }
    if (err != ERR_NONE) {
        error_prefix(error, "header of a token: ");
        return err;
    }
    err = jwt_decode_object(arena, claims_part, &jwt.claims, error);
    if (err != ERR_NONE) {
        error_prefix(error, "claims of a token: ");
        return err;
    }
    if (base64_decode_in(arena, BASE64_URL, signature_part, &jwt.signature) != ERR_NONE) {
        return fail(error, ERR_INPUT, "signature of a token: not base64url");
    }
    if (jwt.signature.len == 0) {
        return fail(error, ERR_INPUT, "token without a signature");
    }
    jwt.signed_part = slice_sub(text, 0, header_part.len + 1 + claims_part.len);
    *ret_jwt = jwt;
    return ERR_NONE;
}

/* A claim that must be this text. */
static enum err jwt_check_text(const struct jwt *jwt, const char *name, struct slice expected,
                               struct error *error)
{
    struct slice text;
    enum err err = json_as_text(json_member(&jwt->claims, name), &text, error);
    if (err != ERR_NONE) {
        return err;
    }
    if (!slice_equals(text, expected)) {
        return fail(error, ERR_UNAUTHENTICATED, "'%s' is not what is expected", name);
    }
    return ERR_NONE;
}

static enum err jwt_read_time(struct json claim, int64_t *ret_time, struct error *error)
{
    double seconds;
    enum err err = json_as_number(claim, 0, JWT_TIME_MAX, &seconds, error);
    if (err == ERR_NONE) {
        *ret_time = (int64_t)(seconds * (double)TIMESTAMP_SECOND);
    }
    return err;
}

enum err jwt_expiry(const struct jwt *jwt, int64_t *ret_timestamp, struct error *error)
{
    return jwt_read_time(json_member(&jwt->claims, "exp"), ret_timestamp, error);
}

/* 'nbf' and 'iat': there is no need for them, but they cannot lie in the future. */
static enum err jwt_check_past(const struct jwt *jwt, const char *name, int64_t latest,
                               struct error *error)
{
    struct json claim = json_member(&jwt->claims, name);
    int64_t time;
    if (json_is_absent(claim)) {
        return ERR_NONE;
    }
    enum err err = jwt_read_time(claim, &time, error);
    if (err != ERR_NONE) {
        return err;
    }
    if (time > latest) {
        return fail(error, ERR_UNAUTHENTICATED, "'%s' lies in the future", name);
    }
    return ERR_NONE;
}

static enum err jwt_check_times(const struct jwt *jwt, const struct jwt_expectations *expected,
                                struct error *error)
{
    int64_t skew = expected->skew_s * TIMESTAMP_SECOND;
    int64_t end;
    enum err err = jwt_expiry(jwt, &end, error);
    if (err != ERR_NONE) {
        return err;
    }
    if (end <= expected->now - skew) {
        return fail(error, ERR_UNAUTHENTICATED, "the token has expired");
    }
    err = jwt_check_past(jwt, "nbf", expected->now + skew, error);
    if (err != ERR_NONE) {
        return err;
    }
    return jwt_check_past(jwt, "iat", expected->now + skew, error);
}

/* One text, or an array of texts with ours among them. */
static enum err jwt_check_audience(const struct jwt *jwt, struct slice expected,
                                   size_t *ret_audience_count, struct error *error)
{
    struct json claim = json_member(&jwt->claims, "aud");
    struct slice text;
    size_t count;
    *ret_audience_count = 1;
    if (json_as_text(claim, &text, NULL) == ERR_NONE) {
        return jwt_check_text(jwt, "aud", expected, error);
    }
    if (json_as_array(claim, &count, NULL) != ERR_NONE) {
        return fail(error, ERR_INPUT, "'aud' must be a string or an array of strings");
    }
    bool is_among_them = false;
    for (size_t i = 0; i < count; i++) {
        enum err err = json_as_text(json_item(&claim, i), &text, error);
        if (err != ERR_NONE) {
            return err;
        }
        is_among_them = is_among_them || slice_equals(text, expected);
    }
    if (!is_among_them) {
        return fail(error, ERR_UNAUTHENTICATED, "'aud' is not what is expected");
    }
    *ret_audience_count = count;
    return ERR_NONE;
}

/* OpenID Connect Core, section 3.1.3.7, points 3 to 5. */
static enum err jwt_check_parties(const struct jwt *jwt, const struct jwt_expectations *expected,
                                  struct error *error)
{
    size_t audience_count;
    enum err err = jwt_check_audience(jwt, expected->audience, &audience_count, error);
    if (err != ERR_NONE || expected->any_party) {
        return err;
    }
    if (expected->authorized_party.len > 0) {
        return jwt_check_text(jwt, "azp", expected->authorized_party, error);
    }
    if (audience_count == 1 && json_is_absent(json_member(&jwt->claims, "azp"))) {
        return ERR_NONE;
    }
    return jwt_check_text(jwt, "azp", expected->audience, error);
}

static enum err jwt_check_subject(const struct jwt *jwt, struct error *error)
{
    struct slice subject;
    enum err err = json_as_text(json_member(&jwt->claims, "sub"), &subject, error);
    if (err != ERR_NONE) {
        return err;
    }
    if (subject.len == 0 || subject.len > LIMIT_JWT_SUBJECT_SIZE) {
        return fail(error, ERR_INPUT, "'sub' must have 1 to %d bytes", LIMIT_JWT_SUBJECT_SIZE);
    }
    return ERR_NONE;
}

enum err jwt_check_claims(const struct jwt *jwt, const struct jwt_expectations *expected,
                          struct error *error)
{
    must(expected->issuer.len > 0 && expected->audience.len > 0);
    must(expected->skew_s >= 0 && expected->skew_s <= TIMESTAMP_DAY / TIMESTAMP_SECOND);
    enum err err = jwt_check_text(jwt, "iss", expected->issuer, error);
    if (err == ERR_NONE) {
        err = jwt_check_parties(jwt, expected, error);
    }
    if (err == ERR_NONE) {
        err = jwt_check_times(jwt, expected, error);
    }
    if (err == ERR_NONE && expected->nonce.len > 0) {
        err = jwt_check_text(jwt, "nonce", expected->nonce, error);
    }
    if (err == ERR_NONE) {
        err = jwt_check_subject(jwt, error);
    }
    if (err != ERR_NONE) {
        error_prefix(error, "claims of a token: ");
    }
    return err;
}

struct slice jwt_make_in(struct arena *arena, struct slice key_id, struct slice claims)
{
    must(key_id.len > 0 && key_id.len <= LIMIT_JWT_KEY_ID_SIZE);
    struct buf header CLEANUP(buf_release);
    buf_init(&header, JWT_HEADER_SIZE_MAX);
    struct json_writer writer = json_writer_to(&header);
    json_begin_object(&writer);
    json_member_text(&writer, "alg", SLICE("EdDSA"));
    json_member_text(&writer, "typ", SLICE("JWT"));
    json_member_text(&writer, "kid", key_id);
    json_end_object(&writer);
    must(json_writer_done(&writer) == ERR_NONE);
    struct slice first = base64_encode_in(arena, BASE64_URL, buf_view(&header));
    struct slice second = base64_encode_in(arena, BASE64_URL, claims);
    return arena_format(arena, "%.*s.%.*s", SLICE_ARG(first), SLICE_ARG(second));
}

struct slice jwt_join_in(struct arena *arena, struct slice signed_part, struct slice signature)
{
    struct slice last = base64_encode_in(arena, BASE64_URL, signature);
    return arena_format(arena, "%.*s.%.*s", SLICE_ARG(signed_part), SLICE_ARG(last));
}
