/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "codec/json.h"
#include "codec/json_writer.h"
#include "session/export_internal.h"

static const char *const json_types[] = {
    [REPLAY_OPEN] = "open",
    [REPLAY_STATEMENT] = "statement",
    [REPLAY_COLUMNS] = "columns",
    [REPLAY_ROW] = "row",
    [REPLAY_DONE] = "done",
    [REPLAY_SUSPENDED] = "suspended",
    [REPLAY_SKIPPED] = "skipped",
    [REPLAY_COUNT] = "count",
    [REPLAY_ERROR] = "error",
    [REPLAY_NOTICE] = "notice",
    [REPLAY_NOTIFICATION] = "notification",
    [REPLAY_COPY] = "copy",
    [REPLAY_OUTPUT] = "output",
    [REPLAY_TERMINAL] = "terminal",
    [REPLAY_COPY_FAILED] = "copy_failed",
    [REPLAY_BYTES] = "bytes",
    [REPLAY_TOTAL] = "total",
    [REPLAY_NOTE] = "note",
    [REPLAY_CLOSE] = "close",
};

/* What the gateway wrote as JSON, or as text should it be none. */
static void json_document(struct json_writer *json, const char *name, struct slice document)
{
    struct arena arena;
    struct json parsed;
    arena_init(&arena);
    if (json_parse_in(&arena, document, &parsed, NULL) == ERR_NONE) {
        json_member_raw(json, name, document);
    } else {
        json_member_text(json, name, document);
    }
    arena_release(&arena);
}

/* Returns whether some of them are not whole. */
static bool json_values(struct export *export, struct json_writer *json,
                        struct replay_values values)
{
    struct replay_value value;
    while (replay_value_next(&values, &export->scratch, &value)) {
        if (value.text.at == NULL) {
            json_no_value(json);
        } else {
            json_text(json, value.text);
        }
        export_drain(export);
    }
    return values.is_cut;
}

static void json_statement(struct export *export, struct json_writer *json,
                           const struct replay_event *event)
{
    json_member_text(json, "text", event->text);
    export_drain(export);
    if (event->is_cut) {
        json_member_bool(json, "text_cut", true);
    }
    json_member_array(json, "parameters");
    bool is_cut = json_values(export, json, event->values);
    json_end_array(json);
    if (is_cut) {
        json_member_bool(json, "cut", true);
    }
}

static void json_columns(struct json_writer *json, const struct replay_event *event)
{
    json_member_array(json, "columns");
    for (size_t i = 0; i < event->column_count; i++) {
        json_text(json, event->columns[i]);
    }
    json_end_array(json);
    if (event->column_types == NULL) {
        return;
    }
    json_member_array(json, "types");
    for (size_t i = 0; i < event->column_count; i++) {
        json_text(json, event->column_types[i]);
    }
    json_end_array(json);
}

static void json_row(struct export *export, struct json_writer *json,
                     const struct replay_event *event)
{
    json_member_array(json, "values");
    bool is_cut = json_values(export, json, event->values);
    json_end_array(json);
    if (is_cut) {
        json_member_bool(json, "cut", true);
    }
}

static void json_notice(struct json_writer *json, const struct replay_event *event)
{
    for (size_t i = 0; i < event->field_count; i++) {
        json_member_text(json, event->fields[i].name, event->fields[i].text);
    }
    if (event->side == RECORD_FROM_GATEWAY) {
        json_member_text(json, "from", SLICE("gateway"));
    }
}

static void json_copy(struct json_writer *json, const struct replay_event *event)
{
    json_member_text(json, "from",
                     event->side == RECORD_FROM_CLIENT ? SLICE("client") : SLICE("target"));
    json_member_text(json, "data", event->text);
    if (event->is_cut) {
        json_member_bool(json, "cut", true);
    }
}

static void json_bytes(struct json_writer *json, const struct replay_event *event)
{
    json_member_text(json, "from", slice_of_text(export_side_name(event->side)));
    if (event->kind == REPLAY_TOTAL) {
        json_member_int(json, "pieces", (int64_t)event->count.rows);
    }
    json_member_int(json, "bytes", (int64_t)event->count.bytes);
}

static void json_body(struct export *export, struct json_writer *json,
                      const struct replay_event *event)
{
    switch (event->kind) {
    case REPLAY_OPEN:
        json_document(json, "session", event->text);
        break;
    case REPLAY_STATEMENT:
        json_statement(export, json, event);
        break;
    case REPLAY_COLUMNS:
        json_columns(json, event);
        break;
    case REPLAY_ROW:
        json_row(export, json, event);
        break;
    case REPLAY_DONE:
        json_member_text(json, "tag", event->text);
        break;
    case REPLAY_SUSPENDED:
    case REPLAY_SKIPPED:
        break;
    case REPLAY_COUNT:
        json_member_int(json, "rows", (int64_t)event->count.rows);
        json_member_int(json, "bytes", (int64_t)event->count.bytes);
        json_member_bool(json, "cut", event->count.is_cut);
        break;
    case REPLAY_ERROR:
    case REPLAY_NOTICE:
        json_notice(json, event);
        break;
    case REPLAY_NOTIFICATION:
        json_member_text(json, "channel", event->name);
        json_member_text(json, "payload", event->text);
        break;
    case REPLAY_COPY:
    case REPLAY_COPY_FAILED:
        json_copy(json, event);
        break;
    case REPLAY_OUTPUT:
    case REPLAY_TERMINAL:
        json_member_text(json, "stream", event->name);
        json_copy(json, event);
        break;
    case REPLAY_BYTES:
    case REPLAY_TOTAL:
        json_bytes(json, event);
        break;
    case REPLAY_NOTE:
    case REPLAY_CLOSE:
        json_document(json, event->kind == REPLAY_NOTE ? "note" : "summary", event->text);
        break;
    }
}

static void json_line_end(struct export *export, struct json_writer *json)
{
    struct writer writer = writer_to(&export->out);
    json_end_object(json);
    writer_bytes(&writer, SLICE("\n"));
}

void export_json_event(struct export *export, const struct replay_event *event)
{
    struct json_writer json = json_writer_to(&export->out);
    json_begin_object(&json);
    json_member_timestamp(&json, "time", event->time);
    json_member_text(&json, "type", slice_of_text(json_types[event->kind]));
    if (event->statement != 0) {
        json_member_int(&json, "statement", (int64_t)event->statement);
    }
    json_body(export, &json, event);
    json_line_end(export, &json);
}

void export_json_end(struct export *export, const struct recording_state *state)
{
    struct json_writer json = json_writer_to(&export->out);
    json_begin_object(&json);
    json_member_text(&json, "type", SLICE("not_closed"));
    json_member_bool(&json, "cut", state->is_cut);
    json_member_bool(&json, "being_written", state->is_written_to);
    json_line_end(export, &json);
}
