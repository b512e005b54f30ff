/* SPDX-License-Identifier: MIT */
#include "store/opening_link.h"

#include "base/memory.h"
#include "base/timestamp.h"
#include "both_engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define END (1000 * TIMESTAMP_SECOND)

struct step {
    struct arena *arena;
    struct opening_link link;
    struct opening_link_use use;
};

static enum err make_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    (void)error;
    step->use.text = opening_link_in(step->arena, tx, &step->link);
    return ERR_NONE;
}

static enum err open_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return opening_link_open(tx, step->arena, &step->use, error);
}

static struct step made(struct engine *engine, const char *delivery_id)
{
    struct step step = {
        .arena = &engine->arena,
        .link = {.organization_id = SLICE("one"),
                 .review_id = SLICE("review"),
                 .delivery_id = slice_of_text(delivery_id),
                 .ends_at = END},
        .use = {.organization_id = SLICE("one"),
                .review_id = SLICE("review"),
                .member_email = SLICE("bob@example.com"),
                .now = END - 1},
    };
    assert_int_equal(store_read(engine->store, make_body, &step, NULL), ERR_NONE);
    return step;
}

static void is_refused(struct engine *engine, struct step step, enum err err, const char *words)
{
    struct error error = {0};
    assert_int_equal(store_write(engine->store, open_body, &step, &error), err);
    assert_non_null(strstr(error.message, words));
}

static void good_once(struct engine *engine)
{
    engine_add_review(engine, "review", 1);
    struct step step = made(engine, "delivery");
    struct step twin = made(engine, "delivery"); /* sent again */
    assert_false(slice_equals(step.use.text, twin.use.text));
    engine_write(engine, open_body, &step);
    is_refused(engine, step, ERR_CONFLICT, "good once, and was opened by bob@example.com at 19");
    is_refused(engine, twin, ERR_CONFLICT, "good once");
    step = made(engine, "another");
    engine_write(engine, open_body, &step);
}

static void other_ends(struct engine *engine)
{
    engine_add_review(engine, "review", 1);
    struct step step = made(engine, "delivery");
    step.use.now = END;
    is_refused(engine, step, ERR_CONFLICT, "which are over");
    step = made(engine, "delivery");
    step.use.review_id = SLICE("another");
    is_refused(engine, step, ERR_INPUT, "for another review");
    step = made(engine, "delivery");
    step.use.organization_id = SLICE("other");
    is_refused(engine, step, ERR_INPUT, "not made here");
    /* None of these has used it up. */
    step = made(engine, "delivery");
    engine_write(engine, open_body, &step);
}

static void tampered(struct engine *engine)
{
    struct step step = made(engine, "delivery");
    struct slice good = step.use.text;
    assert_true(good.len > 60 && good.len < 400);
    for (size_t i = 0; i < good.len; i++) {
        char *text = arena_text(&engine->arena, good);
        text[i] = text[i] == 'A' ? 'B' : 'A';
        step.use.text = slice_of(text, good.len);
        is_refused(engine, step, ERR_INPUT, "not made here");
        step.use.text = slice_sub(good, 0, i);
        is_refused(engine, step, ERR_INPUT, "not made here");
    }
}

static void a_link_is_good_once(void **state)
{
    (void)state;
    on_both_engines(good_once);
}

static void and_for_what_it_was_made(void **state)
{
    (void)state;
    on_both_engines(other_ends);
}

static void whatever_was_changed_is_noticed(void **state)
{
    (void)state;
    on_both_engines(tampered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_is_good_once),
        cmocka_unit_test(and_for_what_it_was_made),
        cmocka_unit_test(whatever_was_changed_is_noticed),
    };
    both_engines_start();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    both_engines_end();
    return failed;
}
