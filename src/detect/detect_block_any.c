/* SPDX-License-Identifier: MIT */
/* Byte by byte, through a table of classes. */
#include "detect/detect_block.h"

#include <stdbool.h>

enum {
    DIGIT = 1,
    NUMBER = 2,
    TOKEN = 4,
};

static const uint8_t class_of[256] = {
    [' '] = NUMBER,
    ['('] = NUMBER,
    [')'] = NUMBER,
    ['+'] = NUMBER,
    ['.'] = NUMBER,
    ['/'] = NUMBER,
    ['-'] = NUMBER | TOKEN,
    ['_'] = NUMBER | TOKEN,
    ['0'] = DIGIT | NUMBER | TOKEN,
    ['1'] = DIGIT | NUMBER | TOKEN,
    ['2'] = DIGIT | NUMBER | TOKEN,
    ['3'] = DIGIT | NUMBER | TOKEN,
    ['4'] = DIGIT | NUMBER | TOKEN,
    ['5'] = DIGIT | NUMBER | TOKEN,
    ['6'] = DIGIT | NUMBER | TOKEN,
    ['7'] = DIGIT | NUMBER | TOKEN,
    ['8'] = DIGIT | NUMBER | TOKEN,
    ['9'] = DIGIT | NUMBER | TOKEN,
};

static uint64_t bit(bool is_set, unsigned at)
{
    return (uint64_t)is_set << at;
}

void detect_block_read_any(const char *at, struct detect_block *ret_block)
{
    struct detect_block block = {0};
    for (unsigned i = 0; i < DETECT_BLOCK_SIZE; i++) {
        unsigned char byte = (unsigned char)at[i];
        bool is_letter = (unsigned)(byte | 0x20) - 'a' < 26;
        unsigned class = class_of[byte];
        block.digit |= bit((class & DIGIT) != 0, i);
        block.letter |= bit(is_letter, i);
        block.number |= bit((class & NUMBER) != 0, i);
        block.token |= bit((class & TOKEN) != 0 || is_letter, i);
        block.dash |= bit(byte == '-', i);
        block.w |= bit((byte | 0x20) == 'w', i);
        block.sign |= bit(byte == '@' || byte == ':' || byte == '=', i);
    }
    *ret_block = block;
}

void detect_block_mark_any(const char *at, char delimiter, const char odd[3],
                           struct detect_marks *ret_marks)
{
    struct detect_marks marks = {0};
    for (unsigned i = 0; i < DETECT_BLOCK_SIZE; i++) {
        unsigned char byte = (unsigned char)at[i];
        bool is_opening =
            byte <= ' ' || byte == '(' || byte == '<' || byte == '[' || byte == '{' || byte == '"';
        marks.digit |= bit((class_of[byte] & DIGIT) != 0, i);
        marks.letter |= bit((unsigned)(byte | 0x20) - 'a' < 26, i);
        marks.number |= bit((class_of[byte] & NUMBER) != 0, i);
        marks.delimiter |= bit(at[i] == delimiter, i);
        marks.odd |= bit(at[i] == odd[0] || at[i] == odd[1] || at[i] == odd[2], i);
        marks.opening |= bit(is_opening, i);
    }
    marks.escape = detect_block_escapes_any(at);
    *ret_marks = marks;
}

uint64_t detect_block_escapes_any(const char *at)
{
    uint64_t escapes = 0;
    for (unsigned i = 0; i < DETECT_BLOCK_SIZE; i++) {
        unsigned char byte = (unsigned char)at[i];
        escapes |= bit(byte == '%' || byte == '&' || byte == '\\' || byte >= 0x80, i);
    }
    return escapes;
}
