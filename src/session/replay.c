/* SPDX-License-Identifier: MIT */
#include "session/replay.h"

#include "base/memory.h"
#include "codec/json.h"
#include "session/replay_internal.h"

struct replay {
    replay_find_fn find;
    replay_visit_fn visit;
    void *context;
    const struct replay_ops *ops; /* NULL: no record was added */
    void *reader;                 /* of those */
};

struct replay *replay_new(replay_find_fn find, replay_visit_fn visit, void *context)
{
    struct replay *self = memory_new(sizeof(*self));
    self->find = find;
    self->visit = visit;
    self->context = context;
    return self;
}

void replay_free(struct replay *replay)
{
    if (replay != NULL) {
        if (replay->ops != NULL) {
            replay->ops->free(replay->reader);
        }
        memory_free(replay);
    }
}

static void replay_start(struct replay *self, struct slice subtype)
{
    const struct replay_ops *ops = self->find(subtype);
    self->ops = ops != NULL ? ops : &replay_bytes_ops;
    self->reader = self->ops->start(self->visit, self->context);
}

/* The first record is the session as JSON; old ones do not name a subtype, or are not JSON. Where
 * the protocol is not the one of the subtype, it is named, too. */
static void replay_choose(struct replay *self, const struct record *record)
{
    struct arena arena;
    struct json session;
    struct slice subtype = SLICE("");
    arena_init(&arena);
    if (record->kind != RECORD_OPEN ||
        json_parse_in(&arena, record->payload, &session, NULL) != ERR_NONE ||
        json_as_text(json_member(&session, "connection_subtype"), &subtype, NULL) != ERR_NONE) {
        subtype = SLICE("");
    } else if (json_is_given(json_member(&session, "protocol")) &&
               json_as_text(json_member(&session, "protocol"), &subtype, NULL) != ERR_NONE) {
        subtype = SLICE("");
    }
    replay_start(self, subtype);
    arena_release(&arena);
}

static enum err replay_tell(struct replay *self, enum replay_kind kind, const struct record *record,
                            struct error *reterr)
{
    struct replay_event event = {
        .kind = kind,
        .side = record->side,
        .time = record->time,
        .text = record->payload,
    };
    return self->visit(self->context, &event, reterr);
}

enum err replay_add(struct replay *replay, const struct record *record, struct error *reterr)
{
    enum err err = ERR_NONE;
    if (replay->ops == NULL) {
        replay_choose(replay, record);
    }
    switch (record->kind) {
    case RECORD_OPEN:
        return replay_tell(replay, REPLAY_OPEN, record, reterr);
    case RECORD_NOTE:
        return replay_tell(replay, REPLAY_NOTE, record, reterr);
    case RECORD_CLOSE:
        err = replay_end(replay, reterr);
        return err == ERR_NONE ? replay_tell(replay, REPLAY_CLOSE, record, reterr) : err;
    case RECORD_MESSAGE:
    case RECORD_MORE:
    case RECORD_COUNT:
        return replay->ops->add(replay->reader, record, reterr);
    }
    return err;
}

enum err replay_end(struct replay *replay, struct error *reterr)
{
    return replay->ops == NULL ? ERR_NONE : replay->ops->end(replay->reader, reterr);
}

enum sql_dialect replay_dialect(const struct replay *replay)
{
    return replay->ops->dialect;
}

bool replay_is_terminal(const struct replay *replay)
{
    return replay->ops->is_terminal;
}

bool replay_has_terminals(const struct replay *replay)
{
    return replay->ops->has_terminals;
}

bool replay_value_next(struct replay_values *values, struct buf *scratch,
                       struct replay_value *ret_value)
{
    return values->count > 0 && values->ops->next_value(values, scratch, ret_value);
}
