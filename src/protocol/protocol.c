/* SPDX-License-Identifier: MIT */
#include "protocol/protocol.h"

struct slice protocol_channel_in(struct arena *arena, const struct protocol *protocol,
                                 const char *suffix)
{
    return arena_format(arena, "/%.*s%s", SLICE_ARG(protocol->subtype), suffix);
}

const struct protocol *protocols_find(const struct protocols *protocols, struct slice subtype)
{
    for (size_t i = 0; i < protocols->count; i++) {
        if (slice_equals(protocols->items[i]->subtype, subtype)) {
            return protocols->items[i];
        }
    }
    return NULL;
}
