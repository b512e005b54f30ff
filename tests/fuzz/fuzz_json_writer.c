/* SPDX-License-Identifier: MIT */
/* The input is a programme of calls, each allowed where it is made. Whatever fits the buffer is
 * what jansson calls JSON, with as many values as were written. */
#include "fuzz.h"

#include "base/must.h"
#include "base/reader.h"
#include "base/timestamp.h"
#include "codec/json_writer.h"

#include <jansson.h>

struct program {
    struct reader reader;
    struct json_writer json;
    size_t key_count;
    bool is_object[LIMIT_JSON_DEPTH + 2];
    size_t depth;
};

/* Keys are numbered, since the writer leaves it to its caller that none comes twice. */
static void write_key(struct program *program, struct slice text)
{
    char key[64];
    int len = snprintf(key, sizeof(key), "%zu %.*s", program->key_count++,
                       (int)(text.len < 32 ? text.len : 32), text.len == 0 ? "" : text.at);
    json_key_text(&program->json, slice_of(key, (size_t)len < sizeof(key) ? (size_t)len : 63));
}

static void begin(struct program *program, bool is_object)
{
    if (program->depth > LIMIT_JSON_DEPTH) {
        json_no_value(&program->json);
        return;
    }
    program->depth++;
    program->is_object[program->depth] = is_object;
    if (is_object) {
        json_begin_object(&program->json);
    } else {
        json_begin_array(&program->json);
    }
}

static void end(struct program *program)
{
    if (program->is_object[program->depth]) {
        json_end_object(&program->json);
    } else {
        json_end_array(&program->json);
    }
    program->depth--;
}

static void write_value(struct program *program, uint8_t call, struct slice text)
{
    switch (call % 8) {
    case 0:
        begin(program, true);
        return;
    case 1:
        begin(program, false);
        return;
    case 2:
        json_int(&program->json, (int64_t)reader_u64(&program->reader));
        return;
    case 3:
        json_bool(&program->json, text.len == 0);
        return;
    case 4:
        json_no_value(&program->json);
        return;
    case 5:
        json_raw(&program->json, SLICE("[1]"));
        return;
    case 6:
        json_timestamp(&program->json, (int64_t)reader_u32(&program->reader) * TIMESTAMP_SECOND);
        return;
    default:
        json_text(&program->json, text);
    }
}

static void run(struct program *program)
{
    begin(program, false);
    while (!program->reader.failed && reader_left(&program->reader) > 0) {
        uint8_t call = reader_u8(&program->reader);
        if (call >= 0xf0 && program->depth > 1) {
            end(program);
            continue;
        }
        size_t len = call >> 3;
        size_t left = reader_left(&program->reader);
        struct slice text = reader_view(&program->reader, len < left ? len : left);
        if (program->is_object[program->depth]) {
            write_key(program, text);
        }
        write_value(program, call, text);
    }
    while (program->depth > 0) {
        end(program);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct buf buf;
    buf_init(&buf, bytes[0] == 0 ? LIMIT_MIB(4) : (size_t)bytes[0] * 16);
    struct program program = {.reader = reader_of(slice_of(bytes + 1, size - 1)),
                              .json = json_writer_to(&buf)};
    run(&program);
    if (json_writer_done(&program.json) == ERR_NONE) {
        struct slice written = buf_view(&buf);
        json_t *value =
            json_loadb(written.at, written.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
        must(json_is_array(value));
        json_decref(value);
    }
    buf_release(&buf);
    return 0;
}
