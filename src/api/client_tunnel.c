/* SPDX-License-Identifier: MIT */
/* A native client that comes through the gateway's one HTTP port: a program on the person's machine
 * upgrades a connection, and carries to it what the client says. Behind that it is a native client
 * like others, with a credential of its own. */
#include "api/connections.h"
#include "api/credentials.h"
#include "api/handlers.h"
#include "api/sign_in.h"
#include "gate/gate_guest.h"
#include "protocol/protocol.h"

struct client_tunnel {
    struct api_call *call;
    struct connection connection;
};

static enum err client_tunnel_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct client_tunnel *self = context;
    struct api_call *call = self->call;
    enum err err =
        credential_connection(call, tx, call->request->values[0], &self->connection, reterr);
    return err == ERR_NONE ? credential_check_connection(&self->connection, false, reterr) : err;
}

/* What --postgres-tls asks of clients holds here, too. */
static enum err client_tunnel_check_tls(const struct api_call *call,
                                        const struct connection *connection, struct error *reterr)
{
    for (size_t i = 0; i < call->api->native.count; i++) {
        const struct native_address *address = &call->api->native.items[i];
        if (slice_equals(address->subtype, connection->subtype) && address->needs_tls &&
            !call->request->is_encrypted) {
            return fail(reterr, ERR_DENIED,
                        "access denied: native clients must come with TLS, and this connection to "
                        "the gateway has none: use its https address");
        }
    }
    return ERR_NONE;
}

enum err client_tunnel_get(struct api_call *call, struct error *reterr)
{
    struct client_tunnel self = {.call = call};
    enum err err = store_read(call->api->store, client_tunnel_body, &self, reterr);
    if (err == ERR_NONE) {
        err = credential_check_listener(call, &self.connection, reterr);
    }
    if (err == ERR_NONE) {
        err = client_tunnel_check_tls(call, &self.connection, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct gate_guest guest = {
        .protocol = protocols_find(call->api->protocols, self.connection.subtype),
        .member_id = call->caller.id,
        .connection_id = self.connection.id,
        .address = call->request->peer.ip,
    };
    return gate_guest_admit(call->api->gate, call->http, &guest, reterr);
}
