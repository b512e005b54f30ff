/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_value.h"

#include "mysqlwire_help.h"

struct value_case {
    uint8_t type;
    bool is_unsigned;
    struct slice bytes;
    const char *text;
};

static const struct value_case cases[] = {
    {MYSQLWIRE_TYPE_TINY, false, SLICE_INIT("\x80"), "-128"},
    {MYSQLWIRE_TYPE_TINY, true, SLICE_INIT("\x80"), "128"},
    {MYSQLWIRE_TYPE_SHORT, false, SLICE_INIT("\xff\xff"), "-1"},
    {MYSQLWIRE_TYPE_YEAR, true, SLICE_INIT("\xe8\x07"), "2024"},
    {MYSQLWIRE_TYPE_LONG, false, SLICE_INIT("\0\0\0\x80"), "-2147483648"},
    {MYSQLWIRE_TYPE_INT24, false, SLICE_INIT("\x01\0\0\0"), "1"},
    {MYSQLWIRE_TYPE_LONGLONG, false, SLICE_INIT("\0\0\0\0\0\0\0\x80"), "-9223372036854775808"},
    {MYSQLWIRE_TYPE_LONGLONG, true, SLICE_INIT("\xff\xff\xff\xff\xff\xff\xff\xff"),
     "18446744073709551615"},
    {MYSQLWIRE_TYPE_FLOAT, false, SLICE_INIT("\x33\x33\x23\x41"), "10.2"},
    {MYSQLWIRE_TYPE_DOUBLE, false, SLICE_INIT("\x9a\x99\x99\x99\x99\x99\xb9\x3f"), "0.1"},
    {MYSQLWIRE_TYPE_DATE, false, SLICE_INIT("\x04\xe8\x07\x02\x1d"), "2024-02-29"},
    {MYSQLWIRE_TYPE_DATE, false, SLICE_INIT("\0"), "0000-00-00"},
    {MYSQLWIRE_TYPE_DATETIME, false, SLICE_INIT("\x04\xe8\x07\x02\x1d"), "2024-02-29 00:00:00"},
    {MYSQLWIRE_TYPE_TIMESTAMP, false, SLICE_INIT("\x0b\xe8\x07\x02\x1d\x01\x02\x03\x40\xe2\x01\0"),
     "2024-02-29 01:02:03.123456"},
    {MYSQLWIRE_TYPE_TIME, false, SLICE_INIT("\x08\x01\x04\0\0\0\x05\x02\x03"), "-101:02:03"},
    {MYSQLWIRE_TYPE_TIME, false, SLICE_INIT("\0"), "00:00:00"},
    {246, false,
     SLICE_INIT("\x05"
                "12.50"),
     "12.50"},
    {253, false, SLICE_INIT("\0"), ""},
    {252, false, SLICE_INIT("\x02\0\xff"), "\0\xff"},
};

static void binary_values_are_told_as_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf scratch;
        char *memory = NULL;
        struct mysqlwire_value_type type = {.type = cases[i].type,
                                            .is_unsigned = cases[i].is_unsigned};
        buf_init(&scratch, 256);
        struct reader reader = reader_of(exact_copy(cases[i].bytes, &memory));
        struct slice text = mysqlwire_binary_value_read(&reader, type, &scratch);
        assert_int_equal(reader_done(&reader), ERR_NONE);
        size_t len = cases[i].type == 252 ? 2 : strlen(cases[i].text);
        assert_true(slice_equals(text, slice_of(cases[i].text, len)));
        memory_free(memory);
        for (size_t cut = 0; cut < cases[i].bytes.len; cut++) {
            reader = reader_of(exact_copy(slice_sub(cases[i].bytes, 0, cut), &memory));
            (void)mysqlwire_binary_value_read(&reader, type, &scratch);
            assert_true(reader.failed);
            memory_free(memory);
        }
        buf_release(&scratch);
    }
}

static void values_of_text_may_be_null_or_cut(void **state)
{
    (void)state;
    struct reader reader = reader_of(SLICE("\xfb\x02"
                                           "ab\x05"
                                           "cu"));
    assert_null(mysqlwire_text_value_read(&reader).at);
    assert_slice(mysqlwire_text_value_read(&reader), "ab");
    assert_false(reader.failed);
    assert_slice(mysqlwire_text_value_read(&reader), "cu");
    assert_true(reader.failed);
}

static void the_values_of_a_statement(void **state)
{
    (void)state;
    struct mysqlwire_execute execute;
    struct error error;
    struct slice body = SLICE("\x07\0\0\0\x01\x01\0\0\0\x02\x01\x03\x80\xfd\x00\x2a\0\0\0");
    assert_int_equal(mysqlwire_execute_read(body, 2, &execute, &error), ERR_NONE);
    assert_int_equal(execute.statement_id, 7);
    assert_int_equal(execute.flags, 1);
    assert_false(mysqlwire_bit(execute.nulls, 0));
    assert_true(mysqlwire_bit(execute.nulls, 1));
    assert_false(mysqlwire_bit(execute.nulls, 800));
    assert_int_equal(mysqlwire_parameter_type(&execute, 0).type, MYSQLWIRE_TYPE_LONG);
    assert_true(mysqlwire_parameter_type(&execute, 0).is_unsigned);
    assert_int_equal(mysqlwire_parameter_type(&execute, 1).type, 253);
    assert_int_equal(execute.values.len, 4);
    for (size_t len = 0; len < body.len - 4; len++) {
        assert_int_equal(mysqlwire_execute_read(slice_sub(body, 0, len), 2, &execute, &error),
                         ERR_INPUT);
    }
    assert_int_equal(mysqlwire_execute_read(slice_sub(body, 0, 9), 0, &execute, &error), ERR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_values_are_told_as_text),
        cmocka_unit_test(values_of_text_may_be_null_or_cut),
        cmocka_unit_test(the_values_of_a_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
