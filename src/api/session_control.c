/* SPDX-License-Identifier: MIT */
/* Ending sessions, and what is said about them. */
#include "api/sessions.h"
#include "gate/gate.h"
#include "store/connection_store.h"

struct session_change {
    struct api_call *call;
    struct session session;
    struct session_metadata_request wanted;
    struct slice reason;
    struct slice metadata; /* JSON */
};

static enum err session_change_load(struct session_change *self, struct store_tx *tx,
                                    struct error *reterr)
{
    struct api_call *call = self->call;
    const struct session_scope scope = session_scope_of(&call->caller);
    return session_store_get(tx, call->arena, &scope, call->request->values[0], &self->session,
                             reterr);
}

/* Ending --------------------------------------------------------------------------------------- */

static enum err session_kill_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct session_change *self = context;
    struct api_call *call = self->call;
    enum err err = session_change_load(self, tx, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (!session_is_own(call, &self->session) && !call->caller.is_admin) {
        return fail(reterr, ERR_DENIED, "access denied: the session is somebody else's");
    }
    err = session_store_ask_end(tx, self->session.id, self->reason, reterr);
    struct slice payload = session_payload_in(call->arena, &self->session);
    return err == ERR_NONE ? api_audit(call, tx, "kill", 204, payload, reterr) : err;
}

/* Asked for in the store, so that it also reaches the gateway that has the session when this one
 * has not; here at once. */
enum err sessions_kill(struct api_call *call, struct error *reterr)
{
    const struct caller *caller = &call->caller;
    struct slice who = caller->email.len > 0 ? caller->email : caller->name;
    struct session_change self = {
        .call = call,
        .reason = arena_format(call->arena, "the session was ended by %.*s", SLICE_ARG(who)),
    };
    call->response->status = 204;
    enum err err = store_write(call->api->store, session_kill_body, &self, reterr);
    if (err == ERR_NONE && call->api->gate != NULL &&
        gate_kill(call->api->gate, self.session.id, self.reason) == ERR_NOT_FOUND) {
        return ERR_NONE; /* another gateway has it, or it has just ended */
    }
    return err;
}

/* Metadata ------------------------------------------------------------------------------------- */

/* What had to be said when the session began cannot be taken back, as long as that is known. */
static enum err session_metadata_keep(struct session_change *self, struct store_tx *tx,
                                      struct error *reterr)
{
    struct api_call *call = self->call;
    const struct visibility visibility = caller_visibility(&call->caller);
    struct connection_row row;
    enum err err = connection_store_find(tx, call->arena, &visibility, self->session.connection_id,
                                         &row, reterr);
    if (err == ERR_NOT_FOUND) {
        return ERR_NONE;
    }
    if (err == ERR_NONE) {
        err = connection_store_open_document(call->arena, &row, reterr);
    }
    if (err == ERR_NONE) {
        err = session_metadata_check_fields(&row.connection.mandatory_metadata_fields,
                                            &self->wanted.metadata, reterr);
        err = err == ERR_DENIED ? ERR_INPUT : err;
    }
    return err;
}

static enum err session_metadata_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct session_change *self = context;
    struct api_call *call = self->call;
    enum err err = session_change_load(self, tx, reterr);
    if (err == ERR_NONE && !session_is_own(call, &self->session)) {
        return fail(reterr, ERR_DENIED, "access denied: the session is somebody else's");
    }
    if (err == ERR_NONE) {
        err = session_metadata_keep(self, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = session_store_set_metadata(tx, self->session.id, self->metadata, reterr);
    }
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", call->request->values[0]);
    json_member_raw(&text.json, "metadata", self->metadata);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(call->arena, &text);
    return err == ERR_NONE ? api_audit(call, tx, "update", 204, payload, reterr) : err;
}

enum err sessions_patch_metadata(struct api_call *call, struct error *reterr)
{
    struct session_change self = {.call = call};
    enum err err = api_read_body(call, SHAPE_WHOLE, &session_metadata_shape, &self.wanted, reterr);
    if (err == ERR_NONE) {
        err = session_metadata_check(&self.wanted.metadata, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self.metadata = session_metadata_json_in(call->arena, &self.wanted.metadata);
    call->response->status = 204;
    return store_write(call->api->store, session_metadata_body, &self, reterr);
}
