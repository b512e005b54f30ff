/* SPDX-License-Identifier: MIT */
/* Expected values were computed in Python, by the formulas of the servers' manuals and of RFC 8032.
 */
#include "identity/mysql_proof.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/hex.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NONCE SLICE("abcdefghij0123456789")

static void check_hex(const unsigned char *bytes, size_t size, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    struct slice digits = hex_encode(&arena, slice_of(bytes, size));
    assert_true(slice_equals(digits, slice_of_text(expected)));
    arena_release(&arena);
}

static void proofs_are_those_of_the_manuals(void **state)
{
    (void)state;
    unsigned char proof[MYSQL_PROOF_ED25519_SIZE];
    mysql_proof_sha1(SLICE("secret"), NONCE, proof);
    check_hex(proof, MYSQL_PROOF_SHA1_SIZE, "99db25ccb2a625f0e7cf4ce2e895ef9609dfe5e4");
    mysql_proof_sha2(SLICE("secret"), NONCE, proof);
    check_hex(proof, MYSQL_PROOF_SHA2_SIZE,
              "bd7d89fc1c297010da753d08822e9e48d3eafbb6e68e1f9b403be12dc5687a40");
}

static void a_verifier_takes_the_right_proof_alone(void **state)
{
    (void)state;
    struct mysql_verifier verifier;
    unsigned char proof[MYSQL_PROOF_SHA2_SIZE];
    mysql_verifier_make(SLICE("secret"), &verifier);
    mysql_proof_sha2(SLICE("secret"), NONCE, proof);
    struct slice given = slice_of(proof, sizeof(proof));
    assert_true(mysql_verifier_takes_sha2(&verifier, NONCE, given));
    assert_false(mysql_verifier_takes_sha2(&verifier, SLICE("abcdefghij0123456780"), given));
    assert_false(mysql_verifier_takes_sha1(&verifier, NONCE, given));
    for (size_t i = 0; i < sizeof(proof); i++) {
        proof[i] ^= 1;
        assert_false(mysql_verifier_takes_sha2(&verifier, NONCE, given));
        proof[i] ^= 1;
        assert_false(mysql_verifier_takes_sha2(&verifier, NONCE, slice_sub(given, 0, i)));
    }
    mysql_proof_sha1(SLICE("secret"), NONCE, proof);
    given = slice_of(proof, MYSQL_PROOF_SHA1_SIZE);
    assert_true(mysql_verifier_takes_sha1(&verifier, NONCE, given));
    proof[7] ^= 0x80;
    assert_false(mysql_verifier_takes_sha1(&verifier, NONCE, given));
    assert_false(mysql_verifier_takes_sha1(&verifier, NONCE, SLICE("")));
    assert_true(mysql_verifier_takes_clear(&verifier, SLICE("secret")));
    assert_false(mysql_verifier_takes_clear(&verifier, SLICE("secret\0")));
    /* What is kept is no proof itself. */
    assert_false(mysql_verifier_takes_sha2(&verifier, NONCE,
                                           slice_of(verifier.sha2, sizeof(verifier.sha2))));
}

static void a_certificate_is_proved_as_mariadb_does(void **state)
{
    (void)state;
    struct mysql_verifier verifier;
    char proof[MYSQL_PROOF_CERTIFICATE_SIZE];
    mysql_verifier_make(SLICE("secret"), &verifier);
    mysql_verifier_prove_certificate(&verifier, NONCE, SLICE("a certificate"), proof);
    assert_true(
        slice_equals(slice_of(proof, sizeof(proof)),
                     SLICE("C708F39FAB29C40A3DA4C3F8467307C84D71B3BF2C7A462DFEE7FBB0DC2CFBEB")));
}

static void an_ed25519_proof_is_a_signature(void **state)
{
    (void)state;
    unsigned char proof[MYSQL_PROOF_ED25519_SIZE];
    mysql_proof_ed25519(SLICE("secret"), SLICE("01234567890123456789012345678901"), proof);
    check_hex(proof, sizeof(proof),
              "fed55b62eb42744285b7aaad12bb5cc8f85f1da66c8de81b42e421542512677d"
              "fcb03947a5f0486fc651a3cf8b4e899a88b9ced1e228db5cca30718bcd3f3302");
}

/* The seed of the key is PBKDF2 of the password, by Python's hashlib. */
static void a_parsec_proof_is_a_signature_of_both_sides_bytes(void **state)
{
    (void)state;
    static const char seed[] = "4dff54110b1e8e8c78ff33498d0bdc0c6c85856f8cf6403d4b8d66a381f72bf5";
    struct slice nonce = SLICE("01234567890123456789012345678901");
    unsigned char proof[MYSQL_PROOF_PARSEC_SIZE];
    unsigned char both[64];
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
    unsigned char key[crypto_sign_SECRETKEYBYTES];
    char bytes[crypto_sign_SEEDBYTES];
    struct error error;
    assert_int_equal(hex_decode(slice_of_text(seed), bytes, sizeof(bytes)), ERR_NONE);
    assert_int_equal(crypto_sign_seed_keypair(public_key, key, (const unsigned char *)bytes), 0);
    assert_int_equal(mysql_proof_parsec(SLICE("secret"), nonce,
                                        SLICE("P\x01"
                                              "0123456789abcdefgh"),
                                        proof, &error),
                     ERR_NONE);
    memcpy(both, nonce.at, 32);
    memcpy(both + 32, proof, 32);
    assert_int_equal(crypto_sign_verify_detached(proof + 32, both, sizeof(both), public_key), 0);
}

static void what_is_no_salt_of_parsec_is_refused(void **state)
{
    (void)state;
    static const char *const salts[] = {"",
                                        "P",
                                        "P\x01",
                                        "Q\x01"
                                        "0123456789abcdefgh",
                                        "P\x04"
                                        "0123456789abcdefgh",
                                        "P\x01"
                                        "0123456789abcdefg",
                                        "P\x01"
                                        "0123456789abcdefghi"};
    struct slice nonce = SLICE("01234567890123456789012345678901");
    unsigned char proof[MYSQL_PROOF_PARSEC_SIZE];
    struct error error;
    for (size_t i = 0; i < COUNT_OF(salts); i++) {
        assert_int_equal(
            mysql_proof_parsec(SLICE("secret"), nonce, slice_of_text(salts[i]), proof, &error),
            ERR_INPUT);
    }
    assert_int_equal(mysql_proof_parsec(SLICE("secret"), slice_sub(nonce, 0, 31),
                                        SLICE("P\x01"
                                              "0123456789abcdefgh"),
                                        proof, &error),
                     ERR_INPUT);
}

static void a_password_goes_under_the_servers_key(void **state)
{
    (void)state;
    struct secret password;
    struct buf sealed;
    struct error error;
    EVP_PKEY *key = EVP_RSA_gen(2048);
    BIO *bio = BIO_new(BIO_s_mem());
    char *pem = NULL;
    must(key != NULL && PEM_write_bio_PUBKEY(bio, key) == 1);
    size_t pem_len = (size_t)BIO_get_mem_data(bio, &pem);
    secret_init(&password);
    must(secret_set(&password, SLICE("open sesame")) == ERR_NONE);
    buf_init(&sealed, 1024);
    assert_int_equal(mysql_proof_encrypt(&password, NONCE, slice_of(pem, pem_len), &sealed, &error),
                     ERR_NONE);
    unsigned char plain[512];
    size_t size = sizeof(plain);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    must(EVP_PKEY_decrypt_init(context) == 1 &&
         EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1);
    must(EVP_PKEY_decrypt(context, plain, &size, (const unsigned char *)buf_view(&sealed).at,
                          sealed.len) == 1);
    assert_int_equal(size, sizeof("open sesame"));
    for (size_t i = 0; i < size; i++) {
        plain[i] ^= (unsigned char)NONCE.at[i % NONCE.len];
    }
    assert_memory_equal(plain, "open sesame", size);
    assert_int_equal(mysql_proof_encrypt(&password, NONCE, SLICE("no key"), &sealed, &error),
                     ERR_INPUT);
    assert_int_equal(
        mysql_proof_encrypt(&password, SLICE(""), slice_of(pem, pem_len), &sealed, &error),
        ERR_INPUT);
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(key);
    BIO_free(bio);
    buf_release(&sealed);
    secret_release(&password);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_are_those_of_the_manuals),
        cmocka_unit_test(a_verifier_takes_the_right_proof_alone),
        cmocka_unit_test(a_certificate_is_proved_as_mariadb_does),
        cmocka_unit_test(an_ed25519_proof_is_a_signature),
        cmocka_unit_test(a_parsec_proof_is_a_signature_of_both_sides_bytes),
        cmocka_unit_test(what_is_no_salt_of_parsec_is_refused),
        cmocka_unit_test(a_password_goes_under_the_servers_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
