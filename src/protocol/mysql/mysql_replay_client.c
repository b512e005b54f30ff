/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "protocol/mysql/mysql_replay_internal.h"

#define LAST_PREPARED UINT32_MAX
#define HEAD_SIZE     80

static const char *const command_names[] = {
    [MYSQLWIRE_INIT_DB] = "COM_INIT_DB",
    [MYSQLWIRE_FIELD_LIST] = "COM_FIELD_LIST",
    [MYSQLWIRE_CREATE_DB] = "COM_CREATE_DB",
    [MYSQLWIRE_DROP_DB] = "COM_DROP_DB",
    [MYSQLWIRE_REFRESH] = "COM_REFRESH",
    [MYSQLWIRE_SHUTDOWN] = "COM_SHUTDOWN",
    [MYSQLWIRE_STATISTICS] = "COM_STATISTICS",
    [MYSQLWIRE_PROCESS_INFO] = "COM_PROCESS_INFO",
    [MYSQLWIRE_PROCESS_KILL] = "COM_PROCESS_KILL",
    [MYSQLWIRE_DEBUG] = "COM_DEBUG",
    [MYSQLWIRE_CHANGE_USER] = "COM_CHANGE_USER",
    [MYSQLWIRE_BINLOG_DUMP] = "COM_BINLOG_DUMP",
    [MYSQLWIRE_TABLE_DUMP] = "COM_TABLE_DUMP",
    [MYSQLWIRE_REGISTER_SLAVE] = "COM_REGISTER_SLAVE",
    [MYSQLWIRE_SET_OPTION] = "COM_SET_OPTION",
    [MYSQLWIRE_BINLOG_DUMP_GTID] = "COM_BINLOG_DUMP_GTID",
    [MYSQLWIRE_RESET_CONNECTION] = "COM_RESET_CONNECTION",
    [MYSQLWIRE_CLONE] = "COM_CLONE",
    [MYSQLWIRE_GROUP_STREAM] = "COM_GROUP_REPLICATION_STREAM",
};

static struct replay_event client_event(const struct mysql_replay *self, enum replay_kind kind)
{
    return (struct replay_event){
        .kind = kind,
        .side = self->client.side,
        .time = self->client.time,
        .text = SLICE(""),
    };
}

static enum err client_statement(struct mysql_replay *self, uint8_t command, struct slice text,
                                 bool is_cut, struct error *reterr)
{
    struct replay_event event = client_event(self, REPLAY_STATEMENT);
    struct mysql_replay_request *request = mysql_replay_push(self, command);
    request->number = ++self->last_number;
    self->file_number = request->number;
    event.statement = request->number;
    event.text = text;
    event.is_cut = is_cut;
    return mysql_replay_tell(self, &event, reterr);
}

/* A command that is no SQL, by its name and what is text of it. */
static enum err client_command(struct mysql_replay *self, uint8_t command, struct slice rest,
                               bool is_cut, struct error *reterr)
{
    const char *name = command < COUNT_OF(command_names) ? command_names[command] : NULL;
    bool has_text = command == MYSQLWIRE_INIT_DB || command == MYSQLWIRE_CREATE_DB ||
                    command == MYSQLWIRE_DROP_DB || command == MYSQLWIRE_FIELD_LIST;
    struct buf text;
    buf_init(&text, LIMIT_RECORDING_MESSAGE_SIZE + HEAD_SIZE);
    struct writer writer = writer_to(&text);
    writer_format(&writer, "%s", name == NULL ? "a command that is not served" : name);
    if (has_text) {
        writer_u8(&writer, ' ');
        writer_bytes(&writer, slice_sub(rest, 0, slice_find_byte(rest, '\0')));
    }
    if (command == MYSQLWIRE_RESET_CONNECTION) {
        mysql_replay_forget_all(self);
    }
    enum err err = client_statement(self, command, buf_view(&text), is_cut, reterr);
    buf_release(&text);
    return err;
}

static uint32_t client_id(struct slice rest)
{
    struct reader reader = reader_of(rest);
    return mysqlwire_read_u32(&reader);
}

static void client_take_types(struct mysql_replay_statement *statement,
                              const struct mysqlwire_execute *execute)
{
    for (size_t i = 0; execute->types.len > 0 && i < statement->parameter_count; i++) {
        bool is_elsewhere = statement->parameters[i].is_elsewhere;
        statement->parameters[i] = mysqlwire_parameter_type(execute, i);
        statement->parameters[i].is_elsewhere = is_elsewhere;
    }
}

/* What was sent in pieces counts once. */
static void client_end_pieces(struct mysql_replay_statement *statement)
{
    for (size_t i = 0; i < statement->parameter_count; i++) {
        statement->parameters[i].is_elsewhere = false;
    }
}

static enum err client_execute(struct mysql_replay *self, struct slice rest, bool is_cut,
                               struct error *reterr)
{
    uint32_t id = client_id(rest);
    struct mysql_replay_statement *statement =
        id == LAST_PREPARED ? NULL : mysql_replay_find(self, id);
    struct mysql_replay_request *request = mysql_replay_push(self, MYSQLWIRE_STMT_EXECUTE);
    struct replay_event event = client_event(self, REPLAY_STATEMENT);
    struct mysqlwire_execute execute;
    struct mysql_values_shape shape = {.kind = MYSQL_VALUES_PARAMETERS};
    request->number = ++self->last_number;
    request->statement_id = id;
    event.statement = request->number;
    event.is_cut = statement == NULL || statement->is_cut;
    if (statement == NULL) {
        return mysql_replay_tell(self, &event, reterr);
    }
    statement->number = request->number;
    event.text = statement->text;
    if (mysqlwire_execute_read(rest, statement->parameter_count, &execute, NULL) == ERR_NONE) {
        client_take_types(statement, &execute);
        shape.types = statement->parameters;
        shape.type_count = statement->parameter_count;
        shape.nulls = execute.nulls;
        event.values = mysql_replay_values(statement->parameter_count, execute.values, &shape);
        event.values.is_cut = is_cut;
    }
    enum err err = mysql_replay_tell(self, &event, reterr);
    client_end_pieces(statement);
    return err;
}

/* A piece of a parameter's value, as data of the statement that it is for. */
static enum err client_long_data(struct mysql_replay *self, struct slice rest, bool is_cut,
                                 struct error *reterr)
{
    struct reader reader = reader_of(rest);
    struct mysql_replay_statement *statement = mysql_replay_find(self, mysqlwire_read_u32(&reader));
    size_t index = mysqlwire_read_u16(&reader);
    struct replay_event event = client_event(self, REPLAY_COPY);
    if (reader.failed) {
        return ERR_NONE;
    }
    if (statement != NULL && index < statement->parameter_count) {
        statement->parameters[index].is_elsewhere = true;
    }
    event.text = reader_view_rest(&reader);
    event.is_cut = is_cut;
    return mysql_replay_tell(self, &event, reterr);
}

static enum err client_file(struct mysql_replay *self, bool is_cut, struct error *reterr)
{
    struct replay_event event = client_event(self, REPLAY_COPY);
    event.statement = self->file_number;
    event.text = buf_view(&self->client.body);
    event.is_cut = is_cut;
    return mysql_replay_tell(self, &event, reterr);
}

enum err mysql_replay_client_message(struct mysql_replay *self, bool is_cut, struct error *reterr)
{
    struct slice body = buf_view(&self->client.body);
    struct slice rest = slice_from(body, 1);
    if (self->client.type == MYSQL_RECORD_FILE) {
        return client_file(self, is_cut, reterr);
    }
    if (self->client.type != MYSQL_RECORD_COMMAND || body.len == 0) {
        return ERR_NONE;
    }
    uint8_t command = (uint8_t)body.at[0];
    struct mysql_replay_request *request = NULL;
    switch (command) {
    case MYSQLWIRE_QUERY:
        return client_statement(self, command, rest, is_cut, reterr);
    case MYSQLWIRE_STMT_PREPARE:
        request = mysql_replay_push(self, command);
        request->text = mysql_replay_copy(rest);
        request->is_cut = is_cut;
        return ERR_NONE;
    case MYSQLWIRE_STMT_EXECUTE:
        return client_execute(self, rest, is_cut, reterr);
    case MYSQLWIRE_STMT_SEND_LONG_DATA:
        return client_long_data(self, rest, is_cut, reterr);
    case MYSQLWIRE_STMT_FETCH:
    case MYSQLWIRE_STMT_RESET:
        mysql_replay_push(self, command)->statement_id = client_id(rest);
        return ERR_NONE;
    case MYSQLWIRE_STMT_CLOSE:
        mysql_replay_forget(self, client_id(rest));
        return ERR_NONE;
    case MYSQLWIRE_QUIT:
    case MYSQLWIRE_PING:
        return ERR_NONE;
    default:
        return client_command(self, command, rest, is_cut, reterr);
    }
}
