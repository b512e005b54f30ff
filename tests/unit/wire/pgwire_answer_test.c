/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_answer.h"

#include "pgwire_help.h"

static enum err read_fields(struct slice body)
{
    struct pgwire_fields fields;
    return pgwire_row_description_read(body, &fields, NULL);
}

static enum err read_row(struct slice body)
{
    struct pgwire_values columns;
    return pgwire_row_read(body, &columns, NULL);
}

static enum err read_types(struct slice body)
{
    struct pgwire_oids types;
    return pgwire_parameter_description_read(body, &types, NULL);
}

static enum err read_result(struct slice body)
{
    struct slice value;
    return pgwire_function_result_read(body, &value, NULL);
}

static enum err read_completion(struct slice body)
{
    struct pgwire_completion completion;
    return pgwire_completion_read(body, &completion, NULL);
}

static enum err read_ready(struct slice body)
{
    enum pgwire_transaction transaction;
    return pgwire_ready_read(body, &transaction, NULL);
}

static enum err read_copy(struct slice body)
{
    struct pgwire_copy copy;
    return pgwire_copy_read(body, &copy, NULL);
}

static enum err read_notification(struct slice body)
{
    struct pgwire_notification notification;
    return pgwire_notification_read(body, &notification, NULL);
}

static enum err read_notice(struct slice body)
{
    struct slice fields;
    return pgwire_notice_read(body, &fields, NULL);
}

#define FIELD_A "a\0\0\0\1\2\0\3\0\0\0\x17\0\4\xff\xff\xff\xff\0\0"
#define FIELD_B "\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\0\0\0\7\0\1"

static void every_prefix_of_a_message_is_refused(void **state)
{
    (void)state;
    check_prefixes(read_fields, SLICE("\0\2" FIELD_A FIELD_B), false);
    check_prefixes(read_fields, SLICE("\0\0"), false);
    check_prefixes(read_row,
                   SLICE("\0\3\0\0\0\2"
                         "ab\xff\xff\xff\xff\0\0\0\0"),
                   false);
    check_prefixes(read_types, SLICE("\0\2\0\0\0\1\0\0\0\2"), false);
    check_prefixes(read_result, SLICE("\0\0\0\2ab"), false);
    check_prefixes(read_result, SLICE("\xff\xff\xff\xff"), false);
    check_prefixes(read_completion, SLICE("SELECT 1\0"), false);
    check_prefixes(read_ready, SLICE("T"), false);
    check_prefixes(read_copy, SLICE("\1\0\2\0\1\0\1"), false);
    check_prefixes(read_notification, SLICE("\0\0\0\1x\0hello\0"), false);
    check_prefixes(read_notice, SLICE("SERROR\0C42601\0Msyntax\0\0"), false);
}

static void fields_of_a_row_are_described(void **state)
{
    (void)state;
    struct pgwire_fields fields;
    struct pgwire_field field;
    assert_int_equal(pgwire_row_description_read(SLICE("\0\2" FIELD_A FIELD_B), &fields, NULL),
                     ERR_NONE);
    assert_int_equal(fields.count, 2);
    assert_true(pgwire_field_next(&fields, &field));
    assert_slice(field.name, "a");
    assert_int_equal(field.table, 0x102);
    assert_int_equal(field.column, 3);
    assert_int_equal(field.type, 23);
    assert_int_equal(field.type_size, 4);
    assert_int_equal(field.type_modifier, -1);
    assert_int_equal(field.format, PGWIRE_FORMAT_TEXT);
    assert_true(pgwire_field_next(&fields, &field));
    assert_slice(field.name, "");
    assert_int_equal(field.type_size, -1);
    assert_int_equal(field.type_modifier, 7);
    assert_int_equal(field.format, PGWIRE_FORMAT_BINARY);
    assert_false(pgwire_field_next(&fields, &field));
}

static void columns_of_a_row_are_walked(void **state)
{
    (void)state;
    struct pgwire_values columns;
    struct slice value;
    struct slice body = SLICE("\0\3\0\0\0\2"
                              "ab\xff\xff\xff\xff\0\0\0\0");
    assert_int_equal(pgwire_row_read(body, &columns, NULL), ERR_NONE);
    struct pgwire_values again = columns;
    assert_true(pgwire_value_next(&columns, &value));
    assert_slice(value, "ab");
    assert_true(pgwire_value_next(&columns, &value));
    assert_null(value.at);
    assert_true(pgwire_value_next(&columns, &value));
    assert_true(value.at != NULL && value.len == 0);
    assert_false(pgwire_value_next(&columns, &value));
    assert_int_equal(again.count, 3);
    assert_int_equal(read_row(SLICE("\0\1\x80\0\0\0")), ERR_INPUT);
    assert_int_equal(read_row(SLICE("\0\1\xff\xff\xff\xfe")), ERR_INPUT);
}

static void completions_count_rows(void **state)
{
    (void)state;
    static const struct {
        struct slice body;
        const char *command;
        bool has_row_count;
        uint64_t row_count;
    } cases[] = {
        {SLICE_INIT("INSERT 0 5\0"), "INSERT", true, 5},
        {SLICE_INIT("SELECT 3\0"), "SELECT", true, 3},
        {SLICE_INIT("COPY 7\0"), "COPY", true, 7},
        {SLICE_INIT("DELETE 0\0"), "DELETE", true, 0},
        {SLICE_INIT("FETCH 18446744073709551615\0"), "FETCH", true, UINT64_MAX},
        {SLICE_INIT("FETCH 18446744073709551616\0"), "FETCH 18446744073709551616", false, 0},
        {SLICE_INIT("CREATE TABLE\0"), "CREATE TABLE", false, 0},
        {SLICE_INIT("BEGIN\0"), "BEGIN", false, 0},
        {SLICE_INIT("REFRESH MATERIALIZED VIEW 12\0"), "REFRESH MATERIALIZED VIEW", true, 12},
        {SLICE_INIT("\0"), "", false, 0},
        {SLICE_INIT("5\0"), "5", false, 0},
        {SLICE_INIT("SELECT -1\0"), "SELECT -1", false, 0},
        {SLICE_INIT("SELECT \0"), "SELECT ", false, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pgwire_completion got;
        assert_int_equal(pgwire_completion_read(cases[i].body, &got, NULL), ERR_NONE);
        assert_int_equal(got.tag.len, cases[i].body.len - 1);
        assert_slice(got.command, cases[i].command);
        assert_int_equal(got.has_row_count, cases[i].has_row_count);
        assert_true(got.row_count == cases[i].row_count);
    }
}

static void transactions_have_three_states(void **state)
{
    (void)state;
    for (unsigned byte = 0; byte < 256; byte++) {
        char status = (char)byte;
        bool is_status = byte == 'I' || byte == 'T' || byte == 'E';
        assert_int_equal(read_ready(slice_of(&status, 1)), is_status ? ERR_NONE : ERR_INPUT);
    }
    struct buf buf;
    buf_init(&buf, 6);
    assert_int_equal(pgwire_ready_write(&buf, PGWIRE_FAILED_TRANSACTION), ERR_NONE);
    assert_bytes(buf_view(&buf), "Z\0\0\0\5E");
    buf_release(&buf);
}

static void copies_have_formats(void **state)
{
    (void)state;
    struct pgwire_copy copy;
    assert_int_equal(pgwire_copy_read(SLICE("\1\0\2\0\1\0\1"), &copy, NULL), ERR_NONE);
    assert_true(copy.is_binary);
    assert_int_equal(copy.formats.count, 2);
    assert_int_equal(read_copy(SLICE("\0\0\0")), ERR_NONE);
    assert_int_equal(read_copy(SLICE("\2\0\0")), ERR_INPUT);
}

static void a_notification_has_a_channel_and_a_payload(void **state)
{
    (void)state;
    struct pgwire_notification got;
    assert_int_equal(pgwire_notification_read(SLICE("\0\0\1\0x\0hello\0"), &got, NULL), ERR_NONE);
    assert_int_equal(got.process, 256);
    assert_slice(got.channel, "x");
    assert_slice(got.payload, "hello");
}

static void errors_have_fields(void **state)
{
    (void)state;
    struct slice fields;
    struct pgwire_notice_field field;
    struct slice body = SLICE("SFEHLER\0VERROR\0C42601\0Mno\0H\0qwhat is this\0\0");
    assert_int_equal(pgwire_notice_read(body, &fields, NULL), ERR_NONE);
    assert_slice(pgwire_notice_find(fields, PGWIRE_FIELD_SEVERITY_PLAIN), "ERROR");
    assert_slice(pgwire_notice_find(fields, PGWIRE_FIELD_SQLSTATE), "42601");
    assert_slice(pgwire_notice_find(fields, 'q'), "what is this");
    assert_null(pgwire_notice_find(fields, PGWIRE_FIELD_DETAIL).at);
    size_t count = 0;
    while (pgwire_notice_next(&fields, &field)) {
        count++;
    }
    assert_int_equal(count, 6);
    assert_int_equal(read_notice(SLICE("\0")), ERR_NONE);
    assert_int_equal(read_notice(SLICE("")), ERR_INPUT);
    assert_int_equal(read_notice(SLICE("S\0")), ERR_INPUT);
}

static void errors_are_written_with_what_clients_expect(void **state)
{
    (void)state;
    struct buf buf;
    struct pgwire_notice error = {SLICE("ERROR"), SLICE("42501"), SLICE("denied"), SLICE_NONE,
                                  SLICE("ask")};
    buf_init(&buf, 100);
    assert_int_equal(pgwire_error_write(&buf, &error), ERR_NONE);
    assert_bytes(buf_view(&buf), "E\0\0\0\x27SERROR\0VERROR\0C42501\0Mdenied\0Hask\0\0");
    check_prefixes(read_notice, body_of(buf_view(&buf), PGWIRE_FROM_SERVER, 'E'), false);
    buf_truncate(&buf, 0);
    error.detail = SLICE("why");
    assert_int_equal(pgwire_notice_write(&buf, &error), ERR_NONE);
    struct slice body = body_of(buf_view(&buf), PGWIRE_FROM_SERVER, 'N');
    assert_slice(pgwire_notice_find(body, PGWIRE_FIELD_DETAIL), "why");
    buf_truncate(&buf, 0);
    error.message = SLICE("denied\0Hgo on");
    assert_int_equal(pgwire_error_write(&buf, &error), ERR_INPUT);
    error.message = SLICE("denied");
    error.sqlstate = SLICE("4250");
    assert_int_equal(pgwire_error_write(&buf, &error), ERR_INPUT);
    error.sqlstate = SLICE("4250a");
    assert_int_equal(pgwire_error_write(&buf, &error), ERR_INPUT);
    assert_int_equal(buf_view(&buf).len, 0);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_of_a_message_is_refused),
        cmocka_unit_test(fields_of_a_row_are_described),
        cmocka_unit_test(columns_of_a_row_are_walked),
        cmocka_unit_test(completions_count_rows),
        cmocka_unit_test(transactions_have_three_states),
        cmocka_unit_test(copies_have_formats),
        cmocka_unit_test(a_notification_has_a_channel_and_a_payload),
        cmocka_unit_test(errors_have_fields),
        cmocka_unit_test(errors_are_written_with_what_clients_expect),
    };
    return cmocka_run_group_tests_name("wire/pgwire_answer", tests, NULL, NULL);
}
