/* SPDX-License-Identifier: MIT */
/* Carries bytes between a client and its target, two streams of one loop, until the target has
 * ended; a client that ends first may still be answered. Nothing is held
 * but what one side took more slowly than the other gave, and then no more is read from the faster
 * one: memory stays constant whatever passes. An idle pump holds no buffer at all. */
#ifndef GH_PROXY_PUMP_H
#define GH_PROXY_PUMP_H

#include "io/stream.h"

enum pump_side {
    PUMP_CLIENT,
    PUMP_TARGET,
};

struct pump;

struct pump_settings {
    struct stream *take_streams[2]; /* by side */
    struct slice waiting[2];        /* what was read of that side before; copied */
    char *scratch;                  /* for reading, shared by all pumps of the loop */
    size_t scratch_size;
    /* Once. ERR_NONE: the target has ended, and all it sent is with the client, who is still there.
     * ERR_IO: one of them broke. Close the pump, or take the client's stream out of it. */
    void (*on_end)(void *owner, enum err err);
    void *owner;
};

struct pump *pump_new(const struct pump_settings *settings);
/* From now on no callback comes; both streams are closed. */
void pump_close(struct pump *pump);
/* The same, but the client's stream is the caller's. */
struct stream *pump_close_target(struct pump *pump);
/* Bytes that came from this side. */
uint64_t pump_count(const struct pump *pump, enum pump_side side);

#endif
