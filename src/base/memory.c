/* SPDX-License-Identifier: MIT */
#include "base/memory.h"

#include "base/must.h"

#include <malloc.h>

/* glibc raises these by what it meets, and keeps the more; a fixed limit stays. */
#define LARGE_SIZE (256 * 1024)

void *memory_new(size_t size)
{
    void *at = calloc(1, size == 0 ? 1 : size);
    must(at != NULL);
    return at;
}

void *memory_new_array(size_t count, size_t size)
{
    void *at = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
    must(at != NULL);
    return at;
}

void *memory_resize(void *at, size_t size)
{
    void *moved = realloc(at, size == 0 ? 1 : size);
    must(moved != NULL);
    return moved;
}

void memory_free(void *at)
{
    free(at);
}

void memory_wipe_free(void *at)
{
    if (at != NULL) {
        explicit_bzero(at, malloc_usable_size(at));
        free(at);
    }
}

void *memory_wipe_resize(void *at, size_t size)
{
    void *moved = malloc(size == 0 ? 1 : size);
    if (moved == NULL || at == NULL) {
        return moved;
    }
    size_t old_size = malloc_usable_size(at);
    memcpy(moved, at, old_size < size ? old_size : size);
    memory_wipe_free(at);
    return moved;
}

void memory_start(int heaps)
{
    (void)mallopt(M_ARENA_MAX, heaps);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_SIZE);
    (void)mallopt(M_TRIM_THRESHOLD, LARGE_SIZE);
}
