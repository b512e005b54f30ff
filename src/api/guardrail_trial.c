/* SPDX-License-Identifier: MIT */
/* Trying a guard rail, stored or not yet: on one statement that is sent along, or on what is on
 * record, which statements of the last days it would have stopped, by whom and where. Tells what
 * people wrote, so that only an admin may ask, and that he did is on record. */
#include "api/connection_names.h"
#include "api/guardrails.h"
#include "api/handlers.h"
#include "api/reader_slots.h"
#include "api/statement_trial.h"
#include "base/limits.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "model/name.h"
#include "session/recording_folder.h"
#include "store/session_store.h"
#include "store/user_store.h"

#define TRIAL_DAYS 7 /* when it is not said */
#define DAY        (INT64_C(86400) * TIMESTAMP_SECOND)

#define TRIAL_MYSQL "mysql"

struct trial_request {
    struct shape_int days;
    struct guardrail *rule;
    struct slice statement;
    struct slice dialect;
    struct shape_texts groups;
};

static const char *const trial_dialects[] = {"postgres", TRIAL_MYSQL, NULL};

static const struct shape_field trial_request_fields[] = {
    {.name = "days",
     .kind = SHAPE_INT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct trial_request, days),
     .min = 1,
     .max = LIMIT_TRIAL_DAYS,
     .about = "how far back; 7 when it is left out"},
    {.name = "rule",
     .kind = SHAPE_OBJECT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct trial_request, rule),
     .object = &guardrail_shape,
     .about = "to be tried in the place of what is stored"},
    {.name = "statement",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct trial_request, statement),
     .max = LIMIT_TRIAL_TEXT_LENGTH,
     .about = "this alone is judged, and nothing on record is read"},
    {.name = "dialect",
     .kind = SHAPE_TEXT,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct trial_request, dialect),
     .choices = trial_dialects,
     .about = "of the statement; postgres when it is left out"},
    {.name = "groups",
     .kind = SHAPE_TEXTS,
     .flags = SHAPE_NULL_IN,
     .offset = offsetof(struct trial_request, groups),
     .max = LIMIT_GUARD_RULE_GROUPS,
     .item_max = GROUP_NAME_MAX,
     .check = title_check,
     .about = "of whoever sends the statement; none when it is left out"},
};

const struct shape guardrail_trial_shape = {.name = "GuardRailTrial",
                                            .size = sizeof(struct trial_request),
                                            SHAPE_FIELDS(trial_request_fields)};

struct guardrail_trial {
    struct api_call *call;
    struct slice name; /* in the path: id or name; empty: of one that is not stored */
    int64_t days;
    int64_t now;
    struct trial_request wanted;
    struct guardrail guardrail;
    bool is_everywhere; /* it is bound to nothing: all connections of the organization */
    struct shape_texts connection_ids;
    struct session_list sessions;
    struct shape_texts *groups; /* of each session's user, as they are now */
    struct statement_trial *trial;
};

/* What is to be read ----------------------------------------------------------------------------
 */

static bool trial_concerns(const struct guardrail_trial *self, const struct session *session)
{
    for (size_t i = 0; i < self->connection_ids.count; i++) {
        if (slice_equals(self->connection_ids.items[i], session->connection_id)) {
            return true;
        }
    }
    return self->is_everywhere;
}

static enum err trial_load_groups(struct guardrail_trial *self, struct store_tx *tx, size_t index,
                                  struct error *reterr)
{
    const struct session *sessions = self->sessions.sessions;
    for (size_t i = index; i > 0; i--) {
        if (slice_equals(sessions[i - 1].user_id, sessions[index].user_id)) {
            self->groups[index] = self->groups[i - 1];
            return ERR_NONE;
        }
    }
    return group_store_of(tx, self->call->arena, sessions[index].user_id, &self->groups[index],
                          reterr);
}

static enum err trial_load_sessions(struct guardrail_trial *self, struct store_tx *tx,
                                    struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct session_scope scope = {.organization_id = self->call->caller.organization_id};
    const struct session_filter filter = {
        .start_date = self->now - self->days * DAY,
        .limit = LIMIT_TRIAL_SESSIONS,
    };
    enum err err = session_store_list(tx, arena, &scope, &filter, &self->sessions, reterr);
    size_t kept = 0;
    for (size_t i = 0; i < self->sessions.count && err == ERR_NONE; i++) {
        if (trial_concerns(self, &self->sessions.sessions[i])) {
            self->sessions.sessions[kept++] = self->sessions.sessions[i];
        }
    }
    self->sessions.count = kept;
    self->groups = arena_alloc_array(arena, kept, sizeof(*self->groups));
    for (size_t i = 0; i < kept && err == ERR_NONE; i++) {
        err = trial_load_groups(self, tx, i, reterr);
    }
    return err;
}

/* What was sent, in the place of what is stored, which is none where 'name' is empty. */
static enum err trial_take_rule(struct guardrail_trial *self, struct store_tx *tx,
                                struct error *reterr)
{
    const struct guardrail *rule = self->wanted.rule;
    if (rule == NULL) {
        return ERR_NONE;
    }
    self->guardrail.name = rule->name;
    self->guardrail.input = rule->input;
    self->guardrail.output = rule->output;
    if (rule->connection_ids.is_given || rule->connection_names.is_given ||
        rule->attributes.is_given) {
        self->guardrail.connection_ids = rule->connection_ids;
        self->guardrail.attributes = rule->attributes;
    }
    return connection_ids_with_names(self->call, tx, &self->guardrail.connection_ids,
                                     &rule->connection_names, reterr);
}

static enum err trial_load_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct guardrail_trial *self = context;
    struct api_call *call = self->call;
    enum err err = ERR_NONE;
    if (self->name.len > 0) {
        err = guardrail_store_find(tx, call->arena, call->caller.organization_id, self->name,
                                   &self->guardrail, reterr);
    }
    if (err == ERR_NONE) {
        err = trial_take_rule(self, tx, reterr);
    }
    if (err != ERR_NONE || self->wanted.statement.len > 0) {
        return err;
    }
    self->is_everywhere =
        self->guardrail.connection_ids.count + self->guardrail.attributes.count == 0;
    err = guardrail_store_connections(tx, call->arena, call->caller.organization_id,
                                      &self->guardrail, &self->connection_ids, reterr);
    return err == ERR_NONE ? trial_load_sessions(self, tx, reterr) : err;
}

/* Trying ----------------------------------------------------------------------------------------
 */

static void trial_try_session(struct guardrail_trial *self, size_t index)
{
    const struct api *api = self->call->api;
    const struct session *session = &self->sessions.sessions[index];
    struct recording *recording = NULL;
    struct error error = {0};
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    const char *path = recording_path_in(&arena, api->recordings, session->id, session->started_at);
    enum err err = recording_open(path, api->keys, &recording, &error);
    if (err == ERR_NOT_FOUND) {
        statement_trial_miss(self->trial, "recordings are on another gateway, or were removed");
    } else if (err != ERR_NONE) {
        statement_trial_miss(self->trial, "a recording is damaged");
    } else {
        statement_trial_read(self->trial, session, &self->groups[index], recording);
    }
    recording_free(recording);
}

static bool trial_has_budgets(const struct guardrail *guardrail)
{
    size_t count = 0;
    const struct guard_rule *rules = guard_rule_list_items(guardrail->output, &count);
    for (size_t i = 0; i < count; i++) {
        if (slice_equals(rules[i].type, SLICE(GUARD_TYPE_BUDGET))) {
            return true;
        }
    }
    return false;
}

static void trial_rules_end(void *at)
{
    guard_rules_unref(at);
}

static enum err trial_try(struct guardrail_trial *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    struct guard_rules *rules = NULL;
    enum err err = guard_rules_new(&self->guardrail, 1, &rules, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    arena_on_end(arena, trial_rules_end, rules);
    int64_t deadline = clock_monotonic() + LIMIT_TRIAL_MS * (TIMESTAMP_SECOND / 1000);
    self->trial = statement_trial_new_in(arena, rules, self->call->api->find_replay, deadline);
    for (size_t i = 0; i < self->sessions.count && !statement_trial_is_over(self->trial); i++) {
        trial_try_session(self, i);
    }
    if (trial_has_budgets(&self->guardrail)) {
        statement_trial_miss(self->trial, "read budgets are not tried");
    }
    if (statement_trial_is_over(self->trial)) {
        statement_trial_miss(self->trial, "it would take too long");
    }
    if (self->sessions.has_more) {
        statement_trial_miss(self->trial, "there are too many sessions, only the newest were read");
    }
    return ERR_NONE;
}

/* Telling ---------------------------------------------------------------------------------------
 */

static void trial_write_tally(const struct trial_tally *tally, struct json_writer *json)
{
    json_begin_object(json);
    json_member_text(json, "user", tally->user);
    json_member_text(json, "connection", tally->connection);
    json_member_int(json, "count", tally->count);
    json_member_int(json, "blocked", tally->blocked);
    json_member_array(json, "examples");
    for (size_t i = 0; i < tally->example_count; i++) {
        json_begin_object(json);
        json_member_text(json, "session_id", tally->examples[i].session_id);
        json_member_text(json, "statement", tally->examples[i].statement);
        json_member_text(json, "rule_name", tally->examples[i].rule_name);
        if (tally->examples[i].why.len > 0) {
            json_member_text(json, "why", tally->examples[i].why);
        }
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static enum err trial_answer(const struct guardrail_trial *self, const struct trial_result *result,
                             struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    json_begin_object(&json);
    json_member_int(&json, "days", self->days);
    json_member_int(&json, "sessions", (int64_t)self->sessions.count);
    json_member_int(&json, "statements", result->statements);
    json_member_int(&json, "matched", result->matched);
    json_member_int(&json, "blocked", result->blocked);
    json_member_array(&json, "by");
    for (size_t i = 0; i < result->tally_count; i++) {
        trial_write_tally(&result->tallies[i], &json);
    }
    json_end_array(&json);
    json_member_bool(&json, "is_complete", result->missed == NULL);
    if (result->missed != NULL) {
        json_member_text(&json, "missed", slice_of_text(result->missed));
    }
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

static struct slice trial_payload(const struct guardrail_trial *self,
                                  const struct trial_result *result)
{
    struct api_text text;
    api_text_begin(&text);
    json_begin_object(&text.json);
    json_member_text(&text.json, "id", self->guardrail.id);
    json_member_text(&text.json, "name", self->guardrail.name);
    json_member_bool(&text.json, "is_saved", self->wanted.rule == NULL);
    json_member_bool(&text.json, "is_typed", self->wanted.statement.len > 0);
    json_member_int(&text.json, "days", self->days);
    json_member_int(&text.json, "statements", result->statements);
    json_member_int(&text.json, "matched", result->matched);
    json_end_object(&text.json);
    return api_text_end_in(self->call->arena, &text);
}

/* One statement ---------------------------------------------------------------------------------
 */

static struct slice trial_action_name(enum guard_action action)
{
    switch (action) {
    case GUARD_PASS:
        return SLICE("pass");
    case GUARD_OBSERVE:
        return SLICE("observe");
    case GUARD_WARN:
        return SLICE("warn");
    case GUARD_REHEARSE:
        return SLICE("rehearse");
    case GUARD_REVIEW:
        return SLICE("review");
    case GUARD_BLOCK:
        return SLICE("block");
    }
    return SLICE("block");
}

static void trial_write_finding(const struct guard_finding *finding, struct json_writer *json)
{
    json_begin_object(json);
    json_member_text(json, "action", trial_action_name(finding->action));
    json_member_text(json, "rule_name", finding->rule_name);
    json_member_text(json, "rule_type", finding->rule_type);
    json_member_text(json, "message", finding->message);
    if (finding->why.len > 0) {
        json_member_text(json, "why", finding->why);
    }
    json_end_object(json);
}

static enum err trial_answer_verdict(const struct guardrail_trial *self,
                                     const struct guard_verdict *verdict, bool is_read_only,
                                     struct error *reterr)
{
    struct json_writer json = api_answer(self->call, 200);
    json_begin_object(&json);
    json_member_text(&json, "action", trial_action_name(verdict->action));
    json_member_array(&json, "findings");
    for (size_t i = 0; i < verdict->count; i++) {
        trial_write_finding(&verdict->findings[i], &json);
    }
    json_end_array(&json);
    json_key(&json, "max_rows");
    if (verdict->max_rows >= 0) {
        json_int(&json, verdict->max_rows);
    } else {
        json_no_value(&json);
    }
    json_member_bool(&json, "is_read_only", is_read_only);
    json_end_object(&json);
    return api_answer_end(self->call, &json, reterr);
}

static enum err trial_judge_typed(struct guardrail_trial *self, struct error *reterr)
{
    struct arena *arena = self->call->arena;
    const struct trial_request *wanted = &self->wanted;
    bool is_mysql = slice_equals(wanted->dialect, SLICE(TRIAL_MYSQL));
    const struct sql_settings settings = {.dialect = is_mysql ? SQL_MYSQL : SQL_POSTGRES,
                                          .is_backslash_quoted = is_mysql};
    struct guard_rules *rules = NULL;
    struct guard_verdict verdict;
    struct trial_result result = {.statements = 1};
    enum err err = guard_rules_new(&self->guardrail, 1, &rules, reterr);
    if (err != ERR_NONE) {
        return err;
    }
    arena_on_end(arena, trial_rules_end, rules);
    struct guard_scratch *scratch = guard_scratch_new();
    struct guard_scope scope =
        guard_scope_in(arena, scratch, rules, wanted->groups.items, wanted->groups.count);
    struct sql_script script = sql_analyze(arena, &settings, wanted->statement);
    guard_judge_input(&scope, wanted->statement, &settings, &script, &verdict);
    guard_scratch_free(scratch);
    result.matched = verdict.count > 0 ? 1 : 0;
    err = api_audit_alone(self->call, "test", 200, trial_payload(self, &result), reterr);
    return err == ERR_NONE ? trial_answer_verdict(self, &verdict, scope.is_read_only, reterr) : err;
}

/* "'input.rules[0]…" of the guard rail becomes "'rule.input.rules[0]…". */
static enum err trial_check_rule(struct guardrail_trial *self, struct error *reterr)
{
    struct error reason = {0};
    if (self->wanted.rule == NULL || guardrail_validate(self->wanted.rule, &reason) == ERR_NONE) {
        return ERR_NONE;
    }
    bool has_name = reason.message[0] == '\'';
    return fail(reterr, ERR_INPUT, "%s%s", has_name ? "'rule." : "",
                has_name ? reason.message + 1 : reason.message);
}

static enum err trial_on_record(struct guardrail_trial *self, struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = reader_slots_take_in(call->arena, call->api->readers, call->caller.id, reterr);
    if (err == ERR_NONE) {
        err = trial_try(self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    struct trial_result result = statement_trial_result(self->trial);
    err = api_audit_alone(call, "test", 200, trial_payload(self, &result), reterr);
    return err == ERR_NONE ? trial_answer(self, &result, reterr) : err;
}

static enum err trial_run(struct guardrail_trial *self, struct error *reterr)
{
    struct api_call *call = self->call;
    enum err err = api_read_body(call, SHAPE_WHOLE, &guardrail_trial_shape, &self->wanted, reterr);
    if (err == ERR_NONE && self->name.len == 0 && self->wanted.rule == NULL) {
        return fail(reterr, ERR_INPUT, "'rule' is required");
    }
    if (err == ERR_NONE) {
        err = trial_check_rule(self, reterr);
    }
    self->days = self->wanted.days.is_given ? self->wanted.days.value : TRIAL_DAYS;
    if (err == ERR_NONE) {
        err = store_read(call->api->store, trial_load_body, self, reterr);
    }
    if (err != ERR_NONE) {
        return err;
    }
    return self->wanted.statement.len > 0 ? trial_judge_typed(self, reterr)
                                          : trial_on_record(self, reterr);
}

enum err guardrails_test(struct api_call *call, struct error *reterr)
{
    struct guardrail_trial self = {
        .call = call, .name = call->request->values[0], .now = clock_now()};
    return trial_run(&self, reterr);
}

enum err guardrails_try(struct api_call *call, struct error *reterr)
{
    struct guardrail_trial self = {.call = call, .now = clock_now()};
    return trial_run(&self, reterr);
}
