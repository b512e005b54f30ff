/* SPDX-License-Identifier: MIT */
#include "shapes.h"
#include "summary.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "sql/sql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;
static struct buf found;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena);
    buf_init(&found, LIMIT_MIB(4));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    buf_release(&found);
    return 0;
}

static struct sql_script analyze(struct slice text)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    return sql_analyze(&arena, &settings, text);
}

static void assert_found(const char *text, const char *expected)
{
    struct sql_script script = analyze(slice_of_text(text));
    buf_truncate(&found, 0);
    summary_write(&found, &script, false);
    if (!slice_equals(buf_view(&found), slice_of_text(expected))) {
        print_error("%s\nexpected: %s\nfound:    %.*s\n", text, expected,
                    SLICE_ARG(buf_view(&found)));
        fail();
    }
}

static bool has_operation(const char *text, enum sql_operation operation)
{
    struct sql_script script = analyze(slice_of_text(text));
    for (size_t i = 0; i < script.count; i++) {
        if ((script.statements[i].operations & SQL_BIT(operation)) != 0) {
            return true;
        }
    }
    return false;
}

static void assert_unknown(const char *text, const char *why)
{
    struct sql_script script = analyze(slice_of_text(text));
    assert_int_equal(script.count, 1);
    assert_true(script.statements[0].is_unknown);
    assert_string_equal(script.statements[0].why, why);
}

static void a_tight_text_has_no_more_than_single_blanks(void **state)
{
    (void)state;
    static const char *const tight[] = {"", "a", "select 'a  b', \"c\n\", $$ -- $$ from t;select 1",
                                        "select E'\\'  --'", "select 1 - -1 / 2"};
    static const char *const others[] = {" a",           "a ",
                                         "a\nb",         "a  b",
                                         "a/**/b",       "a --",
                                         "select 1 -- ", "select 'a'\n'b'",
                                         "select\t1",    "select 1;  select 2",
                                         "select 'a",    "/**/",
                                         "a;\n",         "select /* */ 1"};
    for (size_t i = 0; i < sizeof(tight) / sizeof(tight[0]); i++) {
        struct sql_script script = analyze(slice_of_text(tight[i]));
        assert_true(script.is_cut && script.gap_count == 0);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct sql_script script = analyze(slice_of_text(others[i]));
        assert_false(script.is_cut && script.gap_count == 0);
    }
}

static void no_way_hides_a_delete(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "delete from t",
        "DeLeTe/**/FROM/**/t",
        "/* a /* b */ c */ delete -- d\n from t",
        "-- x\rdelete from t",
        "select 1; delete from t",
        "with x as (delete from t returning *) select * from x",
        "with a as (select 1), x as not materialized (delete from t) select * from a",
        "with x as (with y as (delete from t) select 1) select 1",
        "insert into u with x as (delete from t returning *) select * from x",
        "merge into t using u on true when matched then delete",
        ("merge into t using u on case when a then b end when matched and case when c then d end "
         "then delete"),
        "copy (delete from t returning *) to stdout",
        "explain analyze delete from t",
        "explain (verbose, analyze) delete from t",
        "explain (\"analyze\" on, costs off) delete from t",
        "prepare p as delete from t",
        "prepare p(int) as with x as (delete from t) select 1",
        "create rule r as on insert to u do also delete from t",
        "create function f() returns int begin atomic delete from t; select 1; end",
        "select e'\\''; delete from t; --'",
        "select $$'$$; delete from t; --'",
        "select $a$ $$ $a$; delete from t; --$$",
        "select 'a' 'b'; delete from t",
        "select E'a' -- b\n '\\''; delete from t; --'",
        "select \"a;\"\"b\"; delete from t",
        "select u&'\\0027'; delete from t",
        "select 1 as delete; delete from t",
        "select 1 select; delete from t",
        "begin; delete from t; commit",
        "select a$b$c; delete from t; select d$b$e",
        "select b'1'; delete from t",
        "\xef\xbb\xbf; delete from t",
        "delete from t where current of c",
        "explain analyze verbose with x as (select 1) delete from t",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (!has_operation(texts[i], SQL_DELETE)) {
            print_error("%s\n", texts[i]);
            fail();
        }
    }
}

static void words_that_do_nothing_are_not_taken_for_deeds(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "select has_table_privilege('t', 'delete') as delete, 1 as update, 2 insert from t",
        "select delete, t.delete, update(1), \"delete\", 'delete from t' from delete, merge",
        "select $$delete from t$$, e'\\'; delete from t', u&'\\0027; delete from t' from t",
        "select /* delete from t */ 1 -- delete from t\n from t",
        "select 1 from t where action in ('delete', 'update') for update of t",
        "explain delete from t",
        "explain (analyze off) delete from t",
        "explain (analyze, analyze 0) delete from t",
        "with delete as (select 1), update (insert) as (select 2) select * from delete, update",
        "select a into_ from t order by delete",
        "select x'00', b'1', 1.5e10, $1, a::delete from t",
        "select a$$b from t; select c$$d from t",
        "grant_ me",
        "set search_path to delete",
        "savepoint delete",
    };
    const uint64_t deeds = SQL_BIT(SQL_DELETE) | SQL_BIT(SQL_UPDATE) | SQL_BIT(SQL_INSERT) |
                           SQL_BIT(SQL_MERGE) | SQL_BIT(SQL_CREATE);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct sql_script script = analyze(slice_of_text(texts[i]));
        for (size_t k = 0; k < script.count; k++) {
            if ((script.statements[k].operations & deeds) != 0) {
                print_error("%s\n", texts[i]);
                fail();
            }
        }
    }
}

static void what_is_not_in_the_text_is_unknown(void **state)
{
    (void)state;
    assert_unknown("execute p", "what was prepared is not in the text");
    assert_unknown("create table t as execute p", "what was prepared is not in the text");
    assert_unknown("explain analyze execute p", "what was prepared is not in the text");
    assert_unknown("prepare p as explain select 1", "an EXPLAIN inside of another statement");
    assert_unknown("explain explain delete from t", "an EXPLAIN inside of another statement");
    assert_unknown("call p()", "what a procedure does is not in the text");
    assert_unknown("do $$ x $$", "what a block of code does is not known");
    assert_unknown("exec sp_who", "not a statement of PostgreSQL");
    assert_unknown("\\c other", "a character that PostgreSQL does not know");
    assert_unknown("select (1", "parentheses do not match");
    assert_unknown("select 1)", "parentheses do not match");
    assert_unknown("select (1]", "parentheses do not match");
    assert_unknown("with x as (delete from t)", "a query breaks off");
    assert_unknown("delete t", "a verb that no table follows");
    assert_unknown("create thing t", "not something that PostgreSQL creates");
    assert_unknown("delete from U&\"\\d800\"", "an escape in a quoted name is not one");
    assert_unknown("delete from U&\"x\" uescape '+'", "UESCAPE has no escape character");
    assert_unknown("select \"", "a quoted name does not end");
    assert_unknown("select /* /* */", "a comment does not end");
    assert_unknown("select $a$ $b$", "a dollar-quoted string does not end");
    assert_unknown("select \"\"", "a quoted name is empty");
    assert_unknown("select 1 \xff", "the text is not UTF-8");
    struct sql_script script = analyze(SLICE("select 1\0; delete from t"));
    assert_int_equal(script.count, 1);
    assert_string_equal(script.statements[0].why, "there is a NUL in the text");
}

static void names_are_those_that_servers_compare(void **state)
{
    (void)state;
    assert_found("delete from Db.SchemA.Tab", "delete schema.tab:+delete -where");
    assert_found("delete from \"T\"\"x\".\"Y\"", "delete T\"x.Y:+delete -where");
    assert_found("delete from U&\"d\\0061t\\+000061\"", "delete data:+delete -where");
    assert_found("delete from U&\"d!0061ta\" UESCAPE '!'", "delete data:+delete -where");
    assert_found("delete from U&\"\\d83d\\de00\\\\\"", "delete \xf0\x9f\x98\x80\\:+delete -where");
    assert_found("truncate \xc3\x84rger", "truncate \xc3\x84rger:+truncate");
    /* 64 bytes and more are cut to 63, between characters. */
    assert_found("truncate a234567890123456789012345678901234567890123456789012345678901234",
                 "truncate a23456789012345678901234567890123456789012345678901234567890123:+"
                 "truncate");
    assert_found("truncate a2345678901234567890123456789012345678901234567890123456789012\xc3\xa4",
                 "truncate a2345678901234567890123456789012345678901234567890123456789012:+"
                 "truncate");
}

static void texts_are_split_where_servers_split_them(void **state)
{
    (void)state;
    assert_found("", "");
    assert_found(" ;; -- x\n ; /* y */", "");
    assert_found("select 1;;table t;", "select\nselect t:r");
    struct sql_script script = analyze(SLICE("  select 1 ; /* x */ table  t -- y\n;"));
    assert_int_equal(script.count, 2);
    assert_int_equal(script.statements[0].offset, 2);
    assert_int_equal(script.statements[0].len, 8);
    assert_int_equal(script.statements[1].offset, 21);
    assert_int_equal(script.statements[1].len, 8);
    script =
        analyze(SLICE("create rule r as on insert to t do (delete from a; delete from b); end"));
    assert_int_equal(script.count, 2);
    script = analyze(SLICE("create or replace procedure p() begin atomic select case when a then b "
                           "end; delete from t; end; select 2"));
    assert_int_equal(script.count, 2);
    script = analyze(SLICE("begin; create function f(begin atomic) returns int return 1; end"));
    assert_int_equal(script.count, 3);
    /* A number or a parameter ends before '$', a name goes on. */
    assert_int_equal(analyze(SLICE("select $1$a$; delete from t $a$")).count, 1);
    assert_int_equal(analyze(SLICE("select 1$a$; delete from t $a$")).count, 1);
    assert_int_equal(analyze(SLICE("select a$a$; delete from t")).count, 2);
}

static void gaps_are_told_where_they_are(void **state)
{
    (void)state;
    struct sql_script script = analyze(SLICE(" a  b/**/c 'd'\n'e' f --g\n; h "));
    static const struct sql_gap gaps[] = {{0, 1}, {2, 2}, {5, 4}, {14, 1}, {20, 5}, {28, 1}};
    assert_true(script.is_cut);
    assert_int_equal(script.gap_count, COUNT_OF(gaps));
    for (size_t i = 0; i < COUNT_OF(gaps); i++) {
        assert_int_equal(script.gaps[i].offset, gaps[i].offset);
        assert_int_equal(script.gaps[i].len, gaps[i].len);
    }
    assert_false(analyze(SLICE("a  'b")).is_cut);
    assert_false(analyze(SLICE("a  /*b")).is_cut);
    assert_false(analyze(SLICE("a\xff")).is_cut);
}

/* What was found before, and each name behind: a rule about reading does not end where we do. */
static void what_was_found_is_kept_of_what_is_not_understood(void **state)
{
    (void)state;
    assert_found("select * from t; select * from u where a = 'x",
                 "select t:r\nother *:r ? a string does not end");
    assert_found("select * from t, h.s where a = '\xe4'",
                 "select t:r h.s:r ? the text is not UTF-8");
    assert_found("select * from \"\xe4\"", "select \xe4:r *:r ? the text is not UTF-8");
    assert_found("table t; table \"\xe4\"",
                 "select t:r\nselect \xe4:r *:r ? the text is not UTF-8");
    const struct shape_of_text odd = {"select * from \"\xe4\"", ",t#"};
    for (size_t size = 40; size < 200; size++) { /* also where all room is taken */
        assert_true(analyze(shape_fill(&arena, &odd, size)).statements[0].is_unknown);
    }
    assert_found("table t;\x1d",
                 "select t:r\nother *:r ? a character that PostgreSQL does not know");
    assert_int_equal(analyze(SLICE("table t;\x1d")).statements[1].offset, 7);
    assert_found("frobnicate h.s with f(1)", "other h.s:r f:r f() ? not a statement of PostgreSQL");
    assert_found("select 1 from t) union select a from h.s",
                 "select t:r a:r h.s:r ? parentheses do not match");
    const struct shape_of_text deep = {"select ", "("};
    struct slice head = shape_fill(&arena, &deep, LIMIT_SQL_DEPTH + 20);
    struct slice text = arena_format(&arena, "%.*s select a from h.s", SLICE_ARG(head));
    struct sql_script script = analyze(text);
    assert_string_equal(script.statements[0].why, "parentheses are nested too deeply");
    assert_int_equal(script.statements[0].relation_count, 2);
    const struct shape_of_text many = {"select a#", ",a#"};
    head = shape_fill(&arena, &many, LIMIT_KIB(200));
    script = analyze(arena_format(&arena, "%.*s from h.s", SLICE_ARG(head)));
    assert_string_equal(script.statements[0].why, "too many names");
    assert_true(script.statements[0].relations[script.statements[0].relation_count - 1].is_all);
}

static void arguments_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *name;
        uint32_t min;
        uint32_t max;
    } calls[] = {
        {"select f()", "f", 0, 0},
        {"select f(*)", "f", 0, 0},
        {"select f(1)", "f", 1, 1},
        {"select f((1), (select 1, 2), g(1, 2))", "f", 3, 3},
        {"select f(1), f(), f(1, 2)", "f", 0, 2},
        {"select f(variadic a)", "f", 1, UINT32_MAX},
        {"select f(a, b order by c, d)", "f", 2, 2},
        {"select f(distinct a, b => c)", "f", 2, 2},
        {"select * from f(1, 2) with ordinality", "f", 2, 2},
        {"select substring(a, 1)", "substring", 2, 2},
        {"select overlay(a, b, 3)", "overlay", 3, 3},
        {"select (a).f", "f", 1, 1},
        {"select treat(a as f)", "f", 1, 1},
        {"create trigger t after insert on u execute function f()", "f", 0, UINT32_MAX},
    };
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        struct sql_script script = analyze(slice_of_text(calls[i].text));
        assert_true(script.statements[0].function_count > 0);
        const struct sql_function *function = &script.statements[0].functions[0];
        if (!slice_equals(function->name.name, slice_of_text(calls[i].name)) ||
            function->argument_min != calls[i].min || function->argument_max != calls[i].max) {
            fail_msg("%s: %.*s %u %u", calls[i].text, SLICE_ARG(function->name.name),
                     function->argument_min, function->argument_max);
        }
    }
}

static void operators_and_types_are_named(void **state)
{
    (void)state;
    struct sql_script script = analyze(
        SLICE("select a + 1, b operator(s.@@) c, cast(d as s.t), e::u, date 'x' from t where f in "
              "(1) and "
              "g not like 'x' and h * 2 between 1 and 2 and nullif(i, 1) is not distinct from j"));
    static const char *const operators[] = {"+", "s.@@", "=",  "<>", "~~", "!~~",
                                            "*", ">=",   "<=", ">",  "<"};
    static const char *const types[] = {"s.t", "u", "date"};
    const struct sql_statement *statement = &script.statements[0];
    for (size_t i = 0; i < COUNT_OF(operators) + COUNT_OF(types); i++) {
        bool is_type = i >= COUNT_OF(operators);
        const struct sql_name *name =
            is_type ? &statement->types[i - COUNT_OF(operators)] : &statement->operators[i];
        struct slice written =
            name->schema.len == 0
                ? name->name
                : arena_format(&arena, "%.*s.%.*s", SLICE_ARG(name->schema), SLICE_ARG(name->name));
        const char *wanted = is_type ? types[i - COUNT_OF(operators)] : operators[i];
        if (!slice_equals(written, slice_of_text(wanted))) {
            fail_msg("%.*s, not %s", SLICE_ARG(written), wanted);
        }
    }
    assert_int_equal(statement->operator_count, COUNT_OF(operators));
    assert_int_equal(statement->type_count, COUNT_OF(types));
}

static void backslashes_escape_where_the_server_says_so(void **state)
{
    (void)state;
    const struct sql_settings settings = {.dialect = SQL_POSTGRES, .is_backslash_quoted = true};
    struct slice text = SLICE("select '\\'; delete from t; --'");
    assert_int_equal(sql_analyze(&arena, &settings, text).count, 1);
    assert_int_equal(analyze(text).count, 2);
    text = SLICE("select n'\\'; delete from t; --'");
    assert_int_equal(sql_analyze(&arena, &settings, text).count, 1);
    text = SLICE("select u&'x'");
    assert_true(sql_analyze(&arena, &settings, text).statements[0].is_unknown);
}

static const char long_text[] =
    "with recursive a(n) as materialized (select f(1), u&\"\\0061\" uescape '!' from \"b\"\"c\" b "
    "join lateral g(2) with ordinality as h(i, j) on true left join (k natural join l) using (m)), "
    "d as (delete from only e * using o where e.p = any(array[1, 2]) returning q) "
    "insert into r.s as t (u, v[1]) overriding user value select distinct on (1) case when w then "
    "-1 end, count(*) filter (where true) over (partition by x rows 1 preceding) from a "
    "union all (values ($1, e'\\'' '\n' '')) order by 1 limit 2 on conflict (y) where z do update "
    "set (u, v) = (select 1, $$;$$), w = default where true returning with (old as o) *; "
    "merge into t using s on true when not matched by source then do nothing when matched then "
    "update set a = b; create function f() returns int begin atomic select 1; end; "
    "explain (analyze off) copy (table t) to stdout; grant select on a to b";

static void every_prefix_and_every_suffix_is_read(void **state)
{
    (void)state;
    struct slice whole = slice_of_text(long_text);
    assert_found(long_text,
                 "insert+select+update+delete b\"c:r k:r l:r e:r+delete o:r r.s:r+insert+update "
                 "f() g() count()\n"
                 "merge+update t:r+update+merge s:r -where\n"
                 "create+select+code\n"
                 "explain t:r\n"
                 "grant a:+grant");
    for (size_t i = 0; i <= whole.len; i++) {
        (void)analyze(slice_sub(whole, 0, i));
        (void)analyze(slice_from(whole, i));
        arena_reset(&arena);
    }
}

static void no_soup_of_tokens_is_too_much(void **state)
{
    (void)state;
    static const char words[] =
        "select from where with as ( ) , ; delete update insert into merge using on when then case "
        "end set = * . [ ] values union table create rule do begin atomic explain analyze copy to "
        "alter drop schema grant a \"b\" 'c' $1 :: only join returning conflict search cycle view "
        "U&\"\\0061\" uescape '!' execute prepare function index comment column statistics trigger "
        "authorization if not exists recursive tablesample repeatable rows inherits references "
        "partition of attach";
    struct slice tokens[128];
    size_t token_count = 0;
    for (struct slice rest = slice_of_text(words); rest.at != NULL; token_count++) {
        tokens[token_count] = slice_cut(rest, ' ', &rest);
    }
    uint32_t random = 1;
    for (size_t round = 0; round < 20000; round++) {
        char text[512];
        size_t len = 0;
        size_t count = 1 + round % 30;
        for (size_t i = 0; i < count; i++) {
            random = random * 1664525 + 1013904223;
            struct slice token = tokens[(random >> 8) % token_count];
            int written = snprintf(text + len, sizeof(text) - len, "%.*s ", SLICE_ARG(token));
            must(written > 0 && len + (size_t)written < sizeof(text));
            len += (size_t)written;
        }
        struct sql_script script = analyze(slice_of(text, len));
        for (size_t i = 0; i < script.count; i++) {
            const struct sql_statement *statement = &script.statements[i];
            must(statement->offset + statement->len <= len);
            must((statement->operations & SQL_BIT(statement->verb)) != 0);
        }
        arena_reset(&arena);
    }
}

static void operations_have_words(void **state)
{
    (void)state;
    for (int i = 0; i <= SQL_OTHER; i++) {
        enum sql_operation operation = SQL_OTHER;
        const char *word = sql_operation_word((enum sql_operation)i);
        assert_true(sql_operation_parse(slice_of_text(word), &operation));
        assert_int_equal(operation, i);
    }
    enum sql_operation operation = SQL_SHOW;
    assert_false(sql_operation_parse(SLICE("nonsense"), &operation));
    assert_int_equal(operation, SQL_SHOW);
}

/* What others do on the machine is not counted. */
static uint64_t now_us(void)
{
    struct timespec now;
    must(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t time_of(const struct shape_of_text *shape, size_t size)
{
    struct slice text = shape_fill(&arena, shape, size);
    uint64_t start = now_us();
    (void)analyze(text);
    uint64_t us = now_us() - start;
    arena_reset(&arena);
    return us;
}

/* Ten times the text takes ten times as long, with room for memory that is farther away; what is
 * quadratic takes a hundred times as long, at each of three tries. The bound is for slow machines.
 * Sanitizers look at all of a text at each search in it (memmem), so nothing is linear to them. */
static void a_megabyte_of_anything_is_read_in_linear_time(void **state)
{
    (void)state;
#ifdef IS_SANITIZED
    skip();
#endif
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        uint64_t one = 0;
        uint64_t ten = 0;
        bool is_linear = false;
        for (int tries = 0; tries < 3 && !is_linear; tries++) {
            one = time_of(&shapes[i], LIMIT_KIB(100)) + 100;
            ten = time_of(&shapes[i], LIMIT_KIB(1000));
            is_linear = ten <= one * 25 && ten < 2000000;
        }
        if (getenv("SQL_TIMES") != NULL) {
            print_message("%8llu us  %s%s…\n", (unsigned long long)ten, shapes[i].head,
                          shapes[i].piece);
        }
        if (!is_linear) {
            fail_msg("%s%s: %llu us, and %llu us", shapes[i].head, shapes[i].piece,
                     (unsigned long long)one, (unsigned long long)ten);
        }
    }
}

static void too_many_names_are_unknown(void **state)
{
    (void)state;
    static const char *const pieces[] = {",t#", ",s.f#() as x"};
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        const struct shape_of_text shape = {"delete from t using t", pieces[i]};
        struct sql_script script = analyze(shape_fill(&arena, &shape, LIMIT_KIB(500)));
        assert_int_equal(script.count, 1);
        assert_true(script.statements[0].is_unknown);
        assert_string_equal(script.statements[0].why, "too many names");
        assert_true(script.statements[0].operations == SQL_BIT(SQL_DELETE));
        arena_reset(&arena);
    }
    const struct shape_of_text few = {"delete from t using t", ",t#"};
    assert_false(analyze(shape_fill(&arena, &few, LIMIT_KIB(50))).statements[0].is_unknown);
    const struct shape_of_text many = {"", "select a# from t#;"}; /* of a statement, not of all */
    struct sql_script script = analyze(shape_fill(&arena, &many, LIMIT_KIB(600)));
    assert_false(script.statements[script.count - 1].is_unknown);
    assert_true(script.count > LIMIT_SQL_NAMES);
}

/* Of a text with few columns, and of one with so many that there are too many names. */
static void who_asks_for_no_columns_is_told_the_same(void **state)
{
    (void)state;
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct buf effects CLEANUP(buf_release);
    buf_init(&effects, LIMIT_MIB(4));
    for (size_t i = 0; i < COUNT_OF(shapes) * 2; i++) {
        size_t size = i % 2 == 0 ? LIMIT_KIB(4) : LIMIT_KIB(300);
        struct slice text = shape_fill(&arena, &shapes[i / 2], size);
        struct sql_script script = analyze(text);
        buf_truncate(&found, 0);
        summary_write(&found, &script, false);
        script = sql_analyze_effects(&arena, &settings, text);
        buf_truncate(&effects, 0);
        summary_write(&effects, &script, false);
        if (!slice_equals(buf_view(&found), buf_view(&effects))) {
            fail_msg("%s%s", shapes[i / 2].head, shapes[i / 2].piece);
        }
        arena_reset(&arena);
    }
}

static void a_statement_is_read_in_microseconds(void **state)
{
    (void)state;
    static const char text[] =
        "SELECT c.id, c.name, c.email, o.total, o.created_at AS ordered, count(*) OVER (PARTITION "
        "BY c.id ORDER BY o.created_at DESC) AS n, coalesce(o.note, 'none') AS note FROM "
        "public.customers AS c LEFT JOIN public.orders AS o ON o.customer_id = c.id AND o.state IN "
        "('paid', 'sent', 'returned') JOIN LATERAL (SELECT max(p.price) AS price FROM "
        "public.positions AS p WHERE p.order_id = o.id) AS q ON true WHERE c.created_at >= $1 AND "
        "c.country = ANY ($2::text[]) AND lower(c.email) LIKE '%@example.com' AND NOT EXISTS "
        "(SELECT 1 FROM public.blocked AS b WHERE b.customer_id = c.id AND b.until > now()) GROUP "
        "BY c.id, c.name, c.email, o.total, o.created_at, o.note HAVING sum(o.total) > 100 ORDER "
        "BY "
        "o.created_at DESC NULLS LAST, c.id LIMIT 50 OFFSET 100";
    uint64_t start = now_us();
    const size_t rounds = 20000;
    for (size_t i = 0; i < rounds; i++) {
        (void)analyze(slice_of(text, sizeof(text) - 1));
        arena_reset(&arena);
    }
    uint64_t us = now_us() - start;
    if (getenv("SQL_TIMES") != NULL) {
        print_message("%zu bytes: %.2f us\n", sizeof(text) - 1, (double)us / (double)rounds);
    }
    assert_true(us < rounds * 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tight_text_has_no_more_than_single_blanks),
        cmocka_unit_test(no_way_hides_a_delete),
        cmocka_unit_test(words_that_do_nothing_are_not_taken_for_deeds),
        cmocka_unit_test(what_is_not_in_the_text_is_unknown),
        cmocka_unit_test(names_are_those_that_servers_compare),
        cmocka_unit_test(texts_are_split_where_servers_split_them),
        cmocka_unit_test(gaps_are_told_where_they_are),
        cmocka_unit_test(what_was_found_is_kept_of_what_is_not_understood),
        cmocka_unit_test(arguments_are_counted),
        cmocka_unit_test(operators_and_types_are_named),
        cmocka_unit_test(backslashes_escape_where_the_server_says_so),
        cmocka_unit_test(every_prefix_and_every_suffix_is_read),
        cmocka_unit_test(no_soup_of_tokens_is_too_much),
        cmocka_unit_test(operations_have_words),
        cmocka_unit_test(a_megabyte_of_anything_is_read_in_linear_time),
        cmocka_unit_test(too_many_names_are_unknown),
        cmocka_unit_test(who_asks_for_no_columns_is_told_the_same),
        cmocka_unit_test(a_statement_is_read_in_microseconds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
