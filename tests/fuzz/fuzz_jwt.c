/* SPDX-License-Identifier: MIT */
/* There is one text for a token: what was read is written as it came. Claims are accepted or
 * refused with a message, and nobody signs with keys of which only the public part is here. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "codec/jwt.h"
#include "identity/jwk.h"

/* RFC 7515 appendix A.2 and A.3, RFC 8037 appendix A.2. */
static const char keys[] =
    "{\"keys\":[{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\""
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4"
    "d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5re"
    "xMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxX"
    "FvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\"},"
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"
    "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ed\","
    "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";

#define RFC_CLAIMS                                                                                 \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl" \
    "fQ"

/* All that was ever signed with them, among what is an object. */
static const struct slice signed_parts[] = {
    SLICE_INIT("eyJhbGciOiJSUzI1NiJ9." RFC_CLAIMS),
    SLICE_INIT("eyJhbGciOiJFUzI1NiJ9." RFC_CLAIMS),
};

static void check_signature(const struct jwk_set *set, const struct jwt *jwt)
{
    struct error error = {0};
    if (jwk_set_verify(set, jwt, &error) != ERR_NONE) {
        must(error.code == ERR_UNAUTHENTICATED || error.code == ERR_NOT_FOUND);
        must(error.message[0] != '\0');
        return;
    }
    bool was_signed = false;
    for (size_t i = 0; i < COUNT_OF(signed_parts); i++) {
        was_signed = was_signed || slice_equals(jwt->signed_part, signed_parts[i]);
    }
    must(was_signed);
}

static void check_claims(const struct jwt *jwt, struct slice authorized_party, struct slice nonce)
{
    const struct jwt_expectations expected = {
        .issuer = SLICE("joe"),
        .audience = SLICE("gate"),
        .authorized_party = authorized_party,
        .nonce = nonce,
        .now = INT64_C(1300000000) * TIMESTAMP_SECOND,
        .skew_s = 60,
    };
    struct error error = {0};
    if (jwt_check_claims(jwt, &expected, &error) != ERR_NONE) {
        must(error.code == ERR_INPUT || error.code == ERR_UNAUTHENTICATED);
        must(error.message[0] != '\0');
        return;
    }
    struct slice text;
    must(json_as_text(json_member(&jwt->claims, "iss"), &text, &error) == ERR_NONE);
    must(slice_equals(text, expected.issuer));
    must(json_as_text(json_member(&jwt->claims, "sub"), &text, &error) == ERR_NONE && text.len > 0);
}

static void check_token(struct arena *arena, const struct jwk_set *set, struct slice text)
{
    struct error error = {0};
    struct jwt jwt;
    if (jwt_parse_in(arena, text, &jwt, &error) != ERR_NONE) {
        must(error.code == ERR_INPUT || error.code == ERR_UNSUPPORTED || error.code == ERR_LIMIT);
        must(error.message[0] != '\0');
        return;
    }
    must(slice_equals(jwt_join_in(arena, jwt.signed_part, jwt.signature), text));
    must(json_as_object(jwt.claims, &error) == ERR_NONE);
    check_signature(set, &jwt);
    check_claims(&jwt, SLICE_NONE, SLICE_NONE);
    check_claims(&jwt, SLICE("cli"), SLICE("n-1"));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct jwk_set *set;
    if (set == NULL) {
        json_set_seed(1);
        must(jwk_set_new(slice_of_text(keys), &set, NULL) == ERR_NONE);
    }
    struct arena arena;
    arena_init(&arena);
    check_token(&arena, set, slice_of(bytes, size));
    arena_release(&arena);
    return 0;
}
