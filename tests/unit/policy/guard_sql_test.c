/* SPDX-License-Identifier: MIT */
/* Structural rules, on statements as sql_analyze() describes them. */
#include "guard_rig.h"

/* An entry of type "sql" with these members. */
static void use(const char *members)
{
    struct slice entry = arena_format(&arena, "{\"type\": \"sql\", %s}", members);
    rig_use(arena_text(&arena, entry), "", NULL, 0);
}

/* "read" and "written" are names, "schema.name" or "name", with blanks between them. */
static struct sql_name *names_of(const char *words, size_t *ret_count)
{
    struct sql_name *names = arena_alloc_array(&arena, 8, sizeof(*names));
    struct slice rest = slice_of_text(words);
    *ret_count = 0;
    while (rest.len > 0) {
        struct slice word = slice_cut(rest, ' ', &rest);
        struct slice name = SLICE_NONE;
        struct slice first = slice_cut(word, '.', &name);
        names[(*ret_count)++] = name.at == NULL
                                    ? (struct sql_name){.schema = SLICE(""), .name = first}
                                    : (struct sql_name){.schema = first, .name = name};
    }
    return names;
}

struct facts {
    uint64_t operations;
    const char *read;
    const char *written;
    const char *functions;
    bool without_where;
    bool is_unknown;
};

static struct sql_statement statement_of(const struct facts *facts)
{
    size_t read_count = 0;
    size_t written_count = 0;
    struct sql_statement statement = {
        .operations = facts->operations,
        .without_where = facts->without_where,
        .is_unknown = facts->is_unknown,
        .why = facts->is_unknown ? "it is odd" : "",
        .prepared = SLICE(""),
    };
    const struct sql_name *read = names_of(facts->read == NULL ? "" : facts->read, &read_count);
    const struct sql_name *written =
        names_of(facts->written == NULL ? "" : facts->written, &written_count);
    const struct sql_name *called =
        names_of(facts->functions == NULL ? "" : facts->functions, &statement.function_count);
    statement.functions = arena_alloc_array(&arena, 8, sizeof(*statement.functions));
    for (size_t i = 0; i < statement.function_count; i++) {
        statement.functions[i] = (struct sql_function){.name = called[i]};
    }
    statement.relations = arena_alloc_array(&arena, 16, sizeof(*statement.relations));
    for (size_t i = 0; i < read_count; i++) {
        statement.relations[statement.relation_count++] =
            (struct sql_relation){.name = read[i], .is_read = true};
    }
    for (size_t i = 0; i < written_count; i++) {
        statement.relations[statement.relation_count++] =
            (struct sql_relation){.name = written[i], .is_written = true};
    }
    return statement;
}

static enum guard_action judge(struct facts facts)
{
    struct sql_statement statement = statement_of(&facts);
    struct sql_script script = {.statements = &statement, .count = 1};
    guard_judge_input(&scope, SLICE("text"), &settings, &script, &verdict);
    return verdict.action;
}

#define JUDGE(...) judge((struct facts){__VA_ARGS__})
#define OF(name)   .operations = SQL_BIT(SQL_##name)

static void operations_match_any_of_them(void **state)
{
    (void)state;
    use("\"operations\": [\"drop\", \"truncate\"]");
    assert_int_equal(JUDGE(OF(DROP)), GUARD_BLOCK);
    assert_int_equal(verdict.findings[0].why.len, 0);
    assert_int_equal(JUDGE(OF(TRUNCATE)), GUARD_BLOCK);
    assert_int_equal(JUDGE(.operations = SQL_BIT(SQL_SELECT) | SQL_BIT(SQL_DROP)), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT)), GUARD_PASS);
    assert_int_equal(JUDGE(OF(DELETE)), GUARD_PASS);
    use("\"operations\": [\"select\"]");
    assert_int_equal(JUDGE(OF(SELECT)), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SHOW)), GUARD_PASS);
}

static void every_operation_has_a_rule(void **state)
{
    (void)state;
    for (int i = 0; i <= SQL_OTHER; i++) {
        struct slice members = arena_format(&arena, "\"operations\": [\"%s\"]",
                                            sql_operation_word((enum sql_operation)i));
        use(arena_text(&arena, members));
        assert_int_equal(JUDGE(.operations = SQL_BIT(i)), GUARD_BLOCK);
        assert_int_equal(JUDGE(.operations = 0), GUARD_PASS);
    }
}

static void without_where_is_about_the_statement(void **state)
{
    (void)state;
    use("\"without_where\": true");
    assert_int_equal(JUDGE(OF(DELETE), .without_where = true), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(DELETE)), GUARD_PASS);
    use("\"without_where\": true, \"operations\": [\"delete\"]");
    assert_int_equal(JUDGE(OF(DELETE), .without_where = true), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(UPDATE), .without_where = true), GUARD_PASS);
    use("\"without_where\": false, \"operations\": [\"delete\"]");
    assert_int_equal(JUDGE(OF(DELETE)), GUARD_BLOCK);
}

static void relations_match_by_access(void **state)
{
    (void)state;
    use("\"relations\": [{\"name\": \"salaries\", \"access\": \"write\"}]");
    assert_int_equal(JUDGE(OF(UPDATE), .written = "salaries"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(UPDATE), .written = "hr.salaries"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .read = "salaries"), GUARD_PASS);
    assert_int_equal(JUDGE(OF(UPDATE), .written = "other", .read = "salaries"), GUARD_PASS);
    use("\"relations\": [{\"name\": \"salaries\", \"access\": \"read\"}]");
    assert_int_equal(JUDGE(OF(SELECT), .read = "other salaries"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(INSERT), .written = "salaries"), GUARD_PASS);
    use("\"relations\": [{\"name\": \"hr.*\"}, {\"name\": \"x\", \"access\": \"any\"}]");
    assert_int_equal(JUDGE(OF(SELECT), .read = "hr.a"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(INSERT), .written = "hr.a"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(INSERT), .written = "y.x"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(INSERT), .written = "public.a"), GUARD_PASS);
    /* Which schema that is, the search path says. */
    assert_int_equal(JUDGE(OF(INSERT), .written = "a"), GUARD_BLOCK);
    use("\"relations\": [{\"name\": \"a\"}, {\"name\": \"?b\"}, {\"name\": \"c\"}]");
    assert_int_equal(JUDGE(OF(SELECT), .read = "x y c z"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .read = "x y xb z"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .read = "x y xc z"), GUARD_PASS);
}

static void functions_match_by_name(void **state)
{
    (void)state;
    use("\"functions\": [\"pg_read_*\", \"ext.dblink\"]");
    assert_int_equal(JUDGE(OF(SELECT), .functions = "pg_read_file"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "lower pg_catalog.pg_read_binary_file"),
                     GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "dblink"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "other.dblink"), GUARD_PASS);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "lower dblink upper"), GUARD_BLOCK);
    /* What another function does is of no concern to a rule about names. */
    assert_int_equal(JUDGE(OF(SELECT), .functions = "my_report"), GUARD_PASS);
    assert_int_equal(JUDGE(OF(DO), .is_unknown = true), GUARD_BLOCK);
}

static void members_must_all_match(void **state)
{
    (void)state;
    use("\"operations\": [\"delete\"], \"relations\": [{\"name\": \"a\", \"access\": \"write\"}], "
        "\"functions\": [\"now\"], \"without_where\": true");
    assert_int_equal(JUDGE(OF(DELETE), .written = "a", .functions = "now", .without_where = true),
                     GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(UPDATE), .written = "a", .functions = "now", .without_where = true),
                     GUARD_PASS);
    assert_int_equal(JUDGE(OF(DELETE), .written = "b", .functions = "now", .without_where = true),
                     GUARD_PASS);
    assert_int_equal(JUDGE(OF(DELETE), .written = "a", .functions = "age", .without_where = true),
                     GUARD_PASS);
    assert_int_equal(JUDGE(OF(DELETE), .written = "a", .functions = "now"), GUARD_PASS);
}

static enum guard_action judge_two(struct facts first, struct facts second)
{
    struct sql_statement statements[] = {statement_of(&first), statement_of(&second)};
    struct sql_script script = {.statements = statements, .count = 2};
    guard_judge_input(&scope, SLICE("text"), &settings, &script, &verdict);
    return verdict.action;
}

static void several_statements_are_a_condition(void **state)
{
    (void)state;
    use("\"multi_statement\": true");
    assert_int_equal(JUDGE(OF(SELECT)), GUARD_PASS);
    assert_int_equal(judge_two((struct facts){OF(SELECT)}, (struct facts){OF(SELECT)}),
                     GUARD_BLOCK);
    assert_int_equal(verdict.count, 1);
    assert_int_equal(verdict.findings[0].statement, 0);
    use("\"multi_statement\": true, \"operations\": [\"drop\"]");
    assert_int_equal(JUDGE(OF(DROP)), GUARD_PASS);
    assert_int_equal(judge_two((struct facts){OF(SELECT)}, (struct facts){OF(DROP)}), GUARD_BLOCK);
    assert_int_equal(verdict.findings[0].statement, 1);
}

static void the_smallest_number_of_rows_applies(void **state)
{
    (void)state;
    use("\"max_rows\": 100, \"name\": \"hundred\"}, {\"type\": \"sql\", \"operations\": "
        "[\"delete\"], \"max_rows\": 10, \"name\": \"ten\"");
    assert_int_equal(JUDGE(OF(SELECT)), GUARD_PASS);
    assert_true(verdict.max_rows == -1);
    assert_int_equal(JUDGE(OF(UPDATE)), GUARD_PASS);
    assert_true(verdict.max_rows == 100);
    assert_true(slice_equals(verdict.max_rows_rule.rule_name, SLICE("hundred")));
    assert_int_equal(JUDGE(OF(DELETE)), GUARD_PASS);
    assert_true(verdict.max_rows == 10);
    assert_true(slice_equals(verdict.max_rows_rule.rule_name, SLICE("ten")));
    assert_int_equal(verdict.max_rows_rule.action, GUARD_BLOCK);
    assert_int_equal(verdict.count, 0);
    /* What cannot be counted is not let through. */
    assert_int_equal(JUDGE(OF(CALL), .is_unknown = true), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(DELETE), .is_unknown = true), GUARD_BLOCK);
    assert_int_equal(verdict.count, 2);
}

static void what_is_unknown_is_for_the_rule_to_say(void **state)
{
    (void)state;
    use("\"operations\": [\"drop\"]");
    assert_int_equal(JUDGE(OF(DO), .is_unknown = true), GUARD_BLOCK);
    assert_true(slice_equals(verdict.findings[0].why, SLICE("it is odd")));
    assert_int_equal(JUDGE(OF(EXECUTE)), GUARD_BLOCK);
    assert_true(slice_equals(verdict.findings[0].why, SLICE("it runs a prepared statement")));
    assert_int_equal(JUDGE(.operations = SQL_BIT(SQL_EXPLAIN) | SQL_BIT(SQL_EXECUTE)), GUARD_BLOCK);
    use("\"operations\": [\"drop\"], \"unknown\": \"allow\"");
    assert_int_equal(JUDGE(OF(DO), .is_unknown = true), GUARD_PASS);
    assert_int_equal(JUDGE(OF(EXECUTE)), GUARD_PASS);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "f"), GUARD_PASS);
    assert_int_equal(JUDGE(OF(DROP), .is_unknown = true), GUARD_BLOCK);
    assert_int_equal(verdict.findings[0].why.len, 0);
    use("\"relations\": [{\"name\": \"a\", \"access\": \"read\"}]");
    assert_int_equal(JUDGE(OF(DO), .is_unknown = true), GUARD_PASS);
    use("\"relations\": [{\"name\": \"a\", \"access\": \"read\"}], \"unknown\": \"block\"");
    assert_int_equal(JUDGE(OF(DO), .is_unknown = true), GUARD_BLOCK);
    use("\"operations\": [\"drop\"], \"action\": \"warn\"");
    assert_int_equal(JUDGE(OF(DO), .is_unknown = true), GUARD_WARN);
    use("\"operations\": [\"drop\"], \"action\": \"observe\"");
    assert_int_equal(JUDGE(OF(DO), .is_unknown = true), GUARD_OBSERVE);
}

static void functions_of_others_may_do_anything(void **state)
{
    (void)state;
    use("\"operations\": [\"insert\"]");
    assert_int_equal(JUDGE(OF(SELECT), .functions = "lower count pg_catalog.now nextval"),
                     GUARD_PASS);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "my_function"), GUARD_BLOCK);
    assert_true(
        slice_equals(verdict.findings[0].why, SLICE("it calls a function that may do anything")));
    assert_int_equal(JUDGE(OF(SELECT), .functions = "public.lower"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "dblink_exec"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "lo_import"), GUARD_BLOCK);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "query_to_xml"), GUARD_BLOCK);
    use("\"operations\": [\"insert\"], \"safe_functions\": [\"st_*\", \"reports.*\"]");
    assert_int_equal(JUDGE(OF(SELECT), .functions = "st_area reports.daily"), GUARD_PASS);
    assert_int_equal(JUDGE(OF(SELECT), .functions = "st_area other.daily"), GUARD_BLOCK);
    use("\"multi_statement\": true, \"unknown\": \"block\"");
    assert_int_equal(JUDGE(OF(SELECT), .functions = "my_function"), GUARD_PASS);
    use("\"operations\": [\"set\"]");
    assert_int_equal(JUDGE(OF(SELECT), .functions = "set_config"), GUARD_BLOCK);
    use("\"operations\": [\"notify\"]");
    assert_int_equal(JUDGE(OF(SELECT), .functions = "pg_notify"), GUARD_BLOCK);
}

static void a_text_that_is_no_sql_is_unknown(void **state)
{
    (void)state;
    use("\"operations\": [\"drop\"]");
    guard_judge_input(&scope, SLICE("text"), &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_BLOCK);
    assert_true(slice_equals(verdict.findings[0].why, SLICE("it is not SQL")));
    use("\"operations\": [\"select\"]");
    guard_judge_input(&scope, SLICE("text"), &settings, NULL, &verdict);
    assert_int_equal(verdict.action, GUARD_PASS);
    struct sql_script empty = {0};
    use("\"operations\": [\"drop\"]");
    guard_judge_input(&scope, SLICE(";;"), &settings, &empty, &verdict);
    assert_int_equal(verdict.action, GUARD_PASS);
}

static void a_thousand_structural_rules(void **state)
{
    (void)state;
    struct slice all = SLICE("");
    struct arena texts;
    arena_init(&texts);
    for (size_t i = 0; i < 1000; i++) {
        all = arena_format(&texts,
                           "%.*s%s{\"type\": \"sql\", \"action\": \"observe\", \"relations\": "
                           "[{\"name\": \"s%zu.t*\"}]}",
                           SLICE_ARG(all), i == 0 ? "" : ", ", i);
    }
    struct guardrail guardrail = guardrail_of(&arena, arena_text(&arena, all), "");
    arena_release(&texts);
    assert_int_equal(guard_rules_new(&guardrail, 1, &rules, NULL), ERR_NONE);
    scope = guard_scope_in(&arena, scratch, rules, NULL, 0);
    assert_int_equal(JUDGE(OF(SELECT), .read = "s777.table s1000.table s5.x"), GUARD_OBSERVE);
    assert_int_equal(verdict.count, 1);
    assert_int_equal(verdict.findings[0].rule, 777);
}

int main(void)
{
#define TEST(name) RIG_TEST(name)
    const struct CMUnitTest tests[] = {
        TEST(operations_match_any_of_them),
        TEST(every_operation_has_a_rule),
        TEST(without_where_is_about_the_statement),
        TEST(relations_match_by_access),
        TEST(functions_match_by_name),
        TEST(members_must_all_match),
        TEST(several_statements_are_a_condition),
        TEST(the_smallest_number_of_rows_applies),
        TEST(what_is_unknown_is_for_the_rule_to_say),
        TEST(functions_of_others_may_do_anything),
        TEST(a_text_that_is_no_sql_is_unknown),
        TEST(a_thousand_structural_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
