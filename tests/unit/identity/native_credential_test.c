/* SPDX-License-Identifier: MIT */
#include "identity/native_credential.h"

#include "base/memory.h"
#include "codec/base64.h"
#include "codec/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const unsigned char salt[NATIVE_SALT_SIZE] = {
    0x5b, 0x6d, 0x99, 0x68, 0x9d, 0x12, 0x35, 0x8e, 0xec, 0xa0, 0x4b, 0x14, 0x12, 0x36, 0xfa, 0x81,
};

/* The exchange of RFC 7677 section 3: the server's signature there is made with this ServerKey, and
 * the client's proof answers to this StoredKey. */
static void a_verifier_is_that_of_rfc_7677(void **state)
{
    (void)state;
    char wanted[NATIVE_VERIFIER_SIZE];
    unsigned char verifier[NATIVE_VERIFIER_SIZE];
    assert_int_equal(
        hex_decode(SLICE("586e5df283e6dceb5c3e791d8b8528ec191e664045ce971792e2e6b5bb13e2a6"
                         "c1f3cbc1c13a9d35a14c0990eed97629ea225863e566a4314ab99f3f00e5d9d5"),
                   wanted, sizeof(wanted)),
        ERR_NONE);
    native_credential_verifier(SLICE("pencil"), salt, verifier);
    assert_memory_equal(verifier, wanted, sizeof(wanted));
}

static void a_new_one_is_43_characters_of_32_random_bytes(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct native_credential one;
    struct native_credential other;
    struct slice bytes = SLICE_NONE;
    unsigned char verifier[NATIVE_VERIFIER_SIZE];
    native_credential_make_in(&arena, salt, &one);
    native_credential_make_in(&arena, salt, &other);
    assert_int_equal(one.secret.len, 43);
    assert_int_equal(base64_decode_in(&arena, BASE64_URL, one.secret, &bytes), ERR_NONE);
    assert_int_equal(bytes.len, 32);
    assert_int_equal(one.hash.len, 32);
    assert_false(slice_equals(one.secret, other.secret));
    assert_false(slice_equals(one.hash, other.hash));
    native_credential_verifier(one.secret, salt, verifier);
    assert_true(slice_equals(one.verifier, slice_of(verifier, sizeof(verifier))));
    arena_release(&arena);
}

static void another_salt_makes_another_verifier(void **state)
{
    (void)state;
    static const unsigned char zeros[NATIVE_SALT_SIZE] = {0};
    unsigned char one[NATIVE_VERIFIER_SIZE];
    unsigned char other[NATIVE_VERIFIER_SIZE];
    native_credential_verifier(SLICE("pencil"), salt, one);
    native_credential_verifier(SLICE("pencil"), zeros, other);
    assert_memory_not_equal(one, other, NATIVE_VERIFIER_SIZE / 2);
    assert_memory_not_equal(one + 32, other + 32, NATIVE_VERIFIER_SIZE / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_verifier_is_that_of_rfc_7677),
        cmocka_unit_test(a_new_one_is_43_characters_of_32_random_bytes),
        cmocka_unit_test(another_salt_makes_another_verifier),
    };
    return cmocka_run_group_tests_name("identity/native_credential", tests, NULL, NULL);
}
