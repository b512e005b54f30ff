/* SPDX-License-Identifier: MIT */
/* Cards of credit: together, or in groups, which may stand among other groups of digits. Whatever
 * whole groups make one count, so that no number before or behind hides it. */
#include "detect/detect_check.h"
#include "detect/detect_number.h"

#include <string.h>

enum {
    HEX_LOOK_SIZE = 64, /* how far on either side of a card groups are looked at */
    SCORE_AMONG_DIGITS = 55,
};

enum card_kind {
    CARD_NONE,
    CARD_PLAIN,   /* one group */
    CARD_GROUPED, /* as they are printed */
    CARD_LOOSE,   /* in any other groups */
};

static bool has_card_shape(const struct number *number, size_t group)
{
    static const char *const shapes[] = {"4-4-4-4", "4-6-5", "4-6-4", "4-4-4-4-3"};
    static const char *const pairs[] = {"6 a", "6-a", "6 d", "6-d"};
    char shape[GROUPS_MAX * 2];
    bool is_one = group >= 2 && number->shape[0] == '4' && is_card_sign(number->shape[1]) &&
                  detect_shape_with_dashes(number, group, shape);
    for (size_t i = 0; is_one && i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (strcmp(shape, shapes[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; group == 1 && i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (detect_has_shape(number, group, pairs[i])) {
            return true;
        }
    }
    return false;
}

static enum card_kind kind_of(const struct number *number, size_t group)
{
    if (group == 0) {
        return CARD_PLAIN;
    }
    if (has_card_shape(number, group)) {
        return CARD_GROUPED;
    }
    for (size_t i = 0; i < group; i++) {
        char sign = number->shape[2 * i + 1];
        if (sign != ' ' && sign != '-') {
            return CARD_NONE;
        }
    }
    return CARD_LOOSE;
}

/* Groups as they are printed are known wherever they stand but inside a word or a fraction; a
 * number that is together may have a group before it. */
static bool is_card_start(const struct detect_scan *scan, size_t at, enum card_kind kind)
{
    char before = byte_before(scan, at, 1), second = byte_before(scan, at, 2);
    if (kind == CARD_GROUPED) {
        return !is_word_sign_before(before) && !(before == '.' && is_digit(second));
    }
    return before == '-' || before == '/' ? is_digit(second)
                                          : before != '.' && detect_is_start(scan, at);
}

static bool is_card_end(const struct detect_scan *scan, size_t at, enum card_kind kind)
{
    char next = byte_at(scan, at);
    if (kind == CARD_PLAIN && next == '.' && detect_is_zero_fraction(scan, at)) {
        return true;
    }
    if (kind == CARD_GROUPED) {
        return !is_word_sign(next);
    }
    return ((next == '-' || next == '/') && is_digit(byte_at(scan, at + 1))) ||
           detect_is_end(scan, at);
}

/* Four groups of which each is a little larger than the one before. */
static bool is_ascending(const struct number *number)
{
    unsigned before = 0;
    for (size_t i = 0; i < 16; i += 4) {
        const uint8_t *digits = number->digits + i;
        unsigned value = digits[0] * 1000U + digits[1] * 100U + digits[2] * 10U + digits[3];
        if (i > 0 && (value <= before || value - before >= 100)) {
            return false;
        }
        before = value;
    }
    return true;
}

/* Whether a group of four or five at 'start' is a hexadecimal number that is no decimal one. */
static bool is_hex_group(const struct detect_scan *scan, size_t start, size_t end)
{
    size_t letters = 0;
    for (size_t at = start; at < end; at++) {
        if (!is_hex(byte_at(scan, at))) {
            return false;
        }
        letters += is_letter(byte_at(scan, at));
    }
    return end - start >= 4 && end - start <= 5 && letters > 0 && letters < end - start;
}

/* Whether at least two of the groups around are hexadecimal. */
static bool is_among_hex(const struct detect_scan *scan, size_t start, size_t end)
{
    size_t count = 0, low = start > HEX_LOOK_SIZE ? start - HEX_LOOK_SIZE : 0;
    size_t high = end + HEX_LOOK_SIZE, at = start;
    while (at > low && byte_before(scan, at, 1) == ' ') {
        size_t group_end = --at;
        while (at > low && is_word(byte_before(scan, at, 1))) {
            at--;
        }
        count += is_hex_group(scan, at, group_end);
    }
    for (at = end; at < high && byte_at(scan, at) == ' ';) {
        size_t group = ++at;
        while (at < high && is_word(byte_at(scan, at))) {
            at++;
        }
        count += is_hex_group(scan, group, at);
    }
    return count >= 2;
}

/* 0: it is a part of an IBAN that is mistyped, or of a list of numbers. */
static unsigned score_of(struct detect_scan *scan, const struct number *number, size_t at,
                         size_t group, enum card_kind kind)
{
    size_t end = number->ends[group], count = number->counts[group];
    if (detect_has_context(scan, DETECT_CREDIT_CARD, at)) {
        return kind == CARD_LOOSE ? 90 : 100;
    }
    if (kind == CARD_GROUPED) {
        bool is_fours = number->shape[0] == '4' && number->shape[2] == '4';
        bool is_listed = is_fours && (is_ascending(number) || is_among_hex(scan, at, end) ||
                                      detect_is_in_iban(scan, at, end));
        return is_listed ? 0 : 100;
    }
    return kind == CARD_LOOSE ? 50 : count < 15 ? 70 : 90;
}

/* Where the longest card of them ends, or 0, and its score. */
static size_t end_of_card(struct detect_scan *scan, size_t at, const struct number *number,
                          unsigned *ret_score)
{
    size_t end = 0;
    for (size_t group = number->groups; group > 0 && number->counts[group - 1] >= CARD_DIGITS_MIN;
         group--) {
        size_t count = number->counts[group - 1], card_end = number->ends[group - 1];
        enum card_kind kind = kind_of(number, group - 1);
        if (kind == CARD_NONE || !is_card_start(scan, at, kind) ||
            !is_card_end(scan, card_end, kind) || !check_card(number->digits, count)) {
            continue;
        }
        unsigned score = score_of(scan, number, at, group - 1, kind);
        if (score > 0 && is_wanted(scan, DETECT_CREDIT_CARD, score) && score > *ret_score) {
            end = card_end;
            *ret_score = score;
        }
    }
    return end;
}

/* One that begins within another may be the real one: all of both. */
static size_t end_of_others(struct detect_scan *scan, const struct number *number, size_t end)
{
    struct number next, joined;
    for (size_t group = 1; group < number->groups && number->ends[group - 1] < end; group++) {
        unsigned score = 0;
        size_t start = number->ends[group - 1] + 1;
        if (!may_begin_card(scan, start) || !detect_read_number(scan, start, &next)) {
            continue;
        }
        size_t next_end = end_of_card(scan, start, &next, &score);
        if (next_end > end) {
            end = next_end;
            joined = next;
            number = &joined;
            group = 0;
        }
    }
    return end;
}

void detect_find_card_in(struct detect_scan *scan, size_t at, const struct number *number)
{
    unsigned score = 0;
    if (number->digits[0] < 2 || number->digits[0] > 6 ||
        !is_wanted(scan, DETECT_CREDIT_CARD, DETECT_SCORE_MAX)) {
        return;
    }
    size_t end = end_of_card(scan, at, number, &score);
    if (end > number->ends[0]) {
        end = end_of_others(scan, number, end);
    }
    if (end != 0) {
        detect_offer(scan, DETECT_CREDIT_CARD, at, end, score);
    }
}

void detect_find_card(struct detect_scan *scan, size_t at)
{
    struct number number;
    size_t pending_end = scan->pending.offset + scan->pending.len;
    bool is_known = scan->pending.len > 0 && scan->pending.type == DETECT_CREDIT_CARD &&
                    at < pending_end; /* end_of_others() saw it */
    if (!is_known && is_wanted(scan, DETECT_CREDIT_CARD, DETECT_SCORE_MAX) &&
        detect_read_number(scan, at, &number) &&
        number.counts[number.groups - 1] >= CARD_DIGITS_MIN) {
        detect_find_card_in(scan, at, &number);
    }
}

/* Beside letters, and among digits ------------------------------------------------------------- */

/* At one end of a run of digits: sixteen of them, or fifteen. */
static void offer_window(struct detect_scan *scan, size_t start, size_t end, bool is_last)
{
    for (size_t size = 16; size >= 15; size--) {
        uint8_t digits[16];
        size_t from = is_last ? end - size : start;
        for (size_t i = 0; i < size; i++) {
            digits[i] = (uint8_t)(byte_at(scan, from + i) - '0');
        }
        if (check_card(digits, size)) {
            unsigned scores[2] = {SCORE_AMONG_DIGITS, 85};
            detect_offer_in_context(scan, DETECT_CREDIT_CARD, from, from + size, scores);
            return;
        }
    }
}

/* All of a run, which stands beside a letter, or behind zeros. */
static bool offer_run(struct detect_scan *scan, size_t start, size_t end)
{
    uint8_t digits[DIGITS_MAX];
    size_t count = end - start;
    if (count < CARD_DIGITS_MIN || count > DIGITS_MAX) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        digits[i] = (uint8_t)(byte_at(scan, start + i) - '0');
    }
    if (!check_card(digits, count)) {
        return false;
    }
    unsigned scores[2] = {count < 15 ? SCORE_AMONG_DIGITS : 70, 90};
    detect_offer_in_context(scan, DETECT_CREDIT_CARD, start, end, scores);
    return true;
}

void detect_find_scientific_card(struct detect_scan *scan, const struct number *number)
{
    enum { EXPONENT_MIN = 12, EXPONENT_MAX = 18 };
    uint8_t digits[EXPONENT_MAX + 1] = {0};
    size_t count = number->counts[1], at = number->ends[1];
    char tens = byte_at(scan, at + 2), ones = byte_at(scan, at + 3);
    size_t exponent = (size_t)(tens - '0') * 10 + (size_t)(ones - '0');
    if (byte_at(scan, at + 1) != '+' || !is_digit(tens) || !is_digit(ones) ||
        exponent < EXPONENT_MIN || exponent > EXPONENT_MAX || count > exponent + 1) {
        return;
    }
    memcpy(digits, number->digits, count);
    if (detect_is_end(scan, at + 4) && check_card(digits, exponent + 1)) {
        unsigned scores[2] = {exponent < 14 ? 60 : 80, 95};
        detect_offer_in_context(scan, DETECT_CREDIT_CARD, number->start, at + 4, scores);
    }
}

void detect_find_glued_card(struct detect_scan *scan, size_t at)
{
    size_t end = at;
    char before = byte_before(scan, at, 1);
    while (is_digit(byte_at(scan, end))) {
        end++;
    }
    bool is_fraction = before == '.' && is_digit(byte_before(scan, at, 2));
    bool is_alone = before != '-' && before != '/' && before != '.' && detect_is_start(scan, at) &&
                    detect_is_end(scan, end);
    if (is_fraction || (is_alone && end - at <= CARD_DIGITS_USUAL) ||
        !is_wanted(scan, DETECT_CREDIT_CARD, DETECT_SCORE_MAX) || offer_run(scan, at, end)) {
        return;
    }
    size_t zeros = at;
    while (zeros < end && byte_at(scan, zeros) == '0') {
        zeros++;
    }
    if ((zeros > at && offer_run(scan, zeros, end)) || end - at <= CARD_DIGITS_USUAL) {
        return;
    }
    offer_window(scan, at, end, false);
    offer_window(scan, at, end, true);
}
