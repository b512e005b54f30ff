/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include "base/memory.h"
#include "base/must.h"

#include <stdarg.h>
#include <stdint.h>

#define ARENA_BLOCK_SIZE 4096
#define ARENA_SMALL_SIZE 448
#define ARENA_GROWTH_MAX 65536
#define ARENA_ALIGN      16

struct arena_block {
    struct arena_block *older;
    size_t used;
    size_t size;
    _Alignas(ARENA_ALIGN) char bytes[];
};

struct arena_end {
    struct arena_end *older;
    arena_end_fn end;
    void *at;
};

void arena_init(struct arena *arena)
{
    *arena = (struct arena){0};
}

void arena_init_small(struct arena *arena)
{
    *arena = (struct arena){.is_small = true};
}

static void arena_run_ends(struct arena *arena)
{
    while (arena->ends != NULL) {
        struct arena_end *end = arena->ends;
        arena->ends = end->older;
        end->end(end->at);
    }
}

static void arena_free_blocks(struct arena *arena, struct arena_block *kept)
{
    struct arena_block *block = arena->block;
    while (block != NULL) {
        struct arena_block *older = block->older;
        if (arena->has_secrets) {
            explicit_bzero(block->bytes, block->used);
        }
        if (block != kept) {
            memory_free(block);
        }
        block = older;
    }
}

void arena_reset(struct arena *arena)
{
    arena_run_ends(arena);
    struct arena_block *kept = arena->block;
    while (kept != NULL && kept->size != ARENA_BLOCK_SIZE) {
        kept = kept->older;
    }
    arena_free_blocks(arena, kept);
    if (kept != NULL) {
        kept->older = NULL;
        kept->used = 0;
    }
    arena->block = kept;
    arena->size = kept == NULL ? 0 : kept->size;
    arena->has_secrets = false;
}

void arena_release(struct arena *arena)
{
    arena_run_ends(arena);
    arena_free_blocks(arena, NULL);
    *arena = (struct arena){.is_small = arena->is_small};
}

void arena_hold_secrets(struct arena *arena)
{
    arena->has_secrets = true;
}

static struct arena_block *arena_block_new(struct arena *arena, size_t size)
{
    /* As much again as there is, within bounds: few blocks for much, little for little. */
    size_t least = arena->is_small ? ARENA_SMALL_SIZE : ARENA_BLOCK_SIZE;
    size_t block_size = arena->size > least ? arena->size : least;
    block_size = block_size > ARENA_GROWTH_MAX ? ARENA_GROWTH_MAX : block_size;
    block_size = size > block_size ? size : block_size;
    must(block_size <= SIZE_MAX - sizeof(struct arena_block));
    struct arena_block *block = memory_resize(NULL, sizeof(struct arena_block) + block_size);
    *block = (struct arena_block){.older = arena->block, .size = block_size};
    arena->block = block;
    arena->size += block_size;
    return block;
}

void *arena_alloc_bare(struct arena *arena, size_t size)
{
    must(size <= SIZE_MAX - ARENA_ALIGN);
    size_t rounded = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    struct arena_block *block = arena->block;
    if (block == NULL || block->size - block->used < rounded) {
        block = arena_block_new(arena, rounded);
    }
    void *at = block->bytes + block->used;
    block->used += rounded;
    return at;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    void *at = arena_alloc_bare(arena, size);
    memset(at, 0, size);
    return at;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size)
{
    must(size == 0 || count <= SIZE_MAX / size);
    return arena_alloc(arena, count * size);
}

struct slice arena_copy(struct arena *arena, struct slice bytes)
{
    return slice_of(arena_text(arena, bytes), bytes.len);
}

char *arena_text(struct arena *arena, struct slice text)
{
    char *at = arena_alloc_bare(arena, text.len + 1);
    if (text.len > 0) {
        memcpy(at, text.at, text.len);
    }
    at[text.len] = '\0';
    return at;
}

struct slice arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    must(len >= 0);
    char *at = arena_alloc_bare(arena, (size_t)len + 1);
    va_start(args, format);
    (void)vsnprintf(at, (size_t)len + 1, format, args);
    va_end(args);
    return slice_of(at, (size_t)len);
}

void arena_on_end(struct arena *arena, arena_end_fn end, void *at)
{
    struct arena_end *entry = arena_alloc(arena, sizeof(*entry));
    *entry = (struct arena_end){.older = arena->ends, .end = end, .at = at};
    arena->ends = entry;
}
