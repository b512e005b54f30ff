/* SPDX-License-Identifier: MIT */
/* What native clients need as a part of 'serve': their listening sockets, one for each protocol and
 * worker, and the gate's start and end among the workers. And the way to targets for the API, which
 * is there also when nobody listens. */
#ifndef GH_APP_NATIVE_CLIENTS_H
#define GH_APP_NATIVE_CLIENTS_H

#include "api/api.h"
#include "app/settings.h"
#include "gate/gate.h"
#include "gate/target_call.h"
#include "io/kept_sockets.h"
#include "protocol/protocol.h"

/* Of one protocol. */
struct native_entrance {
    const struct protocol *protocol;
    int fds[LIMIT_WORKER_COUNT];
    struct native_address address; /* what clients are told */
    struct tls_server *tls;        /* NULL: without */
    bool needs_tls;
    struct slice greeting;
};

struct native_clients {
    size_t worker_count;
    struct native_entrance entrances[LIMIT_GATE_LISTENERS]; /* those that somebody listens at */
    size_t entrance_count;
    struct pool *sync;
    struct resolver *resolver;
    struct session_files *files;
    struct target_calls *calls;
    struct gate *gate;
    struct gate_worker *workers[LIMIT_WORKER_COUNT];
};

/* Of as many workers as 'worker_count' says. */
enum err native_clients_open_sockets(struct native_clients *clients, struct arena *arena,
                                     const struct settings *settings, struct kept_sockets *kept,
                                     struct error *reterr) MUST_USE;
/* The certificate, for those who speak one of these protocols (ALPN); NULL when there is none. */
enum err native_clients_load_tls(const struct settings *settings, struct slice protocols,
                                 struct tls_server **ret_tls, struct error *reterr) MUST_USE;
/* What native clients are told; where the gateway listens on every address, people's name for it.
 */
void native_clients_name(struct native_clients *clients, const struct settings *settings,
                         struct slice public_url);

/* Where they may come. */
void native_clients_log(const struct native_clients *clients);
/* Borrowed from it. */
struct native_addresses native_clients_addresses_in(struct arena *arena,
                                                    const struct native_clients *clients);

/* Where recordings lie, also when nobody listens for native clients any more. */
const char *native_clients_recordings_in(struct arena *arena, const struct settings *settings);

/* 'gate' is filled but for what is made here. Also ends what a gateway that was killed
 * left open, and removes the files of secrets that it left. */
enum err native_clients_make(struct native_clients *clients, struct arena *arena,
                             const struct settings *settings, struct gate_settings *gate,
                             struct error *reterr) MUST_USE;
void native_clients_start(struct native_clients *clients, size_t index, struct worker *worker);
/* The certificate is read again: new clients see it. The old one stays in use when it fails. */
enum err native_clients_reload_tls(struct native_clients *clients, const struct settings *settings,
                                   struct error *reterr) MUST_USE;
void native_clients_drain(struct native_clients *clients, uint64_t tell_ms, uint64_t cut_ms);
/* After the workers were joined: threads that send them mail end before the mailboxes do. */
void native_clients_stop(struct native_clients *clients);
/* After the workers were freed. */
void native_clients_free(struct native_clients *clients);

#endif
