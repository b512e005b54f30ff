/* SPDX-License-Identifier: MIT */
#include "policy/guard_cache.h"

#include "base/limits.h"
#include "guard_rig.h"

static const uint8_t seed[HASH_SEED_SIZE] = {1, 2, 3};

static struct guard_cache *cache;
static struct guard_facts facts;

static int set_up(void **state)
{
    cache = guard_cache_new(seed);
    return rig_set_up(state);
}

static int tear_down(void **state)
{
    guard_cache_free(cache);
    return rig_tear_down(state);
}

static void use(const char *input)
{
    rig_use(input, "", NULL, 0);
}

static void judge(struct slice text)
{
    guard_cache_judge(cache, &scope, &settings, text, &verdict, &facts);
}

static void what_was_judged_is_answered_the_same(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"operations\": [\"delete\"], \"without_where\": true, \"name\": "
        "\"all\", \"message\": \"no\"}, {\"type\": \"deny_words_list\", \"words\": [\"secret\"], "
        "\"action\": \"warn\"}, {\"type\": \"sql\", \"operations\": [\"delete\"], \"max_rows\": 5, "
        "\"name\": \"few\"}");
    static const char *const texts[] = {
        "select 1",       "delete from secret", "delete from a where b",
        "select; select", "do $$ $$",           ""};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        judge(slice_of_text(texts[i]));
        struct guard_verdict first = verdict;
        struct guard_facts first_facts = facts;
        memset(&verdict, 0xa5, sizeof(verdict));
        judge(slice_of_text(texts[i]));
        assert_int_equal(guard_cache_counts(cache).hits, i + 1);
        assert_int_equal(verdict.action, first.action);
        assert_int_equal(verdict.count, first.count);
        assert_true(verdict.max_rows == first.max_rows);
        for (size_t j = 0; j < first.count; j++) {
            assert_memory_equal(&verdict.findings[j], &first.findings[j],
                                sizeof(verdict.findings[j]));
        }
        assert_int_equal(facts.operations, first_facts.operations);
        assert_int_equal(facts.statement_count, first_facts.statement_count);
        assert_int_equal(facts.is_counted_write, first_facts.is_counted_write);
    }
    judge(SLICE("delete from secret"));
    assert_int_equal(verdict.action, GUARD_BLOCK);
    assert_int_equal(verdict.count, 2);
    assert_true(verdict.max_rows == 5);
    assert_true(slice_equals(verdict.max_rows_rule.rule_name, SLICE("few")));
    assert_true(slice_equals(guard_verdict_reason(&verdict)->message, SLICE("no")));
}

static void other_rules_scopes_and_settings_are_judged_anew(void **state)
{
    (void)state;
    const char *rule = "{\"type\": \"deny_words_list\", \"words\": [\"a\"], \"groups\": [\"x\"]}";
    use(rule);
    judge(SLICE("a"));
    assert_int_equal(verdict.action, GUARD_PASS);
    struct slice group = SLICE("x");
    scope = guard_scope_in(&arena, scratch, rules, &group, 1);
    judge(SLICE("a"));
    assert_int_equal(verdict.action, GUARD_BLOCK);
    struct sql_settings backslash = {.is_backslash_quoted = true};
    guard_cache_judge(cache, &scope, &backslash, SLICE("a"), &verdict, &facts);
    assert_int_equal(guard_cache_counts(cache).hits, 0);
    assert_int_equal(guard_cache_counts(cache).misses, 3);
    /* The same rules, compiled again: their texts are the new ones'. */
    use(rule);
    scope = guard_scope_in(&arena, scratch, rules, &group, 1);
    judge(SLICE("a"));
    assert_int_equal(guard_cache_counts(cache).hits, 1);
    assert_true(slice_equals(verdict.findings[0].guardrail_name, SLICE("rail")));
    use("{\"type\": \"deny_words_list\", \"words\": [\"b\"], \"groups\": [\"x\"]}");
    scope = guard_scope_in(&arena, scratch, rules, &group, 1);
    judge(SLICE("a"));
    assert_int_equal(verdict.action, GUARD_PASS);
}

static bool is_counted(const char *text)
{
    judge(slice_of_text(text));
    return facts.is_counted_write;
}

/* Whose names are is known for one search path, and not for the next. */
static void what_is_known_of_names_sets_verdicts_apart(void **state)
{
    (void)state;
    use("{\"type\": \"sql\", \"operations\": [\"delete\"]}");
    struct guard_cache_key key = {&scope, &settings, SLICE("select lower(1)"), 7};
    struct sql_script script = sql_analyze(&arena, &settings, key.text);
    judge(key.text);
    assert_int_equal(verdict.action, GUARD_PASS);
    assert_false(guard_cache_find(cache, &key, &verdict, &facts));
    struct guard_names names = guard_names_in(&arena, &scope, &script);
    names.items[0].identity = GUARD_IDENTITY_USER;
    guard_judge_named(&scope, key.text, &settings, &script, &names, &verdict);
    guard_cache_keep(cache, &key, &script, &verdict, &facts);
    memset(&verdict, 0, sizeof(verdict));
    assert_true(guard_cache_find(cache, &key, &verdict, &facts));
    assert_int_equal(verdict.action, GUARD_BLOCK);
    assert_int_equal(facts.verb, SQL_SELECT);
    key.names_id = 8;
    assert_false(guard_cache_find(cache, &key, &verdict, &facts));
    judge(key.text);
    assert_int_equal(verdict.action, GUARD_PASS);
}

static void writes_whose_tag_counts_them_all_are_told(void **state)
{
    (void)state;
    use("");
    assert_true(is_counted("delete from a where b = 1"));
    assert_true(is_counted("insert into a values (1) on conflict do nothing"));
    assert_true(is_counted("insert into a values (1) on conflict (b) do update set c = 1"));
    assert_true(is_counted("merge into a using b on a.x = b.x when matched then delete when not "
                           "matched then insert values (1)"));
    assert_true(is_counted("WITH x as (select 1) update a set b = 1 from x"));
    assert_false(is_counted("with x as (delete from b returning 1) delete from a where c = 1"));
    assert_false(is_counted("/**/ With x as (DELETE from a returning 1) delete from a"));
    assert_false(is_counted("with x as (insert into b values (1)) delete from a where c = 1"));
    assert_false(is_counted("with x as (delete from b returning 1) select * from x"));
    assert_false(is_counted("delete from a; delete from b"));
    assert_false(is_counted("select 1"));
    assert_false(is_counted("explain analyze delete from a"));
    assert_false(is_counted("prepare p as delete from a"));
    assert_false(is_counted("copy a from stdin"));
}

static void facts_tell_what_a_script_is(void **state)
{
    (void)state;
    use("");
    judge(SLICE("select 1; delete from a"));
    assert_int_equal(facts.statement_count, 2);
    assert_int_equal(facts.verb, SQL_SELECT);
    assert_true((facts.operations & SQL_BIT(SQL_DELETE)) != 0);
    judge(SLICE("vacuum a"));
    assert_true(facts.needs_no_transaction);
    judge(SLICE("prepare p as select 1"));
    assert_true(slice_equals(facts.prepared, SLICE("p")));
    judge(SLICE("prepare p as select 1"));
    assert_true(slice_equals(facts.prepared, SLICE("p")));
    judge(SLICE("select 1; execute p"));
    assert_true((facts.operations & SQL_BIT(SQL_EXECUTE)) != 0);
    judge(SLICE("do $$ begin end $$"));
    assert_true(facts.is_unknown);
    judge(SLICE(""));
    assert_int_equal(facts.statement_count, 0);
    assert_int_equal(facts.verb, SQL_OTHER);
}

static void memory_is_bounded_and_old_ones_make_room(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"never\"]}");
    struct slice hot = SLICE("select 'hot'");
    struct arena texts;
    arena_init(&texts);
    size_t count = LIMIT_GUARD_CACHE_ENTRIES * 3;
    for (size_t i = 0; i < count; i++) {
        judge(arena_format(&texts, "select %zu", i));
        judge(hot);
        struct guard_cache_counts counts = guard_cache_counts(cache);
        assert_true(counts.entries <= LIMIT_GUARD_CACHE_ENTRIES);
        assert_true(counts.bytes <= LIMIT_GUARD_CACHE_SIZE);
    }
    assert_int_equal(guard_cache_counts(cache).entries, LIMIT_GUARD_CACHE_ENTRIES);
    /* What is asked for again and again stays. */
    assert_int_equal(guard_cache_counts(cache).hits, count - 1);
    judge(SLICE("select 0"));
    assert_int_equal(guard_cache_counts(cache).hits, count - 1);
    judge(arena_format(&texts, "select %zu", count - 1));
    assert_int_equal(guard_cache_counts(cache).hits, count);
    arena_release(&texts);
}

static void bytes_are_bounded_too(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"never\"]}");
    size_t size = LIMIT_GUARD_CACHE_TEXT_SIZE;
    char *bytes = memory_new(size + 1);
    memset(bytes, ' ', size + 1);
    for (size_t i = 0; i < 2 * LIMIT_GUARD_CACHE_SIZE / size; i++) {
        snprintf(bytes, 32, "select %zu", i);
        bytes[strlen(bytes)] = ' ';
        judge(slice_of(bytes, size));
        assert_true(guard_cache_counts(cache).bytes <= LIMIT_GUARD_CACHE_SIZE);
    }
    assert_true(guard_cache_counts(cache).entries > 100);
    size_t entries = guard_cache_counts(cache).entries;
    judge(slice_of(bytes, size + 1));
    judge(slice_of(bytes, size + 1));
    assert_int_equal(guard_cache_counts(cache).hits, 0);
    assert_int_equal(guard_cache_counts(cache).entries, entries);
    memory_free(bytes);
}

static void what_is_too_long_is_not_kept(void **state)
{
    (void)state;
    use("{\"type\": \"deny_words_list\", \"words\": [\"never\"]}");
    size_t size = LIMIT_GUARD_TEXT_SIZE + 1;
    char *bytes = memory_new(size);
    memset(bytes, 'x', size);
    judge(slice_of(bytes, size));
    assert_int_equal(verdict.action, GUARD_BLOCK);
    assert_int_equal(guard_cache_counts(cache).entries, 0);
    memory_free(bytes);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_was_judged_is_answered_the_same),
        TEST(other_rules_scopes_and_settings_are_judged_anew),
        TEST(what_is_known_of_names_sets_verdicts_apart),
        TEST(writes_whose_tag_counts_them_all_are_told),
        TEST(facts_tell_what_a_script_is),
        TEST(memory_is_bounded_and_old_ones_make_room),
        TEST(bytes_are_bounded_too),
        TEST(what_is_too_long_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
