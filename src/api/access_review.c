/* SPDX-License-Identifier: MIT */
#include "api/access_review.h"

#include "base/timestamp.h"
#include "model/session.h"
#include "store/credential_store.h"

#define ACCESS_SECONDS 900 /* when nobody says how long */

/* How long access is to last. Rules that fix it leave no choice. */
static enum err access_review_duration(const struct access_review *self,
                                       const struct review_need *need, int64_t *ret_seconds,
                                       struct error *reterr)
{
    const struct shape_int *asked = &self->seconds;
    bool is_asked = asked->is_given && !asked->is_null;
    int64_t most = need->seconds_max > 0 ? need->seconds_max : CREDENTIAL_DURATION_MAX;
    int64_t fixed = need->seconds_fixed < most ? need->seconds_fixed : most;
    if (need->seconds_fixed > 0 && is_asked && asked->value != fixed) {
        return fail(reterr, ERR_INPUT,
                    "'access_duration_seconds' must be left out, or %lld: a rule says how long "
                    "access lasts",
                    (long long)fixed);
    }
    if (is_asked && asked->value > most) {
        return fail(reterr, ERR_INPUT,
                    "'access_duration_seconds' must be at most %lld, as a rule says",
                    (long long)most);
    }
    int64_t usual = ACCESS_SECONDS < most ? ACCESS_SECONDS : most;
    *ret_seconds = need->seconds_fixed > 0 ? fixed : is_asked ? asked->value : usual;
    return ERR_NONE;
}

static enum err access_review_begin(struct access_review *self, struct store_tx *tx,
                                    const struct review_need *need, struct error *reterr)
{
    struct review_asking asking = {
        .call = self->call,
        .connection = self->connection,
        .need = need,
        .script = SLICE(""),
        .metadata = session_metadata_json_in(self->call->arena, self->metadata),
    };
    enum err err = access_review_duration(self, need, &asking.duration_sec, reterr);
    if (err == ERR_NONE) {
        err = review_ask(tx, &asking, reterr);
    }
    self->review = asking.review;
    self->is_waiting = true;
    return err;
}

/* What he asked for before: it waits still, it is granted, or it is void and he asks anew. */
static enum err access_review_go_on(struct access_review *self, struct store_tx *tx,
                                    const struct review_need *need, struct error *reterr)
{
    struct review_look look = {.review = self->review};
    struct review_progress progress;
    int64_t now = self->now;
    enum err err = review_look(self->call->api, self->call->arena, tx, self->issuer, &look, reterr);
    if (err == ERR_NONE) {
        err = review_store_progress(&look.review, &look.secret, &progress, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct review_hours hours;
    err = review_store_hours(self->call->arena, &look.review, now, &hours, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    const struct review_taking taking = {.person_id = self->call->caller.id,
                                         .hash = look.hash,
                                         .now = now,
                                         .is_shared = true,
                                         .is_out_of_hours = hours.are_over_now};
    self->is_waiting = progress.state == REVIEW_PENDING && look.why.len == 0;
    if (self->is_waiting) {
        return api_audit(self->call, tx, "request_review", 202,
                         review_payload_in(self->call->arena, &look.review), reterr);
    }
    enum review_answer answer =
        progress.state == REVIEW_PENDING ? REVIEW_OVER : review_take(&progress, &taking);
    bool is_granted = answer == REVIEW_DONE;
    if (answer == REVIEW_NOT_NOW) {
        return fail(reterr, ERR_DENIED, "the connection cannot be used now: %.*s",
                    SLICE_ARG(hours.words));
    }
    if (progress.state == REVIEW_PENDING) {
        (void)review_move(&progress.state, REVIEW_WITHDRAW);
    }
    look.review.reason = is_granted ? look.review.reason : look.why;
    err = review_keep(tx, &look.review, &progress, now, reterr);
    self->review = look.review;
    return err == ERR_NONE && !is_granted ? access_review_begin(self, tx, need, reterr) : err;
}

enum err access_review_ask(struct access_review *self, struct store_tx *tx, struct error *reterr)
{
    struct api_call *call = self->call;
    struct review_need need = {0};
    const struct credential of = {.member_id = call->caller.id,
                                  .connection_id = self->connection->id};
    self->is_waiting = false;
    self->review = (struct review){0};
    const struct review_use use = {.connection = self->connection, .caller = &call->caller};
    enum err err = review_need_load(tx, call->arena, &use, &need, reterr);
    if (err != ERR_NONE || need.count == 0) {
        return err;
    }
    err = review_store_current(tx, call->arena, &of, self->now, &self->review, reterr);
    if (err == ERR_NOT_FOUND) {
        return access_review_begin(self, tx, &need, reterr);
    }
    return err == ERR_NONE ? access_review_go_on(self, tx, &need, reterr) : err;
}
