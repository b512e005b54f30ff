/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "protocol/mysql/mysql_replay_internal.h"

struct slice mysql_replay_copy(struct slice text)
{
    char *copy = memory_new(text.len + 1);
    if (text.len > 0) {
        memcpy(copy, text.at, text.len);
    }
    return slice_of(copy, text.len);
}

void mysql_replay_release(struct slice *text)
{
    memory_free((char *)(uintptr_t)text->at);
    *text = SLICE_NONE;
}

/* Requests ------------------------------------------------------------------------------------- */

struct mysql_replay_request *mysql_replay_current(struct mysql_replay *self)
{
    return self->count == 0 ? NULL : &self->owed[self->first];
}

void mysql_replay_pop(struct mysql_replay *self)
{
    if (self->count > 0) {
        mysql_replay_release(&self->owed[self->first].text);
        self->first = (self->first + 1) % COUNT_OF(self->owed);
        self->count--;
    }
}

struct mysql_replay_request *mysql_replay_push(struct mysql_replay *self, uint8_t command)
{
    if (self->count == COUNT_OF(self->owed)) {
        mysql_replay_pop(self); /* its answer was not kept */
    }
    struct mysql_replay_request *request =
        &self->owed[(self->first + self->count) % COUNT_OF(self->owed)];
    *request = (struct mysql_replay_request){.command = command, .text = SLICE_NONE};
    self->count++;
    return request;
}

/* Statements ----------------------------------------------------------------------------------- */

static struct slice statement_key(const uint32_t *id)
{
    return slice_of(id, sizeof(*id));
}

struct mysql_replay_statement *mysql_replay_find(const struct mysql_replay *self, uint32_t id)
{
    return map_get(&self->statements, statement_key(&id));
}

static void statement_free(struct mysql_replay *self, struct mysql_replay_statement *statement)
{
    self->kept_size -= statement->text.len;
    mysql_replay_release(&statement->text);
    memory_free(statement->parameters);
    memory_free(statement->columns);
    memory_free(statement);
}

void mysql_replay_forget(struct mysql_replay *self, uint32_t id)
{
    struct mysql_replay_statement *statement = map_remove(&self->statements, statement_key(&id));
    if (statement != NULL) {
        statement_free(self, statement);
    }
}

void mysql_replay_forget_all(struct mysql_replay *self)
{
    struct slice key;
    void *value = NULL;
    for (size_t at = 0; map_next(&self->statements, &at, &key, &value);) {
        statement_free(self, value);
    }
    map_clear(&self->statements);
}

void mysql_replay_keep(struct mysql_replay *self, struct mysql_replay_request *request,
                       const struct mysqlwire_prepared *prepared)
{
    mysql_replay_forget(self, prepared->id);
    if (map_count(&self->statements) >= LIMIT_MYSQL_REPLAY_STATEMENTS) {
        return;
    }
    struct mysql_replay_statement *statement = memory_new(sizeof(*statement));
    bool has_room = self->kept_size + request->text.len <= LIMIT_MYSQL_REPLAY_SIZE;
    statement->id = prepared->id;
    statement->text = has_room ? request->text : SLICE_NONE;
    statement->is_cut = request->is_cut || !has_room;
    statement->parameter_count = prepared->parameter_count;
    if (has_room) {
        self->kept_size += request->text.len;
        request->text = SLICE_NONE;
    }
    if (prepared->parameter_count > 0) {
        statement->parameters =
            memory_new(prepared->parameter_count * sizeof(*statement->parameters));
    }
    (void)map_put(&self->statements, statement_key(&statement->id), statement);
}
