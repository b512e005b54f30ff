/* SPDX-License-Identifier: MIT */
/* Two masking rules and a connection of one organization, on both engines. */
#include "store/rulepack_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "both_engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define HOME "01900000-0000-7000-8000-000000000001"
#define RULE(id, kind)                                                                             \
    "INSERT INTO rule (id, organization_id, kind, name, document, created_at, updated_at) "        \
    "VALUES ('" id "', '" HOME "', '" kind "', '" id "', '{}', 1, 1)"

struct step {
    struct arena *arena;
    struct slice id;
    struct slice rulepack;
    bool is_wanted;
};

static struct error error;

static enum err find_body(struct store_tx *tx, void *context, struct error *reterr)
{
    struct step *step = context;
    return rulepack_store_find_masking(tx, step->arena, SLICE(HOME), step->rulepack, &step->id,
                                       reterr);
}

static enum err mark_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct step *step = context;
    return rulepack_store_mark(tx, step->id, step->rulepack, SLICE("gatehouse"), reterr);
}

static enum err link_body(struct store_tx *tx, void *context, struct error *reterr)
{
    const struct step *step = context;
    return rulepack_store_link_masking(tx, step->arena, step->id, SLICE("one"), step->is_wanted,
                                       reterr);
}

static int64_t generation(struct engine *engine)
{
    int64_t number = 0;
    must(store_caller_generation(engine->store, &number, NULL) == ERR_NONE);
    return number;
}

static void furnish(struct engine *engine)
{
    engine_execute(engine,
                   "INSERT INTO resource (id, organization_id, name, type, subtype, agent_id, "
                   "created_at, updated_at) VALUES ('box', '" HOME "', 'box', 'database', "
                   "'postgres', '" HOME "', 1, 1)");
    engine_execute(engine,
                   "INSERT INTO connection (id, organization_id, name, resource_id, type, subtype, "
                   "document, has_reviewers, needs_metadata, secret_view, created_at, updated_at) "
                   "VALUES ('one', '" HOME "', 'one', 'box', 'database', 'postgres', '', 0, 0, "
                   "'{}', 1, 1)");
    engine_execute(engine, RULE("m", "masking"));
    engine_execute(engine, RULE("g", "guardrail"));
}

static void finds_what_a_pack_made(struct engine *engine)
{
    furnish(engine);
    struct step step = {.arena = &engine->arena, .rulepack = SLICE("pci")};
    assert_int_equal(store_read(engine->store, find_body, &step, &error), ERR_NOT_FOUND);
    assert_string_equal(error.message, "the rulepack 'pci' has made no masking rule");
    step.id = SLICE("g");
    engine_write(engine, mark_body, &step);
    assert_int_equal(store_read(engine->store, find_body, &step, NULL), ERR_NOT_FOUND);
    step.id = SLICE("m");
    engine_write(engine, mark_body, &step);
    step.id = SLICE("");
    assert_int_equal(store_read(engine->store, find_body, &step, NULL), ERR_NONE);
    assert_true(slice_equals(step.id, SLICE("m")));
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM rule WHERE id = 'm' AND "
                                           "managed_by = 'gatehouse'"),
                     1);
    step.rulepack = SLICE("other");
    assert_int_equal(store_read(engine->store, find_body, &step, NULL), ERR_NOT_FOUND);
}

/* Whether somebody has to be told. */
static bool changes(struct engine *engine, bool is_wanted)
{
    struct step step = {.arena = &engine->arena, .id = SLICE("m"), .is_wanted = is_wanted};
    int64_t before = generation(engine);
    engine_write(engine, link_body, &step);
    return generation(engine) > before;
}

static int64_t active_links(struct engine *engine)
{
    return engine_number(engine, "SELECT count(*) FROM connection_rule WHERE rule_id = 'm' AND "
                                 "connection_id = 'one' AND is_active = 1 AND id <> ''");
}

static void links_once_and_in_force(struct engine *engine)
{
    furnish(engine);
    assert_false(changes(engine, false));
    assert_true(changes(engine, true));
    assert_int_equal(active_links(engine), 1);
    assert_false(changes(engine, true));
    engine_execute(engine, "UPDATE connection_rule SET is_active = 0");
    assert_true(changes(engine, true));
    assert_int_equal(active_links(engine), 1);
    assert_true(changes(engine, false));
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM connection_rule"), 0);
}

static void what_a_pack_made_is_found_by_its_name(void **state)
{
    (void)state;
    on_both_engines(finds_what_a_pack_made);
}

static void a_link_is_made_once_and_put_in_force_again(void **state)
{
    (void)state;
    on_both_engines(links_once_and_in_force);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_pack_made_is_found_by_its_name),
        cmocka_unit_test(a_link_is_made_once_and_put_in_force_again),
    };
    both_engines_start();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_engines_end();
    return failed;
}
