/* SPDX-License-Identifier: MIT */
#include "detect/detect_fold.h"

#include "base/text.h"
#include "detect/detect_block.h"
#include "detect/detect_internal.h"

enum {
    HEX_HEAD = 2,         /* "\x" */
    ENTITY_SIZE_MAX = 12, /* "&#x10ffff;" and more */
    CODE_MAX = 0x10ffff,
};

/* Characters of others than ASCII ---------------------------------------------------------------
 */

struct range {
    uint32_t first;
    uint32_t last;
    char byte; /* '\0': not seen; '0': digits from there on */
};

/* In order. Digits are those of scripts in which numbers are written in decimal places. */
static const struct range ranges[] = {
    {0xa0, 0xa0, ' '},      {0xad, 0xad, '\0'},     {0xb7, 0xb7, '.'},      {0x34f, 0x34f, '\0'},
    {0x61c, 0x61c, '\0'},   {0x660, 0x669, '0'},    {0x66b, 0x66b, '.'},    {0x6d4, 0x6d4, '.'},
    {0x6f0, 0x6f9, '0'},    {0x7c0, 0x7c9, '0'},    {0x966, 0x96f, '0'},    {0x9e6, 0x9ef, '0'},
    {0xa66, 0xa6f, '0'},    {0xae6, 0xaef, '0'},    {0xb66, 0xb6f, '0'},    {0xbe6, 0xbef, '0'},
    {0xc66, 0xc6f, '0'},    {0xce6, 0xcef, '0'},    {0xd66, 0xd6f, '0'},    {0xe50, 0xe59, '0'},
    {0xed0, 0xed9, '0'},    {0xf20, 0xf29, '0'},    {0x1040, 0x1049, '0'},  {0x1680, 0x1680, ' '},
    {0x17e0, 0x17e9, '0'},  {0x180b, 0x180f, '\0'}, {0x1810, 0x1819, '0'},  {0x2000, 0x200a, ' '},
    {0x200b, 0x200f, '\0'}, {0x2010, 0x2015, '-'},  {0x2022, 0x2022, '.'},  {0x2024, 0x2024, '.'},
    {0x2027, 0x2027, '.'},  {0x202a, 0x202e, '\0'}, {0x202f, 0x202f, ' '},  {0x2044, 0x2044, '/'},
    {0x205f, 0x205f, ' '},  {0x2060, 0x206f, '\0'}, {0x2212, 0x2212, '-'},  {0x2215, 0x2215, '/'},
    {0x2219, 0x2219, '.'},  {0x22c5, 0x22c5, '.'},  {0x3000, 0x3000, ' '},  {0x3002, 0x3002, '.'},
    {0x30fb, 0x30fb, '.'},  {0xfe00, 0xfe0f, '\0'}, {0xfe52, 0xfe52, '.'},  {0xfe58, 0xfe58, '-'},
    {0xfe63, 0xfe63, '-'},  {0xfe6b, 0xfe6b, '@'},  {0xfeff, 0xfeff, '\0'}, {0xff61, 0xff61, '.'},
    {0xff65, 0xff65, '.'}};

static bool fold_code(uint32_t code, char *ret_byte)
{
    size_t low = 0, high = sizeof(ranges) / sizeof(ranges[0]);
    if (code >= 0xff01 && code <= 0xff5e) {
        *ret_byte = (char)(code - 0xff01 + '!');
        return true;
    }
    if (code >= 0x1d7ce && code <= 0x1d7ff) { /* digits of formulas, in five styles */
        *ret_byte = (char)('0' + (code - 0x1d7ce) % 10);
        return true;
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct range *range = &ranges[middle];
        if (code > range->last) {
            low = middle + 1;
        } else if (code < range->first) {
            high = middle;
        } else {
            bool is_digit = range->byte == '0';
            *ret_byte = is_digit ? (char)('0' + (code - range->first)) : range->byte;
            return true;
        }
    }
    return false;
}

/* By the number of a character that is written as one. */
static bool fold_number(uint32_t code, char *ret_byte)
{
    if (code >= ' ' && code < 0x7f) {
        *ret_byte = (char)code;
        return true;
    }
    return code >= 0x80 && fold_code(code, ret_byte);
}

/* Escapes ---------------------------------------------------------------------------------------
 */

/* Digits from 'at' on, 'most' at most; how many there were. */
static size_t read_digits(struct slice text, size_t at, unsigned base, size_t most,
                          uint32_t *ret_code)
{
    size_t count = 0;
    *ret_code = 0;
    while (count < most && at + count < text.len && *ret_code <= CODE_MAX) {
        unsigned char value = detect_value[(unsigned char)text.at[at + count]];
        if (value >= base) {
            break;
        }
        *ret_code = *ret_code * base + value;
        count++;
    }
    return count;
}

static char byte_of(struct slice text, size_t at)
{
    return at < text.len ? text.at[at] : '\0';
}

/* "%40" */
static size_t fold_percent(struct slice text, size_t at, char *ret_byte)
{
    uint32_t code = 0;
    bool is_one = read_digits(text, at + 1, 16, 2, &code) == 2;
    return is_one && code < 0x80 && fold_number(code, ret_byte) ? 3 : 0;
}

/* "\x40", "\u0040", "\u{40}"; the backslash may come twice, as where it is escaped itself. */
static size_t fold_backslash(struct slice text, size_t at, char *ret_byte)
{
    char kind = byte_of(text, at + 1);
    uint32_t code = 0;
    if (kind == '\\') {
        char second = byte_of(text, at + 2);
        size_t len = second == 'u' || second == 'x' ? fold_backslash(text, at + 1, ret_byte) : 0;
        return len > 0 ? len + 1 : 0;
    }
    if (kind == 'u' && byte_of(text, at + 2) == '{') {
        size_t count = read_digits(text, at + 3, 16, 6, &code);
        bool is_one = count > 0 && byte_of(text, at + 3 + count) == '}';
        return is_one && fold_number(code, ret_byte) ? count + 4 : 0;
    }
    size_t size = kind == 'u' ? 4 : kind == 'x' ? 2 : 0;
    bool is_one = size > 0 && read_digits(text, at + 2, 16, size, &code) == size;
    if (is_one && kind == 'x' && (code < ' ' || code >= 0x7f)) {
        *ret_byte = ' '; /* a byte that is no character of ASCII */
        return size + 2;
    }
    return is_one && fold_number(code, ret_byte) ? size + 2 : 0;
}

/* "&#64;", "&#x40;", "&commat;" */
static size_t fold_entity(struct slice text, size_t at, char *ret_byte)
{
    static const struct {
        struct slice name;
        char byte;
    } named[] = {
        {SLICE_INIT("commat"), '@'}, {SLICE_INIT("nbsp"), ' '},   {SLICE_INIT("period"), '.'},
        {SLICE_INIT("shy"), '\0'},   {SLICE_INIT("lowbar"), '_'}, {SLICE_INIT("sol"), '/'},
        {SLICE_INIT("hyphen"), '-'}, {SLICE_INIT("plus"), '+'},   {SLICE_INIT("thinsp"), ' '},
        {SLICE_INIT("zwnj"), '\0'},  {SLICE_INIT("zwj"), '\0'}};
    struct slice rest = slice_sub(text, at + 1, ENTITY_SIZE_MAX);
    struct slice name = slice_sub(rest, 0, slice_find_byte(rest, ';'));
    uint32_t code = 0;
    if (name.len == rest.len || name.len < 2) {
        return 0;
    }
    if (name.at[0] == '#') {
        bool is_hex = (name.at[1] | 0x20) == 'x';
        size_t from = is_hex ? 2 : 1;
        bool is_one = name.len > from &&
                      read_digits(name, from, is_hex ? 16 : 10, name.len, &code) == name.len - from;
        return is_one && fold_number(code, ret_byte) ? name.len + 2 : 0;
    }
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (slice_equals(name, named[i].name)) {
            *ret_byte = named[i].byte;
            return name.len + 2;
        }
    }
    return 0;
}

size_t detect_fold_at(struct slice text, size_t at, char *ret_byte)
{
    unsigned char first = (unsigned char)text.at[at];
    switch (first) {
    case '%':
        return fold_percent(text, at, ret_byte);
    case '\\':
        return fold_backslash(text, at, ret_byte);
    case '&':
        return fold_entity(text, at, ret_byte);
    default:
        break;
    }
    /* Most letters of Latin, Greek, Cyrillic, Chinese and Korean are none of them. */
    bool may_be = first == 0xc2 || first == 0xcd || (first >= 0xd8 && first <= 0xe3) ||
                  first == 0xef || first == 0xf0;
    uint32_t code = 0;
    size_t len = may_be ? text_character(slice_from(text, at), &code) : 0;
    return len > 0 && fold_code(code, ret_byte) ? len : 0;
}

size_t detect_fold_find(struct slice text, size_t from)
{
    char byte;
    for (size_t base = from; base < text.len; base += DETECT_BLOCK_SIZE) {
        size_t left = text.len - base;
        char padded[DETECT_BLOCK_SIZE] = {0};
        const char *block = text.at + base;
        if (left < DETECT_BLOCK_SIZE) {
            memcpy(padded, block, left);
            block = padded;
        }
        for (uint64_t bits = detect_block_escapes(block); bits != 0; bits &= bits - 1) {
            size_t at = base + (size_t)__builtin_ctzll(bits);
            if (detect_fold_at(text, at, &byte) > 0) {
                return at;
            }
        }
    }
    return text.len;
}

/* A text ----------------------------------------------------------------------------------------
 */

/* Behind "\x", the backslash of which may come twice; 0: it is none. */
static size_t start_of_hex(struct slice text)
{
    size_t head = text.len > 1 && text.at[1] == '\\' ? HEX_HEAD + 1 : HEX_HEAD;
    if (text.len <= head || (text.len - head) % 2 != 0 || text.at[0] != '\\' ||
        text.at[head - 1] != 'x') {
        return 0;
    }
    for (size_t i = head; i < text.len; i++) {
        if (!is_hex(text.at[i])) {
            return 0;
        }
    }
    return head;
}

void detect_fold_begin(struct detect_fold *fold, struct slice text)
{
    size_t start = start_of_hex(text);
    *fold = (struct detect_fold){
        .text = text,
        .at = start,
        .is_hex = start > 0,
        .next = start > 0 ? text.len : detect_fold_find(text, 0),
    };
}

/* What is no character of ASCII is not looked for in bytes. */
static bool next_hex(struct detect_fold *fold, size_t *ret_start, char *ret_byte)
{
    uint32_t code = 0;
    if (fold->at >= fold->text.len) {
        return false;
    }
    (void)read_digits(fold->text, fold->at, 16, 2, &code);
    *ret_start = fold->at;
    *ret_byte = code >= ' ' && code < 0x7f ? (char)code : ' ';
    fold->at += 2;
    return true;
}

bool detect_fold_next(struct detect_fold *fold, size_t *ret_start, char *ret_byte)
{
    if (fold->is_hex) {
        return next_hex(fold, ret_start, ret_byte);
    }
    while (fold->at < fold->text.len) {
        *ret_start = fold->at;
        if (fold->at < fold->next) {
            *ret_byte = fold->text.at[fold->at++];
            return true;
        }
        fold->at += detect_fold_at(fold->text, fold->at, ret_byte);
        fold->next = detect_fold_find(fold->text, fold->at);
        if (*ret_byte != '\0') {
            return true;
        }
    }
    return false;
}
