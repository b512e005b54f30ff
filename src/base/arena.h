/* SPDX-License-Identifier: MIT */
/* Memory that dies together: one arena for a request, a message, the start of a session. Passed as
 * the first parameter, never implicit. What must be undone when it dies (a file, a lock) is given
 * with arena_on_end. An arena belongs to one thread at a time. */
#ifndef GH_BASE_ARENA_H
#define GH_BASE_ARENA_H

#include "base/slice.h"

struct arena_block;
struct arena_end;

struct arena {
    struct arena_block *block; /* the newest; blocks are linked */
    struct arena_end *ends;    /* newest first */
    size_t size;               /* of all blocks */
    bool has_secrets;
    bool is_small;
};

typedef void (*arena_end_fn)(void *at);

void arena_init(struct arena *arena);
/* For a few texts that live long: its blocks begin small. */
void arena_init_small(struct arena *arena);
/* Runs the ends, newest first, and frees everything but one ordinary block, kept for the next use.
 */
void arena_reset(struct arena *arena);
void arena_release(struct arena *arena);
/* What it holds when it ends the next time is wiped. */
void arena_hold_secrets(struct arena *arena);

/* Zeroed, aligned for any type. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_alloc_array(struct arena *arena, size_t count, size_t size);
/* As arena_alloc, but with whatever is there: for what is filled before it is read. */
void *arena_alloc_bare(struct arena *arena, size_t size);
struct slice arena_copy(struct arena *arena, struct slice bytes);
/* A copy with a NUL behind it, for libc and libraries. */
char *arena_text(struct arena *arena, struct slice text);
struct slice arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void arena_on_end(struct arena *arena, arena_end_fn end, void *at);

#endif
