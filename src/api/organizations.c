/* SPDX-License-Identifier: MIT */
#include "api/api.h"
#include "api/handlers.h"
#include "codec/json.h"
#include "codec/uuid.h"
#include "io/clock.h"
#include "store/organization_store.h"

#include <unistd.h>

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

enum err organizations_list(struct http_call *call, struct error *reterr)
{
    struct organizations_list list = {.arena = call->arena};
    enum err err = store_read(api_of(call)->store, organizations_read, &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = http_call_json(call, 200);
    json_begin_object(&json);
    json_member_array(&json, "data");
    for (size_t i = 0; i < list.count; i++) {
        organizations_write(&json, &list.organizations[i]);
    }
    json_end_array(&json);
    json_end_object(&json);
    return http_call_json_end(call, &json, reterr);
}

static enum err organizations_insert(struct store_tx *tx, void *context, struct error *reterr)
{
    return organization_store_create(tx, context, reterr);
}

enum err organizations_create(struct http_call *call, struct error *reterr)
{
    struct json body;
    struct organization organization = {.created_at = clock_now()};
    unsigned char random[UUID_RANDOM_SIZE];
    char id[UUID_TEXT_SIZE];
    enum err err = json_parse_in(call->arena, call->request->body, &body, reterr);
    if (err == ERR_NONE) {
        err = json_as_text(json_member(&body, "name"), &organization.name, reterr);
    }
    if (err == ERR_NONE) {
        err = organization_check_name(organization.name, reterr);
    }
    if (err == ERR_NONE && getentropy(random, sizeof(random)) != 0) {
        err = fail(reterr, ERR_INTERNAL, "the system gives no random bytes");
    }
    if (err != ERR_NONE) {
        return err;
    }
    organization.id = uuid_make_v7(organization.created_at, random, id);
    err = store_write(api_of(call)->store, organizations_insert, &organization, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = http_call_json(call, 201);
    organizations_write(&json, &organization);
    return http_call_json_end(call, &json, reterr);
}
