/* SPDX-License-Identifier: MIT */
#include "codec/hex.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void every_byte_goes_both_ways_in_lower_case(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (unsigned int byte = 0; byte < 256; byte++) {
        char bytes[] = {(char)(uint8_t)byte, '\0'};
        char decoded[sizeof(bytes)];
        struct slice text = hex_encode(&arena, slice_of(bytes, sizeof(bytes)));
        assert_true(slice_equals(text, arena_format(&arena, "%02x00", byte)));
        assert_int_equal(hex_decode(text, decoded, sizeof(decoded)), ERR_NONE);
        assert_memory_equal(decoded, bytes, sizeof(bytes));
    }
    assert_int_equal(hex_encode(&arena, SLICE_NONE).len, 0);
    arena_release(&arena);
}

static void upper_case_is_read_too(void **state)
{
    (void)state;
    char decoded[4];
    assert_int_equal(hex_decode(SLICE("DEadBe0F"), decoded, sizeof(decoded)), ERR_NONE);
    assert_memory_equal(decoded, "\xde\xad\xbe\x0f", sizeof(decoded));
    assert_int_equal(hex_decode(SLICE_NONE, decoded, 0), ERR_NONE);
}

static void another_number_of_digits_is_refused(void **state)
{
    (void)state;
    char decoded[2];
    static const struct slice refused[] = {SLICE_INIT(""), SLICE_INIT("0"), SLICE_INIT("00"),
                                           SLICE_INIT("000"), SLICE_INIT("00000")};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(hex_decode(refused[i], decoded, sizeof(decoded)), ERR_INPUT);
    }
}

static void what_is_not_a_digit_is_refused(void **state)
{
    (void)state;
    char decoded[1];
    static const struct slice refused[] = {
        SLICE_INIT("0g"),
        SLICE_INIT("g0"),
        SLICE_INIT("0x"),
        SLICE_INIT(" a"),
        SLICE_INIT("a\0"),
        SLICE_INIT("@0"),
        SLICE_INIT("`0"),
        SLICE_INIT("/0"),
        SLICE_INIT(":0"),
        SLICE_INIT("\xff"
                   "0"),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(hex_decode(refused[i], decoded, sizeof(decoded)), ERR_INPUT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_goes_both_ways_in_lower_case),
        cmocka_unit_test(upper_case_is_read_too),
        cmocka_unit_test(another_number_of_digits_is_refused),
        cmocka_unit_test(what_is_not_a_digit_is_refused),
    };
    return cmocka_run_group_tests_name("codec/hex", tests, NULL, NULL);
}
