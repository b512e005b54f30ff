/* SPDX-License-Identifier: MIT */
#include "app/pools.h"

#include "api/askers.h"
#include "api/rate_limit.h"
#include "api/reader_slots.h"
#include "api/refusals.h"
#include "base/limits.h"
#include "io/pool.h"

/* Sign-ins a second, and at once; an address may be that of a whole office. */
#define ADDRESS_RATE  60
#define ADDRESS_BURST 200
#define ACCOUNT_RATE  2
#define ACCOUNT_BURST 60

void pools_start(struct pools *pools, const struct settings *settings, size_t worker_count)
{
    /* Each asker has room in the queue, so that none is refused there. */
    *pools = (struct pools){
        .most = pool_new(settings_number(settings, SETTING_POOL_THREADS), LIMIT_POOL_QUEUE_COUNT),
        .slow = pool_new(LIMIT_SLOW_POOL_THREADS, LIMIT_SLOW_POOL_QUEUE_COUNT),
        .lasting = pool_new(LIMIT_LONG_POOL_THREADS, LIMIT_LONG_POOL_THREADS),
        .asking = pool_new(LIMIT_ASKING_POOL_THREADS, 2 * LIMIT_ASKING_POOL_THREADS),
        .askers = askers_new(2 * LIMIT_ASKING_POOL_THREADS, LIMIT_ASKING_EACH),
        .hashing = pool_new_background(worker_count < 2 ? 1 : worker_count / 2,
                                       LIMIT_SLOW_POOL_QUEUE_COUNT),
        .address_rate = rate_limit_new(ADDRESS_RATE, ADDRESS_BURST),
        .account_rate = rate_limit_new(ACCOUNT_RATE, ACCOUNT_BURST),
        .refusals = refusals_new(),
        .readers = reader_slots_new(LIMIT_SESSION_READERS, LIMIT_SESSION_READERS_EACH),
    };
}

void pools_stop(struct pools *pools)
{
    pool_free(pools->most);
    pool_free(pools->asking);
    pool_free(pools->slow);
    pool_free(pools->lasting);
    pool_free(pools->hashing);
}

void pools_free(struct pools *pools)
{
    askers_free(pools->askers);
    reader_slots_free(pools->readers);
    rate_limit_free(pools->address_rate);
    rate_limit_free(pools->account_rate);
    refusals_free(pools->refusals);
}
