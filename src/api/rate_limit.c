/* SPDX-License-Identifier: MIT */
#include "api/rate_limit.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"

#include <pthread.h>
#include <sodium.h>

#define BUCKET_COUNT 4096 /* a power of two */

/* 'full_at' is when the bucket will be full again if nothing more is taken. */
struct bucket {
    uint64_t key;
    int64_t full_at;
};

struct rate_limit {
    pthread_mutex_t lock;
    unsigned char seed[crypto_shorthash_KEYBYTES];
    int64_t step; /* time for one */
    int64_t room; /* time for the whole bucket */
    struct bucket buckets[BUCKET_COUNT];
};

struct rate_limit *rate_limit_new(int64_t per_second, int64_t burst)
{
    struct rate_limit *limit = memory_new(sizeof(*limit));
    must(per_second > 0 && burst > 0);
    must(pthread_mutex_init(&limit->lock, NULL) == 0);
    randombytes_buf(limit->seed, sizeof(limit->seed));
    limit->step = TIMESTAMP_SECOND / per_second;
    limit->room = limit->step * burst;
    return limit;
}

void rate_limit_free(struct rate_limit *limit)
{
    if (limit != NULL) {
        (void)pthread_mutex_destroy(&limit->lock);
        memory_free(limit);
    }
}

int64_t rate_limit_take(struct rate_limit *limit, struct slice key, int64_t now)
{
    uint64_t hash = 0;
    (void)crypto_shorthash((unsigned char *)&hash, (const unsigned char *)key.at, key.len,
                           limit->seed);
    (void)pthread_mutex_lock(&limit->lock);
    struct bucket *bucket = &limit->buckets[hash % BUCKET_COUNT];
    if (bucket->key != hash || bucket->full_at < now) {
        *bucket = (struct bucket){.key = hash, .full_at = now};
    }
    int64_t wait = bucket->full_at + limit->step - now - limit->room;
    if (wait <= 0) {
        bucket->full_at += limit->step;
        wait = 0;
    }
    (void)pthread_mutex_unlock(&limit->lock);
    return wait;
}
