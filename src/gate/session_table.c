/* SPDX-License-Identifier: MIT */
#include "gate/session_table.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>
#include <sodium.h>

#define KEYS_MAX 2

struct session_row {
    struct session_entry entry;
    struct arena arena;          /* of its texts and its keys; wiped */
    struct slice keys[KEYS_MAX]; /* number and secret of each */
    size_t key_count;
};

struct session_table {
    pthread_mutex_t lock;
    struct map by_id;
    struct map by_key;
};

struct session_table *session_table_new(void)
{
    struct session_table *table = memory_new(sizeof(*table));
    uint8_t seed[MAP_SEED_SIZE];
    randombytes_buf(seed, sizeof(seed));
    map_init(&table->by_id, seed);
    map_init(&table->by_key, seed);
    must(pthread_mutex_init(&table->lock, NULL) == 0);
    return table;
}

void session_table_free(struct session_table *table)
{
    must(session_table_count(table) == 0);
    map_release(&table->by_id);
    map_release(&table->by_key);
    (void)pthread_mutex_destroy(&table->lock);
    memory_free(table);
}

void session_table_add(struct session_table *table, const struct session_entry *entry)
{
    struct session_row *row = memory_new(sizeof(*row));
    arena_init_small(&row->arena);
    arena_hold_secrets(&row->arena);
    row->entry = *entry;
    row->entry.id = arena_copy(&row->arena, entry->id);
    row->entry.credential_id = arena_copy(&row->arena, entry->credential_id);
    must(pthread_mutex_lock(&table->lock) == 0);
    must(map_put(&table->by_id, row->entry.id, row) == NULL);
    must(pthread_mutex_unlock(&table->lock) == 0);
}

static struct slice session_key_in(struct arena *arena, const struct cancel_key *key)
{
    char *bytes = arena_alloc(arena, sizeof(key->number) + key->secret.len);
    memcpy(bytes, &key->number, sizeof(key->number));
    memcpy(bytes + sizeof(key->number), key->secret.at, key->secret.len);
    return slice_of(bytes, sizeof(key->number) + key->secret.len);
}

static void session_row_put_key(struct session_table *table, struct session_row *row,
                                struct slice bytes)
{
    row->keys[row->key_count++] = bytes;
    (void)map_put(&table->by_key, bytes, row);
}

struct cancel_key session_table_make_key_in(struct arena *arena, struct session_table *table,
                                            struct slice id, uint32_t number, size_t size)
{
    char secret[SESSION_KEY_SIZE] = {0};
    struct cancel_key key = {.number = number, .secret = slice_of(secret, size)};
    must(size > 0 && size <= sizeof(secret));
    must(pthread_mutex_lock(&table->lock) == 0);
    struct session_row *row = map_get(&table->by_id, id);
    must(row != NULL && row->key_count < KEYS_MAX);
    struct slice bytes = SLICE("");
    do {
        /* A number is positive to clients. */
        key.number = number != 0 ? number : (randombytes_random() & INT32_MAX) | 1;
        randombytes_buf(secret, size);
        bytes = session_key_in(&row->arena, &key);
    } while (map_get(&table->by_key, bytes) != NULL);
    session_row_put_key(table, row, bytes);
    must(pthread_mutex_unlock(&table->lock) == 0);
    key.secret = arena_copy(arena, key.secret);
    sodium_memzero(secret, sizeof(secret));
    return key;
}

bool session_table_take_key(struct session_table *table, struct slice id,
                            const struct cancel_key *key)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    struct session_row *row = map_get(&table->by_id, id);
    must(row != NULL && row->key_count < KEYS_MAX);
    struct slice bytes = session_key_in(&row->arena, key);
    bool is_free = map_get(&table->by_key, bytes) == NULL;
    if (is_free) {
        session_row_put_key(table, row, bytes);
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    return is_free;
}

void session_table_note_written(struct session_table *table, struct slice id)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    struct session_row *row = map_get(&table->by_id, id);
    if (row != NULL) {
        row->entry.is_unwritten = false;
    }
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
    for (size_t i = 0; row != NULL && i < row->key_count; i++) {
        (void)map_remove(&table->by_key, row->keys[i]);
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    if (row != NULL) {
        arena_release(&row->arena);
        memory_free(row);
    }
}

enum err session_table_find(struct session_table *table, struct slice id,
                            struct gate_worker **ret_worker)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    const struct session_row *row = map_get(&table->by_id, id);
    *ret_worker = row == NULL ? NULL : row->entry.worker;
    must(pthread_mutex_unlock(&table->lock) == 0);
    return *ret_worker == NULL ? ERR_NOT_FOUND : ERR_NONE;
}

struct gate_session *session_table_look_up(struct session_table *table, struct slice id,
                                           const struct gate_worker *worker)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    const struct session_row *row = map_get(&table->by_id, id);
    struct gate_session *session =
        row == NULL || row->entry.worker != worker ? NULL : row->entry.session;
    must(pthread_mutex_unlock(&table->lock) == 0);
    return session;
}

/* The table hashes under a key of its own, so the time that this takes says nothing of a secret. */
enum err session_table_find_key(struct session_table *table, const struct cancel_key *key,
                                struct arena *arena, struct slice *ret_id,
                                struct gate_worker **ret_worker)
{
    struct slice bytes = session_key_in(arena, key);
    must(pthread_mutex_lock(&table->lock) == 0);
    const struct session_row *row = map_get(&table->by_key, bytes);
    if (row != NULL) {
        *ret_id = arena_copy(arena, row->entry.id);
        *ret_worker = row->entry.worker;
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    return row != NULL ? ERR_NONE : ERR_NOT_FOUND;
}

static void session_table_copy_in(struct arena *arena, const struct session_row *row,
                                  struct session_entries *entries)
{
    struct session_entry *entry = &entries->items[entries->count++];
    *entry = row->entry;
    entry->id = arena_copy(arena, row->entry.id);
    entry->credential_id = arena_copy(arena, row->entry.credential_id);
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
        if (!row->entry.is_unwritten) {
            session_table_copy_in(arena, row, &all);
        }
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    return all;
}

static bool session_table_has_expired(const struct session_row *row, int64_t now)
{
    return row->entry.expires_at != 0 && row->entry.expires_at <= now;
}

struct session_entries session_table_expired_in(struct arena *arena, struct session_table *table,
                                                int64_t now)
{
    struct session_entries expired = {.count = 0};
    struct slice key;
    void *value = NULL;
    size_t count = 0;
    must(pthread_mutex_lock(&table->lock) == 0);
    for (size_t at = 0; map_next(&table->by_id, &at, &key, &value);) {
        count += session_table_has_expired(value, now) ? 1 : 0;
    }
    expired.items = count == 0 ? NULL : arena_alloc_array(arena, count, sizeof(*expired.items));
    for (size_t at = 0; count > 0 && map_next(&table->by_id, &at, &key, &value);) {
        if (session_table_has_expired(value, now)) {
            session_table_copy_in(arena, value, &expired);
        }
    }
    must(pthread_mutex_unlock(&table->lock) == 0);
    return expired;
}

size_t session_table_count(struct session_table *table)
{
    must(pthread_mutex_lock(&table->lock) == 0);
    size_t count = map_count(&table->by_id);
    must(pthread_mutex_unlock(&table->lock) == 0);
    return count;
}
