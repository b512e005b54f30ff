/* SPDX-License-Identifier: MIT */
#include "session/recording_export.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/text.h"
#include "session/export_internal.h"

/* A value of a message, each of its bytes written as \u{202e} at the worst. */
#define CAST_WIDTH      160 /* where nobody had a terminal */
#define CAST_HEIGHT     48
#define CAST_CHARACTER  4 /* bytes */
#define EXPORT_OUT_SIZE (LIMIT_RECORDING_MESSAGE_SIZE * 10)

static const struct {
    const char *name;
    enum recording_format format;
} recording_formats[] = {
    {"text", RECORDING_TEXT},
    {"jsonl", RECORDING_JSONL},
    {"csv", RECORDING_CSV},
    {"asciicast", RECORDING_ASCIICAST},
};

enum err recording_format_parse(struct slice name, enum recording_format *ret_format)
{
    for (size_t i = 0; i < COUNT_OF(recording_formats); i++) {
        if (slice_equals(name, slice_of_text(recording_formats[i].name))) {
            *ret_format = recording_formats[i].format;
            return ERR_NONE;
        }
    }
    return ERR_INPUT;
}

void export_send(struct export *export)
{
    struct slice out = buf_view(&export->out);
    if (out.len == 0) {
        return;
    }
    if (export->err == ERR_NONE) {
        export->err = export->sink(export->sink_context, out, export->reterr);
    }
    buf_truncate(&export->out, 0);
}

void export_drain(struct export *export)
{
    if (export->out.len < LIMIT_RECORDING_SHOWN_SIZE) {
        return;
    }
    if (export->is_cast) {
        export_cast_send(export, buf_view(&export->out));
        return;
    }
    export_send(export);
}

/* C1 controls, and characters that turn the direction of writing. */
static bool export_is_harmful(uint32_t code)
{
    return (code >= 0x7f && code <= 0x9f) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           code == 0x061c || code == 0xfeff;
}

static void export_control(struct writer *writer, unsigned char byte, bool is_block)
{
    if (byte == '\n') {
        writer_bytes(writer, is_block ? SLICE("\n    ") : SLICE("\\n"));
    } else if (byte == '\t') {
        writer_bytes(writer, is_block ? SLICE("\t") : SLICE("\\t"));
    } else if (byte == '\r') {
        writer_bytes(writer, is_block ? SLICE("") : SLICE("\\r"));
    } else {
        writer_format(writer, "\\x%02x", byte);
    }
}

void export_plain(struct export *export, struct slice text, bool is_block)
{
    struct writer writer = writer_to(&export->out);
    while (text.len > 0 && export->err == ERR_NONE) {
        uint32_t code = 0;
        size_t len = text_character(text, &code);
        if (len <= 1 && (len == 0 || code < 0x20)) {
            export_control(&writer, (unsigned char)text.at[0], is_block);
            len = 1;
        } else if (export_is_harmful(code)) {
            writer_format(&writer, "\\u{%x}", code);
        } else if (code == '\\' && !is_block) {
            writer_bytes(&writer, SLICE("\\\\"));
        } else {
            writer_bytes(&writer, slice_sub(text, 0, len));
        }
        text = slice_from(text, len);
        export_drain(export);
    }
}

const char *export_side_name(enum record_side side)
{
    switch (side) {
    case RECORD_FROM_CLIENT:
        return "client";
    case RECORD_FROM_TARGET:
        return "target";
    case RECORD_FROM_GATEWAY:
        break;
    }
    return "gateway";
}

static enum err export_visit_text(void *context, const struct replay_event *event,
                                  struct error *reterr)
{
    struct export *export = context;
    (void)reterr;
    export->time = event->time > export->time ? event->time : export->time;
    export_text_event(export, event);
    if (export->is_cast && export->out.len > 0) {
        export_cast_send(export, buf_view(&export->out));
    } else {
        export_send(export);
    }
    return export->err;
}

/* What a person saw, where there was one. */
static enum err export_visit_cast(void *context, const struct replay_event *event,
                                  struct error *reterr)
{
    struct export *export = context;
    bool may_be = replay_has_terminals(export->replay);
    if (may_be && event->kind == REPLAY_OPEN) {
        return export->err; /* the head waits for the size */
    }
    export->has_terminal = export->has_terminal || (may_be && event->kind == REPLAY_TERMINAL);
    if (!replay_is_terminal(export->replay) && !export->has_terminal) {
        if (!export->has_cast_head) {
            export_cast_start(export);
        }
        return export_visit_text(context, event, reterr);
    }
    export->time = event->time > export->time ? event->time : export->time;
    export_cast_terminal(export, event);
    return export->err;
}

static enum err export_visit_json(void *context, const struct replay_event *event,
                                  struct error *reterr)
{
    struct export *export = context;
    (void)reterr;
    export_json_event(export, event);
    export_drain(export);
    return export->err;
}

static enum err export_visit_csv(void *context, const struct replay_event *event,
                                 struct error *reterr)
{
    struct export *export = context;
    (void)reterr;
    export_csv_event(export, event);
    export_drain(export);
    return export->err;
}

static void export_end(struct export *export, enum recording_format format)
{
    struct recording_state state = recording_state(export->recording);
    if (state.is_closed && !state.is_cut) {
        return;
    }
    if (format == RECORDING_TEXT) {
        export_text_end(export, &state);
    } else if (format == RECORDING_JSONL) {
        export_json_end(export, &state);
    }
}

static enum err export_run(struct export *export, struct replay *replay, struct error *reterr)
{
    struct record record;
    enum err err = recording_next(export->recording, &record, reterr);
    export->started_at = err == ERR_NONE ? record.time : 0;
    while (err == ERR_NONE) {
        err = replay_add(replay, &record, reterr);
        err = err == ERR_NONE ? recording_next(export->recording, &record, reterr) : err;
    }
    return err;
}

enum err recording_export(struct recording *recording, replay_find_fn find,
                          enum recording_format format, recording_sink_fn sink, void *context,
                          struct error *reterr)
{
    static const replay_visit_fn visits[] = {
        [RECORDING_TEXT] = export_visit_text,
        [RECORDING_JSONL] = export_visit_json,
        [RECORDING_CSV] = export_visit_csv,
        [RECORDING_ASCIICAST] = export_visit_cast,
    };
    struct error broken = {0};
    struct export export = {
        .recording = recording,
        .sink = sink,
        .sink_context = context,
        .is_cast = format == RECORDING_ASCIICAST,
        .cast_width = CAST_WIDTH,
        .cast_height = CAST_HEIGHT,
        .reterr = reterr,
    };
    buf_init(&export.out, EXPORT_OUT_SIZE);
    buf_init(&export.scratch, LIMIT_RECORDING_MESSAGE_SIZE * 2 + 2);
    buf_init(&export.cast_input, CAST_CHARACTER);
    buf_init(&export.cast_output, CAST_CHARACTER);
    struct replay *replay = replay_new(find, visits[format], &export);
    export.replay = replay;
    enum err err = export_run(&export, replay, &broken);
    if (export.err == ERR_NONE) {
        /* What is left is told of; whether that works is known by 'export.err'. */
        enum err ended = replay_end(replay, reterr);
        export.err = export.err == ERR_NONE ? ended : export.err;
    }
    if (err == ERR_CLOSED && export.err == ERR_NONE) {
        export_end(&export, format);
        err = ERR_NONE;
    }
    export_send(&export);
    replay_free(replay);
    buf_release(&export.out);
    buf_release(&export.scratch);
    buf_release(&export.cast_input);
    buf_release(&export.cast_output);
    if (export.err != ERR_NONE) {
        return export.err;
    }
    return err == ERR_NONE ? ERR_NONE : fail(reterr, err, "%s", broken.message);
}
