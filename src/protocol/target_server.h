/* SPDX-License-Identifier: MIT */
/* The server that a target is, on the way to it: where it is, whom to trust, by which name it is
 * known, and until when all has to be done. */
#ifndef GH_PROTOCOL_TARGET_SERVER_H
#define GH_PROTOCOL_TARGET_SERVER_H

#include "io/tls_handshake.h"
#include "protocol/target.h"

struct target_server {
    struct arena arena;
    struct slice host;
    uint16_t port;
    enum place_tls mode;
    struct tls_client *tls; /* may be NULL */
    struct loop *loop;
    uint64_t deadline_ms; /* of the loop's clock */
};

/* Copies the place; 'tls' may be NULL. */
void target_server_init(struct target_server *server, const struct place *place,
                        struct tls_client *tls, struct loop *loop, uint64_t timeout_ms);
void target_server_release(struct target_server *server);

/* At least 1. */
uint64_t target_server_left_ms(const struct target_server *server);
struct dial *target_server_dial(const struct target_server *server,
                                const struct dial_context *context, dial_done_fn on_done,
                                void *owner);
/* TLS from here on; server->tls is not NULL. ERR_…: nothing is called, the stream is gone. */
enum err target_server_encrypt(const struct target_server *server, struct stream *take_stream,
                               tls_handshake_done_fn on_done, void *owner,
                               struct tls_handshake **ret_handshake, struct error *reterr) MUST_USE;

#endif
