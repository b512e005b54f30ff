/* SPDX-License-Identifier: MIT */
/* Credentials with which native clients reach connections. Only the hash of a secret and its
 * verifier are kept: asking again makes a new one and ends the one before. */
#include "api/credentials.h"

#include "api/access_review.h"
#include "api/connections.h"
#include "api/handlers.h"
#include "api/review_look.h"
#include "base/limits.h"
#include "base/timestamp.h"
#include "codec/url.h"
#include "identity/native_credential.h"
#include "io/clock.h"
#include "model/session.h"
#include "protocol/protocol.h"
#include "store/credential_store.h"
#include "store/row_id.h"

struct credential_call {
    struct api_call *call;
    struct credential_request wanted;
    struct connection connection; /* as the caller sees it */
    struct native_credential made;
    struct credential credential;
    struct access_review access;
};

struct credentials_listing {
    struct api_call *call;
    struct credential_list list;
};

enum err credential_connection(struct api_call *call, struct store_tx *tx, struct slice name_or_id,
                               struct connection *ret_connection, struct error *reterr)
{
    struct connection_list list = {.wants_features = true};
    enum err err = connection_answer_load(call, tx, name_or_id, &list, reterr);
    struct slice agent_id = err == ERR_NONE ? list.rows[0]->connection.agent_id : SLICE_NONE;
    if (err == ERR_NONE) {
        err = connection_store_open_document(call->arena, list.rows[0], reterr);
    }
    if (err == ERR_NONE) {
        *ret_connection = list.rows[0]->connection;
        ret_connection->agent_id = agent_id; /* that of its resource, where it has none itself */
    }
    return err;
}

static enum err credential_load_connection(struct credential_call *self, struct store_tx *tx,
                                           struct error *reterr)
{
    return credential_connection(self->call, tx, self->call->request->values[0], &self->connection,
                                 reterr);
}

/* Where clients of the connection's protocol come in; NULL: nowhere. */
static const struct native_address *credential_address(const struct api *api,
                                                       const struct connection *connection)
{
    for (size_t i = 0; i < api->native.count; i++) {
        if (slice_equals(api->native.items[i].subtype, connection->subtype)) {
            return &api->native.items[i];
        }
    }
    return NULL;
}

static struct slice credential_database(const struct protocol *protocol)
{
    return protocol->catalog == NULL ? SLICE("") : protocol->catalog->database;
}

/* A client of SSH asks for the secret: it is not part of what is typed. */
static void credential_add_ssh(const struct api_call *call, const struct protocol *protocol,
                               struct credential_access *access)
{
    struct arena *arena = call->arena;
    struct slice key = protocol->host_key_in(arena, identity_scram_key(call->api->identity));
    struct slice host = access->hostname;
    struct slice port = access->port;
    struct slice user = access->username;
    access->known_hosts =
        arena_format(arena, "[%.*s]:%.*s %.*s", SLICE_ARG(host), SLICE_ARG(port), SLICE_ARG(key));
    access->ssh_config =
        arena_format(arena,
                     "Host %.*s\n  HostName %.*s\n  Port %.*s\n  User %.*s\n"
                     "  PreferredAuthentications password\n",
                     SLICE_ARG(user), SLICE_ARG(host), SLICE_ARG(port), SLICE_ARG(user));
    if (access->password.len > 0) {
        access->connection_string = arena_format(arena, "ssh -p %.*s %.*s@%.*s", SLICE_ARG(port),
                                                 SLICE_ARG(user), SLICE_ARG(host));
    }
}

/* The database's name is left to what the gateway hides from everybody. */
struct credential_access *credential_access_in(const struct api_call *call,
                                               const struct connection *connection,
                                               struct slice secret)
{
    struct arena *arena = call->arena;
    const struct api *api = call->api;
    struct slice database = connection->default_database;
    const struct native_address *address = credential_address(api, connection);
    const struct protocol *protocol = protocols_find(api->protocols, connection->subtype);
    if (address == NULL) {
        return NULL;
    }
    struct credential_access *access = arena_alloc(arena, sizeof(*access));
    *access = (struct credential_access){
        .hostname = address->host,
        .port = arena_format(arena, "%u", address->port),
        .username = connection->name,
        .password = secret,
        .database_name = database.len > 0 ? database : credential_database(protocol),
    };
    if (protocol->host_key_in != NULL) {
        credential_add_ssh(call, protocol, access);
    } else if (secret.len > 0) {
        bool is_ipv6 = slice_find_byte(access->hostname, ':') < access->hostname.len;
        access->connection_string = arena_format(
            arena, "%s://%.*s:%.*s@%s%.*s%s:%u/%.*s?sslmode=%s", protocol->url,
            SLICE_ARG(url_encode(arena, access->username)), SLICE_ARG(access->password),
            is_ipv6 ? "[" : "", SLICE_ARG(access->hostname), is_ipv6 ? "]" : "", address->port,
            SLICE_ARG(url_encode(arena, access->database_name)),
            api->uses_tls ? "require" : "disable");
    }
    return access;
}

static enum err credential_answer(struct credential_call *self, int status, struct error *reterr)
{
    self->credential.access =
        credential_access_in(self->call, &self->connection, self->made.secret);
    self->call->response->is_compressible = false;
    struct json_writer json = api_answer(self->call, status);
    shape_write(&credential_shape, &self->credential, &json);
    return api_answer_end(self->call, &json, reterr);
}

/* Others must approve: asked for again after that, it is there. */
static enum err credential_answer_waiting(struct credential_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    struct credential *credential = &self->credential;
    struct json_writer json = api_answer(call, 202);
    credential->id = self->access.review.session_id;
    credential->expires_at = 0;
    json_begin_object(&json);
    shape_write_members(&credential_shape, 0, 0, credential, &json);
    json_member_text(&json, "review_url",
                     review_link_in(call->arena, call->api, &self->access.review));
    json_member_text(&json, "message", SLICE("others must approve this: ask again when they have"));
    json_end_object(&json);
    return api_answer_end(call, &json, reterr);
}

static struct slice credential_payload(const struct credential_call *self)
{
    const struct credential *credential = &self->credential;
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", credential->id);
    json_member_text(&text.json, "connection_name", credential->connection_name);
    json_member_text(&text.json, "user_email", credential->member_email);
    if (credential->expires_at != 0) {
        json_member_timestamp(&text.json, "expire_at", credential->expires_at);
    } else {
        json_member_no_value(&text.json, "expire_at");
    }
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

/* Asking for one ------------------------------------------------------------------------------- */

static enum err credential_prepare_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct credential_call *self = context;
    enum err err = credential_load_connection(self, tx, reterr);
    return err == ERR_NONE ? credential_check_connection(&self->connection, false, reterr) : err;
}

enum err credential_check_listener(const struct api_call *call, const struct connection *connection,
                                   struct error *reterr)
{
    const struct protocol *protocol = protocols_find(call->api->protocols, connection->subtype);
    if (protocol == NULL) {
        return fail(reterr, ERR_INPUT,
                    "the connection '%.*s' is of subtype '%.*s', which native clients cannot reach "
                    "yet",
                    SLICE_ARG(connection->name), SLICE_ARG(connection->subtype));
    }
    return credential_address(call->api, connection) != NULL
               ? ERR_NONE
               : fail(reterr, ERR_INPUT,
                      "this gateway does not listen for native clients of %s (--%.*s-listen)",
                      protocol->name, SLICE_ARG(protocol->subtype));
}

enum native_proof credential_proof_of(const struct api_call *call,
                                      const struct connection *connection)
{
    const struct protocol *protocol = protocols_find(call->api->protocols, connection->subtype);
    return protocol == NULL ? NATIVE_PROOF_SCRAM : protocol->proof;
}

int64_t credential_expiry(const struct connection *connection, const struct shape_int *asked,
                          int64_t now)
{
    const struct shape_int *most = &connection->access_max_duration;
    bool is_asked = asked->is_given && !asked->is_null;
    bool is_bounded = most->is_given && !most->is_null && most->value > 0;
    int64_t seconds = is_asked ? asked->value : 0;
    if (is_bounded && (!is_asked || most->value < seconds)) {
        seconds = most->value;
    }
    return seconds == 0 ? 0 : now + seconds * TIMESTAMP_SECOND;
}

/* One person does not take all the places of a connection. */
static enum err credential_check_room(const struct credential_call *self, struct store_tx *tx,
                                      struct error *reterr)
{
    int64_t count = 0;
    enum err err =
        credential_store_count(tx, &self->credential, self->credential.created_at, &count, reterr);
    return err == ERR_NONE && count >= LIMIT_MEMBER_CREDENTIALS
               ? fail(reterr, ERR_CONFLICT,
                      "you have %d credentials for this connection, the most that stay good side "
                      "by side: end one, or ask without 'keep_others', which ends them all",
                      LIMIT_MEMBER_CREDENTIALS)
               : err;
}

static enum err credential_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct credential_call *self = context;
    struct credential *credential = &self->credential;
    const struct credential_proof proof = {.hash = self->made.hash,
                                           .verifier = self->made.verifier};
    struct slice name = self->connection.name;
    enum err err = credential_prepare_body(tx, context, reterr);
    if (err == ERR_NONE && !slice_equals(name, self->connection.name)) {
        err = fail(reterr, ERR_NOT_FOUND, "the connection '%.*s' is gone", SLICE_ARG(name));
    }
    if (err != ERR_NONE) {
        return err;
    }
    credential->connection_id = self->connection.id;
    credential->connection_name = self->connection.name;
    credential->connection_type = self->connection.type;
    credential->connection_subtype = self->connection.subtype;
    credential->expires_at = credential_expiry(
        &self->connection, &self->wanted.access_duration_seconds, credential->created_at);
    err = access_review_ask(&self->access, tx, reterr);
    credential->review_id = self->access.review.id;
    credential->session_id = self->access.review.session_id;
    credential->has_review.value = self->access.review.id.len > 0;
    if (err != ERR_NONE || self->access.is_waiting) {
        return err;
    }
    if (credential->has_review.value &&
        (credential->expires_at == 0 ||
         credential->expires_at > self->access.review.granted_until)) {
        credential->expires_at = self->access.review.granted_until;
    }
    err = self->wanted.keep_others.value
              ? credential_check_room(self, tx, reterr)
              : credential_store_revoke_older(tx, credential, credential->created_at, reterr);
    if (err == ERR_NONE) {
        err = credential_store_insert(tx, self->call->arena, credential, &proof, reterr);
    }
    struct slice payload = credential_payload(self);
    return err == ERR_NONE ? api_audit(self->call, tx, "create", 201, payload, reterr) : err;
}

enum err credentials_post(struct api_call *call, struct error *reterr)
{
    struct credential_call self = {.call = call};
    const struct caller *caller = &call->caller;
    self.access = (struct access_review){
        .call = call, .connection = &self.connection, .metadata = &self.wanted.metadata};
    enum err err =
        api_read_body(call, SHAPE_WHOLE, &credential_request_shape, &self.wanted, reterr);
    self.access.seconds = self.wanted.access_duration_seconds;
    if (err == ERR_NONE) {
        err = session_metadata_check(&self.wanted.metadata, reterr);
    }
    if (err == ERR_NONE) {
        err = store_read(call->api->store, credential_prepare_body, &self, reterr);
    }
    if (err == ERR_NONE) {
        err = credential_check_listener(call, &self.connection, reterr);
    }
    if (err == ERR_NONE) {
        err = review_issuer(call->api, call->arena, &self.access.issuer, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    /* Before the transaction: it takes its time. */
    native_credential_make_in(call->arena, identity_scram_key(call->api->identity),
                              self.connection.name, credential_proof_of(call, &self.connection),
                              &self.made);
    self.credential = (struct credential){
        .id = row_id_new(call->arena),
        .organization_id = caller->organization_id,
        .member_id = caller->id,
        .member_email = caller->email,
        .member_name = caller->name,
        .has_review = {.is_given = true},
        .created_at = clock_now(),
    };
    self.access.now = self.credential.created_at;
    err = store_write(call->api->store, credential_post_body, &self, reterr);
    if (err == ERR_NONE && self.access.is_waiting) {
        return credential_answer_waiting(&self, reterr);
    }
    return err == ERR_NONE ? credential_answer(&self, 201, reterr) : err;
}

/* Looking, and ending -------------------------------------------------------------------------- */

static enum err credential_get_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct credential_call *self = context;
    enum err err = credential_load_connection(self, tx, reterr);
    const struct credential of = {.member_id = self->call->caller.id,
                                  .connection_id = self->connection.id};
    return err == ERR_NONE ? credential_store_current(tx, self->call->arena, &of, clock_now(),
                                                      &self->credential, reterr)
                           : err;
}

enum err credentials_get(struct api_call *call, struct error *reterr)
{
    struct credential_call self = {.call = call};
    enum err err = store_read(call->api->store, credential_get_body, &self, reterr);
    return err == ERR_NONE ? credential_answer(&self, 200, reterr) : err;
}

/* Who lost the connection may still end what he has for it, so its visibility does not count. */
static enum err credential_revoke_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct credential_call *self = context;
    struct api_call *call = self->call;
    struct slice connection = call->request->values[0];
    struct slice id = call->request->values[1];
    struct credential *found = &self->credential;
    enum err err =
        credential_store_find(tx, call->arena, call->caller.organization_id, id, found, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    bool is_own = slice_equals(found->member_id, call->caller.id);
    bool is_there = slice_equals(found->connection_name, connection) ||
                    slice_equals(found->connection_id, connection);
    if (!is_there || !(is_own || caller_reads_all(&call->caller))) {
        return fail(reterr, ERR_NOT_FOUND, "there is no credential '%.*s'", SLICE_ARG(id));
    }
    if (!is_own && !call->caller.is_admin) {
        return fail(reterr, ERR_DENIED, "the credential is somebody else's");
    }
    err = credential_store_revoke(tx, found->id, clock_now(), reterr);
    struct slice payload = credential_payload(self);
    return err == ERR_NONE ? api_audit(call, tx, "revoke", 204, payload, reterr) : err;
}

enum err credentials_revoke(struct api_call *call, struct error *reterr)
{
    struct credential_call self = {.call = call};
    call->response->status = 204;
    return store_write(call->api->store, credential_revoke_body, &self, reterr);
}

static enum err credentials_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct credentials_listing *listing = context;
    const struct caller *caller = &listing->call->caller;
    const struct credential of = {
        .organization_id = caller->organization_id,
        .member_id = caller_reads_all(caller) ? SLICE("") : caller->id,
    };
    return credential_store_list(tx, listing->call->arena, &of, clock_now(), &listing->list,
                                 reterr);
}

enum err credentials_list(struct api_call *call, struct error *reterr)
{
    struct credentials_listing listing = {.call = call};
    enum err err = store_read(call->api->store, credentials_list_body, &listing, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < listing.list.count; i++) {
        shape_write(&credential_shape, &listing.list.credentials[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}
