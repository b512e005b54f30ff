/* SPDX-License-Identifier: MIT */
#include "detect/detect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool says(const char *name, enum detect_type type)
{
    return (detect_context_of(slice_of_text(name)) >> type & 1) != 0;
}

static void a_name_is_taken_apart_into_words(void **state)
{
    (void)state;
    static const char *const names[] = {
        "phone",       "PHONE",    "user_phone", "user-phone", "user.phone", "userPhone",
        "phoneNumber", "PhoneNo2", "home phone", "mobile_nr",  "telefon",    "Telefonnummer",
        "msisdn",      "tel",      "handyNr",    "celular",    "phonenum",   "custphone"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!says(names[i], DETECT_PHONE_NUMBER)) {
            fail_msg("'%s' says nothing", names[i]);
        }
    }
}

static void words_of_many_languages_are_known(void **state)
{
    (void)state;
    assert_true(says("email", DETECT_EMAIL_ADDRESS));
    assert_true(says("eMailAddress", DETECT_EMAIL_ADDRESS));
    assert_true(says("correo_electronico", DETECT_EMAIL_ADDRESS));
    assert_true(says("SSN", DETECT_US_SSN));
    assert_true(says("socialSecurityNumber", DETECT_US_SSN));
    assert_true(says("userSSN", DETECT_US_SSN));
    assert_true(says("SSNNumber", DETECT_US_SSN));
    assert_true(says("IBANCode", DETECT_IBAN_CODE));
    assert_true(says("date_of_birth", DETECT_DATE_OF_BIRTH));
    assert_true(says("Geburtsdatum", DETECT_DATE_OF_BIRTH));
    assert_true(says("dob", DETECT_DATE_OF_BIRTH));
    assert_true(says("cc_num", DETECT_CREDIT_CARD));
    assert_true(says("kreditkartennummer", DETECT_CREDIT_CARD));
    assert_true(says("password_hash", DETECT_PASSWORD));
    assert_true(says("encryption_key", DETECT_GCP_KEY));
    assert_false(says("password_encryption", DETECT_PASSWORD)); /* psql asks for it */
    assert_false(says("password_expires", DETECT_PASSWORD));
    assert_true(says("user_pwd", DETECT_PASSWORD));
    assert_true(says("cpf_cliente", DETECT_BR_CPF));
    assert_true(says("aws_secret_access_key", DETECT_AWS_KEY));
}

static void other_words_say_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",     "id",    "order_id", "created_at", "discard", "excellent", "wildcard", "amount",
        "name", "hotel", "cancel",   "finished",   "single",  "__",        "123"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (detect_context_of(slice_of_text(names[i])) != 0) {
            fail_msg("'%s' says something", names[i]);
        }
    }
}

static void a_long_name_is_no_word(void **state)
{
    (void)state;
    char name[300];
    for (size_t i = 0; i < sizeof(name); i++) {
        name[i] = (char)('a' + i % 26);
        (void)detect_context_of(slice_of(name, i));
    }
    assert_int_equal(detect_context_of(slice_of(name, sizeof(name))), 0);
}

static void types_have_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < DETECT_TYPE_COUNT; i++) {
        enum detect_type type = DETECT_TYPE_COUNT;
        assert_true(detect_type_parse(slice_of_text(detect_type_word((enum detect_type)i)), &type));
        assert_int_equal(type, i);
    }
    enum detect_type type;
    assert_false(detect_type_parse(SLICE("email_address"), &type));
    assert_false(detect_type_parse(SLICE("PERSON"), &type));
    assert_true(detect_type_has_checksum(DETECT_CREDIT_CARD));
    assert_false(detect_type_has_checksum(DETECT_PHONE_NUMBER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_taken_apart_into_words),
        cmocka_unit_test(words_of_many_languages_are_known),
        cmocka_unit_test(other_words_say_nothing),
        cmocka_unit_test(a_long_name_is_no_word),
        cmocka_unit_test(types_have_names),
    };
    return cmocka_run_group_tests_name("detect/detect_context", tests, NULL, NULL);
}
