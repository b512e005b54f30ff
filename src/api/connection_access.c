/* SPDX-License-Identifier: MIT */
/* Which groups may use a connection. Whether members may use one without any such rule is a setting
 * of the organization (organizations.c). */
#include "api/connections.h"
#include "api/handlers.h"
#include "model/name.h"
#include "model/user.h"

struct connection_access {
    struct shape_texts groups;
};

static const struct shape_field connection_access_fields[] = {
    {.name = "groups",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct connection_access, groups),
     .max = 200,
     .item_max = GROUP_NAME_MAX,
     .check = title_check,
     .pattern = TITLE_PATTERN,
     .about = "groups whose members may use the connection; empty: no rule"},
};

const struct shape connection_access_shape = {.name = "ConnectionAccess",
                                              .size = sizeof(struct connection_access),
                                              SHAPE_FIELDS(connection_access_fields)};

struct connection_access_call {
    struct api_call *call;
    struct connection_access wanted;
    struct connection_access stored;
};

static enum err connection_access_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct connection_access_call *self = context;
    struct connection_list list = {0};
    enum err err =
        connection_answer_load(self->call, tx, self->call->request->values[0], &list, reterr);
    return err == ERR_NONE
               ? connection_store_access(tx, self->call->arena, list.rows[0]->connection.id,
                                         &self->stored.groups, reterr)
               : err;
}

static enum err connection_access_answer(const struct connection_access_call *self,
                                         struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    shape_write(&connection_access_shape, &self->stored, &json);
    return api_answer_end(self->call, &json, reterr);
}

enum err connection_access_get(struct api_call *call, struct error *reterr)
{
    struct connection_access_call self = {.call = call};
    enum err err = store_read(call->api->store, connection_access_get_body, &self, reterr);
    return err == ERR_NONE ? connection_access_answer(&self, reterr) : err;
}

static enum err connection_access_put_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct connection_access_call *self = context;
    struct api_call *call = self->call;
    struct connection_list list = {0};
    enum err err = connection_answer_load(call, tx, call->request->values[0], &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct connection *connection = &list.rows[0]->connection;
    err = connection_store_set_access(tx, call->caller.organization_id, connection->id,
                                      &self->wanted.groups, reterr);
    if (err == ERR_NONE) {
        err =
            connection_store_access(tx, call->arena, connection->id, &self->stored.groups, reterr);
    }
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "name", connection->name);
    shape_write_members(&connection_access_shape, 0, 0, &self->wanted, &text.json);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(call->arena, &text);
    return err == ERR_NONE ? api_audit(call, tx, "update", 200, payload, reterr) : err;
}

enum err connection_access_put(struct api_call *call, struct error *reterr)
{
    struct connection_access_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &connection_access_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, connection_access_put_body, &self, reterr);
    }
    return err == ERR_NONE ? connection_access_answer(&self, reterr) : err;
}
