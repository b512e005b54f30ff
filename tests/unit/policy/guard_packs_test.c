/* SPDX-License-Identifier: MIT */
/* What the presets stop, and what they let pass. */
#include "guard_rig.h"
#include "model/rulepack.h"

static void use(const char *pack, const char *group)
{
    struct guardrail guardrail = {0};
    struct json document;
    struct slice text = slice_of_text(rulepack_find(slice_of_text(pack))->guardrail);
    assert_int_equal(json_parse_in(&arena, text, &document, NULL), ERR_NONE);
    assert_int_equal(shape_read(&guardrail_shape, SHAPE_WHOLE, &document, &guardrail, NULL),
                     ERR_NONE);
    guard_rules_unref(rules);
    rules = NULL;
    assert_int_equal(guard_rules_new(&guardrail, 1, &rules, NULL), ERR_NONE);
    struct slice groups[] = {slice_of_text(group)};
    scope = guard_scope_in(&arena, scratch, rules, groups, 1);
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

#define NEVER_BY_AGENTS                                                                            \
    "drop table a", "truncate a", "drop database d", "drop schema s cascade",                      \
        "alter table a add b int", "create table a (b int)", "create temp table a (b int)",        \
        "select * into b from a", "grant all on a to b", "revoke all on a from b",                 \
        "alter role a superuser", "create role a login", "alter system set x = 1",                 \
        "reassign owned by a to b", "drop owned by a", "do $$ begin delete from a; end $$",        \
        "call p()", "execute p", "create function f() returns int language sql as 'select 1'",     \
        "create extension dblink", "create trigger t after insert on a execute function f()",      \
        "load 'x'", "copy a to '/tmp/x'", "copy a to program 'curl x'",                            \
        "create subscription s connection 'x' publication p",                                      \
        "create server s foreign data wrapper file_fdw", "select dblink('x', 'y')",                \
        "select pg_read_file('/x')", "select ('/x'::text).pg_read_file", "select zap()",           \
        "select k.lower(1)", "select pg_terminate_backend(1)", "select setval('s', 1)",            \
        "select * from pg_authid", "delete from a", "delete from a where true",                    \
        "update a set b = 1", "lock table a", "refresh materialized view m",                       \
        "select lo_unlink(1)", "comment on table a is ''",                                         \
        "merge into a using b on true when matched then delete", "vacuum full", "frobnicate a",    \
        "alter table a alter b type int using 0", "explain analyze delete from a",                 \
        "select 1; drop table a", "with d as (delete from a returning *) select * from d",         \
        "copy a from stdin"

static void agents_read(void **state)
{
    (void)state;
    use("agent-safe", "agents");
    CHECK(GUARD_BLOCK, NEVER_BY_AGENTS, "insert into a values (1)", "delete from a where b = 1",
          "select nextval('s') from a; insert into a values (1)",
          "prepare p as delete from a where b = 1");
    CHECK(GUARD_PASS, "select * from a join b using (c) where d > 1 order by e limit 10", "table a",
          "select count(*), max(a), lower(b) from t group by c", "explain select * from a",
          "copy a to stdout", "show all", "begin", "commit", "set application_name = 'x'",
          "select relname from pg_catalog.pg_class", "declare c cursor for select 1",
          "fetch all from c");
    assert_true(rules != NULL);
    size_t count = 0;
    const struct guard_budget *budgets = guard_scope_budgets_in(&arena, &scope, &count);
    assert_int_equal(count, 1);
    assert_true(budgets[0].is_hourly);
}

static void agents_who_may_write_do_so_in_portions(void **state)
{
    (void)state;
    use("agent-safe", "agent-writers");
    CHECK(GUARD_BLOCK, NEVER_BY_AGENTS);
    CHECK(GUARD_PASS, "insert into a values (1)", "delete from a where b = 1",
          "insert into a values (1) on conflict (b) do update set c = 1");
    assert_int_equal(verdict.max_rows, 100);
}

static void masking_is_not_gone_around(void **state)
{
    (void)state;
    static const char *const packs[] = {"pci", "personal-data", "secrets"};
    for (size_t i = 0; i < COUNT_OF(packs); i++) {
        use(packs[i], "people");
        CHECK(GUARD_BLOCK, "create extension file_fdw", "create extension dblink",
              "create extension if not exists postgres_fdw",
              "create server s foreign data wrapper f", "create foreign data wrapper f",
              "create foreign table t (a text) server s", "create user mapping for a server s",
              "import foreign schema a from server s into b",
              "do $$ begin copy a to program 'curl'; end $$", "do 'x'",
              "create function w() returns text language sql as $$ select dblink('a', 'b') $$",
              "create or replace procedure w() language sql as ''",
              "create operator #! (function = f)",
              "create aggregate x (text) (sfunc = f, stype = text)",
              "alter function f() rename to lower",
              "create rule r as on insert to a do also notify x",
              "create publication p for all tables",
              "create trigger t after insert on a execute function f()",
              "create event trigger t on x "
              "execute function f()",
              "load 'x'", "copy a to program 'x'", "copy a from program 'x'",
              "copy (select 1) to '/x'", "select dblink_exec('a', 'b')", "select dblink('a', 'b')",
              "select query_to_xml('a', true, true, '')", "select ('x'::text).pg_read_file",
              "select pg_ls_dir('.')", "select postgres_fdw_get_connections()",
              "alter server s options (a 'b')", "select treat('x' as pg_read_file)",
              "select * from crosstab('select 1')");
        CHECK(GUARD_PASS, "select * from a", "insert into a values (1)", "create table b (c int)",
              "copy a to stdout", "select my_function(1)", "call p()", "drop function f", "begin",
              "create index on a (b)", "alter table a add c int");
    }
}

static void readers_only_read(void **state)
{
    (void)state;
    use("read-only", "people");
    assert_true(scope.is_read_only);
    CHECK(GUARD_BLOCK, "insert into a values (1)", "begin read write", "begin read\nwrite",
          "start transaction isolation level serializable, read write",
          "set transaction read write", "set local transaction_read_only = off",
          "set \"TRANSACTION_read_only\" to 'off'", "set default_transaction_read_only to default",
          "set u&\"default_transaction\\005fread_only\" = 0", "reset transaction_read_only",
          "set session characteristics as transaction read only, read write",
          "set transaction_read_only = on off", "notify a", "select pg_notify('a', '')", "lock a",
          "lock a in row exclusive mode", "lock access, share", "prepare transaction 'x'",
          "commit prepared 'x'", "rollback prepared 'x'", "copy a to '/x'",
          "create temp table a ()", "select 1 into temp a", "do ''", "call f()", "checkpoint",
          "vacuum", "analyze a", "explain analyze delete from a", "prepare p as delete from a",
          "select zap()");
    CHECK(GUARD_PASS, "select 1", "begin", "begin read only", "commit and chain", "rollback to a",
          "set transaction_read_only = on", "set transaction_read_only to 'true'", "reset all",
          "set session characteristics as transaction read only", "lock a in access share mode",
          "lock a, b in access share mode nowait", "listen a", "copy a to stdout", "discard all",
          "set role x", "explain delete from a", "select * from a for update");
    use("agent-safe", "agents");
    assert_true(scope.is_read_only);
    use("agent-safe", "agent-writers");
    assert_false(scope.is_read_only);
    use("no-unbounded-write", "people");
    assert_false(scope.is_read_only);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(agents_read),
        RIG_TEST(agents_who_may_write_do_so_in_portions),
        RIG_TEST(masking_is_not_gone_around),
        RIG_TEST(readers_only_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
