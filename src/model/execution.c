/* SPDX-License-Identifier: MIT */
#include "model/execution.h"

#include "base/limits.h"
#include "model/name.h"
#include "model/secret_map.h"
#include "model/session.h"

#define AT(member) .offset = offsetof(struct execution_ask, member)

static enum err execution_check_variable(struct slice key, struct error *reterr)
{
    struct slice name;
    return secret_key_place(key, &name) == SECRET_PLACE_VARIABLE
               ? secret_check_key(key, reterr)
               : fail(reterr, ERR_INPUT, "must be envvar: and the name of a variable");
}

/* A reference would have the gateway fetch a secret for whoever asks. */
static enum err execution_check_value(struct slice value, struct error *reterr)
{
    return secret_is_reference(value) ? fail(reterr, ERR_INPUT, "must be a value in base64")
                                      : secret_check_value(value, reterr);
}

/* It is searched for as it is, and stands in logs. */
static enum err execution_check_id(struct slice text, struct error *reterr)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < ' ' || text.at[i] > '~') {
            return fail(reterr, ERR_INPUT, "must be printable ASCII");
        }
    }
    return ERR_NONE;
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
    {.name = "env_vars",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_NULL_IN,
     AT(inputs.env_vars),
     .max = SECRET_COUNT_MAX,
     .item_max = LIMIT_KIB(32),
     .key_max = 134,
     .check = execution_check_value,
     .check_key = execution_check_variable,
     .key_pattern = "^envvar:" SECRET_NAME_PATTERN "$",
     .about = "variables of the command, in base64: those that 'accepted_env_vars' of the "
              "connection names"},
    {.name = "client_args",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     AT(inputs.client_args),
     .max = 100,
     .item_max = 4096,
     .about = "arguments of the command, behind its own, where the connection has "
              "'accepts_client_args'"},
    {.name = "labels",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_NULL_IN,
     AT(labels),
     .max = SESSION_METADATA_COUNT,
     .item_max = SESSION_METADATA_SIZE,
     .key_max = SESSION_METADATA_NAME_SIZE,
     .check = line_check,
     .key_pattern = LINE_PATTERN,
     .about = "of programs, for the session: 2500 bytes at most"},
    {.name = "session_batch_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(session_batch_id),
     .max = 255,
     .check = execution_check_id,
     .about = "sessions that belong together have the same one"},
    {.name = "correlation_id",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     AT(correlation_id),
     .max = 255,
     .check = execution_check_id,
     .about = "by which another system knows the session"},
    {.name = "jira_fields",
     .kind = SHAPE_PAIRS,
     .flags = SHAPE_NULL_IN,
     AT(jira_fields),
     .max = 1000,
     .item_max = LIMIT_HTTP_BODY_SIZE,
     .key_max = 254,
     .about = "taken; does nothing so far"},
};

const struct shape execution_ask_shape = {.name = "ExecutionRequest",
                                          .size = sizeof(struct execution_ask),
                                          SHAPE_FIELDS(execution_ask_fields)};

static bool execution_accepts(const struct shape_texts *accepted, struct slice name)
{
    for (size_t i = 0; i < accepted->count; i++) {
        struct slice item = accepted->items[i];
        bool is_beginning = item.len > 0 && item.at[item.len - 1] == '*';
        if (is_beginning ? slice_starts_with(name, slice_sub(item, 0, item.len - 1))
                         : slice_equals(name, item)) {
            return true;
        }
    }
    return false;
}

/* Of the connection, as a variable or as the path of a file. */
static bool execution_is_set(const struct shape_pairs *secret, struct slice wanted)
{
    for (size_t i = 0; i < secret->count; i++) {
        struct slice name;
        (void)secret_key_place(secret->pairs[i].key, &name);
        if (slice_equals(name, wanted)) {
            return true;
        }
    }
    return false;
}

enum err execution_ask_check_inputs(const struct connection *connection,
                                    const struct shape_pairs *secret,
                                    const struct execution_inputs *inputs, struct error *reterr)
{
    if (inputs->client_args.count > 0 && !connection->accepts_client_args.value) {
        return fail(reterr, ERR_INPUT,
                    "'client_args': the connection '%.*s' takes none; an admin can set its "
                    "'accepts_client_args'",
                    SLICE_ARG(connection->name));
    }
    for (size_t i = 0; i < inputs->env_vars.count; i++) {
        struct slice name;
        (void)secret_key_place(inputs->env_vars.pairs[i].key, &name);
        if (!execution_accepts(&connection->accepted_env_vars, name)) {
            return fail(reterr, ERR_INPUT,
                        "'env_vars': the connection '%.*s' does not accept '%.*s'; an admin can "
                        "name it in its 'accepted_env_vars'",
                        SLICE_ARG(connection->name), SLICE_ARG(name));
        }
        if (execution_is_set(secret, name)) {
            return fail(reterr, ERR_INPUT, "'env_vars': the connection '%.*s' sets '%.*s' itself",
                        SLICE_ARG(connection->name), SLICE_ARG(name));
        }
    }
    return ERR_NONE;
}
