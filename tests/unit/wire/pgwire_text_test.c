/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_text.h"

#include "pgwire_help.h"

/* As the server sends it, and as it writes it. */
static const struct {
    uint32_t type;
    struct slice value;
    const char *text;
} cases[] = {
    {21, SLICE_INIT("\xff\xfe"), "-2"},
    {23, SLICE_INIT("\x07\x5b\xcd\x15"), "123456789"},
    {26, SLICE_INIT("\xff\xff\xff\xff"), "4294967295"},
    {20, SLICE_INIT("\x00\x0e\x9b\x08\xa5\x68\xf1\xc7"), "4111111111111111"},
    {701, SLICE_INIT("\x40\x09\x21\xfb\x54\x44\x2d\x18"), "3.141592653589793"},
    {701, SLICE_INIT("\x43\x2d\x36\x11\x4a\xd1\xe3\x8e"), "4111111111111111"},
    {701, SLICE_INIT("\x3f\xd3\x33\x33\x33\x33\x33\x34"), "0.30000000000000004"},
    {700, SLICE_INIT("\x7f\x80\x00\x00"), "inf"},
    {700, SLICE_INIT("\x3d\xcc\xcc\xcd"), "0.1"}, /* no digits that the server would not write */
    {700, SLICE_INIT("\x7f\xc0\x00\x00"), "nan"},
    {27, SLICE_INIT("\0\0\0\3\0\4"), "(3,4)"},
    {22, SLICE_INIT("\0\0\0\1\0\0\0\0\0\0\0\x15\0\0\0\2\0\0\0\0\0\0\0\2\0\1\0\0\0\2\xff\xfe"),
     "1 -2"},
    {30, SLICE_INIT("\0\0\0\1\0\0\0\0\0\0\0\x1a\0\0\0\1\0\0\0\0\0\0\0\4\xff\xff\xff\xff"),
     "4294967295"},
    {30, SLICE_INIT("\0\0\0\0\0\0\0\0\0\0\0\x1a"), ""},
    {5038, SLICE_INIT("\0\0\0\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\5"), "4:9:5"},
    {2970, SLICE_INIT("\0\0\0\0\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0\4"), "4:4:"},
    {790, SLICE_INIT("\xff\xff\xff\xff\xff\xff\xff\x85"), "-1.23"},
    /* 4111 1111 1111 1111 .00; 0.0012; 10000; NaN */
    {1700, SLICE_INIT("\0\4\0\3\0\0\0\2\x10\x0f\x04\x57\x04\x57\x04\x57"), "4111111111111111"},
    {1700, SLICE_INIT("\0\1\xff\xff\x40\0\0\4\0\x0c"), "-0.0012"},
    {1700, SLICE_INIT("\0\1\0\1\0\0\0\0\0\1"), "10000"},
    {1700, SLICE_INIT("\0\0\0\0\xc0\0\0\0"), "NaN"},
    {1082, SLICE_INIT("\xff\xff\xea\x38"), "1984-09-25"},
    {1082, SLICE_INIT("\x7f\xff\xff\xff"), "infinity"},
    {1114, SLICE_INIT("\x00\x02\xb3\x71\x1a\x38\x60\x80"), "2024-02-03 04:05:06"},
    {1083, SLICE_INIT("\x00\x00\x00\x03\x6c\x8b\xc0\x80"), "04:05:06"},
    {2950, SLICE_INIT("\x12\x3e\x45\x67\xe8\x9b\x12\xd3\xa4\x56\x42\x66\x14\x17\x40\x00"),
     "123e4567-e89b-12d3-a456-426614174000"},
    {869, SLICE_INIT("\2\x20\0\4\xc0\0\2\1"), "192.0.2.1"},
    {650, SLICE_INIT("\2\x18\1\4\xc0\0\2\0"), "192.0.2.0/24"},
    {869, SLICE_INIT("\3\x80\0\x10\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"), "2001:db8:0:0:0:0:0:1"},
    {829, SLICE_INIT("\x08\0\x2b\1\2\3"), "08:00:2b:01:02:03"},
    {1560, SLICE_INIT("\0\0\0\x0a\xa5\x40"), "1010010101"},
    {3614, SLICE_INIT("\0\0\0\2a@b.c\0\0\1\0\1x\0\0\0"), "'a@b.c' 'x'"},
    {3615, SLICE_INIT("\0\0\0\3\2\2\1\0\0a\0\1\0\0b\0"), " 'a' 'b'"},
    {3926, SLICE_INIT("\2\0\0\0\x08\0\0\0\0\0\0\0\5\0\0\0\x08\0\0\0\0\0\0\0\x09"), "[5,9)"},
    {3904, SLICE_INIT("\1"), "empty"},
    {3904, SLICE_INIT("\x18"), "(,)"},
    {4451, SLICE_INIT("\0\0\0\1\0\0\0\x11\2\0\0\0\4\0\0\0\5\0\0\0\4\0\0\0\x09"), "{[5,9)}"},
};

static void each_value_has_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf buf;
        char *memory = NULL;
        buf_init(&buf, LIMIT_KIB(1));
        struct slice value = exact_copy(cases[i].value, &memory);
        assert_int_equal(pgwire_text_write(cases[i].type, value, &buf), ERR_NONE);
        if (!slice_equals(buf_view(&buf), slice_of_text(cases[i].text))) {
            fail_msg("'%.*s' is not '%s'", (int)buf.len, buf_view(&buf).at, cases[i].text);
        }
        memory_free(memory);
        buf_release(&buf);
    }
}

/* A prefix may be a value of its own, and then has a text of its own. */
static void no_prefix_is_read_beyond_its_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (size_t len = 0; len < cases[i].value.len; len++) {
            struct buf buf;
            char *memory = NULL;
            buf_init(&buf, LIMIT_KIB(1));
            struct slice value = exact_copy(slice_sub(cases[i].value, 0, len), &memory);
            enum err err = pgwire_text_write(cases[i].type, value, &buf);
            assert_true(err == ERR_INPUT || err == ERR_NONE);
            assert_true(err == ERR_NONE || buf.len == 0);
            memory_free(memory);
            buf_release(&buf);
        }
    }
}

static void a_text_that_has_no_room_is_not_begun(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 4);
    assert_int_equal(pgwire_text_write(23, SLICE("\x07\x5b\xcd\x15"), &buf), ERR_LIMIT);
    assert_int_equal(buf.len, 0);
    buf_release(&buf);
}

static void what_has_no_known_type_is_read_by_its_size(void **state)
{
    (void)state;
    static const char bytes[20] = "";
    static const struct {
        size_t size;
        const char *types;
    } guesses[] = {{0, ""},
                   {1, ""},
                   {2, "21 "},
                   {4, "23 1082 "},
                   {6, "829 "},
                   {8, "20 701 1114 869 1700 "},
                   {16, "1700 2950 3614 3615 "}};
    for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
        char types[64] = "";
        size_t index = 0;
        uint32_t type = 0;
        while (pgwire_text_guess(slice_of(bytes, guesses[i].size), &index, &type)) {
            size_t len = strlen(types);
            assert_true(snprintf(types + len, sizeof(types) - len, "%u ", type) > 0);
        }
        assert_string_equal(types, guesses[i].types);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_has_its_text),
        cmocka_unit_test(no_prefix_is_read_beyond_its_end),
        cmocka_unit_test(a_text_that_has_no_room_is_not_begun),
        cmocka_unit_test(what_has_no_known_type_is_read_by_its_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
