/* SPDX-License-Identifier: MIT */
/* Numbers that those who give them out show as examples, or that are known to be right. */
#include "detect/detect_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

enum {
    SIZE_MAX_DIGITS = 20,
};

static const struct {
    const char *name;
    detect_check_fn *check;
    const char *number;
    bool is_checksum; /* one wrong digit is always seen */
} cases[] = {
    {"us_ssn", check_us_ssn, "219099999", false},
    {"us_itin", check_us_itin, "911701234", false},
    {"aba", check_aba_routing, "021000021", true},
    {"aba", check_aba_routing, "011401533", true},
    {"sin", check_ca_sin, "130692544", true},
    {"nhs", check_uk_nhs, "9434765919", true},
    {"nhs", check_uk_nhs, "4010232137", true},
    {"tfn", check_au_tfn, "876543210", false},
    {"abn", check_au_abn, "51824753556", true},
    {"abn", check_au_abn, "53004085616", true},
    {"acn", check_au_acn, "004085616", false},
    {"medicare", check_au_medicare, "2123456701", false},
    {"aadhaar", check_in_aadhaar, "234123412346", true},
    {"vat", check_it_vat_code, "00743110157", true},
    {"cpf", check_br_cpf, "11144477735", true},
    {"cpf", check_br_cpf, "52998224725", true},
    {"cnpj", check_br_cnpj, "11222333000181", true},
    {"cnh", check_br_cnh, "02650306461", true},
    {"pis", check_br_pis, "17033259504", true},
    {"pesel", check_pl_pesel, "44051401359", true},
    {"pesel", check_pl_pesel, "02070803628", true},
    {"tnin", check_th_tnin, "1101700230708", false},
    {"tax_id", check_de_tax_id, "86095742719", true},
    {"tax_id", check_de_tax_id, "47036892816", true},
    {"nir", check_fr_nir, "255081416802538", true},
    {"bsn", check_nl_bsn, "111222333", true},
    {"personnummer", check_se_personnummer, "8112289874", true},
    {"personnummer", check_se_personnummer_long, "198112289874", true},
};

static size_t digits_of(const char *number, uint8_t *digits)
{
    size_t count = strlen(number);
    for (size_t i = 0; i < count; i++) {
        digits[i] = (uint8_t)(number[i] - '0');
    }
    return count;
}

static void what_is_right_passes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t digits[SIZE_MAX_DIGITS];
        digits_of(cases[i].number, digits);
        if (!cases[i].check(digits)) {
            fail_msg("%s %s is refused", cases[i].name, cases[i].number);
        }
    }
}

static void a_wrong_digit_is_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t digits[SIZE_MAX_DIGITS];
        size_t count = digits_of(cases[i].number, digits), passed = 0;
        for (size_t at = 0; at < count; at++) {
            uint8_t right = digits[at];
            for (unsigned by = 1; by < 10; by++) {
                digits[at] = (uint8_t)((right + by) % 10);
                passed += cases[i].check(digits);
            }
            digits[at] = right;
        }
        /* with ten possible digits and eleven remainders a few pass all the same */
        if (cases[i].is_checksum && passed * 20 > count * 9) {
            fail_msg("%s %s: %zu passed", cases[i].name, cases[i].number, passed);
        }
    }
}

static void one_digit_over_and_over_is_no_number(void **state)
{
    (void)state;
    detect_check_fn *const checks[] = {check_us_ssn, check_ca_sin, check_uk_nhs,  check_au_tfn,
                                       check_au_acn, check_br_cpf, check_br_cnpj, check_br_cnh,
                                       check_br_pis, check_nl_bsn, check_th_tnin};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        for (int digit = 0; digit < 10; digit++) {
            uint8_t digits[SIZE_MAX_DIGITS];
            memset(digits, digit, sizeof(digits));
            assert_false(checks[i](digits));
        }
    }
}

static void cards_have_ranges_and_lengths(void **state)
{
    (void)state;
    static const char *const good[] = {"4111111111111111", "5555555555554444", "2223003122003222",
                                       "378282246310005",  "6011111111111117", "3530111333300000",
                                       "30569309025904",   "4222222222222",    "6759649826438453"};
    static const char *const bad[] = {"4111111111111112", "1234567812345670", "37828224631000",
                                      "0000000000000000", "411111111111111"};
    uint8_t digits[SIZE_MAX_DIGITS];
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t count = digits_of(good[i], digits);
        assert_true(check_card(digits, count));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t count = digits_of(bad[i], digits);
        assert_false(check_card(digits, count));
    }
}

static void social_security_numbers_have_areas(void **state)
{
    (void)state;
    static const char *const bad[] = {"000123456", "666123456", "900123456", "123004567",
                                      "123450000"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint8_t digits[SIZE_MAX_DIGITS];
        digits_of(bad[i], digits);
        assert_false(check_us_ssn(digits));
    }
}

static void dates_are_those_of_the_calendar(void **state)
{
    (void)state;
    assert_true(check_date(2024, 2, 29));
    assert_false(check_date(2023, 2, 29));
    assert_false(check_date(1900, 2, 29));
    assert_true(check_date(2000, 2, 29));
    assert_false(check_date(2024, 4, 31));
    assert_false(check_date(2024, 13, 1));
    assert_false(check_date(2024, 0, 1));
    assert_false(check_date(2024, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right_passes),
        cmocka_unit_test(a_wrong_digit_is_seen),
        cmocka_unit_test(one_digit_over_and_over_is_no_number),
        cmocka_unit_test(cards_have_ranges_and_lengths),
        cmocka_unit_test(social_security_numbers_have_areas),
        cmocka_unit_test(dates_are_those_of_the_calendar),
    };
    return cmocka_run_group_tests_name("detect/detect_check", tests, NULL, NULL);
}
