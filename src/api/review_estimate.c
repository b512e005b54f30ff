/* SPDX-License-Identifier: MIT */
/* What the planner of the target expects of the statement of a review, asked over a connection of
 * the gateway's own while somebody looks at it: so nothing of it stands in the way of a session,
 * and the numbers are of now. The statement is never run, and not even planned when anything could
 * run then. Numbers and names of relations are shown, no values. */
#include "api/handlers.h"
#include "api/review_answer.h"
#include "api/review_look.h"
#include "base/text.h"
#include "codec/hex.h"
#include "gate/target_call.h"
#include "io/clock.h"
#include "io/log.h"
#include "model/secret_trust.h"
#include "store/agent_store.h"

#include <math.h>

#define SHOWN_MAX 1e15

struct estimate_call {
    struct api_call *call;
    struct slice issuer;
    struct review_look look;
    const struct protocol *protocol;
    struct arena secrets; /* wiped when it ends */
    struct shape_pairs variables;
    struct slice agent_id; /* of one elsewhere; empty: the gateway itself */
    struct sql_script script;
    struct slice database; /* empty: the connection's */
    bool is_backslash_quoted;
    struct slice *values;
    uint32_t *types;
    bool *are_binary;
    size_t value_count;
    struct estimate estimate;
    struct slice why; /* there is none; empty: there is */
};

static void estimate_give_up(struct estimate_call *self, const char *why)
{
    self->why = self->why.len > 0 ? self->why : slice_of_text(why);
}

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
    enum err err = json_parse_in(arena, self->look.secret.pinned, &pinned, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    struct json values = json_member(&pinned, "parameters");
    err = json_as_text(json_member(&pinned, "database"), &self->database, reterr);
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
    const struct review *review = &self->look.review;
    struct slice script = self->look.secret.script;
    self->protocol = protocols_find(self->call->api->protocols, review->connection_subtype);
    if (review->whole_size > 0) {
        estimate_give_up(self, "only the start of the script is kept");
    } else if (self->look.why.len > 0) {
        self->why = self->look.why;
    } else if (script.len == 0) {
        estimate_give_up(self, "it is a request for access, and names no statement");
    } else if (self->protocol == NULL || self->protocol->catalog == NULL ||
               self->protocol->catalog->estimate == NULL) {
        estimate_give_up(self, "the planners of targets of this kind are not asked");
    }
    enum err err = self->why.len == 0 && self->look.secret.pinned.len > 0
                       ? estimate_read_pinned(self, reterr)
                       : ERR_NONE;
    if (err != ERR_NONE || self->why.len > 0) {
        return err;
    }
    const struct sql_settings settings = {.dialect = self->protocol->replay->dialect};
    self->script = sql_analyze(self->call->arena, &settings, script);
    const char *why = self->protocol->catalog->estimate->why_not(&self->script);
    if (self->is_backslash_quoted) {
        why = "the session read backslashes as another one would not";
    }
    estimate_give_up(self, why == NULL ? "" : why);
    return ERR_NONE;
}

static enum err estimate_find_target(struct estimate_call *self, struct store_tx *tx,
                                     struct error *reterr)
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

static enum err estimate_load_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct estimate_call *self = context;
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
    if (err == ERR_NONE) {
        err = estimate_check(self, reterr);
    }
    return err == ERR_NONE && self->why.len == 0 ? estimate_find_target(self, tx, reterr) : err;
}

/* Asking -------------------------------------------------------------------------------------- */

/* ERR_NONE also when the target did not answer: then 'why' says so. */
static enum err estimate_ask(struct estimate_call *self, struct target_request *request,
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
    log_line(LOG_API, LOG_WARN, "a target was not asked for an estimate",
             log_text("review", self->look.review.id), log_error_field(reterr));
    self->why = ret_answer->shown;
    estimate_give_up(self, "the target did not answer");
    return ERR_NONE;
}

static enum err estimate_check_names(struct estimate_call *self, struct error *reterr)
{
    const struct catalog_ops *catalog = self->protocol->catalog;
    struct target_answer answer = {0};
    struct target_request request = {
        .parameters = &catalog->facts_parameters,
        .text = arena_text(self->call->arena, catalog->facts_text_in(self->call->arena, NULL)),
        .column_count = catalog->facts_columns,
        .row_count_max = LIMIT_GATE_LOOKUP_ROWS,
    };
    enum err err = estimate_ask(self, &request, &answer, reterr);
    if (err != ERR_NONE || self->why.len > 0) {
        return err;
    }
    void *facts = catalog->facts_new(NULL, &answer.rows);
    const char *why = catalog->estimate->why_not_known(self->call->arena, &self->script, facts);
    catalog->facts_unref(facts);
    estimate_give_up(self, why == NULL ? "" : why);
    return ERR_NONE;
}

static enum err estimate_get(struct estimate_call *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct estimate_ops *ops = self->protocol->catalog->estimate;
    struct target_answer answer = {0};
    struct target_request request = {
        .parameters = &ops->parameters,
        .text = arena_text(arena, ops->text_in(arena, self->look.secret.script, &self->script)),
        .values = self->values,
        .types = self->types,
        .are_binary = self->are_binary,
        .value_count = self->value_count,
        .column_count = 1,
        .row_count_max = 1,
    };
    enum err err = estimate_ask(self, &request, &answer, reterr);
    if (err != ERR_NONE || self->why.len > 0) {
        return err;
    }
    bool has_row = answer.rows.first != NULL && answer.rows.first->values[0].at != NULL;
    if (!has_row ||
        ops->read_in(arena, answer.rows.first->values[0], &self->estimate, NULL) != ERR_NONE) {
        estimate_give_up(self, "the target answered with what is no plan");
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
    bool is_there = self->why.len == 0;
    json_begin_object(&json);
    json_member_text(&json, "review_id", self->look.review.id);
    json_member_bool(&json, "is_available", is_there);
    json_member_text(&json, "why_not", self->why);
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
    struct estimate_call self = {.call = call, .why = SLICE(""), .database = SLICE("")};
    if (slice_equals(call->request->method, SLICE("HEAD"))) {
        return fail(reterr, ERR_INPUT, "targets are asked by GET");
    }
    arena_init(&self.secrets);
    arena_hold_secrets(&self.secrets);
    enum err err = review_issuer(call->api, call->arena, &self.issuer, reterr);
    if (err == ERR_NONE) {
        err = store_read(call->api->store, estimate_load_body, &self, reterr);
    }
    if (err == ERR_NONE && self.why.len == 0) {
        err = estimate_check_names(&self, reterr);
    }
    if (err == ERR_NONE && self.why.len == 0) {
        err = estimate_get(&self, reterr);
    }
    arena_release(&self.secrets);
    if (err == ERR_NONE) {
        err = api_audit_alone(call, "estimate", 200,
                              review_payload_in(call->arena, &self.look.review), reterr);
    }
    return err == ERR_NONE ? estimate_answer(&self, reterr) : err;
}
