/* SPDX-License-Identifier: MIT */
/* IBANs (ISO 13616): a country's two letters, two check digits, and as many letters and digits as
 * that country has, together or in groups of four. Also other codes that carry a check over letters
 * and digits: Italy's fiscal code and India's GSTIN. */
#include "detect/detect_internal.h"

#include <string.h>

enum {
    IBAN_SIZE_MAX = 34,
    MOVED = 4, /* of the country and the check digits, to the end */
};

/* By the two letters of a country, 0 where there is none. */
#define COUNTRY(first, second, size) [(first) - 'A'][(second) - 'A'] = (size)
static const uint8_t sizes[26][26] = {
    COUNTRY('A', 'D', 24), COUNTRY('A', 'E', 23), COUNTRY('A', 'L', 28), COUNTRY('A', 'T', 20),
    COUNTRY('A', 'Z', 28), COUNTRY('B', 'A', 20), COUNTRY('B', 'E', 16), COUNTRY('B', 'G', 22),
    COUNTRY('B', 'H', 22), COUNTRY('B', 'I', 27), COUNTRY('B', 'R', 29), COUNTRY('B', 'Y', 28),
    COUNTRY('C', 'H', 21), COUNTRY('C', 'R', 22), COUNTRY('C', 'Y', 28), COUNTRY('C', 'Z', 24),
    COUNTRY('D', 'E', 22), COUNTRY('D', 'J', 27), COUNTRY('D', 'K', 18), COUNTRY('D', 'O', 28),
    COUNTRY('E', 'E', 20), COUNTRY('E', 'G', 29), COUNTRY('E', 'S', 24), COUNTRY('F', 'I', 18),
    COUNTRY('F', 'K', 18), COUNTRY('F', 'O', 18), COUNTRY('F', 'R', 27), COUNTRY('G', 'B', 22),
    COUNTRY('G', 'E', 22), COUNTRY('G', 'I', 23), COUNTRY('G', 'L', 18), COUNTRY('G', 'R', 27),
    COUNTRY('G', 'T', 28), COUNTRY('H', 'R', 21), COUNTRY('H', 'U', 28), COUNTRY('I', 'E', 22),
    COUNTRY('I', 'L', 23), COUNTRY('I', 'Q', 23), COUNTRY('I', 'S', 26), COUNTRY('I', 'T', 27),
    COUNTRY('J', 'O', 30), COUNTRY('K', 'W', 30), COUNTRY('K', 'Z', 20), COUNTRY('L', 'B', 28),
    COUNTRY('L', 'C', 32), COUNTRY('L', 'I', 21), COUNTRY('L', 'T', 20), COUNTRY('L', 'U', 20),
    COUNTRY('L', 'V', 21), COUNTRY('L', 'Y', 25), COUNTRY('M', 'C', 27), COUNTRY('M', 'D', 24),
    COUNTRY('M', 'E', 22), COUNTRY('M', 'K', 19), COUNTRY('M', 'N', 20), COUNTRY('M', 'R', 27),
    COUNTRY('M', 'T', 31), COUNTRY('M', 'U', 30), COUNTRY('N', 'I', 28), COUNTRY('N', 'L', 18),
    COUNTRY('N', 'O', 15), COUNTRY('O', 'M', 23), COUNTRY('P', 'K', 24), COUNTRY('P', 'L', 28),
    COUNTRY('P', 'S', 29), COUNTRY('P', 'T', 25), COUNTRY('Q', 'A', 29), COUNTRY('R', 'O', 24),
    COUNTRY('R', 'S', 22), COUNTRY('R', 'U', 33), COUNTRY('S', 'A', 24), COUNTRY('S', 'C', 31),
    COUNTRY('S', 'D', 18), COUNTRY('S', 'E', 24), COUNTRY('S', 'I', 19), COUNTRY('S', 'K', 24),
    COUNTRY('S', 'M', 27), COUNTRY('S', 'O', 23), COUNTRY('S', 'T', 25), COUNTRY('S', 'V', 28),
    COUNTRY('T', 'L', 23), COUNTRY('T', 'N', 24), COUNTRY('T', 'R', 26), COUNTRY('U', 'A', 29),
    COUNTRY('V', 'A', 22), COUNTRY('V', 'G', 24), COUNTRY('X', 'K', 20), COUNTRY('Y', 'E', 30),
};
#undef COUNTRY

/* Two signs at a time: 'values' has the country's letters and the check digits last. */
static bool check_iban(const uint8_t *values, size_t size)
{
    uint64_t rest = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned first = values[i], second = values[i + 1], shift = second < 10 ? 10 : 100;
        rest = rest * (shift * (first < 10 ? 10 : 100)) + first * shift + second;
        rest = rest < UINT64_C(100000000000000) ? rest : rest % 97;
    }
    if (size % 2 == 1) { /* a check digit */
        rest = rest * 10 + values[size - 1];
    }
    return rest % 97 == 1;
}

/* Together, or in groups of four with a sign before each that may be missing; how many bytes that
 * are, 0 when it is none. */
static inline size_t read_iban(struct slice text, size_t size, uint8_t *values)
{
    char sign = text.len > 4 ? text.at[4] : '\0';
    bool is_grouped = is_card_sign(sign);
    size_t len = 0;
    for (size_t i = 0; i < size;) {
        size_t end = is_grouped && i + 4 < size ? i + 4 : size;
        len += is_grouped && i > 0 && len < text.len && text.at[len] == sign;
        if (text.len - len < end - i) {
            return 0;
        }
        for (; i < end; i++, len++) {
            values[i] = detect_value[(unsigned char)text.at[len]];
            if (values[i] >= 36) {
                return 0;
            }
        }
    }
    return len;
}

/* By the letters at 'at', 0 when they are none of a country. */
static inline size_t size_at(const struct detect_scan *scan, size_t at)
{
    char first = byte_at(scan, at), second = byte_at(scan, at + 1);
    return is_letter(first) && is_letter(second)
               ? sizes[to_upper(first) - 'A'][to_upper(second) - 'A']
               : 0;
}

bool detect_is_in_iban(const struct detect_scan *scan, size_t at, size_t end)
{
    uint8_t values[IBAN_SIZE_MAX];
    for (size_t start = at; start >= 5 && at - start < IBAN_SIZE_MAX;) {
        char sign = byte_before(scan, start, 1);
        start -= 5;
        if (!is_card_sign(sign) || !is_word(byte_at(scan, start))) {
            return false;
        }
        size_t size = size_at(scan, start);
        size_t len = size == 0 ? 0 : read_iban(slice_from(scan->text, start), size, values);
        if (len > 0 && start + len >= end && values[2] <= 9 && values[3] <= 9 &&
            !is_word_sign_before(byte_before(scan, start, 1)) &&
            !is_word_sign(byte_at(scan, start + len))) {
            return true;
        }
    }
    return false;
}

/* Behind another value, too: its own length and check say where it is. In words and hexadecimal
 * digits, which are longer, chance has more to choose from: there it is written in capitals. */
static bool may_begin_iban(const struct detect_scan *scan, size_t at)
{
    bool is_joined = is_word_sign_before(byte_before(scan, at, 1));
    return !is_joined || (is_upper(byte_at(scan, at)) && is_upper(byte_at(scan, at + 1)));
}

void detect_find_iban(struct detect_scan *scan, size_t at)
{
    uint8_t values[IBAN_SIZE_MAX + MOVED];
    size_t size = may_begin_iban(scan, at) ? size_at(scan, at) : 0;
    if (size == 0 || !is_wanted(scan, DETECT_IBAN_CODE, 100)) {
        return;
    }
    size_t len = read_iban(slice_from(scan->text, at), size, values);
    if (len == 0 || values[2] > 9 || values[3] > 9) {
        return;
    }
    memcpy(values + size, values, MOVED);
    if (check_iban(values + MOVED, size)) {
        detect_offer(scan, DETECT_IBAN_CODE, at, at + len, 100);
    }
}

/* A letter may stand in a place for digits: L M N P Q R S T U V are 0 to 9 there. */
static bool is_fiscal_digit(char byte)
{
    return is_digit(byte) || (byte >= 'L' && byte <= 'V' && byte != 'O');
}

static bool check_fiscal_code(const char *code)
{
    static const uint8_t odd[] = {1,  0,  5, 7, 9, 13, 15, 17, 19, 21, 2,  4,  18,
                                  20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};
    unsigned sum = 0;
    for (size_t i = 0; i < 15; i++) {
        bool is_letter_place = i < 6 || i == 8 || i == 11;
        if (is_letter_place ? !is_upper(code[i]) : !is_fiscal_digit(code[i])) {
            return false;
        }
        unsigned value = (unsigned)(is_digit(code[i]) ? code[i] - '0' : code[i] - 'A');
        sum += i % 2 == 0 ? odd[value] : value;
    }
    return is_one_of(code[8], "ABCDEHLMPRST") && code[15] == (char)('A' + sum % 26);
}

/* A state's number, a PAN, an entity's number, Z, and a check in base 36. */
static bool check_gstin(const char *code)
{
    static const char form[] = "99AAAAA9999A.Z.";
    unsigned sum = 0, state = 0;
    for (size_t i = 0; i < 14; i++) {
        bool fits = form[i] == '9'   ? is_digit(code[i])
                    : form[i] == 'A' ? is_upper(code[i])
                                     : is_digit(code[i]) || is_upper(code[i]);
        if (!fits) {
            return false;
        }
        unsigned value = (unsigned)(is_digit(code[i]) ? code[i] - '0' : code[i] - 'A' + 10);
        unsigned product = value * (i % 2 == 0 ? 1 : 2);
        sum += product / 36 + product % 36;
    }
    state = (unsigned)(code[0] - '0') * 10 + (unsigned)(code[1] - '0');
    char check = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(36 - sum % 36) % 36];
    bool is_state = (state >= 1 && state <= 38) || state == 97 || state == 99;
    return is_state && code[13] == 'Z' && code[14] == check;
}

void detect_find_code(struct detect_scan *scan, size_t at, size_t end)
{
    char code[17] = {0};
    size_t size = end - at;
    if (!(size == 16 && is_letter(byte_at(scan, at))) &&
        !(size == 15 && is_letter(byte_at(scan, at + 2)))) {
        return;
    }
    for (size_t i = 0; i < size; i++) {
        code[i] = to_upper(byte_at(scan, at + i));
    }
    if (!detect_is_start(scan, at) || !detect_is_end(scan, end)) {
        return;
    }
    if (size == 16 && check_fiscal_code(code)) {
        detect_offer(scan, DETECT_IT_FISCAL_CODE, at, end, 100);
    }
    if (size == 15 && check_gstin(code)) {
        detect_offer(scan, DETECT_IN_GSTIN, at, end, 100);
    }
}
