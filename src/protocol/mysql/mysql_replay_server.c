/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "protocol/mysql/mysql_replay_internal.h"

static struct replay_event server_event(const struct mysql_replay *self, enum replay_kind kind)
{
    return (struct replay_event){
        .kind = kind,
        .side = self->server.side,
        .time = self->server.time,
        .text = SLICE(""),
    };
}

/* Whose answer it is: rows that are fetched belong to what ran before. */
static uint64_t server_number(struct mysql_replay *self)
{
    const struct mysql_replay_request *request = mysql_replay_current(self);
    if (request == NULL) {
        return 0;
    }
    const struct mysql_replay_statement *statement =
        request->command == MYSQLWIRE_STMT_FETCH ? mysql_replay_find(self, request->statement_id)
                                                 : NULL;
    return statement == NULL ? request->number : statement->number;
}

/* Columns -------------------------------------------------------------------------------------- */

static void server_begin_columns(struct mysql_replay *self)
{
    arena_reset(&self->arena);
    self->column_count = 0;
    self->has_told_columns = false;
    self->names = arena_alloc_array(&self->arena, LIMIT_MYSQL_REPLAY_COLUMNS, sizeof(*self->names));
    self->types = arena_alloc_array(&self->arena, LIMIT_MYSQL_REPLAY_COLUMNS, sizeof(*self->types));
}

static void server_end_columns(struct mysql_replay *self)
{
    self->column_count = 0;
    self->has_told_columns = false;
    self->names = NULL;
    self->types = NULL;
    arena_reset(&self->arena);
}

static void server_column(struct mysql_replay *self)
{
    struct mysqlwire_column column;
    if (mysqlwire_column_read(buf_view(&self->server.body), &column, NULL) != ERR_NONE) {
        return;
    }
    if (self->names == NULL) {
        server_begin_columns(self);
    }
    if (self->column_count < LIMIT_MYSQL_REPLAY_COLUMNS) {
        self->names[self->column_count] =
            arena_copy(&self->arena, slice_sub(column.name, 0, 4 * MYSQLWIRE_NAME_SIZE_MAX));
        self->types[self->column_count++] = (struct mysqlwire_value_type){
            .type = column.type, .is_unsigned = (column.flags & MYSQLWIRE_COLUMN_UNSIGNED) != 0};
    }
}

/* For what is fetched of a cursor later. */
static void server_keep_types(struct mysql_replay *self)
{
    const struct mysql_replay_request *request = mysql_replay_current(self);
    struct mysql_replay_statement *statement =
        request == NULL || request->command != MYSQLWIRE_STMT_EXECUTE
            ? NULL
            : mysql_replay_find(self, request->statement_id);
    if (statement == NULL) {
        return;
    }
    memory_free(statement->columns);
    statement->column_count = self->column_count;
    statement->columns = memory_new(self->column_count * sizeof(*statement->columns));
    memcpy(statement->columns, self->types, self->column_count * sizeof(*self->types));
}

/* All of them are there when something else comes. */
static enum err server_tell_columns(struct mysql_replay *self, struct error *reterr)
{
    struct replay_event event = server_event(self, REPLAY_COLUMNS);
    if (self->has_told_columns || self->column_count == 0) {
        return ERR_NONE;
    }
    self->has_told_columns = true;
    server_keep_types(self);
    event.statement = server_number(self);
    event.columns = self->names;
    event.column_count = self->column_count;
    return mysql_replay_tell(self, &event, reterr);
}

/* Rows ----------------------------------------------------------------------------------------- */

static void server_shape_binary(struct mysql_replay *self, struct slice *body,
                                struct mysql_values_shape *shape)
{
    const struct mysql_replay_request *request = mysql_replay_current(self);
    const struct mysql_replay_statement *statement =
        request != NULL && request->command == MYSQLWIRE_STMT_FETCH
            ? mysql_replay_find(self, request->statement_id)
            : NULL;
    shape->kind = MYSQL_VALUES_ROW;
    shape->types = statement != NULL ? statement->columns : self->types;
    shape->type_count = statement != NULL ? statement->column_count : self->column_count;
    shape->null_offset = 2;
    size_t null_size = (shape->type_count + 7 + 2) / 8;
    shape->nulls = slice_sub(*body, 1, null_size);
    *body = slice_from(*body, 1 + null_size);
}

static enum err server_row(struct mysql_replay *self, bool is_cut, struct error *reterr)
{
    struct replay_event event = server_event(self, REPLAY_ROW);
    struct slice body = buf_view(&self->server.body);
    struct mysql_values_shape shape = {.kind = MYSQL_VALUES_TEXT, .type_count = self->column_count};
    enum err err = server_tell_columns(self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (self->server.type == MYSQL_RECORD_BINARY_ROW) {
        server_shape_binary(self, &body, &shape);
    }
    self->server.rows.rows++;
    self->server.rows.bytes += MYSQLWIRE_HEADER_SIZE + (uint64_t)self->server.size;
    event.statement = server_number(self);
    event.values = mysql_replay_values(shape.type_count, body, &shape);
    event.values.is_cut = is_cut;
    return mysql_replay_tell(self, &event, reterr);
}

/* Ends ----------------------------------------------------------------------------------------- */

static enum err server_tell_count(struct mysql_replay *self, struct record_count *rows,
                                  enum record_side side, struct error *reterr)
{
    struct replay_event event = server_event(self, REPLAY_COUNT);
    event.statement = server_number(self);
    event.side = side;
    event.count = *rows;
    *rows = (struct record_count){0};
    return event.count.rows > 0 ? mysql_replay_tell(self, &event, reterr) : ERR_NONE;
}

static bool server_is_shown(const struct mysql_replay_request *request)
{
    return request != NULL && request->number > 0;
}

/* Of rows that were counted, or that the server says it changed. The capabilities are not on
 * record: the info is what looks like one. */
static enum err server_end(struct mysql_replay *self, struct error *reterr)
{
    const struct mysql_replay_request *request = mysql_replay_current(self);
    struct mysqlwire_ok ok = {.info = SLICE("")};
    struct replay_event event = server_event(self, REPLAY_DONE);
    uint32_t capabilities = self->server.type == MYSQL_RECORD_OK ? MYSQLWIRE_DEPRECATE_EOF : 0;
    bool is_read =
        mysqlwire_ok_read(buf_view(&self->server.body), capabilities, &ok, NULL) == ERR_NONE;
    bool has_rows =
        self->column_count > 0 || (request != NULL && request->command == MYSQLWIRE_STMT_FETCH);
    uint64_t rows = has_rows ? self->server.rows.rows : ok.affected_rows;
    bool has_more = is_read && (ok.status & MYSQLWIRE_STATUS_MORE_RESULTS) != 0;
    enum err err = server_tell_columns(self, reterr);
    if (err == ERR_NONE) {
        err = server_tell_count(self, &self->client.rows, RECORD_FROM_CLIENT, reterr);
    }
    if (err == ERR_NONE) {
        err = server_tell_count(self, &self->server.rows, RECORD_FROM_TARGET, reterr);
    }
    if (err == ERR_NONE && server_is_shown(request)) {
        event.statement = server_number(self);
        event.text = SLICE("OK");
        event.count.rows = rows;
        err = mysql_replay_tell(self, &event, reterr);
    }
    server_end_columns(self);
    if (!has_more) {
        mysql_replay_pop(self);
    }
    return err;
}

/* A statement that could not be prepared is told with its error, since it never runs. */
static enum err server_tell_unprepared(struct mysql_replay *self,
                                       struct mysql_replay_request *request, struct error *reterr)
{
    struct replay_event event = server_event(self, REPLAY_STATEMENT);
    if (request == NULL || request->command != MYSQLWIRE_STMT_PREPARE) {
        return ERR_NONE;
    }
    request->number = ++self->last_number;
    event.side = RECORD_FROM_CLIENT;
    event.statement = request->number;
    event.text = request->text;
    event.is_cut = request->is_cut;
    return mysql_replay_tell(self, &event, reterr);
}

static enum err server_error(struct mysql_replay *self, bool is_cut, struct error *reterr)
{
    struct mysqlwire_error error = {.state = SLICE(""), .message = SLICE("")};
    char number[8];
    struct replay_event event = server_event(self, REPLAY_ERROR);
    struct mysql_replay_request *request = mysql_replay_current(self);
    enum err err = server_tell_unprepared(self, request, reterr);
    if (mysqlwire_error_read(buf_view(&self->server.body), &error, NULL) != ERR_NONE) {
        error.message = SLICE("(cut)");
    }
    (void)snprintf(number, sizeof(number), "%u", error.number);
    const struct replay_field fields[] = {
        {.name = "severity", .text = SLICE("ERROR")},
        {.name = "code", .text = slice_of_text(number)},
        {.name = "message", .text = error.message},
        {.name = "sqlstate", .text = error.state},
    };
    event.text = SLICE("ERROR");
    event.statement = server_number(self);
    event.is_cut = is_cut;
    event.fields = fields;
    event.field_count = error.state.len > 0 ? COUNT_OF(fields) : COUNT_OF(fields) - 1;
    if (err == ERR_NONE) {
        err = server_tell_columns(self, reterr);
    }
    if (err == ERR_NONE) {
        err = server_tell_count(self, &self->server.rows, RECORD_FROM_TARGET, reterr);
    }
    if (err == ERR_NONE) {
        err = mysql_replay_tell(self, &event, reterr);
    }
    self->client.rows = (struct record_count){0};
    server_end_columns(self);
    mysql_replay_pop(self);
    return err;
}

static void server_prepared(struct mysql_replay *self)
{
    struct mysqlwire_prepared prepared;
    struct mysql_replay_request *request = mysql_replay_current(self);
    if (request != NULL && request->command == MYSQLWIRE_STMT_PREPARE &&
        mysqlwire_prepared_read(buf_view(&self->server.body), &prepared, NULL) == ERR_NONE) {
        mysql_replay_keep(self, request, &prepared);
        mysql_replay_pop(self);
    }
}

static enum err server_text(struct mysql_replay *self, bool is_cut, struct error *reterr)
{
    struct replay_event event = server_event(self, REPLAY_DONE);
    event.statement = server_number(self);
    event.text = buf_view(&self->server.body);
    event.is_cut = is_cut;
    enum err err = mysql_replay_tell(self, &event, reterr);
    mysql_replay_pop(self);
    return err;
}

enum err mysql_replay_server_message(struct mysql_replay *self, bool is_cut, struct error *reterr)
{
    switch ((enum mysql_record)self->server.type) {
    case MYSQL_RECORD_OK:
    case MYSQL_RECORD_EOF:
        return server_end(self, reterr);
    case MYSQL_RECORD_ERROR:
        return server_error(self, is_cut, reterr);
    case MYSQL_RECORD_COLUMN:
        server_column(self);
        return ERR_NONE;
    case MYSQL_RECORD_TEXT_ROW:
    case MYSQL_RECORD_BINARY_ROW:
        return server_row(self, is_cut, reterr);
    case MYSQL_RECORD_PREPARED:
        server_prepared(self);
        return ERR_NONE;
    case MYSQL_RECORD_TEXT:
        return server_text(self, is_cut, reterr);
    case MYSQL_RECORD_COMMAND:
    case MYSQL_RECORD_FILE:
    case MYSQL_RECORD_MORE:
    case MYSQL_RECORD_INFILE: /* the statement says it */
        break;
    }
    return ERR_NONE;
}
