/* SPDX-License-Identifier: MIT */
#include "codec/url.h"

#include "base/text.h"
#include "codec/hex.h"

static enum err url_decode_with(struct arena *arena, struct slice text, bool plus_is_space,
                                struct slice *ret_decoded)
{
    char *at = arena_text(arena, text);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        if (byte == '+' && plus_is_space) {
            byte = ' ';
        } else if (byte == '%') {
            if (hex_decode(slice_sub(text, i + 1, 2), &byte, 1) != ERR_NONE) {
                return ERR_INPUT;
            }
            i += 2;
        }
        at[len++] = byte;
    }
    at[len] = '\0';
    struct slice decoded = slice_of(at, len);
    if (!text_is_utf8(decoded) || slice_find_byte(decoded, '\0') != len) {
        return ERR_INPUT;
    }
    *ret_decoded = decoded;
    return ERR_NONE;
}

enum err url_decode(struct arena *arena, struct slice text, struct slice *ret_decoded)
{
    return url_decode_with(arena, text, false, ret_decoded);
}

enum err url_query_find(struct arena *arena, struct slice query, struct slice name,
                        struct slice *ret_value)
{
    struct slice rest = query;
    while (rest.at != NULL) {
        struct slice value = SLICE_NONE;
        struct slice found = SLICE_NONE;
        struct slice encoded = slice_cut(slice_cut(rest, '&', &rest), '=', &value);
        enum err err = url_decode_with(arena, encoded, true, &found);
        if (err != ERR_NONE) {
            return err;
        }
        if (slice_equals(found, name)) {
            return url_decode_with(arena, value, true, ret_value);
        }
    }
    return ERR_NOT_FOUND;
}
