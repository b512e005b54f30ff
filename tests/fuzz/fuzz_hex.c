/* SPDX-License-Identifier: MIT */
/* What decodes encodes to the same text but for case; what is encoded decodes to the same bytes. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "codec/hex.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice input = slice_of(bytes, size);
    char *decoded = memory_new(size);
    struct arena arena;
    arena_init(&arena);
    if (hex_decode(input, decoded, size / 2) == ERR_NONE) {
        struct slice encoded = hex_encode(&arena, slice_of(decoded, size / 2));
        must(slice_equals_nocase(encoded, input));
    }
    must(hex_decode(hex_encode(&arena, input), decoded, size) == ERR_NONE);
    must(slice_equals(slice_of(decoded, size), input));
    arena_release(&arena);
    memory_free(decoded);
    return 0;
}
