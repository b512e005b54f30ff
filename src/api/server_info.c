/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "store/organization_store.h"

/* "oidc", and what kind of provider it is, or "local". */
static enum err server_info_write_method(struct api_call *call, struct json_writer *json,
                                         struct error *reterr)
{
    struct provider *provider = NULL;
    enum err err = identity_provider(call->api->identity, &provider, reterr);
    if (err != ERR_NONE && err != ERR_NOT_FOUND) {
        return err;
    }
    json_member_text(json, "auth_method", provider == NULL ? SLICE("local") : SLICE("oidc"));
    json_member_bool(json, "local_auth", call->api->takes_passwords);
    if (provider != NULL) {
        struct slice name = provider_settings(provider)->name;
        json_member_text(json, "idp_provider_name", provider_kind(provider));
        json_member_bool(json, "has_idp_audience", provider_settings(provider)->audience.len > 0);
        json_member_text(json, "provider_name", name.len > 0 ? name : provider_kind(provider));
    }
    provider_unref(provider);
    return ERR_NONE;
}

static enum err server_info_read(struct store_tx *tx, void *context, struct error *reterr)
{
    return organization_store_has_users(tx, SLICE("default"), context, reterr);
}

static enum err server_info_look_for_users(struct api *api, struct error *reterr)
{
    bool has_users = false;
    if (atomic_load(&api->has_users)) {
        return ERR_NONE;
    }
    enum err err = store_read(api->store, server_info_read, &has_users, reterr);
    atomic_store(&api->has_users, has_users);
    return err;
}

/* What a sign-in page must know before anybody is signed in. */
enum err server_info_get_public(struct api_call *call, struct error *reterr)
{
    enum err err = server_info_look_for_users(call->api, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_bool(&json, "setup_required", !atomic_load(&call->api->has_users));
    err = server_info_write_method(call, &json, reterr);
    json_end_object(&json);
    return err == ERR_NONE ? api_answer_end(call, &json, reterr) : err;
}

enum err server_info_get(struct api_call *call, struct error *reterr)
{
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "version", slice_of_text(call->api->version));
    json_member_text(&json, "tenancy_type", SLICE("selfhosted"));
    json_member_text(&json, "api_url", call->api->public_url);
    enum err err = server_info_write_method(call, &json, reterr);
    json_end_object(&json);
    return err == ERR_NONE ? api_answer_end(call, &json, reterr) : err;
}

/* For whoever runs the gateway and did not see it start. */
enum err setup_code_get(struct api_call *call, struct error *reterr)
{
    bool has_users = false;
    enum err err = store_read(call->api->store, server_info_read, &has_users, reterr);
    if (err == ERR_NONE && (has_users || call->api->setup_code.len == 0)) {
        err =
            fail(reterr, ERR_CONFLICT,
                 "there is no set-up code: somebody is registered already, who can invite others");
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_object(&json);
    json_member_text(&json, "setup_code", call->api->setup_code);
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}
