/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "api/sign_in.h"
#include "codec/base64.h"
#include "io/clock.h"
#include "model/name.h"
#include "store/organization_store.h"
#include "store/row_id.h"

#include <sodium.h>

#define PASSWORD_RANDOM_SIZE 15

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

struct organization_request {
    struct slice name;
    struct slice admin; /* the address of its first admin; may be empty */
};

static const struct shape_field organization_request_fields[] = {
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct organization_request, name),
     .check = organization_check_name},
    {.name = "admin",
     .kind = SHAPE_TEXT,
     .offset = offsetof(struct organization_request, admin),
     .max = 254,
     .check = email_check},
};

const struct shape organization_request_shape = {.name = "OrganizationRequest",
                                                 .size = sizeof(struct organization_request),
                                                 SHAPE_FIELDS(organization_request_fields)};

struct organizations_creation {
    struct api_call *call;
    struct organization_request wanted;
    struct organization organization;
    struct slice password; /* of the first admin, shown once */
    struct slice password_hash;
};

static enum err organizations_insert_admin(struct organizations_creation *creation,
                                           struct store_tx *tx, struct error *reterr)
{
    struct api_call *call = creation->call;
    struct slice groups[] = {identity_admin_group(call->api->identity)};
    struct user user = {
        .id = row_id_new(call->arena),
        .email = creation->wanted.admin,
        .status = SLICE("active"),
        .groups = {.items = groups, .count = 1, .is_given = true},
    };
    user.subject = user.id;
    const struct user_write write = {.organization_id = creation->organization.id,
                                     .user = &user,
                                     .password_hash = creation->password_hash,
                                     .now = clock_now()};
    return user_store_insert(tx, call->arena, &write, reterr);
}

/* The first entry of its audit log is that it was made. */
static enum err organizations_insert(struct store_tx *tx, void *context, struct error *reterr)
{
    struct organizations_creation *creation = context;
    struct api_call *call = creation->call;
    enum err err = organization_store_create(tx, &creation->organization, reterr);
    if (err == ERR_NONE && creation->password.len > 0) {
        err = organizations_insert_admin(creation, tx, reterr);
    }
    call->caller.organization_id = creation->organization.id;
    return err == ERR_NONE ? api_audit(call, tx, "create", 201, SLICE(""), reterr) : err;
}

static enum err organizations_make_password(struct organizations_creation *creation,
                                            struct error *reterr)
{
    unsigned char random[PASSWORD_RANDOM_SIZE];
    struct api_call *call = creation->call;
    if (creation->wanted.admin.len == 0) {
        return ERR_NONE;
    }
    randombytes_buf(random, sizeof(random));
    creation->password =
        base64_encode_in(call->arena, BASE64_URL, slice_of(random, sizeof(random)));
    sodium_memzero(random, sizeof(random));
    return sign_in_hash_password(call, creation->password, SLICE(""), &creation->password_hash,
                                 reterr);
}

static enum err organizations_answer(const struct organizations_creation *creation,
                                     struct error *reterr)
{
    struct json_writer json = api_answer(creation->call, 201);
    json_begin_object(&json);
    json_member_text(&json, "id", creation->organization.id);
    json_member_text(&json, "name", creation->organization.name);
    json_member_timestamp(&json, "created_at", creation->organization.created_at);
    if (creation->password.len > 0) {
        json_member_text(&json, "admin", creation->wanted.admin);
        json_member_text(&json, "password", creation->password);
    }
    json_end_object(&json);
    return api_answer_end(creation->call, &json, reterr);
}

enum err organizations_create(struct api_call *call, struct error *reterr)
{
    struct organizations_creation creation = {.call = call};
    enum err err =
        api_read_body(call, SHAPE_WHOLE, &organization_request_shape, &creation.wanted, reterr);
    creation.organization = (struct organization){
        .id = row_id_new(call->arena), .name = creation.wanted.name, .created_at = clock_now()};
    if (err == ERR_NONE) {
        err = organizations_make_password(&creation, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, organizations_insert, &creation, reterr);
    }
    if (err != ERR_NONE) {
        call->caller.organization_id = SLICE_NONE; /* there is none to tell it to */
        return err;
    }
    return organizations_answer(&creation, reterr);
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

/* What no access rule names -------------------------------------------------------------------- */

struct default_access {
    struct slice default_access;
};

static const char *const default_access_choices[] = {"members", "nobody", NULL};

static const struct shape_field default_access_fields[] = {
    {.name = "default_access",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct default_access, default_access),
     .choices = default_access_choices,
     .about = "who may use connections that no access rule names: all members of the organization, "
              "or nobody but admins"},
};

const struct shape default_access_shape = {.name = "DefaultAccess",
                                           .size = sizeof(struct default_access),
                                           SHAPE_FIELDS(default_access_fields)};

struct default_access_call {
    struct api_call *call;
    struct default_access value;
};

static enum err default_access_answer(const struct default_access_call *self, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    shape_write(&default_access_shape, &self->value, &json);
    return api_answer_end(self->call, &json, reterr);
}

enum err default_access_get(struct api_call *call, struct error *reterr)
{
    struct default_access_call self = {.call = call};
    self.value.default_access = call->caller.opens_unruled ? SLICE("members") : SLICE("nobody");
    return default_access_answer(&self, reterr);
}

static enum err default_access_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct default_access_call *self = context;
    struct api_text text;
    enum err err = organization_store_set_default_access(tx, self->call->caller.organization_id,
                                                         self->value.default_access, reterr);
    api_text_begin(&text);
    shape_write(&default_access_shape, &self->value, &text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return err == ERR_NONE ? api_audit(self->call, tx, "update", 200, payload, reterr) : err;
}

enum err default_access_put(struct api_call *call, struct error *reterr)
{
    struct default_access_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &default_access_shape, &self.value, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, default_access_write, &self, reterr);
    }
    return err == ERR_NONE ? default_access_answer(&self, reterr) : err;
}

/* The provider's word on roles ---------------------------------------------------------------- */

struct provider_roles {
    struct shape_bool trusts_provider_roles;
};

static const struct shape_field provider_roles_fields[] = {
    {.name = "trusts_provider_roles",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_REQUIRED,
     .offset = offsetof(struct provider_roles, trusts_provider_roles),
     .about = "the identity provider's groups may make admins and auditors of this organization"},
};

const struct shape provider_roles_shape = {.name = "ProviderRoles",
                                           .size = sizeof(struct provider_roles),
                                           SHAPE_FIELDS(provider_roles_fields)};

struct provider_roles_call {
    struct api_call *call;
    struct provider_roles value;
};

static enum err provider_roles_answer(const struct provider_roles_call *self, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    shape_write(&provider_roles_shape, &self->value, &json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err provider_roles_read(struct store_tx *tx, void *context, struct error *reterr)
{
    struct provider_roles_call *self = context;
    return organization_store_trusts_provider(tx, self->call->caller.organization_id,
                                              &self->value.trusts_provider_roles.value, reterr);
}

enum err provider_roles_get(struct api_call *call, struct error *reterr)
{
    struct provider_roles_call self = {.call = call};
    enum err err = store_read(call->api->store, provider_roles_read, &self, reterr);
    return err == ERR_NONE ? provider_roles_answer(&self, reterr) : err;
}

static enum err provider_roles_write(struct store_tx *tx, void *context, struct error *reterr)
{
    struct provider_roles_call *self = context;
    struct api_text text;
    enum err err = organization_store_set_trusts_provider(
        tx, self->call->caller.organization_id, self->value.trusts_provider_roles.value, reterr);
    api_text_begin(&text);
    shape_write(&provider_roles_shape, &self->value, &text.json);
    struct slice payload = api_text_end_in(self->call->arena, &text);
    return err == ERR_NONE ? api_audit(self->call, tx, "update", 200, payload, reterr) : err;
}

enum err provider_roles_put(struct api_call *call, struct error *reterr)
{
    struct provider_roles_call self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &provider_roles_shape, &self.value, reterr);
    if (err == ERR_NONE) {
        err = store_write(call->api->store, provider_roles_write, &self, reterr);
    }
    return err == ERR_NONE ? provider_roles_answer(&self, reterr) : err;
}
