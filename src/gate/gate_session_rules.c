/* SPDX-License-Identifier: MIT */
/* The rules of a session: which there are, and what is kept of what they find. */
#include "base/memory.h"
#include "base/must.h"
#include "codec/json_writer.h"
#include "gate/gate_session_internal.h"
#include "gate/read_account.h"
#include "gate/session_masking.h"
#include "io/clock.h"
#include "io/log.h"

#define WORDS_SIZE_MAX 1000 /* of a rule's, in a record */

/* Rules --------------------------------------------------------------------------------------- */

static void gate_session_judge(void *context, const struct sql_settings *settings,
                               struct slice text, struct guard_verdict *ret_verdict,
                               struct guard_facts *ret_facts)
{
    struct gate_session *session = context;
    guard_cache_judge(session->worker->guard_cache, &session->rules->scope, settings, text,
                      ret_verdict, ret_facts);
}

static void gate_session_judge_script(void *context, const struct sql_settings *settings,
                                      struct slice text, const struct sql_script *script,
                                      struct guard_verdict *ret_verdict)
{
    struct gate_session *session = context;
    guard_judge_input(&session->rules->scope, text, settings, script, ret_verdict);
}

static bool gate_session_judge_known(void *context, const struct sql_settings *settings,
                                     struct slice text, const struct guard_known *known,
                                     struct guard_verdict *ret_verdict,
                                     struct guard_facts *ret_facts)
{
    struct gate_session *session = context;
    const struct guard_cache_key key = {
        .scope = &session->rules->scope, .settings = settings, .text = text};
    return guard_cache_judge_known(session->worker->guard_cache, &key, known, ret_verdict,
                                   ret_facts);
}

static bool gate_session_judge_script_known(void *context, const struct sql_settings *settings,
                                            struct slice text, const struct sql_script *script,
                                            const struct guard_known *known,
                                            struct guard_verdict *ret_verdict)
{
    struct gate_session *session = context;
    return guard_judge_known(&session->rules->scope, text, settings, script, known, ret_verdict);
}

static void session_rules_free(struct session_rules *rules)
{
    if (rules != NULL) {
        gate_ruleset_release(&rules->rules);
        arena_release(&rules->arena);
        memory_free(rules);
    }
}

bool gate_session_can_hold_rules(const struct gate_session *session)
{
    bool is_read_only = session->rules != NULL && session->rules->scope.is_read_only;
    unsigned can = session->protocol->can;
    if (session->rules != NULL &&
        ((session->rules->rules.masking != NULL && (can & CAN_MASK) == 0) ||
         (session->rules->budget_count > 0 && (can & CAN_BUDGET) == 0) ||
         (session->rules->scope.asks_review && (can & CAN_HOLD) == 0) ||
         (session->rules->scope.asks_rehearsal && (can & CAN_REHEARSE) == 0) ||
         (guard_scope_looks_at(&session->rules->scope, GUARD_OUTPUT) &&
          (can & CAN_GUARD_OUTPUT) == 0))) {
        return false;
    }
    return session->rules == NULL || session->rules->is_empty ||
           (session->protocol->passage->set_policy != NULL &&
            (!is_read_only || (can & CAN_READ_ONLY) != 0));
}

bool gate_session_policy(struct gate_session *session, struct passage_policy *ret_policy)
{
    if (session->rules == NULL) {
        return false;
    }
    *ret_policy = (struct passage_policy){
        .generation = session->rules_generation,
        .is_empty = session->rules->is_empty,
        .stops_text = session->rules->scope.stops_text,
        .asks_structure = session->rules->scope.asks_structure,
        .asks_review = session->rules->scope.asks_review,
        .is_reviewed = session->is_reviewed,
        .only_masks = session->rules->rules.masking != NULL &&
                      !guard_scope_looks_at(&session->rules->scope, GUARD_INPUT) &&
                      !guard_scope_looks_at(&session->rules->scope, GUARD_OUTPUT) &&
                      session->rules->budget_count == 0 && !session->rules->scope.is_read_only,
        .is_read_only = session->rules->scope.is_read_only,
        .looks_at_values = guard_scope_looks_at(&session->rules->scope, GUARD_INPUT),
        .judge = gate_session_judge,
        .analyze = sql_analyze,
        .judge_script = gate_session_judge_script,
        .asks_names = session->rules->scope.asks_names,
        .asks_relations = session->rules->scope.asks_relations,
        .judge_known = gate_session_judge_known,
        .judge_script_known = gate_session_judge_script_known,
        .context = session,
        .masking = session->rules->rules.masking,
        .scratch = session->worker->mask_scratch,
        .output = &session->rules->scope,
        .budgets = session->rules->budgets,
        .budget_count = session->rules->budget_count,
    };
    return true;
}

static bool session_rules_is(const struct session_rules *rules, const struct session_rules *other)
{
    return rules->is_empty == other->is_empty && rules->rules.masking == other->rules.masking &&
           rules->rules.reads == other->rules.reads &&
           memcmp(rules->scope.id, other->scope.id, sizeof(rules->scope.id)) == 0;
}

/* Without rules, and once there were some, the filter stays with an empty set: it knows what was
 * prepared meanwhile. */
void gate_session_set_rules(struct gate_session *session, struct gate_ruleset *take_rules,
                            const struct slice *groups, size_t group_count)
{
    if (gate_ruleset_is_empty(take_rules) && session->rules == NULL) {
        return;
    }
    struct session_rules *rules = memory_new(sizeof(*rules));
    struct session_rules *before = session->rules;
    struct error error;
    rules->is_empty = gate_ruleset_is_empty(take_rules);
    rules->rules = *take_rules;
    *take_rules = (struct gate_ruleset){.guard = NULL};
    arena_init(&rules->arena);
    if (rules->rules.guard == NULL) {
        must(guard_rules_new(NULL, 0, &rules->rules.guard, &error) == ERR_NONE);
    }
    rules->scope = guard_scope_in(&rules->arena, session->worker->guard_scratch, rules->rules.guard,
                                  groups, group_count);
    rules->budgets = guard_scope_budgets_in(&rules->arena, &rules->scope, &rules->budget_count);
    if (before != NULL && session_rules_is(before, rules)) {
        session_rules_free(rules);
        return;
    }
    session->rules = rules;
    if (session->reads == NULL && rules->rules.reads != NULL) {
        session->reads = read_account_ref(rules->rules.reads);
    }
    session->had_masking = session->had_masking || rules->rules.masking != NULL;
    session->rules_generation++;
    struct passage_policy policy;
    if (!gate_session_can_hold_rules(session)) {
        gate_session_kill(session, ENDING_ACCESS, GATE_RULES_NOT_HELD);
    } else if (session->passage != NULL && session->passage->ops->set_policy != NULL &&
               gate_session_policy(session, &policy)) {
        session->passage->ops->set_policy(session->passage, &policy);
    }
    session_rules_free(before);
}

static bool gate_session_on_read(void *owner, const struct read_amount *more,
                                 const struct read_amount *most, struct read_hour *ret_hour)
{
    struct gate_session *session = owner;
    return session->reads != NULL &&
           read_account_take(session->reads, clock_monotonic(), more, most, ret_hour);
}

/* What is kept ----------------------------------------------------------------------------------
 */

static struct slice gate_session_action_word(const struct guard_event *event)
{
    switch (event->finding == NULL ? GUARD_BLOCK : event->finding->action) {
    case GUARD_REHEARSE:
        return SLICE("rehearse");
    case GUARD_REVIEW:
        return SLICE("review");
    case GUARD_WARN:
        return SLICE("warn");
    case GUARD_OBSERVE:
        return SLICE("observe");
    case GUARD_PASS:
    case GUARD_BLOCK:
        break;
    }
    return SLICE("block");
}

static void gate_session_keep_finding(struct gate_session *session, const struct guard_event *event)
{
    struct arena *arena = &session->arena;
    const struct guard_finding *finding = event->finding;
    if (finding == NULL || session->guarded_count >= LIMIT_GATE_GUARDED) {
        return;
    }
    if (session->guarded == NULL) {
        session->guarded = arena_alloc_array(arena, LIMIT_GATE_GUARDED, sizeof(*session->guarded));
    }
    struct session_guarded_rule *rule = arena_alloc(arena, sizeof(*rule));
    rule->type = arena_copy(arena, finding->rule_type);
    struct slice name = finding->rule_name.len > 0 ? finding->rule_name : finding->guardrail_name;
    session->guarded[session->guarded_count++] = (struct session_guarded){
        .rule_name = session_text_in(arena, name, WORDS_SIZE_MAX),
        .rule = rule,
        .direction = finding->direction == GUARD_INPUT ? SLICE("input") : SLICE("output"),
        .action = gate_session_action_word(event),
        .message = session_text_in(arena, finding->message, WORDS_SIZE_MAX),
    };
}

/* On record before what comes of it passes. */
static void gate_session_on_guarded(void *owner, const struct guard_event *event)
{
    struct gate_session *session = owner;
    const struct guard_finding *finding = event->finding;
    struct arena arena CLEANUP(arena_release);
    struct buf buf;
    arena_init(&arena);
    buf_init(&buf, LIMIT_KIB(64));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "event", SLICE("guarded"));
    json_member_int(&json, "request", (int64_t)event->request);
    json_member_text(&json, "action", gate_session_action_word(event));
    json_member_text(&json, "reason", session_text_in(&arena, event->words, WORDS_SIZE_MAX));
    if (finding != NULL) {
        json_member_text(&json, "guardrail",
                         session_text_in(&arena, finding->guardrail_name, WORDS_SIZE_MAX));
        json_member_text(&json, "rule",
                         session_text_in(&arena, finding->rule_name, WORDS_SIZE_MAX));
        json_member_text(&json, "type",
                         session_text_in(&arena, finding->rule_type, WORDS_SIZE_MAX));
        json_member_text(&json, "message",
                         session_text_in(&arena, finding->message, WORDS_SIZE_MAX));
        json_member_text(&json, "why", session_text_in(&arena, finding->why, WORDS_SIZE_MAX));
    }
    if (event->kind == GUARD_EVENT_TOO_MANY) {
        json_member_int(&json, "rows", (int64_t)event->rows);
    }
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice part = buf_view(&buf);
    recorder_add(session->recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, &part, 1);
    buf_release(&buf);
    if (slice_equals(gate_session_action_word(event), SLICE("block"))) {
        gate_count(&session->worker->counters.blocked, 1);
    }
    gate_session_keep_finding(session, event);
    gate_session_tell_finding(session);
}

/* The catalog of the target
 * ----------------------------------------------------------------------------------
 */

void gate_session_go_on(struct gate_session *session)
{
    if (session->pump != NULL &&
        (session->passage->ops->state(session->passage) & PASSAGE_PAUSES_TARGET) == 0) {
        pump_ask(session->pump, PUMP_TARGET);
    }
}

static struct catalog_facts_request gate_session_catalog(const struct gate_session *session)
{
    return (struct catalog_facts_request){
        .connection_id = session->session.connection_id,
        .credential_id = session->session.credential_id,
        .database = session->database,
        .rules = session->rules == NULL ? NULL : session->rules->rules.masking,
        .protocol = session->protocol,
    };
}

static void gate_session_on_informed(void *owner)
{
    struct gate_session *session = owner;
    session->passage->ops->informed(session->passage);
    gate_session_go_on(session);
}

static void gate_session_on_ask(void *owner)
{
    struct gate_session *session = owner;
    const struct catalog_facts_request request = gate_session_catalog(session);
    catalog_facts_cancel(session->worker->catalogs, &session->waiter);
    session->waiter.on_informed = gate_session_on_informed;
    session->waiter.owner = session;
    catalog_facts_ask(session->worker->catalogs, &request, &session->waiter);
}

static bool gate_session_on_known(void *owner, struct catalog_known *ret_known)
{
    struct gate_session *session = owner;
    const struct catalog_facts_request request = gate_session_catalog(session);
    return catalog_facts_known(session->worker->catalogs, &request, ret_known);
}

static struct catalog_stamp gate_session_on_stamp(void *owner)
{
    struct gate_session *session = owner;
    const struct mask_rules *masking =
        session->rules == NULL ? NULL : session->rules->rules.masking;
    return catalog_changes_stamp(&session->worker->gate->changes, session->database,
                                 masking == NULL ? 0 : mask_rules_columns_id(masking));
}

static void gate_session_on_change(void *owner, enum catalog_change what, bool is_over)
{
    struct gate_session *session = owner;
    if (session->is_changing[what] == is_over) {
        session->is_changing[what] = !is_over;
        catalog_changes_note(&session->worker->gate->changes, session->database, what, is_over);
    }
}

static bool gate_session_on_check(void *owner, const struct catalog_stamp *known)
{
    struct gate_session *session = owner;
    bool is_begun =
        !session->is_changing[CATALOG_CHECKED] &&
        catalog_changes_check(&session->worker->gate->changes, session->database, known);
    session->is_changing[CATALOG_CHECKED] = session->is_changing[CATALOG_CHECKED] || is_begun;
    return is_begun;
}

void gate_session_end_catalog(struct gate_session *session)
{
    catalog_facts_cancel(session->worker->catalogs, &session->waiter);
    for (enum catalog_change what = 0; what < CATALOG_CHANGES; what++) {
        gate_session_on_change(session, what, true);
    }
}

static void gate_session_on_block(void *owner)
{
    struct gate_session *session = owner;
    gate_session_note(session, "cancelled", SLICE("its answer was blocked"));
    gate_session_cancel_query(session);
    if (!target_route_is_stopping(&session->route)) {
        session->passage->ops->stopped(session->passage); /* it cannot be cancelled */
    }
}

void gate_session_keep_masking(struct gate_session *session)
{
    const struct mask_counts *counts =
        session->passage == NULL ? NULL : session->passage->ops->masked(session->passage);
    if (counts != NULL && session->had_masking) {
        session->session.masking = session_masking_in(&session->arena, counts);
        gate_count(&session->worker->counters.masked, session_masking_count(counts));
    }
}

static bool gate_session_on_kill(void *owner, uint32_t number, bool is_end)
{
    return gate_session_kill_other(owner, number, is_end);
}

const struct passage_events gate_session_passage_events = {
    .on_finding = gate_session_on_guarded,
    .on_ask = gate_session_on_ask,
    .on_known = gate_session_on_known,
    .on_stamp = gate_session_on_stamp,
    .on_change = gate_session_on_change,
    .on_hold = gate_session_on_hold,
    .on_unhold = gate_session_on_unhold,
    .on_check = gate_session_on_check,
    .on_block = gate_session_on_block,
    .on_kill = gate_session_on_kill,
    .on_read = gate_session_on_read,
};

bool gate_session_was_blocked(const struct gate_session *session)
{
    for (size_t i = 0; i < session->guarded_count; i++) {
        if (slice_equals(session->guarded[i].action, SLICE("block"))) {
            return true;
        }
    }
    return false;
}

void gate_session_end_rules(struct gate_session *session)
{
    session_rules_free(session->rules);
    read_account_unref(session->reads);
    session->rules = NULL;
    session->reads = NULL;
}
