/* SPDX-License-Identifier: MIT */
/* Which columns are masked: by what the catalog says of where they come from, and of what the
 * statement names. */
#include "pg_facts_made.h"
#include "pg_mask_help.h"

#include <string.h>

static const struct said plain = {.verb = SQL_SELECT};
static const struct said reads = {.verb = SQL_SELECT, .given = "ssn"};

static void begin(struct talk *talk)
{
    talk_start(talk);
    talk->rules.looks_into_text = false;
    talk->rules.columns[0] = (struct fake_column){.table = "people", .column = "ssn"};
    talk->rules.column_count = 1;
    talk_begin(talk);
}

/* A statement whose rows have one column; its values pass, or are masked. */
static void check(struct talk *talk, const struct said *said, const struct column *column,
                  bool is_masked)
{
    const struct slice value = SLICE("123");
    const struct slice masked = SLICE("[R]");
    uint64_t id = talk_query(talk, "select value", said);
    say_description(talk, column, 1);
    talk_answer(talk, id, PG_MASK_SAME);
    say_row(talk, &value, 1);
    talk_answer(talk, id, is_masked ? PG_MASK_CHANGED : PG_MASK_SAME);
    if (is_masked) {
        check_row(talk, &masked, 1);
    }
    say(talk, 'C', SLICE("SELECT 1\0"));
    talk_answer(talk, id, PG_MASK_SAME);
    say(talk, 'Z', SLICE("I"));
    talk_answer(talk, id, PG_MASK_SAME);
}

static const struct column ssn = {.name = "x", .table = 1000, .number = 2, .type = 25};
static const struct column name = {.name = "ssn", .table = 1000, .number = 3, .type = 25};
static const struct column computed = {.name = "y", .type = 25};
static const struct column made_since = {.name = "z", .table = 42420, .number = 1, .type = 25};

static void the_servers_word_says_where_columns_come_from(void **state)
{
    struct talk talk;
    (void)state;
    begin(&talk);
    check(&talk, &reads, &ssn, true);
    check(&talk, &reads, &name, false); /* whatever it is called */
    check(&talk, &reads, &computed, true);
    check(&talk, &reads, &made_since, true);
    check(&talk, &plain, &computed, false);
    check(&talk, &plain, &ssn, true); /* though its text did not say so */
    assert_int_equal(talk.lookups, 0);
    talk_end(&talk);
}

static void where_nothing_is_masked_all_passes(void **state)
{
    static const pg_facts_made_row tables[] = {
        {"r", "1000", "public", "other", "r", "", "1:id,2:ssn,3:name"}};
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk.rules.columns[0] = (struct fake_column){.table = "people", .column = "ssn"};
    talk.rules.column_count = 1;
    talk.facts = pg_facts_made(&talk.rules, tables, 1);
    talk_begin(&talk);
    check(&talk, &reads, &ssn, false);
    check(&talk, &reads, &computed, false);
    check(&talk, &(struct said){.verb = SQL_DO, .is_unknown = true}, &computed, false);
    talk_end(&talk);
}

/* An answer waits until the catalog was asked; what cannot be asked is masked. */
static void what_is_not_known_is_asked_once_and_then_masked(void **state)
{
    const struct slice value = SLICE("123");
    struct talk talk;
    (void)state;
    begin(&talk);
    talk.known = (struct catalog_stamp){.at_us = 0};
    uint64_t id = talk_query(&talk, "select value", &plain);
    say_description(&talk, &name, 1);
    talk_answer(&talk, id, PG_MASK_SAME);
    for (int i = 0; i < 2; i++) {
        say_row(&talk, &value, 1);
        talk_answer(&talk, id, PG_MASK_WAIT);
    }
    assert_int_equal(talk.lookups, 1);
    talk.known.at_us = 2;
    pg_facts_unref(talk.facts);
    talk.facts = NULL;
    pg_mask_informed(talk.mask);
    say_row(&talk, &value, 1);
    talk_answer(&talk, id, PG_MASK_CHANGED);
    talk_end(&talk);
}

/* While somebody else is about to change the catalog, what a statement reads is not certain. */
static void a_change_of_others_makes_it_uncertain(void **state)
{
    struct talk talk;
    (void)state;
    begin(&talk);
    talk.now.begun = talk.known.begun = 1;
    check(&talk, &plain, &computed, true);
    talk.now.ended = talk.known.ended = 1;
    check(&talk, &plain, &computed, false);
    talk_end(&talk);
}

/* What the session changes makes what is known old. */
static void own_changes_are_told(void **state)
{
    static const struct said creates = {.verb = SQL_CREATE};
    struct talk talk;
    (void)state;
    begin(&talk);
    uint64_t id = talk_query(&talk, "create", &creates);
    assert_int_equal(talk.now.begun, 1);
    assert_int_equal(talk.now.ended, 0);
    say(&talk, 'C', SLICE("CREATE TABLE\0"));
    talk_answer(&talk, id, PG_MASK_SAME);
    say(&talk, 'Z', SLICE("I"));
    talk_answer(&talk, id, PG_MASK_SAME);
    assert_int_equal(talk.now.ended, 1);
    id = talk_query(&talk, "select value", &plain);
    say(&talk, 'C', SLICE("SELECT 1\0"));
    talk_answer(&talk, id, PG_MASK_WAIT);
    assert_int_equal(talk.lookups, 1);
    talk_end(&talk);
}

/* A catalog without masked columns, though a rule is about one. */
static void begin_empty(struct talk *talk)
{
    static const pg_facts_made_row tables[] = {
        {"r", "1000", "public", "other", "r", "", "1:id,2:ssn,3:name"},
        {"b", "plain", "insert into other values (1)", NULL, NULL, NULL, NULL},
        {"b", "builds", "begin execute a; end", NULL, NULL, NULL, NULL}};
    talk_start(talk);
    talk->rules.looks_into_text = false;
    talk->rules.columns[0] = (struct fake_column){.table = "people", .column = "ssn"};
    talk->rules.column_count = 1;
    talk->facts = pg_facts_made(&talk->rules, tables, COUNT_OF(tables));
    talk_begin(talk);
}

/* Where nothing is masked, others need to know little of what cannot change that, and can rely on
 * the catalog where it is known what it was before. */
static void others_are_told_what_a_change_may_do(void **state)
{
    static const struct {
        struct said said;
        const char *text;
        enum catalog_change told;
    } cases[] = {
        {{.verb = SQL_CREATE}, "create table x", CATALOG_DEFINED},
        {{.verb = SQL_CREATE}, "create table people", CATALOG_CHECKED},
        {{.verb = SQL_DO, .is_unknown = true}, "do 'x'", CATALOG_DEFINED},
        {{.verb = SQL_DO, .is_unknown = true}, "do 'language PLPGSQL'", CATALOG_DEFINED},
        {{.verb = SQL_DO, .is_unknown = true}, "do 'language plperl'", CATALOG_CHECKED},
        {{.verb = SQL_DO, .is_unknown = true}, "do 'Execute'", CATALOG_CHECKED},
        {{.verb = SQL_DO, .is_unknown = true}, "do 'Execute; Commit'", CATALOG_MASKED},
        {{.verb = SQL_DO, .is_unknown = true}, "do E'\\x'", CATALOG_CHECKED},
        {{.verb = SQL_CALL, .is_unknown = true, .call = "plain"}, "call plain()", CATALOG_DEFINED},
        {{.verb = SQL_CALL, .is_unknown = true, .call = "builds"}, "call b()", CATALOG_MASKED},
        {{.verb = SQL_CALL, .is_unknown = true}, "call (", CATALOG_MASKED},
        {{.verb = SQL_CREATE, .is_unknown = true}, "what", CATALOG_CHECKED},
        {{.verb = SQL_CREATE, .is_unknown = true}, "what; that", CATALOG_MASKED},
        {{.verb = SQL_CREATE, .operations = SQL_BIT(SQL_CODE), .is_unknown = true},
         "create begin atomic x; end",
         CATALOG_CHECKED},
        {{.verb = SQL_CREATE, .operations = SQL_BIT(SQL_CODE), .is_unknown = true},
         "create begin atomic x; end; end; x",
         CATALOG_MASKED},
        {{.verb = SQL_COMMIT}, "commit prepared 'x'", CATALOG_CHECKED},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct talk talk;
        begin_empty(&talk);
        uint64_t id = talk_query(&talk, cases[i].text, &cases[i].said);
        assert_int_equal(talk.now.begun, cases[i].told == CATALOG_MASKED);
        assert_int_equal(talk.now.checked_begun, cases[i].told == CATALOG_CHECKED);
        assert_int_equal(talk.now.defined_begun, cases[i].told == CATALOG_DEFINED);
        say(&talk, 'C', SLICE("CREATE TABLE\0"));
        talk_answer(&talk, id, PG_MASK_SAME);
        say(&talk, 'Z', SLICE("I"));
        talk_answer(&talk, id, PG_MASK_SAME);
        assert_int_equal(talk.now.ended, talk.now.begun);
        assert_int_equal(talk.now.checked_ended, talk.now.checked_begun);
        assert_int_equal(talk.now.defined_ended, talk.now.defined_begun);
        talk_end(&talk);
    }
}

/* While somebody's checked change is under way, an answer waits for the catalog as it is after it;
 * unless something else came between, which nobody looked for. */
static void a_checked_change_of_others_is_looked_for(void **state)
{
    static const struct {
        uint64_t begun;    /* changes that were not checked, before the answer */
        uint64_t at_check; /* those that were known when the checked one began */
        bool has_others;   /* who has other rules */
        bool is_masked;
    } cases[] = {
        {0, 0, false, false}, {1, 1, false, false}, {1, 0, false, true}, {0, 0, true, true}};
    const struct slice value = SLICE("123");
    const struct slice masked = SLICE("[R]");
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct talk talk;
        begin_empty(&talk);
        talk.now.at_us = 3;
        talk.now.begun = talk.now.ended = cases[i].begun;
        talk.known.begun = talk.known.ended = cases[i].begun;
        uint64_t id = talk_query(&talk, "select value", &plain);
        talk.now = (struct catalog_stamp){.begun = cases[i].begun,
                                          .ended = cases[i].begun,
                                          .checked_begun = 1,
                                          .begun_at_check = cases[i].at_check,
                                          .others_at_us = cases[i].has_others ? 4 : 0,
                                          .at_us = 5};
        say_description(&talk, &computed, 1);
        talk_answer(&talk, id, PG_MASK_SAME);
        say_row(&talk, &value, 1);
        talk_answer(&talk, id, PG_MASK_WAIT);
        assert_int_equal(talk.lookups, 1);
        talk.known = talk.now;
        pg_mask_informed(talk.mask);
        say_row(&talk, &value, 1);
        talk_answer(&talk, id, cases[i].is_masked ? PG_MASK_CHANGED : PG_MASK_SAME);
        if (cases[i].is_masked) {
            check_row(&talk, &masked, 1);
        }
        talk_end(&talk);
    }
}

/* Views, parts of tables, and what runs code that somebody made. */
static void what_is_made_of_masked_columns_is_masked(void **state)
{
    static const pg_facts_made_row rows[] = {
        {"r", "20000", "public", "people", "r", "", "1:id,2:ssn,3:name"},
        {"r", "20001", "public", "seen", "v", "", "1:number"},
        {"r", "20002", "public", "names", "v", "", "1:name"},
        {"r", "20003", "public", "whole", "v", "w", "1:p"},
        {"r", "20004", "public", "part", "r", "", "1:id,2:ssn,3:name"},
        {"r", "20005", "public", "upon", "v", "", "1:n"},
        {"r", "20006", "public", "calls", "v", "", "1:n"},
        {"r", "20007", "public", "orders", "r", "", "1:person"},
        {"r", "20008", "public", "named", "v", "", "1:a,2:b"},
        {"d", "20001", "20000", "2", NULL, NULL, NULL},
        {"d", "20002", "20000", "3", NULL, NULL, NULL},
        {"d", "20003", "20000", "0", NULL, NULL, NULL},
        {"d", "20005", "20001", "1", NULL, NULL, NULL},
        {"d", "20008", "20000", "2", NULL, NULL, NULL},
        {"q", "20006", "query_to_xml", NULL, NULL, NULL, NULL},
        {"i", "20004", "20000", NULL, NULL, NULL, NULL},
        {"k", "20007", "20000", NULL, NULL, NULL, NULL},
        {"f", "lower", "1", "1", NULL, NULL, NULL},
        {"o", "===", NULL, NULL, NULL, NULL, NULL},
        {"t", "email", "d", NULL, NULL, NULL, NULL},
    };
    static const bool is_masked[] = {false, true, false, true, true, true, true, false, true};
    struct mask_rules rules = {
        .columns = {{.table = "people", .column = "ssn"}, {.table = "named", .column = "b"}},
        .column_count = 2};
    struct pg_facts *facts = pg_facts_made(&rules, rows, COUNT_OF(rows));
    (void)state;
    for (uint32_t i = 0; i < COUNT_OF(is_masked); i++) {
        uint16_t column = i == 4 ? 2 : 1;
        struct pg_facts_column found = pg_facts_column(facts, 20000 + i, column);
        assert_true(found.is_known);
        assert_int_equal(found.whole != NULL, is_masked[i]);
    }
    const struct sql_name orders = {SLICE("public"), SLICE("orders")};
    const struct sql_name nowhere = {SLICE(""), SLICE("nowhere")};
    const struct sql_name lower = {SLICE(""), SLICE("lower")};
    const struct sql_name like = {SLICE(""), SLICE("===")};
    const struct sql_name email = {SLICE(""), SLICE("email")};
    assert_int_equal(pg_facts_relation(facts, &orders, false).reach, PG_FACTS_OPEN);
    assert_int_equal(pg_facts_relation(facts, &orders, true).reach, PG_FACTS_REACHED);
    assert_int_equal(pg_facts_relation(facts, &nowhere, false).reach, PG_FACTS_UNKNOWN);
    assert_false(pg_facts_is_own_function(facts, &lower, 1, 1));
    assert_true(pg_facts_is_own_function(facts, &lower, 2, 2));
    assert_false(pg_facts_is_own_operator(facts, &like) || pg_facts_is_own_type(facts, &email));
    pg_facts_unref(facts);
}

/* A column of a view that is just another column is what that one is, through views of views; where
 * one of several lists of results says otherwise, or none says anything, it is masked. */
static void a_column_of_a_view_is_what_it_is_taken_from(void **state)
{
    static const pg_facts_made_row rows[] = {
        {"r", "20000", "public", "people", "r", "", "1:id,2:ssn,3:name"},
        {"r", "20001", "public", "upon", "v", "", "1:a,2:b,3:c"},
        {"r", "20002", "public", "seen", "v", "", "1:id,2:ssn,3:name,4:line,5:either,6:none"},
        {"l", "20001", "1", "20002", "1", NULL, NULL},
        {"l", "20001", "2", "20002", "2", NULL, NULL},
        {"l", "20001", "3", "20002", "5", NULL, NULL},
        {"l", "20002", "1", "20000", "1", NULL, NULL},
        {"l", "20002", "2", "20000", "2", NULL, NULL},
        {"l", "20002", "3", "20000", "3", NULL, NULL},
        {"l", "20002", "3", "0", "0", NULL, NULL},
        {"l", "20002", "4", "20000", "0", NULL, NULL},
        {"l", "20002", "5", "20000", "1", NULL, NULL},
        {"l", "20002", "5", "20000", "2", NULL, NULL},
        {"l", "20002", "7", "20000", "2", NULL, NULL},
        {"d", "20001", "20002", "1", NULL, NULL, NULL},
        {"d", "20001", "20002", "2", NULL, NULL, NULL},
        {"d", "20001", "20002", "5", NULL, NULL, NULL},
        {"d", "20002", "20000", "2", NULL, NULL, NULL},
    };
    static const bool of_upon[] = {false, true, true};
    static const bool of_seen[] = {false, true, true, true, true, true};
    struct mask_rules rules = {.columns = {{.table = "people", .column = "ssn"}},
                               .column_count = 1};
    struct pg_facts *facts = pg_facts_made(&rules, rows, COUNT_OF(rows));
    (void)state;
    for (uint16_t i = 0; i < COUNT_OF(of_upon); i++) {
        assert_int_equal(pg_facts_column(facts, 20001, i + 1).whole != NULL, of_upon[i]);
    }
    for (uint16_t i = 0; i < COUNT_OF(of_seen); i++) {
        assert_int_equal(pg_facts_column(facts, 20002, i + 1).whole != NULL, of_seen[i]);
    }
    assert_false(pg_facts_column(facts, 20002, 0).is_known);
    pg_facts_unref(facts);
}

/* What is not understood says nothing. */
static void an_answer_that_is_not_understood_masks_all(void **state)
{
    static const pg_facts_made_row wrong[][1] = {{{"r", "x", "s", "t", "r", "", "1:a"}},
                                                 {{"r", "20000", "s", "t", "r", "", "2:a,1:b"}},
                                                 {{"?", NULL, NULL, NULL, NULL, NULL, NULL}}};
    struct mask_rules rules = {.columns = {{.column = "ssn"}}, .column_count = 1};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct pg_facts *facts = pg_facts_made(&rules, wrong[i], 1);
        assert_true(pg_facts_has_masked(facts));
        assert_false(pg_facts_column(facts, 20000, 1).is_known);
        pg_facts_unref(facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_servers_word_says_where_columns_come_from),
        cmocka_unit_test(where_nothing_is_masked_all_passes),
        cmocka_unit_test(what_is_not_known_is_asked_once_and_then_masked),
        cmocka_unit_test(a_change_of_others_makes_it_uncertain),
        cmocka_unit_test(own_changes_are_told),
        cmocka_unit_test(others_are_told_what_a_change_may_do),
        cmocka_unit_test(a_checked_change_of_others_is_looked_for),
        cmocka_unit_test(what_is_made_of_masked_columns_is_masked),
        cmocka_unit_test(a_column_of_a_view_is_what_it_is_taken_from),
        cmocka_unit_test(an_answer_that_is_not_understood_masks_all),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_mask_reach", tests, NULL, NULL);
}
