/* SPDX-License-Identifier: MIT */
#include "store/sign_in_store.h"

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

#define SECOND       TIMESTAMP_SECOND
#define MINUTE       (60 * SECOND)
#define HOUR         (60 * MINUTE)
#define START        (INT64_C(1700000000) * SECOND)
#define THREAD_COUNT 4
#define GUESS_COUNT  10

static const struct sign_in_rule rule = {.free_count = 5, .wait_max = 5 * MINUTE, .memory = HOUR};

struct step {
    const char *key;
    const struct sign_in_rule *rule;
    int64_t now;
    struct sign_in_attempt attempt;
};

static enum err attempt_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return sign_in_store_attempt(tx, slice_of_text(step->key), step->rule, step->now,
                                 &step->attempt, error);
}

static enum err forget_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return sign_in_store_forget(tx, slice_of_text(step->key), error);
}

static enum err take_back_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return sign_in_store_take_back(tx, slice_of_text(step->key), &step->attempt, error);
}

static enum err forget_old_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return sign_in_store_forget_old(tx, step->now, error);
}

/* 0: it was counted; else how long one has to wait. */
static int64_t attempt_at(struct engine *engine, struct step *step, int64_t now)
{
    struct error error = {0};
    step->now = now;
    enum err err = store_write(engine->store, attempt_body, step, &error);
    assert_true(err == ERR_NONE || err == ERR_BUSY);
    assert_int_equal(err == ERR_BUSY, step->attempt.wait > 0);
    return step->attempt.wait;
}

static void fail_often(struct engine *engine, struct step *step, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(attempt_at(engine, step, START), 0);
    }
}

/* Waiting ------------------------------------------------------------------------------------- */

static void waits_double(struct engine *engine)
{
    static const int64_t waits[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300};
    struct step a = {.key = "a", .rule = &rule};
    int64_t now = START;
    fail_often(engine, &a, 5);
    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        assert_int_equal(attempt_at(engine, &a, now), waits[i] * SECOND);
        assert_int_equal(attempt_at(engine, &a, now + waits[i] * SECOND - 1), 1);
        now += waits[i] * SECOND;
        assert_int_equal(attempt_at(engine, &a, now), 0);
    }
}

static void each_failure_doubles_the_wait_up_to_its_most(void **state)
{
    (void)state;
    on_both_engines(waits_double);
}

static void counts_nothing(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    fail_often(engine, &a, 5);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(attempt_at(engine, &a, START + i), SECOND - i);
    }
    assert_int_equal(engine_number(engine, "SELECT failure_count FROM sign_in_failure"), 5);
    assert_int_equal(attempt_at(engine, &a, START + SECOND), 0);
    assert_int_equal(attempt_at(engine, &a, START + SECOND), 2 * SECOND);
}

static void what_was_refused_does_not_count(void **state)
{
    (void)state;
    on_both_engines(counts_nothing);
}

/* A number of failures that would shift the second out of the number. */
static void stays_at_most(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    static const char *const counts[] = {
        "UPDATE sign_in_failure SET failure_count = 35",
        "UPDATE sign_in_failure SET failure_count = 36",
        "UPDATE sign_in_failure SET failure_count = 69",
        "UPDATE sign_in_failure SET failure_count = 1000000000000",
        "UPDATE sign_in_failure SET failure_count = 9223372036854775000",
    };
    fail_often(engine, &a, 1);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        engine_execute(engine, counts[i]);
        assert_int_equal(attempt_at(engine, &a, START), 5 * MINUTE);
    }
}

static void no_number_of_failures_makes_a_longer_wait(void **state)
{
    (void)state;
    on_both_engines(stays_at_most);
}

static void follows_its_rule(struct engine *engine)
{
    const struct sign_in_rule other = {.free_count = 0, .wait_max = 3 * SECOND, .memory = HOUR};
    struct step a = {.key = "a", .rule = &other};
    assert_int_equal(attempt_at(engine, &a, START), 0);
    assert_int_equal(attempt_at(engine, &a, START), 2 * SECOND);
    assert_int_equal(attempt_at(engine, &a, START + 2 * SECOND), 0);
    assert_int_equal(attempt_at(engine, &a, START + 2 * SECOND), 3 * SECOND);
}

static void another_rule_is_followed_as_well(void **state)
{
    (void)state;
    on_both_engines(follows_its_rule);
}

static void keeps_keys_apart(struct engine *engine)
{
    static const char *const keys[] = {"b", "A", "a ", "", "account a"};
    struct step a = {.key = "a", .rule = &rule};
    fail_often(engine, &a, 5);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct step other = {.key = keys[i], .rule = &rule};
        fail_often(engine, &other, 5);
        assert_int_equal(attempt_at(engine, &other, START), SECOND);
        engine_write(engine, forget_body, &other);
    }
    assert_int_equal(attempt_at(engine, &a, START), SECOND);
}

static void each_key_has_failures_of_its_own(void **state)
{
    (void)state;
    on_both_engines(keeps_keys_apart);
}

/* Memory -------------------------------------------------------------------------------------- */

static void forgets_with_time(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    fail_often(engine, &a, 5);
    int64_t now = START + HOUR; /* still remembered */
    assert_int_equal(attempt_at(engine, &a, now), 0);
    assert_int_equal(attempt_at(engine, &a, now), 2 * SECOND);
    now += HOUR + 1;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(attempt_at(engine, &a, now), 0);
    }
    assert_int_equal(attempt_at(engine, &a, now), SECOND);
}

static void failures_are_forgotten_after_a_time_without_another(void **state)
{
    (void)state;
    on_both_engines(forgets_with_time);
}

static void forgets_at_success(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    fail_often(engine, &a, 5);
    engine_write(engine, forget_body, &a);
    engine_write(engine, forget_body, &a); /* nothing is there */
    fail_often(engine, &a, 5);
    assert_int_equal(attempt_at(engine, &a, START), SECOND);
}

static void a_success_forgets_all(void **state)
{
    (void)state;
    on_both_engines(forgets_at_success);
}

static void is_as_if_it_had_not_been(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    for (int i = 0; i < 20; i++) {
        fail_often(engine, &a, 1);
        engine_write(engine, take_back_body, &a);
    }
    fail_often(engine, &a, 5);
    int64_t now = START + SECOND;
    assert_int_equal(attempt_at(engine, &a, now), 0);
    engine_write(engine, take_back_body, &a);
    assert_int_equal(attempt_at(engine, &a, now), 0); /* it has waited already */
    engine_write(engine, take_back_body, &a);
    assert_int_equal(attempt_at(engine, &a, START), SECOND);
}

static void one_that_is_taken_back_is_as_if_it_had_not_been(void **state)
{
    (void)state;
    on_both_engines(is_as_if_it_had_not_been);
}

static void keeps_the_others(struct engine *engine)
{
    struct step first = {.key = "a", .rule = &rule};
    struct step second = {.key = "a", .rule = &rule};
    fail_often(engine, &first, 4);
    assert_int_equal(attempt_at(engine, &first, START + 1), 0);
    engine_write(engine, take_back_body, &first);
    assert_int_equal(attempt_at(engine, &first, START + 2), 0);
    assert_int_equal(attempt_at(engine, &second, START + 2 + SECOND), 0);
    engine_write(engine, take_back_body, &first); /* the second one stays, and when it was */
    assert_int_equal(attempt_at(engine, &first, START + 2 + SECOND), SECOND);
    engine_write(engine, forget_body, &first);
    engine_write(engine, take_back_body, &second); /* nothing is there */
    fail_often(engine, &first, 5);
    assert_int_equal(attempt_at(engine, &first, START), SECOND);
}

static void one_that_is_taken_back_takes_no_other_with_it(void **state)
{
    (void)state;
    on_both_engines(keeps_the_others);
}

static void goes_no_lower_than_none(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    fail_often(engine, &a, 1);
    for (int i = 0; i < 10; i++) {
        engine_write(engine, take_back_body, &a);
    }
    fail_often(engine, &a, 5);
    assert_int_equal(attempt_at(engine, &a, START), SECOND);
}

static void taking_back_too_often_earns_nothing(void **state)
{
    (void)state;
    on_both_engines(goes_no_lower_than_none);
}

static void forgets_the_old(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    struct step b = {.key = "b", .rule = &rule};
    struct step until = {.now = START + 1};
    fail_often(engine, &a, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(attempt_at(engine, &b, START + 1), 0);
    }
    engine_write(engine, forget_old_body, &until);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM sign_in_failure"), 1);
    assert_int_equal(attempt_at(engine, &b, START + 1), SECOND);
    assert_int_equal(attempt_at(engine, &a, START), 0);
}

static void old_failures_leave_the_store(void **state)
{
    (void)state;
    on_both_engines(forgets_the_old);
}

/* Clocks -------------------------------------------------------------------------------------- */

static void locks_nobody_out(struct engine *engine)
{
    struct step a = {.key = "a", .rule = &rule};
    fail_often(engine, &a, 5);
    int64_t past = START - 24 * HOUR;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(attempt_at(engine, &a, past), 0);
    }
    assert_int_equal(attempt_at(engine, &a, past), SECOND); /* and guards as ever */
}

static void a_clock_that_was_set_back_locks_nobody_out(void **state)
{
    (void)state;
    on_both_engines(locks_nobody_out);
}

/* Two gateways at one store: what the one that is ahead has counted holds at the other one too. */
static void bears_differences(struct engine *engine)
{
    static const int64_t behind[] = {1, 1000, SECOND, 30 * SECOND, 5 * MINUTE};
    for (size_t i = 0; i < COUNT_OF(behind); i++) {
        struct step a = {.key = "a", .rule = &rule};
        fail_often(engine, &a, 5);
        assert_int_equal(attempt_at(engine, &a, START - behind[i]), SECOND + behind[i]);
        assert_int_equal(attempt_at(engine, &a, START), SECOND);
        engine_write(engine, forget_body, &a);
        fail_often(engine, &a, 4); /* those that are free stay free, and count */
        assert_int_equal(attempt_at(engine, &a, START - behind[i]), 0);
        assert_int_equal(attempt_at(engine, &a, START - behind[i]), SECOND);
        engine_write(engine, forget_body, &a);
    }
}

static void a_clock_that_is_behind_forgets_nothing(void **state)
{
    (void)state;
    on_both_engines(bears_differences);
}

/* At once ------------------------------------------------------------------------------------- */

struct guesser {
    pthread_t thread;
    struct engine *engine;
    int counted;
    int refused;
};

static void *guess_often(void *context)
{
    struct guesser *guesser = context;
    for (int i = 0; i < GUESS_COUNT; i++) {
        struct step step = {.key = "a", .rule = &rule, .now = START};
        enum err err = store_write(guesser->engine->store, attempt_body, &step, NULL);
        guesser->counted += err == ERR_NONE ? 1 : 0;
        guesser->refused += err == ERR_BUSY ? 1 : 0;
    }
    return NULL;
}

static void counts_all(struct engine *engine)
{
    struct guesser guessers[THREAD_COUNT];
    int counted = 0;
    int refused = 0;
    for (int i = 0; i < THREAD_COUNT; i++) {
        guessers[i] = (struct guesser){.engine = engine};
        must(pthread_create(&guessers[i].thread, NULL, guess_often, &guessers[i]) == 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        must(pthread_join(guessers[i].thread, NULL) == 0);
        counted += guessers[i].counted;
        refused += guessers[i].refused;
    }
    assert_int_equal(counted, 5);
    assert_int_equal(refused, THREAD_COUNT * GUESS_COUNT - 5);
}

static void many_at_once_get_no_more_than_one_after_the_other(void **state)
{
    (void)state;
    on_both_engines(counts_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_doubles_the_wait_up_to_its_most),
        cmocka_unit_test(what_was_refused_does_not_count),
        cmocka_unit_test(no_number_of_failures_makes_a_longer_wait),
        cmocka_unit_test(another_rule_is_followed_as_well),
        cmocka_unit_test(each_key_has_failures_of_its_own),
        cmocka_unit_test(failures_are_forgotten_after_a_time_without_another),
        cmocka_unit_test(a_success_forgets_all),
        cmocka_unit_test(one_that_is_taken_back_is_as_if_it_had_not_been),
        cmocka_unit_test(one_that_is_taken_back_takes_no_other_with_it),
        cmocka_unit_test(taking_back_too_often_earns_nothing),
        cmocka_unit_test(old_failures_leave_the_store),
        cmocka_unit_test(a_clock_that_was_set_back_locks_nobody_out),
        cmocka_unit_test(a_clock_that_is_behind_forgets_nothing),
        cmocka_unit_test(many_at_once_get_no_more_than_one_after_the_other),
    };
    both_engines_start();
    int result = cmocka_run_group_tests_name("store/sign_in_store", tests, NULL, NULL);
    both_engines_end();
    return result;
}
