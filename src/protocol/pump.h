/* SPDX-License-Identifier: MIT */
/* Carries bytes between a client and its target, two streams of one loop, until the target has
 * ended; a client that ends first may still be answered. Whoever owns the pump sees all of them
 * before they pass, may put others in their place, and say something of its own. Nothing is held
 * but what one side took more slowly than the other gave, and then no more is read from the faster
 * one: memory stays constant whatever passes. An idle pump holds no buffer at all. */
#ifndef GH_PROTOCOL_PUMP_H
#define GH_PROTOCOL_PUMP_H

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
    size_t replaced_max; /* of what on_pass puts in the place of bytes, beyond what they are */
    /* May be NULL. Each piece of bytes of that side, once, in order, before any of it goes to the
     * other one. ERR_NONE: it passes, or what the owner puts into *bytes in its place does, which
     * may be nothing and has to last until the next call for that side. ERR_AGAIN: it waits, and
     * nothing more is read of that side, until pump_resume(). Anything else: none of it passes,
     * on_end is called with it. Inside, the pump must not be closed or finished, nor made to say
     * something but to the side that the bytes come from. */
    enum err (*on_pass)(void *owner, enum pump_side side, struct slice *bytes);
    /* May be NULL. Once: the client has nothing more to give, and the target is told. The pump may
     * not be closed or finished inside. */
    void (*on_half)(void *owner);
    /* Once, unless the pump was finished before: nothing more is carried. Of the target: ERR_NONE,
     * it has ended, or ERR_IO, it broke; the client is there and has got all that came of it. Of
     * the client: ERR_IO, it broke. Of either: what on_pass returned. pump_close() or
     * pump_finish(), now or later. */
    void (*on_end)(void *owner, enum pump_side side, enum err err);
    /* Once, after pump_finish(): the client has got it all, or never will. The pump is gone. */
    void (*on_gone)(void *owner);
    void *owner;
};

struct pump *pump_new(const struct pump_settings *settings);
/* From now on no callback comes; both streams are closed, what waits is lost. */
void pump_close(struct pump *pump);

/* After ERR_AGAIN: what waits passes, in a turn of its own. Without effect if nothing does. */
void pump_resume(struct pump *pump, enum pump_side side);
/* Nothing is read of that side while this is set; what waits for it is still sent. */
void pump_hold(struct pump *pump, enum pump_side side, bool is_held);

/* on_pass is called for that side once more, with no bytes, in a turn of its own and not before
 * what it held of that side has passed: for an owner that kept some back. */
void pump_ask(struct pump *pump, enum pump_side side);

/* What on_pass holds of that side will never pass. Without effect if nothing does. */
void pump_drop(struct pump *pump, enum pump_side side);
/* Whether that side has nothing more to give; the other one was told. */
bool pump_has_ended(const struct pump *pump, enum pump_side side);

/* Words of the owner's own to that side, behind all that on_pass was given of the other one;
 * whether they may stand there is for the owner to know. Copied; at any time before pump_finish(),
 * which sends those to the client when on_end was called. ERR_LIMIT: too much, of which
 * LIMIT_PUMP_OWN_SIZE and 'replaced_max' always fit, has not been taken by that side. */
enum err pump_say(struct pump *pump, enum pump_side side, struct slice bytes) MUST_USE;
/* Closes the target, at any time. The client gets what waits for it (what on_pass held needs its
 * pump_resume() still), then the end; on_gone follows when it has ended, too, after
 * LIMIT_PUMP_FINISH_MS at the latest. Last words go by pump_say() before. */
void pump_finish(struct pump *pump);

/* Bytes that came from this side. */
uint64_t pump_count(const struct pump *pump, enum pump_side side);

#endif
