/* SPDX-License-Identifier: MIT */
#include "codec/base64.h"

#include "base/must.h"

#include <stdint.h>

#define BASE64_NO_DIGIT 0xff

static bool base64_is_url(enum base64_form form)
{
    return form == BASE64_URL || form == BASE64_URL_PADDED;
}

static bool base64_is_padded(enum base64_form form)
{
    return form == BASE64_STANDARD || form == BASE64_URL_PADDED;
}

static char base64_digit(enum base64_form form, uint32_t value)
{
    static const char common[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    value &= 63;
    if (value < 62) {
        return common[value];
    }
    if (base64_is_url(form)) {
        return value == 62 ? '-' : '_';
    }
    return value == 62 ? '+' : '/';
}

static uint32_t base64_value(enum base64_form form, char digit)
{
    if (digit >= 'A' && digit <= 'Z') {
        return (uint32_t)(digit - 'A');
    }
    if (digit >= 'a' && digit <= 'z') {
        return (uint32_t)(digit - 'a') + 26;
    }
    if (digit >= '0' && digit <= '9') {
        return (uint32_t)(digit - '0') + 52;
    }
    if (digit == base64_digit(form, 62)) {
        return 62;
    }
    return digit == base64_digit(form, 63) ? 63 : BASE64_NO_DIGIT;
}

struct slice base64_encode_in(struct arena *arena, enum base64_form form, struct slice bytes)
{
    must(bytes.len <= SIZE_MAX / 2);
    char *text = arena_alloc(arena, (bytes.len + 2) / 3 * 4);
    size_t len = 0;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t group = (uint32_t)(uint8_t)bytes.at[i] << 16;
        group |= left > 1 ? (uint32_t)(uint8_t)bytes.at[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)(uint8_t)bytes.at[i + 2] : 0;
        size_t digits = left > 2 ? 4 : left + 1;
        for (size_t digit = 0; digit < digits; digit++) {
            text[len++] = base64_digit(form, group >> (18 - 6 * digit));
        }
    }
    while (base64_is_padded(form) && len % 4 != 0) {
        text[len++] = '=';
    }
    return slice_of(text, len);
}

/* Takes the padding off; what is left must be whole groups and at most one shorter one. */
static enum err base64_unpad(enum base64_form form, struct slice *text)
{
    if (base64_is_padded(form)) {
        if (text->len % 4 != 0) {
            return ERR_INPUT;
        }
        for (size_t i = 0; i < 2 && slice_ends_with(*text, SLICE("=")); i++) {
            text->len--;
        }
    }
    return text->len % 4 == 1 ? ERR_INPUT : ERR_NONE;
}

enum err base64_decode(enum base64_form form, struct slice text, void *bytes, size_t size_max,
                       size_t *ret_size)
{
    enum err err = base64_unpad(form, &text);
    if (err != ERR_NONE) {
        return err;
    }
    char *to = bytes;
    size_t len = 0;
    uint32_t bits = 0;
    size_t bit_count = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint32_t value = base64_value(form, text.at[i]);
        if (value == BASE64_NO_DIGIT) {
            return ERR_INPUT;
        }
        bits = (bits << 6 | value) & 0xffff;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            if (len == size_max) {
                return ERR_LIMIT;
            }
            to[len++] = (char)(uint8_t)(bits >> bit_count);
        }
    }
    /* RFC 4648 section 3.5: the bits beyond the last byte must be zero. */
    if ((bits & ((1U << bit_count) - 1)) != 0) {
        return ERR_INPUT;
    }
    *ret_size = len;
    return ERR_NONE;
}

enum err base64_decode_in(struct arena *arena, enum base64_form form, struct slice text,
                          struct slice *ret_bytes)
{
    size_t size_max = text.len / 4 * 3 + 2;
    char *bytes = arena_alloc(arena, size_max);
    size_t size = 0;
    enum err err = base64_decode(form, text, bytes, size_max, &size);
    if (err == ERR_NONE) {
        *ret_bytes = slice_of(bytes, size);
    }
    return err;
}
