/* SPDX-License-Identifier: MIT */
#include "codec/hex.h"

struct slice hex_encode(struct arena *arena, struct slice bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *at = arena_alloc(arena, bytes.len * 2 + 1);
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.at[i];
        at[2 * i] = digits[byte >> 4];
        at[2 * i + 1] = digits[byte & 15];
    }
    return slice_of(at, bytes.len * 2);
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

enum err hex_decode(struct slice text, char *ret_bytes, size_t size)
{
    if (text.len != size * 2) {
        return ERR_INPUT;
    }
    for (size_t i = 0; i < size; i++) {
        int high = hex_digit(text.at[2 * i]);
        int low = hex_digit(text.at[2 * i + 1]);
        if (high < 0 || low < 0) {
            return ERR_INPUT;
        }
        ret_bytes[i] = (char)(unsigned char)(high * 16 + low);
    }
    return ERR_NONE;
}
