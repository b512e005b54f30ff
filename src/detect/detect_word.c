/* SPDX-License-Identifier: MIT */
/* Words of letters and digits: identity documents by their form and check letter. A form is a text:
 * A a capital letter, 9 a digit, any other sign itself. */
#include "detect/detect_internal.h"

#include <string.h>

enum {
    WORD_SIZE_MIN = 8,
    WORD_SIZE_MAX = 16,
};

typedef bool word_check_fn(const char *word);

struct word_form {
    enum detect_type type;
    const char *form;
    word_check_fn *check;
    unsigned scores[2]; /* bare, in context */
};

static unsigned digits_of(const char *word, size_t count)
{
    unsigned number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number * 10 + (unsigned)(word[i] - '0');
    }
    return number;
}

static char spanish_letter(unsigned number)
{
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23];
}

static bool check_es_nif(const char *word)
{
    return spanish_letter(digits_of(word, 8)) == word[8];
}

static bool check_es_nie(const char *word)
{
    if (!is_one_of(word[0], "XYZ")) {
        return false;
    }
    unsigned number = (unsigned)(word[0] - 'X') * 10000000 + digits_of(word + 1, 7);
    return spanish_letter(number) == word[8];
}

/* Prefixes that are not given out, and two letters that are in none of them. */
static bool check_uk_nino(const char *word)
{
    static const char *const unused[] = {"BG", "GB", "NK", "KN", "TN", "NT", "ZZ"};
    if (is_one_of(word[0], "DFIQUV") || is_one_of(word[1], "DFIOQUV") || word[8] > 'D') {
        return false;
    }
    for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++) {
        if (word[0] == unused[i][0] && word[1] == unused[i][1]) {
            return false;
        }
    }
    return true;
}

static bool check_sg_fin(const char *word)
{
    static const unsigned weights[] = {2, 7, 6, 5, 4, 3, 2};
    unsigned sum = word[0] == 'T' || word[0] == 'G' ? 4 : word[0] == 'M' ? 3 : 0;
    for (size_t i = 0; i < 7; i++) {
        sum += weights[i] * (unsigned)(word[i + 1] - '0');
    }
    switch (word[0]) {
    case 'S':
    case 'T':
        return "JZIHGFEDCBA"[sum % 11] == word[8];
    case 'F':
    case 'G':
        return "XWUTRQPNMLK"[sum % 11] == word[8];
    case 'M':
        return "KLJNPQRTUWX"[10 - sum % 11] == word[8];
    default:
        return false;
    }
}

/* The seventh digit is the last one of the sum of the odd places and twice that of the even. */
static bool check_medical_license(const char *word)
{
    unsigned digits[7], sum;
    for (size_t i = 0; i < 7; i++) {
        digits[i] = (unsigned)(word[i + 2] - '0');
    }
    sum = digits[0] + digits[2] + digits[4] + 2 * (digits[1] + digits[3] + digits[5]);
    return is_one_of(word[0], "ABCDEFGHJKLMPRSTUX") && sum % 10 == digits[6];
}

static bool check_in_pan(const char *word)
{
    return is_one_of(word[3], "ABCFGHJLPT");
}

static bool check_in_vehicle(const char *word)
{
    static const char states[] =
        "AN AP AR AS BR CG CH DD DL DN GA GJ HP HR JH JK KA KL LA LD MH ML "
        "MN MP MZ NL OD OR PB PY RJ SK TN TR TS UK UP WB";
    for (size_t i = 0; i < sizeof(states); i += 3) {
        if (word[0] == states[i] && word[1] == states[i + 1]) {
            return digits_of(word + 2, 2) != 0;
        }
    }
    return false;
}

/* The third kind of number names the entity's kind by two letters. */
static bool check_sg_uen(const char *word)
{
    static const char kinds[] = "LL LP FC PF RF MQ MM NB CC CS MB FM GS DP CP NR CM CD MD HS VH CH "
                                "MH CL XL CX RP TU TC FB FN PA PB SS MC SM GA GB";
    for (size_t i = 0; i < sizeof(kinds); i += 3) {
        if (word[3] == kinds[i] && word[4] == kinds[i + 1]) {
            return is_one_of(word[0], "RST");
        }
    }
    return false;
}

static bool check_it_vat(const char *word)
{
    uint8_t digits[11];
    unsigned sum = 0;
    for (size_t i = 0; i < 11; i++) {
        digits[i] = (uint8_t)(word[i + 2] - '0');
        unsigned twice = digits[i] * 2U;
        sum += i % 2 == 0 ? digits[i] : twice > 9 ? twice - 9 : twice;
    }
    return memcmp(word, "IT", 2) == 0 && sum % 10 == 0 && sum != 0;
}

/* The number of the digits is the place of the check letter. */
static bool check_fi(const char *word)
{
    unsigned number = digits_of(word, 6) * 1000 + digits_of(word + 7, 3);
    unsigned day = digits_of(word, 2), month = digits_of(word + 2, 2);
    return day >= 1 && day <= 31 && month >= 1 && month <= 12 &&
           "0123456789ABCDEFHJKLMNPRSTUVWXY"[number % 31] == word[10] &&
           digits_of(word + 7, 3) >= 2;
}

static bool check_fi_word(const char *word)
{
    return is_one_of(word[6], "ABCDEFYXWVU") && check_fi(word);
}

static bool check_it_driver(const char *word)
{
    return word[0] == 'U' && word[1] == '1';
}

static const struct word_form forms[] = {
    {DETECT_ES_NIF, "99999999A", check_es_nif, {85, 98}},
    {DETECT_ES_NIE, "A9999999A", check_es_nie, {95, 99}},
    {DETECT_SG_FIN, "A9999999A", check_sg_fin, {90, 99}},
    {DETECT_SG_UEN, "99999999A", NULL, {30, 80}},
    {DETECT_SG_UEN, "199999999A", NULL, {45, 85}},
    {DETECT_SG_UEN, "209999999A", NULL, {45, 85}},
    {DETECT_SG_UEN, "A99AA9999A", check_sg_uen, {70, 92}},
    {DETECT_UK_NINO, "AA999999A", check_uk_nino, {85, 98}},
    {DETECT_MEDICAL_LICENSE, "AA9999999", check_medical_license, {55, 96}},
    {DETECT_IN_PAN, "AAAAA9999A", check_in_pan, {85, 98}},
    {DETECT_IN_PASSPORT, "A9999999", NULL, {10, 75}},
    {DETECT_IN_VEHICLE_REGISTRATION, "AA99AA9999", check_in_vehicle, {62, 92}},
    {DETECT_IN_VEHICLE_REGISTRATION, "AA99A9999", check_in_vehicle, {55, 90}},
    {DETECT_IN_VOTER, "AAA9999999", NULL, {30, 85}},
    {DETECT_IT_IDENTITY_CARD, "CA99999AA", NULL, {65, 92}},
    {DETECT_IT_IDENTITY_CARD, "AA9999999", NULL, {10, 70}},
    {DETECT_IT_IDENTITY_CARD, "AA99999AA", NULL, {20, 80}},
    {DETECT_IT_DRIVER_LICENSE, "AA9999999A", NULL, {30, 85}},
    {DETECT_IT_DRIVER_LICENSE, "A999999999A", check_it_driver, {30, 80}},
    {DETECT_IT_PASSPORT, "AA9999999", NULL, {10, 75}},
    {DETECT_IT_VAT_CODE, "AA99999999999", check_it_vat, {85, 98}},
    {DETECT_US_PASSPORT, "A99999999", NULL, {10, 75}},
    {DETECT_US_DRIVER_LICENSE, "A9999999", NULL, {10, 70}},
    {DETECT_US_DRIVER_LICENSE, "A99999999", NULL, {10, 70}},
    {DETECT_US_DRIVER_LICENSE, "A999999999999", NULL, {10, 70}},
    {DETECT_US_DRIVER_LICENSE, "A99999999999999", NULL, {10, 70}},
    {DETECT_US_DRIVER_LICENSE, "A9999999999999", NULL, {10, 70}},
    {DETECT_FI_PERSONAL_IDENTITY_CODE, "999999A9999", check_fi_word, {90, 99}},
    {DETECT_FI_PERSONAL_IDENTITY_CODE, "999999A999A", check_fi_word, {95, 99}},
};

/* By the kinds of the bytes of the two, which the caller has compared at the first place. */
static bool has_form(const char *word, const char *form)
{
    for (; *form != '\0'; word++, form++) {
        bool fits = *form == 'A'   ? is_upper(*word)
                    : *form == '9' ? is_digit(*word)
                                   : *word == *form;
        if (!fits) {
            return false;
        }
    }
    return *word == '\0';
}

static void offer_words(struct detect_scan *scan, const char *word, size_t offset, size_t end)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const struct word_form *form = &forms[i];
        if (is_wanted(scan, form->type, form->scores[1]) && has_form(word, form->form) &&
            (form->check == NULL || form->check(word))) {
            unsigned scores[2] = {form->scores[0], form->scores[1]};
            detect_offer_in_context(scan, form->type, offset, end, scores);
        }
    }
}

void detect_find_word(struct detect_scan *scan, size_t at)
{
    size_t start = at, end = at;
    while (start > 0 && at - start <= WORD_SIZE_MAX && is_word(byte_before(scan, start, 1))) {
        start--;
    }
    while (end - start <= WORD_SIZE_MAX && is_word(byte_at(scan, end))) {
        end++;
    }
    if (end - start < WORD_SIZE_MIN || end - start > WORD_SIZE_MAX ||
        !detect_is_start(scan, start) || !detect_is_end(scan, end)) {
        return;
    }
    char word[WORD_SIZE_MAX + 1] = {0};
    memcpy(word, scan->text.at + start, end - start);
    offer_words(scan, word, start, end);
}

static bool is_shape(const struct detect_lettered *number, const char *shape)
{
    size_t len = strlen(shape);
    return number->shape_len == len && memcmp(number->shape, shape, len) == 0;
}

/* "AB 12 34 56 C": the letters stand before and behind. */
static void find_spaced_nino(struct detect_scan *scan, const struct detect_lettered *number)
{
    size_t start = number->start, end = number->end;
    if (start < 3 || byte_before(scan, start, 1) != ' ' || byte_at(scan, end) != ' ' ||
        !is_upper(byte_at(scan, end + 1)) || !detect_is_end(scan, end + 2) ||
        !detect_is_start(scan, start - 3)) {
        return;
    }
    char word[] = {byte_before(scan, start, 3),
                   byte_before(scan, start, 2),
                   '1',
                   '1',
                   '1',
                   '1',
                   '1',
                   '1',
                   byte_at(scan, end + 1),
                   '\0'};
    if (is_upper(word[0]) && is_upper(word[1]) && check_uk_nino(word)) {
        detect_offer(scan, DETECT_UK_NINO, start - 3, end + 2, 85);
    }
}

static void find_fi_dashed(struct detect_scan *scan, const struct detect_lettered *number)
{
    char word[12] = {0};
    if (number->end - number->start > 11 || scan->text.len - number->start < 11) {
        return;
    }
    memcpy(word, scan->text.at + number->start, 11);
    if (detect_is_end(scan, number->start + 11) && check_fi(word)) {
        detect_offer(scan, DETECT_FI_PERSONAL_IDENTITY_CODE, number->start, number->start + 11, 95);
    }
}

void detect_find_lettered(struct detect_scan *scan, const struct detect_lettered *number)
{
    char next = byte_at(scan, number->end), letter = byte_at(scan, number->end + 1);
    if (is_shape(number, "2 2 2")) {
        find_spaced_nino(scan, number);
    } else if (is_shape(number, "6-4") || is_shape(number, "6+4") ||
               ((is_shape(number, "6-3") || is_shape(number, "6+3")) && is_upper(next))) {
        find_fi_dashed(scan, number);
    } else if ((is_shape(number, "8") || is_shape(number, "2.3.3")) && next == '-' &&
               is_upper(letter) && detect_is_end(scan, number->end + 2)) {
        char word[10] = {0};
        for (size_t i = 0; i < 8; i++) {
            word[i] = (char)('0' + number->digits[i]);
        }
        word[8] = letter;
        if (check_es_nif(word)) {
            detect_offer(scan, DETECT_ES_NIF, number->start, number->end + 2, 92);
        }
        if (letter == 'X' && number->shape[0] == '2') {
            detect_offer(scan, DETECT_BR_RG, number->start, number->end + 2, 70);
        }
    }
}
