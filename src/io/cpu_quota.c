/* SPDX-License-Identifier: MIT */
#include "io/cpu_quota.h"

#include "base/slice.h"

#include <stdio.h>
#include <string.h>

#define PATH_SIZE 4096
#define LINE_SIZE 4096

/* The first line, without its end; empty: it cannot be read. */
static struct slice quota_read_line(const char *path, char *line)
{
    line[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(line, LINE_SIZE, file) == NULL) {
            line[0] = '\0';
        }
        (void)fclose(file);
    }
    return slice_sub(slice_of_text(line), 0, strcspn(line, "\n"));
}

/* A quota of any group above counts as well. */
static bool quota_is_in(const char *root, const char *folder, const char *file, struct slice group)
{
    char path[PATH_SIZE];
    char line[LINE_SIZE];
    for (;;) {
        int len = snprintf(path, sizeof(path), "%s/sys/fs/cgroup%s%.*s/%s", root, folder,
                           SLICE_ARG(group), file);
        if (len > 0 && (size_t)len < sizeof(path)) {
            struct slice text = quota_read_line(path, line);
            bool is_free = text.len == 0 || slice_starts_with(text, SLICE("max")) ||
                           slice_starts_with(text, SLICE("-"));
            if (!is_free) {
                return true;
            }
        }
        if (group.len == 0) {
            return false;
        }
        do {
            group.len--;
        } while (group.len > 0 && group.at[group.len] != '/');
    }
}

/* "0::/group" of version 2, "4:cpu,cpuacct:/group" of version 1 (cgroups(7)). */
static bool quota_of_group(const char *root, struct slice line)
{
    struct slice rest;
    struct slice group;
    struct slice number = slice_cut(line, ':', &rest);
    struct slice controllers = slice_cut(rest, ':', &group);
    if (group.at == NULL) {
        return false;
    }
    group = slice_equals(group, SLICE("/")) ? SLICE("") : group;
    if (slice_equals(number, SLICE("0"))) {
        return quota_is_in(root, "", "cpu.max", group);
    }
    bool is_cpu = slice_equals(controllers, SLICE("cpu")) ||
                  slice_starts_with(controllers, SLICE("cpu,")) ||
                  slice_ends_with(controllers, SLICE(",cpu"));
    return is_cpu && (quota_is_in(root, "/cpu", "cpu.cfs_quota_us", group) ||
                      quota_is_in(root, "/cpu,cpuacct", "cpu.cfs_quota_us", group));
}

bool cpu_quota_is_set(const char *root)
{
    char path[PATH_SIZE];
    char line[LINE_SIZE];
    bool is_set = false;
    (void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && !is_set && fgets(line, sizeof(line), file) != NULL) {
        is_set = quota_of_group(root, slice_sub(slice_of_text(line), 0, strcspn(line, "\n")));
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_set;
}
