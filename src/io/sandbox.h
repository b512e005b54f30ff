/* SPDX-License-Identifier: MIT */
/* Confines the process, for good: no new privileges, no core dumps, no program can be run, no
 * system call but those a gateway needs, no file but those it names (Landlock, where the kernel has
 * it). Put on by the main thread after everything is open and before any other thread starts, so
 * that all inherit it. What must run commands one day is started before. */
#ifndef GH_IO_SANDBOX_H
#define GH_IO_SANDBOX_H

#include "base/error.h"

#include <stdbool.h>

#define SANDBOX_PATHS_MAX 10

struct sandbox_settings {
    const char *writable[SANDBOX_PATHS_MAX]; /* folders; ends with NULL */
    /* Folders that an empty folder may be removed from, and no more: where a writable one lies that
     * goes at the end. */
    const char *emptied[SANDBOX_PATHS_MAX];
    /* Files that others put a new one in the place of (certificates): all of their folder becomes
     * readable, so they should have one of their own. */
    const char *replaced[SANDBOX_PATHS_MAX];
};

struct sandbox_state {
    bool has_filter;
    int landlock_version; /* 0: the kernel has none */
};

enum err sandbox_start(const struct sandbox_settings *settings, struct sandbox_state *ret_state,
                       struct error *reterr) MUST_USE;

#endif
