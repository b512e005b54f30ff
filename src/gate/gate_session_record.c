/* SPDX-License-Identifier: MIT */
/* What a session is, in the store and at the head of its recording. */
#include "gate/gate_session_internal.h"
#include "gate/session_head.h"
#include "io/clock.h"

#define NAME_SIZE_MAX 254 /* of an application */

/* What the connection says, or else what is usual. */
static int64_t gate_session_own(const struct shape_int *value, int64_t usual)
{
    return value->is_given && !value->is_null ? value->value : usual;
}

void gate_session_describe(struct gate_session *session)
{
    struct arena *arena = &session->arena;
    struct session *row = &session->session;
    const struct credential_grant *grant = &session->admitted->grant;
    const struct connection *connection = &grant->connection.connection;
    row->organization_id = arena_copy(arena, grant->credential.organization_id);
    row->credential_id = arena_copy(arena, grant->credential.id);
    row->connection_id = arena_copy(arena, connection->id);
    row->connection_name = arena_copy(arena, connection->name);
    row->connection_type = arena_copy(arena, connection->type);
    row->connection_subtype = arena_copy(arena, connection->subtype);
    row->resource_name = arena_copy(arena, connection->resource_name);
    row->user_id = arena_copy(arena, grant->caller.id);
    row->user_email = arena_copy(arena, grant->caller.email);
    row->user_name = arena_copy(arena, grant->caller.name);
    row->identity_type = grant->caller.is_key ? SLICE("machine") : SLICE("user");
    row->verb = credential_is_command(&grant->credential) ? SLICE("exec") : SLICE("connect");
    row->status = SLICE(SESSION_OPEN);
    row->started_at = clock_now();
    row->guardrails_info = SLICE("[]"); /* none yet */
    if (session->opener != NULL) {
        row->labels = session->opener->labels; /* they live as long as the session */
        row->batch_id = session->opener->batch_id;
        row->correlation_id = session->opener->correlation_id;
    }
    row->recording_days = gate_session_own(&connection->recording_days, -1);
    session->is_reviewed =
        credential_is_command(&grant->credential) && grant->credential.review_id.len > 0;
    session->row_limit = (uint64_t)gate_session_own(&connection->recording_row_limit,
                                                    (int64_t)session->protocol->row_limit);
}

enum err gate_session_take_metadata(struct gate_session *session, struct error *reterr)
{
    struct session *row = &session->session;
    const struct connection *connection = &session->admitted->grant.connection.connection;
    session->hello = session->front->ops->hello_in(&session->arena, session->front);
    const struct shape_pairs *given = &session->hello.metadata;
    session->database = arena_copy(&session->arena, session->hello.database);
    enum err err = session_metadata_check(given, reterr);
    if (err == ERR_NONE) {
        err = session_metadata_check_fields(&connection->mandatory_metadata_fields, given, reterr);
    }
    if (err == ERR_NONE) {
        row->application_name =
            session_text_in(&session->arena, session->hello.application_name, NAME_SIZE_MAX);
        row->metadata = session_metadata_json_in(&session->arena, given);
    }
    return err;
}

enum err gate_session_start_recording(struct gate_session *session, struct error *reterr)
{
    const struct session *row = &session->session;
    enum err err = recorder_open(session->worker->recorders, row->id, row->started_at,
                                 &session->recorder, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    session_head_record(session->recorder, row,
                        session->protocol->is_inside ? session->protocol->subtype : SLICE(""));
    return recorder_flush(session->recorder, reterr);
}
