/* SPDX-License-Identifier: MIT */
#include "identity/native_credential.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct secret key;

static void a_new_one_is_43_characters_of_32_random_bytes(void **state)
{
    (void)state;
    struct arena arena;
    struct native_credential one;
    struct native_credential other;
    struct slice bytes;
    arena_init(&arena);
    native_credential_make_in(&arena, &key, SLICE("shop"), NATIVE_PROOF_SCRAM, &one);
    native_credential_make_in(&arena, &key, SLICE("shop"), NATIVE_PROOF_SCRAM, &other);
    assert_int_equal(one.secret.len, 43);
    assert_int_equal(base64_decode_in(&arena, BASE64_URL, one.secret, &bytes), ERR_NONE);
    assert_int_equal(bytes.len, 32);
    assert_false(slice_equals(one.secret, other.secret));
    assert_false(slice_equals(one.hash, other.hash));
    assert_false(slice_equals(one.verifier, other.verifier));
    arena_release(&arena);
}

/* What is kept is the verifier of the secret under the salt of the name. */
static void its_verifier_is_that_of_scram(void **state)
{
    (void)state;
    struct arena arena;
    struct native_credential one;
    struct scram_verifier mock;
    struct scram_verifier wanted;
    struct scram_verifier kept;
    struct secret password;
    arena_init(&arena);
    secret_init(&password);
    native_credential_make_in(&arena, &key, SLICE("shop"), NATIVE_PROOF_SCRAM, &one);
    must(secret_set(&password, one.secret) == ERR_NONE);
    scram_verifier_mock(&key, SLICE("shop"), &mock);
    scram_verifier_derive(&password, slice_of(mock.salt, mock.salt_size), mock.iterations, &wanted);
    native_credential_verifier(&key, SLICE("shop"), one.verifier, &kept);
    assert_false(kept.is_mock);
    assert_int_equal(kept.iterations, wanted.iterations);
    assert_int_equal(kept.salt_size, wanted.salt_size);
    assert_memory_equal(kept.salt, wanted.salt, wanted.salt_size);
    assert_memory_equal(kept.stored_key, wanted.stored_key, SCRAM_HASH_SIZE);
    assert_memory_equal(kept.server_key, wanted.server_key, SCRAM_HASH_SIZE);
    secret_release(&password);
    arena_release(&arena);
}

/* Its hash alone would sign in: neither it nor anything that leads to it is kept in the open. */
static void what_mysql_is_checked_by_does_not_sign_in(void **state)
{
    (void)state;
    struct arena arena;
    struct native_credential one;
    struct mysql_verifier verifier;
    struct mysql_verifier mock;
    unsigned char proof[MYSQL_PROOF_SHA2_SIZE];
    char hash[NATIVE_HASH_SIZE];
    struct slice nonce = SLICE("01234567890123456789");
    arena_init(&arena);
    native_credential_make_in(&arena, &key, SLICE("shop"), NATIVE_PROOF_MYSQL, &one);
    native_credential_hash(one.secret, hash);
    assert_false(native_credential_is_hash(one.hash, hash));
    native_credential_mysql(one.verifier, &verifier);
    native_credential_mysql_mock(&key, SLICE("shop"), &mock);
    mysql_proof_sha2(one.secret, nonce, proof);
    assert_true(mysql_verifier_takes_sha2(&verifier, nonce, slice_of(proof, sizeof(proof))));
    assert_false(mysql_verifier_takes_sha2(&mock, nonce, slice_of(proof, sizeof(proof))));
    mysql_proof_sha1(one.secret, nonce, proof);
    assert_true(
        mysql_verifier_takes_sha1(&verifier, nonce, slice_of(proof, MYSQL_PROOF_SHA1_SIZE)));
    assert_true(mysql_verifier_takes_clear(&verifier, one.secret));
    assert_false(mysql_verifier_takes_clear(&verifier, SLICE("")));
    arena_release(&arena);
}

static void another_name_has_another_salt(void **state)
{
    (void)state;
    char zeros[NATIVE_VERIFIER_SIZE] = {0};
    struct scram_verifier one;
    struct scram_verifier other;
    native_credential_verifier(&key, SLICE("shop"), slice_of(zeros, sizeof(zeros)), &one);
    native_credential_verifier(&key, SLICE("shed"), slice_of(zeros, sizeof(zeros)), &other);
    assert_memory_not_equal(one.salt, other.salt, one.salt_size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_one_is_43_characters_of_32_random_bytes),
        cmocka_unit_test(its_verifier_is_that_of_scram),
        cmocka_unit_test(what_mysql_is_checked_by_does_not_sign_in),
        cmocka_unit_test(another_name_has_another_salt),
    };
    secret_init(&key);
    must(secret_set(&key, SLICE("the key of this test's gateway..")) == ERR_NONE);
    int failed = cmocka_run_group_tests_name("identity/native_credential", tests, NULL, NULL);
    secret_release(&key);
    return failed;
}
