/* SPDX-License-Identifier: MIT */
#include "gate/session_table.h"

#include "base/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define MANY 2000

/* Workers and sessions are nothing but addresses to a table. */
static char places[8];

static struct gate_worker *worker(size_t index)
{
    return (struct gate_worker *)(void *)&places[index];
}

static struct gate_session *session(size_t index)
{
    return (struct gate_session *)(void *)&places[4 + index];
}

static struct cancel_key add_in(struct arena *arena, struct session_table *table, const char *id,
                                size_t key_size)
{
    const struct session_entry entry = {
        .id = slice_of_text(id),
        .credential_id = SLICE("credential"),
        .worker = worker(0),
        .session = session(0),
    };
    session_table_add(table, &entry);
    return session_table_make_key_in(arena, table, entry.id, 0, key_size);
}

static void add(struct session_table *table, const char *id)
{
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    (void)add_in(&arena, table, id, 4);
}

static enum err find_key(struct session_table *table, uint32_t number, struct slice secret)
{
    struct arena arena CLEANUP(arena_release);
    const struct cancel_key key = {.number = number, .secret = secret};
    struct gate_worker *found = NULL;
    struct slice id = SLICE_NONE;
    arena_init(&arena);
    enum err err = session_table_find_key(table, &key, &arena, &id, &found);
    assert_true((err == ERR_NONE) == (found == worker(0) && slice_equals(id, SLICE("one"))));
    return err;
}

static void a_session_is_found_until_it_leaves(void **state)
{
    (void)state;
    struct session_table *table = session_table_new();
    struct gate_worker *found = NULL;
    assert_int_equal(session_table_count(table), 0);
    add(table, "one");
    assert_int_equal(session_table_count(table), 1);
    assert_int_equal(session_table_find(table, SLICE("one"), &found), ERR_NONE);
    assert_ptr_equal(found, worker(0));
    assert_int_equal(session_table_find(table, SLICE("two"), &found), ERR_NOT_FOUND);
    assert_ptr_equal(session_table_look_up(table, SLICE("one"), worker(0)), session(0));
    assert_null(session_table_look_up(table, SLICE("one"), worker(1)));
    assert_null(session_table_look_up(table, SLICE("two"), worker(0)));
    session_table_remove(table, SLICE("one"));
    session_table_remove(table, SLICE("one"));
    assert_int_equal(session_table_find(table, SLICE("one"), &found), ERR_NOT_FOUND);
    assert_null(session_table_look_up(table, SLICE("one"), worker(0)));
    session_table_free(table);
}

static void its_key_opens_it_to_the_bit(void **state)
{
    (void)state;
    struct session_table *table = session_table_new();
    struct arena arena CLEANUP(arena_release);
    arena_init(&arena);
    for (size_t size = 4; size <= SESSION_KEY_SIZE; size += SESSION_KEY_SIZE - 4) {
        struct cancel_key key = add_in(&arena, table, "one", size);
        char *secret = (char *)(uintptr_t)key.secret.at;
        (void)add_in(&arena, table, "other", size);
        assert_int_equal(key.secret.len, size);
        assert_in_range(key.number, 1, INT32_MAX);
        assert_int_equal(find_key(table, key.number, key.secret), ERR_NONE);
        for (size_t bit = 0; bit < size * 8; bit++) {
            secret[bit / 8] = (char)(secret[bit / 8] ^ (1 << bit % 8));
            assert_int_equal(find_key(table, key.number, key.secret), ERR_NOT_FOUND);
            secret[bit / 8] = (char)(secret[bit / 8] ^ (1 << bit % 8));
        }
        assert_int_equal(find_key(table, key.number, slice_sub(key.secret, 0, size - 1)),
                         ERR_NOT_FOUND);
        assert_int_equal(find_key(table, key.number, SLICE_NONE), ERR_NOT_FOUND);
        assert_int_equal(find_key(table, key.number + 1, key.secret), ERR_NOT_FOUND);
        session_table_remove(table, SLICE("one"));
        assert_int_equal(find_key(table, key.number, key.secret), ERR_NOT_FOUND);
        session_table_remove(table, SLICE("other"));
    }
    session_table_free(table);
}

/* Two servers may give the same number. */
static void the_targets_number_stays_and_secrets_tell_them_apart(void **state)
{
    (void)state;
    struct session_table *table = session_table_new();
    struct arena arena CLEANUP(arena_release);
    struct cancel_key keys[2];
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct session_entry entry = {.id = i == 0 ? SLICE("one") : SLICE("two"),
                                            .credential_id = SLICE("credential"),
                                            .worker = worker(i),
                                            .session = session(i)};
        session_table_add(table, &entry);
        keys[i] = session_table_make_key_in(&arena, table, entry.id, 4711, 4);
        assert_int_equal(keys[i].number, 4711);
    }
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct gate_worker *found = NULL;
        struct slice id;
        assert_int_equal(session_table_find_key(table, &keys[i], &arena, &id, &found), ERR_NONE);
        assert_ptr_equal(found, worker(i));
    }
    session_table_remove(table, SLICE("one"));
    session_table_remove(table, SLICE("two"));
    session_table_free(table);
}

static void a_session_may_have_two_keys(void **state)
{
    (void)state;
    struct session_table *table = session_table_new();
    const struct cancel_key ours = {.number = 1, .secret = SLICE("the credential")};
    const struct cancel_key theirs = {.number = 2, .secret = SLICE("the credential")};
    for (size_t i = 0; i < 2; i++) {
        const struct session_entry entry = {.id = i == 0 ? SLICE("one") : SLICE("two"),
                                            .credential_id = SLICE(""),
                                            .worker = worker(0),
                                            .session = session(0)};
        session_table_add(table, &entry);
    }
    assert_true(session_table_take_key(table, SLICE("one"), &ours));
    assert_false(session_table_take_key(table, SLICE("two"), &ours));
    assert_true(session_table_take_key(table, SLICE("one"), &theirs));
    assert_int_equal(find_key(table, 1, ours.secret), ERR_NONE);
    assert_int_equal(find_key(table, 2, ours.secret), ERR_NONE);
    assert_int_equal(find_key(table, 2, SLICE("another")), ERR_NOT_FOUND);
    session_table_remove(table, SLICE("one"));
    assert_int_equal(find_key(table, 1, ours.secret), ERR_NOT_FOUND);
    assert_int_equal(find_key(table, 2, ours.secret), ERR_NOT_FOUND);
    session_table_remove(table, SLICE("two"));
    session_table_free(table);
}

static void all_are_told(void **state)
{
    (void)state;
    struct arena arena;
    char id[32];
    arena_init(&arena);
    struct session_table *table = session_table_new();
    assert_int_equal(session_table_all_in(&arena, table).count, 0);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "session %d", i);
        add(table, id);
        session_table_expire(table, slice_of_text(id), 1000 + i);
    }
    session_table_expire(table, SLICE("nobody"), 1);
    assert_int_equal(session_table_expired_in(&arena, table, 999).count, 0);
    struct session_entries expired = session_table_expired_in(&arena, table, 1001);
    assert_int_equal(expired.count, 2);
    for (size_t i = 0; i < expired.count; i++) {
        assert_true(expired.items[i].expires_at <= 1001);
    }
    struct session_entries all = session_table_all_in(&arena, table);
    assert_int_equal(all.count, MANY);
    for (size_t i = 0; i < all.count; i++) {
        const struct session_entry *entry = &all.items[i];
        (void)snprintf(id, sizeof(id), "session %d", (int)entry->expires_at - 1000);
        assert_true(slice_equals(entry->id, slice_of_text(id)));
        assert_true(slice_equals(entry->credential_id, SLICE("credential")));
        session_table_remove(table, entry->id); /* the list is a copy */
    }
    assert_int_equal(session_table_count(table), 0);
    session_table_free(table);
    arena_release(&arena);
}

static void *come_and_go(void *argument)
{
    struct session_table *table = argument;
    struct arena arena;
    char id[32];
    arena_init(&arena);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "%lu %d", (unsigned long)pthread_self(), i);
        struct cancel_key key = add_in(&arena, table, id, 4);
        struct gate_worker *found = NULL;
        struct slice found_id;
        if (session_table_find_key(table, &key, &arena, &found_id, &found) != ERR_NONE ||
            !slice_equals(found_id, slice_of_text(id))) {
            return NULL;
        }
        (void)session_table_all_in(&arena, table);
        session_table_remove(table, slice_of_text(id));
        arena_reset(&arena);
    }
    arena_release(&arena);
    return argument;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct session_table *table = session_table_new();
    pthread_t threads[4];
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, table), 0);
    }
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, table);
    }
    assert_int_equal(session_table_count(table), 0);
    session_table_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_found_until_it_leaves),
        cmocka_unit_test(its_key_opens_it_to_the_bit),
        cmocka_unit_test(the_targets_number_stays_and_secrets_tell_them_apart),
        cmocka_unit_test(a_session_may_have_two_keys),
        cmocka_unit_test(all_are_told),
        cmocka_unit_test(threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
