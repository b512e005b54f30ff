/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct column_case {
    const char *text;
    const char *columns; /* of the first statement */
};

static void assert_columns(const struct column_case *cases, size_t count)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct arena arena;
    struct buf found CLEANUP(buf_release);
    arena_init(&arena);
    buf_init(&found, LIMIT_KIB(64));
    for (size_t i = 0; i < count; i++) {
        struct sql_script script = sql_analyze(&arena, &settings, slice_of_text(cases[i].text));
        buf_truncate(&found, 0);
        summary_write(&found, &script, true);
        struct slice summary = buf_view(&found);
        size_t at = slice_find(summary, SLICE(" |"));
        struct slice columns = slice_from(summary, at == summary.len ? at : at + 3);
        columns = slice_sub(columns, 0, slice_find(columns, SLICE(" -where")));
        columns = slice_sub(columns, 0, slice_find(columns, SLICE(" prepared=")));
        if (!slice_equals(columns, slice_of_text(cases[i].columns))) {
            print_error("%s\nexpected: %s\nfound:    %.*s\n", cases[i].text, cases[i].columns,
                        SLICE_ARG(columns));
            fail();
        }
        arena_reset(&arena);
    }
    arena_release(&arena);
}

static void what_is_handed_out_as_it_is_is_not_used(void **state)
{
    (void)state;
    static const struct column_case cases[] = {
        {"select ssn from t", "ssn"},
        {"select a, t.ssn as x, s.t.b y, \"C\" from t", "a t.ssn s.t.b C"},
        {"select * from t", "*"},
        {"select *--\n from t", "*"},
        {"select */**/from t", "*"},
        {"select t.*, u.a from t, u", "t.* u.a"},
        {"(select ssn from t)", "ssn"},
        {"with x as (select 1) select ssn from t", "ssn"},
        {"copy t to stdout", "*"},
        {"table t", "*"},
        {"delete from t returning ssn, a as b", "ssn a"},
        {"select ssn", "ssn"},
        {"prepare p as select ssn from t", "ssn"},
    };
    assert_columns(cases, COUNT_OF(cases));
}

static void every_other_use_is_one(void **state)
{
    (void)state;
    static const struct column_case cases[] = {
        {"select a from t where ssn = 1", "a ssn!"},
        {"select ssn from t order by ssn", "ssn!"},
        {"select a from t group by b having max(c) > 1", "a b! c!"},
        {"select 1 from t join u using (ssn)", "ssn!"},
        {"select 1 from t natural join u", "*!"},
        {"select 1 from t join u on t.ssn = u.ssn", "t.ssn! u.ssn!"},
        {"select 1 from t as x (p, q)", "*!"},
        {"select ssn || '' from t", "ssn!"},
        {"select - ssn from t", "ssn!"},
        {"select ssn::text from t", "ssn!"},
        {"select ssn isnull from t", "ssn!"},
        {"select ssn operator(pg_catalog.=) other from t", "ssn! other!"},
        {"select distinct on (a) ssn from t", "a! ssn!"},
        {"select distinct ssn from t", "ssn!"},
        {"select f(ssn), (ssn), array[a], case b when c then d else e end from t",
         "ssn! a! b! c! d! e!"},
        {"select (select ssn from t)", "ssn!"},
        {"select * from (select ssn from t) x", "* ssn!"},
        {"select name from t union select ssn from t", "name! ssn!"},
        {"insert into u (a) select ssn from t", "ssn!"},
        {"create table u as select ssn from t", "ssn!"},
        {"select ssn into u from t", "ssn!"},
        {"update t set a = ssn, (b, c) = (select d, e) where f returning g", "ssn! d! e! f! g"},
        {"insert into t values (1) on conflict (a) do update set b = excluded.ssn",
         "a! excluded.ssn!"},
        {"merge into t using u on t.ssn = u.a when matched and b then update set c = d",
         "t.ssn! u.a! b! d!"},
        {"select t from t", "t t.*!"},
        {"select row_to_json(u) from users as u", "u! u.*!"},
        {"select count(*) filter (where ssn = 1) over (partition by a order by b) from t",
         "ssn! a! b!"},
        {"select max(a) over w from t window w as (partition by ssn)", "a! ssn!"},
        {"select (addr).city from t", "addr! city!"},
        {"explain select a from t where ssn = 1", "a ssn!"},
        {"copy t from stdin where ssn > 1", "ssn!"},
        {"declare c cursor for select a from t where ssn > 1", "a ssn!"},
        {"select a from t limit (select ssn from t)", "a ssn!"},
    };
    assert_columns(cases, COUNT_OF(cases));
}

static void words_that_are_no_columns_are_none(void **state)
{
    (void)state;
    static const struct column_case cases[] = {
        {"select count(*), a as b, c d from t", "a c"},
        {"select 1 from t where exists (select * from u)", ""},
        {"insert into t (a, b) values (1, default)", ""},
        {"copy t (a, b) from stdin", ""},
        {"update t set a = 1, b[1] = 2 where current of c", ""},
        {"select date '2020-01-01', interval '1' day, f(x => 1), cast(a as numeric(10, 2))", "a!"},
        {"select a::timestamp with time zone, b at time zone 'utc' from t", "a! b!"},
        {"select a from t for update of t nowait", "a"},
        {"select sum(a) over (order by b rows between unbounded preceding and current row) from t",
         "a! b!"},
        {"select a from t order by b desc nulls last limit 3", "a b!"},
        {"with x (p) as (select 1) select p from x", "p"},
        {"create table t (a int default f(1))", ""},
        {"merge into t using u on true when not matched then insert (a) values (1)", ""},
    };
    assert_columns(cases, COUNT_OF(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_handed_out_as_it_is_is_not_used),
        cmocka_unit_test(every_other_use_is_one),
        cmocka_unit_test(words_that_are_no_columns_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
