/* SPDX-License-Identifier: MIT */
#include "model/execution.h"

#include "base/limits.h"
#include "model/name.h"
#include "model/session.h"

#define AT(member) .offset = offsetof(struct execution_ask, member)
#define IDLE_PAIRS(member)                                                                         \
    {                                                                                              \
        .name = #member, .kind = SHAPE_PAIRS, .flags = SHAPE_NULL_IN, AT(member), .max = 1000,     \
        .item_max = LIMIT_HTTP_BODY_SIZE, .key_max = 254, .about = "taken; does nothing so far"    \
    }

static const struct shape_field execution_ask_fields[] = {
    {.name = "script",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(script),
     .min = 1,
     .max = LIMIT_EXECUTION_BODY_SIZE,
     .about = "statements of the connection's language, one after the other; 64 MiB at most"},
    {.name = "connection",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_REQUIRED,
     AT(connection),
     .min = 1,
     .max = 254,
     .about = "its name or id"},
    {.name = "metadata",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_NULL_IN,
     AT(metadata),
     .max = SESSION_METADATA_COUNT,
     .item_max = SESSION_METADATA_SIZE,
     .key_max = SESSION_METADATA_NAME_SIZE,
     .check = line_check,
     .key_pattern = LINE_PATTERN,
     .about = "why it is executed; 2500 bytes at most"},
    {.name = "run_when_approved",
     .kind = SHAPE_BOOL,
     .flags = SHAPE_NULL_IN,
     AT(run_when_approved),
     .about = "when others must approve: run it as soon as they have; else POST "
              "/api/sessions/{id}/exec does"},
    IDLE_PAIRS(env_vars),
    IDLE_PAIRS(labels),
    IDLE_PAIRS(jira_fields),
    {.name = "client_args",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(client_args),
     .max = 1000,
     .item_max = 4096,
     .about = "taken; does nothing so far"},
    {.name = "session_batch_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(session_batch_id),
     .max = 254,
     .about = "taken; does nothing so far"},
    {.name = "correlation_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(correlation_id),
     .max = 255,
     .about = "taken; does nothing so far"},
};

const struct shape execution_ask_shape = {.name = "ExecutionRequest",
                                          .size = sizeof(struct execution_ask),
                                          SHAPE_FIELDS(execution_ask_fields)};
