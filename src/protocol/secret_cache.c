/* SPDX-License-Identifier: MIT */
#include "protocol/secret_cache_internal.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/timer.h"

#include <sodium.h>

struct secret_entry {
    struct list link;
    struct secret_name name;
    struct scram_keys keys;
    uint64_t used_ms;
};

struct secret_cache {
    struct loop *loop;
    uint64_t idle_ms;
    unsigned char key[crypto_auth_hmacsha256_KEYBYTES]; /* of the names */
    struct list entries;                                /* the last used one last */
    size_t count;
    struct timer timer; /* while there is an entry */
};

static struct secret_entry *secret_entry_of(struct list *link)
{
    return LIST_ITEM(link, struct secret_entry, link);
}

static void secret_cache_drop(struct secret_cache *cache, struct secret_entry *entry)
{
    list_remove(&entry->link);
    cache->count--;
    explicit_bzero(entry, sizeof(*entry));
    memory_free(entry);
}

static uint64_t secret_entry_age_ms(const struct secret_cache *cache,
                                    const struct secret_entry *entry)
{
    return loop_now_ms(cache->loop) - entry->used_ms;
}

static void secret_cache_clean(void *owner)
{
    struct secret_cache *cache = owner;
    LIST_EACH(link, &cache->entries) {
        struct secret_entry *entry = secret_entry_of(link);
        uint64_t age_ms = secret_entry_age_ms(cache, entry);
        if (age_ms < cache->idle_ms) { /* so are all that follow */
            timer_start(cache->loop, &cache->timer, cache->idle_ms - age_ms);
            return;
        }
        secret_cache_drop(cache, entry);
    }
}

struct secret_cache *secret_cache_new(struct loop *loop, uint64_t idle_ms)
{
    struct secret_cache *cache = memory_new(sizeof(*cache));
    must(sodium_init() >= 0);
    cache->loop = loop;
    cache->idle_ms = idle_ms;
    crypto_auth_hmacsha256_keygen(cache->key);
    list_init(&cache->entries);
    timer_init(&cache->timer, secret_cache_clean, cache);
    return cache;
}

void secret_cache_free(struct secret_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    timer_stop(&cache->timer);
    LIST_EACH(link, &cache->entries) {
        secret_cache_drop(cache, secret_entry_of(link));
    }
    explicit_bzero(cache, sizeof(*cache));
    memory_free(cache);
}

void secret_cache_name(const struct secret_cache *cache, const struct secret *password,
                       const struct scram_salt *salt, struct secret_name *ret_name)
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

static struct secret_entry *secret_cache_look(struct secret_cache *cache,
                                              const struct secret_name *name)
{
    LIST_EACH(link, &cache->entries) {
        struct secret_entry *entry = secret_entry_of(link);
        if (sodium_memcmp(entry->name.bytes, name->bytes, sizeof(name->bytes)) == 0) {
            list_remove(link);
            list_append(&cache->entries, link);
            entry->used_ms = loop_now_ms(cache->loop);
            return entry;
        }
    }
    return NULL;
}

const struct scram_keys *secret_cache_find(struct secret_cache *cache,
                                           const struct secret_name *name)
{
    const struct secret_entry *entry = secret_cache_look(cache, name);
    return entry == NULL ? NULL : &entry->keys;
}

void secret_cache_put(struct secret_cache *cache, const struct secret_name *name,
                      const struct scram_keys *keys)
{
    if (secret_cache_look(cache, name) != NULL) {
        return; /* two signed in at the same time; the keys are the same */
    }
    if (cache->count == LIMIT_SIGN_IN_KEYS) {
        secret_cache_drop(cache, secret_entry_of(cache->entries.next));
    }
    struct secret_entry *entry = memory_new(sizeof(*entry));
    entry->name = *name;
    entry->keys = *keys;
    entry->used_ms = loop_now_ms(cache->loop);
    list_append(&cache->entries, &entry->link);
    if (cache->count++ == 0) {
        timer_start(cache->loop, &cache->timer, cache->idle_ms);
    }
}
