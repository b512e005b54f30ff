/* SPDX-License-Identifier: MIT */
/* Agents by their token, on both engines: SQLite in a temporary folder, a private PostgreSQL
 * server. */
#include "store/agent_store.h"

#include "base/memory.h"
#include "base/must.h"
#include "pg_server.h"
#include "store/organization_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define DEFAULT_ID "01900000-0000-7000-8000-000000000001"

static struct pg_server *shared_server;
static struct arena arena;
static struct store *store;

static struct store *open_store(const char *url)
{
    struct store_settings settings = {.url = url, .connection_count_max = 2, .wait_ms_max = 5000};
    struct store *opened = NULL;
    must(store_open(&settings, &opened, NULL) == ERR_NONE);
    return opened;
}

static void on_postgres(void (*test)(void))
{
    char url[256];
    pg_server_make_database(shared_server, url, sizeof(url));
    store = open_store(url);
    test();
    store_close(store);
}

static void on_sqlite(void (*test)(void))
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char folder[] = "/tmp/gatehouse-agents-XXXXXX";
    char path[96];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "sqlite:%s/store.db", folder);
    store = open_store(path);
    test();
    store_close(store);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        (void)snprintf(path, sizeof(path), "%s/store.db%s", folder, suffixes[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void on_both(void (*test)(void))
{
    arena_init(&arena);
    on_sqlite(test);
    on_postgres(test);
    arena_release(&arena);
}

/* Small bodies -------------------------------------------------------------------------------- */

#define HASH_ONE   "0123456789abcdef0123456789abcdef"
#define HASH_OTHER "0123456789abcdef0123456789abcdeg"

static enum err add_organization_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct organization organization = {
        .id = slice_of_text(context), .name = slice_of_text(context), .created_at = 7};
    return organization_store_create(tx, &organization, error);
}

struct adding {
    struct agent agent;
    struct slice hash;
};

static enum err add_body(struct store_tx *tx, void *context, struct error *error)
{
    const struct adding *adding = context;
    return agent_store_insert(tx, &adding->agent, adding->hash, error);
}

static enum err add(const char *id, const char *organization_id, const char *name, const char *hash)
{
    struct adding adding = {
        .agent = {.id = slice_of_text(id),
                  .organization_id = slice_of_text(organization_id),
                  .name = slice_of_text(name),
                  .mode = SLICE(AGENT_STANDARD),
                  .created_by = SLICE("root"),
                  .created_at = 5},
        .hash = slice_of_text(hash),
    };
    return store_write(store, add_body, &adding, NULL);
}

static enum err delete_body(struct store_tx *tx, void *context, struct error *error)
{
    return agent_store_delete(tx, slice_of_text(context), error);
}

struct look {
    struct slice text;
    struct agent agent;
    struct agent_list list;
};

static enum err find_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return agent_store_find_by_token(tx, &arena, look->text, &look->agent, error);
}

static enum err find(struct slice hash, struct agent *ret_agent)
{
    struct look look = {.text = hash};
    enum err err = store_read(store, find_body, &look, NULL);
    *ret_agent = look.agent;
    return err;
}

static enum err list_body(struct store_tx *tx, void *context, struct error *error)
{
    struct look *look = context;
    return agent_store_list(tx, &arena, look->text, &look->list, error);
}

static struct agent_list list_of(const char *organization_id)
{
    struct look look = {.text = slice_of_text(organization_id)};
    assert_int_equal(store_read(store, list_body, &look, NULL), ERR_NONE);
    return look.list;
}

static void assert_text(struct slice text, const char *wanted)
{
    assert_true(slice_equals(text, slice_of_text(wanted)));
}

/* Tests --------------------------------------------------------------------------------------- */

static void finds_by_the_hash(void)
{
    static char other[] = "other";
    struct agent agent;
    assert_int_equal(store_write(store, add_organization_body, other, NULL), ERR_NONE);
    assert_int_equal(add("a", DEFAULT_ID, "far", HASH_ONE), ERR_NONE);
    assert_int_equal(add("b", other, "far", HASH_OTHER), ERR_NONE);
    assert_int_equal(find(SLICE(HASH_ONE), &agent), ERR_NONE);
    assert_text(agent.id, "a");
    assert_text(agent.organization_id, DEFAULT_ID);
    assert_text(agent.name, "far");
    assert_text(agent.mode, AGENT_STANDARD);
    assert_text(agent.status, AGENT_DISCONNECTED);
    assert_text(agent.created_by, "root");
    assert_true(agent.created_at == 5 && agent.last_seen_at == 0 && !agent.is_local);
    assert_int_equal(find(SLICE(HASH_OTHER), &agent), ERR_NONE);
    assert_text(agent.organization_id, other);
}

static void an_agent_is_found_by_its_token_in_any_organization(void **state)
{
    (void)state;
    on_both(finds_by_the_hash);
}

/* The local agents have none at all, which no hash equals. */
static void finds_nobody(void)
{
    static char id[] = "a";
    struct agent agent;
    assert_int_equal(add(id, DEFAULT_ID, "far", HASH_ONE), ERR_NONE);
    const struct slice others[] = {SLICE(""),
                                   SLICE_NONE,
                                   SLICE(HASH_OTHER),
                                   SLICE("far"),
                                   slice_sub(SLICE(HASH_ONE), 0, 31),
                                   SLICE(HASH_ONE "0")};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_int_equal(find(others[i], &agent), ERR_NOT_FOUND);
    }
    assert_int_equal(store_write(store, delete_body, id, NULL), ERR_NONE);
    assert_int_equal(find(SLICE(HASH_ONE), &agent), ERR_NOT_FOUND);
}

static void another_or_a_deleted_agents_token_is_nobodys(void **state)
{
    (void)state;
    on_both(finds_nobody);
}

static void refuses_what_is_taken(void)
{
    static char other[] = "other";
    assert_int_equal(store_write(store, add_organization_body, other, NULL), ERR_NONE);
    assert_int_equal(add("a", DEFAULT_ID, "far", HASH_ONE), ERR_NONE);
    assert_int_equal(add("b", DEFAULT_ID, "far", HASH_OTHER), ERR_CONFLICT);
    assert_int_equal(add("b", DEFAULT_ID, "local", HASH_OTHER), ERR_CONFLICT);
    assert_int_equal(add("b", other, "near", HASH_ONE), ERR_CONFLICT);
    assert_int_equal(add("b", other, "far", HASH_OTHER), ERR_NONE);
    assert_int_equal(list_of(DEFAULT_ID).count, 2);
}

static void a_name_and_a_token_are_taken_once(void **state)
{
    (void)state;
    on_both(refuses_what_is_taken);
}

static void keeps_the_local_one(void)
{
    static char other[] = "other";
    static char first[] = DEFAULT_ID;
    char *const organizations[] = {first, other};
    assert_int_equal(store_write(store, add_organization_body, other, NULL), ERR_NONE);
    for (size_t i = 0; i < COUNT_OF(organizations); i++) {
        assert_int_equal(store_write(store, delete_body, organizations[i], NULL), ERR_NONE);
        struct agent_list list = list_of(organizations[i]);
        assert_int_equal(list.count, 1);
        assert_text(list.agents[0].id, organizations[i]);
        assert_text(list.agents[0].name, "local");
        assert_text(list.agents[0].mode, AGENT_EMBEDDED);
        assert_text(list.agents[0].status, AGENT_CONNECTED);
        assert_true(list.agents[0].is_local);
    }
}

static void every_organization_keeps_its_local_agent(void **state)
{
    (void)state;
    on_both(keeps_the_local_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_found_by_its_token_in_any_organization),
        cmocka_unit_test(another_or_a_deleted_agents_token_is_nobodys),
        cmocka_unit_test(a_name_and_a_token_are_taken_once),
        cmocka_unit_test(every_organization_keeps_its_local_agent),
    };
    shared_server = pg_server_new();
    int result = cmocka_run_group_tests_name("store/agent_store", tests, NULL, NULL);
    pg_server_free(shared_server);
    return result;
}
