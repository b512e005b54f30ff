/* SPDX-License-Identifier: MIT */
/* Bodies may be cut, so they are read field by field here: what is there counts. */
#include "base/memory.h"
#include "protocol/postgres/pg_replay_internal.h"

struct client_bind {
    struct slice portal;
    struct slice statement;
    struct pgwire_formats formats;
    struct replay_values values;
    struct pgwire_formats result_formats; /* none when the body is cut */
};

/* Up to the NUL, or what is left of a body that is cut. */
static struct slice client_text(struct reader *reader)
{
    size_t left = reader_left(reader);
    struct slice rest = slice_from(reader->input, reader->index);
    struct slice text = reader_view_text(reader);
    return reader->failed ? slice_sub(rest, 0, left) : text;
}

static struct replay_event client_event(const struct pg_replay_message *message,
                                        enum replay_kind kind)
{
    return (struct replay_event){
        .kind = kind,
        .side = message->side,
        .time = message->time,
        .statement = message->number,
    };
}

static enum err client_query(struct pg_replay *self, const struct pg_replay_message *message,
                             bool is_cut, struct error *reterr)
{
    struct reader reader = reader_of(buf_view(&message->body));
    struct replay_event event = client_event(message, REPLAY_STATEMENT);
    event.text = client_text(&reader);
    event.is_cut = is_cut;
    return pg_replay_tell(self, &event, reterr);
}

static struct pg_replay_request *client_newest(struct pg_replay *self, char type)
{
    struct pg_replay_request *request =
        self->count == 0 ? NULL : pg_replay_request_at(self, self->count - 1);
    return request != NULL && request->type == type ? request : NULL;
}

static void client_parse(struct pg_replay *self, const struct pg_replay_message *message,
                         bool is_cut)
{
    struct reader reader = reader_of(buf_view(&message->body));
    struct slice name = pgwire_name_read(&reader);
    struct slice text = client_text(&reader);
    struct pgwire_oids types = pgwire_oids_read(&reader);
    struct pg_replay_statement *statement = pg_replay_statement_put(self, name, text);
    struct pg_replay_request *request = client_newest(self, PGWIRE_CLIENT_PARSE);
    if (statement == NULL) {
        return;
    }
    statement->is_cut = statement->is_cut || is_cut;
    statement->parameters =
        reader.failed || types.count == 0 ? NULL : pg_replay_shape_new(self, types.count, 0);
    for (size_t i = 0; i < pg_replay_shape_count(statement->parameters); i++) {
        statement->parameters->types[i] = pgwire_oid_at(&types, i);
    }
    if (request != NULL) {
        statement->ref_count++;
        request->statement = statement;
    }
}

static struct client_bind client_read_bind(struct slice body)
{
    struct client_bind bind = {0};
    struct reader reader = reader_of(body);
    struct slice value = SLICE_NONE;
    bind.portal = pgwire_name_read(&reader);
    bind.statement = pgwire_name_read(&reader);
    bind.formats = pgwire_formats_read(&reader);
    size_t count = reader_u16(&reader);
    bind.values = pg_replay_values_of(count, reader, NULL);
    for (size_t i = 0; i < count && !reader.failed; i++) {
        value = pgwire_value_read(&reader);
    }
    (void)value;
    if (!reader.failed) {
        bind.result_formats = pgwire_formats_read(&reader);
    }
    return bind;
}

static void client_bind(struct pg_replay *self, const struct pg_replay_message *message)
{
    struct slice body = buf_view(&message->body);
    struct client_bind bind = client_read_bind(body);
    struct pg_replay_statement *statement = pg_replay_statement_get(self, bind.statement);
    struct pg_replay_portal *portal = pg_replay_portal_put(self, bind.portal, statement, body);
    struct pg_replay_request *request = client_newest(self, PGWIRE_CLIENT_BIND);
    if (portal != NULL && statement != NULL && statement->columns != NULL) {
        portal->columns = pg_replay_shape_with(statement->columns, &bind.result_formats);
    }
    if (request != NULL && statement != NULL) {
        statement->ref_count++;
        request->statement = statement;
    }
}

/* The types as far as they are known ('types' may be NULL), with the formats of the Bind. */
static struct pg_replay_shape *client_parameters(struct pg_replay *self,
                                                 const struct pg_replay_shape *types,
                                                 const struct client_bind *bind)
{
    struct pg_replay_shape *shape = pg_replay_shape_new(self, bind->values.count, 0);
    for (size_t i = 0; i < pg_replay_shape_count(shape); i++) {
        shape->types[i] = types != NULL && i < types->count ? types->types[i] : 0;
        shape->is_binary[i] = pgwire_format_of(&bind->formats, i) == PGWIRE_FORMAT_BINARY;
    }
    return shape;
}

static enum err client_execute(struct pg_replay *self, const struct pg_replay_message *message,
                               struct error *reterr)
{
    struct reader reader = reader_of(buf_view(&message->body));
    struct pg_replay_portal *portal = pg_replay_portal_get(self, client_text(&reader));
    struct pg_replay_request *request = pg_replay_request_find(self, message->number);
    struct pg_replay_statement *statement = portal == NULL ? NULL : portal->statement;
    struct replay_event event = client_event(message, REPLAY_STATEMENT);
    if (request != NULL && statement != NULL) {
        statement->ref_count++;
        request->statement = statement;
    }
    if (request != NULL && portal != NULL) {
        pg_replay_shape_unref(
            request->columns); /* the server was faster than the rest of the message */
        request->columns = pg_replay_shape_ref(portal->columns);
    }
    event.text = statement == NULL ? SLICE_NONE : statement->text;
    event.is_cut = statement == NULL || statement->is_cut;
    struct client_bind bind = client_read_bind(portal == NULL ? SLICE_NONE : portal->body);
    struct pg_replay_shape *shape =
        client_parameters(self, statement == NULL ? NULL : statement->parameters, &bind);
    event.values = bind.values;
    event.values.types = shape;
    enum err err = pg_replay_tell(self, &event, reterr);
    pg_replay_shape_unref(shape);
    return err;
}

static void client_object(struct pg_replay *self, const struct pg_replay_message *message)
{
    struct pgwire_object object;
    struct pg_replay_request *request = client_newest(self, PGWIRE_CLIENT_DESCRIBE);
    if (pgwire_object_read(buf_view(&message->body), &object, NULL) != ERR_NONE) {
        return;
    }
    if (message->type == PGWIRE_CLIENT_CLOSE && object.kind == PGWIRE_STATEMENT) {
        pg_replay_statement_drop(self, object.name);
    } else if (message->type == PGWIRE_CLIENT_CLOSE) {
        pg_replay_portal_drop(self, object.name);
    } else if (request != NULL) {
        char *copy = memory_new(object.name.len + 1);
        if (object.name.len > 0) {
            (void)memcpy(copy, object.name.at, object.name.len);
        }
        request->object = (char)object.kind;
        request->name = slice_of(copy, object.name.len);
    }
}

static enum err client_function_call(struct pg_replay *self,
                                     const struct pg_replay_message *message, struct error *reterr)
{
    char text[48];
    struct reader reader = reader_of(buf_view(&message->body));
    struct replay_event event = client_event(message, REPLAY_STATEMENT);
    uint32_t function = reader_u32(&reader);
    (void)snprintf(text, sizeof(text), "(call of function %u)", function);
    event.text = slice_of_text(text);
    struct client_bind bind = {.formats = pgwire_formats_read(&reader)};
    size_t count = reader_u16(&reader);
    bind.values = pg_replay_values_of(reader.failed ? 0 : count, reader, NULL);
    struct pg_replay_shape *shape = client_parameters(self, NULL, &bind);
    event.values = bind.values;
    event.values.types = shape;
    enum err err = pg_replay_tell(self, &event, reterr);
    pg_replay_shape_unref(shape);
    return err;
}

static enum err client_copy(struct pg_replay *self, const struct pg_replay_message *message,
                            bool is_cut, struct error *reterr)
{
    bool has_failed = message->type == PGWIRE_CLIENT_COPY_FAIL;
    struct replay_event event =
        client_event(message, has_failed ? REPLAY_COPY_FAILED : REPLAY_COPY);
    struct reader reader = reader_of(buf_view(&message->body));
    event.statement = self->told_number;
    event.text = has_failed ? client_text(&reader) : buf_view(&message->body);
    event.is_cut = is_cut;
    return pg_replay_tell(self, &event, reterr);
}

enum err pg_replay_client_message(struct pg_replay *self, const struct pg_replay_message *message,
                                  bool is_cut, struct error *reterr)
{
    switch (message->type) {
    case PGWIRE_CLIENT_QUERY:
        return client_query(self, message, is_cut, reterr);
    case PGWIRE_CLIENT_PARSE:
        client_parse(self, message, is_cut);
        return ERR_NONE;
    case PGWIRE_CLIENT_BIND:
        client_bind(self, message);
        return ERR_NONE;
    case PGWIRE_CLIENT_EXECUTE:
        return client_execute(self, message, reterr);
    case PGWIRE_CLIENT_FUNCTION_CALL:
        return client_function_call(self, message, reterr);
    case PGWIRE_CLIENT_DESCRIBE:
    case PGWIRE_CLIENT_CLOSE:
        client_object(self, message);
        return ERR_NONE;
    case PGWIRE_CLIENT_COPY_DATA:
    case PGWIRE_CLIENT_COPY_FAIL:
        return client_copy(self, message, is_cut, reterr);
    default:
        return ERR_NONE;
    }
}
