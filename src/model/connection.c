/* SPDX-License-Identifier: MIT */
#include "model/connection.h"

#include "model/name.h"
#include "model/secret_map.h"
#include "model/shared_fields.h"

#define AT(member) .offset = offsetof(struct connection, member)

static const char *const connection_types[] = {"database", "application", "custom", NULL};
static const char *const connection_switches[] = {"enabled", "disabled", NULL};
static const char *const connection_statuses[] = {"online", "offline", NULL};

static const struct shape_field access_fields[] = {
    {.name = "command",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     .offset = offsetof(struct effective_access, command),
     .about = "a rule of type 'command' resolves"},
    {.name = "jit",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     .offset = offsetof(struct effective_access, jit),
     .about = "a rule of type 'jit' resolves"},
    {.name = "legacy_reviewers",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     .offset = offsetof(struct effective_access, legacy_reviewers),
     .about = "reviewer groups are configured"},
};

static const struct shape access_shape = {
    .name = "EffectiveAccessRequest",
    .size = sizeof(struct effective_access),
    SHAPE_FIELDS(access_fields),
    .about = "approval coverage by access type",
};

#define FEATURE(member, text)                                                                      \
    {                                                                                              \
        .name = #member, .kind = SHAPE_BOOL, .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,            \
        .offset = offsetof(struct effective_features, member), .about = text                       \
    }

static const struct shape_field feature_fields[] = {
    {.name = "access_request",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED,
     .offset = offsetof(struct effective_features, access_request),
     .object = &access_shape},
    FEATURE(ai_session_analyzer, "an analyzer rule resolves"),
    FEATURE(data_masking, "a masking rule resolves and masking is active"),
    FEATURE(guardrails, "a guard rail rule resolves"),
    FEATURE(jira_templates, "the connection has an issue template"),
    FEATURE(mandatory_metadata, "metadata is required before a session starts"),
};

static const struct shape features_shape = {
    .name = "EffectiveFeatures",
    .size = sizeof(struct effective_features),
    SHAPE_FIELDS(feature_fields),
    .about = "which features act on a connection, by direct and by attribute-based rules",
};

#define MODE(member, text)                                                                         \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED | SHAPE_KEPT, AT(member),     \
        .choices = connection_switches, .about = text                                              \
    }
#define TEXTS(member, more_flags, length, text)                                                    \
    {                                                                                              \
        .name = #member, .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN | (more_flags), AT(member),   \
        .max = 100, .item_max = (length), .check = line_check, .pattern = LINE_PATTERN,            \
        .about = text                                                                              \
    }

/* What a loader or an interpreter obeys, also as one of many names, chooses the program. */
static enum err connection_check_accepted(struct slice name, struct error *reterr)
{
    char key[8 + 128] = "envvar:";
    bool is_beginning = name.len > 1 && name.at[name.len - 1] == '*';
    struct slice plain = is_beginning ? slice_sub(name, 0, name.len - 1) : name;
    size_t prefix = sizeof("envvar:") - 1;
    if (plain.len == 0 || plain.len > sizeof(key) - prefix) {
        return fail(reterr, ERR_INPUT, "must be a name, or its beginning and a *");
    }
    for (size_t i = 0; i < plain.len; i++) {
        key[prefix + i] = plain.at[i];
    }
    return secret_check_key(slice_of(key, prefix + plain.len), reterr);
}

/* Fields that a role has too. */
#define FIELD_NAME                                                                                 \
    {                                                                                              \
        .name = "name", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(name),                     \
        .min = NAME_LENGTH_MIN, .max = NAME_LENGTH_MAX, .check = name_check,                       \
        .pattern = NAME_PATTERN, .about = "immutable"                                              \
    }
#define FIELD_TYPE                                                                                 \
    {                                                                                              \
        .name = "type", .kind = SHAPE_TEXT, .flags = SHAPE_REQUIRED, AT(type),                     \
        .choices = connection_types,                                                               \
        .about = "database: database protocols; application: custom applications; custom: shell "  \
                 "applications"                                                                    \
    }
#define FIELD_SUBTYPE                                                                              \
    {                                                                                              \
        .name = "subtype", .kind = SHAPE_TEXT, .flags = SHAPE_NULL_IN, AT(subtype), .max = 64,     \
        .check = line_check, .pattern = LINE_PATTERN,                                              \
        .about = "the implementation: postgres, mysql, mongodb, mssql, oracledb, tcp, ssh, "       \
                 "httpproxy, mcpproxy …"                                                         \
    }
#define FIELD_AGENT(more_flags)                                                                    \
    {                                                                                              \
        .name = "agent_id", .kind = SHAPE_TEXT, .flags = (more_flags), AT(agent_id), .min = 36,    \
        .max = 36, .check = shape_check_uuid, .format = "uuid",                                    \
        .about = "the agent; the resource's own when it is the same one"                           \
    }
#define FIELD_ATTRIBUTES                                                                           \
    {                                                                                              \
        .name = "attributes", .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN, AT(attributes),         \
        .max = 100, .item_max = 255, .check = title_check, .pattern = TITLE_PATTERN,               \
        .about = "names of attributes; leaving out a managed one detaches it"                      \
    }
#define FIELD_COMMAND                                                                              \
    {                                                                                              \
        .name = "command", .kind = SHAPE_TEXTS, .flags = SHAPE_NULL_IN | SHAPE_KEPT, AT(command),  \
        .max = 200, .item_max = 16384, .about = "the command of the connection"                    \
    }
#define FIELD_SECRET                                                                               \
    {                                                                                              \
        .name = "secret", .kind = SHAPE_PAIRS,                                                     \
        .flags = SHAPE_NULL_IN | SHAPE_NULL_ITEMS | SHAPE_APART, AT(secret),                       \
        .max = SECRET_COUNT_MAX, .item_max = SECRET_VALUE_MAX, .key_max = 140,                     \
        .check = secret_check_value, .check_key = secret_check_key,                                \
        .key_pattern = SECRET_KEY_PATTERN, .pattern = SECRET_VALUE_PATTERN,                        \
        .value_of_other = secret_value_of_other,                                                   \
        .about = "texts are base64 or references; numbers and booleans stand for their text, "     \
                 "arrays and objects for their JSON; null or \"\" keeps what is stored, but null " \
                 "in a PATCH removes it; inline values are never shown"                            \
    }
#define FIELD_FLOW                                                                                 \
    {                                                                                              \
        .name = "mcp_oauth_flow_id", .kind = SHAPE_TEXT,                                           \
        .flags = SHAPE_WRITE_ONLY | SHAPE_NULL_IN, AT(mcp_oauth_flow_id), .max = 255,              \
        .check = line_check, .pattern = LINE_PATTERN,                                              \
        .about = "for mcpproxy: the completed login to take over"                                  \
    }

static const struct shape_field role_fields[] = {
    FIELD_NAME,       FIELD_TYPE,    FIELD_SUBTYPE, FIELD_AGENT(SHAPE_NULL_IN),
    FIELD_ATTRIBUTES, FIELD_COMMAND, FIELD_SECRET,  FIELD_FLOW,
};

const struct shape role_shape = {
    .name = "RoleRequest",
    .size = sizeof(struct connection),
    SHAPE_FIELDS(role_fields),
    .shown_as = &connection_shape,
    .about = "a connection that is written together with its resource",
};

static const struct shape_field connection_fields[] = {
    NOUN_ID(connection),
    FIELD_NAME,
    {.name = "resource_name",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(resource_name),
     .max = NAME_LENGTH_MAX,
     .check = title_check,
     .pattern = TITLE_PATTERN,
     .about = "the resource it belongs to; made when it does not exist"},
    FIELD_TYPE,
    FIELD_SUBTYPE,
    FIELD_AGENT(SHAPE_REQUIRED),
    {.name = "status",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY,
     AT(status),
     .choices = connection_statuses,
     .about = "online: its agent is connected and alive"},
    FIELD_COMMAND,
    FIELD_SECRET,
    {.name = "secrets_updated_at",
     .kind = SHAPE_TIME,
     .flags = SHAPE_READ_ONLY | SHAPE_NULLABLE,
     AT(secrets_updated_at),
     .about = "when an inline secret was last replaced"},
    {.name = "default_database",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY,
     AT(default_database),
     .about = "the value of the secret DB"},
    MODE(access_mode_connect, "port forwarding and native clients"),
    MODE(access_mode_exec, "ad-hoc executions"),
    MODE(access_mode_runbooks, "runbooks"),
    MODE(access_schema, "the schema in the web application"),
    {.name = "access_max_duration",
     .kind = SHAPE_INT,
     .flags = SHAPE_ZERO_OUT | SHAPE_NULL_IN | SHAPE_KEPT,
     AT(access_max_duration),
     .min = 1,
     .max = 172800,
     .about = "seconds that a just-in-time session may last; 0: as long as anybody likes"},
    {.name = "jit_access_duration_sec",
     .kind = SHAPE_INT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(jit_access_duration_sec),
     .min = 1,
     .max = 172800,
     .about = "the fixed duration that a just-in-time rule sets"},
    FIELD_ATTRIBUTES,
    TEXTS(managed_attributes, SHAPE_READ_ONLY, 255, "attributes that the service manages"),
    {.name = "managed_by",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY,
     AT(managed_by),
     .about = "who manages the connection, which is then immutable; else empty"},
    {.name = "connection_tags",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_NULL_IN | SHAPE_KEPT,
     AT(connection_tags),
     .max = TAG_COUNT_MAX,
     .item_max = TAG_VALUE_MAX,
     .key_max = TAG_KEY_MAX,
     .check = tag_check_value,
     .check_key = tag_check_key,
     .pattern = TAG_VALUE_PATTERN,
     .key_pattern = TAG_KEY_PATTERN},
    {.name = "tags",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN | SHAPE_KEPT,
     AT(tags),
     .max = 100,
     .item_max = 128,
     .check = name_check,
     .pattern = NAME_PATTERN,
     .about = "deprecated"},
    {.name = "guardrail_rules",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(guardrail_rules),
     .max = 100,
     .item_max = 36,
     .check = shape_check_uuid,
     .format = "uuid",
     .about = "ids of guard rail rules"},
    {.name = "jira_issue_template_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(jira_issue_template_id),
     .max = 36,
     .check = shape_check_uuid,
     .about = "id of an issue template"},
    TEXTS(mandatory_metadata_fields, SHAPE_KEPT, 128, "metadata that every session must have"),
    {.name = "min_review_approvals",
     .kind = SHAPE_INT,
     .flags = SHAPE_ZERO_OUT | SHAPE_NULL_IN | SHAPE_KEPT,
     AT(min_review_approvals),
     .min = 1,
     .max = 100,
     .about = "approvals needed to execute; 0: one of each group of reviewers"},
    TEXTS(reviewers, SHAPE_KEPT, 180, "groups that review"),
    TEXTS(force_approve_groups, SHAPE_KEPT, 180, "groups that can approve alone"),
    {.name = "recording_days",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(recording_days),
     .max = 36500,
     .about = "how long recordings of its sessions are kept; 0: for ever; null: as the gateway's "
              "setting says"},
    {.name = "recording_row_limit",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(recording_row_limit),
     .max = 1073741824,
     .about = "bytes of result rows that are recorded of each statement, the others are counted; "
              "null: a mebibyte"},
    {.name = "accepted_env_vars",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(accepted_env_vars),
     .max = 100,
     .item_max = 127,
     .check = connection_check_accepted,
     .pattern = "^" SECRET_NAME_PATTERN "\\*?$",
     .about = "variables that whoever executes a script may set for the command: names, or their "
              "beginnings with a * behind; without them none"},
    {.name = "accepts_client_args",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN | SHAPE_OMITTED | SHAPE_KEPT,
     AT(accepts_client_args),
     .about = "whoever executes a script may add arguments to the command"},
    {.name = "redact_enabled",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN | SHAPE_KEPT,
     AT(redact_enabled),
     .about = "legacy: shown, not enforced"},
    TEXTS(redact_types, SHAPE_KEPT, 128, "information types to redact"),
    FIELD_FLOW,
    {.name = "mcp_oauth_granted",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_READ_ONLY,
     AT(mcp_oauth_granted),
     .about = "a durable grant exists"},
    {.name = "mcp_oauth_warning",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_READ_ONLY | SHAPE_OMITTED,
     AT(mcp_oauth_warning),
     .about = "why the login of mcp_oauth_flow_id was not attached"},
    {.name = "effective_features",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_READ_ONLY | SHAPE_REQUIRED | SHAPE_NULLABLE,
     AT(effective_features),
     .object = &features_shape,
     .about = "null: not resolved"},
};

const struct shape connection_shape = {
    .name = "Connection",
    .size = sizeof(struct connection),
    SHAPE_FIELDS(connection_fields),
    .about = "what a user reaches a target through",
};
