/* SPDX-License-Identifier: MIT */
/* What is asked for when a script is to be executed over the API. */
#ifndef GH_MODEL_EXECUTION_H
#define GH_MODEL_EXECUTION_H

#include "codec/shape.h"
#include "model/connection.h"

/* What a caller gives to a command beside its script. */
struct execution_inputs {
    struct shape_pairs env_vars; /* "envvar:NAME", in base64 */
    struct shape_texts client_args;
};

struct execution_ask {
    struct slice script;
    struct slice connection; /* name or id */
    struct shape_pairs metadata;
    struct shape_bool run_when_approved;
    struct execution_inputs inputs;
    struct shape_pairs labels;
    struct slice session_batch_id;
    struct slice correlation_id;
    struct shape_pairs jira_fields; /* taken for the programs that send them */
};

/* Whether the connection takes the variables and arguments: it runs a command, whose names are
 * accepted, and sets none of them itself. ERR_INPUT. */
enum err execution_ask_check_inputs(const struct connection *connection,
                                    const struct shape_pairs *secret,
                                    const struct execution_inputs *inputs,
                                    struct error *reterr) MUST_USE;

extern const struct shape execution_ask_shape;

#endif
