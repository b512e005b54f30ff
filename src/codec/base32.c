/* SPDX-License-Identifier: MIT */
#include "codec/base32.h"

#include "base/must.h"

#include <stdint.h>

#define BASE32_NO_DIGIT 0xff

static char base32_digit(uint32_t value)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    return digits[value & 31];
}

static uint32_t base32_value(char digit)
{
    if (digit >= 'A' && digit <= 'Z') {
        return (uint32_t)(digit - 'A');
    }
    if (digit >= 'a' && digit <= 'z') {
        return (uint32_t)(digit - 'a');
    }
    return digit >= '2' && digit <= '7' ? (uint32_t)(digit - '2') + 26 : BASE32_NO_DIGIT;
}

struct slice base32_encode_in(struct arena *arena, struct slice bytes)
{
    must(bytes.len <= SIZE_MAX / 2 - 8);
    char *text = arena_alloc(arena, (bytes.len + 4) / 5 * 8);
    size_t len = 0;
    uint32_t bits = 0;
    size_t bit_count = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = (bits << 8 | (uint8_t)bytes.at[i]) & 0xffff;
        bit_count += 8;
        while (bit_count >= 5) {
            bit_count -= 5;
            text[len++] = base32_digit(bits >> bit_count);
        }
    }
    if (bit_count > 0) {
        text[len++] = base32_digit(bits << (5 - bit_count));
    }
    return slice_of(text, len);
}

static bool base32_is_separator(char byte)
{
    return byte == ' ' || byte == '-';
}

/* Of digits, once separators are left out. RFC 4648 section 6: 1, 3 and 6 digits beyond whole
 * groups of eight do not end at the end of a byte; padding, when there is any, fills the group. */
static bool base32_is_whole(size_t digit_count, size_t pad_count)
{
    static const bool ends_byte[8] = {true, false, true, false, true, true, false, true};
    return ends_byte[digit_count % 8] && (pad_count == 0 || pad_count == (8 - digit_count % 8) % 8);
}

enum err base32_decode_in(struct arena *arena, struct slice text, struct slice *ret_bytes)
{
    char *bytes = arena_alloc(arena, text.len / 8 * 5 + 5);
    size_t len = 0;
    size_t digit_count = 0;
    size_t pad_count = 0;
    uint32_t bits = 0;
    size_t bit_count = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (base32_is_separator(text.at[i])) {
            continue;
        }
        if (text.at[i] == '=') {
            pad_count++;
            continue;
        }
        uint32_t value = base32_value(text.at[i]);
        if (value == BASE32_NO_DIGIT || pad_count > 0) {
            return ERR_INPUT;
        }
        digit_count++;
        bits = (bits << 5 | value) & 0xffff;
        bit_count += 5;
        if (bit_count >= 8) {
            bit_count -= 8;
            bytes[len++] = (char)(uint8_t)(bits >> bit_count);
        }
    }
    if (!base32_is_whole(digit_count, pad_count) || (bits & ((1U << bit_count) - 1)) != 0) {
        return ERR_INPUT;
    }
    *ret_bytes = slice_of(bytes, len);
    return ERR_NONE;
}
