/* SPDX-License-Identifier: MIT */
/* What a MySQL server answers to a statement of the gateway's own. The first byte says how the
 * statement is bounded, the second in pieces of which size the answer comes, the third how much of
 * it was read before the statement began. Held: pieces make no difference, it ends once in one way,
 * rows have their columns and are as few and as small as was asked for, an error is one line. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "fuzz.h"
#include "fuzz_stream.h"
#include "io/worker.h"
#include "protocol/mysql/mysql_query.h"

#define TURN_COUNT_MAX 1000000u
#define STATEMENT      "SELECT $1, $2"
#define SAID           "SELECT _utf8mb4 X'612076616C7565', NULL"

enum flag {
    FLAG_COLUMNS = 7, /* how many but one */
    FLAG_FEW_ROWS = 8,
    FLAG_SMALL = 16,
    FLAG_EARLY = 32, /* some of it was read before */
};

struct outcome {
    unsigned count;
    struct arena arena;
    const struct query_settings *settings;
    enum err err;
    char sqlstate[6];
    struct buf rows; /* all values, with their sizes before them */
};

static void keep_rows(struct outcome *outcome, const struct query_rows *rows)
{
    size_t count = 0;
    size_t size = 0;
    for (const struct query_row *row = rows->first; row != NULL; row = row->next, count++) {
        for (size_t i = 0; i < outcome->settings->column_count; i++) {
            struct slice value = row->values[i];
            must(value.at != NULL || value.len == 0);
            struct slice parts[] = {value.at == NULL ? SLICE("-") : SLICE("+"), value, SLICE("|")};
            must(buf_append_parts(&outcome->rows, parts, COUNT_OF(parts)) == ERR_NONE);
            size += value.len;
        }
    }
    must(count == rows->count && count <= outcome->settings->row_count_max);
    must(size <= outcome->settings->size_max);
}

static void on_done(void *owner, const struct query_rows *rows, const struct query_failure *failure)
{
    struct outcome *outcome = owner;
    outcome->count++;
    if (rows != NULL) {
        keep_rows(outcome, rows);
        return;
    }
    struct slice text = slice_of_text(failure->error.message);
    must(text.len > 0 && slice_find_byte(text, '\n') == text.len);
    must((failure->error.code == ERR_DENIED) == (failure->code[0] != '\0'));
    must(failure->code[0] == '\0' || strlen(failure->code) == 5);
    outcome->err = failure->error.code;
    memcpy(outcome->sqlstate, failure->code, sizeof(outcome->sqlstate));
}

static void run(struct loop *loop, struct query_settings settings, struct script *script,
                struct outcome *outcome)
{
    script->stream = (struct stream){.ops = &script_ops, .loop = loop};
    buf_init(&script->out, LIMIT_KIB(4));
    buf_init(&outcome->rows, LIMIT_MIB(8));
    arena_init(&outcome->arena);
    settings.arena = &outcome->arena;
    outcome->settings = &settings;
    (void)mysql_query_start(&script->stream, &settings, on_done, outcome);
    for (unsigned i = 0; outcome->count == 0; i++) {
        must(i < TURN_COUNT_MAX && script->watched != 0);
        script->stream.on_event(script->stream.owner, script->watched);
    }
    loop_turn(loop);
    loop_turn(loop);
    must(outcome->count == 1 && script->is_closed);
    /* It is said whole, the value as it cannot be code, and a farewell only to who answered. */
    struct slice said = buf_view(&script->out);
    must(slice_find(said, SLICE(SAID)) < said.len);
    must(slice_ends_with(said, SLICE("\1\0\0\0\1")) == (outcome->err == ERR_NONE));
}

static void release(struct script *script, struct outcome *outcome)
{
    buf_release(&script->out);
    buf_release(&outcome->rows);
    arena_release(&outcome->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct worker *worker;
    static const struct slice values[] = {SLICE_INIT("a value"), {.at = NULL}};
    if (size < 3 || size > LIMIT_KIB(64)) {
        return 0;
    }
    if (worker == NULL) {
        worker = worker_new(0, NULL);
    }
    struct slice input = slice_of(bytes + 3, size - 3);
    size_t early = (bytes[0] & FLAG_EARLY) != 0 ? bytes[2] : 0;
    struct query_settings settings = {
        .text = SLICE(STATEMENT),
        .values = values,
        .value_count = COUNT_OF(values),
        .column_count = 1 + (bytes[0] & FLAG_COLUMNS),
        .row_count_max = (bytes[0] & FLAG_FEW_ROWS) != 0 ? 2 : 10000,
        .size_max = (bytes[0] & FLAG_SMALL) != 0 ? 100 : LIMIT_KIB(32),
        .timeout_ms = 3600000,
    };
    struct script whole = {.in = input, .piece = SIZE_MAX};
    struct script split = {.in = slice_from(input, early), .piece = 1u + bytes[1]};
    struct outcome first = {0};
    struct outcome second = {0};
    run(worker_loop(worker), settings, &whole, &first);
    settings.rest = slice_sub(input, 0, early);
    run(worker_loop(worker), settings, &split, &second);
    must(first.err == second.err);
    must(memcmp(first.sqlstate, second.sqlstate, sizeof(first.sqlstate)) == 0);
    must(slice_equals(buf_view(&first.rows), buf_view(&second.rows)));
    release(&whole, &first);
    release(&split, &second);
    return 0;
}
