/* SPDX-License-Identifier: MIT */
/* Heap memory for small things of our own: it never returns NULL, the process ends when memory is
 * out. Sizes that a peer chooses go through buf_reserve() instead, which has a maximum. */
#ifndef GH_BASE_MEMORY_H
#define GH_BASE_MEMORY_H

#include <stddef.h>

/* Zeroed. */
void *memory_new(size_t size);
void *memory_new_array(size_t count, size_t size);
void *memory_resize(void *at, size_t size);
void memory_free(void *at);

/* For the memory of libraries that secrets pass through, in the place of their free() and
 * realloc(): all that malloc gave for it is wiped. Resizing returns NULL when memory is out. */
void memory_wipe_free(void *at);
void *memory_wipe_resize(void *at, size_t size);

/* Before the threads start: so many of them find memory of their own, the others share it, and what
 * is large goes back to the system at once. Without it glibc keeps eight heaps a processor, each
 * with free memory that the others cannot have: after an hour that is more than what is used. */
void memory_start(int heaps);

/* struct buf body CLEANUP(buf_release) = …; runs when the variable goes out of scope. */
#define CLEANUP(release) __attribute__((cleanup(release)))

/* Makes x_free_at(struct x **), so that a pointer can say CLEANUP(x_free_at). */
#define DEFINE_FREE_AT(x_free, type)                                                               \
    static inline void x_free##_at(type **at)                                                      \
    {                                                                                              \
        x_free(*at);                                                                               \
    }

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The struct that holds 'member' at 'pointer'. */
#define CONTAINER_OF(pointer, type, member)                                                        \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))
#define CONTAINER_OF_CONST(pointer, type, member)                                                  \
    ((const type *)(const void *)((const char *)(pointer)-offsetof(type, member)))

#endif
