/* SPDX-License-Identifier: MIT */
#include "io/descriptors.h"

#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTOR_PARTS 4 /* of which one is kept */

static _Atomic int descriptors_lasting;

/* The lowest that is free; -1: there is none. */
static int descriptors_next(void)
{
    int fd = eventfd(0, EFD_CLOEXEC);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd;
}

void descriptors_start(void)
{
    int fd = descriptors_next();
    atomic_store(&descriptors_lasting, fd < 0 ? 0 : fd);
}

/* The limit may be changed from outside while the process runs. */
static size_t descriptors_limit(void)
{
    struct rlimit limit = {0};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? (size_t)limit.rlim_cur : 0;
}

static size_t descriptors_part(size_t limit)
{
    size_t lasting = (size_t)atomic_load(&descriptors_lasting);
    return limit > lasting ? (limit - lasting) / DESCRIPTOR_PARTS : 0;
}

bool descriptors_are_scarce(int fd, enum descriptor_use use)
{
    size_t limit = descriptors_limit();
    size_t part = descriptors_part(limit);
    size_t kept = use == DESCRIPTOR_OF_STRANGER ? part : part / 2;
    return fd < 0 || (size_t)fd + kept >= limit;
}

bool descriptors_would_be_scarce(enum descriptor_use use)
{
    return descriptors_are_scarce(descriptors_next(), use);
}

size_t descriptors_share(void)
{
    return descriptors_part(descriptors_limit());
}
