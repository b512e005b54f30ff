/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include "base/memory.h"

#define TEXT_HIGH_BITS 0x8080808080808080U

/* The number of bytes before the first that is not ASCII, rounded down to what was looked at. */
static size_t text_ascii_len(struct slice text)
{
    size_t len = 0;
    while (text.len - len >= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, text.at + len, sizeof(word));
        if ((word & TEXT_HIGH_BITS) != 0) {
            break;
        }
        len += sizeof(word);
    }
    return len;
}

/* Compilers make this one comparison for many bytes. */
bool text_is_ascii(struct slice text)
{
    unsigned char all = 0;
    for (size_t i = 0; i < text.len; i++) {
        all |= (unsigned char)text.at[i];
    }
    return all < 0x80;
}

bool text_is_utf8(struct slice text)
{
    while (text.len > 0) {
        size_t len = text_ascii_len(text);
        if (len == 0) {
            uint32_t code;
            len = text_character(text, &code);
            if (len == 0) {
                return false;
            }
        }
        text = slice_from(text, len);
    }
    return true;
}

/* The length that a first byte announces; 0 for a byte that cannot be first. */
static size_t text_announced_len(uint8_t first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return 3;
    }
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t text_character(struct slice text, uint32_t *ret_code)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (text.len == 0) {
        return 0;
    }
    uint8_t first = (uint8_t)text.at[0];
    size_t len = text_announced_len(first);
    if (len == 0 || len > text.len) {
        return 0;
    }
    uint32_t code = len == 1 ? first : first & (0x7fU >> len);
    for (size_t i = 1; i < len; i++) {
        uint8_t next = (uint8_t)text.at[i];
        if ((next & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (next & 0x3f);
    }
    if (code < lowest[len] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return 0;
    }
    *ret_code = code;
    return len;
}

enum err text_parse_u64(struct slice text, uint64_t *ret_value)
{
    uint64_t value = 0;
    enum err err = text.len == 0 ? ERR_INPUT : ERR_NONE;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return ERR_INPUT;
        }
        uint64_t digit = (uint64_t)(text.at[i] - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            err = ERR_LIMIT;
            value = 0;
        }
        value = value * 10 + digit;
    }
    if (err == ERR_NONE) {
        *ret_value = value;
    }
    return err;
}

enum err text_parse_i64(struct slice text, int64_t *ret_value)
{
    bool is_negative = slice_starts_with(text, SLICE("-"));
    uint64_t size;
    enum err err = text_parse_u64(slice_from(text, is_negative ? 1 : 0), &size);
    if (err != ERR_NONE) {
        return err;
    }
    if (size > (uint64_t)INT64_MAX + (is_negative ? 1 : 0)) {
        return ERR_LIMIT;
    }
    if (!is_negative) {
        *ret_value = (int64_t)size;
    } else {
        /* The lowest number has no positive of its own. */
        *ret_value = size == 0 ? 0 : -(int64_t)(size - 1) - 1;
    }
    return ERR_NONE;
}

struct slice text_lower_in(struct arena *arena, struct slice text)
{
    char *lower = arena_text(arena, text);
    for (size_t i = 0; i < text.len; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z') {
            lower[i] = (char)(lower[i] - 'A' + 'a');
        }
    }
    return slice_of(lower, text.len);
}

static bool text_is_unsafe(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == '"' || code == '\\' ||
           code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff || (code >= 0xe0000 && code <= 0xe007f);
}

static bool text_is_blank(uint32_t code)
{
    static const uint32_t blanks[] = {' ',    0xa0,   0xad,   0x34f,  0x115f,
                                      0x1160, 0x1680, 0x17b4, 0x17b5, 0x202f,
                                      0x205f, 0x2800, 0x3000, 0x3164, 0xffa0};
    for (size_t i = 0; i < COUNT_OF(blanks); i++) {
        if (code == blanks[i]) {
            return true;
        }
    }
    return (code >= 0x180b && code <= 0x180f) || (code >= 0x2000 && code <= 0x200a) ||
           (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0080 && code <= 0xe0fff) ||
           (text_is_unsafe(code) && code != '"' && code != '\\');
}

bool text_has_visible(struct slice text)
{
    while (text.len > 0) {
        uint32_t code = 0;
        size_t len = text_character(text, &code);
        if (len > 0 && !text_is_blank(code)) {
            return true;
        }
        text = slice_from(text, len == 0 ? 1 : len);
    }
    return false;
}

static void text_escape_code(struct writer *writer, uint32_t code)
{
    switch (code) {
    case '\n':
        writer_bytes(writer, SLICE("\\n"));
        return;
    case '\r':
        writer_bytes(writer, SLICE("\\r"));
        return;
    case '\t':
        writer_bytes(writer, SLICE("\\t"));
        return;
    case '"':
    case '\\':
        writer_format(writer, "\\%c", (char)code);
        return;
    default:
        writer_format(writer, code < 0x80 ? "\\x%02x" : "\\u{%x}", code);
    }
}

static void text_write_safe(struct writer *writer, struct slice text, bool keeps_quotes)
{
    size_t safe_len = 0;
    while (safe_len < text.len) {
        uint32_t code = 0;
        struct slice rest = slice_from(text, safe_len);
        size_t len = text_character(rest, &code);
        bool is_kept = keeps_quotes && (code == '"' || code == '\\');
        if (len > 0 && (is_kept || !text_is_unsafe(code))) {
            safe_len += len;
            continue;
        }
        writer_bytes(writer, slice_sub(text, 0, safe_len));
        if (len == 0) {
            writer_format(writer, "\\x%02x", (unsigned int)(uint8_t)rest.at[0]);
        } else {
            text_escape_code(writer, code);
        }
        text = slice_from(rest, len == 0 ? 1 : len);
        safe_len = 0;
    }
    writer_bytes(writer, text);
}

void text_escape(struct writer *writer, struct slice text)
{
    text_write_safe(writer, text, false);
}

void text_show(struct writer *writer, struct slice text)
{
    text_write_safe(writer, text, true);
}
