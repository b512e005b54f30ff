/* SPDX-License-Identifier: MIT */
/* Numbers: groups of digits with one sign between them. What a number can be is a table by how many
 * digits it has and how they are grouped; the checks are in detect_check.c. A start looks at what
 * begins with its own group only; the groups behind it are starts of their own. */
#include "detect/detect_internal.h"

#include "detect/detect_check.h"
#include "detect/detect_number.h"

#include <string.h>

enum {
    SCORE_OTHER_SIGN = 50, /* of what is mostly written with other signs between its groups */
};

struct form {
    enum detect_type type;
    const char *shape;
    detect_check_fn *check;
    unsigned scores[2]; /* bare, in context */
};

static const struct form plain_8[] = {
    {DETECT_US_BANK_NUMBER, "8", NULL, {5, 70}},
    {DETECT_US_DRIVER_LICENSE, "8", NULL, {5, 65}},
    {DETECT_PHONE_NUMBER, "8", NULL, {10, 80}},
    {DETECT_BR_RG, "8", NULL, {5, 70}},
};

static const struct form plain_9[] = {
    {DETECT_US_SSN, "9", check_us_ssn, {20, 85}},
    {DETECT_US_ITIN, "9", check_us_itin, {25, 88}},
    {DETECT_CA_SIN, "9", check_ca_sin, {30, 90}},
    {DETECT_AU_TFN, "9", check_au_tfn, {30, 92}},
    {DETECT_AU_ACN, "9", check_au_acn, {30, 92}},
    {DETECT_NL_BSN, "9", check_nl_bsn, {30, 92}},
    {DETECT_ABA_ROUTING, "9", check_aba_routing, {35, 92}},
    {DETECT_US_PASSPORT, "9", NULL, {5, 65}},
    {DETECT_US_DRIVER_LICENSE, "9", NULL, {5, 65}},
    {DETECT_US_BANK_NUMBER, "9", NULL, {5, 70}},
    {DETECT_BR_RG, "9", NULL, {5, 70}},
};

static const struct form grouped_9[] = {
    {DETECT_US_SSN, "3-2-4", check_us_ssn, {80, 95}},
    {DETECT_US_SSN, "3 2 4", check_us_ssn, {50, 95}},
    {DETECT_US_ITIN, "3-2-4", check_us_itin, {80, 95}},
    {DETECT_US_ITIN, "3 2 4", check_us_itin, {50, 95}},
    {DETECT_CA_SIN, "3-3-3", check_ca_sin, {50, 95}},
    {DETECT_CA_SIN, "3 3 3", check_ca_sin, {50, 95}},
    {DETECT_AU_TFN, "3 3 3", check_au_tfn, {45, 95}},
    {DETECT_AU_ACN, "3 3 3", check_au_acn, {45, 95}},
    {DETECT_NL_BSN, "4.2.3", check_nl_bsn, {75, 95}},
    {DETECT_ABA_ROUTING, "4-4-1", check_aba_routing, {70, 95}},
    {DETECT_BR_RG, "2.3.3-1", NULL, {65, 85}},
};

static const struct form plain_10[] = {
    {DETECT_UK_NHS, "a", check_uk_nhs, {35, 95}},
    {DETECT_AU_MEDICARE, "a", check_au_medicare, {35, 95}},
    {DETECT_SE_PERSONNUMMER, "a", check_se_personnummer, {45, 95}},
    {DETECT_US_BANK_NUMBER, "a", NULL, {5, 70}},
};

static const struct form grouped_10[] = {
    {DETECT_UK_NHS, "3 3 4", check_uk_nhs, {55, 98}},
    {DETECT_UK_NHS, "3-3-4", check_uk_nhs, {50, 98}},
    {DETECT_AU_MEDICARE, "4 5 1", check_au_medicare, {70, 98}},
    {DETECT_AU_MEDICARE, "4-5-1", check_au_medicare, {70, 98}},
    {DETECT_SE_PERSONNUMMER, "6-4", check_se_personnummer, {80, 98}},
    {DETECT_SE_PERSONNUMMER, "6+4", check_se_personnummer, {85, 98}},
    {DETECT_PHONE_NUMBER, "3)3-4", check_nanp, {70, 90}},
    {DETECT_PHONE_NUMBER, "3-3-4", check_nanp, {50, 88}},
    {DETECT_PHONE_NUMBER, "3.3.4", check_nanp, {50, 88}},
    {DETECT_PHONE_NUMBER, "3 3 4", check_nanp, {45, 85}},
};

static const struct form plain_11[] = {
    {DETECT_BR_CPF, "b", check_br_cpf, {55, 98}},
    {DETECT_BR_PIS, "b", check_br_pis, {35, 95}},
    {DETECT_BR_CNH, "b", check_br_cnh, {40, 96}},
    {DETECT_AU_ABN, "b", check_au_abn, {55, 96}},
    {DETECT_DE_TAX_ID, "b", check_de_tax_id, {45, 95}},
    {DETECT_PL_PESEL, "b", check_pl_pesel, {50, 97}},
    {DETECT_IT_VAT_CODE, "b", check_it_vat_code, {45, 95}},
    {DETECT_US_BANK_NUMBER, "b", NULL, {5, 70}},
};

static const struct form grouped_11[] = {
    {DETECT_BR_CPF, "3.3.3-2", check_br_cpf, {99, 100}},
    {DETECT_BR_CPF, "9-2", check_br_cpf, {80, 99}},
    {DETECT_BR_PIS, "3.5.2-1", check_br_pis, {95, 99}},
    {DETECT_AU_ABN, "2 3 3 3", check_au_abn, {85, 98}},
    {DETECT_AU_MEDICARE, "4 5 1 1", check_au_medicare, {75, 98}},
    {DETECT_DE_TAX_ID, "2 3 3 3", check_de_tax_id, {75, 97}},
    {DETECT_PHONE_NUMBER, "1-3-3-4", NULL, {55, 88}},
};

static const struct form plain_12[] = {
    {DETECT_IN_AADHAAR, "c", check_in_aadhaar, {40, 95}},
    {DETECT_SE_PERSONNUMMER, "c", check_se_personnummer_long, {50, 96}},
    {DETECT_US_BANK_NUMBER, "c", NULL, {5, 70}},
};

static const struct form grouped_12[] = {
    {DETECT_IN_AADHAAR, "4 4 4", check_in_aadhaar, {70, 98}},
    {DETECT_IN_AADHAAR, "4-4-4", check_in_aadhaar, {65, 98}},
    {DETECT_SE_PERSONNUMMER, "8-4", check_se_personnummer_long, {90, 99}},
};

static const struct form plain_13[] = {
    {DETECT_KR_RRN, "d", check_kr_rrn, {45, 96}},
    {DETECT_TH_TNIN, "d", check_th_tnin, {45, 96}},
};

static const struct form grouped_13[] = {
    {DETECT_KR_RRN, "6-7", check_kr_rrn, {90, 99}},
    {DETECT_TH_TNIN, "1-4-5-2-1", check_th_tnin, {95, 99}},
    {DETECT_TH_TNIN, "1 4 5 2 1", check_th_tnin, {90, 99}},
};

static const struct form plain_14[] = {
    {DETECT_BR_CNPJ, "e", check_br_cnpj, {55, 98}},
};

static const struct form grouped_14[] = {
    {DETECT_BR_CNPJ, "2.3.3/4-2", check_br_cnpj, {99, 100}},
};

static const struct form plain_15[] = {
    {DETECT_FR_NIR, "f", check_fr_nir, {80, 98}},
};

static const struct form grouped_15[] = {
    {DETECT_FR_NIR, "d 2", check_fr_nir, {90, 99}},
    {DETECT_FR_NIR, "1 2 2 2 3 3 2", check_fr_nir, {98, 100}},
};

#define FORMS(forms)                                                                               \
    {                                                                                              \
        forms, sizeof(forms) / sizeof((forms)[0])                                                  \
    }

struct forms {
    const struct form *at;
    size_t count;
};

/* By how many digits there are: together, and in groups. */
static const struct forms plain_forms[DIGITS_MAX + 1] = {
    [8] = FORMS(plain_8),   [9] = FORMS(plain_9),   [10] = FORMS(plain_10), [11] = FORMS(plain_11),
    [12] = FORMS(plain_12), [13] = FORMS(plain_13), [14] = FORMS(plain_14), [15] = FORMS(plain_15)};
static const struct forms grouped_forms[DIGITS_MAX + 1] = {
    [9] = FORMS(grouped_9),   [10] = FORMS(grouped_10), [11] = FORMS(grouped_11),
    [12] = FORMS(grouped_12), [13] = FORMS(grouped_13), [14] = FORMS(grouped_14),
    [15] = FORMS(grouped_15)};

/* How many bytes stand between two groups, 0 when no group follows; the sign that stands for them.
 */
static size_t separator_at(const struct detect_scan *scan, size_t at, char *ret_sign)
{
    char byte = byte_at(scan, at), next = byte_at(scan, at + 1);
    *ret_sign = byte;
    if (byte == ')') {
        return is_digit(next)                                                    ? 1
               : (next == ' ' || next == '-') && is_digit(byte_at(scan, at + 2)) ? 2
                                                                                 : 0;
    }
    if (byte == ' ' && next == '(') {
        *ret_sign = '(';
        return is_digit(byte_at(scan, at + 2)) ? 2 : 0;
    }
    bool is_sign = is_card_sign(byte) || byte == '+';
    return is_sign && is_digit(next) ? 1 : 0;
}

static char size_letter(size_t size)
{
    return (char)(size < 10 ? '0' + size : 'a' + (size - 10));
}

/* How many digits are at 'at', DIGITS_MAX + 1 at most; they are copied. */
static size_t read_group(struct slice text, size_t at, uint8_t *digits, size_t room)
{
    const char *from = text.at + at;
    size_t left = text.len - at, count = 0;
    left = left < room ? left : room;
    while (count < left && is_digit(from[count])) {
        digits[count] = (uint8_t)(from[count] - '0');
        count++;
    }
    return count;
}

static inline bool read_number(const struct detect_scan *scan, size_t at, struct number *number)
{
    size_t count = 0, length = 0;
    number->groups = 0;
    number->spaced = GROUPS_MAX;
    number->shape[1] = '\0';
    while (number->groups < GROUPS_MAX) {
        size_t size = read_group(scan->text, at, number->digits + count, DIGITS_MAX + 1 - count);
        count += size;
        at += size;
        if (count > DIGITS_MAX) {
            break;
        }
        number->shape[length++] = size_letter(size);
        number->counts[number->groups] = (uint8_t)count;
        number->ends[number->groups++] = at;
        char sign;
        size = separator_at(scan, at, &sign);
        if (size == 0) {
            break;
        }
        number->shape[length++] = sign;
        if (sign == ' ' && number->spaced == GROUPS_MAX) {
            number->spaced = number->groups;
        }
        at += size;
    }
    return number->groups > 0;
}

bool detect_read_number(const struct detect_scan *scan, size_t at, struct number *number)
{
    return read_number(scan, at, number);
}

/* Whether the number may end behind that group: what follows belongs to something else. A slash may
 * stand before another number of a list. */
static bool can_end(const struct detect_scan *scan, const struct number *number, size_t group)
{
    size_t end = number->ends[group];
    if (byte_at(scan, end) == '/' && is_digit(byte_at(scan, end + 1))) {
        return true;
    }
    if (group == 0 && byte_at(scan, end) == '.' && detect_is_zero_fraction(scan, end)) {
        return true;
    }
    if (group + 1 == number->groups) {
        return detect_is_end(scan, end);
    }
    /* "1234 1234 1234 1234" has no part that is a number of its own */
    return number->shape[2 * group + 1] == ' ' && group < number->spaced;
}

/* Behind a slash likewise. */
static bool can_start(const struct detect_scan *scan, size_t at, size_t start)
{
    char before = byte_before(scan, at, 1);
    if (before == '/') {
        return is_digit(byte_before(scan, at, 2));
    }
    return before != '.' && before != '-' && detect_is_start(scan, start);
}

/* Between groups that are written with dashes there may be dots, slashes or bars as well, which is
 * as good as spaces are. */
static const char *shape_of_others(const struct number *number, size_t group,
                                   char shape[GROUPS_MAX * 2])
{
    char sign = number->shape[1];
    bool is_other = group > 0 && (sign == '.' || sign == '/' || sign == '_');
    return is_other && detect_shape_with_dashes(number, group, shape) ? shape : NULL;
}

static void find_forms(struct detect_scan *scan, const struct number *number, size_t group)
{
    char dashed[GROUPS_MAX * 2];
    const char *other = shape_of_others(number, group, dashed);
    size_t count = number->counts[group];
    size_t start = number->start, end = number->ends[group];
    struct forms forms = group == 0 ? plain_forms[count] : grouped_forms[count];
    for (size_t i = 0; i < forms.count; i++) {
        const struct form *form = &forms.at[i];
        if (!is_wanted(scan, form->type, form->scores[1]) ||
            is_beaten(scan, start, form->scores[1])) {
            continue;
        }
        bool is_other = other != NULL && strcmp(other, form->shape) == 0;
        if (group > 0 && !is_other && !detect_has_shape(number, group, form->shape)) {
            continue;
        }
        unsigned score =
            is_other && form->scores[0] > SCORE_OTHER_SIGN ? SCORE_OTHER_SIGN : form->scores[0];
        if ((score < 80 || !is_wanted(scan, form->type, score)) &&
            detect_has_context(scan, form->type, start)) {
            score = form->scores[1];
        }
        if (is_wanted(scan, form->type, score) &&
            (form->check == NULL || form->check(number->digits))) {
            detect_offer(scan, form->type, start, end, score);
        }
    }
}

/* Two to five groups of two to four digits behind a zero, as most of Europe writes them. */
static bool is_national_phone(const struct number *number, size_t group)
{
    bool has_zero = number->digits[0] == 0 && number->digits[1] != 0;
    size_t count = number->counts[group];
    return has_zero && count >= 9 && count <= 12 && group >= 1;
}

static void find_phone(struct detect_scan *scan, const struct number *number, size_t group)
{
    size_t count = number->counts[group];
    unsigned bare = 10;
    if (count < 7 || count > 15 || !is_wanted(scan, DETECT_PHONE_NUMBER, 92)) {
        return;
    }
    for (size_t i = 0; i < group; i++) {
        if (number->shape[2 * i + 1] == '+' || number->shape[2 * i + 1] == '_') {
            return;
        }
    }
    if (number->has_plus) {
        bare = number->digits[0] != 0 && count >= 8 ? 80 : 20;
    } else if (is_national_phone(number, group)) {
        bare = detect_has_shape(number, group, "2 2 2 2 2") ||
                       detect_has_shape(number, group, "2.2.2.2.2")
                   ? 65
                   : 45;
    } else if (number->digits[0] == 0 && number->digits[1] == 0 && count >= 11) {
        bare = 50;
    }
    unsigned scores[2] = {bare, bare >= 45 ? 92 : 82};
    detect_offer_in_context(scan, DETECT_PHONE_NUMBER, number->start, number->ends[group], scores);
}

static bool follows_version(const struct detect_scan *scan, size_t at)
{
    static const struct slice words[] = {SLICE_INIT("version"), SLICE_INIT("release"),
                                         SLICE_INIT("build"), SLICE_INIT("ver")};
    while (at > 0 && (byte_before(scan, at, 1) == ' ' || byte_before(scan, at, 1) == ':')) {
        at--;
    }
    size_t start = at;
    while (at - start < 8 && start > 0 && is_letter(byte_before(scan, start, 1))) {
        start--;
    }
    struct slice word = slice_sub(scan->text, start, at - start);
    if (word.len < 3) {
        return false;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (slice_equals_nocase(word, words[i])) {
            return true;
        }
    }
    return false;
}

/* Four numbers up to 255. What follows "version" is none. */
static bool find_ipv4(struct detect_scan *scan, const struct number *number)
{
    if (number->has_plus || !is_wanted(scan, DETECT_IP_ADDRESS, 95)) {
        return false;
    }
    unsigned value = 0;
    size_t digit = 0;
    for (size_t i = 0; i < 4; i++) {
        size_t size = number->counts[i] - digit;
        if (size > 3 || (i < 3 && number->shape[2 * i + 1] != '.')) {
            return false;
        }
        for (value = 0; digit < number->counts[i]; digit++) {
            value = value * 10 + number->digits[digit];
        }
        if (value > 255 || (size > 1 && number->digits[digit - size] == 0)) {
            return false;
        }
    }
    size_t end = number->ends[3], at = number->start;
    char next = byte_at(scan, end);
    bool is_mask = next == '/' && number->groups == 5; /* 10.0.0.0/8 */
    if (next == '.' ? is_word(byte_at(scan, end + 1))
                    : next != ' ' && !is_mask && !detect_is_end(scan, end)) {
        return false;
    }
    unsigned scores[2] = {follows_version(scan, at) ? 30 : 70, 95};
    detect_offer_in_context(scan, DETECT_IP_ADDRESS, at, end, scores);
    return true;
}

/* What letters belong to: "AB 12 34 56 C", "131052-308T", "12345678-Z", "12.345.678-X". */
static void find_lettered(struct detect_scan *scan, const struct number *number)
{
    detect_find_lettered(scan, &(struct detect_lettered){.start = number->start,
                                                         .end = number->ends[number->groups - 1],
                                                         .shape = number->shape,
                                                         .shape_len = number->groups * 2 - 1,
                                                         .digits = number->digits});
}

void detect_find_number(struct detect_scan *scan, size_t at)
{
    struct number number;
    number.start = at;
    char before = byte_before(scan, at, 1);
    number.has_plus = before == '+';
    if (before == '+' || before == '(') {
        number.start--;
        number.has_plus = number.has_plus || byte_before(scan, at, 2) == '+';
        number.start -= before == '(' && number.has_plus;
    }
    if (is_group_of_pending(scan, at) || !can_start(scan, at, number.start)) {
        if (may_begin_card(scan, at)) {
            detect_find_card(scan, at);
        }
        if (detect_is_long_run(scan, at)) {
            detect_find_glued_card(scan, at);
        }
        return;
    }
    if (!read_number(scan, at, &number)) {
        detect_find_glued_card(scan, at);
        return;
    }
    char sign = number.shape[1];
    if (before == '(' && sign != ')') {
        number.start = at; /* all of it is in parentheses */
        number.has_plus = false;
    }
    if (sign == '.' && number.shape[0] == '1' && number.groups == 2 &&
        (byte_at(scan, number.ends[1]) | 0x20) == 'e') {
        detect_find_scientific_card(scan, &number);
    }
    if (number.counts[number.groups - 1] >= CARD_DIGITS_MIN) {
        detect_find_card_in(scan, at, &number);
        bool is_long = number.counts[0] > CARD_DIGITS_USUAL;
        if (is_long ||
            (number.counts[0] >= CARD_DIGITS_MIN && !detect_is_end(scan, number.ends[0]))) {
            detect_find_glued_card(scan, at);
        }
        if (scan->pending.score == DETECT_SCORE_MAX && scan->pending.len > 0 &&
            scan->pending.offset + scan->pending.len >= number.ends[number.groups - 1]) {
            return; /* nothing in it could take its place */
        }
    }
    bool is_joined = number.groups >= 3 && number.shape[3] == sign;
    bool is_longer = number.groups >= 4 && number.shape[5] == sign;
    if (((is_joined && !is_longer && sign != ' ') || number.shape[0] == '8') &&
        detect_find_date(scan, number.start) != 0) {
        return;
    }
    if (number.shape[0] == '2' || number.shape[0] == '6' || number.shape[0] == '8') {
        find_lettered(scan, &number);
    }
    if (is_longer && sign == '.' && find_ipv4(scan, &number)) {
        return;
    }
    bool is_inner = before == ' ' && is_digit(byte_before(scan, at, 2)); /* as in can_end() */
    for (size_t group = 0; group < number.groups; group++) {
        if (number.counts[group] < 7 || !can_end(scan, &number, group) ||
            (is_inner && group >= number.spaced)) {
            continue;
        }
        find_forms(scan, &number, group);
        find_phone(scan, &number, group);
    }
}
