/* SPDX-License-Identifier: MIT */
/* Which rules concern a column: by where it comes from, by what the statement says, by what names
 * mean at the time. */
#include "pg_mask_help.h"

#include <string.h>

#define PEOPLE 1000
#define OTHER  1001
#define PART   1002
#define SEEN   1003
#define TEXT   25

static const struct said plain = {.verb = SQL_SELECT, .given = "ssn"};
static const struct said tainted = {.verb = SQL_SELECT, .used = "ssn"};
static const struct said innocent = {.verb = SQL_SELECT, .given = "id"};

static void start(struct talk *talk)
{
    talk_start(talk);
    talk->rules.columns[0] = (struct fake_column){.table = "people", .column = "ssn"};
    talk->rules.column_count = 1;
    talk_begin(talk);
}

/* A row of values "v"; which of them come out as "[R]", as bits. */
static unsigned masked_of(struct talk *talk, uint64_t id, size_t count)
{
    struct slice values[8];
    unsigned bits = 0;
    for (size_t i = 0; i < count; i++) {
        values[i] = SLICE("v");
    }
    say_row(talk, values, count);
    talk_pass(talk, id);
    if (talk->verdict == PG_MASK_WAIT) {
        learn_tables(talk);
        say_row(talk, values, count);
        talk_pass(talk, id);
    }
    if (talk->verdict == PG_MASK_SAME) {
        return 0;
    }
    assert_int_equal(talk->verdict, PG_MASK_CHANGED);
    struct slice rest = slice_from(buf_view(&talk->out), 7);
    for (size_t i = 0; i < count; i++) {
        bool is_masked = slice_starts_with(rest, SLICE("\0\0\0\3[R]"));
        bits |= (unsigned)is_masked << i;
        rest = slice_from(rest, is_masked ? 7 : 5);
    }
    assert_int_equal(rest.len, 0);
    return bits;
}

static unsigned masked_in_query(struct talk *talk, const struct said *said,
                                const struct column *columns, size_t count)
{
    uint64_t id = talk_query(talk, "select", said);
    say_description(talk, columns, count);
    talk_answer(talk, id, PG_MASK_SAME);
    unsigned bits = masked_of(talk, id, count);
    say(talk, 'C', SLICE("SELECT 1\0"));
    say(talk, 'Z', SLICE("I"));
    buf_clear(&talk->in);
    return bits;
}

static const struct column alias[] = {{.name = "x", .table = PEOPLE, .number = 2, .type = TEXT},
                                      {.name = "id", .table = PEOPLE, .number = 1, .type = TEXT}};

static void an_alias_does_not_unmask(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    assert_int_equal(masked_in_query(&talk, &plain, alias, 2), 1);
    assert_int_equal(talk.lookups, 1);
    assert_int_equal(slice_equals(buf_view(&talk.asked_for), SLICE("{1000}")), true);
    assert_int_equal(masked_in_query(&talk, &plain, alias, 2), 1);
    assert_int_equal(talk.lookups, 1);
    const struct column other[] = {{.name = "note", .table = OTHER, .number = 2, .type = TEXT}};
    assert_int_equal(masked_in_query(&talk, &innocent, other, 1), 0);
    talk_end(&talk);
}

static void parts_and_views_follow_their_tables(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    const struct column part[] = {{.name = "a", .table = PART, .number = 1, .type = TEXT},
                                  {.name = "b", .table = PART, .number = 2, .type = TEXT}};
    assert_int_equal(masked_in_query(&talk, &innocent, part, 2), 2);
    /* 'number' is some column under another name, 'name' is one that is not masked, 'ssn' is. */
    const struct column seen[] = {{.name = "a", .table = SEEN, .number = 1, .type = TEXT},
                                  {.name = "b", .table = SEEN, .number = 2, .type = TEXT},
                                  {.name = "c", .table = SEEN, .number = 3, .type = TEXT}};
    assert_int_equal(masked_in_query(&talk, &innocent, seen, 3), 5);
    talk_end(&talk);
}

static void what_is_computed_follows_the_statement(void **state)
{
    const struct column computed[] = {{.name = "x", .type = TEXT}};
    const struct column both[] = {{.name = "x", .type = TEXT},
                                  {.name = "s", .table = PEOPLE, .number = 2, .type = TEXT}};
    static const struct said unknown = {.verb = SQL_DO, .is_unknown = true};
    static const struct said star = {.verb = SQL_SELECT, .used = "*"};
    struct talk talk;
    (void)state;
    start(&talk);
    assert_int_equal(masked_in_query(&talk, &tainted, computed, 1), 1);
    assert_int_equal(masked_in_query(&talk, &unknown, computed, 1), 1);
    assert_int_equal(masked_in_query(&talk, &star, computed, 1), 1);
    assert_int_equal(masked_in_query(&talk, NULL, computed, 1), 1);
    assert_int_equal(masked_in_query(&talk, &innocent, computed, 1), 0);
    /* A union's columns have no origin. */
    assert_int_equal(masked_in_query(&talk, &plain, computed, 1), 1);
    assert_int_equal(masked_in_query(&talk, &plain, both, 2), 2);
    talk_end(&talk);
}

static void what_was_prepared_in_sql_stays_masked(void **state)
{
    const struct column computed[] = {{.name = "x", .type = TEXT}};
    static const struct said execute = {.verb = SQL_EXECUTE};
    static const struct said fetch = {.verb = SQL_FETCH};
    struct talk talk;
    (void)state;
    start(&talk);
    assert_int_equal(masked_in_query(&talk, &execute, computed, 1), 0);
    (void)talk_query(&talk, "prepare s as select upper(ssn) from people", &tainted);
    assert_int_equal(masked_in_query(&talk, &execute, computed, 1), 1);
    assert_int_equal(masked_in_query(&talk, &fetch, computed, 1), 1);
    talk_end(&talk);
}

static void tables_that_nobody_can_tell_of_are_masked(void **state)
{
    const struct column columns[] = {{.name = "x", .table = 5555, .number = 2, .type = TEXT},
                                     {.name = "ssn", .table = 5555, .number = 1, .type = TEXT}};
    struct talk talk;
    (void)state;
    start(&talk);
    /* The target has no such table that others can see: names are all there is. */
    assert_int_equal(masked_in_query(&talk, &innocent, columns, 2), 2);
    /* It could not be asked. */
    uint64_t id = talk_query(&talk, "select", &innocent);
    say_description(&talk, columns, 2);
    talk_answer(&talk, id, PG_MASK_SAME);
    say_row(&talk, (struct slice[]){SLICE("v"), SLICE("v")}, 2);
    talk_answer(&talk, id, PG_MASK_WAIT);
    say_row(&talk, (struct slice[]){SLICE("v"), SLICE("v")}, 2);
    talk_answer(&talk, id, PG_MASK_WAIT);
    assert_int_equal(talk.lookups, 2);
    pg_mask_learn_done(talk.mask, false);
    assert_int_equal(masked_of(&talk, id, 2), 3);
    talk_end(&talk);
}

static void other_rules_apply_at_once(void **state)
{
    struct mask_rules others = {.columns = {{.table = "other", .column = "note"}},
                                .column_count = 1};
    const struct column columns[] = {{.name = "x", .table = OTHER, .number = 2, .type = TEXT}};
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t id = talk_query(&talk, "select", &innocent);
    say_description(&talk, columns, 1);
    talk_answer(&talk, id, PG_MASK_SAME);
    assert_int_equal(masked_of(&talk, id, 1), 0);
    const struct pg_mask_settings settings = {.rules = &others};
    pg_mask_set_rules(talk.mask, &settings);
    assert_int_equal(masked_of(&talk, id, 1), 1);
    talk_end(&talk);
}

/* Prepared statements ----------------------------------------------------------------------------
 */

static void complete(struct talk *talk, uint64_t id, char type)
{
    say(talk, type, SLICE(""));
    talk_answer(talk, id, PG_MASK_SAME);
}

static void describe(struct talk *talk, uint64_t id, const struct column *columns, size_t count)
{
    say_description(talk, columns, count);
    talk_answer(talk, id, PG_MASK_SAME);
}

static void ready(struct talk *talk)
{
    say(talk, 'Z', SLICE("I"));
    talk_pass(talk, talk->id++);
}

static void statements_are_described_once(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t parse = talk_parse(&talk, "s", "select", &plain);
    uint64_t described = talk_describe(&talk, 'S', "s");
    complete(&talk, parse, '1');
    describe(&talk, described, alias, 2);
    ready(&talk);
    for (int i = 0; i < 3; i++) {
        uint64_t bind = talk_bind(&talk, "", "s", i % 2);
        assert_false(talk_needs_describe(&talk, ""));
        uint64_t execute = talk_execute(&talk, "");
        complete(&talk, bind, '2');
        assert_int_equal(masked_of(&talk, execute, 2), 1);
        ready(&talk);
    }
    assert_true(talk_needs_describe(&talk, "")); /* a portal ends with its transaction */
    talk_end(&talk);
}

static void pipelines_need_a_describe_somewhere(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    (void)talk_parse(&talk, "", "select", &plain);
    (void)talk_bind(&talk, "p", "", 0);
    assert_true(talk_needs_describe(&talk, "p"));
    (void)talk_describe(&talk, 'P', "other");
    assert_true(talk_needs_describe(&talk, "p"));
    (void)talk_describe(&talk, 'P', "p");
    assert_false(talk_needs_describe(&talk, "p"));
    (void)talk_execute(&talk, "p");
    (void)talk_parse(&talk, "s", "select", &plain);
    (void)talk_describe(&talk, 'S', "s");
    (void)talk_bind(&talk, "q", "s", 0);
    assert_false(talk_needs_describe(&talk, "q"));
    (void)talk_close(&talk, 'S', "s");
    (void)talk_parse(&talk, "s", "select", &plain);
    (void)talk_bind(&talk, "q", "s", 0);
    assert_true(talk_needs_describe(&talk, "q"));
    talk_end(&talk);
}

static void a_describe_of_ours_is_swallowed(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t parse = talk_parse(&talk, "", "select", &plain);
    uint64_t bind = talk_bind(&talk, "", "", 0);
    const struct pg_mask_request own = {
        .id = talk.id, .type = 'D', .is_own = true, .body = slice_of("P\0", 2)};
    assert_int_equal(pg_mask_request(talk.mask, &own, NULL), ERR_NONE);
    uint64_t described = talk.id++;
    uint64_t execute = talk_execute(&talk, "");
    complete(&talk, parse, '1');
    complete(&talk, bind, '2');
    say_description(&talk, alias, 2);
    talk_pass(&talk, described);
    check_out(&talk, "", 0);
    assert_int_equal(masked_of(&talk, execute, 2), 1);
    talk_end(&talk);
}

static void rows_that_nobody_described_are_masked_whole(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t parse = talk_parse(&talk, "", "select", &innocent);
    uint64_t bind = talk_bind(&talk, "", "", -1);
    uint64_t execute = talk_execute(&talk, "");
    complete(&talk, parse, '1');
    complete(&talk, bind, '2');
    assert_int_equal(masked_of(&talk, execute, 3), 7);
    talk_end(&talk);
    talk_start(&talk); /* without column rules they are looked into */
    talk_begin(&talk);
    parse = talk_parse(&talk, "", "select", &innocent);
    bind = talk_bind(&talk, "", "", 1);
    execute = talk_execute(&talk, "");
    complete(&talk, parse, '1');
    complete(&talk, bind, '2');
    struct slice values[] = {SLICE("aSECRET"), SLICE("\0\1\2\3\4\5\6\7\7"), SLICE("b"), NULL_VALUE};
    say_row(&talk, values, 4);
    talk_pass(&talk, execute);
    values[0] = SLICE("a[S]");
    values[1] = NULL_VALUE;
    check_row(&talk, values, 4);
    talk_end(&talk);
}

/* The server keeps what was there before a Parse that fails, and so does what is known of it. */
static void a_parse_that_fails_changes_nothing(void **state)
{
    const struct column computed[] = {{.name = "x", .type = TEXT}};
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t parse = talk_parse(&talk, "s", "select upper(ssn)", &tainted);
    complete(&talk, parse, '1');
    uint64_t described = talk_describe(&talk, 'S', "s");
    describe(&talk, described, computed, 1);
    parse = talk_parse(&talk, "s", "select 1", &innocent);
    say(&talk, 'E', SLICE("SERROR\0C42P05\0Mexists\0\0"));
    talk_pass(&talk, parse);
    ready(&talk);
    uint64_t bind = talk_bind(&talk, "", "s", 0);
    uint64_t execute = talk_execute(&talk, "");
    complete(&talk, bind, '2');
    assert_int_equal(masked_of(&talk, execute, 1), 1);
    talk_end(&talk);
}

/* PREPARE in SQL gives a name to something else. */
static void names_that_sql_changes_are_forgotten(void **state)
{
    const struct column computed[] = {{.name = "x", .type = TEXT}};
    static const struct said deallocate = {.verb = SQL_DEALLOCATE};
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t parse = talk_parse(&talk, "s", "select 1", &innocent);
    uint64_t described = talk_describe(&talk, 'S', "s");
    complete(&talk, parse, '1');
    describe(&talk, described, computed, 1);
    uint64_t query = talk_query(&talk, "deallocate s; prepare s as …", &deallocate);
    say(&talk, 'C', SLICE("DEALLOCATE\0"));
    talk_pass(&talk, query);
    uint64_t bind = talk_bind(&talk, "", "s", 0);
    uint64_t execute = talk_execute(&talk, "");
    complete(&talk, bind, '2');
    assert_int_equal(masked_of(&talk, execute, 1), 1);
    assert_true(talk_needs_describe(&talk, ""));
    talk_end(&talk);
}

/* SQL cannot name the unnamed statement, but what that executes. */
static void an_execute_is_not_what_it_was_when_names_have_changed(void **state)
{
    static const struct said executes = {.operations = SQL_BIT(SQL_EXECUTE)};
    static const struct said prepares = {.operations = SQL_BIT(SQL_PREPARE)};
    const struct column computed[] = {{.name = "x", .type = TEXT}};
    for (int has_changed = 0; has_changed < 2; has_changed++) {
        struct talk talk;
        (void)state;
        start(&talk);
        complete(&talk, talk_parse(&talk, "p", "select", has_changed ? &prepares : &plain), '1');
        complete(&talk, talk_parse(&talk, "", "select", &executes), '1');
        complete(&talk, talk_bind(&talk, "", "p", 0), '2');
        uint64_t run = talk_execute(&talk, "");
        say(&talk, 'C', SLICE("PREPARE\0"));
        talk_answer(&talk, run, PG_MASK_SAME);
        complete(&talk, talk_bind(&talk, "", "", 0), '2');
        describe(&talk, talk_describe(&talk, 'P', ""), computed, 1);
        assert_int_equal(masked_of(&talk, talk_execute(&talk, ""), 1), has_changed);
        talk_end(&talk);
    }
}

#define LONG_NAME "a23456789b23456789c23456789d23456789e23456789f23456789g23456789"

static void names_are_cut_as_servers_cut_them(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    (void)talk_parse(&talk, LONG_NAME "one", "select", &plain);
    (void)talk_describe(&talk, 'S', LONG_NAME "two");
    (void)talk_bind(&talk, LONG_NAME "portal", LONG_NAME, 0);
    assert_false(talk_needs_describe(&talk, LONG_NAME "other"));
    assert_true(talk_needs_describe(&talk, "other"));
    talk_end(&talk);
}

static void predicates_are_refused_where_rules_say_so(void **state)
{
    struct sql_column columns[] = {{.name = SLICE("ssn")}, {.name = SLICE("id"), .is_used = true}};
    struct sql_statement statements[] = {{.verb = SQL_SELECT},
                                         {.columns = columns, .column_count = 2}};
    const struct sql_script script = {.statements = statements, .count = 2};
    struct talk talk;
    size_t statement;
    (void)state;
    start(&talk);
    assert_false(pg_mask_refuses(&talk.rules, &script, &statement));
    talk.rules.refuses_predicates = true;
    assert_false(pg_mask_refuses(&talk.rules, &script, &statement));
    columns[0].is_used = true;
    assert_true(pg_mask_refuses(&talk.rules, &script, &statement));
    assert_int_equal(statement, 1);
    statements[0].is_unknown = true;
    assert_true(pg_mask_refuses(&talk.rules, &script, &statement));
    assert_int_equal(statement, 0);
    assert_true(pg_mask_refuses(&talk.rules, NULL, &statement));
    assert_false(pg_mask_refuses(NULL, &script, &statement));
    talk_end(&talk);
}

/* Words ------------------------------------------------------------------------------------------
 */

static void check_words(struct talk *talk, uint64_t id, char type, struct slice body,
                        struct slice expected)
{
    say(talk, type, body);
    talk_pass(talk, id);
    if (slice_equals(body, expected)) {
        assert_int_equal(talk->verdict, PG_MASK_SAME);
        return;
    }
    assert_int_equal(talk->verdict, PG_MASK_CHANGED);
    struct slice out = slice_from(buf_view(&talk->out), 5);
    assert_int_equal(out.len, expected.len);
    assert_memory_equal(out.at, expected.at, expected.len);
}

static void words_are_looked_into(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t id = talk_query(&talk, "select", &innocent);
    check_words(&talk, id, 'E', SLICE("SERROR\0C22P02\0Mbad: \"SECRET\"\0Da SECRET\0P7\0\0"),
                SLICE("SERROR\0C22P02\0Mbad: \"[S]\"\0Da [S]\0P7\0\0"));
    check_words(&talk, id, 'N', SLICE("SNOTICE\0C00000\0Mfine\0\0"),
                SLICE("SNOTICE\0C00000\0Mfine\0\0"));
    check_words(&talk, PG_MASK_NOBODY, 'A', SLICE("\0\0\0\7news\0a SECRET\0"),
                SLICE("\0\0\0\7news\0a [S]\0"));
    check_words(&talk, id, 'S', SLICE("application_name\0SECRET\0"),
                SLICE("application_name\0[S]\0"));
    check_words(&talk, id, 'V', SLICE("\xff\xff\xff\xff"), SLICE("\xff\xff\xff\xff"));
    check_words(&talk, id, 'V', SLICE("\0\0\0\1v"), SLICE("\0\0\0\3[R]"));
    talk_end(&talk);
}

/* "invalid input syntax for type integer: …" has the value in it. */
static void words_about_masked_columns_are_hidden(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    uint64_t id = talk_query(&talk, "select ssn::int from people", &tainted);
    say(&talk, 'E', SLICE("SERROR\0VERROR\0C22P02\0Mbad: 123\0Dof 123\0W123\0P7\0R123\0\0"));
    talk_pass(&talk, id);
    struct slice out = buf_view(&talk.out);
    assert_int_equal(slice_find(out, SLICE("Mbad")), out.len);
    assert_int_equal(slice_find(out, SLICE("Dof")), out.len);
    assert_true(slice_find(out, SLICE("C22P02\0")) < out.len);
    assert_true(slice_find(out, SLICE("P7\0")) < out.len);
    /* What it read may be on its way in settings and notifications. */
    check_words(&talk, id, 'S',
                SLICE("application_name\0"
                      "123\0"),
                SLICE("application_name\0[R]\0"));
    check_words(&talk, id, 'S', SLICE("client_encoding\0UTF8\0"), SLICE("client_encoding\0UTF8\0"));
    check_words(&talk, PG_MASK_NOBODY, 'A',
                SLICE("\0\0\0\7news\0"
                      "123\0"),
                SLICE("\0\0\0\7news\0[R]\0"));
    talk_end(&talk);
}

static void words_that_break_the_protocol_end_the_session(void **state)
{
    struct talk talk;
    (void)state;
    start(&talk);
    static const char types[] = "ENASVTH";
    for (size_t i = 0; i < strlen(types); i++) {
        uint64_t id = talk_query(&talk, "select", &innocent);
        say(&talk, types[i], SLICE("\0\1"));
        talk_breaks(&talk, id, ERR_INPUT);
    }
    talk_end(&talk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_alias_does_not_unmask),
        cmocka_unit_test(parts_and_views_follow_their_tables),
        cmocka_unit_test(what_is_computed_follows_the_statement),
        cmocka_unit_test(what_was_prepared_in_sql_stays_masked),
        cmocka_unit_test(tables_that_nobody_can_tell_of_are_masked),
        cmocka_unit_test(other_rules_apply_at_once),
        cmocka_unit_test(statements_are_described_once),
        cmocka_unit_test(pipelines_need_a_describe_somewhere),
        cmocka_unit_test(a_describe_of_ours_is_swallowed),
        cmocka_unit_test(rows_that_nobody_described_are_masked_whole),
        cmocka_unit_test(a_parse_that_fails_changes_nothing),
        cmocka_unit_test(names_that_sql_changes_are_forgotten),
        cmocka_unit_test(an_execute_is_not_what_it_was_when_names_have_changed),
        cmocka_unit_test(names_are_cut_as_servers_cut_them),
        cmocka_unit_test(predicates_are_refused_where_rules_say_so),
        cmocka_unit_test(words_are_looked_into),
        cmocka_unit_test(words_about_masked_columns_are_hidden),
        cmocka_unit_test(words_that_break_the_protocol_end_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
