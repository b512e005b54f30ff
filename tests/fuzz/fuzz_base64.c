/* SPDX-License-Identifier: MIT */
/* The first byte chooses the form. What decodes encodes to the same text, and what is encoded
 * decodes to the same bytes. */
#include "fuzz.h"

#include "base/must.h"
#include "codec/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum base64_form form = (enum base64_form)(bytes[0] % 4);
    struct slice input = slice_of(bytes + 1, size - 1);
    struct arena arena;
    arena_init(&arena);
    struct slice decoded;
    char fixed[16];
    size_t fixed_size = 0;
    enum err err = base64_decode(form, input, fixed, sizeof(fixed), &fixed_size);
    if (base64_decode_in(&arena, form, input, &decoded) == ERR_NONE) {
        must(slice_equals(base64_encode_in(&arena, form, decoded), input));
        must(decoded.len > sizeof(fixed)
                 ? err == ERR_LIMIT
                 : err == ERR_NONE && slice_equals(slice_of(fixed, fixed_size), decoded));
    } else {
        must(err == ERR_INPUT || err == ERR_LIMIT);
    }
    struct slice encoded = base64_encode_in(&arena, form, input);
    must(base64_decode_in(&arena, form, encoded, &decoded) == ERR_NONE);
    must(slice_equals(decoded, input));
    arena_release(&arena);
    return 0;
}
