/* SPDX-License-Identifier: MIT */
#include "io/cpu_quota.h"

#include "base/memory.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void put(const char *path, const char *text)
{
    char whole[512];
    (void)snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(whole, 0700);
            *at = '/';
        }
    }
    FILE *file = fopen(whole, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int begin(void **state)
{
    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/gatehouse-quota-XXXXXX");
    assert_non_null(mkdtemp(root));
    return 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

static int finish(void **state)
{
    (void)state;
    assert_int_equal(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static void what_cannot_be_read_sets_none(void **state)
{
    (void)state;
    assert_false(cpu_quota_is_set(root));
    put("/proc/self/cgroup", "0::/work/gate\nnonsense\n3:cpu\n");
    assert_false(cpu_quota_is_set(root));
}

static void version_2_has_it_in_the_group_or_above(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/work/gate\n");
    put("/sys/fs/cgroup/work/gate/cpu.max", "max 100000\n");
    assert_false(cpu_quota_is_set(root));
    put("/sys/fs/cgroup/work/cpu.max", "50000 100000\n");
    assert_true(cpu_quota_is_set(root));
    put("/proc/self/cgroup", "0::/\n");
    assert_false(cpu_quota_is_set(root));
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_true(cpu_quota_is_set(root));
}

static void version_1_has_it_beside_its_controller(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "7:memory:/a\n4:cpu,cpuacct:/a/b\n1:cpuset:/a\n");
    put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    assert_false(cpu_quota_is_set(root));
    put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "20000\n");
    assert_true(cpu_quota_is_set(root));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_cannot_be_read_sets_none),
        TEST(version_2_has_it_in_the_group_or_above),
        TEST(version_1_has_it_beside_its_controller),
    };
    return cmocka_run_group_tests_name("io/cpu_quota", tests, NULL, NULL);
}
