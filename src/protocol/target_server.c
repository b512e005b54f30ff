/* SPDX-License-Identifier: MIT */
#include "protocol/target_server.h"

#include "io/tls_stream.h"

void target_server_init(struct target_server *server, const struct place *place,
                        struct tls_client *tls, struct loop *loop, uint64_t timeout_ms)
{
    arena_init(&server->arena);
    server->host = arena_copy(&server->arena, place->host);
    server->port = place->port;
    server->mode = place->mode;
    server->tls = tls == NULL ? NULL : tls_client_ref(tls);
    server->loop = loop;
    server->deadline_ms = loop_now_ms(loop) + timeout_ms;
}

void target_server_release(struct target_server *server)
{
    tls_client_unref(server->tls);
    arena_release(&server->arena);
}

uint64_t target_server_left_ms(const struct target_server *server)
{
    uint64_t now = loop_now_ms(server->loop);
    return server->deadline_ms > now ? server->deadline_ms - now : 1;
}

struct dial *target_server_dial(const struct target_server *server,
                                const struct dial_context *context, dial_done_fn on_done,
                                void *owner)
{
    const struct dial_request request = {
        .host = server->host, .port = server->port, .timeout_ms = target_server_left_ms(server)};
    return dial_start(context->worker, context->resolver, &request, on_done, owner);
}

enum err target_server_encrypt(const struct target_server *server, struct stream *take_stream,
                               tls_handshake_done_fn on_done, void *owner,
                               struct tls_handshake **ret_handshake, struct error *reterr)
{
    struct stream *stream = NULL;
    enum err err = tls_stream_new_client(server->tls, server->host, take_stream, &stream, reterr);
    if (err == ERR_NONE) {
        *ret_handshake = tls_handshake_start(stream, target_server_left_ms(server), on_done, owner);
    }
    return err;
}
