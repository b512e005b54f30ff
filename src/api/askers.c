/* SPDX-License-Identifier: MIT */
#include "api/askers.h"

#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>

#define ADDRESS_SIZE 48

struct asker {
    bool is_there;
    size_t size;
    char address[ADDRESS_SIZE];
};

struct askers {
    pthread_mutex_t lock;
    size_t count;
    size_t count_max_each;
    struct asker *items;
};

struct askers *askers_new(size_t count_max, size_t count_max_each)
{
    struct askers *askers = memory_new(sizeof(*askers));
    must(pthread_mutex_init(&askers->lock, NULL) == 0);
    askers->items = memory_new_array(count_max, sizeof(*askers->items));
    askers->count = count_max;
    askers->count_max_each = count_max_each;
    return askers;
}

void askers_free(struct askers *askers)
{
    if (askers != NULL) {
        (void)pthread_mutex_destroy(&askers->lock);
        memory_free(askers->items);
        memory_free(askers);
    }
}

static bool asker_is(const struct asker *asker, struct slice address)
{
    return asker->is_there && slice_equals(slice_of(asker->address, asker->size), address);
}

/* A place, unless there is none, or the address has its share. With the lock held. */
static struct asker *askers_place(struct askers *askers, struct slice address)
{
    struct asker *place = NULL;
    size_t count = 0;
    for (size_t i = 0; i < askers->count; i++) {
        struct asker *asker = &askers->items[i];
        count += asker_is(asker, address) ? 1 : 0;
        place = asker->is_there ? place : asker;
    }
    return count < askers->count_max_each ? place : NULL;
}

bool askers_enter(struct askers *askers, struct slice address)
{
    address = slice_sub(address, 0, ADDRESS_SIZE);
    (void)pthread_mutex_lock(&askers->lock);
    struct asker *place = askers_place(askers, address);
    if (place != NULL) {
        *place = (struct asker){.is_there = true, .size = address.len};
        if (address.len > 0) {
            memcpy(place->address, address.at, address.len);
        }
    }
    (void)pthread_mutex_unlock(&askers->lock);
    return place != NULL;
}

void askers_leave(struct askers *askers, struct slice address)
{
    address = slice_sub(address, 0, ADDRESS_SIZE);
    (void)pthread_mutex_lock(&askers->lock);
    size_t at = 0;
    while (at < askers->count && !asker_is(&askers->items[at], address)) {
        at++;
    }
    must(at < askers->count);
    askers->items[at].is_there = false;
    (void)pthread_mutex_unlock(&askers->lock);
}
