/* SPDX-License-Identifier: MIT */
#include "base/limits.h"
#include "base/timestamp.h"
#include "codec/json_writer.h"
#include "session/export_internal.h"

#include <inttypes.h>

static void text_literal(struct export *export, const char *text)
{
    struct writer writer = writer_to(&export->out);
    writer_bytes(&writer, slice_of_text(text));
}

/* When, which statement, and what kind of thing. */
static void text_begin(struct export *export, const struct replay_event *event, const char *word)
{
    char time[TIMESTAMP_TEXT_SIZE];
    struct writer writer = writer_to(&export->out);
    if (!export->is_cast && !export->is_bare) {
        writer_bytes(&writer, timestamp_format(event->time, time));
        writer_bytes(&writer, SLICE(" "));
    }
    if (event->statement != 0 && !export->is_bare) {
        writer_format(&writer, "#%" PRIu64 " ", event->statement);
    }
    writer_bytes(&writer, slice_of_text(word));
}

/* A line of its own. */
static void text_line(struct export *export, const struct replay_event *event, const char *word)
{
    text_begin(export, event, word);
    export_plain(export, event->text, true);
    text_literal(export, event->is_cut ? "… (not all of it was kept)\n" : "\n");
}

static void text_statement(struct export *export, const struct replay_event *event)
{
    if (!export->is_bare) {
        text_line(export, event, "> ");
        return;
    }
    struct writer writer = writer_to(&export->out);
    writer_bytes(&writer, event->text);
    writer_bytes(&writer, event->is_cut ? SLICE("… (not all of it was kept)\n") : SLICE("\n"));
}

static void text_value(struct export *export, const struct replay_value *value)
{
    if (value->text.at == NULL) {
        text_literal(export, "\\N");
        return;
    }
    struct slice shown = slice_sub(value->text, 0, LIMIT_RECORDING_SHOWN_SIZE);
    export_plain(export, shown, false);
    if (shown.len < value->text.len) {
        struct writer writer = writer_to(&export->out);
        writer_format(&writer, "… (cut: %zu bytes)", value->text.len);
    } else if (value->is_cut) {
        text_literal(export, "… (not all of it was kept)");
    }
}

static void text_parameters(struct export *export, const struct replay_event *event)
{
    struct replay_values values = event->values;
    struct replay_value value;
    while (replay_value_next(&values, &export->scratch, &value)) {
        struct writer writer = writer_to(&export->out);
        writer_format(&writer, "    $%zu = ", values.index);
        text_value(export, &value);
        text_literal(export, "\n");
    }
    if (values.is_cut) {
        text_literal(export, "    … (not all parameters were kept)\n");
    }
}

static void text_columns(struct export *export, const struct replay_event *event)
{
    for (size_t i = 0; i < event->column_count; i++) {
        text_literal(export, i == 0 ? "    " : "\t");
        export_plain(export, event->columns[i], false);
    }
    text_literal(export, "\n");
}

static void text_row(struct export *export, const struct replay_event *event)
{
    struct replay_values values = event->values;
    struct replay_value value;
    const char *before = "    ";
    while (replay_value_next(&values, &export->scratch, &value)) {
        text_literal(export, before);
        text_value(export, &value);
        before = "\t";
    }
    text_literal(export, values.is_cut ? "\t… (not all of the row was kept)\n" : "\n");
}

/* As it is where nothing stands beside it: the program's own lines. */
static void text_output(struct export *export, const struct replay_event *event)
{
    if (!export->is_bare) {
        text_begin(export, event, "");
        export_plain(export, event->name, false);
        text_literal(export, ": ");
        export_plain(export, event->text, true);
        text_literal(export, "\n");
        return;
    }
    struct writer writer = writer_to(&export->out);
    writer_bytes(&writer, event->text);
}

static void text_count(struct export *export, const struct replay_event *event)
{
    struct writer writer = writer_to(&export->out);
    if (event->count.is_cut) {
        writer_format(&writer,
                      "    … (%" PRIu64 " rows of %" PRIu64
                      " bytes in all: more than the recording keeps)\n",
                      event->count.rows, event->count.bytes);
    }
}

static void text_field(struct export *export, const struct replay_field *field)
{
    struct slice name = slice_of_text(field->name);
    if (slice_equals(name, SLICE("severity"))) {
        return; /* the text says it in the sender's words */
    }
    if (slice_equals(name, SLICE("code"))) {
        text_literal(export, " ");
    } else if (slice_equals(name, SLICE("message"))) {
        text_literal(export, ": ");
    } else {
        text_literal(export, "\n    ");
        text_literal(export, field->name);
        text_literal(export, ": ");
    }
    export_plain(export, field->text, true);
}

static void text_notice(struct export *export, const struct replay_event *event)
{
    text_begin(export, event, event->side == RECORD_FROM_GATEWAY ? "gateway: " : "");
    export_plain(export, event->text, true);
    for (size_t i = 0; i < event->field_count; i++) {
        text_field(export, &event->fields[i]);
    }
    text_literal(export, "\n");
}

static void text_number(struct export *export, uint64_t count, const char *thing)
{
    struct writer writer = writer_to(&export->out);
    writer_format(&writer, "%" PRIu64 " %s%s", count, thing, count == 1 ? "" : "s");
}

/* "client: 17 bytes", "target: 2048 bytes in all, in 4 pieces". */
static void text_bytes(struct export *export, const struct replay_event *event)
{
    text_begin(export, event, export_side_name(event->side));
    text_literal(export, ": ");
    text_number(export, event->count.bytes, "byte");
    if (event->kind == REPLAY_TOTAL) {
        text_literal(export, " in all, in ");
        text_number(export, event->count.rows, "piece");
    }
    text_literal(export, "\n");
}

void export_text_event(struct export *export, const struct replay_event *event)
{
    switch (event->kind) {
    case REPLAY_OPEN:
        text_line(export, event, "session opened: ");
        break;
    case REPLAY_STATEMENT:
        text_statement(export, event);
        text_parameters(export, event);
        break;
    case REPLAY_COLUMNS:
        text_columns(export, event);
        break;
    case REPLAY_ROW:
        text_row(export, event);
        break;
    case REPLAY_DONE:
        text_line(export, event, event->text.len == 0 ? "(done)" : "");
        break;
    case REPLAY_SUSPENDED:
        text_line(export, event, "(as many rows as were asked for)");
        break;
    case REPLAY_SKIPPED:
        text_line(export, event, "(did not run: an earlier statement failed)");
        break;
    case REPLAY_COUNT:
        text_count(export, event);
        break;
    case REPLAY_ERROR:
    case REPLAY_NOTICE:
        text_notice(export, event);
        break;
    case REPLAY_NOTIFICATION:
        text_begin(export, event, "notification of ");
        export_plain(export, event->name, false);
        text_literal(export, ": ");
        export_plain(export, event->text, true);
        text_literal(export, "\n");
        break;
    case REPLAY_COPY:
        text_line(export, event,
                  event->side == RECORD_FROM_CLIENT ? "copied in: " : "copied out: ");
        break;
    case REPLAY_OUTPUT:
    case REPLAY_TERMINAL:
        text_output(export, event);
        break;
    case REPLAY_COPY_FAILED:
        text_line(export, event, "the client ended the copy: ");
        break;
    case REPLAY_BYTES:
    case REPLAY_TOTAL:
        text_bytes(export, event);
        break;
    case REPLAY_NOTE:
        text_line(export, event, "gateway: ");
        break;
    case REPLAY_CLOSE:
        text_line(export, event, "session closed: ");
        break;
    }
}

void export_text_end(struct export *export, const struct recording_state *state)
{
    text_literal(export, state->is_written_to ? "(the session goes on)\n"
                         : state->is_cut      ? "(the recording is cut off here)\n"
                                              : "(the recording ends here: it was not closed)\n");
}
