/* SPDX-License-Identifier: MIT */
/* A table from text to pointers. Keys are copied in; the pointers stay the caller's. The hash is
 * keyed with a seed that should be random (SipHash-1-3), so that others who choose the keys cannot
 * make them collide. Iteration has no particular order. */
#ifndef GH_BASE_MAP_H
#define GH_BASE_MAP_H

#include "base/hash.h"

#define MAP_SEED_SIZE HASH_SEED_SIZE

struct map_entry;

struct map {
    struct map_entry *entries; /* as many as 'capacity'; 0 or a power of two */
    size_t capacity;
    size_t count;
    uint64_t seed[2];
};

void map_init(struct map *map, const uint8_t seed[MAP_SEED_SIZE]);
/* Frees the keys. The map is as after map_init. */
void map_clear(struct map *map);
void map_release(struct map *map);

size_t map_count(const struct map *map);
/* NULL when there is none. */
void *map_get(const struct map *map, struct slice key);
/* 'value' is not NULL. Returns what it takes the place of, or NULL. */
void *map_put(struct map *map, struct slice key, void *value);
/* Returns what was there, or NULL. */
void *map_remove(struct map *map, struct slice key);

/* Start with 0; false at the end. The map must not change in between.
 *   for (size_t at = 0; map_next(map, &at, &key, &value);) { … } */
bool map_next(const struct map *map, size_t *at, struct slice *ret_key, void **ret_value);

#endif
