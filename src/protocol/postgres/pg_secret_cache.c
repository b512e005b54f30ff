/* SPDX-License-Identifier: MIT */
#include "protocol/postgres/pg_secret_cache_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"

#include <sodium.h>

struct pg_secret_entry {
    struct list link;
    struct pg_secret_name name;
    struct scram_keys keys;
    uint64_t used_ms;
};

struct pg_secret_cache {
    struct loop *loop;
    uint64_t idle_ms;
    unsigned char key[crypto_auth_hmacsha256_KEYBYTES]; /* of the names */
    struct list entries;                                /* the last used one last */
    size_t count;
    struct timer timer; /* while there is an entry */
};

static struct pg_secret_entry *pg_secret_entry_of(struct list *link)
{
    return LIST_ITEM(link, struct pg_secret_entry, link);
}

static void pg_secret_cache_drop(struct pg_secret_cache *cache, struct pg_secret_entry *entry)
{
    list_remove(&entry->link);
    cache->count--;
    explicit_bzero(entry, sizeof(*entry));
    memory_free(entry);
}

static uint64_t pg_secret_entry_age_ms(const struct pg_secret_cache *cache,
                                       const struct pg_secret_entry *entry)
{
    return loop_now_ms(cache->loop) - entry->used_ms;
}

static void pg_secret_cache_clean(void *owner)
{
    struct pg_secret_cache *cache = owner;
    LIST_EACH(link, &cache->entries) {
        struct pg_secret_entry *entry = pg_secret_entry_of(link);
        uint64_t age_ms = pg_secret_entry_age_ms(cache, entry);
        if (age_ms < cache->idle_ms) { /* so are all that follow */
            timer_start(cache->loop, &cache->timer, cache->idle_ms - age_ms);
            return;
        }
        pg_secret_cache_drop(cache, entry);
    }
}

struct pg_secret_cache *pg_secret_cache_new(struct loop *loop, uint64_t idle_ms)
{
    struct pg_secret_cache *cache = memory_new(sizeof(*cache));
    must(sodium_init() >= 0);
    cache->loop = loop;
    cache->idle_ms = idle_ms;
    crypto_auth_hmacsha256_keygen(cache->key);
    list_init(&cache->entries);
    timer_init(&cache->timer, pg_secret_cache_clean, cache);
    return cache;
}

void pg_secret_cache_free(struct pg_secret_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    timer_stop(&cache->timer);
    LIST_EACH(link, &cache->entries) {
        pg_secret_cache_drop(cache, pg_secret_entry_of(link));
    }
    explicit_bzero(cache, sizeof(*cache));
    memory_free(cache);
}

void pg_secret_cache_name(const struct pg_secret_cache *cache, const struct secret *password,
                          const struct scram_salt *salt, struct pg_secret_name *ret_name)
{
    crypto_auth_hmacsha256_state state;
    struct slice text = secret_view(password);
    const uint32_t numbers[] = {salt->iterations, (uint32_t)salt->size};
    (void)crypto_auth_hmacsha256_init(&state, cache->key, sizeof(cache->key));
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)numbers, sizeof(numbers));
    (void)crypto_auth_hmacsha256_update(&state, salt->bytes, salt->size);
    (void)crypto_auth_hmacsha256_update(&state, (const unsigned char *)text.at, text.len);
    (void)crypto_auth_hmacsha256_final(&state, ret_name->bytes);
    explicit_bzero(&state, sizeof(state));
}

static struct pg_secret_entry *pg_secret_cache_look(struct pg_secret_cache *cache,
                                                    const struct pg_secret_name *name)
{
    LIST_EACH(link, &cache->entries) {
        struct pg_secret_entry *entry = pg_secret_entry_of(link);
        if (sodium_memcmp(entry->name.bytes, name->bytes, sizeof(name->bytes)) == 0) {
            list_remove(link);
            list_append(&cache->entries, link);
            entry->used_ms = loop_now_ms(cache->loop);
            return entry;
        }
    }
    return NULL;
}

const struct scram_keys *pg_secret_cache_find(struct pg_secret_cache *cache,
                                              const struct pg_secret_name *name)
{
    const struct pg_secret_entry *entry = pg_secret_cache_look(cache, name);
    return entry == NULL ? NULL : &entry->keys;
}

void pg_secret_cache_put(struct pg_secret_cache *cache, const struct pg_secret_name *name,
                         const struct scram_keys *keys)
{
    if (pg_secret_cache_look(cache, name) != NULL) {
        return; /* two signed in at the same time; the keys are the same */
    }
    if (cache->count == LIMIT_PG_KEYS) {
        pg_secret_cache_drop(cache, pg_secret_entry_of(cache->entries.next));
    }
    struct pg_secret_entry *entry = memory_new(sizeof(*entry));
    entry->name = *name;
    entry->keys = *keys;
    entry->used_ms = loop_now_ms(cache->loop);
    list_append(&cache->entries, &entry->link);
    if (cache->count++ == 0) {
        timer_start(cache->loop, &cache->timer, cache->idle_ms);
    }
}
