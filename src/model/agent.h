/* SPDX-License-Identifier: MIT */
/* Agents: what reaches the targets. Every organization has the gateway's own one, the local agent;
 * others run elsewhere and prove themselves with a secret that their DSN holds, shown once. */
#ifndef GH_MODEL_AGENT_H
#define GH_MODEL_AGENT_H

#include "codec/shape.h"

#define AGENT_STANDARD     "standard"
#define AGENT_EMBEDDED     "embedded"
#define AGENT_CONNECTED    "CONNECTED"
#define AGENT_DISCONNECTED "DISCONNECTED"

/* The machine that an agent runs on, as it says itself. */
struct agent_metadata {
    struct slice hostname;
    struct slice platform;
    struct slice machine_id;
    struct slice kernel_version;
    struct slice version;
    struct slice go_version;
    struct slice compiler;
};

struct agent {
    struct slice id;
    struct slice organization_id;
    struct slice token; /* the DSN, of one that was just made; empty ever after */
    struct slice name;
    struct slice mode;
    struct slice status;
    struct slice created_by;
    int64_t created_at;
    int64_t last_seen_at; /* 0: never */
    bool is_local;        /* the gateway's own */
    struct agent_metadata metadata;
    const struct agent_metadata *shown_metadata; /* for agent_write */
};

extern const struct shape agent_shape;
/* What is answered to who made one: the DSN, and what it is of. */
extern const struct shape agent_token_shape;
extern const char *const agent_statuses[];

/* The object of an answer. */
void agent_write(const struct agent *agent, struct json_writer *json);

/* http://NAME:SECRET@HOST:PORT?mode=MODE, of the URL of the gateway. ERR_INPUT when that is none of
 * http or https. */
enum err agent_make_dsn_in(struct arena *arena, struct slice gateway_url, const struct agent *agent,
                           struct slice secret, struct slice *ret_dsn,
                           struct error *reterr) MUST_USE;

#endif
