/* SPDX-License-Identifier: MIT */
/* What a rehearsed statement wrote, row by row, before and after, while people have to decide: for
 * those of them who could read it by a session of their own, and masked as it would be there. Rows
 * before are asked for while they look, as nobody can change them meanwhile: the statement's
 * transaction has them locked. */
#include "api/review_sample.h"

#include "api/handlers.h"
#include "io/clock.h"
#include "store/guardrail_store.h"
#include "store/masking_rule_store.h"

static void sample_init(struct sample_call *self, struct api_call *call)
{
    *self = (struct sample_call){.call = call, .why_no_before = SLICE("")};
    review_target_init(&self->target, call, "a sample");
    self->mask_scratch = mask_scratch_new();
    self->guard_scratch = guard_scratch_new();
}

static void sample_release(struct sample_call *self)
{
    mask_scratch_free(self->mask_scratch);
    guard_scratch_free(self->guard_scratch);
    mask_rules_unref(self->masking);
    guard_rules_unref(self->guard);
    review_target_release(&self->target);
}

/* Who may look -------------------------------------------------------------------------------- */

/* Whoever looks could use the connection himself; whether others must let him first does not
 * matter, as they are among those who are asked. */
static enum err sample_check_caller(struct sample_call *self, struct store_tx *tx,
                                    struct error *reterr)
{
    struct api_call *call = self->call;
    const struct review *review = &self->target.look.review;
    struct error why = {0};
    const struct credential_question question = {
        .now = clock_now(),
        .admin_group = identity_admin_group(call->api->identity),
        .auditor_group = identity_auditor_group(call->api->identity),
        .issuer = self->target.issuer,
    };
    struct credential_grant grant = {
        .credential = {.organization_id = review->organization_id,
                       .connection_id = review->connection_id,
                       .member_id = call->caller.id,
                       .is_execution = true},
    };
    if (slice_equals(review->member_id, call->caller.id)) {
        review_target_give_up(&self->target, "rows are shown to others than who asked");
        return ERR_NONE;
    }
    enum err err = credential_store_see(tx, call->arena, &question, &grant, &why);
    if (err == ERR_DENIED || err == ERR_UNAUTHENTICATED || err == ERR_NOT_FOUND) {
        review_target_give_up(&self->target,
                              "you may not use the connection, so its rows are not shown to you");
        return ERR_NONE;
    }
    *reterr = why;
    return err;
}

static enum err sample_check(struct sample_call *self, struct store_tx *tx, struct error *reterr)
{
    struct review_target *target = &self->target;
    const struct review *review = &target->look.review;
    bool is_pending = slice_equals(review->state, review_state_word(REVIEW_PENDING));
    if (slice_equals(review->kind, SLICE(REVIEW_HELD)) && !is_pending) {
        review_target_give_up(target, "rows are shown while the statement waits");
    } else if (target->look.secret.sample.len == 0 || target->protocol == NULL ||
               target->protocol->catalog == NULL || target->protocol->catalog->sample == NULL) {
        review_target_give_up(target, "there are no rows of it: nothing was rehearsed, or nothing "
                                      "was written");
    } else if (target->look.why.len > 0) {
        target->why = target->look.why;
    }
    return target->why.len == 0 ? sample_check_caller(self, tx, reterr) : ERR_NONE;
}

/* Rules --------------------------------------------------------------------------------------- */

static enum err sample_load_rules(struct sample_call *self, struct store_tx *tx,
                                  struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct review *review = &self->target.look.review;
    struct masking_rule_list masking = {0};
    struct guardrail_list guard = {0};
    struct slice key = SLICE("");
    enum err err =
        masking_rule_store_of_connection(tx, arena, review->connection_id, &masking, reterr);
    if (err == ERR_NONE && masking.count > 0) {
        err = masking_key_in(tx, &self->target.secrets, review->organization_id, &key, reterr);
    }
    if (err == ERR_NONE && masking.count > 0) {
        err = mask_rules_new(masking.rules, masking.count, key, &self->masking, reterr);
    }
    if (err == ERR_NONE) {
        err = guardrail_store_of_connection(tx, arena, review->connection_id, &guard, reterr);
    }
    if (err == ERR_NONE && guard.count > 0) {
        err = guard_rules_new(guard.guardrails, guard.count, &self->guard, reterr);
    }
    return err;
}

/* What is shown here is counted nowhere, and no rule has judged it. */
static void sample_check_rules(struct sample_call *self)
{
    const struct caller *caller = &self->call->caller;
    size_t count = 0;
    if (self->guard == NULL) {
        return;
    }
    self->scope = guard_scope_in(self->call->arena, self->guard_scratch, self->guard,
                                 caller->groups, caller->group_count);
    (void)guard_scope_budgets_in(self->call->arena, &self->scope, &count);
    if (guard_scope_looks_at(&self->scope, GUARD_OUTPUT)) {
        review_target_give_up(&self->target, "a guard rail judges what is read on this connection");
    } else if (count > 0) {
        review_target_give_up(&self->target, "a guard rail counts what is read on this connection");
    }
}

const char *review_sample_why_not(const struct sample_call *self, struct slice schema,
                                  struct slice table)
{
    struct arena *arena = self->call->arena;
    const struct sql_settings settings = {.dialect = SQL_POSTGRES};
    struct guard_verdict verdict = {0};
    if (self->guard == NULL) {
        return NULL;
    }
    bool is_odd =
        slice_find_byte(schema, '"') < schema.len || slice_find_byte(table, '"') < table.len;
    struct slice text =
        arena_format(arena, "SELECT * FROM \"%.*s\".\"%.*s\"", SLICE_ARG(schema), SLICE_ARG(table));
    struct sql_script script = sql_analyze(arena, &settings, text);
    guard_judge_input(&self->scope, text, &settings, &script, &verdict);
    return is_odd || verdict.action >= GUARD_REHEARSE ? "a guard rail keeps you from reading it"
                                                      : NULL;
}

/* Loading ------------------------------------------------------------------------------------- */

static enum err sample_load_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sample_call *self = context;
    enum err err = review_target_load(&self->target, tx, reterr);
    if (err == ERR_NONE) {
        err = sample_check(self, tx, reterr);
    }
    if (err != ERR_NONE || self->target.why.len > 0) {
        return err;
    }
    err = sample_load_rules(self, tx, reterr);
    return err == ERR_NONE ? review_target_find(&self->target, tx, reterr) : err;
}

/* What the target has said is only read here. */
static void sample_parse(struct sample_call *self)
{
    struct arena *arena = self->call->arena;
    const struct review_secret *secret = &self->target.look.secret;
    struct json sample;
    struct json pinned;
    struct error error;
    if (json_parse_in(arena, secret->sample, &sample, &error) != ERR_NONE ||
        json_parse_in(arena, secret->pinned, &pinned, &error) != ERR_NONE ||
        json_as_text(json_member(&pinned, "database"), &self->target.database, &error) !=
            ERR_NONE) {
        review_target_give_up(&self->target, "the target answered with what is no sample");
        return;
    }
    self->plan = json_member(&sample, "plan");
    self->after = json_member(&sample, "after");
    if (json_as_text(json_member(&sample, "why"), &self->target.why, &error) != ERR_NONE) {
        review_target_give_up(&self->target, "the target answered with what is no sample");
    }
}

/* Before -------------------------------------------------------------------------------------- */

static enum err sample_still_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct sample_call *self = context;
    struct review now;
    const struct review_key key = {.organization_id = self->call->caller.organization_id,
                                   .id = self->target.look.review.id,
                                   .now = clock_now()};
    enum err err = review_store_find(tx, self->call->arena, &key, &now, reterr);
    if (err == ERR_NONE && !slice_equals(now.state, review_state_word(REVIEW_PENDING))) {
        review_target_give_up(&self->target, "it was decided meanwhile");
    }
    return err;
}

/* A target that does not answer now has still said what came after. */
static enum err sample_ask_before(struct sample_call *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct sample_ops *ops = self->target.protocol->catalog->sample;
    struct json query = json_member(&self->plan, "before");
    struct slice text = SLICE_NONE;
    struct error error;
    if (!json_is_given(query) || json_as_text(query, &text, &error) != ERR_NONE) {
        return ERR_NONE;
    }
    struct slice value = json_is_given(self->after) ? json_as_written(self->after) : SLICE("[]");
    struct target_answer answer = {0};
    struct target_request request = {
        .parameters = &ops->parameters,
        .text = arena_text(arena, text),
        .values = &value,
        .types = &ops->text_type,
        .value_count = slice_find(text, SLICE("$1")) < text.len ? 1 : 0,
        .column_count = 1,
        .row_count_max = 1,
    };
    enum err err = review_target_ask(&self->target, &request, &answer, reterr);
    self->why_no_before = self->target.why;
    self->target.why = SLICE("");
    bool has_row = err == ERR_NONE && self->why_no_before.len == 0 && answer.rows.first != NULL &&
                   answer.rows.first->values[0].at != NULL;
    if (has_row &&
        json_parse_in(arena, answer.rows.first->values[0], &self->before, &error) != ERR_NONE) {
        self->why_no_before = SLICE("the target answered with what is no sample");
    }
    /* Committed rows would be taken for those before. */
    return err == ERR_NONE ? store_read(self->call->api->store, sample_still_body, self, reterr)
                           : err;
}

/* The answer ---------------------------------------------------------------------------------- */

static enum err sample_answer(struct sample_call *self, struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    json_begin_object(&json);
    json_member_text(&json, "review_id", self->target.look.review.id);
    json_member_bool(&json, "is_available", self->target.why.len == 0);
    json_member_text(&json, "why_not", self->target.why);
    json_member_text(&json, "why_no_before", self->why_no_before);
    review_sample_write(self, &json);
    json_member_timestamp(&json, "asked_at", clock_now());
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err sample_get(struct sample_call *self, struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = review_issuer(call->api, call->arena, &self->target.issuer, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, sample_load_body, self, reterr);
    }
    if (err == ERR_NONE && self->target.why.len == 0) {
        sample_check_rules(self);
    }
    if (err == ERR_NONE && self->target.why.len == 0) {
        sample_parse(self);
    }
    if (err == ERR_NONE && self->target.why.len == 0) {
        err = sample_ask_before(self, reterr);
    }
    if (err == ERR_NONE) {
        err = api_audit_alone(call, "sample", 200,
                              review_payload_in(call->arena, &self->target.look.review), reterr);
    }
    return err == ERR_NONE ? sample_answer(self, reterr) : err;
}

enum err reviews_get_sample(struct api_call *call, struct error *reterr)
{
    struct sample_call self;
    if (slice_equals(call->request->method, SLICE("HEAD"))) {
        return fail(reterr, ERR_INPUT, "targets are asked by GET");
    }
    sample_init(&self, call);
    enum err err = sample_get(&self, reterr);
    sample_release(&self);
    return err;
}
