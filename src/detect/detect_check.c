/* SPDX-License-Identifier: MIT */
#include "detect/detect_check.h"

#include <string.h>

static unsigned weighted(const uint8_t *digits, const uint8_t *weights, size_t count)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (unsigned)digits[i] * weights[i];
    }
    return sum;
}

/* Weights that go down by one. */
static unsigned descending(const uint8_t *digits, size_t count, unsigned weight)
{
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += digits[i] * (weight - (unsigned)i);
    }
    return sum;
}

static bool is_one_digit(const uint8_t *digits, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (digits[i] != digits[0]) {
            return false;
        }
    }
    return true;
}

static unsigned number_of(const uint8_t *digits, size_t count)
{
    unsigned number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number * 10 + digits[i];
    }
    return number;
}

bool check_date(unsigned year, unsigned month, unsigned day)
{
    static const uint8_t days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1 || day > days[month - 1]) {
        return false;
    }
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month != 2 || day < 29 || is_leap;
}

/* YYMMDD of some century. */
static bool is_short_date(const uint8_t *digits)
{
    unsigned year = number_of(digits, 2), month = number_of(digits + 2, 2);
    return check_date(2000 + year, month, number_of(digits + 4, 2)) ||
           check_date(1900 + year, month, number_of(digits + 4, 2));
}

bool check_luhn(const uint8_t *digits, size_t count)
{
    static const uint8_t doubled[] = {0, 2, 4, 6, 8, 1, 3, 5, 7, 9};
    size_t first = count % 2;
    unsigned sum = first == 1 ? digits[0] : 0;
    for (size_t i = first; i < count; i += 2) {
        sum += doubled[digits[i]] + (unsigned)digits[i + 1];
    }
    return sum % 10 == 0;
}

static bool is_card_range(const uint8_t *digits, size_t count)
{
    unsigned six = number_of(digits, 6), four = six / 100, three = six / 1000, two = six / 10000;
    if (two / 10 == 4) {
        return count == 13 || count == 16 || count == 19;
    }
    if ((two >= 51 && two <= 55) || (four >= 2221 && four <= 2720)) {
        return count == 16;
    }
    if (two == 34 || two == 37) {
        return count == 15;
    }
    if ((three >= 300 && three <= 305) || three == 309 || two == 36 || two == 38 || two == 39) {
        return count == 14 || count >= 16;
    }
    if (four == 6011 || (three >= 644 && three <= 649) || two == 65 || two == 62) {
        return count >= 16;
    }
    if (four >= 3528 && four <= 3589) {
        return count >= 16;
    }
    bool is_maestro = four == 5018 || four == 5020 || four == 5038 || four == 5893 ||
                      four == 6304 || four == 6759 || (four >= 6761 && four <= 6763);
    bool is_mir = four >= 2200 && four <= 2204;
    return count >= 16 && (is_maestro || is_mir);
}

bool check_card(const uint8_t *digits, size_t count)
{
    return is_card_range(digits, count) && check_luhn(digits, count) &&
           !is_one_digit(digits, count);
}

bool check_us_ssn(const uint8_t *digits)
{
    unsigned area = number_of(digits, 3), group = number_of(digits + 3, 2);
    unsigned serial = number_of(digits + 5, 4);
    return area != 0 && area != 666 && area < 900 && group != 0 && serial != 0 &&
           !is_one_digit(digits, 9);
}

bool check_us_itin(const uint8_t *digits)
{
    unsigned group = number_of(digits + 3, 2);
    return digits[0] == 9 && ((group >= 50 && group <= 65) || (group >= 70 && group <= 88) ||
                              (group >= 90 && group <= 92) || group >= 94);
}

bool check_aba_routing(const uint8_t *digits)
{
    static const uint8_t weights[] = {3, 7, 1, 3, 7, 1, 3, 7, 1};
    unsigned district = number_of(digits, 2);
    bool is_district = (district >= 1 && district <= 12) || (district >= 21 && district <= 32) ||
                       (district >= 61 && district <= 72) || district == 80;
    return is_district && weighted(digits, weights, 9) % 10 == 0;
}

bool check_ca_sin(const uint8_t *digits)
{
    return digits[0] != 0 && digits[0] != 8 && check_luhn(digits, 9) && !is_one_digit(digits, 9);
}

bool check_uk_nhs(const uint8_t *digits)
{
    unsigned check = 11 - descending(digits, 9, 10) % 11;
    return check % 11 == digits[9] && check != 10 && !is_one_digit(digits, 10);
}

bool check_au_tfn(const uint8_t *digits)
{
    static const uint8_t weights[] = {1, 4, 3, 7, 5, 8, 6, 9, 10};
    return weighted(digits, weights, 9) % 11 == 0 && !is_one_digit(digits, 9);
}

bool check_au_abn(const uint8_t *digits)
{
    static const uint8_t weights[] = {10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19};
    return digits[0] != 0 && (weighted(digits, weights, 11) - weights[0]) % 89 == 0;
}

bool check_au_acn(const uint8_t *digits)
{
    return (10 - descending(digits, 8, 8) % 10) % 10 == digits[8] && !is_one_digit(digits, 9);
}

bool check_au_medicare(const uint8_t *digits)
{
    static const uint8_t weights[] = {1, 3, 7, 9, 1, 3, 7, 9};
    return digits[0] >= 2 && digits[0] <= 6 && weighted(digits, weights, 8) % 10 == digits[8] &&
           digits[9] != 0;
}

/* Verhoeff's checksum: the dihedral group D5 and a permutation by place. */
bool check_in_aadhaar(const uint8_t *digits)
{
    static const uint8_t product[10][10] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 0, 6, 7, 8, 9, 5},
        {2, 3, 4, 0, 1, 7, 8, 9, 5, 6}, {3, 4, 0, 1, 2, 8, 9, 5, 6, 7},
        {4, 0, 1, 2, 3, 9, 5, 6, 7, 8}, {5, 9, 8, 7, 6, 0, 4, 3, 2, 1},
        {6, 5, 9, 8, 7, 1, 0, 4, 3, 2}, {7, 6, 5, 9, 8, 2, 1, 0, 4, 3},
        {8, 7, 6, 5, 9, 3, 2, 1, 0, 4}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
    };
    static const uint8_t permuted[8][10] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 5, 7, 6, 2, 8, 3, 0, 9, 4},
        {5, 8, 0, 3, 7, 9, 6, 1, 4, 2}, {8, 9, 1, 6, 0, 4, 3, 5, 2, 7},
        {9, 4, 5, 3, 1, 2, 6, 8, 7, 0}, {4, 2, 8, 6, 5, 7, 3, 9, 0, 1},
        {2, 7, 9, 3, 8, 0, 6, 4, 1, 5}, {7, 0, 4, 6, 9, 1, 3, 2, 5, 8},
    };
    unsigned sum = 0;
    for (size_t i = 0; i < 12; i++) {
        sum = product[sum][permuted[i % 8][digits[11 - i]]];
    }
    return digits[0] >= 2 && sum == 0;
}

/* Luhn, and one of the offices that give them out. */
bool check_it_vat_code(const uint8_t *digits)
{
    unsigned office = number_of(digits + 7, 3);
    bool is_office = (office >= 1 && office <= 100) || office == 120 || office == 121 ||
                     office == 888 || office == 999;
    return is_office && check_luhn(digits, 11) && number_of(digits, 7) != 0;
}

/* 11 - the sum modulo 11, which is 0 where it has two digits. */
static unsigned from_eleven(unsigned sum)
{
    unsigned rest = sum % 11;
    return rest < 2 ? 0 : 11 - rest;
}

bool check_br_cpf(const uint8_t *digits)
{
    return from_eleven(descending(digits, 9, 10)) == digits[9] &&
           from_eleven(descending(digits, 10, 11)) == digits[10] && !is_one_digit(digits, 11);
}

bool check_br_cnpj(const uint8_t *digits)
{
    static const uint8_t weights[] = {6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2};
    return from_eleven(weighted(digits, weights + 1, 12)) == digits[12] &&
           from_eleven(weighted(digits, weights, 13)) == digits[13] && !is_one_digit(digits, 14);
}

bool check_br_cnh(const uint8_t *digits)
{
    static const uint8_t ascending[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    unsigned first = descending(digits, 9, 9) % 11, discount = 0;
    if (first == 10) {
        first = 0;
        discount = 2;
    }
    unsigned second = weighted(digits, ascending, 9) % 11;
    second = second == 10 ? 0 : (second + 11 - discount) % 11;
    return first == digits[9] && second % 10 == digits[10] && !is_one_digit(digits, 11);
}

bool check_br_pis(const uint8_t *digits)
{
    static const uint8_t weights[] = {3, 2, 9, 8, 7, 6, 5, 4, 3, 2};
    return from_eleven(weighted(digits, weights, 10)) == digits[10] && !is_one_digit(digits, 11);
}

/* The century stands in the month: 1900 +0, 2000 +20, 2100 +40, 2200 +60, 1800 +80. */
bool check_pl_pesel(const uint8_t *digits)
{
    static const uint8_t weights[] = {1, 3, 7, 9, 1, 3, 7, 9, 1, 3};
    static const uint16_t centuries[] = {1900, 2000, 2100, 2200, 1800};
    unsigned month = number_of(digits + 2, 2);
    unsigned year = centuries[month / 20] + number_of(digits, 2);
    return check_date(year, month % 20, number_of(digits + 4, 2)) &&
           (10 - weighted(digits, weights, 10) % 10) % 10 == digits[10];
}

bool check_kr_rrn(const uint8_t *digits)
{
    static const uint8_t weights[] = {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5};
    return is_short_date(digits) && (11 - weighted(digits, weights, 12) % 11) % 10 == digits[12];
}

bool check_th_tnin(const uint8_t *digits)
{
    return digits[0] >= 1 && digits[0] <= 8 &&
           (11 - descending(digits, 12, 13) % 11) % 10 == digits[12] && !is_one_digit(digits, 13);
}

/* ISO 7064, MOD 11,10; of the first ten digits one stands there twice or three times, the others
 * once at most. */
bool check_de_tax_id(const uint8_t *digits)
{
    unsigned times[10] = {0}, repeated = 0, most = 0, product = 10;
    for (size_t i = 0; i < 10; i++) {
        times[digits[i]]++;
        unsigned sum = (digits[i] + product) % 10;
        product = (sum == 0 ? 10 : sum) * 2 % 11;
    }
    for (size_t i = 0; i < 10; i++) {
        repeated += times[i] > 1;
        most = times[i] > most ? times[i] : most;
    }
    return digits[0] != 0 && repeated == 1 && most <= 3 && (11 - product) % 10 == digits[10];
}

bool check_fr_nir(const uint8_t *digits)
{
    unsigned month = number_of(digits + 3, 2);
    uint64_t number = 0;
    for (size_t i = 0; i < 13; i++) {
        number = number * 10 + digits[i];
    }
    bool is_sex = (digits[0] >= 1 && digits[0] <= 4) || digits[0] == 7 || digits[0] == 8;
    bool is_month = (month >= 1 && month <= 12) || (month >= 20 && month <= 42) || month >= 50;
    return is_sex && is_month && 97 - number % 97 == number_of(digits + 13, 2);
}

bool check_nl_bsn(const uint8_t *digits)
{
    return descending(digits, 8, 9) % 11 == digits[8] && !is_one_digit(digits, 9);
}

/* A co-ordination number has 60 added to its day. */
bool check_se_personnummer(const uint8_t *digits)
{
    uint8_t date[6];
    memcpy(date, digits, sizeof(date));
    date[4] = (uint8_t)(date[4] >= 6 ? date[4] - 6 : date[4]);
    return is_short_date(date) && check_luhn(digits, 10);
}

bool check_se_personnummer_long(const uint8_t *digits)
{
    unsigned century = number_of(digits, 2);
    return century >= 18 && century <= 20 && check_se_personnummer(digits + 2);
}

bool check_nanp(const uint8_t *digits)
{
    bool is_area = digits[0] >= 2 && digits[1] != 9 && !(digits[1] == 1 && digits[2] == 1);
    bool is_exchange = digits[3] >= 2 && !(digits[4] == 1 && digits[5] == 1);
    return is_area && is_exchange;
}
