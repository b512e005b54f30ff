/* SPDX-License-Identifier: MIT */
#include "codec/base64.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct example {
    struct slice bytes;
    struct slice text;
};

static bool decodes(enum base64_form form, struct slice text)
{
    struct arena arena;
    arena_init(&arena);
    struct slice bytes;
    enum err err = base64_decode_in(&arena, form, text, &bytes);
    arena_release(&arena);
    return err == ERR_NONE;
}

static void check_both_ways(enum base64_form form, const struct example *example)
{
    struct arena arena;
    arena_init(&arena);
    struct slice decoded;
    assert_true(slice_equals(base64_encode_in(&arena, form, example->bytes), example->text));
    assert_int_equal(base64_decode_in(&arena, form, example->text, &decoded), ERR_NONE);
    assert_true(slice_equals(decoded, example->bytes));
    arena_release(&arena);
}

static void the_examples_of_rfc_4648_go_both_ways(void **state)
{
    (void)state;
    static const struct example examples[] = {
        {SLICE_INIT(""), SLICE_INIT("")},
        {SLICE_INIT("f"), SLICE_INIT("Zg==")},
        {SLICE_INIT("fo"), SLICE_INIT("Zm8=")},
        {SLICE_INIT("foo"), SLICE_INIT("Zm9v")},
        {SLICE_INIT("foob"), SLICE_INIT("Zm9vYg==")},
        {SLICE_INIT("fooba"), SLICE_INIT("Zm9vYmE=")},
        {SLICE_INIT("foobar"), SLICE_INIT("Zm9vYmFy")},
    };
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        check_both_ways(BASE64_STANDARD, &examples[i]);
        check_both_ways(BASE64_URL_PADDED, &examples[i]);
        struct example bare = {examples[i].bytes, slice_trim(examples[i].text, "=")};
        check_both_ways(BASE64_STANDARD_BARE, &bare);
        check_both_ways(BASE64_URL, &bare);
    }
}

static void each_form_has_its_own_last_two_digits(void **state)
{
    (void)state;
    check_both_ways(BASE64_STANDARD, &(struct example){SLICE("\xfb\xef\xff"), SLICE("++//")});
    check_both_ways(BASE64_URL, &(struct example){SLICE("\xfb\xef\xff"), SLICE("--__")});
    assert_false(decodes(BASE64_STANDARD, SLICE("--__")));
    assert_false(decodes(BASE64_URL, SLICE("++//")));
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct slice text = SLICE("Zm9vYmFyYg==");
    for (size_t size_max = 0; size_max <= 8; size_max++) {
        char bytes[8] = "-------";
        size_t size = 0;
        enum err err = base64_decode(BASE64_STANDARD, text, bytes, size_max, &size);
        assert_int_equal(err, size_max < 7 ? ERR_LIMIT : ERR_NONE);
        assert_int_equal(size, size_max < 7 ? 0 : 7);
        if (err == ERR_NONE) {
            assert_true(slice_equals(slice_of(bytes, size), SLICE("foobarb")));
        }
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
        for (unsigned int form = BASE64_STANDARD; form <= BASE64_URL_PADDED; form++) {
            struct slice whole = slice_of(bytes, len);
            struct slice text = base64_encode_in(&arena, form, whole);
            struct slice decoded;
            assert_int_equal(base64_decode_in(&arena, form, text, &decoded), ERR_NONE);
            assert_true(slice_equals(decoded, whole));
        }
        arena_reset(&arena);
    }
    arena_release(&arena);
}

static void padding_is_neither_missing_nor_additional(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT("Zg"),       SLICE_INIT("Zg="),  SLICE_INIT("Zg==="),
        SLICE_INIT("Zm9v="),    SLICE_INIT("===="), SLICE_INIT("Zm9v===="),
        SLICE_INIT("Zg==Zg=="), SLICE_INIT("Z==="), SLICE_INIT("Zg=Z"),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_false(decodes(BASE64_STANDARD, refused[i]));
        assert_false(decodes(BASE64_URL_PADDED, refused[i]));
    }
    assert_false(decodes(BASE64_URL, SLICE("Zg==")));
    assert_false(decodes(BASE64_STANDARD_BARE, SLICE("Zm8=")));
}

static void bits_that_mean_nothing_must_be_zero(void **state)
{
    (void)state;
    assert_false(decodes(BASE64_STANDARD, SLICE("Zh==")));
    assert_false(decodes(BASE64_STANDARD, SLICE("Zm9=")));
    assert_false(decodes(BASE64_URL, SLICE("Zv")));
}

static void white_space_nul_and_lone_digits_are_refused(void **state)
{
    (void)state;
    assert_false(decodes(BASE64_STANDARD, SLICE("Zm9v\n")));
    assert_false(decodes(BASE64_STANDARD, SLICE("Zm 9v")));
    assert_false(decodes(BASE64_STANDARD, SLICE("Zm9\0")));
    assert_false(decodes(BASE64_STANDARD, SLICE("Zm9\xc3")));
    assert_false(decodes(BASE64_URL, SLICE("Z")));
    assert_false(decodes(BASE64_URL, SLICE("Zm9vZ")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_rfc_4648_go_both_ways),
        cmocka_unit_test(each_form_has_its_own_last_two_digits),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(every_length_of_every_byte_comes_back),
        cmocka_unit_test(padding_is_neither_missing_nor_additional),
        cmocka_unit_test(bits_that_mean_nothing_must_be_zero),
        cmocka_unit_test(white_space_nul_and_lone_digits_are_refused),
    };
    return cmocka_run_group_tests_name("codec/base64", tests, NULL, NULL);
}
