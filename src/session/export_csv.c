/* SPDX-License-Identifier: MIT */
/* As COPY … CSV HEADER writes it: NULL is nothing, an empty text is "". An empty line stands
 * between two results. */
#include "session/export_internal.h"

static void csv_text(struct export *export, struct slice text)
{
    struct writer writer = writer_to(&export->out);
    struct slice special = SLICE(",\"\r\n");
    bool is_quoted = text.len == 0 || slice_equals(text, SLICE("\\."));
    for (size_t i = 0; i < text.len && !is_quoted; i++) {
        is_quoted = slice_find_byte(special, text.at[i]) < special.len;
    }
    is_quoted = is_quoted || text.at[0] == ' ' || text.at[text.len - 1] == ' ';
    if (!is_quoted) {
        writer_bytes(&writer, text);
        return;
    }
    writer_bytes(&writer, SLICE("\""));
    while (text.at != NULL) {
        struct slice rest = SLICE_NONE;
        writer_bytes(&writer, slice_cut(text, '"', &rest));
        writer_bytes(&writer, rest.at == NULL ? SLICE("") : SLICE("\"\""));
        text = rest;
    }
    writer_bytes(&writer, SLICE("\""));
}

static void csv_columns(struct export *export, const struct replay_event *event)
{
    struct writer writer = writer_to(&export->out);
    writer_bytes(&writer, export->has_result ? SLICE("\n") : SLICE(""));
    for (size_t i = 0; i < event->column_count; i++) {
        writer_bytes(&writer, i == 0 ? SLICE("") : SLICE(","));
        csv_text(export, event->columns[i]);
    }
    writer_bytes(&writer, SLICE("\n"));
    export->has_result = true;
    export->has_columns = true;
}

static void csv_row(struct export *export, const struct replay_event *event)
{
    struct writer writer = writer_to(&export->out);
    struct replay_values values = event->values;
    struct replay_value value;
    if (!export->has_columns) { /* the client knew them, and they were not told again */
        writer_bytes(&writer, export->has_result ? SLICE("\n") : SLICE(""));
        for (size_t i = 0; i < values.count; i++) {
            writer_format(&writer, "%scolumn%zu", i == 0 ? "" : ",", i + 1);
            export_drain(export);
        }
        writer_bytes(&writer, SLICE("\n"));
        export->has_result = true;
        export->has_columns = true;
    }
    while (replay_value_next(&values, &export->scratch, &value)) {
        writer_bytes(&writer, values.index == 1 ? SLICE("") : SLICE(","));
        if (value.text.at != NULL) {
            csv_text(export, value.text);
        }
        export_drain(export);
    }
    writer_bytes(&writer, values.is_cut ? SLICE(",(cut)\n") : SLICE("\n"));
}

void export_csv_event(struct export *export, const struct replay_event *event)
{
    if (event->kind == REPLAY_COLUMNS) {
        csv_columns(export, event);
    } else if (event->kind == REPLAY_ROW) {
        csv_row(export, event);
    } else if (event->kind == REPLAY_DONE || event->kind == REPLAY_ERROR) {
        export->has_columns = false;
    }
}
