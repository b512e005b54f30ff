/* SPDX-License-Identifier: MIT */
/* How many read recordings at once, all together and each of them: what is read takes memory, and
 * with downloads a thread, for as long as its reader likes. */
#ifndef GH_API_READER_SLOTS_H
#define GH_API_READER_SLOTS_H

#include "base/arena.h"
#include "base/error.h"

struct reader_slots;

struct reader_slots *reader_slots_new(size_t count_max, size_t count_max_each);
void reader_slots_free(struct reader_slots *slots);

/* Takes one for 'who', from any thread, and gives it back when the arena ends. ERR_BUSY. Operators
 * have no id, and are one reader. */
enum err reader_slots_take_in(struct arena *arena, struct reader_slots *slots, struct slice who,
                              struct error *reterr) MUST_USE;

#endif
