/* SPDX-License-Identifier: MIT */
#include "api/reader_slots.h"

#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>

#define WHO_SIZE 40 /* of an id */

struct reader_slot {
    struct reader_slots *slots;
    bool is_taken;
    size_t who_size;
    char who[WHO_SIZE];
};

struct reader_slots {
    pthread_mutex_t lock;
    size_t count;
    size_t count_max_each;
    struct reader_slot *items;
};

struct reader_slots *reader_slots_new(size_t count_max, size_t count_max_each)
{
    struct reader_slots *slots = memory_new(sizeof(*slots));
    must(pthread_mutex_init(&slots->lock, NULL) == 0);
    slots->items = memory_new_array(count_max, sizeof(*slots->items));
    slots->count = count_max;
    slots->count_max_each = count_max_each;
    return slots;
}

void reader_slots_free(struct reader_slots *slots)
{
    if (slots != NULL) {
        (void)pthread_mutex_destroy(&slots->lock);
        memory_free(slots->items);
        memory_free(slots);
    }
}

static void reader_slot_give_back(void *at)
{
    struct reader_slot *slot = at;
    must(pthread_mutex_lock(&slot->slots->lock) == 0);
    slot->is_taken = false;
    must(pthread_mutex_unlock(&slot->slots->lock) == 0);
}

static struct reader_slot *reader_slots_take(struct reader_slots *slots, struct slice who)
{
    struct reader_slot *unused = NULL;
    size_t count = 0;
    for (size_t i = 0; i < slots->count; i++) {
        struct reader_slot *slot = &slots->items[i];
        if (!slot->is_taken) {
            unused = slot;
        } else if (slice_equals(slice_of(slot->who, slot->who_size), who)) {
            count++;
        }
    }
    if (unused == NULL || count >= slots->count_max_each) {
        return NULL;
    }
    *unused = (struct reader_slot){.slots = slots, .is_taken = true, .who_size = who.len};
    if (who.len > 0) {
        (void)memcpy(unused->who, who.at, who.len);
    }
    return unused;
}

enum err reader_slots_take_in(struct arena *arena, struct reader_slots *slots, struct slice who,
                              struct error *reterr)
{
    must(pthread_mutex_lock(&slots->lock) == 0);
    struct reader_slot *slot = reader_slots_take(slots, slice_sub(who, 0, WHO_SIZE));
    must(pthread_mutex_unlock(&slots->lock) == 0);
    if (slot == NULL) {
        return fail(reterr, ERR_BUSY, "too many recordings are being read, try again later");
    }
    arena_on_end(arena, reader_slot_give_back, slot);
    return ERR_NONE;
}
