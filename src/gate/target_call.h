/* SPDX-License-Identifier: MIT */
/* One statement at a connection's target, for a thread that waits for it: a handler of the API on a
 * pool. The secrets are resolved on that thread, unless an agent elsewhere does that; the target is
 * reached, signed in to and asked on the loop of a worker, each in turn. The loop keeps the time
 * and always answers, so the thread waits for nothing else; when the gateway stops, it answers at
 * the latest at the drain's deadline. There whether native clients are on or not. */
#ifndef GH_GATE_TARGET_CALL_H
#define GH_GATE_TARGET_CALL_H

#include "codec/shape.h"
#include "io/pool.h"
#include "io/resolver.h"
#include "io/worker.h"
#include "protocol/protocol.h"
#include "target/session_files.h"

struct registry;
struct target_calls; /* all of a process */

/* 'registry' has the agents elsewhere; NULL: there are none. 'pool' computes SCRAM; it must not be
 * the one whose threads call, who wait for it. 'files' are of the secrets, for as long as a call
 * lasts. */
struct target_calls *target_calls_new(struct pool *pool, struct resolver *resolver,
                                      struct session_files *files, struct registry *registry);
/* After the workers have been joined and no thread calls any more. */
void target_calls_free(struct target_calls *calls);

/* The worker takes part; before its thread starts. */
void target_calls_enter(struct target_calls *calls, struct worker *worker);
/* From any thread: nothing new is begun, and after 'deadline_ms' what is under way is cut; then the
 * workers may stop. */
void target_calls_drain(struct target_calls *calls, uint64_t deadline_ms);

struct target_request {
    const struct shape_pairs *variables;  /* of the connection, as they are stored */
    struct slice agent_id;                /* of one elsewhere; empty: the gateway itself */
    unsigned sources;                     /* of enum secret_source: that they may refer to */
    const struct protocol *protocol;      /* has catalog_ops */
    struct slice database;                /* empty: the connection's, or the protocol's usual one */
    const struct shape_pairs *parameters; /* as whom the gateway comes; NULL: the catalog's */
    const char *text;
    const struct slice *values; /* of its parameters, as in struct query_settings */
    const uint32_t *types;
    const bool *are_binary;
    size_t value_count;
    size_t column_count;
    size_t row_count_max;
};

struct target_answer {
    struct query_rows rows;
    bool is_encrypted;
    bool is_by_agent;   /* then it is not known whether its way is encrypted */
    int64_t latency_us; /* from the first packet to the last row */
    /* Of a failure; NONE when it is not the target's. */
    enum target_problem problem;
    char code[TARGET_CODE_SIZE]; /* the protocol's own; empty: none */
    struct slice shown;          /* what those may read who do not know where the target is */
    struct slice host_key;       /* see struct target_failure; empty: none */
};

/* Blocks, at most for LIMIT_SECRETS_MS, LIMIT_TARGET_OPEN_MS, LIMIT_TARGET_QUERY_MS and
 * LIMIT_TARGET_CANCEL_MS. 'arena' holds the answer. 'ret_answer' is also filled on failure, and
 * 'reterr' is then for those who manage the connection. ERR_BUSY: LIMIT_TARGET_CALLS are under way.
 * ERR_UNAVAILABLE without a problem: the gateway stops. */
enum err target_call_run(struct target_calls *calls, struct arena *arena,
                         const struct target_request *request, struct target_answer *ret_answer,
                         struct error *reterr) MUST_USE;

#endif
