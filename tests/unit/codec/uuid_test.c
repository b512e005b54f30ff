/* SPDX-License-Identifier: MIT */
#include "codec/uuid.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const unsigned char ones[UUID_RANDOM_SIZE] = {0xff, 0xff, 0xff, 0xff, 0xff,
                                                     0xff, 0xff, 0xff, 0xff, 0xff};
static const unsigned char zeros[UUID_RANDOM_SIZE];

static void the_written_form_goes_both_ways(void **state)
{
    (void)state;
    unsigned char bytes[UUID_SIZE];
    char text[UUID_TEXT_SIZE];
    struct slice upper = SLICE("F81D4FAE-7dec-11d0-A765-00a0c91e6bf6");
    assert_int_equal(uuid_parse(upper, bytes), ERR_NONE);
    assert_int_equal(bytes[0], 0xf8);
    assert_int_equal(bytes[4], 0x7d);
    assert_int_equal(bytes[15], 0xf6);
    assert_true(
        slice_equals(uuid_format(bytes, text), SLICE("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")));
}

static void other_forms_are_refused(void **state)
{
    (void)state;
    static const struct slice refused[] = {
        SLICE_INIT(""),
        SLICE_INIT("f81d4fae7dec11d0a76500a0c91e6bf6"),
        SLICE_INIT("f81d4fae7dec11d0a76500a0c91e6bf60000"),
        SLICE_INIT("{81d4fae-7dec-11d0-a765-00a0c91e6bf}"),
        SLICE_INIT("{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}"),
        SLICE_INIT("f81d4fae-7dec-11d0-a765-00a0c91e6bf"),
        SLICE_INIT("f81d4fae-7dec-11d0-a765-00a0c91e6bf60"),
        SLICE_INIT("f81d4fae-7dec-11d0-a765-00a0c91e6bg6"),
        SLICE_INIT("f81d4fa-e7dec-11d0-a765-00a0c91e6bf6"),
        SLICE_INIT("f81d4fae-7dec-11d0-a765_00a0c91e6bf6"),
        SLICE_INIT("f81d4fae-7dec-11d0-a765-00a0c91e6bf\0"),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        unsigned char bytes[UUID_SIZE];
        assert_int_equal(uuid_parse(refused[i], bytes), ERR_INPUT);
    }
}

static void version_7_begins_with_the_milliseconds(void **state)
{
    (void)state;
    /* The moment of RFC 9562, appendix A.6: 2022-02-22T19:22:22Z. */
    int64_t moment = INT64_C(1645557742000) * 1000;
    char text[UUID_TEXT_SIZE];
    assert_true(slice_equals(uuid_make_v7(moment, zeros, text),
                             SLICE("017f22e2-79b0-7000-8000-000000000000")));
    assert_true(slice_equals(uuid_make_v7(moment + 999, ones, text),
                             SLICE("017f22e2-79b0-7fff-bfff-ffffffffffff")));
}

static void version_7_sorts_by_time(void **state)
{
    (void)state;
    char earlier[UUID_TEXT_SIZE];
    char later[UUID_TEXT_SIZE];
    assert_true(slice_compare(uuid_make_v7(1000, ones, earlier), uuid_make_v7(2000, zeros, later)) <
                0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_written_form_goes_both_ways),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(version_7_begins_with_the_milliseconds),
        cmocka_unit_test(version_7_sorts_by_time),
    };
    return cmocka_run_group_tests_name("codec/uuid", tests, NULL, NULL);
}
