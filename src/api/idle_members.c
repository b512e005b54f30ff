/* SPDX-License-Identifier: MIT */
#include "api/idle_members.h"

#include "api/handlers.h"
#include "base/memory.h"
#include "model/connection.h"
#include "model/execution.h"

/* The answer of the route must be an object without 'warnings' of its own. */
static const struct shape_idle idle_table[] = {
    {&connection_shape, "redact_types", "hides nothing: masking rules do (/datamasking-rules)"},
    {&execution_ask_shape, "jira_fields", "does nothing"},
    {&auth_config_shape, "saml_config", "does nothing: people sign in with OpenID Connect"},
    {&auth_config_shape, "api_key", "does nothing: make keys with /api-keys"},
    {&auth_config_shape, "rollout_api_key", "does nothing: make keys with /api-keys"},
};

const struct shape_idles idle_members = {.items = idle_table, .count = COUNT_OF(idle_table)};
