/* SPDX-License-Identifier: MIT */
#include "gate/read_account.h"

#include "base/memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MINUTE  INT64_C(60000000)
#define TODAY   INT64_C(28000000) /* the minute of the day that the test begins in */
#define THREADS 4

static const struct read_amount all = {.rows = UINT64_MAX, .bytes = UINT64_MAX};
static const struct read_amount nothing;
static const struct read_use anna = {.connection_id = SLICE_INIT("shop"),
                                     .caller_id = SLICE_INIT("anna")};

static struct read_accounts *accounts;
static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    accounts = read_accounts_new(SLICE(""));
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    read_accounts_free(accounts);
    arena_release(&arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static struct read_account *open_at(int64_t now)
{
    const struct read_use_list none = {.count = 0};
    return read_accounts_open(accounts, &anna, &none, TODAY, now);
}

static bool take(struct read_account *account, int64_t now, uint64_t rows, uint64_t most)
{
    const struct read_amount more = {.rows = rows, .bytes = rows * 10};
    const struct read_amount limit = {.rows = most, .bytes = UINT64_MAX};
    struct read_hour hour;
    return read_account_take(account, now, &more, &limit, &hour);
}

static struct read_hour look(struct read_account *account, int64_t now)
{
    struct read_hour hour;
    assert_true(read_account_take(account, now, &nothing, &all, &hour));
    return hour;
}

static void a_limit_is_held_to_the_row(void **state)
{
    (void)state;
    struct read_account *account = open_at(0);
    assert_true(take(account, 0, 7, 10));
    assert_false(take(account, 0, 4, 10));
    assert_int_equal(look(account, 0).read.rows, 7);
    assert_true(take(account, 0, 3, 10));
    assert_false(take(account, 0, 1, 10));
    assert_int_equal(look(account, 0).read.bytes, 100);
    read_account_unref(account);
}

static void what_was_read_counts_for_an_hour_and_a_minute_at_most(void **state)
{
    (void)state;
    int64_t start = 1000 * MINUTE + 59 * MINUTE / 60; /* at the end of a minute */
    struct read_account *account = open_at(start);
    assert_int_equal(look(account, start).falls_in_ms, 0);
    assert_true(take(account, start, 10, 10));
    assert_int_equal(look(account, start).falls_in_ms, 60 * 60000 + 1000 + 1);
    assert_false(take(account, start + 60 * MINUTE, 1, 10));
    assert_true(take(account, start + 61 * MINUTE, 1, 10));
    assert_int_equal(look(account, start + 61 * MINUTE).read.rows, 1);
    assert_int_equal(look(account, start + 61 * MINUTE + 10000 * MINUTE).read.rows, 0);
    read_account_unref(account);
}

static void minutes_leave_one_by_one(void **state)
{
    (void)state;
    struct read_account *account = open_at(0);
    for (int64_t minute = 0; minute < 61; minute++) {
        assert_true(take(account, minute * MINUTE, 1, 1000));
    }
    assert_int_equal(look(account, 60 * MINUTE).read.rows, 61);
    for (int64_t minute = 61; minute < 122; minute++) {
        assert_int_equal(look(account, minute * MINUTE).read.rows, 121 - minute);
    }
    read_account_unref(account);
}

static void an_account_is_one_for_all_who_ask(void **state)
{
    (void)state;
    assert_null(read_accounts_find(accounts, SLICE("shop"), SLICE("anna")));
    struct read_account *first = open_at(0);
    assert_true(take(first, 0, 5, 10));
    struct read_account *second = open_at(0);
    struct read_account *third = read_accounts_find(accounts, SLICE("shop"), SLICE("anna"));
    assert_ptr_equal(first, second);
    assert_ptr_equal(first, third);
    assert_null(read_accounts_find(accounts, SLICE("shop"), SLICE("bert")));
    assert_null(read_accounts_find(accounts, SLICE("sho"), SLICE("panna")));
    read_account_unref(first);
    read_account_unref(second);
    read_account_unref(third);
    /* Reconnecting does not begin anew. */
    struct read_account *again = open_at(MINUTE);
    assert_int_equal(look(again, MINUTE).read.rows, 5);
    read_account_unref(again);
}

static void what_was_written_counts_by_its_age(void **state)
{
    (void)state;
    struct read_use uses[] = {
        {.minute = TODAY + 30, .rows = 1}, /* the clock was set back */
        {.minute = TODAY, .rows = 10},        {.minute = TODAY - 20, .rows = 100},
        {.minute = TODAY - 60, .rows = 1000}, {.minute = TODAY - 61, .rows = 10000},
    };
    const struct read_use_list written = {.uses = uses, .count = 5};
    int64_t now = 3 * MINUTE; /* the machine has just started */
    struct read_account *account = read_accounts_open(accounts, &anna, &written, TODAY, now);
    assert_int_equal(look(account, now).read.rows, 1111);
    assert_int_equal(look(account, now + MINUTE).read.rows, 111);
    assert_int_equal(look(account, now + 41 * MINUTE).read.rows, 11);
    assert_int_equal(look(account, now + 60 * MINUTE).read.rows, 11);
    assert_int_equal(look(account, now + 61 * MINUTE).read.rows, 0);
    /* It is written already. */
    assert_int_equal(read_accounts_collect_in(&arena, accounts, TODAY, now).count, 0);
    read_account_unref(account);
}

static void what_is_new_is_collected_once_or_put_back(void **state)
{
    (void)state;
    struct read_account *account = open_at(0);
    assert_true(take(account, 0, 5, 10));
    struct read_use_list list = read_accounts_collect_in(&arena, accounts, TODAY, 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.uses[0].rows, 5);
    assert_int_equal(list.uses[0].bytes, 50);
    assert_int_equal(list.uses[0].minute, TODAY);
    assert_true(slice_equals(list.uses[0].caller_id, SLICE("anna")));
    assert_int_equal(read_accounts_collect_in(&arena, accounts, TODAY, 0).count, 0);
    read_accounts_put_back(accounts, &list);
    assert_true(take(account, 0, 1, 10));
    list = read_accounts_collect_in(&arena, accounts, TODAY + 1, 0);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.uses[0].rows, 6);
    assert_int_equal(look(account, 0).read.rows, 6);
    read_account_unref(account);
}

static void what_is_empty_and_nobodys_is_forgotten(void **state)
{
    (void)state;
    struct read_account *account = open_at(0);
    assert_true(take(account, 0, 5, 10));
    (void)read_accounts_collect_in(&arena, accounts, TODAY, 61 * MINUTE); /* it was not written */
    assert_int_equal(read_accounts_count(accounts), 1);
    (void)read_accounts_collect_in(&arena, accounts, TODAY, 61 * MINUTE); /* it is in use */
    assert_int_equal(read_accounts_count(accounts), 1);
    read_account_unref(account);
    (void)read_accounts_collect_in(&arena, accounts, TODAY, 61 * MINUTE);
    assert_int_equal(read_accounts_count(accounts), 0);
}

static void *take_many(void *context)
{
    uintptr_t *taken = context;
    struct read_account *account = read_accounts_find(accounts, SLICE("shop"), SLICE("anna"));
    for (int i = 0; i < 20000; i++) {
        *taken += take(account, i, 3, 100000) ? 3 : 0;
    }
    read_account_unref(account);
    return NULL;
}

static void threads_together_get_no_more_than_one(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uintptr_t taken[THREADS] = {0};
    uintptr_t sum = 0;
    struct read_account *account = open_at(0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_many, &taken[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        sum += taken[i];
    }
    assert_int_equal(sum, 99999);
    assert_int_equal(look(account, 20000).read.rows, sum);
    read_account_unref(account);
}

/* What other gateways have read takes of the same limit, and is what the store says last. */
static void what_others_read_counts_beside_what_is_read_here(void **state)
{
    (void)state;
    struct read_use uses[] = {{.minute = TODAY, .rows = 30, .bytes = 300},
                              {.minute = TODAY - 10, .rows = 20, .bytes = 200},
                              {.minute = TODAY - READ_ACCOUNT_MINUTES, .rows = 1000}};
    const struct read_use_list written = {.uses = uses, .count = COUNT_OF(uses)};
    const struct read_use_list none = {.count = 0};
    struct read_account *account = open_at(0);
    read_account_set_others(account, &written, TODAY, 0);
    assert_int_equal(look(account, 0).read.rows, 50);
    assert_true(look(account, 0).falls_in_ms > 0);
    assert_false(take(account, 0, 51, 100));
    assert_true(take(account, 0, 50, 100));
    assert_false(take(account, 0, 1, 100));
    assert_int_equal(read_accounts_used_in(&arena, accounts).count, 1);
    struct read_use_list mine = read_accounts_collect_in(&arena, accounts, TODAY, 0);
    assert_int_equal(mine.count, 1);
    assert_int_equal(mine.uses[0].rows, 50); /* of one's own alone */
    read_account_set_others(account, &none, TODAY, 0);
    assert_int_equal(look(account, 0).read.rows, 50);
    read_account_unref(account);
    assert_int_equal(read_accounts_used_in(&arena, accounts).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_others_read_counts_beside_what_is_read_here),
        TEST(a_limit_is_held_to_the_row),
        TEST(what_was_read_counts_for_an_hour_and_a_minute_at_most),
        TEST(minutes_leave_one_by_one),
        TEST(an_account_is_one_for_all_who_ask),
        TEST(what_was_written_counts_by_its_age),
        TEST(what_is_new_is_collected_once_or_put_back),
        TEST(what_is_empty_and_nobodys_is_forgotten),
        TEST(threads_together_get_no_more_than_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
