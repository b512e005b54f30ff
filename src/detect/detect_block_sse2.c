/* SPDX-License-Identifier: MIT */
/* Sixteen bytes at once with what every x86-64 has; meson.build chooses. */
#include "detect/detect_block.h"

#include <emmintrin.h>

static uint64_t bits_of(__m128i mask, unsigned at)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(mask) << at;
}

/* Bytes in [low, low + span]. Adding brings the range to the top of the signed ones. */
static __m128i in_range(__m128i bytes, int low, int span)
{
    __m128i moved = _mm_add_epi8(bytes, _mm_set1_epi8((char)(127 - span - low)));
    return _mm_cmpgt_epi8(moved, _mm_set1_epi8((char)(126 - span)));
}

static __m128i equal(__m128i bytes, char byte)
{
    return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte));
}

/* ( ) * + , - . / 0-9 follow each other; the star and the comma do not belong. */
static __m128i is_number(__m128i bytes)
{
    __m128i number = in_range(bytes, '(', '9' - '(');
    number = _mm_andnot_si128(_mm_or_si128(equal(bytes, '*'), equal(bytes, ',')), number);
    return _mm_or_si128(number, _mm_or_si128(equal(bytes, ' '), equal(bytes, '_')));
}

/* The highest bit of what is not ASCII is set already. */
static __m128i is_escape(__m128i bytes)
{
    __m128i sign = _mm_or_si128(equal(bytes, '%'), equal(bytes, '&'));
    return _mm_or_si128(bytes, _mm_or_si128(sign, equal(bytes, '\\')));
}

void detect_block_read(const char *at, struct detect_block *ret_block)
{
    struct detect_block block = {0};
    for (unsigned i = 0; i < DETECT_BLOCK_SIZE; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i digit = in_range(bytes, '0', 9);
        __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        __m128i letter = in_range(lower, 'a', 25);
        __m128i dash = equal(bytes, '-');
        __m128i number = is_number(bytes);
        __m128i token =
            _mm_or_si128(_mm_or_si128(digit, letter), _mm_or_si128(dash, equal(bytes, '_')));
        __m128i sign =
            _mm_or_si128(_mm_or_si128(equal(bytes, ':'), equal(bytes, '=')), equal(bytes, '@'));
        block.digit |= bits_of(digit, i);
        block.letter |= bits_of(letter, i);
        block.number |= bits_of(number, i);
        block.token |= bits_of(token, i);
        block.dash |= bits_of(dash, i);
        block.sign |= bits_of(sign, i);
        block.w |= bits_of(equal(lower, 'w'), i);
    }
    *ret_block = block;
}

void detect_block_mark(const char *at, char delimiter, const char odd[3],
                       struct detect_marks *ret_marks)
{
    struct detect_marks marks = {0};
    for (unsigned i = 0; i < DETECT_BLOCK_SIZE; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + i));
        __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        __m128i opening = in_range(bytes, 0, ' ');
        opening = _mm_or_si128(opening, _mm_or_si128(equal(bytes, '('), equal(bytes, '<')));
        opening = _mm_or_si128(opening, _mm_or_si128(equal(lower, '{'), equal(bytes, '"')));
        __m128i is_odd = _mm_or_si128(equal(bytes, odd[0]), equal(bytes, odd[1]));
        marks.digit |= bits_of(in_range(bytes, '0', 9), i);
        marks.letter |= bits_of(in_range(lower, 'a', 25), i);
        marks.number |= bits_of(is_number(bytes), i);
        marks.delimiter |= bits_of(equal(bytes, delimiter), i);
        marks.odd |= bits_of(_mm_or_si128(is_odd, equal(bytes, odd[2])), i);
        marks.opening |= bits_of(opening, i);
        marks.escape |= bits_of(is_escape(bytes), i);
    }
    *ret_marks = marks;
}

uint64_t detect_block_escapes(const char *at)
{
    uint64_t escapes = 0;
    for (unsigned i = 0; i < DETECT_BLOCK_SIZE; i += 16) {
        escapes |= bits_of(is_escape(_mm_loadu_si128((const __m128i *)(const void *)(at + i))), i);
    }
    return escapes;
}
