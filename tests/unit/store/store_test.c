/* SPDX-License-Identifier: MIT */
/* Every test runs on both engines: SQLite in a temporary folder, a private PostgreSQL server. */
#include "store/store.h"

#include "base/arena.h"
#include "base/memory.h"
#include "base/must.h"
#include "pg_server.h"
#include "store/organization_store.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

struct fixture {
    struct pg_server *server; /* NULL: SQLite */
    char folder[64];
    char url[256];
    struct store *store;
};

static struct pg_server *shared_server;
static char name_a[] = "a";

static struct store *open_store(const char *url, struct error *error)
{
    struct store_settings settings = {.url = url, .connection_count_max = 8, .wait_ms_max = 5000};
    struct store *store = NULL;
    return store_open(&settings, &store, error) == ERR_NONE ? store : NULL;
}

static void set_up(struct fixture *fixture, bool is_postgres)
{
    *fixture = (struct fixture){.server = is_postgres ? shared_server : NULL};
    if (is_postgres) {
        pg_server_make_database(shared_server, fixture->url, sizeof(fixture->url));
    } else {
        (void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/gatehouse-store-XXXXXX");
        must(mkdtemp(fixture->folder) != NULL);
        (void)snprintf(fixture->url, sizeof(fixture->url), "sqlite:%s/store.db", fixture->folder);
    }
    fixture->store = open_store(fixture->url, NULL);
    must(fixture->store != NULL);
}

static void tear_down(struct fixture *fixture)
{
    store_close(fixture->store);
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; fixture->server == NULL && i < COUNT_OF(suffixes); i++) {
        char path[96];
        (void)snprintf(path, sizeof(path), "%s/store.db%s", fixture->folder, suffixes[i]);
        (void)unlink(path);
    }
    (void)rmdir(fixture->folder);
}

typedef void (*both_fn)(struct fixture *fixture);

static void on_both(both_fn test)
{
    for (int engine = 0; engine < 2; engine++) {
        struct fixture fixture;
        set_up(&fixture, engine == 1);
        test(&fixture);
        tear_down(&fixture);
    }
}

/* Small bodies -------------------------------------------------------------------------------- */

static enum err add_organization(struct store_tx *tx, void *context, struct error *error)
{
    struct organization organization = {
        .id = slice_of_text(context), .name = slice_of_text(context), .created_at = 7};
    return organization_store_create(tx, &organization, error);
}

static enum err add_and_refuse(struct store_tx *tx, void *context, struct error *error)
{
    enum err err = add_organization(tx, context, error);
    return err == ERR_NONE ? fail(error, ERR_DENIED, "on second thoughts") : err;
}

static enum err count_organizations(struct store_tx *tx, void *context, struct error *error)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, "SELECT count(*) FROM organization", NO_PARAMS, &rows, error);
    if (err == ERR_NONE) {
        err = store_rows_next(&rows, error);
    }
    if (err == ERR_NONE) {
        *(int64_t *)context = store_rows_int(&rows, 0);
    }
    return err;
}

static int64_t count(struct fixture *fixture)
{
    int64_t number = -1;
    must(store_read(fixture->store, count_organizations, &number, NULL) == ERR_NONE);
    return number;
}

static enum err make_values(struct store_tx *tx, void *context, struct error *error)
{
    (void)context;
    return store_exec(tx, "CREATE TABLE value_kind (id BIGINT PRIMARY KEY, note TEXT)", NO_PARAMS,
                      NULL, error);
}

/* Tests --------------------------------------------------------------------------------------- */

static void keeps_and_conflicts(struct fixture *fixture)
{
    struct error error = {0};
    assert_int_equal(store_write(fixture->store, add_organization, name_a, &error), ERR_NONE);
    assert_int_equal(store_write(fixture->store, add_organization, name_a, &error), ERR_CONFLICT);
    assert_string_equal(error.message, "organization 'a' already exists");
    assert_int_equal(count(fixture), 2);
}

static void what_is_written_is_there_and_a_second_time_a_conflict(void **state)
{
    (void)state;
    on_both(keeps_and_conflicts);
}

static void rolls_back(struct fixture *fixture)
{
    assert_int_equal(store_write(fixture->store, add_and_refuse, name_a, NULL), ERR_DENIED);
    assert_int_equal(count(fixture), 1);
}

static void a_body_that_fails_leaves_nothing(void **state)
{
    (void)state;
    on_both(rolls_back);
}

struct in_parts {
    char *names[2];
    enum err ends_with;
    int64_t seen; /* in the second part */
};

static enum err add_in_parts(struct store_tx *tx, void *context, struct error *error)
{
    struct in_parts *self = context;
    struct store *part = store_part_new(tx);
    enum err err = store_write(part, add_organization, self->names[0], error);
    if (err == ERR_NONE) {
        err = store_read(part, count_organizations, &self->seen, error);
    }
    if (err == ERR_NONE) {
        err = store_write(part, add_organization, self->names[1], error);
    }
    store_part_free(part);
    return err == ERR_NONE && self->ends_with != ERR_NONE ? fail(error, self->ends_with, "no")
                                                          : err;
}

static void is_whole(struct fixture *fixture)
{
    static char name_b[] = "b";
    struct in_parts twice = {.names = {name_a, name_a}};
    struct in_parts refused = {.names = {name_a, name_b}, .ends_with = ERR_DENIED};
    struct in_parts good = {.names = {name_a, name_b}};
    assert_int_equal(store_write(fixture->store, add_in_parts, &twice, NULL), ERR_CONFLICT);
    assert_int_equal(twice.seen, 2);
    assert_int_equal(count(fixture), 1);
    assert_int_equal(store_write(fixture->store, add_in_parts, &refused, NULL), ERR_DENIED);
    assert_int_equal(count(fixture), 1);
    assert_int_equal(store_write(fixture->store, add_in_parts, &good, NULL), ERR_NONE);
    assert_int_equal(count(fixture), 3);
}

static void the_parts_of_a_body_come_to_be_together(void **state)
{
    (void)state;
    on_both(is_whole);
}

static enum err write_kinds(struct store_tx *tx, void *context, struct error *error)
{
    uint64_t changed = 0;
    (void)context;
    enum err err = store_exec(tx, "INSERT INTO value_kind (id, note) VALUES ($1, $2), ($3, $4)",
                              PARAMS(store_int(INT64_MIN), store_text(SLICE("é\t'\"")),
                                     store_int(INT64_MAX), store_null()),
                              &changed, error);
    assert_int_equal(changed, 2);
    return err;
}

static enum err read_kinds(struct store_tx *tx, void *context, struct error *error)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    (void)context;
    assert_int_equal(
        store_query(tx, "SELECT id, note FROM value_kind ORDER BY id", NO_PARAMS, &rows, error),
        ERR_NONE);
    assert_int_equal(store_rows_next(&rows, error), ERR_NONE);
    assert_true(store_rows_int(&rows, 0) == INT64_MIN);
    assert_true(slice_equals(store_rows_view(&rows, 1), SLICE("é\t'\"")));
    assert_false(store_rows_is_null(&rows, 1));
    assert_int_equal(store_rows_next(&rows, error), ERR_NONE);
    assert_true(store_rows_int(&rows, 0) == INT64_MAX);
    assert_true(store_rows_is_null(&rows, 1));
    assert_int_equal(store_rows_next(&rows, error), ERR_NOT_FOUND);
    return ERR_NONE;
}

static void keeps_kinds(struct fixture *fixture)
{
    assert_int_equal(store_write(fixture->store, make_values, NULL, NULL), ERR_NONE);
    assert_int_equal(store_write(fixture->store, write_kinds, NULL, NULL), ERR_NONE);
    assert_int_equal(store_read(fixture->store, read_kinds, NULL, NULL), ERR_NONE);
}

static void values_of_every_kind_come_back_as_they_were(void **state)
{
    (void)state;
    on_both(keeps_kinds);
}

/* Each of many threads reads a counter and writes it back, one higher. */
static enum err increment(struct store_tx *tx, void *context, struct error *error)
{
    int64_t value = 0;
    (void)context;
    {
        struct store_rows rows CLEANUP(store_rows_end) = {0};
        enum err err = store_query(tx, "SELECT created_at FROM organization WHERE name = $1",
                                   PARAMS(store_text(SLICE("default"))), &rows, error);
        err = err == ERR_NONE ? store_rows_next(&rows, error) : err;
        if (err != ERR_NONE) {
            return err;
        }
        value = store_rows_int(&rows, 0);
    }
    return store_exec(tx, "UPDATE organization SET created_at = $1 WHERE name = $2",
                      PARAMS(store_int(value + 1), store_text(SLICE("default"))), NULL, error);
}

static enum err reset_counter(struct store_tx *tx, void *context, struct error *error)
{
    (void)context;
    return store_exec(tx, "UPDATE organization SET created_at = 0", NO_PARAMS, NULL, error);
}

static enum err read_counter(struct store_tx *tx, void *context, struct error *error)
{
    struct store_rows rows CLEANUP(store_rows_end) = {0};
    enum err err = store_query(tx, "SELECT created_at FROM organization", NO_PARAMS, &rows, error);
    err = err == ERR_NONE ? store_rows_next(&rows, error) : err;
    *(int64_t *)context = err == ERR_NONE ? store_rows_int(&rows, 0) : -1;
    return err;
}

#define THREADS    8
#define INCREMENTS 25

static void *increment_often(void *argument)
{
    struct fixture *fixture = argument;
    for (int i = 0; i < INCREMENTS; i++) {
        struct error error = {0};
        enum err err = store_write(fixture->store, increment, NULL, &error);
        if (err != ERR_NONE) {
            (void)fprintf(stderr, "increment: %s\n", error.message);
        }
        must(err == ERR_NONE);
    }
    return NULL;
}

static void loses_no_update(struct fixture *fixture)
{
    pthread_t threads[THREADS];
    int64_t value = 0;
    assert_int_equal(store_write(fixture->store, reset_counter, NULL, NULL), ERR_NONE);
    for (size_t i = 0; i < THREADS; i++) {
        must(pthread_create(&threads[i], NULL, increment_often, fixture) == 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        must(pthread_join(threads[i], NULL) == 0);
    }
    assert_int_equal(store_read(fixture->store, read_counter, &value, NULL), ERR_NONE);
    assert_int_equal(value, THREADS * INCREMENTS);
    struct store_stats stats = store_stats(fixture->store);
    assert_true(stats.commit_count < stats.write_count); /* they shared commits */
}

static void concurrent_updates_are_all_there(void **state)
{
    (void)state;
    on_both(loses_no_update);
}

struct opener {
    const char *url;
    struct store *store;
};

static void *open_one(void *argument)
{
    struct opener *opener = argument;
    struct error error = {0};
    opener->store = open_store(opener->url, &error);
    if (opener->store == NULL) {
        (void)fprintf(stderr, "open: %s\n", error.message);
    }
    return NULL;
}

static void ten_may_open_a_new_store_at_once(void **state)
{
    (void)state;
    for (int engine = 0; engine < 2; engine++) {
        char folder[] = "/tmp/gatehouse-store-XXXXXX";
        char url[256];
        must(mkdtemp(folder) != NULL);
        (void)snprintf(url, sizeof(url), "sqlite:%s/store.db", folder);
        if (engine == 1) {
            pg_server_make_database(shared_server, url, sizeof(url));
        }
        pthread_t threads[10];
        struct opener openers[10];
        for (size_t i = 0; i < 10; i++) {
            openers[i] = (struct opener){.url = url};
            must(pthread_create(&threads[i], NULL, open_one, &openers[i]) == 0);
        }
        for (size_t i = 0; i < 10; i++) {
            must(pthread_join(threads[i], NULL) == 0);
            assert_non_null(openers[i].store);
            store_close(openers[i].store);
        }
        struct fixture fixture = {.store = open_store(url, NULL)};
        assert_int_equal(count(&fixture), 1);
        store_close(fixture.store);
    }
}

static void a_server_that_stops_is_unavailable_until_it_is_back(void **state)
{
    (void)state;
    struct fixture fixture;
    set_up(&fixture, true);
    pg_server_stop(shared_server);
    struct error error = {0};
    assert_int_equal(store_ping(fixture.store, &error), ERR_UNAVAILABLE);
    assert_int_equal(store_write(fixture.store, add_organization, name_a, &error), ERR_UNAVAILABLE);
    pg_server_start(shared_server);
    enum err err = ERR_UNAVAILABLE;
    for (int i = 0; i < 100 && err != ERR_NONE; i++) {
        (void)usleep(50000);
        err = store_write(fixture.store, add_organization, name_a, &error);
    }
    assert_int_equal(err, ERR_NONE);
    assert_int_equal(count(&fixture), 2);
    tear_down(&fixture);
}

static void a_url_of_no_engine_is_refused(void **state)
{
    (void)state;
    struct error error = {0};
    assert_null(open_store("mysql://user:secret@host/x", &error));
    assert_null(strstr(error.message, "secret"));
    assert_null(open_store("postgres://user:secret@127.0.0.1:1/x", &error));
    assert_int_equal(error.code, ERR_UNAVAILABLE);
    assert_null(strstr(error.message, "secret"));
    assert_null(open_store("sqlite:/nonexistent/folder/store.db", &error));
    assert_non_null(strstr(error.message, "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_there_and_a_second_time_a_conflict),
        cmocka_unit_test(a_body_that_fails_leaves_nothing),
        cmocka_unit_test(the_parts_of_a_body_come_to_be_together),
        cmocka_unit_test(values_of_every_kind_come_back_as_they_were),
        cmocka_unit_test(concurrent_updates_are_all_there),
        cmocka_unit_test(ten_may_open_a_new_store_at_once),
        cmocka_unit_test(a_server_that_stops_is_unavailable_until_it_is_back),
        cmocka_unit_test(a_url_of_no_engine_is_refused),
    };
    shared_server = pg_server_new();
    int result = cmocka_run_group_tests_name("store/store", tests, NULL, NULL);
    pg_server_free(shared_server);
    return result;
}
