/* SPDX-License-Identifier: MIT */
#include "base/text.h"

static unsigned char text_byte(struct slice text, size_t index)
{
    return index < text.len ? (unsigned char)text.at[index] : 0;
}

static bool text_continues(struct slice text, size_t index)
{
    return (text_byte(text, index) & 0xc0) == 0x80;
}

/* The second byte of three- and four-byte forms is what rules out overlong forms, surrogates and
 * numbers beyond U+10FFFF (RFC 3629 section 4). */
static bool text_second_byte_fits(unsigned char first, unsigned char second)
{
    switch (first) {
    case 0xe0:
        return second >= 0xa0;
    case 0xed:
        return second <= 0x9f;
    case 0xf0:
        return second >= 0x90;
    case 0xf4:
        return second <= 0x8f;
    default:
        return true;
    }
}

size_t text_utf8_size(struct slice text)
{
    unsigned char first = text_byte(text, 0);
    if (text.len > 0 && first < 0x80) {
        return 1;
    }
    size_t size = 0;
    if (first >= 0xc2 && first <= 0xdf) {
        size = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        size = 3;
    } else if (first >= 0xf0 && first <= 0xf4) {
        size = 4;
    }
    for (size_t i = 1; i < size; i++) {
        if (!text_continues(text, i)) {
            return 0;
        }
    }
    return size > 0 && text_second_byte_fits(first, text_byte(text, 1)) ? size : 0;
}

bool text_is_utf8(struct slice text)
{
    while (text.len > 0) {
        size_t size = text_utf8_size(text);
        if (size == 0) {
            return false;
        }
        text = slice_from(text, size);
    }
    return true;
}

size_t text_utf8_count(struct slice text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        count += text_continues(text, i) ? 0 : 1;
    }
    return count;
}

bool text_has_control(struct slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        if (byte < 0x20 || byte == 0x7f) {
            return true;
        }
    }
    return false;
}

enum err text_parse_u64(struct slice text, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (text.len == 0) {
        return ERR_INPUT;
    }
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return ERR_INPUT;
        }
        uint64_t digit = (uint64_t)(text.at[i] - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return ERR_LIMIT;
        }
        number = number * 10 + digit;
    }
    *ret_number = number;
    return ERR_NONE;
}

enum err text_parse_i64(struct slice text, int64_t *ret_number)
{
    bool is_negative = slice_starts_with(text, SLICE("-"));
    uint64_t size = 0;
    enum err err = text_parse_u64(slice_from(text, is_negative ? 1 : 0), &size);
    if (err != ERR_NONE) {
        return err;
    }
    if (size > (uint64_t)INT64_MAX + (is_negative ? 1 : 0)) {
        return ERR_LIMIT;
    }
    *ret_number = is_negative ? (int64_t)(0 - size) : (int64_t)size;
    return ERR_NONE;
}
