/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void characters_of_every_length_are_utf8(void **state)
{
    (void)state;
    assert_true(text_is_utf8(SLICE_NONE));
    assert_true(text_is_utf8(SLICE("plain ASCII that is longer than a word")));
    assert_true(text_is_utf8(SLICE("a\0b")));
    assert_true(text_is_utf8(SLICE("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x91 12345678")));
    assert_true(text_is_utf8(SLICE("\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf")));
    assert_true(text_is_utf8(SLICE("\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")));
}

static void malformed_utf8_is_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT("\x80"),                 /* continuation first */
        SLICE_INIT("\xc0\x80"),             /* overlong NUL */
        SLICE_INIT("\xc1\xbf"),             /* overlong */
        SLICE_INIT("\xe0\x9f\xbf"),         /* overlong */
        SLICE_INIT("\xf0\x8f\xbf\xbf"),     /* overlong */
        SLICE_INIT("\xed\xa0\x80"),         /* U+D800 */
        SLICE_INIT("\xed\xbf\xbf"),         /* U+DFFF */
        SLICE_INIT("\xf4\x90\x80\x80"),     /* U+110000 */
        SLICE_INIT("\xf5\x80\x80\x80"),     /* never a first byte */
        SLICE_INIT("\xff"),                 /* never a byte */
        SLICE_INIT("\xc3"),                 /* cut */
        SLICE_INIT("\xe2\x82"),             /* cut */
        SLICE_INIT("\xf0\x9f\x94"),         /* cut */
        SLICE_INIT("\xc3\x28"),             /* no continuation */
        SLICE_INIT("\xe2\x28\xa1"),         /* no continuation */
        SLICE_INIT("12345678\xc3 1234567"), /* behind a word of ASCII */
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_false(text_is_utf8(refused[i]));
    }
}

static void every_code_is_told_from_its_bytes(void **state)
{
    (void)state;
    uint32_t code = 1;
    assert_int_equal(text_character(SLICE("A."), &code), 1);
    assert_int_equal(code, 'A');
    assert_int_equal(text_character(SLICE("\xc3\xa9."), &code), 2);
    assert_int_equal(code, 0xe9);
    assert_int_equal(text_character(SLICE("\xe2\x82\xac"), &code), 3);
    assert_int_equal(code, 0x20ac);
    assert_int_equal(text_character(SLICE("\xf0\x9f\x94\x91"), &code), 4);
    assert_int_equal(code, 0x1f511);
    assert_int_equal(text_character(SLICE_NONE, &code), 0);
    assert_int_equal(code, 0x1f511);
}

static void numbers_are_read_up_to_their_limits(void **state)
{
    (void)state;
    uint64_t big = 0;
    assert_int_equal(text_parse_u64(SLICE("0"), &big), ERR_NONE);
    assert_int_equal(big, 0);
    assert_int_equal(text_parse_u64(SLICE("007"), &big), ERR_NONE);
    assert_int_equal(big, 7);
    assert_int_equal(text_parse_u64(SLICE("18446744073709551615"), &big), ERR_NONE);
    assert_true(big == UINT64_MAX);
    int64_t number = 0;
    assert_int_equal(text_parse_i64(SLICE("9223372036854775807"), &number), ERR_NONE);
    assert_true(number == INT64_MAX);
    assert_int_equal(text_parse_i64(SLICE("-9223372036854775808"), &number), ERR_NONE);
    assert_true(number == INT64_MIN);
    assert_int_equal(text_parse_i64(SLICE("-0"), &number), ERR_NONE);
    assert_true(number == 0);
    assert_int_equal(text_parse_i64(SLICE("-42"), &number), ERR_NONE);
    assert_true(number == -42);
}

static void numbers_beyond_their_limits_are_refused_and_change_nothing(void **state)
{
    (void)state;
    uint64_t big = 5;
    assert_int_equal(text_parse_u64(SLICE("18446744073709551616"), &big), ERR_LIMIT);
    assert_int_equal(text_parse_u64(SLICE("99999999999999999999999"), &big), ERR_LIMIT);
    assert_int_equal(big, 5);
    int64_t number = 5;
    assert_int_equal(text_parse_i64(SLICE("9223372036854775808"), &number), ERR_LIMIT);
    assert_int_equal(text_parse_i64(SLICE("-9223372036854775809"), &number), ERR_LIMIT);
    assert_int_equal(number, 5);
}

static void what_is_not_a_number_is_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT(""),
        SLICE_INIT("+1"),
        SLICE_INIT(" 1"),
        SLICE_INIT("1 "),
        SLICE_INIT("1a"),
        SLICE_INIT("0x1"),
        SLICE_INIT("1\0"),
        SLICE_INIT("--1"),
        SLICE_INIT("-"),
        SLICE_INIT("1.0"),
        SLICE_INIT("99999999999999999999999x"),
    };
    uint64_t big = 0;
    int64_t number = 0;
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        assert_int_equal(text_parse_u64(refused[i], &big), ERR_INPUT);
        assert_int_equal(text_parse_i64(refused[i], &number), ERR_INPUT);
    }
    assert_int_equal(text_parse_u64(SLICE("-1"), &big), ERR_INPUT);
}

static void only_ascii_letters_are_lowered(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice lower = text_lower_in(&arena, SLICE("AZaz@[`{0-\xc3\x89"));
    assert_true(slice_equals(lower, SLICE("azaz@[`{0-\xc3\x89")));
    assert_int_equal(text_lower_in(&arena, SLICE_NONE).len, 0);
    arena_release(&arena);
}

static void check_escape(struct slice text, struct slice wanted)
{
    struct buf buf;
    buf_init(&buf, 256);
    struct writer writer = writer_to(&buf);
    text_escape(&writer, text);
    assert_int_equal(writer_done(&writer), ERR_NONE);
    assert_true(slice_equals(buf_view(&buf), wanted));
    buf_release(&buf);
}

static void what_a_terminal_would_act_upon_is_escaped(void **state)
{
    (void)state;
    check_escape(SLICE_NONE, SLICE(""));
    check_escape(SLICE("caf\xc3\xa9 \xf0\x9f\x94\x91"), SLICE("caf\xc3\xa9 \xf0\x9f\x94\x91"));
    check_escape(SLICE("a\nb\rc\td"), SLICE("a\\nb\\rc\\td"));
    check_escape(SLICE("\x1b[31m\0\x7f"), SLICE("\\x1b[31m\\x00\\x7f"));
    check_escape(SLICE("\"\\"), SLICE("\\\"\\\\"));
    check_escape(SLICE("\xc2\x9b"), SLICE("\\u{9b}"));
    check_escape(SLICE("x\xe2\x80\xaey"), SLICE("x\\u{202e}y"));
    check_escape(SLICE("\xef\xbb\xbf\xe2\x80\x8b"), SLICE("\\u{feff}\\u{200b}"));
    check_escape(SLICE("a\xff\xc3(\xe2\x82"), SLICE("a\\xff\\xc3(\\xe2\\x82"));
}

static void blanks_of_all_kinds_are_not_seen(void **state)
{
    static const char *const blanks[] = {"",
                                         " \t\r\n",
                                         "\xc2\xa0",
                                         "\xc2\xad",
                                         "\xe2\x80\x8b",
                                         "\xe3\x80\x80",
                                         "\xef\xbb\xbf",
                                         "\xe2\x81\xa0 ",
                                         "\xe2\xa0\x80",
                                         "\xe3\x85\xa4",
                                         "\xff\xfe",
                                         "\xf3\xa0\x81\x81"};
    static const char *const seen[] = {"x",    " \".\" ", "\\", "\xe2\x80\x8b!", "\xe5\x8e\x9f",
                                       "\xff-"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(blanks); i++) {
        assert_false(text_has_visible(slice_of_text(blanks[i])));
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        assert_true(text_has_visible(slice_of_text(seen[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_of_every_length_are_utf8),
        cmocka_unit_test(malformed_utf8_is_refused),
        cmocka_unit_test(every_code_is_told_from_its_bytes),
        cmocka_unit_test(numbers_are_read_up_to_their_limits),
        cmocka_unit_test(numbers_beyond_their_limits_are_refused_and_change_nothing),
        cmocka_unit_test(what_is_not_a_number_is_refused),
        cmocka_unit_test(only_ascii_letters_are_lowered),
        cmocka_unit_test(what_a_terminal_would_act_upon_is_escaped),
        cmocka_unit_test(blanks_of_all_kinds_are_not_seen),
    };
    return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
