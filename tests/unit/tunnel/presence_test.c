/* SPDX-License-Identifier: MIT */
/* What the store says of agents while their links come and go. */
#include "tunnel/presence.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "io/clock.h"
#include "store/agent_store.h"
#include "tunnel/registry_internal.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#undef fail /* cmocka's; the store's is meant */

#define ORGANIZATION "01900000-0000-7000-8000-000000000001" /* the first start makes it */
#define AGENT        "01900000-0000-7000-8000-00000000000a"
#define HASH         "0123456789abcdef0123456789abcdef"

static struct store *store;
static struct registry *registry;
static struct presence *presence;
static struct worker *worker;
static struct arena arena;
static char folder[] = "/tmp/gatehouse-presence-XXXXXX";
static char place; /* of a link; nothing here looks into it */
static unsigned cut_count;
static struct registry_entry *entry;

static void on_cut(void *owner)
{
    (void)owner;
    cut_count++;
    registry_remove(registry, entry);
    entry = NULL;
}

static enum err make_body(struct store_tx *tx, void *context, struct error *error)
{
    (void)context;
    const struct agent agent = {.id = SLICE(AGENT),
                                .organization_id = SLICE(ORGANIZATION),
                                .name = SLICE("far"),
                                .mode = SLICE(AGENT_STANDARD),
                                .created_by = SLICE("root"),
                                .created_at = 5};
    return agent_store_insert(tx, &agent, SLICE(HASH), error);
}

static enum err delete_body(struct store_tx *tx, void *context, struct error *error)
{
    (void)context;
    return agent_store_delete(tx, SLICE(AGENT), error);
}

static enum err find_body(struct store_tx *tx, void *context, struct error *error)
{
    return agent_store_find(tx, &arena, SLICE(ORGANIZATION), SLICE(AGENT), context, error);
}

static struct agent look(void)
{
    struct agent agent = {.id = SLICE("")};
    assert_int_equal(store_read(store, find_body, &agent, NULL), ERR_NONE);
    return agent;
}

static int set_up(void **state)
{
    (void)state;
    char url[96];
    must(mkdtemp(folder) != NULL);
    (void)snprintf(url, sizeof(url), "sqlite:%s/store.db", folder);
    const struct store_settings settings = {
        .url = url, .connection_count_max = 2, .wait_ms_max = 5000};
    must(store_open(&settings, &store, NULL) == ERR_NONE);
    must(store_write(store, make_body, NULL, NULL) == ERR_NONE);
    arena_init(&arena);
    registry = registry_new();
    worker = worker_new(0, NULL);
    cut_count = 0;
    const struct presence_settings presence_settings = {.store = store, .registry = registry};
    must(presence_start(&presence_settings, &presence) == ERR_NONE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    char path[96];
    presence_stop(presence);
    registry_free(registry);
    worker_free(worker);
    store_close(store);
    arena_release(&arena);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        (void)snprintf(path, sizeof(path), "%s/store.db%s", folder, suffixes[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    (void)snprintf(folder, sizeof(folder), "/tmp/gatehouse-presence-XXXXXX");
    return 0;
}

static void link_up(const char *hostname)
{
    const struct hello_agent hello = {.machine = {.hostname = slice_of_text(hostname)}};
    entry = registry_add(registry, &(struct registry_link){.agent_id = SLICE(AGENT),
                                                           .worker = worker,
                                                           .link = (struct link *)(void *)&place,
                                                           .hello = &hello,
                                                           .on_cut = on_cut});
}

static void link_down(void)
{
    registry_remove(registry, entry);
    entry = NULL;
}

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        for (unsigned looks = 0; looks < 2000 && !(condition); looks++) {                          \
            loop_turn(worker_loop(worker));                                                        \
            (void)poll(NULL, 0, 5);                                                                \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

static bool is_connected(void)
{
    return slice_equals(look().status, SLICE(AGENT_CONNECTED));
}

static void links_are_written_down_at_once(void **state)
{
    (void)state;
    int64_t start = clock_monotonic();
    assert_false(is_connected());
    link_up("box");
    AWAIT(is_connected());
    assert_true(slice_equals(look().metadata.hostname, SLICE("box")));
    link_down();
    AWAIT(!is_connected());
    assert_true(slice_equals(look().metadata.hostname, SLICE("box"))); /* who it was stays */
    assert_true(clock_monotonic() - start < LIMIT_TUNNEL_REFRESH_MS * 1000 / 2);
}

/* The lease is longer than the pause between two renewals. */
static void what_is_written_is_renewed(void **state)
{
    (void)state;
    link_up("box");
    AWAIT(is_connected());
    int64_t seen_at = look().last_seen_at;
    AWAIT(look().last_seen_at > seen_at);
    int64_t pause_ms = (look().last_seen_at - seen_at) / (TIMESTAMP_SECOND / 1000);
    assert_true(pause_ms >= LIMIT_TUNNEL_REFRESH_MS - 100 && pause_ms < LIMIT_TUNNEL_LEASE_MS);
    assert_true(is_connected());
    link_down();
}

static void the_last_word_is_written_before_it_stops(void **state)
{
    (void)state;
    link_up("box");
    AWAIT(is_connected());
    link_down();
    presence_stop(presence);
    presence = NULL;
    assert_false(is_connected());
}

static void an_agent_that_is_gone_loses_its_links(void **state)
{
    (void)state;
    link_up("box");
    AWAIT(is_connected());
    link_down();
    AWAIT(!is_connected());
    assert_int_equal(store_write(store, delete_body, NULL, NULL), ERR_NONE);
    link_up("box");
    AWAIT(cut_count == 1);
    assert_int_equal(registry_link_count(registry), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links_are_written_down_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_written_is_renewed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_word_is_written_before_it_stops, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_agent_that_is_gone_loses_its_links, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("tunnel/presence", tests, NULL, NULL);
}
