/* SPDX-License-Identifier: MIT */
/* Certificates of SSH: those that the gateway signs for people, whose others count, and what
 * clients and servers have to know of the gateway's own keys. */
#include "api/credentials.h"
#include "api/handlers.h"
#include "base/limits.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "codec/base64.h"
#include "identity/person_key.h"
#include "identity/ssh_authority.h"
#include "io/clock.h"
#include "model/ssh_certificate.h"
#include "model/user.h"
#include "protocol/protocol.h"
#include "store/row_id.h"
#include "store/ssh_authority_store.h"
#include "store/user_store.h"
#include "wire/address.h"

#define CLOCKS_APART_S 60 /* by how much a clock may be behind the gateway's */

static struct slice ssh_line_fingerprint_in(struct arena *arena,
                                            const struct ssh_authority *authority)
{
    return person_key_fingerprint_in(arena, ssh_authority_blob_in(arena, authority));
}

static void ssh_derive(const struct api_call *call, enum ssh_authority_kind kind,
                       struct ssh_authority *ret_authority)
{
    ssh_authority_derive(identity_scram_key(call->api->identity), kind,
                         call->caller.organization_id, ret_authority);
}

/* The gateway itself -------------------------------------------------------------------------- */

static const struct native_address *ssh_address(const struct api *api)
{
    for (size_t i = 0; i < api->native.count; i++) {
        if (slice_equals(api->native.items[i].subtype, SLICE("ssh"))) {
            return &api->native.items[i];
        }
    }
    return NULL;
}

enum err ssh_about_get(struct api_call *call, struct error *reterr)
{
    struct arena *arena = call->arena;
    const struct native_address *address = ssh_address(call->api);
    const struct protocol *protocol = protocols_find(call->api->protocols, SLICE("ssh"));
    struct ssh_authority authority;
    struct sshwire_key key;
    struct ssh_about about = {
        .host_key = protocol->host_key_in(arena, identity_scram_key(call->api->identity)),
        .known_hosts = SLICE(""),
    };
    must(sshwire_key_read_line_in(arena, about.host_key, &key, reterr) == ERR_NONE);
    about.host_key_fingerprint = person_key_fingerprint_in(arena, key.blob);
    if (address != NULL) {
        about.known_hosts = arena_format(arena, "[%.*s]:%u %.*s", SLICE_ARG(address->host),
                                         address->port, SLICE_ARG(about.host_key));
    }
    ssh_derive(call, SSH_AUTHORITY_OF_PEOPLE, &authority);
    about.people_key = ssh_authority_line_in(arena, &authority);
    about.people_fingerprint = ssh_line_fingerprint_in(arena, &authority);
    ssh_derive(call, SSH_AUTHORITY_OF_TARGETS, &authority);
    about.targets_key = ssh_authority_line_in(arena, &authority);
    about.targets_fingerprint = ssh_line_fingerprint_in(arena, &authority);
    ssh_authority_wipe(&authority);
    struct json_writer json = api_answer(call, 200);
    shape_write(&ssh_about_shape, &about, &json);
    return api_answer_end(call, &json, reterr);
}

/* Certificates of people ---------------------------------------------------------------------- */

struct ssh_certificate_call {
    struct api_call *call;
    struct ssh_certificate_request wanted;
    struct sshwire_key key;
    struct user user;
    struct ssh_certificate made;
};

static enum err ssh_certificate_find_person(struct ssh_certificate_call *self, struct store_tx *tx,
                                            struct error *reterr)
{
    const struct caller *caller = &self->call->caller;
    enum err err = caller->is_key ? ERR_NOT_FOUND
                                  : user_store_find(tx, self->call->arena, caller->organization_id,
                                                    caller->id, &self->user, reterr);
    return err == ERR_NOT_FOUND
               ? fail(reterr, ERR_INPUT, "certificates of SSH are people's: sign in as one")
               : err;
}

/* Each is looked at again when somebody comes with it. */
static enum err ssh_certificate_find_connections(struct ssh_certificate_call *self,
                                                 struct store_tx *tx, struct buf *list,
                                                 struct error *reterr)
{
    struct shape_texts *names = &self->wanted.connections;
    enum err err = names->count > 0
                       ? ERR_NONE
                       : fail(reterr, ERR_INPUT, "'connections' must name at least one");
    for (size_t i = 0; i < names->count && err == ERR_NONE; i++) {
        struct connection connection;
        err = credential_connection(self->call, tx, names->items[i], &connection, reterr);
        if (err == ERR_NONE && !slice_equals(connection.subtype, SLICE("ssh"))) {
            err = fail(reterr, ERR_INPUT, "the connection '%.*s' is none of SSH",
                       SLICE_ARG(connection.name));
        }
        if (err == ERR_NONE) {
            names->items[i] = connection.name;
            err = sshwire_field_write(list, connection.name);
        }
    }
    return err;
}

static struct slice ssh_certificate_options_in(struct arena *arena, struct slice source_address)
{
    struct buf value;
    struct buf options;
    buf_init(&value, LIMIT_KIB(2));
    buf_init(&options, LIMIT_KIB(4));
    if (source_address.len > 0) {
        must(sshwire_field_write(&value, source_address) == ERR_NONE &&
             sshwire_field_write(&options, SLICE("source-address")) == ERR_NONE &&
             sshwire_field_write(&options, buf_view(&value)) == ERR_NONE);
    }
    struct slice list = arena_copy(arena, buf_view(&options));
    buf_release(&value);
    buf_release(&options);
    return list;
}

static struct slice ssh_certificate_extensions_in(struct arena *arena)
{
    static const char *const names[] = {"permit-port-forwarding", "permit-pty"};
    struct buf extensions;
    buf_init(&extensions, LIMIT_KIB(1));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        must(sshwire_field_write(&extensions, slice_of_text(names[i])) == ERR_NONE &&
             sshwire_field_write(&extensions, SLICE("")) == ERR_NONE);
    }
    struct slice list = arena_copy(arena, buf_view(&extensions));
    buf_release(&extensions);
    return list;
}

/* Its id ends with that of the person, by which the gateway knows whose it is. */
static enum err ssh_certificate_sign(struct ssh_certificate_call *self, struct slice principals,
                                     struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct shape_int *asked = &self->wanted.duration_seconds;
    struct ssh_authority authority;
    struct slice blob = SLICE("");
    int64_t now = clock_now() / TIMESTAMP_SECOND;
    int64_t seconds = asked->is_given && !asked->is_null ? asked->value : SSH_CERTIFICATE_SECONDS;
    struct sshwire_certificate certificate = {
        .key = self->key.blob,
        .role = SSHWIRE_CERTIFICATE_OF_USER,
        .id =
            arena_format(arena, "%.*s %.*s", SLICE_ARG(self->user.email), SLICE_ARG(self->user.id)),
        .principals = principals,
        .valid_after = (uint64_t)(now - CLOCKS_APART_S),
        .valid_before = (uint64_t)(now + seconds),
        .options = ssh_certificate_options_in(arena, self->wanted.source_address),
        .extensions = ssh_certificate_extensions_in(arena),
    };
    ssh_derive(self->call, SSH_AUTHORITY_OF_PEOPLE, &authority);
    enum err err = ssh_authority_sign_in(arena, &authority, &certificate, &blob, reterr);
    ssh_authority_wipe(&authority);
    if (err != ERR_NONE) {
        return err;
    }
    struct slice type = sshwire_list_next(&(struct slice){.at = blob.at, .len = blob.len});
    self->made = (struct ssh_certificate){
        .certificate = arena_format(arena, "%.*s %.*s %.*s", SLICE_ARG(type),
                                    SLICE_ARG(base64_encode_in(arena, BASE64_STANDARD, blob)),
                                    SLICE_ARG(self->user.email)),
        .id = certificate.id,
        .serial = arena_format(arena, "%llu", (unsigned long long)certificate.serial),
        .fingerprint = person_key_fingerprint_in(arena, self->key.blob),
        .connections = self->wanted.connections,
        .expires_at = (now + seconds) * TIMESTAMP_SECOND,
    };
    return ERR_NONE;
}

static struct slice ssh_certificate_payload(const struct ssh_certificate_call *self)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "user_email", self->user.email);
    json_member_text(&text.json, "serial", self->made.serial);
    json_member_text(&text.json, "fingerprint", self->made.fingerprint);
    json_member_timestamp(&text.json, "expires_at", self->made.expires_at);
    json_key(&text.json, "connections");
    json_begin_array(&text.json);
    for (size_t i = 0; i < self->made.connections.count; i++) {
        json_text(&text.json, self->made.connections.items[i]);
    }
    json_end_array(&text.json);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err ssh_certificates_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct ssh_certificate_call *self = context;
    struct buf principals;
    buf_init(&principals, LIMIT_KIB(24));
    enum err err = ssh_certificate_find_person(self, tx, reterr);
    if (err == ERR_NONE) {
        err = ssh_certificate_find_connections(self, tx, &principals, reterr);
    }
    if (err == ERR_NONE) {
        err = ssh_certificate_sign(self, buf_view(&principals), reterr);
    }
    if (err == ERR_NONE) {
        err = api_audit(self->call, tx, "create", 201, ssh_certificate_payload(self), reterr);
    }
    buf_release(&principals);
    return err;
}

enum err ssh_certificates_post(struct api_call *call, struct error *reterr)
{
    struct ssh_certificate_call self = {.call = call};
    struct network_list networks;
    enum err err =
        api_read_body(call, SHAPE_WHOLE, &ssh_certificate_request_shape, &self.wanted, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = person_key_read_in(call->arena, self.wanted.public_key, &self.key, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "'public_key': ");
        return err;
    }
    err = network_list_parse(self.wanted.source_address, &networks, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "'source_address': ");
        return err;
    }
    err = store_write(call->api->store, ssh_certificates_post_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 201);
    shape_write(&ssh_certificate_shape, &self.made, &json);
    return api_answer_end(call, &json, reterr);
}

/* Who else signs ------------------------------------------------------------------------------ */

struct ssh_authority_call {
    struct api_call *call;
    struct ssh_authority_row row;
    struct ssh_authority_list list;
};

static struct slice ssh_authority_payload(const struct ssh_authority_call *self)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", self->row.id);
    json_member_text(&text.json, "name", self->row.name);
    json_member_text(&text.json, "fingerprint", self->row.fingerprint);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

static enum err ssh_authorities_list_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct ssh_authority_call *self = context;
    return ssh_authority_store_list(tx, self->call->arena, self->call->caller.organization_id,
                                    &self->list, reterr);
}

enum err ssh_authorities_list(struct api_call *call, struct error *reterr)
{
    struct ssh_authority_call self = {.call = call};
    enum err err = store_read(call->api->store, ssh_authorities_list_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 200);
    json_begin_array(&json);
    for (size_t i = 0; i < self.list.count; i++) {
        shape_write(&ssh_authority_shape, &self.list.rows[i], &json);
    }
    json_end_array(&json);
    return api_answer_end(call, &json, reterr);
}

static enum err ssh_authorities_post_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct ssh_authority_call *self = context;
    enum err err = ssh_authority_store_insert(tx, &self->row, reterr);
    return err == ERR_NONE
               ? api_audit(self->call, tx, "create", 201, ssh_authority_payload(self), reterr)
               : err;
}

/* A signature of a security key says more than what was signed, and is not read here. */
static enum err ssh_authority_check(const struct sshwire_key *key, struct error *reterr)
{
    return key->kind == SSHWIRE_KEY_SK_ED25519 || key->kind == SSHWIRE_KEY_SK_ECDSA
               ? fail(reterr, ERR_INPUT, "'public_key': authorities in security keys are not taken")
               : ERR_NONE;
}

enum err ssh_authorities_post(struct api_call *call, struct error *reterr)
{
    struct ssh_authority_call self = {.call = call};
    struct ssh_authority_request wanted = {0};
    struct arena *arena = call->arena;
    struct sshwire_key key;
    enum err err = api_read_body(call, SHAPE_WHOLE, &ssh_authority_request_shape, &wanted, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    err = person_key_read_in(arena, wanted.public_key, &key, reterr);
    if (err != ERR_NONE) {
        error_prefix(reterr, "'public_key': ");
        return err;
    }
    err = ssh_authority_check(&key, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    self.row = (struct ssh_authority_row){
        .id = row_id_new(arena),
        .organization_id = call->caller.organization_id,
        .name = wanted.name,
        .public_key = arena_format(arena, "%.*s %.*s", SLICE_ARG(key.type),
                                   SLICE_ARG(base64_encode_in(arena, BASE64_STANDARD, key.blob))),
        .fingerprint = person_key_fingerprint_in(arena, key.blob),
        .created_at = clock_now(),
    };
    err = store_write(call->api->store, ssh_authorities_post_body, &self, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json_writer json = api_answer(call, 201);
    shape_write(&ssh_authority_shape, &self.row, &json);
    return api_answer_end(call, &json, reterr);
}

static enum err ssh_authorities_delete_body(struct store_tx *tx, void *context,
                                            struct error *reterr)
{
    struct ssh_authority_call *self = context;
    struct api_call *call = self->call;
    enum err err = ssh_authority_store_find(tx, call->arena, call->caller.organization_id,
                                            call->request->values[0], &self->row, reterr);
    if (err == ERR_NONE) {
        err = ssh_authority_store_delete(tx, self->row.id, clock_now(), reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, "delete", 204, ssh_authority_payload(self), reterr)
                           : err;
}

enum err ssh_authorities_delete(struct api_call *call, struct error *reterr)
{
    struct ssh_authority_call self = {.call = call};
    call->response->status = 204;
    return store_write(call->api->store, ssh_authorities_delete_body, &self, reterr);
}
