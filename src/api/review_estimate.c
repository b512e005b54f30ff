/* SPDX-License-Identifier: MIT */
/* What the planner of the target expects of the statement of a review, asked over a connection of
 * the gateway's own while somebody looks at it: so nothing of it stands in the way of a session,
 * and the numbers are of now. The statement is never run, and not even planned when anything could
 * run then. Numbers and names of relations are shown, no values. */
#include "api/handlers.h"
#include "api/review_target.h"
#include "base/text.h"
#include "codec/hex.h"
#include "io/clock.h"

#include <math.h>

#define SHOWN_MAX 1e15

struct estimate_call {
    struct api_call *call;
    struct review_target target;
    struct sql_script script;
    bool is_backslash_quoted;
    struct slice *values;
    uint32_t *types;
    bool *are_binary;
    size_t value_count;
    struct estimate estimate;
};

/* What was asked for -------------------------------------------------------------------------- */

static enum err estimate_read_value(struct estimate_call *self, size_t index,
                                    const struct json *value, struct error *reterr)
{
    struct json type = json_member(value, "type");
    struct json text = json_member(value, "value");
    struct json digits = json_member(value, "hex");
    struct slice hex = SLICE_NONE;
    int64_t number = 0;
    self->values[index] = SLICE_NONE;
    enum err err =
        json_is_absent(type) ? ERR_NONE : json_as_int(type, 0, UINT32_MAX, &number, reterr);
    self->types[index] = (uint32_t)number;
    if (err == ERR_NONE && json_is_given(text)) {
        return json_as_text(text, &self->values[index], reterr);
    }
    if (err != ERR_NONE || !json_is_given(digits)) {
        return err;
    }
    err = json_as_text(digits, &hex, reterr);
    if (err == ERR_NONE) {
        char *bytes = arena_alloc(self->call->arena, hex.len / 2 + 1);
        self->values[index] = slice_of(bytes, hex.len / 2);
        self->are_binary[index] = true;
        err = hex_decode(hex, bytes, hex.len / 2);
    }
    return err;
}

/* As gate/gate_hold.c wrote it. */
static enum err estimate_read_pinned(struct estimate_call *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    struct json pinned;
    enum err err = json_parse_in(arena, self->target.look.secret.pinned, &pinned, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json values = json_member(&pinned, "parameters");
    err = json_as_text(json_member(&pinned, "database"), &self->target.database, reterr);
    if (err == ERR_NONE) {
        err = json_as_bool(json_member(&pinned, "backslash_escapes"), &self->is_backslash_quoted,
                           reterr);
    }
    if (err == ERR_NONE) {
        err = json_as_array(values, &self->value_count, reterr);
    }
    size_t count = err == ERR_NONE ? self->value_count : 0;
    self->values = arena_alloc_array(arena, count + 1, sizeof(*self->values));
    self->types = arena_alloc_array(arena, count + 1, sizeof(*self->types));
    self->are_binary = arena_alloc_array(arena, count + 1, sizeof(*self->are_binary));
    for (size_t i = 0; i < count && err == ERR_NONE; i++) {
        struct json value = json_item(&values, i);
        err = estimate_read_value(self, i, &value, reterr);
    }
    return err;
}

/* Whether it can be asked, for all that is known here. */
static enum err estimate_check(struct estimate_call *self, struct error *reterr)
{
    const struct review *review = &self->target.look.review;
    struct slice script = self->target.look.secret.script;
    if (review->whole_size > 0) {
        review_target_give_up(&self->target, "only the start of the script is kept");
    } else if (self->target.look.why.len > 0) {
        self->target.why = self->target.look.why;
    } else if (script.len == 0) {
        review_target_give_up(&self->target, "it is a request for access, and names no statement");
    } else if (self->target.protocol == NULL || self->target.protocol->catalog == NULL ||
               self->target.protocol->catalog->estimate == NULL) {
        review_target_give_up(&self->target, "the planners of targets of this kind are not asked");
    }
    enum err err = self->target.why.len == 0 && self->target.look.secret.pinned.len > 0
                       ? estimate_read_pinned(self, reterr)
                       : ERR_NONE;
    if (err != ERR_NONE || self->target.why.len > 0) {
        return err;
    }
    const struct sql_settings settings = {.dialect = self->target.protocol->replay->dialect};
    self->script = sql_analyze(self->call->arena, &settings, script);
    const char *why = self->target.protocol->catalog->estimate->why_not(&self->script);
    if (self->is_backslash_quoted) {
        why = "the session read backslashes as another one would not";
    }
    review_target_give_up(&self->target, why == NULL ? "" : why);
    return ERR_NONE;
}

static enum err estimate_load_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct estimate_call *self = context;
    enum err err = review_target_load(&self->target, tx, reterr);
    if (err == ERR_NONE) {
        err = estimate_check(self, reterr);
    }
    return err == ERR_NONE && self->target.why.len == 0
               ? review_target_find(&self->target, tx, reterr)
               : err;
}

/* Asking -------------------------------------------------------------------------------------- */

static enum err estimate_check_names(struct estimate_call *self, struct error *reterr)
{
    const struct catalog_ops *catalog = self->target.protocol->catalog;
    struct target_answer answer = {0};
    struct target_request request = {
        .parameters = &catalog->facts_parameters,
        .text = arena_text(self->call->arena, catalog->facts_text_in(self->call->arena, NULL)),
        .column_count = catalog->facts_columns,
        .row_count_max = LIMIT_GATE_LOOKUP_ROWS,
    };
    enum err err = review_target_ask(&self->target, &request, &answer, reterr);
    if (err != ERR_NONE || self->target.why.len > 0) {
        return err;
    }
    void *facts = catalog->facts_new(NULL, &answer.rows);
    const char *why = catalog->estimate->why_not_known(self->call->arena, &self->script, facts);
    catalog->facts_unref(facts);
    review_target_give_up(&self->target, why == NULL ? "" : why);
    return ERR_NONE;
}

static enum err estimate_get(struct estimate_call *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct estimate_ops *ops = self->target.protocol->catalog->estimate;
    struct target_answer answer = {0};
    struct target_request request = {
        .parameters = &ops->parameters,
        .text =
            arena_text(arena, ops->text_in(arena, self->target.look.secret.script, &self->script)),
        .values = self->values,
        .types = self->types,
        .are_binary = self->are_binary,
        .value_count = self->value_count,
        .column_count = 1,
        .row_count_max = 1,
    };
    enum err err = review_target_ask(&self->target, &request, &answer, reterr);
    if (err != ERR_NONE || self->target.why.len > 0) {
        return err;
    }
    bool has_row = answer.rows.first != NULL && answer.rows.first->values[0].at != NULL;
    if (!has_row ||
        ops->read_in(arena, answer.rows.first->values[0], &self->estimate, NULL) != ERR_NONE) {
        review_target_give_up(&self->target, "the target answered with what is no plan");
    }
    return ERR_NONE;
}

/* The answer ---------------------------------------------------------------------------------- */

static void estimate_write_number(const struct estimate_call *self, struct json_writer *json,
                                  const char *name, double number)
{
    double shown = number < SHOWN_MAX ? number : SHOWN_MAX;
    json_member_raw(json, name, arena_format(self->call->arena, "%.0f", ceil(shown)));
}

static void estimate_write_step(const struct estimate_call *self, struct json_writer *json,
                                const struct estimate_step *step)
{
    json_begin_object(json);
    json_member_int(json, "depth", step->depth);
    json_member_text(json, "node", step->node);
    json_member_text(json, "operation", step->operation);
    json_member_text(json, "relation", step->relation);
    estimate_write_number(self, json, "rows", step->rows);
    estimate_write_number(self, json, "cost", step->cost);
    json_end_object(json);
}

static enum err estimate_answer(struct estimate_call *self, struct error *reterr)
{
    const struct estimate *estimate = &self->estimate;
    struct json_writer json = api_answer(self->call, 200);
    bool is_there = self->target.why.len == 0;
    json_begin_object(&json);
    json_member_text(&json, "review_id", self->target.look.review.id);
    json_member_bool(&json, "is_available", is_there);
    json_member_text(&json, "why_not", self->target.why);
    if (is_there) {
        json_member_bool(&json, "writes", estimate->writes);
        estimate_write_number(self, &json, "rows", estimate->rows);
        estimate_write_number(self, &json, "cost", estimate->cost);
        json_member_bool(&json, "steps_truncated", estimate->is_cut);
    }
    json_member_array(&json, "steps");
    for (size_t i = 0; i < estimate->count && is_there; i++) {
        estimate_write_step(self, &json, &estimate->steps[i]);
    }
    json_end_array(&json);
    json_member_timestamp(&json, "asked_at", clock_now());
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

enum err reviews_get_estimate(struct api_call *call, struct error *reterr)
{
    struct estimate_call self = {.call = call};
    if (slice_equals(call->request->method, SLICE("HEAD"))) {
        return fail(reterr, ERR_INPUT, "targets are asked by GET");
    }
    review_target_init(&self.target, call, "an estimate");
    enum err err = review_issuer(call->api, call->arena, &self.target.issuer, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, estimate_load_body, &self, reterr);
    }
    if (err == ERR_NONE && self.target.why.len == 0) {
        err = estimate_check_names(&self, reterr);
    }
    if (err == ERR_NONE && self.target.why.len == 0) {
        err = estimate_get(&self, reterr);
    }
    review_target_release(&self.target);
    if (err == ERR_NONE) {
        err = api_audit_alone(call, "estimate", 200,
                              review_payload_in(call->arena, &self.target.look.review), reterr);
    }
    return err == ERR_NONE ? estimate_answer(&self, reterr) : err;
}
