/* SPDX-License-Identifier: MIT */
/* asciicast, version 2: of a terminal what its person typed and saw; of other sessions what the
 * export as text would print, as if that had been a terminal. */
#include "base/limits.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "codec/json_writer.h"
#include "session/export_internal.h"

#include <inttypes.h>

#define CHARACTER_MAX 4 /* bytes of one */

void export_cast_start(struct export *export)
{
    struct json_writer json = json_writer_to(&export->out);
    struct writer writer = writer_to(&export->out);
    json_begin_object(&json);
    json_member_int(&json, "version", 2);
    json_member_int(&json, "width", export->cast_width);
    json_member_int(&json, "height", export->cast_height);
    json_member_int(&json, "timestamp", export->started_at / TIMESTAMP_SECOND);
    json_member_text(&json, "title", recording_session_id(export->recording));
    json_end_object(&json);
    writer_bytes(&writer, SLICE("\n"));
    export_send(export);
    export->has_cast_head = true;
}

/* 'type' as asciicast has it: o, i, r or m. */
static void cast_send(struct export *export, char type, struct slice text)
{
    struct buf line;
    int64_t since = export->time < export->started_at ? 0 : export->time - export->started_at;
    buf_init(&line, text.len * 12 + LIMIT_KIB(1));
    struct writer writer = writer_to(&line);
    writer_format(&writer, "[%" PRId64 ".%06" PRId64 ",\"%c\",", since / TIMESTAMP_SECOND,
                  since % TIMESTAMP_SECOND, type);
    struct json_writer json = json_writer_to(&line);
    json_text(&json, text);
    writer_bytes(&writer, SLICE("]\n"));
    if (export->err == ERR_NONE) {
        export->err = export->sink(export->sink_context, buf_view(&line), export->reterr);
    }
    buf_release(&line);
}

/* A terminal needs the carriage to return. 'text' is what is in 'out'. */
void export_cast_send(struct export *export, struct slice text)
{
    struct buf lines;
    buf_init(&lines, text.len * 2);
    struct writer writer = writer_to(&lines);
    while (text.len > 0) {
        struct slice rest = SLICE_NONE;
        writer_bytes(&writer, slice_cut(text, '\n', &rest));
        writer_bytes(&writer, rest.at == NULL ? SLICE("") : SLICE("\r\n"));
        text = rest;
    }
    buf_truncate(&export->out, 0);
    cast_send(export, 'o', buf_view(&lines));
    buf_release(&lines);
}

/* Terminals ----------------------------------------------------------------------------------- */

/* How much of 'text' ends between characters: what comes next may hold the rest of the last one. */
static size_t cast_whole(struct slice text)
{
    size_t most = text.len < CHARACTER_MAX - 1 ? text.len : CHARACTER_MAX - 1;
    for (size_t back = 1; back <= most; back++) {
        uint8_t byte = (uint8_t)text.at[text.len - back];
        size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        if (byte >= 0xc0) {
            return wanted > back ? text.len - back : text.len;
        }
        if (byte < 0x80) {
            return text.len;
        }
    }
    return text.len;
}

static void cast_send_bytes(struct export *export, char type, struct slice text)
{
    struct buf *held = type == 'i' ? &export->cast_input : &export->cast_output;
    struct buf all;
    buf_init(&all, CHARACTER_MAX + text.len);
    const struct slice parts[] = {buf_view(held), text};
    if (buf_append_parts(&all, parts, 2) != ERR_NONE) {
        return; /* it has room for both */
    }
    struct slice whole = slice_sub(buf_view(&all), 0, cast_whole(buf_view(&all)));
    buf_clear(held);
    export->err = export->err == ERR_NONE ? buf_append(held, slice_from(buf_view(&all), whole.len))
                                          : export->err;
    if (whole.len > 0) {
        cast_send(export, type, whole);
    }
    buf_release(&all);
}

static bool cast_take_size(struct export *export, struct slice text)
{
    struct slice rows = SLICE_NONE;
    struct slice columns = slice_cut(text, 'x', &rows);
    uint64_t width = 0;
    uint64_t height = 0;
    bool is_size = text_parse_u64(columns, &width) == ERR_NONE &&
                   text_parse_u64(rows, &height) == ERR_NONE && width <= UINT16_MAX &&
                   height <= UINT16_MAX;
    if (is_size) {
        export->cast_width = (int64_t)width;
        export->cast_height = (int64_t)height;
    }
    return is_size;
}

/* The first size is the head's. */
void export_cast_terminal(struct export *export, const struct replay_event *event)
{
    if (event->kind == REPLAY_OPEN) {
        return;
    }
    bool is_terminal = event->kind == REPLAY_TERMINAL;
    bool is_size = is_terminal && slice_equals(event->name, SLICE("size")) &&
                   cast_take_size(export, event->text);
    if (!export->has_cast_head) {
        export_cast_start(export);
    } else if (is_size) {
        cast_send(export, 'r', event->text);
    }
    if (is_terminal && slice_equals(event->name, SLICE("hidden"))) {
        cast_send(export, 'm', event->text);
    } else if (is_terminal && !is_size) {
        cast_send_bytes(export, event->side == RECORD_FROM_CLIENT ? 'i' : 'o', event->text);
    } else if (event->kind == REPLAY_NOTE || event->kind == REPLAY_DONE) {
        cast_send(export, 'm', event->text);
    }
}
