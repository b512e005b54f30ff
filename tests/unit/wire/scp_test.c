/* SPDX-License-Identifier: MIT */
#include "wire/scp.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    struct slice bytes;
    struct scp_line line;
} lines[] = {
    {SLICE_INIT("\0"), {.kind = SCP_OK}},
    {SLICE_INIT("\1scp: a: not there\n"),
     {.kind = SCP_WARNING, .text = SLICE_INIT("scp: a: not there")}},
    {SLICE_INIT("\2\n"), {.kind = SCP_FATAL, .text = SLICE_INIT("")}},
    {SLICE_INIT("C0644 12345678901 a file\n"),
     {.kind = SCP_FILE, .mode = 0644, .size = UINT64_C(12345678901), .name = SLICE_INIT("a file")}},
    {SLICE_INIT("D0755 0 dir\n"), {.kind = SCP_FOLDER, .mode = 0755, .name = SLICE_INIT("dir")}},
    {SLICE_INIT("E\n"), {.kind = SCP_END}},
    {SLICE_INIT("T1700000000 0 1700000001 0\n"),
     {.kind = SCP_TIMES, .modified = 1700000000, .accessed = 1700000001}},
};

static void each_line_is_read_and_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        const struct scp_line *wanted = &lines[i].line;
        struct scp_line line;
        struct buf buf;
        size_t taken = 0;
        buf_init(&buf, LIMIT_KIB(1));
        for (size_t len = 0; len < lines[i].bytes.len; len++) {
            assert_int_equal(scp_line_read(slice_sub(lines[i].bytes, 0, len), &taken, &line),
                             ERR_MORE);
        }
        assert_int_equal(scp_line_read(lines[i].bytes, &taken, &line), ERR_NONE);
        assert_int_equal(taken, lines[i].bytes.len);
        assert_int_equal(line.kind, wanted->kind);
        assert_int_equal(line.mode, wanted->mode);
        assert_int_equal(line.size, wanted->size);
        assert_int_equal(line.modified, wanted->modified);
        assert_int_equal(line.accessed, wanted->accessed);
        assert_true(slice_equals(line.name, wanted->name));
        assert_true(slice_equals(line.text, wanted->text));
        assert_int_equal(scp_line_write(&buf, &line), ERR_NONE);
        assert_true(slice_equals(buf_view(&buf), lines[i].bytes));
        buf_release(&buf);
    }
}

static void what_is_no_line_is_refused(void **state)
{
    static const struct slice bad[] = {
        SLICE_INIT("X\n"),
        SLICE_INIT("Ex\n"),
        SLICE_INIT("C644 1 a\n"),
        SLICE_INIT("C0688 1 a\n"),
        SLICE_INIT("C0644 -1 a\n"),
        SLICE_INIT("C0644 18446744073709551615 a\n"),
        SLICE_INIT("C0644 1 \n"),
        SLICE_INIT("C0644 1\n"),
        SLICE_INIT("C0644 1 .\n"),
        SLICE_INIT("C0644 1 ..\n"),
        SLICE_INIT("C0644 1 a/b\n"),
        SLICE_INIT("C0644 1 a\0b\n"),
        SLICE_INIT("D0755 0 ../x\n"),
        SLICE_INIT("T1 0 1\n"),
        SLICE_INIT("T1 0 1 0 0\n"),
        SLICE_INIT("Tx 0 1 0\n"),
        SLICE_INIT("hello\n"),
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct scp_line line;
        size_t taken = 0;
        assert_int_equal(scp_line_read(bad[i], &taken, &line), ERR_INPUT);
    }
}

static void a_line_has_a_longest_size(void **state)
{
    struct scp_line line;
    struct buf buf;
    char *at = NULL;
    size_t taken = 0;
    (void)state;
    buf_init(&buf, LIMIT_SCP_LINE_SIZE * 2);
    assert_int_equal(buf_append(&buf, SLICE("C0644 1 ")), ERR_NONE);
    assert_int_equal(buf_reserve(&buf, LIMIT_SCP_LINE_SIZE, &at), ERR_NONE);
    memset(at, 'a', LIMIT_SCP_LINE_SIZE);
    buf_commit(&buf, LIMIT_SCP_LINE_SIZE);
    assert_int_equal(scp_line_read(buf_view(&buf), &taken, &line), ERR_LIMIT);
    buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_is_read_and_written),
        cmocka_unit_test(what_is_no_line_is_refused),
        cmocka_unit_test(a_line_has_a_longest_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
