/* SPDX-License-Identifier: MIT */
#include "store/review_sweep.h"

#include "base/memory.h"
#include "both_engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define SIZE 70000 /* of a script that is cut */

/* 'times' are updated_at, pending_until, granted_until. */
static void add(struct engine *engine, const char *id, const char *kind, const char *state,
                const char *times)
{
    engine_add_review(engine, id, SIZE);
    struct slice sql = arena_format(&engine->arena,
                                    "UPDATE review SET (kind, state, updated_at, pending_until, "
                                    "granted_until) = ('%s', '%s', %s) WHERE id = '%s'",
                                    kind, state, times, id);
    engine_execute(engine, arena_text(&engine->arena, sql));
}

static enum err due_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct review_sweep sweep = {.now = 100, .old_before = 50, .whole_before = 80};
    return review_sweep_is_due(tx, &sweep, context, error);
}

static bool is_due(struct engine *engine)
{
    bool is = false;
    assert_int_equal(store_read(engine->store, due_body, &is, NULL), ERR_NONE);
    return is;
}

static void due(struct engine *engine)
{
    static const struct {
        const char *kind;
        const char *state;
        const char *times;
        bool is_due;
    } rows[] = {
        {"onetime", "PENDING", "90, 101, 0", false},
        {"onetime", "PENDING", "10, 100, 0", true},
        {"onetime", "APPROVED", "10, 1, 101", false},
        {"onetime", "APPROVED", "10, 1, 100", true},
        {"jit", "PROCESSING", "10, 1, 100", true},
        {"onetime", "PROCESSING", "10, 1, 100", false}, /* who runs it says how it ended */
        {"held", "PROCESSING", "10, 1, 100", false},
        {"onetime", "EXECUTED", "50, 1, 1", false},
        {"onetime", "EXECUTED", "49, 1, 1", true},
        {"onetime", "REJECTED", "80, 1, 0", false},
        {"onetime", "REJECTED", "79, 1, 0", true}, /* its script is to be cut */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char id[] = {(char)('a' + i), '\0'};
        add(engine, id, rows[i].kind, rows[i].state, rows[i].times);
        assert_int_equal(is_due(engine), rows[i].is_due);
        engine_execute(engine, "DELETE FROM review");
    }
}

static void what_is_over_is_found(void **state)
{
    (void)state;
    on_both_engines(due);
}

static enum err cut_body(struct store_tx *tx, void *context, struct error *error)
{
    (void)context;
    return review_sweep_cut(tx, 80, error);
}

static void cut(struct engine *engine)
{
    static const char *const lost[] = {"l1", "l2", "l3", "l4", "l5", "l6"};
    for (size_t i = 0; i < COUNT_OF(lost); i++) {
        add(engine, lost[i], "onetime", "REJECTED", "55, 1, 0");
    }
    add(engine, "good", "onetime", "REJECTED", "60, 1, 0");
    /* What is sealed is so for the row that it lies in. */
    engine_execute(engine, "UPDATE review SET sealed = (SELECT g.sealed FROM review g WHERE g.id = "
                           "'good') WHERE id <> 'good'");
    for (size_t i = 0; i < 3; i++) {
        engine_write(engine, cut_body, NULL);
    }
    assert_int_equal(engine_number(engine, "SELECT script_size FROM review WHERE id = 'good'"),
                     65536);
    assert_int_equal(engine_number(engine, "SELECT whole_size FROM review WHERE id = 'good'"),
                     SIZE);
    /* Nothing of the others is lost, and nobody looks at them again. */
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM review WHERE id <> 'good' AND "
                                           "script_size = 70000 AND whole_size = -1"),
                     6);
    assert_false(is_due(engine));
}

static void what_cannot_be_opened_is_in_nobodys_way(void **state)
{
    (void)state;
    on_both_engines(cut);
}

static int start(void **state)
{
    (void)state;
    both_engines_start();
    return 0;
}

static int end(void **state)
{
    (void)state;
    both_engines_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_over_is_found),
        cmocka_unit_test(what_cannot_be_opened_is_in_nobodys_way),
    };
    return cmocka_run_group_tests(tests, start, end);
}
