/* SPDX-License-Identifier: MIT */
/* The connections 'one' and 'two', of which the first has a guard rail, on both engines. */
#include "gate/gate_rules.h"

#include "base/memory.h"
#include "both_engines.h"
#include "gate/read_account.h"
#include "guard_rules.h"
#include "io/clock.h"
#include "store/credential_store.h"
#include "store/guardrail_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define HOME "01900000-0000-7000-8000-000000000001"
#define CONNECTION(id)                                                                             \
    "INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, document, "    \
    "has_reviewers, needs_metadata, secret_view, created_at, updated_at) VALUES ('" id "', "       \
    "'" HOME "', '" id "', 'box', 'database', 'postgres', '', 0, 0, '{}', 1, 1)"

struct step {
    struct engine *engine;
    struct gate_rules *rules;
    struct guardrail guardrail;
    struct slice connection_id;
    struct gate_ruleset set;
};

static enum err insert_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    return guardrail_store_insert(tx, &step->engine->arena, &step->guardrail, reterr);
}

static enum err load_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    const struct credential_grant grant = {
        .credential.organization_id = SLICE(HOME),
        .connection.connection.id = step->connection_id,
        .caller.id = SLICE("anna"),
    };
    return gate_rules_load(step->rules, tx, &step->engine->arena, &grant, &step->set, reterr);
}

static void furnish(struct engine *engine)
{
    static struct slice one = {"one", 3};
    struct step step = {.engine = engine};
    engine_execute(engine,
                   "INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, "
                   "created_at, updated_at) VALUES ('box', '" HOME "', 'box', 'database', "
                   "'postgres', '" HOME "', 1, 1)");
    engine_execute(engine, CONNECTION("one"));
    engine_execute(engine, CONNECTION("two"));
    step.guardrail =
        guardrail_of(&engine->arena, "{\"type\":\"pattern_match\",\"pattern_regex\":\"a+\"}", "");
    step.guardrail.id = SLICE("rail");
    step.guardrail.organization_id = SLICE(HOME);
    step.guardrail.connection_ids =
        (struct shape_texts){.items = &one, .count = 1, .is_given = true};
    engine_write(engine, insert_body, &step);
}

/* Those of the connection: the caller's reference. */
static struct guard_rules *load(struct engine *engine, struct gate_rules *rules, const char *id)
{
    struct step step = {.engine = engine, .rules = rules, .connection_id = slice_of_text(id)};
    assert_int_equal(store_read(engine->store, load_body, &step, NULL), ERR_NONE);
    return step.set.guard;
}

static void the_same_are_shared_until_they_change_in(struct engine *engine)
{
    struct gate_rules *rules = gate_rules_new(SLICE(""));
    furnish(engine);
    struct guard_rules *first = load(engine, rules, "one");
    struct guard_rules *again = load(engine, rules, "one");
    assert_non_null(first);
    assert_ptr_equal(first, again);
    assert_null(load(engine, rules, "two"));
    engine_execute(engine, "UPDATE rule SET name = 'another'");
    struct guard_rules *renamed = load(engine, rules, "one");
    assert_non_null(renamed);
    assert_ptr_not_equal(first, renamed);
    engine_execute(engine, "DELETE FROM connection_rule");
    assert_null(load(engine, rules, "one"));
    gate_rules_free(rules);
    guard_rules_unref(first); /* outlive what they came from */
    guard_rules_unref(again);
    guard_rules_unref(renamed);
}

static void what_cannot_be_compiled_is_refused_in(struct engine *engine)
{
    struct gate_rules *rules = gate_rules_new(SLICE(""));
    struct step step = {.engine = engine, .rules = rules, .connection_id = SLICE("one")};
    struct error error = {0};
    furnish(engine);
    engine_execute(engine, "UPDATE rule SET document = replace(document, 'a+', '(')");
    assert_int_not_equal(store_read(engine->store, load_body, &step, &error), ERR_NONE);
    assert_null(step.set.guard);
    engine_execute(engine, "UPDATE rule SET document = '['");
    assert_int_not_equal(store_read(engine->store, load_body, &step, &error), ERR_NONE);
    assert_null(step.set.guard);
    gate_rules_free(rules);
}

/* A row of the last hour, which another gateway has left. */
static void an_hour_is_counted_where_a_budget_has_one_in(struct engine *engine)
{
    struct gate_rules *rules = gate_rules_new(SLICE(""));
    struct step step = {.engine = engine, .rules = rules, .connection_id = SLICE("one")};
    const struct read_amount all = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
    const struct read_amount more = {.rows = 1, .bytes = 1};
    struct read_hour hour;
    furnish(engine);
    engine_execute(engine, "INSERT INTO read_use (connection_id, caller_id, minute, row_count, "
                           "byte_count) VALUES ('one', 'anna', 10000000000, 7, 70)");
    assert_int_equal(store_read(engine->store, load_body, &step, NULL), ERR_NONE);
    assert_null(step.set.reads);
    engine_execute(engine,
                   "UPDATE rule SET document = '{\"output\":{\"rules\":[{\"type\":\"read_budget\","
                   "\"rows\":10,\"per\":\"hour\"}]}}'");
    assert_int_equal(store_read(engine->store, load_body, &step, NULL), ERR_NONE);
    assert_non_null(step.set.reads);
    assert_true(read_account_take(step.set.reads, clock_monotonic(), &more, &all, &hour));
    assert_int_equal(hour.read.rows, 8);
    struct read_account *before = step.set.reads;
    assert_int_equal(store_read(engine->store, load_body, &step, NULL), ERR_NONE);
    assert_ptr_equal(step.set.reads, before);
    gate_ruleset_release(&step.set);
    gate_rules_free(rules);
}

static void an_hour_is_counted_where_a_budget_has_one(void **state)
{
    (void)state;
    on_both_engines(an_hour_is_counted_where_a_budget_has_one_in);
}

static void the_same_are_shared_until_they_change(void **state)
{
    (void)state;
    on_both_engines(the_same_are_shared_until_they_change_in);
}

static void what_cannot_be_compiled_is_refused(void **state)
{
    (void)state;
    on_both_engines(what_cannot_be_compiled_is_refused_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_are_shared_until_they_change),
        cmocka_unit_test(what_cannot_be_compiled_is_refused),
        cmocka_unit_test(an_hour_is_counted_where_a_budget_has_one),
    };
    both_engines_start();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_engines_end();
    return failed;
}
