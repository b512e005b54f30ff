/* SPDX-License-Identifier: MIT */
#include "api/secret_references.h"

#include "model/secret_trust.h"

static unsigned secret_references_sources(const struct api_call *call)
{
    return secret_trust_of(call->api->secret_trust, call->caller.organization_id,
                           call->caller.organization_name);
}

/* The embedded agent of an organization has the organization's id. */
static bool secret_references_are_free(const struct api_call *call, struct slice agent_id)
{
    return !slice_equals(agent_id, call->caller.organization_id) ||
           secret_references_sources(call) == SECRET_SOURCES_ALL;
}

enum err secret_references_check_connection(const struct api_call *call, struct store_tx *tx,
                                            const struct connection *connection,
                                            struct slice agent_id, struct error *reterr)
{
    struct arena secrets CLEANUP(arena_release);
    struct shape_pairs variables = {0};
    arena_init(&secrets);
    if (secret_references_are_free(call, agent_id)) {
        return ERR_NONE;
    }
    arena_hold_secrets(&secrets);
    enum err err = connection_store_variables(tx, &secrets, connection->id, &variables, reterr);
    if (err == ERR_NONE) {
        err = secret_trust_check(secret_references_sources(call), &variables, reterr);
    }
    if (err == ERR_INPUT) {
        error_prefix(
            reterr,
            arena_format(call->arena, "the connection '%.*s': ", SLICE_ARG(connection->name)).at);
    }
    return err;
}

enum err secret_references_check_resource(const struct api_call *call, struct store_tx *tx,
                                          const struct resource *resource,
                                          const struct connection_list *connections,
                                          struct error *reterr)
{
    enum err err = ERR_NONE;
    if (!secret_references_are_free(call, resource->agent_id)) {
        err = secret_trust_check(secret_references_sources(call), &resource->env_vars, reterr);
    }
    for (size_t i = 0; i < connections->count && err == ERR_NONE; i++) {
        const struct connection *connection = &connections->rows[i]->connection;
        err = secret_references_check_connection(
            call, tx, connection,
            connection->agent_id.len > 0 ? connection->agent_id : resource->agent_id, reterr);
    }
    return err;
}
