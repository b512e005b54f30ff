/* SPDX-License-Identifier: MIT */
/* What is taken for a code has one written form, which is taken for itself. */
#include "fuzz.h"

#include "base/must.h"
#include "identity/recovery_code.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct arena arena;
    arena_init(&arena);
    struct slice code;
    if (recovery_code_normalize_in(&arena, slice_of(bytes, size), &code) == ERR_NONE) {
        must(code.len == RECOVERY_CODE_LEN);
        struct slice again;
        must(recovery_code_normalize_in(&arena, code, &again) == ERR_NONE);
        must(slice_equals(code, again));
        unsigned char hash[RECOVERY_CODE_HASH_SIZE];
        recovery_code_hash(code, hash);
    }
    arena_release(&arena);
    return 0;
}
