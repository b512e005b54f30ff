/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "protocol/postgres/pg_replay_internal.h"
#include "wire/pgwire_type_name.h"

#define SERVER_FIELDS_MAX 5 /* of an error or a notice, that are shown */

static struct replay_event server_event(const struct pg_replay_message *message,
                                        enum replay_kind kind, bool is_cut)
{
    return (struct replay_event){
        .kind = kind,
        .side = message->side,
        .time = message->time,
        .is_cut = is_cut,
    };
}

static bool server_is_statement(const struct pg_replay_request *request)
{
    return request->number != 0;
}

/* The statement that the server answers now: the first that has no answer. */
static struct pg_replay_request *server_current(struct pg_replay *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct pg_replay_request *request = pg_replay_request_at(self, i);
        if (server_is_statement(request)) {
            self->told_number = request->number;
            return request;
        }
    }
    return NULL;
}

/* The Describe that a ParameterDescription, or a RowDescription, is the answer to: the first before
 * any statement. A statement's parameters are told first, then its columns, or that it has none,
 * which is not recorded. What stands before it was answered, which is not recorded either. */
static struct pg_replay_request *server_described(struct pg_replay *self, bool is_of_parameters)
{
    for (size_t i = 0; i < self->count; i++) {
        struct pg_replay_request *request = pg_replay_request_at(self, i);
        bool is_statement = request->object == PGWIRE_STATEMENT;
        if (server_is_statement(request)) {
            return NULL;
        }
        if (request->type == PGWIRE_CLIENT_DESCRIBE &&
            (is_of_parameters ? is_statement && !request->has_parameters
                              : !is_statement || request->has_parameters)) {
            while (pg_replay_request_at(self, 0) != request) {
                pg_replay_request_pop(self);
            }
            return request;
        }
    }
    return NULL;
}

/* The current Execute is answered, and with it what was asked before: answers to other requests are
 * not recorded. */
static void server_pop_execute(struct pg_replay *self)
{
    struct pg_replay_request *current = server_current(self);
    if (current == NULL || current->type != PGWIRE_CLIENT_EXECUTE) {
        return;
    }
    while (pg_replay_request_at(self, 0) != current) {
        pg_replay_request_pop(self);
    }
    pg_replay_request_pop(self);
}

static enum err server_tell_columns(struct pg_replay *self, const struct pg_replay_message *message,
                                    struct pg_replay_request *request, struct error *reterr)
{
    struct replay_event event = server_event(message, REPLAY_COLUMNS, false);
    const struct pg_replay_shape *columns = request->columns;
    request->has_columns = true;
    if (columns == NULL) {
        return ERR_NONE;
    }
    event.statement = request->number;
    event.columns = columns->names;
    event.column_count = columns->names == NULL ? 0 : columns->count;
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    struct slice *types = arena_alloc_array(&arena, event.column_count + 1, sizeof(*types));
    for (size_t i = 0; i < event.column_count; i++) {
        types[i] = pgwire_type_name_in(&arena, columns->types[i]);
    }
    event.column_types = types;
    return pg_replay_tell(self, &event, reterr);
}

/* The answer to a Describe is kept for the rows of a later Execute; otherwise its rows come next.
 */
static enum err server_row_description(struct pg_replay *self,
                                       const struct pg_replay_message *message,
                                       struct error *reterr)
{
    struct pg_replay_request *first = server_described(self, false);
    struct pg_replay_shape *shape = pg_replay_shape_of(self, buf_view(&message->body));
    if (first != NULL) {
        struct pg_replay_statement *statement =
            first->object == PGWIRE_STATEMENT ? pg_replay_statement_get(self, first->name) : NULL;
        struct pg_replay_portal *portal =
            first->object == PGWIRE_PORTAL ? pg_replay_portal_get(self, first->name) : NULL;
        struct pg_replay_shape **kept = statement != NULL ? &statement->columns
                                        : portal != NULL  ? &portal->columns
                                                          : NULL;
        if (kept != NULL) {
            pg_replay_shape_unref(*kept);
            *kept = pg_replay_shape_ref(shape);
        }
        /* The Execute may stand in the queue already, without knowing its columns. */
        struct pg_replay_request *current = portal != NULL ? server_current(self) : NULL;
        if (current != NULL && current->type == PGWIRE_CLIENT_EXECUTE) {
            pg_replay_shape_unref(current->columns);
            current->columns = pg_replay_shape_ref(shape);
        }
        pg_replay_shape_unref(shape);
        pg_replay_request_pop(self);
        return ERR_NONE;
    }
    struct pg_replay_request *current = server_current(self);
    if (current == NULL) {
        pg_replay_shape_unref(shape);
        return ERR_NONE;
    }
    pg_replay_shape_unref(current->columns);
    current->columns = shape;
    return server_tell_columns(self, message, current, reterr);
}

static void server_parameter_description(struct pg_replay *self,
                                         const struct pg_replay_message *message)
{
    struct pgwire_oids types;
    struct pg_replay_request *first = server_described(self, true);
    if (first == NULL) {
        return;
    }
    first->has_parameters = true; /* also of more than their count can say, which nobody can bind */
    if (pgwire_parameter_description_read(buf_view(&message->body), &types, NULL) != ERR_NONE) {
        return;
    }
    struct pg_replay_statement *statement = pg_replay_statement_get(self, first->name);
    struct pg_replay_shape *shape = pg_replay_shape_new(self, types.count, 0);
    if (statement == NULL || shape == NULL) {
        pg_replay_shape_unref(shape);
        return;
    }
    for (size_t i = 0; i < shape->count; i++) {
        shape->types[i] = pgwire_oid_at(&types, i);
    }
    pg_replay_shape_unref(statement->parameters);
    statement->parameters = shape;
}

static enum err server_row(struct pg_replay *self, const struct pg_replay_message *message,
                           bool is_cut, struct error *reterr)
{
    struct pg_replay_request *current = server_current(self);
    struct replay_event event = server_event(message, REPLAY_ROW, is_cut);
    enum err err = ERR_NONE;
    if (current != NULL && !current->has_columns) {
        err = server_tell_columns(self, message, current, reterr);
    }
    struct reader reader = reader_of(buf_view(&message->body));
    size_t count = reader_u16(&reader);
    event.statement = current == NULL ? 0 : current->number;
    event.values = pg_replay_values_of(count, reader, current == NULL ? NULL : current->columns);
    return err == ERR_NONE ? pg_replay_tell(self, &event, reterr) : err;
}

static enum err server_done(struct pg_replay *self, const struct pg_replay_message *message,
                            enum replay_kind kind, struct error *reterr)
{
    struct pg_replay_request *current = server_current(self);
    struct replay_event event = server_event(message, kind, false);
    struct pgwire_completion completion = {0};
    if (message->type == PGWIRE_SERVER_COMMAND_COMPLETE &&
        pgwire_completion_read(buf_view(&message->body), &completion, NULL) == ERR_NONE) {
        event.text = completion.tag;
        event.count.rows = completion.row_count;
    }
    event.statement = current == NULL ? 0 : current->number;
    if (current != NULL) {
        current->has_columns = false; /* of a query's next result */
    }
    enum err err = pg_replay_tell(self, &event, reterr);
    server_pop_execute(self);
    return err;
}

/* Those that the message has, by the names that they are shown under. */
static size_t server_read_fields(struct slice notice, struct replay_field *fields)
{
    static const struct {
        char type;
        const char *name;
    } names[SERVER_FIELDS_MAX] = {
        {PGWIRE_FIELD_SEVERITY_PLAIN, "severity"},
        {PGWIRE_FIELD_SQLSTATE, "code"},
        {PGWIRE_FIELD_MESSAGE, "message"},
        {PGWIRE_FIELD_DETAIL, "detail"},
        {PGWIRE_FIELD_HINT, "hint"},
    };
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct slice text = pgwire_notice_find(notice, names[i].type);
        if (text.at != NULL) {
            fields[count++] = (struct replay_field){.name = names[i].name, .text = text};
        }
    }
    return count;
}

static enum err server_notice(struct pg_replay *self, const struct pg_replay_message *message,
                              uint64_t number, struct error *reterr)
{
    bool is_error = message->type == PGWIRE_SERVER_ERROR;
    struct replay_event event =
        server_event(message, is_error ? REPLAY_ERROR : REPLAY_NOTICE, false);
    struct replay_field fields[SERVER_FIELDS_MAX];
    struct slice notice = SLICE_NONE;
    if (pgwire_notice_read(buf_view(&message->body), &notice, NULL) != ERR_NONE) {
        return ERR_NONE;
    }
    event.statement = number;
    event.text = pgwire_notice_find(notice, PGWIRE_FIELD_SEVERITY_PLAIN);
    if (event.text.at == NULL) { /* servers before 9.6 have it in their language only */
        event.text = pgwire_notice_find(notice, PGWIRE_FIELD_SEVERITY);
    }
    event.fields = fields;
    event.field_count = server_read_fields(notice, fields);
    return pg_replay_tell(self, &event, reterr);
}

/* A statement that failed before anything that runs it was sent: it is told of here, where it
 * failed. */
static enum err server_tell_failed(struct pg_replay *self, const struct pg_replay_message *message,
                                   const struct pg_replay_statement *statement,
                                   struct error *reterr)
{
    struct replay_event event = server_event(message, REPLAY_STATEMENT, statement->is_cut);
    event.side = RECORD_FROM_CLIENT;
    event.statement = ++self->last_number;
    event.text = statement->text;
    self->told_number = event.statement;
    return pg_replay_tell(self, &event, reterr);
}

/* Requests between an error and the next Sync do not run. The error is about the first of them that
 * would have run the statement which failed (protocol-flow, "Extended Query"). */
static enum err server_batch_error(struct pg_replay *self, const struct pg_replay_message *message,
                                   struct error *reterr)
{
    const struct pg_replay_request *first = pg_replay_request_at(self, 0);
    uint64_t failed = first->number;
    enum err err = ERR_NONE;
    for (size_t i = 1; failed == 0 && i < self->count; i++) {
        const struct pg_replay_request *request = pg_replay_request_at(self, i);
        if (request->type == PGWIRE_CLIENT_SYNC) {
            break;
        }
        failed = request->statement != NULL && request->statement == first->statement
                     ? request->number
                     : 0;
    }
    if (failed == 0 && first->statement != NULL) {
        err = server_tell_failed(self, message, first->statement, reterr);
        failed = self->last_number;
    }
    self->told_number = failed;
    if (err == ERR_NONE) {
        err = server_notice(self, message, failed, reterr);
    }
    while (self->count > 0 && pg_replay_request_at(self, 0)->type != PGWIRE_CLIENT_SYNC) {
        struct replay_event event = server_event(message, REPLAY_SKIPPED, false);
        event.statement = pg_replay_request_at(self, 0)->number;
        if (event.statement != 0 && event.statement != failed && err == ERR_NONE) {
            err = pg_replay_tell(self, &event, reterr);
        }
        pg_replay_request_pop(self);
    }
    return err;
}

static enum err server_error(struct pg_replay *self, const struct pg_replay_message *message,
                             struct error *reterr)
{
    struct pg_replay_request *first = pg_replay_request_at(self, 0);
    bool is_alone = first == NULL || first->type == PGWIRE_CLIENT_SYNC ||
                    first->type == PGWIRE_CLIENT_QUERY ||
                    first->type == PGWIRE_CLIENT_FUNCTION_CALL;
    if (!is_alone) {
        return server_batch_error(self, message, reterr);
    }
    uint64_t number = first == NULL ? 0 : first->number;
    self->told_number = number;
    return server_notice(self, message, number, reterr);
}

/* A ReadyForQuery answers the first Sync, query or function call, and all that was asked before. */
static void server_ready(struct pg_replay *self)
{
    bool is_found = false;
    while (self->count > 0 && !is_found) {
        char type = pg_replay_request_at(self, 0)->type;
        is_found = type == PGWIRE_CLIENT_SYNC || type == PGWIRE_CLIENT_QUERY ||
                   type == PGWIRE_CLIENT_FUNCTION_CALL;
        pg_replay_request_pop(self);
    }
}

static enum err server_other(struct pg_replay *self, const struct pg_replay_message *message,
                             bool is_cut, struct error *reterr)
{
    struct pg_replay_request *current = server_current(self);
    struct pgwire_notification notification;
    struct replay_event event = server_event(message, REPLAY_COPY, is_cut);
    event.text = buf_view(&message->body);
    event.statement = current == NULL ? 0 : current->number;
    if (message->type == PGWIRE_SERVER_NOTIFICATION) {
        event = server_event(message, REPLAY_NOTIFICATION, is_cut);
        if (pgwire_notification_read(buf_view(&message->body), &notification, NULL) != ERR_NONE) {
            return ERR_NONE;
        }
        event.name = notification.channel;
        event.text = notification.payload;
    }
    return pg_replay_tell(self, &event, reterr);
}

enum err pg_replay_server_message(struct pg_replay *self, const struct pg_replay_message *message,
                                  bool is_cut, struct error *reterr)
{
    switch (message->type) {
    case PGWIRE_SERVER_READY:
        server_ready(self);
        return ERR_NONE;
    case PGWIRE_SERVER_PARAMETER_DESCRIPTION:
        server_parameter_description(self, message);
        return ERR_NONE;
    case PGWIRE_SERVER_ROW_DESCRIPTION:
        return server_row_description(self, message, reterr);
    case PGWIRE_SERVER_DATA_ROW:
        return server_row(self, message, is_cut, reterr);
    case PGWIRE_SERVER_COMMAND_COMPLETE:
    case PGWIRE_SERVER_EMPTY_QUERY:
        return server_done(self, message, REPLAY_DONE, reterr);
    case PGWIRE_SERVER_PORTAL_SUSPENDED:
        return server_done(self, message, REPLAY_SUSPENDED, reterr);
    case PGWIRE_SERVER_ERROR:
        return server_error(self, message, reterr);
    case PGWIRE_SERVER_NOTICE:
        (void)server_current(self);
        return server_notice(self, message, self->count == 0 ? 0 : self->told_number, reterr);
    case PGWIRE_SERVER_COPY_DATA:
    case PGWIRE_SERVER_NOTIFICATION:
        return server_other(self, message, is_cut, reterr);
    case PGWIRE_SERVER_COPY_IN:
    case PGWIRE_SERVER_COPY_BOTH:
        (void)server_current(self); /* what the client's data is for */
        return ERR_NONE;
    default:
        return ERR_NONE;
    }
}
