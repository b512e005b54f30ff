/* SPDX-License-Identifier: MIT */
#include "store/session_store.h"

#include "base/limits.h"
#include "base/memory.h"
#include "store/rows.h"
#include "store/session_internal.h"

void session_store_take(struct arena *arena, const struct store_rows *rows, struct session *session)
{
    *session = (struct session){
        .id = rows_text_in(arena, rows, 0),
        .organization_id = rows_text_in(arena, rows, 1),
        .credential_id = rows_text_in(arena, rows, 2),
        .connection_id = rows_text_in(arena, rows, 3),
        .connection_name = rows_text_in(arena, rows, 4),
        .connection_type = rows_text_in(arena, rows, 5),
        .connection_subtype = rows_text_in(arena, rows, 6),
        .resource_name = rows_text_in(arena, rows, 7),
        .user_id = rows_text_in(arena, rows, 8),
        .user_email = rows_text_in(arena, rows, 9),
        .user_name = rows_text_in(arena, rows, 10),
        .identity_type = rows_text_in(arena, rows, 11),
        .verb = rows_text_in(arena, rows, 12),
        .status = rows_text_in(arena, rows, 13),
        .client_ip = rows_text_in(arena, rows, 14),
        .application_name = rows_text_in(arena, rows, 15),
        .started_at = store_rows_int(rows, 16),
        .ended_at = store_rows_int(rows, 17),
        .end_reason = rows_text_in(arena, rows, 18),
        .bytes_in = {.value = store_rows_int(rows, 19), .is_given = true},
        .bytes_out = {.value = store_rows_int(rows, 20), .is_given = true},
        .recording_head = rows_text_in(arena, rows, 21),
        .recording_size = {.value = store_rows_int(rows, 22), .is_given = true},
        .recording_error = rows_text_in(arena, rows, 23),
        .metadata = rows_text_in(arena, rows, 24),
        .recording_days = store_rows_int(rows, 25),
        .recording_removed_at = store_rows_int(rows, 26),
        .metrics = rows_text_in(arena, rows, 27),
        .guardrails_info = arena_format(arena, "[%.*s]", SLICE_ARG(store_rows_view(rows, 28))),
        .guardrails_count = {.value = store_rows_int(rows, 29), .is_given = true},
        .ssh_key = rows_text_in(arena, rows, 30),
        .labels = rows_text_in(arena, rows, 31),
        .batch_id = rows_text_in(arena, rows, 32),
        .correlation_id = rows_text_in(arena, rows, 33),
    };
}

/* What was never given is empty, not NULL. */
static struct slice session_store_text(struct slice text)
{
    return text.len > 0 ? text : SLICE("");
}

enum err session_store_insert(struct store_tx *tx, const struct session *session,
                              struct error *reterr)
{
    return store_exec(
        tx,
        "INSERT INTO session (id, organization_id, credential_id, connection_id, connection_name, "
        "connection_type, connection_subtype, resource_name, user_id, user_email, user_name, "
        "identity_type, verb, status, client_ip, application_name, started_at, metadata, "
        "recording_days, ssh_key, labels, batch_id, correlation_id) VALUES ($1, $2, $3, $4, $5, "
        "$6, $7, $8, $9, $10, $11, $12, $13, 'open', $14, $15, $16, $17, $18, $19, $20, $21, $22)",
        PARAMS(store_text(session->id), store_text(session->organization_id),
               store_text(session->credential_id), store_text(session->connection_id),
               store_text(session->connection_name), store_text(session->connection_type),
               store_text(session->connection_subtype), store_text(session->resource_name),
               store_text(session->user_id), store_text(session->user_email),
               store_text(session->user_name), store_text(session->identity_type),
               store_text(session->verb), store_text(session->client_ip),
               store_text(session->application_name), store_int(session->started_at),
               store_text(session->metadata.len > 0 ? session->metadata : SLICE("{}")),
               store_int(session->recording_days), store_text(session_store_text(session->ssh_key)),
               store_text(session_store_text(session->labels)),
               store_text(session_store_text(session->batch_id)),
               store_text(session_store_text(session->correlation_id))),
        NULL, reterr);
}

enum err session_store_keep_said(struct store_tx *tx, struct slice review_id,
                                 const struct session *said, struct error *reterr)
{
    return store_exec(tx,
                      "INSERT INTO review_ask (review_id, labels, batch_id, correlation_id) "
                      "VALUES ($1, $2, $3, $4)",
                      PARAMS(store_text(review_id), store_text(session_store_text(said->labels)),
                             store_text(session_store_text(said->batch_id)),
                             store_text(session_store_text(said->correlation_id))),
                      NULL, reterr);
}

#define SAID(column)  "(SELECT " column " FROM review_ask WHERE review_id = " OF_ITS_REVIEW ")"
#define OF_ITS_REVIEW "(SELECT review_id FROM credential WHERE id = $2)"

enum err session_store_take_said(struct store_tx *tx, const struct session *session,
                                 struct error *reterr)
{
    return store_exec(
        tx,
        "UPDATE session SET labels = " SAID("labels") ", batch_id = " SAID(
            "batch_id") ", correlation_id = " SAID("correlation_id") " WHERE id = $1 AND EXISTS "
                                                                     "(SELECT 1 FROM review_ask "
                                                                     "WHERE review_id "
                                                                     "= " OF_ITS_REVIEW ")",
        PARAMS(store_text(session->id), store_text(session->credential_id)), NULL, reterr);
}

static enum err session_store_put_masking(struct store_tx *tx, const struct session *session,
                                          struct error *reterr)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < session->masking.type_count && err == ERR_NONE; i++) {
        const struct session_masked *masked = &session->masking.types[i];
        err = store_exec(tx,
                         "INSERT INTO session_masking (session_id, info_type, redact_count, "
                         "transformed_bytes) VALUES ($1, $2, $3, $4)",
                         PARAMS(store_text(session->id), store_text(masked->info_type),
                                store_int(masked->redact_count),
                                store_int(masked->transformed_bytes)),
                         NULL, reterr);
    }
    return err;
}

enum err session_store_end(struct store_tx *tx, const struct session *session, struct error *reterr)
{
    struct arena arena CLEANUP(arena_release);
    uint64_t changed = 0;
    arena_init(&arena);
    enum err err = store_exec(
        tx,
        "UPDATE session SET status = 'done', ended_at = $2, end_reason = $3, "
        "bytes_in = $4, bytes_out = $5, recording_head = $6, recording_size = $7, "
        "recording_error = $8, metrics = $9 WHERE id = $1 AND status = 'open'",
        PARAMS(store_text(session->id), store_int(session->ended_at),
               store_text(session->end_reason), store_int(session->bytes_in.value),
               store_int(session->bytes_out.value), store_text(session->recording_head),
               store_int(session->recording_size.value), store_text(session->recording_error),
               store_text(session_metrics_json_in(&arena, &session->masking))),
        &changed, reterr);
    if (err == ERR_NONE && changed == 0) {
        return fail(reterr, ERR_NOT_FOUND, "there is no open session '%.*s'",
                    SLICE_ARG(session->id));
    }
    return err == ERR_NONE ? session_store_put_masking(tx, session, reterr) : err;
}

/* Appended where it lies: several may be on their way at once. */
enum err session_store_add_guarded(struct store_tx *tx, struct arena *arena, struct slice id,
                                   const struct session_guarded *guarded, size_t count,
                                   struct error *reterr)
{
    uint64_t changed = 0;
    if (count == 0) {
        return ERR_NONE;
    }
    enum err err = store_exec(
        tx,
        "UPDATE session SET guardrails_count = guardrails_count + $3, guardrails_info = "
        "CASE WHEN guardrails_info = '' THEN $2 "
        "WHEN length(guardrails_info) > $4 THEN guardrails_info "
        "ELSE guardrails_info || ',' || $2 END WHERE id = $1",
        PARAMS(store_text(id), store_text(session_guarded_json_in(arena, guarded, count)),
               store_int((int64_t)count), store_int((int64_t)LIMIT_SESSION_GUARDRAILS_SIZE)),
        &changed, reterr);
    return err == ERR_NONE && changed == 0
               ? fail(reterr, ERR_NOT_FOUND, "there is no session '%.*s'", SLICE_ARG(id))
               : err;
}

enum err session_store_get(struct store_tx *tx, struct arena *arena,
                           const struct session_scope *scope, struct slice id,
                           struct session *ret_session, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(
        tx,
        SESSION_COLUMNS "WHERE id = $1 AND organization_id = $2 "
                        "AND ($3 = '' OR user_id = $3)",
        PARAMS(store_text(id), store_text(scope->organization_id), store_text(scope->user_id)),
        &rows, reterr);
    if (err == ERR_NONE) {
        session_store_take(arena, &rows, ret_session);
    }
    return err == ERR_NOT_FOUND ? fail(reterr, err, "there is no session '%.*s'", SLICE_ARG(id))
                                : err;
}

enum err session_store_find(struct store_tx *tx, struct arena *arena, struct slice id,
                            struct session *ret_session, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err =
        store_query_one(tx, SESSION_COLUMNS "WHERE id = $1", PARAMS(store_text(id)), &rows, reterr);
    if (err == ERR_NONE) {
        session_store_take(arena, &rows, ret_session);
    }
    return err;
}

enum err session_store_note_closed(struct store_tx *tx, const struct session *session,
                                   struct error *reterr)
{
    return store_exec(tx,
                      "UPDATE session SET recording_head = $2, recording_size = $3 WHERE id = $1 "
                      "AND status = 'done'",
                      PARAMS(store_text(session->id), store_text(session->recording_head),
                             store_int(session->recording_size.value)),
                      NULL, reterr);
}

enum err session_store_set_metadata(struct store_tx *tx, struct slice id, struct slice metadata,
                                    struct error *reterr)
{
    return store_exec(tx, "UPDATE session SET metadata = $2 WHERE id = $1",
                      PARAMS(store_text(id), store_text(metadata)), NULL, reterr);
}

enum err session_store_ask_end(struct store_tx *tx, struct slice id, struct slice reason,
                               struct error *reterr)
{
    uint64_t changed = 0;
    enum err err =
        store_exec(tx, "UPDATE session SET end_asked = $2 WHERE id = $1 AND status = 'open'",
                   PARAMS(store_text(id), store_text(reason)), &changed, reterr);
    if (err == ERR_NONE && changed == 0) {
        return fail(reterr, ERR_CONFLICT, "the session has ended already");
    }
    return err == ERR_NONE ? store_note_callers(tx, reterr) : err;
}

enum err session_store_end_asked(struct store_tx *tx, struct arena *arena, struct slice id,
                                 struct slice *ret_reason, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT end_asked FROM session WHERE id = $1",
                                   PARAMS(store_text(id)), &rows, reterr);
    *ret_reason = err == ERR_NONE ? rows_text_in(arena, &rows, 0) : SLICE("");
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

/* Lists ---------------------------------------------------------------------------------------- */

enum err session_store_list_open(struct store_tx *tx, struct arena *arena,
                                 struct session_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct session)};
    enum err err = store_query(tx, SESSION_COLUMNS "WHERE status = 'open' ORDER BY started_at, id",
                               NO_PARAMS, &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        session_store_take(arena, &rows, rows_list_add(&list));
    }
    *ret_list = (struct session_list){.sessions = list.items, .count = list.count};
    return rows_end(err);
}

/* Retention ------------------------------------------------------------------------------------ */

#define DAYS "(CASE WHEN recording_days < 0 THEN $2 ELSE recording_days END)"

enum err session_store_list_overdue(struct store_tx *tx, struct arena *arena,
                                    const struct session_retention *retention,
                                    struct session_list *ret_list, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    struct rows_list list = {.arena = arena, .item_size = sizeof(struct session)};
    enum err err =
        store_query(tx,
                    SESSION_COLUMNS "WHERE status = 'done' AND recording_removed_at = 0 AND " DAYS
                                    " > 0 AND ended_at + " DAYS
                                    " * 86400000000 < $1 AND id > $3 ORDER BY id LIMIT $4",
                    PARAMS(store_int(retention->now), store_int(retention->days),
                           store_text(retention->after_id), store_int(retention->limit)),
                    &rows, reterr);
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        session_store_take(arena, &rows, rows_list_add(&list));
    }
    *ret_list = (struct session_list){.sessions = list.items, .count = list.count};
    return rows_end(err);
}

enum err session_store_note_removed(struct store_tx *tx, struct slice id, int64_t now,
                                    struct error *reterr)
{
    return store_exec(tx,
                      "UPDATE session SET recording_removed_at = $2 WHERE id = $1 AND "
                      "recording_removed_at = 0",
                      PARAMS(store_text(id), store_int(now)), NULL, reterr);
}
