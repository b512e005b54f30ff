/* SPDX-License-Identifier: MIT */
/* The file that a recorder appends to. Its end is mapped: what is appended is in the system's
 * hands, and survives the process, without a system call. The file is longer than what was written
 * while it is open, zeros behind it, whose place on the disk is taken already: a full disk is told
 * before anything of a block is written, so a block is there whole or not at all. Whoever cuts the
 * file meanwhile kills the process; only its owner can. */
#ifndef GH_SESSION_RECORDER_FILE_H
#define GH_SESSION_RECORDER_FILE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct recorder_file {
    int fd;
    bool is_synced; /* after each write, or nearly */
    char *path;
    uint64_t size;  /* of what was written */
    uint64_t taken; /* of the file: the rest is zeros */
    char *window;   /* from window_at to 'taken'; NULL: none */
    uint64_t window_at;
};

/* An empty one, open as 'fd'. */
void recorder_file_init(struct recorder_file *file, int fd, const char *path, bool is_synced);

/* All of it or nothing; 0 or an errno. A reader sees all of it or a head of zeros: the first eight
 * bytes, one of which is not zero, come last and at once. At least eight bytes. */
int recorder_file_append(struct recorder_file *file, struct slice bytes);

/* Nothing more is appended. */
void recorder_file_release(struct recorder_file *file);
/* Then, on any thread: the zeros go. 0 or an errno. */
int recorder_file_trim(const struct recorder_file *file);

#endif
