/* SPDX-License-Identifier: MIT */
#include "store/page_hints.h"

#include "base/limits.h"
#include "base/memory.h"
#include "base/must.h"

#include <pthread.h>

#define ID_SIZE 40

struct page_hints_point {
    int64_t position;
    char *name;
    size_t name_len;
};

/* The hints of one list. */
struct page_hints_slot {
    char organization_id[ID_SIZE];
    size_t organization_id_len;
    char kind;
    int64_t generation;
    uint64_t used; /* by the clock of all slots */
    size_t next;   /* the point to be replaced */
    struct page_hints_point points[LIMIT_PAGE_HINTS];
};

struct page_hints {
    pthread_mutex_t lock;
    uint64_t clock;
    struct page_hints_slot slots[LIMIT_PAGE_HINT_LISTS];
};

struct page_hints *page_hints_new(void)
{
    struct page_hints *hints = memory_new(sizeof(*hints));
    must(pthread_mutex_init(&hints->lock, NULL) == 0);
    return hints;
}

static void page_hints_clear(struct page_hints_slot *slot)
{
    for (size_t i = 0; i < LIMIT_PAGE_HINTS; i++) {
        memory_free(slot->points[i].name);
        slot->points[i] = (struct page_hints_point){0};
    }
    slot->next = 0;
}

void page_hints_free(struct page_hints *hints)
{
    if (hints == NULL) {
        return;
    }
    for (size_t i = 0; i < LIMIT_PAGE_HINT_LISTS; i++) {
        page_hints_clear(&hints->slots[i]);
    }
    (void)pthread_mutex_destroy(&hints->lock);
    memory_free(hints);
}

static bool page_hints_is_of(const struct page_hints_slot *slot, const struct page_list *list)
{
    return slot->kind == list->kind &&
           slice_equals(slice_of(slot->organization_id, slot->organization_id_len),
                        list->organization_id);
}

/* The list's slot; with 'makes', the one that was not used for longest becomes it. */
static struct page_hints_slot *page_hints_slot(struct page_hints *hints,
                                               const struct page_list *list, bool makes)
{
    struct page_hints_slot *oldest = &hints->slots[0];
    for (size_t i = 0; i < LIMIT_PAGE_HINT_LISTS; i++) {
        struct page_hints_slot *slot = &hints->slots[i];
        if (page_hints_is_of(slot, list)) {
            slot->used = ++hints->clock;
            return slot;
        }
        oldest = slot->used < oldest->used ? slot : oldest;
    }
    if (!makes || list->organization_id.len > ID_SIZE) {
        return NULL;
    }
    page_hints_clear(oldest);
    memcpy(oldest->organization_id, list->organization_id.at, list->organization_id.len);
    oldest->organization_id_len = list->organization_id.len;
    oldest->kind = list->kind;
    oldest->generation = list->generation;
    oldest->used = ++hints->clock;
    return oldest;
}

struct page_hint page_hints_find_in(struct arena *arena, struct page_hints *hints,
                                    const struct page_list *list, int64_t position)
{
    struct page_hint found = {.position = 0, .name = SLICE("")};
    const struct page_hints_point *best = NULL;
    (void)pthread_mutex_lock(&hints->lock);
    const struct page_hints_slot *slot = page_hints_slot(hints, list, false);
    bool is_good = slot != NULL && slot->generation == list->generation;
    for (size_t i = 0; is_good && i < LIMIT_PAGE_HINTS; i++) {
        const struct page_hints_point *point = &slot->points[i];
        if (point->name != NULL && point->position <= position &&
            (best == NULL || point->position > best->position)) {
            best = point;
        }
    }
    if (best != NULL) {
        found.position = best->position;
        found.name = arena_copy(arena, slice_of(best->name, best->name_len));
    }
    (void)pthread_mutex_unlock(&hints->lock);
    return found;
}

void page_hints_note(struct page_hints *hints, const struct page_list *list, struct page_hint hint)
{
    (void)pthread_mutex_lock(&hints->lock);
    struct page_hints_slot *slot = page_hints_slot(hints, list, true);
    if (slot != NULL) {
        if (slot->generation != list->generation) {
            page_hints_clear(slot);
            slot->generation = list->generation;
        }
        struct page_hints_point *point = &slot->points[slot->next];
        memory_free(point->name);
        *point = (struct page_hints_point){
            .position = hint.position,
            .name = memory_new(hint.name.len + 1),
            .name_len = hint.name.len,
        };
        memcpy(point->name, hint.name.at, hint.name.len);
        slot->next = (slot->next + 1) % LIMIT_PAGE_HINTS;
    }
    (void)pthread_mutex_unlock(&hints->lock);
}
