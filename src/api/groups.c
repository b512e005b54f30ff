/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "io/clock.h"
#include "model/name.h"
#include "store/user_store.h"

struct group {
    struct slice name;
};

static const struct shape_field group_fields[] = {
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct group, name),
     .min = 1,
     .max = GROUP_NAME_MAX,
     .check = title_check,
     .pattern = TITLE_PATTERN},
};

const struct shape group_shape = {
    .name = "Group", .size = sizeof(struct group), SHAPE_FIELDS(group_fields)};

struct group_call {
    struct api_call *call;
    struct group group;
    struct shape_texts names;
};

static enum err groups_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct group_call *self = context;
    return group_store_list(tx, self->call->arena, self->call->caller.organization_id, &self->names,
                            reterr);
}

enum err groups_list(struct api_call *call, struct error *reterr)
{
    struct group_call self = {.call = call};
    enum err err = store_read(call->api->store, groups_list_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < self.names.count; i++) {
        json_text(&json, self.names.items[i]);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static struct slice group_payload(const struct group_call *self)
{
    struct api_text text;
    api_text_begin(&text);
    shape_write(&group_shape, &self->group, &text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err group_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct group_call *self = context;
    enum err err = group_store_insert(tx, self->call->caller.organization_id, self->group.name,
                                      clock_now(), reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "create", 201, group_payload(self), reterr)
                           : err;
}

enum err groups_post(struct api_call *call, struct error *reterr)
{
    struct group_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &group_shape, &self.group, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, group_post_body, &self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 201);
    shape_write(&group_shape, &self.group, &json);
    return api_answer_end(call, &json, reterr);
}

static enum err group_delete_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct group_call *self = context;
    enum err err =
        group_store_delete(tx, self->call->caller.organization_id, self->group.name, reterr);
    return err == ERR_NONE ? api_audit(self->call, tx, "delete", 204, group_payload(self), reterr)
                           : err;
}

enum err groups_delete(struct api_call *call, struct error *reterr)
{
    struct group_call self = {.call = call, .group = {.name = call->request->values[0]}};
    call->response->status = 204;
    if (slice_equals(self.group.name, identity_admin_group(call->api->identity))) {
        return fail(reterr, ERR_INPUT, "the group of the admins cannot be deleted");
    }
    return store_write(call->api->store, group_delete_body, &self, reterr);
}
