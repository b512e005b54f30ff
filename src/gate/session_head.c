/* SPDX-License-Identifier: MIT */
#include "gate/session_head.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/json.h"
#include "codec/json_writer.h"
#include "session/recording.h"

#define DAYS "recording_days" /* which answers about sessions do not have */

DEFINE_FREE_AT(recording_free, struct recording)

void session_head_record(struct recorder *recorder, const struct session *session,
                         struct slice protocol)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_KIB(64));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    shape_write_members(&session_shape, 0, 0, session, &json);
    json_member_int(&json, DAYS, session->recording_days);
    if (protocol.len > 0) {
        json_member_text(&json, "protocol", protocol);
    }
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice part = buf_view(&buf);
    recorder_add(recorder, RECORD_OPEN, RECORD_FROM_GATEWAY, &part, 1);
}

static enum err session_head_read_pairs(const struct json *head, const char *member,
                                        struct slice *ret_text, struct error *reterr)
{
    struct json object = json_member(head, member);
    struct shape_pairs pairs = {0};
    struct slice name;
    struct json value;
    enum err err = ERR_NONE;
    pairs.pairs = arena_alloc_array(head->arena, SESSION_METADATA_COUNT + 1, sizeof(*pairs.pairs));
    struct json_members members = json_members_of(&object);
    while (err == ERR_NONE && pairs.count < SESSION_METADATA_COUNT &&
           json_next_member(&members, &name, &value)) {
        struct shape_pair *pair = &pairs.pairs[pairs.count++];
        pair->key = arena_copy(head->arena, name);
        err = json_as_text(value, &pair->value, reterr);
    }
    *ret_text = session_metadata_json_in(head->arena, &pairs);
    return err;
}

static enum err session_head_parse(struct arena *arena, struct slice text, struct session *session,
                                   struct error *reterr)
{
    const struct {
        const char *name;
        struct slice *value;
    } texts[] = {
        {"id", &session->id},
        {"org_id", &session->organization_id},
        {"credential_id", &session->credential_id},
        {"connection_id", &session->connection_id},
        {"connection", &session->connection_name},
        {"type", &session->connection_type},
        {"connection_subtype", &session->connection_subtype},
        {"resource_name", &session->resource_name},
        {"user_id", &session->user_id},
        {"user", &session->user_email},
        {"user_name", &session->user_name},
        {"identity_type", &session->identity_type},
        {"verb", &session->verb},
        {"client_ip", &session->client_ip},
        {"application_name", &session->application_name},
    };
    struct json head;
    enum err err = json_parse_in(arena, text, &head, reterr);
    for (size_t i = 0; i < COUNT_OF(texts) && err == ERR_NONE; i++) {
        err = json_as_text(json_member(&head, texts[i].name), texts[i].value, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    const struct json labels = json_member(&head, "labels");
    (void)!json_as_text(json_member(&head, "session_batch_id"), &session->batch_id, NULL);
    (void)!json_as_text(json_member(&head, "correlation_id"), &session->correlation_id, NULL);
    session->recording_days = -1;
    struct json days = json_member(&head, DAYS);
    if (json_is_given(days)) {
        err = json_as_int(days, -1, INT64_MAX, &session->recording_days, reterr);
    }
    if (err == ERR_NONE) {
        err = session_head_read_pairs(&head, "metadata", &session->metadata, reterr);
    }
    return err == ERR_NONE && json_is_given(labels)
               ? session_head_read_pairs(&head, "labels", &session->labels, reterr)
               : err;
}

enum err session_head_read_in(struct arena *arena, const struct session_head_file *file,
                              struct session *ret_session, struct error *reterr)
{
    struct recording *recording CLEANUP(recording_free_at)
    = NULL;
    struct record record;
    struct session session = {.started_at = 0};
    enum err err = recording_open(file->path, file->keys, &recording, reterr);
    if (err == ERR_NONE) {
        err = recording_next(recording, &record, reterr);
        err = err == ERR_CLOSED ? fail(reterr, ERR_NOT_FOUND, "it has no record") : err;
    }
    if (err == ERR_NONE && record.kind != RECORD_OPEN) {
        err = fail(reterr, ERR_INPUT, "its first record is not that of a session");
    }
    if (err == ERR_NONE) {
        err = session_head_parse(arena, record.payload, &session, reterr);
    }
    if (err == ERR_NONE && !slice_equals(session.id, recording_session_id(recording))) {
        err = fail(reterr, ERR_INPUT, "its first record is that of another session");
    }
    if (err == ERR_NONE) {
        session.started_at = recording_started_at(recording);
        *ret_session = session;
    }
    return err;
}
