/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_replay.h"

#include "base/limits.h"
#include "base/memory.h"
#include "protocol/postgres/pg_replay_internal.h"

#include <sodium.h>

static void *pg_replay_start(replay_visit_fn visit, void *context)
{
    uint8_t seed[MAP_SEED_SIZE];
    struct pg_replay *self = memory_new(sizeof(*self));
    self->visit = visit;
    self->context = context;
    randombytes_buf(seed, sizeof(seed));
    map_init(&self->statements, seed);
    map_init(&self->portals, seed);
    buf_init(&self->client.body, LIMIT_RECORDING_MESSAGE_SIZE);
    buf_init(&self->server.body, LIMIT_RECORDING_MESSAGE_SIZE);
    return self;
}

static void pg_replay_free(void *reader)
{
    struct pg_replay *self = reader;
    pg_replay_memory_release(self);
    buf_release(&self->client.body);
    buf_release(&self->server.body);
    memory_free(self);
}

enum err pg_replay_tell(struct pg_replay *self, struct replay_event *event, struct error *reterr)
{
    return self->visit(self->context, event, reterr);
}

/* A message's number is given when it begins: what the other side says in the meantime is counted
 * right, also when the body is not whole before its next message. */
static void pg_replay_begin_request(struct pg_replay *self, struct pg_replay_message *message)
{
    message->number = 0;
    switch (message->type) {
    case PGWIRE_CLIENT_QUERY:
    case PGWIRE_CLIENT_EXECUTE:
    case PGWIRE_CLIENT_FUNCTION_CALL:
        message->number = ++self->last_number;
        pg_replay_request_push(self, message->type)->number = message->number;
        break;
    case PGWIRE_CLIENT_PARSE:
    case PGWIRE_CLIENT_BIND:
    case PGWIRE_CLIENT_DESCRIBE:
    case PGWIRE_CLIENT_CLOSE:
        (void)pg_replay_request_push(self, message->type);
        break;
    case PGWIRE_CLIENT_SYNC:
        (void)pg_replay_request_push(self, message->type);
        break;
    default:
        break;
    }
}

static enum err pg_replay_finish(struct pg_replay *self, struct pg_replay_message *message,
                                 struct error *reterr)
{
    if (!message->is_open) {
        return ERR_NONE;
    }
    message->is_open = false;
    bool is_cut = message->body.len < message->size;
    return message == &self->client ? pg_replay_client_message(self, message, is_cut, reterr)
                                    : pg_replay_server_message(self, message, is_cut, reterr);
}

/* Bytes beyond the limit are dropped: the body is then not whole. */
static enum err pg_replay_collect(struct pg_replay *self, struct pg_replay_message *message,
                                  struct slice bytes, struct error *reterr)
{
    size_t room = message->body.size_max - message->body.len;
    if (buf_append(&message->body, slice_sub(bytes, 0, room)) != ERR_NONE) {
        return fail(reterr, ERR_INTERNAL, "a message does not fit where it must");
    }
    return message->body.len >= message->size ? pg_replay_finish(self, message, reterr) : ERR_NONE;
}

/* The rows of a statement are over. */
static enum err pg_replay_tell_rows(struct pg_replay *self, struct pg_replay_message *message,
                                    int64_t time, struct error *reterr)
{
    struct replay_event event = {
        .kind = REPLAY_COUNT,
        .side = message->side,
        .time = time,
        .statement = self->told_number,
        .count = message->rows,
    };
    message->rows = (struct record_count){0};
    return event.count.rows > 0 ? pg_replay_tell(self, &event, reterr) : ERR_NONE;
}

/* Where not all rows are on record, a RECORD_COUNT has their number; others are counted here. */
static enum err pg_replay_count(struct pg_replay *self, struct pg_replay_message *message,
                                const struct record *record, struct error *reterr)
{
    enum err err = pg_replay_finish(self, &self->server, reterr);
    if (err != ERR_NONE || record_count_read(record->payload, &message->rows) != ERR_NONE) {
        return err;
    }
    message->side = record->side;
    return pg_replay_tell_rows(self, message, record->time, reterr);
}

static bool pg_replay_is_row(const struct pg_replay_message *message)
{
    return message->type == PGWIRE_SERVER_COPY_DATA ||
           (message->side != RECORD_FROM_CLIENT && message->type == PGWIRE_SERVER_DATA_ROW);
}

/* Messages that may come between two rows of one statement. */
static bool pg_replay_is_between_rows(const struct pg_replay_message *message)
{
    return message->side == RECORD_FROM_CLIENT
               ? message->type == PGWIRE_CLIENT_SYNC
               : message->type == PGWIRE_SERVER_NOTICE ||
                     message->type == PGWIRE_SERVER_NOTIFICATION ||
                     message->type == PGWIRE_SERVER_PARAMETER_STATUS;
}

/* Counts a row. Any other message ends the rows before it; one of the server ends those that the
 * client copied in, too. */
static enum err pg_replay_count_row(struct pg_replay *self, struct pg_replay_message *message,
                                    struct error *reterr)
{
    if (pg_replay_is_row(message)) {
        message->rows.rows++;
        message->rows.bytes += RECORD_MESSAGE_HEAD + (uint64_t)message->size;
    }
    if (pg_replay_is_row(message) || pg_replay_is_between_rows(message)) {
        return ERR_NONE;
    }
    enum err err = pg_replay_tell_rows(self, &self->client, message->time, reterr);
    return err == ERR_NONE ? pg_replay_tell_rows(self, message, message->time, reterr) : err;
}

static enum err pg_replay_begin(struct pg_replay *self, struct pg_replay_message *message,
                                const struct record *record, const struct record_message *head,
                                struct error *reterr)
{
    message->is_open = true;
    message->type = head->type;
    message->size = head->size;
    message->time = record->time;
    message->side = record->side;
    buf_truncate(&message->body, 0);
    enum err err = pg_replay_count_row(self, message, reterr);
    if (message == &self->client) {
        pg_replay_begin_request(self, message);
    }
    return err == ERR_NONE ? pg_replay_collect(self, message, head->body, reterr) : err;
}

static enum err pg_replay_messages(struct pg_replay *self, struct pg_replay_message *message,
                                   const struct record *record, struct error *reterr)
{
    struct slice rest = record->payload;
    struct record_message head;
    enum err err = pg_replay_finish(self, message, reterr);
    while (err == ERR_NONE && rest.len > 0 && record_message_read(&rest, &head) == ERR_NONE) {
        err = pg_replay_begin(self, message, record, &head, reterr);
    }
    return err;
}

static enum err pg_replay_add(void *reader, const struct record *record, struct error *reterr)
{
    struct pg_replay *self = reader;
    struct pg_replay_message *message =
        record->side == RECORD_FROM_CLIENT ? &self->client : &self->server;
    if (record->kind == RECORD_MESSAGE) {
        return pg_replay_messages(self, message, record, reterr);
    }
    if (record->kind == RECORD_COUNT) {
        return pg_replay_count(self, message, record, reterr);
    }
    return message->is_open ? pg_replay_collect(self, message, record->payload, reterr) : ERR_NONE;
}

static enum err pg_replay_end(void *reader, struct error *reterr)
{
    struct pg_replay *self = reader;
    struct pg_replay_message *const messages[] = {&self->client, &self->server};
    enum err err = ERR_NONE;
    for (size_t i = 0; i < COUNT_OF(messages) && err == ERR_NONE; i++) {
        err = pg_replay_finish(self, messages[i], reterr);
    }
    for (size_t i = 0; i < COUNT_OF(messages) && err == ERR_NONE; i++) {
        err = pg_replay_tell_rows(self, messages[i], messages[i]->time, reterr);
    }
    return err;
}

const struct replay_ops pg_replay_ops = {
    .start = pg_replay_start,
    .free = pg_replay_free,
    .add = pg_replay_add,
    .end = pg_replay_end,
    .next_value = pg_replay_next_value,
    .dialect = SQL_POSTGRES,
};
