/* SPDX-License-Identifier: MIT */
/* A protocol that is not read: each record of a side is an event of so many bytes, and in the end
 * there are the sums. */
#include "base/memory.h"
#include "session/replay_internal.h"

static const enum record_side bytes_sides[] = {RECORD_FROM_CLIENT, RECORD_FROM_TARGET,
                                               RECORD_FROM_GATEWAY};

struct bytes_reader {
    replay_visit_fn visit;
    void *context;
    int64_t time; /* of the last record */
    struct record_count totals[COUNT_OF(bytes_sides)];
};

static void *bytes_start(replay_visit_fn visit, void *context)
{
    struct bytes_reader *self = memory_new(sizeof(*self));
    self->visit = visit;
    self->context = context;
    return self;
}

static void bytes_free(void *reader)
{
    memory_free(reader);
}

static enum err bytes_tell(struct bytes_reader *self, enum replay_kind kind, enum record_side side,
                           const struct record_count *count, struct error *reterr)
{
    struct replay_event event = {.kind = kind, .side = side, .time = self->time, .count = *count};
    return self->visit(self->context, &event, reterr);
}

static void bytes_sum(struct bytes_reader *self, const struct record *record)
{
    for (size_t i = 0; i < COUNT_OF(bytes_sides); i++) {
        if (bytes_sides[i] == record->side) {
            self->totals[i].rows++;
            self->totals[i].bytes += record->payload.len;
        }
    }
}

static enum err bytes_add(void *reader, const struct record *record, struct error *reterr)
{
    struct bytes_reader *self = reader;
    struct record_count count = {.bytes = record->payload.len};
    self->time = record->time;
    if (record->kind == RECORD_COUNT) {
        return record_count_read(record->payload, &count) == ERR_NONE
                   ? bytes_tell(self, REPLAY_COUNT, record->side, &count, reterr)
                   : ERR_NONE;
    }
    bytes_sum(self, record);
    return bytes_tell(self, REPLAY_BYTES, record->side, &count, reterr);
}

static enum err bytes_end(void *reader, struct error *reterr)
{
    struct bytes_reader *self = reader;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(bytes_sides) && err == ERR_NONE; i++) {
        struct record_count total = self->totals[i];
        self->totals[i] = (struct record_count){0};
        if (total.bytes > 0) {
            err = bytes_tell(self, REPLAY_TOTAL, bytes_sides[i], &total, reterr);
        }
    }
    return err;
}

const struct replay_ops replay_bytes_ops = {
    .start = bytes_start,
    .free = bytes_free,
    .add = bytes_add,
    .end = bytes_end,
};
