/* SPDX-License-Identifier: MIT */
#include "gate/session_table.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>
#include <sodium.h>

struct session_row {
    struct session_entry entry;
    struct arena arena; /* of its texts */
};

struct session_table {
    pthread_mutex_t lock;
    struct map by_id;
    struct map by_process; /* the key's number, as 4 bytes */
};

struct session_table *session_table_new(void)
{
    struct session_table *table = memory_new(sizeof(*table));
    uint8_t seed[MAP_SEED_SIZE];
    randombytes_buf(seed, sizeof(seed));
    map_init(&table->by_id, seed);
    map_init(&table->by_process, seed);
    must(pthread_mutex_init(&table->lock, NULL) == 0);
    return table;
}

void session_table_free(struct session_table *table)
{
    must(session_table_count(table) == 0);
    map_release(&table->by_id);
    map_release(&table->by_process);
    (void)pthread_mutex_destroy(&table->lock);
    memory_free(table);
}

static struct slice session_process_key(const uint32_t *process)
{
    return slice_of(process, sizeof(*process));
}

/* A process id is a positive number to clients, and each belongs to one session. */
static void session_table_make_key(const struct session_table *table, struct session_entry *entry)
{
    do {
        entry->process = (randombytes_random() & INT32_MAX) | 1;
    } while (map_get(&table->by_process, session_process_key(&entry->process)) != NULL);
    randombytes_buf(entry->key, entry->key_size);
}

void session_table_add(struct session_table *table, const struct session_entry *entry,
                       struct session_entry *ret_entry)
{
    struct session_row *row = memory_new(sizeof(*row));
    must(entry->key_size <= SESSION_KEY_SIZE);
    arena_init(&row->arena);
    row->entry = *entry;
    row->entry.id = arena_copy(&row->arena, entry->id);
    row->entry.credential_id = arena_copy(&row->arena, entry->credential_id);
    must(pthread_mutex_lock(&table->lock) == 0);
    session_table_make_key(table, &row->entry);
    must(map_put(&table->by_id, row->entry.id, row) == NULL);
    (void)map_put(&table->by_process, session_process_key(&row->entry.process), row);
    *ret_entry = row->entry;
    must(pthread_mutex_unlock(&table->lock) == 0);
}

void session_table_expire(struct session_table *table, struct slice id, int64_t expires_at)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    struct session_row *row = map_get(&table->by_id, id);
    if (row != NULL) {
        row->entry.expires_at = expires_at;
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
}

void session_table_remove(struct session_table *table, struct slice id)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    struct session_row *row = map_remove(&table->by_id, id);
    if (row != NULL) {
        (void)map_remove(&table->by_process, session_process_key(&row->entry.process));
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    if (row != NULL) {
        arena_release(&row->arena);
        sodium_memzero(row->entry.key, sizeof(row->entry.key));
        memory_free(row);
    }
}

enum err session_table_find(struct session_table *table, struct slice id,
                            struct gate_worker **ret_door)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    const struct session_row *row = map_get(&table->by_id, id);
    *ret_door = row == NULL ? NULL : row->entry.door;
    must(pthread_mutex_unlock(&table->lock) == 0);
    return *ret_door == NULL ? ERR_NOT_FOUND : ERR_NONE;
}

struct pg_session *session_table_look_up(struct session_table *table, struct slice id,
                                         const struct gate_worker *door)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    const struct session_row *row = map_get(&table->by_id, id);
    struct pg_session *session = row == NULL || row->entry.door != door ? NULL : row->entry.session;
    must(pthread_mutex_unlock(&table->lock) == 0);
    return session;
}

enum err session_table_find_key(struct session_table *table, const struct pgwire_key *key,
                                struct arena *arena, struct slice *ret_id,
                                struct gate_worker **ret_door)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    const struct session_row *row = map_get(&table->by_process, session_process_key(&key->process));
    bool is_right = row != NULL && row->entry.key_size == key->secret.len &&
                    sodium_memcmp(row->entry.key, key->secret.at, key->secret.len) == 0;
    if (is_right) {
        *ret_id = arena_copy(arena, row->entry.id);
        *ret_door = row->entry.door;
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    return is_right ? ERR_NONE : ERR_NOT_FOUND;
}

struct session_entries session_table_all_in(struct arena *arena, struct session_table *table)
{
    struct session_entries all = {.count = 0};
    struct slice key;
    void *value = NULL;
    must(pthread_mutex_lock(&table->lock) == 0);
    all.items = arena_alloc_array(arena, map_count(&table->by_id) + 1, sizeof(*all.items));
    for (size_t at = 0; map_next(&table->by_id, &at, &key, &value);) {
        const struct session_row *row = value;
        struct session_entry *entry = &all.items[all.count++];
        *entry = row->entry;
        entry->id = arena_copy(arena, row->entry.id);
        entry->credential_id = arena_copy(arena, row->entry.credential_id);
        sodium_memzero(entry->key, sizeof(entry->key));
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    return all;
}

size_t session_table_count(struct session_table *table)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    size_t count = map_count(&table->by_id);
    must(pthread_mutex_unlock(&table->lock) == 0);
    return count;
}
