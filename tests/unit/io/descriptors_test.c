/* SPDX-License-Identifier: MIT */
#include "io/descriptors.h"

#include "base/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static void limit_to(rlim_t count)
{
    struct rlimit limit;
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = count;
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static int open_one(void)
{
    int fd = dup(STDIN_FILENO);
    must(fd >= 0);
    return fd;
}

static void a_quarter_of_what_is_free_is_kept(void **state)
{
    (void)state;
    int first = open_one();
    must(close(first) == 0);
    descriptors_start();
    limit_to((rlim_t)first + 80);
    assert_int_equal(descriptors_share(), 20);
    assert_false(descriptors_are_scarce(first + 59, DESCRIPTOR_OF_STRANGER));
    assert_true(descriptors_are_scarce(first + 60, DESCRIPTOR_OF_STRANGER));
    assert_false(descriptors_are_scarce(first + 69, DESCRIPTOR_OF_SESSION));
    assert_true(descriptors_are_scarce(first + 70, DESCRIPTOR_OF_SESSION));
    int last = first;
    for (int i = 0; i < 60; i++) {
        assert_false(descriptors_would_be_scarce(DESCRIPTOR_OF_STRANGER));
        last = open_one();
    }
    assert_true(descriptors_would_be_scarce(DESCRIPTOR_OF_STRANGER));
    assert_false(descriptors_would_be_scarce(DESCRIPTOR_OF_SESSION));
    must(close(first + 3) == 0); /* which is the next one now */
    assert_false(descriptors_would_be_scarce(DESCRIPTOR_OF_STRANGER));
    for (int fd = first; fd <= last; fd++) {
        (void)close(fd);
    }
}

static void a_limit_that_is_lowered_is_minded(void **state)
{
    (void)state;
    int next = open_one();
    limit_to((rlim_t)next + 1);
    assert_int_equal(descriptors_share(), 0);
    assert_true(descriptors_would_be_scarce(DESCRIPTOR_OF_SESSION));
    limit_to((rlim_t)next + 400);
    assert_false(descriptors_would_be_scarce(DESCRIPTOR_OF_STRANGER));
    must(close(next) == 0);
}

int main(void)
{
    for (int fd = STDERR_FILENO + 1; fd < 1024; fd++) {
        (void)close(fd); /* inherited: the numbers shall have no gaps */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quarter_of_what_is_free_is_kept),
        cmocka_unit_test(a_limit_that_is_lowered_is_minded),
    };
    return cmocka_run_group_tests_name("io/descriptors", tests, NULL, NULL);
}
