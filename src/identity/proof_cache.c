/* SPDX-License-Identifier: MIT */
#include "identity/proof_cache.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"
#include "io/clock.h"

#include <pthread.h>
#include <sodium.h>

#define SET_COUNT 1024 /* a power of two */
#define WAY_COUNT 4
#define LOCKS     16

/* A proof in one piece of memory: the groups, then the bytes of all texts. */
struct proof_entry {
    struct proof_key key;
    int64_t generation;
    int64_t noted_at; /* monotonic */
    struct identity_proof proof;
    char *memory; /* NULL: no entry */
    size_t size;
};

struct proof_set {
    struct proof_entry ways[WAY_COUNT];
    size_t next; /* to be replaced */
};

struct proof_cache {
    unsigned char seed[crypto_generichash_KEYBYTES];
    pthread_mutex_t locks[LOCKS];
    struct proof_set sets[SET_COUNT];
};

struct proof_cache *proof_cache_new(void)
{
    struct proof_cache *cache = memory_new(sizeof(*cache));
    randombytes_buf(cache->seed, sizeof(cache->seed));
    for (size_t i = 0; i < LOCKS; i++) {
        must(pthread_mutex_init(&cache->locks[i], NULL) == 0);
    }
    return cache;
}

void proof_cache_free(struct proof_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (size_t i = 0; i < SET_COUNT * WAY_COUNT; i++) {
        memory_free(cache->sets[i / WAY_COUNT].ways[i % WAY_COUNT].memory);
    }
    for (size_t i = 0; i < LOCKS; i++) {
        (void)pthread_mutex_destroy(&cache->locks[i]);
    }
    memory_free(cache);
}

/* The kind belongs to it: what is good as a cookie is not good as an API key. So does the
 * organization, which no credential can hold: no header has a NUL. */
struct proof_key proof_cache_key(const struct proof_cache *cache,
                                 const struct identity_credential *credential)
{
    struct proof_key key;
    crypto_generichash_state state;
    unsigned char kind = (unsigned char)credential->kind;
    (void)crypto_generichash_init(&state, cache->seed, sizeof(cache->seed), sizeof(key.bytes));
    (void)crypto_generichash_update(&state, &kind, 1);
    (void)crypto_generichash_update(&state, (const unsigned char *)credential->text.at,
                                    credential->text.len);
    (void)crypto_generichash_update(&state, (const unsigned char *)"\0", 1);
    (void)crypto_generichash_update(&state, (const unsigned char *)credential->organization.at,
                                    credential->organization.len);
    (void)crypto_generichash_final(&state, key.bytes, sizeof(key.bytes));
    return key;
}

static size_t proof_set_index(const struct proof_key *key)
{
    return (key->bytes[0] | (size_t)key->bytes[1] << 8) % SET_COUNT;
}

/* Packing -------------------------------------------------------------------------------------- */

#define TEXT_COUNT 7

static void proof_texts(struct identity_proof *proof, struct slice **texts)
{
    struct caller *caller = &proof->caller;
    texts[0] = &caller->organization_id;
    texts[1] = &caller->organization_name;
    texts[2] = &caller->id;
    texts[3] = &caller->subject;
    texts[4] = &caller->email;
    texts[5] = &caller->name;
    texts[6] = &proof->token_id;
}

static size_t proof_size(struct identity_proof *proof)
{
    struct slice *texts[TEXT_COUNT];
    size_t size = proof->caller.group_count * sizeof(struct slice);
    proof_texts(proof, texts);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        size += texts[i]->len;
    }
    for (size_t i = 0; i < proof->caller.group_count; i++) {
        size += proof->caller.groups[i].len;
    }
    return size;
}

static char *proof_move_text(struct slice *text, char *at)
{
    if (text->len > 0) {
        memcpy(at, text->at, text->len);
    }
    text->at = at;
    return at + text->len;
}

/* Makes all of the proof's texts lie in 'memory'. */
static void proof_pack(struct identity_proof *proof, char *memory)
{
    struct slice *texts[TEXT_COUNT];
    size_t groups_size = proof->caller.group_count * sizeof(struct slice);
    char *at = memory + groups_size;
    struct slice *groups = (struct slice *)(void *)memory;
    if (groups_size > 0) {
        memcpy(memory, proof->caller.groups, groups_size);
    }
    proof_texts(proof, texts);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        at = proof_move_text(texts[i], at);
    }
    for (size_t i = 0; i < proof->caller.group_count; i++) {
        at = proof_move_text(&groups[i], at);
    }
    proof->caller.groups = groups;
}

/* Finding and noting --------------------------------------------------------------------------- */

static bool proof_is_good(const struct proof_entry *entry, const struct proof_key *key,
                          int64_t generation)
{
    bool is_it = entry->memory != NULL && entry->generation == generation &&
                 memcmp(entry->key.bytes, key->bytes, PROOF_KEY_SIZE) == 0;
    return is_it && clock_monotonic() - entry->noted_at < PROOF_FRESH &&
           (entry->proof.expires_at == 0 || clock_now() < entry->proof.expires_at);
}

bool proof_cache_find_in(struct arena *arena, struct proof_cache *cache,
                         const struct proof_key *key, int64_t generation,
                         struct identity_proof *ret_proof)
{
    size_t index = proof_set_index(key);
    struct proof_set *set = &cache->sets[index];
    bool is_found = false;
    (void)pthread_mutex_lock(&cache->locks[index % LOCKS]);
    for (size_t i = 0; i < WAY_COUNT && !is_found; i++) {
        if (proof_is_good(&set->ways[i], key, generation)) {
            is_found = true;
            *ret_proof = set->ways[i].proof;
            proof_pack(ret_proof, arena_alloc(arena, set->ways[i].size));
        }
    }
    (void)pthread_mutex_unlock(&cache->locks[index % LOCKS]);
    return is_found;
}

/* The place of the same key, one that is no longer good, or else the next in turn. */
static struct proof_entry *proof_choose(struct proof_set *set, const struct proof_key *key,
                                        int64_t generation)
{
    for (size_t i = 0; i < WAY_COUNT; i++) {
        struct proof_entry *entry = &set->ways[i];
        if (entry->memory == NULL || entry->generation != generation ||
            memcmp(entry->key.bytes, key->bytes, PROOF_KEY_SIZE) == 0) {
            return entry;
        }
    }
    set->next = (set->next + 1) % WAY_COUNT;
    return &set->ways[set->next];
}

void proof_cache_put(struct proof_cache *cache, const struct proof_key *key, int64_t generation,
                     const struct identity_proof *proof)
{
    struct identity_proof packed = *proof;
    size_t size = proof_size(&packed);
    size_t index = proof_set_index(key);
    char *memory = size <= LIMIT_PROOF_SIZE ? memory_new(size + 1) : NULL;
    if (memory == NULL) {
        return;
    }
    proof_pack(&packed, memory);
    (void)pthread_mutex_lock(&cache->locks[index % LOCKS]);
    struct proof_entry *entry = proof_choose(&cache->sets[index], key, generation);
    memory_free(entry->memory);
    *entry = (struct proof_entry){
        .key = *key,
        .generation = generation,
        .noted_at = clock_monotonic(),
        .proof = packed,
        .memory = memory,
        .size = size + 1,
    };
    (void)pthread_mutex_unlock(&cache->locks[index % LOCKS]);
}
