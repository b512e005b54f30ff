/* SPDX-License-Identifier: MIT */
/* Descriptors, of which a process has a limited number. Of those that are free once it runs, a
 * quarter is kept from strangers, who may hold a connection open without a word: for whoever is in,
 * whose session has a target and a recording, for the store, for agents. Of that quarter, half is
 * kept from new sessions: for what those that run may need.
 *
 * The system gives the lowest descriptor that is free, so its number says how many are in use. */
#ifndef GH_IO_DESCRIPTORS_H
#define GH_IO_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

enum descriptor_use {
    DESCRIPTOR_OF_STRANGER,
    DESCRIPTOR_OF_SESSION,
};

/* Once all is open that stays so. Before, and in programs that never say so, none is. */
void descriptors_start(void);

/* Whether this one, which was just given, is of those that are kept. */
bool descriptors_are_scarce(int fd, enum descriptor_use use);
/* Whether the next one would be. */
bool descriptors_would_be_scarce(enum descriptor_use use);

/* How many one of several strangers may hold, so that the others find some. */
size_t descriptors_share(void);

#endif
