/* SPDX-License-Identifier: MIT */
#include "session/replay_internal.h"

static struct replay_event server_event(const struct replay_message *message, enum replay_kind kind,
                                        bool is_cut)
{
    return (struct replay_event){
        .kind = kind,
        .side = message->side,
        .time = message->time,
        .is_cut = is_cut,
    };
}

static bool server_is_statement(const struct replay_request *request)
{
    return request->number != 0;
}

/* What the server speaks of: the first statement that is not answered. */
static struct replay_request *server_current(struct replay *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct replay_request *request = replay_request_at(self, i);
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
static struct replay_request *server_described(struct replay *self, bool is_of_parameters)
{
    for (size_t i = 0; i < self->count; i++) {
        struct replay_request *request = replay_request_at(self, i);
        bool is_statement = request->object == PGWIRE_STATEMENT;
        if (server_is_statement(request)) {
            return NULL;
        }
        if (request->type == PGWIRE_CLIENT_DESCRIBE &&
            (is_of_parameters ? is_statement && !request->has_parameters
                              : !is_statement || request->has_parameters)) {
            while (replay_request_at(self, 0) != request) {
                replay_request_pop(self);
            }
            return request;
        }
    }
    return NULL;
}

/* Answers to other requests are not recorded: up to here they came. */
static void server_pop_execute(struct replay *self)
{
    struct replay_request *current = server_current(self);
    if (current == NULL || current->type != PGWIRE_CLIENT_EXECUTE) {
        return;
    }
    while (replay_request_at(self, 0) != current) {
        replay_request_pop(self);
    }
    replay_request_pop(self);
}

static enum err server_tell_columns(struct replay *self, const struct replay_message *message,
                                    struct replay_request *request, struct error *reterr)
{
    struct replay_event event = server_event(message, REPLAY_COLUMNS, false);
    request->has_columns = true;
    event.statement = request->number;
    event.shape = request->columns;
    return request->columns == NULL ? ERR_NONE : replay_tell(self, &event, reterr);
}

/* The answer to a Describe is kept for the rows that will come; otherwise rows come now. */
static enum err server_row_description(struct replay *self, const struct replay_message *message,
                                       struct error *reterr)
{
    struct replay_request *first = server_described(self, false);
    struct replay_shape *shape = replay_shape_of(self, buf_view(&message->body));
    if (first != NULL) {
        struct replay_statement *statement =
            first->object == PGWIRE_STATEMENT ? replay_statement_get(self, first->name) : NULL;
        struct replay_portal *portal =
            first->object == PGWIRE_PORTAL ? replay_portal_get(self, first->name) : NULL;
        struct replay_shape **kept = statement != NULL ? &statement->columns
                                     : portal != NULL  ? &portal->columns
                                                       : NULL;
        if (kept != NULL) {
            replay_shape_unref(*kept);
            *kept = replay_shape_ref(shape);
        }
        /* The Execute may stand in the queue already, without knowing its columns. */
        struct replay_request *current = portal != NULL ? server_current(self) : NULL;
        if (current != NULL && current->type == PGWIRE_CLIENT_EXECUTE) {
            replay_shape_unref(current->columns);
            current->columns = replay_shape_ref(shape);
        }
        replay_shape_unref(shape);
        replay_request_pop(self);
        return ERR_NONE;
    }
    struct replay_request *current = server_current(self);
    if (current == NULL) {
        replay_shape_unref(shape);
        return ERR_NONE;
    }
    replay_shape_unref(current->columns);
    current->columns = shape;
    return server_tell_columns(self, message, current, reterr);
}

static void server_parameter_description(struct replay *self, const struct replay_message *message)
{
    struct pgwire_oids types;
    struct replay_request *first = server_described(self, true);
    if (first == NULL ||
        pgwire_parameter_description_read(buf_view(&message->body), &types, NULL) != ERR_NONE) {
        return;
    }
    first->has_parameters = true;
    struct replay_statement *statement = replay_statement_get(self, first->name);
    struct replay_shape *shape = replay_shape_new(self, types.count, 0);
    if (statement == NULL || shape == NULL) {
        replay_shape_unref(shape);
        return;
    }
    for (size_t i = 0; i < shape->count; i++) {
        shape->types[i] = pgwire_oid_at(&types, i);
    }
    replay_shape_unref(statement->parameters);
    statement->parameters = shape;
}

static enum err server_row(struct replay *self, const struct replay_message *message, bool is_cut,
                           struct error *reterr)
{
    struct replay_request *current = server_current(self);
    struct replay_event event = server_event(message, REPLAY_ROW, is_cut);
    enum err err = ERR_NONE;
    if (current != NULL && !current->has_columns) {
        err = server_tell_columns(self, message, current, reterr);
    }
    struct reader reader = reader_of(buf_view(&message->body));
    size_t count = reader_u16(&reader);
    event.statement = current == NULL ? 0 : current->number;
    event.shape = current == NULL ? NULL : current->columns;
    event.values = (struct replay_values){.count = count, .reader = reader, .shape = event.shape};
    return err == ERR_NONE ? replay_tell(self, &event, reterr) : err;
}

static enum err server_done(struct replay *self, const struct replay_message *message,
                            enum replay_kind kind, struct error *reterr)
{
    struct replay_request *current = server_current(self);
    struct replay_event event = server_event(message, kind, false);
    struct pgwire_completion completion = {0};
    if (message->type == PGWIRE_SERVER_COMMAND_COMPLETE &&
        pgwire_completion_read(buf_view(&message->body), &completion, NULL) == ERR_NONE) {
        event.text = completion.tag;
    }
    event.statement = current == NULL ? 0 : current->number;
    if (current != NULL) {
        current->has_columns = false; /* of a query's next result */
    }
    enum err err = replay_tell(self, &event, reterr);
    server_pop_execute(self);
    return err;
}

static enum err server_notice(struct replay *self, const struct replay_message *message,
                              uint64_t number, struct error *reterr)
{
    bool is_error = message->type == PGWIRE_SERVER_ERROR;
    struct replay_event event =
        server_event(message, is_error ? REPLAY_ERROR : REPLAY_NOTICE, false);
    event.statement = number;
    return pgwire_notice_read(buf_view(&message->body), &event.text, NULL) == ERR_NONE
               ? replay_tell(self, &event, reterr)
               : ERR_NONE;
}

/* Of a statement that failed before it could run, and nothing that runs it was sent: it is told of
 * here, where it failed. */
static enum err server_tell_failed(struct replay *self, const struct replay_message *message,
                                   const struct replay_statement *statement, struct error *reterr)
{
    struct replay_event event = server_event(message, REPLAY_STATEMENT, statement->is_cut);
    event.side = RECORD_FROM_CLIENT;
    event.statement = ++self->last_number;
    event.text = statement->text;
    self->told_number = event.statement;
    return replay_tell(self, &event, reterr);
}

/* What stands between an error and the next Sync does not run; the first of it that would run what
 * failed is what the error is about (protocol-flow, "Extended Query"). */
static enum err server_batch_error(struct replay *self, const struct replay_message *message,
                                   struct error *reterr)
{
    const struct replay_request *first = replay_request_at(self, 0);
    uint64_t failed = first->number;
    enum err err = ERR_NONE;
    for (size_t i = 1; failed == 0 && i < self->count; i++) {
        const struct replay_request *request = replay_request_at(self, i);
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
    while (self->count > 0 && replay_request_at(self, 0)->type != PGWIRE_CLIENT_SYNC) {
        struct replay_event event = server_event(message, REPLAY_SKIPPED, false);
        event.statement = replay_request_at(self, 0)->number;
        if (event.statement != 0 && event.statement != failed && err == ERR_NONE) {
            err = replay_tell(self, &event, reterr);
        }
        replay_request_pop(self);
    }
    return err;
}

static enum err server_error(struct replay *self, const struct replay_message *message,
                             struct error *reterr)
{
    struct replay_request *first = replay_request_at(self, 0);
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

/* Everything up to what it answers is answered. */
static void server_ready(struct replay *self)
{
    bool is_found = false;
    while (self->count > 0 && !is_found) {
        char type = replay_request_at(self, 0)->type;
        is_found = type == PGWIRE_CLIENT_SYNC || type == PGWIRE_CLIENT_QUERY ||
                   type == PGWIRE_CLIENT_FUNCTION_CALL;
        replay_request_pop(self);
    }
}

static enum err server_other(struct replay *self, const struct replay_message *message, bool is_cut,
                             struct error *reterr)
{
    struct replay_request *current = server_current(self);
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
    return replay_tell(self, &event, reterr);
}

enum err replay_server_message(struct replay *self, const struct replay_message *message,
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
