/* SPDX-License-Identifier: MIT */
/* A session between two sides that say anything, through a tap. The first byte says how many bytes
 * of rows are recorded, the second in pieces of which size all passes the second time; then come
 * bytes as they are, or messages whose lengths are right, alone or many times. Held: pieces make no
 * difference to what is told, what is told is what passed, but for what is not always recorded, and
 * counts and limits are kept. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "base/writer.h"
#include "protocol/postgres/pg_tap.h"
#include "wire/pgwire_frame.h"

#define NO_LIMIT    0xff
#define LIMIT_STEP  4
#define OF_TARGET   0x80u
#define IS_MESSAGE  0x40u
#define IS_REPEATED 0x20u
#define REPEATS     40
#define TOLD_SIZE   LIMIT_MIB(16)

/* What one run told. */
struct told {
    uint64_t row_limit;
    struct buf log;      /* messages when they are complete, and counts */
    struct buf bytes[2]; /* the messages as they were, by side */
    struct buf body[2];
    bool is_open[2];
    uint64_t kept[2]; /* of the statement under way */
    uint64_t rows;    /* of counts */
    uint64_t row_bytes;
    enum err err;
    struct passage_counts counts;
    bool is_between[2];
    bool is_idle;
    bool is_full;
    enum pgwire_transaction transaction;
};

static void append(struct buf *buf, const void *at, size_t size)
{
    must(buf_append(buf, slice_of(at, size)) == ERR_NONE);
}

static bool is_row(enum pump_side side, char type)
{
    return type == 'd' || (side == PUMP_TARGET && type == 'D');
}

/* Told ---------------------------------------------------------------------------------------- */

static void complete(struct told *told, const struct pg_record *record, struct slice body)
{
    const uint64_t numbers[] = {(uint64_t)record->side, record->request, body.len};
    append(&told->log, numbers, sizeof(numbers));
    append(&told->log, &record->type, 1);
    append(&told->log, body.at, body.len);
    bool is_sync = record->side == PUMP_CLIENT && record->type == PGWIRE_CLIENT_SYNC;
    if (record->type != PGWIRE_SERVER_READY && !is_sync) {
        struct pgwire_frame frame = {.type = record->type, .size = (uint32_t)body.len};
        must(pgwire_header_write(&told->bytes[record->side], &frame) == ERR_NONE);
        append(&told->bytes[record->side], body.at, body.len);
    }
}

static void keep(struct told *told, enum pump_side side, size_t size)
{
    told->kept[side] += size;
    must(told->kept[side] <= told->row_limit);
}

static void complete_rows(struct told *told, const struct pg_record *record)
{
    struct reader reader = reader_of(record->bytes);
    struct pg_record row = *record;
    must(record->bytes.len > 0 && is_row(record->side, record->type));
    keep(told, record->side, record->bytes.len);
    while (reader_left(&reader) > 0) {
        must((char)reader_u8(&reader) == record->type);
        uint32_t length = reader_u32(&reader);
        must(length >= 4);
        complete(told, &row, reader_view(&reader, length - 4));
        row.request += row.side == PUMP_CLIENT;
    }
    must(reader_done(&reader) == ERR_NONE);
}

static void count(struct told *told, const struct pg_record *record)
{
    const uint64_t numbers[] = {(uint64_t)record->side, record->request, record->rows,
                                record->row_bytes, (uint64_t)record->is_cut};
    append(&told->log, numbers, sizeof(numbers));
    must(record->rows > 0 && record->row_bytes >= record->rows * PGWIRE_HEADER_SIZE);
    must(record->is_cut == (record->row_bytes > told->row_limit));
    must(record->is_cut || told->kept[record->side] == record->row_bytes);
    told->kept[record->side] = 0;
    told->rows += record->rows;
    told->row_bytes += record->row_bytes;
}

static void on_record(void *owner, const struct pg_record *record)
{
    struct told *told = owner;
    struct buf *body = &told->body[record->side];
    bool *is_open = &told->is_open[record->side];
    if (record->kind == PG_RECORD_COUNT) {
        count(told, record);
        return;
    }
    if (record->kind == PG_RECORD_ROWS) {
        must(!*is_open && record->is_last);
        complete_rows(told, record);
        return;
    }
    must((record->kind == PG_RECORD_MORE) == *is_open);
    if (record->kind == PG_RECORD_MESSAGE && is_row(record->side, record->type)) {
        keep(told, record->side, PGWIRE_HEADER_SIZE + (size_t)record->size);
    }
    append(body, record->bytes.at, record->bytes.len);
    must((body->len == record->size) == record->is_last);
    *is_open = !record->is_last;
    if (record->is_last) {
        complete(told, record, buf_view(body));
        buf_clear(body);
    }
}

/* Running ------------------------------------------------------------------------------------- */

static void pass(struct told *told, struct pg_tap *tap, enum pump_side side, struct slice bytes,
                 size_t piece)
{
    while (bytes.len > 0 && told->err == ERR_NONE) {
        struct slice part = slice_sub(bytes, 0, piece);
        char *copy = memory_new(part.len); /* so that no byte behind it is there */
        memcpy(copy, part.at, part.len);
        told->err = pg_tap_pass(tap, side, slice_of(copy, part.len), NULL);
        memory_free(copy);
        bytes = slice_from(bytes, part.len);
    }
}

/* One step's bytes. */
static enum pump_side next_step(struct reader *reader, struct buf *bytes)
{
    unsigned step = reader_u8(reader);
    size_t repeats = (step & IS_REPEATED) != 0 ? REPEATS : 1;
    if ((step & IS_MESSAGE) == 0) {
        struct slice raw = reader_view(reader, step & 0x3fu);
        append(bytes, raw.at, raw.len);
    } else {
        struct pgwire_frame frame = {.type = (char)reader_u8(reader)};
        struct slice body = reader_view(reader, step & 0x1fu);
        frame.size = (uint32_t)body.len;
        for (size_t i = 0; i < repeats; i++) {
            must(pgwire_header_write(bytes, &frame) == ERR_NONE);
            append(bytes, body.at, body.len);
        }
    }
    return (step & OF_TARGET) != 0 ? PUMP_TARGET : PUMP_CLIENT;
}

static void run(struct told *told, struct slice input, size_t piece, struct buf *passed)
{
    struct pg_tap_settings settings = {
        .row_limit = told->row_limit,
        .on_record = on_record,
        .owner = told,
    };
    struct pg_tap *tap = pg_tap_new(&settings);
    struct reader reader = reader_of(input);
    while (reader_left(&reader) > 0 && told->err == ERR_NONE) {
        struct buf bytes;
        buf_init(&bytes, TOLD_SIZE);
        enum pump_side side = next_step(&reader, &bytes);
        if (reader.failed) {
            buf_release(&bytes);
            break;
        }
        pass(told, tap, side, buf_view(&bytes), piece);
        if (passed != NULL) {
            append(&passed[side], buf_view(&bytes).at, bytes.len);
        }
        buf_release(&bytes);
    }
    pg_tap_end(tap);
    told->counts = *pg_tap_counts(tap);
    told->is_idle = pg_tap_is_idle(tap);
    told->is_full = pg_tap_is_full(tap);
    told->transaction = pg_tap_transaction(tap);
    told->is_between[PUMP_CLIENT] = pg_tap_is_between(tap, PUMP_CLIENT);
    told->is_between[PUMP_TARGET] = pg_tap_is_between(tap, PUMP_TARGET);
    pg_tap_free(tap);
}

static void check_told(const struct told *told)
{
    must(told->counts.rows == told->rows && told->counts.row_bytes == told->row_bytes);
    must(told->err == ERR_NONE || told->err == ERR_INPUT || told->err == ERR_LIMIT);
    must(told->err != ERR_NONE || told->counts.bytes[PUMP_CLIENT] > 0 ||
         (told->counts.rows == 0 && told->is_idle)); /* nobody asked */
}

static void must_same(const struct told *a, const struct told *b)
{
    must(a->err == b->err);
    must(slice_equals(buf_view(&a->log), buf_view(&b->log)));
    must(a->counts.statements == b->counts.statements && a->counts.errors == b->counts.errors &&
         a->counts.rows == b->counts.rows && a->counts.row_bytes == b->counts.row_bytes);
    must(a->is_idle == b->is_idle && a->transaction == b->transaction);
    if (a->err == ERR_NONE) {
        must(memcmp(a->counts.bytes, b->counts.bytes, sizeof(a->counts.bytes)) == 0);
        must(a->is_between[PUMP_CLIENT] == b->is_between[PUMP_CLIENT]);
        must(a->is_between[PUMP_TARGET] == b->is_between[PUMP_TARGET]);
    }
}

/* All that passed but for what is not recorded, or not always, by another way. */
static void check_whole(const struct told *told, enum pump_side side, struct slice passed)
{
    struct reader reader = reader_of(passed);
    struct reader got = reader_of(buf_view(&told->bytes[side]));
    bool is_between = true;
    while (reader_left(&reader) > 0) {
        struct slice header = reader_view(&reader, PGWIRE_HEADER_SIZE);
        struct reader fields = reader_of(header);
        char type = (char)reader_u8(&fields);
        struct slice body = reader_view(&reader, (size_t)reader_u32(&fields) - 4);
        is_between = !reader.failed;
        if (reader.failed) {
            break;
        }
        if (strchr(side == PUMP_CLIENT ? "cSH" : "123ncZ", type) == NULL) {
            must(slice_equals(reader_view(&got, PGWIRE_HEADER_SIZE), header));
            must(slice_equals(reader_view(&got, body.len), body));
        }
        if (side == PUMP_CLIENT && type == 'X') {
            break; /* what comes behind a Terminate is nobody's */
        }
    }
    must(reader_done(&got) == ERR_NONE && is_between == told->is_between[side]);
}

static void told_init(struct told *told, uint64_t row_limit)
{
    *told = (struct told){.row_limit = row_limit};
    buf_init(&told->log, TOLD_SIZE);
    for (int side = 0; side < 2; side++) {
        buf_init(&told->bytes[side], TOLD_SIZE);
        buf_init(&told->body[side], TOLD_SIZE);
    }
}

static void told_release(struct told *told)
{
    buf_release(&told->log);
    for (int side = 0; side < 2; side++) {
        buf_release(&told->bytes[side]);
        buf_release(&told->body[side]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct told whole;
    struct told split;
    struct buf passed[2];
    if (size < 2 || size > LIMIT_KIB(16)) {
        return 0;
    }
    struct slice input = slice_of((const char *)bytes + 2, size - 2);
    uint64_t row_limit = bytes[0] == NO_LIMIT ? UINT64_MAX : (uint64_t)bytes[0] * LIMIT_STEP;
    told_init(&whole, row_limit);
    told_init(&split, row_limit);
    buf_init(&passed[PUMP_CLIENT], TOLD_SIZE);
    buf_init(&passed[PUMP_TARGET], TOLD_SIZE);
    run(&whole, input, SIZE_MAX, passed);
    run(&split, input, (size_t)bytes[1] + 1, NULL);
    check_told(&whole);
    must_same(&whole, &split);
    for (int side = 0; side < 2 && whole.err == ERR_NONE && bytes[0] == NO_LIMIT; side++) {
        check_whole(&whole, (enum pump_side)side, buf_view(&passed[side]));
    }
    told_release(&whole);
    told_release(&split);
    buf_release(&passed[PUMP_CLIENT]);
    buf_release(&passed[PUMP_TARGET]);
    return 0;
}
