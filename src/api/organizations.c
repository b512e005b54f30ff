/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "codec/json.h"
#include "io/clock.h"
#include "store/organization_store.h"
#include "store/row_id.h"

static void organizations_write(struct json_writer *json, const struct organization *organization)
{
    json_begin_object(json);
    json_member_text(json, "id", organization->id);
    json_member_text(json, "name", organization->name);
    json_member_timestamp(json, "created_at", organization->created_at);
    json_end_object(json);
}

struct organizations_list {
    struct arena *arena;
    struct organization *organizations;
    size_t count;
};

static enum err organizations_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct organizations_list *list = context;
    return organization_store_list(tx, list->arena, &list->organizations, &list->count, reterr);
}

enum err organizations_list(struct api_call *call, struct error *reterr)
{
    struct organizations_list list = {.arena = call->arena};
    enum err err = store_read(call->api->store, organizations_read, &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < list.count; i++) {
        organizations_write(&json, &list.organizations[i]);
    }
    json_end_array(&json);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

struct organizations_creation {
    struct api_call *call;
    struct organization organization;
};

/* The first entry of its audit log is that it was made. */
static enum err organizations_insert(struct store_tx *tx, void *context, struct error *reterr)
{
    struct organizations_creation *creation = context;
    struct api_call *call = creation->call;
    enum err err = organization_store_create(tx, &creation->organization, reterr);
    call->caller.organization_id = creation->organization.id;
    return err == ERR_NONE ? api_audit(call, tx, "create", 201, SLICE(""), reterr) : err;
}

enum err organizations_create(struct api_call *call, struct error *reterr)
{
    struct json body;
    struct organizations_creation creation = {
        .call = call,
        .organization = {.id = row_id_new(call->arena), .created_at = clock_now()},
    };
    struct slice *name = &creation.organization.name;
    enum err err = json_parse_in(call->arena, call->request->body, &body, reterr);
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&body, "name"), name, reterr);
    }
    if (err == ERR_NONE) {
        err = organization_check_name(*name, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, organizations_insert, &creation, reterr);
    }
    if (err != ERR_NONE) {
        call->caller.organization_id = SLICE_NONE; /* there is none to tell it to */
        return err;
    }
    struct json_writer json = api_answer(call, 201);
    organizations_write(&json, &creation.organization);
    return api_answer_end(call, &json, reterr);
}

struct hide_role_info {
    struct shape_bool hide_role_info;
};

static const struct shape_field hide_role_info_fields[] = {
    {.name = "hide_role_info",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct hide_role_info, hide_role_info)},
};

const struct shape hide_role_info_shape = {.name = "HideRoleInfo",
                                           .size = sizeof(struct hide_role_info),
                                           SHAPE_FIELDS(hide_role_info_fields)};

struct hide_role_info_call {
    struct api_call *call;
    struct hide_role_info value;
};

static enum err hide_role_info_answer(const struct hide_role_info_call *self, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    shape_write(&hide_role_info_shape, &self->value, &json);
    return api_answer_end(self->call, &json, reterr);
}

enum err hide_role_info_get(struct api_call *call, struct error *reterr)
{
    struct hide_role_info_call self = {.call = call};
    self.value.hide_role_info.value = call->caller.hides_role_info;
    return hide_role_info_answer(&self, reterr);
}

static enum err hide_role_info_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct hide_role_info_call *self = context;
    struct api_text text;
    enum err err = organization_store_set_hide_role_info(tx, self->call->caller.organization_id,
                                                         self->value.hide_role_info.value, reterr);
    api_text_begin(&text);
    shape_write(&hide_role_info_shape, &self->value, &text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return err == ERR_NONE ? api_audit(self->call, tx, "update", 200, payload, reterr) : err;
}

enum err hide_role_info_put(struct api_call *call, struct error *reterr)
{
    struct hide_role_info_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &hide_role_info_shape, &self.value, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, hide_role_info_write, &self, reterr);
    }
    return err == ERR_NONE ? hide_role_info_answer(&self, reterr) : err;
}
