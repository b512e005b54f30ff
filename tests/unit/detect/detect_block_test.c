/* SPDX-License-Identifier: MIT */
#include "detect/detect_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void every_byte_has_its_classes(void **state)
{
    (void)state;
    char bytes[DETECT_BLOCK_SIZE];
    for (unsigned byte = 0; byte < 256; byte++) {
        struct detect_block block;
        memset(bytes, (int)byte, sizeof(bytes));
        detect_block_read(bytes, &block);
        bool is_digit = byte >= '0' && byte <= '9';
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        bool is_number = is_digit || (byte != 0 && strchr("()+-./_ ", (int)byte) != NULL);
        bool is_token = is_digit || is_letter || byte == '-' || byte == '_';
        bool is_sign = byte == '@' || byte == ':' || byte == '=';
        assert_int_equal(block.digit, is_digit ? UINT64_MAX : 0);
        assert_int_equal(block.letter, is_letter ? UINT64_MAX : 0);
        assert_int_equal(block.number, is_number ? UINT64_MAX : 0);
        assert_int_equal(block.token, is_token ? UINT64_MAX : 0);
        assert_int_equal(block.dash, byte == '-' ? UINT64_MAX : 0);
        assert_int_equal(block.sign, is_sign ? UINT64_MAX : 0);
        assert_int_equal(block.w, byte == 'w' || byte == 'W' ? UINT64_MAX : 0);
    }
}

static void every_byte_has_its_marks(void **state)
{
    (void)state;
    char bytes[DETECT_BLOCK_SIZE];
    for (unsigned byte = 0; byte < 256; byte++) {
        struct detect_marks marks;
        memset(bytes, (int)byte, sizeof(bytes));
        detect_block_mark(bytes, '\t', (const char[]){'\n', '\\', '@'}, &marks);
        bool is_opening = byte <= ' ' || strchr("(<[{\"", (int)byte) != NULL;
        assert_int_equal(marks.delimiter, byte == '\t' ? UINT64_MAX : 0);
        assert_int_equal(marks.odd, byte == '\n' || byte == '\\' || byte == '@' ? UINT64_MAX : 0);
        assert_int_equal(marks.opening, is_opening ? UINT64_MAX : 0);
        bool is_escape = byte >= 0x80 || byte == '%' || byte == '&' || byte == '\\';
        assert_int_equal(marks.escape, is_escape ? UINT64_MAX : 0);
        assert_int_equal(detect_block_escapes(bytes), marks.escape);
        struct detect_block block;
        detect_block_read(bytes, &block);
        assert_int_equal(marks.digit, block.digit);
        assert_int_equal(marks.letter, block.letter);
        assert_int_equal(marks.number, block.number);
    }
}

static void bit_n_is_byte_n(void **state)
{
    (void)state;
    for (unsigned at = 0; at < DETECT_BLOCK_SIZE; at++) {
        char bytes[DETECT_BLOCK_SIZE] = {0};
        struct detect_block block;
        bytes[at] = '7';
        detect_block_read(bytes, &block);
        assert_int_equal(block.digit, UINT64_C(1) << at);
        bytes[at] = 'x';
        detect_block_read(bytes, &block);
        assert_int_equal(block.letter, UINT64_C(1) << at);
    }
}

static void every_machine_reads_the_same(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (unsigned round = 0; round < 2000; round++) {
        char bytes[DETECT_BLOCK_SIZE];
        struct detect_block one = {0}, other = {0};
        for (unsigned i = 0; i < DETECT_BLOCK_SIZE; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1;
            bytes[i] = (char)(seed >> 56);
        }
        detect_block_read(bytes, &one);
        detect_block_read_any(bytes, &other);
        assert_memory_equal(&one, &other, sizeof(one));
        struct detect_marks marked = {0}, other_marked = {0};
        detect_block_mark(bytes, bytes[0], bytes + 1, &marked);
        detect_block_mark_any(bytes, bytes[0], bytes + 1, &other_marked);
        assert_memory_equal(&marked, &other_marked, sizeof(marked));
        assert_int_equal(detect_block_escapes(bytes), detect_block_escapes_any(bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_has_its_classes),
        cmocka_unit_test(every_byte_has_its_marks),
        cmocka_unit_test(bit_n_is_byte_n),
        cmocka_unit_test(every_machine_reads_the_same),
    };
    return cmocka_run_group_tests_name("detect/detect_block", tests, NULL, NULL);
}
