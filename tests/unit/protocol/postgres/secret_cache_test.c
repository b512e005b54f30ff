/* SPDX-License-Identifier: MIT */
#include "protocol/secret_cache.h"

#include "base/must.h"
#include "io/timer.h"
#include "pg_help.h"
#include "protocol/postgres/pg_secret.h"

#include <poll.h>
#include <semaphore.h>

#define MECHANISMS SLICE("SCRAM-SHA-256\0\0")
#define ITERATIONS 4096
#define IDLE_MS    300

/* What is asked when no thread is free to compute is answered from the cache, or not at all. */
struct scene {
    struct worker *worker;
    struct pool *pool;
    struct secret_cache *cache;
    struct arena arena;
    unsigned count;
    enum err err;
    struct slice message; /* the last answer */
};

struct blocker {
    struct pool_job job;
    sem_t may_end;
};

static void block(struct pool_job *job)
{
    (void)sem_wait(&CONTAINER_OF(job, struct blocker, job)->may_end);
}

static void begin(struct scene *scene, uint64_t idle_ms)
{
    *scene = (struct scene){.worker = worker_new(0, NULL), .pool = pool_new(1, 1)};
    scene->cache = secret_cache_new(worker_loop(scene->worker), idle_ms);
    arena_init(&scene->arena);
}

static void finish(struct scene *scene)
{
    loop_turn(worker_loop(scene->worker));
    pool_free(scene->pool);
    secret_cache_free(scene->cache);
    worker_free(scene->worker);
    arena_release(&scene->arena);
}

static void on_answer(void *owner, struct slice message, const struct error *error)
{
    struct scene *scene = owner;
    scene->count++;
    scene->err = error == NULL ? ERR_NONE : error->code;
    scene->message = arena_copy(&scene->arena, message);
}

static enum err ask(struct scene *scene, struct pg_secret *secret, enum pgwire_auth_kind kind,
                    struct slice data)
{
    struct pg_challenge challenge = {.auth = {kind, data}, .user = SLICE(USER)};
    unsigned count = scene->count;
    pg_secret_ask(secret, &challenge, on_answer, scene);
    assert_int_equal(scene->count, count); /* never inside, also when it is known */
    for (unsigned i = 0; i < 5000 && scene->count == count; i++) {
        loop_turn(worker_loop(scene->worker));
        (void)poll(NULL, 0, scene->count == count);
    }
    assert_int_equal(scene->count, count + 1);
    return scene->err;
}

/* One sign-in, and the server that it is at. */
struct sign_in {
    const char *given;  /* the password */
    const char *stored; /* by the server */
    struct slice salt;
    uint32_t iterations;
    bool lies; /* the server, at last */
};

static struct slice password_text(struct slice message)
{
    return slice_from(message, slice_find(message, SLICE("n,,")));
}

/* How far it gets: ERR_BUSY when it has to be computed and cannot be. */
static enum err sign_in(struct scene *scene, const struct sign_in *how)
{
    struct secret stored CLEANUP(secret_release);
    struct secret given;
    struct scram_verifier verifier;
    struct scram_server *server = NULL;
    struct slice said;
    struct error error;
    secret_init(&stored);
    secret_init(&given);
    must(secret_set(&stored, slice_of_text(how->stored)) == ERR_NONE);
    must(secret_set(&given, slice_of_text(how->given)) == ERR_NONE);
    scram_verifier_derive(&stored, how->salt, how->iterations, &verifier);
    const struct scram_server_options options = {
        .verifiers = &verifier, .count = 1, .mechanism = SLICE(SCRAM_MECHANISM)};
    must(scram_server_new_in(&scene->arena, &options, &server, &error) == ERR_NONE);
    struct pg_secret *secret = pg_secret_new(scene->worker, scene->pool, scene->cache, &given);
    assert_int_equal(ask(scene, secret, PGWIRE_AUTH_SASL, MECHANISMS), ERR_NONE);
    assert_int_equal(
        scram_server_take_in(&scene->arena, server, password_text(scene->message), &said, &error),
        ERR_MORE);
    enum err err = ask(scene, secret, PGWIRE_AUTH_SASL_CONTINUE, said);
    if (err == ERR_NONE) { /* a 'p', its length, and the proof */
        err = scram_server_take_in(&scene->arena, server, slice_from(scene->message, 5), &said,
                                   &error);
    }
    if (err == ERR_NONE && how->lies) {
        said = SLICE("v=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    }
    if (err == ERR_NONE) {
        err = ask(scene, secret, PGWIRE_AUTH_SASL_FINAL, said);
    }
    pg_secret_free(secret);
    return err;
}

/* While the pool's only thread is held and its queue is full. */
static enum err sign_in_without_pool(struct scene *scene, const struct sign_in *how)
{
    struct blocker blockers[2] = {0};
    for (size_t i = 0; i < COUNT_OF(blockers); i++) {
        blockers[i].job.run = block;
        assert_int_equal(sem_init(&blockers[i].may_end, 0, 0), 0);
        assert_int_equal(pool_submit(scene->pool, &blockers[i].job), ERR_NONE);
        while (pool_stats(scene->pool).running_count == 0) {
            (void)poll(NULL, 0, 1);
        }
    }
    enum err err = sign_in(scene, how);
    for (size_t i = 0; i < COUNT_OF(blockers); i++) {
        assert_int_equal(sem_post(&blockers[i].may_end), 0);
    }
    while (pool_stats(scene->pool).running_count > 0 || pool_stats(scene->pool).queued_count > 0) {
        (void)poll(NULL, 0, 1);
    }
    return err;
}

static const struct sign_in usual = {.given = "a password",
                                     .stored = "a password",
                                     .salt = SLICE_INIT("sixteen bytes of"),
                                     .iterations = ITERATIONS};

static void the_second_sign_in_computes_nothing(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 1000000);
    assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_BUSY);
    assert_int_equal(sign_in(&scene, &usual), ERR_NONE);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_NONE);
    }
    finish(&scene);
}

static void what_was_changed_is_not_known(void **state)
{
    (void)state;
    struct sign_in changed[] = {usual, usual, usual, usual};
    struct scene scene;
    begin(&scene, 1000000);
    changed[0].given = changed[0].stored = "another password";
    changed[1].given = "a passwor";
    changed[1].salt = SLICE("dsixteen bytes of"); /* together the same bytes */
    changed[2].salt = SLICE("sixteen bytes o.");
    changed[3].iterations = ITERATIONS + 1;
    assert_int_equal(sign_in(&scene, &usual), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(changed); i++) {
        assert_int_equal(sign_in_without_pool(&scene, &changed[i]), ERR_BUSY);
    }
    assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_NONE);
    finish(&scene);
}

static void a_server_that_lies_is_found_out(void **state)
{
    (void)state;
    struct sign_in lied_to = usual;
    struct scene scene;
    begin(&scene, 1000000);
    lied_to.lies = true;
    assert_int_equal(sign_in(&scene, &lied_to), ERR_UNAUTHENTICATED);
    assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_BUSY); /* nothing of it was kept */
    assert_int_equal(sign_in(&scene, &usual), ERR_NONE);
    assert_int_equal(sign_in_without_pool(&scene, &lied_to), ERR_UNAUTHENTICATED);
    finish(&scene);
}

static void a_wrong_password_is_not_kept(void **state)
{
    (void)state;
    struct sign_in wrong = usual;
    struct scene scene;
    begin(&scene, 1000000);
    wrong.given = "a wrong one";
    assert_int_equal(sign_in(&scene, &usual), ERR_NONE);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(sign_in(&scene, &wrong), ERR_UNAUTHENTICATED);
    }
    assert_int_equal(sign_in_without_pool(&scene, &wrong), ERR_BUSY);
    finish(&scene);
}

static void the_one_that_was_not_used_makes_room(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, 1000000);
    assert_int_equal(sign_in(&scene, &usual), ERR_NONE);
    struct sign_in first = usual;
    first.salt = SLICE("the first of all");
    assert_int_equal(sign_in(&scene, &first), ERR_NONE);
    for (uint32_t i = 0; i < LIMIT_SIGN_IN_KEYS - 1; i++) {
        struct sign_in other = usual;
        other.salt = arena_format(&scene.arena, "%016u", i);
        assert_int_equal(sign_in(&scene, &other), ERR_NONE);
        if (i == LIMIT_SIGN_IN_KEYS / 2) {
            assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_NONE);
        }
    }
    assert_int_equal(sign_in_without_pool(&scene, &first), ERR_BUSY);
    assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_NONE);
    finish(&scene);
}

static void wait_ms(struct scene *scene, uint64_t ms)
{
    uint64_t start = loop_now_ms(worker_loop(scene->worker));
    while (loop_now_ms(worker_loop(scene->worker)) - start < ms) {
        loop_turn(worker_loop(scene->worker));
        (void)poll(NULL, 0, 5);
    }
}

static void what_is_idle_is_forgotten(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, IDLE_MS);
    assert_int_equal(sign_in(&scene, &usual), ERR_NONE);
    wait_ms(&scene, IDLE_MS + 2 * TIMER_TICK_MS + 50);
    assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_BUSY);
    assert_int_equal(sign_in(&scene, &usual), ERR_NONE);
    assert_int_equal(sign_in_without_pool(&scene, &usual), ERR_NONE);
    finish(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_second_sign_in_computes_nothing),
        cmocka_unit_test(what_was_changed_is_not_known),
        cmocka_unit_test(a_server_that_lies_is_found_out),
        cmocka_unit_test(a_wrong_password_is_not_kept),
        cmocka_unit_test(the_one_that_was_not_used_makes_room),
        cmocka_unit_test(what_is_idle_is_forgotten),
    };
    return cmocka_run_group_tests_name("protocol/secret_cache", tests, NULL, NULL);
}
