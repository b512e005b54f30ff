/* SPDX-License-Identifier: MIT */
#include "store/row_id.h"

#include "base/must.h"
#include "codec/uuid.h"
#include "io/clock.h"

#include <unistd.h>

struct slice row_id_new(struct arena *arena)
{
    unsigned char random[UUID_RANDOM_SIZE];
    must(getentropy(random, sizeof(random)) == 0);
    return uuid_make_v7(clock_now(), random, arena_alloc(arena, UUID_TEXT_SIZE));
}
