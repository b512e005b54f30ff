/* SPDX-License-Identifier: MIT */
#include "api/routes.h"

#include "api/handlers.h"
#include "base/limits.h"
#include "base/memory.h"
#include "model/agent.h"
#include "model/attribute.h"
#include "model/credential.h"
#include "model/machine.h"
#include "model/resource.h"
#include "model/session.h"
#include "model/user.h"

#define BODY       .body_size_max = LIMIT_HTTP_BODY_SIZE
#define SMALL_BODY .body_size_max = LIMIT_KIB(64)

const struct api_route api_routes[] = {
    {"GET", "/api/healthz", API_ANYONE, 0, health_get, "server", "Is the gateway well",
     .status = 200, .answer = API_OBJECT},
    {"GET", "/api/publicserverinfo", API_ANYONE, 0, server_info_get_public, "server",
     "What a sign-in page must know", .status = 200, .answer = API_OBJECT},
    {"GET", "/api/serverinfo", API_MEMBER, 0, server_info_get, "server", "About this gateway",
     .status = 200, .answer = API_OBJECT},
    {"GET", "/api/openapi.json", API_ANYONE, 0, openapi_get, "server", "This description",
     .status = 200, .answer = API_OBJECT},

    {"POST", "/api/localauth/register", API_ANYONE, .handler = local_auth_register,
     .noun = "sign_in", .summary = "Create the first admin", SMALL_BODY, .body = &register_shape,
     .status = 201, .answer = API_OBJECT, .hands_out_tokens = true, .is_slow = true,
     .errors = {403, 409, 429}},
    {"POST", "/api/localauth/login", API_ANYONE, .handler = local_auth_login, .noun = "sign_in",
     .summary = "Sign in with a password; the token comes in the header 'Token'", SMALL_BODY,
     .body = &login_shape, .status = 200, .answer = API_OBJECT, .hands_out_tokens = true,
     .is_slow = true, .errors = {401, 403, 429}},
    {"PUT", "/api/localauth/password", API_MEMBER, .handler = local_password_put, .noun = "sign_in",
     .summary = "Change one's own password", SMALL_BODY, .body = &password_change_shape,
     .status = 200, .answer = API_OBJECT, .is_slow = true, .errors = {429}},
    {"GET", "/api/localauth/second-factor", API_MEMBER, 0, second_factor_get, "second_factor",
     "Is a second factor asked for", .status = 200, .answer = API_OBJECT},
    {"POST", "/api/localauth/second-factor", API_MEMBER, 0, second_factor_post, "second_factor",
     "Begin a second factor; its secret is shown once", .status = 201, .answer = API_OBJECT,
     .errors = {400, 409}},
    {"POST", "/api/localauth/second-factor/confirm", API_MEMBER, .handler = second_factor_confirm,
     .noun = "second_factor", .summary = "Confirm it with a first code; shows recovery codes once",
     SMALL_BODY, .body = &second_factor_code_shape, .status = 200, .answer = API_OBJECT,
     .errors = {404, 409, 429}},
    {"POST", "/api/localauth/second-factor/recovery-codes", API_MEMBER,
     .handler = second_factor_codes, .noun = "second_factor",
     .summary = "New recovery codes in the place of the old ones", SMALL_BODY,
     .body = &second_factor_code_shape, .status = 200, .answer = API_OBJECT,
     .errors = {404, 409, 429}},
    {"POST", "/api/localauth/second-factor/remove", API_MEMBER, .handler = second_factor_remove,
     .noun = "second_factor", .summary = "Sign in without it again", SMALL_BODY,
     .body = &second_factor_code_shape, .status = 204, .answer = API_NOTHING,
     .errors = {404, 409, 429}},
    {"GET", "/api/login", API_ANYONE, 0, login_get, "sign_in",
     "Where to sign in with the identity provider", .query = &login_query_shape, .status = 200,
     .answer = API_OBJECT, .hands_out_tokens = true, .is_slow = true, .errors = {403, 429}},
    {"GET", "/api/login/start", API_ANYONE, 0, login_start, "sign_in",
     "The sign-in of a program, in a browser", .query = &login_start_query_shape, .status = 302,
     .answer = API_NOTHING, .hands_out_tokens = true, .is_slow = true, .errors = {403, 429}},
    {"GET", "/api/callback", API_ANYONE, 0, login_callback, "sign_in",
     "Where the identity provider sends people back", .query = &login_callback_query_shape,
     .status = 302, .answer = API_NOTHING, .hands_out_tokens = true, .is_slow = true,
     .errors = {403, 429}},
    {"GET", "/api/serverconfig/auth", API_ADMIN, 0, server_config_get, "server_config",
     "How people sign in", .status = 200, .answer = API_ONE, .shape = &auth_config_shape},
    {"PUT", "/api/serverconfig/auth", API_ADMIN, .handler = server_config_put,
     .noun = "server_config", .summary = "Set how people sign in; asks the provider first",
     SMALL_BODY, .body = &auth_config_shape, .status = 200, .answer = API_ONE,
     .shape = &auth_config_shape, .is_slow = true},
    {"POST", "/api/logout", API_MEMBER, .handler = local_auth_sign_out, .noun = "sign_in",
     .summary = "Sign out", .query = &sign_out_shape, .status = 204, .answer = API_NOTHING},

    {"GET", "/api/resources", API_MEMBER, 0, resources_list, "resources", "List resources",
     .query = &resource_query_shape, .status = 200, .answer = API_PAGE, .shape = &resource_shape},
    {"POST", "/api/resources", API_ADMIN, .handler = resources_post, .noun = "resources",
     .summary = "Create a resource", BODY, .body = &resource_request_shape, .status = 201,
     .answer = API_ONE, .shape = &resource_shape, .errors = {409}},
    {"GET", "/api/resources/{name}", API_MEMBER, 0, resources_get, "resources", "Get a resource",
     .status = 200, .answer = API_ONE, .shape = &resource_shape, .errors = {404}},
    {"PUT", "/api/resources/{name}", API_ADMIN, .handler = resources_put, .noun = "resources",
     .summary = "Update a resource", BODY, .query = &resource_put_query_shape,
     .body = &resource_request_shape, .status = 200, .answer = API_ONE, .shape = &resource_shape,
     .errors = {404, 412}},
    {"DELETE", "/api/resources/{name}", API_ADMIN, 0, resources_delete, "resources",
     "Delete a resource", .query = &resource_delete_shape, .status = 204, .answer = API_NOTHING,
     .errors = {404, 412}},

    {"GET", "/api/connections", API_MEMBER, 0, connections_list, "connections", "List connections",
     .query = &connection_query_shape, .status = 200, .answer = API_PAGE,
     .shape = &connection_shape},
    {"POST", "/api/connections", API_ADMIN, .handler = connections_post, .noun = "connections",
     .summary = "Create a connection", BODY, .body = &connection_shape, .status = 201,
     .answer = API_ONE, .shape = &connection_shape, .errors = {409}},
    {"GET", "/api/connections/{nameOrID}", API_MEMBER, 0, connections_get, "connections",
     "Get a connection", .status = 200, .answer = API_ONE, .shape = &connection_shape,
     .errors = {404}},
    {"PUT", "/api/connections/{nameOrID}", API_ADMIN, .handler = connections_put,
     .noun = "connections", .summary = "Replace a connection", BODY, .body = &connection_shape,
     .status = 200, .answer = API_ONE, .shape = &connection_shape, .errors = {404, 409, 412}},
    {"PATCH", "/api/connections/{nameOrID}", API_ADMIN, .handler = connections_patch,
     .noun = "connections", .summary = "Change what is sent", BODY, .body = &connection_shape,
     .is_partial = true, .status = 200, .answer = API_ONE, .shape = &connection_shape,
     .errors = {404, 409, 412}},
    {"DELETE", "/api/connections/{nameOrID}", API_ADMIN, 0, connections_delete, "connections",
     "Delete a connection", .status = 204, .answer = API_NOTHING, .errors = {404, 412}},
    {"GET", "/api/connections/{nameOrID}/access", API_READER, 0, connection_access_get,
     "connections", "The groups that may use a connection", .status = 200, .answer = API_ONE,
     .shape = &connection_access_shape, .errors = {404}},
    {"PUT", "/api/connections/{nameOrID}/access", API_ADMIN, .handler = connection_access_put,
     .noun = "connections", .summary = "Say which groups may use a connection", SMALL_BODY,
     .body = &connection_access_shape, .status = 200, .answer = API_ONE,
     .shape = &connection_access_shape, .errors = {404}},
    {"GET", "/api/connection-tags", API_MEMBER, 0, connection_tags_list, "connections",
     "Tags in use", .status = 200, .answer = API_OBJECT},

    {"POST", "/api/connections/{nameOrID}/credentials", API_MEMBER, .handler = credentials_post,
     .noun = "connection_credentials",
     .summary = "Ask for a credential for native clients, which is shown once; an older one ends",
     SMALL_BODY, .body = &credential_request_shape, .status = 201, .answer = API_ONE,
     .shape = &credential_shape, .errors = {404}},
    {"GET", "/api/connections/{nameOrID}/credentials", API_MEMBER, 0, credentials_get,
     "connection_credentials", "The credential that one has, without its secret", .status = 200,
     .answer = API_ONE, .shape = &credential_shape, .errors = {404}},
    {"POST", "/api/connections/{nameOrID}/credentials/{credentialID}/revoke", API_MEMBER, 0,
     credentials_revoke, "connection_credentials",
     "End a credential: one's own, or anybody's for an admin", .status = 204, .answer = API_NOTHING,
     .errors = {404}},
    {"GET", "/api/connection-credentials", API_MEMBER, 0, credentials_list,
     "connection_credentials", "Credentials that are good now, without their secrets",
     .status = 200, .answer = API_ARRAY, .shape = &credential_shape},

    {"GET", "/api/sessions", API_MEMBER, 0, sessions_list, "sessions",
     "List sessions, the newest first", .query = &session_query_shape, .status = 200,
     .answer = API_OBJECT},
    {"GET", "/api/sessions/{id}", API_MEMBER, 0, sessions_get, "sessions", "Get a session",
     .query = &session_get_shape, .status = 200, .answer = API_ONE, .shape = &session_shape,
     .errors = {404, 429}},
    {"POST", "/api/sessions/{id}/kill", API_MEMBER, 0, sessions_kill, "sessions",
     "End a session, on whichever gateway it is: one's own, or anybody's for an admin",
     .status = 204, .answer = API_NOTHING, .errors = {404, 409}},
    {"PATCH", "/api/sessions/{id}/metadata", API_MEMBER, .handler = sessions_patch_metadata,
     .noun = "sessions", .summary = "Say something else about a session of one's own", SMALL_BODY,
     .body = &session_metadata_shape, .status = 204, .answer = API_NOTHING, .errors = {404}},
    {"GET", "/api/sessions/{id}/stream", API_MEMBER, 0, sessions_stream, "sessions",
     "What is on record of a session, and what comes, as server-sent events", .status = 200,
     .answer = API_TEXT, .errors = {404, 429}},
    {"GET", "/api/sessions/{id}/download", API_MEMBER, 0, sessions_download, "sessions",
     "The recording of a session as a file", .query = &session_download_shape, .status = 200,
     .answer = API_TEXT, .is_long = true, .errors = {404, 429}},
    {"GET", "/api/sessions/{id}/verify", API_MEMBER, 0, sessions_verify, "sessions",
     "Is the recording of a session what was written", .status = 200, .answer = API_OBJECT,
     .is_long = true, .errors = {404, 429}},

    {"GET", "/api/attributes", API_MEMBER, 0, attributes_list, "attributes", "List attributes",
     .query = &attribute_query_shape, .status = 200, .answer = API_PAGE, .shape = &attribute_shape},
    {"POST", "/api/attributes", API_ADMIN, .handler = attributes_post, .noun = "attributes",
     .summary = "Create an attribute", BODY, .body = &attribute_shape, .status = 201,
     .answer = API_ONE, .shape = &attribute_shape, .errors = {409}},
    {"GET", "/api/attributes/{name}", API_READER, 0, attributes_get, "attributes",
     "Get an attribute", .status = 200, .answer = API_ONE, .shape = &attribute_shape,
     .errors = {404}},
    {"PUT", "/api/attributes/{name}", API_ADMIN, .handler = attributes_put, .noun = "attributes",
     .summary = "Replace an attribute", BODY, .body = &attribute_shape, .status = 200,
     .answer = API_ONE, .shape = &attribute_shape, .errors = {404, 409}},
    {"DELETE", "/api/attributes/{name}", API_ADMIN, 0, attributes_delete, "attributes",
     "Delete an attribute", .status = 204, .answer = API_NOTHING, .errors = {404}},

    {"GET", "/api/agents", API_MEMBER, 0, agents_list, "agents", "List agents",
     .query = &agent_query_shape, .status = 200, .answer = API_ARRAY, .shape = &agent_shape},
    {"POST", "/api/agents", API_ADMIN, .handler = agents_post, .noun = "agents",
     .summary = "Create an agent; what it is started with is shown once", SMALL_BODY,
     .body = &agent_shape, .status = 201, .answer = API_ONE, .shape = &agent_token_shape,
     .errors = {409}},
    {"GET", "/api/agents/{nameOrID}", API_MEMBER, 0, agents_get, "agents", "Get an agent",
     .status = 200, .answer = API_ONE, .shape = &agent_shape, .errors = {404}},
    {"DELETE", "/api/agents/{nameOrID}", API_ADMIN, 0, agents_delete, "agents", "Delete an agent",
     .query = &agent_delete_shape, .status = 204, .answer = API_NOTHING, .errors = {404}},
    {"GET", "/api/agent-link", API_AGENT, 0, agent_link_get, "agents",
     "Where agents link to the gateway: an upgrade to gatehouse-link/1", .status = 101,
     .answer = API_NOTHING, .errors = {400, 401}},

    {"GET", "/api/users", API_MEMBER, 0, users_list, "users", "List users", .status = 200,
     .answer = API_ARRAY, .shape = &user_shape},
    {"POST", "/api/users", API_ADMIN, .handler = users_post, .noun = "users",
     .summary = "Create a user", SMALL_BODY, .body = &user_shape, .status = 201, .answer = API_ONE,
     .shape = &user_shape, .errors = {409}},
    {"GET", "/api/users/groups", API_MEMBER, 0, groups_list, "user_groups", "List groups",
     .status = 200, .answer = API_TEXTS},
    {"POST", "/api/users/groups", API_ADMIN, .handler = groups_post, .noun = "user_groups",
     .summary = "Create a group", SMALL_BODY, .body = &group_shape, .status = 201,
     .answer = API_ONE, .shape = &group_shape, .errors = {409}},
    {"DELETE", "/api/users/groups/{name}", API_ADMIN, 0, groups_delete, "user_groups",
     "Delete a group", .status = 204, .answer = API_NOTHING, .errors = {404, 409}},
    {"GET", "/api/users/{emailOrID}", API_MEMBER, 0, users_get, "users", "Get a user",
     .status = 200, .answer = API_ONE, .shape = &user_shape, .errors = {404}},
    {"PUT", "/api/users/{emailOrID}", API_ADMIN, .handler = users_put, .noun = "users",
     .summary = "Replace a user", SMALL_BODY, .body = &user_shape, .status = 200, .answer = API_ONE,
     .shape = &user_shape, .errors = {404}},
    {"DELETE", "/api/users/{emailOrID}", API_ADMIN, 0, users_delete, "users", "Delete a user",
     .status = 204, .answer = API_NOTHING, .errors = {404}},
    {"DELETE", "/api/users/{emailOrID}/second-factor", API_ADMIN, 0, second_factor_reset,
     "second_factor", "Remove the second factor of somebody who lost it", .status = 204,
     .answer = API_NOTHING, .errors = {404}},
    {"GET", "/api/userinfo", API_MEMBER, 0, userinfo_get, "users", "Who is signed in",
     .status = 200, .answer = API_OBJECT},

    {"GET", "/api/api-keys", API_ADMIN, 0, api_keys_list, "api_keys", "List API keys",
     .status = 200, .answer = API_ARRAY, .shape = &api_key_shape},
    {"POST", "/api/api-keys", API_ADMIN, .handler = api_keys_post, .noun = "api_keys",
     .summary = "Create an API key, which is shown once", SMALL_BODY, .body = &api_key_shape,
     .status = 201, .answer = API_ONE, .shape = &api_key_shape, .errors = {409}},
    {"GET", "/api/api-keys/{nameOrID}", API_ADMIN, 0, api_keys_get, "api_keys", "Get an API key",
     .status = 200, .answer = API_ONE, .shape = &api_key_shape, .errors = {404}},
    {"PUT", "/api/api-keys/{nameOrID}", API_ADMIN, .handler = api_keys_put, .noun = "api_keys",
     .summary = "Change an API key", SMALL_BODY, .body = &api_key_shape, .status = 200,
     .answer = API_ONE, .shape = &api_key_shape, .errors = {404, 409}},
    {"DELETE", "/api/api-keys/{nameOrID}", API_ADMIN, 0, api_keys_delete, "api_keys",
     "Revoke an API key", .status = 204, .answer = API_NOTHING, .errors = {404}},
    {"POST", "/api/api-keys/{nameOrID}/reactivate", API_ADMIN, 0, api_keys_reactivate, "api_keys",
     "Make a revoked API key valid again", .status = 200, .answer = API_ONE,
     .shape = &api_key_shape, .errors = {404}},

    {"GET", "/api/serviceaccounts", API_READER, 0, service_accounts_list, "service_accounts",
     "List service accounts", .status = 200, .answer = API_ARRAY, .shape = &service_account_shape},
    {"POST", "/api/serviceaccounts", API_ADMIN, .handler = service_accounts_post,
     .noun = "service_accounts", .summary = "Create a service account", SMALL_BODY,
     .body = &service_account_shape, .status = 201, .answer = API_ONE,
     .shape = &service_account_shape, .errors = {409}},
    {"GET", "/api/serviceaccounts/{subjectOrID}", API_READER, 0, service_accounts_get,
     "service_accounts", "Get a service account", .status = 200, .answer = API_ONE,
     .shape = &service_account_shape, .errors = {404}},
    {"PUT", "/api/serviceaccounts/{subjectOrID}", API_ADMIN, .handler = service_accounts_put,
     .noun = "service_accounts", .summary = "Replace a service account, but for its subject",
     SMALL_BODY, .body = &service_account_update_shape, .status = 200, .answer = API_ONE,
     .shape = &service_account_shape, .errors = {404}},
    {"DELETE", "/api/serviceaccounts/{subjectOrID}", API_ADMIN, 0, service_accounts_delete,
     "service_accounts", "Delete a service account", .status = 204, .answer = API_NOTHING,
     .errors = {404}},

    {"GET", "/api/machineidentities", API_READER, 0, machine_identities_list, "machine_identities",
     "List machine identities, the newest first", .status = 200, .answer = API_ARRAY,
     .shape = &machine_identity_shape},
    {"POST", "/api/machineidentities", API_ADMIN, .handler = machine_identities_post,
     .noun = "machine_identities", .summary = "Create a machine identity", BODY,
     .body = &machine_identity_shape, .status = 201, .answer = API_ONE,
     .shape = &machine_identity_shape, .errors = {409}},
    {"GET", "/api/machineidentities/{nameOrID}", API_READER, 0, machine_identities_get,
     "machine_identities", "Get a machine identity", .status = 200, .answer = API_ONE,
     .shape = &machine_identity_shape, .errors = {404}},
    {"PUT", "/api/machineidentities/{nameOrID}", API_ADMIN, .handler = machine_identities_put,
     .noun = "machine_identities", .summary = "Replace a machine identity", BODY,
     .body = &machine_identity_shape, .status = 200, .answer = API_ONE,
     .shape = &machine_identity_shape, .errors = {404, 409}},
    {"DELETE", "/api/machineidentities/{nameOrID}", API_ADMIN, 0, machine_identities_delete,
     "machine_identities", "Delete a machine identity", .status = 204, .answer = API_NOTHING,
     .errors = {404}},

    {"GET", "/api/orgs/hide-role-info", API_ADMIN, 0, hide_role_info_get, "orgs",
     "Are inline values hidden from admins too", .status = 200, .answer = API_ONE,
     .shape = &hide_role_info_shape},
    {"PUT", "/api/orgs/hide-role-info", API_ADMIN, .handler = hide_role_info_put, .noun = "orgs",
     .summary = "Hide inline values from admins too", SMALL_BODY, .body = &hide_role_info_shape,
     .status = 200, .answer = API_ONE, .shape = &hide_role_info_shape},

    {"GET", "/api/audit/logs", API_READER, 0, audit_logs_list, "audit", "Read the audit log",
     .query = &audit_query_shape, .status = 200, .answer = API_PAGE, .shape = &audit_entry_shape},
    {"GET", "/api/audit/logs/export", API_READER, 0, audit_logs_export, "audit",
     "The whole audit log as JSON lines", .status = 200, .answer = API_TEXT},

    {"GET", "/metrics", API_METRICS, .handler = metrics_get},
    {"GET", "/control/log-levels", API_CONTROL, .handler = log_levels_get},
    {"PUT", "/control/log-levels", API_CONTROL, SMALL_BODY, .handler = log_levels_put},
    {"GET", "/control/organizations", API_CONTROL, .handler = organizations_list},
    {"POST", "/control/organizations", API_CONTROL, .handler = organizations_create,
     .noun = "organizations", SMALL_BODY},
};

const size_t api_route_count = COUNT_OF(api_routes);

static enum route_access api_access(enum api_who who)
{
    switch (who) {
    case API_METRICS:
        return ROUTE_METRICS;
    case API_CONTROL:
        return ROUTE_CONTROL;
    case API_ANYONE:
    case API_AGENT:
    case API_MEMBER:
    case API_READER:
    case API_ADMIN:
        break;
    }
    return ROUTE_ANYONE; /* the rest is decided where the caller is known */
}

struct route *api_http_routes_in(struct arena *arena)
{
    struct route *routes = arena_alloc_array(arena, api_route_count, sizeof(*routes));
    for (size_t i = 0; i < api_route_count; i++) {
        const struct api_route *route = &api_routes[i];
        routes[i] = (struct route){
            .method = slice_of_text(route->method),
            .pattern = slice_of_text(route->path),
            .access = api_access(route->who),
            .body_size_max = route->body_size_max,
            .on_pool = api_run,
            .is_slow = route->is_slow,
            .is_long = route->is_long,
            .detail = route,
        };
    }
    return routes;
}
