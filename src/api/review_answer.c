/* SPDX-License-Identifier: MIT */
#include "api/review_answer.h"

#include "api/review_look.h"
#include "base/timestamp.h"
#include "base/writer.h"
#include "codec/hex.h"
#include "protocol/protocol.h"
#include "sql/sql.h"

#include <sodium.h>

enum err review_view_load(struct api_call *call, struct store_tx *tx, bool wants_script,
                          struct review_view *view, struct error *reterr)
{
    const struct review *review = &view->review;
    enum err err = review_need_parse_in(call->arena, review->need, &view->need, reterr);
    if (err == ERR_NONE) {
        err = review_store_ballots(tx, call->arena, review->id, &view->ballots, reterr);
    }
    if (err == ERR_NONE && wants_script) {
        err = review_store_comments(tx, call->arena, review->id, &view->comments, reterr);
    }
    if (err == ERR_NONE && wants_script) {
        err = review_store_open(tx, call->arena, review, &view->secret, reterr);
        view->has_script = true;
    }
    return err;
}

/* People --------------------------------------------------------------------------------------- */

static void review_write_person(struct json_writer *json, struct slice id, struct slice email,
                                struct slice name)
{
    json_begin_object(json);
    json_member_text(json, "id", id);
    json_member_text(json, "name", name);
    json_member_text(json, "email", email);
    json_end_object(json);
}

static void review_write_ballot(struct json_writer *json, const struct review_ballot_row *ballot)
{
    json_begin_object(json);
    json_member_text(json, "status", ballot->approves ? SLICE("APPROVED") : SLICE("REJECTED"));
    json_key(json, "reviewed_by");
    review_write_person(json, ballot->member_id, ballot->member_email, ballot->member_name);
    json_member_timestamp(json, "review_date", ballot->created_at);
    json_member_bool(json, "forced_review", ballot->is_forced);
    json_member_text(json, "reason", ballot->reason);
    json_end_object(json);
}

static void review_write_ballots(struct json_writer *json, const struct review_ballots *ballots)
{
    json_member_array(json, "decisions");
    for (size_t i = 0; i < ballots->count; i++) {
        review_write_ballot(json, &ballots->rows[i]);
    }
    json_end_array(json);
}

static bool review_is_in(const struct shape_texts *groups, struct slice group)
{
    const struct review_groups in = {.items = groups->items, .count = groups->count};
    return review_groups_have(&in, group);
}

/* As programs know it: a line for each group, with the first of it who decided. */
static void review_write_group(struct json_writer *json, const struct review_view *view,
                               struct slice group)
{
    const struct review_ballot_row *found = NULL;
    for (size_t i = 0; i < view->ballots.count && found == NULL; i++) {
        const struct review_ballot_row *row = &view->ballots.rows[i];
        found = review_is_in(&row->groups, group) ? row : NULL;
    }
    json_begin_object(json);
    json_member_text(json, "group", group);
    if (found == NULL) {
        json_member_text(json, "status", SLICE("PENDING"));
        json_member_no_value(json, "reviewed_by");
        json_member_no_value(json, "review_date");
    } else {
        json_member_text(json, "status", found->approves ? SLICE("APPROVED") : SLICE("REJECTED"));
        json_key(json, "reviewed_by");
        review_write_person(json, found->member_id, found->member_email, found->member_name);
        json_member_timestamp(json, "review_date", found->created_at);
    }
    json_member_bool(json, "forced_review", found != NULL && found->is_forced);
    json_end_object(json);
}

static bool review_was_named(const struct review_need *need, size_t clause, size_t group)
{
    struct slice name = need->clauses[clause].reviewers.items[group];
    for (size_t i = 0; i <= clause; i++) {
        const struct review_groups *groups = &need->clauses[i].reviewers;
        size_t count = i == clause ? group : groups->count;
        for (size_t j = 0; j < count; j++) {
            if (slice_equals(groups->items[j], name)) {
                return true;
            }
        }
    }
    return false;
}

static void review_write_groups(struct json_writer *json, const struct review_view *view)
{
    json_member_array(json, "review_groups_data");
    for (size_t i = 0; i < view->need.count; i++) {
        for (size_t j = 0; j < view->need.clauses[i].reviewers.count; j++) {
            if (!review_was_named(&view->need, i, j)) {
                review_write_group(json, view, view->need.clauses[i].reviewers.items[j]);
            }
        }
    }
    json_end_array(json);
}

/* What is asked for ---------------------------------------------------------------------------- */

static void review_write_texts(struct json_writer *json, const char *name,
                               const struct review_groups *groups)
{
    json_member_array(json, name);
    for (size_t i = 0; i < groups->count; i++) {
        json_text(json, groups->items[i]);
    }
    json_end_array(json);
}

static void review_write_clause(struct json_writer *json, const struct review_clause *clause)
{
    json_begin_object(json);
    if (clause->rule_name.len > 0) {
        json_member_text(json, "access_request_rule_name", clause->rule_name);
    } else {
        json_member_no_value(json, "access_request_rule_name");
    }
    review_write_texts(json, "reviewers_groups", &clause->reviewers);
    json_member_int(json, "min_approvals", clause->people_min);
    json_member_bool(json, "all_groups_must_approve", clause->needs_all);
    review_write_texts(json, "force_approval_groups", &clause->forcers);
    json_end_object(json);
}

void review_write_requirements(struct json_writer *json, const char *name,
                               const struct review_need *need)
{
    json_member_array(json, name);
    for (size_t i = 0; i < need->count; i++) {
        review_write_clause(json, &need->clauses[i]);
    }
    json_end_array(json);
}

static void review_write_need(struct json_writer *json, const struct review_need *need)
{
    int64_t people = 0;
    struct slice first = SLICE_NONE;
    review_write_requirements(json, "requirements", need);
    for (size_t i = 0; i < need->count; i++) {
        const struct review_clause *clause = &need->clauses[i];
        int64_t least = clause->needs_all && (int64_t)clause->reviewers.count > clause->people_min
                            ? (int64_t)clause->reviewers.count
                            : clause->people_min;
        people = least > people ? least : people;
        first = first.len == 0 ? clause->rule_name : first;
    }
    json_member_int(json, "min_approvals", people);
    if (first.len > 0) {
        json_member_text(json, "access_request_rule_name", first);
    } else {
        json_member_no_value(json, "access_request_rule_name");
    }
}

static void review_write_time(struct json_writer *json, const char *name, int64_t time)
{
    if (time == 0) {
        json_member_no_value(json, name);
    } else {
        json_member_timestamp(json, name, time);
    }
}

#define ONE(name, word) +1
static const unsigned operation_count = 0 SQL_OPERATIONS(ONE);
#undef ONE

/* What a statement or script would do, by its text. */
static void review_write_relations(struct json_writer *json, const char *name,
                                   const struct sql_script *script, bool is_written)
{
    struct buf buf CLEANUP(buf_release);
    buf_init(&buf, LIMIT_KIB(64));
    json_member_array(json, name);
    for (size_t i = 0; i < script->count; i++) {
        for (size_t j = 0; j < script->statements[i].relation_count; j++) {
            const struct sql_relation *relation = &script->statements[i].relations[j];
            if (is_written ? relation->is_written : relation->is_read) {
                struct writer writer = writer_to(&buf);
                buf_clear(&buf);
                writer_bytes(&writer, relation->name.schema);
                writer_bytes(&writer, relation->name.schema.len > 0 ? SLICE(".") : SLICE(""));
                writer_bytes(&writer, relation->is_all ? SLICE("*") : relation->name.name);
                json_text(json, buf_view(&buf));
            }
        }
    }
    json_end_array(json);
}

/* Quotes inside of values are escaped, so none looks like it. */
static bool review_pins(struct slice pinned, struct slice member)
{
    return slice_find(pinned, member) < pinned.len;
}

/* Of a script no session has said yet how it reads quotes. */
static enum sql_dialect review_dialect(const struct api_call *call, const struct review_view *view)
{
    const struct protocol *protocol =
        protocols_find(call->api->protocols, view->review.connection_subtype);
    return view->secret.script.len == 0 || protocol == NULL || protocol->replay == NULL
               ? SQL_UNKNOWN
               : protocol->replay->dialect;
}

static void review_write_analysis(const struct api_call *call, const struct review_view *view,
                                  struct json_writer *json)
{
    struct slice pinned = view->secret.pinned;
    enum sql_dialect dialect = review_dialect(call, view);
    if (dialect == SQL_UNKNOWN) {
        json_member_no_value(json, "analysis");
        return;
    }
    const struct sql_settings settings = {
        .dialect = dialect,
        .is_backslash_quoted = review_pins(pinned, SLICE("\"backslash_escapes\":true")),
        .is_ansi_quoted = review_pins(pinned, SLICE("\"ansi_quotes\":true")),
        .database = SLICE(""),
    };
    struct sql_script script = sql_analyze(call->arena, &settings, view->secret.script);
    uint64_t operations = 0;
    bool lacks_where = false;
    bool is_unknown = false;
    for (size_t i = 0; i < script.count; i++) {
        operations |= script.statements[i].operations;
        lacks_where = lacks_where || script.statements[i].without_where;
        is_unknown = is_unknown || script.statements[i].is_unknown;
    }
    json_member_object(json, "analysis");
    json_member_int(json, "statements", (int64_t)script.count);
    json_member_array(json, "operations");
    for (unsigned i = 0; i < operation_count; i++) {
        if ((operations & SQL_BIT(i)) != 0) {
            json_text(json, slice_of_text(sql_operation_word((enum sql_operation)i)));
        }
    }
    json_end_array(json);
    review_write_relations(json, "reads", &script, false);
    review_write_relations(json, "writes", &script, true);
    json_member_bool(json, "without_where", lacks_where);
    json_member_bool(json, "is_unknown", is_unknown);
    json_end_object(json);
}

static void review_write_held(const struct api_call *call, const struct review_view *view,
                              struct json_writer *json)
{
    json_member_object(json, "held");
    json_member_raw(json, "approved_for", view->secret.pinned);
    json_member_raw(json, "found", view->secret.found);
    review_write_analysis(call, view, json);
    json_end_object(json);
}

static void review_write_script(const struct api_call *call, const struct review_view *view,
                                struct json_writer *json)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    struct slice script = view->secret.script;
    struct slice shown = review_script_shown(script);
    bool is_cut = view->review.whole_size > 0;
    crypto_hash_sha256(hash, (const unsigned char *)script.at, script.len);
    json_member_text(json, "script", shown);
    json_member_bool(json, "script_truncated", is_cut || shown.len < script.len);
    json_member_text(json, "script_sha256",
                     is_cut ? view->review.whole_sha256
                            : hex_encode(call->arena, slice_of(hash, sizeof(hash))));
    json_member_array(json, "comments");
    for (size_t i = 0; i < view->comments.count; i++) {
        const struct review_comment *comment = &view->comments.comments[i];
        json_begin_object(json);
        json_member_text(json, "id", comment->id);
        json_key(json, "author");
        review_write_person(json, comment->member_id, comment->member_email, comment->member_name);
        json_member_text(json, "comment", comment->body);
        json_member_timestamp(json, "created_at", comment->created_at);
        json_end_object(json);
    }
    json_end_array(json);
}

static void review_write_window(struct json_writer *json, const struct time_window *window)
{
    char text[16];
    const int32_t minutes[] = {window->start_minute, window->end_minute};
    static const char *const names[] = {"start_time", "end_time"};
    json_begin_object(json);
    json_member_text(json, "type", SLICE("time_range"));
    json_member_object(json, "configuration");
    for (size_t i = 0; i < COUNT_OF(minutes); i++) {
        (void)snprintf(text, sizeof(text), "%02d:%02d", minutes[i] / 60, minutes[i] % 60);
        json_member_text(json, names[i], slice_of_text(text));
    }
    json_member_text(json, "time_zone", window->zone_name);
    json_end_object(json);
    json_end_object(json);
}

/* Each who approves may name hours, and all of them hold: the first is shown where programs look
 * for one. */
static void review_write_hours(const struct api_call *call, const struct review *review,
                               struct json_writer *json)
{
    struct time_windows windows = {0};
    if (time_windows_read_in(call->arena, review->time_windows, &windows) != ERR_NONE ||
        windows.count == 0) {
        json_member_no_value(json, "time_window");
    } else {
        json_key(json, "time_window");
        review_write_window(json, &windows.items[0]);
    }
    json_member_array(json, "time_windows");
    for (size_t i = 0; i < windows.count; i++) {
        review_write_window(json, &windows.items[i]);
    }
    json_end_array(json);
}

/* 'access_duration' is in nanoseconds, as programs know it. */
void review_view_write(const struct api_call *call, const struct review_view *view,
                       struct json_writer *json)
{
    const struct review *review = &view->review;
    bool is_rejected = slice_equals(review->state, review_state_word(REVIEW_REJECTED));
    json_begin_object(json);
    json_member_text(json, "id", review->id);
    json_member_text(json, "session", review->session_id);
    if (review->run_id.len > 0) {
        json_member_text(json, "run_session", review->run_id);
    } else {
        json_member_no_value(json, "run_session");
    }
    json_member_text(json, "type", review->kind);
    json_member_text(json, "status", review->state);
    json_member_text(json, "connection", review->connection_name);
    json_member_text(json, "connection_id", review->connection_id);
    json_key(json, "requester");
    review_write_person(json, review->member_id, review->member_email, review->member_name);
    json_member_int(json, "access_duration", review->duration_sec * INT64_C(1000000000));
    json_member_int(json, "access_duration_sec", review->duration_sec);
    json_member_bool(json, "runs_when_approved", review->runs_at_once);
    json_member_raw(json, "metadata", review->metadata);
    json_member_timestamp(json, "created_at", review->created_at);
    json_member_timestamp(json, "updated_at", review->updated_at);
    json_member_timestamp(json, "expire_at", review->pending_until);
    review_write_time(json, "revoke_at", review->granted_until);
    json_member_bool(json, "forced_review", review->is_forced);
    json_member_text(json, "reason", review->reason);
    json_member_text(json, "rejection_reason", is_rejected ? review->reason : SLICE(""));
    review_write_hours(call, review, json);
    review_write_need(json, &view->need);
    review_write_groups(json, view);
    review_write_ballots(json, &view->ballots);
    bool is_cut = review->whole_size > 0;
    json_member_int(json, "script_size", is_cut ? review->whole_size : review->script_size);
    json_member_bool(json, "script_kept", !is_cut);
    if (view->has_script) {
        review_write_script(call, view, json);
    }
    bool is_held = view->secret.pinned.len > 0;
    if (view->has_script && !is_held) {
        review_write_analysis(call, view, json);
    }
    if (view->has_script && is_held) {
        review_write_held(call, view, json);
    } else {
        json_member_no_value(json, "held");
    }
    json_member_text(json, "review_url", review_link_in(call->arena, call->api, review));
    json_end_object(json);
}
