/* SPDX-License-Identifier: MIT */
#include "wire/mysqlwire_state.h"

#include "mysqlwire_help.h"

#define OK      SLICE("\0\0\0\x02\0\0\0")
#define OK_MORE SLICE("\0\0\0\x0a\0\0\0")
#define END     SLICE("\xfe\0\0\x02\0\0\0")
#define END_OLD SLICE("\xfe\0\0\x02\0")
#define CURSOR  SLICE("\xfe\0\0\x42\0")
#define ERR     SLICE("\xff\x28\x04#42000no")
#define TWO     SLICE("\x02")
#define COLUMN                                                                                     \
    SLICE("\x03"                                                                                   \
          "def")
#define TEXT_ROW                                                                                   \
    SLICE("\x01"                                                                                   \
          "a\x01"                                                                                  \
          "b")
#define ROW      SLICE("\0\0\x01\0\0\0")
#define PREPARED SLICE("\0\x01\0\0\0\x02\0\x01\0\0\0\0")

static struct mysqlwire_state state_with(uint32_t capabilities)
{
    struct mysqlwire_state state;
    mysqlwire_state_init(&state, capabilities, 0);
    return state;
}

static uint64_t ask(struct mysqlwire_state *state, uint8_t command)
{
    struct error error;
    uint64_t number = 0;
    assert_int_equal(mysqlwire_state_command(state, command, &number, &error), ERR_NONE);
    return number;
}

static enum err answer(struct mysqlwire_state *state, struct slice body, enum mysqlwire_kind *kind,
                       bool *is_last)
{
    struct error error;
    uint64_t number = 0;
    enum err err = mysqlwire_state_begin(
        state, (uint32_t)body.len, body.len == 0 ? 0 : (uint8_t)body.at[0], kind, &number, &error);
    return err == ERR_NONE ? mysqlwire_state_end(state, *kind, body, is_last, &error) : err;
}

static void expect(struct mysqlwire_state *state, struct slice body, enum mysqlwire_kind wanted,
                   bool is_last)
{
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_TEXT;
    enum mysqlwire_kind row = MYSQLWIRE_KIND_TEXT;
    bool was_last = false;
    /* Rows of cursors come without a result, and are told by their command. */
    bool is_row = (wanted == MYSQLWIRE_KIND_TEXT_ROW || wanted == MYSQLWIRE_KIND_BINARY_ROW) &&
                  state->phase == MYSQLWIRE_AT_ROWS;
    assert_int_equal(mysqlwire_state_is_row(state, body, &row), is_row);
    assert_int_equal(row, is_row ? wanted : MYSQLWIRE_KIND_TEXT);
    assert_int_equal(answer(state, body, &kind, &was_last), ERR_NONE);
    assert_int_equal(kind, wanted);
    assert_int_equal(was_last, is_last);
}

static void results_of_text(void **unused)
{
    (void)unused;
    struct mysqlwire_state state = state_with(MYSQLWIRE_DEPRECATE_EOF);
    ask(&state, MYSQLWIRE_QUERY);
    expect(&state, OK_MORE, MYSQLWIRE_KIND_OK, false);
    expect(&state, TWO, MYSQLWIRE_KIND_COLUMN_COUNT, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    expect(&state, TEXT_ROW, MYSQLWIRE_KIND_TEXT_ROW, false);
    expect(&state, END, MYSQLWIRE_KIND_OK, true);
    assert_int_equal(state.count, 0);
    state = state_with(0);
    ask(&state, MYSQLWIRE_QUERY);
    expect(&state, TWO, MYSQLWIRE_KIND_COLUMN_COUNT, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    expect(&state, END_OLD, MYSQLWIRE_KIND_BETWEEN, false);
    expect(&state, TEXT_ROW, MYSQLWIRE_KIND_TEXT_ROW, false);
    expect(&state, ERR, MYSQLWIRE_KIND_ERROR, true);
    ask(&state, MYSQLWIRE_QUERY);
    expect(&state, ERR, MYSQLWIRE_KIND_ERROR, true);
}

/* A row of more than 16 MiB begins as an end does. */
static void a_long_row_is_no_end(void **unused)
{
    (void)unused;
    struct mysqlwire_state state = state_with(MYSQLWIRE_DEPRECATE_EOF);
    struct error error;
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_OK;
    uint64_t number = 0;
    ask(&state, MYSQLWIRE_QUERY);
    expect(&state, SLICE("\x01"), MYSQLWIRE_KIND_COLUMN_COUNT, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    assert_int_equal(
        mysqlwire_state_begin(&state, MYSQLWIRE_PIECE_MAX, 0xfe, &kind, &number, &error), ERR_NONE);
    assert_int_equal(kind, MYSQLWIRE_KIND_TEXT_ROW);
    assert_int_equal(number, 1);
}

static void prepared_statements(void **unused)
{
    (void)unused;
    struct mysqlwire_state state = state_with(MYSQLWIRE_DEPRECATE_EOF);
    ask(&state, MYSQLWIRE_STMT_PREPARE);
    expect(&state, PREPARED, MYSQLWIRE_KIND_PREPARED, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_DESCRIBED, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_DESCRIBED, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_DESCRIBED, true);
    state = state_with(0);
    ask(&state, MYSQLWIRE_STMT_PREPARE);
    expect(&state, PREPARED, MYSQLWIRE_KIND_PREPARED, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_DESCRIBED, false);
    expect(&state, END_OLD, MYSQLWIRE_KIND_BETWEEN, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_DESCRIBED, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_DESCRIBED, false);
    expect(&state, END_OLD, MYSQLWIRE_KIND_BETWEEN, true);
    ask(&state, MYSQLWIRE_STMT_SEND_LONG_DATA);
    ask(&state, MYSQLWIRE_STMT_EXECUTE);
    expect(&state, TWO, MYSQLWIRE_KIND_COLUMN_COUNT, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    expect(&state, CURSOR, MYSQLWIRE_KIND_BETWEEN, true);
    ask(&state, MYSQLWIRE_STMT_FETCH);
    expect(&state, ROW, MYSQLWIRE_KIND_BINARY_ROW, false);
    expect(&state, END_OLD, MYSQLWIRE_KIND_EOF, true);
    ask(&state, MYSQLWIRE_STMT_CLOSE);
    assert_int_equal(state.count, 0);
}

static void other_answers(void **unused)
{
    (void)unused;
    struct mysqlwire_state state = state_with(0);
    ask(&state, MYSQLWIRE_PING);
    expect(&state, OK, MYSQLWIRE_KIND_OK, true);
    ask(&state, MYSQLWIRE_SET_OPTION);
    expect(&state, END_OLD, MYSQLWIRE_KIND_EOF, true);
    ask(&state, MYSQLWIRE_STATISTICS);
    expect(&state, SLICE("Uptime: 1"), MYSQLWIRE_KIND_TEXT, true);
    ask(&state, MYSQLWIRE_FIELD_LIST);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    expect(&state, END_OLD, MYSQLWIRE_KIND_EOF, true);
    expect(&state, ERR, MYSQLWIRE_KIND_ERROR, false); /* unasked: it goes */
}

static void answers_come_in_the_order_of_commands(void **unused)
{
    (void)unused;
    struct mysqlwire_state state = state_with(MYSQLWIRE_DEPRECATE_EOF);
    struct error error;
    uint64_t number = 0;
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_OK;
    bool is_last = false;
    uint64_t first = ask(&state, MYSQLWIRE_STMT_PREPARE);
    uint64_t second = ask(&state, MYSQLWIRE_STMT_EXECUTE);
    assert_true(second > first);
    expect(&state, ERR, MYSQLWIRE_KIND_ERROR, true);
    assert_int_equal(mysqlwire_state_current(&state)->number, second);
    expect(&state, OK, MYSQLWIRE_KIND_OK, true);
    for (size_t i = 0; i < LIMIT_MYSQLWIRE_OWED; i++) {
        ask(&state, MYSQLWIRE_PING);
    }
    assert_int_equal(mysqlwire_state_command(&state, MYSQLWIRE_PING, &number, &error), ERR_LIMIT);
    for (size_t i = 0; i < LIMIT_MYSQLWIRE_OWED; i++) {
        expect(&state, OK, MYSQLWIRE_KIND_OK, true);
    }
    assert_int_equal(answer(&state, OK, &kind, &is_last), ERR_INPUT);
}

static void a_file_is_the_clients_turn(void **unused)
{
    (void)unused;
    struct mysqlwire_state state = state_with(MYSQLWIRE_DEPRECATE_EOF | MYSQLWIRE_LOCAL_FILES);
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_OK;
    bool is_last = false;
    ask(&state, MYSQLWIRE_QUERY);
    expect(&state, SLICE("\xfb/tmp/x"), MYSQLWIRE_KIND_INFILE, false);
    assert_true(state.client_sends_file);
    mysqlwire_state_file_sent(&state);
    expect(&state, OK, MYSQLWIRE_KIND_OK, true);
    ask(&state, MYSQLWIRE_QUERY);
    ask(&state, MYSQLWIRE_PING); /* would be read as the file */
    assert_int_equal(answer(&state, SLICE("\xfb/tmp/x"), &kind, &is_last), ERR_INPUT);
    state = state_with(MYSQLWIRE_DEPRECATE_EOF);
    ask(&state, MYSQLWIRE_QUERY);
    assert_int_equal(answer(&state, SLICE("\xfb/tmp/x"), &kind, &is_last), ERR_INPUT);
}

static void what_is_out_of_place_fails(void **unused)
{
    (void)unused;
    struct error error;
    uint64_t number = 0;
    enum mysqlwire_kind kind = MYSQLWIRE_KIND_OK;
    bool is_last = false;
    struct mysqlwire_state state = state_with(0);
    static const uint8_t refused[] = {0x00,
                                      0x0b,
                                      MYSQLWIRE_CHANGE_USER,
                                      MYSQLWIRE_BINLOG_DUMP,
                                      MYSQLWIRE_TABLE_DUMP,
                                      0x14,
                                      MYSQLWIRE_REGISTER_SLAVE,
                                      0x1d,
                                      MYSQLWIRE_BINLOG_DUMP_GTID,
                                      MYSQLWIRE_CLONE,
                                      MYSQLWIRE_GROUP_STREAM,
                                      0x22,
                                      0xfa,
                                      0xff};
    for (size_t i = 0; i < sizeof(refused); i++) {
        assert_int_equal(mysqlwire_answers_of(refused[i]), MYSQLWIRE_NOT_SERVED);
        assert_int_equal(mysqlwire_state_command(&state, refused[i], &number, &error), ERR_INPUT);
    }
    ask(&state, MYSQLWIRE_STMT_EXECUTE);
    expect(&state, TWO, MYSQLWIRE_KIND_COLUMN_COUNT, false);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    assert_int_equal(answer(&state, END_OLD, &kind, &is_last), ERR_INPUT);
    expect(&state, COLUMN, MYSQLWIRE_KIND_COLUMN, false);
    assert_int_equal(answer(&state, COLUMN, &kind, &is_last), ERR_INPUT);
    expect(&state, END_OLD, MYSQLWIRE_KIND_BETWEEN, false);
    assert_int_equal(answer(&state, TEXT_ROW, &kind, &is_last), ERR_INPUT); /* no binary row */
    assert_int_equal(answer(&state, SLICE(""), &kind, &is_last), ERR_INPUT);
    state = state_with(0);
    ask(&state, MYSQLWIRE_PING);
    assert_int_equal(answer(&state, SLICE("\x01"), &kind, &is_last), ERR_INPUT);
    assert_int_equal(answer(&state, SLICE("\0\0"), &kind, &is_last), ERR_INPUT);
    ask(&state, MYSQLWIRE_QUIT);
    assert_int_equal(mysqlwire_state_command(&state, MYSQLWIRE_PING, &number, &error), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_of_text),
        cmocka_unit_test(a_long_row_is_no_end),
        cmocka_unit_test(prepared_statements),
        cmocka_unit_test(other_answers),
        cmocka_unit_test(answers_come_in_the_order_of_commands),
        cmocka_unit_test(a_file_is_the_clients_turn),
        cmocka_unit_test(what_is_out_of_place_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
