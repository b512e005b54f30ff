/* SPDX-License-Identifier: MIT */
/* A native client that comes through the gateway's one HTTP port: a program on the person's machine
 * upgrades a connection, and carries to it what the client says. Behind that it is a native client
 * like others, with a credential of its own. */
#include "api/connections.h"
#include "api/credentials.h"
#include "api/handlers.h"
#include "api/sign_in.h"
#include "gate/gate_guest.h"
#include "identity/native_credential.h"
#include "io/clock.h"
#include "protocol/protocol.h"
#include "store/credential_store.h"

/* Of a tunnel whose clients have a password that counts there alone: of 24 random bytes in base64,
 * or more. */
#define CREDENTIAL_HEADER "Gatehouse-Credential"
#define PASSWORD_HEADER   "Gatehouse-Password"
#define PASSWORD_SIZE_MIN 32
#define PASSWORD_SIZE_MAX 128

struct client_tunnel {
    struct api_call *call;
    struct connection connection;
    struct slice credential_id; /* empty: its clients come with secrets of credentials */
    struct slice password;
};

static enum err client_tunnel_read(struct client_tunnel *self, struct error *reterr)
{
    const struct http_request *request = self->call->request;
    self->credential_id = http_request_header(request, SLICE(CREDENTIAL_HEADER));
    self->password = http_request_header(request, SLICE(PASSWORD_HEADER));
    if (self->credential_id.len == 0 && self->password.len == 0) {
        return ERR_NONE;
    }
    bool is_good = self->credential_id.len > 0 && self->password.len >= PASSWORD_SIZE_MIN &&
                   self->password.len <= PASSWORD_SIZE_MAX;
    for (size_t i = 0; i < self->password.len && is_good; i++) {
        is_good = self->password.at[i] > ' ' && self->password.at[i] <= '~';
    }
    return is_good ? ERR_NONE
                   : fail(reterr, ERR_INPUT,
                          "the headers " CREDENTIAL_HEADER " and " PASSWORD_HEADER
                          " come together, and a password has %d to %d visible characters",
                          PASSWORD_SIZE_MIN, PASSWORD_SIZE_MAX);
}

/* It must be the caller's, for this connection, and good: whoever asks makes another else. */
static enum err client_tunnel_find(struct client_tunnel *self, struct store_tx *tx,
                                   struct error *reterr)
{
    struct credential_list list = {0};
    const struct caller *caller = &self->call->caller;
    const struct credential of = {.organization_id = caller->organization_id,
                                  .member_id = caller->id};
    if (self->credential_id.len == 0) {
        return ERR_NONE;
    }
    enum err err = credential_store_list(tx, self->call->arena, &of, clock_now(), &list, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    for (size_t i = 0; i < list.count; i++) {
        if (slice_equals(list.credentials[i].id, self->credential_id) &&
            slice_equals(list.credentials[i].connection_id, self->connection.id)) {
            return ERR_NONE;
        }
    }
    return fail(reterr, ERR_CONFLICT, "that is no credential of yours which is good for '%.*s'",
                SLICE_ARG(self->connection.name));
}

/* Computes for some milliseconds. */
static struct gate_guest_proof client_tunnel_proof(const struct client_tunnel *self)
{
    const struct api_call *call = self->call;
    struct native_credential made = {.hash = SLICE(""), .verifier = SLICE("")};
    if (self->credential_id.len > 0) {
        native_credential_of_in(call->arena, identity_scram_key(call->api->identity),
                                self->connection.name, credential_proof_of(call, &self->connection),
                                self->password, &made);
    }
    return (struct gate_guest_proof){
        .credential_id = self->credential_id, .hash = made.hash, .verifier = made.verifier};
}

static enum err client_tunnel_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct client_tunnel *self = context;
    struct api_call *call = self->call;
    enum err err =
        credential_connection(call, tx, call->request->values[0], &self->connection, reterr);
    if (err == ERR_NONE) {
        err = credential_check_connection(&self->connection, false, reterr);
    }
    return err == ERR_NONE ? client_tunnel_find(self, tx, reterr) : err;
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
    enum err err = client_tunnel_read(&self, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, client_tunnel_body, &self, reterr);
    }
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
        .proof = client_tunnel_proof(&self),
        .address = call->request->peer.ip,
    };
    return gate_guest_admit(call->api->gate, call->http, &guest, reterr);
}
