/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/json.h"
#include "pg_replay_help.h"
#include "wire/pgwire_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void record_queries(void)
{
    help_add(export_recorder, RECORD_OPEN, RECORD_FROM_GATEWAY,
             SLICE("{\"user\":\"ann@example.com\"}"));
    said_by_client('Q', SLICE("SELECT *\n\tFROM t\0"));
    said_columns(two_names, two_types, 2, false);
    said_row((const struct slice[]){SLICE("1"), SLICE("a\tb \"c\"\\, \x1b[31m")}, 2);
    said_row((const struct slice[]){SLICE("2"), SLICE_NONE}, 2);
    said_row((const struct slice[]){SLICE(""), SLICE("\xe2\x80\xae\xff")}, 2);
    char payload[RECORD_COUNT_SIZE];
    const struct record_count count = {.rows = 700, .bytes = 5000, .is_cut = true};
    help_add(export_recorder, RECORD_COUNT, RECORD_FROM_GATEWAY,
             record_count_write(&count, payload));
    said_by_target('C', SLICE("SELECT 700\0"));
    said_ready();
    said_by_client('Q', SLICE("boom\0"));
    said_error("42601", "syntax error at \"boom\"");
    said_ready();
    help_add(export_recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{\"what\":\"cancelled\"}"));
    export_finish();
}

static void queries_are_shown_as_text(void **state)
{
    (void)state;
    record_queries();
    export_check(RECORDING_TEXT,
                 "T session opened: {\"user\":\"ann@example.com\"}\n"
                 "T #1 > SELECT *\n    \tFROM t\n"
                 "    id\tthe name\n"
                 "    1\ta\\tb \"c\"\\\\, \\x1b[31m\n"
                 "    2\t\\N\n"
                 "    \t\\u{202e}\\xff\n"
                 "    … (700 rows of 5000 bytes in all: more than the recording keeps)\n"
                 "T #1 SELECT 700\n"
                 "T #2 > boom\n"
                 "T #2 ERROR 42601: syntax error at \"boom\"\n    hint: try again\n"
                 "T gateway: {\"what\":\"cancelled\"}\n"
                 "T session closed: {\"reason\":\"client left\"}\n");
}

static void queries_are_lines_of_json(void **state)
{
    (void)state;
    record_queries();
    export_check(
        RECORDING_JSONL,
        "{\"time\":\"T\",\"type\":\"open\",\"session\":{\"user\":\"ann@example.com\"}}\n"
        "{\"time\":\"T\",\"type\":\"statement\",\"statement\":1,\"text\":\"SELECT *\\n\\tFROM "
        "t\",\"parameters\":[]}\n"
        "{\"time\":\"T\",\"type\":\"columns\",\"statement\":1,\"columns\":[\"id\",\"the "
        "name\"],\"types\":[\"integer\",\"text\"]}\n"
        "{\"time\":\"T\",\"type\":\"row\",\"statement\":1,\"values\":[\"1\",\"a\\tb "
        "\\\"c\\\"\\\\, \\u001b[31m\"]}\n"
        "{\"time\":\"T\",\"type\":\"row\",\"statement\":1,\"values\":[\"2\",null]}\n"
        "{\"time\":\"T\",\"type\":\"row\",\"statement\":1,\"values\":[\"\",\"\xe2\x80\xae"
        "\xef\xbf\xbd\"]}\n"
        "{\"time\":\"T\",\"type\":\"count\",\"statement\":1,\"rows\":700,\"bytes\":5000,"
        "\"cut\":true}\n"
        "{\"time\":\"T\",\"type\":\"done\",\"statement\":1,\"tag\":\"SELECT 700\"}\n"
        "{\"time\":\"T\",\"type\":\"statement\",\"statement\":2,\"text\":\"boom\","
        "\"parameters\":[]}\n"
        "{\"time\":\"T\",\"type\":\"error\",\"statement\":2,\"severity\":\"ERROR\",\"code\":"
        "\"42601\",\"message\":\"syntax error at \\\"boom\\\"\",\"hint\":\"try again\"}\n"
        "{\"time\":\"T\",\"type\":\"note\",\"note\":{\"what\":\"cancelled\"}}\n"
        "{\"time\":\"T\",\"type\":\"close\",\"summary\":{\"reason\":\"client left\"}}\n");
}

/* Nothing says how many they are: all of them are there. */
static void rows_that_are_all_there_are_counted(void **state)
{
    (void)state;
    said_by_client('Q', SLICE("SELECT 1; SELECT 2\0"));
    said_row((const struct slice[]){SLICE("1")}, 1);

    said_by_target('N', SLICE("SNOTICE\0Mhalfway\0\0"));
    said_row((const struct slice[]){SLICE("22")}, 1);
    said_by_target('C', SLICE("SELECT 2\0"));
    said_by_target('C', SLICE("SELECT 0\0"));
    said_ready();
    said_by_client('Q', SLICE("COPY t FROM STDIN\0"));
    said_by_target('G', SLICE("\0\0\0"));
    said_by_client('d', SLICE("1\n"));
    said_by_client('d', SLICE("22\n"));
    said_by_target('C', SLICE("COPY 2\0"));
    said_ready();
    said_by_client('Q', SLICE("COPY t TO STDOUT\0"));
    said_by_target('H', SLICE("\0\0\0"));
    said_by_target('d', SLICE("333\n"));
    export_finish();
    export_check(
        RECORDING_JSONL,
        "{\"time\":\"T\",\"type\":\"statement\",\"statement\":1,\"text\":\"SELECT 1; SELECT "
        "2\",\"parameters\":[]}\n"
        "{\"time\":\"T\",\"type\":\"row\",\"statement\":1,\"values\":[\"1\"]}\n"
        "{\"time\":\"T\",\"type\":\"notice\",\"statement\":1,\"message\":\"halfway\"}\n"
        "{\"time\":\"T\",\"type\":\"row\",\"statement\":1,\"values\":[\"22\"]}\n"
        "{\"time\":\"T\",\"type\":\"count\",\"statement\":1,\"rows\":2,\"bytes\":25,\"cut\":false}"
        "\n"
        "{\"time\":\"T\",\"type\":\"done\",\"statement\":1,\"tag\":\"SELECT 2\"}\n"
        "{\"time\":\"T\",\"type\":\"done\",\"statement\":1,\"tag\":\"SELECT 0\"}\n"
        "{\"time\":\"T\",\"type\":\"statement\",\"statement\":2,\"text\":\"COPY t FROM "
        "STDIN\",\"parameters\":[]}\n"
        "{\"time\":\"T\",\"type\":\"copy\",\"statement\":2,\"from\":\"client\",\"data\":\"1\\n\"}\n"
        "{\"time\":\"T\",\"type\":\"copy\",\"statement\":2,\"from\":\"client\",\"data\":\"22\\n\"}"
        "\n"
        "{\"time\":\"T\",\"type\":\"count\",\"statement\":2,\"rows\":2,\"bytes\":15,\"cut\":false}"
        "\n"
        "{\"time\":\"T\",\"type\":\"done\",\"statement\":2,\"tag\":\"COPY 2\"}\n"
        "{\"time\":\"T\",\"type\":\"statement\",\"statement\":3,\"text\":\"COPY t TO "
        "STDOUT\",\"parameters\":[]}\n"
        "{\"time\":\"T\",\"type\":\"copy\",\"statement\":3,\"from\":\"target\",\"data\":\"333\\n\"}"
        "\n"
        "{\"time\":\"T\",\"type\":\"count\",\"statement\":3,\"rows\":1,\"bytes\":9,\"cut\":false}\n"
        "{\"time\":\"T\",\"type\":\"close\",\"summary\":{\"reason\":\"client left\"}}\n");
}

static void rows_are_csv(void **state)
{
    (void)state;
    record_queries();
    export_check(RECORDING_CSV, "id,the name\n"
                                "1,\"a\tb \"\"c\"\"\\, \x1b[31m\"\n"
                                "2,\n"
                                "\"\",\xe2\x80\xae\xff\n");
}

static void a_cast_is_a_head_and_lines_of_output(void **state)
{
    (void)state;
    record_queries();
    assert_int_equal(export_again(RECORDING_ASCIICAST), ERR_NONE);
    struct slice rest = buf_view(&export_out);
    size_t count = 0;
    while (rest.len > 0) {
        struct json document;
        struct slice line = slice_cut(rest, '\n', &rest);
        double time = -1;
        int64_t version = 0;
        assert_int_equal(json_parse_in(&export_help.arena, line, &document, &export_help.error),
                         ERR_NONE);
        if (count == 0) {
            assert_int_equal(json_as_int(json_member(&document, "version"), 2, 2, &version, NULL),
                             ERR_NONE);
        } else {
            assert_int_equal(json_as_number(json_item(&document, 0), 0, 60, &time, NULL), ERR_NONE);
            assert_non_null(strstr(arena_text(&export_help.arena, line), ",\"o\",\""));
        }
        count++;
    }
    assert_true(count > 10);
    assert_non_null(strstr(export_text(), "#1 > SELECT *\\r\\n    \\tFROM t\\r\\n"));
}

/* Large and cut ------------------------------------------------------------------------------- */

static void what_was_not_kept_is_said_to_be_cut(void **state)
{
    (void)state;
    char head[RECORD_MESSAGE_HEAD];
    const struct slice query[] = {record_message_head('Q', 1000, head), SLICE("SELECT 'begin")};
    recorder_add(export_recorder, RECORD_MESSAGE, RECORD_FROM_CLIENT, query, 2);
    const struct slice cut[] = {record_message_head('D', 900, head),
                                SLICE("\0\2\0\0\0\1x\0\0\2\0some")};
    recorder_add(export_recorder, RECORD_MESSAGE, RECORD_FROM_TARGET, cut, 2);
    said_by_target('C', SLICE("SELECT 1\0"));
    said_ready();
    export_finish();
    export_check(RECORDING_TEXT,
                 "    x\tsome… (not all of it was kept)\t… (not all of the row was kept)\n"
                 "T #1 SELECT 1\n"
                 "T #1 > SELECT 'begin… (not all of it was kept)\n"
                 "T session closed: {\"reason\":\"client left\"}\n");
    export_check(RECORDING_CSV, "column1,column2\nx,some,(cut)\n");
}

static void a_large_value_is_cut_when_shown_and_whole_otherwise(void **state)
{
    (void)state;
    size_t size = 300000;
    char *bytes = arena_alloc(&export_help.arena, size);
    (void)memset(bytes, 'v', size);
    said_by_client('Q', SLICE("q\0"));
    said_row((const struct slice[]){slice_of(bytes, size)}, 1);
    char *huge = arena_alloc(&export_help.arena, 3000000);
    (void)memset(huge, 1, 3000000);
    said_row((const struct slice[]){slice_of(huge, 3000000)}, 1);
    export_finish();
    assert_int_equal(export_again(RECORDING_TEXT), ERR_NONE);
    assert_non_null(strstr(export_text(), "vvv… (cut: 300000 bytes)\n"));
    assert_true(export_out.len < 600000);
    assert_int_equal(export_again(RECORDING_CSV), ERR_NONE);
    assert_true(slice_starts_with(slice_from(buf_view(&export_out), 8 + size), SLICE("\n\x01")));
    assert_int_equal(export_out.len, 8 + size + 1 + (LIMIT_RECORDING_MESSAGE_SIZE - 6) + 7);
    assert_int_equal(export_again(RECORDING_JSONL), ERR_NONE);
    assert_non_null(strstr(export_text(), "\\u0001\"],\"cut\":true}\n"));
    assert_int_equal(export_again(RECORDING_ASCIICAST), ERR_NONE);
}

static void a_recording_without_an_end_says_so(void **state)
{
    (void)state;
    said_by_client('Q', SLICE("SELECT 1\0"));
    must(recorder_flush(export_recorder, NULL) == ERR_NONE);
    export_check(RECORDING_TEXT, "T #1 > SELECT 1\n(the session goes on)\n");
    assert_int_equal(export_again(RECORDING_JSONL), ERR_NONE);
    assert_non_null(
        strstr(export_text(), "{\"type\":\"not_closed\",\"cut\":false,\"being_written\":true}\n"));
    export_finish();
    struct slice bytes = help_read_file(&export_help, export_help.path);
    help_write_file(export_help.path, slice_sub(bytes, 0, bytes.len - 20));
    export_check(RECORDING_TEXT, "T #1 > SELECT 1\n(the recording is cut off here)\n");
    char *changed = arena_alloc(&export_help.arena, bytes.len);
    (void)memcpy(changed, bytes.at, bytes.len);
    changed[bytes.len - 20]++;
    help_write_file(export_help.path, slice_of(changed, bytes.len));
    assert_int_equal(export_again(RECORDING_TEXT), ERR_CONFLICT);
    assert_string_equal(export_text(), "T #1 > SELECT 1\n");
    assert_non_null(strstr(export_help.error.message, "the recording was changed: block 2"));
}

static enum err refuse(void *context, struct slice bytes, struct error *reterr)
{
    size_t *left = context;
    (void)bytes;
    return (*left)-- > 0 ? ERR_NONE : (fail)(reterr, ERR_IO, "the pipe broke");
}

static void an_export_ends_when_nobody_takes_it(void **state)
{
    (void)state;
    record_queries();
    for (int format = RECORDING_TEXT; format <= RECORDING_ASCIICAST; format++) {
        for (size_t count = 0; count < 3; count++) {
            struct recording *recording = NULL;
            size_t left = format == RECORDING_TEXT || format == RECORDING_ASCIICAST ? count : 0;
            must(recording_open(export_help.path, export_help.keys, &recording, NULL) == ERR_NONE);
            assert_int_equal(recording_export(recording, find_pg_replay,
                                              (enum recording_format)format, refuse, &left,
                                              &export_help.error),
                             ERR_IO);
            assert_string_equal(export_help.error.message, "the pipe broke");
            recording_free(recording);
        }
    }
}

static enum err count_bytes(void *context, struct slice bytes, struct error *reterr)
{
    (void)reterr;
    *(size_t *)context += bytes.len;
    return ERR_NONE;
}

/* Statements that are never answered, prepared ones by the thousand: nothing grows. */
static void an_export_takes_constant_memory(void **state)
{
    (void)state;
    char name[32];
    char text[3000];
    (void)memset(text, 's', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 30000; i++) {
        (void)snprintf(name, sizeof(name), "statement%d", i);
        said_parse(name, text, 23);
        said_bind(name, name, 0, (const struct slice[]){slice_of(text, 2000)}, 1, 0);
        said_by_client('E', SLICE("\0\0\0\0\0"));
        if (i % 16 == 15) {
            must(recorder_flush(export_recorder, NULL) == ERR_NONE);
        }
    }
    export_finish();
    long before = help_resident_kib();
    for (int format = RECORDING_TEXT; format <= RECORDING_ASCIICAST; format++) {
        struct recording *recording = NULL;
        size_t size = 0;
        must(recording_open(export_help.path, export_help.keys, &recording, NULL) == ERR_NONE);
        assert_int_equal(recording_export(recording, find_pg_replay, (enum recording_format)format,
                                          count_bytes, &size, &export_help.error),
                         ERR_NONE);
        recording_free(recording);
    }
    long more = help_resident_kib() - before;
    print_message("%ld KiB more memory\n", more);
    assert_true(more < 40 * 1024 || help_is_sanitized());
}

static void formats_have_names(void **state)
{
    (void)state;
    enum recording_format format = RECORDING_TEXT;
    assert_int_equal(recording_format_parse(SLICE("asciicast"), &format), ERR_NONE);
    assert_int_equal(format, RECORDING_ASCIICAST);
    assert_int_equal(recording_format_parse(SLICE("xml"), &format), ERR_INPUT);
    export_finish();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, export_set_up, export_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_export_takes_constant_memory), /* first: others use more */
        TEST(queries_are_shown_as_text),
        TEST(queries_are_lines_of_json),
        TEST(rows_that_are_all_there_are_counted),
        TEST(rows_are_csv),
        TEST(a_cast_is_a_head_and_lines_of_output),
        TEST(what_was_not_kept_is_said_to_be_cut),
        TEST(a_large_value_is_cut_when_shown_and_whole_otherwise),
        TEST(a_recording_without_an_end_says_so),
        TEST(an_export_ends_when_nobody_takes_it),
        TEST(formats_have_names),
    };
    return cmocka_run_group_tests_name("postgres/pg_replay_export", tests, NULL, NULL);
}
