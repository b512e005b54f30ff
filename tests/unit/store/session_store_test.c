/* SPDX-License-Identifier: MIT */
/* Sessions, on both engines. */
#include "store/session_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "pg_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define HOME "01900000-0000-7000-8000-000000000001"

static struct pg_server *shared_server;
static struct arena arena;
static struct store *store;

static void test_on(const char *url, void (*test)(void))
{
    const struct store_settings settings = {
        .url = url, .connection_count_max = 2, .wait_ms_max = 5000};
    must(store_open(&settings, &store, NULL) == ERR_NONE);
    test();
    store_close(store);
}

static void on_both(void (*test)(void))
{
    static const char *const files[] = {"store.db", "store.db-wal", "store.db-shm"};
    char folder[] = "/tmp/gatehouse-sessions-XXXXXX";
    char path[256];
    arena_init(&arena);
    must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "sqlite:%s/store.db", folder);
    test_on(path, test);
    pg_server_make_database(shared_server, path, sizeof(path));
    test_on(path, test);
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    arena_release(&arena);
}

static enum err insert_body(struct store_tx *tx, void *context, struct error *error)
{
    return session_store_insert(tx, context, error);
}

static enum err end_body(struct store_tx *tx, void *context, struct error *error)
{
    return session_store_end(tx, context, error);
}

static void add(const char *id, const char *user_id, int64_t started_at)
{
    struct session session = {
        .id = slice_of_text(id),
        .organization_id = SLICE(HOME),
        .credential_id = SLICE("credential"),
        .connection_id = SLICE("db-id"),
        .connection_name = SLICE("db"),
        .connection_type = SLICE("database"),
        .connection_subtype = SLICE("postgres"),
        .resource_name = SLICE("box"),
        .user_id = slice_of_text(user_id),
        .user_email = SLICE("ann@x"),
        .user_name = SLICE("Ann"),
        .identity_type = SLICE("user"),
        .verb = SLICE("connect"),
        .client_ip = SLICE("192.0.2.1"),
        .application_name = SLICE("psql"),
        .started_at = started_at,
    };
    must(store_write(store, insert_body, &session, NULL) == ERR_NONE);
}

struct look {
    struct session_scope scope;
    struct session_filter filter;
    struct session_list list;
    struct slice id;
    struct session found;
};

static enum err list_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return session_store_list(tx, &arena, &look->scope, &look->filter, &look->list, error);
}

static enum err find_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return session_store_find(tx, &arena, look->id, &look->found, error);
}

static enum err note_closed_body(struct store_tx *tx, void *context, struct error *error)
{
    return session_store_note_closed(tx, context, error);
}

static enum err get_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return session_store_get(tx, &arena, &look->scope, look->id, &look->found, error);
}

/* The ids as one word, and "+" when there are more. */
static void assert_list(const char *user_id, struct session_filter filter, const char *wanted)
{
    char text[64] = "";
    struct look look = {
        .scope = {.organization_id = SLICE(HOME), .user_id = slice_of_text(user_id)},
        .filter = filter,
    };
    assert_int_equal(store_read(store, list_body, &look, NULL), ERR_NONE);
    for (size_t i = 0; i < look.list.count; i++) {
        size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "%.*s", SLICE_ARG(look.list.sessions[i].id));
    }
    size_t len = strlen(text);
    (void)snprintf(text + len, sizeof(text) - len, "%s", look.list.has_more ? "+" : "");
    assert_string_equal(text, wanted);
}

static void begins_and_ends(void)
{
    struct look look = {.scope = {.organization_id = SLICE(HOME)}, .id = SLICE("a")};
    struct session end = {.id = SLICE("a"),
                          .ended_at = 9,
                          .end_reason = SLICE("closed"),
                          .bytes_in = {.value = 7},
                          .bytes_out = {.value = INT64_MAX}};
    add("a", "ann", 5);
    assert_int_equal(store_read(store, get_body, &look, NULL), ERR_NONE);
    assert_true(slice_equals(look.found.status, SLICE("open")));
    assert_true(slice_equals(look.found.application_name, SLICE("psql")));
    assert_int_equal(look.found.ended_at, 0);
    assert_int_equal(store_write(store, end_body, &end, NULL), ERR_NONE);
    assert_int_equal(store_read(store, get_body, &look, NULL), ERR_NONE);
    assert_true(slice_equals(look.found.status, SLICE("done")));
    assert_true(slice_equals(look.found.end_reason, SLICE("closed")));
    assert_int_equal(look.found.ended_at, 9);
    assert_int_equal(look.found.bytes_in.value, 7);
    assert_true(look.found.bytes_out.value == INT64_MAX);
    assert_int_equal(store_write(store, end_body, &end, NULL), ERR_NOT_FOUND); /* once */
    look.scope.user_id = SLICE("bob");
    assert_int_equal(store_read(store, get_body, &look, NULL), ERR_NOT_FOUND);
    look.scope = (struct session_scope){.organization_id = SLICE("another")};
    assert_int_equal(store_read(store, get_body, &look, NULL), ERR_NOT_FOUND);
}

static void recordings_close_late(void)
{
    struct look look = {.id = SLICE("a")};
    struct session end = {.id = SLICE("a"), .ended_at = 9, .end_reason = SLICE("full")};
    const struct session closed = {.id = SLICE("a"),
                                   .recording_head = SLICE("abcd"),
                                   .recording_size = {.value = 77},
                                   .recording_error = SLICE("nobody asks")};
    assert_int_equal(store_read(store, find_body, &look, NULL), ERR_NOT_FOUND);
    add("a", "ann", 5);
    struct session given = closed;
    assert_int_equal(store_write(store, note_closed_body, &given, NULL), ERR_NONE);
    assert_int_equal(store_read(store, find_body, &look, NULL), ERR_NONE);
    assert_true(look.found.ended_at == 0 && look.found.recording_head.len == 0); /* it goes on */
    assert_int_equal(store_write(store, end_body, &end, NULL), ERR_NONE);
    assert_int_equal(store_write(store, note_closed_body, &given, NULL), ERR_NONE);
    assert_int_equal(store_read(store, find_body, &look, NULL), ERR_NONE);
    assert_true(slice_equals(look.found.recording_head, SLICE("abcd")));
    assert_int_equal(look.found.recording_size.value, 77);
    assert_true(look.found.recording_error.len == 0);
    assert_true(slice_equals(look.found.end_reason, SLICE("full")));
}

static void a_recording_that_is_closed_late_is_known(void **state)
{
    (void)state;
    on_both(recordings_close_late);
}

static void one_is_open_until_it_ends(void **state)
{
    (void)state;
    on_both(begins_and_ends);
}

static void lists(void)
{
    add("a", "ann", 5);
    add("b", "bob", 6);
    add("c", "ann", 7);
    add("d", "ann", 7);
    assert_list("", (struct session_filter){.limit = 10}, "dcba");
    assert_list("ann", (struct session_filter){.limit = 10}, "dca");
    assert_list("eve", (struct session_filter){.limit = 10}, "");
    assert_list("", (struct session_filter){.limit = 3}, "dcb+");
    assert_list("", (struct session_filter){.limit = 2, .offset = 2}, "ba");
    assert_list("", (struct session_filter){.limit = 10, .user = SLICE("bob")}, "b");
    assert_list("ann", (struct session_filter){.limit = 10, .user = SLICE("bob")}, "");
    assert_list("", (struct session_filter){.limit = 10, .start_date = 6, .end_date = 6}, "b");
    assert_list("", (struct session_filter){.limit = 10, .connection = SLICE("d%")}, "");
    assert_list("", (struct session_filter){.limit = 10, .type = SLICE("custom")}, "");
}

static void they_come_the_newest_first(void **state)
{
    (void)state;
    on_both(lists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_open_until_it_ends),
        cmocka_unit_test(they_come_the_newest_first),
        cmocka_unit_test(a_recording_that_is_closed_late_is_known),
    };
    shared_server = pg_server_new();
    int result = cmocka_run_group_tests_name("store/session_store", tests, NULL, NULL);
    pg_server_free(shared_server);
    return result;
}
