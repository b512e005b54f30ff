/* SPDX-License-Identifier: MIT */
#include "store/notification_tell.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "codec/json_writer.h"
#include "policy/review.h"
#include "store/notification_outbox.h"
#include "store/rows.h"

/* One event that is being made. */
struct telling {
    struct arena arena;
    struct buf buf;
    struct json_writer json;
    struct outbox_event event;
};

static void telling_release(struct telling *self)
{
    buf_release(&self->buf);
    arena_release(&self->arena);
}

/* ERR_NOT_FOUND: nobody wants to know. */
static enum err telling_begin(struct telling *self, struct store_tx *tx,
                              struct slice organization_id, const char *type, struct error *reterr)
{
    bool wants = false;
    arena_init(&self->arena);
    buf_init(&self->buf, LIMIT_KIB(64));
    enum err err = outbox_wants(tx, organization_id, type, &wants, reterr);
    if (err != ERR_NONE || !wants) {
        return err == ERR_NONE ? ERR_NOT_FOUND : err;
    }
    self->event =
        (struct outbox_event){.organization_id = organization_id, .type = type, .path = SLICE("")};
    self->json = json_writer_to(&self->buf);
    json_begin_object(&self->json);
    return ERR_NONE;
}

static enum err telling_end(struct telling *self, struct store_tx *tx, struct error *reterr)
{
    json_end_object(&self->json);
    must(json_writer_done(&self->json) == ERR_NONE);
    struct slice object = buf_view(&self->buf);
    self->event.data = slice_sub(object, 1, object.len - 2);
    return outbox_put(tx, &self->arena, &self->event, reterr);
}

static enum err telling_none(enum err err)
{
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

/* Reviews -------------------------------------------------------------------------------------- */

/* Who decided as it was decided. */
static enum err tell_deciders(struct store_tx *tx, struct telling *self,
                              const struct review *review, struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    bool approves = slice_equals(review->state, review_state_word(REVIEW_APPROVED));
    enum err err =
        store_query(tx,
                    "SELECT member_email FROM review_ballot WHERE review_id = $1 "
                    "AND approves = $2 ORDER BY created_at, member_id",
                    PARAMS(store_text(review->id), store_int(approves ? 1 : 0)), &rows, reterr);
    json_member_array(&self->json, "decided_by");
    while (err == ERR_NONE && (err = store_rows_next(&rows, reterr)) == ERR_NONE) {
        json_text(&self->json, store_rows_view(&rows, 0));
    }
    json_end_array(&self->json);
    return rows_end(err);
}

static const char *tell_asked_for(const struct review *review)
{
    if (slice_equals(review->kind, SLICE(REVIEW_JIT))) {
        return "access to";
    }
    return slice_equals(review->kind, SLICE(REVIEW_HELD)) ? "a held statement on" : "a script on";
}

static void tell_review_data(struct telling *self, const struct review *review)
{
    struct json_writer *json = &self->json;
    self->event.subject_id = review->id;
    self->event.path = arena_format(&self->arena, "/reviews/%.*s", SLICE_ARG(review->id));
    self->event.now = review->updated_at;
    json_member_text(json, "review_id", review->id);
    json_member_text(json, "session_id", review->session_id);
    json_member_text(json, "kind", review->kind);
    json_member_text(json, "status", review->state);
    json_member_text(json, "connection", review->connection_name);
    json_member_text(json, "requester", review->member_email);
    json_member_bool(json, "emergency", review->is_forced);
    json_member_timestamp(json, "pending_until", review->pending_until);
    if (review->granted_until != 0) {
        json_member_timestamp(json, "granted_until", review->granted_until);
    }
}

enum err tell_review_requested(struct store_tx *tx, const struct review *review,
                               struct error *reterr)
{
    struct telling self CLEANUP(telling_release);
    enum err err =
        telling_begin(&self, tx, review->organization_id, EVENT_REVIEW_REQUESTED, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    tell_review_data(&self, review);
    self.event.summary =
        arena_format(&self.arena, "%.*s asks for %s '%.*s'", SLICE_ARG(review->member_email),
                     tell_asked_for(review), SLICE_ARG(review->connection_name));
    return telling_end(&self, tx, reterr);
}

static const char *tell_outcome(const struct review *review)
{
    enum review_state state = REVIEW_PENDING;
    (void)review_state_of(review->state, &state);
    switch (state) {
    case REVIEW_APPROVED:
        return review->is_forced ? "approved by emergency access" : "approved";
    case REVIEW_REJECTED:
        return "rejected";
    case REVIEW_REVOKED:
        return "revoked";
    case REVIEW_CANCELLED:
        return "given up, or void";
    case REVIEW_PENDING:
    case REVIEW_RUNNING:
    case REVIEW_EXECUTED:
    case REVIEW_EXPIRED:
    case REVIEW_STATE_COUNT:
        break;
    }
    return NULL;
}

enum err tell_review_decided(struct store_tx *tx, const struct review *review, struct error *reterr)
{
    const char *outcome = tell_outcome(review);
    if (outcome == NULL) {
        return ERR_NONE;
    }
    struct telling self CLEANUP(telling_release);
    enum err err = telling_begin(&self, tx, review->organization_id, EVENT_REVIEW_DECIDED, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    tell_review_data(&self, review);
    err = tell_deciders(tx, &self, review, reterr);
    self.event.summary = arena_format(&self.arena, "The request of %.*s for %s '%.*s' was %s",
                                      SLICE_ARG(review->member_email), tell_asked_for(review),
                                      SLICE_ARG(review->connection_name), outcome);
    return err == ERR_NONE ? telling_end(&self, tx, reterr) : err;
}

enum err tell_review_expired(struct store_tx *tx, const struct review *review, struct error *reterr)
{
    struct telling self CLEANUP(telling_release);
    enum err err = telling_begin(&self, tx, review->organization_id, EVENT_REVIEW_EXPIRED, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    tell_review_data(&self, review);
    self.event.summary =
        arena_format(&self.arena, "%s of %.*s for %s '%.*s' is over",
                     review->granted_until == 0 ? "Nobody decided: the request" : "The grant",
                     SLICE_ARG(review->member_email), tell_asked_for(review),
                     SLICE_ARG(review->connection_name));
    return telling_end(&self, tx, reterr);
}

enum err tell_emergency_used(struct store_tx *tx, const struct review *review, struct slice by,
                             struct error *reterr)
{
    struct telling self CLEANUP(telling_release);
    enum err err = telling_begin(&self, tx, review->organization_id, EVENT_EMERGENCY, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    tell_review_data(&self, review);
    json_member_text(&self.json, "severity", SLICE("critical"));
    json_member_text(&self.json, "used_by", by);
    self.event.summary =
        arena_format(&self.arena, "Emergency access: %.*s alone approved that %.*s gets %s '%.*s'",
                     SLICE_ARG(by), SLICE_ARG(review->member_email), tell_asked_for(review),
                     SLICE_ARG(review->connection_name));
    return telling_end(&self, tx, reterr);
}

/* Sessions ------------------------------------------------------------------------------------- */

static void tell_session_data(struct telling *self, const struct session *session)
{
    struct json_writer *json = &self->json;
    self->event.subject_id = session->id;
    self->event.path = arena_format(&self->arena, "/sessions/%.*s", SLICE_ARG(session->id));
    self->event.now = session->ended_at != 0 ? session->ended_at : session->started_at;
    json_member_text(json, "session_id", session->id);
    json_member_text(json, "verb", session->verb);
    json_member_text(json, "connection", session->connection_name);
    json_member_text(json, "user", session->user_email);
    json_member_text(json, "user_name", session->user_name);
    json_member_text(json, "identity_type", session->identity_type);
    json_member_text(json, "client_ip", session->client_ip);
    json_member_timestamp(json, "started_at", session->started_at);
    if (session->ended_at != 0) {
        json_member_timestamp(json, "ended_at", session->ended_at);
        json_member_text(json, "end_reason", session->end_reason);
    }
}

/* Machines have a name alone. */
static struct slice tell_who(const struct session *session)
{
    return session->user_email.len > 0 ? session->user_email : session->user_name;
}

static enum err tell_session(struct store_tx *tx, const struct session *session, const char *type,
                             struct error *reterr)
{
    struct telling self CLEANUP(telling_release);
    enum err err = telling_begin(&self, tx, session->organization_id, type, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    tell_session_data(&self, session);
    struct slice who = tell_who(session);
    struct slice where = session->connection_name;
    if (slice_equals(slice_of_text(type), SLICE(EVENT_MASKING_FAILED))) {
        json_member_int(&self.json, "count", session->masking.error_count);
        self.event.summary = arena_format(
            &self.arena,
            "In the session of %.*s on '%.*s' something could not be examined, and was "
            "masked whole or refused",
            SLICE_ARG(who), SLICE_ARG(where));
    } else if (session->ended_at != 0) {
        self.event.summary = arena_format(&self.arena, "The session of %.*s on '%.*s' is over",
                                          SLICE_ARG(who), SLICE_ARG(where));
    } else {
        self.event.summary = arena_format(&self.arena, "%.*s opened a session on '%.*s'",
                                          SLICE_ARG(who), SLICE_ARG(where));
    }
    return telling_end(&self, tx, reterr);
}

enum err tell_session_opened(struct store_tx *tx, const struct session *session,
                             struct error *reterr)
{
    return tell_session(tx, session, EVENT_SESSION_OPENED, reterr);
}

enum err tell_session_closed(struct store_tx *tx, const struct session *session,
                             struct error *reterr)
{
    enum err err = tell_session(tx, session, EVENT_SESSION_CLOSED, reterr);
    return err == ERR_NONE && session->masking.error_count > 0
               ? tell_session(tx, session, EVENT_MASKING_FAILED, reterr)
               : err;
}

enum err tell_guardrail_hit(struct store_tx *tx, const struct session *session,
                            const struct session_guarded *hits, size_t count, struct error *reterr)
{
    struct telling self CLEANUP(telling_release);
    enum err err = telling_begin(&self, tx, session->organization_id, EVENT_GUARDRAIL_HIT, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    tell_session_data(&self, session);
    json_member_int(&self.json, "count", (int64_t)count);
    json_member_array(&self.json, "hits");
    for (size_t i = 0; i < count && i < LIMIT_NOTIFY_HITS; i++) {
        json_begin_object(&self.json);
        json_member_text(&self.json, "rule", session_text_in(&self.arena, hits[i].rule_name, 254));
        json_member_text(&self.json, "direction", hits[i].direction);
        json_member_text(&self.json, "action", hits[i].action);
        json_end_object(&self.json);
    }
    json_end_array(&self.json);
    struct slice who = tell_who(session);
    self.event.summary = arena_format(&self.arena, "%.*s met a guard rail on '%.*s', %zu times",
                                      SLICE_ARG(who), SLICE_ARG(session->connection_name), count);
    return telling_end(&self, tx, reterr);
}

/* Agents --------------------------------------------------------------------------------------- */

static enum err tell_read_agent(struct store_tx *tx, struct slice agent_id, struct arena *arena,
                                struct slice *ret_organization_id, struct slice *ret_name,
                                struct error *reterr)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query_one(tx, "SELECT organization_id, name FROM agent WHERE id = $1",
                                   PARAMS(store_text(agent_id)), &rows, reterr);
    if (err == ERR_NONE) {
        *ret_organization_id = rows_text_in(arena, &rows, 0);
        *ret_name = rows_text_in(arena, &rows, 1);
    }
    return err;
}

static enum err tell_agent(struct store_tx *tx, struct arena *arena, struct slice agent_id,
                           int64_t now, struct error *reterr)
{
    struct slice organization_id = SLICE_NONE;
    struct slice name = SLICE_NONE;
    enum err err = tell_read_agent(tx, agent_id, arena, &organization_id, &name, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    struct telling self CLEANUP(telling_release);
    err = telling_begin(&self, tx, organization_id, EVENT_AGENT_GONE, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    json_member_text(&self.json, "agent_id", agent_id);
    json_member_text(&self.json, "agent", name);
    self.event.subject_id = agent_id;
    self.event.path = SLICE("/admin/agents");
    self.event.now = now;
    self.event.summary =
        arena_format(&self.arena, "The agent '%.*s' is not connected any more", SLICE_ARG(name));
    return telling_end(&self, tx, reterr);
}

enum err tell_agent_gone(struct store_tx *tx, struct slice agent_id, int64_t now,
                         struct error *reterr)
{
    struct arena arena;
    arena_init(&arena);
    enum err err = tell_agent(tx, &arena, agent_id, now, reterr);
    arena_release(&arena);
    return err;
}

/* People --------------------------------------------------------------------------------------- */

enum err tell_new_address(struct store_tx *tx, const struct caller *caller, struct slice address,
                          int64_t now, struct error *reterr)
{
    struct telling self CLEANUP(telling_release);
    enum err err = telling_begin(&self, tx, caller->organization_id, EVENT_NEW_ADDRESS, reterr);
    if (err != ERR_NONE) {
        return telling_none(err);
    }
    json_member_text(&self.json, "user", caller->email);
    json_member_text(&self.json, "user_name", caller->name);
    json_member_text(&self.json, "client_ip", address);
    self.event.subject_id = caller->id;
    self.event.path = SLICE("/admin/audit");
    self.event.now = now;
    self.event.summary =
        arena_format(&self.arena, "%.*s signed in from an address that is new: %.*s",
                     SLICE_ARG(caller->email), SLICE_ARG(address));
    return telling_end(&self, tx, reterr);
}
