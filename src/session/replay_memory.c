/* SPDX-License-Identifier: MIT */
#include "session/replay_internal.h"

#include "base/limits.h"
#include "base/memory.h"

/* Shapes --------------------------------------------------------------------------------------- */

struct replay_shape *replay_shape_new(struct replay *self, size_t count, size_t names_size)
{
    size_t kept = count > REPLAY_COLUMNS_MAX ? REPLAY_COLUMNS_MAX : count;
    size_t size =
        sizeof(struct replay_shape) + kept * (sizeof(uint32_t) + sizeof(bool)) + names_size;
    if (size > LIMIT_RECORDING_STATEMENT_SIZE - self->shape_size) {
        return NULL;
    }
    struct replay_shape *shape = memory_new(sizeof(*shape));
    shape->replay = self;
    shape->size = size;
    shape->ref_count = 1;
    shape->count = kept;
    shape->types = memory_new_array(kept + 1, sizeof(*shape->types));
    shape->is_binary = memory_new_array(kept + 1, sizeof(*shape->is_binary));
    buf_init(&shape->names, names_size);
    self->shape_size += size;
    return shape;
}

void replay_shape_unref(struct replay_shape *shape)
{
    if (shape != NULL && --shape->ref_count == 0) {
        shape->replay->shape_size -= shape->size;
        memory_free(shape->types);
        memory_free(shape->is_binary);
        buf_release(&shape->names);
        memory_free(shape);
    }
}

struct replay_shape *replay_shape_ref(struct replay_shape *shape)
{
    if (shape != NULL) {
        shape->ref_count++;
    }
    return shape;
}

struct replay_shape *replay_shape_of(struct replay *self, struct slice row_description)
{
    struct pgwire_fields fields;
    struct pgwire_field field;
    if (pgwire_row_description_read(row_description, &fields, NULL) != ERR_NONE) {
        return NULL;
    }
    struct replay_shape *shape = replay_shape_new(self, fields.count, row_description.len);
    if (shape == NULL) {
        return NULL;
    }
    struct writer names = writer_to(&shape->names);
    for (size_t i = 0; i < shape->count && pgwire_field_next(&fields, &field); i++) {
        shape->types[i] = field.type;
        shape->is_binary[i] = field.format == PGWIRE_FORMAT_BINARY;
        writer_text(&names, field.name);
    }
    return shape;
}

struct replay_shape *replay_shape_with(const struct replay_shape *shape,
                                       const struct pgwire_formats *formats)
{
    struct slice names = buf_view(&shape->names);
    struct replay_shape *with = replay_shape_new(shape->replay, shape->count, names.len);
    for (size_t i = 0; with != NULL && i < shape->count; i++) {
        with->types[i] = shape->types[i];
        with->is_binary[i] = pgwire_format_of(formats, i) == PGWIRE_FORMAT_BINARY;
    }
    if (with != NULL) {
        struct writer writer = writer_to(&with->names);
        writer_bytes(&writer, names);
    }
    return with;
}

size_t replay_shape_count(const struct replay_shape *shape)
{
    return shape == NULL ? 0 : shape->count;
}

struct slice replay_shape_name(const struct replay_shape *shape, size_t index)
{
    if (shape == NULL) {
        return SLICE_NONE;
    }
    struct reader reader = reader_of(buf_view(&shape->names));
    struct slice name = SLICE_NONE;
    for (size_t i = 0; i <= index; i++) {
        name = reader_view_text(&reader);
    }
    return name;
}

/* Statements and portals ----------------------------------------------------------------------- */

static struct slice replay_keep(struct replay *self, struct slice bytes)
{
    if (bytes.len == 0 || bytes.len > LIMIT_RECORDING_STATEMENT_SIZE - self->kept_size) {
        return SLICE_NONE;
    }
    char *copy = memory_new(bytes.len);
    (void)memcpy(copy, bytes.at, bytes.len);
    self->kept_size += bytes.len;
    return slice_of(copy, bytes.len);
}

static void replay_unkeep(struct replay *self, struct slice bytes)
{
    self->kept_size -= bytes.len;
    memory_free((char *)(uintptr_t)bytes.at);
}

void replay_statement_unref(struct replay_statement *statement)
{
    if (statement != NULL && --statement->ref_count == 0) {
        statement->replay->kept_count--;
        replay_unkeep(statement->replay, statement->text);
        replay_shape_unref(statement->parameters);
        replay_shape_unref(statement->columns);
        memory_free(statement);
    }
}

struct replay_statement *replay_statement_put(struct replay *self, struct slice name,
                                              struct slice text)
{
    replay_statement_drop(self, name);
    if (self->kept_count >= LIMIT_RECORDING_STATEMENTS || name.len > REPLAY_NAME_MAX) {
        return NULL;
    }
    struct replay_statement *statement = memory_new(sizeof(*statement));
    statement->ref_count = 1;
    statement->replay = self;
    statement->text = replay_keep(self, text);
    statement->is_cut = statement->text.len < text.len;
    self->kept_count++;
    (void)map_put(&self->statements, name, statement);
    return statement;
}

struct replay_statement *replay_statement_get(struct replay *self, struct slice name)
{
    return map_get(&self->statements, name);
}

void replay_statement_drop(struct replay *self, struct slice name)
{
    replay_statement_unref(map_remove(&self->statements, name));
}

static void replay_portal_free(struct replay_portal *portal)
{
    if (portal != NULL) {
        replay_statement_unref(portal->statement);
        replay_unkeep(portal->replay, portal->body);
        replay_shape_unref(portal->columns);
        memory_free(portal);
    }
}

struct replay_portal *replay_portal_put(struct replay *self, struct slice name,
                                        struct replay_statement *statement, struct slice body)
{
    replay_portal_drop(self, name);
    if (map_count(&self->portals) >= LIMIT_RECORDING_STATEMENTS || name.len > REPLAY_NAME_MAX) {
        return NULL;
    }
    struct replay_portal *portal = memory_new(sizeof(*portal));
    portal->replay = self;
    portal->statement = statement;
    if (statement != NULL) {
        statement->ref_count++;
    }
    portal->body = replay_keep(self, body);
    (void)map_put(&self->portals, name, portal);
    return portal;
}

struct replay_portal *replay_portal_get(struct replay *self, struct slice name)
{
    return map_get(&self->portals, name);
}

void replay_portal_drop(struct replay *self, struct slice name)
{
    replay_portal_free(map_remove(&self->portals, name));
}

void replay_memory_release(struct replay *self)
{
    struct slice name;
    void *value = NULL;
    while (self->count > 0) {
        replay_request_pop(self);
    }
    for (size_t at = 0; map_next(&self->portals, &at, &name, &value);) {
        replay_portal_free(value);
    }
    for (size_t at = 0; map_next(&self->statements, &at, &name, &value);) {
        replay_statement_unref(value);
    }
    map_release(&self->portals);
    map_release(&self->statements);
    memory_free(self->requests);
}

/* The queue ------------------------------------------------------------------------------------ */

struct replay_request *replay_request_at(struct replay *self, size_t index)
{
    return index < self->count ? &self->requests[(self->first + index) % LIMIT_PGWIRE_OWED] : NULL;
}

void replay_request_pop(struct replay *self)
{
    struct replay_request *request = replay_request_at(self, 0);
    replay_statement_unref(request->statement);
    replay_shape_unref(request->columns);
    memory_free((char *)(uintptr_t)request->name.at);
    self->first = (self->first + 1) % LIMIT_PGWIRE_OWED;
    self->count--;
}

struct replay_request *replay_request_push(struct replay *self, char type)
{
    if (self->requests == NULL) {
        self->requests = memory_new_array(LIMIT_PGWIRE_OWED, sizeof(*self->requests));
    }
    if (self->count == LIMIT_PGWIRE_OWED) {
        replay_request_pop(self);
    }
    self->count++;
    struct replay_request *request = replay_request_at(self, self->count - 1);
    *request = (struct replay_request){.type = type};
    return request;
}

/* The newest first: it is the one that is being told of. */
struct replay_request *replay_request_find(struct replay *self, uint64_t number)
{
    for (size_t i = self->count; i > 0 && number > 0; i--) {
        struct replay_request *request = replay_request_at(self, i - 1);
        if (request->number == number) {
            return request;
        }
    }
    return NULL;
}
