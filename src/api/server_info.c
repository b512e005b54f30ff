/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "store/organization_store.h"

static enum err server_info_read(struct store_tx *tx, void *context, struct error *reterr)
{
    return organization_store_has_users(tx, SLICE("default"), context, reterr);
}

/* What a sign-in page must know before anybody is signed in. */
enum err server_info_get_public(struct api_call *call, struct error *reterr)
{
    bool has_users = false;
    enum err err = store_read(call->api->store, server_info_read, &has_users, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "auth_method", SLICE("local"));
    json_member_bool(&json, "setup_required", !has_users);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

enum err server_info_get(struct api_call *call, struct error *reterr)
{
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "version", slice_of_text(call->api->version));
    json_member_text(&json, "auth_method", SLICE("local"));
    json_member_text(&json, "tenancy_type", SLICE("selfhosted"));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
