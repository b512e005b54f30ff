/* SPDX-License-Identifier: MIT */
#include "lineage_catalog.h"

#include "base/limits.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* 's' is not open. */
#define CATALOG                                                                                    \
    "table public t id a s-\n"                                                                     \
    "table public u id b s-\n"                                                                     \
    "table public o id c\n"                                                                        \
    "table other t id z-\n"                                                                        \
    "view public v id w-\n"

struct lineage_case {
    const char *text;
    const char *columns;
};

static void assert_lineage(const struct lineage_case *cases, size_t count)
{
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct arena arena;
    struct arena kept;
    struct buf found CLEANUP(buf_release);
    bool is_good = true;
    arena_init(&arena);
    arena_init(&kept);
    buf_init(&found, LIMIT_KIB(64));
    struct lineage_catalog *catalog = lineage_catalog_in(&kept, SLICE(CATALOG));
    for (size_t i = 0; i < count; i++) {
        struct sql_lineage lineage =
            sql_lineage_of(&arena, &settings, slice_of_text(cases[i].text), &catalog->catalog);
        buf_truncate(&found, 0);
        lineage_write(&found, &lineage);
        if (!slice_equals(buf_view(&found), slice_of_text(cases[i].columns))) {
            print_error("%s\nexpected: %s\nfound:    %.*s\n", cases[i].text, cases[i].columns,
                        SLICE_ARG(buf_view(&found)));
            is_good = false;
        }
        arena_reset(&arena);
    }
    arena_release(&arena);
    arena_release(&kept);
    assert_true(is_good);
}

static void columns_are_as_their_table_has_them(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"select id, a, s from t", "id+ a+ s-"},
        {"select t.id, t.s, public.t.s from t;", "id+ s- s-"},
        {"select * from t", "id+ a+ s-"},
        {"select t.*, 1 from t", "id+ a+ s- ?column?+"},
        {"select x.* from t x", "id+ a+ s-"},
        {"select t.s from t x", "s- rows-"},
        {"select * from t, u", "id+ a+ s- id+ b+ s-"},
        {"select u.*, t.* from t, u", "id+ b+ s- id+ a+ s-"},
        {"select * from other.t", "id+ z-"},
        {"select other.t.id from other.t", "id+"},
        {"select public.t.id from other.t", "id- rows-"},
        {"select \"ID\", \"id\" from t", "ID- id+"},
        {"select ID from T", "id+"},
        {"table t", "id+ a+ s-"},
        {"table only t", "id+ a+ s-"},
        {"values (1, 'a'), ($1, null)", "column1+ column2+"},
        {"values (1, (select s from t))", "column1+ column2-"},
        {"select nothing from t", "nothing-"},
        {"select * from nowhere", "unknown"},
        {"select id from nowhere", "id- rows-"},
        {"select ctid, xmin, tableoid from t", "ctid+ xmin+ tableoid-"},
        {"select tableoid from o", "tableoid+"},
        {"select ctid from v", "ctid-"},
        {"select", ""},
        {"select from t", ""},
        {"select t from t", "t-"},
        {"select o from o", "o+"},
        {"select a b, a as c, a as \"D e\" from t", "b+ c+ D e+"},
        {"select s b, s as c from t", "b- c-"},
        {"select case when a is not null then a end x, a is null from t", "x+ ?+"},
        {"select distinct a from t", "a+"},
        {"select distinct on (s) a from t", "a+ rows-"},
        {"select all a from t", "a+"},
        {"select a into temp x from t", "a+"},
        {"select 1; select 2", "unknown"},
        {"select (1", "unknown"},
        {"", "unknown"},
        {"vacuum", "unknown"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

static void expressions_are_open_when_all_in_them_is(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"select a + 1, s + 1, -a, a || s from t", "?column?+ ?column?- ?column?+ ?column?-"},
        {"select a @@ 1, a operator(pg_catalog.+) 1, a operator(my.+) 1 from t",
         "?column?- ?+ ?- rows-"},
        {"select lower(a), lower(s), my_lower(a), my.lower(a), pg_catalog.lower(a) from t",
         "lower+ lower- my_lower- lower- lower+"},
        {"select count(*), count(s), max(a), count(distinct a) from t",
         "count+ count- max+ count+"},
        {"select count(*) filter (where s = 1), sum(a) filter (where a > 0) as f from t",
         "count- f+"},
        {"select sum(a) over (partition by s), sum(a) over (partition by a order by id) from t",
         "sum- sum+"},
        {"select sum(a) over (order by id rows between unbounded preceding and current row "
         "exclude no others) from t",
         "sum+"},
        {"select sum(a) over (rows between 1 preceding and 1 following) from t", "sum+"},
        {"select sum(a) over w, sum(a) over (w) from t window w as (order by s)",
         "sum- sum- rows-"},
        {"select sum(a) over w from t window w as (partition by a), w2 as (w order by id)", "sum+"},
        {"select percentile_cont(0.5) within group (order by s), "
         "percentile_cont(0.5) within group (order by a) from t",
         "percentile_cont- percentile_cont+"},
        {"select array_agg(a order by s), array_agg(a order by id desc nulls last) from t",
         "array_agg- array_agg+"},
        {"select case when s = 1 then 2 else 3 end, case when a = 1 then a end x, "
         "case a when s then 1 end from t",
         "?- x+ ?-"},
        {"select a::text, s::text, a::my_type, cast(a as text), cast(s as text), "
         "cast(a as my_type) from t",
         "a+ s- a- ?+ ?- ?-"},
        {"select a::numeric(10, 2)::int[], a::timestamp(3) with time zone x, "
         "a::double precision, a::character varying(3) from t",
         "?+ x+ a+ a+"},
        {"select date '2020-01-01', interval '1' day, interval '1 day' x, my_type 'x', "
         "timestamp with time zone '2020-01-01', double precision '1', numeric(3) '1'",
         "?+ ?+ x+ ?- ?+ ?+ ?+"},
        {"select a in (1, 2), a in (select s from u), a not in (select b from u) x from t",
         "?column?+ ?column?- x+"},
        {"select a like 'x' escape 'y', a not ilike s, a similar to 'x', "
         "a between 1 and s, a not between symmetric 1 and 2 from t",
         "?column?+ ?column?- ?+ ?column?- ?column?+"},
        {"select a is null, s is null, s isnull, a is distinct from id, a is not distinct from s, "
         "a is unknown, a is not json scalar from t",
         "?+ ?- ?column?- ?+ ?- ?+ ?+"},
        {"select a at time zone 'utc', a at time zone s, a collate \"C\", "
         "a collate \"C\" x from t",
         "?+ ?- ?+ x+"},
        {"select like_x escape s from t", "?-"},
        {"select a escape s from t", "?-"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

static void words_in_expressions_are_told_from_names(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"select coalesce(a, s), greatest(a, 1), nullif(a, s), least(s) from t",
         "coalesce- greatest+ nullif- least-"},
        {"select extract(year from a), extract(year from s), extract('year' from a) from t",
         "extract+ extract- extract+"},
        {"select substring(a from 1 for 2), substring(s from 1), substring(a, 1), "
         "position('x' in a), position('x' in s), trim(both 'x' from a), trim(s), "
         "overlay(a placing 'x' from 1), normalize(a, nfc) from t",
         "substring+ substring- substring+ position+ position- ?+ ?- overlay+ ?+"},
        {"select array[a, 1], array[s], array(select s from u), array(select b from u), "
         "(array[a])[1], a[1:2] from t",
         "?+ ?- ?- ?+ ?+ ?+"},
        {"select row(a, 1), row(s), (a, s), (a, id) = (1, 2) from t", "row+ row- ?- ?column?+"},
        {"select current_date, current_user, current_timestamp(3), current_schema",
         "?+ ?+ ?+ current_schema+"},
        {"select f(x => a), f(x := s), f(variadic array[a]) from t", "f+ f- f+"},
        {"select t.a, t.lower, lower(t), lower(t.*), row_to_json(o) from t, o",
         "a+ lower- lower- lower- row_to_json+ rows-"},
        {"select (t).s, (o).c, (lower(a)).x, (lower(a)).my_x from t, o", "s- c+ ?+ ?- rows-"},
        {"select (t).*, (t).a, (q).a from t, (select s as x, a from t) q", "id+ a+ s- a+ a+"},
        {"select (x).* from (select s as x) x, t", "unknown"},
        {"select exists (select 1 from t), exists (select * from t where s = 1), "
         "exists (select s from t), exists (select * from t where id = o.id) from o",
         "exists+ exists- exists+ exists+"},
        {"select json_object('a': a, 'b': s), json_object('a' value a absent on null returning "
         "jsonb), json_value(a, '$' passing id as x returning text default 'x' on empty), "
         "json_array(a, s null on null) from t",
         "?- ?+ ?+ ?-"},
        {"select xmlelement(name foo, xmlattributes(a as x), a), xmlforest(a as b, s), "
         "xmlserialize(content a as text) from t",
         "?+ ?- ?+"},
        {"select a operator(pg_catalog.+) s from t", "?-"},
        {"select operator(pg_catalog.-) s from t", "?-"},
        {"select x.my_f from unnest(array[1]) x", "my_f- rows-"},
        {"select x.b from unnest(array[1]) as x(b)", "b+"},
        {"select x.is_normalized from (select s || s is normalized from t) x, "
         "(select 1 as is_normalized) y",
         "is_normalized- rows-"},
        {"select exists (select generate_series(1, s) from t), "
         "exists (select abs(s) from t), exists (select my_f(s) from t), "
         "(select count(*) from (select generate_series(1, s) from t) x)",
         "exists- exists+ exists+ ?-"},
        {"select (select a from t order by cube(a) limit 1), "
         "(select count(*) from t group by cube(a))",
         "?+ ?+"},
        {"select 1 current row", "?-"},
        {"select grouping(a), grouping(s) from t group by grouping sets ((a), (s), ())",
         "grouping+ grouping- rows-"},
        {"select count(*) from t group by rollup (a, id), cube(a)", "count+"},
        {"select cube(a), rollup(a), my_f(cube(a)) from t", "cube+ rollup+ my_f-"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

static void subqueries_hand_on_what_they_have(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"select x.* from (select a, s as b from t) x", "a+ b-"},
        {"select x, y from (select a, s from t) q(x, y)", "x+ y-"},
        {"select * from (select a, s from t)", "a+ s-"},
        {"select * from (values (1, 'x')) v(a, b)", "a+ b+"},
        {"select * from ((select a from t))", "a+"},
        {"select (select a from t), (select s from t), (select a from t where s = 1)", "?+ ?- ?-"},
        {"select (select a from t limit s), (select a from t order by s), (select t.a from t "
         "join u on t.s = u.s)",
         "?- ?- ?-"},
        {"select (select count(*) from (select a from t where s = 1) x)", "?-"},
        {"select (select count(*) from (select a, s from t) x)", "?+"},
        {"select n from (select count(*) n from t where s = 1) x", "n+ rows-"},
        {"select a from t where s = (select max(s) from u)", "a+ rows-"},
        {"select a from t order by s", "a+ rows-"},
        {"select a x from t order by x limit 1", "x+"},
        {"select s x from t order by x limit 1", "x- rows-"},
        {"with x as (select a, s from t) select * from x, x y", "a+ s- a+ s-"},
        {"with x(p, q) as (select a, s from t) select q, p from x", "q- p+"},
        {"with x as (select a from t), y as (select * from x) table y", "a+"},
        {"with x as materialized (select s from t) select count(*) from x", "count+"},
        {"with t as (select a from t) select * from t", "a+"},
        {"with x as (select a from t where s = 1) select exists (select 1 from x)", "exists-"},
        {"with x as (select id from t) select (select id from x), (with x as (select s from t) "
         "select s from x)",
         "?+ ?-"},
        {"select a from t union all select s from u", "a- rows-"},
        {"select a from t union select b from u order by 1", "a+"},
        {"select a from t intersect select s from u", "a- rows-"},
        {"(select a from t) except (select b from u) limit 1", "a+"},
        {"select a, s from t union select 1, 2", "a+ s- rows-"},
        {"with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) "
         "select n from r",
         "n+"},
        {"with recursive r as (select 1 as n union all select t.s from r, t) select n from r",
         "n- rows-"},
        {"with recursive r as (select 1 as n, 2 as m, 3 as o, 4 as p union all "
         "select m, o, p, t.s from r, t) select * from r",
         "n- m- o- p- rows-"},
        {"with recursive a as (select * from b), b as (select 1 as x) select * from a", "unknown"},
        {"with recursive r(n) as (select 1 union all select n + 1 from r) search depth first by n "
         "set o cycle n set c using p select * from r",
         "n+ o+ c+ p+"},
        {"select x.a from t, lateral (select t.a) x", "a+"},
        {"select x.* from t, lateral (select t.s = 'x' as k, 1 as l) x", "k- l+"},
        {"select x.* from t, lateral (select 1 as l where t.s = 1) x", "l- rows-"},
        {"select x.* from t, (select a from u) x", "a-"},
        {"select (select t.s) from t", "?-"},
        {"select (select s from (select b as s from u) x) from t", "?+"},
        {"select (select id from u where u.id = o.id) from o", "?+"},
        {"((select a from t))", "a+"},
        {"select a from t for update of t skip locked", "a+"},
        {"select a from t offset 1 rows fetch first 3 rows only", "a+"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

static void joins_merge_and_name_what_they_join(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"select * from t join u using (id)", "id+ a+ s- b+ s-"},
        {"select * from t join u using (s)", "s- id+ a+ id+ b+ rows-"},
        {"select * from t natural join u", "id+ s- a+ b+ rows-"},
        {"select * from t natural left join o", "id+ a+ s- c+"},
        {"select * from t cross join o", "id+ a+ s- id+ c+"},
        {"select * from t left outer join u on t.id = u.id", "id+ a+ s- id+ b+ s-"},
        {"select * from t join u on t.s = u.s", "id+ a+ s- id+ b+ s- rows-"},
        {"select o.c, t.s from o join t join u on t.id = u.id on o.id = t.id", "c+ s-"},
        {"select j.* from (t join u using (id)) j", "id+ a+ s- b+ s-"},
        {"select j.a, t.a from (t join u using (id)) as j", "a+ a- rows-"},
        {"select * from (t join u using (id)) as j(p, q, r)", "p+ q+ r- b+ s-"},
        {"select j.id, t.a from t join u using (id) as j", "id+ a+"},
        {"select p, q from t x(p, a, q)", "p+ q-"},
        {"select x.s from t x(p, q)", "s-"},
        {"select x.a from t x(s, p)", "a- rows-"},
        {"select s from t x(s)", "s-"},
        {"select id from t, u", "id+"},
        {"select s from t, o", "s-"},
        {"select t.id from t x, other.t", "id+"},
        {"select * from t tablesample system (10) repeatable (1)", "id+ a+ s- rows-"},
        {"select * from only t, only (u), t * as w", "id+ a+ s- id+ b+ s- id+ a+ s-"},
        {"select * from generate_series(1, 3)", "generate_series+"},
        {"select g, g.g, h.n from generate_series(1, 3) g, generate_series(1, 3) h(n)", "g+ g+ n+"},
        {"select x from t, unnest(t.a) x", "x+"},
        {"select x from t, unnest(t.s) x", "x- rows-"},
        {"select * from unnest(array[1])", "unknown"},
        {"select * from json_each('{}') with ordinality", "key+ value+ ordinality+"},
        {"select * from json_to_record('{}') as x(a int, b text)", "a+ b+"},
        {"select x.* from my_f(1) as x(a int, b text)", "a- b- rows-"},
        {"select y.a, z from rows from (json_to_record('{}') as (a int), f(1)) as y(a, z)",
         "a+ z+"},
        {"select k from my_f() x, o", "k- rows-"},
        {"select c from my_f() x, o", "c- rows-"},
        {"select x.* from t, generate_series(1, t.s) x", "x- rows-"},
        {"select left(a, 1), b from t join u on left(a, 1) = left(b, 1) left join o on true",
         "left+ b+"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

static void how_many_rows_there_are_can_be_a_value(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"select count(*) from generate_series(1, (select s from t))", "count- rows-"},
        {"select row_number() over () from generate_series(1, (select s from t))",
         "row_number- rows-"},
        {"select 1 from t, generate_series(1, t.s) g", "?column?- rows-"},
        {"select count(*) from (select a from u, t limit (select s from t)) q", "count- rows-"},
        {"select count(*) from (select c from o where c > 1 offset (select s from t)) q",
         "count- rows-"},
        {"select g from generate_series(1, 1000000) g, t where g = s", "g- rows-"},
        {"select g from (select generate_series(1, 1000000) g) q where g = (select s from t)",
         "g- rows-"},
        {"select count(*) from generate_series(1, (select a from t)) g limit 5", "count+"},
        {"select count(*) from (select a from t where s > '' limit 5) q", "count+ rows-"},
        {"select count(*) from t where s > ''", "count+ rows-"},
        {"select a from t where s > '' order by s limit a", "a+ rows-"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

static void writers_return_what_they_write(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"insert into t values (1, 2, 3) returning id, s", "id+ s-"},
        {"insert into t (a) select s from u returning a", "a-"},
        {"insert into t (a) select b from u returning *, id + 1", "id+ a+ s- ?column?+"},
        {"insert into t as x (a) values (1) on conflict (id) do update set a = excluded.s "
         "returning x.a",
         "a- rows-"},
        {"insert into t default values returning a", "a+"},
        {"insert into t values (1)", ""},
        {"update t set a = s returning a", "a- rows-"},
        {"update t set s = 1, a = 2 where s = 3 returning a, s", "a+ s- rows-"},
        {"update t set a = u.b from u where u.id = t.id returning *", "id+ a+ s- id+ b+ s- rows-"},
        {"update t x set (a, id) = (1, 2) returning x.a", "a+ rows-"},
        {"update t set a = (select s from u) returning 1", "?column?- rows-"},
        {"delete from t where s = 1 returning a", "a+ rows-"},
        {"delete from t using u where u.s = t.s returning t.a, u.s, old.a, new.s",
         "a+ s- a+ s- rows-"},
        {"merge into t using u on t.id = u.id when matched then delete returning t.a", "a- rows-"},
        {"update t set a[s] = 1 returning a", "a- rows-"},
        {"insert into t select a as returning from t returning s", "s-"},
        {"with x as (update t set a = 1 returning a, s) select * from x", "a+ s- rows-"},
        {"update o set c = 1 returning with (old as b, new as n) b.c, n.c", "c+ c+ rows-"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

static void queries_in_statements_are_found(void **state)
{
    (void)state;
    static const struct lineage_case cases[] = {
        {"declare c cursor for select a, s from t", "a+ s-"},
        {"declare c no scroll cursor with hold for select a from t for update", "a+"},
        {"prepare p (int) as select a, s from t", "a+ s-"},
        {"copy (select a, s from t) to stdout", "a+ s-"},
        {"copy t to stdout", "unknown"},
        {"create view x as select a, s from t", "a+ s-"},
        {"create or replace temp view x (p, q) as select a, s from t with local check option",
         "p+ q-"},
        {"create table x with (fillfactor = 10) as select a from t with no data", "a+"},
        {"create materialized view x as with y as (select 1) select a from t with data", "a+"},
        {"create recursive view x (n) as select 1", "unknown"},
        {"explain select a from t", "unknown"},
        {"execute p", "unknown"},
    };
    assert_lineage(cases, COUNT_OF(cases));
}

/* What repeats, so often that quadratic time would be minutes. */
static void what_is_large_ends_soon(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        const char *piece;
        const char *tail;
        size_t count;
    } cases[] = {
        {"select ", "(select a, ", "a", 1999},
        {"select ", "(select a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+", "1", 1999},
        {"with recursive a as (select 1)", ", b as (select 1)", " select 1", 50000},
        {"select * from t", " natural join t", "", 5000},
        {"select * from t", ", t", "", 20000},
        {"select * from ", "(select t.*, u.* from t, u, ", "t", 1000},
        {"select ", "a,", "a from t", 200000},
        {"select a from t", " union select a from t", "", 20000},
        {"select ", "lower(", "a", 1999},
        {"values (1)", ", (1)", "", 100000},
        {"select a", "+a", " from t", 200000},
        {"select * from ", "(with recursive r as (select 1 union select a from ", "t", 500},
    };
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct arena kept;
    struct arena arena;
    arena_init(&kept);
    arena_init(&arena);
    struct lineage_catalog *catalog = lineage_catalog_in(&kept, SLICE(CATALOG));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf text CLEANUP(buf_release);
        buf_init(&text, LIMIT_MIB(16));
        assert_int_equal(buf_append(&text, slice_of_text(cases[i].head)), ERR_NONE);
        for (size_t k = 0; k < cases[i].count; k++) {
            assert_int_equal(buf_append(&text, slice_of_text(cases[i].piece)), ERR_NONE);
        }
        assert_int_equal(buf_append(&text, slice_of_text(cases[i].tail)), ERR_NONE);
        for (size_t k = 0; k < cases[i].count && strchr(cases[i].piece, '(') != NULL &&
                           strchr(cases[i].piece, ')') == NULL;
             k++) {
            assert_int_equal(buf_append(&text, SLICE(")")), ERR_NONE);
        }
        clock_t began = clock();
        (void)sql_lineage_of(&arena, &settings, buf_view(&text), &catalog->catalog);
        double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
        if (seconds > 5) { /* of the processor, under sanitizers, too */
            fail_msg("%s…: %.1f s", cases[i].head, seconds);
        }
        arena_reset(&arena);
    }
    arena_release(&arena);
    arena_release(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_large_ends_soon),
        cmocka_unit_test(columns_are_as_their_table_has_them),
        cmocka_unit_test(expressions_are_open_when_all_in_them_is),
        cmocka_unit_test(words_in_expressions_are_told_from_names),
        cmocka_unit_test(subqueries_hand_on_what_they_have),
        cmocka_unit_test(joins_merge_and_name_what_they_join),
        cmocka_unit_test(how_many_rows_there_are_can_be_a_value),
        cmocka_unit_test(writers_return_what_they_write),
        cmocka_unit_test(queries_in_statements_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
