/* SPDX-License-Identifier: MIT */
#include "session/replay.h"

#include "base/limits.h"
#include "base/memory.h"
#include "session/replay_internal.h"

#include <sodium.h>

struct replay *replay_new(replay_visit_fn visit, void *context)
{
    uint8_t seed[MAP_SEED_SIZE];
    struct replay *self = memory_new(sizeof(*self));
    self->visit = visit;
    self->context = context;
    randombytes_buf(seed, sizeof(seed));
    map_init(&self->statements, seed);
    map_init(&self->portals, seed);
    buf_init(&self->client.body, LIMIT_RECORDING_MESSAGE_SIZE);
    buf_init(&self->server.body, LIMIT_RECORDING_MESSAGE_SIZE);
    return self;
}

void replay_free(struct replay *replay)
{
    if (replay != NULL) {
        replay_memory_release(replay);
        buf_release(&replay->client.body);
        buf_release(&replay->server.body);
        memory_free(replay);
    }
}

enum err replay_tell(struct replay *self, struct replay_event *event, struct error *reterr)
{
    return self->visit(self->context, event, reterr);
}

/* A query's ReadyForQuery is not recorded when the client waited for it. So a query that was
 * answered is over when the client goes on, and with it what came before. (One that did not wait
 * and goes on amid the answers to a query of several statements is not told from one that did.) */
static void replay_settle(struct replay *self)
{
    const struct replay_request *last =
        self->count == 0 ? NULL : replay_request_at(self, self->count - 1);
    bool is_over = last != NULL && last->number != 0 && last->is_answered;
    while (is_over && self->count > 0) {
        replay_request_pop(self);
    }
}

/* A message's number is given when it begins: what the other side says in the meantime is counted
 * right, also when the body is not whole before its next message. */
static void replay_begin_request(struct replay *self, struct replay_message *message)
{
    message->number = 0;
    switch (message->type) {
    case PGWIRE_CLIENT_QUERY:
    case PGWIRE_CLIENT_EXECUTE:
    case PGWIRE_CLIENT_FUNCTION_CALL:
        replay_settle(self);
        message->number = ++self->last_number;
        replay_request_push(self, message->type)->number = message->number;
        break;
    case PGWIRE_CLIENT_PARSE:
    case PGWIRE_CLIENT_BIND:
    case PGWIRE_CLIENT_DESCRIBE:
    case PGWIRE_CLIENT_CLOSE:
        replay_settle(self);
        (void)replay_request_push(self, message->type);
        break;
    case PGWIRE_CLIENT_SYNC:
        (void)replay_request_push(self, message->type);
        break;
    default:
        break;
    }
}

static enum err replay_finish(struct replay *self, struct replay_message *message,
                              struct error *reterr)
{
    if (!message->is_open) {
        return ERR_NONE;
    }
    message->is_open = false;
    bool is_cut = message->body.len < message->size;
    return message == &self->client ? replay_client_message(self, message, is_cut, reterr)
                                    : replay_server_message(self, message, is_cut, reterr);
}

/* What is beyond the limit is passed over: the body is then not whole. */
static enum err replay_collect(struct replay *self, struct replay_message *message,
                               struct slice bytes, struct error *reterr)
{
    size_t room = message->body.size_max - message->body.len;
    if (buf_append(&message->body, slice_sub(bytes, 0, room)) != ERR_NONE) {
        return fail(reterr, ERR_INTERNAL, "a message does not fit where it must");
    }
    return message->body.len >= message->size ? replay_finish(self, message, reterr) : ERR_NONE;
}

static enum err replay_begin(struct replay *self, struct replay_message *message,
                             const struct record *record, struct error *reterr)
{
    struct record_message head;
    enum err err = replay_finish(self, message, reterr);
    if (err != ERR_NONE || record_message_read(record->payload, &head) != ERR_NONE) {
        return err;
    }
    message->is_open = true;
    message->type = head.type;
    message->size = head.size;
    message->time = record->time;
    message->side = record->side;
    buf_truncate(&message->body, 0);
    if (message == &self->client) {
        replay_begin_request(self, message);
    }
    return replay_collect(self, message, head.body, reterr);
}

static enum err replay_count(struct replay *self, const struct record *record, struct error *reterr)
{
    struct replay_event event = {
        .kind = REPLAY_COUNT,
        .side = record->side,
        .time = record->time,
        .statement = self->told_number,
    };
    return record_count_read(record->payload, &event.count) == ERR_NONE
               ? replay_tell(self, &event, reterr)
               : ERR_NONE;
}

static enum err replay_text(struct replay *self, enum replay_kind kind, const struct record *record,
                            struct error *reterr)
{
    struct replay_event event = {
        .kind = kind,
        .side = record->side,
        .time = record->time,
        .text = record->payload,
    };
    return replay_tell(self, &event, reterr);
}

enum err replay_add(struct replay *replay, const struct record *record, struct error *reterr)
{
    struct replay_message *message =
        record->side == RECORD_FROM_CLIENT ? &replay->client : &replay->server;
    enum err err = ERR_NONE;
    switch (record->kind) {
    case RECORD_MESSAGE:
        return replay_begin(replay, message, record, reterr);
    case RECORD_MORE:
        return message->is_open ? replay_collect(replay, message, record->payload, reterr)
                                : ERR_NONE;
    case RECORD_COUNT:
        err = replay_finish(replay, &replay->server, reterr);
        return err == ERR_NONE ? replay_count(replay, record, reterr) : err;
    case RECORD_OPEN:
        return replay_text(replay, REPLAY_OPEN, record, reterr);
    case RECORD_NOTE:
        return replay_text(replay, REPLAY_NOTE, record, reterr);
    case RECORD_CLOSE:
        err = replay_end(replay, reterr);
        return err == ERR_NONE ? replay_text(replay, REPLAY_CLOSE, record, reterr) : err;
    }
    return err;
}

enum err replay_end(struct replay *replay, struct error *reterr)
{
    enum err err = replay_finish(replay, &replay->client, reterr);
    return err == ERR_NONE ? replay_finish(replay, &replay->server, reterr) : err;
}
