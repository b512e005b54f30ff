/* SPDX-License-Identifier: MIT */
#include "model/resource.h"

#include "base/text.h"
#include "model/name.h"
#include "model/secret_map.h"
#include "model/shared_fields.h"

#define AT(member) .offset = offsetof(struct resource, member)

static const struct shape_field warning_fields[] = {
    {.name = "name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     .offset = offsetof(struct mcp_oauth_warning, name)},
    {.name = "warning",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     .offset = offsetof(struct mcp_oauth_warning, warning)},
};

static const struct shape warning_shape = {
    .name = "McpOauthWarning",
    .size = sizeof(struct mcp_oauth_warning),
    SHAPE_FIELDS(warning_fields),
    .about = "a role whose login was not attached, and why",
};

#define FIELD_NAME                                                                                 \
    {                                                                                              \
        .name = "name", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(name), .min = 1,           \
        .max = NAME_LENGTH_MAX, .check = title_check, .pattern = TITLE_PATTERN                     \
    }
#define FIELD_TYPE                                                                                 \
    {                                                                                              \
        .name = "type", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(type), .min = 1,           \
        .max = 64, .check = line_check, .pattern = LINE_PATTERN,                                   \
        .about = "for example a database kind"                                                     \
    }
#define FIELD_SUBTYPE(more_flags)                                                                  \
    {                                                                                              \
        .name = "subtype", .kind = SHAPE_TEXT, .flags = (more_flags), AT(subtype), .max = 64,      \
        .check = line_check, .pattern = LINE_PATTERN, .about = "the type, when it is not given"    \
    }
#define FIELD_AGENT(more_flags)                                                                    \
    {                                                                                              \
        .name = "agent_id", .kind = SHAPE_TEXT, .flags = (more_flags), AT(agent_id), .min = 36,    \
        .max = 36, .check = shape_check_uuid, .format = "uuid",                                    \
        .about = "the organization's embedded agent, when it is not given"                         \
    }
#define FIELD_ENV_VARS                                                                             \
    {                                                                                              \
        .name = "env_vars", .kind = SHAPE_PAIRS, .flags = SHAPE_REQUIRED | SHAPE_NULL_ITEMS,       \
        AT(env_vars), .max = SECRET_COUNT_MAX, .item_max = SECRET_VALUE_MAX, .key_max = 140,       \
        .check_key = secret_check_variable_key, .schema = VARIABLES_SCHEMA,                        \
        .about = "variables that all roles inherit; with the prefix 'envvar:' or 'filesystem:' "   \
                 "the value is base64 or a reference; \"\" keeps what is stored"                   \
    }

static const struct shape_field request_fields[] = {
    FIELD_NAME,
    FIELD_TYPE,
    FIELD_ENV_VARS,
    FIELD_AGENT(SHAPE_NULL_IN),
    FIELD_SUBTYPE(SHAPE_NULL_IN),
    {.name = "roles",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_NULL_IN,
     AT(roles),
     .max = RESOURCE_ROLES_MAX,
     .object = &role_shape,
     .about = "created, or updated by their name; others are left alone"},
};

const struct shape resource_request_shape = {
    .name = "ResourceRequest",
    .shown_as = &resource_shape,
    .size = sizeof(struct resource),
    SHAPE_FIELDS(request_fields),
};

static const struct shape_field resource_fields[] = {
    NOUN_ID(resource),
    FIELD_NAME,
    FIELD_TYPE,
    FIELD_SUBTYPE(SHAPE_REQUIRED),
    FIELD_AGENT(SHAPE_REQUIRED),
    FIELD_ENV_VARS,
    {.name = "roles",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED | SHAPE_APART,
     AT(roles),
     .object = &connection_shape},
    {.name = "mcp_oauth_warnings",
     .kind = SHAPE_OBJECTS,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(mcp_oauth_warnings),
     .object = &warning_shape,
     .about = "in the answer to a creation: the roles whose login was not attached"},
    NOUN_TIME(resource, created_at, SHAPE_REQUIRED),
    NOUN_TIME(resource, updated_at, SHAPE_REQUIRED),
};

const struct shape resource_shape = {
    .name = "Resource",
    .size = sizeof(struct resource),
    SHAPE_FIELDS(resource_fields),
};

enum err resource_check(const struct resource *resource, struct error *reterr)
{
    const struct connection *roles = resource->roles.items;
    enum err err = secret_check_variables(&resource->env_vars, "env_vars", reterr);
    for (size_t i = 0; i < resource->roles.count && err == ERR_NONE; i++) {
        for (size_t before = 0; before < i && err == ERR_NONE; before++) {
            if (slice_equals(roles[i].name, roles[before].name)) {
                err = fail(reterr, ERR_INPUT, "'roles[%zu].name' is the name of 'roles[%zu]' too",
                           i, before);
            }
        }
    }
    return err;
}

enum err resource_check_name(struct slice name, struct error *reterr)
{
    struct error reason = {0};
    enum err err = title_check(name, &reason);
    size_t count = 0;
    for (size_t i = 0; i < name.len; i++) {
        count += ((unsigned char)name.at[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    if (err == ERR_NONE && (count < 1 || count > NAME_LENGTH_MAX)) {
        return fail(reterr, ERR_INPUT, "the name of a resource has 1 to %d characters",
                    NAME_LENGTH_MAX);
    }
    return err == ERR_NONE ? err
                           : fail(reterr, ERR_INPUT, "the name of a resource %s", reason.message);
}
