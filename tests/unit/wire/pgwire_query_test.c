/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_query.h"

#include "pgwire_help.h"

static enum err read_query(struct slice body)
{
    struct slice text;
    return pgwire_query_read(body, &text, NULL);
}

static enum err read_parse(struct slice body)
{
    struct pgwire_parse parse;
    return pgwire_parse_read(body, &parse, NULL);
}

static enum err read_bind(struct slice body)
{
    struct pgwire_bind bind;
    return pgwire_bind_read(body, &bind, NULL);
}

static enum err read_object(struct slice body)
{
    struct pgwire_object object;
    return pgwire_object_read(body, &object, NULL);
}

static enum err read_execute(struct slice body)
{
    struct pgwire_execute execute;
    return pgwire_execute_read(body, &execute, NULL);
}

static enum err read_call(struct slice body)
{
    struct pgwire_function_call call;
    return pgwire_function_call_read(body, &call, NULL);
}

static enum err read_copy_fail(struct slice body)
{
    struct slice reason;
    return pgwire_copy_fail_read(body, &reason, NULL);
}

static void every_prefix_of_a_message_is_refused(void **state)
{
    (void)state;
    check_prefixes(read_query, SLICE("select 1\0"), false);
    check_prefixes(read_parse, SLICE("s\0select $1\0\0\2\0\0\0\x17\0\0\0\0"), false);
    check_prefixes(read_bind,
                   SLICE("p\0s\0\0\2\0\0\0\1\0\2\0\0\0\1"
                         "7\xff\xff\xff\xff\0\1\0\1"),
                   false);
    check_prefixes(read_object, SLICE("Ss\0"), false);
    check_prefixes(read_object, SLICE("P\0"), false);
    check_prefixes(read_execute, SLICE("p\0\0\0\0\x64"), false);
    check_prefixes(read_call, SLICE("\0\0\3\xba\0\1\0\1\0\2\0\0\0\1x\xff\xff\xff\xff\0\1"), false);
    check_prefixes(read_copy_fail, SLICE("enough\0"), false);
}

static void a_parse_names_types(void **state)
{
    (void)state;
    struct pgwire_parse parse;
    struct slice body = SLICE("s\0select $1\0\0\2\0\0\0\x17\x80\0\0\1");
    assert_int_equal(pgwire_parse_read(body, &parse, NULL), ERR_NONE);
    assert_slice(parse.statement, "s");
    assert_slice(parse.text, "select $1");
    assert_int_equal(parse.types.count, 2);
    assert_int_equal(pgwire_oid_at(&parse.types, 0), 23);
    assert_int_equal(pgwire_oid_at(&parse.types, 1), 0x80000001);
    assert_int_equal(pgwire_oid_at(&parse.types, 2), 0);
}

static void a_bind_has_values_with_null_among_them(void **state)
{
    (void)state;
    struct pgwire_bind bind;
    struct slice value;
    struct slice body = SLICE("p\0s\0\0\1\0\1\0\3\0\0\0\2"
                              "4\0\xff\xff\xff\xff\0\0\0\0"
                              "\0\2\0\0\0\1");
    assert_int_equal(pgwire_bind_read(body, &bind, NULL), ERR_NONE);
    assert_slice(bind.portal, "p");
    assert_slice(bind.statement, "s");
    assert_int_equal(pgwire_format_of(&bind.formats, 2), PGWIRE_FORMAT_BINARY);
    assert_int_equal(bind.values.count, 3);
    assert_true(pgwire_value_next(&bind.values, &value));
    assert_bytes(value, "4\0");
    assert_true(pgwire_value_next(&bind.values, &value));
    assert_null(value.at);
    assert_true(pgwire_value_next(&bind.values, &value));
    assert_true(value.at != NULL && value.len == 0);
    assert_false(pgwire_value_next(&bind.values, &value));
    assert_int_equal(bind.result_formats.count, 2);
    assert_int_equal(pgwire_format_of(&bind.result_formats, 0), PGWIRE_FORMAT_TEXT);
    assert_int_equal(pgwire_format_of(&bind.result_formats, 1), PGWIRE_FORMAT_BINARY);
    struct pgwire_formats none = {0};
    assert_int_equal(pgwire_format_of(&none, 5), PGWIRE_FORMAT_TEXT);
}

static void messages_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_bind(SLICE("\0\0\0\2\0\0\0\0\0\1\xff\xff\xff\xff\0\0")), ERR_INPUT);
    assert_int_equal(read_bind(SLICE("\0\0\0\0\0\1\xff\xff\xff\xfe\0\0")), ERR_INPUT);
    assert_int_equal(read_bind(SLICE("\0\0\0\0\0\1\x7f\xff\xff\xff\0\0")), ERR_INPUT);
    assert_int_equal(read_bind(SLICE("\0\0\0\0\xff\xff\0\0")), ERR_INPUT);
    assert_int_equal(read_call(SLICE("\0\0\0\1\0\2\0\0\0\0\0\1\xff\xff\xff\xff\0\0")), ERR_INPUT);
    assert_int_equal(read_object(SLICE("Xs\0")), ERR_INPUT);
    assert_int_equal(read_object(SLICE("ps\0")), ERR_INPUT);
    assert_int_equal(read_query(SLICE("select 1\0; drop table t\0")), ERR_INPUT);
    assert_int_equal(read_parse(SLICE("\0\0\xff\xff\0\0\0\1")), ERR_INPUT);
    struct error error;
    struct slice text;
    assert_int_equal(pgwire_query_read(SLICE("password"), &text, &error), ERR_INPUT);
    assert_string_equal(error.message, "malformed query message");
}

static void what_is_written_is_as_the_manual_has_it(void **state)
{
    (void)state;
    struct buf buf;
    const struct slice values[] = {SLICE("7"), SLICE_NONE, SLICE("")};
    const struct pgwire_object statement = {PGWIRE_STATEMENT, SLICE("s")};
    const struct pgwire_object portal = {PGWIRE_PORTAL, SLICE("")};
    const struct pgwire_execute execute = {SLICE(""), 100};
    buf_init(&buf, 200);
    assert_int_equal(pgwire_query_write(&buf, SLICE("select 1")), ERR_NONE);
    assert_int_equal(pgwire_parse_write(&buf, SLICE("s"), SLICE("select")), ERR_NONE);
    assert_bytes(buf_view(&buf), "Q\0\0\0\x0dselect 1\0P\0\0\0\x0fs\0select\0\0\0");
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_bind_write(&buf, SLICE("s"), values, NULL, 3), ERR_NONE);
    assert_bytes(buf_view(&buf), "B\0\0\0\x1a\0s\0\0\0\0\3\0\0\0\1"
                                 "7\xff\xff\xff\xff\0\0\0\0\0\0");
    check_prefixes(read_bind, body_of(buf_view(&buf), PGWIRE_FROM_CLIENT, 'B'), false);
    buf_truncate(&buf, 0);
    const uint32_t types[] = {23, 0};
    const bool are_binary[] = {true, false};
    assert_int_equal(pgwire_parse_typed_write(&buf, SLICE(""), SLICE("x"), types, 2), ERR_NONE);
    assert_int_equal(pgwire_bind_write(&buf, SLICE(""), values, are_binary, 2), ERR_NONE);
    assert_bytes(buf_view(&buf), "P\0\0\0\x11\0x\0\0\2\0\0\0\x17\0\0\0\0"
                                 "B\0\0\0\x19\0\0\0\2\0\1\0\0\0\2\0\0\0\1"
                                 "7\xff\xff\xff\xff\0\0");
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_describe_write(&buf, &portal), ERR_NONE);
    assert_int_equal(pgwire_execute_write(&buf, &execute), ERR_NONE);
    assert_int_equal(pgwire_close_write(&buf, &statement), ERR_NONE);
    assert_bytes(buf_view(&buf), "D\0\0\0\6P\0E\0\0\0\x09\0\0\0\0\x64"
                                 "C\0\0\0\7Ss\0");
    buf_truncate(&buf, 0);
    assert_int_equal(pgwire_sync_write(&buf), ERR_NONE);
    assert_int_equal(pgwire_flush_write(&buf), ERR_NONE);
    assert_int_equal(pgwire_terminate_write(&buf), ERR_NONE);
    assert_int_equal(pgwire_copy_fail_write(&buf, SLICE("no")), ERR_NONE);
    assert_bytes(buf_view(&buf), "S\0\0\0\4H\0\0\0\4X\0\0\0\4f\0\0\0\7no\0");
    buf_release(&buf);
}

static void a_text_with_nul_inside_is_refused(void **state)
{
    (void)state;
    static struct slice values[UINT16_MAX + 1];
    struct buf buf;
    struct slice nul = SLICE("select 1\0; drop table t");
    const struct pgwire_object object = {PGWIRE_STATEMENT, nul};
    const struct pgwire_execute execute = {nul, 0};
    buf_init(&buf, LIMIT_MIB(1));
    assert_int_equal(pgwire_query_write(&buf, nul), ERR_INPUT);
    assert_int_equal(pgwire_parse_write(&buf, nul, SLICE("")), ERR_INPUT);
    assert_int_equal(pgwire_parse_write(&buf, SLICE(""), nul), ERR_INPUT);
    assert_int_equal(pgwire_bind_write(&buf, nul, NULL, NULL, 0), ERR_INPUT);
    assert_int_equal(pgwire_bind_write(&buf, SLICE(""), values, NULL, COUNT_OF(values)), ERR_INPUT);
    assert_int_equal(pgwire_describe_write(&buf, &object), ERR_INPUT);
    assert_int_equal(pgwire_execute_write(&buf, &execute), ERR_INPUT);
    assert_int_equal(pgwire_copy_fail_write(&buf, nul), ERR_INPUT);
    /* Only texts end with NUL: values may hold it. */
    assert_int_equal(pgwire_bind_write(&buf, SLICE(""), &nul, NULL, 1), ERR_NONE);
    buf_release(&buf);
    buf_init(&buf, 8);
    assert_int_equal(pgwire_query_write(&buf, SLICE("select 1")), ERR_LIMIT);
    assert_int_equal(buf_view(&buf).len, 0);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_of_a_message_is_refused),
        cmocka_unit_test(a_parse_names_types),
        cmocka_unit_test(a_bind_has_values_with_null_among_them),
        cmocka_unit_test(messages_that_contradict_themselves_are_refused),
        cmocka_unit_test(what_is_written_is_as_the_manual_has_it),
        cmocka_unit_test(a_text_with_nul_inside_is_refused),
    };
    return cmocka_run_group_tests_name("wire/pgwire_query", tests, NULL, NULL);
}
