/* SPDX-License-Identifier: MIT */
/* Values of rows, in both formats, and rows that are not what they should be. */
#include "pg_mask_help.h"

#include "base/memory.h"

#include <string.h>

#define TYPE_BYTEA   17
#define TYPE_INT4    23
#define TYPE_TEXT    25
#define TYPE_JSON    114
#define TYPE_INET    869
#define TYPE_BOOL    16
#define TYPE_TEXTS   1009
#define TYPE_RECORD  2249
#define TYPE_JSONB   3802
#define TYPE_OWN     16999 /* of a user */
#define BYTES(bytes) slice_of(bytes, sizeof(bytes) - 1)

/* One row of one value; what comes of it. */
static void check_value(struct talk *talk, uint64_t id, struct slice value, struct slice expected)
{
    say_row(talk, &value, 1);
    talk_pass(talk, id);
    if (slice_equals(value, expected) && (value.at == NULL) == (expected.at == NULL)) {
        assert_int_equal(talk->verdict, PG_MASK_SAME);
        assert_int_equal(talk->out.len, 0);
    } else {
        check_row(talk, &expected, 1);
    }
}

static void text_is_masked_in_both_formats(void **state)
{
    struct talk talk;
    (void)state;
    for (uint16_t format = 0; format < 2; format++) {
        talk_start(&talk);
        talk_begin(&talk);
        uint64_t id = talk_one(&talk, TYPE_TEXT, format);
        check_value(&talk, id, SLICE("a SECRET b"), SLICE("a [S] b"));
        check_value(&talk, id, SLICE("SECRETSECRET"), SLICE("[S][S]"));
        check_value(&talk, id, SLICE("nothing"), SLICE("nothing"));
        check_value(&talk, id, SLICE(""), SLICE(""));
        check_value(&talk, id, NULL_VALUE, NULL_VALUE);
        check_value(&talk, id, SLICE("NULLME"), NULL_VALUE);
        assert_int_equal(pg_mask_counts(talk.mask)->by_type[0], 3);
        talk_end(&talk);
    }
}

static void numbers_hold_no_words_and_bytes_do(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    check_value(&talk, talk_one(&talk, TYPE_INT4, 0), SLICE("SECRET"), SLICE("SECRET"));
    check_value(&talk, talk_one(&talk, TYPE_BYTEA, 1), SLICE("SECRET"), SLICE("[S]"));
    check_value(&talk, talk_one(&talk, TYPE_BYTEA, 1), SLICE("\0\1 none"), SLICE("\0\1 none"));
    check_value(&talk, talk_one(&talk, TYPE_BYTEA, 1), SLICE("\0\1 SECRET"), NULL_VALUE);
    check_value(&talk, talk_one(&talk, TYPE_BYTEA, 0), SLICE("\\x534543524554"),
                SLICE("\\x5b535d"));
    check_value(&talk, talk_one(&talk, TYPE_BYTEA, 0), SLICE("SECR\\105T"), SLICE("\\x5b535d"));
    check_value(&talk, talk_one(&talk, TYPE_BYTEA, 0), SLICE("\\x0001"), SLICE("\\x0001"));
    check_value(&talk, talk_one(&talk, TYPE_BYTEA, 0), SLICE("\\x0"), NULL_VALUE);
    talk_end(&talk);
}

/* The same description again, byte for byte, says nothing of what the statement does. */
static void a_description_is_not_that_of_a_statement_like_it(void **state)
{
    static const struct said plain = {.verb = SQL_SELECT};
    static const struct said tainted = {.verb = SQL_SELECT, .used = "ssn"};
    static const struct said *const said[] = {&plain, &tainted, &plain, &tainted};
    const struct column column = {.name = "value", .type = 25};
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk.rules.columns[0] = (struct fake_column){.column = "ssn"};
    talk.rules.column_count = 1;
    talk_begin(&talk);
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        uint64_t id = talk_query(&talk, "select value", said[i]);
        say_description(&talk, &column, 1);
        talk_answer(&talk, id, PG_MASK_SAME);
        check_value(&talk, id, SLICE("123"), said[i] == &plain ? SLICE("123") : SLICE("[R]"));
    }
    talk_end(&talk);
}

/* Nor are the plans of a portal those of the portal before, once other rules came. */
static void a_portal_is_described_as_the_one_before(void **state)
{
    static const struct said plain = {.verb = SQL_SELECT};
    const struct column column = {.name = "value", .type = 25};
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    (void)talk_parse(&talk, "s", "select value", &plain);
    say(&talk, '1', SLICE(""));
    talk_answer(&talk, 1, PG_MASK_SAME);
    for (size_t i = 0; i < 4; i++) {
        uint64_t id = talk_bind(&talk, "", "s", 0);
        say(&talk, '2', SLICE(""));
        talk_answer(&talk, id, PG_MASK_SAME);
        id = talk_describe(&talk, 'P', "");
        say_description(&talk, &column, 1);
        talk_answer(&talk, id, PG_MASK_SAME);
        if (i == 2) {
            const struct pg_mask_settings settings = {.rules = &talk.rules};
            talk.rules.columns[0] = (struct fake_column){.column = "value"};
            talk.rules.column_count = 1;
            pg_mask_set_rules(talk.mask, &settings);
        }
        id = talk_execute(&talk, "");
        check_value(&talk, id, SLICE("SECRET"), i < 2 ? SLICE("[S]") : SLICE("[R]"));
    }
    talk_end(&talk);
}

static void documents_keep_their_version(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    uint64_t id = talk_one(&talk, TYPE_JSONB, 1);
    check_value(&talk, id, SLICE("\1{\"a\":\"SECRET\"}"), SLICE("\1{\"a\":\"[S]\"}"));
    check_value(&talk, id, SLICE("\1{}"), SLICE("\1{}"));
    check_value(&talk, id, SLICE("\2 a SECRET"), NULL_VALUE); /* of a version that nobody knows */
    id = talk_one(&talk, TYPE_JSONB, 0);
    check_value(&talk, id, SLICE("{\"a\":\"SECRET\"}"), SLICE("{\"a\":\"[S]\"}"));
    talk_end(&talk);
}

#define ARRAY_HEAD(dimensions, flags, type) "\0\0\0" dimensions "\0\0\0" flags "\0\0\0" type

static void arrays_are_taken_apart(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    uint64_t id = talk_one(&talk, TYPE_TEXTS, 1);
    check_value(
        &talk, id,
        BYTES(ARRAY_HEAD("\1", "\1", "\x19") "\0\0\0\4\0\0\0\1"
                                             "\0\0\0\1a\xff\xff\xff\xff\0\0\0\6SECRET\0\0\0\0"),
        BYTES(ARRAY_HEAD("\1", "\1", "\x19") "\0\0\0\4\0\0\0\1"
                                             "\0\0\0\1a\xff\xff\xff\xff\0\0\0\3[S]\0\0\0\0"));
    /* An item that becomes NULL is announced. */
    check_value(&talk, id,
                BYTES(ARRAY_HEAD("\1", "\0", "\x19") "\0\0\0\2\0\0\0\1"
                                                     "\0\0\0\6NULLME\0\0\0\1b"),
                BYTES(ARRAY_HEAD("\1", "\1", "\x19") "\0\0\0\2\0\0\0\1"
                                                     "\xff\xff\xff\xff\0\0\0\1b"));
    struct slice two_by_two =
        BYTES(ARRAY_HEAD("\2", "\0", "\x19") "\0\0\0\2\0\0\0\1\0\0\0\2\0\0\0\1"
                                             "\0\0\0\1a\0\0\0\1b\0\0\0\1c\0\0\0\1d");
    check_value(&talk, id, two_by_two, two_by_two);
    struct slice empty = BYTES(ARRAY_HEAD("\0", "\0", "\x19"));
    check_value(&talk, id, empty, empty);
    /* Lengths that do not fit, or more dimensions than there are: nothing to be examined. */
    check_value(&talk, id, BYTES(ARRAY_HEAD("\1", "\0", "\x19") "\0\0\0\2\0\0\0\1\0\0\0\1a"),
                NULL_VALUE);
    check_value(&talk, id,
                BYTES(ARRAY_HEAD("\2", "\0", "\x19") "\x7f\xff\xff\xff\0\0\0\1\x7f\xff\xff\xff"
                                                     "\0\0\0\1"),
                NULL_VALUE);
    check_value(&talk, id, BYTES(ARRAY_HEAD("\7", "\0", "\x19")), NULL_VALUE);
    talk_end(&talk);
}

/* A composite of an array and a text, in an array of a type that nobody knows. */
static void composites_in_arrays_are_taken_apart(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    static const char inner[] = ARRAY_HEAD("\1", "\0", "\x19") "\0\0\0\1\0\0\0\1\0\0\0\6SECRET";
    static const char masked[] = ARRAY_HEAD("\1", "\0", "\x19") "\0\0\0\1\0\0\0\1\0\0\0\3[S]";
    static const char record[] = "\0\0\0\3\0\0\3\xf1\0\0\0\x1e" ARRAY_HEAD(
        "\1", "\0", "\x19") "\0\0\0\1\0\0\0\1\0\0\0\6SECRET"
                            "\0\0\0\x19\0\0\0\7aSECRET\0\0\0\x17\xff\xff\xff\xff";
    static const char record_masked[] = "\0\0\0\3\0\0\3\xf1\0\0\0\x1b" ARRAY_HEAD(
        "\1", "\0", "\x19") "\0\0\0\1\0\0\0\1\0\0\0\3[S]"
                            "\0\0\0\x19\0\0\0\4a[S]\0\0\0\x17\xff\xff\xff\xff";
    check_value(&talk, talk_one(&talk, TYPE_OWN, 1), BYTES(inner), BYTES(masked));
    check_value(&talk, talk_one(&talk, TYPE_RECORD, 1), BYTES(record), BYTES(record_masked));
    check_value(&talk, talk_one(&talk, TYPE_OWN, 1), BYTES(record), BYTES(record_masked));
    talk_end(&talk);
}

static void unknown_types_are_text_or_cannot_be_examined(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    uint64_t id = talk_one(&talk, TYPE_OWN, 1);
    check_value(&talk, id, SLICE("citext SECRET"), SLICE("citext [S]"));
    check_value(&talk, id, SLICE("happy"), SLICE("happy"));
    check_value(&talk, id, SLICE("\1{\"a\":\"SECRET\"}"), SLICE("\1{\"a\":\"[S]\"}"));
    check_value(&talk, id, SLICE("\0\1\2\3"), SLICE("\0\1\2\3"));
    check_value(&talk, id, SLICE("\0\1\2\3\4\5\6\7\7"), NULL_VALUE);
    check_value(&talk, id, SLICE("\xff\xfe\xff\xff\xff\xff\xff\xff\xff"), NULL_VALUE);
    assert_int_equal(pg_mask_counts(talk.mask)->errors, 2);
    check_value(&talk, talk_one(&talk, TYPE_OWN, 0), SLICE("(1,SECRET)"), SLICE("(1,[S])"));
    talk.rules.refuses_unexaminable = true;
    id = talk_one(&talk, TYPE_OWN, 1);
    say_row(&talk, (struct slice[]){SLICE("\0\1\2\3\4\5\6\7\7")}, 1);
    talk_answer(&talk, id, PG_MASK_BLOCKED);
    talk_end(&talk);
}

static void addresses_are_read_in_binary(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    uint64_t id = talk_one(&talk, TYPE_INET, 1);
    check_value(&talk, id, BYTES("\2\x20\0\4\x0a\0\0\1"), BYTES("\2\x20\0\4\x0a\0\0\1"));
    check_value(&talk, id,
                BYTES("\3\x80\0\x10"
                      "0123456789abcdef"),
                BYTES("\3\x80\0\x10"
                      "0123456789abcdef"));
    check_value(&talk, id, BYTES("\2\x20\0\5\x0a\0\0\1\1"), NULL_VALUE);
    talk_end(&talk);
}

/* Only rows that change are written anew, the rest stays as it is, in order. */
static void runs_of_rows_keep_what_does_not_change(void **state)
{
    const struct column columns[] = {{.name = "a", .type = TYPE_TEXT},
                                     {.name = "b", .type = TYPE_INT4},
                                     {.name = "c", .type = TYPE_TEXT}};
    static const struct said said = {.verb = SQL_SELECT};
    struct talk talk;
    (void)state;
    for (unsigned changed = 0; changed < 256; changed++) {
        talk_start(&talk);
        talk_begin(&talk);
        struct talk expected;
        talk_start(&expected);
        uint64_t id = talk_query(&talk, "select", &said);
        say_description(&talk, columns, 3);
        talk_answer(&talk, id, PG_MASK_SAME);
        for (unsigned row = 0; row < 4; row++) {
            unsigned bits = changed >> (2 * row);
            struct slice values[] = {(bits & 1) != 0 ? SLICE("xSECRET") : SLICE("plain"),
                                     SLICE("42"), (bits & 2) != 0 ? SLICE("NULLME") : SLICE("")};
            say_row(&talk, values, 3);
            values[0] = (bits & 1) != 0 ? SLICE("x[S]") : values[0];
            values[2] = (bits & 2) != 0 ? NULL_VALUE : values[2];
            say_row(&expected, values, 3);
        }
        talk_pass(&talk, id);
        assert_int_equal(talk.verdict, changed == 0 ? PG_MASK_SAME : PG_MASK_CHANGED);
        if (changed != 0) {
            check_out(&talk, buf_view(&expected.in).at, expected.in.len);
        }
        talk_end(&talk);
        talk_end(&expected);
    }
}

static void rows_have_as_many_columns_as_a_table(void **state)
{
    enum { COLUMNS = 1600 };
    static struct column columns[COLUMNS];
    static struct slice values[COLUMNS];
    static const struct said said = {.verb = SQL_SELECT};
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    for (size_t i = 0; i < COLUMNS; i++) {
        columns[i] = (struct column){.name = "c", .type = TYPE_TEXT};
        values[i] = i % 2 == 0 ? SLICE("SECRET") : NULL_VALUE;
    }
    uint64_t id = talk_query(&talk, "select", &said);
    say_description(&talk, columns, COLUMNS);
    talk_answer(&talk, id, PG_MASK_SAME);
    say_row(&talk, values, COLUMNS);
    talk_pass(&talk, id);
    for (size_t i = 0; i < COLUMNS; i += 2) {
        values[i] = SLICE("[S]");
    }
    check_row(&talk, values, COLUMNS);
    talk_end(&talk);
}

/* Of a server that lies nothing passes. */
static void rows_that_lie_end_the_session(void **state)
{
    static const struct slice bodies[] = {
        SLICE_INIT("\0\2\0\0\0\1a\0\0\0\1b"), /* more columns than were described */
        SLICE_INIT("\0\0"),
        SLICE_INIT("\xff\xff"),
        SLICE_INIT("\0\1\0\0\0\2a"),
        SLICE_INIT("\0\1\x7f\xff\xff\xff"
                   "a"),
        SLICE_INIT("\0\1\xff\xff\xff\xfe"
                   "a"),
        SLICE_INIT("\0\1\x80\0\0\0"
                   "a"),
        SLICE_INIT("\0\1\0\0\0\1a "),
        SLICE_INIT("\0\1\0\0"),
        SLICE_INIT("\0"),
        SLICE_INIT(""),
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct talk talk;
        talk_start(&talk);
        talk_begin(&talk);
        uint64_t id = talk_one(&talk, TYPE_TEXT, 0);
        say_row(&talk, (struct slice[]){SLICE("SECRET")}, 1);
        say(&talk, 'D', bodies[i]);
        say_row(&talk, (struct slice[]){SLICE("a")}, 1);
        talk_breaks(&talk, id, ERR_INPUT);
        talk_end(&talk);
    }
}

static void rows_that_rules_on_output_block_do_not_pass(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk.scope.looks_at[GUARD_OUTPUT] = true;
    talk_begin(&talk);
    uint64_t id = talk_one(&talk, TYPE_INT4, 0); /* they look at all that comes */
    say_row(&talk, (struct slice[]){SLICE("one")}, 1);
    say_row(&talk, (struct slice[]){SLICE("a BLOCKME b")}, 1);
    say_row(&talk, (struct slice[]){SLICE("three")}, 1);
    talk_answer(&talk, id, PG_MASK_BLOCKED);
    struct slice out = buf_view(&talk.out);
    assert_true(slice_starts_with(out, BYTES("D\0\0\0\x0d\0\1\0\0\0\3one"
                                             "E")));
    assert_true(slice_find(out, SLICE("C42501")) < out.len);
    assert_true(slice_find(out, SLICE("'output'")) < out.len);
    assert_true(slice_find(out, SLICE("Not this word.")) < out.len);
    assert_int_equal(slice_find(out, SLICE("BLOCKME")), out.len);
    assert_int_equal(slice_find(out, SLICE("three")), out.len);
    assert_int_equal(talk.findings, 1);
    talk_end(&talk);
}

static void values_that_are_refused_end_the_answer(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    uint64_t id = talk_one(&talk, TYPE_TEXT, 0);
    say_row(&talk, (struct slice[]){SLICE("REFUSEME")}, 1);
    talk_answer(&talk, id, PG_MASK_BLOCKED);
    assert_int_equal(buf_view(&talk.out).at[0], 'E');
    talk_end(&talk);
}

/* Rows larger than what is held ------------------------------------------------------------------
 */

static void pass_large(struct talk *talk, uint64_t id, size_t piece)
{
    struct slice body = slice_from(buf_view(&talk->in), 5);
    const struct pgwire_frame frame = {.type = 'D', .size = (uint32_t)body.len};
    buf_clear(&talk->out);
    assert_int_equal(
        pg_mask_large(talk->mask, id, &frame, &talk->out, &talk->verdict, &talk->error), ERR_NONE);
    while (body.len > 0 && talk->verdict == PG_MASK_CHANGED) {
        struct slice part = slice_sub(body, 0, piece);
        assert_int_equal(
            pg_mask_large_part(talk->mask, part, &talk->out, &talk->verdict, &talk->error),
            ERR_NONE);
        body = slice_from(body, part.len);
    }
    buf_clear(&talk->in);
}

static void large_rows_lose_what_cannot_be_examined(void **state)
{
    static const size_t pieces[] = {65536, 100003, LIMIT_MIB(32)};
    static const struct said said = {.verb = SQL_SELECT};
    size_t size = LIMIT_MASK_MESSAGE_SIZE + 1;
    char *huge = memory_new(size);
    struct talk talk;
    (void)state;
    memset(huge, 'x', size);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        const struct column columns[] = {{.name = "a", .type = TYPE_TEXT},
                                         {.name = "b", .type = TYPE_TEXT},
                                         {.name = "c", .type = TYPE_INT4},
                                         {.name = "d", .type = TYPE_TEXT},
                                         {.name = "e", .type = TYPE_BOOL, .format = 1}};
        struct slice values[] = {SLICE("SECRET"), slice_of(huge, size), SLICE("1"), NULL_VALUE,
                                 slice_of(huge, size)};
        talk_start(&talk);
        talk_begin(&talk);
        uint64_t id = talk_query(&talk, "select", &said);
        say_description(&talk, columns, 5);
        talk_answer(&talk, id, PG_MASK_SAME);
        say_row(&talk, values, 5);
        pass_large(&talk, id, pieces[i]);
        values[0] = SLICE("[S]");
        values[1] = NULL_VALUE; /* unseen */
        check_row(&talk, values, 5);
        /* What no rule concerns passes before what one does only as far as it can be held. */
        values[1] = SLICE("SECRET");
        struct slice swapped[] = {values[0], values[1], slice_of(huge, size), values[1], values[2]};
        say_row(&talk, swapped, 5);
        pass_large(&talk, id, pieces[i]);
        assert_int_equal(talk.verdict, PG_MASK_BLOCKED);
        assert_int_equal(buf_view(&talk.out).at[0], 'E');
        talk_end(&talk);
    }
    memory_free(huge);
}

static void large_rows_that_lie_end_the_session(void **state)
{
    static const struct slice bodies[] = {
        SLICE_INIT("\0\2\0\0\0\1a\0\0\0\1b"),
        SLICE_INIT("\0\1\x7f\xff\xff\xff"
                   "a"),
        SLICE_INIT("\0\1\0\0\0\1a "),
        SLICE_INIT("\0\1\0\0"),
        SLICE_INIT("\0"),
        SLICE_INIT("\0\1\0\0\0\5a"),
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct talk talk;
        const struct pgwire_frame frame = {.type = 'D', .size = (uint32_t)bodies[i].len};
        talk_start(&talk);
        talk_begin(&talk);
        uint64_t id = talk_one(&talk, TYPE_TEXT, 0);
        assert_int_equal(
            pg_mask_large(talk.mask, id, &frame, &talk.out, &talk.verdict, &talk.error), ERR_NONE);
        assert_int_equal(talk.verdict, PG_MASK_CHANGED);
        assert_int_equal(
            pg_mask_large_part(talk.mask, bodies[i], &talk.out, &talk.verdict, &talk.error),
            ERR_INPUT);
        assert_int_equal(talk.out.len, 0);
        talk_end(&talk);
    }
}

static void large_rows_pass_when_no_rule_concerns_them(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    uint64_t id = talk_one(&talk, TYPE_BOOL, 1);
    const struct pgwire_frame frame = {.type = 'D', .size = LIMIT_MIB(900)};
    assert_int_equal(pg_mask_large(talk.mask, id, &frame, &talk.out, &talk.verdict, &talk.error),
                     ERR_NONE);
    assert_int_equal(talk.verdict, PG_MASK_SAME);
    talk_end(&talk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_masked_in_both_formats),
        cmocka_unit_test(numbers_hold_no_words_and_bytes_do),
        cmocka_unit_test(a_description_is_not_that_of_a_statement_like_it),
        cmocka_unit_test(a_portal_is_described_as_the_one_before),
        cmocka_unit_test(documents_keep_their_version),
        cmocka_unit_test(arrays_are_taken_apart),
        cmocka_unit_test(composites_in_arrays_are_taken_apart),
        cmocka_unit_test(unknown_types_are_text_or_cannot_be_examined),
        cmocka_unit_test(addresses_are_read_in_binary),
        cmocka_unit_test(runs_of_rows_keep_what_does_not_change),
        cmocka_unit_test(rows_have_as_many_columns_as_a_table),
        cmocka_unit_test(rows_that_lie_end_the_session),
        cmocka_unit_test(rows_that_rules_on_output_block_do_not_pass),
        cmocka_unit_test(values_that_are_refused_end_the_answer),
        cmocka_unit_test(large_rows_lose_what_cannot_be_examined),
        cmocka_unit_test(large_rows_that_lie_end_the_session),
        cmocka_unit_test(large_rows_pass_when_no_rule_concerns_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
