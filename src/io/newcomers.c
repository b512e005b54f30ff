/* SPDX-License-Identifier: MIT */
#include "io/newcomers.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/must.h"
#include "io/clock.h"
#include "io/descriptors.h"

#include <pthread.h>
#include <unistd.h>

#define NETWORK_SIZE 8 /* bytes of an IPv6 address that stand for its /64 */

struct newcomers {
    pthread_mutex_t lock;
    struct map counts; /* by address, as 'struct newcomers_count' */
    uint64_t limit;
    int64_t telling_due;
};

struct newcomers_count {
    uint64_t count; /* never 0 */
};

struct newcomers *newcomers_new(uint64_t limit)
{
    struct newcomers *newcomers = memory_new(sizeof(*newcomers));
    uint8_t seed[MAP_SEED_SIZE];
    must(getentropy(seed, sizeof(seed)) == 0);
    map_init(&newcomers->counts, seed);
    must(pthread_mutex_init(&newcomers->lock, NULL) == 0);
    newcomers->limit = limit;
    return newcomers;
}

void newcomers_free(struct newcomers *newcomers)
{
    if (newcomers == NULL) {
        return;
    }
    must(map_count(&newcomers->counts) == 0);
    map_release(&newcomers->counts);
    (void)pthread_mutex_destroy(&newcomers->lock);
    memory_free(newcomers);
}

static struct slice newcomers_key(const struct address *address)
{
    return slice_of(address->bytes, address_is_v4(address) ? ADDRESS_SIZE : NETWORK_SIZE);
}

bool newcomers_are_one(const struct address *a, const struct address *b)
{
    return slice_equals(newcomers_key(a), newcomers_key(b));
}

static bool newcomers_may_tell(struct newcomers *newcomers)
{
    int64_t now = clock_monotonic();
    bool may = now >= newcomers->telling_due;
    if (may) {
        newcomers->telling_due = now + LIMIT_ACCEPT_LOG_MS * INT64_C(1000);
    }
    return may;
}

bool newcomers_enter(struct newcomers *newcomers, const struct address *address, bool *ret_may_tell)
{
    struct slice key = newcomers_key(address);
    size_t share = descriptors_share();
    uint64_t limit = newcomers->limit < share ? newcomers->limit : share;
    must(pthread_mutex_lock(&newcomers->lock) == 0);
    struct newcomers_count *known = map_get(&newcomers->counts, key);
    bool is_let_in = (known == NULL ? 0 : known->count) < limit;
    if (is_let_in && known == NULL) {
        known = memory_new(sizeof(*known));
        must(map_put(&newcomers->counts, key, known) == NULL);
    }
    if (is_let_in) {
        known->count++;
    }
    *ret_may_tell = !is_let_in && newcomers_may_tell(newcomers);
    must(pthread_mutex_unlock(&newcomers->lock) == 0);
    return is_let_in;
}

void newcomers_leave(struct newcomers *newcomers, const struct address *address)
{
    struct slice key = newcomers_key(address);
    must(pthread_mutex_lock(&newcomers->lock) == 0);
    struct newcomers_count *known = map_get(&newcomers->counts, key);
    must(known != NULL);
    known->count--;
    if (known->count == 0) {
        memory_free(map_remove(&newcomers->counts, key));
    }
    must(pthread_mutex_unlock(&newcomers->lock) == 0);
}
