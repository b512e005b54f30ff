/* SPDX-License-Identifier: MIT */
#include "io/tls_server.h"

#include "tls_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

static struct error error_of(const char *certificate, const char *key)
{
    struct tls_server *server = NULL;
    struct error error = {.code = ERR_NONE};
    assert_int_not_equal(tls_server_new(certificate, key, SLICE("h2"), &server, &error), ERR_NONE);
    assert_null(server);
    return error;
}

static void assert_says(const struct error *error, enum err code, const char *path, const char *why)
{
    assert_int_equal(error->code, code);
    assert_non_null(strstr(error->message, path));
    assert_non_null(strstr(error->message, why));
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct tls_files files;
    tls_files_make(&files, "a.test", -60, 3600);
    struct error error = error_of("/nowhere/cert.pem", files.key);
    assert_says(&error, ERR_IO, "certificate '/nowhere/cert.pem'", "No such file");
    error = error_of(files.certificate, "/nowhere/key.pem");
    assert_says(&error, ERR_IO, "key '/nowhere/key.pem'", "No such file");
    tls_files_remove(&files);
}

static void a_file_that_is_not_pem_is_named(void **state)
{
    (void)state;
    struct tls_files files;
    tls_files_make(&files, "a.test", -60, 3600);
    struct error error = error_of(files.folder, files.key);
    assert_says(&error, ERR_INPUT, files.folder, "not a PEM certificate");
    error = error_of(files.key, files.key);
    assert_says(&error, ERR_INPUT, files.key, "not a PEM certificate");
    error = error_of(files.certificate, files.certificate);
    assert_says(&error, ERR_INPUT, files.certificate, "not a PEM private key");
    tls_file_write(files.key, "");
    error = error_of(files.certificate, files.key);
    assert_says(&error, ERR_INPUT, files.key, "not a PEM private key");
    tls_files_remove(&files);
}

static void a_key_of_another_certificate_is_refused(void **state)
{
    (void)state;
    struct tls_files files;
    struct tls_files other;
    tls_files_make(&files, "a.test", -60, 3600);
    tls_files_make(&other, "b.test", -60, 3600);
    struct error error = error_of(files.certificate, other.key);
    assert_says(&error, ERR_INPUT, other.key, "does not belong to certificate");
    tls_files_remove(&files);
    tls_files_remove(&other);
}

static void a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it(void **state)
{
    (void)state;
    struct tls_files files;
    tls_files_make(&files, "a.test", -60, 3600);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    FILE *file = fopen(files.key, "we");
    assert_int_equal(PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(),
                                          (const unsigned char *)"words", 5, NULL, NULL),
                     1);
    assert_int_equal(fclose(file), 0);
    EVP_PKEY_free(key);
    struct error error = error_of(files.certificate, files.key);
    assert_says(&error, ERR_INPUT, files.key, "protected by a passphrase");
    tls_files_remove(&files);
}

static void a_damaged_issuer_is_refused(void **state)
{
    (void)state;
    struct tls_files files;
    tls_files_make(&files, "a.test", -60, 3600);
    FILE *file = fopen(files.certificate, "ae");
    assert_true(fputs("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    struct error error = error_of(files.certificate, files.key);
    assert_says(&error, ERR_INPUT, files.certificate, "damaged");
    tls_files_remove(&files);
}

static void a_weak_key_is_refused(void **state)
{
    (void)state;
    struct tls_files files;
    tls_files_make_rsa(&files, "a.test", 1024);
    struct error error = error_of(files.certificate, files.key);
    assert_says(&error, ERR_INPUT, files.certificate, "too small");
    tls_files_remove(&files);
}

static void an_rsa_certificate_is_taken(void **state)
{
    (void)state;
    struct tls_files files;
    struct tls_server *server CLEANUP(tls_server_unref_at)
    = NULL;
    tls_files_make_rsa(&files, "a.test", 2048);
    assert_int_equal(tls_server_new(files.certificate, files.key, SLICE_NONE, &server, NULL),
                     ERR_NONE);
    tls_files_remove(&files);
}

static void a_certificate_out_of_its_time_is_a_warning(void **state)
{
    (void)state;
    static const struct {
        long starts_s;
        long ends_s;
        const char *warning;
    } cases[] = {
        {-60, 3600, NULL}, {-7200, -3600, "expired on 20"}, {3600, 7200, "is not valid before 20"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tls_files files;
        struct tls_server *server CLEANUP(tls_server_unref_at)
        = NULL;
        tls_files_make(&files, "a.test", cases[i].starts_s, cases[i].ends_s);
        assert_int_equal(tls_server_new(files.certificate, files.key, SLICE("h2"), &server, NULL),
                         ERR_NONE);
        struct slice warning = tls_server_warning(server);
        if (cases[i].warning == NULL) {
            assert_int_equal(warning.len, 0);
        } else {
            assert_true(slice_find(warning, slice_of_text(cases[i].warning)) < warning.len);
            assert_true(slice_find(warning, slice_of_text(files.certificate)) < warning.len);
        }
        tls_files_remove(&files);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(a_file_that_is_not_pem_is_named),
        cmocka_unit_test(a_key_of_another_certificate_is_refused),
        cmocka_unit_test(a_key_with_a_passphrase_is_refused_and_nobody_is_asked_for_it),
        cmocka_unit_test(a_damaged_issuer_is_refused),
        cmocka_unit_test(a_weak_key_is_refused),
        cmocka_unit_test(an_rsa_certificate_is_taken),
        cmocka_unit_test(a_certificate_out_of_its_time_is_a_warning),
    };
    return cmocka_run_group_tests_name("io/tls_server", tests, NULL, NULL);
}
