/* SPDX-License-Identifier: MIT */
#include "codec/base32.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct example {
    struct slice bytes;
    struct slice padded;
};

static const struct example rfc_4648[] = {
    {SLICE_INIT(""), SLICE_INIT("")},
    {SLICE_INIT("f"), SLICE_INIT("MY======")},
    {SLICE_INIT("fo"), SLICE_INIT("MZXQ====")},
    {SLICE_INIT("foo"), SLICE_INIT("MZXW6===")},
    {SLICE_INIT("foob"), SLICE_INIT("MZXW6YQ=")},
    {SLICE_INIT("fooba"), SLICE_INIT("MZXW6YTB")},
    {SLICE_INIT("foobar"), SLICE_INIT("MZXW6YTBOI======")},
};

static void check_decodes_to(struct slice text, struct slice bytes)
{
    struct arena arena;
    arena_init(&arena);
    struct slice decoded;
    assert_int_equal(base32_decode_in(&arena, text, &decoded), ERR_NONE);
    assert_true(slice_equals(decoded, bytes));
    arena_release(&arena);
}

static void check_refused(struct slice text)
{
    struct arena arena;
    arena_init(&arena);
    struct slice decoded;
    assert_int_equal(base32_decode_in(&arena, text, &decoded), ERR_INPUT);
    arena_release(&arena);
}

static void the_examples_of_rfc_4648_are_written_without_padding(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(rfc_4648); i++) {
        struct slice bare = slice_trim(rfc_4648[i].padded, "=");
        assert_true(slice_equals(base32_encode_in(&arena, rfc_4648[i].bytes), bare));
    }
    arena_release(&arena);
}

static void the_examples_of_rfc_4648_are_read_with_and_without_padding(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rfc_4648); i++) {
        check_decodes_to(rfc_4648[i].padded, rfc_4648[i].bytes);
        check_decodes_to(slice_trim(rfc_4648[i].padded, "="), rfc_4648[i].bytes);
    }
}

static void every_length_of_every_byte_comes_back(void **state)
{
    (void)state;
    char bytes[256];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)(uint8_t)(i * 167);
    }
    struct arena arena;
    arena_init(&arena);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct slice whole = slice_of(bytes, len);
        struct slice decoded;
        struct slice text = base32_encode_in(&arena, whole);
        assert_int_equal(text.len, (len * 8 + 4) / 5);
        assert_int_equal(base32_decode_in(&arena, text, &decoded), ERR_NONE);
        assert_true(slice_equals(decoded, whole));
        arena_reset(&arena);
    }
    arena_release(&arena);
}

static void case_spaces_and_hyphens_do_not_matter(void **state)
{
    (void)state;
    check_decodes_to(SLICE("mzxw6ytboi"), SLICE("foobar"));
    check_decodes_to(SLICE("MZxw 6YtB OI"), SLICE("foobar"));
    check_decodes_to(SLICE("-MZXW-6YTB--OI- "), SLICE("foobar"));
    check_decodes_to(SLICE("mzxw 6yt b oi== ===="), SLICE("foobar"));
    check_decodes_to(SLICE(" - "), SLICE(""));
}

static void bits_that_mean_nothing_must_be_zero(void **state)
{
    (void)state;
    check_refused(SLICE("MZ"));
    check_refused(SLICE("MZXR"));
    check_refused(SLICE("MZXW7==="));
    check_refused(SLICE("MZXW6YR"));
}

static void a_digit_too_few_or_too_many_is_refused(void **state)
{
    (void)state;
    check_refused(SLICE("A"));
    check_refused(SLICE("AAA"));
    check_refused(SLICE("AAAAAA"));
    check_refused(SLICE("AAAAAAAAA"));
}

static void padding_fills_the_group_or_is_not_there(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT("MY="),       SLICE_INIT("MY====="),  SLICE_INIT("MY======="),
        SLICE_INIT("="),         SLICE_INIT("========"), SLICE_INIT("MZXW6YTB========"),
        SLICE_INIT("MY======A"), SLICE_INIT("M=Y====="),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        check_refused(refused[i]);
    }
}

static void what_is_no_digit_is_refused(void **state)
{
    (void)state;
    /* 0, 1, 8 and 9 look like letters; whoever wants them read as such does so before. */
    static const char wrong[] = "0189+/_\n\t.@[`{\xc3";
    for (size_t i = 0; i < sizeof(wrong); i++) {
        char text[] = {'M', wrong[i]};
        check_refused(slice_of(text, sizeof(text)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_rfc_4648_are_written_without_padding),
        cmocka_unit_test(the_examples_of_rfc_4648_are_read_with_and_without_padding),
        cmocka_unit_test(every_length_of_every_byte_comes_back),
        cmocka_unit_test(case_spaces_and_hyphens_do_not_matter),
        cmocka_unit_test(bits_that_mean_nothing_must_be_zero),
        cmocka_unit_test(a_digit_too_few_or_too_many_is_refused),
        cmocka_unit_test(padding_fills_the_group_or_is_not_there),
        cmocka_unit_test(what_is_no_digit_is_refused),
    };
    return cmocka_run_group_tests_name("codec/base32", tests, NULL, NULL);
}
