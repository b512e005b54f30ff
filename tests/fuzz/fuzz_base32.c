/* SPDX-License-Identifier: MIT */
/* What decodes encodes to the same digits in capitals, without what may stand between and behind
 * them; and what is encoded decodes to the same bytes. */
#include "fuzz.h"

#include "base/must.h"
#include "codec/base32.h"

static struct slice digits_in(struct arena *arena, struct slice text)
{
    char *digits = arena_text(arena, text);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.at[i];
        if (byte != ' ' && byte != '-' && byte != '=') {
            digits[len++] = byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
        }
    }
    return slice_of(digits, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice input = slice_of(bytes, size);
    struct arena arena;
    arena_init(&arena);
    struct slice decoded;
    if (base32_decode_in(&arena, input, &decoded) == ERR_NONE) {
        must(slice_equals(base32_encode_in(&arena, decoded), digits_in(&arena, input)));
    }
    struct slice encoded = base32_encode_in(&arena, input);
    must(base32_decode_in(&arena, encoded, &decoded) == ERR_NONE);
    must(slice_equals(decoded, input));
    arena_release(&arena);
    return 0;
}
