/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_aside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OK    "\x07\0\0\x01\0\0\0\x02\0\x03\0"
#define ERR   "\x0b\0\0\x01\xff\x28\x04#42000no"
#define COUNT "\x01\0\0\x01\x01"
#define COLUMN                                                                                     \
    "\x04\0\0\x02\x03"                                                                             \
    "def"
#define EOF_1 "\x05\0\0\x03\xfe\0\0\x02\0"
#define ROW_1                                                                                      \
    "\x02\0\0\x04\x01"                                                                             \
    "a"
#define ROW_2                                                                                      \
    "\x02\0\0\x05\x01"                                                                             \
    "b"
#define EOF_2   "\x05\0\0\x06\xfe\0\0\x02\0"
#define RESULT  COUNT COLUMN EOF_1 ROW_1 ROW_2 EOF_2
#define CLIENTS SLICE(OK)

struct rows {
    size_t count;
    char last;
};

static void on_row(void *owner, struct slice row)
{
    struct rows *rows = owner;
    assert_int_equal(row.len, 2);
    rows->count++;
    rows->last = row.at[1];
}

/* What is left of the bytes, which come in pieces. */
static size_t feed(struct mysql_aside *aside, struct slice bytes, size_t piece)
{
    struct error error;
    while (bytes.len > 0 && aside->is_asked) {
        struct slice part = slice_sub(bytes, 0, piece);
        size_t before = part.len;
        assert_int_equal(mysql_aside_take(aside, &part, &error), ERR_NONE);
        bytes = slice_from(bytes, before - part.len);
    }
    return bytes.len;
}

static void an_answer_leaves_what_is_the_clients(void **state)
{
    (void)state;
    struct slice bytes = SLICE(RESULT OK);
    struct mysql_aside aside;
    mysql_aside_init(&aside, 0);
    for (size_t piece = 1; piece <= bytes.len; piece++) {
        struct rows rows = {0};
        mysql_aside_ask(&aside, MYSQLWIRE_QUERY, on_row, &rows);
        assert_true(aside.is_asked);
        assert_int_equal(feed(&aside, bytes, piece), CLIENTS.len);
        assert_false(aside.is_asked);
        assert_false(aside.has_failed);
        assert_int_equal(rows.count, 2);
        assert_int_equal(rows.last, 'b');
        assert_int_equal(aside.body.capacity, 0);
    }
    mysql_aside_release(&aside);
}

static void an_error_is_kept_until_the_next_question(void **state)
{
    (void)state;
    struct mysql_aside aside;
    mysql_aside_init(&aside, 0);
    mysql_aside_ask(&aside, MYSQLWIRE_QUERY, NULL, NULL);
    assert_int_equal(feed(&aside, SLICE(ERR), SIZE_MAX), 0);
    assert_true(aside.has_failed);
    assert_int_equal(aside.error.len, 11);
    mysql_aside_ask(&aside, MYSQLWIRE_PING, NULL, NULL);
    assert_false(aside.has_failed);
    assert_int_equal(aside.error.len, 0);
    assert_int_equal(feed(&aside, SLICE(OK), 1), 0);
    assert_false(aside.has_failed);
    assert_int_equal(aside.warnings, 3);
    mysql_aside_release(&aside);
}

static void what_is_no_answer_fails(void **state)
{
    (void)state;
    static const struct slice wrong[] = {
        {"\0\0\0\x01", 4},         /* empty */
        {COUNT COLUMN COLUMN, 21}, /* a column too many */
        {"\x05\0\0\x01\xfb"
         "file",
         9},                     /* a file of the client's */
        {"\x02\0\0\x01\0\0", 6}, /* half of an OK */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct mysql_aside aside;
        struct error error;
        struct slice bytes = wrong[i];
        mysql_aside_init(&aside, 0);
        mysql_aside_ask(&aside, i == 0 ? MYSQLWIRE_PING : MYSQLWIRE_QUERY, NULL, NULL);
        assert_int_equal(mysql_aside_take(&aside, &bytes, &error), ERR_INPUT);
        mysql_aside_release(&aside);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_leaves_what_is_the_clients),
        cmocka_unit_test(an_error_is_kept_until_the_next_question),
        cmocka_unit_test(what_is_no_answer_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
