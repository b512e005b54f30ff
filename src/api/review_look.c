/* SPDX-License-Identifier: MIT */
#include "api/review_look.h"

#include "base/timestamp.h"
#include "io/clock.h"
#include "store/row_id.h"
#include "store/rows.h"

enum err review_issuer(struct api *api, struct arena *arena, struct slice *ret_issuer,
                       struct error *reterr)
{
    return identity_issuer_in(arena, api->identity, ret_issuer, reterr);
}

static enum err review_look_see(struct api *api, struct arena *arena, struct store_tx *tx,
                                struct slice issuer, struct review_look *look, struct error *reterr)
{
    const struct review *review = &look->review;
    const struct credential_question question = {
        .now = clock_now(),
        .admin_group = identity_admin_group(api->identity),
        .auditor_group = identity_auditor_group(api->identity),
        .issuer = issuer,
    };
    struct error why = {0};
    look->grant = (struct credential_grant){
        .credential =
            {
                .organization_id = review->organization_id,
                .connection_id = review->connection_id,
                .member_id = review->member_id,
                .is_execution = slice_equals(review->kind, SLICE(REVIEW_ONETIME)),
            },
    };
    enum err err = credential_store_see(tx, arena, &question, &look->grant, &why);
    if (err == ERR_UNAUTHENTICATED) {
        look->why = SLICE("whoever asked is not active any more");
    } else if (err == ERR_DENIED) {
        look->why = SLICE("whoever asked may not use the connection any more");
    } else if (err != ERR_NONE) {
        *reterr = why;
        return err;
    }
    return ERR_NONE;
}

static enum err review_look_compare(struct store_tx *tx, struct arena *arena,
                                    struct review_look *look, struct error *reterr)
{
    const struct review *review = &look->review;
    const struct review_subject subject = {
        .organization_id = review->organization_id,
        .connection_id = review->connection_id,
        .script = look->secret.script,
        .metadata = review->metadata,
        .pinned = look->secret.pinned,
    };
    struct review_need now = {0};
    const struct review_use use = {.connection = &look->grant.connection.connection,
                                   .caller = &look->grant.caller,
                                   .is_command = !slice_equals(review->kind, SLICE(REVIEW_JIT))};
    enum err err = review_need_load(tx, arena, &use, &now, reterr);
    bool is_pending = slice_equals(review->state, review_state_word(REVIEW_PENDING));
    if (err == ERR_NONE && is_pending &&
        !slice_equals(review_need_text_in(arena, &now), review->need)) {
        look->why = SLICE("what the rules ask for has changed");
        return ERR_NONE;
    }
    if (err == ERR_NONE) {
        err = review_hash(tx, arena, &subject, &look->hash, reterr);
    }
    if (err == ERR_NONE && !slice_equals(look->hash, look->secret.hash)) {
        look->why = SLICE("the connection is not as it was when this was asked for");
    }
    return err;
}

enum err review_look(struct api *api, struct arena *arena, struct store_tx *tx, struct slice issuer,
                     struct review_look *look, struct error *reterr)
{
    look->why = SLICE("");
    look->hash = SLICE("");
    enum err err = review_store_open(tx, arena, &look->review, &look->secret, reterr);
    if (err == ERR_NONE) {
        err = review_need_parse_in(arena, look->review.need, &look->need, reterr);
    }
    if (err == ERR_NONE) {
        err = review_look_see(api, arena, tx, issuer, look, reterr);
    }
    if (err == ERR_NONE && look->why.len == 0) {
        err = review_look_compare(tx, arena, look, reterr);
    }
    if (look->why.len > 0) {
        look->hash = SLICE("");
    }
    return err;
}

enum err review_keep(struct store_tx *tx, struct review *review,
                     const struct review_progress *progress, int64_t now, struct error *reterr)
{
    review->state = review_state_word(progress->state);
    review->granted_until = progress->granted_until;
    review->updated_at = now;
    return review_store_save(tx, review, reterr);
}

/* Asking --------------------------------------------------------------------------------------- */

struct slice review_link_in(struct arena *arena, const struct api *api, const struct review *review)
{
    return arena_format(arena, "%.*s/reviews/%.*s", SLICE_ARG(api->public_url),
                        SLICE_ARG(review->id));
}

struct slice review_payload_in(struct arena *arena, const struct review *review)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "review_id", review->id);
    json_member_text(&text.json, "session_id", review->session_id);
    json_member_text(&text.json, "type", review->kind);
    json_member_text(&text.json, "connection", review->connection_name);
    json_member_text(&text.json, "requester", review->member_email);
    json_member_text(&text.json, "status", review->state);
    if (review->reason.len > 0) {
        json_member_text(&text.json, "reason", review->reason);
    }
    if (review->is_forced) {
        json_member_bool(&text.json, "emergency", true);
    }
    if (review->granted_until != 0) {
        json_member_timestamp(&text.json, "revoke_at", review->granted_until);
    }
    json_end_object(&text.json);
    return api_text_end_in(arena, &text);
}

enum err review_ask(struct store_tx *tx, struct review_asking *asking, struct error *reterr)
{
    struct api_call *call = asking->call;
    const struct caller *caller = &call->caller;
    const struct connection *connection = asking->connection;
    int64_t now = clock_now();
    if (asking->script.len > LIMIT_REVIEW_SCRIPT_SIZE) {
        return fail(reterr, ERR_LIMIT, "a script that others must approve has at most %zu bytes",
                    LIMIT_REVIEW_SCRIPT_SIZE);
    }
    bool is_script = asking->script.len > 0;
    struct review_secret secret = {.script = asking->script};
    asking->review = (struct review){
        .id = row_id_new(call->arena),
        .organization_id = caller->organization_id,
        .session_id = row_id_new(call->arena),
        .kind = is_script ? SLICE(REVIEW_ONETIME) : SLICE(REVIEW_JIT),
        .state = review_state_word(REVIEW_PENDING),
        .connection_id = connection->id,
        .connection_name = connection->name,
        .connection_subtype = connection->subtype,
        .member_id = caller->id,
        .member_email = caller->email,
        .member_name = caller->name,
        .need = review_need_text_in(call->arena, asking->need),
        .script_size = (int64_t)asking->script.len,
        .metadata = asking->metadata.len > 0 ? asking->metadata : SLICE("{}"),
        .duration_sec = asking->duration_sec,
        .runs_at_once = asking->runs_at_once,
        .reason = SLICE(""),
        .run_id = SLICE(""),
        .run_by = SLICE(""),
        .client_ip = slice_of_text(call->request->peer.address),
        .created_at = now,
        .updated_at = now,
        .pending_until = now + call->api->review_us,
    };
    const struct review_subject subject = {
        .organization_id = caller->organization_id,
        .connection_id = connection->id,
        .script = asking->script,
        .metadata = asking->review.metadata,
    };
    enum err err = review_store_check_room(tx, caller->id, now, reterr);
    if (err == ERR_NONE) {
        err = review_hash(tx, call->arena, &subject, &secret.hash, reterr);
    }
    if (err == ERR_NONE) {
        err = review_store_insert(tx, call->arena, &asking->review, &secret, reterr);
    }
    return err == ERR_NONE ? api_audit(call, tx, "request_review", is_script ? 200 : 202,
                                       review_payload_in(call->arena, &asking->review), reterr)
                           : err;
}
