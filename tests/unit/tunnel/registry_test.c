/* SPDX-License-Identifier: MIT */
/* Who finds which link, and what is told to who writes it down. */
#include "tunnel/registry_internal.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct registry *registry;
static struct worker *workers[2];
static struct arena arena;

/* Links are told apart by their address alone; nothing here looks into them. */
static char places[4];
#define LINK(index) ((struct link *)(void *)&places[index])

static const struct slice old_kinds[] = {SLICE_INIT("/postgres")};
static const struct slice new_kinds[] = {SLICE_INIT("/postgres"), SLICE_INIT("/later")};
static const struct hello_agent old_agent = {.kinds = old_kinds, .kind_count = 1};
static const struct hello_agent new_agent = {
    .kinds = new_kinds, .kind_count = 2, .machine = {.hostname = SLICE_INIT("box")}};

static struct registry_entry *cut_entries[2];
static unsigned cut_count;

static void on_cut(void *owner)
{
    struct registry_entry **entry = owner;
    registry_remove(registry, *entry);
    cut_count++;
}

static struct registry_entry *add(const char *agent, int worker, int link,
                                  const struct hello_agent *hello)
{
    return registry_add(registry, &(struct registry_link){.agent_id = slice_of_text(agent),
                                                          .worker = workers[worker],
                                                          .link = LINK(link),
                                                          .hello = hello,
                                                          .on_cut = on_cut});
}

static int set_up(void **state)
{
    (void)state;
    registry = registry_new();
    workers[0] = worker_new(0, NULL);
    workers[1] = worker_new(1, NULL);
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    worker_free(workers[0]);
    worker_free(workers[1]);
    registry_free(registry);
    arena_release(&arena);
    return 0;
}

static void links_are_found_by_agent_kind_and_worker(void **state)
{
    (void)state;
    struct worker *found = NULL;
    struct slice id = SLICE("a");
    struct slice kind = SLICE("/postgres");
    assert_int_equal(registry_find(registry, id, kind, NULL, &found), ERR_UNAVAILABLE);
    struct registry_entry *first = add("a", 0, 0, &old_agent);
    struct registry_entry *second = add("a", 1, 1, &new_agent);
    struct registry_entry *third = add("a", 1, 2, &old_agent);
    assert_int_equal(registry_link_count(registry), 3);
    assert_int_equal(registry_find(registry, id, kind, workers[0], &found), ERR_NONE);
    assert_ptr_equal(found, workers[0]);
    assert_int_equal(registry_find(registry, id, SLICE("/later"), workers[0], &found), ERR_NONE);
    assert_ptr_equal(found, workers[1]);
    assert_int_equal(registry_find(registry, id, SLICE("/never"), NULL, &found), ERR_UNSUPPORTED);
    assert_int_equal(registry_find(registry, SLICE("b"), kind, NULL, &found), ERR_UNAVAILABLE);
    assert_ptr_equal(registry_link(registry, id, kind, workers[1]), LINK(2)); /* the newest */
    assert_ptr_equal(registry_link(registry, id, SLICE("/later"), workers[1]), LINK(1));
    assert_null(registry_link(registry, id, SLICE("/later"), workers[0]));
    registry_entry_close(registry, third);
    assert_ptr_equal(registry_link(registry, id, kind, workers[1]), LINK(1));
    registry_remove(registry, second);
    assert_null(registry_link(registry, id, kind, workers[1]));
    registry_remove(registry, third);
    registry_entry_close(registry, first);
    assert_int_equal(registry_find(registry, id, kind, NULL, &found), ERR_UNAVAILABLE);
    registry_remove(registry, first);
    assert_int_equal(registry_link_count(registry), 0);
}

static void changes_are_told_once(void **state)
{
    (void)state;
    size_t count = 0;
    assert_true(registry_wait(registry, 1));
    (void)registry_take_changes(registry, &arena, false, &count);
    assert_int_equal(count, 0);
    struct registry_entry *entry = add("a", 0, 0, &new_agent);
    assert_true(registry_wait(registry, 100000));
    struct registry_change *changes = registry_take_changes(registry, &arena, false, &count);
    assert_int_equal(count, 1);
    assert_true(changes[0].is_linked && changes[0].has_machine);
    assert_true(slice_equals(changes[0].machine.hostname, SLICE("box")));
    registry_note_written(registry, SLICE("a"), 77);
    (void)registry_take_changes(registry, &arena, false, &count);
    assert_int_equal(count, 0);
    changes = registry_take_changes(registry, &arena, true, &count);
    assert_int_equal(count, 1);
    assert_true(changes[0].is_linked && !changes[0].has_machine);
    registry_remove(registry, entry);
    changes = registry_take_changes(registry, &arena, false, &count);
    assert_int_equal(count, 1);
    assert_false(changes[0].is_linked);
    assert_int_equal(changes[0].connected_until, 77);
    (void)registry_take_changes(registry, &arena, true, &count);
    assert_int_equal(count, 0);
    registry_stop(registry);
    assert_false(registry_wait(registry, 100000));
}

static void a_cut_goes_to_each_worker_that_has_a_link(void **state)
{
    (void)state;
    cut_count = 0;
    for (int i = 0; i < 2; i++) {
        cut_entries[i] = registry_add(registry, &(struct registry_link){.agent_id = SLICE_INIT("a"),
                                                                        .worker = workers[i],
                                                                        .link = LINK(i),
                                                                        .hello = &old_agent,
                                                                        .on_cut = on_cut,
                                                                        .owner = &cut_entries[i]});
    }
    struct registry_entry *other = add("b", 0, 3, &old_agent);
    registry_cut(registry, SLICE("nobody"));
    registry_cut(registry, SLICE("a"));
    registry_cut(registry, SLICE("a"));
    loop_turn(worker_loop(workers[0]));
    assert_int_equal(cut_count, 1);
    loop_turn(worker_loop(workers[1]));
    assert_int_equal(cut_count, 2);
    assert_int_equal(registry_link_count(registry), 1);
    registry_remove(registry, other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(links_are_found_by_agent_kind_and_worker),
        TEST(changes_are_told_once),
        TEST(a_cut_goes_to_each_worker_that_has_a_link),
    };
    return cmocka_run_group_tests_name("tunnel/registry", tests, NULL, NULL);
}
