/* SPDX-License-Identifier: MIT */
/* A key set has a usable key or is refused with a message, and verifying with any of its keys comes
 * to an end. */
#include "fuzz.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"
#include "identity/jwk.h"

#define RFC_CLAIMS                                                                                 \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl" \
    "fQ"

/* RFC 7515 appendix A.2 and A.3, RFC 8037 appendix A.4. */
static const struct {
    enum jwt_algorithm algorithm;
    struct slice signed_part;
    struct slice signature;
} examples[] = {
    {JWT_RS256, SLICE_INIT("eyJhbGciOiJSUzI1NiJ9." RFC_CLAIMS),
     SLICE_INIT("cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5Y"
                "Kt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6x"
                "BArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6"
                "BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_I"
                "oypGlUPQGe77Rw")},
    {JWT_PS256, SLICE_INIT("eyJhbGciOiJSUzI1NiJ9." RFC_CLAIMS),
     SLICE_INIT("cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5Y"
                "Kt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6x"
                "BArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6"
                "BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_I"
                "oypGlUPQGe77Rw")},
    {JWT_ES256, SLICE_INIT("eyJhbGciOiJFUzI1NiJ9." RFC_CLAIMS),
     SLICE_INIT("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6"
                "NU1Q")},
    {JWT_EDDSA, SLICE_INIT("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"),
     SLICE_INIT("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM"
                "0KAg")},
};

static void check_set(struct arena *arena, struct jwk_set *set)
{
    static const struct slice key_ids[] = {SLICE_INIT(""), SLICE_INIT("a"), SLICE_INIT("b")};
    must(jwk_set_count(set) >= 1 && jwk_set_count(set) <= LIMIT_JWK_SET_COUNT);
    for (size_t i = 0; i < COUNT_OF(examples) * COUNT_OF(key_ids); i++) {
        struct error error = {0};
        struct jwt jwt = {
            .algorithm = examples[i / COUNT_OF(key_ids)].algorithm,
            .key_id = key_ids[i % COUNT_OF(key_ids)],
            .signed_part = examples[i / COUNT_OF(key_ids)].signed_part,
        };
        must(base64_decode_in(arena, BASE64_URL, examples[i / COUNT_OF(key_ids)].signature,
                              &jwt.signature) == ERR_NONE);
        enum err err = jwk_set_verify(set, &jwt, &error);
        must(err == ERR_NONE || err == ERR_UNAUTHENTICATED || err == ERR_NOT_FOUND);
        must(err == error.code && (err == ERR_NONE) == (error.message[0] == '\0'));
        must(err != ERR_NONE || jwt.algorithm != JWT_PS256);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_set_seed(1);
    struct jwk_set *set = NULL;
    struct error error = {0};
    if (jwk_set_new(slice_of(bytes, size), &set, &error) != ERR_NONE) {
        must(set == NULL && (error.code == ERR_INPUT || error.code == ERR_LIMIT));
        must(error.message[0] != '\0');
        return 0;
    }
    struct arena arena;
    arena_init(&arena);
    check_set(&arena, set);
    arena_release(&arena);
    jwk_set_free(set);
    return 0;
}
