/* SPDX-License-Identifier: MIT */
/* What is asked for when a script is to be executed over the API. */
#ifndef GH_MODEL_EXECUTION_H
#define GH_MODEL_EXECUTION_H

#include "codec/shape.h"

struct execution_ask {
    struct slice script;
    struct slice connection; /* name or id */
    struct shape_pairs metadata;
    struct shape_bool run_when_approved;
    /* Taken for the programs that send them. */
    struct shape_pairs env_vars;
    struct shape_pairs labels;
    struct shape_pairs jira_fields;
    struct shape_texts client_args;
    struct slice session_batch_id;
    struct slice correlation_id;
};

extern const struct shape execution_ask_shape;

#endif
