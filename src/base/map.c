/* SPDX-License-Identifier: MIT */
/* Open addressing with linear probing. A removed entry is filled again by those behind it, so that
 * there are no tombstones and a lookup ends at the first free entry. */
#include "base/map.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/must.h"

#define MAP_CAPACITY_MIN 16

struct map_entry {
    char *key;
    size_t key_len;
    void *value; /* NULL: free */
    uint64_t hash;
};

static struct slice map_key(const struct map_entry *entry)
{
    return slice_of(entry->key, entry->key_len);
}

void map_init(struct map *map, const uint8_t seed[MAP_SEED_SIZE])
{
    *map = (struct map){0};
    hash_key_of(seed, map->seed);
}

void map_clear(struct map *map)
{
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].value != NULL) {
            memory_free(map->entries[i].key);
        }
    }
    memory_free(map->entries);
    map->entries = NULL;
    map->capacity = 0;
    map->count = 0;
}

void map_release(struct map *map)
{
    map_clear(map);
}

size_t map_count(const struct map *map)
{
    return map->count;
}

/* The entry of this key, or the free one where it belongs. Some entry is always free. */
static size_t map_find(const struct map *map, struct slice key, uint64_t hash)
{
    size_t index = hash & (map->capacity - 1);
    while (map->entries[index].value != NULL) {
        const struct map_entry *entry = &map->entries[index];
        if (entry->hash == hash && slice_equals(map_key(entry), key)) {
            break;
        }
        index = (index + 1) & (map->capacity - 1);
    }
    return index;
}

void *map_get(const struct map *map, struct slice key)
{
    if (map->count == 0) {
        return NULL;
    }
    return map->entries[map_find(map, key, hash_of(map->seed, key))].value;
}

static void map_grow(struct map *map)
{
    struct map_entry *old = map->entries;
    size_t old_capacity = map->capacity;
    map->capacity = old_capacity == 0 ? MAP_CAPACITY_MIN : old_capacity * 2;
    map->entries = memory_new_array(map->capacity, sizeof(struct map_entry));
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].value != NULL) {
            map->entries[map_find(map, map_key(&old[i]), old[i].hash)] = old[i];
        }
    }
    memory_free(old);
}

static char *map_copy_key(struct slice key)
{
    char *copy = memory_new(key.len);
    if (key.len > 0) {
        memcpy(copy, key.at, key.len);
    }
    return copy;
}

void *map_put(struct map *map, struct slice key, void *value)
{
    must(value != NULL);
    if (map->count >= map->capacity / 4 * 3) {
        map_grow(map);
    }
    uint64_t hash = hash_of(map->seed, key);
    struct map_entry *entry = &map->entries[map_find(map, key, hash)];
    void *before = entry->value;
    if (before == NULL) {
        entry->key = map_copy_key(key);
        entry->key_len = key.len;
        entry->hash = hash;
        map->count++;
    }
    entry->value = value;
    return before;
}

void *map_remove(struct map *map, struct slice key)
{
    if (map->count == 0) {
        return NULL;
    }
    size_t mask = map->capacity - 1;
    size_t hole = map_find(map, key, hash_of(map->seed, key));
    void *value = map->entries[hole].value;
    if (value == NULL) {
        return NULL;
    }
    memory_free(map->entries[hole].key);
    map->count--;
    for (size_t i = (hole + 1) & mask; map->entries[i].value != NULL; i = (i + 1) & mask) {
        size_t wanted = map->entries[i].hash & mask;
        /* An entry may move up to the hole unless that is before the place where it is looked for.
         */
        if (((i - wanted) & mask) >= ((i - hole) & mask)) {
            map->entries[hole] = map->entries[i];
            hole = i;
        }
    }
    map->entries[hole] = (struct map_entry){0};
    return value;
}

bool map_next(const struct map *map, size_t *at, struct slice *ret_key, void **ret_value)
{
    while (*at < map->capacity) {
        const struct map_entry *entry = &map->entries[*at];
        (*at)++;
        if (entry->value != NULL) {
            *ret_key = map_key(entry);
            *ret_value = entry->value;
            return true;
        }
    }
    return false;
}
