/* SPDX-License-Identifier: MIT */
#include "store/auth_config_store.h"

#include "both_engines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

struct step {
    struct arena *arena;
    struct auth_config config;
};

static enum err get_body(struct store_tx *tx, void *context, struct error *error)
{
    struct step *step = context;
    return auth_config_store_get(tx, step->arena, &step->config, error);
}

static enum err put_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct step *step = context;
    return auth_config_store_put(tx, step->arena, &step->config, error);
}

static enum err put_and_fail_body(struct store_tx *tx, void *context, struct error *error)
{
    enum err err = put_body(tx, context, error);
    return err == ERR_NONE ? fail(error, ERR_INPUT, "no") : err;
}

static const struct auth_config full = {
    .method = SLICE_INIT("oidc"),
    .issuer_url = SLICE_INIT("https://idp.example"),
    .client_id = SLICE_INIT("gatehouse"),
    .client_secret = SLICE_INIT("a very secret word"),
    .scopes = SLICE_INIT("openid email"),
    .audience = SLICE_INIT("an audience"),
    .groups_claim = SLICE_INIT("groups"),
    .provider_name = SLICE_INIT("The Provider"),
    .updated_at = 1700000000000000,
};

static const struct auth_config plain = {
    .method = SLICE_INIT("local"),
    .issuer_url = SLICE_INIT(""),
    .client_id = SLICE_INIT(""),
    .client_secret = SLICE_INIT(""),
    .scopes = SLICE_INIT(""),
    .audience = SLICE_INIT(""),
    .groups_claim = SLICE_INIT(""),
    .provider_name = SLICE_INIT(""),
    .updated_at = 1700000000000001,
};

static void put(struct engine *engine, const struct auth_config *config)
{
    struct step step = {.arena = &engine->arena, .config = *config};
    engine_write(engine, put_body, &step);
}

static enum err get(struct engine *engine, struct auth_config *ret_config)
{
    struct step step = {.arena = &engine->arena};
    enum err err = store_read(engine->store, get_body, &step, NULL);
    *ret_config = step.config;
    return err;
}

static void assert_config(struct engine *engine, const struct auth_config *wanted)
{
    struct auth_config config;
    assert_int_equal(get(engine, &config), ERR_NONE);
    assert_true(slice_equals(config.method, wanted->method));
    assert_true(slice_equals(config.issuer_url, wanted->issuer_url));
    assert_true(slice_equals(config.client_id, wanted->client_id));
    assert_true(slice_equals(config.client_secret, wanted->client_secret));
    assert_true(slice_equals(config.scopes, wanted->scopes));
    assert_true(slice_equals(config.audience, wanted->audience));
    assert_true(slice_equals(config.groups_claim, wanted->groups_claim));
    assert_true(slice_equals(config.provider_name, wanted->provider_name));
    assert_int_equal(config.updated_at, wanted->updated_at);
}

static void keeps_the_last(struct engine *engine)
{
    struct auth_config config;
    assert_int_equal(get(engine, &config), ERR_NOT_FOUND);
    put(engine, &full);
    assert_config(engine, &full);
    put(engine, &plain);
    assert_config(engine, &plain); /* without the secret, too */
    put(engine, &full);
    put(engine, &full);
    assert_config(engine, &full);
    assert_int_equal(engine_number(engine, "SELECT count(*) FROM auth_config"), 1);
}

static void the_last_one_that_was_set_counts(void **state)
{
    (void)state;
    on_both_engines(keeps_the_last);
}

static void seals_the_secret(struct engine *engine)
{
    put(engine, &full);
    struct slice first = engine_bytes(engine, "SELECT client_secret FROM auth_config");
    assert_true(first.len > full.client_secret.len);
    assert_int_equal(slice_find(first, SLICE("secret")), first.len);
    assert_true(seal_is_current(engine->keys, first));
    put(engine, &full);
    struct slice second = engine_bytes(engine, "SELECT client_secret FROM auth_config");
    assert_false(slice_equals(first, second)); /* one cannot see that it is the same */
    put(engine, &plain);
    assert_int_equal(
        engine_number(engine, "SELECT count(*) FROM auth_config WHERE client_secret IS NULL"), 1);
}

static void the_secret_lies_sealed(void **state)
{
    (void)state;
    on_both_engines(seals_the_secret);
}

static enum err swap_body(struct store_tx *tx, void *context, struct error *error)
{
    return store_exec(tx, "UPDATE auth_config SET client_secret = $1",
                      PARAMS(store_blob(*(const struct slice *)context)), NULL, error);
}

/* An envelope of anything else is none of it. */
static void opens_its_own_alone(struct engine *engine)
{
    struct slice others =
        seal_in(&engine->arena, engine->keys, SLICE("another row"), SLICE("a word"));
    struct auth_config config;
    put(engine, &full);
    engine_write(engine, swap_body, &others);
    assert_int_equal(get(engine, &config), ERR_INTERNAL);
}

static void the_secret_opens_in_its_row_alone(void **state)
{
    (void)state;
    on_both_engines(opens_its_own_alone);
}

static int64_t generation(struct engine *engine)
{
    int64_t number = 0;
    assert_int_equal(store_caller_generation(engine->store, &number, NULL), ERR_NONE);
    return number;
}

static void is_noticed(struct engine *engine)
{
    int64_t before = generation(engine);
    struct auth_config config;
    assert_int_equal(get(engine, &config), ERR_NOT_FOUND);
    assert_int_equal(generation(engine), before);
    put(engine, &full);
    int64_t after = generation(engine);
    assert_true(after > before);
    put(engine, &full);
    assert_true(generation(engine) > after);
    struct step step = {.arena = &engine->arena, .config = plain};
    assert_int_equal(store_write(engine->store, put_and_fail_body, &step, NULL), ERR_INPUT);
    assert_config(engine, &full);
}

static void a_change_is_noticed_by_who_remembers_callers(void **state)
{
    (void)state;
    on_both_engines(is_noticed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_one_that_was_set_counts),
        cmocka_unit_test(the_secret_lies_sealed),
        cmocka_unit_test(the_secret_opens_in_its_row_alone),
        cmocka_unit_test(a_change_is_noticed_by_who_remembers_callers),
    };
    both_engines_start();
    int result = cmocka_run_group_tests_name("store/auth_config_store", tests, NULL, NULL);
    both_engines_end();
    return result;
}
