/* SPDX-License-Identifier: MIT */
/* Rules as people write them, on statements as people write them: what gets round a search for
 * words does not get round these, and what looks like it passes. */
#include "base/limits.h"
#include "guard_rig.h"
#include "policy/guard_cache.h"

static void use(const char *input)
{
    rig_use(input, "", NULL, 0);
}

static void check_all(const char *const *texts, size_t count, enum guard_action wanted)
{
    for (size_t i = 0; i < count; i++) {
        struct slice text = slice_of_text(texts[i]);
        struct sql_script script = sql_analyze(&arena, &settings, text);
        guard_judge_input(&scope, text, &settings, &script, &verdict);
        if (verdict.action != wanted) {
            fail_msg("%s: %d", texts[i], (int)verdict.action);
        }
    }
}

#define CHECK(wanted, ...)                                                                         \
    do {                                                                                           \
        static const char *const texts[] = {__VA_ARGS__};                                          \
        check_all(texts, COUNT_OF(texts), wanted);                                                 \
    } while (0)

static void nothing_is_deleted_without_where(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"operations\": [\"delete\", \"update\"], \"without_where\": true}");
    CHECK(GUARD_BLOCK, "delete from a", "DELETE FROM a", "delete/**/from a", "dElEtE -- x\n from a",
          "delete from \"where\"", "delete from a -- where x",
          "with x as (delete from a returning *) select * from x where y",
          "select 1; delete from a", "explain analyze delete from a",
          "copy (delete from a returning "
          "*) to stdout",
          "prepare p as delete from a", "update a set b = (select 1 where true)",
          "do $$ begin delete from a where b; end $$", "execute p", "call p()",
          "select my_cleanup()", "delete from a using b", "truncate a", "delete from a where true",
          "delete from a where 1 = 1", "delete from a where now() > '2020-01-01'",
          "merge into a using b on true when matched then delete",
          "alter table a alter b type int using 0",
          "alter table a alter column b set data type text",
          "update a set b = 1 where (select true)", "prepare p as delete from a where $1 = 1");
    CHECK(GUARD_PASS, "delete from a where b = 1", "select 'delete from a'",
          "select 1 -- delete from a", "select $$delete from a$$", "update a set b = 1 where c",
          "insert into a values ('delete')", "select count(*) as delete from a",
          "merge into a using b on a.id = b.id when matched then delete",
          "merge into a using b on true when not matched then insert default values",
          "alter table a add column type int", "delete from a where current of c",
          "copy a from stdin", "begin; delete from a where b; commit");
}

static void nothing_is_written(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"operations\": [\"insert\", \"update\", \"delete\", \"merge\", "
        "\"truncate\", \"create\", \"alter\", \"drop\", \"grant\", \"revoke\", \"call\", \"do\"]}, "
        "{\"type\": \"sql\", \"relations\": [{\"name\": \"*\", \"access\": \"write\"}]}");
    CHECK(GUARD_BLOCK, "insert into a values (1)", "select * into b from a",
          "create table b as select 1", "merge into a using b on true when matched then delete",
          "with x as (insert into a values (1) returning 1) select * from x", "copy a from stdin",
          "refresh materialized view m", "create temp table t (a int)",
          "explain (analyze) insert into a values (1)", "select lo_unlink(1)",
          "select dblink_exec('x', 'delete from a')", "select setval('s', 1)");
    CHECK(GUARD_PASS, "select * from a", "show all", "explain delete from a", "table a",
          "values (1)", "begin", "commit", "set search_path = a", "copy a to stdout",
          "select now(), count(*), coalesce(a, 1), nullif(b, 2), max(c) over () from t",
          "declare c cursor for select 1", "fetch all from c");
}

static void what_cannot_be_counted_is_refused(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"max_rows\": 10}");
    CHECK(GUARD_BLOCK, "truncate a", "copy a from stdin", "alter table a alter b type int using 0",
          "alter table a alter b set expression as (1)", "do $$ x $$");
    CHECK(GUARD_PASS, "insert into a values (1) on conflict (b) do update set c = 1",
          "merge into a using b on a.x = b.x when matched then delete", "copy a to stdout",
          "alter table a add b int", "select 1");
    assert_int_equal(verdict.max_rows, -1);
    use("{\"type\": \"sql\", \"max_rows\": 10, \"operations\": [\"update\"]}");
    CHECK(GUARD_PASS, "truncate a", "copy a from stdin");
    CHECK(GUARD_BLOCK, "alter table a alter b type int using 0");
    CHECK(GUARD_PASS, "insert into a values (1) on conflict (b) do update set c = 1");
    assert_int_equal(verdict.max_rows, 10);
}

/* Of a schema, by whoever writes to it, creates on it, or does something to all of it. */
static void nobody_reads_the_salaries(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"relations\": [{\"name\": \"hr.*\", \"access\": \"read\"}]}");
    CHECK(
        GUARD_BLOCK, "select * from hr.s", "update hr.s set a = a + 1",
        "delete from hr.s where a = 1", "update hr.s set a = 1 returning b",
        "insert into hr.s values (1) returning *",
        "insert into hr.s values (1) on conflict (a) do nothing",
        "merge into hr.s using public.b on true when matched then do nothing",
        "merge into public.b using hr.s on true when matched then do nothing",
        "insert into public.b select * from hr.s",
        "update public.b set a = (select max(a) from hr.s)", "create index on hr.s (a)",
        "create unique index concurrently i on hr.s (lower(a))",
        "alter table hr.s add check (a < 5)", "alter table hr.s alter a type text",
        "alter table public.b add foreign key (a) references hr.s",
        "create table public.c (like hr.s)", "create table public.c (a int references hr.s)",
        "alter table hr.s set schema public", "alter table hr.s rename to t",
        "alter schema hr rename to x", "create publication p for table hr.s where (a > 1)",
        "create publication p for all tables", "create publication p for tables in schema hr",
        "create policy p on hr.s using (a = 1)",
        "create trigger g after update on hr.s for each row when (old.a = 1) execute function f()",
        "create statistics x on a, b from hr.s", "create materialized view public.m as table hr.s",
        "create table public.c as select * from hr.s", "copy (select * from hr.s) to stdout",
        "create rule r as on update to hr.s do also notify x", "lock hr.s", "analyze",
        "reindex table hr.s", "copy hr.s to stdout", "declare c cursor for select * from hr.s",
        "explain analyze table hr.s",
        "create function f() returns int begin atomic select a from hr.s; end",
        "select 1; select 'x", "select * from hr.s where a = '\xe4'",
        "select a from hr.s) union select 1", "select * from hr.s, \"\xe4\"",
        "select * from h\xe4r.s", "frobnicate hr.s");
    CHECK(GUARD_PASS, "select * from public.s", "update hr.s set a = 1", "delete from hr.s",
          "insert into hr.s values (1)", "update public.s set a = a + 1", "truncate hr.s",
          "select * from public.s where a = '\xe4'", "create index on public.s (a)", "select 1",
          "alter schema public rename to x", "drop schema hr cascade");
    struct slice deep = arena_format(&arena, "select %0*d", 2100, 0);
    char *at = memcpy(arena_alloc(&arena, deep.len), deep.at, deep.len);
    memset(at + 7, '(', deep.len - 7);
    struct slice text =
        arena_format(&arena, "%.*sselect a from hr.s", SLICE_ARG(slice_of(at, deep.len)));
    struct sql_script script = sql_analyze(&arena, &settings, text);
    guard_judge_input(&scope, text, &settings, &script, &verdict);
    assert_int_equal(verdict.action, GUARD_BLOCK);
    guard_judge_input(&scope, SLICE("select 1"), &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_BLOCK);
}

static void what_is_done_to_all_meets_rules_on_some(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"relations\": [{\"name\": \"hr.*\", \"access\": \"write\"}, "
        "{\"name\": \"pg_catalog.pg_authid\", \"access\": \"any\"}], "
        "\"safe_functions\": [\"*\"]}");
    CHECK(GUARD_BLOCK, "drop schema hr", "drop schema public, hr", "drop owned by x",
          "reassign owned by a to b", "grant select on all tables in schema public, hr to x",
          "revoke all on all sequences in schema hr from x", "alter schema hr owner to x",
          "drop table public.t cascade", "truncate public.t cascade", "drop type t cascade",
          "alter default privileges in schema hr grant select on tables to x",
          "alter default privileges grant select on tables to x", "vacuum", "reindex schema hr",
          "reindex database d", "import foreign schema x from server s into hr",
          "drop extension e cascade", "alter table all in tablespace a set tablespace b");
    CHECK(GUARD_PASS, "drop schema public", "drop table public.t", "truncate public.t",
          "grant select on all tables in schema public to x", "vacuum public.t",
          "grant execute on all functions in schema hr to x", "alter schema public rename to x");
    use("{\"type\": \"sql\", \"relations\": [{\"name\": \"pg_catalog.pg_authid\", "
        "\"access\": \"any\"}]}");
    CHECK(GUARD_PASS, "drop table public.t cascade", "drop owned by x");
    CHECK(GUARD_BLOCK, "select * from pg_authid", "select 'x");
}

static void every_call_is_one(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"functions\": [\"pg_read_file\", \"k.*\", \"cube\", \"substring\", "
        "\"information_schema.f\", \"json_scalar\"]}");
    CHECK(GUARD_BLOCK, "select pg_read_file('/x')", "select ('/x'::text).pg_read_file",
          "select (a).pg_read_file from t", "select ($1).pg_read_file",
          "select (array[a])[1].pg_read_file", "select treat('/x' as pg_read_file)",
          "select cube(1)", "select a, cube(1) from t group by a", "select substring(a) from t",
          "select information_schema.f()", "select json_scalar(1)",
          "create operator #! (function = pg_read_file, rightarg = text)",
          "create aggregate x (text) (sfunc = pg_read_file, stype = text)",
          "create cast (a as b) with function pg_read_file(a)", "select * from pg_read_file('/x')",
          "create event trigger x on ddl_command_end execute function k.zap()");
    CHECK(GUARD_PASS, "select a from t group by cube(a)", "select substring(a from 1) from t",
          "select (a).b from t", "select treat(a as text) from t");
    use("{\"type\": \"sql\", \"operations\": [\"insert\", \"delete\"]}");
    CHECK(GUARD_BLOCK, "select ('1'::oid).lo_unlink", "select (1).pg_terminate_backend",
          "select cube(1)", "select rollup(1)", "select information_schema.zap()",
          "select treat('1' as lo_unlink)", "select merge_action()");
    CHECK(GUARD_PASS, "select (information_schema._pg_expandarray(a)).n from t",
          "select substring(a)", "select (pg_get_keywords()).word",
          "select a from t group by rollup(a)");
}

/* What 'whose' says of the name "x", the others being the database's own. */
static enum guard_action judge_named(const char *text, enum guard_name_kind kind, const char *name,
                                     enum guard_identity whose)
{
    struct sql_script script = sql_analyze(&arena, &settings, slice_of_text(text));
    struct guard_names names = guard_names_in(&arena, &scope, &script);
    bool is_there = false;
    for (size_t i = 0; i < names.count; i++) {
        bool is_it = names.items[i].kind == kind &&
                     slice_equals(names.items[i].name.name, slice_of_text(name));
        names.items[i].identity = is_it ? whose : GUARD_IDENTITY_OWN;
        is_there = is_there || is_it;
    }
    if (!is_there) {
        fail_msg("%s: is not asked for '%s'", text, name);
    }
    guard_judge_named(&scope, slice_of_text(text), &settings, &script, &names, &verdict);
    return verdict.action;
}

static void whose_a_name_is_decides(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum guard_name_kind kind;
        const char *name;
    } cases[] = {
        {"select lower(1)", GUARD_NAME_FUNCTION, "lower"},
        {"select substring(a) from t", GUARD_NAME_FUNCTION, "substring"},
        {"select (a).zap from t", GUARD_NAME_FIELD, "zap"},
        {"select t.zap from t", GUARD_NAME_FIELD, "zap"},
        {"select 1 where a + 1 > 0", GUARD_NAME_OPERATOR, "+"},
        {"select 1 where a in (1)", GUARD_NAME_OPERATOR, "="},
        {"select a operator(k.#!) b", GUARD_NAME_OPERATOR, "#!"},
        {"select a::mood", GUARD_NAME_TYPE, "mood"},
        {"select cast(a as k.mood)", GUARD_NAME_TYPE, "mood"},
        {"select mood 'x'", GUARD_NAME_TYPE, "mood"},
        {"select * from v", GUARD_NAME_READ, "v"},
        {"insert into t values (1)", GUARD_NAME_WRITTEN, "t"},
        {"copy t from stdin", GUARD_NAME_WRITTEN, "t"},
        {"create table n (a int)", GUARD_NAME_DEFINED, ""},
        {"grant select on t to x", GUARD_NAME_DEFINED, ""},
    };
    use("{\"type\": \"sql\", \"operations\": [\"delete\"]}");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *text = cases[i].text;
        enum guard_name_kind kind = cases[i].kind;
        if (judge_named(text, kind, cases[i].name, GUARD_IDENTITY_OWN) != GUARD_PASS ||
            judge_named(text, kind, cases[i].name, GUARD_IDENTITY_USER) != GUARD_BLOCK ||
            judge_named(text, kind, cases[i].name, GUARD_IDENTITY_UNKNOWN) != GUARD_BLOCK) {
            fail_msg("%s", text);
        }
    }
    use("{\"type\": \"sql\", \"operations\": [\"delete\"], \"safe_functions\": [\"lower\"]}");
    assert_int_equal(
        judge_named("select lower(1)", GUARD_NAME_FUNCTION, "lower", GUARD_IDENTITY_USER),
        GUARD_PASS);
}

/* Those that the database's owner alone can make another one of, and where no rule cares. */
static void nothing_is_asked_that_is_known(void **state)
{
    (void)state;
    struct slice text =
        SLICE("select pg_catalog.lower(1), pg_get_keywords(), pg_catalog.zap(), "
              "a operator(pg_catalog.+) b, c::pg_catalog.text from pg_catalog.pg_class");
    struct sql_script script = sql_analyze(&arena, &settings, text);
    use("{\"type\": \"sql\", \"operations\": [\"delete\"]}");
    struct guard_names names = guard_names_in(&arena, &scope, &script);
    assert_int_equal(names.count, 1);
    assert_true(slice_equals(names.items[0].name.name, SLICE("pg_get_keywords")));
    static const char *const rules_that_do_not_ask[] = {
        "{\"type\": \"sql\", \"operations\": [\"drop\"], \"safe_functions\": [\"*\"]}",
        "{\"type\": \"sql\", \"operations\": [\"drop\"], \"unknown\": \"allow\"}",
        "{\"type\": \"sql\", \"functions\": [\"x\"]}",
        "{\"type\": \"deny_words_list\", \"words\": [\"x\"]}",
    };
    for (size_t i = 0; i < COUNT_OF(rules_that_do_not_ask); i++) {
        use(rules_that_do_not_ask[i]);
        assert_false(scope.asks_names);
        assert_int_equal(guard_names_in(&arena, &scope, &script).count, 0);
    }
}

/* A view of hr.pay, as a catalog says. */
static void reach(void *context, const struct sql_relation *named, struct guard_reached *reached)
{
    (void)context;
    struct sql_relation pay = *named;
    if (slice_equals(named->name.name, SLICE("v"))) {
        pay.name = (struct sql_name){SLICE("hr"), SLICE("pay")};
        guard_reached_add(reached, &pay);
    }
}

static void what_is_reached_is_met_as_if_it_were_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_of_reads;
        enum guard_action action;
    } cases[] = {
        {"select * from v", true, GUARD_BLOCK},
        {"select * from public.w", true, GUARD_PASS},
        {"select 1; table v", true, GUARD_BLOCK},
        {"select * from v", false, GUARD_PASS},
        {"delete from v where a = 1", false, GUARD_BLOCK},
        {"delete from public.w where a = 1", false, GUARD_PASS},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct guard_known known = {.reach = reach};
        struct slice text = slice_of_text(cases[i].text);
        struct sql_script script = sql_analyze(&arena, &settings, text);
        use(cases[i].is_of_reads ? "{\"type\": \"sql\", \"unknown\": \"allow\", \"relations\": "
                                   "[{\"name\": \"hr.pay\", \"access\": \"read\"}]}"
                                 : "{\"type\": \"sql\", \"unknown\": \"allow\", \"relations\": "
                                   "[{\"name\": \"hr.pay\", \"access\": \"write\"}]}");
        assert_true(scope.asks_relations && scope.asks_names);
        assert_false(guard_judge_known(&scope, text, &settings, &script, NULL, &verdict));
        assert_true(guard_judge_known(&scope, text, &settings, &script, &known, &verdict));
        assert_int_equal(verdict.action, cases[i].action);
        known.reach = NULL; /* nobody knows: what the text says alone */
        assert_true(guard_judge_known(&scope, text, &settings, &script, &known, &verdict));
        assert_int_equal(verdict.action, GUARD_PASS);
    }
}

/* As psql and JDBC send them. */
static void catalogs_can_be_read(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"operations\": [\"insert\", \"update\", \"delete\", \"merge\", "
        "\"truncate\", \"create\", \"alter\", \"drop\", \"grant\", \"revoke\", \"call\", \"do\"]}");
    CHECK(GUARD_PASS,
          "SELECT n.nspname as \"Schema\", c.relname as \"Name\", CASE c.relkind WHEN 'r' THEN "
          "'table' WHEN 'v' THEN 'view' END as \"Type\", pg_catalog.pg_get_userbyid(c.relowner) as "
          "\"Owner\" FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = "
          "c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam WHERE c.relkind IN "
          "('r','p','v','m','S','f','') AND n.nspname !~ '^pg_toast' AND "
          "pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2;",
          "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT "
          "pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE "
          "d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull FROM "
          "pg_catalog.pg_attribute a WHERE a.attrelid = '16384' AND a.attnum > 0 AND NOT "
          "a.attisdropped ORDER BY a.attnum;",
          "SELECT has_table_privilege(c.oid, 'delete') AS delete, has_table_privilege(c.oid, "
          "'update') AS update FROM pg_class c",
          "SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = "
          "'bytea_output'",
          "SELECT result.TABLE_CAT FROM (SELECT NULL AS TABLE_CAT, "
          "information_schema._pg_expandarray(i.indkey) AS keys FROM pg_catalog.pg_index i) result "
          "ORDER BY 1");
}

static void words_are_found_however_they_are_split(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"drop table\"]}, {\"type\": "
        "\"pattern_match\", \"pattern_regex\": \"(?i)^delete\\\\s\"}");
    CHECK(GUARD_BLOCK, "drop table a", "drop/**/table a", "select 1; DROP -- x\n TABLE a",
          "/* x */ delete from a", "select 1; /* x */ delete from a where b",
          "select E'''\\''; drop/**/table a", "select E'a'\n'\\''; drop/**/table a",
          "drop/**/table a; select 'b");
    CHECK(GUARD_PASS, "drop view a", "select 1 -- delete x", "select 1 from \"delete \"");
}

/* A mebibyte of what is dear to examine, by words, patterns and structural rules. What is quadratic
 * takes minutes; this takes hundredths of a second. Sanitizers look at all of a text at each search
 * in it (memmem), so nothing is linear to them. */
static void time_is_linear_in_the_text(void **state)
{
    (void)state;
#ifdef IS_SANITIZED
    skip();
#endif
    use("{\"type\": \"deny_words_list\", \"words\": [\"never\", \"n\\u00e4her\"]}, {\"type\": "
        "\"pattern_match\", \"pattern_regex\": \"(?i)(x+x+)+y|.*zebra.{0,50}end\"}, {\"type\": "
        "\"sql\", \"relations\": [{\"name\": \"*a*b*c*d*e*f*g\"}], \"unknown\": \"allow\"}, "
        "{\"type\": "
        "\"sql\", \"max_rows\": 1, \"unknown\": \"allow\"}");
    static const char *const parts[] = {
        "select 1;", "/*", "--",     "'",           "$a$ $", "$a",      "a$",   "e'\\",
        "x",         "xy", "(",      "((",          "a.",    "select ", "\xc3", "- /",
        " ",         "\"", "abcdef", "with a as (", "/**/",  "\n",      "$",    "delete from a;",
    };
    struct guard_cache *cache = guard_cache_new((const uint8_t[HASH_SEED_SIZE]){1});
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        struct buf buf;
        buf_init(&buf, LIMIT_MIB(2));
        while (buf_view(&buf).len < LIMIT_MIB(1)) {
            must(buf_append(&buf, slice_of_text(parts[i])) == ERR_NONE);
        }
        struct guard_facts facts;
        clock_t began = clock();
        guard_cache_judge(cache, &scope, &settings, buf_view(&buf), &verdict, &facts);
        if (clock() - began > 5 * CLOCKS_PER_SEC) {
            fail_msg("%s: %ld", parts[i], (long)(clock() - began));
        }
        buf_release(&buf);
    }
    guard_cache_free(cache);
}

int main(void)
{
#define TEST(name) RIG_TEST(name)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_deleted_without_where),
        TEST(nothing_is_written),
        TEST(what_cannot_be_counted_is_refused),
        TEST(nobody_reads_the_salaries),
        TEST(what_is_done_to_all_meets_rules_on_some),
        TEST(every_call_is_one),
        TEST(whose_a_name_is_decides),
        TEST(nothing_is_asked_that_is_known),
        TEST(what_is_reached_is_met_as_if_it_were_named),
        TEST(catalogs_can_be_read),
        TEST(words_are_found_however_they_are_split),
        TEST(time_is_linear_in_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
