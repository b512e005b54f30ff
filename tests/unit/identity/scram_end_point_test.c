/* SPDX-License-Identifier: MIT */
#include "identity/scram.h"

#include "base/memory.h"

#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct error error;
static EVP_PKEY *rsa;
static EVP_PKEY *ec;
static EVP_PKEY *ed25519;

static int set_up(void **state)
{
    (void)state;
    rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    ec = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    ed25519 = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    return rsa == NULL || ec == NULL || ed25519 == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(ec);
    EVP_PKEY_free(ed25519);
    return 0;
}

/* A certificate of the key by itself, in 'der'. */
static struct slice certificate_of(EVP_PKEY *key, const EVP_MD *hash, bool is_pss,
                                   unsigned char **ret_der)
{
    X509 *certificate = X509_new();
    assert_non_null(certificate);
    assert_int_equal(X509_set_version(certificate, X509_VERSION_3), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(certificate), 0));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(certificate), 3600));
    assert_int_equal(X509_set_pubkey(certificate, key), 1);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *signing = NULL;
    assert_int_equal(EVP_DigestSignInit(context, &signing, hash, NULL, key), 1);
    if (is_pss) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(signing, RSA_PKCS1_PSS_PADDING), 1);
    }
    assert_true(X509_sign_ctx(certificate, context) > 0);
    EVP_MD_CTX_free(context);
    *ret_der = NULL;
    int len = i2d_X509(certificate, ret_der);
    assert_true(len > 0);
    X509_free(certificate);
    return slice_of(*ret_der, (size_t)len);
}

static void check_end_point(EVP_PKEY *key, const EVP_MD *signed_with, bool is_pss,
                            const EVP_MD *expected)
{
    unsigned char *bytes;
    struct slice der = certificate_of(key, signed_with, is_pss, &bytes);
    struct scram_end_point end_point;
    assert_int_equal(scram_end_point_of(der, &end_point, &error), ERR_NONE);
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    assert_int_equal(EVP_Digest(der.at, der.len, hash, &size, expected, NULL), 1);
    assert_int_equal(end_point.size, size);
    assert_memory_equal(end_point.bytes, hash, size);
    OPENSSL_free(bytes);
}

static void the_hash_is_that_of_the_signature(void **state)
{
    (void)state;
    check_end_point(rsa, EVP_sha256(), false, EVP_sha256());
    check_end_point(rsa, EVP_sha384(), false, EVP_sha384());
    check_end_point(rsa, EVP_sha512(), false, EVP_sha512());
    check_end_point(ec, EVP_sha256(), false, EVP_sha256());
    check_end_point(ec, EVP_sha384(), false, EVP_sha384());
    check_end_point(rsa, EVP_sha512(), true, EVP_sha512());
}

static void md5_and_sha1_give_way_to_sha256(void **state)
{
    (void)state;
    check_end_point(rsa, EVP_md5(), false, EVP_sha256());
    check_end_point(rsa, EVP_sha1(), false, EVP_sha256());
    check_end_point(ec, EVP_sha1(), false, EVP_sha256());
}

static void a_signature_without_a_hash_binds_nothing(void **state)
{
    (void)state;
    unsigned char *bytes;
    struct slice der = certificate_of(ed25519, NULL, false, &bytes);
    struct scram_end_point end_point;
    assert_int_equal(scram_end_point_of(der, &end_point, &error), ERR_UNSUPPORTED);
    assert_string_equal(error.message, "certificate whose signature names no hash");
    OPENSSL_free(bytes);
}

static void what_is_not_one_certificate_is_refused(void **state)
{
    (void)state;
    unsigned char *bytes;
    struct slice der = certificate_of(ec, EVP_sha256(), false, &bytes);
    struct scram_end_point end_point;
    for (size_t len = 0; len < der.len; len++) {
        assert_int_equal(scram_end_point_of(slice_sub(der, 0, len), &end_point, &error), ERR_INPUT);
    }
    struct arena arena;
    arena_init(&arena);
    struct slice longer = slice_of(arena_text(&arena, der), der.len + 1);
    assert_int_equal(scram_end_point_of(longer, &end_point, &error), ERR_INPUT);
    assert_string_equal(error.message, "certificate that cannot be read");
    arena_release(&arena);
    OPENSSL_free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_that_of_the_signature),
        cmocka_unit_test(md5_and_sha1_give_way_to_sha256),
        cmocka_unit_test(a_signature_without_a_hash_binds_nothing),
        cmocka_unit_test(what_is_not_one_certificate_is_refused),
    };
    return cmocka_run_group_tests_name("identity/scram_end_point", tests, set_up, tear_down);
}
