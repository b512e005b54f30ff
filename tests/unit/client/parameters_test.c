/* SPDX-License-Identifier: MIT */
#include "client/parameters.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

static const struct client_parameter both[] = {{SLICE_INIT("id"), SLICE_INIT("o'b\\c")},
                                               {SLICE_INIT("t"), SLICE_INIT("a\"b`c")}};

static enum err put(bool is_mysql, const char *script, struct buf *out, struct error *error)
{
    const struct client_parameters parameters = {.items = both, .count = 2, .is_mysql = is_mysql};
    return client_parameters_put(&parameters, slice_of_text(script), out, error);
}

static void expect(bool is_mysql, const char *script, const char *wanted)
{
    struct error error = {.message = ""};
    struct buf out CLEANUP(buf_release);
    buf_init(&out, LIMIT_KIB(64));
    assert_int_equal(put(is_mysql, script, &out, &error), ERR_NONE);
    assert_int_equal(out.len, strlen(wanted));
    assert_memory_equal(buf_view(&out).at, wanted, out.len);
}

static void a_value_is_a_literal_and_a_name_is_quoted(void **state)
{
    (void)state;
    expect(false, "select :'id'::text, x from :\"t\" where y=:'id'",
           "select  E'o''b\\\\c'::text, x from \"a\"\"b`c\" where y= E'o''b\\\\c'");
    expect(true, "select :'id', :'t'", "select _utf8mb4 X'6f27625c63', _utf8mb4 X'6122626063'");
}

static void nothing_is_put_where_no_code_stands(void **state)
{
    (void)state;
    expect(false,
           "select ':\"t\"', E'\\':''id''', \":'id'\", $$:'id'$$, $a$:'id'$b$ $a$, 'a' -- :'id'\n"
           "/* :'id' /* */ :'id' */ , :'t', :'id'",
           "select ':\"t\"', E'\\':''id''', \":'id'\", $$:'id'$$, $a$:'id'$b$ $a$, 'a' -- :'id'\n"
           "/* :'id' /* */ :'id' */ , 'a\"b`c',  E'o''b\\\\c'");
    expect(true,
           "select `:'id'`, 'a'':\"t\"', \"\"\":'id'\\\\\", # :'id'\n 1 -- :'id'\n /* :'id' */, "
           ":'t', :'id'",
           "select `:'id'`, 'a'':\"t\"', \"\"\":'id'\\\\\", # :'id'\n 1 -- :'id'\n /* :'id' */, "
           "_utf8mb4 X'6122626063', _utf8mb4 X'6f27625c63'");
}

/* With NO_BACKSLASH_ESCAPES the first of these strings ends at its backslash. */
static void what_a_mode_of_mysql_decides_is_refused(void **state)
{
    static const char *const scripts[] = {
        "select '\\', :'id', :'t', '", "select \"\\\", :'id', :'t'",
        "select :'id', :'t', '\\\\\\''", "select :'id', :'t', 'it\\'s'"};
    struct error error = {.message = ""};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        struct buf out CLEANUP(buf_release);
        buf_init(&out, LIMIT_KIB(64));
        assert_int_equal(put(true, scripts[i], &out, &error), ERR_INPUT);
        assert_non_null(strstr(error.message, "sql_mode"));
    }
    expect(true, "select '\\\\', `a\\`, :'id', :'t', '\\n'",
           "select '\\\\', `a\\`, _utf8mb4 X'6f27625c63', _utf8mb4 X'6122626063', '\\n'");
}

static void a_slice_of_an_array_and_a_cast_stay(void **state)
{
    (void)state;
    expect(false, "select a[1:2], b::'x', :'id', :'t', '", /* and what does not end */
           "select a[1:2], b::'x',  E'o''b\\\\c', 'a\"b`c', '");
}

static void what_is_missing_or_too_much_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        const char *says;
    } cases[] = {
        {"select :'id'", "no :'t'"},
        {"select :'t', :\"id\", :'other'", "--param other=VALUE"},
        {"select '", "no :'id'"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error error = {.message = ""};
        struct buf out CLEANUP(buf_release);
        buf_init(&out, LIMIT_KIB(64));
        assert_int_equal(put(false, cases[i].script, &out, &error), ERR_INPUT);
        assert_non_null(strstr(error.message, cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_a_literal_and_a_name_is_quoted),
        cmocka_unit_test(nothing_is_put_where_no_code_stands),
        cmocka_unit_test(what_a_mode_of_mysql_decides_is_refused),
        cmocka_unit_test(a_slice_of_an_array_and_a_cast_stay),
        cmocka_unit_test(what_is_missing_or_too_much_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
