/* SPDX-License-Identifier: MIT */
/* A password never vanishes, ASCII stays, and what was prepared is text. */
#include "fuzz.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "identity/saslprep.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice text = slice_of(bytes, size);
    struct secret password CLEANUP(secret_release);
    struct secret prepared CLEANUP(secret_release);
    secret_init(&password);
    secret_init(&prepared);
    if (secret_set(&password, text) != ERR_NONE) {
        return 0;
    }
    saslprep(&password, &prepared);
    struct slice result = secret_view(&prepared);
    must((result.len == 0) == (size == 0));
    bool is_same = secret_equals(&prepared, text);
    must(is_same || (text_is_utf8(text) && text_is_utf8(result)));
    bool is_ascii = true;
    for (size_t i = 0; i < size; i++) {
        is_ascii = is_ascii && bytes[i] < 0x80;
    }
    must(is_same || !is_ascii);
    return 0;
}
