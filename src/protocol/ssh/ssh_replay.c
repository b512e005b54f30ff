/* SPDX-License-Identifier: MIT */
/* A recording of SSH: commands, shells, operations on files and tunnels as statements, with what
 * they wrote and how they ended. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/writer.h"
#include "protocol/ssh/ssh.h"
#include "protocol/ssh/ssh_entry.h"

#include <inttypes.h>
#include <stdio.h>

#define FILE_COLUMNS 6

struct sshd_replay {
    replay_visit_fn visit;
    void *context;
    struct record record; /* that is told of */
};

static void *sshd_replay_start(replay_visit_fn visit, void *context)
{
    struct sshd_replay *self = memory_new(sizeof(*self));
    self->visit = visit;
    self->context = context;
    return self;
}

static void sshd_replay_free(void *reader)
{
    memory_free(reader);
}

/* Values of an event lie behind each other: a length, and the text. */
static bool sshd_replay_next_value(struct replay_values *values, struct buf *scratch,
                                   struct replay_value *ret_value)
{
    (void)scratch;
    size_t len = reader_u32(&values->reader);
    *ret_value = (struct replay_value){.text = reader_view(&values->reader, len)};
    values->count--;
    values->index++;
    return !values->reader.failed;
}

static struct replay_event replay_event_of(const struct sshd_replay *self,
                                           const struct sshd_entry *entry, enum replay_kind kind)
{
    return (struct replay_event){.kind = kind,
                                 .side = self->record.side,
                                 .time = self->record.time,
                                 .statement = entry->item,
                                 .text = entry->text,
                                 .values = {.ops = &sshd_replay_ops}};
}

static enum err replay_tell_done(struct sshd_replay *self, const struct sshd_entry *entry,
                                 bool is_well, struct slice text, struct error *reterr)
{
    struct replay_event event = replay_event_of(self, entry, is_well ? REPLAY_DONE : REPLAY_ERROR);
    const struct replay_field field = {"message", text};
    event.text = text;
    if (!is_well) {
        event.side = entry->type == SSHD_ENTRY_REFUSED ? RECORD_FROM_GATEWAY : RECORD_FROM_TARGET;
        event.text = SLICE("ERROR");
        event.fields = &field;
        event.field_count = 1;
    }
    return self->visit(self->context, &event, reterr);
}

/* Files --------------------------------------------------------------------------------------- */

static enum err replay_file_row(struct sshd_replay *self, const struct sshd_entry *entry,
                                struct error *reterr)
{
    static const struct slice columns[FILE_COLUMNS] = {
        SLICE_INIT("operation"), SLICE_INIT("path"),   SLICE_INIT("other_path"),
        SLICE_INIT("bytes"),     SLICE_INIT("sha256"), SLICE_INIT("result")};
    const struct sshd_file *file = &entry->file;
    struct replay_event event = replay_event_of(self, entry, REPLAY_COLUMNS);
    char bytes[24];
    struct buf row;
    buf_init(&row, RECORD_PAYLOAD_MAX * 2);
    (void)snprintf(bytes, sizeof(bytes), "%" PRIu64, file->bytes);
    const struct slice values[FILE_COLUMNS] = {file->operation,      file->path, file->other,
                                               slice_of_text(bytes), file->hash, file->result};
    struct writer writer = writer_to(&row);
    for (size_t i = 0; i < FILE_COLUMNS; i++) {
        writer_u32(&writer, (uint32_t)values[i].len);
        writer_bytes(&writer, values[i]);
    }
    event.columns = columns;
    event.column_count = FILE_COLUMNS;
    enum err err = self->visit(self->context, &event, reterr);
    event = replay_event_of(self, entry, REPLAY_ROW);
    event.text = SLICE("");
    event.values.count = FILE_COLUMNS;
    event.values.reader = reader_of(buf_view(&row));
    if (err == ERR_NONE && writer_done(&writer) == ERR_NONE) {
        err = self->visit(self->context, &event, reterr);
    }
    buf_release(&row);
    return err;
}

static enum err replay_file(struct sshd_replay *self, const struct sshd_entry *entry,
                            struct error *reterr)
{
    const struct sshd_file *file = &entry->file;
    struct replay_event event = replay_event_of(self, entry, REPLAY_STATEMENT);
    bool is_well = slice_equals(file->result, SLICE("ok"));
    char done[160];
    struct buf text;
    buf_init(&text, RECORD_PAYLOAD_MAX * 2);
    const struct slice parts[] = {file->operation, SLICE(" "), file->path,
                                  file->other.len > 0 ? SLICE(" ") : SLICE(""), file->other};
    enum err err = buf_append_parts(&text, parts, COUNT_OF(parts));
    event.text = buf_view(&text);
    err = err == ERR_NONE ? self->visit(self->context, &event, reterr) : ERR_NONE;
    err = err == ERR_NONE ? replay_file_row(self, entry, reterr) : err;
    (void)snprintf(done, sizeof(done), "%" PRIu64 " bytes, sha256 %.*s%s", file->bytes,
                   SLICE_ARG(slice_sub(file->hash, 0, 64)),
                   file->is_whole ? "" : " of what passed, not in order");
    struct slice words = is_well && file->hash.len > 0 ? slice_of_text(done) : file->result;
    buf_release(&text);
    return err == ERR_NONE ? replay_tell_done(self, entry, is_well, words, reterr) : err;
}

/* The rest ------------------------------------------------------------------------------------ */

static enum err replay_stream(struct sshd_replay *self, const struct sshd_entry *entry,
                              struct error *reterr)
{
    char size[32];
    struct replay_event event = replay_event_of(self, entry, REPLAY_OUTPUT);
    switch (entry->type) {
    case SSHD_ENTRY_INPUT:
        event.name = SLICE("stdin");
        break;
    case SSHD_ENTRY_OUTPUT:
        event.name = SLICE("stdout");
        break;
    case SSHD_ENTRY_ERRORS:
        event.name = SLICE("stderr");
        break;
    case SSHD_ENTRY_SHOWN:
        event.kind = REPLAY_TERMINAL;
        event.name = SLICE("output");
        break;
    case SSHD_ENTRY_TYPED:
        event.kind = REPLAY_TERMINAL;
        event.name = SLICE("input");
        break;
    case SSHD_ENTRY_HIDDEN:
        event.kind = REPLAY_TERMINAL;
        event.name = SLICE("hidden");
        event.text = SLICE("(something was typed that the terminal did not show)");
        break;
    case SSHD_ENTRY_SIZE:
        event.kind = REPLAY_TERMINAL;
        event.name = SLICE("size");
        (void)snprintf(size, sizeof(size), "%" PRIu32 "x%" PRIu32, (uint32_t)(entry->number >> 32),
                       (uint32_t)entry->number);
        event.text = slice_of_text(size);
        break;
    case SSHD_ENTRY_COMMAND:
    case SSHD_ENTRY_SUBSYSTEM:
    case SSHD_ENTRY_TUNNEL:
    case SSHD_ENTRY_FILE:
    case SSHD_ENTRY_DONE:
    case SSHD_ENTRY_COUNT:
    case SSHD_ENTRY_REFUSED:
        return ERR_NONE;
    }
    return self->visit(self->context, &event, reterr);
}

static enum err replay_entry(struct sshd_replay *self, const struct sshd_entry *entry,
                             struct error *reterr)
{
    struct replay_event event = replay_event_of(self, entry, REPLAY_STATEMENT);
    char text[300];
    switch (entry->type) {
    case SSHD_ENTRY_COMMAND:
        event.text = entry->text.len > 0 ? entry->text : SLICE("(shell)");
        return self->visit(self->context, &event, reterr);
    case SSHD_ENTRY_SUBSYSTEM:
        (void)snprintf(text, sizeof(text), "(subsystem %.*s)",
                       SLICE_ARG(slice_sub(entry->text, 0, 200)));
        event.text = slice_of_text(text);
        return self->visit(self->context, &event, reterr);
    case SSHD_ENTRY_TUNNEL:
        return self->visit(self->context, &event, reterr);
    case SSHD_ENTRY_FILE:
        return replay_file(self, entry, reterr);
    case SSHD_ENTRY_DONE:
        return replay_tell_done(self, entry, true, entry->text, reterr);
    case SSHD_ENTRY_REFUSED:
        return replay_tell_done(self, entry, false, entry->text, reterr);
    case SSHD_ENTRY_COUNT:
        event.kind = REPLAY_COUNT;
        event.text = SLICE("");
        event.count = (struct record_count){.bytes = entry->number, .is_cut = true};
        return self->visit(self->context, &event, reterr);
    case SSHD_ENTRY_INPUT:
    case SSHD_ENTRY_OUTPUT:
    case SSHD_ENTRY_ERRORS:
    case SSHD_ENTRY_SHOWN:
    case SSHD_ENTRY_TYPED:
    case SSHD_ENTRY_HIDDEN:
    case SSHD_ENTRY_SIZE:
        break;
    }
    return replay_stream(self, entry, reterr);
}

static enum err sshd_replay_add(void *reader, const struct record *record, struct error *reterr)
{
    struct sshd_replay *self = reader;
    struct slice rest = record->payload;
    enum err err = ERR_NONE;
    self->record = *record;
    while (record->kind == RECORD_MESSAGE && err == ERR_NONE && rest.len > 0) {
        struct record_message message;
        struct sshd_entry entry;
        if (record_message_read(&rest, &message) != ERR_NONE ||
            sshd_entry_read(message.type, message.body, &entry) != ERR_NONE) {
            return ERR_NONE; /* nothing behind it can be read */
        }
        err = replay_entry(self, &entry, reterr);
    }
    return err;
}

static enum err sshd_replay_end(void *reader, struct error *reterr)
{
    (void)reader; /* each message is whole */
    (void)reterr;
    return ERR_NONE;
}

const struct replay_ops sshd_replay_ops = {
    .start = sshd_replay_start,
    .free = sshd_replay_free,
    .add = sshd_replay_add,
    .end = sshd_replay_end,
    .next_value = sshd_replay_next_value,
    .has_terminals = true,
};
