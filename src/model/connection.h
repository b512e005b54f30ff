/* SPDX-License-Identifier: MIT */
/* A connection: the unit through which a target is reached, which the API also calls the role of a
 * resource. Its shape says every rule of the interface that one field can say. */
#ifndef GH_MODEL_CONNECTION_H
#define GH_MODEL_CONNECTION_H

#include "codec/shape.h"

struct effective_access {
    struct shape_bool command;
    struct shape_bool jit;
    struct shape_bool legacy_reviewers;
};

struct effective_features {
    struct effective_access *access_request;
    struct shape_bool ai_session_analyzer;
    struct shape_bool data_masking;
    struct shape_bool guardrails;
    struct shape_bool jira_templates;
    struct shape_bool mandatory_metadata;
};

struct connection {
    struct slice id;
    struct slice name;
    struct slice resource_name;
    struct slice type;
    struct slice subtype;
    struct slice agent_id;
    struct slice status;
    struct shape_texts command;
    struct shape_pairs secret;
    int64_t secrets_updated_at;
    struct slice default_database;
    struct slice access_mode_connect;
    struct slice access_mode_exec;
    struct slice access_mode_runbooks;
    struct slice access_schema;
    struct shape_int access_max_duration;
    struct shape_int jit_access_duration_sec;
    struct shape_texts attributes;
    struct shape_texts managed_attributes;
    struct slice managed_by;
    struct shape_pairs connection_tags;
    struct shape_texts tags;
    struct shape_texts guardrail_rules;
    struct slice jira_issue_template_id;
    struct shape_texts mandatory_metadata_fields;
    struct shape_int min_review_approvals;
    struct shape_int recording_days;      /* of its sessions; not given: as the gateway has it */
    struct shape_int recording_row_limit; /* in bytes, of each statement; likewise */
    struct shape_texts accepted_env_vars; /* see execution_ask_check_inputs() */
    struct shape_bool accepts_client_args;
    struct shape_texts reviewers;
    struct shape_texts force_approve_groups;
    struct shape_bool redact_enabled;
    struct shape_texts redact_types;
    struct slice mcp_oauth_flow_id;
    struct shape_bool mcp_oauth_granted;
    struct slice mcp_oauth_warning;
    struct effective_features *effective_features;
};

extern const struct shape connection_shape;

/* Element of 'roles' of a resource that is written; the same structure, fewer members. */
extern const struct shape role_shape;

/* Command and secrets that a new connection of this type has when it names none. */
void connection_fill_defaults(struct arena *arena, struct connection *connection);
/* The access modes of a role that came with its resource. */
void connection_fill_role_modes(struct connection *role);

#define CONNECTION_MCP_NOT_FOR                                                                     \
    "the login was not attached: only connections of subtype mcpproxy take one"
#define CONNECTION_MCP_WARNING                                                                     \
    "the login was not attached: there is no completed login with this id; the connection keeps "  \
    "the credential it has, which will not be renewed"

#endif
