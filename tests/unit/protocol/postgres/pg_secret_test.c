/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_secret.h"

#include "base/must.h"
#include "identity/md5_password.h"
#include "pg_help.h"

#include <poll.h>
#include <semaphore.h>

struct asker {
    struct worker *worker;
    struct pool *pool;
    struct pg_secret *secret;
    unsigned count;
    enum err err;
    struct buf message;
    bool frees; /* the secret, in the answer */
};

static void begin(struct asker *asker, const char *text, size_t queue)
{
    struct secret password;
    *asker = (struct asker){.worker = worker_new(0, NULL), .pool = pool_new(1, queue)};
    buf_init(&asker->message, SECRET_SIZE_MAX + 64);
    secret_init(&password);
    assert_int_equal(secret_set(&password, slice_of_text(text)), ERR_NONE);
    asker->secret = pg_secret_new(asker->worker, asker->pool, NULL, &password);
}

static void finish(struct asker *asker)
{
    pg_secret_free(asker->secret);
    pool_free(asker->pool);
    worker_free(asker->worker);
    buf_release(&asker->message);
}

static void on_answer(void *owner, struct slice message, const struct error *error)
{
    struct asker *asker = owner;
    asker->count++;
    asker->err = error == NULL ? ERR_NONE : error->code;
    buf_clear(&asker->message);
    assert_int_equal(buf_append(&asker->message, message), ERR_NONE);
    if (asker->frees) {
        pg_secret_free(asker->secret);
        asker->secret = NULL;
    }
}

static enum err ask(struct asker *asker, enum pgwire_auth_kind kind, struct slice data)
{
    struct pg_challenge challenge = {.auth = {kind, data}, .user = SLICE(USER)};
    unsigned count = asker->count;
    pg_secret_ask(asker->secret, &challenge, on_answer, asker);
    assert_int_equal(asker->count, count); /* never inside */
    for (unsigned i = 0; i < 5000 && asker->count == count; i++) {
        loop_turn(worker_loop(asker->worker));
        (void)poll(NULL, 0, asker->count == count);
    }
    assert_int_equal(asker->count, count + 1);
    return asker->err;
}

#define MECHANISMS SLICE("SCRAM-SHA-256\0\0")

/* The server's first message to what the secret has said. */
static struct slice first_in(struct arena *arena, const struct asker *asker, unsigned iterations)
{
    struct slice message = buf_view(&asker->message);
    struct slice nonce = slice_from(message, slice_find(message, SLICE("r=")));
    return arena_format(arena, "%.*s+,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=%u", SLICE_ARG(nonce),
                        iterations);
}

static void passwords_are_answered_once(void **state)
{
    (void)state;
    static const enum pgwire_auth_kind kinds[] = {PGWIRE_AUTH_CLEARTEXT, PGWIRE_AUTH_MD5};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct asker asker;
        begin(&asker, PASSWORD, 8);
        assert_int_equal(ask(&asker, kinds[i], SLICE("salt")), ERR_NONE);
        assert_int_equal(asker.message.memory[0], 'p');
        assert_int_equal(ask(&asker, PGWIRE_AUTH_CLEARTEXT, SLICE_NONE), ERR_INPUT);
        assert_int_equal(asker.message.len, 0);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_MD5, SLICE("salt")), ERR_INPUT);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL, MECHANISMS), ERR_INPUT);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL_CONTINUE, SLICE("r=x")), ERR_INPUT);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL_FINAL, SLICE("v=x")), ERR_INPUT);
        finish(&asker);
    }
}

static void the_largest_password_is_sent_whole(void **state)
{
    (void)state;
    static char text[LIMIT_PGWIRE_TOKEN_SIZE];
    static const struct {
        size_t len;
        enum err err;
    } cases[] = {{LIMIT_PGWIRE_TOKEN_SIZE - 5, ERR_NONE},
                 {LIMIT_PGWIRE_TOKEN_SIZE - 4, ERR_UNSUPPORTED}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct asker asker;
        memset(text, 'x', cases[i].len);
        text[cases[i].len] = '\0';
        begin(&asker, text, 8);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_CLEARTEXT, SLICE_NONE), cases[i].err);
        assert_int_equal(asker.message.len, cases[i].err == ERR_NONE ? cases[i].len + 6 : 0);
        finish(&asker);
    }
}

static void a_salt_of_another_size_is_refused(void **state)
{
    (void)state;
    struct asker asker;
    begin(&asker, PASSWORD, 8);
    assert_int_equal(ask(&asker, PGWIRE_AUTH_MD5, SLICE("salty")), ERR_INPUT);
    finish(&asker);
}

static void scram_goes_step_by_step(void **state)
{
    (void)state;
    static const enum pgwire_auth_kind wrong[][2] = {
        {PGWIRE_AUTH_SASL, PGWIRE_AUTH_SASL_FINAL},
        {PGWIRE_AUTH_CLEARTEXT, PGWIRE_AUTH_SASL},
        {PGWIRE_AUTH_MD5, PGWIRE_AUTH_SASL_CONTINUE},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct asker asker;
        struct arena arena;
        arena_init(&arena);
        begin(&asker, PASSWORD, 8);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL, MECHANISMS), ERR_NONE);
        struct slice first = first_in(&arena, &asker, 4096);
        assert_int_equal(ask(&asker, wrong[i][0], first), ERR_INPUT);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL_CONTINUE, first), ERR_NONE);
        assert_int_equal(ask(&asker, wrong[i][1], first), ERR_INPUT);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL_FINAL, SLICE("v=x")), ERR_INPUT);
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL_FINAL, SLICE("v=x")), ERR_INPUT);
        finish(&asker);
        arena_release(&arena);
    }
}

static void it_may_be_freed_in_its_answer(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct asker asker;
        struct arena arena;
        arena_init(&arena);
        begin(&asker, PASSWORD, 8);
        asker.frees = i == 0;
        assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL, MECHANISMS), ERR_NONE);
        if (i == 1) {
            asker.frees = true;
            assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL_CONTINUE, first_in(&arena, &asker, 4096)),
                             ERR_NONE);
        }
        assert_null(asker.secret);
        finish(&asker);
        arena_release(&arena);
    }
}

static void it_may_be_freed_while_it_computes(void **state)
{
    (void)state;
    struct asker asker;
    struct arena arena;
    arena_init(&arena);
    begin(&asker, PASSWORD, 8);
    assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL, MECHANISMS), ERR_NONE);
    struct pg_challenge challenge = {
        .auth = {PGWIRE_AUTH_SASL_CONTINUE, first_in(&arena, &asker, 100000)}};
    pg_secret_ask(asker.secret, &challenge, on_answer, &asker);
    finish(&asker);
    assert_int_equal(asker.count, 1);
    arena_release(&arena);
}

struct blocker {
    struct pool_job job;
    sem_t may_end;
};

static void block(struct pool_job *job)
{
    (void)sem_wait(&CONTAINER_OF(job, struct blocker, job)->may_end);
}

static void a_full_pool_is_told(void **state)
{
    (void)state;
    struct asker asker;
    struct arena arena;
    struct blocker blockers[2] = {0};
    arena_init(&arena);
    begin(&asker, PASSWORD, 1);
    assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL, MECHANISMS), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(blockers); i++) { /* one runs, one waits */
        blockers[i].job.run = block;
        assert_int_equal(sem_init(&blockers[i].may_end, 0, 0), 0);
        assert_int_equal(pool_submit(asker.pool, &blockers[i].job), ERR_NONE);
        while (pool_stats(asker.pool).running_count == 0) {
            (void)poll(NULL, 0, 1);
        }
    }
    assert_int_equal(ask(&asker, PGWIRE_AUTH_SASL_CONTINUE, first_in(&arena, &asker, 4096)),
                     ERR_BUSY);
    for (size_t i = 0; i < COUNT_OF(blockers); i++) {
        assert_int_equal(sem_post(&blockers[i].may_end), 0);
    }
    finish(&asker);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_are_answered_once),
        cmocka_unit_test(the_largest_password_is_sent_whole),
        cmocka_unit_test(a_salt_of_another_size_is_refused),
        cmocka_unit_test(scram_goes_step_by_step),
        cmocka_unit_test(it_may_be_freed_in_its_answer),
        cmocka_unit_test(it_may_be_freed_while_it_computes),
        cmocka_unit_test(a_full_pool_is_told),
    };
    return cmocka_run_group_tests_name("protocol/postgres/pg_secret", tests, NULL, NULL);
}
