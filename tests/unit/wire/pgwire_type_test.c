/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_type.h"

#include "wire/pgwire_value.h"

#include "pgwire_help.h"

static void kinds_are_those_of_the_catalog(void **state)
{
    (void)state;
    assert_int_equal(pgwire_type_kind_of(25), PGWIRE_TYPE_TEXT);
    assert_int_equal(pgwire_type_kind_of(1043), PGWIRE_TYPE_TEXT);
    assert_int_equal(pgwire_type_kind_of(23), PGWIRE_TYPE_NUMBER);
    assert_int_equal(pgwire_type_kind_of(16), PGWIRE_TYPE_NONE);
    assert_int_equal(pgwire_type_kind_of(5069), PGWIRE_TYPE_NUMBER);
    assert_int_equal(pgwire_type_kind_of(1016), PGWIRE_TYPE_ARRAY);
    assert_int_equal(pgwire_type_item_of(1016), 20);
    assert_int_equal(pgwire_type_kind_of(4536), PGWIRE_TYPE_MULTIRANGE);
    assert_int_equal(pgwire_type_item_of(4536), 3926);
    assert_int_equal(pgwire_type_item_of(3926), 20);
    assert_int_equal(pgwire_type_item_of(25), 0);
    assert_int_equal(pgwire_type_kind_of(3802), PGWIRE_TYPE_JSONB);
    assert_int_equal(pgwire_type_kind_of(1009), PGWIRE_TYPE_ARRAY);
    assert_int_equal(pgwire_type_kind_of(2249), PGWIRE_TYPE_RECORD);
    assert_int_equal(pgwire_type_kind_of(0), PGWIRE_TYPE_UNKNOWN);
    assert_int_equal(pgwire_type_kind_of(3614), PGWIRE_TYPE_OTHER);
    assert_int_equal(pgwire_type_kind_of(16384 + 25), PGWIRE_TYPE_UNKNOWN);
    assert_int_equal(pgwire_type_kind_of(UINT32_MAX), PGWIRE_TYPE_UNKNOWN);
}

static void no_prefix_is_an_array_or_a_composite(void **state)
{
    static const char array[] =
        "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\1a\xff\xff\xff\xff";
    static const char record[] = "\0\0\0\2\0\0\0\x19\0\0\0\1a\0\0\0\x17\xff\xff\xff\xff";
    struct pgwire_array items;
    struct pgwire_record fields;
    struct slice value;
    uint32_t type;
    (void)state;
    for (size_t len = 0; len < sizeof(array) - 1; len++) {
        assert_false(pgwire_array_read(slice_of(array, len), &items));
    }
    assert_false(pgwire_array_read(slice_of(array, sizeof(array)), &items));
    assert_true(pgwire_array_read(slice_of(array, sizeof(array) - 1), &items));
    assert_true(items.count == 2 && items.type == 25 && items.header.len == 20);
    for (size_t len = 0; len < sizeof(record) - 1; len++) {
        assert_false(pgwire_record_read(slice_of(record, len), &fields));
    }
    assert_true(pgwire_record_read(slice_of(record, sizeof(record) - 1), &fields));
    assert_true(pgwire_record_next(&fields, &type, &value));
    assert_true(type == 25 && slice_equals(value, SLICE("a")));
    assert_true(pgwire_record_next(&fields, &type, &value));
    assert_true(type == 23 && value.at == NULL);
    assert_false(pgwire_record_next(&fields, &type, &value));
}

static void counts_that_lie_are_refused(void **state)
{
    struct pgwire_array items;
    struct pgwire_record fields;
    (void)state;
    assert_false(pgwire_array_read(SLICE("\0\0\0\2\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\0\0\0\1"
                                         "\xff\xff\xff\xff\0\0\0\1"),
                                   &items));
    assert_false(pgwire_array_read(SLICE("\xff\xff\xff\xff\0\0\0\0\0\0\0\x19"), &items));
    assert_false(pgwire_record_read(SLICE("\xff\xff\xff\xff"), &fields));
    assert_false(pgwire_record_read(SLICE("\0\0\0\1\0\0\0\x19\xff\xff\xff\xfe"), &fields));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_those_of_the_catalog),
        cmocka_unit_test(no_prefix_is_an_array_or_a_composite),
        cmocka_unit_test(counts_that_lie_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
