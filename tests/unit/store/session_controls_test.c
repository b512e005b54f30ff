/* SPDX-License-Identifier: MIT */
/* What guard rails and masking leave on sessions, and reports of it, on both engines. */
#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "both_engines.h"
#include "store/session_report.h"
#include "store/session_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define HOME "01900000-0000-7000-8000-000000000001"

struct step {
    struct arena *arena;
    struct session session;
    const struct session_guarded *guarded;
    size_t count;
    struct session_report_filter filter;
    struct session_report report;
};

static enum err insert_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return session_store_insert(tx, &step->session, error);
}

static enum err end_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return session_store_end(tx, &step->session, error);
}

static enum err guarded_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return session_store_add_guarded(tx, step->arena, step->session.id, step->guarded, step->count,
                                     error);
}

static enum err get_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    const struct session_scope scope = {.organization_id = SLICE(HOME)};
    return session_store_get(tx, step->arena, &scope, step->session.id, &step->session, error);
}

static enum err report_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return session_report_make(tx, step->arena, &step->filter, &step->report, error);
}

static struct session session_of(const char *id, const char *connection, const char *user,
                                 int64_t started_at)
{
    return (struct session){
        .id = slice_of_text(id),
        .organization_id = SLICE(HOME),
        .connection_id = SLICE("db-id"),
        .connection_name = slice_of_text(connection),
        .connection_type = SLICE("database"),
        .user_id = slice_of_text(user),
        .user_email = slice_of_text(user),
        .identity_type = SLICE("user"),
        .verb = SLICE("connect"),
        .started_at = started_at,
    };
}

static struct session get(struct engine *engine, const char *id)
{
    struct step step = {.arena = &engine->arena, .session = {.id = slice_of_text(id)}};
    must(store_read(engine->store, get_body, &step, NULL) == ERR_NONE);
    return step.session;
}

static void assert_text(struct slice text, const char *wanted)
{
    char shown[1024];
    (void)snprintf(shown, sizeof(shown), "%.*s", SLICE_ARG(text));
    assert_string_equal(shown, wanted);
}

static void keeps_metrics(struct engine *engine)
{
    const struct session_masked types[] = {{SLICE("EMAIL_ADDRESS"), 3, 60},
                                           {SLICE("CREDIT_CARD"), INT64_C(5000000000), 80}};
    struct step step = {.arena = &engine->arena, .session = session_of("a", "db", "ann", 5)};
    engine_write(engine, insert_body, &step);
    assert_text(get(engine, "a").metrics, "");
    assert_text(get(engine, "a").guardrails_info, "[]");
    step.session.ended_at = 9;
    step.session.masking = (struct session_masking){true, types, COUNT_OF(types), 2};
    engine_write(engine, end_body, &step);
    assert_text(get(engine, "a").metrics,
                "{\"data_masking\":{\"info_types\":{\"EMAIL_ADDRESS\":3,\"CREDIT_CARD\":5000000000}"
                ",\"total_redact_count\":5000000003,\"transformed_bytes\":140,\"err_count\":2}}");
    /* Rules that found nothing are not the same as no rules. */
    step.session = session_of("b", "db", "ann", 5);
    engine_write(engine, insert_body, &step);
    step.session.masking.is_given = true;
    engine_write(engine, end_body, &step);
    assert_text(get(engine, "b").metrics,
                "{\"data_masking\":{\"info_types\":{},\"total_redact_count\":0,"
                "\"transformed_bytes\":0,\"err_count\":0}}");
    step.session = session_of("c", "db", "ann", 5);
    engine_write(engine, insert_body, &step);
    engine_write(engine, end_body, &step);
    assert_text(get(engine, "c").metrics, "");
}

static void what_was_masked_is_kept_at_the_end(void **state)
{
    (void)state;
    on_both_engines(keeps_metrics);
}

static void appends_guarded(struct engine *engine)
{
    struct session_guarded_rule type = {SLICE("deny_words_list")};
    const struct session_guarded one = {SLICE("no \"drop\""), &type, SLICE("input"), SLICE("block"),
                                        SLICE("ask\nfirst")};
    const struct session_guarded two[] = {one, one};
    struct step step = {.arena = &engine->arena, .session = session_of("a", "db", "ann", 5)};
    engine_write(engine, insert_body, &step);
    engine_write(engine, guarded_body, &step); /* none */
    assert_text(get(engine, "a").guardrails_info, "[]");
#define ONE                                                                                        \
    "{\"rule_name\":\"no \\\"drop\\\"\",\"rule\":{\"type\":\"deny_words_list\"},"                  \
    "\"direction\":\"input\",\"action\":\"block\",\"message\":\"ask first\"}"
    step.guarded = &one;
    step.count = 1;
    engine_write(engine, guarded_body, &step);
    assert_text(get(engine, "a").guardrails_info, "[" ONE "]");
    step.guarded = two;
    step.count = 2;
    engine_write(engine, guarded_body, &step);
    assert_text(get(engine, "a").guardrails_info, "[" ONE "," ONE "," ONE "]");
    assert_int_equal(get(engine, "a").guardrails_count.value, 3);
    step.session.id = SLICE("nothing");
    assert_int_equal(store_write(engine->store, guarded_body, &step, NULL), ERR_NOT_FOUND);
}

static void rules_that_were_met_are_appended(void **state)
{
    (void)state;
    on_both_engines(appends_guarded);
}

static void stops_appending(struct engine *engine)
{
    char long_text[600];
    struct session_guarded_rule type = {SLICE("sql")};
    (void)memset(long_text, 'x', sizeof(long_text));
    const struct session_guarded one = {SLICE("name"), &type, SLICE("input"), SLICE("warn"),
                                        slice_of(long_text, sizeof(long_text))};
    struct session_guarded many[16];
    for (size_t i = 0; i < COUNT_OF(many); i++) {
        many[i] = one;
    }
    struct step step = {.arena = &engine->arena,
                        .session = session_of("a", "db", "ann", 5),
                        .guarded = many,
                        .count = COUNT_OF(many)};
    engine_write(engine, insert_body, &step);
    for (size_t i = 0; i < 20; i++) {
        engine_write(engine, guarded_body, &step);
    }
    const struct session found = get(engine, "a");
    assert_int_equal(found.guardrails_count.value, 320);
    assert_in_range(found.guardrails_info.len, LIMIT_SESSION_GUARDRAILS_SIZE,
                    LIMIT_SESSION_GUARDRAILS_SIZE + LIMIT_KIB(12));
    struct json document;
    assert_int_equal(json_parse_in(&engine->arena, found.guardrails_info, &document, NULL),
                     ERR_NONE);
}

static void what_grows_too_long_is_counted_only(void **state)
{
    (void)state;
    on_both_engines(stops_appending);
}

/* "resource/type=count:bytes …", and the totals. */
static void assert_report(struct engine *engine, struct session_report_filter filter,
                          const char *wanted)
{
    struct step step = {.arena = &engine->arena, .filter = filter};
    char text[512] = "";
    step.filter.organization_id = SLICE(HOME);
    step.filter.to = filter.to == 0 ? 100 : filter.to;
    must(store_read(engine->store, report_body, &step, NULL) == ERR_NONE);
    for (size_t i = 0; i < step.report.count; i++) {
        const struct session_report_item *item = &step.report.items[i];
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "%.*s/%.*s=%lld:%lld ",
                       SLICE_ARG(item->resource), SLICE_ARG(item->info_type),
                       (long long)item->redact_total, (long long)item->transformed_bytes);
    }
    size_t len = strlen(text);
    (void)snprintf(text + len, sizeof(text) - len, "= %lld:%lld",
                   (long long)step.report.redact_total, (long long)step.report.transformed_bytes);
    assert_string_equal(text, wanted);
    assert_false(step.report.has_more);
}

static void add_ended(struct engine *engine, struct session session, int64_t emails, int64_t cards)
{
    const struct session_masked types[] = {{SLICE("EMAIL"), emails, emails * 10},
                                           {SLICE("CARD"), cards, cards * 16}};
    struct step step = {.arena = &engine->arena, .session = session};
    engine_write(engine, insert_body, &step);
    step.session.masking = (struct session_masking){true, types, cards > 0 ? 2 : 1, 0};
    engine_write(engine, end_body, &step);
}

static void adds_up(struct engine *engine)
{
    add_ended(engine, session_of("a", "db", "ann", 10), 5, 1);
    add_ended(engine, session_of("b", "db", "bob", 20), 1, 0);
    add_ended(engine, session_of("c", "other", "ann", 30), 2, 2);
    struct step open = {.session = session_of("d", "db", "ann", 40)};
    engine_write(engine, insert_body, &open);
    assert_report(engine, (struct session_report_filter){0},
                  "db/EMAIL=6:60 other/CARD=2:32 other/EMAIL=2:20 db/CARD=1:16 = 11:128");
    assert_report(engine, (struct session_report_filter){.group = SESSION_REPORT_CONNECTION_TYPE},
                  "database/EMAIL=8:80 database/CARD=3:48 = 11:128");
    assert_report(engine, (struct session_report_filter){.group = SESSION_REPORT_USER},
                  "ann/EMAIL=7:70 ann/CARD=3:48 bob/EMAIL=1:10 = 11:128");
    assert_report(
        engine,
        (struct session_report_filter){.group = SESSION_REPORT_ID, .connection_name = SLICE("db")},
        "a/EMAIL=5:50 a/CARD=1:16 b/EMAIL=1:10 = 7:76");
    assert_report(engine, (struct session_report_filter){.from = 20, .to = 30},
                  "db/EMAIL=1:10 = 1:10");
    assert_report(engine, (struct session_report_filter){.id = SLICE("b")}, "db/EMAIL=1:10 = 1:10");
    assert_report(engine, (struct session_report_filter){.user_email = SLICE("bob")},
                  "db/EMAIL=1:10 = 1:10");
    assert_report(engine, (struct session_report_filter){.verb = SLICE("exec")}, "= 0:0");
}

static void reports_add_it_up(void **state)
{
    (void)state;
    on_both_engines(adds_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_masked_is_kept_at_the_end),
        cmocka_unit_test(rules_that_were_met_are_appended),
        cmocka_unit_test(what_grows_too_long_is_counted_only),
        cmocka_unit_test(reports_add_it_up),
    };
    both_engines_start();
    int result = cmocka_run_group_tests_name("store/session_controls", tests, NULL, NULL);
    both_engines_end();
    return result;
}
