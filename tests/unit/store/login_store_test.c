/* SPDX-License-Identifier: MIT */
#include "store/login_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "both_engines.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define DEFAULT_ID   "01900000-0000-7000-8000-000000000001"
#define NOW          INT64_C(1700000000000000)
#define LATER        (NOW + 600 * TIMESTAMP_SECOND)
#define THREAD_COUNT 4

struct step {
    struct arena *arena;
    struct login_attempt attempt;
    int64_t now;
    struct login_attempt found;
};

static enum err insert_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return login_store_insert(tx, &step->attempt, step->now, error);
}

static enum err begin_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return login_store_begin(tx, step->attempt.id, step->attempt.browser_hash, step->now, error);
}

static enum err take_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return login_store_take(tx, step->arena, &step->attempt, step->now, &step->found, error);
}

static enum err run(struct engine *engine, store_body_fn body, struct step *step)
{
    step->arena = &engine->arena;
    return store_write(engine->store, body, step, NULL);
}

/* An empty browser: none yet. */
static struct step of(const char *id, const char *browser)
{
    return (struct step){.now = NOW,
                         .attempt = {.id = slice_of_text(id),
                                     .organization_id = SLICE(DEFAULT_ID),
                                     .redirect = SLICE("https://gate.example/a?b=c"),
                                     .issuer = SLICE("https://id.example"),
                                     .browser_hash = slice_of_text(browser),
                                     .expires_at = LATER}};
}

static enum err insert(struct engine *engine, const char *id, const char *browser)
{
    struct step step = of(id, browser);
    return run(engine, insert_body, &step);
}

static enum err begin(struct engine *engine, const char *id, const char *browser)
{
    struct step step = of(id, browser);
    return run(engine, begin_body, &step);
}

static enum err take(struct engine *engine, const char *id, const char *browser)
{
    struct step step = of(id, browser);
    return run(engine, take_body, &step);
}

/* Once ---------------------------------------------------------------------------------------- */

static void gives_back_what_was_noted(struct engine *engine)
{
    struct step step = of("one", "browser");
    step.attempt.may_found = true;
    assert_int_equal(run(engine, insert_body, &step), ERR_NONE);
    assert_int_equal(insert(engine, "two", "browser"), ERR_NONE);
    assert_int_equal(run(engine, take_body, &step), ERR_NONE);
    assert_true(slice_equals(step.found.id, SLICE("one")));
    assert_true(slice_equals(step.found.organization_id, SLICE(DEFAULT_ID)));
    assert_true(slice_equals(step.found.redirect, SLICE("https://gate.example/a?b=c")));
    assert_true(step.found.may_found);
    assert_int_equal(step.found.expires_at, LATER);
    struct step other = of("two", "browser");
    assert_int_equal(run(engine, take_body, &other), ERR_NONE);
    assert_false(other.found.may_found);
}

static void what_was_noted_comes_back(void **state)
{
    (void)state;
    on_both_engines(gives_back_what_was_noted);
}

static void ends_once(struct engine *engine)
{
    assert_int_equal(insert(engine, "one", "browser"), ERR_NONE);
    assert_int_equal(insert(engine, "one", "another"), ERR_CONFLICT);
    assert_int_equal(take(engine, "one", "browser"), ERR_NONE);
    assert_int_equal(take(engine, "one", "browser"), ERR_NOT_FOUND);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM login_attempt"), 0);
}

static void a_sign_in_ends_once(void **state)
{
    (void)state;
    on_both_engines(ends_once);
}

static void belongs_to_its_browser(struct engine *engine)
{
    assert_int_equal(insert(engine, "one", "browser"), ERR_NONE);
    assert_int_equal(take(engine, "one", "another"), ERR_NOT_FOUND);
    assert_int_equal(take(engine, "one", ""), ERR_NOT_FOUND);
    assert_int_equal(take(engine, "one", "Browser"), ERR_NOT_FOUND);
    assert_int_equal(take(engine, "On", "browser"), ERR_NOT_FOUND);
    assert_int_equal(take(engine, "", "browser"), ERR_NOT_FOUND);
    assert_int_equal(begin(engine, "one", "another"), ERR_NOT_FOUND);
    assert_int_equal(take(engine, "one", "browser"), ERR_NONE); /* what others tried is no harm */
}

static void it_ends_in_the_browser_it_began_in(void **state)
{
    (void)state;
    on_both_engines(belongs_to_its_browser);
}

static void is_begun_by_one(struct engine *engine)
{
    assert_int_equal(begin(engine, "one", "browser"), ERR_NOT_FOUND);
    assert_int_equal(insert(engine, "one", ""), ERR_NONE);
    assert_int_equal(take(engine, "one", ""), ERR_NOT_FOUND); /* nobody has begun it */
    assert_int_equal(take(engine, "one", "browser"), ERR_NOT_FOUND);
    assert_int_equal(begin(engine, "one", "browser"), ERR_NONE);
    assert_int_equal(begin(engine, "one", "browser"), ERR_NOT_FOUND);
    assert_int_equal(begin(engine, "one", "another"), ERR_NOT_FOUND);
    assert_int_equal(take(engine, "one", "another"), ERR_NOT_FOUND);
    assert_int_equal(take(engine, "one", "browser"), ERR_NONE);
    assert_int_equal(begin(engine, "one", "browser"), ERR_NOT_FOUND);
}

static void one_of_a_program_is_begun_by_one_browser(void **state)
{
    (void)state;
    on_both_engines(is_begun_by_one);
}

/* Until when ---------------------------------------------------------------------------------- */

static void expires(struct engine *engine)
{
    static const store_body_fn bodies[] = {begin_body, take_body};
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct step step = of("one", i == 0 ? "" : "browser");
        assert_int_equal(run(engine, insert_body, &step), ERR_NONE);
        step.attempt.browser_hash = SLICE("browser");
        step.now = LATER;
        assert_int_equal(run(engine, bodies[i], &step), ERR_NOT_FOUND);
        step.now = LATER - 1;
        assert_int_equal(run(engine, bodies[i], &step), ERR_NONE);
        engine_execute(engine, "DELETE FROM login_attempt");
    }
}

static void it_is_over_at_its_time(void **state)
{
    (void)state;
    on_both_engines(expires);
}

static void removes_the_expired(struct engine *engine)
{
    assert_int_equal(insert(engine, "one", "browser"), ERR_NONE);
    assert_int_equal(insert(engine, "two", ""), ERR_NONE);
    struct step late = of("three", "browser");
    late.now = LATER - 1;
    late.attempt.expires_at = LATER + 1;
    assert_int_equal(run(engine, insert_body, &late), ERR_NONE);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM login_attempt"), 3);
    struct step later = of("four", "browser");
    later.now = LATER;
    assert_int_equal(run(engine, insert_body, &later), ERR_NONE);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM login_attempt"), 2);
    assert_int_equal(run(engine, take_body, &late), ERR_NONE);
}

static void the_next_one_clears_away_the_expired(void **state)
{
    (void)state;
    on_both_engines(removes_the_expired);
}

/* At once ------------------------------------------------------------------------------------- */

struct racer {
    pthread_t thread;
    struct engine *engine;
    store_body_fn body;
    struct arena arena;
    struct step step;
    enum err err;
};

static void *race(void *context)
{
    struct racer *racer = context;
    racer->err = store_write(racer->engine->store, racer->body, &racer->step, NULL);
    return NULL;
}

static int count_winners(struct engine *engine, store_body_fn body, const struct step *step)
{
    struct racer racers[THREAD_COUNT];
    int winner_count = 0;
    for (int i = 0; i < THREAD_COUNT; i++) {
        racers[i] = (struct racer){.engine = engine, .body = body, .step = *step};
        arena_init(&racers[i].arena);
        racers[i].step.arena = &racers[i].arena;
        must(pthread_create(&racers[i].thread, NULL, race, &racers[i]) == 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        must(pthread_join(racers[i].thread, NULL) == 0);
        winner_count += racers[i].err == ERR_NONE ? 1 : 0;
        assert_true(racers[i].err == ERR_NONE || racers[i].err == ERR_NOT_FOUND);
        arena_release(&racers[i].arena);
    }
    return winner_count;
}

static void lets_one_win(struct engine *engine)
{
    struct step step = of("one", "browser");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(insert(engine, "one", ""), ERR_NONE);
        assert_int_equal(count_winners(engine, begin_body, &step), 1);
        assert_int_equal(count_winners(engine, take_body, &step), 1);
    }
}

static void of_many_at_once_one_begins_it_and_one_ends_it(void **state)
{
    (void)state;
    on_both_engines(lets_one_win);
}

static void needs_an_organization(struct engine *engine)
{
    struct step step = of("one", "browser");
    step.attempt.organization_id = SLICE("nowhere");
    assert_int_equal(run(engine, insert_body, &step), ERR_CONFLICT);
}

static void it_is_of_an_organization_that_there_is(void **state)
{
    (void)state;
    on_both_engines(needs_an_organization);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_noted_comes_back),
        cmocka_unit_test(a_sign_in_ends_once),
        cmocka_unit_test(it_ends_in_the_browser_it_began_in),
        cmocka_unit_test(one_of_a_program_is_begun_by_one_browser),
        cmocka_unit_test(it_is_over_at_its_time),
        cmocka_unit_test(the_next_one_clears_away_the_expired),
        cmocka_unit_test(of_many_at_once_one_begins_it_and_one_ends_it),
        cmocka_unit_test(it_is_of_an_organization_that_there_is),
    };
    both_engines_start();
    int result = cmocka_run_group_tests_name("store/login_store", tests, NULL, NULL);
    both_engines_end();
    return result;
}
