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
          "select my_cleanup()", "delete from a using b");
    CHECK(GUARD_PASS, "delete from a where b = 1", "select 'delete from a'",
          "select 1 -- delete from a", "select $$delete from a$$", "update a set b = 1 where c",
          "insert into a values ('delete')", "select count(*) as delete from a", "truncate a",
          "begin; delete from a where b; commit");
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
        TEST(catalogs_can_be_read),
        TEST(words_are_found_however_they_are_split),
        TEST(time_is_linear_in_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
