/* SPDX-License-Identifier: MIT */
#include "wire/pgwire_copy.h"

#include "pgwire_help.h"

#include <string.h>

#define SIGNATURE "PGCOPY\n\377\r\n\0"

static struct pgwire_copy_format format_of(enum pgwire_copy_kind kind)
{
    struct pgwire_copy_format format;
    pgwire_copy_format_init(&format, kind);
    return format;
}

/* The fields of a row, between bars; "~" for NULL. */
static void check_fields(const struct pgwire_copy_format *format, struct slice row,
                         const char *expected)
{
    char got[256] = "";
    struct pgwire_copy_row walk = {.rest = row};
    struct pgwire_copy_field field;
    struct buf unescaped;
    size_t len = 0;
    buf_init(&unescaped, 1024);
    while (pgwire_copy_next(format, &walk, &unescaped, &field)) {
        struct slice value = field.value.at == NULL ? SLICE("~") : field.value;
        assert_true(len + value.len + 1 < sizeof(got));
        memcpy(got + len, value.at, value.len);
        len += value.len;
        got[len++] = '|';
    }
    assert_false(walk.is_over);
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(got, expected, len);
    buf_release(&unescaped);
}

static void text_fields_are_unescaped(void **state)
{
    struct pgwire_copy_format format = format_of(PGWIRE_COPY_TEXT);
    (void)state;
    check_fields(&format, SLICE("a\tb\t\\N\t"), "a|b|~||");
    check_fields(&format, SLICE(""), "|");
    check_fields(&format, SLICE("\\t\\n\\\\\t\\101\\x4a\\q\\"), "\t\n\\|AJq\\|");
    check_fields(&format, SLICE("a\\\tb"), "a\tb|");
    format.delimiter = ',';
    format.null_len = 0;
    check_fields(&format, SLICE("a,,\\N"), "a|~|N|");
}

static void csv_fields_are_unquoted(void **state)
{
    struct pgwire_copy_format format = format_of(PGWIRE_COPY_CSV);
    (void)state;
    check_fields(&format, SLICE("a,\"b,c\",,\"\",\"d\"\"e\""), "a|b,c|~||d\"e|");
    check_fields(&format, SLICE("a\"b,\"c"), "ab,c|");
    format.quote = '\'';
    format.escape = '\\';
    check_fields(&format, SLICE("'a\\'b,\\\\',c\\"), "a'b,\\|c\\|");
}

static void rows_end_outside_of_quotes(void **state)
{
    struct pgwire_copy_format format = format_of(PGWIRE_COPY_CSV);
    (void)state;
    static const char row[] = "a,\"b\n\"\"c\n\",d\n";
    for (size_t len = 0; len < sizeof(row) - 1; len++) {
        assert_int_equal(pgwire_copy_row_len(&format, slice_of(row, len)), 0);
    }
    assert_int_equal(pgwire_copy_row_len(&format, slice_of(row, sizeof(row) - 1)), sizeof(row) - 1);
    format = format_of(PGWIRE_COPY_TEXT);
    assert_int_equal(pgwire_copy_row_len(&format, SLICE("a\tb\nc")), 4);
}

static void fields_are_written_as_they_are_read(void **state)
{
    static const struct slice values[] = {
        SLICE_INIT("plain"),   SLICE_INIT(""),    SLICE_INIT("\t\n\r\b\f\v\\"),
        SLICE_INIT("a,b;\"'"), SLICE_INIT("\\N"), SLICE_INIT("\0x\xff"),
    };
    (void)state;
    for (int kind = PGWIRE_COPY_TEXT; kind <= PGWIRE_COPY_CSV; kind++) {
        struct pgwire_copy_format format = format_of((enum pgwire_copy_kind)kind);
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            struct buf buf;
            struct buf unescaped;
            struct pgwire_copy_field field;
            buf_init(&buf, 1024);
            buf_init(&unescaped, 1024);
            assert_int_equal(pgwire_copy_field_write(&format, values[i], &buf), ERR_NONE);
            struct pgwire_copy_row walk = {.rest = buf.len > 0 ? buf_view(&buf) : SLICE("")};
            assert_true(pgwire_copy_next(&format, &walk, &unescaped, &field));
            assert_true(slice_equals(field.value, values[i]));
            assert_false(pgwire_copy_next(&format, &walk, &unescaped, &field));
            buf_release(&buf);
            buf_release(&unescaped);
        }
    }
}

static void what_does_not_fit_is_not_written(void **state)
{
    struct pgwire_copy_format format = format_of(PGWIRE_COPY_TEXT);
    struct buf buf;
    (void)state;
    buf_init(&buf, 4);
    assert_int_equal(pgwire_copy_field_write(&format, SLICE("a\tbc"), &buf), ERR_LIMIT);
    assert_int_equal(buf.len, 0);
    buf_release(&buf);
}

static void every_prefix_of_a_binary_copy_needs_more(void **state)
{
    static const char header[] = SIGNATURE "\0\0\0\0\0\0\0\2xy";
    static const char row[] = "\0\2\xff\xff\xff\xff\0\0\0\1a";
    struct pgwire_copy_item item;
    (void)state;
    for (size_t len = 0; len < sizeof(header) - 1; len++) {
        assert_int_equal(pgwire_copy_binary_next(slice_of(header, len), false, &item), ERR_MORE);
    }
    assert_int_equal(pgwire_copy_binary_next(SLICE(SIGNATURE "\0\0\0\0\0\0\0\2xyz"), false, &item),
                     ERR_NONE);
    assert_int_equal(item.len, sizeof(header) - 1);
    assert_false(item.is_row);
    for (size_t len = 0; len < sizeof(row) - 1; len++) {
        assert_int_equal(pgwire_copy_binary_next(slice_of(row, len), true, &item), ERR_MORE);
    }
    assert_int_equal(pgwire_copy_binary_next(slice_of(row, sizeof(row) - 1), true, &item),
                     ERR_NONE);
    assert_true(item.is_row && item.count == 2 && item.len == sizeof(row) - 1);
    assert_int_equal(pgwire_copy_binary_next(SLICE("\xff\xff"), true, &item), ERR_NONE);
    assert_true(item.is_end && item.len == 2);
    assert_int_equal(pgwire_copy_binary_next(SLICE("\0\1\xff\xff\xff\xfe"), true, &item),
                     ERR_INPUT);
    assert_int_equal(pgwire_copy_binary_next(SLICE("PGX"), false, &item), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_fields_are_unescaped),
        cmocka_unit_test(csv_fields_are_unquoted),
        cmocka_unit_test(rows_end_outside_of_quotes),
        cmocka_unit_test(fields_are_written_as_they_are_read),
        cmocka_unit_test(what_does_not_fit_is_not_written),
        cmocka_unit_test(every_prefix_of_a_binary_copy_needs_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
