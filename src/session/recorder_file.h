/* SPDX-License-Identifier: MIT */
/* The file that a recorder appends to: what was appended is in the system's hands, and survives the
 * process. Whatever becomes of the file meanwhile (a full disk, one that fails, somebody who cuts
 * it) is an errno of a call.
 *
 * A file that is synced after each write is filled with zeros ahead: a sync that does not change
 * the length of a file is a cheaper one. */
#ifndef GH_SESSION_RECORDER_FILE_H
#define GH_SESSION_RECORDER_FILE_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct recorder_file {
    int fd;
    bool is_synced;
    uint64_t size;  /* of what was appended */
    uint64_t taken; /* of the file: the rest is zeros, or part of what could not be written */
    uint64_t checked_size;
};

/* Makes the file; 0 or an errno. */
int recorder_file_open(struct recorder_file *file, const char *path, bool is_synced);

/* All of it or nothing; 0 or an errno. Who is killed meanwhile leaves a file that ends within it,
 * or, of a synced one, a head of zeros: the BLOCK_HEAD_SIZE first bytes, which there are, come
 * last. ESTALE: somebody has cut or removed the file, which is noticed after a while. */
int recorder_file_append(struct recorder_file *file, struct slice bytes);

/* Nothing more is appended; on any thread: what is behind the last byte goes. 0 or an errno, ESTALE
 * as above. */
int recorder_file_finish(const struct recorder_file *file);

#endif
