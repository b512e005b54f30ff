/* SPDX-License-Identifier: MIT */
/* The gate: where native clients come in. A gate_worker on each worker accepts them and leads each
 * to its target (gate_session.h); the gate itself is what all of them share: which sessions there
 * are, who may go on, how one is ended from elsewhere. */
#ifndef GH_GATE_GATE_H
#define GH_GATE_GATE_H

#include "identity/identity.h"
#include "io/pool.h"
#include "io/resolver.h"
#include "io/tls_server.h"
#include "io/worker.h"
#include "store/store.h"
#include "tunnel/registry.h"

struct gate;
struct gate_worker;
struct commands;
struct organization_list;
struct protocol;
struct seal_keys;
struct secret_trust;
struct session_files;

struct gate_settings {
    struct store *store;
    struct identity *identity;
    struct pool *pool;         /* what asks the store, and computes SCRAM */
    struct pool *slow_pool;    /* what asks others for secrets */
    struct resolver *resolver; /* of the targets' names */
    struct registry *registry; /* of the agents elsewhere */
    struct nodes *nodes;       /* the other gateways of the store */
    struct seal_keys *keys;
    struct session_files *files; /* of secrets, for as long as sessions are */
    const struct secret_trust *secret_trust;
    const struct organization_list *local_commands; /* for which it runs them itself */
    const struct commands *commands; /* what runs them; NULL: the gateway runs none itself */
    struct pool *sync;               /* of recordings */
    const char *recordings;          /* their folder */
    struct slice public_url;         /* where reviews are read */
    int64_t review_us;               /* that a request for a review waits */
    int64_t held_s;                  /* that a statement waits for it in its session */
    int64_t held_locked_s;           /* likewise inside a transaction */
    int64_t recording_days;          /* how long they are kept; 0: for ever */
    uint64_t newcomer_limit;         /* connections of one address that have not signed in */
    bool is_strict;                  /* nothing is passed on before its record is on the disk */
};

/* The settings are copied, what they name must last as long. */
struct gate *gate_new(const struct gate_settings *settings);
/* After all its workers. */
void gate_free(struct gate *gate);

/* Ends what a gateway that was killed left open in the store and in its recordings. Before the
 * first worker; blocks. */
enum err gate_recover(struct gate *gate, struct error *reterr) MUST_USE;

/* From any thread: the session is told why and ended. ERR_NOT_FOUND: there is none of that id here.
 */
enum err gate_kill(struct gate *gate, struct slice session_id, struct slice reason) MUST_USE;
/* Likewise: what the session of this key does is cancelled. */
enum err gate_cancel_by_key(struct gate *gate, uint32_t number, struct slice secret) MUST_USE;
size_t gate_session_count(struct gate *gate);

/* Since the start; for the metrics. */
struct gate_stats {
    uint64_t client_count;  /* connections that were accepted */
    uint64_t session_count; /* that were let through to their targets */
    uint64_t statement_count;
    uint64_t blocked_count; /* statements and answers */
    uint64_t masked_count;  /* values, of sessions that have ended */
    /* Sessions that have ended, by how: see gate_counters. */
    uint64_t refused_count;
    uint64_t completed_count;
    uint64_t cut_count;
    uint64_t bytes_in; /* from clients */
    uint64_t bytes_out;
};

struct gate_stats gate_stats(struct gate *gate);

/* Before the worker's thread starts. */
struct gate_worker *gate_worker_new(struct gate *gate, struct worker *on);

/* Where clients of a protocol come in. */
struct gate_entrance {
    const struct protocol *protocol;
    struct tls_server *tls; /* NULL: TLS is not offered */
    bool needs_tls;
    struct slice greeting; /* see struct front_config; lasts as long as the gate */
};

/* Before the worker's thread starts, at most LIMIT_GATE_LISTENERS times. Takes over the listening
 * socket. */
void gate_worker_listen(struct gate_worker *worker, const struct gate_entrance *entrance,
                        int take_fd);
/* After the worker has been joined. */
void gate_worker_free(struct gate_worker *worker);

/* From any thread: clients of the protocol from now on see this certificate. */
void gate_worker_set_tls(struct gate_worker *worker, const struct protocol *protocol,
                         struct tls_server *tls);
/* From any thread: accepts nobody more, ends sessions as soon as they are idle, and after 'tell_ms'
 * all of them, in words; after 'cut_ms' nobody is waited for who does not read these. Then the
 * worker may stop. */
void gate_worker_drain(struct gate_worker *worker, uint64_t tell_ms, uint64_t cut_ms);

#endif
