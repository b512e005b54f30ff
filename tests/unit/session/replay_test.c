/* SPDX-License-Identifier: MIT */
#include "session/replay.h"

#include "base/limits.h"
#include "base/must.h"
#include "base/writer.h"
#include "recording_help.h"
#include "session/recording_events.h"
#include "session/recording_export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define HEAD "{\"connection_subtype\":\"raw\"}"

static struct help help;
static struct recorder *recorder;
static struct buf out;
static struct slice sought; /* the subtype that was looked for last, in the arena */
static size_t sought_count;

static int set_up(void **state)
{
    (void)state;
    help_start(&help, false);
    recorder = help_open(&help);
    buf_init(&out, LIMIT_MIB(1));
    sought_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_release(&out);
    help_end(&help);
    return 0;
}

static void add(enum record_kind kind, enum record_side side, struct slice payload)
{
    help_add(recorder, kind, side, payload);
    must(recorder_flush(recorder, &help.error) == ERR_NONE);
}

/* Exports ------------------------------------------------------------------------------------- */

static const struct replay_ops *find_none(struct slice subtype)
{
    sought = arena_copy(&help.arena, subtype);
    sought_count++;
    return NULL;
}

static enum err sink(void *context, struct slice bytes, struct error *reterr)
{
    (void)context;
    (void)reterr;
    return buf_append(&out, bytes);
}

/* With T in place of each time. */
static const char *text_of(struct slice rest)
{
    struct buf text;
    buf_init(&text, LIMIT_MIB(1));
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

static void export_as(replay_find_fn find, enum recording_format format)
{
    struct recording *recording = NULL;
    buf_truncate(&out, 0);
    must(recording_open(help.path, help.keys, &recording, NULL) == ERR_NONE);
    assert_int_equal(recording_export(recording, find, format, sink, NULL, &help.error), ERR_NONE);
    recording_free(recording);
}

static void check(enum recording_format format, const char *expected)
{
    export_as(find_none, format);
    assert_string_equal(text_of(buf_view(&out)), expected);
}

/* What a protocol says that nobody here reads, though some of it looks like a query. */
static void record_raw(void)
{
    char bytes[RECORD_COUNT_SIZE];
    const struct record_count count = {.rows = 7, .bytes = 700, .is_cut = true};
    add(RECORD_OPEN, RECORD_FROM_GATEWAY, SLICE(HEAD));
    add(RECORD_MESSAGE, RECORD_FROM_CLIENT, SLICE("\x1b]0;raw\a"));
    add(RECORD_MESSAGE, RECORD_FROM_TARGET, SLICE("Q\0\0\0\x9SELECT"));
    add(RECORD_MORE, RECORD_FROM_TARGET, SLICE(" 1"));
    add(RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{\"note\":1}"));
    add(RECORD_COUNT, RECORD_FROM_TARGET, record_count_write(&count, bytes));
    add(RECORD_COUNT, RECORD_FROM_TARGET, SLICE("no count"));
    add(RECORD_MESSAGE, RECORD_FROM_CLIENT, SLICE("end"));
}

static void a_protocol_that_is_not_read_is_shown_by_its_bytes(void **state)
{
    (void)state;
    record_raw();
    check(RECORDING_TEXT, "T session opened: " HEAD "\n"
                          "T client: 8 bytes\n"
                          "T target: 11 bytes\n"
                          "T target: 2 bytes\n"
                          "T gateway: {\"note\":1}\n"
                          "    … (7 rows of 700 bytes in all: more than the recording keeps)\n"
                          "T client: 3 bytes\n"
                          "T client: 11 bytes in all, in 2 pieces\n"
                          "T target: 13 bytes in all, in 2 pieces\n"
                          "(the session goes on)\n");
    assert_string_equal(arena_text(&help.arena, sought), "raw");
    (void)help_close(&help, recorder);
    check(RECORDING_JSONL,
          "{\"time\":\"T\",\"type\":\"open\",\"session\":" HEAD "}\n"
          "{\"time\":\"T\",\"type\":\"bytes\",\"from\":\"client\",\"bytes\":8}\n"
          "{\"time\":\"T\",\"type\":\"bytes\",\"from\":\"target\",\"bytes\":11}\n"
          "{\"time\":\"T\",\"type\":\"bytes\",\"from\":\"target\",\"bytes\":2}\n"
          "{\"time\":\"T\",\"type\":\"note\",\"note\":{\"note\":1}}\n"
          "{\"time\":\"T\",\"type\":\"count\",\"rows\":7,\"bytes\":700,\"cut\":true}\n"
          "{\"time\":\"T\",\"type\":\"bytes\",\"from\":\"client\",\"bytes\":3}\n"
          "{\"time\":\"T\",\"type\":\"total\",\"from\":\"client\",\"pieces\":2,\"bytes\":11}\n"
          "{\"time\":\"T\",\"type\":\"total\",\"from\":\"target\",\"pieces\":2,\"bytes\":13}\n"
          "{\"time\":\"T\",\"type\":\"close\",\"summary\":{\"reason\":\"client left\"}}\n");
    check(RECORDING_CSV, "");
    export_as(find_none, RECORDING_ASCIICAST);
    const char *cast = text_of(buf_view(&out));
    assert_non_null(strstr(cast, ",\"o\",\"client: 8 bytes\\r\\n\"]\n"));
    assert_non_null(strstr(cast, ",\"o\",\"target: 13 bytes in all, in 2 pieces\\r\\n\"]\n"));
}

/* Events -------------------------------------------------------------------------------------- */

static void visit(void *context, const struct recording_event *event)
{
    (void)context;
    char head[64];
    int len = snprintf(head, sizeof(head), "%u %c%s ", (unsigned)event->number, event->type,
                       event->is_last ? " last" : "");
    must(buf_append(&out, slice_of(head, (size_t)len)) == ERR_NONE);
    must(buf_append(&out, event->text) == ERR_NONE);
}

static enum err read_on(struct recording_events *events)
{
    enum err err = ERR_NONE;
    while (err == ERR_NONE) {
        err = recording_events_next(events, &help.error);
    }
    return err;
}

static void a_protocol_that_is_not_read_is_followed_as_it_goes_on(void **state)
{
    (void)state;
    struct recording *recording = NULL;
    add(RECORD_OPEN, RECORD_FROM_GATEWAY, SLICE(HEAD));
    must(recording_open(help.path, help.keys, &recording, &help.error) == ERR_NONE);
    struct recording_events *events = recording_events_new(recording, find_none, visit, NULL);
    assert_int_equal(read_on(events), ERR_AGAIN);
    add(RECORD_MESSAGE, RECORD_FROM_CLIENT, SLICE("hello"));
    assert_int_equal(read_on(events), ERR_AGAIN);
    add(RECORD_MESSAGE, RECORD_FROM_TARGET, SLICE("hi"));
    add(RECORD_NOTE, RECORD_FROM_GATEWAY, SLICE("{}"));
    assert_int_equal(read_on(events), ERR_AGAIN);
    assert_string_equal(arena_text(&help.arena, buf_view(&out)),
                        "1 i client: 5 bytes\n2 o target: 2 bytes\n3 e gateway: {}\n");
    buf_truncate(&out, 0);
    (void)help_close(&help, recorder);
    assert_int_equal(read_on(events), ERR_CLOSED);
    assert_string_equal(arena_text(&help.arena, buf_view(&out)),
                        "4 e client: 5 bytes in all, in 1 piece\n"
                        "5 e target: 2 bytes in all, in 1 piece\n"
                        "6 e last {\"reason\":\"client left\"}");
    recording_events_free(events);
}

/* A protocol ----------------------------------------------------------------------------------- */

/* One of which each record is a row, whose values are its bytes, and an error. */
struct row_reader {
    replay_visit_fn visit;
    void *context;
};

static struct row_reader row_reader;
static const struct replay_ops row_ops;
static int reader_count;

static void *row_start(replay_visit_fn on_event, void *context)
{
    row_reader = (struct row_reader){.visit = on_event, .context = context};
    reader_count++;
    return &row_reader;
}

static void row_free(void *reader)
{
    assert_ptr_equal(reader, &row_reader);
    reader_count--;
}

static enum err row_add(void *reader, const struct record *record, struct error *reterr)
{
    static const struct slice columns[] = {SLICE_INIT("a"), SLICE_INIT("b")};
    const struct replay_field fields[] = {{"severity", SLICE("BAD")},
                                          {"code", SLICE("17")},
                                          {"message", SLICE("no")},
                                          {"where", SLICE("here")}};
    struct row_reader *self = reader;
    struct replay_event event = {
        .kind = REPLAY_COLUMNS,
        .side = record->side,
        .time = record->time,
        .columns = columns,
        .column_count = 2,
    };
    enum err err = self->visit(self->context, &event, reterr);
    event.kind = REPLAY_ROW;
    event.values = (struct replay_values){
        .count = record->payload.len,
        .ops = &row_ops,
        .reader = reader_of(record->payload),
    };
    err = err == ERR_NONE ? self->visit(self->context, &event, reterr) : err;
    event.kind = REPLAY_ERROR;
    event.text = SLICE("SCHLECHT");
    event.fields = fields;
    event.field_count = 4;
    return err == ERR_NONE ? self->visit(self->context, &event, reterr) : err;
}

static enum err row_end(void *reader, struct error *reterr)
{
    (void)reader;
    (void)reterr;
    return ERR_NONE;
}

static bool row_next_value(struct replay_values *values, struct buf *scratch,
                           struct replay_value *ret_value)
{
    buf_truncate(scratch, 0);
    struct writer writer = writer_to(scratch);
    writer_format(&writer, "%u", (unsigned)reader_u8(&values->reader));
    values->index++;
    values->count--;
    *ret_value = (struct replay_value){.text = buf_view(scratch)};
    return true;
}

static const struct replay_ops row_ops = {
    .start = row_start,
    .free = row_free,
    .add = row_add,
    .end = row_end,
    .next_value = row_next_value,
};

static const struct replay_ops *find_rows(struct slice subtype)
{
    sought = arena_copy(&help.arena, subtype);
    sought_count++;
    return &row_ops;
}

static void what_a_protocol_tells_is_shown_without_knowing_it(void **state)
{
    (void)state;
    add(RECORD_OPEN, RECORD_FROM_GATEWAY, SLICE(HEAD));
    add(RECORD_MESSAGE, RECORD_FROM_TARGET, SLICE("AB"));
    (void)help_close(&help, recorder);
    export_as(find_rows, RECORDING_TEXT);
    assert_string_equal(text_of(buf_view(&out)),
                        "T session opened: " HEAD "\n"
                        "    a\tb\n"
                        "    65\t66\n"
                        "T SCHLECHT 17: no\n    where: here\n"
                        "T session closed: {\"reason\":\"client left\"}\n");
    export_as(find_rows, RECORDING_JSONL);
    assert_non_null(
        strstr(text_of(buf_view(&out)),
               "\"columns\":[\"a\",\"b\"]}\n"
               "{\"time\":\"T\",\"type\":\"row\",\"values\":[\"65\",\"66\"]}\n"
               "{\"time\":\"T\",\"type\":\"error\",\"severity\":\"BAD\",\"code\":\"17\","
               "\"message\":\"no\",\"where\":\"here\"}\n"));
    export_as(find_rows, RECORDING_CSV);
    assert_string_equal(text_of(buf_view(&out)), "a,b\n65,66\n");
    assert_int_equal(reader_count, 0);
    assert_int_equal(sought_count, 3);
}

/* Choosing ------------------------------------------------------------------------------------- */

static enum err ignore(void *context, const struct replay_event *event, struct error *reterr)
{
    (void)context;
    (void)event;
    (void)reterr;
    return ERR_NONE;
}

static const char *sought_for(enum record_kind kind, struct slice payload)
{
    struct replay *replay = replay_new(find_none, ignore, NULL);
    const struct record first = {.kind = kind, .side = RECORD_FROM_GATEWAY, .payload = payload};
    const struct record open = {.kind = RECORD_OPEN, .payload = SLICE(HEAD)};
    assert_int_equal(replay_end(replay, NULL), ERR_NONE); /* of nothing */
    sought_count = 0;
    assert_int_equal(replay_add(replay, &first, NULL), ERR_NONE);
    assert_int_equal(replay_add(replay, &open, NULL), ERR_NONE); /* changes nothing any more */
    assert_int_equal(sought_count, 1);
    replay_free(replay);
    return arena_text(&help.arena, sought);
}

static void the_first_record_names_the_protocol(void **state)
{
    (void)state;
    (void)help_close(&help, recorder);
    assert_string_equal(sought_for(RECORD_OPEN, SLICE("{\"connection_subtype\":\"tcp\"}")), "tcp");
    assert_string_equal(sought_for(RECORD_OPEN, SLICE("{\"connection_subtype\":\"\"}")), "");
    assert_string_equal(sought_for(RECORD_OPEN, SLICE("{\"connection_subtype\":5}")), "");
    assert_string_equal(sought_for(RECORD_OPEN, SLICE("{}")), "");
    assert_string_equal(sought_for(RECORD_OPEN, SLICE("[]")), "");
    assert_string_equal(sought_for(RECORD_OPEN, SLICE("{\"guardrails_info\":,")), "");
    assert_string_equal(sought_for(RECORD_OPEN, SLICE("")), "");
    assert_string_equal(sought_for(RECORD_NOTE, SLICE(HEAD)), "");
    assert_string_equal(sought_for(RECORD_MESSAGE, SLICE(HEAD)), "");
    assert_string_equal(sought_for(RECORD_CLOSE, SLICE("{}")), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_protocol_that_is_not_read_is_shown_by_its_bytes),
        TEST(a_protocol_that_is_not_read_is_followed_as_it_goes_on),
        TEST(what_a_protocol_tells_is_shown_without_knowing_it),
        TEST(the_first_record_names_the_protocol),
    };
    return cmocka_run_group_tests_name("session/replay", tests, NULL, NULL);
}
