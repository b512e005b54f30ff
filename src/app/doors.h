/* SPDX-License-Identifier: MIT */
/* The doors for native clients as a part of 'serve': their listening sockets, what they need beyond
 * what HTTP has, and their start and end among the workers. And the way to targets for the API,
 * which is there without any door. */
#ifndef GH_APP_DOORS_H
#define GH_APP_DOORS_H

#include "app/settings.h"
#include "gate/gate.h"
#include "gate/target_call.h"

struct doors {
    size_t worker_count;
    int postgres_fds[LIMIT_WORKER_COUNT];
    unsigned postgres_port; /* 0: nobody listens */
    struct slice postgres_host;
    struct pool *sync;
    struct resolver *resolver;
    struct session_files *files;
    struct target_calls *calls;
    struct gate *gate;
    struct tls_server *tls; /* NULL: without */
    struct gate_worker *workers[LIMIT_WORKER_COUNT];
};

enum err doors_open_sockets(struct doors *doors, struct arena *arena,
                            const struct settings *settings, size_t worker_count,
                            struct error *reterr) MUST_USE;
/* The certificate, for those who speak one of these protocols (ALPN); NULL when there is none. */
enum err doors_load_tls(const struct settings *settings, struct slice protocols,
                        struct tls_server **ret_tls, struct error *reterr) MUST_USE;
/* What native clients are told; where the gateway listens on every address, people's name for it.
 */
void doors_name(struct doors *doors, const struct settings *settings, struct slice public_url);

/* Where recordings lie, also when nobody listens for native clients any more. */
const char *doors_recordings_in(struct arena *arena, const struct settings *settings);

/* 'gate' is filled but for what the doors have themselves. Also ends what a gateway that was killed
 * left open, and removes the files of secrets that it left. */
enum err doors_make(struct doors *doors, struct arena *arena, const struct settings *settings,
                    struct gate_settings *gate, struct error *reterr) MUST_USE;
void doors_start(struct doors *doors, size_t index, struct worker *worker);
/* The certificate is read again: new clients see it. The old one stays in use when it fails. */
enum err doors_reload_tls(struct doors *doors, const struct settings *settings,
                          struct error *reterr) MUST_USE;
void doors_drain(struct doors *doors, uint64_t deadline_ms);
/* After the workers were joined: threads that send them mail end before the mailboxes do. */
void doors_stop(struct doors *doors);
/* After the workers were freed. */
void doors_free(struct doors *doors);

#endif
