/* SPDX-License-Identifier: MIT */
/* COPY to the client: three formats, rows in any pieces, and statements that say what comes. */
#include "pg_mask_help.h"

#include "base/memory.h"
#include "base/reader.h"

#include <string.h>

#define BYTES(bytes) slice_of(bytes, sizeof(bytes) - 1)
#define HEADER_SIZE  5
#define SIGNATURE    "PGCOPY\n\377\r\n\0"

static const struct said copy_said = {.verb = SQL_COPY};

static void say_copy(struct talk *talk, bool is_binary)
{
    char head[] = "\0\0\3\0\0\0\0\0\0";
    if (is_binary) {
        head[0] = 1;
        head[4] = head[6] = head[8] = 1;
    }
    say(talk, 'H', slice_of(head, 9));
}

/* From the statement on to where rows come. */
static uint64_t begin(struct talk *talk, const char *text, const struct said *said, bool is_binary)
{
    talk_begin(talk);
    uint64_t id = talk_query(talk, text, said);
    say_copy(talk, is_binary);
    talk_pass(talk, id);
    assert_int_equal(talk->verdict, PG_MASK_SAME);
    return id;
}

/* What the client has of it: the data of what passes, one behind the other. */
static void take_data(struct talk *talk, struct buf *data, struct slice messages)
{
    struct reader reader = reader_of(messages);
    while (reader_left(&reader) > 0) {
        char type = (char)reader_u8(&reader);
        struct slice body = reader_view(&reader, reader_u32(&reader) - 4);
        assert_false(reader.failed);
        if (type == 'd') {
            assert_int_equal(buf_append(data, body), ERR_NONE);
        } else {
            assert_int_equal(type, 'c');
        }
    }
    (void)talk;
}

static void pass_data(struct talk *talk, uint64_t id, struct buf *data, struct slice bytes,
                      bool is_done)
{
    if (is_done) {
        say(talk, 'c', SLICE(""));
    } else {
        say(talk, 'd', bytes);
    }
    struct buf said = talk->in;
    buf_init(&talk->in, LIMIT_MIB(64));
    assert_int_equal(buf_append(&talk->in, buf_view(&said)), ERR_NONE);
    talk_pass(talk, id);
    assert_int_not_equal(talk->verdict, PG_MASK_BLOCKED);
    take_data(talk, data, talk->verdict == PG_MASK_SAME ? buf_view(&said) : buf_view(&talk->out));
    buf_release(&said);
}

/* In pieces of every size, and in one: the same comes of it. */
static void check_copy(const struct mask_rules *rules, const char *text, bool is_binary,
                       struct slice rows, struct slice expected)
{
    for (size_t piece = 1; piece <= rows.len; piece++) {
        struct talk talk;
        struct buf data;
        if (rows.len / piece > 60) {
            continue; /* a row comes in so many pieces at most */
        }
        buf_init(&data, LIMIT_MIB(1));
        talk_start(&talk);
        talk.rules = *rules;
        uint64_t id = begin(&talk, text, &copy_said, is_binary);
        for (size_t at = 0; at < rows.len; at += piece) {
            pass_data(&talk, id, &data, slice_sub(rows, at, piece), false);
        }
        pass_data(&talk, id, &data, SLICE(""), true);
        assert_int_equal(data.len, expected.len);
        assert_memory_equal(buf_view(&data).at, expected.at, expected.len);
        buf_release(&data);
        talk_end(&talk);
    }
}

static const struct mask_rules text_rules = {.looks_into_text = true};
static const struct mask_rules column_rules = {
    .looks_into_text = true,
    .columns = {{.table = "people", .column = "ssn"}},
    .column_count = 1,
};

static void text_is_unescaped_and_escaped(void **state)
{
    (void)state;
    check_copy(&text_rules, "copy t to stdout", false,
               SLICE("1\tSECRET\t\\N\n2\ta\\tSECR\\105T\\\\\t\n3\tNULLME\tx\n"),
               SLICE("1\t[S]\t\\N\n2\ta\\t[S]\\\\\t\n3\t\\N\tx\n"));
    check_copy(&text_rules, "COPY t TO STDOUT WITH (DELIMITER '|', NULL '-')", false,
               SLICE("1|SECRET|-\n2|a\\|SECRET|NULLME\n"), SLICE("1|[S]|-\n2|a\\|[S]|-\n"));
}

static void csv_is_quoted(void **state)
{
    (void)state;
    check_copy(&text_rules, "copy t to stdout (format csv)", false,
               SLICE("1,SECRET,\n2,\"a \"\"SECRET\"\", \nb\",\"\"\n3,NULLME,x\n"),
               SLICE("1,\"[S]\",\n2,\"a \"\"[S]\"\", \nb\",\"\"\n3,,x\n"));
    check_copy(&text_rules, "copy t to stdout csv header quote '''' escape '\\'", false,
               SLICE("SECRET,b,c\n'it\\'s, SECRET\\\\',2,3\n"),
               SLICE("SECRET,b,c\n'it\\'s, [S]\\\\',2,3\n"));
}

static void binary_is_framed_anew(void **state)
{
    (void)state;
    check_copy(&text_rules, "copy t to stdout (format binary)", true,
               BYTES(SIGNATURE "\0\0\0\0\0\0\0\2xy"
                               "\0\3\0\0\0\4\0\0\0\1\0\0\0\6SECRET\xff\xff\xff\xff"
                               "\0\3\0\0\0\1a\0\0\0\0\0\0\0\1b\xff\xff"),
               BYTES(SIGNATURE "\0\0\0\0\0\0\0\2xy"
                               "\0\3\0\0\0\4\0\0\0\1\0\0\0\3[S]\xff\xff\xff\xff"
                               "\0\3\0\0\0\1a\0\0\0\0\0\0\0\1b\xff\xff"));
}

static void columns_are_those_of_the_list(void **state)
{
    (void)state;
    check_copy(&column_rules, "copy people (id, ssn, name) to stdout", false,
               SLICE("1\t123\tSECRET\n2\t\\N\tb\n"), SLICE("1\t[R]\t[S]\n2\t\\N\tb\n"));
    check_copy(&column_rules, "copy public.\"people\" ( ssn , id, Name ) to stdout csv", false,
               SLICE("123,1,SECRET\n"), SLICE("\"[R]\",1,\"[S]\"\n"));
    check_copy(&column_rules, "copy people (id, ssn, name) to stdout binary", true,
               BYTES(SIGNATURE "\0\0\0\0\0\0\0\0\0\3\0\0\0\1"
                               "1\0\0\0\3"
                               "123\0\0\0\1x\xff\xff"),
               BYTES(SIGNATURE "\0\0\0\0\0\0\0\0\0\3\0\0\0\1"
                               "1\0\0\0\3"
                               "[R]\0\0\0\1x\xff\xff"));
}

static void columns_are_masked_where_no_text_is_looked_into(void **state)
{
    struct mask_rules only_columns = column_rules;
    (void)state;
    only_columns.looks_into_text = false;
    check_copy(&only_columns, "copy people (id, ssn, name) to stdout", false,
               SLICE("1\t123\tSECRET\n2\t\\N\tb\n"), SLICE("1\t[R]\tSECRET\n2\t\\N\tb\n"));
    check_copy(&only_columns, "copy people (ssn, name) to stdout", false, SLICE("1\t2\t3\n"),
               SLICE("[R]\t[R]\t[R]\n"));
}

/* Nobody says which of the fields it is. */
static void fields_that_may_be_masked_are(void **state)
{
    static const char *const texts[] = {
        "copy people to stdout",
        "copy people to stdout with (format text)",
        "copy people (id, ssn) to stdout", /* three come */
        "copy people (id, ssn, name) to stdout (encoding 'sjis')",
        "copy /* */ people (id, ssn, name) to stdout",
        "copy people (id, ssn, name) to stdout (delimiter 'ab')",
        "copy people (id, ssn, name) to program 'x'",
    };
    (void)state;
    check_copy(&column_rules, texts[0], false, SLICE("1\t2\t3\n"), SLICE("1\t[R]\t3\n"));
    check_copy(&column_rules, texts[1], false, SLICE("1\t2\t3\n"), SLICE("1\t[R]\t3\n"));
    check_copy(&column_rules, texts[2], false, SLICE("1\t2\t3\n"), SLICE("[R]\t[R]\t[R]\n"));
    for (size_t i = 3; i < COUNT_OF(texts); i++) {
        check_copy(&column_rules, texts[i], false, SLICE("1\t2\t3\n"), SLICE("[R]\n"));
        check_copy(&text_rules, texts[i], false, SLICE("1\tSECRET\t3\n"), SLICE("1\t[S]\t3\n"));
    }
}

static void queries_are_masked_when_they_name_a_column(void **state)
{
    static const struct said names_it = {.verb = SQL_COPY, .given = "ssn"};
    static const struct said names_none = {.verb = SQL_COPY, .given = "id"};
    static const char text[] = "copy (select a, ')', \"b\" from (select 1) t) to stdout";
    struct talk talk;
    (void)state;
    for (int i = 0; i < 2; i++) {
        talk_start(&talk);
        talk.rules = column_rules;
        uint64_t id = begin(&talk, text, i == 0 ? &names_it : &names_none, false);
        say(&talk, 'd', SLICE("1\t2\t3\n"));
        talk_pass(&talk, id);
        if (i == 0) {
            check_out(&talk, "d\0\0\0\x0e[R]\t2\t[R]\n", 15); /* the second is a constant */
        } else {
            assert_int_equal(talk.verdict, PG_MASK_SAME);
        }
        talk_end(&talk);
    }
}

/* A delimiter may be half of a character, and the next field is then not the one it seems. */
static void fields_of_unsafe_encodings_are_not_told_apart(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk.rules = column_rules;
    talk_begin(&talk);
    uint64_t id = talk_query(&talk, "copy people (id, ssn, name) to stdout", &copy_said);
    say(&talk, 'S', SLICE("client_encoding\0SJIS\0"));
    talk_answer(&talk, id, PG_MASK_SAME);
    say(&talk, 'H', SLICE("\0\0\3\0\0\0\0\0\0"));
    talk_answer(&talk, id, PG_MASK_SAME);
    say(&talk, 'd', SLICE("1\t2\t3\n"));
    talk_pass(&talk, id);
    check_out(&talk, "d\0\0\0\x08[R]\n", 9);
    talk_end(&talk);
}

static void untouched_rows_stay_in_their_messages(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    uint64_t id = begin(&talk, "copy t to stdout", &copy_said, false);
    say(&talk, 'd', SLICE("1\t2\t3\n"));
    say(&talk, 'd', SLICE("1\t2\t3\n1\t2\t3\n"));
    talk_answer(&talk, id, PG_MASK_SAME);
    say(&talk, 'd', SLICE("1\t2\t3\n"));
    say(&talk, 'd', SLICE("1\tSECRET\t3\n"));
    say(&talk, 'd', SLICE("1\t2\t3\n"));
    talk_pass(&talk, id);
    check_out(&talk,
              "d\0\0\0\x0a"
              "1\t2\t3\nd\0\0\0\x0c"
              "1\t[S]\t3\nd\0\0\0\x0a"
              "1\t2\t3\n",
              11 + 13 + 11);
    talk_end(&talk);
}

static void binary_rows_that_lie_end_the_session(void **state)
{
    static const struct slice lies[] = {
        SLICE_INIT("PGCOPX"),
        SLICE_INIT(SIGNATURE "\0\0\0\0\0\0\0\0\0\1\x80\0\0\0"),
        SLICE_INIT(SIGNATURE "\0\0\0\0\0\0\0\0\xff\xff\0\1"),
    };
    struct talk talk;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        talk_start(&talk);
        uint64_t id = begin(&talk, "copy t to stdout binary", &copy_said, true);
        say(&talk, 'd', lies[i]);
        talk_breaks(&talk, id, ERR_INPUT);
        talk_end(&talk);
    }
    talk_start(&talk);
    uint64_t id = begin(&talk, "copy t to stdout binary", &copy_said, true);
    say(&talk, 'd', SLICE("PGCO"));
    talk_answer(&talk, id, PG_MASK_CHANGED);
    say(&talk, 'c', SLICE(""));
    talk_breaks(&talk, id, ERR_INPUT);
    talk_end(&talk);
}

static void rows_that_do_not_end_are_refused(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    uint64_t id = begin(&talk, "copy t to stdout", &copy_said, false);
    for (size_t i = 0; i < LIMIT_PG_MASK_ROW_PIECES; i++) {
        say(&talk, 'd', SLICE("SEC"));
        talk_answer(&talk, id, PG_MASK_CHANGED);
        assert_int_equal(talk.out.len, 0);
    }
    say(&talk, 'd', SLICE("x"));
    say(&talk, 'd', SLICE("x"));
    talk_answer(&talk, id, PG_MASK_BLOCKED);
    assert_int_equal(buf_view(&talk.out).at[0], 'E');
    talk_end(&talk);
}

static void rules_on_output_block_a_copy(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk.scope.looks_at[GUARD_OUTPUT] = true;
    uint64_t id = begin(&talk, "copy t to stdout", &copy_said, false);
    say(&talk, 'd', SLICE("1\t2\t3\n1\tBLOCK\\115E\t3\n4\t5\t6\n"));
    talk_answer(&talk, id, PG_MASK_BLOCKED);
    struct slice out = buf_view(&talk.out);
    assert_true(slice_starts_with(out, BYTES("d\0\0\0\x0a"
                                             "1\t2\t3\nE")));
    assert_int_equal(slice_find(out, SLICE("4\t5\t6")), out.len);
    talk_end(&talk);
}

static void streams_of_changes_are_refused(void **state)
{
    struct talk talk;
    (void)state;
    talk_start(&talk);
    talk_begin(&talk);
    uint64_t id = talk_query(&talk, "start_replication", NULL);
    say(&talk, 'W', SLICE("\0\0\0"));
    talk_answer(&talk, id, PG_MASK_BLOCKED);
    talk_end(&talk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_unescaped_and_escaped),
        cmocka_unit_test(csv_is_quoted),
        cmocka_unit_test(binary_is_framed_anew),
        cmocka_unit_test(columns_are_those_of_the_list),
        cmocka_unit_test(columns_are_masked_where_no_text_is_looked_into),
        cmocka_unit_test(fields_that_may_be_masked_are),
        cmocka_unit_test(queries_are_masked_when_they_name_a_column),
        cmocka_unit_test(fields_of_unsafe_encodings_are_not_told_apart),
        cmocka_unit_test(untouched_rows_stay_in_their_messages),
        cmocka_unit_test(binary_rows_that_lie_end_the_session),
        cmocka_unit_test(rows_that_do_not_end_are_refused),
        cmocka_unit_test(rules_on_output_block_a_copy),
        cmocka_unit_test(streams_of_changes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
