/* SPDX-License-Identifier: MIT */
#include "store/read_use_store.h"

#include "base/memory.h"
#include "both_engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define NOW INT64_C(28000000)

struct step {
    struct arena *arena;
    struct read_use use;
    int64_t before;
    int64_t behind;
    struct read_use_list list;
};

static enum err add_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return read_use_store_add(tx, &step->use, error);
}

static enum err forget_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return read_use_store_forget(tx, step->before, step->behind, error);
}

static enum err list_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return read_use_store_list(tx, step->arena, &step->use, 3, &step->list, error);
}

static struct step of(struct engine *engine, const char *caller, int64_t minute, uint64_t rows)
{
    return (struct step){.arena = &engine->arena,
                         .use = {.connection_id = SLICE("shop"),
                                 .caller_id = slice_of_text(caller),
                                 .node_id = SLICE(""),
                                 .minute = minute,
                                 .rows = rows,
                                 .bytes = rows * 10}};
}

static void add(struct engine *engine, const char *caller, int64_t minute, uint64_t rows)
{
    struct step step = of(engine, caller, minute, rows);
    assert_int_equal(store_write(engine->store, add_body, &step, NULL), ERR_NONE);
}

static struct read_use_list list(struct engine *engine, const char *caller, int64_t since)
{
    struct step step = of(engine, caller, since, 0);
    assert_int_equal(store_read(engine->store, list_body, &step, NULL), ERR_NONE);
    return step.list;
}

static void what_is_added_adds_up_by_minutes_in(struct engine *engine)
{
    add(engine, "anna", NOW, 5);
    add(engine, "anna", NOW, 7);
    add(engine, "anna", NOW - 1, 1);
    add(engine, "anna", NOW - 70, 100);
    add(engine, "bert", NOW, 1000);
    struct read_use_list found = list(engine, "anna", NOW - 60);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.uses[0].minute, NOW);
    assert_int_equal(found.uses[0].rows, 12);
    assert_int_equal(found.uses[0].bytes, 120);
    assert_int_equal(found.uses[1].minute, NOW - 1);
    assert_true(slice_equals(found.uses[1].caller_id, SLICE("anna")));
    assert_int_equal(list(engine, "nobody", NOW - 60).count, 0);
    add(engine, "anna", NOW + 1, 1);
    add(engine, "anna", NOW + 2, 1);
    found = list(engine, "anna", NOW - 60);
    assert_int_equal(found.count, 3); /* the newest */
    assert_int_equal(found.uses[0].minute, NOW + 2);
}

static void what_is_old_or_far_ahead_is_forgotten_in(struct engine *engine)
{
    add(engine, "anna", NOW - 61, 1);
    add(engine, "anna", NOW - 60, 1);
    add(engine, "anna", NOW + 60, 1);
    add(engine, "bert", NOW + 61, 1);
    struct step step = {.before = NOW - 60, .behind = NOW + 60};
    assert_int_equal(store_write(engine->store, forget_body, &step, NULL), ERR_NONE);
    struct read_use_list found = list(engine, "anna", 0);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.uses[1].minute, NOW - 60);
    assert_int_equal(list(engine, "bert", 0).count, 0);
}

static enum err others_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return read_use_store_list_others(tx, step->arena, &step->use, 3, &step->list, error);
}

static void gateways_write_side_by_side_in(struct engine *engine)
{
    static const char *const nodes[] = {"one", "two", "three"};
    for (size_t i = 0; i < COUNT_OF(nodes); i++) {
        struct step step = of(engine, "anna", NOW, i + 1);
        step.use.node_id = slice_of_text(nodes[i]);
        assert_int_equal(store_write(engine->store, add_body, &step, NULL), ERR_NONE);
        assert_int_equal(store_write(engine->store, add_body, &step, NULL), ERR_NONE);
    }
    struct step step = of(engine, "anna", NOW, 0);
    step.use.node_id = SLICE("two");
    assert_int_equal(store_read(engine->store, list_body, &step, NULL), ERR_NONE);
    assert_int_equal(step.list.count, 1);
    assert_int_equal(step.list.uses[0].rows, 4);
    assert_int_equal(store_read(engine->store, others_body, &step, NULL), ERR_NONE);
    assert_int_equal(step.list.count, 1);
    assert_int_equal(step.list.uses[0].rows, 8);
    assert_int_equal(step.list.uses[0].bytes, 80);
    assert_int_equal(list(engine, "anna", NOW).count, 0); /* of nobody's */
}

static void gateways_write_side_by_side(void **state)
{
    (void)state;
    on_both_engines(gateways_write_side_by_side_in);
}

static void what_is_added_adds_up_by_minutes(void **state)
{
    (void)state;
    on_both_engines(what_is_added_adds_up_by_minutes_in);
}

static void what_is_old_or_far_ahead_is_forgotten(void **state)
{
    (void)state;
    on_both_engines(what_is_old_or_far_ahead_is_forgotten_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_adds_up_by_minutes),
        cmocka_unit_test(what_is_old_or_far_ahead_is_forgotten),
        cmocka_unit_test(gateways_write_side_by_side),
    };
    both_engines_start();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_engines_end();
    return failed;
}
