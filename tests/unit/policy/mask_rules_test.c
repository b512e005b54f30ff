/* SPDX-License-Identifier: MIT */
#include "mask_rig.h"

#define COLUMN(name) "[{\"name\":\"r\",\"columns\":[{\"name\":\"" name "\"}]}]"

static bool is_masked(const char *schema, const char *table, const char *column, const char *label)
{
    struct mask_origin origin = {.schema = slice_of_text(schema),
                                 .table = slice_of_text(table),
                                 .column = slice_of_text(column)};
    return mask_plan_of(rig.rules, &origin, slice_of_text(label)).whole != NULL;
}

static void a_column_is_known_by_where_it_comes_from(void **state)
{
    (void)state;
    rig_rules(COLUMN("public.people.phone"));
    assert_true(is_masked("public", "people", "phone", "phone"));
    assert_true(is_masked("public", "people", "phone", "harmless"));
    assert_true(is_masked("PUBLIC", "People", "PHONE", "x"));
    assert_false(is_masked("public", "people", "name", "phone"));
    assert_false(is_masked("public", "orders", "phone", "phone"));
    assert_false(is_masked("private", "people", "phone", "phone"));
    assert_true(is_masked("", "people", "phone", "x"));
    assert_true(mask_rules_need_origin(rig.rules));
    assert_false(mask_rules_look_into_text(rig.rules));
    assert_false(mask_rules_refuse_predicates(rig.rules));
}

static void what_is_computed_is_known_by_its_label(void **state)
{
    (void)state;
    rig_rules(COLUMN("public.people.phone"));
    assert_true(is_masked("", "", "", "phone"));
    assert_false(is_masked("", "", "", "count"));
    rig_rules(COLUMN("phone"));
    assert_false(mask_rules_need_origin(rig.rules));
    assert_true(is_masked("a", "b", "phone", "x"));
    assert_true(is_masked("a", "b", "mobile", "phone"));
    assert_true(is_masked("", "", "", "Phone"));
    rig_rules(COLUMN("people.*"));
    assert_true(is_masked("a", "people", "anything", "x"));
    assert_false(is_masked("", "", "", "count"));
    rig_rules(COLUMN("*"));
    assert_true(is_masked("", "", "", "count"));
}

static void globs_match_as_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *glob;
        const char *name;
        bool matches;
    } cases[] = {
        {"*", "", true},           {"a*", "abc", true},
        {"a*c", "abc", true},      {"a*c", "abd", false},
        {"*b*", "abc", true},      {"a?c", "abc", true},
        {"a?c", "ac", false},      {"a\\\\*c", "a*c", true},
        {"a\\\\*c", "abc", false}, {"a\\\\.b", "a.b", true},
        {"a\\\\?b", "acb", false}, {"a\\\\\\\\", "a\\", true},
        {"h?", "h\xc3\xa9", true}, {"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false},
        {"ab", "abc", false},      {"abc", "ab", false},
        {"**", "x", true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *json =
            arena_text(&rig.arena, arena_format(&rig.arena, COLUMN("%s"), cases[i].glob));
        rig_rules(json);
        assert_int_equal(is_masked("s", "t", "zzz", cases[i].name), cases[i].matches);
    }
}

static void uses_of_masked_columns_are_known(void **state)
{
    (void)state;
    rig_rules("[{\"name\":\"r\",\"refuse_predicates\":true,\"columns\":[{\"name\":\"hr.pay.*\"},"
              "{\"name\":\"people.phone\"},{\"name\":\"*_key\"}]}]");
    assert_true(mask_rules_refuse_predicates(rig.rules));
    assert_true(mask_rules_cover_name(rig.rules, SLICE("phone")));
    assert_true(mask_rules_cover_name(rig.rules, SLICE("API_KEY")));
    assert_false(mask_rules_cover_name(rig.rules, SLICE("amount")));
    assert_true(mask_rules_cover_table(rig.rules, SLICE("hr"), SLICE("pay")));
    assert_true(mask_rules_cover_table(rig.rules, SLICE(""), SLICE("pay")));
    assert_false(mask_rules_cover_table(rig.rules, SLICE("hr"), SLICE("people")));
}

/* What can have a name that nobody wrote out may be meant. */
static void definitions_that_may_be_meant_are_known(void **state)
{
    static const struct {
        const char *column;
        const char *text;
        bool may_be;
    } cases[] = {
        {"elsewhere.vault.secret", "create table other (id int)", false},
        {"elsewhere.vault.secret", "create table \"VAULT\" (id int)", true},
        {"elsewhere.vault.secret", "alter schema s rename to Elsewhere", true},
        {"elsewhere.vault.secret", "alter table p add column secret text", true},
        {"elsewhere.vault.secret", "create table U&\"v\\0061ult\" (id int)", true},
        {"vault.secret", "alter schema s rename to elsewhere", false},
        {"vault.*", "create table other (id int)", false},
        {"secret", "create table other as select * from f()", true},
        {"v*t.secret", "create table other (id int)", true},
        {"orders_id_seq.last_value", "create table orders (id serial)", true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rig_rules(arena_text(&rig.arena, arena_format(&rig.arena, COLUMN("%s"), cases[i].column)));
        struct slice text = slice_of_text(cases[i].text);
        assert_int_equal(mask_rules_may_be_named(rig.rules, text, true), cases[i].may_be);
        bool names_column_alone = slice_has_nocase(text, SLICE("add column secret"));
        assert_int_equal(mask_rules_may_be_named(rig.rules, text, false),
                         cases[i].may_be && !names_column_alone);
    }
}

static void the_strictest_of_what_meets_counts(void **state)
{
    (void)state;
    rig_rules(
        "[{\"name\":\"a\",\"strategy\":{\"type\":\"partial\"},\"columns\":[{\"name\":\"x\"}],"
        "\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":[\"EMAIL_ADDRESS\"]}]},"
        "{\"name\":\"b\",\"strategy\":{\"type\":\"redact\",\"replacement\":\"##\"},"
        "\"columns\":[{\"name\":\"*\",\"strategy\":{\"type\":\"null\"}}],"
        "\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":[\"EMAIL_ADDRESS\"]}]},"
        "{\"name\":\"c\",\"strategy\":{\"type\":\"hash\"},\"columns\":[{\"name\":\"x\"}],"
        "\"supported_entity_types\":[{\"name\":\"T\",\"entity_types\":[\"EMAIL_ADDRESS\"]}]}]");
    rig_check("anything", "NULL");
    assert_ptr_equal(rig.plan.whole, mask_rules_strictest(rig.rules));
    rig.plan.whole = NULL;
    rig_check("to ann@example.com", "to ##");
}

static void own_types_below_the_threshold_are_not_looked_for(void **state)
{
    (void)state;
    rig_rules("[{\"name\":\"a\",\"score_threshold\":0.9,\"custom_entity_types\":[{\"name\":\"A\","
              "\"score\":0.8,\"regex\":\"a\"}]}]");
    assert_false(mask_rules_look_into_text(rig.rules));
}

static enum err check_rule(const char *regex)
{
    struct masking_custom custom = {
        .name = SLICE("A"), .regex = slice_of_text(regex), .score = {.value = 100}};
    struct masking_rule rule = {.custom_entity_types = {.items = &custom, .count = 1}};
    rig.error = (struct error){0};
    return mask_rules_check(&rule, &rig.error);
}

static void a_pattern_is_refused_with_the_place(void **state)
{
    (void)state;
    static const char *const good[] = {
        "a+", "(?i)abc", "\\bE[0-9]{6}\\b", "^.*$", "a|b|c", "[\xc3\xa4-\xc3\xb6]+", "(*UCP)\\w+x"};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        enum err err = check_rule(good[i]);
        assert_string_equal(rig.error.message, "");
        assert_int_equal(err, ERR_NONE);
    }
    static const char *const bad[][2] = {
        {"a(b", "missing close parenthesis for group started at index 1"},
        {"a**", "invalid repeat at index 2"},
        {"(a)\\1", "back-references are unsupported"},
        {"(?=a)b", "zero-width assertions are not supported"},
        {"a*", "pattern matches empty buffer; use HS_FLAG_ALLOWEMPTY to enable support"},
        {"[z-a]", "range out of order in character class at index 3"},
        {"((a{1000}){1000}){1000}", "its repeats make it too large at position 10"},
        {"(.{1,100}x){2}y", "its repeats make it too large at position 3"},
        {"[^a]{90}", "its repeats make it too large at position 5"},
        {"(?x)a b", "the flag x is not supported at position 1"},
        {"\xff", "expression is not valid UTF-8"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(check_rule(bad[i][0]), ERR_INPUT);
        static const char prefix[] = "'custom_entity_types[0].regex' cannot be used: ";
        assert_memory_equal(rig.error.message, prefix, sizeof(prefix) - 1);
        assert_string_equal(rig.error.message + sizeof(prefix) - 1, bad[i][1]);
        const char *json = arena_text(
            &rig.arena,
            arena_format(&rig.arena, RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"%s\""),
                         i == 2 ? "(a)\\\\1" : bad[i][0]));
        if (i + 1 < COUNT_OF(bad)) {
            assert_int_equal(rig_try(json), ERR_INPUT);
        }
    }
}

/* The matcher cannot say where a match of these begins: all that it can be is masked. */
static void what_has_no_start_is_masked_from_its_earliest(void **state)
{
    (void)state;
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"(a|bc){10,20}d\""));
    rig_check("abcabcaaaaaaaad and aaaad", "[OWN] and aaaad");
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"(.{1,40}x){2}y\""));
    char text[1500];
    memset(text, 'a', sizeof(text));
    memcpy(text + 1400, "xaxy after", 11);
    const char *masked = rig_mask(text);
    assert_true(slice_ends_with(slice_of_text(masked), SLICE("a[OWN] after")));
    assert_int_equal(strlen(masked), 1404 - (2 * (40 * 4 + 1) + 1) + 5 + 6);
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"(\\\\w+\\\\s+){5,40}end\""));
    rig_check("zero? one two three four five end, and", "[OWN], and");
}

static void rules_outlive_those_who_hold_them(void **state)
{
    (void)state;
    rig_rules(RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"E[0-9]+\""));
    for (size_t i = 0; i < 40; i++) {
        rig_check("E1", "[OWN]");
        /* Others, perhaps at the same place. */
        rig_rules(
            RIG_CUSTOM("\"type\":\"redact\"", "\"regex\":\"E[0-9]+\",\"deny_list\":[\"bob\"]"));
        rig_check("E1 bob", "[OWN] [OWN]");
    }
    struct mask_rules *more = mask_rules_ref(rig.rules);
    mask_rules_unref(rig.rules);
    rig_check("E1", "[OWN]");
    must(more == rig.rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_column_is_known_by_where_it_comes_from),
        RIG_TEST(what_is_computed_is_known_by_its_label),
        RIG_TEST(globs_match_as_they_say),
        RIG_TEST(uses_of_masked_columns_are_known),
        RIG_TEST(definitions_that_may_be_meant_are_known),
        RIG_TEST(the_strictest_of_what_meets_counts),
        RIG_TEST(own_types_below_the_threshold_are_not_looked_for),
        RIG_TEST(a_pattern_is_refused_with_the_place),
        RIG_TEST(what_has_no_start_is_masked_from_its_earliest),
        RIG_TEST(rules_outlive_those_who_hold_them),
    };
    return cmocka_run_group_tests_name("policy/mask_rules", tests, NULL, NULL);
}
