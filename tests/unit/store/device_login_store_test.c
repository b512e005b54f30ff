/* SPDX-License-Identifier: MIT */
#include "store/device_login_store.h"

#include "base/limits.h"
#include "base/timestamp.h"
#include "both_engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define NOW   INT64_C(1700000000000000)
#define LATER (NOW + 600 * TIMESTAMP_SECOND)

struct step {
    struct arena *arena;
    struct device_login login;
    int64_t now;
    struct device_login found;
};

static enum err insert_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return device_login_store_insert(tx, &step->login, error);
}

static enum err find_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return device_login_store_find(tx, step->arena, step->login.user_code, step->now, &step->found,
                                   error);
}

static enum err decide_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return device_login_store_decide(tx, &step->login, step->now, error);
}

static enum err get_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return device_login_store_get(tx, step->arena, step->login.id, step->now, &step->found, error);
}

static enum err note_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return device_login_store_note(tx, &step->login, error);
}

static enum err end_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return device_login_store_end(tx, step->login.id, error);
}

static enum err run(struct engine *engine, store_body_fn body, struct step *step)
{
    step->arena = &engine->arena;
    return store_write(engine->store, body, step, NULL);
}

static struct step of(const char *id, const char *code)
{
    return (struct step){.now = NOW,
                         .login = {.id = slice_of_text(id),
                                   .user_code = slice_of_text(code),
                                   .program_name = SLICE("gatehouse on a laptop"),
                                   .asker = SLICE("192.0.2.1"),
                                   .asked_from = SLICE("192.0.2.1"),
                                   .user_id = SLICE(""),
                                   .organization_id = SLICE(""),
                                   .interval_s = 5,
                                   .created_at = NOW,
                                   .expires_at = LATER}};
}

static void comes_back(struct engine *engine)
{
    struct step step = of("one", "BCDF-GHJK");
    assert_int_equal(run(engine, insert_body, &step), ERR_NONE);
    assert_int_equal(run(engine, find_body, &step), ERR_NONE);
    assert_true(slice_equals(step.found.id, SLICE("one")));
    assert_true(slice_equals(step.found.program_name, SLICE("gatehouse on a laptop")));
    assert_true(slice_equals(step.found.asked_from, SLICE("192.0.2.1")));
    assert_int_equal(step.found.status, DEVICE_LOGIN_WAITS);
    assert_int_equal(step.found.asked_at, 0);
    step.login.interval_s = 10;
    step.login.asked_at = NOW + 1;
    assert_int_equal(run(engine, note_body, &step), ERR_NONE);
    assert_int_equal(run(engine, get_body, &step), ERR_NONE);
    assert_int_equal(step.found.interval_s, 10);
    assert_int_equal(step.found.asked_at, NOW + 1);
}

static void what_was_noted_comes_back(void **state)
{
    (void)state;
    on_both_engines(comes_back);
}

static void is_decided_once(struct engine *engine)
{
    struct step step = of("one", "BCDF-GHJK");
    struct step other = of("two", "BCDF-GHJK");
    assert_int_equal(run(engine, insert_body, &step), ERR_NONE);
    assert_int_equal(run(engine, insert_body, &other), ERR_CONFLICT);
    step.login.status = DEVICE_LOGIN_GRANTED;
    step.login.user_id = SLICE("ann");
    step.login.organization_id = SLICE("house");
    assert_int_equal(run(engine, decide_body, &step), ERR_NONE);
    step.login.user_id = SLICE("eve");
    assert_int_equal(run(engine, decide_body, &step), ERR_NOT_FOUND);
    assert_int_equal(run(engine, find_body, &step), ERR_NOT_FOUND);
    assert_int_equal(run(engine, get_body, &step), ERR_NONE);
    assert_int_equal(step.found.status, DEVICE_LOGIN_GRANTED);
    assert_true(slice_equals(step.found.user_id, SLICE("ann")));
    assert_true(slice_equals(step.found.organization_id, SLICE("house")));
    assert_int_equal(run(engine, end_body, &step), ERR_NONE);
    assert_int_equal(run(engine, end_body, &step), ERR_NOT_FOUND);
    assert_int_equal(run(engine, get_body, &step), ERR_NOT_FOUND);
}

static void one_person_decides_and_one_token_comes_of_it(void **state)
{
    (void)state;
    on_both_engines(is_decided_once);
}

static void expires(struct engine *engine)
{
    struct step step = of("one", "BCDF-GHJK");
    assert_int_equal(run(engine, insert_body, &step), ERR_NONE);
    step.now = LATER;
    assert_int_equal(run(engine, find_body, &step), ERR_NOT_FOUND);
    assert_int_equal(run(engine, get_body, &step), ERR_NOT_FOUND);
    assert_int_equal(run(engine, decide_body, &step), ERR_NOT_FOUND);
    step.now = LATER - 1;
    assert_int_equal(run(engine, find_body, &step), ERR_NONE);
    struct step later = of("two", "BCDF-GHJL");
    later.login.created_at = LATER;
    assert_int_equal(run(engine, insert_body, &later), ERR_NONE);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM device_login"), 1);
}

static void it_is_over_at_its_time(void **state)
{
    (void)state;
    on_both_engines(expires);
}

static enum err fill_body(struct store_tx *tx, void *context, struct error *error)
{
    enum err err = ERR_NONE;
    const struct step *first = context;
    for (int i = 0; i < LIMIT_DEVICE_LOGINS && err == ERR_NONE; i++) {
        struct device_login login = first->login;
        login.id = arena_format(first->arena, "id %d", i);
        login.user_code = arena_format(first->arena, "code %d", i);
        login.asker = arena_format(first->arena, "asker %d", i / LIMIT_DEVICE_LOGINS_EACH);
        err = device_login_store_insert(tx, &login, error);
    }
    return err;
}

static void has_an_end(struct engine *engine)
{
    struct step step = of("one", "BCDF-GHJK");
    assert_int_equal(run(engine, fill_body, &step), ERR_NONE);
    assert_int_equal(run(engine, insert_body, &step), ERR_BUSY);
}

static enum err fill_own_body(struct store_tx *tx, void *context, struct error *error)
{
    enum err err = ERR_NONE;
    const struct step *first = context;
    for (int i = 0; i < LIMIT_DEVICE_LOGINS_EACH && err == ERR_NONE; i++) {
        struct device_login login = first->login;
        login.id = arena_format(first->arena, "id %d", i);
        login.user_code = arena_format(first->arena, "code %d", i);
        err = device_login_store_insert(tx, &login, error);
    }
    return err;
}

static void leaves_room_for_others(struct engine *engine)
{
    struct step step = of("one", "BCDF-GHJK");
    assert_int_equal(run(engine, fill_own_body, &step), ERR_NONE);
    assert_int_equal(run(engine, insert_body, &step), ERR_BUSY);
    step.login.asker = SLICE("192.0.2.2");
    assert_int_equal(run(engine, insert_body, &step), ERR_NONE);
}

static void one_asker_takes_a_share(void **state)
{
    (void)state;
    on_both_engines(leaves_room_for_others);
}

static void there_is_an_end_to_those_that_wait(void **state)
{
    (void)state;
    on_both_engines(has_an_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_noted_comes_back),
        cmocka_unit_test(one_person_decides_and_one_token_comes_of_it),
        cmocka_unit_test(it_is_over_at_its_time),
        cmocka_unit_test(one_asker_takes_a_share),
        cmocka_unit_test(there_is_an_end_to_those_that_wait),
    };
    both_engines_start();
    int result = cmocka_run_group_tests_name("store/device_login_store", tests, NULL, NULL);
    both_engines_end();
    return result;
}
