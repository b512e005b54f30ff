/* SPDX-License-Identifier: MIT */
#include "codec/json_writer.h"

#include "base/memory.h"
#include "base/text.h"

#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct buf written;

static struct json_writer start(void)
{
    buf_release(&written);
    buf_init(&written, 65536);
    return json_writer_to(&written);
}

static void check_is(const struct json_writer *json, const char *wanted)
{
    assert_int_equal(json_writer_done(json), ERR_NONE);
    assert_true(slice_equals(buf_view(&written), slice_of_text(wanted)));
}

static int release(void **state)
{
    (void)state;
    buf_release(&written);
    return 0;
}

static void commas_stand_between_members_and_items_only(void **state)
{
    (void)state;
    struct json_writer json = start();
    json_begin_object(&json);
    json_member_text(&json, "name", SLICE("a"));
    json_member_array(&json, "empty");
    json_end_array(&json);
    json_member_array(&json, "items");
    json_int(&json, 1);
    json_begin_object(&json);
    json_end_object(&json);
    json_bool(&json, true);
    json_no_value(&json);
    json_end_array(&json);
    json_member_object(&json, "more");
    json_member_bool(&json, "no", false);
    json_member_no_value(&json, "none");
    json_member_raw(&json, "raw", SLICE("[1, 2]"));
    json_member_int(&json, "low", INT64_MIN);
    json_member_int(&json, "high", INT64_MAX);
    json_member_timestamp(&json, "at", 0);
    json_end_object(&json);
    json_key_text(&json, SLICE("a\"b"));
    json_text(&json, SLICE("c"));
    json_end_object(&json);
    check_is(&json,
             "{\"name\":\"a\",\"empty\":[],\"items\":[1,{},true,null],\"more\":{\"no\":false,"
             "\"none\":null,\"raw\":[1, 2],\"low\":-9223372036854775808,"
             "\"high\":9223372036854775807,\"at\":\"1970-01-01T00:00:00.000000Z\"},"
             "\"a\\\"b\":\"c\"}");
}

static void an_object_that_has_ended_takes_one_more_member(void **state)
{
    (void)state;
    struct json_writer json = start();
    json_begin_object(&json);
    json_end_object(&json);
    for (int i = 0; i < 2; i++) {
        json_reopen_object(&json);
        json_member_int(&json, i == 0 ? "a" : "b", i);
        json_end_object(&json);
    }
    check_is(&json, "{\"a\":0,\"b\":1}");
}

static void a_document_may_be_a_single_value(void **state)
{
    (void)state;
    struct json_writer json = start();
    json_text(&json, SLICE_NONE);
    check_is(&json, "\"\"");
    json = start();
    json_no_value(&json);
    check_is(&json, "null");
}

static void text_is_escaped_where_it_must_be_and_utf8_is_kept(void **state)
{
    (void)state;
    struct json_writer json = start();
    json_text(&json, SLICE("\"\\/\b\f\n\r\t\x01\x1f\x7f\0 caf\xc3\xa9 \xf0\x9f\x94\x91"));
    check_is(&json, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\\u0000 caf\xc3\xa9 "
                    "\xf0\x9f\x94\x91\"");
}

static void bytes_that_are_not_utf8_become_replacement_characters(void **state)
{
    (void)state;
    struct json_writer json = start();
    json_text(&json, SLICE("a\xff\xc3(\xed\xa0\x80"));
    check_is(&json, "\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void every_byte_comes_back_through_a_parser(void **state)
{
    (void)state;
    for (unsigned int byte = 0; byte < 256; byte++) {
        char text[] = {'a', (char)byte, 'b'};
        struct slice slice = slice_of(text, sizeof(text));
        struct json_writer json = start();
        json_text(&json, slice);
        assert_int_equal(json_writer_done(&json), ERR_NONE);
        struct slice view = buf_view(&written);
        json_t *value = json_loadb(view.at, view.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(value);
        struct slice back = slice_of(json_string_value(value), json_string_length(value));
        assert_true(byte >= 0x80 || slice_equals(back, slice));
        json_decref(value);
    }
}

static void going_over_the_buffer_fails_for_good(void **state)
{
    (void)state;
    for (size_t size_max = 0; size_max < 14; size_max++) {
        struct buf small;
        buf_init(&small, size_max);
        struct json_writer json = json_writer_to(&small);
        json_begin_object(&json);
        json_member_text(&json, "a", SLICE("bcdef"));
        json_end_object(&json);
        assert_int_equal(json_writer_done(&json), size_max == 13 ? ERR_NONE : ERR_LIMIT);
        buf_release(&small);
    }
}

static void going_too_deep_fails_for_good(void **state)
{
    (void)state;
    for (size_t depth = LIMIT_JSON_DEPTH; depth <= LIMIT_JSON_DEPTH + 1; depth++) {
        struct json_writer json = start();
        for (size_t i = 0; i < depth; i++) {
            json_begin_array(&json);
        }
        json_int(&json, 1);
        for (size_t i = 0; i < depth; i++) {
            json_end_array(&json);
        }
        enum err wanted = depth > LIMIT_JSON_DEPTH ? ERR_LIMIT : ERR_NONE;
        assert_int_equal(json_writer_done(&json), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_stand_between_members_and_items_only),
        cmocka_unit_test(an_object_that_has_ended_takes_one_more_member),
        cmocka_unit_test(a_document_may_be_a_single_value),
        cmocka_unit_test(text_is_escaped_where_it_must_be_and_utf8_is_kept),
        cmocka_unit_test(bytes_that_are_not_utf8_become_replacement_characters),
        cmocka_unit_test(every_byte_comes_back_through_a_parser),
        cmocka_unit_test(going_over_the_buffer_fails_for_good),
        cmocka_unit_test(going_too_deep_fails_for_good),
    };
    return cmocka_run_group_tests_name("codec/json_writer", tests, NULL, release);
}
