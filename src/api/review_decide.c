/* SPDX-License-Identifier: MIT */
/* Decisions: in one transaction it is found out who decides, what he may, whether what was asked
 * for is still what is there, and what becomes of it; and all of that is written. */
#include "api/handlers.h"
#include "api/review_answer.h"
#include "api/review_run.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "io/log.h"
#include "io/zone_file.h"
#include "store/notification_tell.h"
#include "store/user_store.h"

enum review_verb { VERB_APPROVE, VERB_REJECT, VERB_REVOKE, VERB_CANCEL, VERB_COUNT };

static const struct {
    const char *status;
    const char *action; /* in the audit log */
} review_verbs[VERB_COUNT] = {
    [VERB_APPROVE] = {"APPROVED", "approve"},
    [VERB_REJECT] = {"REJECTED", "reject"},
    [VERB_REVOKE] = {"REVOKED", "revoke"},
    [VERB_CANCEL] = {"CANCELLED", "cancel"},
};

struct decision_call {
    struct api_call *call;
    struct review_request wanted;
    enum review_verb verb;
    struct slice reason;
    struct slice hours; /* as text, of an approval that is for some of the day */
    struct slice issuer;
    struct review_look look;
    struct review_progress progress;
    struct review_view view;
    struct review_person person;
    bool is_own;
    int64_t now;
    enum review_answer answer;
};

static enum err decision_read(struct decision_call *self, struct error *reterr)
{
    struct review_request *wanted = &self->wanted;
    enum err err = api_read_body(self->call, SHAPE_WHOLE, &review_request_shape, wanted, reterr);
    if (err == ERR_NONE) {
        err = review_request_check(wanted, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->verb = VERB_COUNT;
    for (unsigned i = 0; i < VERB_COUNT; i++) {
        if (slice_equals_nocase(wanted->status, slice_of_text(review_verbs[i].status))) {
            self->verb = (enum review_verb)i;
        }
    }
    if (self->verb == VERB_COUNT) {
        return fail(reterr, ERR_INPUT, "'status' must be APPROVED, REJECTED, REVOKED or CANCELLED");
    }
    self->reason = wanted->reason.len > 0 ? wanted->reason : wanted->rejection_reason;
    self->reason = self->reason.len > 0 ? self->reason : SLICE("");
    if (wanted->force_review.value && self->verb != VERB_APPROVE) {
        return fail(reterr, ERR_INPUT, "'force_review' is for approving");
    }
    if (wanted->force_review.value && !text_has_visible(self->reason)) {
        return fail(reterr, ERR_INPUT,
                    "'reason' must say why the review is forced: it stands in the audit log");
    }
    return ERR_NONE;
}

static enum err decision_read_hours(struct decision_call *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    struct zone zone;
    struct time_window window = {.zone_name = SLICE("UTC")};
    if (self->wanted.time_window == NULL) {
        self->hours = SLICE("");
        return ERR_NONE;
    }
    if (self->verb != VERB_APPROVE) {
        return fail(reterr, ERR_INPUT, "'time_window' is for approving");
    }
    const struct review_time_range *range = self->wanted.time_window->configuration;
    if (!time_window_minute(range->start_time, &window.start_minute) ||
        !time_window_minute(range->end_time, &window.end_minute) ||
        window.start_minute == TIME_WINDOW_DAY || window.start_minute == window.end_minute) {
        return fail(reterr, ERR_INPUT,
                    "'start_time' and 'end_time' must be two times of the day, such as 09:00 and "
                    "18:00; a window over midnight ends before it starts");
    }
    if (range->time_zone.len > 0) {
        window.zone_name = range->time_zone;
    }
    enum err err = zone_file_read_in(arena, window.zone_name, &zone, reterr);
    if (err == ERR_NONE) {
        time_window_follow(&window, &zone, clock_now());
        self->hours = time_window_text_in(arena, &window);
    }
    return err;
}

/* Who decides, as of now ----------------------------------------------------------------------- */

static enum err decision_find(struct decision_call *self, struct store_tx *tx, struct error *reterr)
{
    struct api_call *call = self->call;
    struct review *review = &self->look.review;
    bool sees = false;
    const struct review_key key = {.organization_id = call->caller.organization_id,
                                   .id = call->request->values[0],
                                   .now = self->now};
    enum err err = review_store_find(tx, call->arena, &key, review, reterr);
    if (err == ERR_NONE) {
        err = review_store_sees(tx, review, &call->caller, &sees, reterr);
    }
    if (err == ERR_NONE && !sees) {
        return fail(reterr, ERR_NOT_FOUND, "there is no review '%.*s'", SLICE_ARG(key.id));
    }
    if (err == ERR_NONE) {
        err = review_look(call->api, call->arena, tx, self->issuer, &self->look, reterr);
    }
    return err == ERR_NONE
               ? review_store_progress(review, &self->look.secret, &self->progress, reterr)
               : err;
}

/* People decide: two API keys may be of one person. Whose key asked has asked himself. */
static enum err decision_identify(struct decision_call *self, struct store_tx *tx,
                                  struct error *reterr)
{
    const struct caller *caller = &self->call->caller;
    const struct review *review = &self->look.review;
    struct shape_texts groups = {0};
    bool is_person = false;
    bool is_key_of = false;
    enum err err = review_store_is_person(tx, caller->id, &is_person, reterr);
    if (err == ERR_NONE) {
        err = group_store_of(tx, self->call->arena, caller->id, &groups, reterr);
    }
    if (err == ERR_NONE) {
        err = review_store_is_key_of(tx, review->member_id, caller->id, &is_key_of, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    self->is_own = slice_equals(review->member_id, caller->id);
    bool is_decision = self->verb == VERB_APPROVE || self->verb == VERB_REJECT;
    if (is_decision && !is_person && !self->is_own) {
        return fail(reterr, ERR_DENIED, "only people who are signed in decide, not API keys");
    }
    self->person = (struct review_person){
        .id = is_key_of && self->verb == VERB_APPROVE ? review->member_id : caller->id,
        .groups = {.items = groups.items, .count = groups.count},
        .is_admin = caller->is_admin,
    };
    return ERR_NONE;
}

/* What becomes of it --------------------------------------------------------------------------- */

static int64_t decision_granted_until(const struct decision_call *self)
{
    const struct review *review = &self->look.review;
    bool is_script = slice_equals(review->kind, SLICE(REVIEW_ONETIME));
    return self->now +
           (is_script ? self->call->api->review_us : review->duration_sec * TIMESTAMP_SECOND);
}

/* What nobody could ever use is not granted, whoever of those who approve named the hours. */
static enum err decision_add_hours(struct decision_call *self, int64_t granted_until,
                                   struct error *reterr)
{
    struct arena *arena = self->call->arena;
    struct review *review = &self->look.review;
    struct review_hours hours;
    if (self->hours.len > 0 && slice_equals(review->kind, SLICE(REVIEW_HELD))) {
        return fail(reterr, ERR_INPUT,
                    "'time_window' must be left out: the statement waits in an open session");
    }
    review->time_windows =
        arena_format(arena, "%.*s%.*s", SLICE_ARG(review->time_windows), SLICE_ARG(self->hours));
    if (review->time_windows.len == 0 || self->progress.state != REVIEW_APPROVED) {
        return ERR_NONE;
    }
    review->granted_until = granted_until;
    enum err err = review_store_hours(arena, review, self->now, &hours, reterr);
    if (err == ERR_NONE && time_windows_next(&hours.windows, true, self->now, granted_until) == 0) {
        return fail(
            reterr, ERR_INPUT,
            "the approval would be over before its hours begin: %.*s, and %lld minutes in all",
            SLICE_ARG(hours.words),
            (long long)((granted_until - self->now) / (60 * TIMESTAMP_SECOND)));
    }
    return err;
}

static enum err decision_vote(struct decision_call *self, struct store_tx *tx, struct error *reterr)
{
    struct api_call *call = self->call;
    struct review *review = &self->look.review;
    struct review_ballots ballots = {0};
    enum err err = review_store_ballots(tx, call->arena, review->id, &ballots, reterr);
    if (err == ERR_NONE && ballots.count >= REVIEW_BALLOTS_MAX) {
        err = fail(reterr, ERR_CONFLICT, "too many people have decided");
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct review_ballot *before =
        arena_alloc_array(call->arena, ballots.count + 1, sizeof(*before));
    for (size_t i = 0; i < ballots.count; i++) {
        const struct review_ballot_row *row = &ballots.rows[i];
        before[i] = (struct review_ballot){
            .person = {.id = row->member_id,
                       .groups = {.items = row->groups.items, .count = row->groups.count}},
            .approves = row->approves,
        };
    }
    const struct review_vote vote = {
        .person = self->person,
        .approves = self->verb == VERB_APPROVE,
        .is_forced = self->wanted.force_review.value,
        .need = &self->look.need,
        .before = before,
        .before_count = ballots.count,
        .hash = self->look.hash,
        .granted_until = decision_granted_until(self),
        .now = self->now,
    };
    self->answer = review_decide(&self->progress, &vote);
    if (self->answer != REVIEW_DONE) {
        return ERR_NONE;
    }
    err = decision_add_hours(self, vote.granted_until, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    review->is_forced = review->is_forced || vote.is_forced;
    const struct review_ballot_row ballot = {
        .member_id = self->person.id,
        .member_email = call->caller.email,
        .member_name = call->caller.name,
        .approves = vote.approves,
        .is_forced = vote.is_forced,
        .reason = self->reason,
        .created_at = self->now,
    };
    return review_store_vote(tx, review->id, &ballot, reterr);
}

static enum err decision_apply(struct decision_call *self, struct store_tx *tx,
                               struct error *reterr)
{
    struct review_progress *progress = &self->progress;
    bool is_vote = self->verb == VERB_APPROVE || (self->verb == VERB_REJECT && !self->is_own);
    if (is_vote) {
        return decision_vote(self, tx, reterr);
    }
    if (self->is_own) {
        self->answer = review_give_up(progress, self->person.id, self->now);
    } else if (self->verb == VERB_REVOKE) {
        self->answer = review_revoke(progress, &self->look.need, &self->person, self->now);
    } else {
        self->answer = REVIEW_NOT_HIS;
    }
    return ERR_NONE;
}

static enum err decision_refuse(const struct decision_call *self, struct error *reterr)
{
    const struct review *review = &self->look.review;
    switch (self->answer) {
    case REVIEW_DONE:
    case REVIEW_SAME:
        break;
    case REVIEW_DECIDED:
        return fail(reterr, ERR_INPUT, "you have decided otherwise before: that stays");
    case REVIEW_OWN:
        return fail(reterr, ERR_INPUT,
                    "nobody approves what he asked for himself, whatever his groups");
    case REVIEW_NOT_HIS:
        return self->verb == VERB_CANCEL
                   ? fail(reterr, ERR_DENIED, "only whoever asked gives a request up")
                   : fail(reterr, ERR_DENIED, "access denied: none of your groups reviews this");
    case REVIEW_NO_FORCE:
        return fail(reterr, ERR_DENIED, "access denied: none of your groups may force this review");
    case REVIEW_NOT_NOW:
    case REVIEW_CHANGED:
        return fail(reterr, ERR_CONFLICT, "the request is void: %.*s; it must be asked for again",
                    SLICE_ARG(self->look.why));
    case REVIEW_OVER:
        return fail(reterr, ERR_INPUT, "the review is %.*s: that cannot be decided any more",
                    SLICE_ARG(review->state));
    }
    return ERR_NONE;
}

/* An entry of its own kind, and a message to everybody who is told anything. */
static enum err decision_write_emergency(struct decision_call *self, struct store_tx *tx,
                                         struct error *reterr)
{
    struct api_call *call = self->call;
    const struct review *review = &self->look.review;
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "severity", SLICE("critical"));
    json_member_text(&text.json, "review_id", review->id);
    json_member_text(&text.json, "connection", review->connection_name);
    json_member_text(&text.json, "requester", review->member_email);
    json_member_text(&text.json, "reason", self->reason);
    json_end_object(&text.json);
    struct slice payload = api_text_end_in(call->arena, &text);
    enum err err = api_audit(call, tx, "emergency_access_used", 200, payload, reterr);
    return err == ERR_NONE ? tell_emergency_used(tx, review, call->caller.email, reterr) : err;
}

/* The decision, or that what was asked for is void, is written with its audit entry. */
static enum err decision_write(struct decision_call *self, struct store_tx *tx,
                               struct error *reterr)
{
    struct api_call *call = self->call;
    struct review *review = &self->look.review;
    bool is_void = self->answer == REVIEW_CHANGED;
    bool is_forced = self->wanted.force_review.value;
    review->reason = is_void ? self->look.why : self->reason;
    enum err err = review_keep(tx, review, &self->progress, self->now, reterr);
    if (err == ERR_NONE && self->progress.state == REVIEW_REVOKED) {
        err = credential_store_revoke_of_review(tx, review->id, self->now, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    if (is_void) {
        return api_audit_refusal(call, tx, review_verbs[self->verb].action, 409, self->look.why,
                                 reterr);
    }
    err = api_audit(call, tx, is_forced ? "force_approve" : review_verbs[self->verb].action, 200,
                    review_payload_in(call->arena, review), reterr);
    return err == ERR_NONE && is_forced ? decision_write_emergency(self, tx, reterr) : err;
}

static enum err decision_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct decision_call *self = context;
    self->now = clock_now();
    enum err err = decision_find(self, tx, reterr);
    if (err == ERR_NONE) {
        err = decision_identify(self, tx, reterr);
    }
    if (err == ERR_NONE) {
        err = decision_apply(self, tx, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    bool is_written = self->answer == REVIEW_DONE || self->answer == REVIEW_CHANGED;
    if (is_written) {
        err = decision_write(self, tx, reterr);
    } else if (self->answer == REVIEW_SAME) {
        err = api_audit(self->call, tx, review_verbs[self->verb].action, 200,
                        review_payload_in(self->call->arena, &self->look.review), reterr);
    }
    self->view = (struct review_view){.review = self->look.review};
    return err == ERR_NONE ? review_view_load(self->call, tx, true, &self->view, reterr) : err;
}

/* At once ----------------------------------------------------------------------------------------
 */

/* What cannot be run now stays approved, and is run when it can (review_due.h). */
static void decision_run(struct decision_call *self)
{
    const struct review *review = &self->look.review;
    struct error error = {0};
    struct review_run run = {
        .api = self->call->api,
        .arena = self->call->arena,
        .organization_id = review->organization_id,
        .review_id = review->id,
        .member_id = review->member_id,
        .issuer = self->issuer,
    };
    enum err err = review_run_unasked(&run, &error);
    if (err != ERR_NONE && run.answer == REVIEW_NOT_NOW) {
        return;
    }
    if (err != ERR_NONE) {
        log_line(LOG_API, LOG_WARN, "an approved script is not run by itself",
                 log_text("review", review->id), log_error_field(&error));
        return;
    }
    self->view.review = run.look.review;
}

/* Louder than other decisions. */
static void decision_warn(const struct decision_call *self)
{
    const struct review *review = &self->look.review;
    log_line(LOG_API, LOG_WARN, "emergency access: a review was forced",
             log_text("review", review->id), log_text("by", self->call->caller.email),
             log_text("requester", review->member_email),
             log_text("connection", review->connection_name), log_text("reason", self->reason));
}

enum err reviews_put(struct api_call *call, struct error *reterr)
{
    struct decision_call self = {.call = call};
    enum err err = decision_read(&self, reterr);
    if (err == ERR_NONE) {
        err = decision_read_hours(&self, reterr);
    }
    if (err == ERR_NONE) {
        err = review_issuer(call->api, call->arena, &self.issuer, reterr);
    }
    if (err == ERR_NONE) {
        err = store_write(call->api->store, decision_body, &self, reterr);
    }
    if (err == ERR_NONE) {
        err = decision_refuse(&self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    bool is_granted = self.answer == REVIEW_DONE && self.progress.state == REVIEW_APPROVED;
    if (is_granted && self.wanted.force_review.value) {
        decision_warn(&self);
    }
    if (is_granted && self.look.review.runs_at_once) {
        decision_run(&self);
    }
    struct json_writer json = api_answer(call, 200);
    review_view_write(call, &self.view, &json);
    return api_answer_end(call, &json, reterr);
}
