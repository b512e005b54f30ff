/* SPDX-License-Identifier: MIT */
#include "store/second_factor_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "both_engines.h"
#include "store/user_store.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define DEFAULT_ID   "01900000-0000-7000-8000-000000000001"
#define NOW          INT64_C(1700000000000000)
#define THREAD_COUNT 4

/* One call, and what it needs of these. */
struct step {
    struct arena *arena;
    struct slice user_id;
    struct slice secret;
    int64_t counter;
    const struct slice *hashes;
    size_t hash_count;
    struct second_factor factor;
};

static enum err add_user_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    const struct user user = {
        .id = step->user_id,
        .subject = step->user_id,
        .email = arena_format(step->arena, "%.*s@example.com", SLICE_ARG(step->user_id)),
        .status = SLICE("active")};
    const struct user_write write = {
        .organization_id = SLICE(DEFAULT_ID), .user = &user, .now = NOW};
    return user_store_insert(tx, step->arena, &write, error);
}

static enum err delete_user_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return user_store_delete(tx, step->user_id, error);
}

static enum err find_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return second_factor_store_find(tx, step->arena, step->user_id, &step->factor, error);
}

static enum err put_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return second_factor_store_put(tx, step->arena, step->user_id, step->secret, NOW, error);
}

static enum err use_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return second_factor_store_use(tx, step->user_id, step->counter, NOW, error);
}

static enum err delete_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return second_factor_store_delete(tx, step->user_id, error);
}

static enum err set_codes_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return recovery_code_store_set(tx, step->user_id, step->hashes, step->hash_count, error);
}

static enum err use_code_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return recovery_code_store_use(tx, step->user_id, step->hashes[0], error);
}

static enum err run(struct engine *engine, store_body_fn body, struct step *step)
{
    step->arena = &engine->arena;
    return store_write(engine->store, body, step, NULL);
}

static struct step of_user(const char *id)
{
    return (struct step){.user_id = slice_of_text(id), .secret = SLICE("a secret of 20 bytes")};
}

static struct step add_user(struct engine *engine, const char *id)
{
    struct step step = of_user(id);
    assert_int_equal(run(engine, add_user_body, &step), ERR_NONE);
    return step;
}

static enum err use(struct engine *engine, struct step *step, int64_t counter)
{
    step->counter = counter;
    return run(engine, use_body, step);
}

static enum err use_code(struct engine *engine, struct step *step, const char *hash)
{
    struct slice wanted = slice_of_text(hash);
    step->hashes = &wanted;
    return run(engine, use_code_body, step);
}

static void set_codes(struct engine *engine, struct step *step, const struct slice *hashes,
                      size_t count)
{
    step->hashes = hashes;
    step->hash_count = count;
    assert_int_equal(run(engine, set_codes_body, step), ERR_NONE);
}

static int64_t code_count(struct engine *engine, struct step *step)
{
    assert_int_equal(run(engine, find_body, step), ERR_NONE);
    return step->factor.recovery_code_count;
}

/* Enrolment ----------------------------------------------------------------------------------- */

static void waits_to_be_confirmed(struct engine *engine)
{
    struct step a = add_user(engine, "a");
    assert_int_equal(run(engine, find_body, &a), ERR_NOT_FOUND);
    assert_int_equal(run(engine, delete_body, &a), ERR_NOT_FOUND);
    assert_int_equal(use(engine, &a, 7), ERR_CONFLICT);
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    assert_int_equal(run(engine, find_body, &a), ERR_NONE);
    assert_true(slice_equals(a.factor.secret, SLICE("a secret of 20 bytes")));
    assert_int_equal(a.factor.last_counter, -1);
    assert_false(a.factor.is_confirmed);
    assert_int_equal(a.factor.recovery_code_count, 0);
    assert_int_equal(use(engine, &a, 7), ERR_NONE);
    assert_int_equal(run(engine, find_body, &a), ERR_NONE);
    assert_true(a.factor.is_confirmed);
    assert_int_equal(a.factor.last_counter, 7);
}

static void a_new_one_waits_for_its_first_code(void **state)
{
    (void)state;
    on_both_engines(waits_to_be_confirmed);
}

static void takes_the_place(struct engine *engine)
{
    struct step a = add_user(engine, "a");
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    a.secret = SLICE("another one");
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    assert_int_equal(run(engine, find_body, &a), ERR_NONE);
    assert_true(slice_equals(a.factor.secret, SLICE("another one")));
    assert_int_equal(use(engine, &a, 7), ERR_NONE);
    a.secret = SLICE("of a thief");
    assert_int_equal(run(engine, put_body, &a), ERR_CONFLICT);
    assert_int_equal(run(engine, find_body, &a), ERR_NONE);
    assert_true(slice_equals(a.factor.secret, SLICE("another one")));
    assert_true(a.factor.is_confirmed);
    assert_int_equal(a.factor.last_counter, 7);
}

static void one_takes_the_place_of_one_that_waits_but_of_no_other(void **state)
{
    (void)state;
    on_both_engines(takes_the_place);
}

static void goes_with_its_codes(struct engine *engine)
{
    static const struct slice hashes[] = {SLICE_INIT("one"), SLICE_INIT("two")};
    struct step a = add_user(engine, "a");
    struct step b = add_user(engine, "b");
    struct step *both[] = {&a, &b};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run(engine, put_body, both[i]), ERR_NONE);
        set_codes(engine, both[i], hashes, 2);
    }
    assert_int_equal(run(engine, delete_body, &a), ERR_NONE);
    assert_int_equal(run(engine, find_body, &a), ERR_NOT_FOUND);
    assert_int_equal(use_code(engine, &a, "one"), ERR_NOT_FOUND);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM recovery_code"), 2);
    assert_int_equal(code_count(engine, &b), 2);
    /* A new one begins with nothing of the old. */
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    assert_int_equal(code_count(engine, &a), 0);
    assert_int_equal(a.factor.last_counter, -1);
    assert_false(a.factor.is_confirmed);
}

static void it_goes_with_its_recovery_codes(void **state)
{
    (void)state;
    on_both_engines(goes_with_its_codes);
}

static void goes_with_its_person(struct engine *engine)
{
    static const struct slice hash = SLICE_INIT("one");
    struct step a = add_user(engine, "a");
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    set_codes(engine, &a, &hash, 1);
    assert_int_equal(run(engine, delete_user_body, &a), ERR_NONE);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM second_factor"), 0);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM recovery_code"), 0);
    assert_int_equal(run(engine, put_body, &a), ERR_CONFLICT); /* nobody's */
}

static void it_goes_with_its_person(void **state)
{
    (void)state;
    on_both_engines(goes_with_its_person);
}

/* Codes --------------------------------------------------------------------------------------- */

static void counts_forward(struct engine *engine)
{
    static const struct {
        int64_t counter;
        enum err wanted;
    } uses[] = {{100, ERR_NONE},     {100, ERR_CONFLICT}, {99, ERR_CONFLICT}, {0, ERR_CONFLICT},
                {101, ERR_NONE},     {100, ERR_CONFLICT}, {500, ERR_NONE},    {101, ERR_CONFLICT},
                {499, ERR_CONFLICT}, {501, ERR_NONE}};
    struct step a = add_user(engine, "a");
    struct step b = add_user(engine, "b");
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    assert_int_equal(run(engine, put_body, &b), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(uses); i++) {
        assert_int_equal(use(engine, &a, uses[i].counter), uses[i].wanted);
    }
    assert_int_equal(use(engine, &b, 100), ERR_NONE); /* another's counter is another */
}

static void a_code_is_good_once_and_none_before_it_after(void **state)
{
    (void)state;
    on_both_engines(counts_forward);
}

struct racer {
    pthread_t thread;
    struct engine *engine;
    store_body_fn body;
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
        must(pthread_create(&racers[i].thread, NULL, race, &racers[i]) == 0);
    }
    for (int i = 0; i < THREAD_COUNT; i++) {
        must(pthread_join(racers[i].thread, NULL) == 0);
        winner_count += racers[i].err == ERR_NONE ? 1 : 0;
    }
    return winner_count;
}

static void lets_one_win(struct engine *engine)
{
    static const struct slice hash = SLICE_INIT("one");
    struct step a = add_user(engine, "a");
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    for (int64_t counter = 10; counter < 15; counter++) {
        a.counter = counter;
        assert_int_equal(count_winners(engine, use_body, &a), 1);
        set_codes(engine, &a, &hash, 1);
        assert_int_equal(count_winners(engine, use_code_body, &a), 1);
    }
}

static void of_many_with_the_same_code_one_gets_in(void **state)
{
    (void)state;
    on_both_engines(lets_one_win);
}

static void uses_recovery_codes_up(struct engine *engine)
{
    static const struct slice first[] = {SLICE_INIT("one"), SLICE_INIT("two"), SLICE_INIT("three")};
    static const struct slice second[] = {SLICE_INIT("four"), SLICE_INIT("five")};
    struct step a = add_user(engine, "a");
    struct step b = add_user(engine, "b");
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    assert_int_equal(run(engine, put_body, &b), ERR_NONE);
    set_codes(engine, &a, first, 3);
    set_codes(engine, &b, first, 3);
    assert_int_equal(code_count(engine, &a), 3);
    assert_int_equal(use_code(engine, &a, "two"), ERR_NONE);
    assert_int_equal(use_code(engine, &a, "two"), ERR_NOT_FOUND);
    assert_int_equal(use_code(engine, &a, ""), ERR_NOT_FOUND);
    assert_int_equal(use_code(engine, &a, "on"), ERR_NOT_FOUND);
    assert_int_equal(use_code(engine, &a, "ONE"), ERR_NOT_FOUND);
    assert_int_equal(code_count(engine, &a), 2);
    assert_int_equal(use_code(engine, &b, "two"), ERR_NONE); /* of the other, still there */
    set_codes(engine, &a, second, 2);
    assert_int_equal(code_count(engine, &a), 2);
    assert_int_equal(use_code(engine, &a, "one"), ERR_NOT_FOUND);
    assert_int_equal(use_code(engine, &a, "five"), ERR_NONE);
    assert_int_equal(use_code(engine, &b, "five"), ERR_NOT_FOUND);
    assert_int_equal(code_count(engine, &b), 2);
    set_codes(engine, &a, NULL, 0);
    assert_int_equal(code_count(engine, &a), 0);
}

static void a_recovery_code_is_good_once_and_until_there_are_new_ones(void **state)
{
    (void)state;
    on_both_engines(uses_recovery_codes_up);
}

/* The secret ---------------------------------------------------------------------------------- */

static void seals_the_secret(struct engine *engine)
{
    struct step a = add_user(engine, "a");
    struct step b = add_user(engine, "b");
    assert_int_equal(run(engine, put_body, &a), ERR_NONE);
    b.secret = SLICE("theirs");
    assert_int_equal(run(engine, put_body, &b), ERR_NONE);
    struct slice sealed =
        engine_bytes(engine, "SELECT secret FROM second_factor WHERE user_id = 'a'");
    assert_true(sealed.len > a.secret.len);
    assert_true(slice_find(sealed, SLICE("secret")) == sealed.len);
    assert_true(seal_is_current(engine->keys, sealed));
    /* Whoever can write to the database cannot give himself the secret of another row. */
    engine_execute(engine, "UPDATE second_factor SET secret = (SELECT secret FROM second_factor "
                           "WHERE user_id = 'b') WHERE user_id = 'a'");
    assert_int_equal(run(engine, find_body, &a), ERR_INTERNAL);
    assert_int_equal(run(engine, find_body, &b), ERR_NONE);
    assert_true(slice_equals(b.factor.secret, SLICE("theirs")));
}

static void the_secret_lies_sealed_and_opens_in_its_row_alone(void **state)
{
    (void)state;
    on_both_engines(seals_the_secret);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_one_waits_for_its_first_code),
        cmocka_unit_test(one_takes_the_place_of_one_that_waits_but_of_no_other),
        cmocka_unit_test(it_goes_with_its_recovery_codes),
        cmocka_unit_test(it_goes_with_its_person),
        cmocka_unit_test(a_code_is_good_once_and_none_before_it_after),
        cmocka_unit_test(of_many_with_the_same_code_one_gets_in),
        cmocka_unit_test(a_recovery_code_is_good_once_and_until_there_are_new_ones),
        cmocka_unit_test(the_secret_lies_sealed_and_opens_in_its_row_alone),
    };
    both_engines_start();
    int result = cmocka_run_group_tests_name("store/second_factor_store", tests, NULL, NULL);
    both_engines_end();
    return result;
}
