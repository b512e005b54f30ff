/* SPDX-License-Identifier: MIT */
/* A resource: a named target of an organization, with the connections ("roles") that reach it. */
#ifndef GH_MODEL_RESOURCE_H
#define GH_MODEL_RESOURCE_H

#include "codec/shape.h"
#include "model/connection.h"

#define RESOURCE_ROLES_MAX 100

struct resource {
    struct slice id;
    struct slice name;
    struct slice type;
    struct slice subtype;
    struct slice agent_id;
    struct shape_pairs env_vars;
    struct shape_objects roles;              /* of struct connection, in requests */
    struct shape_objects mcp_oauth_warnings; /* of struct mcp_oauth_warning */
    int64_t created_at;
    int64_t updated_at;
    int64_t version;
    bool has_env_vars;
    struct slice sealed_env_vars;  /* as they lie in the store */
    struct slice default_database; /* of its env_vars, for the roles that have none */
};

struct mcp_oauth_warning {
    struct slice name;
    struct slice warning;
};

/* What is sent, and what is answered. */
extern const struct shape resource_request_shape;
extern const struct shape resource_shape;

/* The rules that hold between fields: "NAME of a variable" with what stands in it, no role twice.
 */
enum err resource_check(const struct resource *resource, struct error *reterr) MUST_USE;
enum err resource_check_name(struct slice name, struct error *reterr) MUST_USE;

#endif
