/* SPDX-License-Identifier: MIT */
/* The rules of a session: which there are, and what is kept of what they find. */
#include "base/memory.h"
#include "base/must.h"
#include "base/reader.h"
#include "codec/json_writer.h"
#include "gate/pg_session_internal.h"
#include "gate/read_account.h"
#include "gate/session_masking.h"
#include "io/clock.h"
#include "io/log.h"

#include <sodium.h>

#define WORDS_SIZE_MAX   1000 /* of a rule's, in a record */
#define SETTING_SIZE_MAX 200

/* Rules -----------------------------------------------------------------------------------------
 */

static void pg_session_judge(void *context, const struct sql_settings *settings, struct slice text,
                             struct guard_verdict *ret_verdict, struct guard_facts *ret_facts)
{
    struct pg_session *session = context;
    guard_cache_judge(session->door->guard_cache, &session->guard->scope, settings, text,
                      ret_verdict, ret_facts);
}

static void pg_session_judge_script(void *context, const struct sql_settings *settings,
                                    struct slice text, const struct sql_script *script,
                                    struct guard_verdict *ret_verdict)
{
    struct pg_session *session = context;
    guard_judge_input(&session->guard->scope, text, settings, script, ret_verdict);
}

static void pg_session_guard_free(struct pg_session_guard *guard)
{
    if (guard != NULL) {
        gate_ruleset_release(&guard->rules);
        arena_release(&guard->arena);
        memory_free(guard);
    }
}

static struct pg_filter_policy pg_session_policy(struct pg_session *session)
{
    return (struct pg_filter_policy){
        .generation = session->guard_generation,
        .looks_at_values = guard_scope_looks_at(&session->guard->scope, GUARD_INPUT),
        .judge = pg_session_judge,
        .analyze = sql_analyze,
        .judge_script = pg_session_judge_script,
        .context = session,
        .masking = session->guard->rules.masking,
        .scratch = session->door->mask_scratch,
        .output = &session->guard->scope,
        .budgets = session->guard->budgets,
        .budget_count = session->guard->budget_count,
    };
}

static bool pg_session_guard_is(const struct pg_session_guard *guard,
                                const struct pg_session_guard *other)
{
    return guard->is_empty == other->is_empty && guard->rules.masking == other->rules.masking &&
           guard->rules.reads == other->rules.reads &&
           memcmp(guard->scope.id, other->scope.id, sizeof(guard->scope.id)) == 0;
}

/* Without rules, and once there were some, the filter stays with an empty set: it knows what was
 * prepared meanwhile. */
void pg_session_guard(struct pg_session *session, struct gate_ruleset *take_rules,
                      const struct slice *groups, size_t group_count)
{
    if (gate_ruleset_is_empty(take_rules) && session->guard == NULL) {
        return;
    }
    struct pg_session_guard *guard = memory_new(sizeof(*guard));
    struct pg_session_guard *before = session->guard;
    struct error error;
    guard->is_empty = gate_ruleset_is_empty(take_rules);
    guard->rules = *take_rules;
    *take_rules = (struct gate_ruleset){.guard = NULL};
    arena_init(&guard->arena);
    if (guard->rules.guard == NULL) {
        must(guard_rules_new(NULL, 0, &guard->rules.guard, &error) == ERR_NONE);
    }
    guard->scope = guard_scope_in(&guard->arena, session->door->guard_scratch, guard->rules.guard,
                                  groups, group_count);
    guard->budgets = guard_scope_budgets_in(&guard->arena, &guard->scope, &guard->budget_count);
    if (before != NULL && pg_session_guard_is(before, guard)) {
        pg_session_guard_free(guard);
        return;
    }
    session->guard = guard;
    if (session->reads == NULL && guard->rules.reads != NULL) {
        session->reads = read_account_ref(guard->rules.reads);
    }
    session->has_masking = session->has_masking || guard->rules.masking != NULL;
    session->guard_generation++;
    if (session->filter != NULL) {
        struct pg_filter_policy policy = pg_session_policy(session);
        pg_filter_set_policy(session->filter, &policy);
    }
    pg_session_guard_free(before);
}

static bool pg_session_on_read(void *owner, const struct pg_filter_read *more,
                               const struct pg_filter_read *most, struct pg_filter_hour *ret_hour)
{
    struct pg_session *session = owner;
    return session->reads != NULL &&
           read_account_take(session->reads, clock_monotonic(), more, most, ret_hour);
}

/* What is kept ----------------------------------------------------------------------------------
 */

static struct slice pg_session_action_word(const struct pg_filter_event *event)
{
    switch (event->finding == NULL ? GUARD_BLOCK : event->finding->action) {
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

static void pg_session_keep_finding(struct pg_session *session, const struct pg_filter_event *event)
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
        .action = pg_session_action_word(event),
        .message = session_text_in(arena, finding->message, WORDS_SIZE_MAX),
    };
}

/* On record before what comes of it passes. */
static void pg_session_on_guarded(void *owner, const struct pg_filter_event *event)
{
    struct pg_session *session = owner;
    const struct guard_finding *finding = event->finding;
    struct arena arena CLEANUP(arena_release);
    struct buf buf;
    arena_init(&arena);
    buf_init(&buf, LIMIT_KIB(64));
    struct json_writer json = json_writer_to(&buf);
    json_begin_object(&json);
    json_member_text(&json, "event", SLICE("guarded"));
    json_member_int(&json, "request", (int64_t)event->request);
    json_member_text(&json, "action", pg_session_action_word(event));
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
    if (event->kind == PG_FILTER_TOO_MANY) {
        json_member_int(&json, "rows", (int64_t)event->rows);
    }
    json_end_object(&json);
    must(json_writer_done(&json) == ERR_NONE);
    struct slice part = buf_view(&buf);
    recorder_add(session->recorder, RECORD_NOTE, RECORD_FROM_GATEWAY, &part, 1);
    buf_release(&buf);
    pg_session_keep_finding(session, event);
}

/* What the mask asks the target ------------------------------------------------------------------
 */

void pg_session_go_on(struct pg_session *session)
{
    if (session->pump != NULL && !pg_filter_waits(session->filter)) {
        pump_ask(session->pump, PUMP_TARGET);
    }
}

static void pg_session_on_learned(void *owner, const struct pg_rows *rows,
                                  const struct error *error)
{
    struct pg_session *session = owner;
    session->lookup = NULL;
    if (error != NULL) {
        log_line(LOG_GATE, LOG_WARN, "where columns come from is not known: more is masked",
                 log_text("id", session->session.id), log_error_field(error));
    }
    for (const struct pg_row *row = rows == NULL ? NULL : rows->first; row != NULL;
         row = row->next) {
        pg_filter_learn_row(session->filter, row->values);
    }
    pg_filter_learn_done(session->filter, rows != NULL);
    pg_session_go_on(session);
}

static void pg_session_on_lookup(void *owner, struct slice tables)
{
    struct pg_session *session = owner;
    const struct pg_lookup_request request = {
        .credential_id = session->session.credential_id,
        .database = session->database,
        .tables = tables,
    };
    session->lookup = pg_lookup_start(session->door, &request, pg_session_on_learned, session);
}

void pg_session_end_lookup(struct pg_session *session)
{
    if (session->lookup != NULL) {
        pg_lookup_cancel(session->lookup);
        session->lookup = NULL;
    }
}

static void pg_session_on_block(void *owner)
{
    struct pg_session *session = owner;
    pg_session_note(session, "cancelled", SLICE("its answer was blocked"));
    pg_session_cancel_query(session);
    if (!pg_way_is_stopping(&session->way)) {
        pg_filter_cancelled(session->filter); /* it cannot be cancelled */
    }
}

void pg_session_keep_masking(struct pg_session *session)
{
    const struct mask_counts *counts =
        session->filter == NULL ? NULL : pg_filter_mask_counts(session->filter);
    if (counts != NULL && session->has_masking) {
        session->session.masking = session_masking_in(&session->arena, counts);
    }
}

/* The filter ------------------------------------------------------------------------------------
 */

static const struct slice pg_settings[PG_SETTINGS] = {SLICE_INIT("client_encoding"),
                                                      SLICE_INIT("standard_conforming_strings")};

void pg_session_learn_setting(struct pg_session *session, struct slice body)
{
    struct slice rest;
    struct slice name = slice_cut(body, '\0', &rest);
    const struct pgwire_frame frame = {.packet = PGWIRE_MESSAGE,
                                       .type = PGWIRE_SERVER_PARAMETER_STATUS,
                                       .size = (uint32_t)body.len};
    for (size_t i = 0; i < PG_SETTINGS; i++) {
        if (slice_equals(name, pg_settings[i]) && body.len <= SETTING_SIZE_MAX) {
            struct buf *setting = &session->settings[i];
            buf_release(setting);
            buf_init(setting, PGWIRE_HEADER_SIZE + SETTING_SIZE_MAX);
            must(pgwire_header_write(setting, &frame) == ERR_NONE &&
                 buf_append(setting, body) == ERR_NONE);
        }
    }
}

void pg_session_learn_greeting(struct pg_session *session, struct slice greeting)
{
    struct reader reader = reader_of(greeting);
    while (reader_left(&reader) > 0 && !reader.failed) {
        char type = (char)reader_u8(&reader);
        struct slice body = reader_view(&reader, reader_u32(&reader) - sizeof(uint32_t));
        if (!reader.failed && type == PGWIRE_SERVER_PARAMETER_STATUS) {
            pg_session_learn_setting(session, body);
        }
    }
}

/* At the start, or when there are rules for the first time: then as soon as nothing is under way.
 */
void pg_session_start_filter(struct pg_session *session)
{
    bool is_due = session->guard != NULL && !session->guard->is_empty && session->filter == NULL;
    if (!is_due || !pg_tap_is_idle(session->tap) || !pg_tap_is_between(session->tap, PUMP_CLIENT) ||
        !pg_tap_is_between(session->tap, PUMP_TARGET)) {
        return;
    }
    struct buf greeting;
    buf_init(&greeting, LIMIT_KIB(4));
    for (size_t i = 0; i < PG_SETTINGS; i++) {
        must(buf_append(&greeting, buf_view(&session->settings[i])) == ERR_NONE);
    }
    struct pg_filter_settings settings = {
        .policy = pg_session_policy(session),
        .request = pg_tap_request(session->tap),
        .greeting = buf_view(&greeting),
        .transaction = pg_tap_transaction(session->tap),
        .is_late = pg_tap_request(session->tap) > 0,
        .on_event = pg_session_on_guarded,
        .on_lookup = pg_session_on_lookup,
        .on_block = pg_session_on_block,
        .on_read = pg_session_on_read,
        .owner = session,
    };
    randombytes_buf(settings.seed, sizeof(settings.seed));
    session->filter = pg_filter_new(&settings);
    buf_release(&greeting);
}

void pg_session_end_guard(struct pg_session *session)
{
    pg_filter_free(session->filter);
    pg_session_guard_free(session->guard);
    read_account_unref(session->reads);
    for (size_t i = 0; i < PG_SETTINGS; i++) {
        buf_release(&session->settings[i]);
    }
    session->filter = NULL;
    session->guard = NULL;
    session->reads = NULL;
}
