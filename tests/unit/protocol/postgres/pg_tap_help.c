/* SPDX-License-Identifier: MIT */
#include "pg_tap_help.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/writer.h"

#define LOG_SIZE LIMIT_MIB(8)

static void note(struct watch *watch, const struct pg_record *record, struct slice body)
{
    char text[96];
    char who[24] = "*";
    if (record->request != PG_RECORD_NOBODY) {
        (void)snprintf(who, sizeof(who), "%llu", (unsigned long long)record->request);
    }
    const char *arrow = record->side == PUMP_CLIENT ? ">" : "<";
    if (record->kind == PG_RECORD_COUNT) {
        (void)snprintf(text, sizeof(text), "%s%s#%llu/%llu%s ", arrow, who,
                       (unsigned long long)record->rows, (unsigned long long)record->row_bytes,
                       record->is_cut ? "!" : "");
    } else {
        (void)snprintf(text, sizeof(text), "%s%s%c ", arrow, who, record->type);
    }
    assert_int_equal(buf_append(&watch->log, slice_of_text(text)), ERR_NONE);
    assert_int_equal(buf_append(&watch->details, slice_of_text(text)), ERR_NONE);
    assert_int_equal(buf_append(&watch->details, body), ERR_NONE);
    assert_int_equal(buf_append(&watch->details, SLICE("\n")), ERR_NONE);
}

static void note_rows(struct watch *watch, const struct pg_record *record)
{
    struct reader reader = reader_of(record->bytes);
    struct pg_record row = *record;
    watch->run_count++;
    while (reader_left(&reader) > 0) {
        assert_int_equal(reader_u8(&reader), (uint8_t)record->type);
        uint32_t length = reader_u32(&reader);
        note(watch, &row, reader_view(&reader, length - 4));
        row.request += row.side == PUMP_CLIENT;
    }
    assert_int_equal(reader_done(&reader), ERR_NONE);
}

static void on_record(void *owner, const struct pg_record *record)
{
    struct watch *watch = owner;
    struct buf *body = &watch->bodies[record->side];
    bool *is_open = &watch->is_open[record->side];
    if (record->kind == PG_RECORD_COUNT || record->kind == PG_RECORD_ROWS) {
        assert_false(*is_open);
        assert_true(record->is_last);
        if (record->kind == PG_RECORD_COUNT) {
            note(watch, record, SLICE_NONE);
        } else {
            note_rows(watch, record);
        }
        return;
    }
    assert_int_equal(record->kind == PG_RECORD_MORE, *is_open);
    watch->piece_count++;
    *is_open = !record->is_last;
    assert_int_equal(buf_append(body, record->bytes), ERR_NONE);
    assert_int_equal(buf_view(body).len == record->size, record->is_last);
    if (record->is_last) {
        note(watch, record, buf_view(body));
        buf_clear(body);
    }
}

void watch_start(struct watch *watch, uint64_t row_limit)
{
    struct pg_tap_settings settings = {
        .row_limit = row_limit,
        .on_record = on_record,
        .owner = watch,
    };
    *watch = (struct watch){.tap = pg_tap_new(&settings)};
    buf_init(&watch->log, LOG_SIZE);
    buf_init(&watch->details, LOG_SIZE);
    buf_init(&watch->bodies[0], LOG_SIZE);
    buf_init(&watch->bodies[1], LOG_SIZE);
}

void watch_end(struct watch *watch)
{
    pg_tap_free(watch->tap);
    buf_release(&watch->log);
    buf_release(&watch->details);
    buf_release(&watch->bodies[0]);
    buf_release(&watch->bodies[1]);
}

/* Bytes behind the last are found out by a sanitizer. */
void watch_pass(struct watch *watch, enum pump_side side, struct slice bytes)
{
    struct error error = {0};
    char *copy = memory_new(bytes.len);
    if (bytes.len > 0) {
        memcpy(copy, bytes.at, bytes.len);
    }
    if (pg_tap_pass(watch->tap, side, slice_of(copy, bytes.len), &error) != ERR_NONE) {
        fail_msg("%s", error.message);
    }
    memory_free(copy);
}

void watch_pass_split(struct watch *watch, enum pump_side side, struct slice bytes, size_t piece)
{
    while (bytes.len > 0) {
        struct slice part = slice_sub(bytes, 0, piece);
        watch_pass(watch, side, part);
        bytes = slice_from(bytes, part.len);
    }
}

struct slice message_of(char type, struct slice body)
{
    static char memory[4][4096];
    static unsigned next;
    struct buf buf;
    buf_init(&buf, sizeof(memory[0]));
    struct writer writer = writer_to(&buf);
    writer_u8(&writer, (uint8_t)type);
    writer_u32(&writer, (uint32_t)body.len + 4);
    writer_bytes(&writer, body);
    must(writer_done(&writer) == ERR_NONE);
    char *at = memory[next++ % COUNT_OF(memory)];
    struct slice bytes = buf_view(&buf);
    memcpy(at, bytes.at, bytes.len);
    buf_release(&buf);
    return slice_of(at, bytes.len);
}

void watch_message(struct watch *watch, enum pump_side side, char type, struct slice body)
{
    watch_pass(watch, side, message_of(type, body));
}

/* Of the smallest legal body. */
static size_t body_size_of(enum pump_side side, char type)
{
    static const char of_client[] = "B8C2D2E5F:P4Q1f1";
    static const char of_server[] = "A6C1D2E1G3H3N1S2T2V4W3t2Z1";
    const char *sizes = side == PUMP_CLIENT ? of_client : of_server;
    for (; *sizes != '\0'; sizes += 2) {
        if (sizes[0] == type) {
            return (size_t)(sizes[1] - '0');
        }
    }
    return 0;
}

void watch_say(struct watch *watch, enum pump_side side, const char *types)
{
    for (; *types != '\0'; types++) {
        char body[16] = "I";
        watch_message(watch, side, *types, slice_of(body, body_size_of(side, *types)));
    }
}

void watch_fails(struct watch *watch, enum pump_side side, struct slice bytes, enum err err)
{
    struct error error = {0};
    assert_int_equal(pg_tap_pass(watch->tap, side, bytes, &error), err);
    assert_true(strlen(error.message) > 0);
    assert_int_equal(pg_tap_pass(watch->tap, side, SLICE_NONE, NULL), ERR_INPUT);
    assert_int_equal(pg_tap_pass(watch->tap, PUMP_CLIENT, message_of('Q', SLICE("")), NULL),
                     ERR_INPUT);
}

void watch_told(struct watch *watch, const char *expected)
{
    struct slice told = slice_trim(buf_view(&watch->log), " ");
    if (!slice_equals(told, slice_of_text(expected))) {
        fail_msg("%.*s", SLICE_ARG(told));
    }
    buf_truncate(&watch->log, 0);
    buf_truncate(&watch->details, 0);
}
