/* SPDX-License-Identifier: MIT */
#include "session/recording_export.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/text.h"
#include "codec/json.h"
#include "recording_help.h"
#include "wire/pgwire_query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OUT_SIZE LIMIT_MIB(16)

static struct help help;
static struct recorder *recorder;
static struct buf out;
static struct buf message;

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    recorder = help_open(&help);
    buf_init(&out, OUT_SIZE);
    buf_init(&message, LIMIT_MIB(4));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&out);
    buf_release(&message);
    help_end(&help);
    return 0;
}

/* Messages ------------------------------------------------------------------------------------ */

static void client(char type, struct slice body)
{
    help_message(recorder, RECORD_FROM_CLIENT, type, body);
}

static void target(char type, struct slice body)
{
    help_message(recorder, RECORD_FROM_TARGET, type, body);
}

static void ready(void)
{
    target('Z', SLICE("I"));
}

static void columns(const char *const *names, const uint32_t *types, size_t count, bool is_binary)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_u16(&writer, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        writer_text(&writer, slice_of_text(names[i]));
        writer_u32(&writer, 0);
        writer_u16(&writer, 0);
        writer_u32(&writer, types[i]);
        writer_u16(&writer, 0xffff);
        writer_u32(&writer, 0xffffffff);
        writer_u16(&writer, is_binary ? 1 : 0);
    }
    target('T', buf_view(&message));
}

static void values_write(struct writer *writer, const struct slice *values, size_t count)
{
    writer_u16(writer, (uint16_t)count);
    for (size_t i = 0; i < count; i++) {
        writer_u32(writer, values[i].at == NULL ? UINT32_MAX : (uint32_t)values[i].len);
        writer_bytes(writer, values[i]);
    }
}

static void row(const struct slice *values, size_t count)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    values_write(&writer, values, count);
    target('D', buf_view(&message));
}

static void parse(const char *name, const char *text, uint32_t type)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_text(&writer, slice_of_text(name));
    writer_text(&writer, slice_of_text(text));
    writer_u16(&writer, type == 0 ? 0 : 1);
    if (type != 0) {
        writer_u32(&writer, type);
    }
    client('P', buf_view(&message));
}

static void bind_to(const char *portal, const char *name, uint16_t format,
                    const struct slice *values, size_t count, uint16_t result_format)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_text(&writer, slice_of_text(portal));
    writer_text(&writer, slice_of_text(name));
    writer_u16(&writer, 1);
    writer_u16(&writer, format);
    values_write(&writer, values, count);
    writer_u16(&writer, 1);
    writer_u16(&writer, result_format);
    client('B', buf_view(&message));
}

static void error(const char *code, const char *text)
{
    struct writer writer = writer_to(&message);
    buf_truncate(&message, 0);
    writer_bytes(&writer, SLICE("SFEHLER\0VERROR\0C"));
    writer_text(&writer, slice_of_text(code));
    writer_u8(&writer, 'M');
    writer_text(&writer, slice_of_text(text));
    writer_bytes(&writer, SLICE("Htry again\0\0"));
    target('E', buf_view(&message));
}

/* Exports ------------------------------------------------------------------------------------- */

static enum err sink(void *context, struct slice bytes, struct error *reterr)
{
    (void)context;
    (void)reterr;
    return buf_append(&out, bytes);
}

static enum err export_again(enum recording_format format)
{
    struct recording *recording = NULL;
    buf_truncate(&out, 0);
    must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
    enum err err = recording_export(recording, format, sink, NULL, &help.error);
    recording_free(recording);
    return err;
}

/* What came out, with T in place of each time. */
static const char *exported(void)
{
    struct buf text;
    struct slice rest = buf_view(&out);
    buf_init(&text, OUT_SIZE);
    struct writer writer = writer_to(&text);
    while (rest.len > 0) {
        bool is_time = rest.len >= 27 && slice_starts_with(rest, SLICE("20")) &&
                       rest.at[10] == 'T' && rest.at[26] == 'Z';
        writer_bytes(&writer, is_time ? SLICE("T") : slice_sub(rest, 0, 1));
        rest = slice_from(rest, is_time ? 27 : 1);
    }
    const char *copy = arena_text(&help.arena, buf_view(&text));
    buf_release(&text);
    return copy;
}

static void finish(void)
{
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    (void)help_close(&help, recorder);
}

static void check(enum recording_format format, const char *expected)
{
    assert_int_equal(export_again(format), ERR_NONE);
    assert_string_equal(exported(), expected);
}

static const char *const two_names[] = {"id", "the name"};
static const uint32_t two_types[] = {23, 25};

static void record_queries(void)
{
    help_add(recorder, RECORD_OPEN, RECORD_FROM_GATEWAY, SLICE("{\"user\":\"ann@example.com\"}"));
    client('Q', SLICE("SELECT *\n\tFROM t\0"));
    columns(two_names, two_types, 2, false);
    row((const struct slice[]){SLICE("1"), SLICE("a\tb \"c\"\\, \x1b[31m")}, 2);
    row((const struct slice[]){SLICE("2"), SLICE_NONE}, 2);
    row((const struct slice[]){SLICE(""), SLICE("\xe2\x80\xae\xff")}, 2);
    char payload[RECORD_COUNT_SIZE];
    const struct record_count count = {.rows = 700, .bytes = 5000, .is_cut = true};
    help_add(recorder, RECORD_COUNT, RECORD_FROM_GATEWAY, record_count_write(&count, payload));
    target('C', SLICE("SELECT 700\0"));
    ready();
    client('Q', SLICE("boom\0"));
    error("42601", "syntax error at \"boom\"");
    ready();
    help_add(recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{\"what\":\"cancelled\"}"));
    finish();
}

static void queries_are_shown_as_text(void **state)
{
    (void)state;
    record_queries();
    check(RECORDING_TEXT, "T session opened: {\"user\":\"ann@example.com\"}\n"
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
    check(RECORDING_JSONL,
          "{\"time\":\"T\",\"type\":\"open\",\"session\":{\"user\":\"ann@example.com\"}}\n"
          "{\"time\":\"T\",\"type\":\"statement\",\"statement\":1,\"text\":\"SELECT *\\n\\tFROM "
          "t\",\"parameters\":[]}\n"
          "{\"time\":\"T\",\"type\":\"columns\",\"statement\":1,\"columns\":[\"id\",\"the "
          "name\"]}\n"
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

static void rows_are_csv(void **state)
{
    (void)state;
    record_queries();
    check(RECORDING_CSV, "id,the name\n"
                         "1,\"a\tb \"\"c\"\"\\, \x1b[31m\"\n"
                         "2,\n"
                         "\"\",\xe2\x80\xae\xff\n");
}

static void a_cast_is_a_head_and_lines_of_output(void **state)
{
    (void)state;
    record_queries();
    assert_int_equal(export_again(RECORDING_ASCIICAST), ERR_NONE);
    struct slice rest = buf_view(&out);
    size_t count = 0;
    while (rest.len > 0) {
        struct json document;
        struct slice line = slice_cut(rest, '\n', &rest);
        double time = -1;
        int64_t version = 0;
        assert_int_equal(json_parse_in(&help.arena, line, &document, &help.error), ERR_NONE);
        if (count == 0) {
            assert_int_equal(json_as_int(json_member(&document, "version"), 2, 2, &version, NULL),
                             ERR_NONE);
        } else {
            assert_int_equal(json_as_number(json_item(&document, 0), 0, 60, &time, NULL), ERR_NONE);
            assert_non_null(strstr(arena_text(&help.arena, line), ",\"o\",\""));
        }
        count++;
    }
    assert_true(count > 10);
    assert_non_null(strstr(exported(), "#1 > SELECT *\\r\\n    \\tFROM t\\r\\n"));
}

/* The extended protocol ----------------------------------------------------------------------- */

static void prepared_statements_are_shown_with_their_values(void **state)
{
    (void)state;
    static const char four[] = {0, 0, 0, 42};
    parse("s1", "SELECT $1", 23);
    client('D', SLICE("Ss1\0"));
    client('S', SLICE(""));
    target('1', SLICE(""));
    target('t', SLICE("\0\1\0\0\0\x17"));
    columns(two_names, two_types, 2, false);
    ready();
    for (int i = 0; i < 2; i++) {
        bind_to("", "s1", 1, (const struct slice[]){slice_of(four, 4)}, 1, 1);
        client('E', SLICE("\0\0\0\0\0"));
        client('S', SLICE(""));
        target('2', SLICE(""));
        row((const struct slice[]){SLICE("\xff\xff\xff\xff"), SLICE("text")}, 2);
        target('C', SLICE("SELECT 1\0"));
        ready();
    }
    finish();
    check(RECORDING_TEXT, "T #1 > SELECT $1\n    $1 = 42\n"
                          "    id\tthe name\n"
                          "    -1\ttext\n"
                          "T #1 SELECT 1\n"
                          "T #2 > SELECT $1\n    $1 = 42\n"
                          "    id\tthe name\n"
                          "    -1\ttext\n"
                          "T #2 SELECT 1\n"
                          "T session closed: {\"reason\":\"client left\"}\n");
    check(RECORDING_CSV, "id,the name\n-1,text\n\nid,the name\n-1,text\n");
}

static void values_that_have_no_simple_type_are_hex(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const uint32_t types[] = {16, 20, 701, 2950, 3802, 21};
    client('Q', SLICE("binary\0"));
    columns(names, types, 6, true);
    row((const struct slice[]){SLICE("\1"), SLICE("\x80\0\0\0\0\0\0\0"), SLICE("\1\2\xab"),
                               SLICE("\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf\x10"),
                               SLICE("\1{\"x\":1}"), SLICE("\xff\xfe")},
        6);
    row((const struct slice[]){SLICE("ab"), SLICE("a"), SLICE(""), SLICE("u"), SLICE("j"),
                               SLICE("xyz")},
        6);
    finish();
    check(RECORDING_CSV, "a,b,c,d,e,f\n"
                         "t,-9223372036854775808,\\x0102ab,01020304-0506-0708-090a-0b0c0d0e0f10,"
                         "\"{\"\"x\"\":1}\",-2\n"
                         "\\x6162,\\x61,\\x,\\x75,\\x6a,\\x78797a\n");
}

/* Three in one batch; the second fails, the third does not run. */
static void an_error_belongs_to_what_failed(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const texts[] = {"one", "two", "three"};
        parse("", texts[i], 0);
        bind_to("", "", 0, NULL, 0, 0);
        client('E', SLICE("\0\0\0\0\0"));
    }
    client('S', SLICE(""));
    target('1', SLICE(""));
    target('2', SLICE(""));
    target('C', SLICE("UPDATE 1\0"));
    error("42P01", "no two");
    ready();
    parse("bad", "SELEC", 0);
    client('S', SLICE(""));
    error("42601", "no such word");
    ready();
    client('Q', SLICE("after\0"));
    target('I', SLICE(""));
    ready();
    finish();
    check(RECORDING_TEXT, "T #1 > one\nT #2 > two\nT #3 > three\n"
                          "T #1 UPDATE 1\n"
                          "T #2 ERROR 42P01: no two\n    hint: try again\n"
                          "T #3 (did not run: an earlier statement failed)\n"
                          "T #4 > SELEC\n"
                          "T #4 ERROR 42601: no such word\n    hint: try again\n"
                          "T #5 > after\n"
                          "T #5 (done)\n"
                          "T session closed: {\"reason\":\"client left\"}\n");
}

static void copies_and_notifications_are_shown(void **state)
{
    (void)state;
    client('Q', SLICE("COPY t FROM STDIN\0"));
    target('G', SLICE("\0\0\0"));
    client('d', SLICE("1\tone\n"));
    client('f', SLICE("no more\0"));
    target('A', SLICE("\0\0\0\1news\0hello\0"));
    target('C', SLICE("COPY 0\0"));
    ready();
    finish();
    check(RECORDING_TEXT, "T #1 > COPY t FROM STDIN\n"
                          "T #1 copied in: 1\tone\n    \n"
                          "T #1 the client ended the copy: no more\n"
                          "T notification of news: hello\n"
                          "T #1 COPY 0\n"
                          "T session closed: {\"reason\":\"client left\"}\n");
}

/* Large and cut ------------------------------------------------------------------------------- */

static void what_was_not_kept_is_said_to_be_cut(void **state)
{
    (void)state;
    char head[RECORD_MESSAGE_HEAD];
    const struct slice query[] = {record_message_head('Q', 1000, head), SLICE("SELECT 'begin")};
    recorder_add(recorder, RECORD_MESSAGE, RECORD_FROM_CLIENT, query, 2);
    const struct slice cut[] = {record_message_head('D', 900, head),
                                SLICE("\0\2\0\0\0\1x\0\0\2\0some")};
    recorder_add(recorder, RECORD_MESSAGE, RECORD_FROM_TARGET, cut, 2);
    target('C', SLICE("SELECT 1\0"));
    ready();
    finish();
    check(RECORDING_TEXT, "    x\tsome… (not all of it was kept)\t… (not all of the row was kept)\n"
                          "T #1 SELECT 1\n"
                          "T #1 > SELECT 'begin… (not all of it was kept)\n"
                          "T session closed: {\"reason\":\"client left\"}\n");
    check(RECORDING_CSV, "column1,column2\nx,some,(cut)\n");
}

static void a_large_value_is_cut_when_shown_and_whole_otherwise(void **state)
{
    (void)state;
    size_t size = 300000;
    char *bytes = arena_alloc(&help.arena, size);
    (void)memset(bytes, 'v', size);
    client('Q', SLICE("q\0"));
    row((const struct slice[]){slice_of(bytes, size)}, 1);
    char *huge = arena_alloc(&help.arena, 3000000);
    (void)memset(huge, 1, 3000000);
    row((const struct slice[]){slice_of(huge, 3000000)}, 1);
    finish();
    assert_int_equal(export_again(RECORDING_TEXT), ERR_NONE);
    assert_non_null(strstr(exported(), "vvv… (cut: 300000 bytes)\n"));
    assert_true(out.len < 600000);
    assert_int_equal(export_again(RECORDING_CSV), ERR_NONE);
    assert_true(slice_starts_with(slice_from(buf_view(&out), 8 + size), SLICE("\n\x01")));
    assert_int_equal(out.len, 8 + size + 1 + (LIMIT_RECORDING_MESSAGE_SIZE - 6) + 7);
    assert_int_equal(export_again(RECORDING_JSONL), ERR_NONE);
    assert_non_null(strstr(exported(), "\\u0001\"],\"cut\":true}\n"));
    assert_int_equal(export_again(RECORDING_ASCIICAST), ERR_NONE);
}

static void a_recording_without_an_end_says_so(void **state)
{
    (void)state;
    client('Q', SLICE("SELECT 1\0"));
    must(recorder_flush(recorder, NULL) == ERR_NONE);
    check(RECORDING_TEXT, "T #1 > SELECT 1\n(the session goes on)\n");
    assert_int_equal(export_again(RECORDING_JSONL), ERR_NONE);
    assert_non_null(
        strstr(exported(), "{\"type\":\"not_closed\",\"cut\":false,\"being_written\":true}\n"));
    finish();
    struct slice bytes = help_read_file(&help, help.path);
    help_write_file(help.path, slice_sub(bytes, 0, bytes.len - 20));
    check(RECORDING_TEXT, "T #1 > SELECT 1\n(the recording is cut off here)\n");
    char *changed = arena_alloc(&help.arena, bytes.len);
    (void)memcpy(changed, bytes.at, bytes.len);
    changed[bytes.len - 20]++;
    help_write_file(help.path, slice_of(changed, bytes.len));
    assert_int_equal(export_again(RECORDING_TEXT), ERR_CONFLICT);
    assert_string_equal(exported(), "T #1 > SELECT 1\n");
    assert_non_null(strstr(help.error.message, "the recording was changed: block 2"));
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
            must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
            assert_int_equal(recording_export(recording, (enum recording_format)format, refuse,
                                              &left, &help.error),
                             ERR_IO);
            assert_string_equal(help.error.message, "the pipe broke");
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
        parse(name, text, 23);
        bind_to(name, name, 0, (const struct slice[]){slice_of(text, 2000)}, 1, 0);
        client('E', SLICE("\0\0\0\0\0"));
        if (i % 16 == 15) {
            must(recorder_flush(recorder, NULL) == ERR_NONE);
        }
    }
    finish();
    long before = help_resident_kib();
    for (int format = RECORDING_TEXT; format <= RECORDING_ASCIICAST; format++) {
        struct recording *recording = NULL;
        size_t size = 0;
        must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
        assert_int_equal(recording_export(recording, (enum recording_format)format, count_bytes,
                                          &size, &help.error),
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
    finish();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_export_takes_constant_memory), /* first: others use more */
        TEST(queries_are_shown_as_text),
        TEST(queries_are_lines_of_json),
        TEST(rows_are_csv),
        TEST(a_cast_is_a_head_and_lines_of_output),
        TEST(prepared_statements_are_shown_with_their_values),
        TEST(values_that_have_no_simple_type_are_hex),
        TEST(an_error_belongs_to_what_failed),
        TEST(copies_and_notifications_are_shown),
        TEST(what_was_not_kept_is_said_to_be_cut),
        TEST(a_large_value_is_cut_when_shown_and_whole_otherwise),
        TEST(a_recording_without_an_end_says_so),
        TEST(an_export_ends_when_nobody_takes_it),
        TEST(formats_have_names),
    };
    return cmocka_run_group_tests_name("session/recording_export", tests, NULL, NULL);
}
