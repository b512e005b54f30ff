/* SPDX-License-Identifier: MIT */
#include "protocol/mysql/mysql_replay.h"

#include "base/memory.h"
#include "protocol/mysql/mysql_replay_internal.h"

#include <sodium.h>

static void *mysql_replay_start(replay_visit_fn visit, void *context)
{
    uint8_t seed[MAP_SEED_SIZE];
    struct mysql_replay *self = memory_new(sizeof(*self));
    self->visit = visit;
    self->context = context;
    randombytes_buf(seed, sizeof(seed));
    map_init(&self->statements, seed);
    arena_init(&self->arena);
    buf_init(&self->client.body, LIMIT_RECORDING_MESSAGE_SIZE);
    buf_init(&self->server.body, LIMIT_RECORDING_MESSAGE_SIZE);
    return self;
}

static void mysql_replay_free(void *reader)
{
    struct mysql_replay *self = reader;
    while (self->count > 0) {
        mysql_replay_pop(self);
    }
    mysql_replay_forget_all(self);
    map_release(&self->statements);
    arena_release(&self->arena);
    buf_release(&self->client.body);
    buf_release(&self->server.body);
    memory_free(self);
}

enum err mysql_replay_tell(struct mysql_replay *self, struct replay_event *event,
                           struct error *reterr)
{
    return self->visit(self->context, event, reterr);
}

static enum err mysql_replay_finish(struct mysql_replay *self, struct mysql_replay_message *message,
                                    struct error *reterr)
{
    if (!message->is_open) {
        return ERR_NONE;
    }
    message->is_open = false;
    bool is_cut = message->body.len < message->size;
    return message == &self->client ? mysql_replay_client_message(self, is_cut, reterr)
                                    : mysql_replay_server_message(self, is_cut, reterr);
}

/* Bytes beyond the limit are dropped: the body is then not whole. */
static enum err mysql_replay_collect(struct mysql_replay *self,
                                     struct mysql_replay_message *message, struct slice bytes,
                                     struct error *reterr)
{
    size_t room = message->body.size_max - message->body.len;
    if (buf_append(&message->body, slice_sub(bytes, 0, room)) != ERR_NONE) {
        return fail(reterr, ERR_INTERNAL, "a message does not fit where it must");
    }
    return message->body.len >= message->size ? mysql_replay_finish(self, message, reterr)
                                              : ERR_NONE;
}

/* Pieces behind the first of a packet lie beyond what is looked at. */
static enum err mysql_replay_begin(struct mysql_replay *self, struct mysql_replay_message *message,
                                   const struct record *record, const struct record_message *head,
                                   struct error *reterr)
{
    message->is_open = true;
    message->type = head->type;
    message->size = head->size;
    message->time = record->time;
    message->side = record->side;
    if (head->type == MYSQL_RECORD_FILE) {
        message->rows.rows++;
        message->rows.bytes += MYSQLWIRE_HEADER_SIZE + (uint64_t)head->size;
    }
    buf_truncate(&message->body, 0);
    return mysql_replay_collect(self, message, head->body, reterr);
}

/* Where not all rows are on record, a RECORD_COUNT has their number; others are counted here. */
static enum err mysql_replay_count(struct mysql_replay *self, struct mysql_replay_message *message,
                                   const struct record *record, struct error *reterr)
{
    struct replay_event event = {.kind = REPLAY_COUNT, .side = record->side, .time = record->time};
    enum err err = mysql_replay_finish(self, message, reterr);
    if (err != ERR_NONE || record_count_read(record->payload, &event.count) != ERR_NONE) {
        return err;
    }
    const struct mysql_replay_request *request = mysql_replay_current(self);
    event.statement = request == NULL ? 0 : request->number;
    message->rows = (struct record_count){0};
    return mysql_replay_tell(self, &event, reterr);
}

static enum err mysql_replay_add(void *reader, const struct record *record, struct error *reterr)
{
    struct mysql_replay *self = reader;
    struct mysql_replay_message *message =
        record->side == RECORD_FROM_CLIENT ? &self->client : &self->server;
    struct slice rest = record->payload;
    struct record_message head;
    if (record->kind == RECORD_COUNT) {
        return mysql_replay_count(self, message, record, reterr);
    }
    if (record->kind == RECORD_MORE) {
        return message->is_open ? mysql_replay_collect(self, message, rest, reterr) : ERR_NONE;
    }
    enum err err = mysql_replay_finish(self, message, reterr);
    while (err == ERR_NONE && rest.len > 0 && record_message_read(&rest, &head) == ERR_NONE) {
        err = mysql_replay_begin(self, message, record, &head, reterr);
    }
    return err;
}

static enum err mysql_replay_end(void *reader, struct error *reterr)
{
    struct mysql_replay *self = reader;
    enum err err = mysql_replay_finish(self, &self->client, reterr);
    return err == ERR_NONE ? mysql_replay_finish(self, &self->server, reterr) : err;
}

const struct replay_ops mysql_replay_ops = {
    .start = mysql_replay_start,
    .free = mysql_replay_free,
    .add = mysql_replay_add,
    .end = mysql_replay_end,
    .next_value = mysql_replay_next_value,
    .dialect = SQL_MYSQL,
};
