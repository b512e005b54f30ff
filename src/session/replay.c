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

/* A message's number is given when it begins: what the other side says in the meantime is counted
 * right, also when the body is not whole before its next message. */
static void replay_begin_request(struct replay *self, struct replay_message *message)
{
    message->number = 0;
    switch (message->type) {
    case PGWIRE_CLIENT_QUERY:
    case PGWIRE_CLIENT_EXECUTE:
    case PGWIRE_CLIENT_FUNCTION_CALL:
        message->number = ++self->last_number;
        replay_request_push(self, message->type)->number = message->number;
        break;
    case PGWIRE_CLIENT_PARSE:
    case PGWIRE_CLIENT_BIND:
    case PGWIRE_CLIENT_DESCRIBE:
    case PGWIRE_CLIENT_CLOSE:
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

/* The rows of a statement are over. */
static enum err replay_tell_rows(struct replay *self, struct replay_message *message, int64_t time,
                                 struct error *reterr)
{
    struct replay_event event = {
        .kind = REPLAY_COUNT,
        .side = message->side,
        .time = time,
        .statement = self->told_number,
        .count = message->rows,
    };
    message->rows = (struct record_count){0};
    return event.count.rows > 0 ? replay_tell(self, &event, reterr) : ERR_NONE;
}

/* Where not all are on record, they were counted when they passed; others are counted here. */
static enum err replay_count(struct replay *self, struct replay_message *message,
                             const struct record *record, struct error *reterr)
{
    enum err err = replay_finish(self, &self->server, reterr);
    if (err != ERR_NONE || record_count_read(record->payload, &message->rows) != ERR_NONE) {
        return err;
    }
    message->side = record->side;
    return replay_tell_rows(self, message, record->time, reterr);
}

static bool replay_is_row(const struct replay_message *message)
{
    return message->type == PGWIRE_SERVER_COPY_DATA ||
           (message->side != RECORD_FROM_CLIENT && message->type == PGWIRE_SERVER_DATA_ROW);
}

/* What may stand between the rows of a statement. */
static bool replay_is_amid(const struct replay_message *message)
{
    return message->side == RECORD_FROM_CLIENT
               ? message->type == PGWIRE_CLIENT_SYNC
               : message->type == PGWIRE_SERVER_NOTICE ||
                     message->type == PGWIRE_SERVER_NOTIFICATION ||
                     message->type == PGWIRE_SERVER_PARAMETER_STATUS;
}

/* A row, or what ends the rows before it: the client's, too, when the server says so. */
static enum err replay_count_row(struct replay *self, struct replay_message *message,
                                 struct error *reterr)
{
    if (replay_is_row(message)) {
        message->rows.rows++;
        message->rows.bytes += RECORD_MESSAGE_HEAD + (uint64_t)message->size;
    }
    if (replay_is_row(message) || replay_is_amid(message)) {
        return ERR_NONE;
    }
    enum err err = replay_tell_rows(self, &self->client, message->time, reterr);
    return err == ERR_NONE ? replay_tell_rows(self, message, message->time, reterr) : err;
}

static enum err replay_begin(struct replay *self, struct replay_message *message,
                             const struct record *record, const struct record_message *head,
                             struct error *reterr)
{
    message->is_open = true;
    message->type = head->type;
    message->size = head->size;
    message->time = record->time;
    message->side = record->side;
    buf_truncate(&message->body, 0);
    enum err err = replay_count_row(self, message, reterr);
    if (message == &self->client) {
        replay_begin_request(self, message);
    }
    return err == ERR_NONE ? replay_collect(self, message, head->body, reterr) : err;
}

static enum err replay_messages(struct replay *self, struct replay_message *message,
                                const struct record *record, struct error *reterr)
{
    struct slice rest = record->payload;
    struct record_message head;
    enum err err = replay_finish(self, message, reterr);
    while (err == ERR_NONE && rest.len > 0 && record_message_read(&rest, &head) == ERR_NONE) {
        err = replay_begin(self, message, record, &head, reterr);
    }
    return err;
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
        return replay_messages(replay, message, record, reterr);
    case RECORD_MORE:
        return message->is_open ? replay_collect(replay, message, record->payload, reterr)
                                : ERR_NONE;
    case RECORD_COUNT:
        return replay_count(replay, message, record, reterr);
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
    struct replay_message *const messages[] = {&replay->client, &replay->server};
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(messages) && err == ERR_NONE; i++) {
        err = replay_finish(replay, messages[i], reterr);
    }
    for (size_t i = 0; i < COUNT_OF(messages) && err == ERR_NONE; i++) {
        err = replay_tell_rows(replay, messages[i], messages[i]->time, reterr);
    }
    return err;
}
