/* SPDX-License-Identifier: MIT */
#include "api/review_target.h"

#include "io/clock.h"
#include "io/log.h"
#include "model/secret_trust.h"
#include "store/agent_store.h"

void review_target_init(struct review_target *self, struct api_call *call, const char *noun)
{
    *self =
        (struct review_target){.call = call, .noun = noun, .why = SLICE(""), .database = SLICE("")};
    arena_init(&self->secrets);
    arena_hold_secrets(&self->secrets);
}

void review_target_release(struct review_target *self)
{
    arena_release(&self->secrets);
}

void review_target_give_up(struct review_target *self, const char *why)
{
    self->why = self->why.len > 0 ? self->why : slice_of_text(why);
}

enum err review_target_load(struct review_target *self, struct store_tx *tx, struct error *reterr)
{
    struct api_call *call = self->call;
    struct review *review = &self->look.review;
    bool sees = false;
    const struct review_key key = {.organization_id = call->caller.organization_id,
                                   .id = call->request->values[0],
                                   .now = clock_now()};
    enum err err = review_store_find(tx, call->arena, &key, review, reterr);
    if (err == ERR_NONE) {
        err = review_store_sees(tx, review, &call->caller, &sees, reterr);
    }
    if (err == ERR_NONE && !sees) {
        err = fail(reterr, ERR_NOT_FOUND, "there is no review '%.*s'", SLICE_ARG(key.id));
    }
    if (err == ERR_NONE) {
        err = review_look(call->api, call->arena, tx, self->issuer, &self->look, reterr);
    }
    self->protocol = protocols_find(call->api->protocols, review->connection_subtype);
    return err;
}

enum err review_target_find(struct review_target *self, struct store_tx *tx, struct error *reterr)
{
    const struct review *review = &self->look.review;
    const struct connection *connection = &self->look.grant.connection.connection;
    struct agent agent = {0};
    enum err err = agent_store_find(tx, self->call->arena, review->organization_id,
                                    connection->agent_id, &agent, reterr);
    if (err == ERR_NONE) {
        self->agent_id = agent.is_local ? SLICE("") : agent.id;
        err = connection_store_variables(tx, &self->secrets, connection->id, &self->variables,
                                         reterr);
    }
    return err;
}

enum err review_target_ask(struct review_target *self, struct target_request *request,
                           struct target_answer *ret_answer, struct error *reterr)
{
    struct api_call *call = self->call;
    request->variables = &self->variables;
    request->agent_id = self->agent_id;
    request->protocol = self->protocol;
    request->database = self->database;
    request->sources = secret_trust_of(call->api->secret_trust, call->caller.organization_id,
                                       call->caller.organization_name);
    enum err err =
        target_call_run(call->api->target_calls, call->arena, request, ret_answer, reterr);
    if (err == ERR_BUSY) {
        call->http->retry_after_s = 1;
    }
    if (err == ERR_NONE || ret_answer->problem == TARGET_PROBLEM_NONE) {
        return err;
    }
    log_line(LOG_API, LOG_WARN, "a target was not asked for people who review",
             log_text("for", slice_of_text(self->noun)), log_text("review", self->look.review.id),
             log_error_field(reterr));
    self->why = ret_answer->shown;
    review_target_give_up(self, "the target did not answer");
    return ERR_NONE;
}
