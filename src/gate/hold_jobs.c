/* SPDX-License-Identifier: MIT */
#include "gate/hold_jobs.h"

#include "base/must.h"
#include "base/timestamp.h"
#include "codec/json_writer.h"
#include "io/clock.h"
#include "io/log.h"
#include "store/audit_store.h"
#include "store/credential_store.h"
#include "store/review_store.h"
#include "store/row_id.h"

#define JOB_OF(pointer) CONTAINER_OF(pointer, struct hold_job, job)
#define SEND_AGAIN      SLICE("Send the same statement again to ask again.")

struct slice hold_link_in(struct arena *arena, const struct gate *gate, struct slice review_id)
{
    return arena_format(arena, "%.*s/reviews/%.*s", SLICE_ARG(gate->settings.public_url),
                        SLICE_ARG(review_id));
}

static void hold_end(struct hold_job *self, struct slice message, struct slice hint)
{
    self->state = HOLD_STATE_OVER;
    self->message = message;
    self->hint = hint;
}

/* The audit log -------------------------------------------------------------------------------- */

static enum err hold_audit(struct store_tx *tx, struct hold_job *self, const struct review *review,
                           const char *action, struct error *reterr)
{
    struct arena *arena = &self->job.arena;
    const struct session *session = &self->copy;
    struct buf buf;
    buf_init(&buf, LIMIT_KIB(16));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "review_id", review->id);
    json_member_text(&json, "session_id", session->id);
    json_member_text(&json, "type", review->kind);
    json_member_text(&json, "connection", review->connection_name);
    json_member_text(&json, "requester", review->member_email);
    json_member_text(&json, "status", review->state);
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct audit_entry entry = {
        .id = row_id_new(arena),
        .organization_id = session->organization_id,
        .actor_subject = session->user_id,
        .actor_email = session->user_email,
        .actor_name = session->user_name,
        .created_at = clock_now(),
        .resource_type = SLICE("reviews"),
        .action = slice_of_text(action),
        .http_method = SLICE(""),
        .http_path = SLICE(""),
        .error_message = SLICE(""),
        .client_ip = session->client_ip,
        .payload = arena_copy(arena, buf_view(&buf)),
        .outcome = {.value = true, .is_given = true},
    };
    buf_release(&buf);
    return audit_store_append(tx, arena, &entry, reterr);
}

/* What was decided ----------------------------------------------------------------------------- */

static enum err hold_name_deciders(struct store_tx *tx, struct hold_job *self,
                                   const struct review *review, bool approves, struct error *reterr)
{
    struct arena *arena = &self->job.arena;
    struct review_ballots ballots = {0};
    enum err err = review_store_ballots(tx, arena, review->id, &ballots, reterr);
    self->deciders = SLICE("");
    for (size_t i = 0; i < ballots.count && err == ERR_NONE; i++) {
        if (ballots.rows[i].approves == approves) {
            self->deciders = arena_format(arena, "%.*s%s%.*s", SLICE_ARG(self->deciders),
                                          self->deciders.len > 0 ? ", " : "",
                                          SLICE_ARG(ballots.rows[i].member_email));
        }
    }
    return err;
}

static enum err hold_take_write(struct store_tx *tx, struct hold_job *self, struct review *review,
                                struct review_progress *progress, int64_t now, struct error *reterr)
{
    review->state = review_state_word(progress->state);
    review->granted_until = progress->granted_until;
    review->updated_at = now;
    review->run_id = self->copy.id;
    review->run_count++;
    review->claimed_at = now;
    review->begun_at = now;
    self->state = HOLD_STATE_GRANTED;
    enum err err = review_store_save(tx, review, reterr);
    if (err == ERR_NONE) {
        err = hold_name_deciders(tx, self, review, true, reterr);
    }
    return err == ERR_NONE ? hold_audit(tx, self, review, "run_held", reterr) : err;
}

/* What was approved is taken, once, if it is still what is there. In a body that writes. */
static enum err hold_take(struct store_tx *tx, struct hold_job *self, struct review *review,
                          const struct review_secret *secret, struct error *reterr)
{
    struct review_progress progress;
    int64_t now = clock_now();
    const struct review_subject subject = {
        .organization_id = review->organization_id,
        .connection_id = review->connection_id,
        .script = secret->script,
        .metadata = review->metadata,
        .pinned = secret->pinned,
    };
    struct review_taking taking = {.person_id = self->copy.user_id, .hash = SLICE(""), .now = now};
    enum err err = review_hash(tx, &self->job.arena, &subject, &taking.hash, reterr);
    if (err == ERR_NONE) {
        err = review_store_progress(review, secret, &progress, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    switch (review_take(&progress, &taking)) {
    case REVIEW_DONE:
        return hold_take_write(tx, self, review, &progress, now, reterr);
    case REVIEW_CHANGED:
        review->reason = SLICE("the connection is not as it was when this was asked for");
        review->state = review_state_word(progress.state);
        review->updated_at = now;
        hold_end(self, SLICE("the approval is void: the connection is not what was approved"),
                 SEND_AGAIN);
        return review_store_save(tx, review, reterr);
    case REVIEW_SAME:
    case REVIEW_DECIDED:
    case REVIEW_OWN:
    case REVIEW_NOT_HIS:
    case REVIEW_NO_FORCE:
    case REVIEW_NOT_NOW:
    case REVIEW_OVER:
        break;
    }
    hold_end(self, SLICE("the approval was used already"), SEND_AGAIN);
    return ERR_NONE;
}

static enum err hold_refuse_over(struct store_tx *tx, struct hold_job *self,
                                 const struct review *review, struct error *reterr)
{
    struct arena *arena = &self->job.arena;
    bool is_rejected = slice_equals(review->state, review_state_word(REVIEW_REJECTED));
    bool is_expired = slice_equals(review->state, review_state_word(REVIEW_EXPIRED));
    enum err err = hold_name_deciders(tx, self, review, false, reterr);
    struct slice why = review->reason;
    struct slice message = SLICE("the request to review the statement was given up, or is void");
    if (is_rejected) {
        message =
            arena_format(arena, "the statement was rejected by %.*s", SLICE_ARG(self->deciders));
    } else if (is_expired) {
        message = SLICE("nobody decided on the statement in time");
    } else if (!slice_equals(review->state, review_state_word(REVIEW_CANCELLED))) {
        message = SLICE("the approval of the statement was used, or revoked");
    }
    if (why.len > 0) {
        message = arena_format(arena, "%.*s: %.*s", SLICE_ARG(message), SLICE_ARG(why));
    }
    hold_end(self, message,
             arena_format(arena, "The review is %.*s.",
                          SLICE_ARG(hold_link_in(arena, self->job.worker->gate, review->id))));
    return err;
}

static enum err hold_look_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct hold_job *self = context;
    struct review review;
    struct review_secret secret = {0};
    const struct review_key key = {
        .organization_id = self->copy.organization_id, .id = self->review_id, .now = clock_now()};
    enum err err = review_store_find(tx, &self->job.arena, &key, &review, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    if (slice_equals(review.state, review_state_word(REVIEW_PENDING))) {
        self->state = HOLD_STATE_PENDING;
        return ERR_NONE;
    }
    if (!slice_equals(review.state, review_state_word(REVIEW_APPROVED))) {
        return hold_refuse_over(tx, self, &review, reterr);
    }
    err = review_store_open(tx, &self->job.arena, &review, &secret, reterr);
    return err == ERR_NONE ? hold_take(tx, self, &review, &secret, reterr) : err;
}

/* Whether there is anything to write. */
static enum err hold_peek_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct hold_job *self = context;
    struct review review;
    const struct review_key key = {
        .organization_id = self->copy.organization_id, .id = self->review_id, .now = clock_now()};
    enum err err = review_store_find(tx, &self->job.arena, &key, &review, reterr);
    bool is_pending =
        err == ERR_NONE && slice_equals(review.state, review_state_word(REVIEW_PENDING));
    self->state = is_pending ? HOLD_STATE_PENDING : HOLD_STATE_OVER;
    return err;
}

/* Asking --------------------------------------------------------------------------------------- */

static int64_t hold_grant_seconds(const struct hold_job *self, const struct review_need *need)
{
    int64_t longest = self->waits_s > 0 ? LIMIT_GATE_REHEARSED_GRANT_S : LIMIT_GATE_HELD_GRANT_S;
    int64_t most = need->seconds_fixed > 0 && self->waits_s == 0 ? need->seconds_fixed : longest;
    return need->seconds_max > 0 && need->seconds_max < most ? need->seconds_max : most;
}

static enum err hold_insert(struct store_tx *tx, struct hold_job *self,
                            const struct review_need *need, const struct review_secret *secret,
                            struct review *review, struct error *reterr)
{
    struct error full = {0};
    enum err err = review_store_check_room(tx, review->member_id, review->created_at, &full);
    if (err == ERR_BUSY) {
        hold_end(self, arena_copy(&self->job.arena, slice_of_text(full.message)), SLICE(""));
        return ERR_NONE;
    }
    if (err != ERR_NONE) {
        *reterr = full;
        return err;
    }
    review->need = review_need_text_in(&self->job.arena, need);
    review->duration_sec = hold_grant_seconds(self, need);
    err = review_store_insert(tx, &self->job.arena, review, secret, reterr);
    self->review_id = review->id;
    self->is_new = true;
    self->state = HOLD_STATE_PENDING;
    return err == ERR_NONE ? hold_audit(tx, self, review, "request_review", reterr) : err;
}

static struct review hold_review_in(struct hold_job *self, const struct credential_grant *grant)
{
    struct arena *arena = &self->job.arena;
    int64_t now = clock_now();
    int64_t wait_us = self->waits_s * TIMESTAMP_SECOND;
    return (struct review){
        .id = row_id_new(arena),
        .organization_id = self->copy.organization_id,
        .session_id = row_id_new(arena),
        .kind = SLICE(REVIEW_HELD),
        .state = review_state_word(REVIEW_PENDING),
        .connection_id = self->copy.connection_id,
        .connection_name = grant->connection.connection.name,
        .connection_subtype = self->copy.connection_subtype,
        .member_id = grant->caller.id,
        .member_email = grant->caller.email,
        .member_name = grant->caller.name,
        .script_size = (int64_t)self->text.len,
        .metadata = SLICE("{}"),
        .reason = SLICE(""),
        .run_id = SLICE(""),
        .run_by = SLICE(""),
        .client_ip = self->copy.client_ip,
        .created_at = now,
        .updated_at = now,
        .pending_until = now + (wait_us > 0 ? wait_us : self->job.worker->gate->settings.review_us),
    };
}

/* What the same person has asked for, or was granted, is not asked for again. */
static enum err hold_ask_or_join(struct store_tx *tx, struct hold_job *self,
                                 const struct credential_grant *grant,
                                 const struct review_need *need, struct error *reterr)
{
    struct arena *arena = &self->job.arena;
    struct review review = hold_review_in(self, grant);
    struct review found;
    struct review_secret secret = {
        .script = self->text,
        .pinned = self->pinned,
        .found = self->found,
        .sample = self->sample,
    };
    const struct review_subject subject = {
        .organization_id = review.organization_id,
        .connection_id = review.connection_id,
        .script = self->text,
        .metadata = review.metadata,
        .pinned = self->pinned,
    };
    enum err err = review_hash(tx, arena, &subject, &secret.hash, reterr);
    if (err == ERR_NONE) {
        err = review_store_held(tx, arena, &review, secret.hash, &found, reterr);
    }
    if (err == ERR_NOT_FOUND) {
        return hold_insert(tx, self, need, &secret, &review, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->review_id = found.id;
    self->state = HOLD_STATE_PENDING;
    return slice_equals(found.state, review_state_word(REVIEW_PENDING))
               ? ERR_NONE
               : hold_take(tx, self, &found, &secret, reterr);
}

static enum err hold_ask_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct hold_job *self = context;
    const struct identity *identity = self->job.worker->gate->settings.identity;
    struct credential_grant grant;
    struct review_need need = {0};
    const struct credential_question question = {
        .issuer = self->issuer,
        .credential_id = self->copy.credential_id,
        .now = clock_now(),
        .admin_group = identity_admin_group(identity),
        .auditor_group = identity_auditor_group(identity),
    };
    self->is_new = false;
    enum err err = credential_store_check(tx, &self->job.arena, &question, &grant, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct review_use use = {
        .connection = &grant.connection.connection, .caller = &grant.caller, .is_command = true};
    err = review_need_load(tx, &self->job.arena, &use, &need, reterr);
    if (err == ERR_NONE && need.count == 0) {
        hold_end(self,
                 SLICE("the statement needs a review, and nobody is named who could review it on "
                       "this connection"),
                 SLICE("An administrator of the gateway can name reviewers by a rule of access "
                       "requests of type 'command'."));
        return ERR_NONE;
    }
    return err == ERR_NONE ? hold_ask_or_join(tx, self, &grant, &need, reterr) : err;
}

/* Jobs ----------------------------------------------------------------------------------------- */

static void hold_run(struct gate_job *job)
{
    struct hold_job *self = JOB_OF(job);
    const struct gate_settings *settings = &job->worker->gate->settings;
    if (self->review_id.len == 0) {
        job->err = identity_issuer_in(&job->arena, settings->identity, &self->issuer, &job->error);
        if (job->err == ERR_NONE) {
            job->err = store_write(settings->store, hold_ask_body, self, &job->error);
        }
        return;
    }
    job->err = store_read(settings->store, hold_peek_body, self, &job->error);
    if (job->err == ERR_NONE && self->state != HOLD_STATE_PENDING) {
        job->err = store_write(settings->store, hold_look_body, self, &job->error);
    }
}

static enum err hold_end_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct hold_job *self = context;
    enum err err = review_store_end_held(tx, self->review_id, self->copy.id,
                                         self->state == HOLD_STATE_GRANTED, clock_now(), reterr);
    return err == ERR_NONE ? review_store_drop_sample(tx, &self->job.arena, self->review_id, reterr)
                           : err;
}

/* Blocks, or in the pool. */
static void hold_write_end(struct gate_job *job)
{
    struct hold_job *self = JOB_OF(job);
    job->err = store_write(job->worker->gate->settings.store, hold_end_body, self, &job->error);
    if (job->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_WARN, "it is not in the store what became of a held statement",
                 log_text("review", self->review_id), log_error_field(&job->error));
    }
}

static void hold_end_start(struct hold_job *self)
{
    self->job.run = hold_write_end;
    self->job.done = gate_job_free;
    self->job.lost = NULL;
    if (gate_job_start(&self->job, self->job.worker->gate->settings.pool, NULL) != ERR_NONE) {
        hold_write_end(&self->job);
        gate_job_free(&self->job);
    }
}

/* Giving up ------------------------------------------------------------------------------------ */

static enum err hold_give_up_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct hold_job *self = context;
    struct review review;
    struct review_secret secret = {0};
    struct review_progress progress;
    int64_t now = clock_now();
    const struct review_key key = {
        .organization_id = self->copy.organization_id, .id = self->review_id, .now = now};
    enum err err = review_store_drop_sample(tx, &self->job.arena, self->review_id, reterr);
    if (err == ERR_NONE) {
        err = review_store_find(tx, &self->job.arena, &key, &review, reterr);
    }
    if (err == ERR_NONE) {
        err = review_store_open(tx, &self->job.arena, &review, &secret, reterr);
    }
    if (err == ERR_NONE) {
        err = review_store_progress(&review, &secret, &progress, reterr);
    }
    if (err != ERR_NONE || review_give_up(&progress, review.member_id, now) != REVIEW_DONE) {
        return err;
    }
    review.state = review_state_word(progress.state);
    review.updated_at = now;
    review.reason = SLICE("the statement was rolled back: its client did not wait, or not so long");
    err = review_store_save(tx, &review, reterr);
    return err == ERR_NONE ? hold_audit(tx, self, &review, "cancel", reterr) : err;
}

/* Blocks, or in the pool. */
static void hold_run_give_up(struct gate_job *job)
{
    struct hold_job *self = JOB_OF(job);
    job->err = store_write(job->worker->gate->settings.store, hold_give_up_body, self, &job->error);
    if (job->err != ERR_NONE) {
        log_line(LOG_GATE, LOG_WARN, "it is not in the store that a statement was rolled back",
                 log_text("review", self->review_id), log_error_field(&job->error));
    }
}

static void hold_give_up_start(struct hold_job *self)
{
    self->job.run = hold_run_give_up;
    self->job.done = gate_job_free;
    self->job.lost = NULL;
    if (gate_job_start(&self->job, self->job.worker->gate->settings.pool, NULL) != ERR_NONE) {
        hold_run_give_up(&self->job);
        gate_job_free(&self->job);
    }
}

/* Nobody is there any more for what was taken, or for what people were asked about. */
static void hold_lost(struct gate_job *job)
{
    struct hold_job *self = JOB_OF(job);
    if (job->err == ERR_NONE && self->is_new && self->waits_s > 0) {
        hold_give_up_start(self);
        return;
    }
    if (job->err != ERR_NONE || self->state != HOLD_STATE_GRANTED) {
        gate_job_free(job);
        return;
    }
    self->state = HOLD_STATE_OVER;
    hold_end_start(self);
}

struct hold_job *hold_job_new(struct gate_worker *worker, void *owner,
                              const struct session *session)
{
    struct hold_job *self = gate_job_new(sizeof(*self), worker, owner);
    struct arena *arena = &self->job.arena;
    self->copy = (struct session){
        .id = arena_copy(arena, session->id),
        .organization_id = arena_copy(arena, session->organization_id),
        .credential_id = arena_copy(arena, session->credential_id),
        .connection_id = arena_copy(arena, session->connection_id),
        .connection_subtype = arena_copy(arena, session->connection_subtype),
        .user_id = arena_copy(arena, session->user_id),
        .user_email = arena_copy(arena, session->user_email),
        .user_name = arena_copy(arena, session->user_name),
        .client_ip = arena_copy(arena, session->client_ip),
    };
    self->review_id = SLICE("");
    return self;
}

enum err hold_job_start(struct hold_job *take_job, gate_job_fn done, struct error *reterr)
{
    struct gate_job *job = &take_job->job;
    job->run = hold_run;
    job->done = done;
    job->lost = hold_lost;
    enum err err = gate_job_start(job, job->worker->gate->settings.pool, reterr);
    if (err != ERR_NONE) {
        gate_job_free(job);
    }
    return err;
}

void hold_job_finish(struct gate_worker *worker, struct slice review_id, struct slice session_id)
{
    const struct session session = {.id = session_id};
    struct hold_job *self = hold_job_new(worker, worker, &session);
    self->review_id = arena_copy(&self->job.arena, review_id);
    self->state = HOLD_STATE_GRANTED;
    hold_end_start(self);
}

void hold_job_give_up(struct gate_worker *worker, struct slice review_id,
                      const struct session *session)
{
    struct hold_job *self = hold_job_new(worker, worker, session);
    self->review_id = arena_copy(&self->job.arena, review_id);
    hold_give_up_start(self);
}
