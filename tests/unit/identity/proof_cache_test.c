/* SPDX-License-Identifier: MIT */
/* The clocks are the test's own: the definitions here take the place of io/clock's. */
#include "identity/proof_cache.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "io/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW          (INT64_C(1700000000) * TIMESTAMP_SECOND)
#define MANY         20000
#define FIT_MAX      4096 /* what there is room for */
#define THREAD_COUNT 4
#define SHARED_KEYS  64
#define ROUND_COUNT  20000

DEFINE_FREE_AT(proof_cache_free, struct proof_cache)

static _Atomic int64_t day_time = NOW;
static _Atomic int64_t running_time = 5000;

int64_t clock_now(void)
{
    return atomic_load(&day_time);
}

int64_t clock_monotonic(void)
{
    return atomic_load(&running_time);
}

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    must(sodium_init() >= 0);
    arena_init(&arena);
    day_time = NOW;
    running_time = 5000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct proof_key key_of(const struct proof_cache *cache, const char *text)
{
    const struct identity_credential credential = {.kind = IDENTITY_BEARER,
                                                   .text = slice_of_text(text)};
    return proof_cache_key(cache, &credential);
}

static struct identity_proof proof_of(const char *id)
{
    return (struct identity_proof){.caller = {.id = slice_of_text(id)}};
}

static void put(struct proof_cache *cache, const char *text, int64_t generation,
                const struct identity_proof *proof)
{
    struct proof_key key = key_of(cache, text);
    proof_cache_put(cache, &key, generation, proof);
}

static bool find(struct proof_cache *cache, const char *text, int64_t generation,
                 struct identity_proof *ret_proof)
{
    struct proof_key key = key_of(cache, text);
    return proof_cache_find_in(&arena, cache, &key, generation, ret_proof);
}

static bool has(struct proof_cache *cache, const char *text, int64_t generation)
{
    struct identity_proof proof;
    return find(cache, text, generation, &proof);
}

static void assert_text(struct slice text, const char *wanted)
{
    assert_true(slice_equals(text, slice_of_text(wanted)));
}

/* Finding ------------------------------------------------------------------------------------- */

static void nothing_is_there_at_first(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    (void)state;
    assert_false(has(cache, "token", 0));
    assert_false(has(cache, "", 0));
    proof_cache_free(NULL);
}

static void all_that_was_put_is_found(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct slice groups[] = {SLICE("admin"), SLICE(""), SLICE("dev")};
    struct identity_proof proof;
    (void)state;
    const struct identity_proof known = {
        .caller = {.organization_id = SLICE("organization"),
                   .organization_name = SLICE("its name"),
                   .id = SLICE("id"),
                   .subject = SLICE("subject"),
                   .email = SLICE("a@example.com"),
                   .name = SLICE("A Name"),
                   .groups = groups,
                   .group_count = COUNT_OF(groups),
                   .is_admin = true,
                   .is_key = true,
                   .has_access_rules = true},
        .token_id = SLICE("token id"),
        .expires_at = NOW + 5,
    };
    put(cache, "token", 3, &known);
    assert_true(find(cache, "token", 3, &proof));
    assert_text(proof.caller.organization_id, "organization");
    assert_text(proof.caller.organization_name, "its name");
    assert_text(proof.caller.id, "id");
    assert_text(proof.caller.subject, "subject");
    assert_text(proof.caller.email, "a@example.com");
    assert_text(proof.caller.name, "A Name");
    assert_text(proof.token_id, "token id");
    assert_int_equal(proof.expires_at, NOW + 5);
    assert_int_equal(proof.caller.group_count, 3);
    assert_text(proof.caller.groups[0], "admin");
    assert_text(proof.caller.groups[1], "");
    assert_text(proof.caller.groups[2], "dev");
    assert_true(proof.caller.is_admin && proof.caller.is_key && proof.caller.has_access_rules);
    assert_false(proof.caller.is_auditor || proof.caller.hides_role_info);
}

static void a_caller_may_have_no_groups_and_no_texts(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    const struct identity_proof nothing = {0};
    struct identity_proof proof;
    (void)state;
    put(cache, "token", 1, &nothing);
    assert_true(find(cache, "token", 1, &proof));
    assert_int_equal(proof.caller.group_count, 0);
    assert_int_equal(proof.caller.id.len, 0);
}

static void many_groups_are_kept(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct slice groups[500];
    char names[500][16];
    struct identity_proof proof = {.caller = {.groups = groups, .group_count = 500}};
    (void)state;
    for (int i = 0; i < 500; i++) {
        int len = snprintf(names[i], sizeof(names[i]), "group-%d", i);
        groups[i] = slice_of(names[i], (size_t)len);
    }
    put(cache, "token", 1, &proof);
    assert_true(find(cache, "token", 1, &proof));
    assert_int_equal(proof.caller.group_count, 500);
    for (int i = 0; i < 500; i++) {
        assert_text(proof.caller.groups[i], names[i]);
    }
}

/* What is found outlives the cache, and what was put may end at once. */
static void it_keeps_and_gives_copies(void **state)
{
    struct proof_cache *cache = proof_cache_new();
    char id[] = "first";
    char group[] = "group";
    struct slice groups[] = {slice_of(group, 5)};
    struct identity_proof proof = {
        .caller = {.id = slice_of(id, 5), .groups = groups, .group_count = 1}};
    (void)state;
    put(cache, "token", 1, &proof);
    memset(id, 'x', 5);
    memset(group, 'x', 5);
    groups[0] = SLICE_NONE;
    assert_true(find(cache, "token", 1, &proof));
    put(cache, "token", 1, &(struct identity_proof){0});
    proof_cache_free(cache);
    assert_text(proof.caller.id, "first");
    assert_text(proof.caller.groups[0], "group");
}

static void the_last_one_of_a_credential_counts(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct identity_proof first = proof_of("first");
    struct identity_proof second = proof_of("second");
    struct identity_proof found;
    (void)state;
    put(cache, "token", 1, &first);
    put(cache, "token", 1, &second);
    assert_true(find(cache, "token", 1, &found));
    assert_text(found.caller.id, "second");
    put(cache, "token", 2, &first);
    assert_false(has(cache, "token", 1));
    assert_true(find(cache, "token", 2, &found));
    assert_text(found.caller.id, "first");
}

/* When it is no longer good ------------------------------------------------------------------- */

static void it_is_good_for_one_generation_alone(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct identity_proof proof = proof_of("a");
    (void)state;
    put(cache, "token", 7, &proof);
    assert_true(has(cache, "token", 7));
    assert_false(has(cache, "token", 8));
    assert_false(has(cache, "token", 6));
    assert_false(has(cache, "token", 0));
    assert_true(has(cache, "token", 7));
}

static void it_ends_with_its_credential_to_the_microsecond(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct identity_proof proof = proof_of("a");
    (void)state;
    proof.expires_at = NOW + 10;
    put(cache, "token", 1, &proof);
    day_time = NOW + 9;
    assert_true(has(cache, "token", 1));
    day_time = NOW + 10;
    assert_false(has(cache, "token", 1));
    proof.expires_at = NOW; /* already over */
    put(cache, "other", 1, &proof);
    assert_false(has(cache, "other", 1));
}

static void without_an_expiry_it_has_none(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct identity_proof proof = proof_of("a");
    (void)state;
    put(cache, "token", 1, &proof);
    day_time = NOW + 36500 * TIMESTAMP_DAY;
    assert_true(has(cache, "token", 1));
}

static void it_is_asked_again_when_it_is_no_longer_fresh(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct identity_proof proof = proof_of("a");
    (void)state;
    put(cache, "token", 1, &proof);
    running_time += PROOF_FRESH - 1;
    day_time = NOW - TIMESTAMP_DAY; /* the clock of the day has no part in that */
    assert_true(has(cache, "token", 1));
    running_time += 1;
    assert_false(has(cache, "token", 1));
    put(cache, "token", 1, &proof);
    assert_true(has(cache, "token", 1));
}

/* Whose it is --------------------------------------------------------------------------------- */

static void a_credential_of_one_kind_is_none_of_another(void **state)
{
    static const enum identity_kind kinds[] = {IDENTITY_NOTHING, IDENTITY_API_KEY, IDENTITY_BEARER,
                                               IDENTITY_COOKIE_TOKEN};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct proof_cache *cache CLEANUP(proof_cache_free_at)
        = proof_cache_new();
        const struct identity_credential put_one = {.kind = kinds[i], .text = SLICE("the same")};
        struct identity_proof proof = proof_of("a");
        struct proof_key key = proof_cache_key(cache, &put_one);
        proof_cache_put(cache, &key, 1, &proof);
        for (size_t j = 0; j < COUNT_OF(kinds); j++) {
            const struct identity_credential asked = {.kind = kinds[j], .text = SLICE("the same")};
            key = proof_cache_key(cache, &asked);
            assert_int_equal(proof_cache_find_in(&arena, cache, &key, 1, &proof), i == j);
        }
    }
}

static void a_credential_like_it_is_another(void **state)
{
    static const char *const others[] = {"", "t", "toke", "tokens", "Token", "token ", " token"};
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct identity_proof proof = proof_of("a");
    (void)state;
    put(cache, "token", 1, &proof);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(has(cache, others[i], 1));
    }
}

/* Nobody can say beforehand where a credential of his will lie. */
static void each_cache_has_keys_of_its_own(void **state)
{
    struct proof_cache *one CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct proof_cache *other CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    (void)state;
    struct proof_key key = key_of(one, "token");
    struct proof_key same = key_of(one, "token");
    struct proof_key others = key_of(other, "token");
    assert_memory_equal(key.bytes, same.bytes, PROOF_KEY_SIZE);
    assert_memory_not_equal(key.bytes, others.bytes, PROOF_KEY_SIZE);
}

/* How many ------------------------------------------------------------------------------------ */

static void more_than_fit_take_each_others_place(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    int found_count = 0;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        struct identity_proof proof = proof_of(text);
        put(cache, text, 1, &proof);
        assert_true(has(cache, text, 1)); /* the newest always has a place */
    }
    for (int i = 0; i < MANY; i++) {
        char text[16];
        struct identity_proof proof;
        (void)snprintf(text, sizeof(text), "%d", i);
        if (find(cache, text, 1, &proof)) {
            assert_text(proof.caller.id, text);
            found_count++;
        }
    }
    assert_in_range(found_count, FIT_MAX / 2, FIT_MAX);
}

static void those_of_an_earlier_generation_go_first(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    int found_count = 0;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        struct identity_proof proof = proof_of(text);
        put(cache, text, i < MANY - 500 ? 1 : 2, &proof);
    }
    for (int i = MANY - 500; i < MANY; i++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", i);
        found_count += has(cache, text, 2) ? 1 : 0;
    }
    assert_in_range(found_count, 495, 500); /* five or more of them hardly meet in one place */
}

static void what_is_too_large_is_not_remembered(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    char *text = memory_new(LIMIT_PROOF_SIZE + 1);
    struct identity_proof proof = {.caller = {.name = slice_of(text, LIMIT_PROOF_SIZE)}};
    (void)state;
    put(cache, "largest", 1, &proof);
    assert_true(find(cache, "largest", 1, &proof));
    assert_int_equal(proof.caller.name.len, LIMIT_PROOF_SIZE);
    proof.caller.name = slice_of(text, LIMIT_PROOF_SIZE + 1);
    put(cache, "too large", 1, &proof);
    assert_false(has(cache, "too large", 1));
    memory_free(text);
}

/* Threads ------------------------------------------------------------------------------------- */

struct user {
    pthread_t thread;
    struct proof_cache *cache;
    unsigned seed;
    int found_count;
    int wrong_count;
};

/* All of a proof says of which credential it is. */
static bool is_whole(const struct identity_proof *proof, const char *text)
{
    bool is_it = slice_equals(proof->caller.id, slice_of_text(text)) &&
                 slice_equals(proof->token_id, slice_of_text(text));
    for (size_t i = 0; i < proof->caller.group_count; i++) {
        is_it = is_it && slice_equals(proof->caller.groups[i], slice_of_text(text));
    }
    return is_it;
}

static void use_one(struct user *user, struct arena *own, unsigned random)
{
    char text[16];
    struct slice groups[8];
    struct identity_proof proof = {0};
    (void)snprintf(text, sizeof(text), "%u", random % SHARED_KEYS);
    struct proof_key key = key_of(user->cache, text);
    int64_t generation = random / SHARED_KEYS % 2;
    if (proof_cache_find_in(own, user->cache, &key, generation, &proof)) {
        user->found_count++;
        user->wrong_count += is_whole(&proof, text) ? 0 : 1;
        return;
    }
    proof = proof_of(text);
    proof.token_id = slice_of_text(text);
    proof.caller.groups = groups;
    proof.caller.group_count = random / 1024 % COUNT_OF(groups);
    for (size_t i = 0; i < proof.caller.group_count; i++) {
        groups[i] = slice_of_text(text);
    }
    proof_cache_put(user->cache, &key, generation, &proof);
}

static void *use_often(void *context)
{
    struct user *user = context;
    struct arena own;
    unsigned random = user->seed;
    arena_init(&own);
    for (int i = 0; i < ROUND_COUNT; i++) {
        random = random * 1664525 + 1013904223;
        use_one(user, &own, random >> 8);
        arena_reset(&own);
    }
    arena_release(&own);
    return NULL;
}

static void many_threads_find_whole_proofs(void **state)
{
    struct proof_cache *cache CLEANUP(proof_cache_free_at)
    = proof_cache_new();
    struct user users[THREAD_COUNT];
    (void)state;
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        users[i] = (struct user){.cache = cache, .seed = i};
        must(pthread_create(&users[i].thread, NULL, use_often, &users[i]) == 0);
    }
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        assert_int_equal(pthread_join(users[i].thread, NULL), 0);
        assert_int_equal(users[i].wrong_count, 0);
        assert_true(users[i].found_count > 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_there_at_first),
        TEST(all_that_was_put_is_found),
        TEST(a_caller_may_have_no_groups_and_no_texts),
        TEST(many_groups_are_kept),
        TEST(it_keeps_and_gives_copies),
        TEST(the_last_one_of_a_credential_counts),
        TEST(it_is_good_for_one_generation_alone),
        TEST(it_ends_with_its_credential_to_the_microsecond),
        TEST(without_an_expiry_it_has_none),
        TEST(it_is_asked_again_when_it_is_no_longer_fresh),
        TEST(a_credential_of_one_kind_is_none_of_another),
        TEST(a_credential_like_it_is_another),
        TEST(each_cache_has_keys_of_its_own),
        TEST(more_than_fit_take_each_others_place),
        TEST(those_of_an_earlier_generation_go_first),
        TEST(what_is_too_large_is_not_remembered),
        TEST(many_threads_find_whole_proofs),
    };
    return cmocka_run_group_tests_name("identity/proof_cache", tests, NULL, NULL);
}
