/* SPDX-License-Identifier: MIT */
#include "api/refusals.h"

#include "base/memory.h"
#include "base/must.h"
#include "base/timestamp.h"

#include <pthread.h>
#include <sodium.h>

#define PLACE_COUNT 4096 /* a power of two */
#define MINUTE      (60 * TIMESTAMP_SECOND)

struct refusals_place {
    uint64_t key;
    uint64_t count;
    uint64_t next; /* the count that is told next */
    int64_t since;
};

struct refusals {
    pthread_mutex_t lock;
    unsigned char seed[crypto_shorthash_KEYBYTES];
    int64_t minute; /* its begin */
    uint64_t told;  /* in it */
    uint64_t left_out;
    struct refusals_place places[PLACE_COUNT];
};

struct refusals *refusals_new(void)
{
    struct refusals *refusals = memory_new(sizeof(*refusals));
    must(pthread_mutex_init(&refusals->lock, NULL) == 0);
    randombytes_buf(refusals->seed, sizeof(refusals->seed));
    return refusals;
}

void refusals_free(struct refusals *refusals)
{
    if (refusals != NULL) {
        (void)pthread_mutex_destroy(&refusals->lock);
        memory_free(refusals);
    }
}

/* The clock may be set back. */
static bool refusals_is_within(int64_t begin, int64_t now, int64_t length)
{
    return now >= begin && now - begin < length;
}

static bool refusals_may_tell(struct refusals *refusals, int64_t now)
{
    if (!refusals_is_within(refusals->minute, now, MINUTE)) {
        refusals->minute = now;
        refusals->told = 0;
    }
    if (refusals->told == REFUSALS_TOLD_MAX) {
        refusals->left_out++;
        return false;
    }
    refusals->told++;
    return true;
}

bool refusals_add(struct refusals *refusals, struct slice address, int64_t now,
                  struct refusal *ret_refusal)
{
    uint64_t key = 0;
    (void)crypto_shorthash((unsigned char *)&key, (const unsigned char *)address.at, address.len,
                           refusals->seed);
    (void)pthread_mutex_lock(&refusals->lock);
    struct refusals_place *place = &refusals->places[key % PLACE_COUNT];
    if (place->count == 0 || place->key != key ||
        !refusals_is_within(place->since, now, REFUSALS_WINDOW)) {
        *place = (struct refusals_place){.key = key, .next = 1, .since = now};
    }
    place->count++;
    bool is_told = place->count == place->next;
    place->next *= is_told ? 10 : 1;
    is_told = is_told && refusals_may_tell(refusals, now);
    if (is_told) {
        *ret_refusal = (struct refusal){
            .count = place->count, .since = place->since, .left_out = refusals->left_out};
        refusals->left_out = 0;
    }
    (void)pthread_mutex_unlock(&refusals->lock);
    return is_told;
}
