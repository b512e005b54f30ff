/* SPDX-License-Identifier: MIT */
#include "protocol/ssh/ssh_contents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* FIPS 180-4: of "" and of "abc". */
#define OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OF_ABC     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static void assert_hash(const struct sshd_contents *contents, struct slice expected)
{
    struct arena arena;
    arena_init(&arena);
    assert_true(slice_equals(sshd_contents_hash(contents, &arena), expected));
    arena_release(&arena);
}

static void what_passed_is_hashed_in_whatever_pieces(void **state)
{
    (void)state;
    struct sshd_contents contents = {.bytes = 0};
    sshd_contents_add(&contents, SLICE("a"));
    sshd_contents_add(&contents, SLICE(""));
    sshd_contents_add(&contents, SLICE("bc"));
    assert_int_equal(contents.bytes, 3);
    assert_hash(&contents, SLICE(OF_ABC));
    sshd_contents_release(&contents);
}

static void a_hash_that_was_asked_for_can_go_on(void **state)
{
    (void)state;
    struct sshd_contents contents = {.bytes = 0};
    assert_hash(&contents, SLICE(OF_NOTHING));
    sshd_contents_add(&contents, SLICE("ab"));
    assert_hash(&contents,
                SLICE("fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603"));
    sshd_contents_add(&contents, SLICE("c"));
    assert_hash(&contents, SLICE(OF_ABC));
    sshd_contents_release(&contents);
}

static void what_is_released_can_begin_again(void **state)
{
    (void)state;
    struct sshd_contents contents = {.bytes = 0};
    sshd_contents_add(&contents, SLICE("before"));
    sshd_contents_release(&contents);
    assert_int_equal(contents.bytes, 0);
    sshd_contents_add(&contents, SLICE("abc"));
    assert_hash(&contents, SLICE(OF_ABC));
    sshd_contents_release(&contents);
    sshd_contents_release(&contents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_passed_is_hashed_in_whatever_pieces),
        cmocka_unit_test(a_hash_that_was_asked_for_can_go_on),
        cmocka_unit_test(what_is_released_can_begin_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
