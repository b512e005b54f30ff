/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_replay_internal.h"

#include "base/limits.h"
#include "base/memory.h"

/* Shapes --------------------------------------------------------------------------------------- */

struct pg_replay_shape *pg_replay_shape_new(struct pg_replay *self, size_t count, size_t names_size)
{
    size_t kept = count > PG_REPLAY_COLUMNS_MAX ? PG_REPLAY_COLUMNS_MAX : count;
    size_t of_each = sizeof(uint32_t) + sizeof(bool) + (names_size == 0 ? 0 : sizeof(struct slice));
    size_t size = sizeof(struct pg_replay_shape) + kept * of_each + names_size;
    if (size > LIMIT_RECORDING_STATEMENT_SIZE - self->shape_size) {
        return NULL;
    }
    struct pg_replay_shape *shape = memory_new(sizeof(*shape));
    shape->replay = self;
    shape->size = size;
    shape->ref_count = 1;
    shape->count = kept;
    shape->types = memory_new_array(kept + 1, sizeof(*shape->types));
    shape->is_binary = memory_new_array(kept + 1, sizeof(*shape->is_binary));
    if (names_size > 0) {
        shape->names = memory_new_array(kept + 1, sizeof(*shape->names));
    }
    buf_init(&shape->name_bytes, names_size);
    self->shape_size += size;
    return shape;
}

void pg_replay_shape_unref(struct pg_replay_shape *shape)
{
    if (shape != NULL && --shape->ref_count == 0) {
        shape->replay->shape_size -= shape->size;
        memory_free(shape->types);
        memory_free(shape->is_binary);
        memory_free(shape->names);
        buf_release(&shape->name_bytes);
        memory_free(shape);
    }
}

struct pg_replay_shape *pg_replay_shape_ref(struct pg_replay_shape *shape)
{
    if (shape != NULL) {
        shape->ref_count++;
    }
    return shape;
}

size_t pg_replay_shape_count(const struct pg_replay_shape *shape)
{
    return shape == NULL ? 0 : shape->count;
}

/* Finds the names in their bytes, which are complete. */
static void shape_split_names(struct pg_replay_shape *shape)
{
    struct reader reader = reader_of(buf_view(&shape->name_bytes));
    for (size_t i = 0; shape->names != NULL && i < shape->count; i++) {
        shape->names[i] = reader_view_text(&reader);
    }
}

struct pg_replay_shape *pg_replay_shape_of(struct pg_replay *self, struct slice row_description)
{
    struct pgwire_fields fields;
    struct pgwire_field field;
    if (pgwire_row_description_read(row_description, &fields, NULL) != ERR_NONE) {
        return NULL;
    }
    struct pg_replay_shape *shape = pg_replay_shape_new(self, fields.count, row_description.len);
    if (shape == NULL) {
        return NULL;
    }
    struct writer names = writer_to(&shape->name_bytes);
    for (size_t i = 0; i < shape->count && pgwire_field_next(&fields, &field); i++) {
        shape->types[i] = field.type;
        shape->is_binary[i] = field.format == PGWIRE_FORMAT_BINARY;
        writer_text(&names, field.name);
    }
    shape_split_names(shape);
    return shape;
}

struct pg_replay_shape *pg_replay_shape_with(const struct pg_replay_shape *shape,
                                             const struct pgwire_formats *formats)
{
    struct slice names = buf_view(&shape->name_bytes);
    struct pg_replay_shape *with = pg_replay_shape_new(shape->replay, shape->count, names.len);
    if (with == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < shape->count; i++) {
        with->types[i] = shape->types[i];
        with->is_binary[i] = pgwire_format_of(formats, i) == PGWIRE_FORMAT_BINARY;
    }
    struct writer writer = writer_to(&with->name_bytes);
    writer_bytes(&writer, names);
    shape_split_names(with);
    return with;
}

/* Statements and portals ----------------------------------------------------------------------- */

static struct slice pg_replay_keep(struct pg_replay *self, struct slice bytes)
{
    if (bytes.len == 0 || bytes.len > LIMIT_RECORDING_STATEMENT_SIZE - self->kept_size) {
        return SLICE_NONE;
    }
    char *copy = memory_new(bytes.len);
    (void)memcpy(copy, bytes.at, bytes.len);
    self->kept_size += bytes.len;
    return slice_of(copy, bytes.len);
}

static void pg_replay_unkeep(struct pg_replay *self, struct slice bytes)
{
    self->kept_size -= bytes.len;
    memory_free((char *)(uintptr_t)bytes.at);
}

void pg_replay_statement_unref(struct pg_replay_statement *statement)
{
    if (statement != NULL && --statement->ref_count == 0) {
        statement->replay->kept_count--;
        pg_replay_unkeep(statement->replay, statement->text);
        pg_replay_shape_unref(statement->parameters);
        pg_replay_shape_unref(statement->columns);
        memory_free(statement);
    }
}

struct pg_replay_statement *pg_replay_statement_put(struct pg_replay *self, struct slice name,
                                                    struct slice text)
{
    pg_replay_statement_drop(self, name);
    if (self->kept_count >= LIMIT_RECORDING_STATEMENTS) {
        return NULL;
    }
    struct pg_replay_statement *statement = memory_new(sizeof(*statement));
    statement->ref_count = 1;
    statement->replay = self;
    statement->text = pg_replay_keep(self, text);
    statement->is_cut = statement->text.len < text.len;
    self->kept_count++;
    (void)map_put(&self->statements, name, statement);
    return statement;
}

struct pg_replay_statement *pg_replay_statement_get(struct pg_replay *self, struct slice name)
{
    return map_get(&self->statements, name);
}

void pg_replay_statement_drop(struct pg_replay *self, struct slice name)
{
    pg_replay_statement_unref(map_remove(&self->statements, name));
}

static void pg_replay_portal_free(struct pg_replay_portal *portal)
{
    if (portal != NULL) {
        pg_replay_statement_unref(portal->statement);
        pg_replay_unkeep(portal->replay, portal->body);
        pg_replay_shape_unref(portal->columns);
        memory_free(portal);
    }
}

struct pg_replay_portal *pg_replay_portal_put(struct pg_replay *self, struct slice name,
                                              struct pg_replay_statement *statement,
                                              struct slice body)
{
    pg_replay_portal_drop(self, name);
    if (map_count(&self->portals) >= LIMIT_RECORDING_STATEMENTS) {
        return NULL;
    }
    struct pg_replay_portal *portal = memory_new(sizeof(*portal));
    portal->replay = self;
    portal->statement = statement;
    if (statement != NULL) {
        statement->ref_count++;
    }
    portal->body = pg_replay_keep(self, body);
    (void)map_put(&self->portals, name, portal);
    return portal;
}

struct pg_replay_portal *pg_replay_portal_get(struct pg_replay *self, struct slice name)
{
    return map_get(&self->portals, name);
}

void pg_replay_portal_drop(struct pg_replay *self, struct slice name)
{
    pg_replay_portal_free(map_remove(&self->portals, name));
}

void pg_replay_memory_release(struct pg_replay *self)
{
    struct slice name;
    void *value = NULL;
    while (self->count > 0) {
        pg_replay_request_pop(self);
    }
    for (size_t at = 0; map_next(&self->portals, &at, &name, &value);) {
        pg_replay_portal_free(value);
    }
    for (size_t at = 0; map_next(&self->statements, &at, &name, &value);) {
        pg_replay_statement_unref(value);
    }
    map_release(&self->portals);
    map_release(&self->statements);
    memory_free(self->requests);
}

/* The queue ------------------------------------------------------------------------------------ */

struct pg_replay_request *pg_replay_request_at(struct pg_replay *self, size_t index)
{
    return index < self->count ? &self->requests[(self->first + index) % LIMIT_PGWIRE_OWED] : NULL;
}

void pg_replay_request_pop(struct pg_replay *self)
{
    struct pg_replay_request *request = pg_replay_request_at(self, 0);
    pg_replay_statement_unref(request->statement);
    pg_replay_shape_unref(request->columns);
    memory_free((char *)(uintptr_t)request->name.at);
    self->first = (self->first + 1) % LIMIT_PGWIRE_OWED;
    self->count--;
}

struct pg_replay_request *pg_replay_request_push(struct pg_replay *self, char type)
{
    if (self->requests == NULL) {
        self->requests = memory_new_array(LIMIT_PGWIRE_OWED, sizeof(*self->requests));
    }
    if (self->count == LIMIT_PGWIRE_OWED) {
        pg_replay_request_pop(self);
    }
    self->count++;
    struct pg_replay_request *request = pg_replay_request_at(self, self->count - 1);
    *request = (struct pg_replay_request){.type = type};
    return request;
}

/* The newest first: it is the one that is being told of. */
struct pg_replay_request *pg_replay_request_find(struct pg_replay *self, uint64_t number)
{
    for (size_t i = self->count; i > 0 && number > 0; i--) {
        struct pg_replay_request *request = pg_replay_request_at(self, i - 1);
        if (request->number == number) {
            return request;
        }
    }
    return NULL;
}
