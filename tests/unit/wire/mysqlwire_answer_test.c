/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_answer.h"

#include "mysqlwire_help.h"

static void check_ok(uint32_t capabilities, const struct mysqlwire_ok *ok)
{
    struct mysqlwire_ok read;
    struct error error;
    struct buf buf;
    buf_init(&buf, 512);
    assert_int_equal(mysqlwire_ok_write(&buf, 4, capabilities, ok), ERR_NONE);
    struct slice body = body_of(&buf, 4);
    assert_int_equal(mysqlwire_ok_read(body, capabilities, &read, &error), ERR_NONE);
    assert_int_equal(read.affected_rows, ok->affected_rows);
    assert_int_equal(read.insert_id, ok->insert_id);
    assert_int_equal(read.status, ok->status);
    assert_int_equal(read.warnings, ok->warnings);
    assert_true(slice_equals(read.info, ok->info));
    bool has_changes = (capabilities & MYSQLWIRE_SESSION_TRACK) != 0 &&
                       (ok->status & MYSQLWIRE_STATUS_STATE_CHANGED) != 0;
    assert_true(slice_equals(read.state_changes, has_changes ? ok->state_changes : SLICE("")));
    for (size_t len = 0; len < 7; len++) {
        assert_int_equal(mysqlwire_ok_read(slice_sub(body, 0, len), capabilities, &read, &error),
                         ERR_INPUT);
    }
    buf_release(&buf);
}

static void an_ok_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct mysqlwire_ok ok = {.affected_rows = 300,
                              .insert_id = UINT64_MAX,
                              .status = MYSQLWIRE_STATUS_IN_TRANSACTION,
                              .warnings = 2,
                              .info = SLICE("Rows matched: 1"),
                              .state_changes = SLICE("\x01\x03\x02"
                                                     "db")};
    check_ok(0, &ok);
    check_ok(MYSQLWIRE_SESSION_TRACK, &ok);
    ok.status |= MYSQLWIRE_STATUS_STATE_CHANGED;
    check_ok(MYSQLWIRE_SESSION_TRACK, &ok);
    ok.info = SLICE("");
    check_ok(MYSQLWIRE_SESSION_TRACK, &ok);
}

static void the_end_of_rows_has_two_forms(void **state)
{
    (void)state;
    struct mysqlwire_ok ok;
    struct error error;
    struct slice old = SLICE("\xfe\x05\x00\x08\x00");
    assert_int_equal(mysqlwire_ok_read(old, 0, &ok, &error), ERR_NONE);
    assert_int_equal(ok.warnings, 5);
    assert_int_equal(ok.status, MYSQLWIRE_STATUS_MORE_RESULTS);
    struct slice newer = SLICE("\xfe\x00\x00\x22\x00\x01\x00");
    assert_int_equal(mysqlwire_ok_read(newer, MYSQLWIRE_DEPRECATE_EOF, &ok, &error), ERR_NONE);
    assert_int_equal(ok.status, 0x22);
    assert_int_equal(ok.warnings, 1);
    assert_int_equal(mysqlwire_ok_read(SLICE("\x01\x00\x00\x22\x00\x01\x00"), 0, &ok, &error),
                     ERR_INPUT);
}

static void an_error_may_lack_its_state(void **state)
{
    (void)state;
    struct mysqlwire_error read;
    struct error error;
    struct buf buf;
    const struct mysqlwire_error told = {
        .number = 1045, .state = SLICE("28000"), .message = SLICE("Access denied")};
    buf_init(&buf, 512);
    assert_int_equal(mysqlwire_error_write(&buf, 1, &told), ERR_NONE);
    assert_int_equal(mysqlwire_error_read(body_of(&buf, 1), &read, &error), ERR_NONE);
    assert_int_equal(read.number, 1045);
    assert_slice(read.state, "28000");
    assert_slice(read.message, "Access denied");
    assert_int_equal(mysqlwire_error_read(SLICE("\xff\x10\x04Too many"), &read, &error), ERR_NONE);
    assert_int_equal(read.number, 1040);
    assert_int_equal(read.state.len, 0);
    assert_slice(read.message, "Too many");
    assert_int_equal(mysqlwire_error_read(SLICE("\xff\x10"), &read, &error), ERR_INPUT);
    assert_int_equal(mysqlwire_error_read(SLICE("\x00\x10\x04"), &read, &error), ERR_INPUT);
    buf_release(&buf);
}

static void heads_of_results_and_statements(void **state)
{
    (void)state;
    struct mysqlwire_prepared prepared;
    struct error error;
    struct slice name;
    uint64_t count = 0;
    struct slice body = SLICE("\0\x07\0\0\0\x02\0\x01\0\0\0\0");
    assert_int_equal(mysqlwire_prepared_read(body, &prepared, &error), ERR_NONE);
    assert_int_equal(prepared.id, 7);
    assert_int_equal(prepared.column_count, 2);
    assert_int_equal(prepared.parameter_count, 1);
    for (size_t len = 0; len < body.len; len++) {
        assert_int_equal(mysqlwire_prepared_read(slice_sub(body, 0, len), &prepared, &error),
                         ERR_INPUT);
    }
    assert_int_equal(mysqlwire_column_count_read(SLICE("\xfc\x00\x10"), &count, &error), ERR_NONE);
    assert_int_equal(count, 4096);
    static const struct slice none[] = {SLICE_INIT(""), SLICE_INIT("\0"), SLICE_INIT("\xfc\x01"),
                                        SLICE_INIT("\x01\x01"), SLICE_INIT("\xfd\x00\x00\x01")};
    for (size_t i = 0; i < COUNT_OF(none); i++) {
        assert_int_equal(mysqlwire_column_count_read(none[i], &count, &error), ERR_INPUT);
    }
    assert_int_equal(mysqlwire_infile_read(SLICE("\xfb/tmp/x"), &name, &error), ERR_NONE);
    assert_slice(name, "/tmp/x");
    assert_int_equal(mysqlwire_infile_read(SLICE("\xfb"), &name, &error), ERR_INPUT);
}

static enum err read_column(struct slice body)
{
    struct mysqlwire_column column;
    struct error error;
    return mysqlwire_column_read(body, &column, &error);
}

static void a_column_says_where_it_comes_from(void **state)
{
    (void)state;
    struct mysqlwire_column column;
    struct error error;
    struct slice body = SLICE("\x03"
                              "def\x02"
                              "db\x01t\x05"
                              "table\x01"
                              "a\x02id\x0c\x3f\x00\x0b\x00\x00\x00\x03\x21\x00\x00\x00\x00");
    assert_int_equal(mysqlwire_column_read(body, &column, &error), ERR_NONE);
    assert_slice(column.schema, "db");
    assert_slice(column.table, "t");
    assert_slice(column.original_table, "table");
    assert_slice(column.name, "a");
    assert_slice(column.original_name, "id");
    assert_int_equal(column.charset, MYSQLWIRE_BINARY_CHARSET);
    assert_int_equal(column.type, 3);
    assert_int_equal(column.flags & MYSQLWIRE_COLUMN_UNSIGNED, MYSQLWIRE_COLUMN_UNSIGNED);
    check_prefixes(read_column, body, body.len - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ok_is_read_as_it_was_written),
        cmocka_unit_test(the_end_of_rows_has_two_forms),
        cmocka_unit_test(an_error_may_lack_its_state),
        cmocka_unit_test(heads_of_results_and_statements),
        cmocka_unit_test(a_column_says_where_it_comes_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
