/* SPDX-License-Identifier: MIT */
/* Text is UTF-8 exactly when it consists of characters, numbers come back as they were written, and
 * what was escaped is UTF-8 without control characters. */
#include "fuzz.h"

#include "base/must.h"
#include "base/text.h"

#include <inttypes.h>

static bool is_made_of_characters(struct slice text)
{
    while (text.len > 0) {
        uint32_t code = 0;
        size_t len = text_character(text, &code);
        if (len == 0) {
            return false;
        }
        must(len <= text.len && code <= 0x10ffff);
        text = slice_from(text, len);
    }
    return true;
}

static void check_numbers(struct arena *arena, struct slice text)
{
    uint64_t big;
    int64_t number;
    uint64_t again;
    if (text_parse_u64(text, &big) == ERR_NONE) {
        must(text_parse_u64(arena_format(arena, "%" PRIu64, big), &again) == ERR_NONE);
        must(again == big);
    }
    if (text_parse_i64(text, &number) == ERR_NONE) {
        int64_t back;
        must(text_parse_i64(arena_format(arena, "%" PRId64, number), &back) == ERR_NONE);
        must(back == number);
    }
}

static void check_escape(struct slice text)
{
    struct buf buf;
    buf_init(&buf, text.len * 12);
    struct writer writer = writer_to(&buf);
    text_escape(&writer, text);
    must(writer_done(&writer) == ERR_NONE);
    struct slice escaped = buf_view(&buf);
    must(escaped.len >= text.len && text_is_utf8(escaped));
    for (size_t i = 0; i < escaped.len; i++) {
        must((unsigned char)escaped.at[i] >= 0x20 && escaped.at[i] != 0x7f);
    }
    buf_release(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct slice input = slice_of(bytes, size);
    struct arena arena;
    arena_init(&arena);
    must(text_is_utf8(input) == is_made_of_characters(input));
    check_numbers(&arena, input);
    check_escape(input);
    must(text_lower_in(&arena, input).len == size);
    arena_release(&arena);
    return 0;
}
